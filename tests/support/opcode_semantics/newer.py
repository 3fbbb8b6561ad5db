"""Operations of GFX950, which the assembler of the tests (LLVM 19) does not know: encoded here by hand.

Opcode numbers: CDNA4 ISA, "VOP3" and "VOP1"; the same ones LLVM 22 emits.
"""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

import ml_dtypes
import numpy as np

from opcode_semantics import packed, reals
from opcode_semantics.patterns import LANES
from opcode_semantics.rows import CDNA
from opcode_semantics.snippets import Snippet, State, Words

VGPR = 256


def vop3(op: int, target: int, *sources: int, op_sel: int = 0, absolute: int = 0, omod: int = 0, neg: int = 0) -> str:
    """The two words of a VOP3 encoding of GFX9; sources are source codes (256 + n for vector registers)."""
    a, b, c = (*sources, 0, 0)[:3]
    low = 0xD0000000 | op << 16 | op_sel << 11 | absolute << 8 | target
    return f".long {low:#x}, {a | b << 9 | c << 18 | omod << 27 | neg << 29:#x}"


def vop1(op: int, target: int, source: int) -> str:
    return f".long {0x7E000000 | target << 17 | op << 9 | source:#x}"


def by_table(a: Words, b: Words, c: Words, table: int, width: int) -> Words:
    """Bit k of the result is the table's bit number (a_k b_k c_k), read as a number."""
    made = np.zeros(a.shape, np.uint64)
    for k in range(width):
        row = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)
        made |= (np.uint64(table) >> row.astype(np.uint64) & np.uint64(1)) << np.uint64(k)
    return made.astype(np.uint32)


def _bits() -> list[Snippet]:
    made = []
    for table in (0x1D, 0xE4, 0x96, 0x00, 0xFF, 0x80, 0x01, 0x53):
        parts = {"neg": table & 7, "absolute": table >> 3 & 7, "omod": table >> 6}
        made.append(Snippet("v_bitop3_b32", vop3(0x234, 10, VGPR + 2, VGPR + 4, VGPR + 6, **parts),
                            lambda s, t=table: (by_table(s.a, s.b, s.x, t, 32),), archs=(CDNA,)))  # fmt: skip
        for op_sel in (0, 0b1011, 0b0100):
            made.append(Snippet("v_bitop3_b16", vop3(0x233, 10, VGPR + 2, VGPR + 4, VGPR + 6, op_sel=op_sel, **parts),
                                lambda s, t=table, o=op_sel: (_half(s, t, o),), archs=(CDNA,)))  # fmt: skip
    made.append(Snippet("v_bitop3_b32", "s_mov_b32 s30, 0x12345678\n" + vop3(0x234, 10, 30, VGPR + 4, 128 + 21, absolute=1, neg=5),
                        lambda s: (by_table(np.full_like(s.a, 0x12345678), s.b, np.full_like(s.a, 21), 0x0D, 32),), archs=(CDNA,)))  # fmt: skip
    return made


def _half(s: State, table: int, op_sel: int) -> Words:
    """The other half of the destination stays."""
    a, b, c = (w >> np.uint32(16 * (op_sel >> k & 1)) & np.uint32(0xFFFF) for k, w in enumerate((s.a, s.b, s.x)))
    value = by_table(a, b, c, table, 16)
    if op_sel >> 3 & 1:
        return s.old & np.uint32(0xFFFF) | value << np.uint32(16)
    return s.old & np.uint32(0xFFFF0000) | value


def f(x: Words) -> Words:
    return x.view(np.float32)


def signed(x: Words) -> Words:
    return x.view(np.int32).astype(np.int64)


def shifted(s: State, low: int, high: int) -> Words:
    """V_ASHR_PK: two words shifted down by c, saturated to 8 bits, packed into the low 16."""
    amount = (s.x & np.uint32(31)).astype(np.int64)
    parts = [np.clip(signed(w) >> amount, low, high) & 0xFF for w in (s.a, s.b)]
    return (parts[0] | parts[1] << 8).astype(np.uint32)


