"""Each arithmetic op against exact rationals, Python integers or float64."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_exact import rounded, wrap
from interpreter_kernels import elementwise

from specgen.devices.interpreter import numerics

NP = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
UINT = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
FLOATS = list(NP)
INTS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def random_floats(form: str, count: int, seed: int) -> Any:
    """Bit patterns of all magnitudes, subnormals, zeros, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** (8 * np.dtype(UINT[form]).itemsize), count, dtype=UINT[form], endpoint=False)
    values = bits.view(NP[form]).copy()
    near = (rng.standard_normal(count // 2) * 4).astype(NP[form])
    values[: count // 2] = near
    values[:8] = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5], NP[form])
    return values


def same(found: Any, wanted: float) -> bool:
    """Equal as floats with the sign of zero; NaN equals NaN."""
    found = float(found)
    if math.isnan(wanted):
        return math.isnan(found)
    return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)


def finite(*values: Any) -> bool:
    return all(math.isfinite(float(v)) for v in values)


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
}


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize("op", list(EXACT))
def test_one_rounding(op: str, form: str) -> None:
    a, b = random_floats(form, 1200, 1), random_floats(form, 1200, 2)[::-1].copy()
    found = elementwise(f"%r = arith.{op} %a, %b : {form}", [(form, a), (form, b)], form)
    checked = 0
    for x, y, r in zip(a, b, found, strict=True):
        if not finite(x, y) or (op == "divf" and y == 0):
            with np.errstate(all="ignore"):
                special = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}[op]
                wanted = float(special(np.float64(x), np.float64(y)))
            assert same(r, wanted), (x, y)
            continue
        exact = EXACT[op](Fraction(float(x)), Fraction(float(y)))
        wanted = rounded(exact, form)
        assert float(r) == wanted or (wanted == 0 == float(r)), (x, y, r, wanted)
        checked += 1
    assert checked > 500


@pytest.mark.parametrize("form", FLOATS)
def test_fma_has_one_rounding(form: str) -> None:
    a, b, c = (random_floats(form, 1500, seed) for seed in (3, 4, 5))
    b = np.roll(b, 311)
    c = np.roll(c, 722)
    # Products that nearly cancel or sit next to a halfway case.
    with np.errstate(all="ignore"):
        c[200:500] = (-(a[200:500].astype(np.float64) * b[200:500].astype(np.float64))).astype(NP[form])
        c[500:700] = (a[500:700].astype(np.float64) * b[500:700].astype(np.float64) * 2.0**30).astype(NP[form])
        c[700:800] = (a[700:800].astype(np.float64) * b[700:800].astype(np.float64) * 2.0**-30).astype(NP[form])
    found = elementwise(f"%r = math.fma %a, %b, %c : {form}", [(form, a), (form, b), (form, c)], form)
    checked = 0
    for x, y, z, r in zip(a, b, c, found, strict=True):
        if finite(x, y, z):
            wanted = rounded(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), form)
            assert float(r) == wanted, (x, y, z, r, wanted)
            checked += 1
    assert checked > 800


def test_fma_differs_from_two_roundings_somewhere() -> None:
    a = np.full(1, 1 + 2**-12, np.float32)
    c = np.full(1, -(1 + 2**-11), np.float32)
    found = elementwise("%r = math.fma %a, %a, %b : f32", [("f32", a), ("f32", c)], "f32")
    assert found[0] == np.float32(2.0**-24)
    assert a[0] * a[0] + c[0] == 0


@pytest.mark.parametrize(
    ("form", "a", "b", "c"),
    [
        # The sum in float64 lies exactly between two float32 values; the lost bit decides.
        ("f32", 1.0 + 2.0**-23, 1.0 + 2.0**-23, 2.0**-80),
        ("f32", 16777217 * 1.0, 1.0, 2.0**-60),
        ("f64", 1.0 + 2.0**-52, 1.0 + 2.0**-52, 2.0**-160),
        ("f64", 2.0**600, 2.0**600, -math.inf),
        ("f64", 2.0**-600, 2.0**-500, 2.0**-1074),
        ("f64", 2.0**1000, 2.0**20, -(2.0**1019)),
        ("f64", 1.5 * 2.0**-540, 1.5 * 2.0**-540, 0.0),
    ],
)
def test_fma_corner_cases(form: str, a: float, b: float, c: float) -> None:
    x, y, z = (np.full(2, v, NP[form]) for v in (a, b, c))
    found = elementwise(f"%r = math.fma %a, %b, %c : {form}", [(form, x), (form, y), (form, z)], form)
    if math.isinf(c):
        assert float(found[0]) == c
    else:
        exact = Fraction(float(x[0])) * Fraction(float(y[0])) + Fraction(float(z[0]))
        assert float(found[0]) == rounded(exact, form)


