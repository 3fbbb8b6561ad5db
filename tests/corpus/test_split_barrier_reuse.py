"""Corpus item K13: four reuse phases, arrival and wait where the target has them, counted and executed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from mutants.code import Kernel, nops

from specgen import targets
from specgen.devices.amdgpu_emulator import EmulatedKernel

NAME = "split_barrier_reuse"
GFX12 = ("gfx1201", "gfx1250", "gfx12-generic")
SPLIT = {"complete": (1, 2, 4, 8), "arrive": (1, 1, 4, 4), "wait": (1, 1, 4, 4)}
WHOLE = {"complete": (2, 2, 8, 8)}
BOTH_HALVES = {"complete": (2, 4, 8, 16)}
"""Static source and low, dynamic source and low counts of each phase."""
SUBGROUPS = {32: 4, 64: 2}
"""Of 128 work-items."""


def counts(built, target: str, function: str) -> dict[str, tuple[int, ...]]:
    report = json.loads((built.folder / target / "report.json").read_text())
    keys = [f"{kind}_{what}_count" for kind in ("static", "dynamic") for what in ("source", "low")]
    rows = [row for row in report["barriers"] if row["function"] == function]
    return {row["phase"]: tuple(row[key] for key in keys) for row in rows}


def given() -> dict[str, np.ndarray]:
    return {"input": 64 * (np.arange(512, dtype=np.int32) % 16), "output": np.full(128, -7, np.int32)}


def expected() -> np.ndarray:
    """Three rounds of x * 5 + (x >> 2) multiply a multiple of 64 by (21 / 4) ** 3, exactly."""
    rows = given()["input"].reshape(4, 128)[:, ::-1].astype(np.int64)
    return (rows * 21**3 // 4**3).sum(0)


@pytest.mark.parametrize("target", targets.DEFAULT)
def test_counts(target, corpus):
    built = corpus(NAME)
    split = target in GFX12
    assert counts(built, target, NAME) == (SPLIT if split else WHOLE)
    for entry in ("serial", "full"):
        assert counts(built, target, f"{NAME}__{entry}") == (BOTH_HALVES if split else WHOLE)


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201", "gfx12-generic"])
def test_the_machine_executes_what_the_report_counts(target, corpus):
    """Every subgroup runs the dynamic low count; the result is the closed form, bit for bit, without a finding."""
    built = corpus(NAME)
    code = (built.folder / target / "kernel.hsaco").read_bytes()
    low = sum(row[3] for row in counts(built, target, NAME).values())
    run = EmulatedKernel(code, NAME).launch(given(), (1, 1, 1))
    assert run.findings == ()
    assert np.array_equal(run.outputs["output"], expected())
    size = targets.load(target).subgroup_size
    assert run.evidence["instructions"]["barrier"] == low * SUBGROUPS[size]
    for entry in ("serial", "full"):
        other = EmulatedKernel(code, f"{NAME}__{entry}").launch(given(), (1, 1, 1))
        assert other.outputs["output"].tobytes() == run.outputs["output"].tobytes()


@pytest.mark.parametrize("target", GFX12)
def test_private_work_stands_between_arrival_and_wait(target, corpus):
    """Last read done before the signal, multiplications after it, the wait before the next store."""
    text = (corpus(NAME).folder / target / "kernel.s").read_text()
    body = re.search(rf"^{NAME}:\n(.*?)^\.Lfunc_end", text, re.DOTALL | re.MULTILINE)
    assert body is not None
    lines = [line.split(";")[0].split() for line in body[1].split("\n") if line.startswith("\t") and "\t." not in line]
    names = [words[0] for words in lines if words]
    signals, waits = ([i for i, n in enumerate(names) if n == f"s_barrier_{half}"] for half in ("signal", "wait"))
    assert len(signals) == len(waits) == 2
    assert waits[0] == signals[0] + 1, "the complete barrier"
    between = names[signals[1] + 1 : waits[1]]
    assert any(n.startswith(("v_mad", "v_mul_lo", "v_lshl_add")) for n in between)
    assert not any(n.startswith("ds_") for n in between)
    read = max(i for i, n in enumerate(names) if n.startswith("ds_load"))
    assert "s_wait_dscnt" in names[read : signals[1]]
    assert not any(n.startswith("ds_") for n in names[read + 1 : waits[1]])


@pytest.mark.parametrize("missing", ["s_wait_dscnt", "s_barrier_wait"])
def test_the_emulator_notices_a_broken_phase(missing, corpus):
    """Arriving with the read still under way, and storing the next row without having waited."""
    folder = corpus(NAME).folder
    kernel = Kernel(folder, "gfx1201", NAME)
    code = kernel.program.instructions
    read = next(i for i, inst in enumerate(code) if inst.name.startswith("ds_load"))
    dropped = next(inst for inst in code[read:] if inst.name == missing)
    data = bytearray((folder / "gfx1201" / "kernel.hsaco").read_bytes())
    at = kernel.place + dropped.offset
    data[at : at + dropped.size] = nops(dropped.size)
    run = EmulatedKernel(bytes(data), NAME).launch(given(), (1, 1, 1))
    assert {f.kind for f in run.findings} == {{"s_wait_dscnt": "wait-count", "s_barrier_wait": "race"}[missing]}
