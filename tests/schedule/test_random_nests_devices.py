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
    """Run accepted nests in both forms on both devices; how many there were."""
    pairs = []
    for seed in seeds:
        random = Random(seed)
        nest = nests.Builder(random, lanes=True).build()
        scheduled = schedule(parse(nest.text))
        if not scheduled.diagnostics:
            pairs.append((seed, random, parse(nest.serial), scheduled.module))
    target = targets.load(TARGET)
    binaries = lower_many([(module, target) for _, _, *modules in pairs for module in modules])
    for number, (seed, random, *modules) in enumerate(pairs):
        given = arguments(random)
        wanted, found = (interpret_batch(module, "nest", given) for module in modules)
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            assert bits(one) == bits(other), f"seed {seed}, interpreter, arguments {index}"
            assert {f.kind for f in other.findings} <= {f.kind for f in one.findings}, f"seed {seed}: {other.findings}"
        kernels = [EmulatedKernel(binary.hsaco, "nest") for binary in binaries[2 * number : 2 * number + 2]]
        for index, values in enumerate(given):
            machine = [kernel.launch(values, (1, 1, 1), unwritten=()) for kernel in kernels]
            assert bits(machine[0]) == bits(machine[1]), f"seed {seed}, emulator, arguments {index}"
            assert not machine[1].findings, f"seed {seed}: {machine[1].findings}"
    return len(pairs)


def test_some() -> None:
    """A dozen."""
    assert compare(range(5000, 5016)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many(part: int) -> None:
    """A few hundred."""
    assert compare(range(6000 + 40 * part, 6040 + 40 * part)) >= 24
