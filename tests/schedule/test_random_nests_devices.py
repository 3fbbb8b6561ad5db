"""Random loop nests on whole workgroups: scheduled equals serial on the interpreter and as machine code."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from scheduling import nests

from specgen import targets
from specgen.devices.amdgpu_emulator.device import EmulatedKernel
from specgen.devices.interpreter import interpret_batch
from specgen.ir import parse
from specgen.lowering.amdgpu import lower_many
from specgen.schedule import schedule

TARGET = "gfx1151"


def arguments(random: Random) -> list[dict[str, Any]]:
    """What devices take: flat arrays."""
    given = []
    for values in nests.inputs(random):
        ids = np.array([values["ids"][(k,)] for k in range(nests.SIZE)], np.int64)
        flat = {name: np.ravel(values[name]) for name in ("a", "b", "out")}
        given.append({**values, **flat, "ids": ids})
    return given


def bits(run: Any) -> bytes:
    """The output's bytes, any NaN as one."""
    out = np.array(run.outputs["out"], np.float32)
    out[np.isnan(out)] = np.nan
    return out.tobytes()


def compare(seeds: range) -> int:
    """Run accepted nests: the serial form on the interpreter against the scheduled one there and as machine code. How
    many there were."""
    accepted = []
    for seed in seeds:
        nest, random = nests.of_seed(seed, lanes=True)
        scheduled = schedule(parse(nest.text))
        if not scheduled.diagnostics:
            accepted.append((seed, random, parse(nest.serial), scheduled.module))
    target = targets.load(TARGET)
    binaries = lower_many([(module, target) for _, _, _, module in accepted])
    for (seed, random, *modules), binary in zip(accepted, binaries, strict=True):
        given = arguments(random)
        wanted, found = (interpret_batch(module, "nest", given) for module in modules)
        kernel = EmulatedKernel(binary.hsaco, "nest")
        for index, (one, other, values) in enumerate(zip(wanted, found, given, strict=True)):
            assert bits(one) == bits(other), f"seed {seed}, interpreter, arguments {index}"
            assert {f.kind for f in other.findings} <= {f.kind for f in one.findings}, f"seed {seed}: {other.findings}"
            machine = kernel.launch(values, (1, 1, 1), unwritten=())
            assert bits(machine) == bits(one), f"seed {seed}, emulator, arguments {index}"
            assert not machine.findings, f"seed {seed}: {machine.findings}"
    return len(accepted)


def test_two_hundred() -> None:
    """The nests of `test_random_nests.py`; there work-items read what they stored themselves, here what others did."""
    assert compare(range(200)) >= 200 * 0.6


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_two_thousand(part: int) -> None:
    """More of the same."""
    assert compare(range(200 * part, 200 * part + 200)) >= 200 * 0.6
