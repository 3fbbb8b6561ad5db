"""Static arithmetic: exact integers, float64, and typed constants that round as their type does."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from specgen.binding.types import Scalar

Number = int | float | bool
MAX_BITS = 4096
"""Bits of a static integer; more is a mistake (`1 << 10**9`), not a kernel."""

_FORMATS = {"f64": (53, -1022, 1024), "f32": (24, -126, 128), "f16": (11, -14, 16), "bf16": (8, -126, 128)}
"""Precision, least normal exponent, and the exponent that is too large (IEEE 754; bf16 has f32's exponents)."""


class StaticError(Exception):
    """A static operation without a value; the text says why."""


def round_float(type_: Scalar, value: float | int | Fraction, *, to_zero: bool = False) -> float:
    """`value` rounded once to a float type: to nearest even, or towards zero."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value) or value == 0):
        return value
    precision, least, limit = _FORMATS[type_.name]
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, least) - precision + 1)
    count = math.floor(size / step) if to_zero else round(size / step)
    rounded = count * step
    largest = (Fraction(2) ** limit) - Fraction(2) ** (limit - precision)
    sign = -1.0 if exact < 0 else 1.0
    if rounded > largest:
        return sign * (float(largest) if to_zero else math.inf)
    return sign * float(rounded)


def wrap(type_: Scalar, value: int) -> int:
    """`value` modulo the width of an integer type."""
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.kind != "unsigned" and value >> (type_.bits - 1) else value


def settle(type_: Scalar, value: Number) -> Number:
    """A result as its type holds it: wrapped, rounded, or (untyped) checked for size."""
    if type_.kind == "bool":
        return bool(value)
    if type_.kind in ("float",):
        return round_float(type_, value)
    if type_.kind == "real":
        return float(value)
    number = int(value)
    if type_.kind == "int":
        if number.bit_length() > MAX_BITS:
            raise StaticError("this number is too large")
        return number
    if type_.kind == "index" and not type_.limits[0] <= number <= type_.limits[1]:
        raise StaticError("this overflows `index` (64 bits)")
    return wrap(type_, number)


def divide(a: float, b: float) -> float:
    """IEEE division."""
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _integer_division(floor: bool) -> Callable[[int, int], int]:
    def operation(a: int, b: int) -> int:
        if b == 0:
            raise StaticError("division by zero")
        return a // b if floor else a % b

    return operation


def _shift(left: bool) -> Callable[[int, int], int]:
    def operation(a: int, b: int) -> int:
        if not 0 <= b < MAX_BITS:
            raise StaticError(f"the amount {b} is outside of [0, {MAX_BITS})")
        return a << b if left else a >> b

    return operation


BINARY: dict[str, Callable[..., Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divide,
    "//": _integer_division(True),
    "%": _integer_division(False),
    "<<": _shift(True),
    ">>": _shift(False),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARE: dict[str, Callable[..., bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def binary(operator: str, type_: Scalar, a: Number, b: Number) -> Number:
    """`a operator b` as a value of `type_`. Raises `StaticError`."""
    if (type_.kind == "float" and type_.bits == 64) or type_.kind == "real":
        return BINARY[operator](float(a), float(b))
    return settle(type_, BINARY[operator](a, b))


def least(a: Number, b: Number) -> Number:
    """`min`: a NaN loses, -0 < +0."""
    return -greatest(-a, -b) if _is_float(a, b) else min(a, b)


def greatest(a: Number, b: Number) -> Number:
    """`max`: a NaN loses, -0 < +0."""
    if not _is_float(a, b):
        return max(a, b)
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    if a == b == 0:
        return a if math.copysign(1.0, a) > 0 else b
    return max(a, b)


def _is_float(a: Number, b: Number) -> bool:
    return isinstance(a, float) or isinstance(b, float)


def round_half_even(x: float) -> float:
    """To the nearest integer, ties to even, the sign of zero kept."""
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


def _safe(function: Callable[[float], float], outside: float = math.nan) -> Callable[[float], float]:
    def operation(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return outside
        except OverflowError:
            return math.inf

    return operation


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else _safe(function)(x)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


UNARY_FLOAT: dict[str, Callable[[float], float]] = {
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "round": round_half_even,
    "exp": _safe(math.exp),
    "exp2": _safe(lambda x: 2.0**x),
    "log": _log(math.log),
    "log2": _log(math.log2),
    "sqrt": _safe(math.sqrt),
    "rsqrt": lambda x: divide(1.0, _safe(math.sqrt)(x)),
    "sin": _safe(math.sin),
    "cos": _safe(math.cos),
    "tanh": math.tanh,
    "erf": math.erf,
}


def to_integer(type_: Scalar, value: float) -> int:
    """A float as an integer: truncated, saturated, NaN gives 0."""
    if math.isnan(value):
        return 0
    lo, hi = type_.limits
    return lo if value <= lo else hi if value >= hi else math.trunc(value)