@pytest.mark.parametrize("form", ["f16", "bf16", "f32", "f64"])
def test_fma_of_values_that_all_work_items_share(form: str) -> None:
    given = [1.0 + 2.0**-5, 1.0 + 2.0**-6, 2.0**-24]
    lines = "\n".join(f"%k{n} = arith.constant {v!r} : {form}" for n, v in enumerate(given))
    found = elementwise(f"{lines}\n%r = math.fma %k0, %k1, %k2 : {form}", [(form, np.zeros(2, NP[form]))], form)
    exact = Fraction(given[0]) * Fraction(given[1]) + Fraction(given[2])
    assert found.astype(np.float64).tolist() == [rounded(exact, form)] * 2


@pytest.mark.parametrize("form", ["f16", "bf16", "f32"])
def test_square_root_is_correctly_rounded(form: str) -> None:
    a = np.abs(random_floats(form, 800, 6))
    found = elementwise(f"%r = math.sqrt %a : {form}", [(form, a)], form)
    for x, r in zip(a, found, strict=True):
        if finite(x) and x > 0:
            # 200 more bits than needed stand for the exact root.
            exact = Fraction(float(x))
            scale = 4**300
            root = Fraction(math.isqrt(exact.numerator * exact.denominator * scale), exact.denominator * 2**300)
            assert float(r) == rounded(root, form)


@pytest.mark.parametrize("op", ["minnumf", "maxnumf"])
@pytest.mark.parametrize("form", FLOATS)
def test_min_and_max(op: str, form: str) -> None:
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.5]
    a = np.array([x for x in special for _ in special], NP[form])
    b = np.array([y for _ in special for y in special], NP[form])
    found = elementwise(f"%r = arith.{op} %a, %b : {form}", [(form, a), (form, b)], form)
    for x, y, r in zip(a.astype(float), b.astype(float), found, strict=True):
        numbers = [v for v in (x, y) if not math.isnan(v)]
        order = sorted(numbers, key=lambda v: (v, math.copysign(1, v)))
        wanted = (order[0] if op == "minnumf" else order[-1]) if order else math.nan
        assert same(r, wanted), (x, y)


@pytest.mark.parametrize(
    ("source", "target"), [("f64", "f32"), ("f64", "bf16"), ("f64", "f16"), ("f32", "bf16"), ("f32", "f16")]
)
@pytest.mark.parametrize("to_zero", [False, True])
def test_narrowing(source: str, target: str, to_zero: bool) -> None:
    a = random_floats(source, 2000, 7)
    if source == "f64":
        with np.errstate(all="ignore"):
            a[1000:1500] = np.nan_to_num(random_floats(target, 500, 8).astype(np.float64))
            a[1000:1500] *= 1 + np.random.default_rng(1).choice([2.0**-9, 2.0**-12, 2.0**-25, 2.0**-50], 500)
    attribute = ' {motif.rounding = "zero"}' if to_zero else ""
    found = elementwise(f"%r = arith.truncf %a{attribute} : {source} to {target}", [(source, a)], target)
    for x, r in zip(a, found, strict=True):
        if not finite(x):
            assert same(r, float(x))
            continue
        size = abs(rounded(Fraction(float(x)), target, to_zero=to_zero))
        assert same(r, math.copysign(size, float(x))), x


def test_all_halves_survive_a_round_trip() -> None:
    for form in ("f16", "bf16"):
        a = np.arange(65536, dtype=np.uint16).view(NP[form])
        wide = elementwise(f"%r = arith.extf %a : {form} to f32", [(form, a)], "f32")
        back = elementwise(f"%r = arith.truncf %a : f32 to {form}", [("f32", wide)], form)
        numbers = ~np.isnan(wide)
        assert np.array_equal(back.view(np.uint16)[numbers], a.view(np.uint16)[numbers])
        assert np.isnan(back[~numbers].astype(np.float32)).all()


def pairs(bits: int, seed: int) -> tuple[Any, Any]:
    """Integers with the corners of the type among them."""
    rng = np.random.default_rng(seed)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    corners = [low, low + 1, -2, -1, 0, 1, 2, 3, high - 1, high]
    a = [x for x in corners for _ in corners] + [int(v) for v in rng.integers(low, high, 300, endpoint=True)]
    b = [y for _ in corners for y in corners] + [int(v) for v in rng.integers(low, high, 300, endpoint=True)]
    return a, b


def u(value: int, bits: int) -> int:
    return value % 2**bits


