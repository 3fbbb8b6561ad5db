"""Exact rational arithmetic with explicit rounding: the independent side of the numerics tests."""

from __future__ import annotations

import math
from fractions import Fraction

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
"""Significant bits, least and largest exponent of a normal number."""


def rounded(value: Fraction, form: str, *, to_zero: bool = False, negative_zero: bool = False) -> float:
    """`value` rounded once, to nearest even or to zero; overflow gives infinity or the largest number."""
    bits, least, largest = FORMATS[form]
    if value == 0:
        return -0.0 if negative_zero else 0.0
    size = abs(value)
    exponent = max(_exponent(size), least)
    unit = Fraction(2) ** (exponent - bits + 1)
    count = size / unit
    whole = count.numerator // count.denominator
    rest = count - whole
    if not to_zero and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2)):
        whole += 1
    result = whole * unit
    top = (2 - Fraction(2) ** (1 - bits)) * Fraction(2) ** largest
    if result > top:
        found = float(top) if to_zero else math.inf
    else:
        found = float(result)
    return -found if value < 0 else found


def _exponent(size: Fraction) -> int:
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def wrap(value: int, bits: int) -> int:
    """Two's complement."""
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value
