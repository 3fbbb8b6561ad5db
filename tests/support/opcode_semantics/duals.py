"""Dual issue (VOPD): every operation as the first and as the second half, and halves that exchange registers."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from opcode_semantics import reals
from opcode_semantics.rows import RDNA, RDNA3, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

Meaning = Callable[[Words, Words, Words, Words], Any]


def f(x: Words) -> Words:
    return x.view(np.float32)


def word(x: Any) -> Words:
    return np.asarray(x).astype(np.float32).view(np.uint32)


def real(function: Callable[[Words, Words], Any]) -> Meaning:
    return lambda a, b, old, bit: word(function(f(a), f(b)))


MEANINGS: Final[dict[str, tuple[Meaning, str, tuple[str, ...]]]] = {
    "fmac_f32": (lambda a, b, old, bit: word(reals.fused(f(a), f(b), f(old))), "{d}, {a}, {b}", RDNA),
    "fmaak_f32": (lambda a, b, old, bit: word(reals.fused(f(a), f(b), np.full_like(f(a), 1.5))), "{d}, {a}, {b}, 0x3fc00000", RDNA),
    "fmamk_f32": (lambda a, b, old, bit: word(reals.fused(f(a), np.full_like(f(a), 1.5), f(b))), "{d}, {a}, 0x3fc00000, {b}", RDNA),
    "mul_f32": (real(lambda a, b: a * b), "{d}, {a}, {b}", RDNA),
    "add_f32": (real(lambda a, b: a + b), "{d}, {a}, {b}", RDNA),
    "sub_f32": (real(lambda a, b: a - b), "{d}, {a}, {b}", RDNA),
    "subrev_f32": (real(lambda a, b: b - a), "{d}, {a}, {b}", RDNA),
    "mul_dx9_zero_f32": (real(lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), a * b)), "{d}, {a}, {b}", RDNA),
    "mov_b32": (lambda a, b, old, bit: a, "{d}, {a}", RDNA),
    "cndmask_b32": (lambda a, b, old, bit: np.where(bit, b, a), "{d}, {a}, {b}", RDNA),
    "max_f32": (real(reals.most), "{d}, {a}, {b}", (RDNA3,)),
    "min_f32": (real(reals.least), "{d}, {a}, {b}", (RDNA3,)),
    "max_num_f32": (real(reals.most_number), "{d}, {a}, {b}", (RDNA4,)),
    "min_num_f32": (real(reals.least_number), "{d}, {a}, {b}", (RDNA4,)),
    "add_nc_u32": (lambda a, b, old, bit: a + b, "{d}, {a}, {b}", RDNA),
    "lshlrev_b32": (lambda a, b, old, bit: b << (a & np.uint32(31)), "{d}, {a}, {b}", RDNA),
    "and_b32": (lambda a, b, old, bit: a & b, "{d}, {a}, {b}", RDNA),
}  # fmt: skip
"""Operation -> meaning of (a, b, old destination, VCC bit), operands as text, architectures."""
SECOND_ONLY: Final = frozenset({"add_nc_u32", "lshlrev_b32", "and_b32"})


def _pair(first: str, second: str) -> Snippet:
    """v10 = first(v2, v8), v11 = second(v6, v4): the banks of the four sources differ."""
    texts = []
    for name, registers in ((first, ("v10", "v2", "v8")), (second, ("v11", "v7", "v5"))):
        _, operands, _ = MEANINGS[name]
        texts.append(f"v_dual_{name} " + operands.format(d=registers[0], a=registers[1], b=registers[2]))
    archs = tuple(a for a in MEANINGS[first][2] if a in MEANINGS[second][2])

    def expected(s: State) -> tuple[Words, ...]:
        bit = s.lane % 3 == 0
        one = MEANINGS[first][0](s.a, s.y, s.old, bit)
        two = MEANINGS[second][0](s.x, s.b, s.old, bit)
        return one, two

    select = "v_mul_u32_u24 v20, 0xaaab, v0\nv_lshrrev_b32 v20, 17, v20\nv_mul_u32_u24 v20, 3, v20\nv_cmp_eq_u32 vcc_lo, v20, v0\n"
    head = select + "v_mov_b32 v5, v4\nv_mov_b32 v7, v6\n"
    names = f"v_dual_{first};v_dual_{second}"
    return Snippet(names, head + " :: ".join(texts), expected, archs=archs, kind="f32")


def snippets() -> list[Snippet]:
    """Each operation first with one after it, and second after one before it."""
    names = list(MEANINGS)
    made = []
    for at, name in enumerate(names):
        archs = MEANINGS[name][2]
        others = [n for n in names if set(MEANINGS[n][2]) >= set(archs) and n != name]
        fits = lambda a, b: not {"fmaak_f32", "fmamk_f32"} >= {a, b} or a == b
        if name not in SECOND_ONLY:
            second = next(n for n in others[at % len(others) :] + others if fits(name, n))
            made.append(_pair(name, second))
        first = next(n for n in others[(at * 5 + 1) % len(others) :] + others if n not in SECOND_ONLY and fits(n, name))
        made.append(_pair(first, name))
    made += [
        Snippet("v_dual_mov_b32", "v_mov_b32 v20, v2\nv_mov_b32 v21, v4\nv_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20\nv_mov_b32 v10, v20\nv_mov_b32 v11, v21",
                lambda s: (s.b, s.a), archs=RDNA),
        Snippet("v_dual_add_f32;v_dual_mul_f32", "v_mov_b32 v20, v6\nv_mov_b32 v21, v8\nv_dual_add_f32 v20, v20, v21 :: v_dual_mul_f32 v21, v21, v20\nv_mov_b32 v10, v20\nv_mov_b32 v11, v21",
                lambda s: (word(f(s.x) + f(s.y)), word(f(s.y) * f(s.x))), archs=RDNA, kind="f32"),
        Snippet("v_dual_mul_f32;v_dual_mov_b32", "s_mov_b32 s30, 0x40200000\nv_dual_mul_f32 v10, s30, v8 :: v_dual_mov_b32 v11, 2.0",
                lambda s: (word(np.float32(2.5) * f(s.y)), np.full(len(s.a), 0x40000000, np.uint32)), archs=RDNA, kind="f32"),
    ]  # fmt: skip
    return made
