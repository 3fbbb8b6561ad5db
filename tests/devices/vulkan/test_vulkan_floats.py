"""Float rows of the SPIR-V table, executed: bitwise where the numerics table promises it, else within its bound.

References are float64 (or exact rationals for fma), rounded once. Values are chosen so that no f32 or bf16 operand or
result is subnormal: those a device may flush.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import vulkan_support as support
from interpreter_exact import rounded as rounded_once

pytestmark = pytest.mark.required_in_ci

TYPES = ("f16", "bf16", "f32", "f64")
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan]


def values(type_: str, count: int, seed: int, spread: int = 6) -> np.ndarray:
    """Random numbers of many sizes, with halfway cases for narrow types, and the special ones in front."""
    random = np.random.default_rng(seed)
    numbers = random.uniform(1, 2, count) * 2.0 ** random.integers(-spread, spread, count)
    numbers *= random.choice([-1, 1], count)
    return np.concatenate([SPECIAL, numbers]).astype(support.DTYPES[type_])


def grid(type_: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of a small set, then random pairs."""
    few = np.array([*SPECIAL, 1.0, -1.0, 3.5, -2.25], support.DTYPES[type_])
    left, right = (g.reshape(-1) for g in np.meshgrid(few, few))
    return np.concatenate([left, values(type_, 300, 1)]), np.concatenate([right, values(type_, 300, 2)])


