"""TOML: values from tomllib, places for every key and value, bounded work on hostile text."""

from __future__ import annotations

import time
import tomllib

import pytest
from loading_helpers import toml

from specgen.loading.source import decode
from specgen.loading.toml_reader import read_toml
from specgen.schema.tree import Mapping, Node, Scalar, Sequence, at

TEXT = """\
a.b.c = 1
x = {y = "z", w.q = [1, 2], 'lit"eral' = 3}
"größe" = "wide 日本" # comment
multi = \"\"\"
line one
line two\"\"\"

[t.u]
k = '''m'''
flag = true

[[body]]
for = "row"
  [[body.do]]
  "set" = 0x1F
  [[body.do]]
  "set" = -2.5e3
[[body]]
list = [
  "one", # first
  {two = 2},
]
"""


def tree() -> Mapping:
    node, findings = read_toml(decode(TEXT.encode(), "file").source)
    assert findings == ()
    assert isinstance(node, Mapping)
    return node


def test_values_are_tomllibs() -> None:
    assert toml(TEXT)[0] == tomllib.loads(TEXT)


def test_every_scalar_and_key_stands_where_its_place_says() -> None:
    lines = TEXT.split("\n")
    seen = 0

    def look(node: Node) -> None:
        nonlocal seen
        if isinstance(node, Mapping):
            for entry in node:
                span = entry.key.span
                text = lines[span.line - 1][span.column - 1 : span.end_column - 1]
                assert tomllib.loads(f"{text} = 0") == {entry.key.text: 0}
                look(entry.value)
                seen += 1
        elif isinstance(node, Sequence):
            for item in node:
                look(item)
        elif node.span.line == node.span.end_line:
            span = node.span
            text = lines[span.line - 1][span.column - 1 : span.end_column - 1]
            assert tomllib.loads(f"v = {text}") == {"v": node.value}
            seen += 1

    look(tree())
    assert seen > 25


def test_places_in_arrays_of_tables() -> None:
    _, second = at(tree(), ("body", 0, "do", 1, "set"))
    assert isinstance(second, Scalar)
    assert (second.span.line, second.span.column) == (17, 11)
    key, value = at(tree(), ("body", 1, "list"))
    assert key is not None
    assert value is not None
    assert (key.span.line, value.span.line, value.span.end_line) == (19, 19, 22)


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("", "holds no document", 1, 1),
        ("a = row + 1\n", "no TOML value", 1, 5),
        ("x = 1\na = 010\n", "leading zero", 2, 5),
        ("a = -01\n", "leading zero", 1, 5),
        ("a = [1, 02]\n", "leading zero", 1, 9),
        ("a = 1\nb = 2\na = 3\n", "already written in line 1", 3, 1),
        ("[t]\na = 1\n[t]\n", "already written in line 1", 3, 2),
        ("a = {x = 1, x = 2}\n", "already written in line 1", 1, 13),
        ("a = 2026-01-02\n", "is a date", 1, 5),
        ("a = 07:32:00\n", "is a date or time", 1, 5),
        ("a = 18446744073709551616\n", "64 bits", 1, 5),
        ("a = 1e400\n", "too large", 1, 5),
        ("a = 'x\n", "quote is not closed", 1, 7),
        ('a = "x\n', "quote is not closed", 1, 7),
        ('a = """x\n', "quoted text is not closed", 1, 9),
        ('a = "é" b\n', "a value ends before this", 1, 9),
        ("a = {x = 1\n", "not closed", 1, 11),
        ("a b = 1\n", "a key without `=`", 1, 3),
        ("a = 1\na.b = 2\n", "declared in another way", 2, 8),
        ("a = " + "[" * 2000, "deeper than 64", 1, 69),
        ("a = " + "{b=" * 100, "deeper than 64", 1, 5 + 64 * 3),
        ("a." * 100_000 + "a = 1\n", "deeper than 64", 1, None),
        ("a = " + "9" * 100_000, "at most 100 characters", 1, 5),
    ],
)
def test_refusals(text: str, words: str, line: int, column: int | None) -> None:
    _, findings = toml(text)
    assert [d.code for d in findings] == ["SG-LOAD"]
    assert words in findings[0].message
    assert findings[0].hint
    assert findings[0].span.line == line
    if column is not None:
        assert findings[0].span.column == column


def test_infinity_may_be_written() -> None:
    data, findings = toml("a = inf\nb = -inf\n")
    assert findings == ()
    assert data == {"a": float("inf"), "b": float("-inf")}


def test_tabs_comments_and_crlf_are_toml() -> None:
    assert toml("a\t= 1\t# c\r\nb = 2\r\n") == ({"a": 1, "b": 2}, ())


@pytest.mark.parametrize("text", ["a=1\n" * 100_000, "[a]\n" * 100_000, "x=[" + "1," * 200_000 + "]", '"' * 500_000])
def test_hostile_text_costs_bounded_time(text: str) -> None:
    begin = time.perf_counter()
    _, findings = toml(text)
    assert findings
    assert time.perf_counter() - begin < 20
