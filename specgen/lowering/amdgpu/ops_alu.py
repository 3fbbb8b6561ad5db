"""Rows of element-wise integer and float arithmetic, comparisons and conversions."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.arith import CmpfOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from specgen.lowering.amdgpu import floats, types
from specgen.lowering.amdgpu.builder import constant, float_text, integer
from specgen.lowering.amdgpu.context import Lowering, Row, word
from specgen.lowering.amdgpu.types import Value


def _modular(opcode: str, *, arithmetic: bool = False) -> Row:
    """An instruction whose low bits depend on the low bits of its operands only: the result's width decides.

    `arithmetic` ones of `index` are free of overflow; LLVM is told where the operands are not cut.
    """

    def row(low: Lowering, op: Operation) -> None:
        result, text = op.results[0], opcode
        if not types.is_index(result.type):
            operands = [low.value(o) for o in op.operands]
        else:
            bits = low.index_bits(result)
            operands = [low.sized(o, bits) for o in op.operands]
            if arithmetic and all(low.index_bits(o) <= bits for o in op.operands):
                text += " nuw nsw" if low.never_negative(*op.operands, result) else " nsw"
        low.define(result, low.b.binary(text, *operands))

    return row


def _unsigned(opcode: str) -> Row:
    """An instruction on unsigned values; `index` is narrow only where nothing is negative."""

    def row(low: Lowering, op: Operation) -> None:
        left, right = _unsigned_operands(low, op)
        low.define(op.results[0], low.b.binary(opcode, left, right))

    return row


def _unsigned_operands(low: Lowering, op: Operation) -> list[Value]:
    if types.is_index(op.results[0].type) and not low.never_negative(*op.operands):
        return [low.sized(o, 64) for o in op.operands]
    return low.operands(op)


def _constant(low: Lowering, op: Operation) -> None:
    assert isinstance(op, ConstantOp)
    type_, attribute = low.type_of(op.result), op.value
    if isinstance(attribute, IntegerAttr):
        values: list[Any] = [attribute.value.data]
    elif isa(attribute, FloatAttr):
        values = [attribute.value.data]
    else:
        assert isinstance(attribute, DenseIntOrFPElementsAttr)
        values = list(attribute.get_values())
    if types.name(op.result.type) == "f16" and any(_is_negative_zero(v) for v in values):
        low.values[op.result] = _with_negative_zeros(low, op.result.type, values)
    else:
        low.values[op.result] = literal(op.result.type, type_, values)


def _is_negative_zero(number: float) -> bool:
    return number == 0 and math.copysign(1, number) < 0


def _with_negative_zeros(low: Lowering, type_: Any, values: list[float]) -> Value:
    """A constant of f16 in which LLVM cannot see the zeros with a sign: where one is the upper half of a pair, LLVM 22
    takes it for the zero without (its pattern for FP_ZERO)."""
    b = low.b
    bits = b.emit("i32", f'call i32 asm "", "=v,0"({integer("i32", 0x8000)})')
    zero = b.cast("bitcast", b.cast("trunc", bits, "i16"), "half")
    items = [zero if _is_negative_zero(v) else Value("half", float_text("half", float(v))) for v in values]
    count = types.lanes(type_)
    return items[0] if count is None else b.gather(items * (count if len(items) == 1 else 1))


def literal(type_: Any, text: str, values: list[Any]) -> Value:
    """A constant of an IR type from Python numbers."""
    name = types.name(type_)
    if name == "bf16":
        return floats.bf16_constant(text, values)
    scalar = types.element_text(text)
    if types.is_float(type_):
        return constant(text, [float_text(scalar, float(v)) for v in values])
    return constant(text, [integer(scalar, int(v)).ref for v in values])


def _float(opcode: str, *, exact_in_f16: bool = True) -> Row:
    """`fadd` and its like. bf16, and f16 where the hardware is not exact, are computed in f32."""

    def row(low: Lowering, op: Operation) -> None:
        name, text = types.name(op.results[0].type), floats.with_flags(opcode, op)
        operands = [low.value(o) for o in op.operands]
        if name == "bf16" or (name == "f16" and not exact_in_f16):
            plain = low.b.binary
            result = floats.through_f32(low.b, name, operands, low.target.cpu, lambda x, y: plain(text, x, y))
        else:
            result = low.b.binary(text, *operands)
        low.define(op.results[0], result)

    return row


def _negf(low: Lowering, op: Operation) -> None:
    value = low.value(op.operands[0])
    if types.name(op.results[0].type) == "bf16":
        low.define(op.results[0], low.b.binary("xor", value, integer(value.type, 0x8000)))
    else:
        low.define(op.results[0], low.b.emit(value.type, f"fneg {value}"))


def extreme(low: Lowering, kind: str, name: str, left: Value, right: Value, flags: str = "") -> Value:
    """`min` or `max` of floats: a NaN loses, -0 < +0 (IEEE 754-2019 minimumNumber and maximumNumber)."""
    intrinsic = {"min": "minimumnum", "max": "maximumnum"}[kind]

    def apply(x: Value, y: Value) -> Value:
        return low.b.intrinsic(f"{intrinsic}.{types.mangled(x.type)}", x.type, x, y, attributes=flags)

    if name == "bf16":
        return floats.through_f32(low.b, name, [left, right], low.target.cpu, apply)
    return apply(left, right)


def _extreme(kind: str) -> Row:
    def row(low: Lowering, op: Operation) -> None:
        left, right = (low.value(o) for o in op.operands)
        low.define(op.results[0], extreme(low, kind, types.name(op.results[0].type), left, right, floats.flags(op)))

    return row


def _integer_extreme(name: str) -> Row:
    def row(low: Lowering, op: Operation) -> None:
        left, right = low.operands(op)
        low.define(op.results[0], low.b.intrinsic(f"{name}.{types.mangled(left.type)}", left.type, left, right))

    return row


# Division


def _truncated(low: Lowering, op: Operation) -> tuple[Value, Value, Value, Value]:
    """Left, right, truncating quotient and remainder of a signed division in which -1 may divide the least value."""
    b = low.b
    left, right = low.operands(op)
    divisor, known = right, low.range(op.operands[1], op)
    minus = None
    if known.low <= -1 <= known.high:
        minus = b.compare("icmp eq", right, integer(right.type, -1))
        divisor = b.select(minus, integer(right.type, 1), right)
    quotient, rest = b.binary("sdiv", left, divisor), b.binary("srem", left, divisor)
    if minus is not None:
        negated = b.binary("sub", integer(left.type, 0), left)
        quotient = b.select(minus, negated, quotient)
    return left, right, quotient, rest


def _adjusted(low: Lowering, op: Operation, *, up: bool, remainder: bool) -> None:
    """Floor or ceiling division, or the floor remainder, from truncating ones."""
    b = low.b
    if low.never_negative(*op.operands):
        left, right = low.operands(op)
        quotient, rest = b.binary("udiv", left, right), b.binary("urem", left, right)
        if remainder:
            low.define(op.results[0], rest)
        elif up:
            uneven = b.compare("icmp ne", rest, integer(rest.type, 0))
            low.define(op.results[0], b.binary("add", quotient, b.cast("zext", uneven, quotient.type)))
        else:
            low.define(op.results[0], quotient)
        return
    left, right, quotient, rest = _truncated(low, op)
    zero = integer(left.type, 0)
    differ = b.compare("icmp slt", b.binary("xor", left, right), zero)
    uneven = b.compare("icmp ne", rest, zero)
    if up:
        same = b.binary("xor", differ, integer(differ.type, 1))
        step = b.cast("zext", b.binary("and", uneven, same), left.type)
        low.define(op.results[0], b.binary("add", quotient, step))
        return
    wrong = b.binary("and", uneven, differ)
    if remainder:
        low.define(op.results[0], b.select(wrong, b.binary("add", rest, right), rest))
    else:
        low.define(op.results[0], b.binary("add", quotient, b.cast("sext", wrong, left.type)))


def _remsi(low: Lowering, op: Operation) -> None:
    if low.never_negative(*op.operands):
        _unsigned("urem")(low, op)
    else:
        low.define(op.results[0], _truncated(low, op)[3])


def _ceildivui(low: Lowering, op: Operation) -> None:
    b = low.b
    left, right = _unsigned_operands(low, op)
    rest = b.binary("urem", left, right)
    uneven = b.cast("zext", b.compare("icmp ne", rest, integer(rest.type, 0)), left.type)
    low.define(op.results[0], b.binary("add", b.binary("udiv", left, right), uneven))


# Shifts


def _shift(opcode: str) -> Row:
    """An amount outside [0, width) shifts everything out; `ashr` then leaves the sign."""

    def row(low: Lowering, op: Operation) -> None:
        b = low.b
        left, right = _unsigned_operands(low, op) if opcode == "lshr" else low.operands(op)
        width = types.bits_text(left.type)
        known = low.range(op.operands[1], op)
        full = 64 if types.is_index(op.results[0].type) else width
        if known.low >= 0 and known.high < width:
            low.define(op.results[0], b.binary(opcode, left, right))
            return
        if width < full:
            left, right = low.resize(left, full), low.resize(right, full)
        inside = b.compare("icmp ult", right, integer(right.type, full))
        if opcode == "ashr":
            amount = b.select(inside, right, integer(right.type, full - 1))
            low.define(op.results[0], b.binary("ashr", left, amount))
            return
        amount = b.select(inside, right, integer(right.type, 0))
        low.define(op.results[0], b.select(inside, b.binary(opcode, left, amount), integer(left.type, 0)))

    return row


# Comparisons

CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)
"""LLVM's predicates by MLIR's predicate numbers."""


def _cmpi(low: Lowering, op: Operation) -> None:
    assert isinstance(op, CmpiOp)
    left, right = low.operands(op)
    low.define(op.result, low.b.compare(f"icmp {CMPI[op.predicate.value.data]}", left, right))


def _cmpf(low: Lowering, op: Operation) -> None:
    assert isinstance(op, CmpfOp)
    name = types.name(op.lhs.type)
    left, right = (floats.bf16_to_f32(low.b, low.value(o)) if name == "bf16" else low.value(o) for o in op.operands)
    predicate = floats.with_flags("fcmp", op)
    low.define(op.result, low.b.compare(f"{predicate} {CMPF[op.predicate.value.data]}", left, right))


def _select(low: Lowering, op: Operation) -> None:
    yes, no = op.operands[1:]
    bits = low.index_bits(op.results[0])
    chosen = [low.sized(v, bits) if types.is_index(v.type) else low.value(v) for v in (yes, no)]
    low.define(op.results[0], low.b.select(low.value(op.operands[0]), *chosen))


# Conversions


def _index_cast(low: Lowering, op: Operation) -> None:
    """Sign-extends or cuts; i1 true becomes -1."""
    source, result = op.operands[0], op.results[0]
    bits = types.bits_text(low.type_of(result))
    low.define(result, low.resize(low.value(source), bits))


def _cast(opcode: str) -> Row:
    def row(low: Lowering, op: Operation) -> None:
        low.define(op.results[0], low.b.cast(opcode, low.value(op.operands[0]), low.type_of(op.results[0])))

    return row


def _bitcast(low: Lowering, op: Operation) -> None:
    low.define(op.results[0], low.b.cast("bitcast", low.value(op.operands[0]), low.type_of(op.results[0])))


def _to_float(opcode: str) -> Row:
    """Integer to float with one rounding; bf16 goes through an f32 that is rounded to odd."""

    def row(low: Lowering, op: Operation) -> None:
        b, name = low.b, types.name(op.results[0].type)
        source = low.value(op.operands[0])
        if opcode == "uitofp" and types.is_index(op.operands[0].type):
            source = low.resize(source, 64)
        if name != "bf16":
            low.define(op.results[0], b.cast(opcode, source, low.type_of(op.results[0])))
            return
        bits = types.bits_text(source.type)
        if bits <= 16:
            wide = b.cast(opcode, source, types.with_element(source.type, "float"))
        elif bits == 32:
            wide = floats.odd_f32(b, b.cast(opcode, source, types.with_element(source.type, "double")))
        else:
            wide = floats.odd_f32(b, b.cast(opcode, _sticky(low, source), types.with_element(source.type, "double")))
        low.define(op.results[0], floats.f32_to_bf16(b, wide, low.target.cpu))

    return row


def _sticky(low: Lowering, source: Value) -> Value:
    """A 64-bit integer with what lies below bit 11 folded into bit 11, so that a double holds it exactly.

    The value keeps its bits down to bit 11, far below the 8 that bf16 keeps of anything above 2^53; smaller ones
    stay as they are.
    """
    b, mask = low.b, 2**11 - 1
    high = b.binary("and", source, integer(source.type, ~mask))
    rest = b.compare("icmp ne", b.binary("and", source, integer(source.type, mask)), integer(source.type, 0))
    folded = b.binary("or", high, b.binary("shl", b.cast("zext", rest, source.type), integer(source.type, 11)))
    top = b.binary("ashr", source, integer(source.type, 53))
    small = b.compare("icmp ult", b.binary("add", top, integer(source.type, 1)), integer(source.type, 2))
    return b.select(small, source, folded)


def _extf(low: Lowering, op: Operation) -> None:
    value, name = low.value(op.operands[0]), types.name(op.operands[0].type)
    if name == "bf16":
        value = floats.bf16_to_f32(low.b, value)
    low.define(op.results[0], low.b.cast("fpext", value, low.type_of(op.results[0])))


def _truncf(low: Lowering, op: Operation) -> None:
    value, source, target = low.value(op.operands[0]), types.name(op.operands[0].type), types.name(op.results[0].type)
    if word(op.attributes.get("motif.rounding")) == "zero":
        if target == "bf16" and source == "f16":
            value = floats.to_f32(low.b, value, source)
        low.define(op.results[0], floats.truncate_to_zero(low.b, value, target, low.target.cpu))
    else:
        low.define(op.results[0], floats.narrow(low.b, value, source, target, low.target.cpu))


def _fptoi(low: Lowering, op: Operation) -> None:
    value, result = low.value(op.operands[0]), types.llvm(op.results[0].type)
    if types.name(op.operands[0].type) in ("bf16", "f16"):
        value = floats.to_f32(low.b, value, types.name(op.operands[0].type))
    kind = "fptosi" if "signed" in op.properties else "fptoui"
    name = f"{kind}.sat.{types.mangled(result)}.{types.mangled(value.type)}"
    low.define(op.results[0], low.b.intrinsic(name, result, value))


ROWS: dict[str, Row] = {
    "arith.constant": _constant,
    "arith.addi": _modular("add", arithmetic=True),
    "arith.subi": _modular("sub", arithmetic=True),
    "arith.muli": _modular("mul", arithmetic=True),
    "arith.andi": _modular("and"),
    "arith.ori": _modular("or"),
    "arith.xori": _modular("xor"),
    "arith.divui": _unsigned("udiv"),
    "arith.remui": _unsigned("urem"),
    "arith.ceildivui": _ceildivui,
    "arith.floordivsi": lambda low, op: _adjusted(low, op, up=False, remainder=False),
    "arith.ceildivsi": lambda low, op: _adjusted(low, op, up=True, remainder=False),
    "motif.floorremsi": lambda low, op: _adjusted(low, op, up=False, remainder=True),
    "arith.remsi": _remsi,
    "arith.shli": _shift("shl"),
    "arith.shrui": _shift("lshr"),
    "arith.shrsi": _shift("ashr"),
    "arith.minsi": _integer_extreme("smin"),
    "arith.maxsi": _integer_extreme("smax"),
    "arith.minui": _integer_extreme("umin"),
    "arith.maxui": _integer_extreme("umax"),
    "arith.addf": _float("fadd"),
    "arith.subf": _float("fsub"),
    "arith.mulf": _float("fmul"),
    "arith.divf": _float("fdiv", exact_in_f16=False),
    "arith.negf": _negf,
    "arith.minnumf": _extreme("min"),
    "arith.maxnumf": _extreme("max"),
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.sitofp": _to_float("sitofp"),
    "arith.uitofp": _to_float("uitofp"),
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "arith.trunci": _cast("trunc"),
    "arith.extsi": _cast("sext"),
    "arith.extui": _cast("zext"),
    "motif.fptoi": _fptoi,
}
"""By op name."""
