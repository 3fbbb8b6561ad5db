"""Links one relocatable object into a code object (HSACO), an ELF file of type `ET_DYN`, without a linker.

The layout follows `ld.lld -shared`: headers and read-only sections, then code on a page of its own, then the dynamic
section, then debug sections. Code and kernel descriptors come out byte for byte as from lld (tested). Format: the
ELF gABI; relocations: LLVM's AMDGPUUsage, "Relocation Records".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from specgen.lowering.amdgpu import elf
from specgen.lowering.amdgpu.elf import Elf, Section, Symbol

PAGE = 0x1000
HEADER_BYTES, PROGRAM_HEADER_BYTES, PROGRAM_HEADERS = 64, 56, 8

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 4, 6, 0x6474E551, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT = 0, 4, 5, 6, 10, 11


class LinkError(ValueError):
    """The object needs something that only a real linker does."""


def _low(value: int) -> bytes:
    return struct.pack("<I", value & 0xFFFFFFFF)


def _word(value: int) -> bytes:
    return struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)


RELOCATIONS: dict[int, Callable[[int, int], bytes]] = {
    1: lambda target, place: _low(target),
    2: lambda target, place: _low(target >> 32),
    3: lambda target, place: _word(target),
    4: lambda target, place: _low(target - place),
    5: lambda target, place: _word(target - place),
    6: lambda target, place: _low(target),
    10: lambda target, place: _low(target - place),
    11: lambda target, place: _low(target - place >> 32),
}
"""By type: ABS32_LO, ABS32_HI, ABS64, REL32, REL64, ABS32, REL32_LO, REL32_HI. Target: symbol plus addend."""


@dataclass
class Output:
    """A section of the result: `address` is 0 for sections that are not loaded."""

    name: str
    type: int
    flags: int
    align: int
    data: bytearray
    offset: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0
    source: int = -1


@dataclass
class Layout:
    """Sections in file order and where the next byte goes; addresses are file offsets plus whole pages."""

    position: int
    pages: int = 0
    sections: list[Output] = field(default_factory=list)

    def place(self, section: Output, *, loaded: bool = True) -> Output:
        """Put a section behind the ones before it."""
        self.position = _up(self.position, max(section.align, 1))
        section.offset = self.position
        section.address = self.position + self.pages * PAGE if loaded else 0
        self.position += len(section.data)
        self.sections.append(section)
        return section

    def new_page(self) -> None:
        """What follows is loaded with other rights."""
        self.pages += 1


def link(data: bytes) -> bytes:
    """The code object of an object file. Raises `LinkError` for undefined symbols and unknown relocations."""
    source = Elf(data)
    exported = [s for s in source.symbols if s.is_global and s.section not in (elf.SHN_UNDEF, elf.SHN_ABS)]
    layout, parts = _lay_out(source, exported)
    for section in layout.sections:
        if section.source >= 0:
            _relocate(source, layout, section)
    _fill_symbols(parts, exported, layout)
    return _write(source, layout, exported)


def _lay_out(source: Elf, exported: list[Symbol]) -> tuple[Layout, dict[str, Output]]:
    layout = Layout(HEADER_BYTES + PROGRAM_HEADER_BYTES * PROGRAM_HEADERS)
    strings = b"\0" + b"".join(s.name.encode() + b"\0" for s in exported)
    buckets = max(1, len(exported))
    parts: dict[str, Output] = {}

    def new(name: str, kind: int, align: int, size: int, entry: int = 0, flags: int = elf.SHF_ALLOC) -> None:
        section = Output(name, kind, flags, align, bytearray(size), entry_size=entry)
        parts[name] = layout.place(section)

    copied = [_copied(s) for s in source.sections if s.type in (elf.SHT_PROGBITS, elf.SHT_NOTE, elf.SHT_NOBITS)]
    loaded = [s for s in copied if s.flags & elf.SHF_ALLOC and s.data]
    if any(s.flags & elf.SHF_WRITE for s in loaded):
        raise LinkError("writable data in a kernel object")
    for section in loaded:
        if section.type == elf.SHT_NOTE:
            layout.place(section)
    new(".dynsym", elf.SHT_DYNSYM, 8, 24 * (len(exported) + 1), 24)
    new(".hash", elf.SHT_HASH, 4, 4 * (2 + buckets + len(exported) + 1), 4)
    new(".dynstr", elf.SHT_STRTAB, 1, len(strings))
    parts[".dynstr"].data[:] = strings
    for section in loaded:
        if section.type != elf.SHT_NOTE and not section.flags & elf.SHF_EXECINSTR:
            layout.place(section)
    layout.new_page()
    for section in loaded:
        if section.flags & elf.SHF_EXECINSTR:
            layout.place(section)
    layout.new_page()
    new(".dynamic", elf.SHT_DYNAMIC, 8, 16 * 6, 16, elf.SHF_ALLOC | elf.SHF_WRITE)
    for section in copied:
        if not section.flags & elf.SHF_ALLOC and section.name.startswith(".debug_"):
            layout.place(section, loaded=False)
    numbers = {s.name: n + 1 for n, s in enumerate(layout.sections)}
    parts[".dynsym"].link = parts[".dynamic"].link = numbers[".dynstr"]
    parts[".dynsym"].info = 1
    parts[".hash"].link = numbers[".dynsym"]
    return layout, parts


def _copied(s: Section) -> Output:
    return Output(s.name, s.type, s.flags, s.align, bytearray(s.data), entry_size=s.entry_size, source=s.index)


def _relocate(source: Elf, layout: Layout, section: Output) -> None:
    for relocation in source.relocations(source.sections[section.source]):
        symbol = source.symbols[relocation.symbol]
        apply = RELOCATIONS.get(relocation.type)
        if apply is None:
            raise LinkError(f"relocation type {relocation.type} in {section.name}")
        value = apply(_address(layout, symbol) + relocation.addend, section.address + relocation.offset)
        section.data[relocation.offset : relocation.offset + len(value)] = value


def _address(layout: Layout, symbol: Symbol) -> int:
    """Where a symbol ends up; an offset in its section for sections that are not loaded, as debug formats want."""
    if symbol.section == elf.SHN_ABS:
        return symbol.value
    for section in layout.sections:
        if section.source == symbol.section:
            return section.address + symbol.value
    raise LinkError(f"undefined symbol {symbol.name}")


def _number_of(layout: Layout, symbol: Symbol) -> int:
    return next(n + 1 for n, s in enumerate(layout.sections) if s.source == symbol.section)


def _symbol_table(layout: Layout, exported: list[Symbol]) -> tuple[bytes, bytes]:
    """The symbol table and its strings; the same for the dynamic and the static one."""
    table, strings = bytearray(24), b"\0"
    for symbol in exported:
        table += struct.pack(
            "<IBBHQQ",
            len(strings),
            symbol.info,
            symbol.other,
            _number_of(layout, symbol),
            _address(layout, symbol),
            symbol.size,
        )
        strings += symbol.name.encode() + b"\0"
    return bytes(table), strings


def _fill_symbols(parts: dict[str, Output], exported: list[Symbol], layout: Layout) -> None:
    parts[".dynsym"].data[:] = _symbol_table(layout, exported)[0]
    parts[".hash"].data[:] = _hash_table(exported)
    entries = (
        (DT_SYMTAB, parts[".dynsym"].address),
        (DT_SYMENT, 24),
        (DT_STRTAB, parts[".dynstr"].address),
        (DT_STRSZ, len(parts[".dynstr"].data)),
        (DT_HASH, parts[".hash"].address),
        (DT_NULL, 0),
    )
    parts[".dynamic"].data[:] = b"".join(struct.pack("<QQ", *entry) for entry in entries)


def _hash_table(exported: list[Symbol]) -> bytes:
    """The System V hash table: bucket heads, then chains of symbol numbers."""
    count = max(1, len(exported))
    heads, chains = [0] * count, [0] * (len(exported) + 1)
    for number, symbol in enumerate(exported, 1):
        bucket = sysv_hash(symbol.name) % count
        chains[number], heads[bucket] = heads[bucket], number
    return struct.pack(f"<{2 + count + len(chains)}I", count, len(chains), *heads, *chains)


def sysv_hash(name: str) -> int:
    """The hash function of the System V ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        top = value & 0xF0000000
        value = (value ^ top >> 24) & ~top & 0xFFFFFFFF
    return value


