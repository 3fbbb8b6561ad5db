"""Instructions that move data between lanes: emission, and the functions that the emitted code calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported
from specgen.devices.amdgpu_emulator.instruction import ACCUMULATOR, VECTOR, Instruction
from specgen.devices.amdgpu_emulator.values import Value

Array = NDArray[Any]
Mask = Any


# -- what the emitted code calls --------------------------------------------------------------------------


def first_lane(value: Array, active: Array) -> Array:
    """[waves, 1]: the value of the lowest active lane; of lane 0 when none is active."""
    return value[np.arange(value.shape[0]), active.argmax(1)][:, None]


def read_lane(value: Array, lane: Array) -> Array:
    """[waves, 1]: the value of a given lane, whatever EXEC says."""
    at = np.broadcast_to(lane, (value.shape[0], 1))[:, 0] & np.uint32(value.shape[1] - 1)
    return value[np.arange(value.shape[0]), at][:, None]


def write_lane(target: Array, lane: Array, value: Array) -> None:
    """Put a scalar into one lane, whatever EXEC says."""
    at = np.broadcast_to(lane, (target.shape[0], 1))[:, 0] & np.uint32(target.shape[1] - 1)
    target[np.arange(target.shape[0]), at] = np.broadcast_to(value, (target.shape[0], 1))[:, 0]


def gather_lanes(value: Array, lanes: Array) -> Array:
    """Each lane's value from the lane that `lanes` names."""
    return np.take_along_axis(value, np.broadcast_to(lanes, value.shape).astype(np.intp), 1)


def permute_rows(
    value: Array, low: Array, high: Array, cross: bool, mask: Mask, fetch: bool, zero: bool
) -> tuple[Array, Mask]:
    """`v_permlane(x)16`: each lane of 16 takes the lane that a 4-bit selector names, of its own or the other row."""
    selector = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
    lane = np.arange(value.shape[1])
    pick = (selector >> (4 * (lane & 15)).astype(np.uint64)) & np.uint64(15)
    source = pick.astype(np.intp) + ((lane & ~15) ^ (16 if cross else 0))
    moved = gather_lanes(value, source)
    if mask is True or fetch:
        return moved, mask
    valid = gather_lanes(mask, source)
    if zero:
        return np.where(valid, moved, np.uint32(0)), mask
    return moved, mask & valid


def permute_rows_by_lane(
    value: Array, selector: Array, cross: bool, mask: Mask, fetch: bool, zero: bool
) -> tuple[Array, Mask]:
    """`v_permlane(x)16_var`: the selector is the low four bits of a vector register."""
    lane = np.arange(value.shape[1])
    source = (selector & np.uint32(15)).astype(np.intp) + ((lane & ~15) ^ (16 if cross else 0))
    moved = gather_lanes(value, source)
    if mask is True or fetch:
        return moved, mask
    valid = gather_lanes(mask, source)
    if zero:
        return np.where(valid, moved, np.uint32(0)), mask
    return moved, mask & valid


def pull(address: Array, value: Array, mask: Mask, group: int, fetch: bool) -> Array:
    """`ds_bpermute`: the value of the lane that a byte address names; 0 from an inactive lane."""
    lane = np.arange(value.shape[1])
    source = ((address >> np.uint32(2)) & np.uint32(group - 1)).astype(np.intp) + (lane & -group)
    moved = gather_lanes(value, source)
    if mask is True or fetch:
        return moved
    return np.where(gather_lanes(mask, source), moved, np.uint32(0))


def push(address: Array, value: Array, mask: Mask, group: int) -> Array:
    """`ds_permute`: each active lane sends its value to the lane that its byte address names; 0 elsewhere."""
    waves, lanes = value.shape
    target = ((address >> np.uint32(2)) & np.uint32(group - 1)).astype(np.intp) + (np.arange(lanes) & -group)
    result = np.zeros_like(value)
    active = np.broadcast_to(np.asarray(mask), value.shape)
    rows = np.broadcast_to(np.arange(waves)[:, None], value.shape)
    result[rows[active], target[active]] = value[active]
    return result


