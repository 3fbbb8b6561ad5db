"""Comparison of contents: what counts as equal, where it fails first, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from specgen.checks.dtypes import ElementType, exact

EXACT, BITWISE, DERIVED, CLOSE = "exact", "bitwise", "derived", "close"


@dataclass(frozen=True)
class Tolerance:
    """How much may differ. `bound` is an absolute bound an element (`derived`, `close`), `text` how it came about."""

    kind: str
    text: str
    bound: Any = None


@dataclass(frozen=True)
class Difference:
    """Elements that differ: how many of how many, the first, the worst, and the largest error there is."""

    count: int
    size: int
    first: int
    expected: Any
    actual: Any
    worst: int
    error: float
    allowed: float


def exact_tolerance() -> Tolerance:
    """Equal values; a NaN equals a NaN, -0 equals 0."""
    return Tolerance(EXACT, "equal values, NaN equals NaN")


def bitwise_tolerance() -> Tolerance:
    """Equal bits; NaNs count as equal whatever their payload."""
    return Tolerance(BITWISE, "equal bits")


def close_tolerance(expected: Any, atol: float, rtol: float) -> Tolerance:
    """`abs(a - e) <= atol + rtol * abs(e)`."""
    bound = atol + rtol * np.abs(np.asarray(expected, np.float64))
    return Tolerance(CLOSE, f"abs(actual - expected) <= {atol!r} + {rtol!r} * abs(expected)", bound)


def derived_tolerance(expected: Any, sizes: Any, terms: int, type_: ElementType) -> Tolerance:
    """`(terms + 2) * u(accumulator) * sizes + u(result) * abs(e)`; see `domains` for sizes and terms."""
    accumulator, result = type_.accumulator_roundoff, type_.roundoff
    with np.errstate(all="ignore"):
        bound = (terms + 2) * accumulator * sizes + result * np.abs(np.asarray(expected, np.float64))
    finite = bound[np.isfinite(bound)]
    largest = float(finite.max()) if finite.size else 0.0
    text = (
        f"abs(actual - expected) <= ({terms} terms + 2) * {_power(accumulator)} * sum of magnitudes"
        f" + {_power(result)} * abs(expected), at most {largest:.3g}"
    )
    return Tolerance(DERIVED, text, bound)


def _power(u: float) -> str:
    return f"2^{int(np.log2(u))}"


def differences(expected: Any, actual: Any, tolerance: Tolerance) -> Difference | None:
    """None when `actual` (stored elements) meets `expected` (stored elements of the same type) everywhere.

    Raises `ValueError` for arrays of different sizes.
    """
    if expected.shape != actual.shape:
        raise ValueError(f"{actual.size} elements instead of {expected.size}")
    wrong = ~_agrees(expected, actual, tolerance)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    first = int(np.argmax(wrong))
    with np.errstate(all="ignore"):
        error = np.abs(exact(actual).astype(np.float64) - exact(expected).astype(np.float64))
        excess = np.where(np.isnan(error), np.inf, error)
        if tolerance.bound is not None:
            excess = excess - np.where(np.isfinite(tolerance.bound), tolerance.bound, 0.0)
    worst = int(np.argmax(np.where(wrong, excess, -np.inf)))
    allowed = 0.0 if tolerance.bound is None else float(tolerance.bound[worst])
    return Difference(count, expected.size, first, expected[first], actual[first], worst, float(error[worst]), allowed)


def _agrees(expected: Any, actual: Any, tolerance: Tolerance) -> Any:
    nan = np.isnan(expected) & np.isnan(actual) if _is_float(expected) else np.zeros(expected.shape, bool)
    if tolerance.kind == BITWISE:
        kind = f"u{expected.dtype.itemsize}"
        return nan | (expected.view(kind) == actual.view(kind))
    equal = nan | (expected == actual)
    if tolerance.bound is None:
        return equal
    with np.errstate(all="ignore"):
        near = np.abs(exact(actual).astype(np.float64) - exact(expected).astype(np.float64)) <= tolerance.bound
    # An infinite bound (0 divided by 0 in a derivation) admits nothing: what cannot be bounded must be equal.
    return equal | (near & np.isfinite(tolerance.bound))


def _is_float(array: Any) -> bool:
    return array.dtype.kind not in "iub"
