"""The plain tree that YAML and TOML documents become: mappings, sequences and scalars, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from specgen.diagnostics import Span

MAX_DEPTH = 64
"""Deepest nesting of mappings and sequences that is read (also the depth limit of expressions)."""


class Unreadable:
    """The value of a scalar that was already reported; every later check lets it pass."""

    def __repr__(self) -> str:
        return "UNREADABLE"


UNREADABLE: Final = Unreadable()

Plain = str | int | float | bool | Unreadable | None


@dataclass(frozen=True)
class Scalar:
    """A value; `span` is all of it, `inner` the text without quotes (where columns of an expression count from)."""

    value: Plain
    span: Span
    inner: Span

    @property
    def text(self) -> str:
        """The value as text; empty when there is none."""
        return self.value if isinstance(self.value, str) else ""


@dataclass(frozen=True)
class Entry:
    """A key and its value. Keys are always text."""

    key: Scalar
    value: Node


@dataclass(frozen=True)
class Mapping:
    """Entries in the order of the file, keys unique. An implicit one (TOML's `a.b = 1`) has the place of its key."""

    entries: tuple[Entry, ...]
    span: Span
    index: dict[str, Entry] = field(compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Index the entries by key."""
        self.index.update((entry.key.text, entry) for entry in self.entries)

    def get(self, key: str) -> Node | None:
        """The value under `key`, or None."""
        entry = self.index.get(key)
        return None if entry is None else entry.value

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


@dataclass(frozen=True)
class Sequence:
    """Items in order."""

    items: tuple[Node, ...]
    span: Span

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)


Node = Mapping | Sequence | Scalar


def plain(node: Node) -> Any:
    """The tree as dicts, lists and scalars, without places (what the schemas check). At most `MAX_DEPTH` deep."""
    if isinstance(node, Mapping):
        return {entry.key.text: plain(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [plain(item) for item in node]
    return node.value


def at(node: Node, path: tuple[str | int, ...]) -> tuple[Scalar | None, Node | None]:
    """The key (None inside a sequence) and value at `path`; None for what is not there."""
    key: Scalar | None = None
    value: Node | None = node
    for step in path:
        if isinstance(value, Mapping):
            entry = value.index.get(str(step))
            key, value = (entry.key, entry.value) if entry else (None, None)
        elif isinstance(value, Sequence) and isinstance(step, int) and step < len(value.items):
            key, value = None, value.items[step]
        else:
            return None, None
    return key, value
