"""`specgen schema`."""

from __future__ import annotations

import click

from specgen.cli.common import fail


@click.command("schema")
@click.argument("section", required=False)
def command(section: str | None) -> None:
    """Print the schema of the spec language, or of one section of it, as JSON."""
    from specgen.cli.common import print_json
    from specgen.schema import schemas

    known = schemas()
    if section is None:
        print_json(known)
        return
    if section not in known:
        fail(f"no schema section {section}", f"sections: {', '.join(known)}")
    print_json(known[section])
