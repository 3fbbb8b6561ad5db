"""Values that an expression literally is, and whether they are among what a param or policy allows."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from specgen.expressions import Expr
from specgen.model import Knob, Range

PICK = "Pick a value that is allowed."


@dataclass(frozen=True)
class Problem:
    """Why a value is refused (continues a sentence that names it), and what is allowed."""

    reason: str
    allowed: tuple[str, ...]


def number(expr: Expr | None) -> int | float | None:
    """The number that an expression literally is; None for anything else."""
    if expr is None:
        return None
    tree, sign = expr.tree, 1
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        tree, sign = tree.operand, -1
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and not isinstance(tree.value, bool):
        return sign * tree.value
    return None


def literal(expr: Expr) -> tuple[str, int | float | bool | str] | None:
    """A literal with its kind (number, bool, word); a bare name counts as a word."""
    value = number(expr)
    if value is not None:
        return "number", value
    tree = expr.tree
    if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
        return "bool", tree.value
    if isinstance(tree, ast.Name):
        return ("bool", tree.id == "true") if tree.id in ("true", "false") else ("word", tree.id)
    return None


def choice_problem(knob: Knob, value: Expr | None) -> Problem | None:
    """Why `value` is literally outside of the knob's choices or range; None when it is inside or not literal.

    A bare name is never judged: it may be another param or policy, which the binder resolves.
    """
    if value is None:
        return None
    given_literal = literal(value)
    if knob.choices is not None and given_literal is not None:
        allowed = [literal(choice) for choice in knob.choices]
        if None in allowed or given_literal in allowed or given_literal[0] == "word":
            return None
        return Problem(f"is {value.text}, which is none of its choices", tuple(c.text for c in knob.choices))
    if knob.range is not None and given_literal is not None and given_literal[0] == "bool":
        return Problem(f"is {value.text}, but its range holds numbers", (bounds(knob.range),))
    given = number(value)
    if knob.range is not None and given is not None and outside(knob.range, given):
        return Problem(f"is {value.text}, which is outside of its range", (bounds(knob.range),))
    return None


def outside(allowed: Range, value: int | float) -> bool:
    """Whether the value is literally outside of a range; an empty range (reported as such) excludes nothing."""
    lo, hi = number(allowed.lo), number(allowed.hi)
    if lo is not None and hi is not None and lo > hi:
        return False
    return (lo is not None and value < lo) or (hi is not None and value > hi)


def bounds(allowed: Range) -> str:
    """A range in words."""
    return f"{allowed.lo.text} to {allowed.hi.text}"
