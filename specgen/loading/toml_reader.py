"""TOML text to the plain tree: values from tomllib, places from tree-sitter.

The syntax tree is walked first: nesting, repeated keys and endless numbers are refused there, before tomllib recurses.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from typing import Any

from specgen.diagnostics import Diagnostic, DiagnosticError, Note, Source, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading import scalars
from specgen.loading.source import Findings, point
from specgen.loading.toml_places import Path, Place, Places
from specgen.schema.tree import UNREADABLE, Entry, Mapping, Node, Plain, Scalar, Sequence

_POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")

_LEADING_ZERO = re.compile(r"(?:^|[\s=\[,])([-+]?0)$")
_DIGITS = re.compile(r"[0-9.eE+-]+")

_PROBLEMS = (
    ("Invalid value", "this is no TOML value.", "Quote text and expressions."),
    ("Expected newline or end of document", "a value ends before this.", "Quote text and expressions."),
    ("Expected '='", "a key without `=` is here.", "Write `key = value`."),
    ("Invalid statement", "this is no key, table or comment.", "Write `key = value`; quote keys with brackets."),
    ("Invalid initial character for a key", "a key cannot start like this.", "Quote the key."),
    ("Unclosed array", "a `[` is not closed before this.", "Add the `]` or the comma."),
    ("Unclosed inline table", "a `{` is not closed before this.", "Add the `}` or the comma; it ends on its own line."),
    ("Unterminated string", "a quoted text is not closed.", "Close the quote."),
    ('Expected "\'"', "a quote is not closed on its line.", "Close it, or use three quotes."),
    ("Illegal character '\\n'", "a quote is not closed on its line.", "Close it, or use three quotes."),
    ("Illegal character", "a text or comment cannot hold this.", "Remove it."),
    ("Expected", "something is missing here.", "Check brackets and quotes up to here."),
    ("Unescaped '\\'", "no such escape in double quotes.", "Use single quotes, or `\\\\`."),
    ("Cannot", "this was already declared in another way.", "Declare each table and key once."),
    ("Duplicate", "this key was already written.", "Keep one of them."),
)


def read_toml(source: Source) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """The tree of a TOML document and what is wrong with it; None when it could not be read to its end."""
    findings = Findings()
    try:
        places = Places(source)
        repeated = tuple(_repeated(place, first) for place, first in places.repeated)
        if repeated:
            return None, repeated[: Findings.LIMIT]
        values = tomllib.loads(source.text, parse_float=_float)
        if not values:
            message = "the file holds no document."
            return None, (diagnostic("SG-LOAD", point(source.name, 1, 1), message, hint="Start with `spec = 1`."),)
        return _Tree(places, findings).node((), values), tuple(sorted(findings.items, key=lambda d: d.span))
    except tomllib.TOMLDecodeError as error:
        return None, (_explained(error, source),)
    except DiagnosticError as error:
        return None, error.diagnostics


def _repeated(place: Place, first: Place) -> Diagnostic:
    message = f"the key `{place.name}` was already written in line {first.key.line}."
    notes = (Note(first.key, "first written here"),)
    return diagnostic("SG-LOAD", place.key, message, hint="Keep one of them.", notes=notes)


def _explained(error: tomllib.TOMLDecodeError, source: Source) -> Diagnostic:
    text = str(error)
    match = _POSITION.search(text)
    if match is not None and match["line"]:
        line, column = int(match["line"]), int(match["column"])
    else:
        line = source.text.rstrip("\n").count("\n") + 1
        column = len(source.line(line)) + 1
    problem = text[: match.start()] if match is not None else text
    before, after = source.line(line)[: column - 1], source.line(line)[column - 1 :]
    zero = _LEADING_ZERO.search(before)
    if zero is not None and after[:1].isdigit():
        refused = scalars.resolve(zero.group(1) + _DIGITS.match(after)[0])  # type: ignore[index]
        assert isinstance(refused, scalars.Refused)
        begin = point(source.name, line, column - len(zero.group(1)), len(zero.group(1)))
        return diagnostic("SG-LOAD", begin, refused.message, hint=refused.hint)
    known = next((row for row in _PROBLEMS if problem.startswith(row[0])), None)
    message, hint = known[1:] if known else (f"this is no TOML: {problem}.", "Check brackets and quotes up to here.")
    return diagnostic("SG-LOAD", point(source.name, line, column), message, hint=hint)


def _float(text: str) -> Any:
    """A float of the document; infinity only where it is written."""
    return float(text) if text.lstrip("+-") in ("inf", "nan") else scalars.floating(text.replace("_", ""))


class _Tree:
    """Joins values and places."""

    def __init__(self, places: Places, findings: Findings) -> None:
        self.places = places
        self.findings = findings

    def node(self, path: Path, value: Any) -> Node:
        span = self.places.value(path)
        if isinstance(value, dict):
            entries = (self._entry((*path, key), key, inner) for key, inner in value.items())
            return Mapping(tuple(entries), span)
        if isinstance(value, list):
            return Sequence(tuple(self.node((*path, number), inner) for number, inner in enumerate(value)), span)
        return Scalar(self._scalar(value, span), span, self.places.inner(path))

    def _entry(self, path: Path, key: str, value: Any) -> Entry:
        span = self.places.key(path)
        quoted = span.end_column - span.column == len(key) + 2
        inner = Span(span.file, span.line, span.column + 1, span.end_line, span.end_column - 1) if quoted else span
        return Entry(Scalar(key, span, inner), self.node(path, value))

    def _scalar(self, value: Any, span: Span) -> Plain:
        if isinstance(value, int) and not isinstance(value, bool):
            value = scalars.checked_integer(value, str(value))
        elif isinstance(value, (datetime.date, datetime.time)):
            value = scalars.Refused(
                f"`{value.isoformat()}` is a date or time; specs have none.", "Quote it if it is text."
            )
        if isinstance(value, scalars.Refused):
            self.findings.add(diagnostic("SG-LOAD", span, value.message, hint=value.hint))
            return UNREADABLE
        assert isinstance(value, (str, int, float))
        return value
