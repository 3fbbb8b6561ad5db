"""Data that crosses lanes: read and write of single lanes, permutations, swizzles, DPP, swaps, counts of lanes."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

import numpy as np

from opcode_semantics.rows import CDNA, RDNA, RDNA3, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

SWAP_HALVES = f".long {0x7E000000 | 10 << 17 | 0x66 << 9 | 256 + 128 + 11:#x}"
"""v_swap_b16 v10.l, v11.h (RDNA3 ISA, VOP1 opcode 102), which LLVM 19 cannot spell."""
IDLE = (3, 17)
"""Lanes that EXEC leaves out where a piece says so."""


def _exec_without_idle() -> str:
    mask = 0xFFFFFFFF & ~sum(1 << k for k in IDLE)
    return f"s_mov_b32 exec_lo, {mask:#x}"


def active(s: State) -> Words:
    """Lanes that `_exec_without_idle` leaves on."""
    return ~np.isin(s.lane % s.lanes, IDLE)


def by_lane(s: State, words: Words, source: Words) -> Words:
    """Each item's word from another lane of its wave."""
    waves = s.waves(words)
    return np.take_along_axis(waves, np.broadcast_to(source % s.lanes, waves.shape), 1).ravel()


def _spread(s: State, values: Words) -> Words:
    """One word a wave as a word a lane."""
    return np.repeat(values, s.lanes)


def _single() -> list[Snippet]:
    turned_off = _exec_without_idle()

    def read_lane(s: State, lane: int) -> Words:
        return _spread(s, s.waves(s.a)[:, lane % s.lanes])

    def written(s: State, lane: int) -> Words:
        made = s.waves(s.a).copy()
        made[:, lane % s.lanes] = 0x1234
        return made.ravel()

    return [
        Snippet("v_readfirstlane_b32", "{0} s24, v2\n v_mov_b32 v10, s24", lambda s: (read_lane(s, 0),)),
        Snippet("v_readfirstlane_b32", "s_mov_b32 exec_lo, 0xfff0\n{0} s24, v2\n{full}\nv_mov_b32 v10, s24",
                lambda s: (read_lane(s, 4),), archs=RDNA),
        Snippet("v_readfirstlane_b32", "s_mov_b64 exec, 0xfff0\n{0} s24, v2\n{full}\nv_mov_b32 v10, s24",
                lambda s: (read_lane(s, 4),), archs=(CDNA,)),
        Snippet("v_readlane_b32", "{0} s24, v2, 7\nv_mov_b32 v10, s24", lambda s: (read_lane(s, 7),)),
        Snippet("v_readlane_b32", f"s_mov_b32 s30, 35\n{turned_off}\n{{0}} s24, v2, s30\n{{full}}\nv_mov_b32 v10, s24",
                lambda s: (read_lane(s, 35),)),
        Snippet("v_writelane_b32", f"v_mov_b32 v10, v2\ns_movk_i32 s30, 0x1234\n{turned_off}\n{{0}} v10, s30, 3\n{{full}}",
                lambda s: (written(s, 3),)),
        Snippet("v_writelane_b32", "v_mov_b32 v10, v2\ns_movk_i32 s30, 0x1234\ns_mov_b32 m0, 37\n{0} v10, s30, m0",
                lambda s: (written(s, 37),)),
    ]  # fmt: skip


def _permutes() -> list[Snippet]:
    turned_off = _exec_without_idle()

    def pull(s: State, group: int, off: bool) -> Words:
        at = (s.b >> np.uint32(2)).astype(int) % group + (s.lane % s.lanes) // group * group
        moved = by_lane(s, s.a, s.waves(at))
        if not off:
            return moved
        on = active(s)
        return np.where(on, np.where(by_lane(s, on, s.waves(at)), moved, 0), s.old).astype(np.uint32)

    def push(s: State) -> Words:
        made = np.zeros(len(s.a), np.uint32)
        lane = s.lane
        target = lane // s.lanes * s.lanes + (lane * 5 + 3) % s.lanes
        made[target] = s.a
        return made

    group = lambda s: s.lanes
    move = "v_and_b32 v20, 63, v0\nv_mul_u32_u24 v20, 5, v20\n{add} v20, 3, v20\nv_lshlrev_b32 v20, 2, v20\n{{0}} v10, v20, v2\n{{wl}}"
    cdna_move, rdna_move = (
        move.replace("{add}", add).replace("{{", "{").replace("}}", "}") for add in ("v_add_u32", "v_add_nc_u32")
    )
    return [
        Snippet("ds_bpermute_b32", "{0} v10, v4, v2\n{wl}", lambda s: (pull(s, group(s), False),)),
        Snippet("ds_bpermute_b32", f"{turned_off}\n{{0}} v10, v4, v2\n{{wl}}\n{{full}}", lambda s: (pull(s, group(s), True),)),
        Snippet("ds_bpermute_b32", "{0} v10, v4, v2 offset:8\n{wl}",
                lambda s: (pull(State(s.a, s.b + np.uint32(8), s.x, s.y, s.old, s.data, s.lanes), group(s), False),)),
        Snippet("ds_permute_b32", cdna_move, lambda s: (push(s),), archs=(CDNA,)),
        Snippet("ds_permute_b32", rdna_move, lambda s: (push(s),), archs=RDNA),
    ]  # fmt: skip


