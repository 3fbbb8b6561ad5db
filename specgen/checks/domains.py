"""What a formula is computed in: plain values, or values with the magnitude that a rounding-error bound needs.

The evaluator (`formula.py`) walks the tree; a domain says what an operation does. `Plain` computes values.
`Bounded` computes along with each value v a size A and a count n such that a floating-point evaluation with unit
roundoff u errs by at most about `n * u * A`: for sums of products A is the formula with absolute values and n the
number of terms (Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1); functions, quotients and
narrowing conversions propagate A through their derivative.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specgen.checks import values
from specgen.checks.dtypes import TYPES
from specgen.checks.values import FormulaError, Value, Vector

FUNCTION_TERMS = 4
"""Roundings that a transcendental function or a quotient may cost (the widest bound of `docs/numerics.md` but for sin
and cos of a Vulkan device, whose checks need `{atol, rtol}`)."""


class Plain:
    """Values alone."""

    def lift(self, value: Value) -> Value:
        """A leaf: a literal, a name or an element of a buffer."""
        return value

    def plain(self, value: Value) -> Value:
        """The value itself."""
        return value

    def binary(self, op: type, a: Value, b: Value) -> Value:
        return values.binary(op, a, b)

    def unary(self, op: type, a: Value) -> Value:
        return values.unary(op, a)

    def function(self, name: str, x: Value) -> Value:
        return values.function(name, x)

    def absolute(self, x: Value) -> Value:
        return values.absolute(x)

    def least(self, a: Value, b: Value) -> Value:
        return values.least(a, b)

    def greatest(self, a: Value, b: Value) -> Value:
        return values.greatest(a, b)

    def convert(self, name: str, x: Value) -> Value:
        return values.convert(name, x)

    def pick(self, number: Value, entries: Sequence[Value]) -> Value:
        return values.pick(number, entries)

    def merge(self, shape: tuple[int, ...], mask: Any, chosen: Value, other: Value) -> Value:
        return values.merge(shape, mask, chosen, other)

    def total(self, value: Value, count: int, depth: int) -> Value:
        return values.total(value, count, depth)

    def joined(self, a: Value, count_a: int, b: Value, count_b: int) -> Value:
        return values.binary(ast.Add, a, b)

    def extreme(self, name: str, value: Value, count: int, depth: int) -> Value:
        return values.extreme(name, value, count, depth)


@dataclass(frozen=True)
class Size:
    """A value, its size A (never below the magnitude) and its count n of terms."""

    value: Value
    size: Value
    terms: int


def _magnitude(value: Value) -> Value:
    return np.abs(np.asarray(value, np.float64)) if isinstance(value, np.ndarray) else abs(float(value))


def _vector_of(function: Any) -> Any:
    """A method that works on the elements of a `Vector` when it meets one."""

    def method(self: Any, *args: Any) -> Any:
        count = next((len(a.elements) for a in args if isinstance(a, Vector)), None)
        if count is None:
            return function(self, *args)
        rows = [[a.elements[i] if isinstance(a, Vector) else a for a in args] for i in range(count)]
        return Vector(tuple(function(self, *row) for row in rows))

    return method


_SLOPES: dict[str, Any] = {
    "exp": lambda x, v: np.abs(v),
    "exp2": lambda x, v: np.abs(v) * math.log(2),
    "log": lambda x, v: 1 / np.abs(x),
    "log2": lambda x, v: 1 / (np.abs(x) * math.log(2)),
    "sqrt": lambda x, v: 0.5 / np.abs(v),
    "rsqrt": lambda x, v: 0.5 * np.abs(v / x),
    "sin": lambda x, v: np.ones_like(v),
    "cos": lambda x, v: np.ones_like(v),
    "tanh": lambda x, v: 1 - np.square(v),
    "erf": lambda x, v: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)),
}
"""Magnitudes of derivatives; functions that round to integers have none that counts."""


class Bounded:
    """Values with sizes, for a kernel that computes with unit roundoff `roundoff`."""

    def __init__(self, roundoff: float) -> None:
        self.roundoff = roundoff

    def lift(self, value: Value) -> Value:
        if isinstance(value, Vector):
            return Vector(tuple(self.lift(e) for e in value.elements))
        if isinstance(value, (Size, str)):
            return value
        return Size(value, _magnitude(value), 1)

    def plain(self, value: Value) -> Value:
        if isinstance(value, Vector):
            return Vector(tuple(self.plain(e) for e in value.elements))
        return value.value if isinstance(value, Size) else value

    @_vector_of
    def binary(self, op: type, a: Size, b: Size) -> Size:
        a, b = self.lift(a), self.lift(b)
        value = values.binary(op, a.value, b.value)
        if op in (ast.Add, ast.Sub):
            return Size(value, a.size + b.size, max(a.terms, b.terms) + 1)
        if op is ast.Mult:
            return Size(value, a.size * b.size, a.terms + b.terms - 1)
        if op is ast.Div:
            divisor = _magnitude(b.value)
            with np.errstate(all="ignore"):
                size = np.float64(a.size) / divisor + np.float64(_magnitude(a.value)) * b.size / divisor**2
            return Size(value, size, a.terms + b.terms + FUNCTION_TERMS - 1)
        return self.lift(value)

    @_vector_of
    def unary(self, op: type, a: Size) -> Value:
        a = self.lift(a)
        value = values.unary(op, a.value)
        return Size(value, a.size, a.terms) if op is ast.USub else self.lift(value)

    @_vector_of
    def function(self, name: str, x: Size) -> Size:
        x = self.lift(x)
        value = values.function(name, x.value)
        size = _magnitude(value)
        if name in _SLOPES:
            slope = _SLOPES[name](np.float64(x.value), np.float64(value)) * x.size
            size = size + np.where(np.isnan(slope), 0.0, slope)
        return Size(value, size, x.terms + FUNCTION_TERMS)

    @_vector_of
    def absolute(self, x: Size) -> Size:
        x = self.lift(x)
        return Size(values.absolute(x.value), x.size, x.terms)

    @_vector_of
    def least(self, a: Size, b: Size) -> Size:
        return self._either(values.least, self.lift(a), self.lift(b))

    @_vector_of
    def greatest(self, a: Size, b: Size) -> Size:
        return self._either(values.greatest, self.lift(a), self.lift(b))

    def _either(self, function: Any, a: Size, b: Size) -> Size:
        return Size(function(a.value, b.value), np.fmax(a.size, b.size), max(a.terms, b.terms))

    @_vector_of
    def convert(self, name: str, x: Size) -> Size:
        x = self.lift(x)
        value = values.convert(name, x.value)
        type_ = TYPES[name]
        if not type_.is_float:
            return self.lift(value)
        return Size(value, x.size + _magnitude(value) * (type_.roundoff / self.roundoff), x.terms + 1)

    def pick(self, number: Value, entries: Sequence[Value]) -> Value:
        return self.lift(values.pick(self.plain(number), [self.plain(e) for e in entries]))

    def merge(self, shape: tuple[int, ...], mask: Any, chosen: Value, other: Value) -> Value:
        if isinstance(chosen, Vector) or isinstance(other, Vector):
            raise FormulaError("a conditional between vectors has no derived tolerance")
        a, b = self.lift(chosen), self.lift(other)
        value = values.merge(shape, mask, a.value, b.value)
        return Size(value, values.merge(shape, mask, a.size, b.size), max(a.terms, b.terms))

    @_vector_of
    def total(self, value: Size, count: int, depth: int) -> Size:
        v = self.lift(value)
        size = values.total(np.asarray(v.size), count, depth)
        return Size(values.total(v.value, count, depth), size, v.terms + max(count - 1, 0))

    @_vector_of
    def joined(self, a: Size, count_a: int, b: Size, count_b: int) -> Size:
        """Two totals of `count_a` and `count_b` summands as one of all of them."""
        a, b = self.lift(a), self.lift(b)
        terms = max(a.terms + count_b, b.terms + count_a)
        return Size(values.binary(ast.Add, a.value, b.value), a.size + b.size, terms)

    @_vector_of
    def extreme(self, name: str, value: Size, count: int, depth: int) -> Size:
        v = self.lift(value)
        size = values.extreme("max", v.size, count, depth)
        return Size(values.extreme(name, v.value, count, depth), size, v.terms)
