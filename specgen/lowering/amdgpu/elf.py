"""Reads a 64-bit little-endian ELF file: sections, symbols, relocations, and the code object's metadata note."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    11,
)
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_UNDEF, SHN_ABS = 0, 0xFFF1
STB_GLOBAL = 1


@dataclass(frozen=True)
class Section:
    """A section header and its bytes."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    link: int
    info: int
    align: int
    entry_size: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """A symbol; `section` is its section index (`SHN_UNDEF`, `SHN_ABS` included)."""

    name: str
    value: int
    size: int
    info: int
    other: int
    section: int

    @property
    def is_global(self) -> bool:
        """Whether its binding is global."""
        return self.info >> 4 == STB_GLOBAL


@dataclass(frozen=True)
class Relocation:
    """`RELA`: where in a section, of which type, to which symbol (index), and the addend."""

    offset: int
    type: int
    symbol: int
    addend: int


class Elf:
    """A parsed file. Raises `ValueError` for what is no ELF file of this kind."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        self.identification = data[:16]
        (self.type, self.machine, _, _, _, self._sections_at, self.flags) = struct.unpack_from("<HHIQQQI", data, 16)
        self._section_count, self._names_index = struct.unpack_from("<HH", data, 60)

    @cached_property
    def sections(self) -> list[Section]:
        """All sections, the null section first."""
        heads = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, self._sections_at + 64 * n) for n in range(self._section_count)
        ]
        names = self._bytes(heads[self._names_index])
        return [
            Section(n, _text(names, h[0]), h[1], h[2], h[3], h[6], h[7], h[8], h[9], self._bytes(h))
            for n, h in enumerate(heads)
        ]

    def _bytes(self, head: tuple[int, ...]) -> bytes:
        return b"" if head[1] == SHT_NOBITS else self.data[head[4] : head[4] + head[5]]

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((s for s in self.sections if s.name == name), None)

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbol table, the null symbol first."""
        table = next((s for s in self.sections if s.type == SHT_SYMTAB), None)
        if table is None:
            return []
        names = self.sections[table.link].data
        found = (struct.unpack_from("<IBBHQQ", table.data, at) for at in range(0, len(table.data), 24))
        return [Symbol(_text(names, n), value, size, info, other, sec) for n, info, other, sec, value, size in found]

    def symbol(self, name: str) -> Symbol | None:
        """The first symbol of a name."""
        return next((s for s in self.symbols if s.name == name), None)

    def relocations(self, target: Section) -> list[Relocation]:
        """The relocations of a section."""
        found = []
        for section in self.sections:
            if section.type == SHT_RELA and section.info == target.index:
                for at in range(0, len(section.data), 24):
                    offset, info, addend = struct.unpack_from("<QQq", section.data, at)
                    found.append(Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend))
        return found

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The `NT_AMDGPU_METADATA` note: `amdhsa.kernels` and the rest."""
        import msgpack

        for section in self.sections:
            if section.type == SHT_NOTE:
                name, size, kind = struct.unpack_from("<III", section.data)
                start = 12 + (name + 3 & ~3)
                if kind == NT_AMDGPU_METADATA:
                    return msgpack.unpackb(section.data[start : start + size], strict_map_key=False)
        raise ValueError("no metadata note")


NT_AMDGPU_METADATA = 32


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode("utf-8")
