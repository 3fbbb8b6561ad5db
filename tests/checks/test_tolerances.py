"""Derived bounds hold for real f32 evaluations and are not so wide that a wrong term fits; comparison itself."""

import math

import numpy as np
import pytest

from specgen.checks import compare
from specgen.checks.buffers import Contents
from specgen.checks.cases import parsed
from specgen.checks.dtypes import TYPES, exact, stored
from specgen.checks.formula import Scope, Target, evaluate, magnitude

N = 200
RANDOM = np.random.default_rng(11)
A, B = (RANDOM.uniform(-1, 1, (N, N)).astype(np.float32) for _ in range(2))
V = RANDOM.uniform(-4, 4, N).astype(np.float32)


def buffer(name, array, axes):
    return Contents(name, TYPES["f32"], axes, array.shape, tuple(range(array.ndim)), array.reshape(-1))


SCOPE = Scope(
    {"n": N, "half": 0.5},
    frozenset(),
    {"A": buffer("A", A, ("i", "k")), "B": buffer("B", B, ("k", "j")), "v": buffer("v", V, ("i",))},
)


def bound(text, target):
    wanted = stored(evaluate(parsed(text), SCOPE, target), target.type)
    sizes, terms = magnitude(parsed(text), SCOPE, target)
    return wanted, compare.derived_tolerance(exact(wanted), sizes, terms, target.type), terms


def row_sums():
    total = np.zeros(N, np.float32)
    for k in range(N):
        total = total + A[:, k]
    return total


def product():
    total = np.zeros((N, N), np.float32)
    for k in range(N):
        total = total + A[:, k, None] * B[None, k]
    return total


def softmax():
    e = np.exp(V - V.max())
    total = np.float32(0)
    for x in e:
        total = total + x
    return e / total


def normal():
    total = np.zeros(N, np.float32)
    for k in range(N):
        total = total + A[:, k] * A[:, k]
    return V * (np.float32(1) / np.sqrt(total / np.float32(N) + np.float32(1e-5)))


VECTOR, MATRIX = Target(TYPES["f32"], ("i",), (N,)), Target(TYPES["f32"], ("i", "j"), (N, N))
FORMULAS = {
    "sum(A[i, k] for k in range(n))": (row_sums, VECTOR, N),
    "sum(A[i, k] * B[k, j] for k in range(n))": (product, MATRIX, N),
    "exp(v[i] - max(v[k] for k in range(n))) / sum(exp(v[j] - max(v[k] for k in range(n))) for j in range(n))": (
        softmax,
        VECTOR,
        None,
    ),
    "v[i] * rsqrt(sum(A[i, k] * A[i, k] for k in range(n)) / n + 0.00001)": (normal, VECTOR, None),
    "half * v[i] + A[i, i]": (lambda: np.float32(0.5) * V + A.diagonal(), VECTOR, 2),
    "min(v[i], 1) - max(v[i], A[i, 0])": (lambda: np.minimum(V, 1) - np.maximum(V, A[:, 0]), VECTOR, 2),
    "tanh(v[i]) if v[i] > 0 else abs(v[i])": (lambda: np.where(V > 0, np.tanh(V), np.abs(V)), VECTOR, None),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_float32_evaluation_stays_within_and_a_lost_term_does_not(text):
    compute, target, count = FORMULAS[text]
    wanted, tolerance, terms = bound(text, target)
    actual = np.asarray(compute(), np.float32)
    assert compare.differences(wanted.reshape(-1), actual.reshape(-1), _flat(tolerance)) is None
    if count is not None:
        assert terms == count
    # One part in a thousand of the values' own scale is never hidden: the bound scales with the result.
    scale = np.abs(exact(wanted)).max()
    assert np.nanmedian(tolerance.bound) < 2e-3 * scale
    assert compare.differences(wanted.reshape(-1), np.zeros_like(wanted).reshape(-1), _flat(tolerance)) is not None


def _flat(tolerance):
    return compare.Tolerance(tolerance.kind, tolerance.text, tolerance.bound.reshape(-1))


def test_the_bound_is_the_one_that_the_language_defines():
    """(terms + 2) * u(accumulator) * sum of magnitudes + u(result) * abs(e), for a plain sum of products."""
    wanted, tolerance, _ = bound("sum(A[i, k] * B[k, j] for k in range(n))", MATRIX)
    sizes = np.abs(A.astype(np.float64)) @ np.abs(B.astype(np.float64))
    expected = (N + 2) * 2.0**-24 * sizes + 2.0**-24 * np.abs(wanted.astype(np.float64))
    np.testing.assert_allclose(tolerance.bound, expected, rtol=1e-12)
    assert f"({N} terms + 2) * 2^-24" in tolerance.text


def test_narrow_results_have_their_own_roundoff():
    target = Target(TYPES["bf16"], ("i",), (N,))
    _, tolerance, _ = bound("v[i] * 1", target)
    np.testing.assert_allclose(tolerance.bound, np.abs(V) * (3 * 2.0**-24 + 2.0**-8), rtol=1e-2)


def test_a_type_call_costs_its_own_rounding():
    exact_, rounded = (bound(t, VECTOR)[1].bound for t in ("v[i] + 1", "f16(v[i]) + 1"))
    assert np.all(rounded - exact_ >= np.abs(V) * 2.0**-11 * 0.99)


def f32(*values):
    return np.array(values, np.float32)


def test_exact_and_bitwise():
    exact_, bits = compare.exact_tolerance(), compare.bitwise_tolerance()
    assert compare.differences(f32(0, np.nan), f32(-0.0, np.nan), exact_) is None
    found = compare.differences(f32(0, np.nan), f32(-0.0, np.nan), bits)
    assert (found.count, found.first) == (1, 0)
    assert compare.differences(f32(np.inf), f32(np.inf), exact_) is None
    assert compare.differences(f32(1), f32(np.nan), exact_).error != 0


def test_close_and_its_report():
    wanted, got = f32(0, 100, 200), f32(0.5, 101, 210)
    tolerance = compare.close_tolerance(exact(wanted), 0.1, 0.02)
    found = compare.differences(wanted, got, tolerance)
    assert (found.count, found.size, found.first, found.worst) == (2, 3, 0, 2)
    assert (found.error, found.allowed) == (10.0, pytest.approx(4.1))
    assert compare.differences(wanted, f32(0.1, 102, 204), compare.close_tolerance(exact(wanted), 0.11, 0.0201)) is None


def test_what_cannot_be_bounded_must_be_equal():
    wanted = f32(math.inf, math.nan, 1)
    tolerance = compare.Tolerance(compare.DERIVED, "", np.array([math.inf, math.nan, math.inf]))
    assert compare.differences(wanted, wanted, tolerance) is None
    assert compare.differences(wanted, f32(3, 3, 3), tolerance).count == 3


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="2 elements instead of 1"):
        compare.differences(f32(1), f32(1, 2), compare.exact_tolerance())