def _swizzles() -> list[Snippet]:
    def quad(lane: Words) -> Words:
        return lane // 4 * 4 + np.array([2, 3, 0, 1])[lane % 4]

    def bits(lane: Words, both: int, either: int, flip: int) -> Words:
        return lane // 32 * 32 + (lane % 32 & both | either) ^ flip

    quad_code = 0x8000 | 2 | 3 << 2 | 0 << 4 | 1 << 6
    rows = [(quad_code, quad)]
    for both, either, flip in ((31, 0, 16), (31, 0, 1), (24, 3, 0), (31, 0, 31)):
        rows.append((both | either << 5 | flip << 10, lambda lane, b=both, e=either, f=flip: bits(lane, b, e, f)))
    made = []
    for code, source in rows:
        made.append(Snippet("ds_swizzle_b32", f"{{0}} v10, v2 offset:{code:#x}\n{{wl}}",
                            lambda s, f=source: (by_lane(s, s.a, f(np.arange(s.lanes))),)))  # fmt: skip
    return made


def _rows() -> list[Snippet]:
    """V_PERMLANE: lanes of a row of 16 chosen by nibbles of two scalars, or by a register."""
    low, high = 0x76543210, 0xFEDCBA98
    scrambled = (0x3C5A9F01, 0x2468BD7E)

    def picks(first: int, second: int) -> Words:
        return np.array([(first if k < 8 else second) >> 4 * (k % 8) & 15 for k in range(16)])

    def row(s: State, first: int, second: int, cross: bool) -> Words:
        lane = np.arange(s.lanes)
        source = (lane // 16 * 16 ^ (16 if cross else 0)) + picks(first, second)[lane % 16]
        return by_lane(s, s.a, source)

    def variable(s: State, cross: bool) -> Words:
        lane = s.lane % s.lanes
        source = (lane // 16 * 16 ^ (16 if cross else 0)) + (s.b & np.uint32(15)).astype(int)
        return by_lane(s, s.a, s.waves(source))

    text = "s_mov_b32 s30, {:#x}\ns_mov_b32 s31, {:#x}\n{{0}} v10, v2, s30, s31"
    return [
        Snippet("v_permlane16_b32", text.format(*scrambled), lambda s: (row(s, *scrambled, False),), archs=RDNA),
        Snippet("v_permlanex16_b32", text.format(*scrambled), lambda s: (row(s, *scrambled, True),), archs=RDNA),
        Snippet("v_permlanex16_b32", text.format(low, high), lambda s: (row(s, low, high, True),), archs=RDNA),
        Snippet("v_permlane16_var_b32", "{0} v10, v2, v4", lambda s: (variable(s, False),), archs=(RDNA4,)),
        Snippet("v_permlanex16_var_b32", "{0} v10, v2, v4", lambda s: (variable(s, True),), archs=(RDNA4,)),
        Snippet("v_swap_b32", "v_mov_b32 v10, v2\nv_mov_b32 v11, v4\n{0} v10, v11", lambda s: (s.b, s.a)),
        Snippet("v_swap_b16", "v_mov_b32 v10, v2\nv_mov_b32 v11, v4\n" + SWAP_HALVES, lambda s: (s.a & np.uint32(0xFFFF0000) | s.b >> np.uint32(16), s.b & np.uint32(0xFFFF) | s.a << np.uint32(16)), archs=RDNA),
        Snippet("v_mbcnt_lo_u32_b32", "s_mov_b32 s30, 0xf0f0f0f1\n{0} v10, s30, v2", lambda s: (below(s, 0xF0F0F0F1, 0, s.a),)),
        Snippet("v_mbcnt_lo_u32_b32;v_mbcnt_hi_u32_b32", "{0} v10, -1, 0\n{1} v10, -1, v10", lambda s: ((s.lane % s.lanes).astype(np.uint32),)),
        Snippet("v_mbcnt_hi_u32_b32", "s_mov_b32 s30, 0xf0f0f0f1\n{0} v10, s30, v2", lambda s: (below(s, 0xF0F0F0F1, 32, s.a),)),
    ]  # fmt: skip


def below(s: State, mask: int, first: int, addend: Words) -> Words:
    """Set bits of a mask word for the lanes below, plus a number."""
    counts = [(mask & ((1 << min(max(k - first, 0), 32)) - 1)).bit_count() for k in range(s.lanes)]
    return np.tile(np.array(counts, np.uint32), len(addend) // s.lanes) + addend


def _dpp() -> list[Snippet]:
    """Lane controls of DPP16 and DPP8, with row and bank masks, inactive sources and bound_ctrl."""

    def moved(s: State, source: Words, mask: Words | None = None, keep: bool = False) -> Words:
        valid = source >= 0
        words = by_lane(s, s.a, np.where(valid, source, 0))
        valid = np.tile(valid, len(s.a) // s.lanes)
        words = np.where(valid, words, s.old if keep else np.uint32(0))
        return words if mask is None else np.where(np.tile(mask, len(s.a) // s.lanes), words, s.old)

    def lane(s: State) -> Words:
        return np.arange(s.lanes)

    def shifted(s: State, by: int) -> Words:
        at = lane(s) % 16 + by
        return np.where((at >= 0) & (at < 16), lane(s) + by, -1)

    end = " row_mask:0xf bank_mask:0xf"
    on = {CDNA: " bound_ctrl:0", RDNA3: " bound_ctrl:1"}
    made = []
    for archs in ((CDNA,), RDNA):
        zero = on[CDNA] if archs == (CDNA,) else on[RDNA3]
        rows = [
            (f"quad_perm:[1,0,3,2]{end}{zero}", lambda s: moved(s, lane(s) ^ 1)),
            (f"row_shl:1{end}{zero}", lambda s: moved(s, shifted(s, 1))),
            (f"row_shr:3{end}", lambda s: moved(s, shifted(s, -3), keep=True)),
            (f"row_ror:5{end}{zero}", lambda s: moved(s, lane(s) // 16 * 16 + (lane(s) - 5) % 16)),
            (f"row_mirror{end}{zero}", lambda s: moved(s, lane(s) ^ 15)),
            (f"row_half_mirror{end}{zero}", lambda s: moved(s, lane(s) ^ 7)),
            (f"quad_perm:[2,3,0,1] row_mask:0x5 bank_mask:0x9{zero}", lambda s: moved(
                s, lane(s) ^ 2, np.isin(lane(s) // 16, (0, 2)) & np.isin(lane(s) % 16 // 4, (0, 3)))),
        ]  # fmt: skip
        if archs == (CDNA,):
            rows += [
                (
                    f"row_bcast:15{end}",
                    lambda s: moved(s, np.where(lane(s) >= 16, lane(s) // 16 * 16 - 1, -1), keep=True),
                ),
                (f"row_bcast:31{end}", lambda s: moved(s, np.where(lane(s) >= 32, 31, -1), keep=True)),
                (f"wave_shr:1{end}{zero}", lambda s: moved(s, lane(s) - 1)),
                (f"wave_ror:1{end}{zero}", lambda s: moved(s, (lane(s) - 1) % s.lanes)),
                (f"row_newbcast:6{end}{zero}", lambda s: moved(s, lane(s) // 16 * 16 + 6)),
            ]
        else:
            rows += [
                (f"row_share:6{end}{zero}", lambda s: moved(s, lane(s) // 16 * 16 + 6)),
                (f"row_xmask:9{end}{zero}", lambda s: moved(s, lane(s) ^ 9)),
                ("dpp8:[7,6,5,4,3,2,1,0]", lambda s: moved(s, lane(s) ^ 7)),
                (
                    "dpp8:[1,1,4,0,7,2,3,5]",
                    lambda s: moved(s, lane(s) // 8 * 8 + np.array([1, 1, 4, 0, 7, 2, 3, 5])[lane(s) % 8]),
                ),
            ]
        made += [
            Snippet("v_mov_b32", f"{{0}}_dpp v10, v2 {text}", lambda s, f=f: (f(s),), archs=archs) for text, f in rows
        ]
        made.append(Snippet("v_mov_b32", f"{_exec_without_idle()}\n{{0}}_dpp v10, v2 quad_perm:[3,2,1,0]{end}{zero}\n{{full}}",
                            lambda s: (_partly(s, lane(s) ^ 3),), archs=archs))  # fmt: skip
    return made


def _partly(s: State, source: Words) -> Words:
    """Inactive lanes give 0 to those that read them, and keep their own word."""
    on = active(s)
    given = np.where(by_lane(s, on, source), by_lane(s, s.a, source), 0)
    return np.where(on, given, s.old).astype(np.uint32)


def snippets() -> list[Snippet]:
    return [*_single(), *_permutes(), *_swizzles(), *_rows(), *_dpp()]
