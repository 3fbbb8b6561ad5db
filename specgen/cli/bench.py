"""`specgen bench PATH…|OUT…`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from specgen.bench.command import Made
    from specgen.bench.options import Request
    from specgen.build import BuildResult


@click.command("bench", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Time entry points; `specgen.bench.options` declares the options, for calls without this parser too."""
    from specgen.bench.command import main

    sys.exit(main(arguments, "specgen bench", build=build))


def build(specs: Sequence[Path], folder: Path, request: Request) -> Made:
    """Build specs for the device into a folder. Diagnostics go to standard error, for rows go to standard output."""
    from specgen.bench.command import Made
    from specgen.bench.options import UsageError
    from specgen.build import BROKEN, REFUSED, BuildOptions, build_paths
    from specgen.cli.build import status
    from specgen.diagnostics import render
    from specgen.targets import names

    unknown = [t for t in request.target if t not in names()]
    if unknown:
        raise UsageError(f"unknown target: {unknown[0]}", f"targets: {', '.join(names())}")
    results: list[BuildResult] = build_paths(
        specs, BuildOptions(folder, targets_for(request)), jobs=os.cpu_count() or 1
    )
    # Nobody asked for the target: that a spec does not admit it is no error of the spec.
    refused = [] if request.target else [r for r in results if r.status == REFUSED]
    others = [r for r in results if r not in refused]
    for result in others:
        if result.diagnostics:
            click.echo(render.text(result.diagnostics, result.sources), err=True)
        if result.status == BROKEN:
            raise UsageError(f"{result.file}: {result.problem}")
    reasons = [f"{r.name}: {r.diagnostics[0].message if r.diagnostics else r.status}" for r in refused]
    built = [r.folder for r in results if r.folder is not None]
    return Made(tuple(built), status(others) != 0, tuple(reasons))


def targets_for(request: Request) -> tuple[str, ...]:
    """The targets of the call, else that of the device: with its own subgroup size fixed, so that every spec fits."""
    from specgen import devices
    from specgen.devices.base import DeviceError
    from specgen.targets import names

    if request.target:
        return request.target
    if request.device != "vulkan":
        return ()
    try:
        device = devices.open("vulkan")
        size = None if device.available() else device.facts().subgroup_sizes[0]
        device.close()
    except DeviceError:
        size = None
    fixed = f"vulkan1.3-sg{size or 32}"
    return (fixed if fixed in names() else "vulkan1.3",)
