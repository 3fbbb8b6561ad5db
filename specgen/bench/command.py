"""The command: options in, rows out, an exit status. Used by `specgen bench`, `python -m specgen.bench` and by
generated scripts; the latter two need numpy and a Vulkan loader, nothing else."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specgen.bench import schema
from specgen.bench.folders import opened
from specgen.bench.options import Request, UsageError, parse
from specgen.bench.run import run
from specgen.bench.text import Text
from specgen.testing import suite_folders

USAGE = 2


@dataclass(frozen=True)
class Made:
    """What became of specs: the folders that were built, whether any could not be, and which the device's target
    does not admit, each `NAME: reason`."""

    folders: tuple[Path, ...]
    broken: bool = False
    refused: tuple[str, ...] = ()


Build = Callable[[Sequence[Path], Path, Request], Made]
"""Builds specs into a folder."""


def main(arguments: Sequence[str], program: str, *, build: Build | None = None, folder: Path | None = None) -> int:
    """Run a call and return its exit status: 0 clean, 1 a failure or nothing measured, 2 a wrong call.

    `folder` is the one of a generated script, which takes no paths; without `build` only built folders are measured.
    """
    try:
        request = parse(arguments, program, paths=folder is None)
        with tempfile.TemporaryDirectory(prefix="specgen-bench-") as scratch:
            made = _built(request, Path(scratch), build) if folder is None else Made((folder,))
            return _print(request, made)
    except UsageError as error:
        print(f"specgen: {error}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("specgen: interrupted; nothing was left half-written", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # The reader of our output went away; keep Python from complaining while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE


def _built(request: Request, scratch: Path, build: Build | None) -> Made:
    folders: list[Path] = []
    specs: list[Path] = []
    for path in map(Path, request.paths):
        if not path.exists():
            raise UsageError(f"no such file or folder: {path}")
        found = suite_folders(path)
        folders += found
        specs += [] if found else [path]
    if not specs:
        return Made(tuple(folders))
    if build is None:
        raise UsageError(f"{specs[0]} holds no manifest of specgen", "built folders only: specgen build SPEC -o OUT")
    made = build(specs, scratch, request)
    return replace(made, folders=(*folders, *made.folders))


def _print(request: Request, made: Made) -> int:
    """Print the rows as they come (a JSON document at the end), and write them to the file of the call."""
    if request.output is not None and not request.output.absolute().parent.is_dir():
        raise UsageError(f"cannot write {request.output}: its folder does not exist")
    text = Text(request)
    rows: list[dict[str, Any]] = []
    folders = [opened(folder) for folder in made.folders]
    for row in _checked(run(request, folders, made.refused, broken=made.broken)):
        rows.append(row)
        if request.form == "jsonl":
            print(json.dumps(row, allow_nan=False), flush=True)
        elif request.form == "text":
            line = text.line(row)
            if line:
                print(line, flush=True)
    if request.form == "json":
        print(_document(rows))
    if request.output is not None:
        _write(request.output, rows)
    return int(rows[-1]["status"])


def _checked(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows as the schema has them; anything else is a fault of this tool."""
    for row in rows:
        problems = schema.check(row)
        if problems:
            raise AssertionError("; ".join(problems))
        yield row


def _document(rows: list[dict[str, Any]]) -> str:
    return json.dumps({"version": schema.VERSION, "rows": rows}, indent=1, allow_nan=False)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the file whole: to a temporary name first. Raises `UsageError` when it cannot be written."""
    lines = [json.dumps(row, allow_nan=False) for row in rows] if path.suffix == ".jsonl" else [_document(rows)]
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".specgen-", suffix=path.suffix)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        os.replace(name, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
