"""YAML by the 1.2 core rules, one message for each thing that is refused, exact places."""

from __future__ import annotations

import math

import pytest
import yaml as pyyaml
from loading_helpers import yaml

from specgen.loading.source import MAX_BYTES, MAX_VALUES, decode
from specgen.loading.yaml_reader import read_yaml
from specgen.schema.tree import UNREADABLE, Mapping, Scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("n", "n"),
        ("12:30", "12:30"),
        ("1:30:00", "1:30:00"),
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("0x0702FFFD", 117637117),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("1e-3", 1e-3),
        ("1E+3", 1e3),
        ("-1e9", -1e9),
        (".5", 0.5),
        ("5.", 5.0),
        ("0.5", 0.5),
        ("1.10", 1.1),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("nan", "nan"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("x[i, c:+4]", "x[i, c:+4]"),
        ("1/32", "1/32"),
        ("-1e30 if a else 0", "-1e30 if a else 0"),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_scalars(text: str, value: object) -> None:
    data, findings = yaml(f"a: {text}\n")
    assert findings == ()
    assert data["a"] == value
    assert type(data["a"]) is type(value)


def test_nan() -> None:
    assert math.isnan(yaml("a: .NaN\n")[0]["a"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 010", "leading zero"),
        ("a: 08", "leading zero"),
        ("a: -01", "leading zero"),
        ("a: 00.5", "leading zero"),
        ("a: 2026-01-02", "looks like a date"),
        ("a: 2026-1-2 03:04:05", "looks like a date"),
        ("a: 18446744073709551616", "does not fit in 64 bits"),
        ("a: " + "9" * 100_000, "does not fit in 64 bits"),
        ("a: 1e400", "too large for a float64"),
        ("a: !!int 3", "the tag `!!int`"),
        ("a: ! 3", "the tag `!`"),
        ("a: &x 3", "anchors and aliases"),
        ("a: *x", "anchors and aliases"),
        ("a: {<<: {b: 1}}", "merge keys"),
        ("a: null", "`a` has no value"),
        ("a: ~", "`a` has no value"),
        ("a:", "`a` has no value"),
        ("a: [~]", "has no value"),
        ("a: {b:1}", "`b:1` has no value"),
        ("a: 1\na: 2", "already written in line 1"),
        ("? [1]\n: 2", "a key is text"),
        ("a: {x: f(1, 2, 3)}", "`f(1` and `2` were read apart"),
        ("a: [f(1, 2), 3]", "`f(1` and `2)` were read apart"),
    ],
)
def test_refused_values(text: str, words: str) -> None:
    _, findings = yaml(text + "\n")
    assert [d.code for d in findings] == ["SG-LOAD"]
    assert words in findings[0].message
    assert findings[0].hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:\t1", "a tab"),
        ("a: 1\t# x", "a tab"),
        ("a: 1\n\tb: 2", "a tab"),
        ("", "holds no document"),
        ("# only this", "holds no document"),
        ("---\n", "holds no document"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("a: b: c", "a second `: `"),
        ("a: {b: 1", "not closed"),
        ("a: [1", "not closed"),
        ("a: 'x", "quote is not closed"),
        ('a: "\\q"', "no such escape"),
        ("a: @b", "cannot start with this"),
        ("a: `b", "cannot start with this"),
        ("a: {x: q[i]}", "a bracket ends a value"),
        ("a: [q[i]]", "a bracket ends a value"),
        ("a:\n b: 1\n  c: 2", "indented unlike"),
        ("a: - 1", "a list cannot start on the line of its key"),
        ("a: *", "start an alias"),
        ("a\n", "a spec"),
        ("[" * 2000, "deeper than 64"),
        ("a: " + "{b: " * 65, "deeper than 64"),
        ("a: 1\r b: 2", "U+000D"),
        ("a: 1\x85b: 2", "U+0085"),
        ("a: \x00", "U+0000"),
        ("a: \ufeff1", "U+FEFF"),
    ],
)
def test_refused_documents(text: str, words: str) -> None:
    data, findings = yaml(text)
    if words == "a spec":
        assert data == "a"
        return
    assert data is None
    assert findings[-1].code == "SG-LOAD"
    assert words in findings[-1].message
    assert findings[-1].hint


def test_sixty_four_levels_are_read() -> None:
    text = "a: " + "[" * 63 + "1" + "]" * 63
    assert yaml(text)[1] == ()
    assert "deeper than 64" in yaml("a: " + "[" * 64 + "1" + "]" * 64)[1][0].message


def test_crlf_and_bom_change_nothing() -> None:
    plain = "a: 1\nb:\n  c: x\n"
    same = decode(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode(), "file")
    assert same.source.text == plain
    assert same.data.startswith(b"\xef\xbb\xbf")


def test_too_large_is_refused_without_reading_on() -> None:
    _, findings = yaml("a" * (MAX_BYTES + 1))
    assert "larger than" in findings[0].message


def test_too_many_values() -> None:
    _, findings = yaml("a: [" + "1," * (MAX_VALUES + 5) + "]")
    assert f"more than {MAX_VALUES} values" in findings[-1].message


def test_thousands_of_aliases_are_one_finding() -> None:
    _, findings = yaml("a: &a [1]\nb: [" + "*a, " * 5000 + "]\n")
    assert len(findings) == 1
    assert "5000 more" in findings[0].message


def test_findings_are_bounded() -> None:
    _, findings = yaml("".join(f"a{i}:\n" for i in range(1000)))
    assert len(findings) == 51
    assert "stopped" in findings[-1].message


def test_places() -> None:
    text = 'first: "é x"\nouter:\n  inner: [one, {k: two}]\n'
    tree, findings = read_yaml(decode(text.encode(), "file").source)
    assert findings == ()
    assert isinstance(tree, Mapping)
    spans = {}

    def collect(node: object) -> None:
        if isinstance(node, Mapping):
            for entry in node:
                spans[entry.key.text] = entry.key.span
                collect(entry.value)
        elif isinstance(node, Scalar):
            spans[f"={node.value}"] = node.span
        else:
            for item in node:  # type: ignore[attr-defined]
                collect(item)

    collect(tree)
    lines = text.split("\n")
    for what, span in spans.items():
        assert span.line == span.end_line
        seen = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        assert seen.strip('"') == what.lstrip("=")
    first = tree.get("first")
    assert isinstance(first, Scalar)
    assert (first.inner.column, first.inner.end_column) == (first.span.column + 1, first.span.end_column - 1)


def test_the_reader_agrees_with_pyyaml_where_both_mean_the_same() -> None:
    text = (
        "a: {b: [1, 2.5, text, 'quoted', true], c: {d: x}}\ne:\n- f: 1\n  g: two words\n- h: >-\n    folded\n    text\n"
    )
    assert yaml(text)[0] == pyyaml.safe_load(text)


def test_unreadable_values_keep_their_place_in_the_tree() -> None:
    data, findings = yaml("a: {b: 010, c: 3}\n")
    assert len(findings) == 1
    assert data == {"a": {"b": UNREADABLE, "c": 3}}
