"""Arithmetic of formulas: Python numbers and numpy arrays with exact integers and float64.

A value is a Python `bool`, `int`, `float` or `str` (a word), a numpy array of bool, int64, object (integers that
may not fit 64 bits) or float64, or a `Vector` of them. Integer results never wrap: where int64 could overflow the
operation runs on Python integers.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from specgen.checks.dtypes import TYPES, ElementType, exact, stored

Value = Any
INT64 = 2**63
MOST_BITS = 4096
"""Bits that a left shift may add to an integer."""


class FormulaError(Exception):
    """A formula has no value; `node` is the part that has none, when known."""

    def __init__(self, message: str, node: ast.AST | None = None) -> None:
        self.message, self.node = message, node
        super().__init__(message)


@dataclass(frozen=True)
class Vector:
    """A short vector (`unpack`, `x[i, c:+n]`): one value an element."""

    elements: tuple[Value, ...]


def is_float(value: Value) -> bool:
    """Whether a value counts in float64."""
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64)


def _as_float(value: Value) -> Value:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(value)


def _as_integer(value: Value) -> Value:
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype == np.bool_ else value
    return int(value) if isinstance(value, bool) else value


def largest(value: Value) -> int:
    """The largest magnitude among integers; 0 for none."""
    if not isinstance(value, np.ndarray):
        return abs(int(value))
    return max(abs(int(value.max())), abs(int(value.min()))) if value.size else 0


def _objects(value: Value) -> Value:
    return value.astype(object) if isinstance(value, np.ndarray) else value


def settled(value: Value) -> Value:
    """Python integers of an array as int64 again when all of them fit."""
    if isinstance(value, np.ndarray) and value.dtype == object and largest(value) < INT64:
        return value.astype(np.int64)
    return value


def _integer_binary(op: type, a: Value, b: Value) -> Value:
    function = _INTEGER[op]
    bound = _BOUNDS.get(op)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if bound is not None and bound(largest(a), largest(b)) >= INT64:
            return settled(np.asarray(function(_objects(a), _objects(b)), dtype=object))
        return np.asarray(function(a, b))
    return function(a, b)


def _shift_left(a: int, b: int) -> int:
    return a << min(b, MOST_BITS)


_INTEGER: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_BOUNDS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.add,
    ast.Mult: operator.mul,
    ast.LShift: _shift_left,
}
"""An upper bound of the result's magnitude, for operations that can leave 64 bits."""
_FLOAT: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def binary(op: type, a: Value, b: Value) -> Value:
    """`a op b`. Integers by zero and shifts by a negative amount raise `FormulaError`."""
    if isinstance(a, Vector) or isinstance(b, Vector):
        return Vector(tuple(binary(op, x, y) for x, y in _paired(a, b)))
    if isinstance(a, str) or isinstance(b, str):
        raise FormulaError("a word has no arithmetic")
    a, b = _as_integer(a), _as_integer(b)
    if op is ast.Div:
        return _divide(a, b)
    if is_float(a) or is_float(b):
        if op not in _FLOAT:
            raise FormulaError("this operator works on integers")
        return _FLOAT[op](_as_float(a), _as_float(b))
    if op in (ast.FloorDiv, ast.Mod) and np.any(np.asarray(b) == 0):
        raise FormulaError("division by zero")
    if op in (ast.LShift, ast.RShift) and np.any(np.asarray(b) < 0):
        raise FormulaError("a negative shift amount")
    if op is ast.LShift and largest(b) > MOST_BITS:
        raise FormulaError(f"a shift by more than {MOST_BITS}")
    if op is ast.RShift and not isinstance(b, np.ndarray):
        b = min(b, 63) if isinstance(a, np.ndarray) else b
    return _integer_binary(op, a, b)


def _paired(a: Value, b: Value) -> list[tuple[Value, Value]]:
    count = len(a.elements) if isinstance(a, Vector) else len(b.elements)
    left = a.elements if isinstance(a, Vector) else (a,) * count
    right = b.elements if isinstance(b, Vector) else (b,) * count
    if len(left) != len(right):
        raise FormulaError("vectors of different lengths meet")
    return list(zip(left, right, strict=True))


def _divide(a: Value, b: Value) -> Value:
    if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        if b == 0 or isinstance(a, float) or isinstance(b, float):
            return float(np.float64(a) / np.float64(b))
        return float(Fraction(a, b))
    return np.asarray(_as_float(np.asarray(a)) / _as_float(np.asarray(b)))


def compare(op: type, a: Value, b: Value) -> Value:
    """`a op b` as a boolean or a boolean array; words only compare for equality."""
    if isinstance(a, str) != isinstance(b, str):
        raise FormulaError("a word is compared with a number")
    if isinstance(a, str) and op not in (ast.Eq, ast.NotEq):
        raise FormulaError("words have no order")
    result = _COMPARE[op](a, b)
    return result.astype(bool) if isinstance(result, np.ndarray) else bool(result)


def unary(op: type, a: Value) -> Value:
    """`-a`, `~a`, `not a`."""
    if isinstance(a, Vector):
        return Vector(tuple(unary(op, x) for x in a.elements))
    if op is ast.Not:
        return np.logical_not(a) if isinstance(a, np.ndarray) else not a
    if op is ast.USub:
        return -a if is_float(a) else binary(ast.Sub, 0, a)
    if is_float(a):
        raise FormulaError("this operator works on integers")
    return ~_as_integer(a)


