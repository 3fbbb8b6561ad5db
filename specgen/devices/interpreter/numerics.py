"""Exact element-wise arithmetic on numpy values: one rounding an operation, integers that wrap.

Values are numpy arrays or scalars of the type's storage (`DTYPES`). Integers are kept signed; unsigned
operations reinterpret. Everything here ignores floating-point warnings: callers run under `np.errstate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

Value = Any
"""A numpy array or scalar."""

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BOOL = np.dtype(np.bool_)

DTYPES: dict[str, np.dtype[Any]] = {
    "index": np.dtype(np.int64),
    "i1": BOOL,
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": F16,
    "bf16": BF16,
    "f32": F32,
    "f64": F64,
}

NARROW_FLOATS = (F16, BF16)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is one of the four float types (numpy does not count bfloat16)."""
    return dtype in (F16, BF16, F32, F64)


def poison(dtype: np.dtype[Any]) -> Value:
    """What an illegal read gives: NaN, true, or the largest integer."""
    if is_float(dtype):
        return dtype.type(math.nan)
    return np.True_ if dtype == BOOL else dtype.type(np.iinfo(dtype).max)


def unsigned(x: Value) -> Value:
    """The bits of `x` as an unsigned integer of the same width; booleans become bytes."""
    dtype = x.dtype
    return x.view(np.uint8) if dtype == BOOL else x.view(f"u{dtype.itemsize}")


def to_odd(value: Value, error: Value) -> Value:
    """`value` (float64, the nearest sum) moved to the neighbour with an odd last bit when `error` is not zero.

    With `value + error` the exact result this is rounding to odd (Boldo and Melquiond, 2008): a later rounding
    to a type with at least two bits less is then the rounding of the exact result.
    """
    value = np.asarray(value)
    bits = value.view(np.int64)
    inexact = ((error > 0) | (error < 0)) & np.isfinite(value) & ((bits & 1) == 0)
    away = (value > 0) == (np.asarray(error) > 0)
    return np.where(inexact, bits + np.where(away, 1, -1), bits).view(np.float64)


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """Knuth's error-free addition: `(s, e)` with `s = RN(a + b)` and `a + b = s + e`."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def narrow(x: Value, dtype: np.dtype[Any]) -> Value:
    """Float `x` to float `dtype`, rounded once to nearest even.

    bfloat16 from float64 goes through float32 in ml_dtypes, which would round twice; so the first step is made
    a rounding to odd.
    """
    if dtype == BF16 and x.dtype == F64:
        near = x.astype(F32)
        bits = np.asarray(near).view(np.int32)
        error = x - near.astype(F64)
        inexact = ((error > 0) | (error < 0)) & np.isfinite(near) & ((bits & 1) == 0)
        # A value that rounds to float32 zero keeps its sign; its odd neighbour is the least subnormal.
        away = np.where(near == 0, True, (near > 0) == (error > 0))
        return np.where(inexact, bits + np.where(away, 1, -1).astype(np.int32), bits).view(F32).astype(BF16)
    return x.astype(dtype)


def narrow_to_zero(x: Value, dtype: np.dtype[Any]) -> Value:
    """Float `x` to the narrower float `dtype`, rounded towards zero; overflow gives the largest value."""
    near = np.asarray(narrow(x, dtype))
    wide = x.astype(F64)
    beyond = np.abs(near.astype(F64)) > np.abs(wide)
    bits = near.view(f"i{dtype.itemsize}")
    return np.where(beyond, bits - bits.dtype.type(1), bits).view(dtype)


def fma64(a: Value, b: Value, c: Value) -> Value:
    """float64 `a * b + c` with one rounding.

    Dekker product, two error-free sums and rounding to odd of the small parts. Where an exponent is so extreme
    that the product is not error-free, element by element in exact rationals.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    split = 134217729.0  # 2**27 + 1
    ah = a * split
    ah = ah - (ah - a)
    bh = b * split
    bh = bh - (bh - b)
    al, bl = a - ah, b - bh
    high = a * b
    low = ((ah * bh - high) + ah * bl + al * bh) + al * bl
    th, tl = two_sum(c, low)
    vh, vl = two_sum(high, th)
    rest, error = two_sum(tl, vl)
    result = np.asarray(vh + to_odd(rest, error))
    # An infinite addend wins over a finite product even where that overflows here.
    plain = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, a * b + c)
    exact = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    result = np.where(exact & (high != 0), result, plain)
    big, small = 2.0**900, 2.0**-900
    extreme = exact & (a != 0) & (b != 0)
    extreme &= _beyond(a, big, small) | _beyond(b, big, small) | _beyond(high, big, small) | _beyond(c, big, small)
    for place in map(tuple, np.argwhere(extreme)):
        result[place] = _fma_exact(float(a[place]), float(b[place]), float(c[place]))
    return result if result.ndim else result[()]


def _beyond(x: Value, big: float, small: float) -> Value:
    size = np.abs(x)
    return (size > big) | ((size < small) & (size > 0))


