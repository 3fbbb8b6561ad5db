"""Every op row: compiles on all nine targets; its machine code gives the interpreter's bits, or is within its bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amdgpu_cases import NARROW, TRANSCENDENTAL, bounded_cases, exact_cases, grouped, values
from amdgpu_kernels import DTYPES, GROUP, Case, bits, case_kernel, compiled, emulate, interpret, module

from specgen import targets
from specgen.ir.optable import OPS
from specgen.lowering.amdgpu.optable import BY_PARENT, ROWS

COUNT = 256
GRID = (COUNT // GROUP, 1, 1)
GROUPS = grouped(exact_cases())
TEXT = module(*(case_kernel(name, cases, COUNT) for name, cases in GROUPS.items()))
BOUNDED = grouped(bounded_cases())
BOUNDED_TEXT = module(*(case_kernel(name, cases, COUNT) for name, cases in BOUNDED.items()))


def test_every_op_has_a_row() -> None:
    assert set(OPS) == {*ROWS, *BY_PARENT}


def test_every_elementwise_op_is_a_case() -> None:
    text = TEXT + BOUNDED_TEXT
    elementwise = {n for n, row in OPS.items() if row.cls == "alu" and n.split(".")[0] in ("arith", "math", "motif")}
    assert {n for n in elementwise if n not in text} == set()


@pytest.mark.parametrize("target", targets.AMDGPU)
def test_every_elementwise_op_compiles(target: str) -> None:
    for text, groups in ((TEXT, GROUPS), (BOUNDED_TEXT, BOUNDED)):
        binary = compiled(text, target)
        assert [entry.name for entry in binary.entries] == list(groups)
        assert all(entry.report["allocation_spill_count"] == 0 for entry in binary.entries)


def _arguments(cases: list[Case], seed: int) -> dict[str, Any]:
    types = enumerate(cases[0].inputs)
    args: dict[str, Any] = {f"in_{'abc'[k]}": values(t, COUNT, seed + k) for k, t in types}
    return args | {f"out_{n}": np.zeros(COUNT, DTYPES[c.output]) for n, c in enumerate(cases)}


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_bits_are_those_of_the_interpreter(target: str) -> None:
    wrong = []
    for seed, (name, cases) in enumerate(GROUPS.items()):
        args = _arguments(cases, seed)
        with np.errstate(all="ignore"):
            got = emulate(TEXT, target, name, args, GRID)
            want = interpret(module(case_kernel(name, cases, COUNT)), target, name, args, GRID)
        assert not got.findings, name
        for number, case in enumerate(cases):
            key = f"out_{number}"
            different = np.nonzero(bits(got.outputs[key]) != bits(want.outputs[key]))[0]
            if len(different):
                inputs = [args[f"in_{n}"][different[0]] for n in "abc"[: len(case.inputs)]]
                wrong.append((case.name, inputs, got.outputs[key][different[0]], want.outputs[key][different[0]]))
    assert not wrong


REFERENCE: dict[str, Callable[[Any], Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}

ULPS = {"rsqrt": 2, "exp": 2, "exp2": 2, "log": 2, "log2": 2, "tanh": 4, "erf": 4}
"""Bounds of f32 (`specgen/numerics.py`); sin and cos have an absolute one."""

ABSOLUTE = 2.0**-20


def _domain(op: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(len(op))
    small = rng.uniform(-1, 1, count) * 10.0 ** rng.uniform(-6, 1, count)
    positive = np.exp(rng.uniform(-100, 88, count))
    return {
        "rsqrt": positive,
        "exp": rng.uniform(-103, 88, count),
        "exp2": rng.uniform(-149, 128, count),
        "log": positive,
        "log2": positive,
        "sin": rng.uniform(-65536, 65536, count),
        "cos": rng.uniform(-65536, 65536, count),
        "tanh": small,
        "erf": small,
    }[op]


def _ulps(got: np.ndarray, exact: np.ndarray, dtype: np.dtype[Any]) -> float:
    """The largest error in units in the last place of the result's type, where the result is finite."""
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(exact.astype(dtype).astype(np.float64))
        exponent = np.floor(np.log2(np.maximum(np.abs(exact), float(info.smallest_normal))))
    error = np.abs(got.astype(np.float64) - exact) / 2.0 ** (exponent - info.nmant)
    return float(np.max(error[finite]))


