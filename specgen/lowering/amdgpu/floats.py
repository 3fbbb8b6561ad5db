"""Float operations in their defined rounding: half and bf16 through f32 where that is exact, bf16 by integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Operation

from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.builder import Builder, constant, floating, integer
from specgen.lowering.amdgpu.types import Value

NATIVE_BF16 = ("gfx950", "gfx1250")
"""Processors with a conversion from f32 to bf16 that rounds to nearest even."""

FLAGS = {"contract": "contract", "afn": "afn", "nnan": "nnan"}
"""Fast-math words that the IR may carry; no other ever reaches LLVM."""


def flags(op: Operation) -> str:
    """LLVM's fast-math flags for an op, "" for none."""
    attribute = op.properties.get("fastmath")
    if not isinstance(attribute, FastMathFlagsAttr):
        return ""
    words = {flag.value for flag in attribute.data}
    return " ".join(text for word, text in FLAGS.items() if word in words)


def with_flags(opcode: str, op: Operation) -> str:
    """An opcode followed by the op's flags."""
    return f"{opcode} {flags(op)}".rstrip()


def bf16_bits(value: float) -> int:
    """The bit pattern of a number as bf16, rounded once to nearest even."""
    import struct

    if value != value:
        return 0x7FC0
    sign = 0x8000 if struct.pack(">d", value)[0] & 0x80 else 0
    size = abs(value)
    if size == float("inf"):
        return sign | 0x7F80
    # Bit patterns of positive floats are in order: find the two neighbours, then the nearer one.
    low = _truncated(size)
    below, above = Fraction(_from_bits(low)), Fraction(2) ** 128 if low == 0x7F7F else Fraction(_from_bits(low + 1))
    distance = Fraction(size) - below
    up = distance * 2 > above - below or (distance * 2 == above - below and low & 1)
    return sign | (low + int(up))


def _from_bits(bits: int) -> float:
    import struct

    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def _truncated(size: float) -> int:
    """The largest finite bf16 pattern that is not above a size."""
    low, high = 0, 0x7F7F
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _from_bits(middle) <= size else (low, middle - 1)
    return low


def bf16_to_f32(b: Builder, value: Value) -> Value:
    """Exact."""
    wide = b.cast("zext", value, types.with_element(value.type, "i32"))
    shifted = b.binary("shl", wide, integer(wide.type, 16))
    return b.cast("bitcast", shifted, types.with_element(value.type, "float"))


def f32_to_bf16(b: Builder, value: Value, cpu: str) -> Value:
    """Nearest even; a NaN stays a quiet NaN with its sign and upper payload.

    By integers where the processor has no conversion: add 0x7fff and the lowest kept bit, take the upper half.
    """
    if cpu in NATIVE_BF16:
        short = b.cast("fptrunc", value, types.with_element(value.type, "bfloat"))
        return b.cast("bitcast", short, types.with_element(value.type, "i16"))
    word = types.with_element(value.type, "i32")
    bits = b.cast("bitcast", value, word)
    lowest = b.binary("and", b.binary("lshr", bits, integer(word, 16)), integer(word, 1))
    rounded = b.binary("add", b.binary("add", bits, integer(word, 0x7FFF)), lowest)
    quiet = b.binary("or", bits, integer(word, 0x400000))
    is_nan = b.compare("fcmp uno", value, value)
    chosen = b.select(is_nan, quiet, rounded)
    return b.cast("trunc", b.binary("lshr", chosen, integer(word, 16)), types.with_element(value.type, "i16"))


def to_f32(b: Builder, value: Value, name: str) -> Value:
    """A value of f16, bf16 or f32 as f32."""
    if name == "bf16":
        return bf16_to_f32(b, value)
    return b.cast("fpext", value, types.with_element(value.type, "float"))


def from_f32(b: Builder, value: Value, name: str, cpu: str) -> Value:
    """An f32 rounded once to f16 or bf16, or as it is."""
    if name == "bf16":
        return f32_to_bf16(b, value, cpu)
    if name == "f16":
        return b.cast("fptrunc", value, types.with_element(value.type, "half"))
    return value


