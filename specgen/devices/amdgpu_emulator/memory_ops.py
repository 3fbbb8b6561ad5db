"""Emission of memory instructions: scalar, global, flat, scratch, buffer and workgroup (DS) loads, stores, atomics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from specgen.devices.amdgpu_emulator.atomics import AtomicKind, atomic_kind
from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported
from specgen.devices.amdgpu_emulator.instruction import VECTOR, Instruction, sign_extend
from specgen.devices.amdgpu_emulator.memory import ADDRESS_BASE
from specgen.devices.amdgpu_emulator.values import Value

VECTOR_MEMORY: Final = frozenset({"GLOBAL", "FLAT", "SCRATCH", "MUBUF"})

_ACCESS: Final = re.compile(
    r"(?:global|flat|scratch|buffer|ds)_(?P<kind>load|store|read|write)(?P<two>2)?(?P<stride>_?st64|_stride64|_2addr_stride64"
    r"|_2addr)?(?P<addtid>_addtid)?_(?P<what>\w+)$"
)

_SIZES: Final = {
    "b8": 1, "u8": 1, "i8": 1, "byte": 1, "ubyte": 1, "sbyte": 1,
    "b16": 2, "u16": 2, "i16": 2, "short": 2, "ushort": 2, "sshort": 2,
    "b32": 4, "dword": 4, "b64": 8, "dwordx2": 8, "b96": 12, "dwordx3": 12, "b128": 16, "dwordx4": 16,
    "b256": 32, "dwordx8": 32, "b512": 64, "dwordx16": 64,
}  # fmt: skip

_SIGNED: Final = frozenset({"i8", "i16", "sbyte", "sshort"})


@dataclass(frozen=True)
class Access:
    """What a load or store moves: bytes a lane, sign extension, and which half of a register it fills."""

    store: bool
    size: int
    signed: bool
    half: int | None
    """0 or 1: only this half is written (or, for stores, read); None: whole registers."""


def parse_access(text: str, store: bool) -> Access:
    """`b128`, `ubyte_d16_hi`, `d16_hi_b16`, ... as an `Access`; raises `Unsupported` for anything else."""
    parts = text.split("_")
    half = None
    if "d16" in parts:
        half = 1 if "hi" in parts else 0
        parts = [part for part in parts if part not in ("d16", "hi")]
    if len(parts) != 1 or parts[0] not in _SIZES:
        raise Unsupported(f"memory access {text}")
    return Access(store, _SIZES[parts[0]], parts[0] in _SIGNED, half)


def emit_memory(em: Emitter, inst: Instruction) -> None:
    """A vector memory or DS instruction that moves data (crossing lanes through DS is done elsewhere)."""
    match = _ACCESS.match(inst.name)
    if match is None:
        kind = atomic_kind(inst)
        if kind is None:
            raise Unsupported("memory operation")
        _atomic(em, inst, kind)
        return
    if (
        match["addtid"]
        or "_lds_" in inst.name
        or "format" in inst.name
        or "_tr_" in inst.name
        or inst.get("lds")
        or inst.get("tfe")
    ):
        raise Unsupported("memory operation")
    access = parse_access(match["what"], match["kind"] in ("store", "write"))
    if match["two"] or (match["stride"] or "").startswith("_2addr"):
        _two_addresses(em, inst, access, "64" in (match["stride"] or ""))
        return
    space = _address(em, inst, access.size)
    (_store if access.store else _load)(em, inst, space, access)


# -- addresses --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Space:
    """The runtime functions of an address space and the mask of the access."""

    name: str
    mask: str


def _address(em: Emitter, inst: Instruction, size: int) -> _Space:
    """Emit `a`, the address in the access's own space as int64 [waves, lanes]."""
    if inst.form == "DS":
        offset = inst.fields["offset0"] | inst.fields["offset1"] << 8
        # The sum has 32 bits: a negative base with a positive offset is legal.
        em.emit(f"a = ({em.vector(inst.fields['addr'])}.astype(i64) + {offset}) & 0xFFFFFFFF")
        if inst.get("gds"):
            raise Unsupported("global data share")
        return _Space("lds", em.mask)
    if inst.form == "MUBUF":
        return _buffer_address(em, inst, size)
    offset = _immediate(inst)
    base = inst.get("saddr", default=inst.arch.null)
    has_base = base not in ((127,) if inst.arch.is_cdna else (124, 125))
    lane_code = inst.get("addr", "vaddr")
    if inst.form == "SCRATCH":
        parts = [str(offset)]
        if has_base:
            parts.append(f"{em.scalar(base)}.astype(i64)")
        if inst.get("sve"):
            parts.append(f"{em.vector(lane_code)}.astype(i64)")
        em.emit(f"a = np.zeros({em.exec_bits}.shape, i64) + {' + '.join(parts)}")
        return _Space("scratch", em.mask)
    if inst.form == "GLOBAL" and has_base:
        em.emit(f"a = {em.vector(lane_code)}.astype(i64) + ({em.pair(base)}.view(i64) + {offset - ADDRESS_BASE})")
        return _Space("global", em.mask)
    pointer = f"join({em.vector(lane_code)}, {em.vector(lane_code + 1)}).view(i64)"
    if inst.form == "GLOBAL":
        em.emit(f"a = {pointer} + {offset - ADDRESS_BASE}")
        return _Space("global", em.mask)
    em.emit(f"a = {pointer} + {offset}")
    return _Space("flat", em.mask)


