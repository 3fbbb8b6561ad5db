"""Divisibility of integer values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

if TYPE_CHECKING:
    from specgen.ir.facts import Facts
    from specgen.ir.facts_context import Context

MultipleOf = int
"""A divisor; 0 divides only 0."""


def multiple_of(facts: Facts, value: SSAValue, context: Context) -> MultipleOf:
    """The divisor of a value known in a context; see `Facts.multiple_of`."""
    found = _Search(facts, context, {}).of(value)
    for zero in context.all_zeros():
        divisor = constant_divisor(zero)
        if divisor and facts.linear(zero.owner.operands[0]).key == facts.linear(value).key:  # type: ignore[union-attr]
            found = _least_common(found, divisor)
    exact = facts.interval(value, context).exact
    return abs(exact) if exact is not None else found


class _Search:
    """One query. `assumed` holds trial divisors of loop-carried values."""

    def __init__(self, facts: Facts, context: Context, assumed: dict[SSAValue, int]) -> None:
        self.facts = facts
        self.context = context
        self.assumed = assumed
        self.known: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> int:
        """The divisor of a value; a product is kept modulo the type's wrap, which divides by powers of two only."""
        if value in self.assumed:
            return self.assumed[value]
        if value not in self.known:
            # Every cycle leads through a carried value, which `_carried` assumes.
            self.known[value] = self._combined(value)
        return self.known[value]

    def _combined(self, value: SSAValue) -> int:
        found = self._computed(value)
        if not isinstance(value.type, IndexType) and found and _may_wrap(value):
            found &= -found
        for zero in self.context.all_zeros():
            divisor = constant_divisor(zero)
            if divisor and zero.owner.operands[0] is value:  # type: ignore[union-attr]
                found = _least_common(found, divisor)
        return found

    def _computed(self, value: SSAValue) -> int:
        if isinstance(value, BlockArgument):
            return self._block_argument(value)
        assert isinstance(value, OpResult)
        op = value.owner
        stated = op.attributes.get("motif.multiple_of")
        if isinstance(stated, IntegerAttr):
            return stated.value.data
        if isinstance(op, arith.ConstantOp):
            return abs(op.value.value.data) if isinstance(op.value, IntegerAttr) else 1
        if op.name in _SHARED:
            return math.gcd(*(self.of(o) for o in op.operands[_SHARED[op.name] :]))
        if op.name == "arith.muli":
            return self.of(op.operands[0]) * self.of(op.operands[1])
        if op.name == "arith.shli":
            amount = _constant(op.operands[1])
            return self.of(op.operands[0]) << amount if amount is not None and 0 <= amount < 64 else 1
        if op.name == "arith.andi":
            # The low zero bits of either side.
            return max((m & -m for m in map(self.of, op.operands) if m), default=0)
        if op.name == "arith.floordivsi":
            divisor = _constant(op.operands[1])
            dividend = self.of(op.operands[0])
            return dividend // divisor if divisor and divisor > 0 and dividend % divisor == 0 else 1
        return self._region_result(op, value.index)

    def _region_result(self, op: Operation, index: int) -> int:
        if isinstance(op, scf.IfOp) and op.false_region.blocks:
            ends = [r.block.last_op for r in (op.true_region, op.false_region)]
            return math.gcd(*(self.of(e.operands[index]) for e in ends if e is not None))
        if isinstance(op, scf.ForOp):
            return self.of(op.body.block.args[index + 1])
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            assert condition is not None
            return self.of(condition.operands[index + 1])
        return 1

    def _block_argument(self, value: BlockArgument) -> int:
        stated = self.facts.argument_attribute(value, "motif.multiple_of")
        if isinstance(stated, IntegerAttr):
            return stated.value.data
        parent = value.owner.parent_op()
        if isinstance(parent, scf.ForOp):
            if value.index == 0:
                return math.gcd(self.of(parent.lb), self.of(parent.step))
            return self._carried(value, parent.iter_args[value.index - 1], parent.body.block.last_op, 1)
        if isinstance(parent, scf.WhileOp):
            if value.owner is parent.before_region.block:
                return self._carried(value, parent.arguments[value.index], parent.after_region.block.last_op, 0)
            condition = parent.before_region.block.last_op
            assert condition is not None
            return self.of(condition.operands[value.index + 1])
        return 1

    def _carried(self, value: BlockArgument, first: SSAValue, end: Operation | None, skip: int) -> int:
        """A carried value: its first value's divisor, cut down until a round keeps it."""
        assert end is not None
        trial = self.of(first)
        while trial != 1:
            search = _Search(self.facts, self.context, {**self.assumed, value: trial})
            after = math.gcd(trial, search.of(end.operands[value.index - skip]))
            if after == trial:
                return trial
            trial = after
        return 1


_SHARED = {
    "arith.addi": 0,
    "arith.subi": 0,
    "arith.minsi": 0,
    "arith.maxsi": 0,
    "arith.minui": 0,
    "arith.maxui": 0,
    "arith.select": 1,
    "arith.remsi": 0,
    "arith.remui": 0,
    "motif.floorremsi": 0,
    "arith.index_cast": 0,
    "arith.extsi": 0,
    "arith.extui": 0,
    "arith.trunci": 0,
    "motif.subgroup_broadcast": 0,
}
"""Ops whose result is divided by what divides all operands from this one on."""


_WRAPPING = ("arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.trunci", "arith.extui", "arith.index_cast")


def _may_wrap(value: SSAValue) -> bool:
    """Whether an op may drop bits of its exact result: what is left is divided by powers of two only."""
    return isinstance(value.owner, Operation) and value.owner.name in _WRAPPING


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    known = isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr)
    return op.value.value.data if known else None  # type: ignore[union-attr]


def constant_divisor(zero: SSAValue) -> int | None:
    """`d` where a value that is known to be 0 is `x % d`, else None."""
    op = zero.owner
    if isinstance(op, Operation) and op.name in ("arith.remsi", "arith.remui", "motif.floorremsi"):
        return _constant(op.operands[1])
    return None


def _least_common(a: int, b: int) -> int:
    return 0 if a == 0 or b == 0 else math.lcm(a, b)
