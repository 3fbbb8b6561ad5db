"""A document with schema errors as one that can be read on: what is misspelt gets its likely name, the rest is lost.

Nothing of this is ever built: it lets later stages say what they find in the parts that are intact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from specgen.diagnostics import Diagnostic
from specgen.schema.messages import MOST, nearest, told_of
from specgen.schema.tree import UNREADABLE, Entry, Mapping, Node, Scalar, Sequence, at, plain
from specgen.schema.validator import Violation, violations

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PASSES = 3
"""A repaired key shows what stands under it to the schema; deeper chains of misspellings wait for the next call."""

Path = tuple[str | int, ...]


@dataclass
class Damage:
    """What a document lost: names that its unreadable parts may declare, and every name that they mention."""

    names: set[str] = field(default_factory=set)
    mentions: set[str] = field(default_factory=set)

    def lose(self, node: Node | None, path: Path) -> None:
        """Record a part that nobody reads."""
        if isinstance(path[-1], str):
            self.names.add(path[-1])
        for scalar, is_key in _scalars(node):
            found = self.mention(scalar.text)
            if is_key and len(found) == 1:
                self.names.update(found)

    def mention(self, text: str) -> list[str]:
        """Record the names in a text that nobody could read."""
        found = _IDENTIFIER.findall(text)
        self.mentions.update(found)
        return found


@dataclass(frozen=True)
class Shape:
    """What the schemas say of a document: its findings, and the tree to read on with (`damage` None: as it was)."""

    tree: Mapping
    findings: tuple[Diagnostic, ...]
    damage: Damage | None


def read_shape(root: Mapping, kind: str) -> Shape:
    """Check a document of a known kind against its schema, repaired parts as well."""
    findings: list[Diagnostic] = []
    tree, damage = root, Damage()
    for _ in range(_PASSES):
        found = violations(plain(tree), kind)[:MOST]
        told = {(d.code, d.span) for d in findings}
        findings += [d for d in told_of(found, tree, kind) if (d.code, d.span) not in told]
        if not found:
            break
        tree = repaired(tree, found, damage)
    return Shape(tree, tuple(findings), damage if findings else None)


def repaired(root: Mapping, violations: list[Violation], damage: Damage) -> Mapping:
    """`root` without its violations: misspelt keys and words get the nearest allowed one, values that are no value
    become unreadable. What is lost is recorded in `damage`."""
    renamed: dict[Path, str] = {}
    values: dict[Path, Node] = {}
    for violation in violations:
        _, node = at(root, violation.path)
        if violation.kind == "unknown":
            holder = at(root, violation.path[:-1])[1] if violation.path[:-1] else root
            near = nearest(str(violation.path[-1]), violation.allowed)
            if near is not None and isinstance(holder, Mapping) and near not in holder.index:
                renamed[violation.path] = near
            else:
                damage.lose(node, violation.path)
        elif violation.kind == "branch" and violation.detail != "several" and isinstance(node, Mapping):
            tag = _misspelt_tag(node, violation.allowed)
            if tag is None:
                damage.lose(node, violation.path)
                values[violation.path] = Scalar(UNREADABLE, node.span, node.span)
            else:
                renamed[(*violation.path, tag[0])] = tag[1]
        elif violation.kind in ("type", "length", "custom", "value") and node is not None:
            # An access is not guessed: what is stored and read would be judged by it.
            guessed = violation.kind == "value" and violation.path[-1] != "access"
            near = nearest(str(violation.value), violation.allowed) if guessed else None
            if near is None:
                damage.lose(node, violation.path)
            span = node.span
            values[violation.path] = Scalar(UNREADABLE if near is None else near, span, span)
    made = _rebuilt(root, (), renamed, values)
    assert isinstance(made, Mapping)
    return made


def _misspelt_tag(node: Mapping, allowed: tuple[str, ...]) -> tuple[str, str] | None:
    for entry in node:
        near = nearest(entry.key.text, allowed)
        if near is not None:
            return entry.key.text, near
    return None


def _rebuilt(node: Node, path: Path, renamed: dict[Path, str], values: dict[Path, Node]) -> Node:
    if path in values:
        return values[path]
    if isinstance(node, Mapping):
        entries: dict[str, Entry] = {}
        for entry in node:
            here = (*path, entry.key.text)
            key = replace(entry.key, value=renamed[here]) if here in renamed else entry.key
            entries.setdefault(key.text, Entry(key, _rebuilt(entry.value, here, renamed, values)))
        return Mapping(tuple(entries.values()), node.span)
    if isinstance(node, Sequence):
        return Sequence(tuple(_rebuilt(n, (*path, i), renamed, values) for i, n in enumerate(node.items)), node.span)
    return node


def _scalars(node: Node | None) -> Iterator[tuple[Scalar, bool]]:
    """Keys (true) and values (false) of a part."""
    if isinstance(node, Mapping):
        for entry in node:
            yield entry.key, True
            yield from _scalars(entry.value)
    elif isinstance(node, Sequence):
        for item in node:
            yield from _scalars(item)
    elif isinstance(node, Scalar):
        yield node, False
