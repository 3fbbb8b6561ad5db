"""Vector operations on 16-bit values: whole numbers and f16, low and high halves of registers.

GFX9 clears the other half of the result's register for its older operations and keeps it for the newer ones (`keeps`:
multiply-adds, three-operand extremes); later families always keep it.
"""

# ruff: noqa: E731 (rows of a table, and their short meanings)

from __future__ import annotations

from dataclasses import replace

import numpy as np

from opcode_semantics import reals
from opcode_semantics.rows import CDNA, RDNA, Row, floats, ints
from opcode_semantics.words import middle


def _whole() -> list[Row]:
    two, three = "const opsel", "const opsel half"
    pair = "u16 u16"
    made = [
        ints("v_add_u16 v_add_nc_u16", pair, "u16", lambda a, b: a + b, two + " sdwa"),
        ints("v_sub_u16 v_sub_nc_u16", pair, "u16", lambda a, b: a - b, two + " sdwa"),
        ints("v_subrev_u16", pair, "u16", lambda a, b: b - a, two + " sdwa"),
        ints("v_mul_lo_u16", pair, "u16", lambda a, b: a * b, two + " sdwa"),
        ints("v_lshlrev_b16", "shift16 u16", "u16", lambda a, b: b << (a & 15), two + " sdwa"),
        ints("v_lshrrev_b16", "shift16 u16", "u16", lambda a, b: b >> (a & 15), two + " sdwa"),
        ints("v_ashrrev_i16", "shift16 i16", "u16", lambda a, b: b >> (a & 15), two + " sdwa"),
        ints("v_min_u16", pair, "u16", min, two + " sdwa"),
        ints("v_max_u16", pair, "u16", max, two + " sdwa"),
        ints("v_min_i16", "i16 i16", "i16", min, two + " sdwa"),
        ints("v_max_i16", "i16 i16", "i16", max, two + " sdwa"),
        ints("v_and_b16", pair, "u16", lambda a, b: a & b, "const short"),
        ints("v_or_b16", pair, "u16", lambda a, b: a | b, "const short"),
        ints("v_xor_b16", pair, "u16", lambda a, b: a ^ b, "const short"),
        ints("v_not_b16", "u16", "u16", lambda a: ~a, "const short"),
        ints("v_mov_b16", "u16", "u16", lambda a: a, "half", archs=RDNA),
        ints("v_add_i16 v_add_nc_i16", "i16 i16", "i16", lambda a, b: a + b, three + " clamp", keeps=True),
        ints("v_sub_i16 v_sub_nc_i16", "i16 i16", "i16", lambda a, b: a - b, three + " clamp", keeps=True),
        ints("v_mad_u16", pair + " u16", "u16", lambda a, b, c: a * b + c, three, keeps=True),
        ints("v_mad_i16", "i16 i16 i16", "i16", lambda a, b, c: a * b + c, three, keeps=True),
        ints("v_mad_legacy_u16", pair + " u16", "u16", lambda a, b, c: a * b + c, archs=(CDNA,)),
        ints("v_mad_u32_u16", pair + " u32", "u32", lambda a, b, c: a * b + c, three),
        ints("v_mad_i32_i16", "i16 i16 i32", "i32", lambda a, b, c: a * b + c, three),
        ints("v_cndmask_b16", "u16 u16 mask", "u16", lambda a, b, c: b if c else a, "opsel", archs=RDNA,
             setup=("v_cmp_ne_u32 {m}, 0, {c}",), text="{op} {d}, {a}, {b}, {m}"),
        ints("v_cvt_i32_i16", "i16", "i32", lambda a: a, "const short", archs=RDNA),
        ints("v_cvt_u32_u16", "u16", "u32", lambda a: a, "const short", archs=RDNA),
    ]  # fmt: skip
    for kind in ("u16", "i16"):
        triple = f"{kind} {kind} {kind}"
        made += [
            ints(f"v_min3_{kind}", triple, kind, min, three, keeps=True),
            ints(f"v_max3_{kind}", triple, kind, max, three, keeps=True),
            ints(f"v_med3_{kind}", triple, kind, middle, three, keeps=True),
        ]
    return made