def swizzle_pattern(offset: int, lanes: int) -> Array:
    """Source lane of each lane for `ds_swizzle_b32` (ISA "DS_SWIZZLE_B32": quad, rotate and bit-mask modes)."""
    lane = np.arange(lanes)
    group, at = lane & ~31, lane & 31
    if offset & 0xE000 == 0xC000:
        mask = (offset >> 5) & 31
        step = offset & 31 if not offset >> 10 & 1 else -(offset & 31)
        raise_if = offset & 0x1800
        if raise_if:
            raise Unsupported("swizzle mode")
        return group + ((at & mask) | ((at + step) & ~mask & 31))
    if offset & 0xFF00 == 0x8000:
        quad = np.array([offset >> (2 * k) & 3 for k in range(4)])
        return (lane & ~3) + quad[lane & 3]
    if offset & 0x8000:
        raise Unsupported("swizzle mode")
    and_mask, or_mask, xor_mask = offset & 31, (offset >> 5) & 31, (offset >> 10) & 31
    return group + (((at & and_mask) | or_mask) ^ xor_mask)


def swizzle(value: Array, pattern: Array, mask: Mask) -> Array:
    moved = value.take(pattern, axis=1)
    return moved if mask is True else np.where(mask.take(pattern, axis=1), moved, np.uint32(0))


