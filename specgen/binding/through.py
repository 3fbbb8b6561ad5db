"""`through` of a counted loop: which `let` runs ahead with the reads, and the mark on its value."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence

from specgen.binding.context import Context
from specgen.binding.values import Name, Value
from specgen.expressions import Expr
from specgen.loading.walk import blocks, statements
from specgen.model import Apply, Binding, For, Let, Statement, While


def wanted(ctx: Context, statement: For, depth: int) -> str:
    """The name of the let that runs ahead of its loop; empty when nothing does, also after a diagnostic."""
    key = statement.schedule.through
    if key is None or (isinstance(key.tree, ast.Constant) and key.tree.value is None):
        return ""
    if statement.schedule.pipeline is None:
        message = "`through` lets a `let` run ahead with the reads; this loop has no `pipeline`."
        ctx.report("SG-LOOP", message, at=key.span, hint="Add `pipeline`, or remove `through`.")
        return ""
    if not isinstance(key.tree, ast.Name):
        message = f"`through` names a `let` of this loop's body, not `{key.text}`."
        ctx.report("SG-LOOP", message, at=key.span, hint="Give the value a name with `let`.")
        return ""
    text = key.tree.id
    lets = {entry.name.text: entry for entry in _lets(statement.body)}
    if text not in lets:
        _unknown(ctx, statement, key, lets)
        return ""
    return text if depth > 1 else ""


def mark(ctx: Context, entry: Binding, found: Value) -> None:
    """Mark the value of the let that runs ahead; SG-LOOP for one that is known while binding."""
    with ctx.at_place(entry.name.span):
        if found.is_static:
            message = f"`{entry.name.text}` is known when the kernel is built; there is nothing to compute ahead."
            ctx.report("SG-LOOP", message, hint="Remove `through`, or name another let.")
        else:
            ctx.emit("motif.ahead", (ctx.operand(found),), ())


def _lets(body: Sequence[Statement]) -> Iterator[Binding]:
    """The lets that each iteration computes at most once: those of loops inside are theirs."""
    for statement in body:
        if isinstance(statement, Let) and statement.kind == "let":
            yield from statement.entries
        elif not isinstance(statement, For | While):
            for inner in blocks(statement):
                yield from _lets(inner)


def _unknown(ctx: Context, statement: For, key: Expr, lets: dict[str, Binding]) -> None:
    """SG-NAME with the nearest let, or with what the name stands for instead."""
    lost = ctx.spec.lost
    if lost is not None and (key.text in lost or ctx.nameless):
        return
    message = f"no `let` `{key.text}` in the body of this loop."
    ctx.report("SG-NAME", message, at=key.span, hint=_hint(ctx, statement, key.text, lets))


def _hint(ctx: Context, statement: For, text: str, lets: dict[str, Binding]) -> str | None:
    for inner in statements(statement.body):
        if isinstance(inner, Let) and inner.kind == "var" and any(e.name.text == text for e in inner.entries):
            return f"`{text}` is a variable: name its value with `let`."
        if isinstance(inner, Apply) and inner.instance.text == text:
            return f"`{text}` is an application: name one of its results with `let`."
        if isinstance(inner, For) and text in (e.name.text for e in _lets(inner.body)):
            return f"It is a let of the loop `{inner.counter.text}` (line {inner.span.line}): give it to that one."
    outer: Name | None = ctx.scope.peek(text)
    if outer is not None and outer.kind == "var":
        return f"`{text}` is a variable (line {outer.span.line}): name its value with `let`."
    if outer is not None:
        return f"`{text}` (line {outer.span.line}) is from before the loop."
    near = difflib.get_close_matches(text, lets, n=1)
    return f"Nearest: `{near[0]}` (let, line {lets[near[0]].name.span.line})." if near else None