@pytest.mark.parametrize("op", TRANSCENDENTAL)
def test_transcendental_functions_are_within_their_bounds(op: str) -> None:
    count = 1024
    for type_ in NARROW:
        case = Case(f"one_{op}_{type_}", (type_,), type_, f"%r = math.{op} %a : {type_}")
        x = _domain(op, count)
        with np.errstate(all="ignore"):
            x = x.astype(DTYPES[type_])
            x = np.where(np.isfinite(x), x, DTYPES[type_].type(1))
            text = module(case_kernel(case.name, [case], count))
            args = {"in_a": x, "out_0": np.zeros(count, DTYPES[type_])}
            got = emulate(text, "gfx1151", case.name, args, (count // GROUP, 1, 1)).outputs["out_0"]
            exact = REFERENCE[op](x.astype(np.float64))
        if op in ("sin", "cos") and type_ == "f32":
            assert np.max(np.abs(got - exact)) < ABSOLUTE
        else:
            # One more rounding than f32 has: half a unit, and what f32 may be off.
            assert _ulps(got, exact, DTYPES[type_]) <= (ULPS.get(op, 1) if type_ == "f32" else 0.51)


@pytest.mark.parametrize("op", TRANSCENDENTAL)
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_special_values_of_transcendental_functions(op: str, target: str) -> None:
    x = np.zeros(COUNT, np.float32)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 100.0, -100.0]
    cases = BOUNDED["ops_f32_0"]
    args = {"in_a": x} | {f"out_{n}": np.zeros(COUNT, np.float32) for n in range(len(cases))}
    with np.errstate(all="ignore"):
        got = emulate(BOUNDED_TEXT, target, "ops_f32_0", args, GRID)
        exact = REFERENCE[op](x.astype(np.float64)).astype(np.float32)
    number = next(n for n, c in enumerate(cases) if c.name == f"math_{op}_f32")
    np.testing.assert_allclose(got.outputs[f"out_{number}"], exact, rtol=1e-5, atol=1e-6 if op in ("sin", "cos") else 0)


def test_bf16_addition_is_right_for_every_tie() -> None:
    """B41: all 65,536 patterns of one side against values that give ties, bit by bit."""
    count = 1 << 16
    case = Case("ties", ("bf16", "bf16"), "bf16", "%r = arith.addf %a, %b : bf16")
    text = module(case_kernel(case.name, [case], count))
    every = np.arange(count, dtype=np.uint16).view(ml_dtypes.bfloat16)
    for seed, other in enumerate((1.0, 2.0**-8, -(2.0**-9))):
        b = np.full(count, other, ml_dtypes.bfloat16)
        args = {"in_a": every, "in_b": b, "out_0": np.zeros(count, ml_dtypes.bfloat16)}
        target = ("gfx1151", "gfx942", "gfx950")[seed]
        got = emulate(text, target, case.name, args, (count // GROUP, 1, 1)).outputs["out_0"]
        with np.errstate(all="ignore"):
            want = (every.astype(np.float32) + b.astype(np.float32)).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(bits(got), bits(want))


def test_nan_and_infinity_keep_their_class_in_bf16() -> None:
    """B42: payloads of NaN, infinities, the largest finite values and their neighbours in f32."""
    patterns = [
        0x7F800001,
        0x7FFFFFFF,
        0xFF800001,
        0x7F80FFFF,
        0x7F800000,
        0xFF800000,
        0x7F7FFFFF,
        0x7F7F7FFF,
        0x7F7F8000,
    ]
    x = np.zeros(COUNT, np.uint32)
    x[: len(patterns)] = patterns
    case = Case("classes", ("f32",), "bf16", "%r = arith.truncf %a : f32 to bf16")
    text = module(case_kernel(case.name, [case], COUNT))
    for target in ("gfx942", "gfx950", "gfx1151", "gfx1201"):
        args = {"in_a": x.view(np.float32), "out_0": np.zeros(COUNT, ml_dtypes.bfloat16)}
        got = emulate(text, target, case.name, args, GRID).outputs["out_0"][: len(patterns)].astype(np.float32)
        assert np.isnan(got[:4]).all()
        assert got[4:].tolist() == [np.inf, -np.inf, np.inf, 255 * 2.0**120, np.inf]