def merge(shape: tuple[int, ...], mask: Any, chosen: Value, other: Value) -> Value:
    """An array of `shape` with `chosen` (one value a true element of `mask`, in order) and `other` elsewhere."""
    if isinstance(chosen, Vector) or isinstance(other, Vector):
        pairs = _paired(chosen, other)
        return Vector(tuple(merge(shape, mask, a, b) for a, b in pairs))
    chosen, other = np.asarray(sized(chosen)), np.asarray(sized(other))
    kinds = {chosen.dtype, other.dtype}
    if np.dtype(np.float64) in kinds:
        kind: Any = np.float64
    elif np.dtype(object) in kinds:
        kind = object
    else:
        kind = np.bool_ if kinds == {np.dtype(np.bool_)} else np.int64
    result = np.empty(shape, kind)
    result[mask] = chosen
    result[~mask] = other
    return result


def sized(value: Value) -> Value:
    """A Python integer that does not fit 64 bits as an object array."""
    if isinstance(value, int) and not isinstance(value, bool) and not -INT64 <= value < INT64:
        return np.array(value, object)
    return value


def total(value: Value, count: int, depth: int) -> Value:
    """The sum over the first of `depth` axes, which has `count` elements."""
    if isinstance(value, Vector):
        return Vector(tuple(total(x, count, depth) for x in value.elements))
    value = _as_integer(value)
    if not isinstance(value, np.ndarray) or value.ndim < depth or value.shape[0] != count:
        squeezed = value[0] if isinstance(value, np.ndarray) and value.ndim == depth else value
        return binary(ast.Mult, squeezed, count)
    if value.dtype == np.int64 and largest(value) * count >= INT64:
        value = value.astype(object)
    return settled(np.asarray(value.sum(axis=0)))


def extreme(name: str, value: Value, count: int, depth: int) -> Value:
    """`max` or `min` over the first of `depth` axes; a NaN loses against a number."""
    if not isinstance(value, np.ndarray) or value.ndim < depth:
        return value
    function = {"max": np.fmax, "min": np.fmin}[name]
    return np.asarray(function.reduce(value, axis=0))


def least(a: Value, b: Value) -> Value:
    """`min` of two."""
    return _extreme2(np.fmin, min, a, b)


def greatest(a: Value, b: Value) -> Value:
    """`max` of two."""
    return _extreme2(np.fmax, max, a, b)


def _extreme2(arrays: Any, numbers: Any, a: Value, b: Value) -> Value:
    a, b = _as_integer(a), _as_integer(b)
    if is_float(a) or is_float(b):
        result = arrays(_as_float(a), _as_float(b))
        return result if isinstance(result, np.ndarray) else float(result)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.asarray(arrays(a, b))
    return numbers(a, b)


_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Value) -> Value:
    return np.asarray(_ERF(x)).astype(np.float64)


FUNCTIONS: dict[str, Callable[[Value], Value]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
"""Functions of one float."""


def function(name: str, x: Value) -> Value:
    """One of `FUNCTIONS`, in float64."""
    result = FUNCTIONS[name](np.asarray(_as_float(x)))
    return np.asarray(result) if isinstance(x, np.ndarray) else float(result)


def absolute(x: Value) -> Value:
    """The magnitude of a number."""
    if isinstance(x, np.ndarray) and x.dtype == np.int64 and largest(x) >= INT64:
        x = x.astype(object)
    return abs(_as_integer(x))


def ceil_div(a: Value, b: Value) -> Value:
    """The quotient rounded up."""
    return unary(ast.USub, binary(ast.FloorDiv, unary(ast.USub, a), b))


def round_up(a: Value, b: Value) -> Value:
    """The next multiple of `b`."""
    return binary(ast.Mult, ceil_div(a, b), b)


def convert(name: str, x: Value) -> Value:
    """A call of a type: rounded, truncated or wrapped as the type does it, then exact again."""
    if isinstance(x, Vector):
        return Vector(tuple(convert(name, e) for e in x.elements))
    result = exact(stored(np.asarray(sized(x)), TYPES[name]))
    return result if isinstance(x, np.ndarray) else result.item()


def unpack(x: Value, name: str, width: int) -> Vector:
    """The pieces of a `width`-bit integer, low bits first; `name` is i4, u4, i8 or u8."""
    bits, signed = int(name[1:]), name[0] == "i"
    pieces = []
    for at in range(0, width, bits):
        piece = binary(ast.BitAnd, binary(ast.RShift, x, at), (1 << bits) - 1)
        if signed:
            half = 1 << (bits - 1)
            piece = binary(ast.Sub, binary(ast.BitXor, piece, half), half)
        pieces.append(piece)
    return Vector(tuple(pieces))


def bits(x: Value, source: ElementType, target: ElementType) -> Value:
    """The value that the bits of a `source` element have as `target`; sizes must agree."""
    if source.dtype.itemsize != target.dtype.itemsize:
        raise FormulaError(f"`bits` from {source.name} to {target.name}: sizes differ")
    flat = np.atleast_1d(stored(np.asarray(sized(x)), source)).view(target.dtype)
    result = exact(flat).reshape(np.shape(x))
    return result if isinstance(x, np.ndarray) else result.item()


def pick(number: Value, entries: Sequence[Value]) -> Value:
    """Entry `number` modulo the count."""
    place = binary(ast.Mod, number, len(entries))
    if not isinstance(place, np.ndarray):
        return entries[place]
    kind = np.float64 if any(is_float(e) for e in entries) else np.int64
    arrays = np.broadcast_arrays(place, *(np.asarray(e, kind) for e in entries))
    return np.take_along_axis(np.stack(arrays[1:]), arrays[0][None], axis=0)[0]


def integers(value: Value) -> Value:
    """`value` as integers for a subscript or a range; raises `FormulaError` for anything else."""
    if is_float(value) or isinstance(value, (str, Vector)):
        raise FormulaError("an integer is expected here")
    return _as_integer(value)
