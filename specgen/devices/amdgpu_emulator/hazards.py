"""Wait counts: which registers a wave must not touch because a load that writes them is still in flight.

Values arrive at once in this emulator, so a missing wait would go unseen; this model keeps, for each wave, the
queue of outstanding operations of every counter and looks at each instruction's registers. A state is an
immutable value shared by all waves with the same history, and what a block does to it is remembered: in a
steady loop the check costs one dictionary look-up a block.

Rules (ISA guides, "S_WAITCNT"; LLVM `SIInsertWaitcnts`): operations of one kind return in order, scalar loads
do not, and a queue with several kinds is only known to be done when the counter reaches zero. A vector load may
overwrite the target of an older one of its kind without a wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specgen.devices.amdgpu_emulator.atomics import atomic_kind
from specgen.devices.amdgpu_emulator.emitter import Touched
from specgen.devices.amdgpu_emulator.instruction import Instruction

SCALAR_BASE: Final = 1000
"""Scalar register s is tracked as `SCALAR_BASE + s`; vector registers as their index."""

LANE_MOVES: Final = frozenset({"ds_bpermute_b32", "ds_bpermute_fi_b32", "ds_permute_b32", "ds_swizzle_b32"})
"""Instructions that take the way of workgroup memory and touch none of it."""

_CAPACITY: Final = 63
"""Operations that a counter holds at most; the hardware stalls beyond."""

VECTOR_LOADS: Final = {"cdna": "vm", "rdna3": "vm", "rdna4": "load"}
"""Counter of vector loads by architecture."""


@dataclass(frozen=True)
class Entry:
    """One outstanding operation: registers that it will write, and its kind within the counter."""

    registers: frozenset[int]
    kind: str
    lanes: bool = False


State = tuple[tuple[str, tuple[Entry, ...]], ...]
"""Counter name and its queue, oldest first; empty queues are left out, names sorted."""

EMPTY: Final[State] = ()


@dataclass(frozen=True)
class Step:
    """What one instruction means for the counters."""

    index: int
    reads: frozenset[int]
    writes: frozenset[int]
    waits: tuple[tuple[str, int], ...]
    issues: tuple[tuple[str, str], ...]
    """(counter, kind) of each counter that it raises."""
    loads: bool
    barrier: bool
    lanes: bool = False
    """Whether it only moves values between lanes, on the way that workgroup memory has."""


def make_step(index: int, inst: Instruction, touched: Touched) -> Step:
    """The step of an instruction with the registers that its translation touches."""
    scalars = {SCALAR_BASE + code for code in touched.reads_s}
    written = {SCALAR_BASE + code for code in touched.writes_s}
    issues, loads = _issues(inst)
    return Step(
        index,
        frozenset(touched.reads_v | scalars),
        frozenset(touched.writes_v | written),
        waits_of(inst),
        issues,
        loads,
        inst.name in ("s_barrier", "s_barrier_signal"),
        inst.name in LANE_MOVES,
    )


def waits_of(inst: Instruction) -> tuple[tuple[str, int], ...]:
    """(counter, number) pairs that a wait instruction demands; empty for other instructions."""
    name, value = inst.name, inst.get("simm16")
    if name == "s_waitcnt":
        if inst.arch.is_cdna:
            pairs = (("vm", (value & 15) | (value >> 14 & 3) << 4), ("lgkm", value >> 8 & 15), ("exp", value >> 4 & 7))
            limits = {"vm": 63, "lgkm": 15, "exp": 7}
        else:
            pairs = (("vm", value >> 10 & 63), ("lgkm", value >> 4 & 63), ("exp", value & 7))
            limits = {"vm": 63, "lgkm": 63, "exp": 7}
        return tuple((counter, count) for counter, count in pairs if count < limits[counter])
    if name.startswith("s_waitcnt_") and name.endswith("cnt"):
        return ((name.removeprefix("s_waitcnt_").removesuffix("cnt"), value & 63),)
    if name in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        return ((name.split("_")[2].removesuffix("cnt"), value >> 8 & 63), ("ds", value & 63))
    if name.startswith("s_wait_") and name.endswith("cnt"):
        return ((name.removeprefix("s_wait_").removesuffix("cnt"), value & 63),)
    if name == "s_wait_idle":
        return tuple((counter, 0) for counter in ("load", "store", "ds", "km", "vm", "lgkm", "vs"))
    return ()


def _issues(inst: Instruction) -> tuple[tuple[tuple[str, str], ...], bool]:
    arch, name = inst.arch.name, inst.name
    if inst.form == "SMEM":
        if "load" not in name:
            return (), False
        return ((("km" if arch == "rdna4" else "lgkm"), "scalar"),), True
    if inst.form == "DS":
        return ((("ds" if arch == "rdna4" else "lgkm"), "lds"),), True
    if inst.form not in ("GLOBAL", "FLAT", "SCRATCH", "MUBUF"):
        return (), False
    atomic = atomic_kind(inst)
    loads = "_load" in name or (atomic is not None and atomic.returns)
    if not loads and "_store" not in name and atomic is None:
        return (), False
    load_counter = VECTOR_LOADS[arch]
    store_counter = {"cdna": "vm", "rdna3": "vs", "rdna4": "store"}[arch]
    issues = [(load_counter if loads else store_counter, "vector")]
    if inst.form == "FLAT":
        issues = [(issues[0][0], "flat"), ("ds" if arch == "rdna4" else "lgkm", "flat")]
    return tuple(issues), loads


@dataclass(frozen=True)
class Outcome:
    """What running a block does: the new state, findings as (step index, text), vector loads left pending."""

    state: State
    faults: tuple[tuple[int, str], ...]
    pending: int


def run(state: State, steps: tuple[Step, ...], load_counter: str) -> Outcome:
    """Push a block's steps through a state."""
    queues = dict(state)
    faults: list[tuple[int, str]] = []
    for step in steps:
        for counter, count in step.waits:
            queues[counter] = _wait(queues.get(counter, ()), count)
        fault = _fault(step, queues)
        if fault:
            faults.append((step.index, fault))
        for counter, kind in step.issues:
            entry = Entry(step.writes if step.loads else frozenset(), kind, step.lanes)
            queues[counter] = (*queues.get(counter, ()), entry)[-_CAPACITY:]
    pending = len(queues.get(load_counter, ()))
    kept = tuple(sorted(((name, queue) for name, queue in queues.items() if queue), key=lambda item: item[0]))
    return Outcome(kept, tuple(faults), pending)


def _wait(queue: tuple[Entry, ...], count: int) -> tuple[Entry, ...]:
    kinds = {entry.kind for entry in queue}
    if count and (len(kinds) > 1 or "scalar" in kinds or "flat" in kinds):
        return queue
    return queue[max(0, len(queue) - count) :] if count else ()


def _fault(step: Step, queues: dict[str, tuple[Entry, ...]]) -> str:
    ordered = {counter for counter, kind in step.issues if kind == "vector"} if step.loads else set()
    for counter, queue in queues.items():
        for age, entry in enumerate(reversed(queue)):
            touched = step.reads & entry.registers
            if not (counter in ordered and entry.kind == "vector"):
                touched |= step.writes & entry.registers
            if touched:
                names = ", ".join(_name(register) for register in sorted(touched)[:4])
                return f"{names} still being loaded ({counter}cnt: {age} newer operations outstanding)"
            if step.barrier and entry.kind == "lds" and not entry.lanes:
                return f"workgroup memory access still outstanding at a barrier ({counter}cnt)"
    return ""


def _name(register: int) -> str:
    if register >= SCALAR_BASE:
        return f"s{register - SCALAR_BASE}"
    return f"v{register}" if register < 256 else f"a{register - 256}"
