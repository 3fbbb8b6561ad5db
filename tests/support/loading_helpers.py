"""Small kernels and readers that several tests use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from specgen.diagnostics import Diagnostic, DiagnosticError
from specgen.loading.source import decode
from specgen.loading.toml_reader import read_toml
from specgen.loading.yaml_reader import read_yaml
from specgen.schema.tree import Node, plain

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "loading" / "data"

KERNEL = """\
spec: 1
kind: kernel
name: NAME
summary: Sums columns.

args:
  count: {type: index, range: [0, 64]}
  input: {buffer: f32, shape: {row: 64, lane: 32}}
  output: {buffer: f32, shape: {lane: 32}, access: write}

launch:
  workgroup_size: {lane: 32}

body:
- var: {total: f32(0)}
- for: row
  in: range(count)
  do:
  - set:
      total: total + input[row, lane]
- store:
    output[lane]: total

checks:
  ones:
    each: {count: [0, 1, 64]}
    given: {input: 1 + lane}
    expect: {output: count * (1 + lane)}
"""

MOTIF = """\
spec: 1
kind: motif
name: NAME
summary: Twice its argument.
args:
  x: {type: f32}
results:
  out: {type: f32}
body:
- let: {out: 2 * x}
"""


def write(folder: Path, name: str, text: str = KERNEL, end: str = "yaml") -> Path:
    """A spec file whose `NAME` is replaced by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.spec.{end}"
    path.write_text(text.replace("NAME", name), encoding="utf-8")
    return path


def yaml(text: str) -> tuple[Any, tuple[Diagnostic, ...]]:
    """Plain data and findings of YAML text."""
    return _read(read_yaml, text)


def toml(text: str) -> tuple[Any, tuple[Diagnostic, ...]]:
    """Plain data and findings of TOML text."""
    return _read(read_toml, text)


def _read(
    reader: Callable[..., tuple[Node | None, tuple[Diagnostic, ...]]], text: str
) -> tuple[Any, tuple[Diagnostic, ...]]:
    try:
        source = decode(text.encode("utf-8"), "file").source
    except DiagnosticError as error:
        return None, error.diagnostics
    tree, findings = reader(source)
    return (None if tree is None else plain(tree)), findings
