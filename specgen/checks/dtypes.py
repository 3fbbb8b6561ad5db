"""The language's element types as numpy arrays: storage, rounding, poison, precision."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

bfloat16: Any = None
with contextlib.suppress(ImportError):  # A host that only runs artifacts has numpy alone; it lacks bf16 then.
    import ml_dtypes

    bfloat16 = ml_dtypes.bfloat16

Array = Any
"""A numpy array (bfloat16 is a dtype of `ml_dtypes`, which numpy's types do not know)."""


@dataclass(frozen=True)
class ElementType:
    """An element type. `precision` counts the bits of a float's significand, the hidden one included."""

    name: str
    dtype: np.dtype[Any]
    kind: str
    precision: int = 0

    @property
    def is_float(self) -> bool:
        """Whether values are floats."""
        return self.kind == "float"

    @property
    def roundoff(self) -> float:
        """u: half the distance from 1 to the next number (round to nearest); 0 for integers."""
        return 2.0**-self.precision if self.is_float else 0.0

    @property
    def accumulator_roundoff(self) -> float:
        """u of the type that sums for this result are assumed to be kept in: f64 for f64, else f32."""
        return 2.0 ** -max(self.precision, 24) if self.is_float else 0.0


def _rows() -> list[ElementType]:
    floats = [
        ("f64", np.float64, 53),
        ("f32", np.float32, 24),
        ("f16", np.float16, 11),
    ]
    if bfloat16 is not None:
        floats.append(("bf16", bfloat16, 8))
    rows = [ElementType(name, np.dtype(kind), "float", bits) for name, kind, bits in floats]
    for bits in (8, 16, 32, 64):
        rows.append(ElementType(f"i{bits}", np.dtype(f"i{bits // 8}"), "signed"))
        rows.append(ElementType(f"u{bits}", np.dtype(f"u{bits // 8}"), "unsigned"))
    rows.append(ElementType("bool", np.dtype(np.uint8), "bool"))
    rows.append(ElementType("index", np.dtype(np.int64), "signed"))
    return rows


TYPES: dict[str, ElementType] = {row.name: row for row in _rows()}
"""Element types by the name that specs and manifests use; without `bf16` where `ml_dtypes` is not installed."""


def dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype that arrays of an element type have; raises `KeyError` for a name that is no type."""
    return TYPES[name].dtype


def stored(values: Array, type_: ElementType) -> Array:
    """`values` (bool, int64, object integers or float64) as the type holds them.

    Floats are rounded once, to nearest even. A float becomes an integer by truncation, saturated, NaN giving 0; an
    integer that is too wide wraps; a bool holds 0 or 1.
    """
    values = np.asarray(values)
    if type_.kind == "bool":
        return (values != 0).astype(type_.dtype)
    if type_.is_float:
        with np.errstate(over="ignore"):
            return _rounded(values, type_)
    if values.dtype.kind == "f":
        values = _truncated(values, type_)
    if values.dtype == object:
        mask = (1 << 8 * type_.dtype.itemsize) - 1
        return (values & mask).astype(np.uint64).astype(type_.dtype)
    return values.astype(type_.dtype)


def _rounded(values: Array, type_: ElementType) -> Array:
    if values.dtype == object:
        return (
            np.vectorize(lambda x: _nearest(int(x), type_), otypes=[type_.dtype])(values)
            if values.size
            else (np.empty(values.shape, type_.dtype))
        )
    if values.dtype.kind in "iu" and type_.precision < 24:
        values = _to_odd(values.astype(np.float64), values)
    if type_.name == "bf16":
        # ml_dtypes rounds float64 to float32 first; rounding to odd on the way makes the second rounding the only one.
        values = _to_odd(values.astype(np.float32), values.astype(np.float64))
    return values.astype(type_.dtype)


def _to_odd(narrow: Array, exact: Array) -> Array:
    """`narrow` (nearest to `exact`) moved to the neighbour on the other side of `exact` if its last bit is even."""
    narrow = np.array(narrow)
    bits = narrow.view(f"i{narrow.dtype.itemsize}")
    if exact.dtype.kind in "iu":
        back = narrow.astype(exact.dtype)
        above, differs = back > exact, back != exact
    else:
        above, differs = narrow > exact, np.isfinite(exact) & (narrow != exact)
    away = (narrow > 0) == above
    return np.where(differs & (bits & 1 == 0), bits + np.where(away, -1, 1), bits).astype(bits.dtype).view(narrow.dtype)


def _nearest(value: int, type_: ElementType) -> Any:
    """An integer of any size rounded once."""
    exponent = max(abs(value).bit_length() - type_.precision, 0)
    rounded = round(Fraction(value, 1 << exponent)) << exponent
    try:
        return np.float64(float(rounded)).astype(type_.dtype)
    except OverflowError:
        return np.float64(math.inf if value > 0 else -math.inf).astype(type_.dtype)


def _truncated(values: Array, type_: ElementType) -> Array:
    lo, hi = limits(type_)
    whole = np.trunc(np.where(np.isnan(values), 0.0, values))
    # 2.0**63 and 2.0**64 are floats, the largest integers below them are not.
    inside = np.clip(whole, float(lo), np.nextafter(float(hi), 0.0) if hi >= 1 << 53 else float(hi))
    result = inside.astype(np.uint64 if type_.name == "u64" else np.int64)
    return np.where(whole >= float(hi), np.array(hi, result.dtype), result)


def limits(type_: ElementType) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    info = np.iinfo(type_.dtype)
    return (0, 1) if type_.kind == "bool" else (int(info.min), int(info.max))


def exact(array: Array) -> Array:
    """Stored elements as the evaluator computes with them: int64 (object for u64) or float64."""
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        return array.astype(object)
    return array.astype(np.int64) if array.dtype.kind in "iub" else array.astype(np.float64)


POISON_STEPS = 40


def poison(type_: ElementType, ordinal: int) -> Any:
    """What an output holds before the run of variant `ordinal`: a number that no kernel is likely to compute.

    Exact in every float type (12352 and 64 are multiples of bfloat16's spacing there); differs from variant to
    variant, so a store that is missing in two variants does not make them agree with their expectation.
    """
    step = ordinal % POISON_STEPS
    if type_.is_float:
        return np.float64(-(12352 + 64 * step)).astype(type_.dtype)
    if type_.kind == "bool":
        return type_.dtype.type(2 + step)
    return stored(np.int64((-77 if type_.dtype.itemsize == 1 else -12345) - step), type_)[()]
