"""Numeric building blocks of translated instructions, on numpy arrays of exact bit widths.

Transcendental functions compute in float64 and round once; the hardware's own error (1 ulp for most, see the
ISA documents) is therefore not reproduced, only bounded. Everything else is exact.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
f16, f32, f64 = np.float16, np.float32, np.float64

_BITS: Final = {2: u16, 4: u32, 8: u64}
_FRACTION: Final = {2: 10, 4: 23, 8: 52}


# -- shifts and integers ----------------------------------------------------------------------------------


def shl(value: Array, amount: Array) -> Array:
    """Left shift that gives 0 when the amount reaches the width."""
    width = value.dtype.itemsize * 8
    amount = np.asarray(amount)
    kept = value << (amount.astype(value.dtype) & value.dtype.type(width - 1))
    return np.where(amount < width, kept, value.dtype.type(0))


def shr(value: Array, amount: Array) -> Array:
    """Right shift (arithmetic for signed types) by any amount."""
    width = value.dtype.itemsize * 8
    return (
        value >> np.minimum(np.asarray(amount), width - 1).astype(value.dtype)
        if value.dtype.kind == "i"
        else _lshr(value, amount, width)
    )


def _lshr(value: Array, amount: Array, width: int) -> Array:
    amount = np.asarray(amount)
    kept = value >> (amount.astype(value.dtype) & value.dtype.type(width - 1))
    return np.where(amount < width, kept, value.dtype.type(0))


def idiv(left: Array, right: Array) -> Array:
    """Quotient with 0 for a zero divisor."""
    return np.where(right == 0, left.dtype.type(0), left // np.where(right == 0, right.dtype.type(1), right))


def popcount(value: Array) -> Array:
    return np.bitwise_count(value).astype(u32)


def reverse_bits(value: Array) -> Array:
    """Bit reversal of 32- or 64-bit words."""
    width = value.dtype.itemsize
    raw = np.ascontiguousarray(value).view(u8).reshape(*value.shape, width)
    flipped = np.packbits(np.unpackbits(raw, axis=-1)[..., ::-1], axis=-1)
    # unpackbits yields most significant bits first within each byte but bytes little-endian first.
    return np.ascontiguousarray(flipped).view(value.dtype).reshape(value.shape)


def count_leading_zeros(value: Array) -> Array:
    """Position of the highest set bit counted from the top; -1 when none is set."""
    width = value.dtype.itemsize * 8
    smeared = value.copy()
    step = 1
    while step < width:
        smeared |= smeared >> value.dtype.type(step)
        step *= 2
    ones = np.bitwise_count(smeared).astype(i32)
    return np.where(ones == 0, i32(-1), i32(width) - ones)


def count_trailing_zeros(value: Array) -> Array:
    """Position of the lowest set bit; -1 when none is set."""
    lowest = np.bitwise_count((value & (~value + value.dtype.type(1))) - value.dtype.type(1)).astype(i32)
    return np.where(value == 0, i32(-1), lowest)


def count_leading_signs(value: Array) -> Array:
    """First position from the top whose bit differs from the sign bit; -1 when all are alike (signed input)."""
    folded = value ^ (value >> value.dtype.type(value.dtype.itemsize * 8 - 1))
    return count_leading_zeros(folded.view(_BITS[value.dtype.itemsize]))


def sign_extend_from(value: Array, bits: Array) -> Array:
    """The signed number in the low `bits` bits; 0 bits give 0."""
    width = value.dtype.itemsize * 8
    unsigned = _BITS[value.dtype.itemsize]
    shift = (width - np.asarray(bits).astype(i64)).clip(0, width - 1).astype(value.dtype)
    moved = (value.view(unsigned) << shift.view(unsigned)).view(value.dtype) >> shift
    return np.where(np.asarray(bits) == 0, value.dtype.type(0), moved)


# -- floats -----------------------------------------------------------------------------------------------


def exponent(value: Array) -> Array:
    """The biased exponent field."""
    size = value.dtype.itemsize
    bits = value.view(_BITS[size])
    mask = (1 << (size * 8 - 1 - _FRACTION[size])) - 1
    return ((bits >> _BITS[size](_FRACTION[size])) & _BITS[size](mask)).astype(i32)


def mantissa(value: Array) -> Array:
    """The fraction in [0.5, 1) with the value's sign (C `frexp`)."""
    return np.frexp(value)[0]


