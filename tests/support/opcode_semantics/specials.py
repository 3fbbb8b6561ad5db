"""Sequences whose parts make sense together: division, scalar transcendental functions, spills of scalars to lanes."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opcode_semantics.patterns import LANES, VIEW, edges
from opcode_semantics.reals import wide
from opcode_semantics.rows import CDNA, RDNA, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

DIVIDE_32 = """v_div_scale_f32 v20, {m}, v45, v45, v44
v_div_scale_f32 v21, {vcc}, v44, v45, v44
v_rcp_f32 v22, v20
v_fma_f32 v23, -v20, v22, 1.0
v_fma_f32 v22, v23, v22, v22
v_mul_f32 v28, v21, v22
v_fma_f32 v29, -v20, v28, v21
v_fma_f32 v28, v29, v22, v28
v_fma_f32 v29, -v20, v28, v21
v_div_fmas_f32 v29, v29, v22, v28
v_div_fixup_f32 v10, v29, v45, v44"""
"""The sequence that compilers emit for an f32 quotient v44 / v45 (LLVM User Guide, `fdiv` with denormals)."""

DIVIDE_64 = """v_div_scale_f64 v[20:21], {m}, v[42:43], v[42:43], v[40:41]
v_rcp_f64 v[22:23], v[20:21]
v_fma_f64 v[28:29], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[28:29], v[22:23]
v_fma_f64 v[28:29], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[28:29], v[22:23]
v_div_scale_f64 v[28:29], {vcc}, v[40:41], v[42:43], v[40:41]
v_mul_f64 v[30:31], v[28:29], v[22:23]
v_fma_f64 v[20:21], -v[20:21], v[30:31], v[28:29]
v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[30:31]
v_div_fixup_f64 v[10:11], v[20:21], v[42:43], v[40:41]"""


def operands(bits: int) -> tuple[Words, Words]:
    """Numerators and denominators of every exponent, corner cases among them: quotients overflow, underflow, are
    denormal, need scaling up and down."""
    rng = np.random.default_rng(bits)
    kind = f"f{bits}"
    corner = np.array(edges(kind), f"u{bits // 8}")
    made = []
    for _ in range(2):
        words = rng.integers(0, 1 << 63, LANES, dtype=np.uint64) << np.uint64(1)
        words = (words >> np.uint64(64 - bits)).astype(corner.dtype)
        made.append(np.where(rng.random(LANES) < 0.25, corner[rng.integers(0, 16, LANES)], words).view(VIEW[kind]))
    return made[0], made[1]


def quotient_32(s: State) -> tuple[Words, ...]:
    x, y = operands(32)
    return ((wide(x) / wide(y)).astype(np.float32).view(np.uint32),)


def inputs_32() -> dict[int, Words]:
    x, y = operands(32)
    return {44: x.view(np.uint32), 45: y.view(np.uint32)}


def quotient_64(s: State) -> tuple[Words, ...]:
    x, y = operands(64)
    words = (x / y).view(np.uint32).reshape(-1, 2)
    return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])


def inputs_64() -> dict[int, Words]:
    x, y = (w.view(np.uint32).reshape(-1, 2) for w in operands(64))
    return {40: x[:, 0], 41: x[:, 1], 42: y[:, 0], 43: y[:, 1]}


def _scalar_functions() -> list[Snippet]:
    """GFX12: the first lane's number of each wave, through a scalar register."""
    table: dict[str, Callable[[Any], Any]] = {
        "exp": np.exp2, "log": np.log2, "rcp": lambda x: 1 / x, "rsq": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt,
    }  # fmt: skip
    made = []
    for name, function in table.items():

        def meaning(s: State, f: Callable[[Any], Any] = function) -> tuple[Words, ...]:
            first = np.repeat(s.waves(s.x)[:, 5], s.lanes).view(np.float32)
            return (f(wide(first)).astype(np.float32).view(np.uint32),)

        def half(s: State, f: Callable[[Any], Any] = function) -> tuple[Words, ...]:
            first = np.repeat(s.waves(s.x)[:, 5], s.lanes) & np.uint32(0xFFFF)
            value = f(first.astype(np.uint16).view(np.float16).astype(np.float64)).astype(np.float16)
            return (value.view(np.uint16).astype(np.uint32),)

        made.append(
            Snippet(
                f"v_s_{name}_f32",
                "v_readlane_b32 s30, v6, 5\n{0} s31, s30\nv_mov_b32 v10, s31",
                meaning,
                archs=(RDNA4,),
                kind="near",
            )
        )
        text = "v_readlane_b32 s30, v6, 5\n{0} s31, s30\nv_mov_b32 v10, s31\nv_and_b32 v10, 0xffff, v10"
        made.append(Snippet(f"v_s_{name}_f16", text, half, archs=(RDNA4,), kind="near16"))
    return made


def _spills() -> list[Snippet]:
    """Scalars put into lanes of a register that nothing else wrote, and taken out again."""
    rows = "\n".join(f"s_mov_b32 s{44 + k}, {0x1000 + k:#x}\n{{0}} v60, s{44 + k}, {k * 3}" for k in range(8))
    back = "\n".join(f"{{1}} s{52 + k}, v60, {k * 3}" for k in range(8))
    total = "\n".join(f"s_add_i32 s30, s30, s{52 + k}" for k in range(8))
    text = f"{rows}\n{back}\ns_mov_b32 s30, 0\n{total}\nv_mov_b32 v10, s30"
    wanted = lambda s: (np.full(LANES, 8 * 0x1000 + 28, np.uint32),)
    return [
        Snippet("v_writelane_b32;v_readlane_b32", text, wanted, archs=(CDNA,)),
        Snippet("v_writelane_b32;v_readlane_b32;s_add_i32 s_add_co_i32", text.replace("s_add_i32", "{2}"), wanted, archs=RDNA),
    ]  # fmt: skip


def snippets() -> list[Snippet]:
    return [
        Snippet("v_div_scale_f32;v_div_fmas_f32;v_div_fixup_f32", DIVIDE_32, quotient_32, kind="f32", inputs=inputs_32),
        Snippet("v_div_scale_f64;v_div_fmas_f64;v_div_fixup_f64", DIVIDE_64, quotient_64, kind="f64", inputs=inputs_64),
        *_scalar_functions(),
        *_spills(),
    ]
