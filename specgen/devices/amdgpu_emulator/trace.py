"""Step-by-step execution of a launch, showing one wave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from specgen.devices.amdgpu_emulator import executor, launch
from specgen.devices.amdgpu_emulator.blocks import Block, Program
from specgen.devices.amdgpu_emulator.hazards import SCALAR_BASE
from specgen.devices.amdgpu_emulator.state import Machine
from specgen.devices.base import DeviceError, Grid


def trace(kernel: Any, args: Mapping[str, Any], grid: Grid, wave: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Executed instructions of wave `wave` (counted over the whole launch) with the registers that each wrote.

    Scalars come as numbers, vectors as lists of numbers a lane (uint32). Every wave of its workgroup runs too.
    """
    code = kernel.code
    prog = Program(code.code, launch.entry_offset(code), code.arch, code.wave_size, False, single=True)
    reporter = kernel._reporter(prog)
    plan = launch.prepare(code, args, grid, kernel.workgroup_size(), frozenset(), reporter)
    group, local = divmod(wave, plan.waves_per_group)
    if not 0 <= group < plan.groups:
        raise DeviceError(f"the launch has {plan.groups * plan.waves_per_group} waves, not {wave + 1}")
    machine = launch.build_machine(plan, range(group, group + 1), reporter, 4, sanitize=False)
    rows: list[tuple[str, dict[str, Any]]] = []
    last: list[Block] = []

    def finish() -> None:
        if last:
            block = last.pop()
            inst = prog.instructions[block.first]
            rows.append((f"{inst.offset:#06x}: {inst}", _written(machine, prog, block, local)))

    def watch(block: Block, ix: Any) -> None:
        if local in np.arange(machine.waves)[slice(None) if ix is None else ix]:
            finish()
            last.append(block)

    executor.Executor(prog, machine, plan.waves_per_group, watch).run()
    finish()
    yield from rows


def _written(machine: Machine, prog: Program, block: Block, wave: int) -> dict[str, Any]:
    """Values after an instruction of the registers that it writes."""
    found: dict[str, Any] = {}
    for register in sorted(block.steps[0].writes):
        if register >= SCALAR_BASE:
            found[f"s{register - SCALAR_BASE}"] = int(machine.scalars[wave, register - SCALAR_BASE])
        else:
            name = f"v{register}" if register < 256 else f"a{register - 256}"
            found[name] = machine.vector(register)[wave].tolist()
    return found
