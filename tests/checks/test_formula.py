"""Formulas against numpy and Python integers."""

import numpy as np
import pytest

from specgen.checks import formula
from specgen.checks.buffers import Contents
from specgen.checks.cases import parsed
from specgen.checks.dtypes import TYPES
from specgen.checks.formula import Scope, Target, evaluate, scalar
from specgen.checks.generators import draws, uniform_floats
from specgen.checks.values import FormulaError

ROWS, LANES = 4, 6
R, L = np.arange(ROWS)[:, None], np.arange(LANES)[None, :]
X = (np.arange(ROWS * LANES, dtype=np.float32) * 0.75 - 3).reshape(ROWS, LANES)
IDS = np.array([2, -1, 0, 3], np.int32)


def contents(name, array, type_, axes):
    return Contents(name, TYPES[type_], axes, array.shape, tuple(range(array.ndim)), array.reshape(-1))


SCOPE = Scope(
    {"n": 3, "big": 2**62, "mode": "fast", "half": 0.5},
    frozenset({"fast", "slow"}),
    {
        "x": contents("x", X, "f32", ("row", "lane")),
        "ids": contents("ids", IDS, "i32", ("row",)),
        "wide": contents("wide", np.array([2**64 - 1, 5], np.uint64), "u64", ("i",)),
    },
)
TARGET = Target(TYPES["f32"], ("row", "lane"), (ROWS, LANES), kept=X * 2.0)


def value(text, target=TARGET):
    return evaluate(parsed(text), SCOPE, target)