INTEGER_OPS: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, n: a + b,
    "arith.subi": lambda a, b, n: a - b,
    "arith.muli": lambda a, b, n: a * b,
    "arith.andi": lambda a, b, n: a & b,
    "arith.ori": lambda a, b, n: a | b,
    "arith.xori": lambda a, b, n: a ^ b,
    "arith.minsi": lambda a, b, n: min(a, b),
    "arith.maxsi": lambda a, b, n: max(a, b),
    "arith.minui": lambda a, b, n: min(u(a, n), u(b, n)),
    "arith.maxui": lambda a, b, n: max(u(a, n), u(b, n)),
    "arith.floordivsi": lambda a, b, n: a // b,
    "arith.ceildivsi": lambda a, b, n: -(-a // b),
    "arith.divui": lambda a, b, n: u(a, n) // u(b, n),
    "arith.ceildivui": lambda a, b, n: -(-u(a, n) // u(b, n)),
    "arith.remsi": lambda a, b, n: int(math.copysign(1, a)) * (abs(a) % abs(b)),
    "arith.remui": lambda a, b, n: u(a, n) % u(b, n),
    "motif.floorremsi": lambda a, b, n: a % b,
}


@pytest.mark.parametrize("form", list(INTS))
@pytest.mark.parametrize("op", list(INTEGER_OPS))
def test_integers_wrap(op: str, form: str) -> None:
    bits = INTS[form]
    a, b = pairs(bits, 9)
    if "div" in op or "rem" in op:
        b = [y or 7 for y in b]
    text = f'"{op}"(%a, %b) : ({form}, {form}) -> {form}'
    dtype = f"i{bits // 8}"
    found = elementwise(f"%r = {text}", [(form, np.array(a, dtype)), (form, np.array(b, dtype))], form)
    wanted = [wrap(INTEGER_OPS[op](x, y, bits), bits) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("form", list(INTS))
@pytest.mark.parametrize("op", ["shli", "shrui", "shrsi"])
def test_shifts(op: str, form: str) -> None:
    bits = INTS[form]
    a, _ = pairs(bits, 10)
    amounts = [k % bits for k in range(len(a))]
    dtype = f"i{bits // 8}"
    found = elementwise(
        f"%r = arith.{op} %a, %b : {form}", [(form, np.array(a, dtype)), (form, np.array(amounts, dtype))], form
    )
    exact = {"shli": lambda x, k: x << k, "shrui": lambda x, k: u(x, bits) >> k, "shrsi": lambda x, k: x >> k}[op]
    assert found.tolist() == [wrap(exact(x, k), bits) for x, k in zip(a, amounts, strict=True)]


@pytest.mark.parametrize("form", list(INTS))
def test_bit_counts_and_absolute(form: str) -> None:
    bits = INTS[form]
    a, _ = pairs(bits, 11)
    values = [(form, np.array(a, f"i{bits // 8}"))]
    pattern = [format(u(x, bits), f"0{bits}b") for x in a]
    assert elementwise(f"%r = math.ctpop %a : {form}", values, form).tolist() == [p.count("1") for p in pattern]
    assert elementwise(f"%r = math.ctlz %a : {form}", values, form).tolist() == [
        bits - len(p.lstrip("0")) for p in pattern
    ]
    assert elementwise(f"%r = math.cttz %a : {form}", values, form).tolist() == [
        bits - len(p.rstrip("0")) for p in pattern
    ]
    assert elementwise(f"%r = math.absi %a : {form}", values, form).tolist() == [wrap(abs(x), bits) for x in a]


CMPI = "eq ne slt sle sgt sge ult ule ugt uge".split()


@pytest.mark.parametrize("predicate", CMPI)
def test_integer_comparisons(predicate: str) -> None:
    a, b = pairs(32, 12)
    found = elementwise(
        f"%r = arith.cmpi {predicate}, %a, %b : i32", [("i32", np.array(a, "i4")), ("i32", np.array(b, "i4"))], "i1"
    )
    compare = {
        "eq": int.__eq__,
        "ne": int.__ne__,
        "lt": int.__lt__,
        "le": int.__le__,
        "gt": int.__gt__,
        "ge": int.__ge__,
    }
    if predicate[0] == "u":
        a, b = [u(x, 32) for x in a], [u(y, 32) for y in b]
    function = compare[predicate[-2:]]
    assert found.tolist() == [int(function(x, y)) for x, y in zip(a, b, strict=True)]


CMPF = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize("predicate", CMPF)
def test_float_comparisons(predicate: str, form: str) -> None:
    special = [0.0, -0.0, 1.0, -3.0, math.inf, -math.inf, math.nan]
    a = np.array([x for x in special for _ in special], NP[form])
    b = np.array([y for _ in special for y in special], NP[form])
    found = elementwise(f"%r = arith.cmpf {predicate}, %a, %b : {form}", [(form, a), (form, b)], "i1")
    for x, y, r in zip(a.astype(float), b.astype(float), found, strict=True):
        unordered = math.isnan(x) or math.isnan(y)
        core = {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": x != y}
        if predicate in ("false", "true"):
            wanted = predicate == "true"
        elif predicate in ("ord", "uno"):
            wanted = unordered == (predicate == "uno")
        else:
            wanted = predicate[0] == "u" if unordered else core[predicate[1:]]
        assert bool(r) == wanted, (x, y)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=64, allow_subnormal=True), min_size=1, max_size=30))
