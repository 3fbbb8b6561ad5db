"""Options and output shared by the subcommands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

CLEAN, FINDINGS, USAGE = 0, 1, 2


def output_options(function: F) -> F:
    """`--format`, `-q` and `-v`."""
    function = click.option("-v", "--verbose", is_flag=True, help="Tell more.")(function)
    function = click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")(function)
    return click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output."
    )(function)


def jobs_option(function: F) -> F:
    """`-j N`."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, 256),
        default=None,
        metavar="N",
        help="Worker processes (default: cores).",
    )(function)


def fail(message: str, hint: str | None = None) -> NoReturn:
    """End with exit status 2: a wrong call or a failure of the tool."""
    click.echo(f"specgen: {message}", err=True)
    if hint:
        click.echo(f"  hint: {hint}", err=True)
    sys.exit(USAGE)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known name that is most like `name`."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"nearest: {near[0]}" if near else None


def existing(paths: tuple[str, ...]) -> list[Path]:
    """The paths of a call; ends with status 2 when one does not exist or none is given."""
    if not paths:
        fail("no path given", "name spec files or folders that hold *.spec.yaml or *.spec.toml")
    for path in paths:
        if not os.path.exists(path):
            fail(f"no such file or folder: {path}")
    return [Path(path) for path in paths]


def print_json(value: Any) -> None:
    """One JSON document, keys in their order, on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def colour(stream: Any = None) -> bool:
    """Whether to colour: a terminal, and NO_COLOR not set (no-color.org)."""
    stream = stream or sys.stdout
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")