def _fma_exact(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def fma(a: Value, b: Value, c: Value) -> Value:
    """`a * b + c` with one rounding, for every float type."""
    dtype = a.dtype
    if dtype == F64:
        return fma64(a, b, c)
    # A product of two floats of at most 24 bits is exact in float64, so only the sum has an error.
    product = a.astype(F64) * b.astype(F64)
    total, error = two_sum(product, c.astype(F64))
    return narrow(to_odd(total, error), dtype)


def via_f32(function: Callable[..., Value]) -> Callable[..., Value]:
    """For f16 and bf16: compute in float32, round once more.

    Harmless for + - * / and sqrt: float32 has at least twice the bits plus two of either type.
    """

    def wrapped(*operands: Value) -> Value:
        return function(*(x.astype(F32) for x in operands)).astype(operands[0].dtype)

    return wrapped


def via_f64(function: Callable[..., Value]) -> Callable[..., Value]:
    """Computed in float64 and rounded to the operand's type: how this device does transcendental functions."""

    def wrapped(x: Value) -> Value:
        return narrow(np.asarray(function(x.astype(F64))), x.dtype)

    return wrapped


def minnum(a: Value, b: Value) -> Value:
    """The smaller; a NaN loses, -0 < +0."""
    return np.where((a == b) & np.signbit(a), a, np.where(_takes_left(a < b, a, b), a, b))


def maxnum(a: Value, b: Value) -> Value:
    """The larger; a NaN loses, -0 < +0."""
    return np.where((a == b) & np.signbit(b), a, np.where(_takes_left(a > b, a, b), a, b))


def _takes_left(wins: Value, a: Value, b: Value) -> Value:
    return (wins | (b != b)) & (a == a)


_erf = np.frompyfunc(math.erf, 1, 1)


def erf64(x: Value) -> Value:
    """float64 erf, element by element (numpy has none)."""
    return np.asarray(_erf(x)).astype(F64)


def float_to_int(x: Value, dtype: np.dtype[Any], signed: bool) -> Value:
    """Truncation towards zero that saturates; NaN gives 0. `dtype` is the signed storage type."""
    bits = 8 * dtype.itemsize
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    y = np.trunc(x.astype(F64))
    above, below = y >= float(high + 1), y < float(low)
    inside = np.where(above | below | (y != y), 0.0, y)
    target = np.dtype(np.int64 if signed else np.uint64)
    whole = np.asarray(inside.astype(target))
    whole = np.where(above, target.type(high), np.where(below, target.type(low), whole))
    return whole.astype(f"{'i' if signed else 'u'}{dtype.itemsize}").view(dtype)


def int_to_float(x: Value, dtype: np.dtype[Any], signed: bool) -> Value:
    """An integer to a float with one rounding."""
    if x.dtype == BOOL:
        return (0 - x.astype(F32) if signed else x.astype(F32)).astype(dtype)
    whole = x if signed else unsigned(x)
    if dtype != BF16:
        return whole.astype(dtype)
    if whole.dtype.itemsize < 8:
        return narrow(whole.astype(F64), dtype)
    # float64 holds 53 bits: fold what lies below bit 12 of a large value into a sticky bit first.
    large = np.abs(whole.astype(F64)) >= 2.0**53
    sticky = ((whole >> 12) << 12) | ((whole & 4095) != 0).astype(whole.dtype) * 2048
    return narrow(np.where(large, sticky, whole).astype(F64), dtype)


def shift(kind: str) -> Callable[[Value, Value], Value]:
    """`shli`, `shrui`, `shrsi`; an amount outside [0, width) shifts everything out."""

    def left(a: Value, b: Value) -> Value:
        return np.where(_in_width(a, b), a << (b & _mask(a)), a.dtype.type(0))

    def logical(a: Value, b: Value) -> Value:
        amount = unsigned(b) & unsigned(_mask(a))
        return np.where(_in_width(a, b), np.asarray(unsigned(a) >> amount).view(a.dtype), a.dtype.type(0))

    def arithmetic(a: Value, b: Value) -> Value:
        return a >> np.where(_in_width(a, b), b, _mask(a))

    return {"shli": left, "shrui": logical, "shrsi": arithmetic}[kind]


def _mask(a: Value) -> Value:
    return a.dtype.type(8 * a.dtype.itemsize - 1)


def _in_width(a: Value, b: Value) -> Value:
    return unsigned(b) < 8 * a.dtype.itemsize


def ceil_div(a: Value, b: Value) -> Value:
    """The quotient rounded up."""
    return a // b + (np.remainder(a, b) != 0)


def leading_zeros(x: Value) -> Value:
    """Zeros above the highest set bit; the width for 0."""
    bits = unsigned(x)
    width = 8 * bits.dtype.itemsize
    step = 1
    while step < width:
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    return (width - np.bitwise_count(bits).astype(x.dtype)).astype(x.dtype)


def trailing_zeros(x: Value) -> Value:
    """Zeros below the lowest set bit; the width for 0."""
    bits = unsigned(x)
    return np.bitwise_count((bits & (~bits + bits.dtype.type(1))) - bits.dtype.type(1)).astype(x.dtype)