def _numbers() -> list[Snippet]:
    brain = lambda x: f(x).astype(ml_dtypes.bfloat16).view(np.uint16)
    half = lambda x: f(x).astype(np.float16).view(np.uint16)
    x, y = VGPR + 6, VGPR + 8
    return [
        Snippet("v_cvt_pk_bf16_f32", vop3(0x268, 10, x, y), lambda s: (packed.joined(brain(s.x), brain(s.y), np.uint16),), archs=(CDNA,), kind="pkb"),
        Snippet("v_cvt_pk_bf16_f32", vop3(0x268, 10, x, y, neg=1, absolute=2), lambda s: (packed.joined(brain(s.x ^ np.uint32(1 << 31)), brain(s.y & np.uint32(0x7FFFFFFF)), np.uint16),), archs=(CDNA,), kind="pkb"),
        Snippet("v_cvt_pk_f16_f32", vop3(0x267, 10, x, y), lambda s: (packed.joined(half(s.x), half(s.y), np.uint16),), archs=(CDNA,), kind="pk16"),
        Snippet("v_minimum3_f32", vop3(0x2A8, 10, x, y, VGPR + 4), lambda s: (reals.minimum(reals.minimum(f(s.x), f(s.y)), f(s.b)),), archs=(CDNA,), kind="f32"),
        Snippet("v_maximum3_f32", vop3(0x2A9, 10, x, y, VGPR + 4), lambda s: (reals.maximum(reals.maximum(f(s.x), f(s.y)), f(s.b)),), archs=(CDNA,), kind="f32"),
        Snippet("v_ashr_pk_i8_i32", vop3(0x265, 10, VGPR + 2, VGPR + 4, VGPR + 6), lambda s: (shifted(s, -128, 127) | s.old & np.uint32(0xFFFF0000),), archs=(CDNA,)),
        Snippet("v_ashr_pk_u8_i32", vop3(0x266, 10, VGPR + 2, VGPR + 4, VGPR + 6), lambda s: (shifted(s, 0, 255) | s.old & np.uint32(0xFFFF0000),), archs=(CDNA,)),
    ]  # fmt: skip


def _swaps() -> list[Snippet]:
    """V_PERMLANE_SWAP: odd blocks of the first register change places with the even ones of the second."""
    made = []
    for width, op in ((32, 0x5A), (16, 0x59)):

        def meaning(s: State, width: int = width) -> tuple[Words, ...]:
            a, b = s.waves(s.a).copy(), s.waves(s.b).copy()
            for low in range(0, s.lanes, 2 * width):
                upper = a[:, low + width : low + 2 * width].copy()
                a[:, low + width : low + 2 * width] = b[:, low : low + width]
                b[:, low : low + width] = upper
            return a.ravel(), b.ravel()

        text = f"v_mov_b32 v10, v2\nv_mov_b32 v11, v4\n{vop1(op, 10, VGPR + 11)}"
        made.append(Snippet(f"v_permlane{width}_swap_b32", text, meaning, archs=(CDNA,)))
    return made


def transposed(s: State) -> tuple[Words, ...]:
    """DS_READ_B64_TR_B16: in each block of 16 lanes, lane t's element e is column t%4 of lane 4e + t/4."""
    halves = np.stack([s.a, s.b], -1).view(np.uint16).reshape(-1, 16, 4)
    made = np.empty_like(halves)
    for t in range(16):
        for e in range(4):
            made[:, t, e] = halves[:, 4 * e + t // 4, t % 4]
    words = made.reshape(LANES, 4).view(np.uint32)
    return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])


def _reads() -> list[Snippet]:
    """DS opcode 0xE3; the address is v20, the result v[10:11]."""
    text = f"v_mov_b32 v22, v2\nv_mov_b32 v23, v4\nv_lshlrev_b32 v20, 3, v0\n{{1}} v20, v[22:23]\n{{wl}}\n.long {0xD8000000 | 0xE3 << 17:#x}, {20 | 10 << 24:#x}\n{{wl}}"
    return [Snippet("ds_read_b64_tr_b16;ds_write_b64", text, transposed, archs=(CDNA,))]


def _dots() -> list[Snippet]:
    """Two bf16 products added to f32 (VOP3P opcode 0x1A): moderate numbers, so that every order of rounding agrees
    to a unit in the last place."""
    calm = "s_mov_b32 s30, 0x00ff00ff\ns_mov_b32 s31, 0x3f803f80\nv_mov_b32 v20, s31\nv_and_or_b32 v22, v2, s30, v20\nv_and_or_b32 v23, v4, s30, v20\n"

    def meaning(s: State) -> tuple[Words, ...]:
        a, b = (w & np.uint32(0x00FF00FF) | np.uint32(0x3F803F80) for w in (s.a, s.b))
        return (packed.dot_brain(a, b, np.full(LANES, 2.0, np.float32)).view(np.uint32),)

    word = f".long {0xD39A4000 | 10:#x}, {256 + 22 | (256 + 23) << 9 | 244 << 18 | 3 << 27:#x}"
    return [Snippet("v_dot2_f32_bf16", calm + word, meaning, archs=(CDNA,), kind="near")]


def _packed() -> list[Snippet]:
    """VOP3P opcodes 0x1B and 0x1C: the least and the greatest of three, any NaN winning, in both halves."""
    made = []
    for name, op, function in (("minimum3", 0x1B, reals.minimum), ("maximum3", 0x1C, reals.maximum)):
        three = packed.halfwise(lambda a, b, c, f=function: f(f(a, b), c), np.float16)
        word = f".long {0xD3804000 | op << 16 | 10:#x}, {256 + 2 | (256 + 4) << 9 | (256 + 6) << 18 | 3 << 27:#x}"
        made.append(
            Snippet(f"v_pk_{name}_f16", word, lambda s, f=three: (f(s.a, s.b, s.x),), archs=(CDNA,), kind="pk16")
        )
    return made


def snippets() -> list[Snippet]:
    return [*_bits(), *_numbers(), *_swaps(), *_reads(), *_dots(), *_packed()]
