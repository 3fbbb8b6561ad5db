"""Reading an HSACO: ELF sections, notes, kernel descriptor and line table. Nothing of our own compiler is used.

Layouts: ELF for AMDGPU and the 64-byte kernel descriptor of LLVM's "User Guide for AMDGPU Backend"
(sections "Kernel Descriptor" and "Code Object V5 Metadata").
"""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specgen.devices.base import DeviceError

EXECUTABLE_TARGETS: Final[Mapping[str, str]] = {
    "gfx942": "cdna",
    "gfx950": "cdna",
    "gfx9-4-generic": "cdna",
    "gfx1100": "rdna3",
    "gfx1151": "rdna3",
    "gfx11-generic": "rdna3",
    "gfx1201": "rdna4",
    "gfx12-generic": "rdna4",
}
"""Targets that the emulator executes, and the instruction family of each."""

_DYNAMIC: Final = "ET_DYN"


@dataclass(frozen=True)
class Argument:
    """One kernel argument of the metadata: byte offset and size in the argument segment."""

    name: str
    offset: int
    size: int
    kind: str


@dataclass(frozen=True)
class Descriptor:
    """The 64-byte kernel descriptor, as its fields."""

    lds_bytes: int
    scratch_bytes: int
    entry_offset: int
    rsrc3: int
    rsrc1: int
    rsrc2: int
    properties: int
    preload: int

    @classmethod
    def parse(cls, raw: bytes) -> Descriptor:
        lds, scratch, _, entry, rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack("<IIIxxxxq20xIIIHHxxxx", raw)
        return cls(lds, scratch, entry, rsrc3, rsrc1, rsrc2, properties, preload)

    @property
    def user_sgprs(self) -> int:
        return (self.rsrc2 >> 1) & 31

    def workgroup_id(self, axis: int) -> bool:
        return bool(self.rsrc2 >> (7 + axis) & 1)

    @property
    def workitem_ids(self) -> int:
        """Highest work-item id axis that the hardware sets up."""
        return (self.rsrc2 >> 11) & 3

    def has(self, bit: int) -> bool:
        return bool(self.properties >> bit & 1)

    @property
    def denormals_kept(self) -> bool:
        """Both float modes keep denormals and rounding is to nearest even."""
        return (self.rsrc1 >> 16) & 0xF == 0xF and (self.rsrc1 >> 12) & 0xF == 0

    @property
    def preload_length(self) -> int:
        return self.preload & 0x7F

    @property
    def preload_offset(self) -> int:
        return self.preload >> 7


@dataclass(frozen=True)
class CodeObject:
    """One kernel of an HSACO. `image` are the loaded bytes by virtual address, `code` the kernel's own bytes."""

    target: str
    arch: str
    symbol: str
    image: bytes
    address: int
    code: bytes
    entry: int
    descriptor: Descriptor
    arguments: tuple[Argument, ...]
    kernarg_size: int
    wave_size: int
    vector_registers: int
    accumulation_registers: int
    workgroup_size: tuple[int, int, int] | None
    uses_lines: bool
    elf: bytes

    def line_table(self) -> dict[int, str]:
        """Code offset -> `file:line:column`; empty without debug information."""
        return _line_table(self.elf, self.address, len(self.code)) if self.uses_lines else {}


def symbols_of(elf: bytes) -> tuple[str, ...]:
    """Kernel names of an HSACO, in metadata order."""
    return tuple(kernel[".name"] for kernel in _metadata(_open(elf))["amdhsa.kernels"])


