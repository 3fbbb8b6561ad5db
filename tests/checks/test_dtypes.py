"""Rounding and storage against exact rationals."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from specgen.checks.dtypes import TYPES, dtype, exact, poison, stored

FLOATS = ["f64", "f32", "f16", "bf16"]


def neighbours(type_, value):
    """The two stored numbers around a float64 value."""
    kind = TYPES[type_].dtype
    near = np.array(value).astype(np.float32 if type_ == "bf16" else kind)
    if type_ == "bf16":
        bits = int(near.view(np.uint32)) & 0xFFFF0000
        candidates = [bits - 0x10000, bits, bits + 0x10000]
        return [float(np.array(b, np.uint32).view(np.float32)) for b in candidates if 0 <= b < 1 << 32]
    return [float(np.nextafter(near, -np.inf, dtype=kind)), float(near), float(np.nextafter(near, np.inf, dtype=kind))]


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_rounded_once_to_nearest_even(type_):
    step = 2.0 ** (1 - TYPES[type_].precision)
    ties = [(1 + (k + 0.5) * step) * s for k in range(8) for s in (1, -1)]
    values = np.array([t * (1 + d) for t in ties for d in (0.0, 2.0**-52, -(2.0**-52), 2.0**-30, -(2.0**-30))])
    for value, got in zip(values, exact(stored(values, TYPES[type_])), strict=True):
        away = {abs(Fraction(c) - Fraction(value)): c for c in neighbours(type_, value)}
        assert abs(Fraction(got) - Fraction(value)) == min(away)
        if value in ties:
            assert (got / step) % 2 == 0


def test_double_rounding_of_bfloat16_is_avoided():
    value = np.float64(1 + 2**-8 + 2**-40)
    assert float(value.astype(ml_dtypes.bfloat16)) == 1.0, "ml_dtypes rounds twice; without that `stored` needs no care"
    assert exact(stored(value, TYPES["bf16"])) == 1 + 2**-7


@pytest.mark.parametrize("type_", FLOATS)
def test_large_integers_round_once(type_):
    big = 2**70 + 2**40 + 1
    got = int(float(exact(stored(np.array([big], object), TYPES[type_]))[0])) if type_ != "f16" else None
    if got is None:
        assert exact(stored(np.array([big], object), TYPES["f16"]))[0] == np.inf
        return
    step = 2 ** (70 - TYPES[type_].precision + 1)
    assert got == round(Fraction(big, step)) * step


def test_integers_of_64_bits_round_once_to_bfloat16():
    value = 2**60 + 2**52 + 1  # just above the middle of two bfloat16 numbers, invisible in float64
    assert int(exact(stored(np.array([value]), TYPES["bf16"]))[0]) == 2**60 + 2**53
    assert int(exact(stored(np.array([value - 2]), TYPES["bf16"]))[0]) == 2**60


def test_floats_to_integers_saturate():
    values = np.array([np.nan, 1.9, -1.9, 1e30, -1e30, np.inf, -np.inf])
    assert stored(values, TYPES["i8"]).tolist() == [0, 1, -1, 127, -128, 127, -128]
    assert stored(values, TYPES["u32"]).tolist() == [0, 1, 0, 2**32 - 1, 0, 2**32 - 1, 0]
    assert stored(values, TYPES["i64"]).tolist() == [0, 1, -1, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]
    assert stored(values, TYPES["u64"]).tolist() == [0, 1, 0, 2**64 - 1, 0, 2**64 - 1, 0]


def test_integers_wrap():
    assert stored(np.array([300, -1, 255]), TYPES["u8"]).tolist() == [44, 255, 255]
    assert stored(np.array([2**64 + 5, -(2**65)], object), TYPES["i64"]).tolist() == [5, 0]
    assert stored(np.array([2, 0]), TYPES["bool"]).tolist() == [1, 0]


@pytest.mark.parametrize("type_", list(TYPES))
def test_poison_is_exact_and_differs(type_):
    first, second = poison(TYPES[type_], 0), poison(TYPES[type_], 1)
    assert first != second
    assert first.dtype == dtype(type_)
    if type_ in FLOATS:
        assert float(first) == -12352
