"""Data-parallel modifiers of vector instructions: DPP16, DPP8 and CDNA's sub-dword selection (SDWA).

Lane patterns: "DPP_CTRL Enumerations" of the RDNA3 and CDNA3 ISA documents.
"""

from __future__ import annotations

import numpy as np

from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported, raw_bits
from specgen.devices.amdgpu_emulator.instruction import VECTOR, Instruction
from specgen.devices.amdgpu_emulator.values import WIDTH, Value

_SDWA_SELECT = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}
"""Selector -> first bit and width."""


def dpp_pattern(control: int, lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """For each lane: the lane it reads and whether that lane exists."""
    lane = np.arange(lanes)
    row, at = lane & ~15, lane & 15
    always = np.ones(lanes, bool)
    amount = control & 15
    if control < 0x100:
        quad = np.array([control >> (2 * k) & 3 for k in range(4)])
        return (lane & ~3) + quad[lane & 3], always
    if 0x101 <= control <= 0x10F:
        return np.where(at + amount < 16, lane + amount, lane), at + amount < 16
    if 0x111 <= control <= 0x11F:
        return np.where(at >= amount, lane - amount, lane), at >= amount
    if 0x121 <= control <= 0x12F:
        return row + ((at - amount) & 15), always
    if control == 0x140:
        return row + 15 - at, always
    if control == 0x141:
        return (lane & ~7) + 7 - (lane & 7), always
    if 0x150 <= control <= 0x15F:
        return row + amount, always
    if 0x160 <= control <= 0x16F:
        return row + (at ^ amount), always
    wave = {
        0x130: (np.minimum(lane + 1, lanes - 1), lane + 1 < lanes),
        0x134: ((lane + 1) % lanes, always),
        0x138: (np.maximum(lane - 1, 0), lane > 0),
        0x13C: ((lane - 1) % lanes, always),
        0x142: (np.maximum(row - 1, 0), lane >= 16),
        0x143: (np.full(lanes, 31), lane >= 32),
    }
    if control not in wave:
        raise Unsupported(f"DPP control {control:#x}")
    return wave[control]


def dpp_source(em: Emitter, inst: Instruction) -> tuple[str, str]:
    """Emit the permuted first source; returns its text and the text of the mask of lanes to write."""
    value = em.vector(_register(inst))
    lanes = em.lanes
    if inst.variant == "dpp8":
        picks = np.array([inst.fields[f"lane_sel_{k}"] for k in range(8)])
        lane = np.arange(lanes)
        pattern, exists = (lane & ~7) + picks[lane & 7], np.ones(lanes, bool)
        fetch_inactive, bound_zero = inst.fields["src0"] == 234, True
        written = np.ones(lanes, bool)
    else:
        pattern, exists = dpp_pattern(inst.fields["dpp"], lanes)
        fetch_inactive, bound_zero = bool(inst.get("fi")), bool(inst.get("bc"))
        lane = np.arange(lanes)
        rows = inst.fields["row_mask"] >> (lane // 16) & 1
        written = (rows & (inst.fields["bank_mask"] >> (lane % 16 // 4) & 1)).astype(bool)
    names = [em.constant(array, "p") for array in (pattern, exists[None], written[None])]
    flags = f"{bool(exists.all() and written.all())}, {fetch_inactive}, {bound_zero}"
    em.emit(f"d0, dm = dpp({value}, {', '.join(names)}, {em.mask}, {flags})")
    return "d0", "dm"


def _register(inst: Instruction) -> int:
    """Short encodings name high halves as v128 and up when the operand is 16 bits wide."""
    code = inst.fields["vsrc0"]
    if inst.operand("src0").bits == 16 and inst.form in ("VOP1", "VOP2", "VOPC") and code >= VECTOR + 128:
        return code - 128
    return code


def apply_dpp(value, pattern, exists, written, mask, simple, fetch_inactive, bound_zero):  # type: ignore[no-untyped-def]
    """The permuted value and the lanes to write: lanes without a source read 0 or stay unwritten."""
    moved = value.take(pattern, axis=1)
    if simple and mask is True:
        return moved, True
    valid = np.broadcast_to(exists, moved.shape)
    if mask is not True and not fetch_inactive:
        valid = valid & mask.take(pattern, axis=1)
    target = written & (np.True_ if mask is True else mask)
    if bound_zero:
        return np.where(valid, moved, moved.dtype.type(0)), np.broadcast_to(target, moved.shape)
    return moved, np.broadcast_to(target & valid, moved.shape)


def select_sdwa(em: Emitter, inst: Instruction, at: int, bits: int) -> Value:
    """The selected byte, half or word of a source, sign- or zero-extended to the operand's width."""
    code = inst.fields["vsrc0" if at == 0 else "vsrc1"]
    if inst.get(f"s{at}"):
        code -= VECTOR
    low, width = _SDWA_SELECT[inst.fields[f"src{at}_sel"]]
    word = em.source(code, 32, inst, "any").code
    if width == 32:
        text = word
    elif inst.get(f"src{at}_sext"):
        up = 32 - width
        text = f"(({word} << u32({up - low})).view(i32) >> i32({up})).view(u32)"
    else:
        shifted = f"({word} >> u32({low}))" if low else word
        text = f"({shifted} & u32({(1 << width) - 1}))"
    return Value(f"{text}.astype(u16)", "u16") if bits == 16 else Value(text, "u32")


def store_sdwa(em: Emitter, inst: Instruction, value: Value, mask: str | None) -> None:
    """Place a result into the selected part of the destination; the rest is zero, sign or kept."""
    if "dst_sel" not in inst.fields:
        em.store_vector(inst.fields["vdst"], 32, value, mask)
        return
    low, width = _SDWA_SELECT[inst.fields["dst_sel"]]
    code, unused = inst.fields["vdst"], inst.fields["dst_unused"]
    if width == 32:
        em.store_vector(code, 32, value, mask)
        return
    field = (1 << width) - 1
    text = f"(({raw_bits(value, 'u32')} & u32({field})) << u32({low}))"
    if unused == 1:
        text = f"(({raw_bits(value, 'u32')} << u32({32 - width})).view(i32) >> i32({32 - width - low})).view(u32)"
    elif unused == 2:
        text = f"({text} | ({em.vector(code)} & u32({0xFFFFFFFF & ~(field << low)})))"
    assert WIDTH[value.type] <= 32
    em.store_vector(code, 32, Value(text, "u32"), mask)
