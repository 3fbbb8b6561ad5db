"""Scalar operations: SOP1, SOP2, SOPC, SOPK. Every result also shows SCC, which is set to a known value before."""

# ruff: noqa: B008, E501, E731 (rows of tables, and their short meanings)

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from emulator_compile import assemble, lanes_of

from opcode_semantics import reals
from opcode_semantics.patterns import edges
from opcode_semantics.rows import CDNA, CPU, RDNA, RDNA3, RDNA4
from opcode_semantics.words import leading, reverse, s32, signs, trailing
from specgen.devices.amdgpu_emulator import EmulatedKernel

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
WAVES: Final = 64
"""Waves of the program, each with operands of its own."""


@dataclass(frozen=True)
class Scalar:
    """`meaning(a, b, scc[, old])` gives the result and SCC after it (None: as before). `kinds` are the widths of the
    sources (`32`, `64`, `f32`, `f16`); `width` that of the result, 0 for none."""

    names: str
    kinds: tuple[str, ...]
    width: int
    meaning: Callable[..., Any]
    text: str = ""
    archs: tuple[str, ...] = (CDNA, *RDNA)
    real: str = ""
    """Result kind when it is a float: NaN then equals NaN."""
    old: bool = False

    def name(self, arch: str, known: frozenset[str]) -> str | None:
        if arch not in self.archs:
            return None
        return next((name for name in self.names.split() if name in known), None)


def s64(x: int) -> int:
    return (x & M64) - ((x & 1 << 63) << 1)


def signed_overflow(x: int) -> tuple[int, int]:
    return x & M32, int(not -(1 << 31) <= x < 1 << 31)


def flagged(x: int, width: int = 32) -> tuple[int, int]:
    x &= (1 << width) - 1
    return x, int(x != 0)


def field(x: int, where: int, width: int, signed: bool) -> int:
    """S_BFE: offset in the low bits, width from bit 16 on."""
    offset, count = where & (width - 1), where >> 16 & 127
    value = (x - ((x >> (width - 1)) << width) if signed else x) >> offset
    if count == 0:
        return 0
    value &= (1 << count) - 1
    return value - (1 << count) if signed and value >> (count - 1) else value


def doubled(x: int) -> int:
    return sum(3 << 2 * k for k in range(32) if x >> k & 1)


def _two(names: str, width: int, meaning: Callable[..., Any], shift: bool = False, **rest: Any) -> Scalar:
    kinds = (str(width), "32" if shift else str(width))
    return Scalar(names, kinds, width, meaning, **rest)


def _arithmetic() -> list[Scalar]:
    low = lambda x, scc: (x & M32, int(not 0 <= x <= M32))
    made = [
        _two("s_add_u32 s_add_co_u32", 32, lambda a, b, scc: low(a + b, scc)),
        _two("s_sub_u32 s_sub_co_u32", 32, lambda a, b, scc: low(a - b, scc)),
        _two("s_addc_u32 s_add_co_ci_u32", 32, lambda a, b, scc: low(a + b + scc, scc)),
        _two("s_subb_u32 s_sub_co_ci_u32", 32, lambda a, b, scc: low(a - b - scc, scc)),
        _two("s_add_i32 s_add_co_i32", 32, lambda a, b, scc: signed_overflow(s32(a) + s32(b))),
        _two("s_sub_i32 s_sub_co_i32", 32, lambda a, b, scc: signed_overflow(s32(a) - s32(b))),
        _two("s_mul_i32", 32, lambda a, b, scc: (a * b & M32, None)),
        _two("s_mul_hi_u32", 32, lambda a, b, scc: (a * b >> 32, None)),
        _two("s_mul_hi_i32", 32, lambda a, b, scc: (s32(a) * s32(b) >> 32 & M32, None)),
        _two("s_add_nc_u64", 64, lambda a, b, scc: (a + b & M64, None)),
        _two("s_sub_nc_u64", 64, lambda a, b, scc: (a - b & M64, None)),
        _two("s_mul_u64", 64, lambda a, b, scc: (a * b & M64, None)),
        _two("s_absdiff_i32", 32, lambda a, b, scc: flagged(abs(s32(s32(a) - s32(b))))),
        _two("s_min_i32", 32, lambda a, b, scc: (min(s32(a), s32(b)) & M32, int(s32(a) < s32(b)))),
        _two("s_max_i32", 32, lambda a, b, scc: (max(s32(a), s32(b)) & M32, int(s32(a) >= s32(b)))),
        _two("s_min_u32", 32, lambda a, b, scc: (min(a, b), int(a < b))),
        _two("s_max_u32", 32, lambda a, b, scc: (max(a, b), int(a >= b))),
        _two("s_cselect_b32", 32, lambda a, b, scc: (a if scc else b, None)),
        _two("s_cselect_b64", 64, lambda a, b, scc: (a if scc else b, None)),
        _two("s_pack_ll_b32_b16", 32, lambda a, b, scc: (a & 0xFFFF | (b & 0xFFFF) << 16, None)),
        _two("s_pack_lh_b32_b16", 32, lambda a, b, scc: (a & 0xFFFF | b >> 16 << 16, None)),
        _two("s_pack_hh_b32_b16", 32, lambda a, b, scc: (a >> 16 | b >> 16 << 16, None)),
        _two("s_pack_hl_b32_b16", 32, lambda a, b, scc: (a >> 16 | (b & 0xFFFF) << 16, None)),
    ]
    for n in range(1, 5):
        made.append(_two(f"s_lshl{n}_add_u32", 32, lambda a, b, scc, n=n: low((a << n) + b, scc)))
    return made


