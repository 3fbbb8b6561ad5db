"""All mistakes of a file are told at once: what is found of several together is what is found of each alone."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import loading_toml_writer as toml_writer
import pytest

from specgen.diagnostics import Diagnostic, Source, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.diagnostics.merge import merged, within
from specgen.loading import load_document
from specgen.schema import read_shape
from specgen.schema.tree import Mapping, plain
from specgen.validate import validate_file

TEXT = """\
spec: 1
kind: kernel
name: kernel
summary: Sums columns.
args:
  count: {type: index, range: [0, 64]}
  input: {buffer: f32, shape: {row: 64, lane: 32}}
  output: {buffer: f32, shape: {lane: 32}, access: write}
define:
  base: 3
policies:
  depth: {default: 2, range: [1, 4]}
  width: {default: 1, choices: [1, 2]}
variants:
  deep: {depth: 4}
launch:
  workgroup_size: {lane: 32}
body:
- var: {total: f32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: width}
  do:
  - set:
      total: total + input[row, lane]
- let:
    more: total + f32(base)
- let:
    some: full(f32(0), 4)
- let:
    flag: total
- store:
    output[lane]: more
checks:
  ones:
    each: {count: [0, 1, 64]}
    given: {input: 1 + lane}
    expect: {output: count * (1 + lane) + 3}
  twos:
    each: {count: [3]}
    given: {input: 2 * lane}
    expect: {output: 6 * lane + 3}
benchmarks:
  full:
    each: {count: [64]}
    given: {input: 1 + lane}
    bytes: 4 * 32 * count
"""

MISTAKES = {
    "schema: a key": ("  schedule: {pipeline", "  shcedule: {pipeline"),
    "schema: a section": ("policies:", "polices:"),
    "schema: a value": ("  base: 3", "  base: [3]"),
    "syntax": ("some: full(f32(0), 4)", "some: full(f32(0), 4"),
    "name of a policy": ("unroll: width", "unroll: widht"),
    "name in an expression": ("output[lane]: more", "output[lane]: mor"),
    "type": ("flag: total", "flag: total + count"),
    "bounds": ("input[row, lane]", "input[row + 1, lane]"),
    "value of a policy": ("{default: 2, range: [1, 4]}", "{default: 9, range: [1, 4]}"),
    "name of a variant's policy": ("deep: {depth: 4}", "deep: {dept: 4}"),
    "value of a case": ("each: {count: [0, 1, 64]}", "each: {count: [0, 1, 65]}"),
    "name in a check": ("given: {input: 2 * lane}", "given: {input: 2 * line}"),
    "name in a benchmark": ("bytes: 4 * 32 * count", "bytes: 4 * 32 * counts"),
}


def found(folder: Path, *mistakes: str) -> set[tuple[str, Span, str, str | None]]:
    """What validation says of the text with these mistakes."""
    text = TEXT
    for name in mistakes:
        old, new = MISTAKES[name]
        assert text.count(old) == 1, name
        text = text.replace(old, new)
    path = folder / "kernel.spec.yaml"
    path.write_text(text, encoding="utf-8")
    return {(d.code, d.span, d.message, d.hint) for d in validate_file(path, until="scheduled").diagnostics}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[str, Span, str, str | None]]]:
    """The findings of each mistake by itself."""
    folder = tmp_path_factory.mktemp("alone")
    return {name: found(folder, name) for name in MISTAKES}


def test_each_mistake_is_one_finding(alone, tmp_path: Path) -> None:
    assert found(tmp_path) == set()
    assert {name: len(findings) for name, findings in alone.items()} == dict.fromkeys(MISTAKES, 1)


CHOSEN = random.Random(0).sample(list(itertools.combinations(MISTAKES, 4)), 12)


@pytest.mark.parametrize("mistakes", [*CHOSEN, tuple(MISTAKES)], ids=lambda m: f"{len(m)}: {m[0]}")
def test_mistakes_do_not_hide_each_other(alone, mistakes: tuple[str, ...], tmp_path: Path) -> None:
    together = set().union(*(alone[name] for name in mistakes))
    assert found(tmp_path, *mistakes) == together


def test_misspelt_keys_are_renamed_and_the_rest_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "kernel.spec.yaml"
    text = TEXT.replace("  schedule: {pipeline", "  shedule: {pipelin").replace(
        "- let:\n    some:", "- compute:\n    some:"
    )
    path.write_text(text.replace("  count: {type: index, range: [0, 64]}", "  count: {index: true}"), encoding="utf-8")
    tree = load_document(path).tree
    assert isinstance(tree, Mapping)
    shape = read_shape(tree, "kernel")
    assert len(shape.findings) == 4
    loop = plain(shape.tree)["body"][1]
    assert loop["schedule"] == {"pipeline": "depth", "unroll": "width"}
    assert shape.damage is not None
    assert {"count", "some"} <= shape.damage.names
    assert {"full", "f32"} <= shape.damage.mentions
    assert "total" not in shape.damage.names


def at(line: int, column: int, width: int, code: str = "SG-NAME", **fields: object) -> Diagnostic:
    return diagnostic(code, Span("f", line, column, line, column + width), "m", **fields)  # type: ignore[arg-type]


def test_of_two_stages_the_first_is_heard() -> None:
    source = {"f": Source("f", "depth dpeth other\nsecond\n")}
    first = at(1, 7, 5)
    same_place = at(1, 7, 3, hint="another")
    other_code = at(1, 7, 5, "SG-TYPE")
    assert merged([first], [same_place, other_code, first], source) == (first, other_code)
    unread = at(2, 1, 1, "SG-LOAD")
    assert merged([unread], [at(2, 3, 2)], source) == (unread,)


def test_an_unused_name_is_not_told_beside_its_misspelling() -> None:
    source = {"f": Source("f", "depth dpeth other\n")}
    unused = at(1, 1, 5, "SG-POLICY", unused="depth")
    assert merged([unused], [], source) == (unused,)
    assert merged([unused], [at(1, 7, 5)], source) == (at(1, 7, 5),)
    assert merged([unused], [at(1, 13, 5)], source) == (unused, at(1, 13, 5))
    assert merged([unused], [at(1, 7, 5, severity="warning")], source)[0] == unused


def test_within_counts_the_start() -> None:
    whole = Span("f", 2, 3, 4, 5)
    assert within(Span("f", 2, 3, 9, 9), whole)
    assert within(Span("f", 4, 5, 4, 6), whole)
    assert not within(Span("f", 4, 6, 4, 7), whole)
    assert not within(Span("g", 3, 1, 3, 2), whole)


@pytest.mark.parametrize("name", ["count", "input", "output"])
@pytest.mark.parametrize("end", [".yaml", ".toml"])
def test_an_argument_that_cannot_be_read_is_told_once(name: str, end: str, tmp_path: Path) -> None:
    """Whatever names it elsewhere: nothing follows from what is lost."""
    line = next(line for line in TEXT.splitlines() if line.startswith(f"  {name}: {{"))
    path = tmp_path / "kernel.spec.yaml"
    path.write_text(TEXT.replace(line, f"  {name}: 7"), encoding="utf-8")
    if end == ".toml":
        data = plain(load_document(path).tree)  # type: ignore[arg-type]
        path = tmp_path / "kernel.spec.toml"
        path.write_text(toml_writer.document(data), encoding="utf-8")
    (finding,) = validate_file(path).diagnostics
    assert finding.code == "SG-TYPE"
    assert finding.message.startswith(f"`{name}` wants")
