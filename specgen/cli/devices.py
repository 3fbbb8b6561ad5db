"""`specgen devices`."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from specgen.cli.common import output_options, print_json


@click.command("devices")
@output_options
def command(form: str, quiet: bool, verbose: bool) -> None:
    """List every execution device: what it can do, or why it is absent."""
    from specgen import devices

    rows: list[dict[str, Any]] = []
    for name in devices.names():
        device = devices.open(name)
        reason = device.available()
        facts: dict[str, Any] | None = None if reason else dataclasses.asdict(device.facts())
        rows.append({"device": name, "available": reason is None, "reason": reason, "facts": facts})
        device.close()
    if form == "json":
        print_json({"devices": rows})
        return
    for row in rows:
        click.echo(f"{row['device']:<16} {row['reason'] or _summary(row['facts'])}")


def _summary(facts: dict[str, Any]) -> str:
    sizes = "/".join(str(s) for s in facts["subgroup_sizes"]) or "any"
    parts = [facts["name"], f"subgroup {sizes}"]
    if facts["workgroup_memory_bytes"]:
        parts.append(f"workgroup memory {facts['workgroup_memory_bytes']} B")
    return "available: " + ", ".join(parts + list(facts["features"]))
