"""Random kernels with staged views, `split` and loop schedules mixed: default and serial mean what numpy computes.

The meaning is drawn beside the text (`random_schedules`) and shares no code with specgen. Every fifth kernel breaks a
rule on purpose and must be refused with that rule's code; what else is refused must name a rule of the contract too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from device_artifacts import artifact_of, device, lowered
from random_schedules import running
from random_schedules.faults import PLANTED
from random_schedules.meaning import Kernel

from specgen import stages
from specgen.devices.base import Device
from specgen.devices.interpreter import interpret_batch

TARGET = "gfx1151"
EVERYWHERE = {
    "staged", "rotation", "outside", "two views", "staged ahead", "staged under split", "staged under a guard", "paged",
    "split", "split behind a view", "pipeline", "unroll", "linear", "interleaved", "recurrence", "tail cut",
    "tail guard", "while", "ragged", "run-time trips", "fixed trips",
}  # fmt: skip
"""Drawn and accepted in any forty kernels or so."""
SELDOM = {
    "full", "early", "through", "lead", "staged readwrite", "staged in a nest", "staged under a guard, ahead",
    "split under a guard", "barrier split", "barrier auto", "barrier complete", "collective",
}  # fmt: skip
"""Drawn and accepted in a few hundred."""


@dataclass
class Sweep:
    """What became of some kernels."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    planted: set[str] = field(default_factory=set)
    features: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """The counts as text."""
        return f"{self.accepted} accepted, refused {dict(self.refused)}, {dict(self.features)}"


def _refusal(sweep: Sweep, kernel: Kernel, found: list[tuple[str, str]]) -> None:
    codes = [code for code, _ in found]
    if kernel.planted is None:
        assert codes, kernel.text
        assert all(code.startswith(("SG-LOOP", "SG-COLL", "SG-VIEW")) for code in codes), (kernel.text, found)
        sweep.refused.update(set(codes))
        return
    fault = PLANTED[kernel.planted]
    assert any(c == fault.code and fault.says in text for c, text in found), (kernel.planted, kernel.text, found)
    sweep.planted.add(kernel.planted)


def _drawn(seeds: range, folder: Path, target: str, sweep: Sweep) -> Any:
    """The kernels that a target accepts, with their seeds and plans."""
    for seed in seeds:
        kernel = running.of_seed(seed)
        plan = stages.plan(running.spec_of(kernel, folder), target)
        if plan.planned is None:
            _refusal(sweep, kernel, [(d.code, d.message) for d in plan.diagnostics if d.is_error])
            continue
        assert kernel.planted is None, f"{kernel.planted} was accepted:\n{kernel.text}"
        sweep.accepted += 1
        sweep.features.update(kernel.features)
        yield seed, kernel, plan.planned


def _compare(kernel: Kernel, run: Any, expected: dict[str, Any], where: tuple[Any, ...]) -> None:
    assert run.findings == (), (kernel.text, where, [str(f) for f in run.findings])
    for name, contents in expected.items():
        found = run.outputs[name]
        same = contents.dtype == found.dtype and contents.reshape(-1).tobytes() == found.tobytes()
        assert same, f"{kernel.text}\n{where} {name}:\n{found.reshape(contents.shape)}\nwanted\n{contents}"


def _interpreted(seeds: range, folder: Path) -> Sweep:
    sweep = Sweep()
    for seed, kernel, planned in _drawn(seeds, folder, TARGET, sweep):
        held = running.contents(kernel, Random(seed))
        rows = running.launches(kernel, seed)
        given = [running.arguments(kernel, row, held) for row in rows]
        for entry in planned.instance.functions:
            runs = interpret_batch(planned.scheduled.module, entry.symbol, given, (kernel.groups, 1, 1), None)
            for row, run in zip(rows, runs, strict=True):
                _compare(kernel, run, kernel.run(row, held), (seed, entry.name, row))
    return sweep


def _executed(seeds: range, folder: Path, target: str, opened: Device) -> Sweep:
    """One launch of each entry, with the scalars in turn."""
    sweep = Sweep()
    for seed, kernel, planned in _drawn(seeds, folder, target, sweep):
        held = running.contents(kernel, Random(seed))
        rows = running.launches(kernel, seed)
        row = rows[seed % len(rows)]
        artifact = artifact_of(planned, target, lowered(planned, target))
        for entry in planned.instance.functions:
            run = opened.load(artifact, entry.name).launch(running.arguments(kernel, row, held), (kernel.groups, 1, 1))
            _compare(kernel, run, kernel.run(row, held), (seed, target, entry.name, row))
    return sweep


def test_forty_fixed_seeds_agree(tmp_path: Path) -> None:
    sweep = _interpreted(range(40), tmp_path)
    assert sweep.accepted >= 28, sweep.told()
    assert sweep.features.keys() >= EVERYWHERE, EVERYWHERE - sweep.features.keys()
    assert len(sweep.planted) == 8


def test_machine_code_agrees(tmp_path: Path) -> None:
    assert _executed(range(1, 5), tmp_path, TARGET, device("amdgpu-emulator")).accepted == 4


@pytest.mark.slow
def test_hundreds_agree(tmp_path: Path) -> None:
    sweep = _interpreted(range(340), tmp_path)
    print(sweep.told())
    assert sweep.accepted >= 0.6 * 340, sweep.told()
    assert sweep.features.keys() >= EVERYWHERE | SELDOM, (EVERYWHERE | SELDOM) - sweep.features.keys()
    assert sweep.planted == set(PLANTED)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_machine_code_of_many_agrees(tmp_path: Path, target: str) -> None:
    assert _executed(range(340, 365), tmp_path, target, device("amdgpu-emulator")).accepted >= 14


@pytest.mark.slow
@pytest.mark.required_in_ci
def test_shaders_of_many_agree(tmp_path: Path) -> None:
    assert _executed(range(400, 440), tmp_path, "vulkan1.3", device("vulkan")).accepted >= 24