def test_float_to_integer_saturates(values: list[float]) -> None:
    x = np.array(values, np.float64)
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            with np.errstate(all="ignore"):
                found = numerics.float_to_int(x, np.dtype(f"i{bits // 8}"), signed)
            for v, r in zip(values, found.tolist(), strict=True):
                if math.isnan(v):
                    wanted = 0
                elif math.isinf(v):
                    wanted = high if v > 0 else low
                else:
                    wanted = min(max(math.trunc(v), low), high)
                assert r == wrap(wanted, bits)


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize("signed", [True, False])
def test_integer_to_float_has_one_rounding(form: str, signed: bool) -> None:
    rng = np.random.default_rng(13)
    values = [
        int(v) >> int(k) for v, k in zip(rng.integers(-(2**63), 2**63 - 1, 900), rng.integers(0, 63, 900), strict=True)
    ]
    # Halfway between two bfloat16 or float32 values but for the lowest bit.
    values += [
        (257 << 53) + 1,
        (257 << 53),
        (259 << 53) - 1,
        (2**24 + 1) << 30,
        ((2**24 + 1) << 30) + 1,
        2**62 + 2**54 + 1,
    ]
    found = elementwise(
        f"%r = arith.{'si' if signed else 'ui'}tofp %a : i64 to {form}", [("i64", np.array(values, "i8"))], form
    )
    for v, r in zip(values, found, strict=True):
        assert float(r) == rounded(Fraction(v if signed else u(v, 64)), form), v


UNARY = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}


@pytest.mark.parametrize("op", list(UNARY))
@pytest.mark.parametrize("form", ["f16", "bf16", "f32"])
def test_transcendental_functions_round_a_float64_value(op: str, form: str) -> None:
    rng = np.random.default_rng(14)
    a = np.abs(rng.standard_normal(400) * 3 + 0.01).astype(NP[form])
    if op not in ("log", "log2", "rsqrt"):
        a[::2] = -a[::2]
    found = elementwise(f"%r = math.{op} %a : {form}", [(form, a)], form)
    for x, r in zip(a, found, strict=True):
        wanted = rounded(Fraction(UNARY[op](float(x))), form)
        assert abs(float(r) - wanted) <= abs(wanted) * 2.0**-40 or float(r) == wanted


@pytest.mark.parametrize("form", FLOATS)
def test_rounding_to_integers(form: str) -> None:
    a = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49, -0.49, 3.0, math.inf, -7.75, 1e4], NP[form])
    for op, function in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("roundeven", round)):
        found = elementwise(f"%r = math.{op} %a : {form}", [(form, a)], form)
        wanted = [float(x) if math.isinf(float(x)) else float(function(float(x))) for x in a]
        assert found.astype(float).tolist() == wanted
        # The sign of a zero result is the operand's.
        assert np.array_equal(np.signbit(found.astype(float)), np.signbit(a.astype(float)))


def test_bitcast_and_integer_conversions() -> None:
    a = np.array([1.0, -2.0, math.nan], np.float32)
    found = elementwise("%r = arith.bitcast %a : f32 to i32", [("f32", a)], "i32")
    assert found.tolist() == [struct.unpack("<i", struct.pack("<f", v))[0] for v in a.tolist()]
    b = np.array([-1, 127, -128], np.int8)
    assert elementwise("%r = arith.extsi %a : i8 to i32", [("i8", b)], "i32").tolist() == [-1, 127, -128]
    assert elementwise("%r = arith.extui %a : i8 to i32", [("i8", b)], "i32").tolist() == [255, 127, 128]
    c = np.array([65535, 256, -129], np.int32)
    assert elementwise("%r = arith.trunci %a : i32 to i8", [("i32", c)], "i8").tolist() == [-1, 0, 127]
    lines = "%p = arith.trunci %a : i32 to i1\n%r = arith.extsi %p : i1 to i8"
    assert elementwise(lines, [("i32", np.array([1, 2, 3], np.int32))], "i8").tolist() == [-1, 0, -1]


def test_contraction_flags_change_nothing() -> None:
    a, b, c = (random_floats("f32", 600, s) for s in (20, 21, 22))
    inputs = [("f32", a), ("f32", b), ("f32", c)]
    plain = elementwise("%p = arith.mulf %a, %b : f32\n%r = arith.addf %p, %c : f32", inputs, "f32")
    flagged = elementwise(
        "%p = arith.mulf %a, %b fastmath<contract> : f32\n%r = arith.addf %p, %c fastmath<contract> : f32",
        inputs,
        "f32",
    )
    assert np.array_equal(plain.view(np.uint32), flagged.view(np.uint32))
