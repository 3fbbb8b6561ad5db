"""`specgen init NAME`."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path

import click

from specgen.cli.common import fail

RESERVED = frozenset("target subgroup workgroup flat inf nan kept true false serial".split())
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@click.command("init")
@click.argument("name")
@click.option("-o", "--output", type=click.Path(file_okay=False), default=".", show_default=True, help="Folder.")
def command(name: str, output: str) -> None:
    """Write NAME.spec.yaml, a commented spec that builds and passes as it is."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    if NAME.fullmatch(name) is None or keyword.iskeyword(name) or name in RESERVED:
        fail(
            f"{name!r} is no name for a spec", "letters, digits and _, at most 64, no Python keyword, no reserved word"
        )
    path = Path(output) / f"{name}.spec.yaml"
    template = resources.files("specgen").joinpath("templates/init.spec.yaml.j2").read_text(encoding="utf-8")
    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    text = environment.from_string(template).render(name=name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        fail(f"{path} exists and is left as it is")
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}")
    click.echo(f"{path}\nnext: specgen build {path} --test")
