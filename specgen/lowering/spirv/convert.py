"""Rows of conversions between types, and of bits."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name
from specgen.lowering.spirv.floats import WORDS, round_bf16
from specgen.lowering.spirv.integers import Row, leading_zeros, sign_extended, zero_extended


def _is_odd(e: Emitter, kind: str, scalar: Id) -> Id:
    low = e.op("OpBitwiseAnd", kind, scalar, e.const(kind, 1))
    return e.op("OpINotEqual", "bool", low, e.const(kind, 0))


def _integer_cast(*, signed: bool) -> Row:
    """Between integer types of any width and `index`: extends by sign or zero, or cuts."""

    def row(e: Emitter, op: Operation) -> None:
        result, (source,) = op.results[0], op.operands
        origin, target = BITS[element_name(source.type)], BITS[element_name(result.type)]
        held = e.values[source]
        if target == 1:
            e.define(result, held.ids if origin == 1 else tuple(_is_odd(e, held.kind, x) for x in held.ids))
            return
        kind = e.kind_of(result)
        if origin == 1:
            true, false = e.const(kind, -1 if signed else 1), e.const(kind, 0)
            e.define(result, tuple(e.select(kind, x, true, false) for x in held.ids))
            return
        ids = held.ids
        if not signed and origin < target:
            ids = tuple(_zero_extended(e, x, origin, kind) for x in ids)
        else:
            ids = tuple(e.resize(x, held.kind, kind) for x in ids)
        if kind == "u32" and target < origin:
            ids = tuple(sign_extended(e, x, target) for x in ids)
        e.define(result, ids)

    return row


def _zero_extended(e: Emitter, scalar: Id, bits: int, kind: str) -> Id:
    low = zero_extended(e, scalar, bits)
    return e.op("OpUConvert", "u64", low) if kind == "u64" else low


# Integer to float


def _int_to_float(*, signed: bool) -> Row:
    def row(e: Emitter, op: Operation) -> None:
        result, (source,) = op.results[0], op.operands
        target, bits = element_name(result.type), BITS[element_name(source.type)]
        held = e.values[source]
        if bits == 1:
            one, zero = e.const(e.kind_of(result), -1.0 if signed else 1.0), e.const(e.kind_of(result), 0.0)
            e.define(result, tuple(e.select(e.kind_of(result), x, one, zero) for x in held.ids))
            return
        wide = not signed and bits == 64 and e.facts.range(source).low < 0
        kind = "u64" if wide else held.kind
        ids = []
        for scalar in e.get(source, kind):
            whole = scalar if signed or kind == "u64" else zero_extended(e, scalar, bits)
            if target == "bf16" and bits > 16:
                whole = _sticky(e, whole, kind, signed)
            ids.append(_rounded(e, whole, target, signed))
        e.define(result, tuple(ids))

    return row


def _rounded(e: Emitter, whole: Id, target: str, signed: bool) -> Id:
    name = "OpConvertSToF" if signed else "OpConvertUToF"
    if target == "f64":
        return e.op(name, "f64", whole)
    # An integer that f32 would round is beyond the largest f16 anyway.
    near = e.op(name, "f32", whole)
    if target == "bf16":
        return round_bf16(e, near)
    return e.op("OpFConvert", "f16", near) if target == "f16" else near


def _sticky(e: Emitter, whole: Id, kind: str, signed: bool) -> Id:
    """The integer with at most 24 significant bits that rounds to the same bf16.

    What lies below the 24 leading bits is folded into the last of them: far below the 8 bits of bf16.
    """
    zero, one = e.const(kind, 0), e.const(kind, 1)
    size = whole
    if signed:
        negative = e.op("OpSLessThan", "bool", whole, zero)
        size = e.select(kind, negative, e.op("OpSNegate", kind, whole), whole)
    width = 64 if kind == "u64" else 32
    unused = leading_zeros(e, size, width)
    surplus = e.glsl("SMax", "u32", e.op("OpISub", "u32", e.const("u32", width - 24), unused), e.const("u32", 0))
    last = e.op("OpShiftLeftLogical", kind, one, surplus)
    mask = e.op("OpISub", kind, last, one)
    lost = e.op("OpINotEqual", "bool", e.op("OpBitwiseAnd", kind, size, mask), zero)
    kept = e.op("OpBitwiseAnd", kind, size, e.op("OpNot", kind, mask))
    folded = e.op("OpBitwiseOr", kind, kept, e.select(kind, lost, last, zero))
    return e.select(kind, negative, e.op("OpSNegate", kind, folded), folded) if signed else folded


# Float to integer


def _float_to_int(e: Emitter, op: Operation) -> None:
    """Truncates and saturates, NaN gives 0: the instruction is undefined outside of the range, so it gets 0 there."""
    result, (source,) = op.results[0], op.operands
    bits, signed = BITS[element_name(result.type)], "signed" in op.properties
    kind = "u64" if bits == 64 else "u32"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    name = "OpConvertFToS" if signed else "OpConvertFToU"
    ids = []
    for scalar in e.get(source):
        held = e.kind_of(source)
        value = e.widened(scalar) if held == "f16" else scalar
        width = "f64" if held == "f64" else "f32"
        value = e.glsl("Trunc", width, value)
        above = e.op("OpFOrdGreaterThanEqual", "bool", value, e.const(width, float(high + 1)))
        below = e.op("OpFOrdLessThan", "bool", value, e.const(width, float(low)))
        at_least = e.op("OpFOrdGreaterThanEqual", "bool", value, e.const(width, float(low)))
        inside = e.op("OpLogicalAnd", "bool", at_least, e.op("OpLogicalNot", "bool", above))
        whole = e.op(name, kind, e.select(width, inside, value, e.const(width, 0.0)))
        limit = e.select(kind, above, e.const(kind, high), whole)
        ids.append(e.select(kind, below, e.const(kind, low), limit))
    if kind == "u32":
        ids = [sign_extended(e, i, bits) for i in ids]
    e.define(result, tuple(ids), kind)


# Float to float


def _extend(e: Emitter, op: Operation) -> None:
    source, target = e.kind_of(op.operands[0]), e.kind_of(op.results[0])
    ids = e.get(op.operands[0])
    if source == "f16":
        ids = tuple(e.widened(x, target) for x in ids)
    elif source != target:
        ids = tuple(e.op("OpFConvert", target, x) for x in ids)
    e.define(op.results[0], ids)


def narrow(e: Emitter, scalar: Id, source: str, target: str) -> Id:
    """A float of kind `source` rounded to nearest even to type `target` (f16, bf16, f32)."""
    if target == "f32":
        return e.op("OpFConvert", "f32", scalar)
    if source == "f64":
        scalar = _to_odd_f32(e, scalar)
    return round_bf16(e, scalar) if target == "bf16" else e.op("OpFConvert", "f16", scalar)


def _to_odd_f32(e: Emitter, wide: Id) -> Id:
    """An f64 rounded to odd in f32: a second rounding to a narrower type is then the right one."""
    near = e.op("OpFConvert", "f32", wide)
    bits = e.op("OpBitcast", "u32", near)
    error = e.exact("OpFSub", "f64", wide, e.op("OpFConvert", "f64", near))
    return e.op("OpBitcast", "f32", odd_bits(e, "u32", near, bits, "f64", error))


def odd_bits(e: Emitter, word: str, near: Id, bits: Id, kind: str, error: Id) -> Id:
    """The bits of `near` moved to the neighbour in the direction of `error` when inexact and even."""
    zero = e.const(kind, 0.0)
    float_kind = {"u32": "f32", "u64": "f64"}[word]
    inexact = e.op("OpFOrdNotEqual", "bool", error, zero)
    even = e.op("OpLogicalNot", "bool", _is_odd(e, word, bits))
    positive = e.op("OpFOrdGreaterThan", "bool", near, e.const(float_kind, 0.0))
    upward = e.op("OpFOrdGreaterThan", "bool", error, zero)
    away = e.op("OpLogicalEqual", "bool", positive, upward)
    step = e.select(word, away, e.const(word, 1), e.const(word, -1))
    finite = e.op("OpLogicalNot", "bool", e.op("OpIsInf", "bool", near))
    moves = e.op("OpLogicalAnd", "bool", e.op("OpLogicalAnd", "bool", inexact, even), finite)
    return e.op("OpIAdd", word, bits, e.select(word, moves, step, e.const(word, 0)))


def _truncate(e: Emitter, op: Operation) -> None:
    rounding = op.attributes.get("motif.rounding")
    to_zero = isinstance(rounding, StringAttr) and rounding.data == "zero"
    source, target = e.kind_of(op.operands[0]), element_name(op.results[0].type)
    form = towards_zero if to_zero else narrow
    e.define(op.results[0], tuple(form(e, x, source, target) for x in e.get(op.operands[0])))


def towards_zero(e: Emitter, scalar: Id, source: str, target: str) -> Id:
    """A float of kind `source` cut to type `target` (f16, bf16, f32); overflow gives the largest number.

    By bits: a driver was seen to take a rounded value that is widened again for the value before rounding.
    """
    if target == "f32":
        return _f64_towards_zero(e, scalar)
    if source == "f64":
        scalar = _f64_towards_zero(e, scalar)
    return _f32_to_bf16_cut(e, scalar) if target == "bf16" else _f32_to_f16_cut(e, scalar)


def _masked(e: Emitter, scalar: Id, mask: int) -> Id:
    bits = e.op("OpBitwiseAnd", "u32", e.op("OpBitcast", "u32", scalar), e.const("u32", mask))
    return e.op("OpBitcast", "f32", bits)


def _f32_to_bf16_cut(e: Emitter, scalar: Id) -> Id:
    quiet = e.op("OpBitwiseOr", "u32", e.op("OpBitcast", "u32", scalar), e.const("u32", 0x400000))
    kept = e.select("f32", e.op("OpIsNan", "bool", scalar), e.op("OpBitcast", "f32", quiet), scalar)
    return _masked(e, kept, 0xFFFF0000)


def _f32_to_f16_cut(e: Emitter, scalar: Id) -> Id:
    """The f32 is cut to what f16 has, so that the conversion has nothing to round."""
    size = e.glsl("FAbs", "f32", scalar)
    # Below 2^-14 the last place of f16 is 2^-24.
    scaled = e.glsl("Trunc", "f32", e.op("OpFMul", "f32", scalar, e.const("f32", 2.0**24)))
    tiny = e.op("OpFMul", "f32", scaled, e.const("f32", 2.0**-24))
    cut = e.select(
        "f32", e.op("OpFOrdLessThan", "bool", size, e.const("f32", 2.0**-14)), tiny, _masked(e, scalar, 0xFFFFE000)
    )
    largest = e.const("f32", 65504.0)
    inside = e.glsl("FClamp", "f32", cut, e.op("OpFNegate", "f32", largest), largest)
    # Infinity stays; a NaN must not lose the bits that make it one.
    special = e.op("OpFUnordGreaterThan", "bool", size, e.const("f32", 3.4028234663852886e38))
    return e.op("OpFConvert", "f16", e.select("f32", special, scalar, inside))


def _f64_towards_zero(e: Emitter, wide: Id) -> Id:
    """One step back when the nearest f32 is farther from zero; infinity steps back to the largest number."""
    near = e.op("OpFConvert", "f32", wide)
    same = e.op("OpFConvert", "f64", near)
    beyond = e.op("OpFOrdGreaterThan", "bool", e.glsl("FAbs", "f64", same), e.glsl("FAbs", "f64", wide))
    back = e.op("OpISub", "u32", e.op("OpBitcast", "u32", near), e.const("u32", 1))
    return e.select("f32", beyond, e.op("OpBitcast", "f32", back), near)


# Bits


def to_bits(e: Emitter, scalar: Id, element: str) -> Id:
    """The bits of a value of type `element`: u32 (sign-extended for narrow types) or u64."""
    if element == "bf16":
        bits = e.op("OpBitcast", "u32", scalar)
        return e.op("OpShiftRightArithmetic", "u32", bits, e.const("u32", 16))
    if element == "f16":
        pair = e.builder.vector("f16", 2)
        both = e.emit("OpCompositeConstruct", scalar, e.const("f16", 0.0), type=pair)
        return sign_extended(e, e.op("OpBitcast", "u32", both), 16)
    if element in ("f32", "f64"):
        return e.op("OpBitcast", WORDS[element], scalar)
    return e.select("u32", scalar, e.const("u32", 1), e.const("u32", 0)) if element == "i1" else scalar


def from_bits(e: Emitter, bits: Id, element: str) -> Id:
    """The value of type `element` with these low bits (u32, or u64 for 64-bit types)."""
    if element == "bf16":
        return e.op("OpBitcast", "f32", e.op("OpShiftLeftLogical", "u32", bits, e.const("u32", 16)))
    if element == "f16":
        both = e.emit("OpBitcast", bits, type=e.builder.vector("f16", 2))
        return e.op("OpCompositeExtract", "f16", both, 0)
    if element in ("f32", "f64"):
        return e.op("OpBitcast", element, bits)
    if element == "i1":
        return _is_odd(e, "u32", bits)
    return sign_extended(e, bits, BITS[element]) if BITS[element] < 32 else bits


def _bitcast(e: Emitter, op: Operation) -> None:
    source, target = element_name(op.operands[0].type), element_name(op.results[0].type)
    if BITS[source] != BITS[target]:
        raise e.refuse(op, f"{source} and {target} differ in size")
    kind = "u64" if BITS[target] == 64 else "u32"
    ids = e.get(op.operands[0], kind) if source in ("index", "i64") else e.get(op.operands[0])
    made = tuple(from_bits(e, to_bits(e, x, source), target) for x in ids)
    e.define(op.results[0], made, kind if target in ("index", "i64") else None)


ROWS: dict[str, Row] = {
    "arith.index_cast": _integer_cast(signed=True),
    "arith.extsi": _integer_cast(signed=True),
    "arith.extui": _integer_cast(signed=False),
    "arith.trunci": _integer_cast(signed=True),
    "arith.sitofp": _int_to_float(signed=True),
    "arith.uitofp": _int_to_float(signed=False),
    "arith.extf": _extend,
    "arith.truncf": _truncate,
    "arith.bitcast": _bitcast,
    "motif.fptoi": _float_to_int,
}
