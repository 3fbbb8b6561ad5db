"""Machine code to `Instruction`: the only module that touches tinygrad's instruction tables.

tinygrad 0.14 (pinned) carries AMD's encodings, operand widths and pseudocode as generated tables. Its own
decoder does not know every format class and picks the DPP8 marker of the wrong family, so this module reads
only the tables: encoding constants, fields and opcode enumerations.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from specgen.devices.amdgpu_emulator.instruction import (
    ACCUMULATOR,
    ARCHITECTURES,
    LITERAL,
    VECTOR,
    Instruction,
    Operand,
)

_TABLES: Final = "tinygrad.runtime.autogen.amd"

_NORMAL_FORM: Final = {"VGLOBAL": "GLOBAL", "VFLAT": "FLAT", "VSCRATCH": "SCRATCH", "VBUFFER": "MUBUF"}
"""RDNA4's names of the memory encodings, mapped to the older ones."""

_UNUSED: Final = frozenset({"EXP", "LDSDIR", "MIMG", "VEXPORT", "VDSDIR", "VIMAGE", "VSAMPLE", "VINTERP"})
"""Graphics encodings: no compute kernel holds them."""

_MARKERS: Final = {
    "cdna": {249: "SDWA", 250: "DPP16", 255: "LIT"},
    "rdna3": {233: "DPP8", 234: "DPP8", 250: "DPP16", 255: "LIT"},
    "rdna4": {233: "DPP8", 234: "DPP8", 250: "DPP16", 255: "LIT"},
}
"""Values of the first source that say that another dword follows (vendor ISA documents, "source operand" tables)."""

_CARRY_SUFFIX: Final = re.compile(r"_e(32|64)$")


class DecodeError(ValueError):
    """Bytes that are no instruction of the architecture (or one of a family that is not decoded)."""


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    mask: int
    base: int
    """Added to the raw number: 256 for vector-register fields."""
    shift: int
    """Scalar pairs and quads are stored divided by 2 and 4."""


@dataclass(frozen=True)
class _Form:
    name: str
    suffix: str
    size: int
    constant_mask: int
    constant: int
    op_low: int
    op_mask: int
    ops: dict[int, Any]
    fields: tuple[_Field, ...]


def _field(name: str, bits: Any) -> _Field:
    kind = type(bits).__name__
    base = VECTOR if kind == "VGPRField" else 0
    shift = {"SBaseField": 1, "SRsrcField": 2}.get(kind, 0)
    return _Field(name, bits.lo, bits.mask, base, shift)


def _build_form(name: str, cls: Any) -> _Form:
    stem, _, suffix = name.partition("_")
    mask = value = 0
    op_low = op_mask = 0
    ops: dict[int, Any] = {}
    fields = []
    for key, bits in cls._fields:
        kind = type(bits).__name__
        if kind == "FixedBitField":
            mask |= bits.mask << bits.lo
            value |= bits.default << bits.lo
        elif key == "op":
            op_low, op_mask = bits.lo, bits.mask
            allowed = bits.allowed if bits.allowed is not None else list(bits._enum)
            ops = {member.value: member for member in allowed}
        elif key != "literal":
            fields.append(_field(key, bits))
    return _Form(stem, suffix, cls._base_size, mask, value, op_low, op_mask, ops, tuple(fields))


@functools.cache
def _forms(arch: str) -> tuple[_Form, ...]:
    module = importlib.import_module(f"{_TABLES}.{arch}.ins")
    base = importlib.import_module("tinygrad.renderer.amd.dsl").Inst
    forms = [
        _build_form(name, cls)
        for name, cls in sorted(vars(module).items())
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base and cls.__module__ == module.__name__
        if name.partition("_")[0] not in _UNUSED
    ]
    # The encoding with the most constant bits is the most specific one.
    return tuple(sorted(forms, key=lambda form: (-form.constant_mask.bit_count(), form.suffix)))


