"""Counting what ran: classes of instructions, bytes by address space, active lanes, loads pending at backedges."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from specgen.devices.amdgpu_emulator.atomics import atomic_kind
from specgen.devices.amdgpu_emulator.emitter import Unsupported
from specgen.devices.amdgpu_emulator.instruction import Instruction
from specgen.devices.amdgpu_emulator.memory_ops import parse_access

KIND: Final = "exact (emulated)"
"""How far the figures can be trusted: counts are exact; no cycles are claimed."""

_TRANSCENDENTAL: Final = re.compile(r"v_(s_)?(exp|log|rcp|rsq|sqrt|sin|cos|tanh)_")
_SPACES: Final = {"DS": "workgroup", "SCRATCH": "private", "SMEM": "scalar"}
_WIDTH: Final = re.compile(r"(?:b|dwordx?)(\d+)?$")


@dataclass
class BlockCounts:
    """Static counts of a block and the running number of active lanes of each of its segments.

    A segment is a run of vector instructions under one EXEC mask: `instructions` and bytes a lane by space.
    """

    classes: Counter[str] = field(default_factory=Counter)
    segments: list[dict[str, int]] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    scalar_bytes: int = 0

    def clear(self) -> None:
        self.classes.clear()
        self.segments.clear()
        self.lanes.clear()
        self.scalar_bytes = 0


def classify(inst: Instruction) -> str:
    """The class that an executed instruction counts under."""
    name = inst.name
    if name.startswith(("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_endpgm")):
        return "branch"
    if name.startswith("s_wait"):
        return "wait"
    if name.startswith("s_barrier"):
        return "barrier"
    if inst.form in ("SOP1", "SOP2", "SOPC", "SOPK"):
        return "salu"
    if inst.form == "SOPP":
        return "other"
    if inst.form == "SMEM":
        return "smem"
    if inst.form == "DS":
        return "lds"
    if inst.form in ("GLOBAL", "FLAT", "SCRATCH", "MUBUF"):
        if "_load" in name:
            return "vmem_load"
        if "_store" in name:
            return "vmem_store"
        return "vmem_atomic" if atomic_kind(inst) else "other"
    if name.startswith(("v_wmma", "v_mfma", "v_smfma", "v_swmma")):
        return "matrix"
    return "trans" if _TRANSCENDENTAL.match(name) else "valu"


def vector_bytes(inst: Instruction) -> tuple[str, int]:
    """Address space and direction, and bytes a lane (a wave for scalar loads) that a memory instruction moves."""
    if inst.form not in ("DS", "SCRATCH", "SMEM", "GLOBAL", "FLAT", "MUBUF"):
        return "", 0
    space = _SPACES.get(inst.form, "global")
    kind = atomic_kind(inst)
    if kind is not None:
        return f"{space} atomic", kind.bytes
    match = re.search(
        r"(load|store|read|write)(2)?(?:_?st64|_2addr_stride64|_2addr)?(_2addr)?(?:_stride64)?_(\w+)$", inst.name
    )
    if match is None:
        return "", 0
    store = match[1] in ("store", "write")
    try:
        size = parse_access(match[4], store).size
    except Unsupported:
        return "", 0
    double = 2 if match[2] or "2addr" in inst.name else 1
    return f"{space} {'write' if store else 'read'}", size * double


def lane_count(mask: Any, active: Any) -> int:
    """Active lanes of a selection."""
    return int(active.size) if mask is True else int(np.count_nonzero(mask))


def summary(hits: dict[int, int], blocks: list[Any], lanes: int, pending: dict[int, tuple[int, int]]) -> dict[str, Any]:
    """The evidence of a run. `hits`: block number -> waves that ran it; `pending`: code offset -> (min, max)."""
    classes: Counter[str] = Counter()
    space_bytes: Counter[str] = Counter()
    active = slots = 0
    for number, count in sorted(hits.items()):
        counts = blocks[number].counts
        for name, each in counts.classes.items():
            classes[name] += each * count
        space_bytes["scalar read"] += counts.scalar_bytes * count
        for segment, live in zip(counts.segments, counts.lanes, strict=True):
            active += segment["instructions"] * live
            slots += segment["instructions"] * count * lanes
            for name, size in segment.items():
                if name != "instructions":
                    space_bytes[name] += size * live
    total = sum(classes.values())
    return {
        "kind": KIND,
        "instructions": {name: classes[name] for name in sorted(classes)},
        "instructions_total": total,
        "bytes": {name: space_bytes[name] for name in sorted(space_bytes) if space_bytes[name]},
        "loads_pending": {f"{offset:#x}": {"min": low, "max": high} for offset, (low, high) in sorted(pending.items())},
        "matrix_share": classes["matrix"] / total if total else 0.0,
        "active_lane_share": active / slots if slots else 1.0,
    }
