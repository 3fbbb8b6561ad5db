"""Conversion rows of the SPIR-V table, executed against exact conversions in Python."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import vulkan_support as support
from interpreter_exact import rounded

pytestmark = pytest.mark.required_in_ci

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
LARGEST = {"f16": 65504.0, "bf16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)}


def ends(bits: int) -> list[int]:
    top = 1 << (bits - 1)
    some = [0, 1, -1, 5, -100, top - 1, -top, top // 3, -(top // 7), 0x7F, 0x80 - 256]
    return [v for v in some if -top <= v < top]


def wrapped(value: int, bits: int) -> int:
    low = value % (1 << bits)
    return low - (low >> (bits - 1) << bits)


@pytest.mark.parametrize(("source", "target"), [(s, t) for s in INTEGERS for t in INTEGERS if s != t])
def test_between_integers(source: str, target: str) -> None:
    wide, narrow = int(source[1:]), int(target[1:])
    numbers = ends(wide)
    names = ["arith.trunci"] if narrow < wide else ["arith.extsi", "arith.extui"]
    for name in names:
        out = support.elementwise(f"%r = {name} %a0 : {source} to {target}", [np.array(numbers)], [source], target)
        given = [v % (1 << wide) if name == "arith.extui" else v for v in numbers]
        assert [int(o) for o in out] == [wrapped(v, narrow) for v in given]


@pytest.mark.parametrize("type_", INTEGERS)
def test_to_and_from_booleans(type_: str) -> None:
    numbers = np.array([0, 1, 2, 3, -1])
    assert list(support.elementwise(f"%r = arith.trunci %a0 : {type_} to i1", [numbers], [type_], "i1")) == [
        0, 1, 0, 1, 1,
    ]  # fmt: skip
    for name, true in (("arith.extsi", -1), ("arith.extui", 1)):
        out = support.elementwise(f"%r = {name} %a0 : i1 to {type_}", [np.array([0, 1])], ["i1"], type_)
        assert [int(o) for o in out] == [0, true]


@pytest.mark.parametrize("type_", INTEGERS)
def test_index_and_back(type_: str) -> None:
    numbers = ends(int(type_[1:]))
    operation = f"%i = arith.index_cast %a0 : {type_} to index\n%r = arith.index_cast %i : index to {type_}"
    out = support.elementwise(operation, [np.array(numbers)], [type_], type_)
    assert [int(o) for o in out] == numbers


def nearest(exact: Fraction, type_: str) -> float:
    """An integer or rational rounded once to nearest even; infinity beyond the largest number."""
    if exact == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(exact))) - DIGITS[type_] + 1
    scaled = exact / Fraction(2) ** exponent
    while abs(scaled) >= 2 ** DIGITS[type_]:
        exponent, scaled = exponent + 1, scaled / 2
    while abs(scaled) < 2 ** (DIGITS[type_] - 1):
        exponent, scaled = exponent - 1, scaled * 2
    if type_ == "f16" and exponent < -24:
        # Subnormal numbers have fewer digits.
        exponent, scaled = -24, exact / Fraction(2) ** -24
    value = float(round(scaled) * Fraction(2) ** exponent)
    return math.copysign(math.inf, value) if abs(value) > LARGEST.get(type_, math.inf) else value


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("signed", [True, False])
def test_integer_to_float_rounds_once(source: str, target: str, signed: bool) -> None:
    bits = int(source[1:])
    numbers = ends(bits)
    if bits >= 32:
        # Ties of every type, and values one beside them.
        for shift in (20, bits - 3):
            for digits in (8, 11, 24):
                tie = (1 << shift) + (1 << max(shift - digits, 0))
                numbers += [tie, tie + 1, tie - 1, -tie]
    if bits == 64:
        numbers += [(1 << 62) + (1 << 54) + 1, (1 << 40) + (1 << 32) + 1, (1 << 60) + (1 << 36) + 1]
    name = "arith.sitofp" if signed else "arith.uitofp"
    out = support.elementwise(f"%r = {name} %a0 : {source} to {target}", [np.array(numbers)], [source], target)
    given = [v if signed else v % (1 << bits) for v in numbers]
    expected = [nearest(Fraction(v), target) for v in given]
    assert [float(o) for o in out] == expected


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("signed", [True, False])
def test_float_to_integer_saturates(source: str, target: str, signed: bool) -> None:
    bits = int(target[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    numbers = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, -100.7, 300.0, -300.0, 40000.0, 65000.0, -65000.0]
    numbers += [3e9, -3e9, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 1e30, -1e30]
    numbers += [math.inf, -math.inf, math.nan]
    with np.errstate(over="ignore"):
        given = np.array(numbers).astype(support.DTYPES[source])
    flag = "<{signed}> " if signed else ""
    operation = f'%r = "motif.fptoi"(%a0) {flag}: ({source}) -> {target}'
    out = support.elementwise(operation, [given], [source], target)

    def reference(value: float) -> int:
        if math.isnan(value):
            return 0
        clamped = high if value == math.inf else low if value == -math.inf else int(value)
        return wrapped(max(low, min(high, clamped)), bits)

    assert [int(o) for o in out] == [reference(float(v)) for v in given]


def floats_for(source: str, target: str) -> np.ndarray:
    """Random numbers, ties of the target and their neighbours, overflow."""
    random = np.random.default_rng(7)
    numbers = random.uniform(1, 2, 200) * 2.0 ** random.integers(-20, 10, 200) * random.choice([-1, 1], 200)
    unit = 2.0 ** (1 - DIGITS[target])
    ties = [k * (1 + (n + 0.5) * unit + d) for n in range(4) for d in (0, 2**-23, -(2**-23)) for k in (1, -1)]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 65519.0, 65520.0, -65536.0, 3.3895e38, 3.41e38, -1e39, 1e300]
    with np.errstate(over="ignore"):
        return np.array([*numbers, *ties, *special]).astype(support.DTYPES[source])


NARROWING = [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16"), ("f64", "bf16")]


@pytest.mark.parametrize(("source", "target"), NARROWING)
@pytest.mark.parametrize("to_zero", [False, True])
def test_narrowing_floats(source: str, target: str, to_zero: bool) -> None:
    given = floats_for(source, target)
    attribute = ' {motif.rounding = "zero"}' if to_zero else ""
    out = support.elementwise(f"%r = arith.truncf %a0{attribute} : {source} to {target}", [given], [source], target)
    for value, actual in zip(given.astype(np.float64), out.astype(np.float64), strict=True):
        if math.isnan(value):
            assert math.isnan(actual)
            continue
        expected = value if math.isinf(value) else rounded(Fraction(value), target, to_zero=to_zero)
        assert (actual, math.copysign(1, actual)) == (expected, math.copysign(1, value)), value


@pytest.mark.parametrize(("source", "target"), [(t, s) for s, t in NARROWING])
def test_widening_floats_is_exact(source: str, target: str) -> None:
    with np.errstate(over="ignore"):
        given = floats_for("f64", source).astype(support.DTYPES[source])
    out = support.elementwise(f"%r = arith.extf %a0 : {source} to {target}", [given], [source], target)
    np.testing.assert_array_equal(out.astype(np.float64), given.astype(np.float64))


@pytest.mark.parametrize(("wide", "type_"), [("f32", "f16"), ("f32", "bf16"), ("f64", "f32")])
def test_a_rounded_value_stays_rounded_when_widened_again(wide: str, type_: str) -> None:
    given = floats_for(wide, type_)
    operation = f"%n = arith.truncf %a0 : {wide} to {type_}\n%r = arith.extf %n : {type_} to {wide}"
    out = support.elementwise(operation, [given], [wide], wide)
    with np.errstate(over="ignore"):
        expected = given.astype(support.DTYPES[type_]).astype(given.dtype)
    np.testing.assert_array_equal(out, expected)
    # Compared with the value before rounding, too.
    compared = operation.replace("%r =", "%w =") + f"\n%r = arith.cmpf ogt, %w, %a0 : {wide}"
    greater = support.elementwise(compared, [given], [wide], "i1")
    np.testing.assert_array_equal(greater != 0, expected > given)


def test_functions_of_rounded_halves_see_the_rounding() -> None:
    given = np.linspace(1, 3, 200).astype(np.float16)
    operation = "%s = math.sqrt %a0 : f16\n%m = arith.divf %a0, %s : f16\n%r = arith.divf %m, %s : f16"
    out = support.elementwise(operation, [given], ["f16"], "f16")
    root = np.sqrt(given.astype(np.float32)).astype(np.float16).astype(np.float32)
    middle = (given.astype(np.float32) / root).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out, (middle / root).astype(np.float16))


@pytest.mark.parametrize(("source", "target"), [("f32", "i32"), ("f16", "i16"), ("bf16", "i16"), ("f64", "i64")])
def test_bits_there_and_back(source: str, target: str) -> None:
    with np.errstate(over="ignore"):
        given = floats_for("f64", source).astype(support.DTYPES[source])
    given = given[~np.isnan(given.astype(np.float64))]
    there = support.elementwise(f"%r = arith.bitcast %a0 : {source} to {target}", [given], [source], target)
    np.testing.assert_array_equal(there, given.view(support.DTYPES[target]))
    back = support.elementwise(f"%r = arith.bitcast %a0 : {target} to {source}", [there], [target], source)
    np.testing.assert_array_equal(back.view(there.dtype), there)


def test_constants_of_every_type() -> None:
    for type_, text, expected in [
        ("i8", "-7", -7),
        ("i16", "-300", -300),
        ("i32", "123456789", 123456789),
        ("i64", "-1234567890123", -1234567890123),
        ("f16", "0.1", np.float16(0.1)),
        ("bf16", "0.1", ml_dtypes.bfloat16(0.1)),
        ("f32", "0.1", np.float32(0.1)),
        ("f64", "0.1", 0.1),
    ]:
        out = support.elementwise(f"%r = arith.constant {text} : {type_}", [np.zeros(4)], [type_], type_)
        assert out[0] == expected, type_
