"""Lowering beside other work: the same code object, every error at the end, assembly text made by a copy."""

from __future__ import annotations

import os
import time

import pytest
from amdgpu_kernels import THREAD, buffer, for_target, kernel, module

from specgen import ir, targets
from specgen.lowering import LoweringError, amdgpu
from specgen.lowering.amdgpu.worker import Beside

TARGET = targets.load("gfx1151")
TWICE = module(
    kernel(
        "twice",
        [buffer("x", "64xf32", "read_write")],
        THREAD
        + """%v = memref.load %x[%t] : memref<64xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %x[%t] : memref<64xf32>""",
    )
)


def test_the_same_code_object() -> None:
    """Several modules on their way at once give what `lower` gives for each."""
    first_module = ir.parse(for_target(TWICE, TARGET), "twice.mlir")
    other = targets.load("gfx942")
    pending = [
        amdgpu.start(first_module, TARGET),
        amdgpu.start(ir.parse(for_target(TWICE, other), "twice.mlir"), other),
    ]
    first, second = (p.result() for p in pending)
    assert first == amdgpu.lower(first_module, TARGET)
    assert second == amdgpu.lower(ir.parse(for_target(TWICE, other), "twice.mlir"), other)
    assert first.hsaco != second.hsaco


def test_errors_wait_for_the_result() -> None:
    """A module that the target cannot hold starts without a word; asking for the result tells, each time."""
    pending = amdgpu.start(ir.parse(TWICE.replace("SUBGROUP", "32"), "twice.mlir"), targets.load("gfx942"))
    for _ in range(2):
        with pytest.raises(LoweringError, match="gfx942 cannot do subgroups of 32"):
            pending.result()


def test_the_copy_makes_the_text() -> None:
    """One other process makes all of them, whatever their lengths; this one waits for each only at the end."""
    beside = Beside(lambda size: f"{os.getpid()} " + "x" * size)
    pids = set()
    for size in (300_000, 1, 200_000):
        beside.begin(size)
        pid, text = beside.result().split()
        assert len(text) == size
        pids.add(int(pid))
    assert len(pids) == 1
    assert (os.getpid() not in pids) == (len(os.sched_getaffinity(0)) > 1)


def test_a_copy_that_dies_costs_only_time() -> None:
    """What the copy could not make is made here; the next request has a copy again."""
    here = os.getpid()

    def only_here(deadly: bool) -> str:
        if os.getpid() != here and deadly:
            os.kill(os.getpid(), 9)
        return "here" if os.getpid() == here else "beside"

    beside = Beside(only_here)
    made = []
    for deadly in (True, False, True, False):
        beside.begin(deadly)
        made.append(beside.result())
    there = "beside" if len(os.sched_getaffinity(0)) > 1 else "here"
    assert made == ["here", there, "here", there]


def test_a_text_that_cannot_be_made_fails_here() -> None:
    """The copy dies of it, and this process raises as it would have without a copy."""
    here = os.getpid()

    def nowhere(_: object) -> str:
        if os.getpid() != here:
            os._exit(3)
        raise ValueError("refused")

    beside = Beside(nowhere)
    beside.begin(0)
    with pytest.raises(ValueError, match="refused"):
        beside.result()


def test_one_processor_needs_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy would only take turns with its original."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    beside = Beside(lambda _: str(os.getpid()))
    beside.begin(0)
    assert beside.result() == str(os.getpid())


def test_processors_may_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that is not asked is not waited for."""
    beside = Beside(lambda number: f"{os.getpid()} {number}")
    pids = []
    for number, processors in enumerate(({0, 1}, {0}, {0, 1})):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=processors: found)
        beside.begin(number)
        pid, made = beside.result().split()
        assert int(made) == number
        pids.append(int(pid))
    assert pids[1] == os.getpid()
    assert pids[0] == pids[2] != os.getpid()


def test_a_copy_ends_with_its_original() -> None:
    """A caller that ran out of time kills the original; the copy must not go on alone."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor: no copy is made")
    end, start = os.pipe()
    original = os.fork()
    if original == 0:
        try:

            def forever(_: object) -> str:
                os.write(start, f"{os.getpid()}\n".encode())
                time.sleep(60)
                return ""

            Beside(forever).begin(0)
            time.sleep(60)
        finally:
            os._exit(1)
    copy = int(os.read(end, 100))
    assert copy != original
    os.kill(original, 9)
    os.waitpid(original, 0)
    for _ in range(100):
        try:
            state = _state(copy)
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    raise AssertionError(f"process {copy} outlives its original")


def _state(process: int) -> str:
    with open(f"/proc/{process}/stat", encoding="ascii") as stream:
        return stream.read().rpartition(")")[2].split()[0]
