"""Which operations are executed, and how: found out by translating one instruction of every opcode."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from specgen.devices.amdgpu_emulator import alu, crosslane, memory_ops
from specgen.devices.amdgpu_emulator.alu_rules import rules
from specgen.devices.amdgpu_emulator.blocks import BRANCHES, NOTHING, SPECIAL, emit
from specgen.devices.amdgpu_emulator.decoder import samples
from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported
from specgen.devices.amdgpu_emulator.instruction import ARCHITECTURES, Instruction


def how(inst: Instruction) -> str:
    """Words for the way an instruction is executed."""
    name = inst.name
    if name in BRANCHES or name in ("s_branch", "s_endpgm"):
        return "control flow"
    if name in ("s_barrier", "s_barrier_wait", "s_barrier_signal"):
        return "barrier"
    if name.startswith("s_wait"):
        return "wait (checked, no effect on values)"
    if name.startswith(NOTHING):
        return "no effect on values"
    if name in crosslane.EMITTERS:
        return "by hand: lanes"
    if name.startswith(("v_wmma", "v_mfma")):
        return "by hand: matrix"
    if name in SPECIAL or name.startswith(("v_fma_mix", "v_mad_mix")):
        return "by hand"
    if inst.form in alu.VECTOR_FORMS or inst.form in alu.SCALAR_FORMS:
        return "vendor pseudocode, replaced" if name in rules() else "vendor pseudocode"
    if inst.form == "SMEM":
        return "by hand: scalar memory"
    if inst.form == "DS":
        return "by hand: workgroup memory"
    return "by hand: vector memory" if inst.form in memory_ops.VECTOR_MEMORY else "by hand"


@functools.cache
def table() -> Mapping[str, Mapping[str, str]]:
    """Architecture -> operation -> how; operations that are not executed are absent."""
    found: dict[str, dict[str, str]] = {}
    for arch in sorted(ARCHITECTURES):
        found[arch] = {}
        for inst in samples(arch):
            if _executed(inst):
                found[arch][inst.name] = how(inst)
    return found


def _executed(inst: Instruction) -> bool:
    for lanes in (64,) if inst.arch.is_cdna else (32, 64):
        em = Emitter(inst.arch, lanes)
        try:
            em.begin(0)
            emit(em, inst)
        except Unsupported:
            continue
        return True
    return False


def markdown() -> str:
    """The table as a page: one row an operation, one column an architecture."""
    tables = table()
    names = sorted({name for rows in tables.values() for name in rows})
    lines = ["| operation | " + " | ".join(tables) + " |", "|---" * (len(tables) + 1) + "|"]
    for name in names:
        cells = (rows.get(name, "") for rows in tables.values())
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