def _write(source: Elf, layout: Layout, exported: list[Symbol]) -> bytes:
    symbols, strings = _symbol_table(layout, exported)
    count = len(layout.sections)
    layout.place(
        Output(".symtab", elf.SHT_SYMTAB, 0, 8, bytearray(symbols), link=count + 3, info=1, entry_size=24), loaded=False
    )
    names = b"\0" + b"".join(s.name.encode() + b"\0" for s in layout.sections) + b".shstrtab\0.strtab\0"
    layout.place(Output(".shstrtab", elf.SHT_STRTAB, 0, 1, bytearray(names)), loaded=False)
    layout.place(Output(".strtab", elf.SHT_STRTAB, 0, 1, bytearray(strings)), loaded=False)
    headers_at = _up(layout.position, 8)
    out = bytearray(headers_at)
    for section in layout.sections:
        out[section.offset : section.offset + len(section.data)] = section.data
    heads = [bytes(64), *(_section_header(s, names) for s in layout.sections)]
    out[:HEADER_BYTES] = source.identification + struct.pack(
        "<HHIQQQIHHHHHH",
        3,
        source.machine,
        1,
        0,
        HEADER_BYTES,
        headers_at,
        source.flags,
        HEADER_BYTES,
        PROGRAM_HEADER_BYTES,
        PROGRAM_HEADERS,
        64,
        len(heads),
        count + 2,
    )
    programs = b"".join(_program_headers(layout))
    out[HEADER_BYTES : HEADER_BYTES + len(programs)] = programs
    return bytes(out) + b"".join(heads)