def frexp_exponent(value: Array) -> Array:
    """The exponent that belongs to `mantissa`; 0 for infinities and NaN."""
    return np.where(np.isfinite(value), np.frexp(value)[1], 0).astype(i32)


def is_signaling(value: Array) -> Array:
    size = value.dtype.itemsize
    quiet = _BITS[size](1 << (_FRACTION[size] - 1))
    return np.isnan(value) & ((value.view(_BITS[size]) & quiet) == 0)


def quiet(value: Array) -> Array:
    """NaN payload kept, quiet bit set; other values unchanged."""
    size = value.dtype.itemsize
    bit = _BITS[size](1 << (_FRACTION[size] - 1))
    return np.where(np.isnan(value), (value.view(_BITS[size]) | bit).view(value.dtype), value)


def _extreme_zero(low: Array, left: Array, right: Array, smallest: bool) -> Array:
    bits = _BITS[low.dtype.itemsize]
    both = (left == 0) & (right == 0)
    a, b = np.asarray(left).view(bits), np.asarray(right).view(bits)
    return np.where(both, ((a | b) if smallest else (a & b)).view(low.dtype), low)


def _number_extreme(left: Array, right: Array, smallest: bool, ieee: bool) -> Array:
    low = np.fmin(left, right) if smallest else np.fmax(left, right)
    if (low == 0).any():
        low = _extreme_zero(low, left, right, smallest)
    if np.isnan(left).any() or np.isnan(right).any():
        if ieee:
            low = np.where(is_signaling(right), quiet(right), low)
            low = np.where(is_signaling(left), quiet(left), low)
        low = quiet(low)
    return low


def min_ieee(left: Array, right: Array) -> Array:
    """Minimum of GFX9/GFX11 in IEEE mode: a quiet NaN loses, a signalling NaN wins quieted, -0 < +0."""
    return _number_extreme(left, right, smallest=True, ieee=True)


def max_ieee(left: Array, right: Array) -> Array:
    return _number_extreme(left, right, smallest=False, ieee=True)


def min_num(left: Array, right: Array) -> Array:
    """minimumNumber of IEEE 754-2019 (GFX12): any NaN loses, -0 < +0."""
    return _number_extreme(left, right, smallest=True, ieee=False)


def max_num(left: Array, right: Array) -> Array:
    return _number_extreme(left, right, smallest=False, ieee=False)


def minimum(left: Array, right: Array) -> Array:
    """minimum of IEEE 754-2019: NaN wins, -0 < +0."""
    return quiet(_extreme_zero(np.minimum(left, right), left, right, smallest=True))


def maximum(left: Array, right: Array) -> Array:
    return quiet(_extreme_zero(np.maximum(left, right), left, right, smallest=False))


def median(first: Array, second: Array, third: Array, low: Any, high: Any) -> Array:
    """The middle value; with a NaN among the three the minimum of the numbers (`low`, `high`: the pair rules)."""
    middle = high(low(first, second), low(high(first, second), third))
    if np.isnan(first).any() or np.isnan(second).any() or np.isnan(third).any():
        some = np.isnan(first) | np.isnan(second) | np.isnan(third)
        middle = np.where(some, low(low(first, second), third), middle)
    return middle


def median_ieee(first: Array, second: Array, third: Array) -> Array:
    return median(first, second, third, min_ieee, max_ieee)


def median_num(first: Array, second: Array, third: Array) -> Array:
    return median(first, second, third, min_num, max_num)


def fma(left: Array, right: Array, addend: Array) -> Array:
    """Fused multiply-add, rounded once to nearest even."""
    if left.dtype == f64:
        return _fma64(left, right, addend)
    if left.dtype == f16:
        # An 11-bit product plus an 11-bit addend within the f16 range is exact enough in float64 to round once.
        return (left.astype(f64) * right.astype(f64) + addend.astype(f64)).astype(f16)
    product = left.astype(f64) * right.astype(f64)
    total = product + addend
    # The float64 sum is already rounded; rounding it again goes wrong only when it lies exactly between two
    # float32 values, or below their normal range where the halfway points are elsewhere.
    tie = (total.view(u64) & u64(0x1FFFFFFF)) == u64(0x10000000)
    if tie.any() or ((np.abs(total) < 1.2e-38) & (total != 0)).any():
        total = _round_to_odd(total, _sum_error(product, np.asarray(addend).astype(f64), total))
    return total.astype(f32)