def _bitwise() -> list[Scalar]:
    made = []
    table: tuple[tuple[str, Callable[[int, int], int]], ...] = (
        ("s_and_{}", lambda a, b: a & b), ("s_or_{}", lambda a, b: a | b), ("s_xor_{}", lambda a, b: a ^ b),
        ("s_andn2_{} s_and_not1_{}", lambda a, b: a & ~b), ("s_orn2_{} s_or_not1_{}", lambda a, b: a | ~b),
        ("s_nand_{}", lambda a, b: ~(a & b)), ("s_nor_{}", lambda a, b: ~(a | b)), ("s_xnor_{}", lambda a, b: ~(a ^ b)),
    )  # fmt: skip
    for width in (32, 64):
        top, word = width - 1, f"b{width}"
        for names, meaning in table:
            made.append(
                _two(names.replace("{}", word), width, lambda a, b, scc, f=meaning, w=width: flagged(f(a, b), w))
            )
        signed = s32 if width == 32 else s64
        made += [
            _two(f"s_lshl_{word}", width, lambda a, b, scc, w=width, t=top: flagged(a << (b & t), w), True),
            _two(f"s_lshr_{word}", width, lambda a, b, scc, w=width, t=top: flagged(a >> (b & t), w), True),
            _two(
                f"s_ashr_i{width}", width, lambda a, b, scc, w=width, t=top, s=signed: flagged(s(a) >> (b & t), w), True
            ),
            Scalar(
                f"s_bfm_{word}",
                ("32", "32"),
                width,
                lambda a, b, scc, w=width, t=top: (((1 << (a & t)) - 1 << (b & t)) & (1 << w) - 1, None),
            ),
            _two(f"s_bfe_u{width}", width, lambda a, b, scc, w=width: flagged(field(a, b, w, False), w), True),
            _two(f"s_bfe_i{width}", width, lambda a, b, scc, w=width: flagged(field(a, b, w, True), w), True),
        ]
    return made


