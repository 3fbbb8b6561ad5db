"""Bounds of linear forms by adding up constraints, and the proofs that rest on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from specgen.ir.facts_context import Context
from specgen.ir.facts_interval import INF, Interval, make, point
from specgen.ir.facts_linear import Constraint, Linear, cancelling_factor, symbol_of

if TYPE_CHECKING:
    from specgen.ir.facts import Facts

Predicate = Literal["<", "<=", ">", ">=", "==", "!="]

SEARCH_DEPTH = 3
"""Constraints that one proof may add up."""


class Proofs:
    """Bounds and proofs over the values of one function."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.path: tuple[Constraint, ...] = ()
        """The constraints that the last bound of `_upper` was added up from."""
        self.rest = Linear()
        """What was left of the form, and evaluated."""

    def _evaluated(self, form: Linear, context: Context) -> Interval:
        total = point(form.constant)
        for symbol, factor in form.terms.items():
            total = total + self.facts.base(symbol, context) * point(factor)
        return total

    def bound(self, form: Linear, context: Context) -> Interval:
        """The range of a linear form in a context, by its symbols and by sums of constraints."""
        return self.narrowed(form, context, SEARCH_DEPTH, self._evaluated(form, context))

    def narrowed(self, form: Linear, context: Context, depth: int, start: Interval) -> Interval:
        high = min(start.high, self._upper(form, context, depth))
        low = max(start.low, -self._upper(form.scaled(-1), context, depth))
        return make(low, high) if low <= high else start

    def _upper(self, form: Linear, context: Context, depth: int) -> float | int:
        """An upper bound: adding `q * c` for a constraint `c <= 0` never makes a form larger."""
        best = self._evaluated(form, context).high
        path: tuple[Constraint, ...] = ()
        remaining = form
        if depth == 0 or not form.terms:
            self.path, self.rest = path, remaining
            return best
        for constraint in self._relevant(form, context):
            for symbol in form.terms:
                factor = cancelling_factor(form, constraint.form, symbol)
                if factor:
                    rest = form - constraint.form.scaled(factor)
                    if len(rest.terms) <= len(form.terms) + 1:
                        found = self._upper(rest, context, depth - 1)
                        if found < best:
                            best, path, remaining = found, (constraint, *self.path), self.rest
                    break
        self.path, self.rest = path, remaining
        return best

    def _relevant(self, form: Linear, context: Context) -> Iterator[Constraint]:
        for symbol in form.terms:
            yield from context.about(symbol)
            yield from self._definition(symbol)

    def _definition(self, symbol: SSAValue) -> Iterator[Constraint]:
        """Inequalities that hold for the result of an op by its meaning."""
        op = symbol.owner
        if not isinstance(op, Operation):
            return
        me = symbol_of(symbol)
        if op.name in ("arith.minsi", "arith.maxsi"):
            for operand in op.operands:
                difference = me - self.facts.linear(operand)
                yield Constraint(difference if op.name == "arith.minsi" else difference.scaled(-1), op)
        elif op.name in ("arith.floordivsi", "arith.ceildivsi"):
            divisor = self.facts.exact(op.operands[1])
            if divisor is not None and divisor > 0:
                excess = me.scaled(divisor) - self.facts.linear(op.operands[0])
                up = divisor - 1 if op.name == "arith.ceildivsi" else 0
                yield Constraint(excess.shifted(-up), op)
                yield Constraint(excess.scaled(-1).shifted(up - divisor + 1), op)

    def without_excluded(self, form: Linear, result: Interval, context: Context) -> Interval:
        """The range without an end that a `!=` rules out."""
        for constraint in context.constraints():
            if not constraint.differs:
                continue
            for sign in (1, -1):
                difference = form - constraint.form.scaled(sign)
                if not difference.terms:
                    value = difference.constant
                    if result.lo == value and result.hi != value:
                        result = Interval(value + 1, result.hi)
                    elif result.hi == value and result.lo != value:
                        result = Interval(result.lo, value - 1)
        return result

    def holds(self, difference: Linear, predicate: Predicate, context: Context) -> bool:
        """Whether `difference predicate 0` is certain in a context."""
        if predicate in ("<", "<=", ">", ">="):
            form = difference if predicate[0] == "<" else difference.scaled(-1)
            high = min(self._upper(form, context, SEARCH_DEPTH), INF)
            return high < 0 if len(predicate) == 1 else high <= 0
        if predicate == "==":
            return (not difference.terms and difference.constant == 0) or self.bound(difference, context).exact == 0
        value = self.bound(difference, context)
        if value.low > 0 or value.high < 0:
            return True
        return any(
            c.differs and (difference - c.form.scaled(s)).key == Linear().key
            for c in context.constraints()
            for s in (1, -1)
        )

    def decide(self, op: arith.CmpiOp, context: Context) -> bool | None:
        """The truth of an integer comparison where it is certain."""
        predicate = op.predicate.value.data
        if predicate >= 6:
            sides = [self.facts.interval(o, context) for o in op.operands]
            if any(s.low < 0 for s in sides):
                return None
            predicate -= 4
        yes, no = _DECISIONS[predicate]
        difference = self.facts.linear(op.lhs) - self.facts.linear(op.rhs)
        if self.holds(difference, yes, context):
            return True
        return False if self.holds(difference, no, context) else None


_DECISIONS: tuple[tuple[Predicate, Predicate], ...] = (
    ("==", "!="),
    ("!=", "=="),
    ("<", ">="),
    ("<=", ">"),
    (">", "<="),
    (">=", "<"),
)


def decide_by_ranges(predicate: int, left: Interval, right: Interval) -> bool | None:
    """The truth of integer predicate number `predicate` where the ranges leave no choice."""
    if predicate >= 6:
        if left.low < 0 or right.low < 0:
            return None
        predicate -= 4
    apart = left.high < right.low or right.high < left.low
    if predicate in (0, 1):
        same = left.exact is not None and left.exact == right.exact
        return None if not apart and not same else same == (predicate == 0)
    if predicate in (4, 5):
        left, right, predicate = right, left, predicate - 2
    certain = left.high < right.low if predicate == 2 else left.high <= right.low
    never = left.low >= right.high if predicate == 2 else left.low > right.high
    return True if certain else (False if never else None)


def single(form: Linear, symbol: SSAValue) -> Interval:
    """What `factor * symbol + constant <= 0` says of the symbol."""
    factor = form.terms[symbol]
    if factor > 0:
        return Interval(None, -form.constant // factor)
    return Interval(-(-form.constant // -factor), None)
