"""Values as linear forms: what is equal, and what differs by a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from specgen.ir.facts_interval import Interval, point
from specgen.ir.facts_linear import Linear, symbol_of
from specgen.ir.facts_transfer import is_integer, type_range
from specgen.ir.optable import OPS

if TYPE_CHECKING:
    from specgen.ir.facts import Facts


class Forms:
    """The linear forms of the values of one function."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._known: dict[SSAValue, Linear] = {}
        self._symbols: dict[object, SSAValue] = {}

    def linear(self, value: SSAValue | int) -> Linear:
        """A value as constant plus multiples of symbols; equal forms are equal values."""
        if isinstance(value, int):
            return Linear(value)
        if value not in self._known:
            self._known[value] = self._linear_form(value)
        return self._known[value]

    def symbol(self, value: SSAValue) -> SSAValue:
        """The symbol that stands for a value when its form is one symbol, else the value."""
        form = self.linear(value)
        if form.constant == 0 and list(form.terms.values()) == [1]:
            return next(iter(form.terms))
        return value

    def _linear_form(self, value: SSAValue) -> Linear:
        op = value.owner
        if not isinstance(op, Operation) or not is_integer(value.type) or len(op.results) != 1:
            return symbol_of(value)
        form = self._sum_form(op)
        if form is None:
            return symbol_of(self._representative(op, value))
        return form if self._fits(form, value) else symbol_of(value)

    def _fits(self, form: Linear, value: SSAValue) -> bool:
        """Whether a form is the value: a narrower integer wraps unless the exact result is known to fit."""
        return isinstance(value.type, IndexType) or self.range_of(form).within(type_range(value.type))

    def _sum_form(self, op: Operation) -> Linear | None:
        if isinstance(op, arith.ConstantOp):
            return Linear(op.value.value.data) if isinstance(op.value, IntegerAttr) else None
        if op.name not in _LINEAR_OPS:
            return None
        sides = [self.linear(o) for o in op.operands]
        if op.name == "arith.addi":
            return sides[0] + sides[1]
        if op.name == "arith.subi":
            return sides[0] - sides[1]
        if op.name == "arith.muli":
            for one, other in (sides, sides[::-1]):
                if not other.terms:
                    return one.scaled(other.constant)
            return None
        if op.name == "arith.shli":
            amount = sides[1]
            return None if amount.terms or not 0 <= amount.constant < 63 else sides[0].scaled(1 << amount.constant)
        return self._cast_form(op, sides[0])

    def _cast_form(self, op: Operation, form: Linear) -> Linear | None:
        source = self.facts.base(op.operands[0], self.facts.contexts.at(op))
        if op.name == "arith.extui" and source.low < 0:
            return None
        if op.name == "arith.extsi" and type_range(op.operands[0].type) == Interval(0, 1):
            return None
        return form if source.within(type_range(op.results[0].type)) else None

    def _representative(self, op: Operation, value: SSAValue) -> SSAValue:
        """The first value that was computed in the same way: pure ops of equal operands are equal."""
        row = OPS.get(op.name)
        if row is None or not row.pure or op.regions:
            return value
        operands = tuple(self.linear(o).key if is_integer(o.type) else id(o) for o in op.operands)
        properties = tuple(sorted((k, str(v)) for k, v in op.properties.items()))
        types = tuple(str(v.type) for v in (*op.operands, value))
        return self._symbols.setdefault((op.name, operands, properties, types), value)

    def range_of(self, form: Linear) -> Interval:
        """The range of a form from the ranges of its symbols where they are defined."""
        total = point(form.constant)
        for symbol, factor in form.terms.items():
            total = total + self.facts.base(symbol, self.facts.contexts.of(symbol)) * point(factor)
        return total


_LINEAR_OPS = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.shli",
    "arith.index_cast",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
)