def _single() -> list[Scalar]:
    def one(names: str, width: int, result: int, meaning: Callable[..., Any], **rest: Any) -> Scalar:
        return Scalar(names, (str(width),), result, meaning, **rest)

    made = [
        one("s_sext_i32_i8", 32, 32, lambda a, scc: ((a & 0x7F) - (a & 0x80) & M32, None)),
        one("s_sext_i32_i16", 32, 32, lambda a, scc: ((a & 0x7FFF) - (a & 0x8000) & M32, None)),
        one("s_abs_i32", 32, 32, lambda a, scc: flagged(abs(s32(a)))),
        one("s_flbit_i32 s_cls_i32", 32, 32, lambda a, scc: (signs(a) & M32, None)),
        one("s_flbit_i32_i64 s_cls_i32_i64", 64, 32, lambda a, scc: (signs(a, 64) & M32, None)),
        one("s_bitreplicate_b64_b32", 32, 64, lambda a, scc: (doubled(a), None)),
    ]
    for width in (32, 64):
        word, full = f"b{width}", (1 << width) - 1
        made += [
            one(f"s_mov_{word}", width, width, lambda a, scc: (a, None)),
            one(f"s_cmov_{word}", width, width, lambda a, scc, old: (a if scc else old, None), old=True),
            one(f"s_not_{word}", width, width, lambda a, scc, w=width: flagged(~a, w)),
            one(f"s_brev_{word}", width, width, lambda a, scc, w=width: (reverse(a, w), None)),
            one(f"s_bcnt0_i32_{word}", width, 32, lambda a, scc, w=width: flagged(w - a.bit_count())),
            one(f"s_bcnt1_i32_{word}", width, 32, lambda a, scc: flagged(a.bit_count())),
            one(f"s_ff0_i32_{word}", width, 32, lambda a, scc, f=full: (trailing(a ^ f) & M32, None)),
            one(f"s_ff1_i32_{word} s_ctz_i32_{word}", width, 32, lambda a, scc: (trailing(a) & M32, None)),
            one(
                f"s_flbit_i32_{word} s_clz_i32_u{width}", width, 32, lambda a, scc, w=width: (leading(a, w) & M32, None)
            ),
            Scalar(
                f"s_bitset0_{word}",
                ("32",),
                width,
                lambda a, scc, old, t=width - 1: (old & ~(1 << (a & t)), None),
                old=True,
            ),
            Scalar(
                f"s_bitset1_{word}",
                ("32",),
                width,
                lambda a, scc, old, t=width - 1: (old | 1 << (a & t), None),
                old=True,
            ),
        ]
    return made


def _comparisons() -> list[Scalar]:
    import operator as o

    table = {"eq": o.eq, "lg": o.ne, "gt": o.gt, "ge": o.ge, "lt": o.lt, "le": o.le}
    made = []
    for name, meaning in table.items():
        made += [
            Scalar(f"s_cmp_{name}_i32", ("32", "32"), 0, lambda a, b, scc, f=meaning: (0, int(f(s32(a), s32(b))))),
            Scalar(f"s_cmp_{name}_u32", ("32", "32"), 0, lambda a, b, scc, f=meaning: (0, int(f(a, b)))),
        ]
        for number in (5, -7, 0x1234):
            low = number & 0xFFFF
            made += [
                Scalar(
                    f"s_cmpk_{name}_i32",
                    ("32",),
                    0,
                    lambda a, scc, f=meaning, n=number: (0, int(f(s32(a), n))),
                    f"{{op}} {{a}}, {number}",
                ),
                Scalar(
                    f"s_cmpk_{name}_u32",
                    ("32",),
                    0,
                    lambda a, scc, f=meaning, n=low: (0, int(f(a, n))),
                    f"{{op}} {{a}}, {low:#x}",
                ),
            ]
    for name in ("eq", "lg"):
        made.append(Scalar(f"s_cmp_{name}_u64", ("64", "64"), 0, lambda a, b, scc, f=table[name]: (0, int(f(a, b)))))
    for width in (32, 64):
        for wanted in (0, 1):
            made.append(Scalar(f"s_bitcmp{wanted}_b{width}", (str(width), "32"), 0,
                               lambda a, b, scc, t=width - 1, w=wanted: (0, int(a >> (b & t) & 1 == w))))  # fmt: skip
    return made


def _constants() -> list[Scalar]:
    made = []
    for n in (5, -7, 0x7FFF):
        made += [
            Scalar("s_movk_i32", (), 32, lambda scc, n=n: (n & M32, None), f"{{op}} {{d}}, {n}"),
            Scalar(
                "s_cmovk_i32",
                (),
                32,
                lambda scc, old, n=n: (n & M32 if scc else old, None),
                f"{{op}} {{d}}, {n}",
                old=True,
            ),
            Scalar(
                "s_addk_i32 s_addk_co_i32",
                (),
                32,
                lambda scc, old, n=n: signed_overflow(s32(old) + n),
                f"{{op}} {{d}}, {n}",
                old=True,
            ),
            Scalar("s_mulk_i32", (), 32, lambda scc, old, n=n: (old * n & M32, None), f"{{op}} {{d}}, {n}", old=True),
        ]
    return made


