"""Scalar operations and comparisons one by one, against Python's integers and floats."""

# ruff: noqa: E501 (rows of tables of operations)

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator_compile import assemble, lanes_of

from specgen.devices.amdgpu_emulator import EmulatedKernel

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def s32(x: int) -> int:
    return (x & M32) - ((x & 1 << 31) << 1)


def s64(x: int) -> int:
    return (x & M64) - ((x & 1 << 63) << 1)


def carry(x: int) -> tuple[int, bool]:
    return x & M32, x > M32 or x < 0


def overflow(x: int) -> tuple[int, bool]:
    return x & M32, not -(1 << 31) <= x < 1 << 31


def flag(x: int) -> tuple[int, bool]:
    return x & M32, x & M32 != 0


def flag64(x: int) -> tuple[int, bool]:
    return x & M64, x & M64 != 0


def first_difference(x: int) -> int:
    """Position from the top of the first bit unlike the sign; -1 for none."""
    bits = f"{x & M32:032b}"
    return bits.find("1" if bits[0] == "0" else "0") & M32


def field(x: int, where: int, signed: bool) -> int:
    offset, width = where & 31, where >> 16 & 127
    value = (s32(x) if signed else x & M32) >> offset & ((1 << width) - 1)
    if signed and width and value >> (width - 1):
        value -= 1 << width
    return value & M32


Result = int | tuple[int, bool]
BINARY_32: dict[str, Callable[[int, int], Result]] = {
    "s_add_u32": lambda a, b: carry(a + b),
    "s_sub_u32": lambda a, b: (a - b & M32, b > a),
    "s_add_i32": lambda a, b: overflow(s32(a) + s32(b)),
    "s_sub_i32": lambda a, b: overflow(s32(a) - s32(b)),
    "s_min_i32": lambda a, b: (min(s32(a), s32(b)) & M32, s32(a) < s32(b)),
    "s_max_u32": lambda a, b: (max(a, b), a >= b),
    "s_and_b32": lambda a, b: flag(a & b),
    "s_or_b32": lambda a, b: flag(a | b),
    "s_xor_b32": lambda a, b: flag(a ^ b),
    "s_nand_b32": lambda a, b: flag(~(a & b)),
    "s_nor_b32": lambda a, b: flag(~(a | b)),
    "s_xnor_b32": lambda a, b: flag(~(a ^ b)),
    "s_lshl_b32": lambda a, b: flag(a << (b & 31)),
    "s_lshr_b32": lambda a, b: flag(a >> (b & 31)),
    "s_ashr_i32": lambda a, b: flag(s32(a) >> (b & 31)),
    "s_lshl2_add_u32": lambda a, b: carry((a << 2) + b),
    "s_mul_i32": lambda a, b: a * b & M32,
    "s_mul_hi_u32": lambda a, b: a * b >> 32,
    "s_mul_hi_i32": lambda a, b: s32(a) * s32(b) >> 32 & M32,
    "s_absdiff_i32": lambda a, b: flag(abs(s32(a - b))),
    "s_bfm_b32": lambda a, b: ((1 << (a & 31)) - 1) << (b & 31) & M32,
    "s_bfe_u32": lambda a, b: flag(field(a, b & 0x1F001F, False)),
    "s_bfe_i32": lambda a, b: flag(field(a, b & 0x1F001F, True)),
    "s_pack_ll_b32_b16": lambda a, b: (a & 0xFFFF) | (b & 0xFFFF) << 16,
    "s_pack_hh_b32_b16": lambda a, b: a >> 16 | b >> 16 << 16,
}
UNARY_32: dict[str, Callable[[int], Result]] = {
    "s_not_b32": lambda a: flag(~a),
    "s_brev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "s_abs_i32": lambda a: flag(abs(s32(a))),
    "s_sext_i32_i8": lambda a: (a & 0x7F) - (a & 0x80) & M32,
    "s_sext_i32_i16": lambda a: (a & 0x7FFF) - (a & 0x8000) & M32,
    "s_bcnt1_i32_b32": lambda a: flag(bin(a).count("1")),
    "s_bcnt0_i32_b32": lambda a: flag(32 - bin(a).count("1")),
}
UNARY_NAMES = {
    "s_ff1_i32_b32": ("s_ctz_i32_b32", lambda a: (a & -a).bit_length() - 1 & M32),
    "s_flbit_i32_b32": ("s_clz_i32_u32", lambda a: 32 - a.bit_length() if a else M32),
    "s_flbit_i32": ("s_cls_i32", first_difference),
}
"""Name on GFX9 -> (name on GFX11+, meaning)."""
BINARY_64: dict[str, Callable[[int, int], Result]] = {
    "s_and_b64": lambda a, b: flag64(a & b),
    "s_or_b64": lambda a, b: flag64(a | b),
    "s_xor_b64": lambda a, b: flag64(a ^ b),
    "s_nand_b64": lambda a, b: flag64(~(a & b)),
}
SHIFT_64: dict[str, Callable[[int, int], Result]] = {
    "s_lshl_b64": lambda a, b: flag64(a << (b & 63)),
    "s_lshr_b64": lambda a, b: flag64(a >> (b & 63)),
    "s_ashr_i64": lambda a, b: flag64(s64(a) >> (b & 63)),
}
UNARY_64: dict[str, Callable[[int], Result]] = {
    "s_not_b64": lambda a: flag64(~a),
    "s_brev_b64": lambda a: int(f"{a:064b}"[::-1], 2),
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    **{f"s_cmp_{n}_i32": lambda a, b, f=f: f(s32(a), s32(b)) for n, f in
       (("eq", operator.eq), ("lg", operator.ne), ("gt", operator.gt), ("ge", operator.ge), ("lt", operator.lt), ("le", operator.le))},
    **{f"s_cmp_{n}_u32": f for n, f in (("gt", operator.gt), ("ge", operator.ge), ("lt", operator.lt), ("le", operator.le))},
    "s_bitcmp0_b32": lambda a, b: not a >> (b & 31) & 1,
    "s_bitcmp1_b32": lambda a, b: bool(a >> (b & 31) & 1),
}  # fmt: skip

