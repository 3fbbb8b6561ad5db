"""Explanations: what is known of a value, and the declarations and conditions that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from specgen.ir import locations
from specgen.ir.facts_interval import Interval
from specgen.ir.facts_transfer import type_range
from specgen.ir.optable import OPS

if TYPE_CHECKING:
    from specgen.ir.facts import Facts
    from specgen.ir.facts_context import Context

MAX_LINES = 24


def explain(facts: Facts, value: SSAValue, context: Context) -> list[tuple[str, str]]:
    """See `Facts.why`: the value first, then what it is made of, then the conditions that hold at the point."""
    lines: list[tuple[str, str]] = []
    seen: set[SSAValue] = set()
    todo = [value]
    while todo and len(lines) < MAX_LINES:
        current = todo.pop(0)
        if current in seen:
            continue
        seen.add(current)
        lines.append((_sentence(facts, current, context), _place(current)))
        op = current.owner
        if isinstance(op, Operation) and op.name in OPS and OPS[op.name].pure:
            todo += [o for o in op.operands if not isinstance(o.owner, arith.ConstantOp)]
    symbols = {s for v in seen for s in facts.linear(v).terms}
    for constraint in context.constraints():
        if symbols & set(constraint.form.terms) and len(lines) < MAX_LINES:
            lines.append(
                (f"{_form(facts, constraint)} here, by {constraint.origin.name}", _op_place(constraint.origin))
            )
    return lines


def name_of(facts: Facts, value: SSAValue) -> str:
    """A value in words: the argument's or the IR's name, else the op."""
    named = facts.argument_attribute(value, "motif.name")
    if isinstance(named, StringAttr):
        return named.data
    if value.name_hint:
        return value.name_hint
    return value.owner.name if isinstance(value.owner, Operation) else "value"


def _sentence(facts: Facts, value: SSAValue, context: Context) -> str:
    known: Interval = facts.interval(value, context)
    name = name_of(facts, value)
    parts = []
    if known.exact is not None:
        parts.append(f"is {known.exact}")
    elif known != type_range(value.type):
        parts.append(f"is in {known}")
    from specgen.ir.facts_multiple import multiple_of

    factor = multiple_of(facts, value, context)
    if known.exact is None and factor > 1:
        parts.append(f"is a multiple of {factor}")
    level = facts.uniform(value)
    if level != "none":
        parts.append(f"is uniform in the {level}")
    return f"{name} {', '.join(parts) or 'may be anything'}{_source(facts, value)}"


def _source(facts: Facts, value: SSAValue) -> str:
    op = value.owner
    if not isinstance(op, Operation):
        if facts.argument_attribute(value, "motif.name") is None:
            return " (carried or counted by a loop)"
        return " (declared)" if facts.argument_attribute(value, "motif.range") is not None else " (an argument)"
    stated = " (declared)" if "motif.range" in op.attributes else ""
    return f", from {op.name}{stated}"


def _form(facts: Facts, constraint: object) -> str:
    form, differs = constraint.form, constraint.differs  # type: ignore[attr-defined]
    text = " + ".join(f"{name_of(facts, s)}" if f == 1 else f"{f} * {name_of(facts, s)}" for s, f in form.terms.items())
    return f"{text} {'!=' if differs else '<='} {-form.constant}"


def _place(value: SSAValue) -> str:
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return "" if op is None else _op_place(op)


def _op_place(op: Operation) -> str:
    return locations.text(op)
