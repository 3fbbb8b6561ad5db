"""Checks and benchmarks as model records."""

from __future__ import annotations

import re
from pathlib import Path

from specgen.expressions import Expr
from specgen.loading.context import Context, child, entries, items, word
from specgen.loading.functions import defined
from specgen.loading.paths import PathProblem, inside
from specgen.model import Case, Compare, Name, Reference
from specgen.schema.messages import nearest
from specgen.schema.tree import Entry, Mapping, Node, Scalar

_REFERENCE = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_][A-Za-z0-9_]*)")


def cases(context: Context, node: Node | None, folder: Path) -> tuple[Case, ...]:
    """`checks` or `benchmarks`; references are looked up below `folder`, in their files' text."""
    return tuple(_case(context, entry, folder) for entry in entries(node))


def _case(context: Context, entry: Entry, folder: Path) -> Case:
    value = entry.value
    return Case(
        context.name(entry.key),
        tuple((context.name(e.key), context.exprs(e.value, formula=True)) for e in entries(child(value, "each"))),
        tuple(tuple(_values(context, row)) for row in items(child(value, "cases"))),
        tuple((context.name(e.key), _contents(context, e.value, folder)) for e in entries(child(value, "given"))),
        tuple(_values(context, child(value, "backing"))),
        _expected(context, child(value, "expect"), folder),
        _compare(context, child(value, "compare")),
        context.optional(child(value, "bytes"), formula=True),
        context.optional(child(value, "flops"), formula=True),
        value.span,
    )


def _values(context: Context, node: Node | None) -> list[tuple[Name, Expr]]:
    return [(context.name(entry.key), context.expr(entry.value, formula=True)) for entry in entries(node)]


def _contents(context: Context, node: Node, folder: Path) -> Expr | Reference:
    if isinstance(node, Mapping):
        return _reference(context, node, folder)
    return context.expr(node, formula=True)


def _expected(context: Context, node: Node | None, folder: Path) -> tuple[tuple[Name, Expr], ...] | Reference:
    if child(node, "reference") is not None:
        return _reference(context, node, folder)
    return tuple(_values(context, node))


def _reference(context: Context, node: Node | None, folder: Path) -> Reference:
    named = child(node, "reference")
    text = word(named)
    if not isinstance(named, Scalar) or not text:
        return Reference("", "", node.span if node is not None else context.expr(None).span)
    match = _REFERENCE.fullmatch(text)
    if match is None:
        context.report("SG-PATH", named.span, f"`{text}` names no function.", "Write `file.py:function`.", text)
        return Reference("", "", named.span)
    try:
        functions = defined(inside(folder, match["file"]), match["file"])
    except PathProblem as problem:
        context.report("SG-PATH", named.span, f"`{match['file']}` {problem.reason}.", problem.hint, text)
        functions = None
    if functions is not None and match["function"] not in functions:
        near = nearest(match["function"], functions)
        hint = f"Nearest: `{near}`." if near else f"Define it: `def {match['function']}(case):`."
        message = f"`{match['file']}` defines no function `{match['function']}`."
        context.report("SG-CHECK", named.span, message, hint, text)
    return Reference(match["file"], match["function"], named.span)


def _compare(context: Context, node: Node | None) -> Compare | None:
    if node is None:
        return None
    if isinstance(node, Mapping):
        atol, rtol = (context.optional(node.get(key)) for key in ("atol", "rtol"))
        return Compare("close", atol, rtol, node.span)
    return Compare(word(node), None, None, node.span)
