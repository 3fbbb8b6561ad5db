"""Loads and stores of workgroup memory: every width, halves of registers, and pairs of addresses."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from typing import Final

from opcode_semantics.memory import LOADS, STORES, Load, loaded, private, reread, target
from opcode_semantics.snippets import Snippet, State, Words

_FILL: Final = "v_mov_b32 v20, v2\nv_mov_b32 v21, v4\nv_mov_b32 v22, v6\nv_mov_b32 v23, v8\n"
_WRITE: Final = "ds_write_b128 ds_store_b128"
_READ: Final = "ds_read_b128 ds_load_b128"


def _names(stem: tuple[str, str], load: Load) -> str:
    return f"ds_{stem[0]}_{load.names[2]} ds_{stem[1]}_{load.names[3]}"


def _loads() -> list[Snippet]:
    made = []
    for load in LOADS:
        offset = {1: 3, 2: 6, 4: 8, 8: 8, 12: 0, 16: 0}[load.size]
        text = f"{_FILL}{{1}} v25, v[20:23] offset:32\n{{wl}}\n{{0}} {target(load)}, v25 offset:{32 + offset}\n{{wl}}\n{{barrier}}"
        made.append(Snippet(f"{_names(('read', 'load'), load)};{_WRITE}", text,
                            lambda s, f=load, n=offset: loaded(s, f, 16 * s.lane + n, private(s))))  # fmt: skip
    return made


def _stores() -> list[Snippet]:
    made = []
    for store in STORES:
        words = max(1, store.size // 4)
        source = "v20" if words == 1 else f"v[20:{19 + words}]"
        offset = {1: 3, 2: 6, 4: 4, 8: 8, 12: 0, 16: 0}[store.size]
        first = "v_mov_b32 v28, -1\nv_mov_b32 v29, -1\nv_mov_b32 v30, -1\nv_mov_b32 v31, -1\n{1} v25, v[28:31]\n"
        text = f"{_FILL}{first}{{0}} v25, {source} offset:{offset}\n{{2}} v[10:13], v25\n{{wl}}"

        def meaning(s: State, store: Load = store, offset: int = offset) -> tuple[Words, ...]:
            return reread(s, store, offset)

        made.append(Snippet(f"{_names(('write', 'store'), store)};{_WRITE};{_READ}", text, meaning))
    return made


def _pairs() -> list[Snippet]:
    """Two elements at two offsets, which count elements or blocks of 64 elements. Slots are the waves' own."""
    made = []
    for bits, size in (("b32", 4), ("b64", 8)):
        two = {"": (2, 5), "64": (1, 2)}
        for stride, (first, second) in two.items():
            unit = size * (64 if stride else 1)
            write = f"ds_write2{'st64' if stride else ''}_{bits} ds_store_2addr{'_stride64' if stride else ''}_{bits}"
            read = f"ds_read2{'st64' if stride else ''}_{bits} ds_load_2addr{'_stride64' if stride else ''}_{bits}"
            single = f"ds_read_{bits} ds_load_{bits}"
            values = ("v20", "v22") if size == 4 else ("v[20:21]", "v[22:23]")
            # Strided pairs are 256 or 512 bytes apart: items step by one element within a block, waves by 4 KiB.
            where = "v_lshlrev_b32 v24, {shift}, v0\nv_lshrrev_b32 v28, 5, v0\nv_lshlrev_b32 v28, {wave}, v28\nv_and_b32 v24, {mask}, v24\nv_or_b32 v24, v24, v28\n"
            if stride:
                address = where.format(shift=2 if size == 4 else 3, wave=11, mask="0x7c" if size == 4 else "0xf8")
            else:
                address = "v_lshlrev_b32 v24, 6, v0\n"
            far = [f"offset:{unit * k}" for k in (first, second)]
            words = size // 4
            outs = ("v10", "v11") if size == 4 else ("v[10:11]", "v[12:13]")
            stores = (
                f"{{barrier}}\n{_FILL}{address}{{0}} v24, {values[0]}, {values[1]} offset0:{first} offset1:{second}\n"
            )
            meaning = lambda s, n=words: (s.a, s.x) if n == 1 else (s.a, s.b, s.x, s.y)
            text = f"{stores}{{1}} {outs[0]}, v24 {far[0]}\n{{1}} {outs[1]}, v24 {far[1]}\n{{wl}}\n{{barrier}}"
            made.append(Snippet(f"{write};{single}", text, meaning))
            whole = f"v[10:{9 + 2 * words}]"
            text = f"{stores}{{1}} {whole}, v24 offset0:{second} offset1:{first}\n{{wl}}\n{{barrier}}"
            turned = lambda s, n=words: (s.x, s.a) if n == 1 else (s.x, s.y, s.a, s.b)
            made.append(Snippet(f"{write};{read}", text, turned))
    return made


def snippets() -> list[Snippet]:
    return [*_loads(), *_stores(), *_pairs()]
