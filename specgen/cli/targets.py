"""`specgen targets`."""

from __future__ import annotations

import dataclasses

import click

from specgen.cli.common import output_options, print_json


@click.command("targets")
@output_options
def command(form: str, quiet: bool, verbose: bool) -> None:
    """List the targets: what each offers and where its kernels can be executed."""
    from specgen import targets

    loaded = [targets.load(name) for name in targets.names()]
    if form == "json":
        print_json({"targets": [dataclasses.asdict(t) for t in loaded]})
        return
    click.echo(f"{'target':<16} {'kind':<7} {'subgroup':>8} {'memory':>7} {'registers':>9}  features")
    for t in loaded:
        features = [n for n in ("matrix", "transpose_read", "split_barrier", "async_copy") if getattr(t, n)]
        size, registers = t.subgroup_size or "open", t.max_registers or "open"
        click.echo(
            f"{t.name:<16} {t.kind:<7} {size:>8} {t.workgroup_memory:>7} {registers:>9}  {' '.join(features) or '-'}"
        )
    if verbose:
        click.echo(f"default of build: {' '.join(targets.DEFAULT)}")