@functools.cache
def _dispatch(arch: str) -> dict[int, tuple[_Form, ...]]:
    """Forms that can match, by the top nine bits of the first dword (the widest encoding prefix)."""
    table: dict[int, tuple[_Form, ...]] = {}
    for top in range(512):
        word = top << 23
        table[top] = tuple(
            form for form in _forms(arch) if (word ^ form.constant) & form.constant_mask & (0x1FF << 23) == 0
        )
    return table


def decode(code: bytes, offset: int, arch: str) -> Instruction:
    """The instruction at `offset`; raises `DecodeError` for bytes that no table explains."""
    raw = int.from_bytes(code[offset : offset + 20], "little")
    candidates = [form for form in _dispatch(arch)[(raw >> 23) & 0x1FF] if raw & form.constant_mask == form.constant]
    candidates = [form for form in candidates if form.name == "VOPD" or (raw >> form.op_low) & form.op_mask in form.ops]
    if not candidates:
        raise DecodeError(f"no {arch} instruction starts with {raw & 0xFFFFFFFF:#010x} at {offset:#x}")
    # An opcode listed for both a plain class and one with a scalar destination belongs to the latter.
    plain = _pick(candidates)
    if plain.name == "VOPD":
        return _decode_pair(raw, offset, arch, plain)
    return _finish(raw, offset, arch, candidates, plain)


def _pick(candidates: list[_Form]) -> _Form:
    order = {"SDST": 0, "MFMA": 0, "": 1}
    same = [form for form in candidates if form.name == candidates[0].name or form.name == "VOP3SD"]
    special = [form for form in same if form.name == "VOP3SD"]
    if special:
        return special[0]
    return min(same, key=lambda form: order.get(form.suffix, 2))


def _finish(raw: int, offset: int, arch: str, candidates: list[_Form], form: _Form) -> Instruction:
    values = _values(raw, form)
    marker = _marker(arch, form, values)
    op = form.ops[(raw >> form.op_low) & form.op_mask]
    if marker in ("DPP16", "DPP8", "SDWA"):
        form = _variant(arch, form, marker)
        values = _values(raw, form)
    size, literal = form.size, None
    if marker == "LIT" or form.suffix.endswith("LIT"):
        size = form.size - (4 if form.suffix.endswith("LIT") else 0)
        literal = (raw >> (8 * size)) & 0xFFFFFFFF
        size += 4
    variant = {"DPP16": "dpp16", "DPP8": "dpp8", "SDWA": "sdwa"}.get(marker, "")
    _select_accumulators(form, values)
    name = _CARRY_SUFFIX.sub("", op.name.lower())
    if name in ("v_readlane_b32", "v_readfirstlane_b32") and values["vdst"] >= VECTOR:
        values["vdst"] -= VECTOR  # the CDNA tables give these the fields of a vector result
    return Instruction(
        ARCHITECTURES[arch],
        offset,
        size,
        name,
        _NORMAL_FORM.get(form.name, form.name),
        variant,
        values,
        _operands(arch, op),
        literal,
    )


def _values(raw: int, form: _Form) -> dict[str, int]:
    return {f.name: (((raw >> f.low) & f.mask) << f.shift) + f.base for f in form.fields}


def _marker(arch: str, form: _Form, values: dict[str, int]) -> str:
    sources = [values[key] for key in ("src0", "src1", "src2", "ssrc0", "ssrc1") if key in values]
    if form.name in ("VOP3PX2",) or "blgp" in values or not sources:
        return ""
    found = _MARKERS[arch].get(sources[0], "")
    return found or ("LIT" if LITERAL in sources else "")


def _variant(arch: str, form: _Form, marker: str) -> _Form:
    wanted = {f"{form.suffix}_{marker}" if form.suffix else marker, marker, f"{marker}_SDST"}
    # Carry-out adds and subtracts of CDNA use the SDWA form with a scalar destination under VOPC only.
    found = [other for other in _forms(arch) if other.name == form.name and other.suffix in wanted]
    if not found:
        raise DecodeError(f"{form.name} has no {marker} form on {arch}")
    return min(found, key=lambda other: len(other.suffix))


