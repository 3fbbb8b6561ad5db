"""Which operations are executed, and how: found by translating one instruction of each; and which are tested."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from specgen.devices.amdgpu_emulator import alu, crosslane, memory_ops
from specgen.devices.amdgpu_emulator.alu_rules import rules
from specgen.devices.amdgpu_emulator.blocks import BRANCHES, NOTHING, SPECIAL, emit
from specgen.devices.amdgpu_emulator.decoder import samples
from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported
from specgen.devices.amdgpu_emulator.instruction import ARCHITECTURES, Instruction
from specgen.devices.amdgpu_emulator.semantics import Semantics, recorded


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


_OPERANDS: Final[Mapping[str, Mapping[str, int]]] = {
    "s_barrier_signal": {"ssrc0": 193},  # -1: the barrier of the workgroup
    "s_denorm_mode": {"simm16": 15},  # denormals kept
}
"""Operations that are executed with some operands only."""


def _executed(inst: Instruction) -> bool:
    inst = replace(inst, fields={**inst.fields, **_OPERANDS.get(inst.name, {})})
    for lanes in (64,) if inst.arch.is_cdna else (32, 64):
        em = Emitter(inst.arch, lanes)
        try:
            em.begin(0)
            emit(em, inst)
        except Unsupported:
            continue
        return True
    return False


HEAD: Final = """# Operations of the AMDGPU emulator

One row an operation (or a variant encoding that our kernels use), one column an instruction family: how it is executed;
empty cells are operations that the family lacks or that stop a kernel with their name. "Test" names the table under
`tests/support/opcode_semantics` whose expectations, written from the instruction-set manuals and from nothing of the
emulator, the operation is compared with bit by bit. "In artifacts" lists the families whose code objects of `specs/`
contain it: a test fails for one of those that has no semantic test.

| | {columns} |
|---{rule}|
| operations executed | {executed} |
| with a semantic test | {tested} |
| in artifacts | {present} |
| in artifacts, without a test | {missing} |

"""
"""Text before the table."""


def markdown() -> str:
    """The page: figures, then one row an operation."""
    tables, known = table(), recorded()
    variants = {name for names in known.artifacts.values() for name in names if " " in name}
    names = sorted({name for rows in tables.values() for name in rows} | variants)
    lines = ["| operation | " + " | ".join(tables) + " | test | in artifacts |", "|---" * (len(tables) + 3) + "|"]
    for name in names:
        cells = [rows.get(name.split()[0], "") if " " not in name or name in known.artifacts[arch] else ""
                 for arch, rows in tables.items()]  # fmt: skip
        tests = sorted({known.tests[arch][name] for arch in tables if name in known.tests[arch]})
        where = " ".join(arch for arch in tables if name in known.artifacts[arch])
        lines.append(f"| `{name}` | " + " | ".join([*cells, ", ".join(tests), where]) + " |")
    return _figures(tables, known) + "\n".join(lines) + "\n"


def _figures(tables: Mapping[str, Mapping[str, str]], known: Semantics) -> str:
    def row(count: Callable[[str], int]) -> str:
        return " | ".join(str(count(arch)) for arch in tables)

    return HEAD.format(
        columns=" | ".join(tables),
        rule="|---" * len(tables),
        executed=row(lambda arch: len(tables[arch])),
        tested=row(lambda arch: sum(" " not in name for name in known.tests[arch])),
        present=row(lambda arch: len(known.artifacts[arch])),
        missing=row(lambda arch: len(known.untested(arch))),
    )
