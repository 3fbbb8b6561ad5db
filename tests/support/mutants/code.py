"""One kernel's machine code as instructions, loops and wait states, and how its bytes are changed.

Bits of a field are found by flipping each bit of an instruction and decoding it again, so every change is known to
mean what it is named for: nothing but the wanted field differs.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from specgen.devices.amdgpu_emulator import launch
from specgen.devices.amdgpu_emulator.blocks import Block, Program, program
from specgen.devices.amdgpu_emulator.decoder import decode
from specgen.devices.amdgpu_emulator.instruction import Instruction
from specgen.devices.amdgpu_emulator.loader import CodeObject, load

NOP = 0xBF800000
"""`s_nop 0` of every family: SOPP (bits 31 to 23 are 0x17f), operation 0."""
FLIPS = 3
"""Bits that two operations of one encoding differ in at most, for the pairs used here."""


@dataclass(frozen=True)
class Loop:
    """A natural loop: its blocks, the blocks behind its exits, and what the report says of it."""

    head: int
    blocks: frozenset[int]
    exits: frozenset[int]
    steady: bool


class Kernel:
    """A kernel of a built `kernel.hsaco`."""

    def __init__(self, folder: Path, target: str, symbol: str) -> None:
        self.target, self.symbol = target, symbol
        self.object: CodeObject = load((folder / target / "kernel.hsaco").read_bytes(), symbol)
        code = self.object
        self.program: Program = program(code.code, launch.entry_offset(code), code.arch, code.wave_size, True)
        report = json.loads((folder / target / "report.json").read_text(encoding="utf-8"))
        rows = [row["steady"] for row in report["machine_loops"] if row["function"] == symbol]
        self.loops = _loops(self.program, rows)
        self.lines = code.line_table()
        self.place = _place(code)

    def code_of(self, block: Block) -> list[Instruction]:
        """The instructions of a block."""
        return self.program.instructions[block.first : block.last + 1]

    def loop_of(self, number: int) -> Loop | None:
        """The innermost loop around a block."""
        around = [loop for loop in self.loops if number in loop.blocks]
        return min(around, key=lambda loop: len(loop.blocks), default=None)

    def steady(self, number: int) -> bool:
        """Whether a block lies in a steady loop."""
        return any(loop.steady and number in loop.blocks for loop in self.loops)

    def shown(self, inst: Instruction) -> str:
        """An instruction with its offset and line."""
        return f"`{inst}` at {inst.offset:#x} ({self.lines.get(inst.offset, 'no line')})"

    def word(self, inst: Instruction) -> int:
        """The instruction as a number."""
        return int.from_bytes(self.object.code[inst.offset : inst.offset + inst.size], "little")

    def with_field(self, inst: Instruction, name: str, value: int) -> bytes | None:
        """The instruction with another number in a field; None when the field cannot hold it."""
        weights = self._weights(inst)
        change = inst.fields[name] ^ value
        bits = [bit for (field, weight), bit in weights.items() if field == name and change & weight]
        return self._flipped(inst, bits, dataclasses.replace(inst, fields={**inst.fields, name: value}))

    def with_name(self, inst: Instruction, name: str) -> bytes | None:
        """Another operation of the same encoding on the same operands."""
        wanted = dataclasses.replace(inst, name=name)
        bits = [bit for (field, _), bit in self._weights(inst).items() if field == ""]
        for count in range(1, FLIPS + 1):
            for chosen in itertools.combinations(bits, count):
                found = self._flipped(inst, chosen, wanted)
                if found is not None:
                    return found
        return None

    def with_literal(self, inst: Instruction, value: int) -> bytes | None:
        """The instruction with another literal (its last dword)."""
        data = self.word(inst).to_bytes(inst.size, "little")[:-4] + value.to_bytes(4, "little")
        return data if _same(_decoded(data, inst), dataclasses.replace(inst, literal=value)) else None

    def _flipped(self, inst: Instruction, bits: Iterable[int], wanted: Instruction) -> bytes | None:
        word = self.word(inst)
        for bit in bits:
            word ^= 1 << bit
        data = word.to_bytes(inst.size, "little")
        return data if _same(_decoded(data, inst), wanted) else None

    def _weights(self, inst: Instruction) -> dict[tuple[str, int], int]:
        return _weights(self.object.code[inst.offset : inst.offset + inst.size], self.object.arch)


@functools.cache
def _weights(data: bytes, arch: str) -> dict[tuple[str, int], int]:
    """(field, weight) -> bit; operation bits have the field "" and their own place as weight."""
    inst = decode(data + bytes(16), 0, arch)
    word = int.from_bytes(data, "little")
    found: dict[tuple[str, int], int] = {}
    for bit in range(8 * inst.size):
        other = _decoded((word ^ 1 << bit).to_bytes(inst.size, "little"), inst)
        if other is None or other.form != inst.form or other.literal != inst.literal:
            continue
        changed = {k: v ^ other.fields.get(k, 0) for k, v in inst.fields.items() if other.fields.get(k) != v}
        if len(changed) == 1 and other.name == inst.name:
            found[next(iter(changed.items()))] = bit
        elif not changed and other.name != inst.name:
            found["", bit] = bit
    return found


def _decoded(data: bytes, like: Instruction) -> Instruction | None:
    try:
        inst = decode(data + bytes(16), 0, like.arch.name)
    except ValueError:
        return None
    return inst if inst.size == like.size else None


def _same(found: Instruction | None, wanted: Instruction) -> bool:
    return found is not None and (found.name, found.form, dict(found.fields), found.literal) == (
        wanted.name,
        wanted.form,
        dict(wanted.fields),
        wanted.literal,
    )


def _place(code: CodeObject) -> int:
    """Where the kernel's bytes begin in the file."""
    segments = ELFFile(io.BytesIO(code.elf)).iter_segments(type="PT_LOAD")
    found = next(s for s in segments if s["p_vaddr"] <= code.address < s["p_vaddr"] + s["p_filesz"])
    return int(found["p_offset"] + code.address - found["p_vaddr"])


