"""`specgen facts SPEC`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specgen.cli.common import CLEAN, FINDINGS, colour, fail, nearest, output_options, print_json

if TYPE_CHECKING:
    from specgen.facts_table import Row
    from specgen.stages import Planned

DEFAULT_TARGET = "gfx1151"


@click.command("facts")
@click.argument("spec")
@click.option("--target", default=DEFAULT_TARGET, show_default=True, metavar="T", help="Bind for this target.")
@click.option("--entry", default="default", show_default=True, metavar="E", help="Entry point: a variant's name.")
@click.option("--line", type=click.IntRange(1), default=None, metavar="N", help="Only values of this line.")
@output_options
def command(spec: str, target: str, entry: str, line: int | None, form: str, quiet: bool, verbose: bool) -> None:
    """Print what is known of each value of a spec, and why.

    Ranges, exact values, divisors, and which work-items agree; with the declaration, launch, guard, loop or promise
    that each fact rests on. `-v` lists values without a name too, `-q` leaves the reasons out.
    """
    from specgen import ir
    from specgen.facts_table import table

    planned = _planned(spec, target)
    entries = {e.name: e.symbol for e in planned.instance.entries}
    if entry not in entries:
        fail(
            f"no entry {entry} in {planned.instance.name}", nearest(entry, entries) or f"entries: {', '.join(entries)}"
        )
    function = ir.function_named(planned.source, entries[entry])
    assert function is not None
    rows = table(function, planned.instance, unnamed=verbose)
    if line is not None:
        lines = sorted({n for n in map(_line, rows) if n is not None})
        rows = [row for row in rows if _line(row) == line]
        if not rows:
            fail(f"no value on line {line}", f"lines with values: {', '.join(map(str, lines))}")
    if form == "json":
        head = {"spec": planned.instance.name, "target": target, "entry": entry}
        print_json({**head, "facts": [row.as_dict() for row in rows]})
    else:
        for row in rows:
            for text in _lines(row, reasons=not quiet):
                click.echo(text)
    sys.exit(CLEAN)


def _planned(path: str, target: str) -> Planned:
    """The spec bound for a target; ends with status 1 or 2 and the diagnostics otherwise."""
    from specgen import targets
    from specgen.diagnostics import has_errors, render
    from specgen.loading import load_spec
    from specgen.loading.discover import discover
    from specgen.stages import plan

    if target not in targets.names():
        fail(f"unknown target: {target}", nearest(target, targets.names()) or f"targets: {', '.join(targets.names())}")
    if not os.path.isfile(path):
        fail(f"no such file: {path}")
    (file,) = discover([Path(path)]).files or (None,)
    if file is None:
        fail(f"not a spec: {path}", "specs are named NAME.spec.yaml or NAME.spec.toml")
    loaded = load_spec(file.path, file.root)
    found = tuple(loaded.diagnostics)
    if loaded.spec is not None and loaded.spec.kind != "kernel":
        fail(f"{loaded.spec.name.text} is a motif: its values are those of the kernels that apply it")
    if loaded.spec is not None and not has_errors(found):
        made = plan(loaded.spec, target)
        if made.planned is not None:
            return made.planned
        found = (*found, *made.diagnostics)
    click.echo(render.text(found, loaded.sources, colour=colour()))
    sys.exit(FINDINGS)


def _line(row: Row) -> int | None:
    place = (row.within or row.place).rsplit(":", 2)
    return int(place[1]) if len(place) == 3 else None


def _lines(row: Row, *, reasons: bool) -> Iterator[str]:
    """A value as text: what is known, then what that rests on."""
    known = []
    if row.exact is not None:
        known.append(f"is {row.exact}")
    elif row.low is not None or row.high is not None:
        known.append(f"in [{'-inf' if row.low is None else row.low}, {'inf' if row.high is None else row.high}]")
    if row.multiple_of != 1:
        known.append("is 0" if row.multiple_of == 0 else f"multiple of {row.multiple_of}")
    if not row.within:
        known.append("differs between work-items" if row.uniform == "none" else f"uniform in the {row.uniform}")
    place = f"{row.within} {row.side}: " if row.within else f"{row.place}: " if row.place else ""
    yield f"{place}{row.name}: {row.type} {', '.join(known)}"
    for because in row.because if reasons else ():
        if row.within and because.fact == "uniform":
            continue
        at = f" ({because.place})" if because.place else ""
        yield f"    {because.fact}: {because.kind}: {because.text}{at}"
