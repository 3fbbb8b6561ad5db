"""Which accesses of different copies of a body may not change places.

Reads commute. Accesses of different buffers commute when a promise says so, and element accesses of one memory whose
subscripts certainly differ. All else that writes keeps its order. So does everything with respect to barriers and
fences (a nested fence is local to its region), and loads of a later copy with respect to an earlier collective.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from specgen.schedule.effects import Effects, Kind, kind_of, memory_of, space_of
from specgen.schedule.emit import constant_of

_WRITES = frozenset({Kind.WRITE, Kind.ATOMIC, Kind.WORKGROUP_WRITE, Kind.PRIVATE_WRITE})
_READS = frozenset({Kind.READ, Kind.WORKGROUP_READ, Kind.PRIVATE_READ})
_WALLS = frozenset({Kind.GLOBAL_SYNC, Kind.WORKGROUP_SYNC, Kind.WHILE, Kind.OTHER})

Linear = tuple[SSAValue | None, int]
"""A subscript as base and offset; no base for a constant."""


@dataclass(frozen=True)
class Hazards:
    """Questions about instances `(copy, position)` of the ops of a body with this counter and step."""

    ops: tuple[Operation, ...]
    effects: tuple[Effects, ...]
    counter: SSAValue
    step: int | None

    def acts(self, position: int) -> bool:
        """Whether the op at the position can be in anyone's way."""
        return bool(self.effects[position].ops) or self.fenced

    def binds(self, position: int) -> bool:
        """Whether the op at the position is more than a read, so that others may have to keep their place to it."""
        return bool(self.effects[position].kinds - _READS)

    @property
    def fenced(self) -> bool:
        """Whether the body itself holds a fence."""
        return any(kind_of(op) is Kind.FENCE for op in self.ops)

    def ordered(self, earlier: tuple[int, int], later: tuple[int, int]) -> bool:
        """Whether the second instance has to stay behind the first."""
        if any(kind_of(self.ops[position]) is Kind.FENCE for _, position in (earlier, later)):
            return True
        first, second = self.effects[earlier[1]], self.effects[later[1]]
        if not first.ops or not second.ops:
            return False
        if (first.kinds | second.kinds) & _WALLS:
            return True
        if Kind.COLLECTIVE in first.kinds and second.kinds & (_READS | _WRITES | {Kind.COLLECTIVE}):
            return True
        return any(
            self._conflict(one, other, later[0] - earlier[0])
            for kind, one in first.ops
            for other_kind, other in second.ops
            if kind in _WRITES or other_kind in _WRITES
        )

    def _conflict(self, one: Operation, other: Operation, distance: int) -> bool:
        left, right = memory_of(one), memory_of(other)
        if left is None or right is None:
            return False
        if left is right:
            return not self._apart(one, other, distance)
        return not disjoint(left, right)

    def _apart(self, one: Operation, other: Operation, distance: int) -> bool:
        """Whether two accesses of single elements of one memory certainly differ in a subscript."""
        if not isinstance(one, _ELEMENT) or not isinstance(other, _ELEMENT):
            return False
        return any(
            self._differ(self._linear(left), self._linear(right), distance)
            for left, right in zip(one.indices, other.indices, strict=True)
        )

    def _differ(self, left: Linear | None, right: Linear | None, distance: int) -> bool:
        if left is None or right is None or left[0] is not right[0]:
            return False
        if left[0] is not self.counter:
            return left[1] != right[1]
        return self.step is not None and left[1] != right[1] + distance * self.step

    def _linear(self, value: SSAValue) -> Linear | None:
        known = constant_of(value)
        if known is not None:
            return None, known
        owner = value.owner
        if isinstance(owner, arith.AddiOp):
            for base, offset in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
                amount = constant_of(offset)
                inner = None if amount is None else self._linear(base)
                if inner is not None and amount is not None:
                    return inner[0], inner[1] + amount
        return (value, 0) if value is self.counter or self._outside(value) else None

    def _outside(self, value: SSAValue) -> bool:
        owner = value.owner
        block: Block | None = owner if isinstance(owner, Block) else owner.parent_block()
        while block is not None:
            if block is self.counter.owner:
                return False
            parent = block.parent_op()
            block = parent.parent_block() if parent is not None else None
        return True


_ELEMENT = (memref.LoadOp, memref.StoreOp, memref.AtomicRMWOp)


def disjoint(left: SSAValue, right: SSAValue) -> bool:
    """Whether two memories share nothing: different spaces, or storage of their own by `alloc` or by promise."""
    left, right = _behind(left), _behind(right)
    if left is right:
        return False
    if space_of(left) != space_of(right):
        return True
    return _is_root(left) and _is_root(right) and (_own(left) or _own(right))


def _behind(value: SSAValue) -> SSAValue:
    """The buffer that a typed window looks at; other memories themselves."""
    owner = value.owner
    return owner.operands[0] if isinstance(owner, Operation) and owner.name == "motif.window" else value


def _is_root(value: SSAValue) -> bool:
    return isinstance(value.owner, memref.AllocOp) or (
        isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), FuncOp)
    )


def _own(value: SSAValue) -> bool:
    if isinstance(value.owner, memref.AllocOp):
        return True
    function = value.owner.parent_op()
    if not isinstance(value, BlockArgument) or not isinstance(function, FuncOp) or function.arg_attrs is None:
        return False
    return isinstance(function.arg_attrs.data[value.index].data.get("motif.noalias"), UnitAttr)