def odd_f32(b: Builder, value: Value) -> Value:
    """A double as f32, rounded to odd: a later rounding to at most 22 bits is then that of the double itself.

    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.)
    """
    near = b.cast("fptrunc", value, types.with_element(value.type, "float"))
    back = b.cast("fpext", near, value.type)
    word = types.with_element(value.type, "i32")
    bits = b.cast("bitcast", near, word)
    size = types.mangled(value.type)
    above = b.compare(
        "fcmp ogt",
        b.intrinsic(f"fabs.{size}", value.type, back),
        b.intrinsic(f"fabs.{size}", value.type, value),
    )
    inexact = b.compare("fcmp one", back, value)
    even = b.compare("icmp eq", b.binary("and", bits, integer(word, 1)), integer(word, 0))
    step = b.select(above, integer(word, -1), integer(word, 1))
    moved = b.select(b.binary("and", inexact, even), b.binary("add", bits, step), bits)
    return b.cast("bitcast", moved, near.type)


def odd_sum(b: Builder, left: Value, right: Value) -> Value:
    """The sum of two doubles rounded to odd (Knuth's error-free sum decides which way)."""
    total = b.binary("fadd", left, right)
    part = b.binary("fsub", total, left)
    error = b.binary("fadd", b.binary("fsub", left, b.binary("fsub", total, part)), b.binary("fsub", right, part))
    word = types.with_element(left.type, "i64")
    bits = b.cast("bitcast", total, word)
    zero = floating(left.type, 0.0)
    inexact = b.compare("fcmp one", error, zero)
    even = b.compare("icmp eq", b.binary("and", bits, integer(word, 1)), integer(word, 0))
    same = b.compare("icmp eq", b.compare("fcmp ogt", error, zero), b.compare("fcmp ogt", total, zero))
    step = b.select(same, integer(word, 1), integer(word, -1))
    moved = b.select(b.binary("and", inexact, even), b.binary("add", bits, step), bits)
    return b.cast("bitcast", moved, left.type)


def fma_bf16(b: Builder, x: Value, y: Value, z: Value, cpu: str) -> Value:
    """`x * y + z` on bf16 patterns with one rounding: exact product in double, the sum rounded to odd twice."""
    double = types.with_element(x.type, "double")
    a, c, d = (b.cast("fpext", bf16_to_f32(b, v), double) for v in (x, y, z))
    return f32_to_bf16(b, odd_f32(b, odd_sum(b, b.binary("fmul", a, c), d)), cpu)


def truncate_to_zero(b: Builder, value: Value, name: str, cpu: str) -> Value:
    """A float as f16, bf16 or f32, rounded towards zero; overflow gives the largest value.

    The nearest value, moved one pattern towards zero where its size is above the source's.
    """
    source = value
    if name == "bf16":
        if types.element_text(value.type) == "double":
            value = odd_f32(b, value)
        near = f32_to_bf16(b, value, cpu)
        back = bf16_to_f32(b, near)
    else:
        near_float = b.cast("fptrunc", value, types.with_element(value.type, {"f16": "half", "f32": "float"}[name]))
        back = b.cast("fpext", near_float, value.type)
        bits = types.with_element(value.type, "i16" if name == "f16" else "i32")
        near = b.cast("bitcast", near_float, bits)
    size = types.mangled(back.type)
    above = b.compare(
        "fcmp ogt", b.intrinsic(f"fabs.{size}", back.type, back), b.intrinsic(f"fabs.{size}", back.type, value)
    )
    moved = b.select(above, b.binary("sub", near, integer(near.type, 1)), near)
    return (
        moved
        if name == "bf16"
        else b.cast("bitcast", moved, types.with_element(source.type, {"f16": "half", "f32": "float"}[name]))
    )


def narrow(b: Builder, value: Value, source: str, target: str, cpu: str) -> Value:
    """A float as a narrower one, rounded once to nearest even."""
    if target == "bf16":
        if source == "f64":
            value = odd_f32(b, value)
        elif source == "f16":
            value = to_f32(b, value, source)
        return f32_to_bf16(b, value, cpu)
    if source == "bf16":
        return from_f32(b, bf16_to_f32(b, value), target, cpu)
    return b.cast("fptrunc", value, types.with_element(value.type, {"f16": "half", "f32": "float"}[target]))


def through_f32(b: Builder, name: str, operands: list[Value], cpu: str, function: Callable[..., Value]) -> Value:
    """`function` on the operands as f32, rounded back: one rounding more, harmless for + - * / and sqrt."""
    return from_f32(b, function(*(to_f32(b, o, name) for o in operands)), name, cpu)


def bf16_constant(type_: str, values: list[float]) -> Value:
    """A bf16 constant as its bit pattern."""
    return constant(type_, [str(bf16_bits(v)) for v in values])
