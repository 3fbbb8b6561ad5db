"""One decoded machine instruction, in our own terms: no dependency on the tables that it was decoded with.

Register fields hold codes of the vendor's source space: 0-105 scalar registers, 106/107 VCC, 108-123 TTMP,
124/125 NULL and M0 (the other way round on CDNA), 126/127 EXEC, 128-208 small integers, 240-248 floating
constants, 253 SCC, 255 the literal, 256-511 vector registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

VCC: Final = 106
EXEC: Final = 126
LITERAL: Final = 255
VECTOR: Final = 256
ACCUMULATOR: Final = 512
"""First code of CDNA accumulation registers (our own numbering; the vendor's space ends at 511)."""

INLINE_FLOATS: Final[Mapping[int, float]] = {
    240: 0.5,
    241: -0.5,
    242: 1.0,
    243: -1.0,
    244: 2.0,
    245: -2.0,
    246: 4.0,
    247: -4.0,
    248: 0.15915494309189532,
}
"""Floating inline constants; 248 is 1 / (2 pi)."""


@dataclass(frozen=True)
class Architecture:
    """What differs between instruction families beyond their encodings."""

    name: str
    """Table name: cdna, rdna3 or rdna4."""
    null: int
    """Code that reads zero and swallows writes."""
    m0: int

    @property
    def is_cdna(self) -> bool:
        return self.name == "cdna"


ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "cdna": Architecture("cdna", null=125, m0=124),
    "rdna3": Architecture("rdna3", null=124, m0=125),
    "rdna4": Architecture("rdna4", null=124, m0=125),
}


@dataclass(frozen=True)
class Operand:
    """Width in bits and number format (`f32`, `pk2_f16`, `any`, ...) of a field, as the vendor's tables say."""

    bits: int
    number: str


@dataclass(frozen=True)
class Instruction:
    """`offset` and `size` in bytes; `form` is the encoding (VOP2, GLOBAL, ...), `variant` "", dpp16, dpp8 or sdwa.

    `fields` are raw unsigned numbers, except that register fields hold codes of the source space. A VOPD has
    `parts`, the two halves as instructions of their own.
    """

    arch: Architecture
    offset: int
    size: int
    name: str
    form: str
    variant: str
    fields: Mapping[str, int]
    operands: Mapping[str, Operand]
    literal: int | None = None
    parts: tuple[Instruction, ...] = field(default=())

    def get(self, *names: str, default: int = 0) -> int:
        """The first of these fields that the encoding has."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        return default

    def operand(self, name: str) -> Operand:
        """Facts of a register field; 32 bits of anything where the tables are silent."""
        for key in (name, name.removeprefix("v"), "v" + name):
            if key in self.operands:
                return self.operands[key]
        return Operand(32, "any")

    def branch_target(self) -> int:
        """Byte offset that a program-counter-relative 16-bit immediate points at."""
        return self.offset + 4 + 4 * sign_extend(self.fields["simm16"], 16)

    def __str__(self) -> str:
        if self.parts:
            return " :: ".join(str(part) for part in self.parts)
        shown = [part for name, value in self.fields.items() if (part := _show(self, name, value))]
        suffix = f"_{self.variant}" if self.variant else ""
        return f"{self.name}{suffix} " + ", ".join(shown) if shown else self.name + suffix


def sign_extend(value: int, bits: int) -> int:
    """The two's-complement number that `bits` low bits hold."""
    return (value & ((1 << bits) - 1)) - ((value & (1 << (bits - 1))) << 1)


_REGISTER_FIELDS: Final = frozenset(
    "vdst sdst src0 src1 src2 vsrc0 vsrc1 ssrc0 ssrc1 addr vaddr data vsrc data0 data1 saddr vdata srsrc rsrc "
    "soffset sdata sbase vdstx vdsty srcx0 srcy0 vsrcx1 vsrcy1".split()
)
_QUIET: Final = frozenset(
    {"opsel_hi": 3, "opsel_hi2": 1, "row_mask": 15, "bank_mask": 15, "dst_sel": 6, "src0_sel": 6, "src1_sel": 6}.items()
)


def register_text(arch: Architecture, code: int, count: int = 1, literal: int | None = None) -> str:
    """Assembler spelling of a source code."""
    special = {
        arch.null: "null",
        arch.m0: "m0",
        VCC: "vcc" if count > 1 else "vcc_lo",
        VCC + 1: "vcc_hi",
        EXEC: "exec" if count > 1 else "exec_lo",
        EXEC + 1: "exec_hi",
        253: "src_scc",
        LITERAL: f"{literal or 0:#x}",
    }
    if code in special:
        return special[code]
    for base, letter, size in ((ACCUMULATOR, "a", 256), (VECTOR, "v", 256), (108, "ttmp", 16), (0, "s", 108)):
        if base <= code < base + size:
            first = code - base
            return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"
    if 128 <= code <= 192:
        return str(code - 128)
    if 193 <= code <= 208:
        return str(192 - code)
    return str(INLINE_FLOATS.get(code, f"src{code}"))


def _show(inst: Instruction, name: str, value: int) -> str:
    if name in _REGISTER_FIELDS:
        if inst.variant and name == "src0":
            return ""
        bits = inst.operand(name).bits
        if name in ("addr", "vaddr") and inst.form == "GLOBAL":
            bits = 64 if inst.get("saddr") in (124, 127) else 32
        unused = (
            name not in inst.operands
            and name.removeprefix("v") not in inst.operands
            and "v" + name not in inst.operands
        )
        if unused and inst.operands and value in (0, VECTOR):
            return ""
        return register_text(inst.arch, value, max(1, bits // 32), inst.literal)
    if value == 0 or (name, value) in _QUIET:
        return ""
    if name == "simm16" and inst.name.startswith(("s_branch", "s_cbranch")):
        return f"{inst.branch_target():#x}"
    return f"{name}:{value:#x}" if value > 9 else f"{name}:{value}"