def _select_accumulators(form: _Form, values: dict[str, int]) -> None:
    """Move CDNA register fields whose `acc` bit is set into the accumulation file."""
    acc = values.get("acc", 0)
    if "blgp" in values:
        for bit, key in enumerate(("src0", "src1")):
            if acc >> bit & 1:
                values[key] += ACCUMULATOR - VECTOR
        if values.get("acc_cd"):
            values["vdst"] += ACCUMULATOR - VECTOR
            if values["src2"] >= VECTOR:
                values["src2"] += ACCUMULATOR - VECTOR
    elif acc:
        for key in ("vdst", "vdata", "data", "data0", "data1"):
            if key in values:
                values[key] += ACCUMULATOR - VECTOR


@functools.cache
def _operand_table(arch: str) -> dict[Any, Any]:
    table: dict[Any, Any] = importlib.import_module(f"{_TABLES}.{arch}.operands").OPERANDS
    return table


@functools.cache
def _operands(arch: str, op: Any) -> dict[str, Operand]:
    found = _operand_table(arch).get(op, {})
    return {
        key: Operand(bits, number.name.removeprefix("FMT_").removeprefix("NUM_").lower())
        for key, (number, bits, _) in found.items()
    }


def _decode_pair(raw: int, offset: int, arch: str, form: _Form) -> Instruction:
    """VOPD: two operations that read all their sources before either writes; raises `DecodeError` for unknown ones."""
    ops = importlib.import_module(f"{_TABLES}.{arch}.enum").VOPDOp
    values = _values(raw, form)
    try:
        opx, opy = ops(values.pop("opx")), ops(values.pop("opy"))
    except ValueError as error:
        shown = (raw & (1 << 64) - 1).to_bytes(8, "little").hex(" ")
        raise DecodeError(f"no {arch} instruction: {shown} at {offset:#x} pairs operations: {error}") from None
    values["vdsty"] = VECTOR + ((values["vdsty"] << 1) | (~values["vdstx"] & 1))
    needs_literal = any("FMAAK" in op.name or "FMAMK" in op.name for op in (opx, opy))
    has_literal = needs_literal or LITERAL in (values["srcx0"], values["srcy0"])
    literal = (raw >> 64) & 0xFFFFFFFF if has_literal else None
    size = 12 if has_literal else 8
    parts = []
    for half, op in (("x", opx), ("y", opy)):
        fields = {"vdst": values[f"vdst{half}"], "src0": values[f"src{half}0"], "vsrc1": values[f"vsrc{half}1"]}
        name = op.name.lower()
        parts.append(Instruction(ARCHITECTURES[arch], offset, size, name, "VOP2", "", fields, {}, literal))
    return Instruction(ARCHITECTURES[arch], offset, size, "vopd", "VOPD", "", values, {}, literal, tuple(parts))


def samples(arch: str) -> Iterator[Instruction]:
    """One instruction of every opcode of an architecture in its plain encoding, with vector operands where it can."""
    seen: set[str] = set()
    for form in sorted(_forms(arch), key=lambda form: (form.name, form.suffix)):
        for op in sorted(form.ops.values(), key=lambda op: op.value):
            raw = form.constant | op.value << form.op_low
            for f in form.fields:
                if f.mask == 0x1FF and f.name.startswith("src"):
                    raw |= VECTOR << f.low
            inst = decode(raw.to_bytes(24, "little"), 0, arch)
            if inst.name not in seen:
                seen.add(inst.name)
                yield inst


@functools.cache
def _pseudocode(arch: str) -> dict[str, str]:
    table = importlib.import_module(f"{_TABLES}.{arch}.str_pcode").PCODE
    found: dict[str, str] = {}
    for op, text in table.items():
        found.setdefault(_CARRY_SUFFIX.sub("", op.name.lower()), text)
    return found


def pseudocode(arch: str, name: str) -> str | None:
    """The vendor's pseudocode of an operation by its name without encoding suffix; None where there is none."""
    return _pseudocode(arch).get(name)


def opcode_names(arch: str) -> tuple[str, ...]:
    """Every operation that the tables of an architecture name, sorted."""
    names = {op.name.lower() for form in _forms(arch) for op in form.ops.values()}
    return tuple(sorted({_CARRY_SUFFIX.sub("", name) for name in names}))
