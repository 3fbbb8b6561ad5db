"""`specgen explain CODE`."""

from __future__ import annotations

import click

from specgen.cli.common import fail


@click.command("explain")
@click.argument("code", nargs=-1, required=True)
def command(code: tuple[str, ...]) -> None:
    """Explain a diagnostic code, for example `SG-TYPE` or `SG-LOOP P8`."""
    from specgen.diagnostics import catalogue

    key = " ".join(code).upper()
    try:
        text = catalogue.explain(key)
    except KeyError:
        import difflib

        known = list(catalogue.CATALOGUE)
        near = [c for c in known if c.split()[-1].removeprefix("SG-") == key] or difflib.get_close_matches(
            key, known, n=1
        )
        fail(f"no diagnostic has the code {key}", f"nearest: {near[0]}" if near else "codes start with SG-")
    click.echo(text)