def _sum_error(left: Array, right: Array, total: Array) -> Array:
    """The exact error of `total = left + right` (Knuth's TwoSum)."""
    virtual = total - left
    return (left - (total - virtual)) + (right - virtual)


def _round_to_odd(total: Array, error: Array) -> Array:
    """`total + error` rounded to odd, which makes a second rounding harmless (Boldo and Melquiond, 2008)."""
    bits = total.view(u64)
    even = (bits & u64(1)) == 0
    away = (error > 0) == (total > 0)
    adjusted = np.where(away, bits + u64(1), bits - u64(1))
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error)
    return np.where(even & inexact & (total != 0), adjusted, bits).view(f64)


def _two_product(left: Array, right: Array) -> tuple[Array, Array]:
    """`left * right` as an unevaluated sum (Dekker's splitting)."""
    product = left * right
    splitter = f64(134217729.0)
    a = splitter * left
    high_left = a - (a - left)
    b = splitter * right
    high_right = b - (b - right)
    low_left, low_right = left - high_left, right - high_right
    error = ((high_left * high_right - product) + high_left * low_right + low_left * high_right) + low_left * low_right
    return product, error


def _fma64(left: Array, right: Array, addend: Array) -> Array:
    left, right, addend = np.broadcast_arrays(left, right, addend)
    high, low = _two_product(left, right)
    part = addend + low
    part_error = _sum_error(addend, low, part)
    total = high + part
    total_error = _sum_error(high, part, total)
    result = total + _round_to_odd(
        part_error + total_error, _sum_error(part_error, total_error, part_error + total_error)
    )
    # Dekker's splitting loses its way near the ends of the exponent range: there, rational arithmetic.
    magnitude = np.frexp(left)[1] + np.frexp(right)[1]
    unsafe = np.isfinite(left) & np.isfinite(right) & np.isfinite(addend) & (left != 0) & (right != 0)
    extreme = (np.abs(magnitude) > 960) | (np.abs(np.frexp(left)[1]) > 990) | (np.abs(np.frexp(right)[1]) > 990)
    unsafe &= extreme | ((addend != 0) & (np.frexp(addend)[1] < -900))
    plain = ~np.isfinite(left) | ~np.isfinite(right) | ~np.isfinite(addend) | (left == 0) | (right == 0)
    result = np.where(plain, left * right + addend, result)
    if unsafe.any():
        result = result.copy()
        for at in zip(*np.nonzero(unsafe), strict=True):
            result[at] = _exact_fma(float(left[at]), float(right[at]), float(addend[at]))
    return result


def _exact_fma(left: float, right: float, addend: float) -> float:
    from fractions import Fraction

    exact = Fraction(left) * Fraction(right) + Fraction(addend)
    if exact == 0:
        return left * right + addend
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def ldexp(value: Array, power: Array) -> Array:
    """`value * 2**power`, rounded once."""
    if value.dtype == f16:
        return np.ldexp(value.astype(f64), np.asarray(power).astype(i32).clip(-300, 300)).astype(f16)
    if value.dtype == f32:
        return np.ldexp(value.astype(f64), np.asarray(power).astype(i32).clip(-600, 600)).astype(f32)
    return np.ldexp(value, np.asarray(power).astype(i32).clip(-4000, 4000))


def rint(value: Array) -> Array:
    """To the nearest whole number, ties to even."""
    return np.rint(value)


def fract(value: Array) -> Array:
    """`value - floor(value)`, kept below one."""
    below = np.nextafter(value.dtype.type(1), value.dtype.type(0))
    part = value - np.floor(value)
    return np.where(np.isinf(value), value.dtype.type(np.nan), np.minimum(part, below))


def _rounded(function: Any) -> Any:
    def apply(value: Array) -> Array:
        return function(value.astype(f64)).astype(value.dtype)

    return apply