VALUES = [0, 1, 5, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00120003, 0x12345678, 0xFEDCBA98, 31, 0x80001234]


def run(cpu: str, lines: list[str], count: int) -> np.ndarray:
    """Run scalar code that leaves results in s32, s33, ...; one kernel, one wave."""
    family = "gfx9" if cpu.startswith("gfx9") else cpu[:5]
    load = "s_load_dwordx2" if family == "gfx9" else "s_load_b64"
    store = "global_store_dword" if family == "gfx9" else "global_store_b32"
    wait = "s_wait_kmcnt 0" if family == "gfx12" else "s_waitcnt lgkmcnt(0)"
    body = [f"  {load} s[4:5], s[0:1], 0x0", "  v_mov_b32 v1, 0", f"  {wait}", *(f"  {line}" for line in lines)]
    hsaco = assemble("\n".join(body).replace("STORE", store), cpu, lanes_of(cpu), (("out", 8),), 0, lanes_of(cpu))
    done = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(count, np.uint32)}, (1, 1, 1))
    assert done.findings == ()
    return done.outputs["out"]


def store(register: str, at: int) -> list[str]:
    """Lines that put a scalar register at a word of the output."""
    return [f"v_mov_b32 v2, {register}", f"v_mov_b32 v1, {4 * at}", "STORE v1, v2, s[4:5]"]


def constant(register: int, value: int) -> str:
    return f"s_mov_b32 s{register}, {value:#x}"


def pairs() -> list[tuple[int, int]]:
    return [(a, VALUES[(i + k) % len(VALUES)]) for i, a in enumerate(VALUES) for k in (0, 1, 4)]


