"""Rows of integer arithmetic and comparisons.

Vulkan leaves OpSRem, OpSMod and shifts beyond the width undefined for values that the IR defines, so remainders
come from quotients and shift amounts are checked unless facts prove them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.arith import CmpiOp
from xdsl.ir import Operation

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name

Compute = Callable[[Emitter, "Work", Id, Id], Id]
"""The result of one pair of scalars."""


@dataclass(frozen=True)
class Work:
    """How an integer op is computed: `kind` of its scalars, `bits` of its IR type, what facts say of the operands."""

    kind: str
    bits: int
    nonnegative: bool = False
    positive_divisor: bool = False
    amount_in_width: bool = False

    @property
    def width(self) -> int:
        """Bits of the scalars."""
        return 64 if self.kind == "u64" else 32


Row = Callable[[Emitter, Operation], None]


def sign_extended(e: Emitter, scalar: Id, bits: int) -> Id:
    """The low `bits` of a u32 as a signed value."""
    if bits >= 32:
        return scalar
    known = e.known(scalar)
    if known is not None:
        low = known & ((1 << bits) - 1)
        return e.const("u32", low - (low >> (bits - 1) << bits))
    return e.op("OpBitFieldSExtract", "u32", scalar, e.const("u32", 0), e.const("u32", bits))


def zero_extended(e: Emitter, scalar: Id, bits: int) -> Id:
    """The low `bits` of a u32 as an unsigned value."""
    return scalar if bits >= 32 else e.op("OpBitwiseAnd", "u32", scalar, e.const("u32", (1 << bits) - 1))


def wrapping(compute: Compute, on_bool: str) -> Row:
    """An op whose low bits depend on the low bits of its operands alone: computed in the kind of its result."""

    def row(e: Emitter, op: Operation) -> None:
        result = op.results[0]
        kind, bits = e.kind_of(result), BITS[element_name(result.type)]
        pairs = zip(*(e.get(v) if kind == "bool" else e.get(v, kind) for v in op.operands), strict=True)
        if kind == "bool":
            e.define(result, tuple(e.op(on_bool, "bool", a, b) for a, b in pairs))
        else:
            work = Work(kind, bits)
            e.define(result, tuple(sign_extended(e, compute(e, work, a, b), bits) for a, b in pairs))

    return row


def whole(compute: Compute, on_bool: str | None = None, *, unsigned: bool = False) -> Row:
    """An op that needs the whole values of its operands: computed in the widest kind among them and its result."""

    def row(e: Emitter, op: Operation) -> None:
        result = op.results[0]
        name = element_name(result.type)
        if name == "i1":
            if on_bool is None:
                raise e.refuse(op, "no form for i1")
            pairs = zip(*(e.get(v) for v in op.operands), strict=True)
            e.define(result, tuple(e.op(on_bool, "bool", a, b) for a, b in pairs))
            return
        work = _work(e, op, unsigned)
        sides = [[_extended(e, x, work, unsigned) for x in e.get(v, work.kind)] for v in op.operands]
        ids = tuple(compute(e, work, a, b) for a, b in zip(*sides, strict=True))
        if work.kind == "u32":
            ids = tuple(sign_extended(e, i, work.bits) for i in ids)
        e.define(result, ids, work.kind)

    return row


def _work(e: Emitter, op: Operation, unsigned: bool) -> Work:
    lhs, rhs = op.operands
    bits = BITS[element_name(op.results[0].type)]
    low, right = e.facts.range(lhs), e.facts.range(rhs)
    nonnegative = low.low >= 0 and right.low >= 0
    wide = "u64" in (e.kind_of(op.results[0]), e.kind_of(lhs), e.kind_of(rhs))
    # Seen as unsigned, a negative index has 64 bits.
    wide = wide or (unsigned and bits == 64 and not nonnegative)
    return Work(
        "u64" if wide else "u32", bits, nonnegative, right.low > 0, right.low >= 0 and right.high < min(bits, 32)
    )


def _extended(e: Emitter, scalar: Id, work: Work, unsigned: bool) -> Id:
    return zero_extended(e, scalar, work.bits) if unsigned and work.kind == "u32" else scalar


def _plain(name: str) -> Compute:
    return lambda e, w, a, b: e.op(name, w.kind, a, b)


def _add(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    return e.add(w.kind, a, b)


def _mul(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    return e.mul(w.kind, a, b)


# Division


def _power_of_two(e: Emitter, b: Id) -> int | None:
    """The exponent of a constant power of two."""
    known = e.known(b)
    return known.bit_length() - 1 if known is not None and known > 0 and known & (known - 1) == 0 else None


def _quotient(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    """Truncating signed division that is defined for every pair, also the least value by -1 (which wraps)."""
    if w.nonnegative:
        return e.op("OpUDiv", w.kind, a, b)
    if w.positive_divisor:
        return e.op("OpSDiv", w.kind, a, b)
    size = e.op("OpUDiv", w.kind, _magnitude(e, w.kind, a), _magnitude(e, w.kind, b))
    negative = e.op("OpSLessThan", "bool", e.op("OpBitwiseXor", w.kind, a, b), e.const(w.kind, 0))
    return e.select(w.kind, negative, e.op("OpSNegate", w.kind, size), size)


def _magnitude(e: Emitter, kind: str, a: Id) -> Id:
    negative = e.op("OpSLessThan", "bool", a, e.const(kind, 0))
    return e.select(kind, negative, e.op("OpSNegate", kind, a), a)


def _remainder(e: Emitter, w: Work, a: Id, b: Id, quotient: Id) -> Id:
    return e.op("OpISub", w.kind, a, e.op("OpIMul", w.kind, quotient, b))


def _uneven(e: Emitter, w: Work, remainder: Id, b: Id, *, opposite: bool) -> Id:
    """Whether the remainder is not zero and its sign differs from (or equals) the divisor's."""
    zero = e.const(w.kind, 0)
    rest = e.op("OpINotEqual", "bool", remainder, zero)
    signs = e.op("OpBitwiseXor", w.kind, remainder, b)
    test = e.op("OpSLessThan" if opposite else "OpSGreaterThanEqual", "bool", signs, zero)
    return e.op("OpLogicalAnd", "bool", rest, test)


