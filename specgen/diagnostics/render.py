"""Diagnostics as text and as JSON, from the same records."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from specgen.diagnostics import Diagnostic, Source, Span

TAB = 4
"""Columns to which a tab is shown in a quoted source line."""

WIDEST = 160
"""A longer source line is cut round its finding; columns of a terminal."""

_SEVERITY_COLOUR = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m"}
_CARET_COLOUR = "\x1b[1;32m"
_RESET = "\x1b[0m"


def text(diagnostics: Iterable[Diagnostic], sources: Mapping[str, Source], *, colour: bool = False) -> str:
    """All diagnostics for a person: place, message, source line with a caret, found, allowed, hint, notes.

    `sources` maps file names (`Span.file`) to texts; a finding in an unknown file is shown without its line.
    """
    return "\n\n".join("\n".join(_lines(d, sources, colour)) for d in diagnostics)


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The record of a diagnostic with the keys that `validate --format json` documents."""
    span = diagnostic.span
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "message": diagnostic.message,
        "found": diagnostic.found,
        "allowed": list(diagnostic.allowed),
        "hint": diagnostic.hint,
        "notes": [
            {
                "file": n.span.file,
                "line": n.span.line,
                "column": n.span.column,
                "end_line": n.span.end_line,
                "end_column": n.span.end_column,
                "message": n.message,
            }
            for n in diagnostic.notes
        ],
    }


def _painted(words: str, paint: str, colour: bool) -> str:
    return f"{paint}{words}{_RESET}" if colour else words


def _lines(diagnostic: Diagnostic, sources: Mapping[str, Source], colour: bool) -> list[str]:
    severity = f"{diagnostic.severity}[{diagnostic.code}]"
    paint = _SEVERITY_COLOUR.get(diagnostic.severity, "")
    lines = [f"{diagnostic.span.point()}: {_painted(severity, paint, colour)}: {_visible(diagnostic.message)}"]
    lines += _quoted(diagnostic.span, sources, colour)
    if diagnostic.found is not None:
        lines.append(f"  found: {_visible(_short(diagnostic.found))}")
    if diagnostic.allowed:
        lines.append(f"  allowed: {', '.join(_visible(word) for word in diagnostic.allowed)}")
    if diagnostic.hint:
        lines.append(f"  hint: {_visible(diagnostic.hint)}")
    for note in diagnostic.notes:
        lines.append(f"  note: {note.span.point()}: {_visible(note.message)}")
        lines += _quoted(note.span, sources, colour)
    return lines


def _quoted(span: Span, sources: Mapping[str, Source], colour: bool) -> list[str]:
    """The source line of a span and a caret line under it; nothing when the line is not there or blank."""
    source = sources.get(span.file)
    line = source.line(span.line) if source is not None else ""
    if not line.strip():
        return []
    start = min(span.column - 1, len(line))
    end = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    end = max(start + 1, min(end, len(line)))
    line, start, end = _cut(line, start, end)
    shown, left = _expanded(line[:start], 0)
    marked, right = _expanded(line[start:end], left)
    rest, _ = _expanded(line[end:], right)
    caret = "^" + "~" * (max(right - left, 1) - 1)
    number = f"{span.line:>5}"
    return [
        f"{number} | {shown}{marked}{rest}".rstrip(),
        f"{'':>5} | {' ' * left}{_painted(caret, _CARET_COLOUR, colour)}",
    ]


def _cut(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A long line is cut to a window round the finding, marked by `...`."""
    if len(line) <= WIDEST:
        return line, start, end
    first = max(0, start - WIDEST // 4)
    last = min(len(line), first + WIDEST)
    before, after = ("..." if first else ""), ("..." if last < len(line) else "")
    moved = len(before) - first
    return before + line[first:last] + after, start + moved, min(end, last) + moved


def _short(words: str) -> str:
    return words if len(words) <= WIDEST else words[: WIDEST - 3] + "..."


def _visible(words: str) -> str:
    """One line of printable text: control characters and line breaks are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in words)


def _expanded(piece: str, column: int) -> tuple[str, int]:
    """The text with tabs as spaces and controls replaced, and the terminal column after it."""
    shown: list[str] = []
    for c in piece:
        if c == "\t":
            step = TAB - column % TAB
            shown.append(" " * step)
            column += step
            continue
        if not c.isprintable():
            c = "\N{REPLACEMENT CHARACTER}"
        shown.append(c)
        column += _width(c)
    return "".join(shown), column


def _width(c: str) -> int:
    """Terminal columns of a character: 2 for wide ones, 0 for combining ones."""
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1