def _section_header(s: Output, names: bytes) -> bytes:
    name = names.index(b"\0" + s.name.encode() + b"\0") + 1
    return struct.pack(
        "<IIQQQQIIQQ",
        name,
        s.type,
        s.flags,
        s.address,
        s.offset,
        len(s.data),
        s.link,
        s.info,
        max(s.align, 1),
        s.entry_size,
    )


def _program_headers(layout: Layout) -> list[bytes]:
    def header(kind: int, flags: int, at: int, address: int, size: int, memory: int, align: int) -> bytes:
        return struct.pack("<IIQQQQQQ", kind, flags, at, address, address, size, memory, align)

    def span(group: list[Output]) -> tuple[int, int, int]:
        first, last = group[0], group[-1]
        return first.offset, first.address, last.offset + len(last.data) - first.offset

    loaded = [s for s in layout.sections if s.flags & elf.SHF_ALLOC]
    constant = [s for s in loaded if not s.flags & (elf.SHF_WRITE | elf.SHF_EXECINSTR)]
    code = span([s for s in loaded if s.flags & elf.SHF_EXECINSTR])
    dynamic = span([s for s in loaded if s.name == ".dynamic"])
    note = span([s for s in loaded if s.type == elf.SHT_NOTE])
    end = constant[-1].offset + len(constant[-1].data)
    headers = PROGRAM_HEADER_BYTES * PROGRAM_HEADERS
    rest_of_page = _up(dynamic[1] + dynamic[2], PAGE) - dynamic[1]
    return [
        header(PT_PHDR, PF_R, HEADER_BYTES, HEADER_BYTES, headers, headers, 8),
        header(PT_LOAD, PF_R, 0, 0, end, end, PAGE),
        header(PT_LOAD, PF_R | PF_X, code[0], code[1], code[2], code[2], PAGE),
        header(PT_LOAD, PF_R | PF_W, dynamic[0], dynamic[1], dynamic[2], rest_of_page, PAGE),
        header(PT_DYNAMIC, PF_R | PF_W, *dynamic, dynamic[2], 8),
        header(PT_GNU_RELRO, PF_R, dynamic[0], dynamic[1], dynamic[2], rest_of_page, 1),
        header(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0),
        header(PT_NOTE, PF_R, *note, note[2], 4),
    ]


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align
