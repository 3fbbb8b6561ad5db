"""`specgen validate PATH…`."""

from __future__ import annotations

import os
import sys

import click

from specgen.cli.common import (
    CLEAN,
    FINDINGS,
    USAGE,
    colour,
    existing,
    jobs_option,
    output_options,
    print_json,
)
from specgen.validate import STAGES, validate_paths


@click.command("validate")
@click.argument("paths", nargs=-1)
@click.option("--until", type=click.Choice(STAGES), default="scheduled", help="How far to go.")
@jobs_option
@output_options
def command(paths: tuple[str, ...], until: str, jobs: int | None, form: str, quiet: bool, verbose: bool) -> None:
    """Check specs without generating code."""
    result = validate_paths(existing(paths), until=until, jobs=jobs or os.cpu_count() or 1)
    if form == "json":
        from specgen.diagnostics import render

        print_json(
            {
                "diagnostics": [render.as_json(d) for d in result.diagnostics],
                "specs": [{"name": s.name, "file": s.file, "kind": s.kind, "status": s.status} for s in result.specs],
            }
        )
    else:
        if result.diagnostics:
            from specgen.diagnostics import render

            click.echo(render.text(result.diagnostics, result.sources, colour=colour()))
        if not quiet:
            for spec in result.specs:
                click.echo(f"{spec.file}: {spec.kind} {spec.name}: {spec.status}")
    for problem in result.problems:
        click.echo(f"specgen: {problem}", err=True)
    sys.exit(USAGE if result.problems else FINDINGS if result.failed else CLEAN)