def _immediate(inst: Instruction) -> int:
    """The signed immediate offset; its width depends on the encoding."""
    if "ioffset" in inst.fields:
        return sign_extend(inst.fields["ioffset"], 24)
    if inst.arch.is_cdna and inst.form == "FLAT":
        return inst.fields["offset"]
    return sign_extend(inst.fields["offset"], 13)


def _buffer_address(em: Emitter, inst: Instruction, size: int) -> _Space:
    """Emit the address behind a buffer descriptor; lanes that its range check drops leave the mask `bm`."""
    descriptor = inst.get("srsrc", "rsrc")
    immediate = inst.fields["ioffset"] if "ioffset" in inst.fields else inst.fields["offset"]
    if immediate >> 23:
        raise Unsupported("negative buffer offset")
    scalar = em.source(inst.fields["soffset"], 32, inst, "u32").code
    lane = inst.get("vaddr")
    index = em.vector(lane) if inst.get("idxen") else "None"
    offset = em.vector(lane + bool(inst.get("idxen"))) if inst.get("offen") else "None"
    words = ", ".join(em.scalar(descriptor + k) for k in range(4))
    em.emit(
        f"a, bm = buffer_address(st, ({words}), {scalar}, {index}, {offset}, {immediate}, {size}, {em.mask}, "
        f"{em.exec_bits}.shape, {em.site()})"
    )
    return _Space("global", "bm")


# -- loads and stores -------------------------------------------------------------------------------------


def _load(em: Emitter, inst: Instruction, space: _Space, access: Access) -> None:
    target = inst.get("vdata") if inst.form == "MUBUF" else inst.fields["vdst"]
    em.emit(f"r = {space.name}_load(st, a, {space.mask}, {access.size}, {em.site()})")
    write_loaded(em, target, access)


