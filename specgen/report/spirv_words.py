"""Static counts of a SPIR-V module's entry points, read from its words (SPIR-V specification, section 2.3)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

HEADER_WORDS = 5
OP_STRING, OP_LINE, OP_ENTRY_POINT, OP_FUNCTION, OP_FUNCTION_END, OP_CONTROL_BARRIER = 7, 8, 15, 54, 56, 224

CLASSES: tuple[tuple[str, range], ...] = (
    ("memory", range(59, 70)),
    ("composite", range(77, 85)),
    ("convert", range(109, 125)),
    ("alu", range(126, 208)),
    ("barrier", range(224, 226)),
    ("atomic", range(227, 243)),
    ("control", range(245, 256)),
    ("group", range(333, 367)),
    ("extended", range(12, 13)),
)
"""Instruction class -> opcodes (SPIR-V specification, section 3.52); what is in none of them counts as `other`."""


@dataclass(frozen=True)
class EntryWords:
    """One entry point: bytes of its function, instructions by class, barriers by place (file, line, column)."""

    code_byte_count: int
    mix: dict[str, int]
    barriers: dict[tuple[str, int, int], dict[str, int]]


def _instructions(data: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    words = struct.unpack(f"<{len(data) // 4}I", data)
    at = HEADER_WORDS
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at : at + count]
        at += count


def _name(words: tuple[int, ...]) -> str:
    raw = struct.pack(f"<{len(words)}I", *words)
    return raw[: raw.index(b"\0")].decode()


def _class(opcode: int) -> str:
    return next((name for name, opcodes in CLASSES if opcode in opcodes), "other")


def entry_words(data: bytes) -> dict[str, EntryWords]:
    """Counts by entry point name. A function that an entry calls counts for itself only."""
    names: dict[int, str] = {}
    texts: dict[int, str] = {}
    result: dict[str, EntryWords] = {}
    current, size, mix = 0, 0, Counter[str]()
    place, barriers = ("", 0, 0), dict[tuple[str, int, int], dict[str, int]]()
    for opcode, words in _instructions(data):
        if opcode == OP_ENTRY_POINT:
            names[words[2]] = _name(words[3:])
        elif opcode == OP_STRING:
            texts[words[1]] = _name(words[2:])
        elif opcode == OP_FUNCTION:
            current, size, mix, barriers = words[2], 0, Counter(), {}
        elif opcode == OP_LINE:
            place = texts[words[1]], words[2], words[3]
        elif opcode == OP_CONTROL_BARRIER:
            here = barriers.setdefault(place, {})
            here["OpControlBarrier"] = here.get("OpControlBarrier", 0) + 1
        if current:
            size += 4 * len(words)
            mix[_class(opcode)] += 1
        if opcode == OP_FUNCTION_END:
            if current in names:
                result[names[current]] = EntryWords(size, dict(sorted(mix.items())), barriers)
            current = 0
    return result