def _float_values(kind: str) -> Any:
    return {"f32": (np.uint32, np.float32), "f16": (np.uint16, np.float16)}[kind]


def real(function: Callable[..., Any], kind: str, result: str = "") -> Callable[..., Any]:
    """A function of arrays as one of bits; SCC stays."""

    def apply(*bits: int) -> tuple[int, None]:
        store, number = _float_values(kind)
        arrays = [np.array([x], np.uint64).astype(store).view(number) for x in bits]
        with np.errstate(all="ignore"):
            made = np.asarray(function(*arrays))
        target = {"f32": np.float32, "f16": np.float16, "i32": np.int64, "u32": np.int64, "b32": np.uint32}[
            result or kind
        ]
        made = made.astype(target)
        word = int(made.view({8: np.uint64, 4: np.uint32, 2: np.uint16}[made.itemsize])[0])
        return word & M32, None

    return apply


def _floating() -> list[Scalar]:
    """Scalar floating point; only GFX11.5 and GFX12 have it."""
    from opcode_semantics.compares import FLOATS

    made: list[Scalar] = []
    two = {
        "add": lambda a, b: reals.wide(a) + reals.wide(b), "sub": lambda a, b: reals.wide(a) - reals.wide(b),
        "mul": lambda a, b: reals.wide(a) * reals.wide(b),
    }  # fmt: skip
    for kind in ("f32", "f16"):
        pair = (kind, kind)
        table = {f"s_{name}_{kind}": (f, RDNA) for name, f in two.items()}
        table |= {f"s_min_{kind}": (reals.least, (RDNA3,)), f"s_max_{kind}": (reals.most, (RDNA3,))}
        table |= {
            f"s_min_num_{kind}": (reals.least_number, (RDNA4,)),
            f"s_max_num_{kind}": (reals.most_number, (RDNA4,)),
        }
        table |= {f"s_minimum_{kind}": (reals.minimum, (RDNA4,)), f"s_maximum_{kind}": (reals.maximum, (RDNA4,))}
        for name, (function, archs) in table.items():
            made.append(
                Scalar(name, pair, 32, lambda a, b, scc, f=real(function, kind): f(a, b), real=kind, archs=archs)
            )
        made.append(
            Scalar(
                f"s_fmac_{kind}",
                pair,
                32,
                lambda a, b, scc, old, f=real(reals.fused, kind): f(a, b, old),
                real=kind,
                old=True,
                archs=RDNA,
            )
        )
        for name, function in (
            ("floor", np.floor),
            ("ceil", np.ceil),
            ("trunc", np.trunc),
            ("rndne", reals.nearest_even),
        ):
            made.append(
                Scalar(
                    f"s_{name}_{kind}", (kind,), 32, lambda a, scc, f=real(function, kind): f(a), real=kind, archs=RDNA
                )
            )
        for name, compare in FLOATS.items():
            if name not in ("f", "tru t"):
                made.append(
                    Scalar(
                        f"s_cmp_{name}_{kind}",
                        pair,
                        0,
                        lambda a, b, scc, f=real(compare, kind, "b32"): (0, f(a, b)[0]),
                        archs=RDNA,
                    )
                )
    convert = real(lambda x: x.astype(np.float16), "f32", "f16")
    made += [
        Scalar("s_cvt_f32_i32", ("32",), 32, lambda a, scc: (int(np.float32(s32(a)).view(np.uint32)), None), archs=RDNA),
        Scalar("s_cvt_f32_u32", ("32",), 32, lambda a, scc: (int(np.float32(a).view(np.uint32)), None), archs=RDNA),
        Scalar("s_cvt_i32_f32", ("f32",), 32, lambda a, scc, f=real(reals.saturate(*reals.I32), "f32", "i32"): f(a), archs=RDNA),
        Scalar("s_cvt_u32_f32", ("f32",), 32, lambda a, scc, f=real(reals.saturate(*reals.U32), "f32", "u32"): f(a), archs=RDNA),
        Scalar("s_cvt_f16_f32", ("f32",), 32, lambda a, scc, f=convert: f(a), real="f16", archs=RDNA),
        Scalar("s_cvt_f32_f16", ("f16",), 32, lambda a, scc, f=real(lambda x: x.astype(np.float32), "f16", "f32"): f(a), real="f32", archs=RDNA),
        Scalar("s_cvt_hi_f32_f16", ("32",), 32, lambda a, scc, f=real(lambda x: x.astype(np.float32), "f16", "f32"): f(a >> 16), real="f32", archs=RDNA),
        Scalar("s_fmamk_f32", ("f32", "f32"), 32, lambda a, b, scc, f=real(lambda x, y: reals.fused(x, np.full_like(x, 1.5), y), "f32"): f(a, b),
               "{op} {d}, {a}, 0x3fc00000, {b}", real="f32", archs=RDNA),
        Scalar("s_fmaak_f32", ("f32", "f32"), 32, lambda a, b, scc, f=real(lambda x, y: reals.fused(x, y, np.full_like(x, 1.5)), "f32"): f(a, b),
               "{op} {d}, {a}, {b}, 0x3fc00000", real="f32", archs=RDNA),
        Scalar("s_cvt_pk_rtz_f16_f32", ("f32", "f32"), 32,
               lambda a, b, scc, f=real(reals.half_toward_zero, "f32", "f16"): (f(a)[0] | f(b)[0] << 16, None), real="pk16", archs=RDNA),
    ]  # fmt: skip
    return made


