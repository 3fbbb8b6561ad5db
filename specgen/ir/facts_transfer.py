"""Ranges of the results of pure ops from the ranges of their operands: one function an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects import arith, gpu, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from specgen.ir import facts_interval as iv
from specgen.ir.facts_interval import TOP, Interval, make, point

if TYPE_CHECKING:
    from specgen.ir.facts_context import Context

INDEX_RANGE = Interval(-(2**63), 2**63 - 1)
INT32 = Interval(-(2**31), 2**31 - 1)


class View(Protocol):
    """Where a transfer function gets the ranges of operands from."""

    workgroup_size: Any
    subgroup_size: Any

    @property
    def interval(self) -> Callable[[SSAValue, Context], Interval]:
        """The range of a value in a context."""
        ...

    @property
    def assuming(self) -> Callable[[Context, SSAValue, bool, Operation], Context]:
        """A context with a condition added."""
        ...

    def decide(self, op: arith.CmpiOp, context: Context) -> bool | None:
        """The truth of a comparison where it is certain."""
        ...


Transfer = Callable[[View, Operation, "Context"], Interval]


def element_type(type_: Attribute) -> Attribute:
    """The element type of a vector, the type itself otherwise."""
    return type_.element_type if isinstance(type_, VectorType) else type_


def is_integer(type_: Attribute) -> bool:
    """Whether values of the type (or its elements) have integer ranges."""
    return isinstance(element_type(type_), IndexType | IntegerType)


def type_range(type_: Attribute) -> Interval:
    """All values of a type, read as signed (i1: 0 and 1); TOP for floats."""
    type_ = element_type(type_)
    if isinstance(type_, IndexType):
        return INDEX_RANGE
    if isinstance(type_, IntegerType):
        bits = type_.width.data
        return Interval(0, 1) if bits == 1 else Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return TOP


def unsigned_range(type_: Attribute) -> Interval:
    """All values of an integer type, read as unsigned."""
    type_ = element_type(type_)
    bits = 64 if isinstance(type_, IndexType) else type_.width.data if isinstance(type_, IntegerType) else 64
    return Interval(0, 2**bits - 1)


def _two(function: Callable[[Interval, Interval], Interval], *, unsigned: bool = False) -> Transfer:
    def transfer(facts: View, op: Operation, context: Context) -> Interval:
        left, right = (facts.interval(o, context) for o in op.operands[:2])
        if unsigned and (left.low < 0 or right.low < 0):
            return TOP
        return function(left, right)

    return transfer


def _one(function: Callable[[Interval], Interval]) -> Transfer:
    return lambda facts, op, context: function(facts.interval(op.operands[0], context))


def _join(facts: View, op: Operation, context: Context) -> Interval:
    return iv.hull(facts.interval(o, context) for o in op.operands)


def _constant(facts: View, op: Operation, context: Context) -> Interval:
    assert isinstance(op, arith.ConstantOp)
    attribute = op.value
    if isinstance(attribute, IntegerAttr):
        value = attribute.value.data
        return point(value & 1 if type_range(op.result.type) == Interval(0, 1) else value)
    if isinstance(attribute, DenseIntOrFPElementsAttr) and is_integer(op.result.type):
        values = [int(v) for v in attribute.get_values()]
        return Interval(min(values), max(values))
    return TOP


def _and(facts: View, op: Operation, context: Context) -> Interval:
    sides = [facts.interval(o, context) for o in op.operands]
    tops = [s.high for s in sides if s.low >= 0]
    return make(0, min(tops)) if tops else TOP


def _or(a: Interval, b: Interval) -> Interval:
    if a.low < 0 or b.low < 0:
        return TOP
    return make(max(a.low, b.low), iv.bits_above(max(a.high, b.high)))


def _xor(a: Interval, b: Interval) -> Interval:
    return make(0, iv.bits_above(max(a.high, b.high))) if a.low >= 0 and b.low >= 0 else TOP


def _shift_left(a: Interval, b: Interval) -> Interval:
    if b.low < 0 or b.high > 64:
        return TOP
    return a * make(1 << int(b.low), 1 << int(b.high))


def _shift_right(a: Interval, b: Interval) -> Interval:
    if b.low < 0 or b.high > 64:
        return TOP
    return iv.floor_div(a, make(1 << int(b.low), 1 << int(b.high)))


def _absolute(a: Interval) -> Interval:
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return make(low, max(abs(a.low), abs(a.high)))


def _compare(facts: View, op: Operation, context: Context) -> Interval:
    assert isinstance(op, arith.CmpiOp)
    truth = facts.decide(op, context)
    return Interval(0, 1) if truth is None else point(int(truth))


def _select(facts: View, op: Operation, context: Context) -> Interval:
    assert isinstance(op, arith.SelectOp)
    truth = facts.interval(op.cond, context).exact
    sides = []
    if truth != 0:
        sides.append(facts.interval(op.lhs, facts.assuming(context, op.cond, True, op)))
    if truth != 1:
        sides.append(facts.interval(op.rhs, facts.assuming(context, op.cond, False, op)))
    return iv.hull(sides)


def _sign_extend(facts: View, op: Operation, context: Context) -> Interval:
    source = facts.interval(op.operands[0], context)
    # i1 is kept as 0 and 1 here, while its sign extension is 0 or -1.
    return -source if type_range(op.operands[0].type) == Interval(0, 1) else source


def _zero_extend(facts: View, op: Operation, context: Context) -> Interval:
    source = facts.interval(op.operands[0], context)
    return source if source.low >= 0 else unsigned_range(op.operands[0].type)


def _truncate(facts: View, op: Operation, context: Context) -> Interval:
    source = facts.interval(op.operands[0], context)
    return source if source.within(type_range(op.results[0].type)) else TOP


def _count_bits(facts: View, op: Operation, context: Context) -> Interval:
    return Interval(0, int(unsigned_range(op.results[0].type).high).bit_length())


def _thread_id(facts: View, op: Operation, context: Context) -> Interval:
    assert isinstance(op, gpu.ThreadIdOp)
    return Interval(0, facts.workgroup_size["xyz".index(op.dimension.data.value)] - 1)


def _lane_id(facts: View, op: Operation, context: Context) -> Interval:
    x, y, z = facts.workgroup_size
    size = facts.subgroup_size or x * y * z
    return Interval(0, min(size, x * y * z) - 1)


def _subgroup_id(facts: View, op: Operation, context: Context) -> Interval:
    x, y, z = facts.workgroup_size
    return Interval(0, -(-x * y * z // (facts.subgroup_size or 1)) - 1)


def _insert(facts: View, op: Operation, context: Context) -> Interval:
    assert isinstance(op, vector.InsertOp)
    return facts.interval(op.source, context).join(facts.interval(op.dest, context))


TRANSFERS: dict[str, Transfer] = {
    "arith.constant": _constant,
    "arith.addi": _two(lambda a, b: a + b),
    "arith.subi": _two(lambda a, b: a - b),
    "arith.muli": _two(lambda a, b: a * b),
    "arith.floordivsi": _two(iv.floor_div),
    "arith.ceildivsi": _two(iv.ceil_div),
    "arith.divui": _two(iv.floor_div, unsigned=True),
    "arith.ceildivui": _two(iv.ceil_div, unsigned=True),
    "arith.remsi": _two(iv.trunc_rem),
    "arith.remui": _two(iv.floor_rem, unsigned=True),
    "motif.floorremsi": _two(iv.floor_rem),
    "arith.minsi": _two(iv.lower),
    "arith.maxsi": _two(iv.upper),
    "arith.minui": _two(iv.lower, unsigned=True),
    "arith.maxui": _two(iv.upper, unsigned=True),
    "arith.andi": _and,
    "arith.ori": _two(_or),
    "arith.xori": _two(_xor),
    "arith.shli": _two(_shift_left),
    "arith.shrsi": _two(_shift_right),
    "arith.shrui": _two(_shift_right, unsigned=True),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.index_cast": _sign_extend,
    "arith.extsi": _sign_extend,
    "arith.extui": _zero_extend,
    "arith.trunci": _truncate,
    "math.absi": _one(_absolute),
    "math.ctpop": _count_bits,
    "math.ctlz": _count_bits,
    "math.cttz": _count_bits,
    "vector.extract": _one(lambda a: a),
    "vector.broadcast": _one(lambda a: a),
    "vector.shuffle": _join,
    "vector.from_elements": _join,
    "vector.insert": _insert,
    "motif.subgroup_broadcast": _one(lambda a: a),
    "motif.subgroup_shuffle": _one(lambda a: a),
    "motif.subgroup_shuffle_xor": _one(lambda a: a),
    "gpu.thread_id": _thread_id,
    "gpu.block_id": lambda facts, op, context: Interval(0, 2**31 - 1),
    "gpu.lane_id": _lane_id,
    "gpu.subgroup_id": _subgroup_id,
}
"""By op name. Ops without a row have the range of their type."""
