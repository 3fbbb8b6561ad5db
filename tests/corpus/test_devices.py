"""Generated suites on the CPU devices, and the interpreter against the machine code."""

from __future__ import annotations

import json

import numpy as np
import pytest
from corpus_build import EXECUTABLE, NAMES
from corpus_runs import outcomes, same_bits, suite_module

from specgen import devices
from specgen.testing import SuiteOptions, run_suite

FAST_PAIRS = ("gfx942", "gfx1151")
WITHIN_BOUND: dict[str, float] = {
    "bias_gelu": 2**-7,
    "row_softmax": 2**-16,
    "rms_norm": 2**-9,
    "softmax_registers": 2**-9,
    "rms_norm_registers": 2**-9,
    "layer_norm_registers": 2**-9,
    "top1_gate": 2**-17,
}
"""Specs with exp, erf or rsqrt, for which equal bits are not promised; the relative difference that the bounds of
`docs/numerics.md` leave: for bf16 and f16 results one unit in the last place, for row_softmax 2 + 4 ulp of exp, twice
for numerator and denominator, and the growth of rounding in a sum of 1024; for top1_gate 1 + 2 ulp of exp and a
rounding for each of at most 15 rescalings."""
BESIDE: dict[str, float] = {"layer_norm_registers": 2**-18}
"""What a sum whose terms cancel may differ by: terms up to 8, each right to 2 ulp of f32."""

OTHER_BUILDS = {"workgroup_staging": "is for builds with other params or policies"}
"""Specs whose cases name params and policies that a build fixes; `tests/staging` runs those."""


def run(folder, device, targets=()):
    result = run_suite(folder, SuiteOptions(devices=(device,), targets=targets, allow_oracles=True))
    assert result.broken == ()
    assert result.failed == 0, "\n".join(result.output)[-4000:]
    return result


def unexpected(name: str, result) -> dict[str, int]:
    """Reasons of skips, but for cases of another build, which a test of their own runs."""
    known = OTHER_BUILDS.get(name, "no such reason")
    return {reason: count for reason, count in result.skip_reasons.items() if known not in reason}


def entry_count(folder) -> int:
    return len(json.loads((folder / "manifest.json").read_text())["entries"])


@pytest.mark.parametrize("name", NAMES)
def test_suites_pass_on_the_interpreter(name, corpus):
    folder = corpus(name).folder
    result = run(folder, "interpreter")
    assert unexpected(name, result) == {}
    assert result.passed >= entry_count(folder) * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_suites_pass_on_machine_code_of_every_target(name, corpus):
    folder = corpus(name).folder
    result = run(folder, "amdgpu-emulator", EXECUTABLE)
    assert unexpected(name, result) == {}
    assert result.passed >= entry_count(folder) * len(EXECUTABLE)


@pytest.mark.required_in_ci
@pytest.mark.parametrize("name", NAMES)
def test_suites_pass_on_vulkan(name, corpus):
    device = devices.open("vulkan")
    reason = device.available()
    if reason is not None:
        pytest.skip(reason)
    folder = corpus(name).folder
    result = run(folder, "vulkan", ("vulkan1.3",))
    assert unexpected(name, result) == {}
    assert result.passed >= entry_count(folder)


def test_a_target_that_no_device_runs_is_skipped_with_the_reason(corpus):
    result = run(corpus("saxpy").folder, "amdgpu-emulator", ("gfx1250",))
    assert result.passed == 0
    assert result.skipped > 0
    assert all("gfx1250" in reason for reason in result.skip_reasons)


def compare(built, target: str, limit: int) -> None:
    """Interpreter and emulator leave the same bits, or values within the bound where bits are not promised."""
    module = suite_module(built.folder)
    compared = 0
    for entry in module.SUITE.entries:
        left = outcomes(built.folder, module, "interpreter", target, entry, limit)
        right = outcomes(built.folder, module, "amdgpu-emulator", target, entry, limit)
        assert len(left) == len(right) > 0
        for a, b in zip(left, right, strict=True):
            assert (a.findings, b.findings) == ((), ()), (target, entry, a.inputs.case)
            assert set(a.after) == set(b.after)
            for name in a.after:
                assert alike(built.name, a.after[name], b.after[name]), (target, entry, name, a.inputs.case)
                compared += a.after[name].size
    assert compared > 0


def alike(spec: str, first, second) -> bool:
    bound = WITHIN_BOUND.get(spec)
    if bound is None:
        return same_bits(first, second)
    a, b = first.astype(np.float64), second.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= bound * np.maximum(np.abs(a), np.abs(b)) + BESIDE.get(spec, 2.0**-24)
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


@pytest.mark.parametrize("target", FAST_PAIRS)
@pytest.mark.parametrize("name", NAMES)
def test_interpreter_equals_machine_code(name, target, corpus):
    compare(corpus(name), target, limit=4)


@pytest.mark.slow
@pytest.mark.parametrize("target", EXECUTABLE)
@pytest.mark.parametrize("name", NAMES)
def test_interpreter_equals_machine_code_in_every_case(name, target, corpus):
    compare(corpus(name), target, limit=1000)


def test_the_comparison_sees_one_bit():
    first = np.array([1.0, np.nan, -0.0], np.float32)
    assert same_bits(first, first.copy())
    second = first.copy()
    second[2] = 0.0
    assert not same_bits(first, second)
    assert alike("row_softmax", first, second)
    second[0] = 1.001
    assert not alike("row_softmax", first, second)