def nops(size: int) -> bytes:
    """As many `s_nop 0` as fill `size` bytes."""
    return NOP.to_bytes(4, "little") * (size // 4)


def successors(block: Block) -> list[int]:
    """Blocks that may follow."""
    if block.kind == "jump":
        return [n for n in (block.target,) if n is not None]
    return [n for n in (block.target, block.following) if n is not None]


def _loops(prog: Program, steady: list[bool]) -> list[Loop]:
    """Natural loops by their heads in layout order, which is the order of the report's rows."""
    blocks = {block.number: block for block in prog.blocks}
    dominators = _dominators(prog)
    latches: dict[int, set[int]] = {}
    for block in prog.blocks:
        for head in successors(block):
            if head in dominators[block.number]:
                latches.setdefault(head, set()).add(block.number)
    heads = sorted(latches)
    flags = steady if len(steady) == len(heads) else [False] * len(heads)
    loops = []
    for head, flag in zip(heads, flags, strict=True):
        body, pending = {head}, list(latches[head])
        while pending:
            number = pending.pop()
            if number not in body:
                body.add(number)
                pending += [b.number for b in prog.blocks if number in successors(b)]
        exits = {n for number in body for n in successors(blocks[number]) if n not in body}
        loops.append(Loop(head, frozenset(body), frozenset(exits), flag))
    return loops


def _dominators(prog: Program) -> dict[int, set[int]]:
    numbers = {block.number for block in prog.blocks}
    before: dict[int, set[int]] = {number: set() for number in numbers}
    for block in prog.blocks:
        for following in successors(block):
            before[following].add(block.number)
    result = {number: set(numbers) for number in numbers}
    result[prog.entry] = {prog.entry}
    changed = True
    while changed:
        changed = False
        for number in sorted(numbers - {prog.entry}):
            sets = [result[p] for p in before[number]]
            new = {number} | (set.intersection(*sets) if sets else numbers)
            if new != result[number]:
                result[number], changed = new, True
    return result
