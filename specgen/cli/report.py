"""`specgen report show PATH`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from specgen.cli.common import colour, fail


@click.group("report")
def command() -> None:
    """Show compile reports."""


@command.command("show")
@click.argument("path")
@click.option("--svg", type=click.Path(dir_okay=False), default=None, metavar="FILE", help="Write a picture instead.")
def show(path: str, svg: str | None) -> None:
    """Show a report.json, or that of OUT/NAME/TARGET."""
    from specgen.report import show as page

    report = _read(Path(path))
    if svg is None:
        click.echo(page.text(report, colour=colour()), nl=False)
        return
    try:
        Path(svg).write_text(page.svg(report), encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {svg}: {error.strerror}")


def _read(path: Path) -> dict[str, Any]:
    from specgen.report.schema import check

    file = path / "report.json" if path.is_dir() else path
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fail(f"no report at {file}", "name OUT/NAME/TARGET or its report.json")
    problems = check(report) if isinstance(report, dict) else ["not a mapping"]
    if problems:
        fail(f"{file} is no report of this version: {problems[0]}")
    return report
