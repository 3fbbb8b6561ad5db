"""Random functions of the IR on every device: the interpreter's bits, and no findings.

What random specs do not draw: vectors of every type and size, f64, masked and unaligned accesses, atomics, open
extents, clusters and shuffles, constant operands of every kind, loops whose ends differ between lanes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest
import vulkan_support
from amdgpu_kernels import DTYPES, bits
from random_ir.builder import FLOATS, Options
from random_ir.programs import Argument, Program, Programs

from specgen import ir, targets
from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.devices.base import Artifact, Run
from specgen.devices.interpreter import interpret
from specgen.ir.optable import OPS
from specgen.lowering import amdgpu, spirv
from specgen.lowering.amdgpu.legality import ONLY_F32

AMDGPU = ("gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201", "gfx9-4-generic", "gfx11-generic", "gfx12-generic")
VULKAN = "vulkan1.3-sg8"
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    math.inf,
    -math.inf,
    math.nan,
    1e-40,
    -1e-40,
    3e38,
    255.5,
    65520.0,
    2.0**63,
)


def _data(element: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers near zero, any bit patterns, and the ends of the type."""
    dtype = DTYPES[element]
    any_bits = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    with np.errstate(all="ignore"):
        if element in FLOATS:
            near, ends = (rng.standard_normal(count) * 8).astype(dtype), np.array(SPECIAL).astype(dtype)
        else:
            info = np.iinfo(dtype)
            near, ends = rng.integers(-20, 20, count).astype(dtype), np.array([0, 1, -1, info.min, info.max], dtype)
    return np.choose(rng.choice(3, count, p=[0.5, 0.3, 0.2]), [near, any_bits, rng.choice(ends, count)])


def _value(argument: Argument, rng: np.random.Generator) -> Any:
    if argument.shape:
        count = math.prod(argument.shape)
        return (
            np.zeros(count, DTYPES[argument.element])
            if argument.access == "write"
            else _data(argument.element, count, rng)
        )
    if argument.name.startswith("extent_of_"):
        assert argument.bounds is not None
        return argument.bounds[0]
    if argument.bounds is not None:
        return int(rng.integers(argument.bounds[0], argument.bounds[1] + 1))
    value = _data(argument.element, 1, rng)[0]
    return value if argument.element in FLOATS else int(value)


def _run(module: Any, target: str, args: dict[str, Any], groups: int) -> Run:
    if target != VULKAN:
        binary = amdgpu.lower(module, targets.load(target))
        return EmulatedKernel(binary.hsaco, "k").launch(args, (groups, 1, 1))
    spv = spirv.lower(module, targets.load(target)).spv
    artifact = Artifact("k", target, vulkan_support.manifest_of(module, target), {"kernel.spv": spv})
    return vulkan_support.device().load(artifact, "k").launch(args, (groups, 1, 1))


def _program(seed: int, target: str) -> Program:
    lanes = targets.load(target).subgroup_size or 8
    vulkan = target == VULKAN
    # Vulkan takes 128 bytes of arguments and bounds the error of divisions and square roots.
    return Programs(Random(seed), Options(lanes, small=vulkan, division=not vulkan)).program()


def _sweep(seeds: Iterable[int], names: tuple[str, ...]) -> tuple[Counter[str], set[str]]:
    """Run programs, each on one of the targets; how many on which, and the ops that they used."""
    counts: Counter[str] = Counter()
    used: set[str] = set()
    for seed in seeds:
        target = names[seed % len(names)]
        program, rng = _program(seed, target), np.random.default_rng(seed)
        args = {a.name: _value(a, rng) for a in program.arguments}
        module = ir.parse(program.text, f"random_{seed}.mlir")
        want = interpret(module, "k", args, (program.groups, 1, 1))
        assert want.findings == (), (seed, target, want.findings)
        got = _run(module, target, args, program.groups)
        assert got.findings == (), (seed, target, got.findings)
        for name, expected in want.outputs.items():
            np.testing.assert_array_equal(bits(got.outputs[name]), bits(expected), f"{name} of seed {seed} on {target}")
        counts[target] += 1
        used |= program.used
    return counts, used


def test_a_few_programs_on_the_emulator() -> None:
    _sweep(range(18), ("gfx942", "gfx1151", "gfx1201"))


@pytest.mark.required_in_ci
def test_a_few_programs_on_vulkan() -> None:
    reason = vulkan_support.device().available()
    if reason is not None:
        pytest.skip(reason)
    _sweep(range(12), (VULKAN,))


NOT_DRAWN = {
    *(f"math.{name}" for name in (*ONLY_F32, "rsqrt")),  # bounded, not exact
    *(
        "arith.constant",
        "memref.alloc",
        "memref.load",
        "memref.store",
        "memref.atomic_rmw",
    ),  # in every program, or told by kind
}


@pytest.mark.slow
def test_programs_draw_every_op() -> None:
    used = {name for seed in range(150) for name in _program(seed, "gfx1151").used}
    drawn = {name for name, row in OPS.items() if row.cls in ("alu", "collective") or name.startswith("vector.")}
    assert drawn - NOT_DRAWN <= used
    assert {name for name in used if name.startswith("memref.atomic_rmw")} == {
        f"memref.atomic_rmw {kind}" for kind in (0, 1, 2, 4, 5, 7, 8, 11, 12, 13, 14, 15)
    }


@pytest.mark.slow
def test_many_programs_on_the_emulator() -> None:
    counts, _ = _sweep(range(1000, 1180), AMDGPU)
    assert set(counts) == set(AMDGPU)


@pytest.mark.slow
@pytest.mark.required_in_ci
def test_many_programs_on_vulkan() -> None:
    reason = vulkan_support.device().available()
    if reason is not None:
        pytest.skip(reason)
    _sweep(range(2000, 2180), (VULKAN,))
