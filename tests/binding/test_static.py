"""Static numbers: rounding against numpy and ml_dtypes, wrapping, the smaller functions."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from specgen.binding import static
from specgen.binding.types import BF16, F16, F32, F64, I8, I32, INT, U8

DTYPES = {F32: np.float32, F16: np.float16, BF16: ml_dtypes.bfloat16, F64: np.float64}
NUMBERS = [
    0.1,
    1 / 3,
    -2.5,
    65504.0,
    65519.9,
    65520.0,
    1e-8,
    5.96e-8,
    2.98e-8,
    1e-45,
    7e-46,
    1.1754943e-38,
    3.4028235e38,
    3.4028236e38,
    1 + 2**-8,
    1 + 3 * 2**-9,
    1e300,
    -0.0,
]


@pytest.mark.parametrize("type_", DTYPES, ids=str)
@pytest.mark.parametrize("value", NUMBERS)
def test_rounding_is_to_nearest_even(type_, value: float) -> None:
    with np.errstate(over="ignore"):
        expected = float(np.array(value, np.float64).astype(DTYPES[type_]))
    if type_ is BF16:  # ml_dtypes rounds twice (by way of f32); Fraction does it once.
        expected = _bf16(value)
    found = static.round_float(type_, value)
    assert (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))


def _bf16(value: float) -> float:
    if value == 0:
        return value
    exponent = math.frexp(value)[1]
    step = Fraction(2) ** (max(exponent - 1, -126) - 7)
    rounded = round(Fraction(value) / step) * step
    return math.copysign(math.inf, value) if abs(rounded) >= Fraction(2) ** 128 else float(rounded)


def test_rounding_to_zero() -> None:
    assert static.round_float(F16, 65535.0, to_zero=True) == 65504.0
    assert static.round_float(F16, -1e9, to_zero=True) == -65504.0
    assert static.round_float(F16, 1 + 2**-10 + 2**-11, to_zero=True) == 1 + 2**-10
    assert math.isinf(static.round_float(F16, math.inf, to_zero=True))


def test_integers() -> None:
    assert [static.wrap(I8, v) for v in (127, 128, -129, 256)] == [127, -128, 127, 0]
    assert static.wrap(U8, -1) == 255
    assert [static.to_integer(I32, v) for v in (math.nan, 1e30, -1e30, -2.9)] == [0, 2**31 - 1, -(2**31), -2]
    with pytest.raises(static.StaticError, match="division by zero"):
        static.binary("//", I32, 1, 0)
    with pytest.raises(static.StaticError, match="too large"):
        static.settle(INT, 1 << 5000)


def test_extremes() -> None:
    assert static.greatest(math.nan, 1.0) == 1.0
    assert static.least(1.0, math.nan) == 1.0
    assert math.copysign(1, static.greatest(-0.0, 0.0)) == 1
    assert math.copysign(1, static.least(0.0, -0.0)) == -1
    assert static.least(3, 2) == 2


def test_ieee_division_and_functions() -> None:
    assert static.divide(1.0, -0.0) == -math.inf
    assert math.isnan(static.divide(0.0, 0.0))
    assert static.UNARY_FLOAT["log"](0.0) == -math.inf
    assert math.isnan(static.UNARY_FLOAT["sqrt"](-1.0))
    assert static.UNARY_FLOAT["exp"](1e4) == math.inf
    assert static.UNARY_FLOAT["round"](2.5) == 2.0
    assert math.copysign(1, static.UNARY_FLOAT["trunc"](-0.5)) == -1