def assert_bits(actual: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    """Equal bits, any NaN for a NaN."""
    kind = f"u{actual.dtype.itemsize}"
    nans = np.isnan(expected.astype(np.float64))
    same = np.where(nans, np.isnan(actual.astype(np.float64)), actual.view(kind) == expected.view(kind))
    bad = np.nonzero(~same)[0][:5]
    assert same.all(), [(*(o[n] for o in operands), actual[n], expected[n]) for n in bad]


def rounded(exact: np.ndarray, type_: str) -> np.ndarray:
    """float64 to the type, one rounding (ml_dtypes goes to bfloat16 by way of float32)."""
    if type_ != "bf16":
        return exact.astype(support.DTYPES[type_])
    near = exact.astype(np.float32)
    bits = near.view(np.int32)
    inexact = (near.astype(np.float64) != exact) & np.isfinite(near) & (bits & 1 == 0)
    away = np.where((near > 0) == (exact > near), 1, -1).astype(np.int32)
    return np.where(inexact, bits + away, bits).view(np.float32).astype(ml_dtypes.bfloat16)


ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_is_rounded_once(name: str, type_: str) -> None:
    left, right = grid(type_)
    out = support.elementwise(f"%r = {name} %a0, %a1 : {type_}", [left, right], [type_, type_], type_)
    with np.errstate(all="ignore"):
        if type_ == "f64":
            expected = ARITHMETIC[name](left, right)
        else:
            expected = rounded(ARITHMETIC[name](left.astype(np.float64), right.astype(np.float64)), type_)
    assert_bits(out, expected, left, right)


@pytest.mark.parametrize("type_", TYPES)
def test_division_stays_within_its_bound(type_: str) -> None:
    left, right = grid(type_)
    out = support.elementwise(f"%r = arith.divf %a0, %a1 : {type_}", [left, right], [type_, type_], type_)
    with np.errstate(all="ignore"):
        exact = left.astype(np.float64) / right.astype(np.float64)
    if type_ in ("f16", "bf16"):
        assert_bits(out, rounded(exact, type_), left, right)
    else:
        bound = 2.5 * {"f32": 2.0**-23, "f64": 2.0**-52}[type_]
        np.testing.assert_allclose(out.astype(np.float64), exact, rtol=bound)


def least(a: float, b: float) -> float:
    """The smaller; a NaN loses, -0 < +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min((a, b), key=lambda v: (v, math.copysign(1, v)))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ["arith.minnumf", "arith.maxnumf"])
def test_min_and_max_order_zeros_and_drop_nan(name: str, type_: str) -> None:
    left, right = grid(type_)
    out = support.elementwise(f"%r = {name} %a0, %a1 : {type_}", [left, right], [type_, type_], type_)
    pairs = zip(left.astype(np.float64), right.astype(np.float64), strict=True)
    sign = 1 if name.endswith("minnumf") else -1
    expected = np.array([sign * least(sign * a, sign * b) for a, b in pairs])
    assert_bits(out, expected.astype(support.DTYPES[type_]), left, right)


COMPARISONS = {
    "false": lambda a, b: a != a if False else np.zeros(a.shape, bool),
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": lambda a, b: a != b,
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "true": lambda a, b: np.ones(a.shape, bool),
}


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("predicate", COMPARISONS)
def test_comparisons(predicate: str, type_: str) -> None:
    left, right = grid(type_)
    out = support.elementwise(f"%r = arith.cmpf {predicate}, %a0, %a1 : {type_}", [left, right], [type_] * 2, "i1")
    expected = COMPARISONS[predicate](left.astype(np.float64), right.astype(np.float64))
    np.testing.assert_array_equal(out != 0, expected)


EXACT = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name: str, type_: str) -> None:
    halves = np.array([0.5, -0.5, 1.5, 2.5, -2.5, -3.5, 1e3, -0.25], support.DTYPES[type_])
    source = np.concatenate([values(type_, 200, 3), halves])
    out = support.elementwise(f"%r = {name} %a0 : {type_}", [source], [type_], type_)
    assert_bits(out, EXACT[name](source.astype(np.float64)).astype(support.DTYPES[type_]), source)


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[float, float], float, float]] = {
    # function, range of arguments, relative bound, absolute bound (docs/numerics.md, column Vulkan)
    "math.sqrt": (np.sqrt, (0, 100), 3 * 2**-23, 0),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), (0.01, 100), 2 * 2**-23, 0),
    "math.exp": (np.exp, (-8, 8), (3 + 2 * 8) * 2**-23, 0),
    "math.exp2": (np.exp2, (-8, 8), (3 + 2 * 8) * 2**-23, 0),
    "math.log": (np.log, (0.01, 100), 3 * 2**-23, 2**-21),
    "math.log2": (np.log2, (0.01, 100), 3 * 2**-23, 2**-21),
    "math.sin": (np.sin, (-3.1, 3.1), 0, 2**-11),
    "math.cos": (np.cos, (-3.1, 3.1), 0, 2**-11),
    "math.tanh": (np.tanh, (-12, 12), 8 * 2**-23, 0),
    "math.erf": (np.vectorize(math.erf), (-5, 5), 8 * 2**-23, 0),
}


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_within_their_bounds(name: str, type_: str) -> None:
    function, (low, high), relative, absolute = FUNCTIONS[name]
    source = np.linspace(low, high, 1001)[1:].astype(support.DTYPES[type_])
    out = support.elementwise(f"%r = {name} %a0 : {type_}", [source], [type_], type_)
    exact = function(source.astype(np.float64))
    # A narrow result adds half a unit in its last place.
    relative += {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8}[type_]
    absolute += {"f32": 0, "f16": 2.0**-25, "bf16": 0}[type_]
    np.testing.assert_allclose(out.astype(np.float64), exact, rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", ["math.tanh", "math.erf"])
def test_expansions_at_the_edges(name: str) -> None:
    source = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-6, -1e-6, 50.0, -50.0], np.float32)
    out = support.elementwise(f"%r = {name} %a0 : f32", [source], ["f32"], "f32")
    slope = {"math.tanh": 1.0, "math.erf": 2 / math.sqrt(math.pi)}[name]
    expected = np.array([0.0, -0.0, 1, -1, math.nan, slope * 1e-6, -slope * 1e-6, 1, -1])
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2**-22)
    assert list(np.signbit(out[:2])) == [False, True]


def nearest(exact: Fraction, type_: str) -> float:
    """A rational rounded once, to nearest even, without bounds on the exponent."""
    if exact == 0:
        return 0.0
    digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[type_]
    exponent = math.floor(math.log2(abs(exact))) - digits + 1
    scaled = exact / Fraction(2) ** exponent
    if abs(scaled) >= 2**digits:
        exponent, scaled = exponent + 1, scaled / 2
    return float(round(scaled) * Fraction(2) ** exponent)


@pytest.mark.parametrize("type_", TYPES)
def test_fma_is_rounded_once(type_: str) -> None:
    dtype = support.DTYPES[type_]
    a, b = values(type_, 500, 4, 3)[5:], values(type_, 500, 5, 3)[5:]
    c = values(type_, 500, 6, 3)[5:]
    # Sums that cancel or nearly so, and addends that only break a tie.
    product = rounded(a.astype(np.float64) * b.astype(np.float64), type_)
    tiny = np.ldexp(c.astype(np.float64), -10).astype(dtype)
    a, b, c = np.tile(a, 4)[:1000], np.tile(b, 4)[:1000], np.concatenate([c, -product, tiny, product])[:1000]
    out = support.elementwise(f"%r = math.fma %a0, %a1, %a2 : {type_}", [a, b, c], [type_] * 3, type_)
    triples = zip(*(v.astype(np.float64) for v in (a, b, c)), strict=True)
    expected = np.array([nearest(Fraction(x) * Fraction(y) + Fraction(z), type_) for x, y, z in triples])
    assert_bits(out, expected.astype(dtype), a, b, c)


TIES = {
    # Factors whose product lies halfway between two numbers, and an addend that is far too small for one more digit.
    "f16": (1 + 2.0**-5, 1 + 2.0**-6, 2.0**-24),
    "bf16": (1 + 2.0**-4, 1 + 2.0**-4, 2.0**-40),
    "f32": (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60),
    "f64": (1 + 2.0**-27, 1 + 2.0**-26, 2.0**-160),
}


@pytest.mark.parametrize("type_", TIES)
def test_fma_sees_what_breaks_a_tie(type_: str) -> None:
    a, b, c = TIES[type_]
    addends = np.array([c, -c, 0.0], support.DTYPES[type_])
    sides = [np.full(3, v, support.DTYPES[type_]) for v in (a, b)]
    out = support.elementwise(f"%r = math.fma %a0, %a1, %a2 : {type_}", [*sides, addends], [type_] * 3, type_)
    exact = [Fraction(a) * Fraction(b) + Fraction(float(v)) for v in addends]
    expected = [nearest(v, type_) for v in exact]
    assert expected[0] != expected[1]
    assert [float(v) for v in out] == expected


FARTHEST = {"f16": (-24, 15), "bf16": (-133, 127), "f32": (-126, 127), "f64": (-1074, 1023)}
"""Exponents of the smallest and largest operands: f32 without subnormal numbers, which a device may flush."""


@pytest.mark.parametrize("type_", TYPES)
def test_fma_at_the_ends_of_the_exponents(type_: str) -> None:
    """Products that overflow or vanish beside an addend that brings them back or decides; subnormal results."""
    random, dtype = np.random.default_rng(11), support.DTYPES[type_]
    digits, least = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}[type_]
    low, high = FARTHEST[type_]
    numbers = []
    for _ in range(600):
        x = int(random.integers(low, high + 1))
        middle = int(random.choice([0, least, least - digits, high + 1, 2 * least]))
        y = min(max(middle + int(random.integers(-6, 7)) - x, low), high)
        z = min(max(x + y + int(random.integers(-digits - 3, digits + 4)), low), high)
        numbers.append([math.ldexp(random.choice([-1, 1]) * random.uniform(1, 1.99), v) for v in (x, y, z)])
    numbers += [[math.ldexp(1, high), math.ldexp(1, high), s * math.inf] for s in (-1, 1)] + [[math.inf, 0.0, 1.0]]
    numbers += [[-1.0, -1.0, -1.0], [1.5, 2.0, -3.0], [0.0, -1.0, 0.0], [0.0, -1.0, -0.0]]
    a, b, c = (np.array(column).astype(dtype) for column in zip(*numbers, strict=True))
    out = support.elementwise(f"%r = math.fma %a0, %a1, %a2 : {type_}", [a, b, c], [type_] * 3, type_)
    triples = zip(*(v.astype(np.float64).tolist() for v in (a, b, c)), strict=True)
    expected = np.array([_fma(type_, *triple) for triple in triples])
    usual = np.abs(expected) >= 2.0**-126 if type_ == "f32" else np.ones(len(out), bool)
    usual |= np.isnan(expected) | (expected == 0)
    assert_bits(out[usual], expected.astype(dtype)[usual], a[usual], b[usual], c[usual])


def _fma(type_: str, a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b))):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    return rounded_once(exact, type_)


def test_sums_are_contracted_only_when_allowed() -> None:
    """(1 + e)(1 - e) - 1 is 0 with two roundings and -e^2 with one."""
    from specgen import ir, targets
    from specgen.lowering import spirv

    def decorated(flags: str) -> int:
        body = f"""
    %a = memref.load %p[%x] : memref<32xf32>
    %m = arith.mulf %a, %a{flags} : f32
    %s = arith.addf %m, %a{flags} : f32
    memref.store %s, %p[%x] : memref<32xf32>"""
        text = support.kernel(support.buffer("p", "memref<32xf32>"), body)
        return spirv.lower(ir.parse(text), targets.load("vulkan1.3")).asm.count("NoContraction")

    assert decorated("") == 2
    assert decorated(" fastmath<contract>") == 0
    e = np.float32(2.0**-13)
    left, right = np.full(32, 1 + e), np.full(32, 1 - e)
    operation = "%one = arith.constant 1.0 : f32\n%m = arith.mulf %a0, %a1 : f32\n%r = arith.subf %m, %one : f32"
    assert not support.elementwise(operation, [left, right], ["f32", "f32"], "f32").any()


@pytest.mark.parametrize("type_", ["f32", "bf16", "f16", "i32", "i8"])
def test_select(type_: str) -> None:
    left = np.arange(32).astype(support.DTYPES[type_])
    right = -left
    operation = f"%c = arith.cmpi ult, %x, %h : index\n%r = arith.select %c, %a0, %a1 : {type_}"
    out = support.elementwise("%h = arith.constant 7 : index\n" + operation, [left, right], [type_] * 2, type_)
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 7, left, right))


@pytest.mark.parametrize("type_", TYPES)
def test_zeros_keep_their_signs(type_: str) -> None:
    """Constants that a driver was seen to fold to the other zero: choices between one and zero, and magnitudes."""
    pairs = [(a, b) for a in (1.0, -1.0) for b in (0.0, -0.0)]
    pairs += [(b, a) for a, b in pairs]
    given = np.array([1, 2, 1, 2], np.int32)
    head = "%k1 = arith.constant 1 : i32\n%c = arith.cmpi eq, %a0, %k1 : i32\n"
    for a, b in pairs:
        constants = f"%p = arith.constant {a!r} : {type_}\n%q = arith.constant {b!r} : {type_}\n"
        out = support.elementwise(f"{head}{constants}%r = arith.select %c, %p, %q : {type_}", [given], ["i32"], type_)
        assert_bits(out, np.where(given == 1, a, b).astype(support.DTYPES[type_]))
        out = support.elementwise(
            f"{head}{constants}%s = arith.select %c, %p, %q : {type_}\n%r = math.absf %s : {type_}",
            [given],
            ["i32"],
            type_,
        )
        assert_bits(out, np.abs(np.where(given == 1, a, b)).astype(support.DTYPES[type_]))
    for name, one in (("sitofp", -1), ("uitofp", 1)):
        out = support.elementwise(f"{head}%r = arith.{name} %c : i1 to {type_}", [given], ["i32"], type_)
        assert_bits(out, np.where(given == 1, one, 0).astype(support.DTYPES[type_]))
    out = support.elementwise(
        f"%z = arith.constant -0.0 : {type_}\n%r = math.absf %z : {type_}", [given], ["i32"], type_
    )
    assert_bits(out, np.zeros(4, support.DTYPES[type_]))


@pytest.mark.parametrize("type_", TYPES)
def test_constant_zeros_do_not_win(type_: str) -> None:
    """Products, sums and differences with a constant zero: of infinities, NaN and zeros of either sign."""
    given = np.array([1.5, -2.0, *SPECIAL], support.DTYPES[type_])
    wide = given.astype(np.float64)
    for zero in (0.0, -0.0):
        for name, function in ARITHMETIC.items():
            with np.errstate(invalid="ignore"):
                results = {"%a0, %z": function(wide, zero), "%z, %a0": function(zero, wide)}
            for text, expected in results.items():
                operation = f"%z = arith.constant {zero!r} : {type_}\n%r = {name} {text} : {type_}"
                out = support.elementwise(operation, [given], [type_], type_)
                assert_bits(out, np.asarray(expected).astype(support.DTYPES[type_]), given)
