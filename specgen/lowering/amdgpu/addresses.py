"""Byte addresses of memory accesses: constants outermost, what is uniform in scalar registers, the rest per lane.

`index` arithmetic is free of overflow, so an offset is an exact sum: constant + uniform terms + varying terms, each
term a factor times one value (times extents that are not constant). 32-bit forms need a proof: an access lies
inside its buffer, so below 2 GiB the total fits, and a part is split off only where facts prove that no part is
negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from specgen.ir.facts_interval import Interval, point
from specgen.lowering.amdgpu.builder import integer
from specgen.lowering.amdgpu.context import Guard, Lowering, Memory, SumKey, number
from specgen.lowering.amdgpu.types import Value, size

Term = tuple[SSAValue | None, tuple[SSAValue, ...]]
"""A value (None: 1) times extents."""

DEPTH = 32
"""Additions and constant multiplications that are looked through from a subscript."""

LIMIT = 2**31
"""Bytes up to which offsets are 32-bit numbers."""


@dataclass
class Sum:
    """A sum of factor times term, and a constant."""

    constant: int = 0
    terms: dict[Term, int] = field(default_factory=dict)

    def add(self, term: Term, factor: int) -> None:
        self.terms[term] = self.terms.get(term, 0) + factor
        if self.terms[term] == 0:
            del self.terms[term]


@dataclass(frozen=True)
class Address:
    """The byte offset of an access within its memory, in three parts, and its alignment in bytes."""

    constant: int
    uniform: Sum
    varying: Sum
    align: int
    extent: int | None = None
    """Bytes of the memory, where it is the same in every launch."""

    def shifted(self, count: int) -> Address:
        """The address `count` bytes further on."""
        align = math.gcd(self.align, count) or self.align
        return Address(self.constant + count, self.uniform, self.varying, align, self.extent)


def decompose(value: SSAValue, factor: int, into: Sum, scale: tuple[SSAValue, ...], depth: int = DEPTH) -> None:
    """Adds `factor * value * scale` to a sum."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        if scale:
            into.add((None, scale), factor * op.value.value.data)
        else:
            into.constant += factor * op.value.value.data
        return
    if depth and isinstance(value.type, IndexType) and isinstance(op, Operation):
        if isinstance(op, arith.AddiOp | arith.SubiOp):
            decompose(op.lhs, factor, into, scale, depth - 1)
            decompose(op.rhs, -factor if isinstance(op, arith.SubiOp) else factor, into, scale, depth - 1)
            return
        if isinstance(op, arith.MuliOp | arith.ShLIOp):
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                known = _constant(other)
                if known is not None and (isinstance(op, arith.MuliOp) or (one is op.lhs and 0 <= known < 63)):
                    times = known if isinstance(op, arith.MuliOp) else 1 << known
                    decompose(one, factor * times, into, scale, depth - 1)
                    return
    into.add((value, scale), factor)


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def address(low: Lowering, op: Operation, memory: Memory, indices: list[SSAValue]) -> Address:
    """The address that an access names."""
    total = Sum()
    stride, dynamic = size(memory.type), tuple[SSAValue, ...]()
    for index, extent in zip(reversed(indices), reversed(memory.sizes), strict=True):
        decompose(index, stride, total, dynamic)
        if isinstance(extent, int):
            stride *= extent
        else:
            dynamic = (*dynamic, extent)
    uniform, varying = Sum(), Sum()
    for term, factor in total.terms.items():
        (varying if _varies(low, term) else uniform).add(term, factor)
    claimed = number(op.attributes.get("motif.align"), 1)
    known = memory.align
    for term, factor in total.terms.items():
        known = math.gcd(known, factor * _multiple(low, term))
    known = math.gcd(known, total.constant)
    align = known * claimed // math.gcd(known, claimed)
    whole = None if dynamic else stride
    return Address(total.constant, uniform, varying, max(size(memory.type), align), whole)


def _multiple(low: Lowering, term: Term) -> int:
    value, scale = term
    factors = [low.facts.multiple_of(v) for v in (*scale, *((value,) if value is not None else ()))]
    return math.prod(factors)


def _varies(low: Lowering, term: Term) -> bool:
    value, _ = term
    return value is not None and low.facts.uniform(value) == "none"


def span(low: Lowering, part: Sum, op: Operation) -> Interval:
    """The values that a part of an address may have at an access."""
    total = point(part.constant)
    for (value, scale), factor in part.terms.items():
        product = point(factor)
        for v in (*scale, *((value,) if value is not None else ())):
            product = product * low.range(v, op)
        total = total + product
    return total


def emit_sum(low: Lowering, part: Sum, bits: int, *, flags: str = "") -> Value | None:
    """The value of a sum in a width (low bits when it is wider); None for a sum that is zero."""
    b = low.b
    result: Value | None = integer(f"i{bits}", part.constant) if part.constant else None
    for (value, scale), factor in part.terms.items():
        term: Value | None = None
        for v in (*((value,) if value is not None else ()), *scale):
            factor_value = low.sized(v, bits)
            term = factor_value if term is None else b.binary(f"mul{flags}", term, factor_value)
        assert term is not None
        if factor != 1:
            term = low.multiple(term, factor, flags)
        result = term if result is None else b.binary(f"add{flags}", result, term)
    return result


