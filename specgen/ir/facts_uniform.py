"""Uniformity: which groups of work-items agree on a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xdsl.dialects import gpu, scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from specgen.ir.facts_linear import Linear
from specgen.ir.optable import OPS

if TYPE_CHECKING:
    from specgen.ir.facts import Facts

Level = Literal["workgroup", "subgroup", "none"]

_ORDER: tuple[Level, ...] = ("none", "subgroup", "workgroup")


class Uniformity:
    """The widest group that agrees on a value, for values of one function.

    A value is uniform when the work-items of the group that compute it in the same round get the same.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._known: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> Level:
        """See `Facts.uniform`."""
        return self._raised(self._level(value))

    def _raised(self, level: int) -> Level:
        """One subgroup that is the whole workgroup agrees for both."""
        x, y, z = self.facts.workgroup_size
        size = self.facts.subgroup_size
        if x * y * z == 1 or (level == 1 and size is not None and size >= x * y * z):
            return "workgroup"
        return _ORDER[level]

    def _level(self, value: SSAValue) -> int:
        if value not in self._known:
            # Every cycle leads through a carried value, for which `_carried` has a guess in place.
            self._known[value] = self._computed(value)
        return self._known[value]

    def _least(self, values: list[SSAValue]) -> int:
        return min((self._level(v) for v in values), default=2)

    def _computed(self, value: SSAValue) -> int:
        if isinstance(value, BlockArgument):
            return self._block_argument(value)
        assert isinstance(value, OpResult)
        op = value.owner
        if op.name in _FIXED:
            return _FIXED[op.name]
        if isinstance(op, gpu.ThreadIdOp):
            return self._thread_id("xyz".index(op.dimension.data.value))
        if op.name == "motif.subgroup_reduce":
            whole = "cluster" not in op.properties
            return max(1 if whole else 0, self._level(op.operands[0]))
        if isinstance(op, scf.IfOp | scf.ForOp | scf.WhileOp):
            return self._region_result(op, value.index)
        row = OPS.get(op.name)
        if row is None or (row.cls == "memory" and (row.writes or not row.reads)):
            return 0 if row is None or row.writes else 2
        operands = [o for o in op.operands if not self._is_memory(o)]
        level = self._least(operands)
        return max(level, 1) if level == 0 and self._lane_is_divided_out(op) else level

    @staticmethod
    def _is_memory(value: SSAValue) -> bool:
        return value.type.name == "memref"

    def _thread_id(self, axis: int) -> int:
        extents = self.facts.workgroup_size
        if extents[axis] == 1:
            return 2
        below = 1
        for extent in extents[:axis]:
            below *= extent
        size = self.facts.subgroup_size
        return 1 if axis and size is not None and below % size == 0 else 0

    def _lane_is_divided_out(self, op: Operation) -> bool:
        """Whether `op` is the linear id (plus what is uniform) divided by a multiple of the subgroup size."""
        size = self.facts.subgroup_size
        divisor = self._divisor(op)
        if size is None or divisor is None or divisor % size:
            return False
        form = self.facts.linear(op.operands[0])
        x, y, _ = self.facts.workgroup_size
        rest, steps = Linear(form.constant), {0: 0, 1: 0, 2: 0}
        for symbol, factor in form.terms.items():
            source = symbol.owner
            if isinstance(source, gpu.ThreadIdOp):
                steps["xyz".index(source.dimension.data.value)] = factor
            elif self._level(symbol) < 1 or not self.facts.divides(
                size, Linear(0, {symbol: factor}), self.facts.contexts.root
            ):
                return False
        return rest.constant % size == 0 and self._steps_stay_inside(steps, x, y, size)

    def _steps_stay_inside(self, steps: dict[int, int], x: int, y: int, size: int) -> bool:
        """The combination of ids is constant over a subgroup once divided: x counts lanes, the rest whole rows."""
        if steps[0] not in (0, 1):
            return False
        if x % size == 0:
            return True
        linear = {0: 1, 1: x, 2: x * y}
        extents = self.facts.workgroup_size
        return all(extents[axis] == 1 or steps[axis] == linear[axis] for axis in steps)

    def _divisor(self, op: Operation) -> int | None:
        if op.name in ("arith.floordivsi", "arith.divui"):
            return self.facts.exact(op.operands[1])
        if op.name in ("arith.shrui", "arith.shrsi"):
            amount = self.facts.exact(op.operands[1])
            return None if amount is None or not 0 <= amount < 63 else 1 << amount
        return None

    def _region_result(self, op: scf.IfOp | scf.ForOp | scf.WhileOp, index: int) -> int:
        if isinstance(op, scf.IfOp):
            ends = [r.block.last_op for r in (op.true_region, op.false_region) if r.blocks]
            return min(self._level(op.cond), *(self._level(e.operands[index]) for e in ends if e is not None))
        if isinstance(op, scf.ForOp):
            return min(self._least([op.lb, op.ub]), self._level(op.body.block.args[index + 1]))
        condition = op.before_region.block.last_op
        assert isinstance(condition, scf.ConditionOp)
        return self._least([condition.condition, condition.args[index]])

    def _block_argument(self, value: BlockArgument) -> int:
        parent = value.owner.parent_op()
        if isinstance(parent, scf.ForOp):
            if value.index == 0:
                return self._least([parent.lb, parent.ub])
            return self._carried(value, parent.iter_args[value.index - 1], parent.body.block.last_op, value.index - 1)
        if isinstance(parent, scf.WhileOp):
            if value.owner is parent.before_region.block:
                end = parent.after_region.block.last_op
                return self._carried(value, parent.arguments[value.index], end, value.index)
            condition = parent.before_region.block.last_op
            assert isinstance(condition, scf.ConditionOp)
            return self._level(condition.args[value.index])
        return 2

    def _carried(self, value: BlockArgument, first: SSAValue, end: Operation | None, index: int) -> int:
        """A fixed point from above: what is derived from a guess that fails is forgotten."""
        assert end is not None
        level = self._level(first)
        while True:
            saved = dict(self._known)
            self._known[value] = level
            after = min(level, self._level(end.operands[index]))
            if after == level:
                return level
            self._known = saved
            level = after


_FIXED: dict[str, int] = {
    "arith.constant": 2,
    "gpu.block_id": 2,
    "gpu.lane_id": 0,
    "gpu.subgroup_id": 1,
    "motif.workgroup_reduce": 2,
    "motif.subgroup_broadcast": 1,
    "motif.subgroup_shuffle": 0,
    "motif.subgroup_shuffle_xor": 0,
    "motif.subgroup_scan": 0,
    "memref.atomic_rmw": 0,
}
