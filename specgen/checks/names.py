"""What the formulas of a case may name, said without computing any of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from specgen import model
from specgen.checks.dtypes import TYPES
from specgen.checks.formula import FUNCTION_NAMES, RESERVED
from specgen.checks.written import words_of
from specgen.diagnostics import Diagnostic
from specgen.diagnostics.catalogue import diagnostic
from specgen.expressions import Expr, nodes
from specgen.loading.literals import number
from specgen.schema.messages import nearest

HINT = "A formula may name axes, case names, arguments and params."
_FORMATS = ("i4", "u4", "i8", "u8")
"""What `unpack` takes beside types."""


@dataclass(frozen=True)
class _Place:
    """What a formula at one place may name: single values, and buffers that it may subscript."""

    values: frozenset[str]
    buffers: frozenset[str]


def check_names(spec: model.Spec, case: model.Case) -> Iterator[Diagnostic]:
    """SG-CHECK for every name, function and literal range in the formulas of a case that has no meaning there."""
    for place, formula in _formulas(spec, case):
        if isinstance(formula.tree, ast.Constant):
            continue
        parts = nodes(formula.tree)
        for node in parts:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from _called(formula, node, node.func.id)
        yield from _named(formula, parts, place, spec.lost or frozenset())


def _formulas(spec: model.Spec, case: model.Case) -> Iterator[tuple[_Place, Expr]]:
    """The formulas of a case in order, with what each may name."""
    fixed = {k.name.text for k in spec.params} | {d.name.text for d in spec.defines} | RESERVED.keys()
    fixed |= {*words_of(spec), *TYPES, *_FORMATS}
    static = _Place(frozenset(fixed), frozenset())
    for values in (*(v for _, v in case.each), *([v for _, v in row] for row in case.cases)):
        yield from ((static, value) for value in values)
    buffers = {a.name.text: a for a in spec.args if isinstance(a, model.BufferArg)}
    known = fixed | {a.name.text for a in spec.args if isinstance(a, model.ScalarArg)}
    known |= {n.text for n, _ in case.each} | {n.text for row in case.cases for n, _ in row}
    known |= {n.text for n, _ in case.given if n.text not in buffers}
    alone = _Place(frozenset(known), frozenset())
    before: set[str] = set()
    # What stands under a name that is nothing, which loading told, may name any axis.
    every = set().union(*(_axes(buffers, name) for name in buffers))
    single = {a.name.text for a in spec.args} | {k.name.text for k in (*spec.params, *spec.policies)}
    for name, content in case.given:
        if isinstance(content, Expr):
            axes = _axes(buffers, name.text) if name.text in single else every
            yield (_Place(frozenset(known | axes), frozenset(before)) if axes else alone), content
        before |= {name.text} & buffers.keys()
    yield from ((alone, count) for _, count in case.backing)
    for name, wanted in () if isinstance(case.expect, model.Reference) else case.expect:
        axes = _axes(buffers, name.text) or every
        yield _Place(frozenset(known | axes | {"kept"}), frozenset(buffers)), wanted
    yield from ((alone, amount) for amount in (case.bytes, case.flops) if amount is not None)


def _axes(buffers: dict[str, model.BufferArg], name: str) -> set[str]:
    """The axes of a buffer and `flat`; nothing for a scalar."""
    return {"flat", *(axis.name.text for axis in buffers[name].shape)} if name in buffers else set()


def _named(formula: Expr, parts: list[ast.AST], place: _Place, lost: frozenset[str]) -> Iterator[Diagnostic]:
    counters = {n.target.id for n in parts if isinstance(n, ast.comprehension) and isinstance(n.target, ast.Name)}
    called = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    subscripted = {id(n.value) for n in parts if isinstance(n, ast.Subscript)}
    for node in parts:
        if not isinstance(node, ast.Name) or id(node) in called or node.id in lost:
            continue
        name = node.id
        if id(node) in subscripted:
            if name not in place.buffers:
                yield _unknown(formula, node, f"no buffer `{name}` whose contents are known here", place.buffers)
        elif name in place.buffers:
            hint = "A formula reads one element at a time."
            yield diagnostic("SG-CHECK", formula.span_of(node), f"`{name}` is a buffer: give it subscripts.", hint=hint)
        elif name not in place.values and name not in counters:
            known = place.values - TYPES.keys()
            yield _unknown(formula, node, f"no axis, case name, argument or param `{name}` here", known)


def _unknown(formula: Expr, node: ast.Name, message: str, known: Iterable[str]) -> Diagnostic:
    near = nearest(node.id, sorted(known))
    hint = f"Nearest: `{near}`." if near else HINT
    return diagnostic("SG-CHECK", formula.span_of(node), f"{message}.", hint=hint)


def _called(formula: Expr, node: ast.Call, name: str) -> Iterator[Diagnostic]:
    if name not in FUNCTION_NAMES and name not in TYPES and name != "range":
        near = nearest(name, sorted(FUNCTION_NAMES))
        message = f"formulas have no function `{name}`."
        hint = f"Nearest: `{near}`." if near else HINT
        yield diagnostic("SG-CHECK", formula.span_of(node), message, hint=hint)
    if name == "uniform" and len(node.args) == 3:
        lower, upper = (number(Expr("", a, formula.span)) for a in node.args[:2])
        if lower is not None and upper is not None and lower > upper:
            message = f"`uniform` takes the lower end first; {formula.text_of(node.args[0])} is the upper one."
            swapped = f"uniform({', '.join(formula.text_of(node.args[i]) for i in (1, 0, 2))})"
            yield diagnostic("SG-CHECK", formula.span_of(node), message, hint=f"Write `{swapped}`.")
