"""The numeric building blocks against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specgen.devices.amdgpu_emulator import numeric


def round_fraction(exact: Fraction, kind: Any) -> float:
    """An exact value rounded once to nearest even in a binary format, by integer arithmetic."""
    digits, least = {np.float16: (11, -24), np.float32: (24, -149), np.float64: (53, -1074)}[kind]
    if exact == 0:
        return 0.0
    magnitude, sign = abs(exact), -1 if exact < 0 else 1
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - digits, least)
    while magnitude / Fraction(2) ** exponent >= 1 << digits:
        exponent += 1
    while exponent > least and magnitude / Fraction(2) ** exponent < 1 << (digits - 1):
        exponent -= 1
    scaled = magnitude / Fraction(2) ** exponent
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest - scaled.denominator
    if twice > 0 or (twice == 0 and whole % 2):
        whole += 1
    value = Fraction(whole) * Fraction(2) ** exponent
    return sign * (float(value) if value <= Fraction(float(np.finfo(kind).max)) else math.inf)


def finite(kind: Any) -> st.SearchStrategy[float]:
    width = np.dtype(kind).itemsize * 8
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_fma_rounds_once(kind: Any) -> None:
    @settings(max_examples=300, deadline=None)
    @given(finite(kind), finite(kind), finite(kind))
    def one(a: float, b: float, c: float) -> None:
        expected = round_fraction(Fraction(a) * Fraction(b) + Fraction(c), kind)
        with np.errstate(all="ignore"):
            got = numeric.fma(*(np.array([x], kind) for x in (a, b, c)))[0]
        assert float(got) == expected

    one()


def test_fma_of_double_rounding_traps() -> None:
    """Sums that lie just beside the middle of two float32 values: rounding twice goes wrong."""
    a = np.array([np.float32(1 + 2.0**-12), np.float32(1 + 2.0**-23)], np.float32)
    b = np.array([np.float32(1 + 2.0**-12), np.float32(1 - 2.0**-24)], np.float32)
    c = np.array([np.float32(2.0**-100), np.float32(-(2.0**-90))], np.float32)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    expected = [round_fraction(value, np.float32) for value in exact]
    assert numeric.fma(a, b, c).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, (1 << 64) - 1), st.integers(0, 80))
def test_shifts_of_any_amount(value: int, amount: int) -> None:
    word, n = np.array([value], np.uint64), np.array([amount], np.uint32)
    assert int(numeric.shl(word, n)[0]) == (value << amount) & ((1 << 64) - 1)
    assert int(numeric.shr(word, n)[0]) == value >> amount
    signed = value - ((value >> 63) << 64)
    assert int(numeric.shr(word.view(np.int64), n)[0]) == signed >> amount


@settings(max_examples=200, deadline=None)
@given(st.integers(0, (1 << 32) - 1))
def test_bit_counts(value: int) -> None:
    word = np.array([value], np.uint32)
    text = f"{value:032b}"
    assert int(numeric.count_leading_zeros(word)[0]) == text.find("1")
    assert int(numeric.count_trailing_zeros(word)[0]) == text[::-1].find("1")
    assert int(numeric.popcount(word)[0]) == text.count("1")
    assert int(numeric.reverse_bits(word)[0]) == int(text[::-1], 2)


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_float_to_int_saturates(kind: Any) -> None:
    limits = np.iinfo(kind)
    values = [0.0, -0.9, 1.9, -1.5, 1e30, -1e30, math.inf, -math.inf, math.nan, 3e9, -3e9, 2.0**63, 70000.0]
    with np.errstate(all="ignore"):
        got = numeric.float_to_int(np.array(values), kind)
    for x, y in zip(values, got.tolist(), strict=True):
        whole = 0 if math.isnan(x) else int(limits.max if x > 0 else limits.min) if math.isinf(x) else int(x)
        assert y == max(min(whole, int(limits.max)), int(limits.min))


@settings(max_examples=300, deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_truncating_half_conversion(value: float) -> None:
    with np.errstate(all="ignore"):
        got = float(numeric.f32_to_f16_toward_zero(np.array([value], np.float32))[0])
        above = float(np.nextafter(np.float16(abs(got)), np.float16(np.inf)))
    assert abs(got) <= abs(value)
    assert abs(value) < above or abs(got) == 65504.0


def test_division_helpers_give_correct_quotients() -> None:
    """The hardware's sequence of instructions, with these helpers, divides correctly over the whole range."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    n, d = bits[:100_000].view(np.float32), bits[100_000:].view(np.float32)
    with np.errstate(all="ignore"):
        expected = n / d
        den, _ = numeric.division_scale(d, d, n)
        num, flags = numeric.division_scale(n, d, n)
        r = numeric.reciprocal(den)
        r = numeric.fma(numeric.fma(-den, r, np.ones_like(r)), r, r)
        q = num * r
        q = numeric.fma(numeric.fma(-den, q, num), r, q)
        rest = numeric.fma(-den, q, num)
        got = numeric.division_fixup(numeric.division_fma(flags, rest, r, q), d, n)
    normal = np.abs(expected) >= np.finfo(np.float32).tiny
    assert np.array_equal(got[normal], expected[normal])
    both_nan = np.isnan(got) & np.isnan(expected)
    small = ~normal & ~np.isnan(expected)
    assert (np.abs(got[small] - expected[small]) <= 2.0**-149).all()
    assert (both_nan | ~np.isnan(expected)).all()


def test_byte_permutation() -> None:
    high, low = np.array([[0x80FF7F01]], np.uint32), np.array([[0x04030281]], np.uint32)
    picks = {0: 0x81, 3: 0x04, 4: 0x01, 7: 0x80, 8: 0x00, 9: 0x00, 10: 0x00, 11: 0xFF, 12: 0x00, 13: 0xFF, 255: 0xFF}
    for pick, byte in picks.items():
        selector = np.array([[pick | 0x0C0C0C00]], np.uint32)
        assert int(numeric.byte_permute(high, low, selector)[0, 0]) == byte, pick
