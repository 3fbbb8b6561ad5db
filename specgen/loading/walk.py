"""Walks over a model: its statements, its expressions, and the names in them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from specgen.diagnostics import Span
from specgen.expressions import Expr, nodes
from specgen.model import (
    Apply,
    Assume,
    Atomic,
    Barrier,
    Case,
    For,
    If,
    Let,
    Name,
    Reference,
    Spec,
    Statement,
    Store,
    While,
)


def blocks(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case For() | While():
            return (statement.body,)
        case If():
            return (statement.then, statement.orelse)
        case Barrier(overlap=overlap) if overlap is not None:
            return (overlap,)
    return ()


def statements(block: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements of a block and of the blocks inside, in the order of the text."""
    for statement in block:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def bodies(spec: Spec) -> Iterator[tuple[Statement, ...]]:
    """The body of a spec and those of its implementations."""
    yield spec.body
    for implementation in spec.implementations:
        yield implementation.body


def values(statement: Statement) -> Iterator[tuple[Expr, ast.AST]]:
    """What a statement itself evaluates (not the blocks inside, no schedule): an expression and the part that counts.

    Of the target of a store only the subscripts count; regions of `view` and arguments of `apply` are no reads.
    """
    match statement:
        case Let():
            for entry in statement.entries:
                yield entry.value, entry.value.tree
            if statement.outside is not None:
                yield statement.outside, statement.outside.tree
        case Store():
            for target, value in statement.entries:
                yield value, value.tree
                yield from _subscripts(target)
        case Atomic():
            yield statement.value, statement.value.tree
            yield from _subscripts(statement.target)
        case For():
            yield statement.bounds, statement.bounds.tree
        case While() | If() | Assume():
            yield statement.condition, statement.condition.tree


def _subscripts(target: Expr) -> Iterator[tuple[Expr, ast.AST]]:
    if isinstance(target.tree, ast.Subscript):
        yield target, target.tree.slice


def names_in(tree: ast.AST) -> Iterator[ast.Name]:
    """The value names of an expression: not the functions that it calls, nor keywords of calls, nor `round`'s word."""
    parts = nodes(tree)
    calls = [node for node in parts if isinstance(node, ast.Call)]
    others = {id(call.func) for call in calls}
    others |= {id(given.value) for call in calls for given in call.keywords if given.arg == "round"}
    return (node for node in parts if isinstance(node, ast.Name) and id(node) not in others)


def called_in(tree: ast.AST) -> Iterator[str]:
    """The names that are called: functions, and params or defines that stand for types."""
    return (n.func.id for n in nodes(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))


def root_of(tree: ast.AST) -> ast.Name | None:
    """The name that a subscripted expression starts with."""
    while isinstance(tree, ast.Subscript):
        tree = tree.value
    return tree if isinstance(tree, ast.Name) else None


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a record class that may hold expressions; none for what is no record."""
    known = _FIELDS.get(kind)
    if known is None:
        record = dataclasses.is_dataclass(kind) and kind not in (Name, Span)
        skipped = ("used", "use_spans", "source", "span")
        known = tuple(f.name for f in dataclasses.fields(kind) if f.name not in skipped) if record else ()
        _FIELDS[kind] = known
    return known


def expressions(part: Any) -> Iterator[Expr]:
    """Every expression in a record of the model, however deep, in the order of its fields."""
    stack = [part]
    while stack:
        part = stack.pop()
        if isinstance(part, Expr):
            yield part
        elif isinstance(part, tuple):
            stack.extend(reversed(part))
        else:
            stack.extend(getattr(part, name) for name in reversed(_fields(type(part))))


def covered(entry: Any) -> Span:
    """All of a declaration or case: from its name to the last of its expressions.

    Of a TOML table the document has the place of the header only.
    """
    start = entry.name.span
    parts = [entry.name.span, *(e.span for e in expressions(entry))]
    if getattr(entry, "span", None) is not None:
        parts.append(entry.span)
    if isinstance(entry, Case):
        contents = (*(content for _, content in entry.given), entry.expect)
        parts += [content.span for content in contents if isinstance(content, Reference)]
    end_line, end_column = max((p.end_line, p.end_column) for p in parts)
    return Span(start.file, start.line, start.column, end_line, end_column)


def is_readable(entry: Any) -> bool:
    """Whether every expression of a part of the model could be read."""
    return not any(isinstance(e.tree, ast.Constant) and e.tree.value is None for e in expressions(entry))


def applications(spec: Spec) -> Iterator[Apply]:
    """Every `apply` of a spec."""
    for body in bodies(spec):
        yield from (s for s in statements(body) if isinstance(s, Apply))