def _real() -> list[Row]:
    two, three = "const literal float", "const float opsel half"
    pair, triple = "f16 f16", "f16 f16 f16"
    wide = reals.wide
    made = [
        floats("v_add_f16", pair, "f16", lambda a, b: wide(a) + wide(b), two),
        floats("v_sub_f16", pair, "f16", lambda a, b: wide(a) - wide(b), two),
        floats("v_subrev_f16", pair, "f16", lambda a, b: wide(b) - wide(a), two),
        floats("v_mul_f16", pair, "f16", lambda a, b: wide(a) * wide(b), two),
        floats("v_fma_f16", triple, "f16", reals.fused, three, keeps=True),
        floats(
            "v_mad_f16",
            triple,
            "f16",
            lambda a, b, c: (wide(a) * wide(b)).astype("f2").astype("f8") + wide(c),
            three,
            keeps=True,
            archs=(CDNA,),
        ),
        floats("v_fmac_f16", pair, "f16", reals.fused, "const literal", old=True, archs=RDNA),
        floats(
            "v_fmamk_f16",
            pair,
            "f16",
            lambda a, b: reals.fused(a, np.full_like(a, 1.5), b),
            text="{op} {d}, {a}, 0x3e00, {b}",
            archs=RDNA,
        ),
        floats(
            "v_fmaak_f16",
            pair,
            "f16",
            lambda a, b: reals.fused(a, b, np.full_like(a, 1.5)),
            text="{op} {d}, {a}, {b}, 0x3e00",
            archs=RDNA,
        ),
        floats("v_div_fixup_f16", triple, "f16", fixup, keeps=True, where=lambda q, d, n: ~np.isnan(q)),
    ]
    made += reals._extremes("f16", two)
    made += reals._functions("f16", "const literal float")
    made += reals._transcendental("f16", "const literal float")
    return [_adjusted(row) for row in made]


_UNSELECTED = ("minmax", "maxmin", "minmax_num", "maxmin_num", "minimummaximum", "maximumminimum", "minimum", "maximum")
"""Operations for which the assembler (LLVM 19) has no spelling of high halves."""


def _adjusted(row: Row) -> Row:
    """Three-operand forms keep the other half and select halves by op_sel; others name high halves in VOP1 and VOP2."""
    stem = row.names.split()[0].removeprefix("v_").removesuffix("_f16")
    if stem in _UNSELECTED:
        return replace(row, forms=(row.forms - {"half"}) | {"short"})
    if len(row.sources) == 3:
        return replace(row, keeps=True, forms=row.forms | {"half"})
    return row if row.text else replace(row, forms=row.forms | {"short"})


def fixup(quotient: np.ndarray, denominator: np.ndarray, numerator: np.ndarray) -> np.ndarray:
    """V_DIV_FIXUP: the special cases of numerator / denominator around a given quotient."""
    sign = np.signbit(denominator) ^ np.signbit(numerator)
    kind = quotient.dtype.type
    signed = lambda x: np.where(sign, -abs(x), abs(x)).astype(quotient.dtype)
    result = signed(quotient)
    infinite, zero = signed(kind(np.inf)), signed(kind(0))
    result = np.where(np.isinf(denominator) | (numerator == 0), zero, result)
    result = np.where((denominator == 0) | np.isinf(numerator), infinite, result)
    both = ((denominator == 0) & (numerator == 0)) | (np.isinf(denominator) & np.isinf(numerator))
    nan = both | np.isnan(denominator) | np.isnan(numerator)
    return np.where(nan, kind(np.nan), result)


def saturated_bytes(x: int) -> int:
    """Both signed halves limited to a byte, side by side."""
    low, high = ((h & 0x7FFF) - (h & 0x8000) for h in (x & 0xFFFF, x >> 16))
    return max(0, min(low, 255)) | max(0, min(high, 255)) << 8


def _conversions() -> list[Row]:
    one = "const literal short"
    sat = reals.saturate
    return [
        floats("v_cvt_f16_f32", "f32", "f16", lambda x: x.astype(np.float16), "const literal float short"),
        floats("v_cvt_f32_f16", "f16", "f32", lambda x: x.astype(np.float32), "const literal float short"),
        floats("v_cvt_f16_u16", "u16", "f16", lambda x: x.astype(np.float64), one),
        floats("v_cvt_f16_i16", "i16", "f16", lambda x: x.astype(np.float64), one),
        floats("v_cvt_u16_f16", "f16", "u16", sat(0, 65535), one),
        floats("v_cvt_i16_f16", "f16", "i16", sat(-32768, 32767), one),
        floats("v_cvt_norm_i16_f16", "f16", "i16", lambda x: reals.unit(x, -1, 32767), archs=RDNA),
        floats("v_cvt_norm_u16_f16", "f16", "u16", lambda x: reals.unit(x, 0, 65535).view(np.uint16), archs=RDNA),
        ints("v_sat_pk_u8_i16", "u32h", "u16", saturated_bytes, "const"),
        floats("v_pack_b32_f16", "f16 f16", "pk16", reals.packed, "const opsel half"),
    ]


def rows() -> list[Row]:
    return [*_whole(), *_real(), *_conversions()]