def _floor_quotient(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    exponent = _power_of_two(e, b)
    if exponent is not None:
        return e.op("OpShiftRightArithmetic", w.kind, a, e.const("u32", exponent)) if exponent else a
    quotient = _quotient(e, w, a, b)
    if w.nonnegative:
        return quotient
    below = _uneven(e, w, _remainder(e, w, a, b, quotient), b, opposite=True)
    return e.op("OpIAdd", w.kind, quotient, e.select(w.kind, below, e.const(w.kind, -1), e.const(w.kind, 0)))


def _ceil_quotient(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    quotient = _quotient(e, w, a, b)
    above = _uneven(e, w, _remainder(e, w, a, b, quotient), b, opposite=False)
    return e.op("OpIAdd", w.kind, quotient, e.select(w.kind, above, e.const(w.kind, 1), e.const(w.kind, 0)))


def _floor_remainder(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    known = e.known(b)
    if known is not None and _power_of_two(e, b) is not None:
        return e.op("OpBitwiseAnd", w.kind, a, e.const(w.kind, known - 1))
    if w.nonnegative:
        return e.op("OpUMod", w.kind, a, b)
    rest = _remainder(e, w, a, b, _quotient(e, w, a, b))
    return e.op("OpIAdd", w.kind, rest, e.select(w.kind, _uneven(e, w, rest, b, opposite=True), b, e.const(w.kind, 0)))


def _truncated_remainder(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    return _remainder(e, w, a, b, _quotient(e, w, a, b))


def _ceil_unsigned(e: Emitter, w: Work, a: Id, b: Id) -> Id:
    quotient = e.op("OpUDiv", w.kind, a, b)
    uneven = e.op("OpINotEqual", "bool", e.op("OpIMul", w.kind, quotient, b), a)
    return e.op("OpIAdd", w.kind, quotient, e.select(w.kind, uneven, e.const(w.kind, 1), e.const(w.kind, 0)))


# Shifts and order


def _shift(name: str) -> Compute:
    """A shift; an amount outside [0, bits) (a finding) shifts everything out, as the interpreter does."""

    def compute(e: Emitter, w: Work, a: Id, b: Id) -> Id:
        known, limit = e.known(b), min(w.bits, w.width)
        if w.amount_in_width or (known is not None and 0 <= known < limit):
            return e.op(name, w.kind, a, b)
        inside = e.op("OpULessThan", "bool", b, e.const(w.kind, limit))
        if name == "OpShiftRightArithmetic":
            return e.op(name, w.kind, a, e.select(w.kind, inside, b, e.const(w.kind, w.width - 1)))
        amount = e.op("OpBitwiseAnd", w.kind, b, e.const(w.kind, w.width - 1))
        return e.select(w.kind, inside, e.op(name, w.kind, a, amount), e.const(w.kind, 0))

    return compute


def extreme(e: Emitter, kind: str, a: Id, b: Id, *, least: bool, unsigned: bool) -> Id:
    """The smaller or larger of two integers. Sign-extended values keep their unsigned order."""
    letter = "U" if unsigned else "S"
    if kind == "u32":
        return e.glsl(f"{letter}{'Min' if least else 'Max'}", kind, a, b)
    wins = e.op(f"Op{letter}{'LessThan' if least else 'GreaterThan'}", "bool", a, b)
    return e.select(kind, wins, a, b)


def _extreme(*, least: bool, unsigned: bool) -> Compute:
    return lambda e, w, a, b: extreme(e, w.kind, a, b, least=least, unsigned=unsigned)


_PREDICATES = (
    "OpIEqual",
    "OpINotEqual",
    "OpSLessThan",
    "OpSLessThanEqual",
    "OpSGreaterThan",
    "OpSGreaterThanEqual",
    "OpULessThan",
    "OpULessThanEqual",
    "OpUGreaterThan",
    "OpUGreaterThanEqual",
)
"""By predicate number of `arith.cmpi`."""

_BOOL_PREDICATES = (
    ("OpLogicalEqual", None),
    ("OpLogicalNotEqual", None),
    ("OpLogicalAnd", 1),
    ("OpLogicalOr", 1),
    ("OpLogicalAnd", 0),
    ("OpLogicalOr", 0),
    ("OpLogicalAnd", 0),
    ("OpLogicalOr", 0),
    ("OpLogicalAnd", 1),
    ("OpLogicalOr", 1),
)
"""By predicate number: the op on i1 and the operand that it negates (a signed true is -1)."""


def _compare(e: Emitter, op: Operation) -> None:
    assert isinstance(op, CmpiOp)
    number = op.predicate.value.data
    kinds = {e.kind_of(op.lhs), e.kind_of(op.rhs)}
    ids = []
    if kinds == {"bool"}:
        name, negated = _BOOL_PREDICATES[number]
        for pair in zip(e.get(op.lhs), e.get(op.rhs), strict=True):
            sides = [e.op("OpLogicalNot", "bool", x) if negated == n else x for n, x in enumerate(pair)]
            ids.append(e.op(name, "bool", *sides))
    else:
        kind = "u64" if "u64" in kinds else "u32"
        for a, b in zip(e.get(op.lhs, kind), e.get(op.rhs, kind), strict=True):
            ids.append(e.op(_PREDICATES[number], "bool", a, b))
    e.define(op.results[0], tuple(ids))


# Bits


def _halves(e: Emitter, scalar: Id) -> tuple[Id, Id]:
    """Low and high word of a u64."""
    high = e.op("OpShiftRightLogical", "u64", scalar, e.const("u32", 32))
    return e.op("OpUConvert", "u32", scalar), e.op("OpUConvert", "u32", high)


def _count_ones(e: Emitter, scalar: Id, bits: int) -> Id:
    if bits < 64:
        return e.op("OpBitCount", "u32", zero_extended(e, scalar, bits))
    return e.op("OpIAdd", "u32", *(e.op("OpBitCount", "u32", half) for half in _halves(e, scalar)))


def leading_zeros(e: Emitter, scalar: Id, bits: int) -> Id:
    """Zeros above the highest set bit as u32, `bits` for 0: FindUMsb gives -1 for 0."""
    if bits < 64:
        top = e.glsl("FindUMsb", "u32", zero_extended(e, scalar, bits))
        return e.op("OpISub", "u32", e.const("u32", bits - 1), top)
    low, high = _halves(e, scalar)
    in_low = e.op("OpISub", "u32", e.const("u32", 63), e.glsl("FindUMsb", "u32", low))
    in_high = e.op("OpISub", "u32", e.const("u32", 31), e.glsl("FindUMsb", "u32", high))
    return e.select("u32", e.op("OpIEqual", "bool", high, e.const("u32", 0)), in_low, in_high)


def _trailing_zeros(e: Emitter, scalar: Id, bits: int) -> Id:
    """Zeros below the lowest set bit, `bits` for 0; FindILsb gives -1 for 0."""
    if bits < 32:
        return e.glsl("FindILsb", "u32", e.op("OpBitwiseOr", "u32", scalar, e.const("u32", 1 << bits)))
    words = (scalar,) if bits == 32 else _halves(e, scalar)
    count = e.const("u32", bits)
    for position in reversed(range(len(words))):
        found = e.op("OpIAdd", "u32", e.glsl("FindILsb", "u32", words[position]), e.const("u32", 32 * position))
        empty = e.op("OpIEqual", "bool", words[position], e.const("u32", 0))
        count = e.select("u32", empty, count, found)
    return count


def _absolute(e: Emitter, op: Operation) -> None:
    result, (source,) = op.results[0], op.operands
    bits = BITS[element_name(result.type)]
    if bits == 1:
        raise e.refuse(op, "no form for i1")
    kind = "u64" if "u64" in (e.kind_of(result), e.kind_of(source)) else "u32"
    ids = tuple(
        _magnitude(e, kind, x) if kind == "u64" else sign_extended(e, e.glsl("SAbs", kind, x), bits)
        for x in e.get(source, kind)
    )
    e.define(result, ids, kind)


def _count(compute: Callable[[Emitter, Id, int], Id]) -> Row:
    """A count of bits: a small number, computed as u32."""

    def row(e: Emitter, op: Operation) -> None:
        result = op.results[0]
        bits = BITS[element_name(result.type)]
        if bits == 1:
            raise e.refuse(op, "no form for i1")
        # The bits of an index are the 64 of its value.
        kind = "u64" if bits == 64 else "u32"
        e.define(result, tuple(compute(e, x, bits) for x in e.get(op.operands[0], kind)), "u32")

    return row


ROWS: dict[str, Row] = {
    "arith.addi": wrapping(_add, "OpLogicalNotEqual"),
    "arith.subi": wrapping(_plain("OpISub"), "OpLogicalNotEqual"),
    "arith.muli": wrapping(_mul, "OpLogicalAnd"),
    "arith.andi": wrapping(_plain("OpBitwiseAnd"), "OpLogicalAnd"),
    "arith.ori": wrapping(_plain("OpBitwiseOr"), "OpLogicalOr"),
    "arith.xori": wrapping(_plain("OpBitwiseXor"), "OpLogicalNotEqual"),
    "arith.shli": whole(_shift("OpShiftLeftLogical")),
    "arith.shrui": whole(_shift("OpShiftRightLogical"), unsigned=True),
    "arith.shrsi": whole(_shift("OpShiftRightArithmetic")),
    "arith.floordivsi": whole(_floor_quotient),
    "arith.ceildivsi": whole(_ceil_quotient),
    "arith.divui": whole(_plain("OpUDiv"), unsigned=True),
    "arith.ceildivui": whole(_ceil_unsigned, unsigned=True),
    "arith.remsi": whole(_truncated_remainder),
    "arith.remui": whole(_plain("OpUMod"), unsigned=True),
    "motif.floorremsi": whole(_floor_remainder),
    "arith.minsi": whole(_extreme(least=True, unsigned=False), "OpLogicalOr"),
    "arith.maxsi": whole(_extreme(least=False, unsigned=False), "OpLogicalAnd"),
    "arith.minui": whole(_extreme(least=True, unsigned=True), "OpLogicalAnd"),
    "arith.maxui": whole(_extreme(least=False, unsigned=True), "OpLogicalOr"),
    "arith.cmpi": _compare,
    "math.ctpop": _count(_count_ones),
    "math.ctlz": _count(leading_zeros),
    "math.cttz": _count(_trailing_zeros),
    "math.absi": _absolute,
}