def check(cpu: str, name: str, calls: list[tuple[list[int], Result]], wide: int, operands: str) -> None:
    """Run an operation on each list of input words; compare the result words and, when given, SCC."""
    lines, expected = [], []
    for words, result in calls:
        value, scc = result if isinstance(result, tuple) else (result, None)
        lines += [constant(10 + k, word) for k, word in enumerate(words)]
        lines.append(f"{name} {operands}")
        lines += ["s_cselect_b32 s22, 1, 0"]
        for k in range(wide):
            lines += store(f"s{20 + k}", len(expected))
            expected.append(value >> (32 * k) & M32)
        if scc is not None:
            lines += store("s22", len(expected))
            expected.append(int(scc))
    got = run(cpu, lines, len(expected))
    assert got.tolist() == expected, name


CPUS = ("gfx942", "gfx1151")


@pytest.mark.parametrize("cpu", CPUS)
def test_operations_on_words(cpu: str) -> None:
    for name, meaning in BINARY_32.items():
        mask = 0x1F001F if name.startswith("s_bfe") else M32
        check(cpu, name, [([a, b & mask], meaning(a, b & mask)) for a, b in pairs()], 1, "s20, s10, s11")
    unary: dict[str, Callable[[int], Any]] = dict(UNARY_32)
    for name, (other, meaning_of) in UNARY_NAMES.items():
        unary[name if cpu.startswith("gfx9") else other] = meaning_of
    for name, single in unary.items():
        check(cpu, name, [([a], single(a)) for a in VALUES], 1, "s20, s10")


@pytest.mark.parametrize("cpu", CPUS)
def test_operations_on_pairs(cpu: str) -> None:
    wide = [(a | b << 32, b | a << 32) for a, b in pairs()]
    for name, meaning in BINARY_64.items():
        calls = [([a & M32, a >> 32, b & M32, b >> 32], meaning(a, b)) for a, b in wide]
        check(cpu, name, calls, 2, "s[20:21], s[10:11], s[12:13]")
    for name, meaning in SHIFT_64.items():
        calls = [([a & M32, a >> 32, b & M32], meaning(a, b & M32)) for a, b in wide]
        check(cpu, name, calls, 2, "s[20:21], s[10:11], s12")
    for name, single in UNARY_64.items():
        check(cpu, name, [([a & M32, a >> 32], single(a)) for a, _ in wide], 2, "s[20:21], s[10:11]")


@pytest.mark.parametrize("cpu", CPUS)
def test_comparisons_of_words(cpu: str) -> None:
    for name, meaning in COMPARE.items():
        lines, expected = [], []
        for a, b in pairs():
            lines += [constant(10, a), constant(11, b), f"{name} s10, s11", "s_cselect_b32 s22, 1, 0"]
            lines += store("s22", len(expected))
            expected.append(int(meaning(a, b)))
        assert run(cpu, lines, len(expected)).tolist() == expected, name


def ordered(f: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    return lambda a, b: not (math.isnan(a) or math.isnan(b)) and f(a, b)


FLOAT_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt, "lg": ordered(operator.ne), "ge": operator.ge,
    "o": ordered(lambda a, b: True), "u": lambda a, b: math.isnan(a) or math.isnan(b),
    "nge": lambda a, b: not a >= b, "nlg": lambda a, b: not ordered(operator.ne)(a, b), "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b, "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b,
}  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
def test_comparisons_of_floats(cpu: str) -> None:
    values = [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan]
    bits = {x: int(np.float32(x).view(np.uint32)) for x in values}
    wide = lanes_of(cpu) == 64
    for name, meaning in FLOAT_COMPARE.items():
        lines, expected = [], []
        for a in values:
            for b in values:
                mask = "s[12:13]" if wide else "s12"
                lines += [
                    f"v_mov_b32 v4, {bits[a]:#x}",
                    f"v_mov_b32 v5, {bits[b]:#x}",
                    f"v_cmp_{name}_f32 {mask}, v4, v5",
                ]
                lines += store("s12", len(expected))
                expected.append(M32 if meaning(a, b) else 0)
        assert run(cpu, lines, len(expected)).tolist() == expected, name
