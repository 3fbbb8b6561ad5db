"""Text and JSON of diagnostics: the caret stands under what is meant, whatever the characters."""

from __future__ import annotations

import json

import pytest

from specgen.diagnostics import Diagnostic, Note, Source, Span
from specgen.diagnostics.render import as_json, text

FILE = "a.spec.yaml"


def shown(line: str, start: int, end: int, **fields: object) -> list[str]:
    """The lines of a finding on columns `[start, end)` of a one-line file."""
    finding = Diagnostic("SG-KEY", Span(FILE, 1, start, 1, end), "message", **fields)  # type: ignore[arg-type]
    return text([finding], {FILE: Source(FILE, line + "\n")}).split("\n")


def test_the_whole_form() -> None:
    source = Source(FILE, "first: 1\nsecond: {thrid: 2}\n")
    finding = Diagnostic(
        "SG-KEY",
        Span(FILE, 2, 10, 2, 15),
        "`thrid` is no key.",
        found="thrid",
        allowed=("third", "fourth"),
        hint="Nearest: `third`.",
        notes=(Note(Span(FILE, 1, 1, 1, 6), "seen here"),),
    )
    assert text([finding], {FILE: source}) == (
        "a.spec.yaml:2:10: error[SG-KEY]: `thrid` is no key.\n"
        "    2 | second: {thrid: 2}\n"
        "      |          ^~~~~\n"
        "  found: thrid\n"
        "  allowed: third, fourth\n"
        "  hint: Nearest: `third`.\n"
        "  note: a.spec.yaml:1:1: seen here\n"
        "    1 | first: 1\n"
        "      | ^~~~~"
    )


@pytest.mark.parametrize(
    ("line", "start", "end", "quoted", "caret"),
    [
        ("abc: def", 6, 9, "abc: def", "     ^~~"),
        ("日本: x", 5, 6, "日本: x", "      ^"),
        ("日本: x", 1, 3, "日本: x", "^~~~"),
        ("e\u0301: x", 5, 6, "e\u0301: x", "   ^"),
        ("\tabc", 2, 5, "    abc", "    ^~~"),
        ("ab\tc\td", 4, 5, "ab  c   d", "    ^"),
        ("a\x00b", 2, 3, "a\N{REPLACEMENT CHARACTER}b", " ^"),
        ("abc", 4, 5, "abc", "   ^"),
        ("abc", 9, 12, "abc", "   ^"),
        ("abc", 2, 2, "abc", " ^"),
    ],
)
def test_carets(line: str, start: int, end: int, quoted: str, caret: str) -> None:
    lines = shown(line, start, end)
    assert lines[1] == f"    1 | {quoted}"
    assert lines[2] == f"      | {caret}"


def test_a_span_over_lines_is_underlined_to_the_end_of_its_first() -> None:
    source = Source(FILE, "a: [1,\n  2]\n")
    lines = text([Diagnostic("SG-KEY", Span(FILE, 1, 4, 2, 5), "m")], {FILE: source}).split("\n")
    assert lines[2] == "      |    ^~~"


def test_long_lines_are_cut_round_the_finding() -> None:
    line = "x" * 5000 + "HERE" + "y" * 5000
    lines = shown(line, 5001, 5005)
    assert len(lines[1]) < 200
    at = lines[2].index("^")
    assert lines[1][at : at + 4] == "HERE"
    assert lines[2].endswith("^~~~")


def test_blank_lines_and_unknown_files_have_no_quote() -> None:
    assert len(shown("", 1, 2)) == 1
    finding = Diagnostic("SG-KEY", Span("other", 1, 1, 1, 2), "m")
    assert text([finding], {}) == "other:1:1: error[SG-KEY]: m"


def test_messages_stay_on_one_line_and_printable() -> None:
    lines = shown("abc", 1, 2, found="a\nb\x1b[31m", hint="</script>\u202e")
    assert lines[3] == "  found: a\\nb\\x1b[31m"
    assert lines[4] == "  hint: </script>\\u202e"


def test_colour_only_when_asked_for() -> None:
    finding = Diagnostic("SG-KEY", Span(FILE, 1, 1, 1, 2), "m", severity="warning")
    sources = {FILE: Source(FILE, "abc")}
    plain, painted = text([finding], sources), text([finding], sources, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;33mwarning[SG-KEY]\x1b[0m" in painted
    for escape in ("\x1b[1;33m", "\x1b[1;32m", "\x1b[0m"):
        painted = painted.replace(escape, "")
    assert painted == plain


def test_json_has_the_documented_keys_and_the_content_of_the_text() -> None:
    finding = Diagnostic(
        "SG-LOOP P8",
        Span(FILE, 2, 3, 4, 5),
        "m",
        found="f",
        allowed=("a", "b"),
        hint="h",
        notes=(Note(Span(FILE, 1, 1, 1, 2), "n"),),
    )
    assert json.loads(json.dumps(as_json(finding))) == {
        "code": "SG-LOOP P8",
        "severity": "error",
        "file": FILE,
        "line": 2,
        "column": 3,
        "end_line": 4,
        "end_column": 5,
        "message": "m",
        "found": "f",
        "allowed": ["a", "b"],
        "hint": "h",
        "notes": [{"file": FILE, "line": 1, "column": 1, "end_line": 1, "end_column": 2, "message": "n"}],
    }
