"""Statements as model records: one function a kind, picked by the key that names the statement."""

from __future__ import annotations

import ast
from collections.abc import Callable

from specgen.loading.context import Context, child, entries, items, word
from specgen.model import (
    Apply,
    Assume,
    Atomic,
    Barrier,
    For,
    If,
    Let,
    LoopSchedule,
    ReadSchedule,
    Statement,
    Store,
    ViewStatement,
    While,
)
from specgen.schema.tree import Mapping, Node


def block(context: Context, node: Node | None) -> tuple[Statement, ...]:
    """A list of statements; one whose kind cannot be told is left out (the schema has reported it)."""
    made = (_statement(context, item) for item in items(node))
    return tuple(statement for statement in made if statement is not None)


def _statement(context: Context, node: Mapping) -> Statement | None:
    kind = next((entry.key.text for entry in node if entry.key.text in _BUILDERS), None)
    return None if kind is None else _BUILDERS[kind](context, node)


def _read_schedule(context: Context, node: Node | None) -> ReadSchedule | None:
    if not isinstance(node, Mapping):
        return None
    return ReadSchedule(**{key: context.optional(node.get(key)) for key in ReadSchedule.__dataclass_fields__})


def _values(kind: str) -> Callable[[Context, Mapping], Statement]:
    def build(context: Context, node: Mapping) -> Statement:
        return Let(
            kind,
            context.bindings(node.get(kind)),
            context.optional(node.get("outside")),
            _read_schedule(context, node.get("schedule")),
            node.span,
        )

    return build


def _view(context: Context, node: Mapping) -> Statement:
    return ViewStatement(
        context.bindings(node.get("view")),
        context.optional(node.get("outside")),
        _read_schedule(context, node.get("schedule")),
        node.span,
    )


def _store(context: Context, node: Mapping) -> Statement:
    pairs = []
    for entry in entries(node.get("store")):
        target = context.expr(entry.key)
        if not isinstance(target.tree, (ast.Subscript, ast.Constant)):
            message = f"`{entry.key.text}` is no element or range to store to."
            context.report("SG-SYNTAX", entry.key.span, message, "Write `buffer[i, j]: value`.")
        pairs.append((target, context.expr(entry.value)))
    return Store(tuple(pairs), word(node.get("outside")) == "skip", node.span)


def _atomic(context: Context, node: Mapping) -> Statement | None:
    target = next(entries(node.get("atomic")), None)
    if target is None:
        return None
    operation = next(entries(target.value), None)
    result = node.get("as")
    return Atomic(
        context.expr(target.key),
        operation.key.text if operation else "",
        context.expr(operation.value if operation else None),
        None if result is None else context.name(result),
        node.span,
    )


def _for(context: Context, node: Mapping) -> Statement:
    bounds = context.expr(node.get("in"))
    tree = bounds.tree
    is_range = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "range"
    if not is_range and not isinstance(tree, ast.Constant):
        context.report("SG-SYNTAX", bounds.span, "a loop runs over `range(...)`.", "Write `in: range(n)`.", bounds.text)
    elif isinstance(tree, ast.Call) and (not 1 <= len(tree.args) <= 3 or tree.keywords):
        message = "`range` takes one to three values: `range(end)`, `range(begin, end)`, `range(begin, end, step)`."
        context.report("SG-SYNTAX", bounds.span, message, "Write `in: range(n)`.", bounds.text)
    schedule = node.get("schedule")
    keys = LoopSchedule.__dataclass_fields__
    return For(
        context.name(node.get("for")),
        bounds,
        block(context, node.get("do")),
        LoopSchedule(**{key: context.optional(child(schedule, key)) for key in keys}),
        node.span,
    )


def _while(context: Context, node: Mapping) -> Statement:
    return While(context.expr(node.get("while")), block(context, node.get("do")), node.span)


def _if(context: Context, node: Mapping) -> Statement:
    return If(
        context.expr(node.get("if")),
        block(context, node.get("then")),
        block(context, node.get("else")),
        context.optional(child(node.get("schedule"), "split")),
        node.span,
    )


def _apply(context: Context, node: Mapping) -> Statement:
    return Apply(
        context.name(node.get("apply")),
        context.name(node.get("as")),
        context.bindings(node.get("with")),
        context.bindings(node.get("params")),
        context.bindings(node.get("policies")),
        node.span,
    )


def _barrier(context: Context, node: Mapping) -> Statement:
    overlap = node.get("overlap")
    return Barrier(
        word(node.get("barrier")),
        None if overlap is None else block(context, overlap),
        context.optional(child(node.get("schedule"), "form")),
        node.span,
    )


def _assume(context: Context, node: Mapping) -> Statement:
    return Assume(context.expr(node.get("assume")), node.span)


_BUILDERS: dict[str, Callable[[Context, Mapping], Statement | None]] = {
    "let": _values("let"),
    "var": _values("var"),
    "set": _values("set"),
    "view": _view,
    "store": _store,
    "atomic": _atomic,
    "for": _for,
    "while": _while,
    "if": _if,
    "apply": _apply,
    "barrier": _barrier,
    "assume": _assume,
}
