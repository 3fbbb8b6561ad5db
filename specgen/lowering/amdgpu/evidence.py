"""What is known of each entry point without running it: from the object's note and symbols, and the assembly text.

Keys of `EntryEvidence.report` and `EntryEvidence.machine_loops` are those of the compile report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specgen.lowering.amdgpu import asm, loops, occupancy
from specgen.lowering.amdgpu.context import LoopMark
from specgen.lowering.amdgpu.elf import Elf
from specgen.targets import Target

CLASSES: tuple[tuple[str, str], ...] = (
    (r"v_(wmma|mfma|swmmac|smfmac)", "matrix"),
    (r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_|v_s_(exp|log|rcp|rsq|sqrt)_", "transcendental"),
    (r"v_(readlane|readfirstlane|writelane|permlane)|ds_(swizzle|b?permute)", "lane_move"),
    (r"v_", "vector_alu"),
    (r"buffer_load", "buffer_load"),
    (r"buffer_store", "buffer_store"),
    (r"(global|flat)_load", "global_load"),
    (r"(global|flat)_store", "global_store"),
    (r"(global|flat|buffer)_atomic", "global_atomic"),
    (r"scratch_load", "private_load"),
    (r"scratch_store", "private_store"),
    (r"ds_(read|load)", "workgroup_load"),
    (r"ds_(write|store)", "workgroup_store"),
    (r"ds_", "workgroup_atomic"),
    (r"(global|buffer)_", "cache"),
    (r"s_(buffer_)?load", "scalar_load"),
    (r"s_wait", "wait"),
    (r"s_barrier", "barrier"),
    (r"s_c?branch|s_endpgm|s_setpc|s_swappc|s_getpc", "branch"),
    (r"s_(delay_alu|clause|nop|set_inst_prefetch|sendmsg|sleep|setprio|code_end)", "hint"),
    (r"s_", "scalar_alu"),
)
"""The class of an instruction by the first pattern that its name starts with."""


@dataclass(frozen=True)
class EntryEvidence:
    """Evidence of one entry point. Registers are 32 bits (a lane, for vector ones), sizes bytes.

    `findings` say what could not be established; what is absent is not known, never zero.
    """

    name: str
    code_byte_count: int
    vector_registers: int
    scalar_registers: int
    accumulator_registers: int | None
    vector_spills: int
    scalar_spills: int
    private_memory_bytes: int
    workgroup_memory_bytes: int
    wave_size: int
    kernarg_byte_count: int
    occupancy_percent: float
    instruction_mix: Mapping[str, int]
    loops: tuple[loops.MachineLoop, ...]
    folded: tuple[LoopMark, ...]
    """Source loops of which no backedge is left."""
    barriers: Mapping[tuple[str, int, int], Mapping[str, int]]
    """Barrier instructions by place (file, line, column), each with its count."""
    findings: tuple[str, ...]

    @property
    def report(self) -> dict[str, Any]:
        """The keys of `entries[]` that a back end supplies."""
        resources = {"scalar": self.scalar_registers, "vector": self.vector_registers}
        if self.accumulator_registers is not None:
            resources["accumulator"] = self.accumulator_registers
        return {
            "code_byte_count": self.code_byte_count,
            "target_resources": {k: {"final": {"register_count": v}} for k, v in resources.items()},
            "allocation_spill_count": self.vector_spills + self.scalar_spills,
            "private_memory_bytes": self.private_memory_bytes,
            "workgroup_memory_bytes": self.workgroup_memory_bytes,
            "occupancy_percent": self.occupancy_percent,
            "static_instruction_mix": dict(self.instruction_mix),
        }

    @property
    def machine_loops(self) -> list[dict[str, Any]]:
        """Rows of `machine_loops[]`."""
        return [_row(self.name, loop) for loop in self.loops]

    @property
    def folded_loops(self) -> list[dict[str, str]]:
        """Rows of `folded_loops[]`: one a source loop and part of its schedule, however many copies it had."""
        reason = "every backedge left is another loop's"
        places = dict.fromkeys((mark.place, mark.form) for mark in self.folded)
        return [{"function": self.name, "loop": loop, "form": form, "reason": reason} for loop, form in places]


def _row(function: str, loop: loops.MachineLoop) -> dict[str, Any]:
    return {
        "function": function,
        "loop": loop.mark.place if loop.mark is not None else "not found",
        "steady": loop.mark is not None and loop.mark.form in ("", "steady"),
        "backedge_copies": loop.backedge_copies,
        "waits": [
            {"counter": w.counter, "target_count": w.target_count, "full_drain": w.full_drain} for w in loop.waits
        ],
        "loads_pending": loop.loads_pending,
    }


def gather(
    data: bytes, text: str, target: Target, marks: Mapping[str, tuple[LoopMark, ...]]
) -> tuple[EntryEvidence, ...]:
    """The evidence of every entry point of an object, in the order of `marks`."""
    file, code = Elf(data), asm.functions(text)
    notes = {kernel[".name"]: kernel for kernel in file.metadata["amdhsa.kernels"]}
    return tuple(_entry(name, file, notes[name], code[name], target, marks[name]) for name in marks)


def _entry(
    name: str,
    file: Elf,
    note: Mapping[str, Any],
    blocks: list[asm.Block],
    target: Target,
    marks: tuple[LoopMark, ...],
) -> EntryEvidence:
    symbol = file.symbol(name)
    assert symbol is not None
    found = loops.find(blocks, marks)
    items = 1
    for extent in note[".reqd_workgroup_size"]:
        items *= extent
    mix = Counter(classify(i.name) for b in blocks for i in b.instructions)
    memory = note[".group_segment_fixed_size"]
    seen = {loop.mark.discriminator for loop in found if loop.mark is not None}
    missing = tuple(m for m in marks if m.discriminator not in seen)
    # The code generator leaves no irreducible flow: a cycle is a natural loop, and those were all found.
    explained = all(loop.mark is not None for loop in found)
    return EntryEvidence(
        name=name,
        code_byte_count=symbol.size,
        vector_registers=note[".vgpr_count"],
        scalar_registers=note[".sgpr_count"],
        accumulator_registers=note.get(".agpr_count") if target.family == "gfx9" else None,
        vector_spills=note[".vgpr_spill_count"],
        scalar_spills=note[".sgpr_spill_count"],
        private_memory_bytes=note[".private_segment_fixed_size"],
        workgroup_memory_bytes=memory,
        wave_size=note[".wavefront_size"],
        kernarg_byte_count=note[".kernarg_segment_size"],
        occupancy_percent=occupancy.percent(target, note[".vgpr_count"], note[".sgpr_count"], memory, items),
        instruction_mix=dict(sorted(mix.items())),
        loops=tuple(found),
        barriers=_barriers(blocks),
        folded=missing if explained else (),
        findings=() if explained else tuple(_missing(m) for m in missing),
    )


def _barriers(blocks: list[asm.Block]) -> dict[tuple[str, int, int], Counter[str]]:
    found: dict[tuple[str, int, int], Counter[str]] = {}
    for block in blocks:
        for instruction in block.instructions:
            if instruction.name.startswith("s_barrier"):
                found.setdefault(instruction.place, Counter())[instruction.name] += 1
    return found


def _missing(mark: LoopMark) -> str:
    form = f" ({mark.form})" if mark.form else ""
    return f"the machine loop of {mark.name or 'a loop'} at {mark.place}{form} was not found"


def classify(name: str) -> str:
    """The class of an instruction."""
    for pattern, kind in CLASSES:
        if re.match(pattern, name):
            return kind
    return "other"
