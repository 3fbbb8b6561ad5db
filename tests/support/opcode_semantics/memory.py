"""Loads and stores of every width and address space, scalar loads, and single loads into halves of registers."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from opcode_semantics.patterns import LANES
from opcode_semantics.rows import CDNA, RDNA, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

SENTINEL: Final = 0xDEADBEEF
"""What output planes hold before anything is stored."""


@dataclass(frozen=True)
class Load:
    """Names after `load_` (CDNA; RDNA; DS of CDNA; DS of RDNA), bytes, and what the word or half becomes."""

    names: tuple[str, str, str, str]
    size: int
    signed: bool = False
    half: int | None = None


LOADS: Final = (
    Load(("ubyte", "u8", "u8", "u8"), 1), Load(("sbyte", "i8", "i8", "i8"), 1, True),
    Load(("ushort", "u16", "u16", "u16"), 2), Load(("sshort", "i16", "i16", "i16"), 2, True),
    Load(("dword", "b32", "b32", "b32"), 4), Load(("dwordx2", "b64", "b64", "b64"), 8),
    Load(("dwordx3", "b96", "b96", "b96"), 12), Load(("dwordx4", "b128", "b128", "b128"), 16),
    Load(("ubyte_d16", "d16_u8", "u8_d16", "u8_d16"), 1, False, 0), Load(("ubyte_d16_hi", "d16_hi_u8", "u8_d16_hi", "u8_d16_hi"), 1, False, 1),
    Load(("sbyte_d16", "d16_i8", "i8_d16", "i8_d16"), 1, True, 0), Load(("sbyte_d16_hi", "d16_hi_i8", "i8_d16_hi", "i8_d16_hi"), 1, True, 1),
    Load(("short_d16", "d16_b16", "u16_d16", "u16_d16"), 2, False, 0), Load(("short_d16_hi", "d16_hi_b16", "u16_d16_hi", "u16_d16_hi"), 2, False, 1),
)  # fmt: skip
STORES: Final = (
    Load(("byte", "b8", "b8", "b8"), 1), Load(("short", "b16", "b16", "b16"), 2), Load(("dword", "b32", "b32", "b32"), 4),
    Load(("dwordx2", "b64", "b64", "b64"), 8), Load(("dwordx3", "b96", "b96", "b96"), 12), Load(("dwordx4", "b128", "b128", "b128"), 16),
    Load(("byte_d16_hi", "d16_hi_b8", "b8_d16_hi", "b8_d16_hi"), 1, False, 1), Load(("short_d16_hi", "d16_hi_b16", "b16_d16_hi", "b16_d16_hi"), 2, False, 1),
)  # fmt: skip


def loaded(s: State, load: Load, offsets: Words, source: Words | None = None) -> tuple[Words, ...]:
    """The result registers of a load at these byte offsets of the data (or other bytes)."""
    data = s.data if source is None else source
    raw = np.stack([data[offsets + k] for k in range(load.size)], -1)
    if load.size >= 4:
        words = np.ascontiguousarray(raw).view(np.uint32)
        return tuple(np.ascontiguousarray(words[:, k]) for k in range(load.size // 4))
    value = np.ascontiguousarray(raw).view(f"{'i' if load.signed else 'u'}{load.size}")[:, 0]
    if load.half is None:
        return (value.astype(np.int64).astype(np.uint32),)
    half = (value.astype(np.int64) & 0xFFFF).astype(np.uint32)
    kept = s.old & np.uint32(0xFFFF0000 if load.half == 0 else 0xFFFF)
    return (kept | half << np.uint32(16 * load.half),)


def target(load: Load) -> str:
    words = max(1, load.size // 4)
    return "v10" if words == 1 else f"v[10:{9 + words}]"


def immediate(load: Load) -> int:
    """An offset that keeps the access aligned."""
    return 5 * load.size if load.size in (1, 2, 4, 8) else 4 * load.size


def _loads() -> list[Snippet]:
    made = []
    for load in LOADS:
        at = immediate(load)
        if load.size == 12:
            at = 12
        names = " ".join(f"{{}}_load_{name}" for name in dict.fromkeys(load.names[:2]))
        plain = lambda s, f=load, n=at: loaded(s, f, 16 * s.lane + n)
        d = target(load)
        made += [
            Snippet(names.replace("{}", "global"), f"{{0}} {d}, v25, s[36:37] offset:{at}\n{{wm}}", plain),
            Snippet(names.replace("{}", "global"), f"{{0}} {d}, v[26:27], off offset:{at}\n{{wm}}", plain),
            Snippet(names.replace("{}", "flat"), f"{{0}} {d}, v[26:27] offset:{at}\n{{wf}}", plain),
            Snippet(names.replace("{}", "buffer"), f"{{0}} {d}, v25, s[40:43], {{zero}} offen offset:{at}\n{{wm}}", plain),
            Snippet(names.replace("{}", "buffer"), f"s_movk_i32 s30, 0x10\n{{0}} {d}, v25, s[40:43], s30 offen offset:{at}\n{{wm}}",
                    lambda s, f=load, n=at: loaded(s, f, 16 * s.lane + n + 16)),
            Snippet(names.replace("{}", "buffer"), f"s_movk_i32 s30, 0x20\n{{0}} {d}, off, s[40:43], s30 offset:{at}\n{{wm}}",
                    lambda s, f=load, n=at: loaded(s, f, np.full(LANES, 32 + n))),
            _scratch_load(load, names, d),
        ]  # fmt: skip
    # Negative immediates of vector addresses, and lanes that EXEC leaves out.
    made += [
        Snippet("global_load_dword global_load_b32", "{0} v10, v25, s[36:37] offset:-4\n{wm}", negative, archs=(CDNA, *RDNA)),
        Snippet("global_load_dword global_load_b32", "s_mov_b32 exec_lo, 0xffff7ffe\n{0} v10, v25, s[36:37]\n{wm}\n{full}",
                lambda s: (np.where(np.isin(s.lane % s.lanes, (0, 15)), s.old, loaded(s, LOADS[4], 16 * s.lane)[0]),)),
    ]  # fmt: skip
    return made


def negative(s: State) -> tuple[Words, ...]:
    """The word before each item's: before the data lie the two planes of old words."""
    before = np.concatenate([(s.old.astype(np.uint64) >> np.uint64(0)).astype(np.uint32).view(np.uint8), s.data])
    high = OLD_HIGH.view(np.uint8)
    joined = np.concatenate([high[-4:], s.data])
    assert len(before)
    return loaded(s, LOADS[4], 16 * s.lane, joined)