def table() -> list[Scalar]:
    return [*_arithmetic(), *_bitwise(), *_single(), *_comparisons(), *_constants(), *_floating()]


# -- the program ------------------------------------------------------------------------------------------


def operands(row: Scalar, index: int) -> list[list[int]]:
    """[wave][source] bits: pairs of corner cases, and random words."""
    rng = np.random.default_rng(zlib.crc32(f"{row.names} {index}".encode()))
    made = []
    for wave in range(WAVES):
        words = []
        for at, kind in enumerate(row.kinds):
            corner = edges({"32": "u32", "64": "u64"}.get(kind, kind))
            bits = {"32": 32, "64": 64, "f32": 32, "f16": 16}[kind]
            if wave < 48:
                words.append(corner[(wave + at * (wave // 16 + 1) * 5) % 16])
            else:
                words.append(int(rng.integers(0, 1 << 63)) * 2 + wave % 2 & (1 << bits) - 1)
        made.append(words)
    return made


def run(arch: str, known: frozenset[str]) -> list[str]:
    """Execute every row that the architecture has; returns a line for each that went wrong."""
    rows = [(row, name) for row in table() if (name := row.name(arch, known))]
    cdna = arch == CDNA
    inputs = np.zeros((WAVES, len(rows) + 1, 8), np.uint32)
    wanted = []
    lines = _head(arch)
    for index, (row, name) in enumerate(rows):
        lines += _one(arch, row, name)
        wanted.append(_fill(inputs[:, index], row, index))
    cpu = CPU[arch]
    lanes = lanes_of(cpu)
    hsaco = assemble("\n".join(lines), cpu, lanes, (("inp", 8), ("out", 8)), 0, lanes)
    out = np.zeros((len(rows), WAVES, 4), np.uint32)
    done = EmulatedKernel(hsaco, "k").launch({"inp": inputs.ravel(), "out": out.ravel()}, (WAVES, 1, 1))
    assert done.findings == (), done.findings[:3]
    got = done.outputs["out"].reshape(out.shape)
    assert cdna == arch.startswith("cdna")
    return [
        text
        for index, (row, name) in enumerate(rows)
        if (text := _compare(row, f"{arch} {name}", got[index], wanted[index]))
    ]


def _head(arch: str) -> list[str]:
    cdna = arch == CDNA
    load = "s_load_dwordx2" if cdna else "s_load_b64"
    wait = "s_wait_kmcnt 0" if arch == RDNA4 else "s_waitcnt lgkmcnt(0)"
    group = "ttmp9" if arch == RDNA4 else "s2"
    add, carry = ("s_add_co_u32", "s_add_co_ci_u32") if arch == RDNA4 else ("s_add_u32", "s_addc_u32")
    count = len([row for row in table() if row.name(arch, KNOWN(arch))])
    return [
        f"s_mov_b32 s3, {group}", f"{load} s[4:5], s[0:1], 0x0", f"{load} s[6:7], s[0:1], 0x8", wait,
        f"s_mul_i32 s8, s3, {32 * (count + 1)}", f"{add} s4, s4, s8", f"{carry} s5, s5, 0",
        "s_lshl_b32 s9, s3, 4", "v_mov_b32 v1, s9", "s_mov_b32 exec_lo, 1", *(["s_mov_b32 exec_hi, 0"] if cdna else []),
    ]  # fmt: skip


def KNOWN(arch: str) -> frozenset[str]:
    from specgen.devices.amdgpu_emulator.decoder import opcode_names

    return frozenset(opcode_names(arch))


def _one(arch: str, row: Scalar, name: str) -> list[str]:
    """Operands in s[12:13] and s[14:15], SCC's value in s16, the destination's old value in s[18:19]."""
    cdna = arch == CDNA
    load = "s_load_dwordx8" if cdna else "s_load_b256"
    store = "global_store_dwordx3" if cdna else "global_store_b96"
    add, carry = ("s_add_co_u32", "s_add_co_ci_u32") if arch == RDNA4 else ("s_add_u32", "s_addc_u32")
    registers = [
        ("s[{}:{}]" if kind == "64" else "s{}").format(12 + 2 * k, 13 + 2 * k) for k, kind in enumerate(row.kinds)
    ]
    target = "s[20:21]" if row.width == 64 else "s20"
    text = row.text or "{op} " + ", ".join(
        (["{d}"] if row.width else []) + ["{" + "ab"[k] + "}" for k in range(len(registers))]
    )
    return [
        f"{load} s[12:19], s[4:5], 0x0",
        "s_wait_kmcnt 0" if arch == RDNA4 else "s_waitcnt lgkmcnt(0)",
        "s_mov_b64 s[20:21], s[18:19]", "s_cmp_lg_u32 s16, 0",
        text.format(op=name, d=target, **dict(zip("ab", registers, strict=False))),
        "s_cselect_b32 s22, 1, 0", "v_mov_b32 v4, s20", "v_mov_b32 v5, s21", "v_mov_b32 v6, s22",
        f"{store} v1, v[4:6], s[6:7]",
        f"{add} s4, s4, 32", f"{carry} s5, s5, 0", f"{add} s6, s6, {16 * WAVES}", f"{carry} s7, s7, 0",
        "s_wait_storecnt 0" if arch == RDNA4 else "s_waitcnt vmcnt(0)" if cdna else "s_waitcnt_vscnt null, 0x0",
    ]  # fmt: skip


def _fill(words: np.ndarray, row: Scalar, index: int) -> list[tuple[int, int]]:
    """Input words of each wave, and the destination and SCC that are expected."""
    expected = []
    rng = np.random.default_rng(index)
    for wave, sources in enumerate(operands(row, index)):
        old, scc = int(rng.integers(0, 1 << 63)) | (wave & 1) << 63, (wave ^ wave >> 3) & 1
        for at, value in enumerate(sources):
            words[wave, 2 * at], words[wave, 2 * at + 1] = value & M32, value >> 32
        words[wave, 4], words[wave, 6], words[wave, 7] = scc, old & M32, old >> 32
        known_old = old & M32 if row.width == 32 else old
        value, after = row.meaning(*sources, scc, *([known_old] if row.old else []))
        whole = old if row.width == 0 else value & M64 if row.width == 64 else value & M32 | old >> 32 << 32
        expected.append((whole, scc if after is None else after))
    return expected


def _compare(row: Scalar, name: str, got: np.ndarray, wanted: list[tuple[int, int]]) -> str:
    for wave, (value, scc) in enumerate(wanted):
        result = int(got[wave, 0]) | int(got[wave, 1]) << 32
        same = result == value or _both_nan(row, result, value)
        if not same or int(got[wave, 2]) != scc:
            return f"{name}: wave {wave}: {result:#x} scc {int(got[wave, 2])} for {value:#x} scc {scc}, old low {got[wave].tolist()}"
    return ""


def _both_nan(row: Scalar, got: int, wanted: int) -> bool:
    if row.real == "pk16":
        halves = [np.array([x & M32], np.uint32).view(np.float16) for x in (got, wanted)]
        return all(g == w or (np.isnan(g) and np.isnan(w)) for g, w in zip(*halves, strict=True))
    if not row.real:
        return False
    store, number = _float_values(row.real)
    return all(np.isnan(np.array([x], np.uint64).astype(store).view(number))[0] for x in (got, wanted))
