"""Encodings that the assembler cannot spell: high halves of registers in short encodings and in VOP3."""

from __future__ import annotations

import re
import subprocess
from typing import Final

from emulator_compile import ASSEMBLER

SHORT: Final = "#short "
"""Marks a line whose 16-bit operands are to be the high halves of their registers where the assembler cannot spell
that: short encodings name them by register numbers from 128 on, VOP3 by op_sel."""


def short_halves(lines: list[str], cpu: str) -> list[str]:
    """Lines with the marked ones encoded, and bit 7 of their 16-bit register fields set."""
    marked = [line for line in lines if line.startswith(SHORT)]
    if not marked or ASSEMBLER is None:
        return lines
    source = "\n".join(line.split(" ", 2)[2] for line in marked)
    flags = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-mattr=+wavefrontsize32,+real-true16", "-show-encoding"]
    done = subprocess.run([ASSEMBLER, *flags], input=source, text=True, capture_output=True, check=True)
    words = [bytes(int(b, 16) for b in m[1].split(",")) for m in re.finditer(r"encoding: \[(.*)\]", done.stdout)]
    made = iter(
        _set_high(line, raw) for line, raw in zip(marked, words, strict=True)
    )  # fmt: skip
    return [next(made) if line.startswith(SHORT) else line for line in lines]


def _set_high(line: str, raw: bytes) -> str:
    """ISA "VOP1" and "VOP2": src0 in bits 0-8, vsrc1 in 9-16, vdst in 17-24 of the first word. "VOP3": op_sel from
    bit 11 on, the result's being bit 14."""
    *sources, result = (int(flag) for flag in line.split(" ", 2)[1].split(","))
    word = int.from_bytes(raw[:4], "little")
    places = (11, 12, 13) if word >> 26 == 0b110101 else (7, 16)
    for flag, bit in zip(sources, places, strict=False):
        word |= flag << bit
    word |= result << (14 if word >> 26 == 0b110101 else 24)
    rest = [int.from_bytes(raw[k : k + 4], "little") for k in range(4, len(raw), 4)]
    return ".long " + ", ".join(f"{w:#x}" for w in (word, *rest))