def scalar(low: Lowering, part: Sum, value: Value | None) -> Value | None:
    """A uniform part as a scalar register: values that are uniform in the subgroup only are read from a lane."""
    levels = {low.facts.uniform(v) for v, _ in part.terms if v is not None}
    if value is None or "subgroup" not in levels:
        return value
    if value.type == "i32":
        return low.b.intrinsic("amdgcn.readfirstlane.i32", "i32", value)
    return low.b.intrinsic("amdgcn.readfirstlane.i64", "i64", value)


@dataclass(frozen=True)
class BufferOffsets:
    """Offsets of an access through a descriptor: per lane, and scalar."""

    lane: Value
    scalar: Value


def buffer_offsets(low: Lowering, op: Operation, at: Address) -> BufferOffsets:
    """The constant goes to the lane offset, from where it folds into the instruction; see the module's head."""
    zero = integer("i32", 0)
    if is_split(low, op, at):
        lane = low.pinned.get(key_of(at.varying)) or emit_sum(low, at.varying, 32, flags=" nuw nsw") or zero
        uniform = scalar(low, at.uniform, emit_sum(low, at.uniform, 32, flags=" nuw nsw")) or zero
        if low.guard is not None:
            dropped = out_of_range(low, op, at, BufferOffsets(lane, uniform))
            return BufferOffsets(low.b.binary("add nuw", dropped.lane, integer("i32", at.constant)), dropped.scalar)
        if at.constant:
            lane = low.b.binary("add nuw nsw", lane, integer("i32", at.constant))
        return BufferOffsets(lane, uniform)
    total = Sum(at.constant, {**at.uniform.terms})
    for term, factor in at.varying.terms.items():
        total.add(term, factor)
    lane = emit_sum(low, total, 32) or zero
    if any(span(low, Sum(0, {term: factor}), op).low < 0 for term, factor in total.terms.items()):
        # The instruction adds its immediate without wrapping: LLVM may split nothing off from a sum that wraps.
        lane = low.b.emit("i32", f'call i32 asm "", "=v,0"({lane})')
    if low.guard is not None:
        return out_of_range(low, op, at, BufferOffsets(lane, zero))
    return BufferOffsets(lane, zero)


def out_of_range(low: Lowering, op: Operation, at: Address, offsets: BufferOffsets) -> BufferOffsets:
    """Offsets under the guard at hand: where it is false the lane's is 2 GiB or more, and the scalar's is legal."""
    guard = low.guard
    assert guard is not None
    b, zero, beyond = low.b, integer("i32", 0), integer("i32", LIMIT)
    lane, uniform = offsets.lane, offsets.scalar
    spans = span(low, at.varying, op)
    if guard.uniform and spans.low >= 0 and spans.high < LIMIT // 2:
        lane = b.binary("or", lane, b.select(guard.condition, zero, beyond))
    else:
        lane = b.select(guard.condition, lane, beyond)
    if uniform.ref != "0" and not _legal_anyway(low, at, guard):
        uniform = b.select(guard.condition, uniform, zero)
    return BufferOffsets(lane, uniform)


def _legal_anyway(low: Lowering, at: Address, guard: Guard) -> bool:
    """Whether the uniform part stays within its buffer even where the guard is false, by what holds outside of it."""
    values = {v for (value, scale) in at.uniform.terms for v in (value, *scale) if v is not None}
    if any(isinstance(v.owner, Operation) and guard.op.is_ancestor(v.owner) for v in values):
        return False
    outside = span(low, at.uniform, guard.op)
    return outside.low >= 0 and outside.high < (at.extent or 0)


def key_of(part: Sum) -> SumKey:
    """A sum as a dictionary key."""
    return frozenset(part.terms.items())


def is_split(low: Lowering, op: Operation, at: Address) -> bool:
    """Whether an access through a descriptor keeps its parts apart: none may be negative, together below 2 GiB."""
    spans = [span(low, at.uniform, op), span(low, at.varying, op), point(at.constant)]
    return all(s.low >= 0 for s in spans) and sum(s.high for s in spans) < LIMIT


def pointer(low: Lowering, op: Operation, memory: Memory, at: Address) -> Value:
    """A pointer: the base, then the uniform part, then the lane's, then the constant."""
    bits = 64 if memory.space == 1 else 32
    result = memory.pointer
    uniform = emit_sum(low, at.uniform, bits)
    if bits == 64:
        uniform = scalar(low, at.uniform, uniform)
    lane_span = span(low, at.varying, op)
    if bits == 64 and lane_span.low >= 0 and lane_span.high < LIMIT and at.varying.terms:
        short = emit_sum(low, at.varying, 32, flags=" nuw nsw")
        assert short is not None
        lane: Value | None = low.b.cast("zext", short, "i64")
    else:
        lane = emit_sum(low, at.varying, bits)
    constant = integer(f"i{bits}", at.constant) if at.constant else None
    for part in (uniform, lane, constant):
        if part is not None:
            result = low.b.emit(result.type, f"getelementptr i8, {result}, {part}")
    return result