@functools.lru_cache(maxsize=64)
def load(elf: bytes, symbol: str) -> CodeObject:
    """The kernel `symbol`; raises `DeviceError` when the file is no HSACO, lacks it or is for another machine."""
    file = _open(elf)
    metadata = _metadata(file)
    target = str(metadata["amdhsa.target"]).split("--")[-1].split(":")[0]
    if target not in EXECUTABLE_TARGETS:
        raise DeviceError(f"{target} code is compiled but not executed by the amdgpu-emulator")
    kernel = next((k for k in metadata["amdhsa.kernels"] if k[".name"] == symbol), None)
    if kernel is None:
        raise DeviceError(f"the HSACO has no kernel {symbol!r}")
    image = _image(file)
    places = _symbols(file, (symbol, f"{symbol}.kd"))
    start, size = places[symbol]
    kd, _ = places[f"{symbol}.kd"]
    descriptor = Descriptor.parse(image[kd : kd + 64])
    entry = kd + descriptor.entry_offset
    if not start <= entry < start + size:
        raise DeviceError(f"the descriptor of {symbol!r} points outside of its code")
    return CodeObject(
        target=target,
        arch=EXECUTABLE_TARGETS[target],
        symbol=symbol,
        image=image,
        address=start,
        code=image[start : start + size],
        entry=entry - start,
        descriptor=descriptor,
        arguments=_arguments(kernel),
        kernarg_size=kernel[".kernarg_segment_size"],
        wave_size=kernel[".wavefront_size"],
        vector_registers=kernel[".vgpr_count"],
        accumulation_registers=kernel.get(".agpr_count", 0),
        workgroup_size=_triple(kernel.get(".reqd_workgroup_size")),
        uses_lines=file.get_section_by_name(".debug_line") is not None,
        elf=elf,
    )


def _open(elf: bytes) -> Any:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(io.BytesIO(elf))
        kind, machine = file["e_type"], file["e_machine"]
    except (ELFError, ValueError) as error:
        raise DeviceError(f"not an ELF file: {error}") from error
    if kind != _DYNAMIC or machine != "EM_AMDGPU":
        raise DeviceError(f"not a linked AMDGPU code object (type {kind}, machine {machine})")
    return file


def _metadata(file: Any) -> dict[str, Any]:
    import msgpack

    for section in file.iter_sections():
        if section["sh_type"] != "SHT_NOTE":
            continue
        data, at = section.data(), 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, at)
            start = at + 12 + ((name_size + 3) & ~3)
            if kind == 32:  # NT_AMDGPU_METADATA
                return dict(msgpack.unpackb(data[start : start + size]))
            at = start + ((size + 3) & ~3)
    raise DeviceError("the code object has no AMDGPU metadata note")


def _symbols(file: Any, names: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Address and size of these symbols. Read directly: the reader's own records take 0.2 ms a symbol."""
    table = file.get_section_by_name(".symtab") or file.get_section_by_name(".dynsym")
    strings = file.get_section(table["sh_link"]).data()
    wanted = {name.encode(): name for name in names}
    found = {}
    for start, _, _, _, value, size in struct.iter_unpack("<IBBHQQ", table.data()):
        text = strings[start : strings.index(b"\0", start)]
        if text in wanted:
            found[wanted[text]] = (value, size)
    if missing := sorted(set(names) - set(found)):
        raise DeviceError(f"the HSACO has no symbol {missing[0]!r}")
    return found


def _image(file: Any) -> bytes:
    segments = [s for s in file.iter_segments() if s["p_type"] == "PT_LOAD"]
    image = bytearray(max((s["p_vaddr"] + s["p_memsz"] for s in segments), default=0))
    for segment in segments:
        image[segment["p_vaddr"] : segment["p_vaddr"] + segment["p_filesz"]] = segment.data()
    return bytes(image)


def _arguments(kernel: Mapping[str, Any]) -> tuple[Argument, ...]:
    return tuple(
        Argument(str(a.get(".name", "")), a[".offset"], a[".size"], a[".value_kind"]) for a in kernel.get(".args", ())
    )


def _triple(values: Any) -> tuple[int, int, int] | None:
    if not values:
        return None
    x, y, z = (int(value) for value in values)
    return x, y, z


def _line_table(elf: bytes, address: int, size: int) -> dict[int, str]:
    from elftools.elf.elffile import ELFFile

    file = ELFFile(io.BytesIO(elf))
    found: dict[int, str] = {}
    if not file.has_dwarf_info():
        return found
    dwarf = file.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        rows = [entry.state for entry in program.get_entries() if entry.state is not None]
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            if row.end_sequence or not address <= row.address < address + size:
                continue
            end = after.address if after is not None else address + size
            where = f"{_file_name(program.header, row.file)}:{row.line}:{row.column}"
            if row.line:
                found.update(dict.fromkeys(range(row.address - address, end - address, 4), where))
    return found


def _file_name(header: Any, index: int) -> str:
    entries = header["file_entry"]
    position = index if header["version"] >= 5 else index - 1
    if not 0 <= position < len(entries):
        return "?"
    name = entries[position].name
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