X64 = X.astype(np.float64)
EXPECTED = {
    "1 + 6 * row + lane": 1 + 6 * R + L,
    "flat": R * LANES + L,
    "flat % 5 // 2 - 7 % -3": (R * LANES + L) % 5 // 2 + 2,
    "row << 2 | lane & 1 ^ 3": R << 2 | L & 1 ^ 3,
    "~row >> 1": ~R >> 1 + 0 * L,
    "x[row, lane] / 2 + kept": X64 / 2 + X64 * 2,
    "x[row, LANE(lane)]": None,
    "x[row, lane] if row < n else nan": np.where(R < 3, X64, np.nan),
    "x[row + 1, lane] if row < 3 else -1": np.concatenate([X64[1:], np.full((1, LANES), -1.0)]),
    "x[ids[row], lane] if ids[row] >= 0 else 0": np.where(IDS[:, None] >= 0, X64[IDS], 0),
    "1 if ids[row] >= 0 and x[ids[row], lane] > 0 else 0": ((IDS[:, None] >= 0) & (X64[IDS] > 0)).astype(int),
    "1 if ids[row] < 0 or x[ids[row], lane] > 0 else 0": ((IDS[:, None] < 0) | (X64[IDS] > 0)).astype(int),
    "1 if not 0 < row <= 2 else 0": np.where((R > 0) & (R <= 2), 0, 1) + 0 * L,
    "sum(x[k, lane] for k in range(n))": X64[:3].sum(axis=0) + 0 * R,
    "sum(x[k, lane] for k in range(row))": np.stack([X64[:r].sum(axis=0) for r in range(ROWS)]),
    "sum(k * c for k in range(1, row + 1) for c in range(0, 6, 2))": R * (R + 1) // 2 * 6 + 0 * L,
    "sum(2 for k in range(n))": np.full((ROWS, LANES), 6),
    "sum(x[k, lane] for k in range(4) if ids[k] >= 0)": X64[IDS >= 0].sum(axis=0) + 0 * R,
    "sum(x[ids[k], lane] for k in range(4) if ids[k] >= 0 and k != row)": np.stack(
        [sum(X64[IDS[k]] for k in range(4) if IDS[k] >= 0 and k != r) for r in range(ROWS)]
    ),
    "max(x[row, k] for k in range(6))": X64.max(axis=1, keepdims=True) + 0 * L,
    "min(x[row, k] for k in range(lane, 6))": np.stack([[X64[r, c:].min() for c in range(LANES)] for r in range(ROWS)]),
    "max(k for k in range(0))": np.full((ROWS, LANES), -np.inf),
    "1 if any(ids[k] < 0 for k in range(row + 1)) else 0": np.where(R >= 1, 1, 0) + 0 * L,
    "1 if all(ids[k] >= 0 for k in range(row + 1)) else 0": np.where(R >= 1, 0, 1) + 0 * L,
    "min(row, lane, 2)": np.minimum(np.minimum(R, L), 2),
    "max(x[row, lane], nan)": X64,
    "clamp(lane, 1, 3) + abs(row - 2)": np.clip(L, 1, 3) + abs(R - 2),
    "ceil_div(row + lane, 4) + round_up(row, 3)": -(-(R + L) // 4) + -(-R // 3) * 3,
    "exp(x[row, lane]) + tanh(half)": np.exp(X64) + np.tanh(0.5),
    "rsqrt(1 + row) * sqrt(lane)": np.sqrt(L) / np.sqrt(1 + R),
    "fma(row, lane, half)": R * L + 0.5,
    "floor(x[row, lane]) - round(x[row, lane])": np.floor(X64) - np.rint(X64),
    "pick(lane, 0.5, 1, 1.5) + row": np.array([0.5, 1, 1.5] * 2) + R,
    "unpack(i32(0x0702FFFD), i8)[lane % 4] * (row + 1)": np.array([-3, -1, 2, 7, -3, -1]) * (R + 1),
    "unpack(i16(0x70F3), u4)[lane % 4] + row": np.array([3, 15, 0, 7, 3, 15]) + R,
    "sum(unpack(i32(0x0702FFFD), i8)) + row + lane": 5 + R + L,
    "dot(x[row, 0:+3], x[row, 3:+3]) + lane": (X64[:, :3] * X64[:, 3:]).sum(axis=1)[:, None] + L,
    "max(x[row, :]) + lane": X64.max(axis=1)[:, None] + L,
    "f16(0.1) + f32(0.1) * 0": np.full((ROWS, LANES), float(np.float16(0.1))),
    "i8(200 + row) + lane": (200 + R).astype(np.int8).astype(int) + L,
    "bits(f32(1), i32) + row + lane": 0x3F800000 + R + L,
    "size(f16) + row + lane": 2 + R + L,
    "7 if mode == fast else 8": np.full((ROWS, LANES), 7),
    "7 if mode != fast else 8": np.full((ROWS, LANES), 8),
    "1 if true and not false else 0": np.full((ROWS, LANES), 1),
}
del EXPECTED["x[row, LANE(lane)]"]


@pytest.mark.parametrize("text", EXPECTED)
def test_values(text):
    expected = np.broadcast_to(EXPECTED[text], (ROWS, LANES))
    np.testing.assert_allclose(np.asarray(value(text), np.float64), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("text", [t for t in EXPECTED if " for " in t])
def test_blocks_change_nothing(text, monkeypatch):
    whole = value(text)
    monkeypatch.setattr(formula, "ELEMENTS_AT_ONCE", 2 * ROWS * LANES)
    np.testing.assert_allclose(np.asarray(value(text), np.float64), np.asarray(whole, np.float64), rtol=1e-14)


def test_integers_are_exact_beyond_64_bits():
    assert value("big * big + lane - big * big")[0].tolist() == list(range(LANES))
    assert value("(big + lane) * 8")[0].tolist() == [(2**62 + i) * 8 for i in range(LANES)]
    assert value("wide[0] + lane", Target(TYPES["u64"], ("lane",), (LANES,))).tolist() == [
        2**64 - 1 + i for i in range(LANES)
    ]
    assert scalar(parsed("1 << 100"), Scope()) == 1 << 100
    assert scalar(parsed("sum(big for k in range(8))"), SCOPE) == 2**65
    assert scalar(parsed("1 / 3"), Scope()) == 1 / 3


def test_uniform_belongs_to_the_element_even_behind_a_condition():
    whole = uniform_floats(draws(9, ROWS * LANES), -1, 1).reshape(ROWS, LANES)
    np.testing.assert_array_equal(value("uniform(-1, 1, 9)"), whole)
    got = value("uniform(-1, 1, 9) if lane > row else nan")
    np.testing.assert_array_equal(got, np.where(L > R, whole, np.nan))
    integers = value("uniform(-2, 5, 9)", Target(TYPES["i32"], ("i",), (500,)))
    assert (integers.min(), integers.max()) == (-2, 5)


def test_rows_are_a_prefix():
    part = Target(TYPES["f32"], ("row", "lane"), (ROWS, LANES), rows=2)
    np.testing.assert_array_equal(value("flat + uniform(0, 1, 3)", part), value("flat + uniform(0, 1, 3)")[:2])


@pytest.mark.parametrize("shape", [(0, LANES), (ROWS, 0)])
def test_nothing_is_read_for_no_element(shape):
    """Axes that are not empty must not be evaluated by themselves: `lane - 1` has an element below 0."""
    empty = Target(TYPES["f32"], ("row", "lane"), shape)
    for text in ("x[row, lane - 1] if lane > 0 else 0", "x[row - 1, 0] if row > 0 else 0", "ids[row - 1] // lane"):
        assert value(text, empty).shape == shape
        sizes, terms = formula.magnitude(parsed(text), SCOPE, empty)
        assert (sizes.shape, terms) == (shape, 0)


def test_permuted_memory_is_read_by_declared_axes():
    flat = np.arange(6, dtype=np.float32)
    buffer = Contents("t", TYPES["f32"], ("a", "b"), (2, 3), (1, 0), flat)
    got = evaluate(parsed("t[a, b]"), Scope({}, frozenset(), {"t": buffer}), Target(TYPES["f32"], ("a", "b"), (2, 3)))
    np.testing.assert_array_equal(got, flat.reshape(3, 2).T)
    np.testing.assert_array_equal(buffer.shaped(), flat.reshape(3, 2).T)


ERRORS = {
    "nobody + 1": "no axis, case name, argument or param `nobody`",
    "x[row, lane + 1]": "axis `lane` has 6 elements",
    "x[row - 1, lane]": "axis `row` has 4 elements",
    "x[row]": "`x` has 2 axes",
    "x + 1": "give it subscripts",
    "ids[x[row, lane]]": "an integer is expected",
    "row // (lane - lane)": "division by zero",
    "row // lane if lane >= 0 else 0": "division by zero",
    "row << (lane - 1)": "negative shift",
    "half | 1": "works on integers",
    "foo(row)": "no function `foo`",
    "mode + 1": "a word has no arithmetic",
    "mode < fast": "words have no order",
    "mode == 3": "compared with a number",
    "sqrt(row, lane)": "takes 1 argument",
    "uniform(0, 1, lane)": "one integer",
    "sum(1 for n in range(3))": "already has a meaning",
    "unpack(row, i8)": "bits need a type",
    "unpack(i32(row), i8)[lane]": "has 4 elements",
    "1 << 5000": "a shift by more than 4096",
    "(1 << 4000) * 0.5": "this has no value",
    "sum(k for k in range(1 << 40))": "at most 16777216 times",
    "target.subgroup_size": "not part of a formula",
    "subgroup.sum(row)": "no function `subgroup.sum`",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_name_the_part(text):
    with pytest.raises(FormulaError) as caught:
        value(text)
    assert ERRORS[text] in caught.value.message
    assert caught.value.node is not None


def test_kept_only_where_there_is_something():
    with pytest.raises(FormulaError, match="only in `expect`"):
        value("kept", Target(TYPES["f32"], ("lane",), (3,)))


def test_reading_past_the_backing_is_an_error():
    short = Contents("x", TYPES["f32"], ("row", "lane"), (ROWS, LANES), (0, 1), X.reshape(-1)[: 2 * LANES])
    scope = Scope({}, frozenset(), {"x": short})
    got = evaluate(parsed("x[row, lane] if row < 2 else 0"), scope, TARGET)
    np.testing.assert_array_equal(got[:2], X[:2])
    with pytest.raises(FormulaError, match="past the 12 elements"):
        evaluate(parsed("x[row, lane]"), scope, TARGET)


def test_a_lazy_sum_costs_what_it_names():
    """The maximum of a row inside a sum over the row: quadratic, not cubic, in time and memory."""
    x = np.random.default_rng(3).normal(size=(8, 500)).astype(np.float32)
    scope = Scope({}, frozenset(), {"x": contents("x", x, "f32", ("i", "j"))})
    peak = "max(x[i, k] for k in range(500))"
    text = f"exp(x[i, j] - {peak}) / sum(exp(x[i, m] - {peak}) for m in range(500))"
    got = evaluate(parsed(text), scope, Target(TYPES["f32"], ("i", "j"), x.shape))
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=1e-13)