def swap_rows(first: Array, second: Array, width: int) -> None:
    """`v_permlane{16,32}_swap`: odd blocks of the first register change places with even ones of the second."""
    lanes = np.arange(first.shape[1])
    odd, even = (lanes // width) % 2 == 1, (lanes // width) % 2 == 0
    kept = first[:, odd].copy()
    first[:, odd] = second[:, even]
    second[:, even] = kept


# -- emission ---------------------------------------------------------------------------------------------


def _read_first_lane(em: Emitter, inst: Instruction) -> None:
    source = inst.fields["src0"]
    if source < VECTOR:
        value = em.source(source, 32, inst, "any")
    else:
        value = Value(f"first_lane({em.vector(source)}, {em.exec_bits})", "u32")
    em.store_scalar(inst.fields["vdst"], 32, value)


def _read_lane(em: Emitter, inst: Instruction) -> None:
    lane = em.source(inst.fields["src1"], 32, inst, "u32").code
    value = Value(f"read_lane({em.vector(inst.fields['src0'])}, {lane})", "u32")
    em.store_scalar(inst.fields["vdst"], 32, value)


def _write_lane(em: Emitter, inst: Instruction) -> None:
    value = em.source(inst.fields["src0"], 32, inst, "u32").code
    lane = em.source(inst.fields["src1"], 32, inst, "u32").code
    em.emit(f"write_lane({em.vector(inst.fields['vdst'], write=True)}, {lane}, {value})")


def _permute_rows(em: Emitter, inst: Instruction) -> None:
    low, high = (em.source(inst.fields[name], 32, inst, "u32").code for name in ("src1", "src2"))
    fetch, zero = bool(inst.get("opsel") & 1), bool(inst.get("opsel") & 2)
    cross = "permlanex16" in inst.name
    em.emit(
        f"r, pm = permute_rows({em.vector(inst.fields['src0'])}, {low}, {high}, {cross}, {em.mask}, {fetch}, {zero})"
    )
    em.store_vector(inst.fields["vdst"], 32, Value("r", "u32"), "pm")


def _permute_rows_by_lane(em: Emitter, inst: Instruction) -> None:
    fetch, zero = bool(inst.get("opsel") & 1), bool(inst.get("opsel") & 2)
    cross = "permlanex16" in inst.name
    sources = f"{em.vector(inst.fields['src0'])}, {em.vector(inst.fields['src1'])}"
    em.emit(f"r, pm = permute_rows_by_lane({sources}, {cross}, {em.mask}, {fetch}, {zero})")
    em.store_vector(inst.fields["vdst"], 32, Value("r", "u32"), "pm")


def _permute_halves(em: Emitter, inst: Instruction) -> None:
    if em.lanes == 64:
        pattern = em.constant(np.arange(64) ^ 32, "p")
        em.store_vector(
            inst.fields["vdst"], 32, Value(f"{em.vector(inst.fields['src0'])}.take({pattern}, axis=1)", "u32")
        )


def _swap(em: Emitter, inst: Instruction) -> None:
    first, second = inst.fields["vdst"], inst.fields["src0"]
    em.emit(f"r0 = {em.vector(first)}.copy(); r1 = {em.vector(second)}.copy()")
    em.store_vector(first, 32, Value("r1", "u32"))
    em.store_vector(second, 32, Value("r0", "u32"))


def _swap_halves(em: Emitter, inst: Instruction) -> None:
    """Halves are named as in every short encoding: v128 and up are the upper ones."""
    places = [
        ((code - 128, True) if code >= VECTOR + 128 else (code, False))
        for code in (inst.fields["vdst"], inst.fields["src0"])
    ]
    for at, (code, high) in enumerate(places):
        em.emit(f"r{at} = {em.vector(code)}.view(u16)[:, {int(high)}::2].copy()")
    for (code, high), other in zip(places, ("r1", "r0"), strict=True):
        em.store_half(code, high, Value(other, "u16"))


def _swap_rows(em: Emitter, inst: Instruction) -> None:
    width = 32 if "32_swap" in inst.name else 16
    codes = (inst.fields["vdst"], inst.fields["src0"])
    names = [em.vector(code) for code in codes]
    for code in codes:
        em.vector(code, write=True)
    # EXEC is required to be full by the instruction's users; a partial mask is not modelled.
    em.emit(f"if {em.mask} is not True: st.reporter.unsupported({em.site()}, 'row swap with inactive lanes')")
    em.emit(f"swap_rows({names[0]}, {names[1]}, {width})")


def _pull(em: Emitter, inst: Instruction) -> None:
    offset = inst.fields["offset0"] | inst.fields["offset1"] << 8
    group = em.lanes if inst.arch.is_cdna else 32
    address = em.vector(inst.fields["addr"])
    text = f"({address} + u32({offset}))" if offset else address
    call = f"pull({text}, {em.vector(inst.fields['data0'])}, {em.mask}, {group}, {'_fi_' in inst.name})"
    em.store_vector(inst.fields["vdst"], 32, Value(call, "u32"))


def _push(em: Emitter, inst: Instruction) -> None:
    offset = inst.fields["offset0"] | inst.fields["offset1"] << 8
    group = em.lanes if inst.arch.is_cdna else 32
    address = em.vector(inst.fields["addr"])
    text = f"({address} + u32({offset}))" if offset else address
    call = f"push({text}, {em.vector(inst.fields['data0'])}, {em.mask}, {group})"
    em.store_vector(inst.fields["vdst"], 32, Value(call, "u32"))


def _swizzle(em: Emitter, inst: Instruction) -> None:
    pattern = swizzle_pattern(inst.fields["offset0"] | inst.fields["offset1"] << 8, em.lanes)
    call = f"swizzle({em.vector(inst.fields['addr'])}, {em.constant(pattern, 'p')}, {em.mask})"
    em.store_vector(inst.fields["vdst"], 32, Value(call, "u32"))


def _accumulator(code: int) -> int:
    return code + ACCUMULATOR - VECTOR if VECTOR <= code < ACCUMULATOR else code


def _move_accumulator(em: Emitter, inst: Instruction) -> None:
    source, target = inst.fields["src0"], inst.fields["vdst"]
    if "write" not in inst.name:
        source = _accumulator(source)
    if "read" not in inst.name:
        target = _accumulator(target)
    em.store_vector(target, 32, em.source(source, 32, inst, "f32"))


EMITTERS: Final[dict[str, Callable[[Emitter, Instruction], None]]] = {
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_permlane16_b32": _permute_rows,
    "v_permlanex16_b32": _permute_rows,
    "v_permlane16_var_b32": _permute_rows_by_lane,
    "v_permlanex16_var_b32": _permute_rows_by_lane,
    "v_permlane64_b32": _permute_halves,
    "v_permlane16_swap_b32": _swap_rows,
    "v_permlane32_swap_b32": _swap_rows,
    "v_swap_b32": _swap,
    "v_swap_b16": _swap_halves,
    "ds_bpermute_b32": _pull,
    "ds_bpermute_fi_b32": _pull,
    "ds_permute_b32": _push,
    "ds_swizzle_b32": _swizzle,
    "v_accvgpr_read_b32": _move_accumulator,
    "v_accvgpr_read": _move_accumulator,
    "v_accvgpr_write_b32": _move_accumulator,
    "v_accvgpr_write": _move_accumulator,
    "v_accvgpr_mov_b32": _move_accumulator,
}