def write_loaded(em: Emitter, target: int, access: Access) -> None:
    """Store the words `r` [waves, lanes, words] of a load to the registers from `target` on.

    Lanes that a range check dropped hold zero and are written too, as the hardware does.
    """
    if access.size >= 4:
        for position in range(access.size // 4):
            em.store_vector(target + position, 32, Value(f"r[..., {position}]", "u32"))
        return
    up = 32 - 8 * access.size
    text = f"((r[..., 0] << u32({up})).view(i32) >> i32({up})).view(u32)" if access.signed else "r[..., 0]"
    if access.half is None:
        em.store_vector(target, 32, Value(text, "u32"))
    else:
        em.store_half(target, bool(access.half), Value(f"{text}.astype(u16)", "u16"))


def _store(em: Emitter, inst: Instruction, space: _Space, access: Access) -> None:
    source = inst.get("vdata", "data", "vsrc", "data0")
    if access.size >= 4:
        words = [em.vector(source + position) for position in range(access.size // 4)]
    else:
        words = [f"({em.vector(source)} >> u32(16))" if access.half else em.vector(source)]
    em.emit(f"{space.name}_store(st, a, {space.mask}, {access.size}, [{', '.join(words)}], {em.site()})")


def _two_addresses(em: Emitter, inst: Instruction, access: Access, strided: bool) -> None:
    """DS operations on two elements whose offsets count elements (or blocks of 64)."""
    unit = access.size * (64 if strided else 1)
    words = access.size // 4
    for at in (0, 1):
        offset = inst.fields[f"offset{at}"] * unit
        em.emit(f"a{at} = ({em.vector(inst.fields['addr'])}.astype(i64) + {offset}) & 0xFFFFFFFF")
    if not access.store:
        # Both are read before either register is written: a result may overlay the address.
        for at in (0, 1):
            em.emit(f"r{at} = lds_load(st, a{at}, {em.mask}, {access.size}, {em.site()})")
        for at in (0, 1):
            em.emit(f"r = r{at}")
            write_loaded(em, inst.fields["vdst"] + at * words, access)
        return
    for at in (0, 1):
        source = inst.fields[f"data{at}"]
        values = ", ".join(em.vector(source + position) for position in range(words))
        em.emit(f"lds_store(st, a{at}, {em.mask}, {access.size}, [{values}], {em.site()})")


def _atomic(em: Emitter, inst: Instruction, kind: AtomicKind) -> None:
    space = _address(em, inst, kind.bytes)
    source = inst.get("vdata", "data", "vsrc", "data0")
    words = kind.bytes // 4

    def operand(first: int) -> str:
        return em.vector(first) if words == 1 else f"join({em.vector(first)}, {em.vector(first + 1)})"

    values = [operand(source)]
    if kind.compare:
        # Vector memory keeps data then comparand in one register run; DS names them apart (and on GFX9 swapped).
        values.append(operand(inst.fields["data1"]) if inst.form == "DS" else operand(source + words))
        if inst.form == "DS" and inst.arch.is_cdna:
            values.reverse()
    call = f"{space.name}_atomic(st, a, {space.mask}, {kind.operation!r}, {kind.type!r}, [{', '.join(values)}]"
    target = inst.get("vdst", "vdata", default=VECTOR)
    if not kind.returns:
        em.emit(f"{call}, False, {em.site()})")
        return
    em.emit(f"r = {call}, True, {em.site()})")
    em.store_vector(target, 32 * words, Value("r", f"u{32 * words}"))


# -- scalar memory ----------------------------------------------------------------------------------------

_SCALAR_LOAD: Final = re.compile(r"s_(buffer_)?load_(\w+)$")


def emit_scalar_memory(em: Emitter, inst: Instruction) -> None:
    """Scalar loads; cache maintenance does nothing."""
    if inst.name.startswith(("s_dcache", "s_gl1_inv", "s_prefetch", "s_icache")):
        return
    match = _SCALAR_LOAD.match(inst.name)
    if match is None:
        raise Unsupported("scalar memory operation")
    access = parse_access(match[2], store=False)
    terms = [str(_scalar_immediate(inst))]
    if (register := _scalar_offset_register(inst)) is not None:
        terms.append(f"{em.scalar(register)}.astype(i64)")
    base = inst.fields["sbase"]
    if match[1]:
        words = ", ".join(em.scalar(base + k) for k in range(4))
        em.emit(f"r = scalar_buffer_load(st, ({words}), {' + '.join(terms)}, {access.size}, {em.site()})")
    else:
        em.emit(f"r = scalar_load(st, {em.pair(base)}.view(i64) + ({' + '.join(terms)}), {access.size}, {em.site()})")
    if access.size < 4:
        up = 32 - 8 * access.size
        text = f"((r[..., 0] << u32({up})).view(i32) >> i32({up})).view(u32)" if access.signed else "r[..., 0]"
        em.store_scalar(inst.fields["sdata"], 32, Value(text, "u32"))
        return
    for position in range(access.size // 4):
        em.store_scalar(inst.fields["sdata"] + position, 32, Value(f"r[..., {position}]", "u32"))


def _scalar_immediate(inst: Instruction) -> int:
    if "ioffset" in inst.fields:
        return sign_extend(inst.fields["ioffset"], 24)
    if inst.arch.is_cdna and not inst.fields["imm"]:
        return 0
    return sign_extend(inst.fields["offset"], 21)


def _scalar_offset_register(inst: Instruction) -> int | None:
    if inst.arch.is_cdna:
        if inst.fields["soffset_en"]:
            return inst.fields["soffset"]
        return None if inst.fields["imm"] else inst.fields["offset"] & 0x7F
    register = inst.fields["soffset"]
    return None if register == inst.arch.null else register
