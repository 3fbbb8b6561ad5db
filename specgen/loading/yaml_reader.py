"""YAML text to the plain tree: PyYAML's C parser gives events, the 1.2 core rules are ours.

The tree is built from events with an explicit stack, so nesting and aliases are refused before anything recurses
or expands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from specgen.diagnostics import Diagnostic, DiagnosticError, Note, Source, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading import scalars
from specgen.loading.source import MAX_VALUES, Findings, point, position, start_of, too_many_values
from specgen.loading.yaml_errors import explained
from specgen.schema.tree import MAX_DEPTH, UNREADABLE, Entry, Mapping, Node, Scalar, Sequence

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(source: Source) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """The tree of a YAML document and what is wrong with it; None when it could not be read to its end."""
    reader = _Reader(source)
    try:
        reader.refuse_tabs()
        root = reader.run()
    except DiagnosticError as error:
        return None, error.diagnostics
    return root, tuple(sorted(reader.findings.items, key=lambda d: d.span))


@dataclass
class _Open:
    """A collection whose end was not seen yet."""

    is_mapping: bool
    flow: bool
    start: Span
    keys: list[Node] = field(default_factory=list)
    values: list[Node] = field(default_factory=list)

    def add(self, node: Node) -> None:
        if self.is_mapping and len(self.keys) == len(self.values):
            self.keys.append(node)
        else:
            self.values.append(node)

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and len(self.keys) == len(self.values)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings = Findings()
        self.stack: list[_Open] = []
        self.documents = 0
        self.root: Node | None = None
        self.reuse: list[tuple[Span, str]] = []

    def _report(self, span: Span, message: str, hint: str, notes: tuple[Note, ...] = ()) -> None:
        self.findings.add(diagnostic("SG-LOAD", span, message, hint=hint, notes=notes))

    def _stop(self, span: Span, message: str, hint: str) -> DiagnosticError:
        return DiagnosticError([*self.findings.items, diagnostic("SG-LOAD", span, message, hint=hint)])

    def refuse_tabs(self) -> None:
        """Tabs are refused everywhere: readers disagree where they are blanks (`DiagnosticError`)."""
        index = self.source.text.find("\t")
        if index >= 0:
            line, column = position(self.source.text, index)
            more = self.source.text.count("\t") - 1
            others = f", and {more} more" if more else ""
            message = f"there is a tab here{others}: YAML specs are indented and aligned with blanks."
            raise self._stop(point(self.source.name, line, column), message, "Replace each tab by blanks.")

    def run(self) -> Node:
        """Read the whole document; `DiagnosticError` when it cannot be read to its end."""
        try:
            for number, event in enumerate(yaml.parse(self.source.text, Loader=_PARSER)):
                if number > MAX_VALUES:
                    raise too_many_values(self._span(event))
                handler = _HANDLERS.get(type(event))
                if handler is not None:
                    handler(self, event)
        except yaml.MarkedYAMLError as error:
            raise DiagnosticError([*self.findings.items, explained(error, self.source)]) from error
        except (yaml.YAMLError, RecursionError) as error:
            raise self._stop(
                start_of(self.source.name), "this is no YAML document.", "Check its first line."
            ) from error
        self._report_reuse()
        if self.root is None:
            raise self._stop(start_of(self.source.name), "the file holds no document.", "Start with `spec: 1`.")
        return self.root

    def _report_reuse(self) -> None:
        """One finding for all anchors and aliases: a hostile file has thousands."""
        if self.reuse:
            span, what = self.reuse[0]
            more = f" There are {len(self.reuse) - 1} more." if len(self.reuse) > 1 else ""
            self._report(span, f"{what}; anchors and aliases are refused.{more}", _REUSE)

    def _span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        return Span(self.source.name, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def document(self, event: Any) -> None:
        self.documents += 1
        span = self._span(event)
        if self.documents > 1:
            raise self._stop(span, "a second document starts here.", "One document a file: split it.")
        if event.version or event.tags:
            self._report(span, "directives (`%YAML`, `%TAG`) are not read.", "Remove the line.")

    def alias(self, event: Any) -> None:
        span = self._span(event)
        self.reuse.append((span, f"`*{event.anchor}` repeats another value"))
        self._push(Scalar(UNREADABLE, span, span))

    def _properties(self, event: Any, span: Span) -> None:
        """Report a tag or an anchor."""
        if event.anchor is not None:
            self.reuse.append((span, f"`&{event.anchor}` marks a value for reuse"))
        if event.tag is not None:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._report(span, f"the tag `{shown}` is refused: a value is what it looks like.", "Remove the tag.")

    def scalar(self, event: Any) -> None:
        span = self._span(event)
        self._properties(event, span)
        if event.style in ("'", '"'):
            inner = Span(span.file, span.line, span.column + 1, span.end_line, max(span.end_column - 1, 1))
        else:
            inner = span
        plain = event.style is None or event.style == ""
        if not plain or event.tag is not None or (self.stack and self.stack[-1].expects_key):
            if plain and event.value == "<<":
                self._report(span, "`<<` merges another mapping into this one; merge keys are refused.", _REUSE)
            self._push(Scalar(event.value, span, inner))
            return
        value = scalars.resolve(event.value)
        if isinstance(value, scalars.Refused):
            self._report(span, value.message, value.hint)
            self._push(Scalar(UNREADABLE, span, inner))
        else:
            self._push(Scalar(value, span, inner))

    def open(self, event: Any) -> None:
        span = self._span(event)
        self._properties(event, span)
        if len(self.stack) >= MAX_DEPTH:
            message = f"nesting is deeper than {MAX_DEPTH} levels."
            raise self._stop(point(span.file, span.line, span.column), message, "Flatten the document.")
        self.stack.append(_Open(isinstance(event, yaml.MappingStartEvent), bool(event.flow_style), span))

    def close(self, event: Any) -> None:
        opened = self.stack.pop()
        last = opened.values[-1].span if opened.values else opened.start
        end = self._span(event) if opened.flow else last
        span = Span(opened.start.file, opened.start.line, opened.start.column, end.end_line, end.end_column)
        self._push(self._mapping(opened, span) if opened.is_mapping else self._sequence(opened, span))

    def _push(self, node: Node) -> None:
        if self.stack:
            self.stack[-1].add(node)
        elif isinstance(node, Scalar) and node.value is None:
            raise self._stop(start_of(self.source.name), "the file holds no document.", "Start with `spec: 1`.")
        else:
            self.root = node

    def _sequence(self, opened: _Open, span: Span) -> Sequence:
        torn = self._split_by_comma([(None, value) for value in opened.values], "[ ]") if opened.flow else frozenset()
        items: list[Node] = []
        for number, value in enumerate(opened.values):
            if number in torn:
                value = Scalar(UNREADABLE, value.span, value.span)
            elif isinstance(value, Scalar) and value.value is None:
                self._report(_visible(value.span), "an entry of this list has no value.", "Give it one or remove it.")
                value = Scalar(UNREADABLE, value.span, value.inner)
            items.append(value)
        return Sequence(tuple(items), span)

    def _mapping(self, opened: _Open, span: Span) -> Mapping:
        pairs: list[tuple[Node | None, Node]] = list(zip(opened.keys, opened.values, strict=True))
        torn = self._split_by_comma(pairs, "{ }") if opened.flow else frozenset()
        entries: dict[str, Entry] = {}
        for number, (key, value) in enumerate(pairs):
            if not isinstance(key, Scalar):
                assert key is not None
                self._report(_first_line(key.span), "a key is text, not a mapping or list.", "Quote it.")
                continue
            if number in torn:
                value = Scalar(UNREADABLE, value.span, value.span)
                if _piece(key, pairs[number][1]) is not None:
                    continue
            if not isinstance(key.value, str) or key.value == "<<":
                continue
            if key.value in entries:
                first = entries[key.value].key.span
                notes = (Note(first, "first written here"),)
                message = f"the key `{key.value}` was already written in line {first.line}."
                self._report(key.span, message, "Keep one of them.", notes)
                continue
            if isinstance(value, Scalar) and value.value is None:
                value = self._no_value(key, value)
            entries[key.value] = Entry(key, value)
        return Mapping(tuple(entries.values()), span)

    def _no_value(self, key: Scalar, value: Scalar) -> Scalar:
        hint = "Give it a value, or remove the key."
        if ":" in key.text:
            hint = "Put a blank after the colon."
        self._report(_visible(key.span), f"`{key.value}` has no value.", hint)
        return Scalar(UNREADABLE, value.span, value.inner)

    def _split_by_comma(self, pairs: list[tuple[Node | None, Node]], where: str) -> frozenset[int]:
        """Report values that a comma tore apart (`{x: f(1, 2)}`); the numbers of all pairs concerned."""
        torn: set[int] = set()
        number = 0
        while number < len(pairs):
            value = pairs[number][1]
            depth = _open_brackets(value)
            if depth <= 0 or number + 1 == len(pairs):
                number += 1
                continue
            first = number
            while depth > 0 and number + 1 < len(pairs) and (piece := _piece(*pairs[number + 1])) is not None:
                number += 1
                depth += _open_brackets(piece)
                torn.add(number)
            if number > first:
                torn.add(first)
                piece = _piece(*pairs[first + 1])
                assert isinstance(value, Scalar)
                assert piece is not None
                span = Span(value.span.file, value.span.line, value.span.column, *_end(pairs[number]))
                message = (
                    f"a comma ends a value inside `{where}`: `{value.value}` and `{_shown(piece)}` were read apart."
                )
                self._report(span, message, "Quote the expression or put it on its own line.")
            number += 1
        return frozenset(torn)


_REUSE = "Write the value out, or use `params`, `define` or a motif."


def _end(pair: tuple[Node | None, Node]) -> tuple[int, int]:
    return pair[1].span.end_line, pair[1].span.end_column


def _shown(scalar: Scalar) -> str:
    return str(scalar.value)


def _piece(key: Node | None, value: Node) -> Scalar | None:
    """The torn piece that a pair (or item, without key) is: a lone key without value, or the item."""
    if key is None:
        return value if isinstance(value, Scalar) else None
    lone = isinstance(value, Scalar) and value.value is None and value.span.column == value.span.end_column
    return key if lone and isinstance(key, Scalar) else None


def _open_brackets(node: Node) -> int:
    """How many round brackets an unquoted text opens and does not close."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.inner != node.span:
        return 0
    return node.value.count("(") - node.value.count(")")


def _visible(span: Span) -> Span:
    """The span, at least one character wide."""
    if (span.line, span.column) == (span.end_line, span.end_column):
        return point(span.file, span.line, span.column)
    return span


def _first_line(span: Span) -> Span:
    return span if span.line == span.end_line else point(span.file, span.line, span.column)


_HANDLERS = {
    yaml.DocumentStartEvent: _Reader.document,
    yaml.AliasEvent: _Reader.alias,
    yaml.ScalarEvent: _Reader.scalar,
    yaml.MappingStartEvent: _Reader.open,
    yaml.SequenceStartEvent: _Reader.open,
    yaml.MappingEndEvent: _Reader.close,
    yaml.SequenceEndEvent: _Reader.close,
}