exp2: Final = _rounded(np.exp2)
log2: Final = _rounded(np.log2)
sqrt: Final = _rounded(np.sqrt)
rsqrt: Final = _rounded(lambda x: 1.0 / np.sqrt(x))
reciprocal: Final = _rounded(lambda x: 1.0 / x)
tanh: Final = _rounded(np.tanh)


def sin_turns(value: Array) -> Array:
    """Sine of an angle in turns, as the hardware takes it."""
    turns = value.astype(f64)
    return np.sin((turns - np.rint(turns)) * (2 * np.pi)).astype(value.dtype)


def cos_turns(value: Array) -> Array:
    turns = value.astype(f64)
    return np.cos((turns - np.rint(turns)) * (2 * np.pi)).astype(value.dtype)


# -- conversions ------------------------------------------------------------------------------------------


def float_to_int(value: Array, kind: Any) -> Array:
    """Truncation that saturates and takes NaN to 0."""
    limits = np.iinfo(kind)
    wide = np.trunc(value.astype(f64))
    if limits.bits <= 32:
        return np.clip(np.nan_to_num(wide, nan=0.0), limits.min, limits.max).astype(i64).astype(kind)
    inside = (wide >= float(limits.min)) & (wide < float(limits.max))
    low = np.where(wide < 0, kind(limits.min), kind(limits.max))
    return np.where(np.isnan(wide), kind(0), np.where(inside, np.where(inside, wide, 0.0).astype(kind), low))


def bf16_to_f32(value: Array) -> Array:
    return (value.astype(u32) << u32(16)).view(f32)


def f32_to_bf16(value: Array) -> Array:
    """Nearest even; NaN stays NaN (quieted)."""
    bits = value.view(u32)
    rounded = (bits + u32(0x7FFF) + ((bits >> u32(16)) & u32(1))) >> u32(16)
    return np.where(np.isnan(value), (bits >> u32(16)) | u32(0x40), rounded).astype(u16)


def f32_to_f16_toward_zero(value: Array) -> Array:
    """Truncating conversion; finite values never become infinite."""
    near = value.astype(f16)
    over = (np.abs(near.astype(f32)) > np.abs(value)) & np.isfinite(value)
    return np.where(over, near.view(u16) - u16(1), near.view(u16)).view(f16)


def f32_to_f16_pair(low: Array, high: Array) -> Array:
    """Two truncating conversions packed into one word."""
    a = f32_to_f16_toward_zero(low).view(u16).astype(u32)
    return a | (f32_to_f16_toward_zero(high).view(u16).astype(u32) << u32(16))


def to_snorm16(value: Array) -> Array:
    return np.rint(np.clip(np.nan_to_num(value.astype(f64)), -1, 1) * 32767).astype(i16)


def to_unorm16(value: Array) -> Array:
    return np.rint(np.clip(np.nan_to_num(value.astype(f64)), 0, 1) * 65535).astype(u16)


def byte_permute(high: Array, low: Array, selector: Array) -> Array:
    """`v_perm_b32`: each selector byte picks a byte of the pair, a sign fill, 0 or 0xff."""
    pair = (high.astype(u64) << u64(32)) | low.astype(u64)
    result = np.zeros(np.broadcast_shapes(high.shape, low.shape, selector.shape), u32)
    for position in range(4):
        pick = (selector >> u32(8 * position)) & u32(0xFF)
        byte = (pair >> ((pick & u32(7)).astype(u64) * u64(8))) & u64(0xFF)
        if (pick >= 8).any():
            signs = (pick.astype(u64) - u64(8)) * u64(16) + u64(15)
            fill = ((pair >> (signs & u64(63))) & u64(1)) * u64(0xFF)
            byte = np.where(pick >= 13, u64(0xFF), np.where(pick == 12, u64(0), np.where(pick >= 8, fill, byte)))
        result |= byte.astype(u32) << u32(8 * position)
    return result


# -- division helpers (v_div_scale, v_div_fmas, v_div_fixup) -----------------------------------------------

_DIVISION: Final = {2: (8, 16, 8, 15), 4: (96, 64, 23, 127), 8: (768, 128, 53, 1023)}
"""Item size -> exponent gap near overflow, scaling power, tiny numerator exponent, bias (ISA V_DIV_SCALE)."""


