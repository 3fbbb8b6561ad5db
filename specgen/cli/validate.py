"""`specgen validate PATH…`."""

from __future__ import annotations

import sys

import click

from specgen.cli.common import CLEAN, FINDINGS, colour, existing, output_options, print_json
from specgen.validate import STAGES, validate_paths


@click.command("validate")
@click.argument("paths", nargs=-1)
@click.option("--until", type=click.Choice(STAGES), default="scheduled", help="How far to go.")
@output_options
def command(paths: tuple[str, ...], until: str, form: str, quiet: bool, verbose: bool) -> None:
    """Check specs without generating code."""
    result = validate_paths(existing(paths), until=until)
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
    sys.exit(FINDINGS if result.failed else CLEAN)
