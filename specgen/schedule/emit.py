"""Building IR: an emitter that appends ops to a block, folds index constants and keeps locations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnitAttr,
    UnknownLoc,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

ANY = "motif.any"
"""On a constant whose value nothing looks at."""
INDEX_MAX = 2**63 - 1
"""The largest `index`: coordinates are signed 64-bit values."""

Values = dict[SSAValue, SSAValue]


@dataclass(frozen=True)
class Counter:
    """Name and closed range of a loop's counter."""

    hint: str | None
    limits: tuple[int, int] | None


def constant_of(value: SSAValue) -> int | None:
    """The integer of an `arith.constant`, else None."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def wrap(value: int) -> int:
    """`value` as a signed 64-bit integer."""
    return (value + 2**63) % 2**64 - 2**63


class Emitter:
    """Appends ops to `block`, or before `anchor` in it; ops without a location get `location`."""

    def __init__(self, block: Block, location: LocationAttr, anchor: Operation | None = None) -> None:
        self.block = block
        self.location = location
        self.anchor = anchor

    def inside(self, block: Block) -> Emitter:
        """An emitter for the end of another block, with the same location."""
        return Emitter(block, self.location)

    def add(self, op: Operation) -> Operation:
        """Insert `op`."""
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)
        return op

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Insert `op`; its only result."""
        result = self.add(op).results[0]
        if hint:
            result.name_hint = hint
        return result

    def clone(self, op: Operation, values: Values) -> Operation:
        """Insert a copy of `op` whose operands and captured values are those of `values`, which learns the results."""
        return self.add(op.clone(values))

    def index(self, number: int) -> SSAValue:
        """An index constant."""
        return self.value(arith.ConstantOp(IntegerAttr(wrap(number), IndexType())))

    def offset(self, value: SSAValue, amount: int, hint: str | None = None) -> SSAValue:
        """`value + amount`."""
        if amount == 0:
            return value
        known = constant_of(value)
        if known is not None:
            return self.index(known + amount)
        return self.value(arith.AddiOp(value, self.index(amount)), hint)

    def counter(self, value: SSAValue, amount: int, like: Counter) -> SSAValue:
        """`value + amount` as a value of a loop's counter: with its name, and its range as a fact."""
        result = self.offset(value, amount, like.hint)
        owner = result.owner
        if result is not value and isinstance(owner, arith.AddiOp) and like.limits is not None:
            owner.attributes["motif.range"] = range_attribute(*like.limits)
        return result

    def add_index(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left + right`."""
        known = constant_of(right)
        if known is not None:
            return self.offset(left, known)
        known = constant_of(left)
        return self.offset(right, known) if known is not None else self.value(arith.AddiOp(left, right))

    def sub_index(self, left: SSAValue, right: SSAValue, hint: str | None = None) -> SSAValue:
        """`left - right`."""
        known = constant_of(right)
        if known is not None:
            return self.offset(left, -known, hint)
        return self.value(arith.SubiOp(left, right), hint)

    def scale(self, value: SSAValue, factor: int) -> SSAValue:
        """`value * factor`."""
        known = constant_of(value)
        if factor == 1 or known is not None:
            return value if known is None else self.index(known * factor)
        return self.value(arith.MuliOp(value, self.index(factor)))

    def quotient(self, value: SSAValue, divisor: int) -> SSAValue:
        """`value / divisor`, rounded down, of an unsigned value."""
        known = constant_of(value)
        if divisor == 1 or known is not None:
            return value if known is None else self.index(known % 2**64 // divisor)
        return self.value(arith.DivUIOp(value, self.index(divisor)))

    def remainder(self, value: SSAValue, divisor: int) -> SSAValue:
        """The remainder of an unsigned value."""
        known = constant_of(value)
        if known is not None:
            return self.index(known % 2**64 % divisor)
        return self.value(arith.RemUIOp(value, self.index(divisor)))

    def less(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left < right`, signed."""
        return self.value(arith.CmpiOp(left, right, "slt"))

    def anything(self, type_: Attribute) -> SSAValue:
        """A value of the type that nothing looks at: zero, and marked so that a back end may leave it undefined."""
        op = zero(type_)
        op.attributes[ANY] = UnitAttr()
        return self.value(op)

    def conditional(self, condition: SSAValue, types: Sequence[Attribute], then: Block, otherwise: Block) -> scf.IfOp:
        """An `scf.if` of two finished blocks."""
        op = scf.IfOp(condition, types, Region(then), Region(otherwise))
        self.add(op)
        return op

    def loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        carried: Sequence[SSAValue],
        attributes: Mapping[str, Attribute],
    ) -> scf.ForOp:
        """An `scf.for` with an empty body."""
        block = Block(arg_types=[IndexType(), *(v.type for v in carried)])
        op = scf.ForOp(*bounds, carried, Region(block))
        op.attributes.update(attributes)
        self.add(op)
        return op

    def finish(self, values: Iterable[SSAValue]) -> None:
        """The block's `scf.yield`."""
        self.add(scf.YieldOp(*values))


def replace(op: Operation, results: Sequence[SSAValue]) -> None:
    """Remove `op`; `results` take its place and its names where they have none."""
    for old, new in zip(op.results, results, strict=True):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def zero(type_: Attribute) -> arith.ConstantOp:
    """The zero of a scalar or 1-D vector type. Raises `TypeError` for others."""
    if isinstance(type_, IndexType | IntegerType):
        return arith.ConstantOp(IntegerAttr(0, type_))
    if isinstance(type_, AnyFloat):
        return arith.ConstantOp(FloatAttr(0.0, type_))
    if isinstance(type_, VectorType):
        element = type_.get_element_type()
        number = 0 if isinstance(element, IndexType | IntegerType) else 0.0
        return arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [number] * type_.get_shape()[0]))
    raise TypeError(f"no zero of type {type_}")


def range_attribute(low: int, high: int) -> DenseArrayBase:
    """The `motif.range` attribute of a closed range."""
    return DenseArrayBase.from_list(i64, [low, high])