OLD_HIGH: Final = (
    ((np.arange(LANES, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(0x5A5AC3C3A5A53C3C))
    >> np.uint64(32)
).astype(np.uint32)
"""The plane before the data: upper halves of the old values."""


def _scratch_load(load: Load, names: str, d: str) -> Snippet:
    """Sixteen bytes of private memory written first, read at an offset."""
    offset = {1: 3, 2: 6, 4: 8, 8: 8, 12: 0, 16: 0}[load.size]
    store = f"scratch_store_{STORES[5].names[0]} scratch_store_{STORES[5].names[1]}"
    text = (
        "v_mov_b32 v20, v2\nv_mov_b32 v21, v4\nv_mov_b32 v22, v6\nv_mov_b32 v23, v8\n{1} off, v[20:23], off offset:16\n{ws}\n"
        f"{{0}} {d}, off, off offset:{16 + offset}\n{{wm}}"
    )
    return Snippet(
        f"{names.replace('{}', 'scratch')};{store}", text, lambda s: loaded(s, load, 16 * s.lane + offset, private(s))
    )


def private(s: State) -> Words:
    return np.ascontiguousarray(np.stack([s.a, s.b, s.x, s.y], -1)).view(np.uint8).ravel()


def stored(s: State, store: Load, offset: int, stride: int) -> Words:
    """An output plane after each item has stored its words (v20 on: a, b, x, y) at its stride plus an offset."""
    plane = np.full(LANES * stride // 4, SENTINEL, np.uint32).view(np.uint8)
    words = private(s).reshape(LANES, 16)
    first = 2 if store.half else 0
    for k in range(store.size):
        plane[s.lane * stride + offset + k] = words[:, first + k]
    return plane.view(np.uint32)


def reread(s: State, store: Load, offset: int) -> tuple[Words, ...]:
    """Four words of each item's 16 bytes of -1 after it has stored there."""
    plane = stored(s, store, offset, 16).view(np.uint8).copy()
    untouched = np.ones(16, bool)
    untouched[offset : offset + store.size] = False
    plane.reshape(LANES, 16)[:, untouched] = 0xFF
    words = plane.view(np.uint32).reshape(LANES, 4)
    return tuple(np.ascontiguousarray(words[:, k]) for k in range(4))


def _stores() -> list[Snippet]:
    made = []
    fill = "v_mov_b32 v20, v2\nv_mov_b32 v21, v4\nv_mov_b32 v22, v6\nv_mov_b32 v23, v8\n"
    for store in STORES:
        words = max(1, store.size // 4)
        source = "v20" if words == 1 else f"v[20:{19 + words}]"
        names = " ".join(f"{{}}_store_{name}" for name in dict.fromkeys(store.names[:2]))
        offset = {1: 3, 2: 6, 4: 4, 8: 8, 12: 4, 16: 0}[store.size]
        value = lambda s, f=store, n=offset: tuple(stored(s, f, n, 16).reshape(4, LANES))
        pointer = "v_mov_b32 v29, s39\nv_add_co_u32 v28, {vcc}, s38, v25\n{1} v29, {vcc}, 0, v29, {vcc}\n"
        carry = "v_addc_co_u32 v_add_co_ci_u32"
        describe = "s_mov_b32 s44, s38\ns_mov_b32 s45, s39\ns_movk_i32 s46, 0x1000\ns_mov_b32 s47, s43\n"
        made += [
            Snippet(names.replace("{}", "global"), f"{fill}{{0}} v25, {source}, s[38:39] offset:{offset}\n{{ws}}", value, 4),
            Snippet(f"{names.replace('{}', 'global')};{carry}", f"{fill}{pointer}{{0}} v[28:29], {source}, off offset:{offset}\n{{ws}}", value, 4),
            Snippet(f"{names.replace('{}', 'flat')};{carry}", f"{fill}{pointer}{{0}} v[28:29], {source} offset:{offset}\n{{ws}}\n{{wl}}", value, 4),
            Snippet(names.replace("{}", "buffer"), f"{fill}{describe}{{0}} {source}, v25, s[44:47], {{zero}} offen offset:{offset}\n{{ws}}", value, 4),
            _scratch_store(store, names, source, fill),
        ]  # fmt: skip
    return made


def _scratch_store(store: Load, names: str, source: str, fill: str) -> Snippet:
    """Sixteen known bytes of private memory, one store among them, and all of them read back."""
    offset = {1: 3, 2: 6, 4: 4, 8: 8, 12: 4, 16: 0}[store.size]
    whole = f"scratch_store_{STORES[5].names[0]} scratch_store_{STORES[5].names[1]}"
    load = f"scratch_load_{LOADS[7].names[0]} scratch_load_{LOADS[7].names[1]}"
    first = "v_mov_b32 v28, -1\nv_mov_b32 v29, -1\nv_mov_b32 v30, -1\nv_mov_b32 v31, -1\n{1} off, v[28:31], off\n"
    text = f"{fill}{first}{{0}} off, {source}, off offset:{offset}\n{{ws}}\n{{2}} v[10:13], off, off\n{{wm}}"

    def meaning(s: State) -> tuple[Words, ...]:
        return reread(s, store, offset)

    return Snippet(f"{names.replace('{}', 'scratch')};{whole};{load}", text, meaning)


def _scalar_loads() -> list[Snippet]:
    """Words (and on GFX12 bytes and halves) at an immediate, and at an immediate plus a register."""
    made = []
    sizes = (
        (1, "dword", "b32"),
        (2, "dwordx2", "b64"),
        (4, "dwordx4", "b128"),
        (8, "dwordx8", "b256"),
        (16, "dwordx16", "b512"),
        (3, "-", "b96"),
    )
    for count, cdna, rdna in sizes:
        registers = "s52" if count == 1 else f"s[52:{51 + count}]"
        for stem, base in (("s_load", "s[36:37]"), ("s_buffer_load", "s[40:43]")):
            for where, offset in (("0x40", 64), ("s30", 132), *((("s30 offset:0x40", 196),) if "load" in stem else ())):
                last = f"s{51 + count}"
                text = f"s_movk_i32 s30, 0x84\n{{0}} {registers}, {base}, {where}\n{{wk}}\nv_mov_b32 v10, s52\nv_mov_b32 v11, {last}"
                meaning = lambda s, n=count, at=offset: tuple(
                    np.full(LANES, s.data[at + 4 * k : at + 4 * k + 4].view(np.uint32)[0]) for k in (0, n - 1)
                )
                made.append(Snippet(f"{stem}_{cdna} {stem}_{rdna}", text, meaning))
    for name, size, kind in (("u8", 1, "u1"), ("i8", 1, "i1"), ("u16", 2, "u2"), ("i16", 2, "i2")):
        for stem, base in (("s_load", "s[36:37]"), ("s_buffer_load", "s[40:43]")):
            made.append(Snippet(f"{stem}_{name}", f"{{0}} s52, {base}, 0x46\n{{wk}}\nv_mov_b32 v10, s52",
                                lambda s, n=size, k=kind: (np.full(LANES, s.data[70 : 70 + n].view(k)[0]).astype(np.int64).astype(np.uint32),),
                                archs=(RDNA4,)))  # fmt: skip
    return made


def snippets() -> list[Snippet]:
    return [*_loads(), *_stores(), *_scalar_loads()]


__all__ = ["Callable", "snippets"]
