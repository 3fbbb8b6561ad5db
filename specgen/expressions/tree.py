"""The parsed expression and the way from its characters back to the file."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from specgen.diagnostics import Source, Span

Piece = tuple[int, int, int]
"""`(offset in the text, line, column)`: from that offset on, text and file run side by side."""


_NO_PARTS = {"ctx", "op", "ops"}
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Name: (), ast.Constant: ()}


def nodes(tree: ast.AST) -> list[ast.AST]:
    """A tree and all its parts, breadth first as `ast.walk` has them; without operators and contexts, which say little
    and are half of a tree.
    """
    found = [tree]
    for node in found:
        fields = _FIELDS.get(type(node))
        if fields is None:
            fields = _FIELDS[type(node)] = tuple(name for name in node._fields if name not in _NO_PARTS)
        for name in fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif isinstance(part, list):
                found += [inner for inner in part if isinstance(inner, ast.AST)]
    return found


@dataclass(frozen=True)
class Expr:
    """A parsed expression: its text, its whitelisted syntax tree and where the text stands in the file.

    A scalar that the document gives as a number or a boolean has the tree of the constant. Two expressions are
    equal when text and place are.
    """

    text: str
    tree: ast.expr = field(compare=False, repr=False)
    span: Span
    pieces: tuple[Piece, ...] = field(default=(), compare=False, repr=False)

    def span_of(self, node: ast.AST | None) -> Span:
        """Where `node` (a part of `tree`) stands in the file; the whole expression for a node without a place."""
        start, end = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
        if start is None or end is None:
            return self.span
        return piece_span(self.pieces, self.span, start, end)

    def span_between(self, first: ast.expr, last: ast.expr) -> Span:
        """From the start of one part to the end of another."""
        return piece_span(self.pieces, self.span, first.col_offset, last.end_col_offset or first.col_offset)

    def text_of(self, node: ast.AST) -> str:
        """The author's characters for `node`, line breaks folded."""
        start, end = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
        if start is None or end is None:
            return self.text
        return " ".join(self.text[start:end].split())


def piece_span(pieces: tuple[Piece, ...], whole: Span, start: int, end: int) -> Span:
    """The span of the characters `[start, end)` of an expression; `whole` when it has no pieces."""
    if not pieces:
        return whole
    line, column = _place(pieces, start)
    if end <= start:
        return Span(whole.file, line, column, line, column + 1)
    end_line, end_column = _place(pieces, end - 1)
    return Span(whole.file, line, column, end_line, end_column + 1)


def _place(pieces: tuple[Piece, ...], offset: int) -> tuple[int, int]:
    start, line, column = pieces[max(bisect_right(pieces, (offset, 1 << 60, 0)) - 1, 0)]
    return line, column + offset - start


def locate(text: str, span: Span, source: Source | None) -> tuple[Piece, ...]:
    """How the characters of a document's scalar lie in the file; empty when that cannot be told.

    One-line scalars need no source: a span two characters longer than the text is a quoted one. Folded and block
    scalars are matched character by character against the source, ignoring white space.
    """
    if span.line == span.end_line:
        extra = span.end_column - span.column - len(text)
        if extra in (0, 2):
            return ((0, span.line, span.column + extra // 2),)
    return () if source is None else _match(text, span, source)


def _match(text: str, span: Span, source: Source) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    places = _places(span, source)
    expected: tuple[int, int] | None = None
    for offset, character in enumerate(text):
        if character.isspace():
            expected = None if expected is None else (expected[0], expected[1] + 1)
            continue
        place = next((p for p in places if p[2] == character), None)
        if place is None:
            return ()
        if expected != place[:2]:
            pieces.append((offset, place[0], place[1]))
        expected = (place[0], place[1] + 1)
    return tuple(pieces)


def _places(span: Span, source: Source) -> Iterator[tuple[int, int, str]]:
    """The visible characters of the span as `(line, column, character)`, without a block scalar's header."""
    for number in range(span.line, span.end_line + 1):
        line = source.line(number)
        first = span.column if number == span.line else 1
        last = span.end_column if number == span.end_line else len(line) + 1
        if number == span.line and line[first - 1 : first] in ("|", ">"):
            continue
        for column in range(first, last):
            if not line[column - 1].isspace():
                yield number, column, line[column - 1]
