"""Where the keys and values of a TOML document stand, from its tree-sitter syntax tree."""

from __future__ import annotations

import bisect
import functools
import itertools
import tomllib
from dataclasses import dataclass
from typing import Any

from specgen.diagnostics import DiagnosticError, Source, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading.source import MAX_VALUES, point, too_many_values
from specgen.schema.tree import MAX_DEPTH

Path = tuple[str | int, ...]

_LONGEST_NUMBER = 100
"""Characters of a number that tomllib is given; converting longer ones costs quadratic time."""


@dataclass(frozen=True)
class Place:
    """A key (its last part) and the whole of its value; a table's value is its header."""

    name: str
    key: Span
    value: Span
    inner: Span


@functools.cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_toml

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


class Places:
    """Places by path (keys and list indices). Refuses what is nested too deep with `DiagnosticError`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = source.lines
        self.known: dict[Path, Place] = {}
        self.repeated: list[tuple[Place, Place]] = []
        self._written: set[Path] = set()
        self._counts: dict[Path, int] = {}
        self._starts: dict[int, list[int]] = {}
        self._refuse_brackets()
        self._document(_parser().parse(source.text.encode("utf-8")).root_node)

    def key(self, path: Path) -> Span:
        """The key at the end of `path`, else the nearest known place around it."""
        place = self._nearest(path)
        return place.key if place is not None else point(self.source.name, 1, 1)

    def value(self, path: Path) -> Span:
        """The value at `path`, else the nearest known place around it."""
        place = self._nearest(path)
        return place.value if place is not None else point(self.source.name, 1, 1)

    def inner(self, path: Path) -> Span:
        """The text of the value at `path` without quotes."""
        place = self._nearest(path)
        return place.inner if place is not None else point(self.source.name, 1, 1)

    def _nearest(self, path: Path) -> Place | None:
        return next((self.known[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.known), None)

    def _repeat(self, place: Place, path: Path) -> None:
        self.repeated.append((place, self.known[path]))
        if len(self.repeated) > MAX_VALUES:
            raise too_many_values(place.key)

    def _refuse_brackets(self) -> None:
        """Refuse deep brackets by counting characters outside of strings and comments: nothing here recurses."""
        depth, quote, index, text = 0, "", 0, self.source.text
        while index < len(text):
            c = text[index]
            if quote:
                if c == "\\" and quote[0] == '"':
                    index += 2
                    continue
                if text.startswith(quote, index) or (c == "\n" and len(quote) == 1):
                    index += len(quote)
                    quote = ""
                    continue
            elif c in "\"'":
                quote = c * 3 if text.startswith(c * 3, index) else c
                index += len(quote)
                continue
            elif c == "#":
                index = text.find("\n", index)
                if index < 0:
                    return
            elif c in "[{":
                depth += 1
                if depth > MAX_DEPTH:
                    line = text.count("\n", 0, index) + 1
                    self._deep(point(self.source.name, line, index - text.rfind("\n", 0, index)))
            elif c in "]}":
                depth -= 1
            index += 1

    def _deep(self, span: Span) -> None:
        message = f"nesting is deeper than {MAX_DEPTH} levels."
        raise DiagnosticError([diagnostic("SG-LOAD", span, message, hint="Flatten the document.")])

    def _span(self, node: Any) -> Span:
        (line, start), (end_line, end) = node.start_point, node.end_point
        return Span(self.source.name, line + 1, self._column(line, start), end_line + 1, self._column(end_line, end))

    def _column(self, line: int, offset: int) -> int:
        """The 1-based column of a byte offset in a line."""
        text = self.lines[line] if line < len(self.lines) else ""
        if text.isascii():
            return offset + 1
        if line not in self._starts:
            widths = (len(character.encode("utf-8")) for character in text)
            self._starts[line] = list(itertools.accumulate(widths, initial=0))
        return bisect.bisect_right(self._starts[line], offset)

    def _document(self, root: Any) -> None:
        for node in root.children:
            if node.type == "pair":
                self._pair((), node)
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Any) -> None:
        header = next((c for c in node.children if c.type in ("bare_key", "quoted_key", "dotted_key")), None)
        if header is None:
            return
        path: Path = ()
        parts = self._parts(header)
        for number, (name, span) in enumerate(parts):
            last = number + 1 == len(parts)
            path = (*path, name)
            place = Place(name, span, span, span)
            if last and node.type == "table" and path in self._written:
                self._repeat(place, path)
            if last and node.type == "table":
                self._written.add(path)
            self.known.setdefault(path, place)
            if last and node.type == "table_array_element":
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
                if last:
                    self.known[path] = place
        for inner in node.children:
            if inner.type == "pair":
                self._pair(path, inner)

    def _pair(self, path: Path, node: Any) -> None:
        named = [c for c in node.children if c.is_named and c.type != "comment"]
        if len(named) != 2:
            return
        for name, span in self._parts(named[0]):
            path = (*path, name)
            place = Place(name, span, span, span)
            self.known.setdefault(path, place)
        if len(path) > MAX_DEPTH:
            self._deep(span)
        if path in self._written:
            self._repeat(place, path)
            return
        self._written.add(path)
        self._value(path, name, span, named[1])

    def _value(self, path: Path, name: str, key: Span, node: Any) -> None:
        span = self._span(node)
        self.known[path] = Place(name, key, span, self._inner(node, span))
        if len(self.known) > MAX_VALUES:
            raise too_many_values(span)
        if len(path) > MAX_DEPTH:
            self._deep(span)
        if node.type == "inline_table":
            for inner in node.children:
                if inner.type == "pair":
                    self._pair(path, inner)
        elif node.type == "array":
            elements = [c for c in node.children if c.is_named and c.type != "comment"]
            for number, element in enumerate(elements):
                place = self._span(element)
                self._value((*path, number), name, place, element)
        elif node.type in ("integer", "float") and node.end_byte - node.start_byte > _LONGEST_NUMBER:
            message = f"a number has at most {_LONGEST_NUMBER} characters."
            raise DiagnosticError([diagnostic("SG-LOAD", span, message, hint="Shorten it.")])

    def _inner(self, node: Any, span: Span) -> Span:
        if node.type != "string":
            return span
        triple = node.text[:3] in (b'"""', b"'''")
        width = 3 if triple else 1
        return Span(span.file, span.line, span.column + width, span.end_line, max(span.end_column - width, 1))

    def _parts(self, node: Any) -> list[tuple[str, Span]]:
        """The parts of a (dotted) key with their places."""
        parts: list[tuple[str, Span]] = []
        while node.type == "dotted_key":
            named = [c for c in node.children if c.is_named]
            parts.append((self._key(named[-1]), self._span(named[-1])))
            if len(parts) > MAX_DEPTH:
                self._deep(parts[-1][1])
            node = named[0]
        parts.append((self._key(node), self._span(node)))
        return parts[::-1]

    def _key(self, node: Any) -> str:
        text = node.text.decode("utf-8")
        if node.type != "quoted_key":
            return text
        try:
            return next(iter(tomllib.loads(f"{text} = 0")))
        except tomllib.TOMLDecodeError:
            return text