def _is_denormal(value: Array) -> Array:
    return (value != 0) & (np.abs(value) < np.finfo(value.dtype).tiny)


def division_scale(value: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
    """The scaled operand (`value` is one of the other two) and the lanes whose quotient must be scaled back."""
    gap, power, tiny, _ = _DIVISION[value.dtype.itemsize]
    up, down = ldexp(value, np.asarray(power)), ldexp(value, np.asarray(-power))
    is_denominator, is_numerator = value == denominator, value == numerator
    inverse = _is_denormal((1.0 / denominator.astype(f64)).astype(value.dtype)) | (
        _is_denormal(1.0 / denominator) if value.dtype == f64 else False
    )
    quotient = _is_denormal(numerator / denominator)
    nan = value.dtype.type(np.nan)
    rows = (
        ((numerator == 0) | (denominator == 0), np.full_like(value, nan), False),
        (exponent(numerator) - exponent(denominator) >= gap, np.where(is_denominator, up, value), True),
        (_is_denormal(denominator), up, False),
        (inverse & quotient, np.where(is_denominator, down, value), True),
        (inverse, down, False),
        (quotient, np.where(is_numerator, up, value), True),
        (exponent(numerator) <= tiny, up, False),
    )
    result, flag = value, np.zeros(np.broadcast_shapes(value.shape, denominator.shape, numerator.shape), bool)
    for condition, scaled, marked in reversed(rows):
        result = np.where(condition, scaled, result)
        flag = np.where(condition, marked, flag)
    return result, flag


def division_fma(flag: Array, left: Array, right: Array, addend: Array) -> Array:
    """Multiply-add whose flagged lanes undo the scaling: up for large quotients, down for tiny ones."""
    _, power, _, bias = _DIVISION[left.dtype.itemsize]
    plain = fma(left, right, addend)
    if not flag.any():
        return plain
    back = np.where(exponent(addend) > bias, power, -power)
    if left.dtype == f32:
        # One rounding, after the scaling: quotients below the normal range are correctly rounded.
        product = left.astype(f64) * right.astype(f64)
        total = product + addend
        total = _round_to_odd(total, _sum_error(product, np.asarray(addend).astype(f64), total))
        return np.where(flag, ldexp(total, back).astype(f32), plain)
    return np.where(flag, ldexp(plain, back), plain)


def division_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """Special cases of a division whose regular quotient is given."""
    kind = quotient.dtype.type
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    sign = np.where(negative, kind(-1), kind(1))
    infinite_d, infinite_n = np.isinf(denominator), np.isinf(numerator)
    # A quotient far beyond the range turns the refinement into infinity minus infinity.
    result = sign * np.where(np.isnan(quotient), kind(np.inf), np.abs(quotient))
    low = {2: -40, 4: -150, 8: -1075}[quotient.dtype.itemsize]
    result = np.where(exponent(numerator) - exponent(denominator) < low, sign * kind(0), result)
    result = np.where(infinite_d | (numerator == 0), sign * kind(0), result)
    result = np.where((denominator == 0) | infinite_n, sign * kind(np.inf), result)
    undefined = ((denominator == 0) & (numerator == 0)) | (infinite_d & infinite_n)
    result = np.where(undefined, kind(-np.nan), result)
    result = np.where(np.isnan(denominator), quiet(denominator), result)
    return np.where(np.isnan(numerator), quiet(numerator), result)


CLASS_BITS: Final = ("signalling", "quiet", "-inf", "-normal", "-denormal", "-0", "+0", "+denormal", "+normal", "+inf")


def float_class(value: Array, wanted: Array) -> Array:
    """`v_cmp_class`: whether the value's class (bit numbers as in `CLASS_BITS`) is among the wanted ones."""
    negative = np.signbit(value)
    denormal = _is_denormal(value)
    bit = np.where(negative, 3, 8)
    bit = np.where(denormal, np.where(negative, 4, 7), bit)
    bit = np.where(value == 0, np.where(negative, 5, 6), bit)
    bit = np.where(np.isinf(value), np.where(negative, 2, 9), bit)
    bit = np.where(np.isnan(value), np.where(is_signaling(value), 0, 1), bit)
    return ((np.asarray(wanted).astype(u32) >> bit.astype(u32)) & u32(1)) != 0
