"""Scalar semantics of the spec language, one value at a time: the independent side of the random-spec tests.

Floats are numpy scalars (bf16 values are `np.float32` that bf16 represents exactly), integers and `index` are Python
integers, booleans are `bool`. Nothing here shares code with specgen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

INTEGERS = {
    "i8": (8, True),
    "u8": (8, False),
    "i16": (16, True),
    "u16": (16, False),
    "i32": (32, True),
    "u32": (32, False),
    "i64": (64, True),
    "u64": (64, False),
}
FLOATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
"""Significand bits (with the hidden one), smallest and largest exponent of normal numbers."""
NUMPY = {"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}


def wrap(kind: str, value: int) -> int:
    """Two's complement of the type's width."""
    bits, signed = INTEGERS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def rounded(kind: str, exact: Fraction) -> Any:
    """The nearest value of the type, ties to even; overflow gives infinity. Zero comes out positive."""
    significand, smallest, largest = FLOATS[kind]
    if exact == 0:
        return NUMPY[kind](0.0)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, smallest) - significand + 1)
    steps = round(magnitude / quantum)
    result = steps * quantum
    limit = (2 - Fraction(2) ** (1 - significand)) * Fraction(2) ** largest
    value = math.inf if result > limit else float(result)
    return NUMPY[kind](-value if exact < 0 else value)


def to_float(kind: str, value: Any) -> Any:
    """Conversion of a float or an integer to a float type, rounded once."""
    if isinstance(value, int):
        return rounded(kind, Fraction(value))
    if not math.isfinite(value):
        return NUMPY[kind](value)
    if value == 0:
        return NUMPY[kind](value)
    result = rounded(kind, Fraction(float(value)))
    return NUMPY[kind](math.copysign(0.0, value)) if result == 0 else result


def to_integer(kind: str, value: Any) -> int:
    """Integers wrap; floats truncate and saturate, NaN gives 0."""
    if isinstance(value, int):
        return wrap(kind, value)
    bits, signed = INTEGERS[kind]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(float(value)), low), high)


def _arithmetic(
    kind: str,
    a: Any,
    b: Any,
    exactly: Callable[[Fraction, Fraction], Fraction],
    loosely: Callable[[float, float], float],
) -> Any:
    with np.errstate(all="ignore"):
        plain = loosely(float(a), float(b))
    if not (math.isfinite(a) and math.isfinite(b)):
        return NUMPY[kind](plain)
    result = exactly(Fraction(float(a)), Fraction(float(b)))
    if result == 0:
        return NUMPY[kind](math.copysign(0.0, plain))
    value = rounded(kind, result)
    return NUMPY[kind](math.copysign(0.0, result)) if value == 0 else value


def add(kind: str, a: Any, b: Any) -> Any:
    """Sum, rounded once."""
    return _arithmetic(kind, a, b, lambda x, y: x + y, lambda x, y: x + y)


def sub(kind: str, a: Any, b: Any) -> Any:
    """Difference, rounded once."""
    return _arithmetic(kind, a, b, lambda x, y: x - y, lambda x, y: x - y)


def mul(kind: str, a: Any, b: Any) -> Any:
    """Product, rounded once."""
    return _arithmetic(kind, a, b, lambda x, y: x * y, lambda x, y: x * y)


def fma(kind: str, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding."""
    if not all(map(math.isfinite, (a, b, c))):
        with np.errstate(all="ignore"):
            return NUMPY[kind](np.float64(a) * np.float64(b) + np.float64(c))
    result = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if result == 0:
        return NUMPY[kind](np.float64(a) * np.float64(b) + np.float64(c))
    value = rounded(kind, result)
    return NUMPY[kind](math.copysign(0.0, result)) if value == 0 else value


def lower(a: Any, b: Any) -> Any:
    """Minimum: a NaN loses against a number, -0 < +0."""
    if isinstance(a, int):
        return min(a, b)
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    if a == b == 0:
        return a if math.copysign(1, a) < 0 else b
    return min(b, a)


def upper(a: Any, b: Any) -> Any:
    """Maximum, by the rule of `lower`."""
    if isinstance(a, int):
        return max(a, b)
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    if a == b == 0:
        return b if math.copysign(1, a) < 0 else a
    return max(b, a)


def same(a: Any, b: Any) -> bool:
    """Equal values, NaN equal to NaN, zeros by their sign."""
    if isinstance(a, (int, np.integer)) or isinstance(b, (int, np.integer)):
        return int(a) == int(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return float(a) == float(b) and math.copysign(1, a) == math.copysign(1, b)
