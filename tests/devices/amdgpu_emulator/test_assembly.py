"""Hand-assembled snippets: encodings and operations that compiled kernels seldom show, against numpy.

Each snippet finds a[lane] in v1 and b[lane] in v2 (32-bit words) and leaves its result in v3.
"""

# ruff: noqa: E501 (rows of a table of assembly)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator_compile import assemble, lanes_of

from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.devices.base import DeviceError

PROLOGUE = {
    "gfx11": """
  s_load_b64 s[4:5], s[0:1], 0x0
  s_load_b64 s[6:7], s[0:1], 0x8
  s_load_b64 s[8:9], s[0:1], 0x10
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v1, v0, s[4:5]
  global_load_b32 v2, v0, s[6:7]
  v_mov_b32 v3, 0
  s_waitcnt vmcnt(0)
""",
    "gfx12": """
  s_load_b64 s[4:5], s[0:1], 0x0
  s_load_b64 s[6:7], s[0:1], 0x8
  s_load_b64 s[8:9], s[0:1], 0x10
  v_lshlrev_b32 v0, 2, v0
  s_wait_kmcnt 0
  global_load_b32 v1, v0, s[4:5]
  global_load_b32 v2, v0, s[6:7]
  v_mov_b32 v3, 0
  s_wait_loadcnt 0
""",
    "gfx9": """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  global_load_dword v2, v0, s[6:7]
  v_mov_b32 v3, 0
  s_waitcnt vmcnt(0)
""",
}
EPILOGUE = {
    "gfx11": "  global_store_b32 v0, v3, s[8:9]",
    "gfx12": "  global_store_b32 v0, v3, s[8:9]",
    "gfx9": "  global_store_dword v0, v3, s[8:9]",
}
CPU = {"gfx9": "gfx942", "gfx11": "gfx1151", "gfx12": "gfx1201"}


def family_of(target: str) -> str:
    return "gfx9" if target.startswith("gfx9") else target[:5]


def words(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 32, count, dtype=np.uint32)


def floats(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal(count) * 4).astype(np.float32)
    values[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 0.5, -2.5]
    return np.roll(values, seed).view(np.uint32)


def halves(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(2 * count) * 4).astype(np.float16).view(np.uint32)


@dataclass(frozen=True)
class Snippet:
    name: str
    families: str
    body: str
    expected: Callable[[np.ndarray, np.ndarray], Any]
    """From the words a and b to the words (or floats) in v3."""
    inputs: Callable[[int, int], np.ndarray] = words
    lds: int = 0


def f32(x: np.ndarray) -> np.ndarray:
    return x.view(np.float32)


def low(x: np.ndarray) -> np.ndarray:
    return x.view(np.float16)[::2].astype(np.float32)


def high(x: np.ndarray) -> np.ndarray:
    return x.view(np.float16)[1::2].astype(np.float32)


def pair(lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Two arrays of 16-bit values as words."""
    return np.stack([np.asarray(lo), np.asarray(hi)], -1).view(np.uint32).ravel()


def keep_high(x: np.ndarray, lo: np.ndarray) -> np.ndarray:
    return (x & np.uint32(0xFFFF0000)) | lo.view(np.uint16).astype(np.uint32)


def med3(a: np.ndarray, b: np.ndarray, c: float) -> np.ndarray:
    return np.sort(np.stack([a, b, np.full_like(a, c)]), axis=0)[1]


ALL = "gfx9 gfx11 gfx12"
RDNA = "gfx11 gfx12"


def minimum_with_zeros(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One element at a time: a NaN loses, -0 is below +0."""
    result = []
    for x, y in zip(f32(a), f32(b), strict=True):
        if np.isnan(x) or np.isnan(y):
            result.append(y if np.isnan(x) else x)
        elif x == y == 0:
            result.append(x if np.signbit(x) else y)
        else:
            result.append(min(x, y))
    return np.array(result, np.float32)


def carry_chain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """High word of (a << 32 | a) + (b << 32 | b)."""
    total = [((int(x) << 32 | int(x)) + (int(y) << 32 | int(y))) >> 32 & 0xFFFFFFFF for x, y in zip(a, b, strict=True)]
    return np.array(total, np.uint32)


def dot4(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product = a.view(np.int8).reshape(-1, 4).astype(np.int32) * b.view(np.int8).reshape(-1, 4)
    return product.sum(1, dtype=np.int32)


def class_bits(a: np.ndarray, wanted: int) -> np.ndarray:
    """Bit numbers of the ISA: quiet NaN 1, -inf 2, -normal 3, -denormal 4, -0 5, +0 6, +denormal 7, +normal 8, +inf 9."""
    result = []
    for x in f32(a):
        tiny = x != 0 and abs(x) < 2.0**-126
        negative = bool(np.signbit(x))
        bit = 1 if np.isnan(x) else (2 if negative else 9) if np.isinf(x) else (5 if negative else 6) if x == 0 else 0
        if bit == 0:
            bit = (4 if negative else 7) if tiny else (3 if negative else 8)
        result.append(wanted >> bit & 1)
    return np.array(result, np.uint32)


SNIPPETS = (
    Snippet("modifiers", ALL, "v_add_f32 v3, |v1|, -v2", lambda a, b: np.abs(f32(a)) - f32(b), floats),
    # "Output modifiers are ignored" where denormals are kept, as in every kernel that is executed.
    Snippet("output_scale", ALL, "v_mul_f32 v3, v1, v2 mul:4", lambda a, b: f32(a) * f32(b), floats),
    Snippet("clamp", ALL, "v_add_f32 v3, v1, v2 clamp",
            lambda a, b: np.nan_to_num(np.clip(f32(a) + f32(b), 0, 1), nan=0.0).astype(np.float32), floats),
    Snippet("literal", RDNA, "v_add_nc_u32 v3, 0x12345678, v1", lambda a, b: a + np.uint32(0x12345678)),
    Snippet("inline_float", ALL, "v_mul_f32 v3, 0.15915494, v1", lambda a, b: f32(a) * np.float32(0.15915494), floats),
    Snippet("negative_inline", ALL, "v_and_b32 v3, -16, v1", lambda a, b: a & np.uint32(0xFFFFFFF0)),
    Snippet("min_zero_order", "gfx9 gfx11", "v_min_f32 v3, v1, v2", minimum_with_zeros, floats),
    Snippet("min_num_zero_order", "gfx12", "v_min_num_f32 v3, v1, v2", minimum_with_zeros, floats),
    Snippet("minimum_keeps_nan", "gfx12", "v_minimum_f32 v3, v1, v2",
            lambda a, b: np.where(np.isnan(f32(a)) | np.isnan(f32(b)), np.float32(np.nan), minimum_with_zeros(a, b)), floats),
    Snippet("med3", "gfx9 gfx11", "v_med3_f32 v3, v1, v2, 1.0",
            lambda a, b: np.where(np.isnan(f32(a)), np.fmin(f32(b), 1), np.where(np.isnan(f32(b)), np.fmin(f32(a), 1), med3(f32(a), f32(b), 1.0))),
            floats),
    Snippet("med3_int", ALL, "v_med3_i32 v3, v1, v2, 9",
            lambda a, b: np.sort(np.stack([a.view("i4"), b.view("i4"), np.full(a.shape, 9, "i4")]), axis=0)[1]),
    Snippet("max3", ALL, "v_max3_u32 v3, v1, v2, v1", lambda a, b: np.maximum(a, b)),
    Snippet("carry", "gfx9", "v_add_co_u32 v4, vcc, v1, v2\n  v_addc_co_u32 v3, vcc, v1, v2, vcc", carry_chain),
    Snippet("carry_rdna", RDNA, "v_add_co_u32 v4, vcc_lo, v1, v2\n  v_add_co_ci_u32 v3, vcc_lo, v1, v2, vcc_lo", carry_chain),
    Snippet("carry_in_sgpr", RDNA, "v_add_co_u32 v4, s10, v1, v2\n  v_add_co_ci_u32 v3, s11, v1, v2, s10", carry_chain),
    Snippet("perm", ALL, "s_mov_b32 s10, 0x0c0d0700\n  v_perm_b32 v3, v1, v2, s10",
            lambda a, b: (b & np.uint32(0xFF)) | (a >> np.uint32(24)) << np.uint32(8) | np.uint32(0x00FF0000)),
    Snippet("alignbit", ALL, "v_alignbit_b32 v3, v1, v2, 9",
            lambda a, b: ((a.astype("u8") << np.uint64(32) | b) >> np.uint64(9)).astype("u4")),
    Snippet("bfe_signed", ALL, "v_bfe_i32 v3, v1, 5, 7", lambda a, b: (a.view("i4") << np.int32(20)) >> np.int32(25)),
    Snippet("bfe", ALL, "v_bfe_u32 v3, v1, 5, 7", lambda a, b: (a >> np.uint32(5)) & np.uint32(127)),
    Snippet("mad24", ALL, "v_mad_i32_i24 v3, v1, v2, v1",
            lambda a, b: ((a.view("i4") << 8 >> 8).astype("i8") * (b.view("i4") << 8 >> 8) + a.view("i4")).astype("i4")),
    Snippet("sad", ALL, "v_sad_u8 v3, v1, v2, v1",
            lambda a, b: np.abs(a.view("u1").reshape(-1, 4).astype("i4") - b.view("u1").reshape(-1, 4)).sum(1).astype("u4") + a),
    Snippet("ubyte", ALL, "v_cvt_f32_ubyte2 v3, v1", lambda a, b: (a >> np.uint32(16) & np.uint32(255)).astype("f4")),
    Snippet("pack_rtz", "gfx9", "v_cvt_pkrtz_f16_f32 v3, v1, v2", lambda a, b: pair(truncated_half(a), truncated_half(b)), floats),
    Snippet("pack_rtz_rdna", RDNA, "v_cvt_pk_rtz_f16_f32 v3, v1, v2", lambda a, b: pair(truncated_half(a), truncated_half(b)), floats),
    Snippet("class", "gfx9", "s_movk_i32 s10, 0x1e8\n  v_cmp_class_f32 vcc, v1, s10\n  v_cndmask_b32 v3, 0, 1, vcc",
            lambda a, b: class_bits(a, 0x1E8), floats),
    Snippet("class_rdna", RDNA, "s_movk_i32 s10, 0x1e8\n  v_cmp_class_f32 vcc_lo, v1, s10\n  v_cndmask_b32 v3, 0, 1, vcc_lo",
            lambda a, b: class_bits(a, 0x1E8), floats),
    Snippet("cmpx", RDNA, "v_cmpx_lt_f32 v1, v2\n  v_mov_b32 v3, 5\n  s_mov_b32 exec_lo, -1",
            lambda a, b: np.where(f32(a) < f32(b), 5, 0).astype("u4"), floats),
    Snippet("cmpx_cdna", "gfx9", "v_cmpx_lt_f32 vcc, v1, v2\n  v_mov_b32 v3, 5\n  s_mov_b64 exec, -1\n  v_cndmask_b32 v4, 0, 8, vcc\n  v_or_b32 v3, v3, v4",
            lambda a, b: np.where(f32(a) < f32(b), 13, 0).astype("u4"), floats),
    Snippet("fma_inline", ALL, "v_fma_f32 v3, v1, v2, 1.0",
            lambda a, b: (f32(a).astype("f8") * f32(b) + 1).astype("f4"), floats),
    Snippet("mix", RDNA, "v_fma_mix_f32 v3, v1, -v2, |v1| op_sel:[0,1,1] op_sel_hi:[1,1,1]",
            lambda a, b: (low(a).astype("f8") * -high(b) + np.abs(high(a))).astype("f4"), halves),
    Snippet("mix_low", RDNA, "v_mov_b32 v3, v2\n  v_fma_mixlo_f16 v3, v1, v2, v1 op_sel:[1,1,0] op_sel_hi:[1,1,1]",
            lambda a, b: keep_high(b, (high(a).astype("f8") * high(b) + low(a)).astype("f2")), halves),
    Snippet("packed_selected", ALL,
            "v_pk_add_f16 v3, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]",
            lambda a, b: pair((high(a) + low(b)).astype("f2"), (low(a) + high(b)).astype("f2")), halves),
    Snippet("packed_negate", ALL, "v_pk_mul_f16 v3, v1, v2 neg_lo:[1,0] neg_hi:[0,1]",
            lambda a, b: pair((-low(a) * low(b)).astype("f2"), (high(a) * -high(b)).astype("f2")), halves),
    Snippet("packed_inline", ALL, "v_pk_add_f16 v3, v1, 1.0 op_sel_hi:[1,0]",
            lambda a, b: pair((low(a) + 1).astype("f2"), (high(a) + 1).astype("f2")), halves),
    Snippet("packed_shift", ALL, "v_pk_lshlrev_b16 v3, 3, v1 op_sel_hi:[0,1]",
            lambda a, b: (a.view("u2") << np.uint16(3)).view("u4")),
    Snippet("dot4", "gfx9", "v_dot4_i32_i8 v3, v1, v2, 7", lambda a, b: dot4(a, b) + 7),
    Snippet("dot4_signed", RDNA, "v_dot4_i32_iu8 v3, v1, v2, 7 neg_lo:[1,1,0]", lambda a, b: dot4(a, b) + 7),
    Snippet("dot4_mixed", RDNA, "v_dot4_i32_iu8 v3, v1, v2, 7 neg_lo:[1,0,0]",
            lambda a, b: (a.view("i1").reshape(-1, 4).astype("i4") * b.view("u1").reshape(-1, 4)).sum(1, dtype="i4") + 7),
    Snippet("dot2", "gfx11 gfx12", "v_dot2_f32_f16 v3, v1, v2, 1.0",
            lambda a, b: ((np.float32(1) + low(a) * low(b)) + high(a) * high(b)), halves),
    Snippet("half_add_high", RDNA, "v_mov_b32 v3, v2\n  v_add_f16 v3.h, v1.l, v2.h" ,
            lambda a, b: pair(b.view("f2")[::2], (low(a) + high(b)).astype("f2")), halves),
    Snippet("half_add_cdna_clears", "gfx9", "v_mov_b32 v3, -1\n  v_add_f16 v3, v1, v2",
            lambda a, b: (low(a) + low(b)).astype("f2").view("u2").astype("u4"), halves),
    Snippet("half_fma_selected", RDNA, "v_mov_b32 v3, 0\n  v_fma_f16 v3, v1, v2, v1 op_sel:[1,0,0,1]",
            lambda a, b: (high(a).astype("f8") * low(b) + low(a)).astype("f2").view("u2").astype("u4") << np.uint32(16), halves),
    Snippet("dual", RDNA, "v_dual_mul_f32 v3, v1, v2 :: v_dual_add_f32 v4, v2, v1\n  v_add_f32 v3, v3, v4",
            lambda a, b: f32(a) * f32(b) + (f32(b) + f32(a)), floats),
    Snippet("dual_swaps", RDNA, "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1\n  v_sub_nc_u32 v3, v1, v2", lambda a, b: b - a),
    Snippet("dual_constant", RDNA, "v_dual_fmaak_f32 v3, v1, v2, 0x40400000 :: v_dual_mov_b32 v4, 0x40400000",
            lambda a, b: (f32(a).astype("f8") * f32(b) + 3).astype("f4"), floats),
    Snippet("swap", RDNA, "v_swap_b32 v1, v2\n  v_sub_nc_u32 v3, v1, v2", lambda a, b: b - a),
    Snippet("sdwa_bytes", "gfx9", "v_add_u32_sdwa v3, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
            lambda a, b: (a >> np.uint32(8) & np.uint32(255)) + (b >> np.uint32(16))),
    Snippet("sdwa_signed", "gfx9", "v_mov_b32_sdwa v3, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3",
            lambda a, b: a.view("i4") >> np.int32(24)),
    Snippet("sdwa_preserve", "gfx9", "v_mov_b32 v3, v2\n  v_mov_b32_sdwa v3, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0",
            lambda a, b: (b & np.uint32(0xFF00FFFF)) | (a & np.uint32(255)) << np.uint32(16)),
    Snippet("sdwa_compare", "gfx9", "v_cmp_lt_u32_sdwa vcc, v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_0\n  v_cndmask_b32 v3, 0, 1, vcc",
            lambda a, b: ((a & np.uint32(255)) < (b & np.uint32(255))).astype("u4")),
    Snippet("packed_f32", "gfx9", "v_mov_b32 v4, v1\n  v_mov_b32 v5, v2\n  v_pk_mul_f32 v[6:7], v[4:5], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]\n  v_sub_f32 v3, v6, v7",
            lambda a, b: f32(a) * f32(b) - f32(b) * f32(a), floats),
    Snippet("accumulator", "gfx9", "v_accvgpr_write_b32 a3, v1\n  s_nop 4\n  v_accvgpr_read_b32 v4, a3\n  v_add_u32 v3, v4, v2", lambda a, b: a + b),
    Snippet("lds_pairs", "gfx11 gfx12", "ds_store_2addr_b32 v0, v1, v2 offset0:1 offset1:70\n  WAITLDS\n  ds_load_2addr_b32 v[4:5], v0 offset0:1 offset1:70\n  WAITLDS\n  v_sub_nc_u32 v3, v4, v5",
            lambda a, b: a - b, lds=1024),
    Snippet("lds_pairs_cdna", "gfx9", "ds_write2_b32 v0, v1, v2 offset0:1 offset1:70\n  s_waitcnt lgkmcnt(0)\n  ds_read2_b32 v[4:5], v0 offset0:1 offset1:70\n  s_waitcnt lgkmcnt(0)\n  v_sub_u32 v3, v4, v5",
            lambda a, b: a - b, lds=1024),
    Snippet("lds_d16", "gfx11 gfx12", "ds_store_b32 v0, v1\n  v_mov_b32 v3, v2\n  WAITLDS\n  ds_load_u16_d16_hi v3, v0\n  WAITLDS",
            lambda a, b: (b & np.uint32(0xFFFF)) | a << np.uint32(16), lds=1024),
    Snippet("lds_high_store", "gfx11 gfx12", "ds_store_b32 v0, v2\n  ds_store_b16_d16_hi v0, v1\n  WAITLDS\n  ds_load_b32 v3, v0\n  WAITLDS",
            lambda a, b: (b & np.uint32(0xFFFF0000)) | a >> np.uint32(16), lds=1024),
    Snippet("lds_signed_byte", "gfx11 gfx12", "ds_store_b32 v0, v1\n  WAITLDS\n  ds_load_i8 v3, v0 offset:3\n  WAITLDS",
            lambda a, b: a.view("i4") >> np.int32(24), lds=1024),
    Snippet("lds_atomic", "gfx11 gfx12", "ds_store_b32 v0, v1\n  ds_min_rtn_u32 v4, v0, v2\n  WAITLDS\n  ds_load_b32 v5, v0\n  WAITLDS\n  v_xor_b32 v3, v4, v5",
            lambda a, b: a ^ np.minimum(a, b), lds=1024),
    Snippet("lds_float_atomic", "gfx11 gfx12", "ds_store_b32 v0, v1\n  ds_add_f32 v0, v2\n  WAITLDS\n  ds_load_b32 v3, v0\n  WAITLDS",
            lambda a, b: f32(a) + f32(b), floats, 1024),
    Snippet("lds_compare_store", "gfx11 gfx12", "ds_store_b32 v0, v1\n  v_mov_b32 v5, 9\n  ds_cmpstore_b32 v0, v5, v2\n  WAITLDS\n  ds_load_b32 v3, v0\n  WAITLDS",
            lambda a, b: np.where(a == b, np.uint32(9), a), lds=1024),
    Snippet("lds_compare_store_cdna", "gfx9", "ds_write_b32 v0, v1\n  v_mov_b32 v5, 9\n  ds_cmpst_b32 v0, v1, v5\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v3, v0\n  s_waitcnt lgkmcnt(0)",
            lambda a, b: np.full(a.shape, 9, "u4"), lds=1024),
    Snippet("division", ALL, "DIVIDE", lambda a, b: f32(a) / f32(b), floats),
    Snippet("scalar_fields", ALL, "v_readfirstlane_b32 s10, v1\n  s_bfe_u32 s11, s10, 0x70003\n  s_bfe_i32 s12, s10, 0x70003\n  s_add_i32 s11, s11, s12\n  v_mov_b32 v3, s11",
            lambda a, b: np.full(a.shape, (int(a[0]) >> 3 & 127) + ((int(a[0]) >> 3 & 127) - (128 if int(a[0]) >> 9 & 1 else 0)) & 0xFFFFFFFF, "u4")),
    Snippet("scalar_wide", ALL, "v_readfirstlane_b32 s10, v1\n  v_readfirstlane_b32 s11, v2\n  s_lshr_b64 s[12:13], s[10:11], 13\n  s_xor_b32 s12, s12, s13\n  v_mov_b32 v3, s12",
            lambda a, b: np.full(a.shape, ((int(b[0]) << 32 | int(a[0])) >> 13 & 0xFFFFFFFF) ^ ((int(b[0]) << 32 | int(a[0])) >> 45), "u4")),
    Snippet("scalar_flags", ALL, "s_mov_b32 s10, 7\n  s_cmp_gt_i32 s10, 8\n  s_cselect_b32 s11, 3, 4\n  s_bitcmp1_b32 s10, 2\n  s_cselect_b32 s12, 16, 32\n  s_add_i32 s11, s11, s12\n  v_mov_b32 v3, s11",
            lambda a, b: np.full(a.shape, 20, "u4")),
    Snippet("scalar_counts", "gfx9", "s_mov_b32 s10, 0x00f0\n  s_flbit_i32_b32 s11, s10\n  s_ff1_i32_b32 s12, s10\n  s_bcnt1_i32_b32 s13, s10\n  s_lshl_b32 s12, s12, 8\n  s_lshl_b32 s13, s13, 16\n  s_or_b32 s11, s11, s12\n  s_or_b32 s11, s11, s13\n  v_mov_b32 v3, s11",
            lambda a, b: np.full(a.shape, 24 | 4 << 8 | 4 << 16, "u4")),
    Snippet("scalar_counts_rdna", RDNA, "s_mov_b32 s10, 0x00f0\n  s_clz_i32_u32 s11, s10\n  s_ctz_i32_b32 s12, s10\n  s_bcnt1_i32_b32 s13, s10\n  s_lshl_b32 s12, s12, 8\n  s_lshl_b32 s13, s13, 16\n  s_or_b32 s11, s11, s12\n  s_or_b32 s11, s11, s13\n  v_mov_b32 v3, s11",
            lambda a, b: np.full(a.shape, 24 | 4 << 8 | 4 << 16, "u4")),
    Snippet("scalar_float", "gfx12", "v_readfirstlane_b32 s10, v1\n  s_mul_f32 s11, s10, 0.5\n  s_fmac_f32 s11, s10, 2.0\n  v_mov_b32 v3, s11",
            lambda a, b: np.full(a.shape, f32(a)[0] * 0.5 + f32(a)[0] * 2, "f4"), lambda s, n: np.full(n, 1.5, "f4").view("u4")),
    Snippet("constants_16", ALL, "s_movk_i32 s10, -5\n  s_mulk_i32 s10, 3\n  v_mov_b32 v3, s10", lambda a, b: np.full(a.shape, -15, "i4")),
)  # fmt: skip


def truncated_half(x: np.ndarray) -> np.ndarray:
    """f32 to f16 toward zero, through the bits of the exact value."""
    result = []
    for value in f32(x):
        near = np.float16(value)
        if np.isfinite(value) and abs(float(near)) > abs(float(value)):
            near = np.nextafter(near, np.float16(0))
        result.append(near)
    return np.array(result, np.float16)


DIVIDE = """v_div_scale_f32 v4, {other}, v2, v2, v1
  v_div_scale_f32 v5, {flags}, v1, v2, v1
  v_rcp_f32 v6, v4
  v_fma_f32 v7, -v4, v6, 1.0
  v_fma_f32 v6, v7, v6, v6
  v_mul_f32 v8, v5, v6
  v_fma_f32 v9, -v4, v8, v5
  v_fma_f32 v8, v9, v6, v8
  v_fma_f32 v9, -v4, v8, v5
  v_div_fmas_f32 v9, v9, v6, v8
  v_div_fixup_f32 v3, v9, v2, v1"""


def prepared(body: str, family: str) -> str:
    other, flags = ("s[10:11]", "vcc") if family == "gfx9" else ("s10", "vcc_lo")
    divide = DIVIDE.format(other=other, flags=flags)
    wait = "s_wait_dscnt 0" if family == "gfx12" else "s_waitcnt lgkmcnt(0)"
    return body.replace("DIVIDE", divide).replace("WAITLDS", wait)


@pytest.mark.parametrize(
    ("snippet", "family"),
    [(snippet, family) for snippet in SNIPPETS for family in snippet.families.split()],
    ids=lambda value: value.name if isinstance(value, Snippet) else value,
)
def test_snippet(snippet: Snippet, family: str) -> None:
    cpu = CPU[family]
    lanes = lanes_of(cpu)
    body = PROLOGUE[family] + "  " + prepared(snippet.body, family) + "\n" + EPILOGUE[family]
    hsaco = assemble(body, cpu, lanes, (("a", 8), ("b", 8), ("out", 8)), snippet.lds, lanes)
    a, b = snippet.inputs(1, lanes), snippet.inputs(2, lanes)
    run = EmulatedKernel(hsaco, "k").launch({"a": a, "b": b, "out": np.zeros(lanes, np.uint32)}, (1, 1, 1))
    with np.errstate(all="ignore"):
        expected = np.asarray(snippet.expected(a, b))
    got = run.outputs["out"].view(expected.dtype)
    both_nan = (got != got) & (expected != expected) if expected.dtype.kind == "f" else np.zeros(got.shape, bool)
    same = (got.view(np.uint32) == expected.view(np.uint32)) | both_nan
    assert same.all(), f"{got[~same][:4]} for {expected[~same][:4]} of {a[~same][:4]} {b[~same][:4]}"
    assert run.findings == ()


def test_bfloat_conversion_agrees_with_ml_dtypes() -> None:
    from specgen.devices.amdgpu_emulator.numeric import f32_to_bf16

    values = f32(np.concatenate([words(3, 4096), floats(1, 64)]))
    with np.errstate(all="ignore"):
        expected = values.astype(ml_dtypes.bfloat16)
    got = f32_to_bf16(values).view(ml_dtypes.bfloat16)
    nan = np.isnan(values)
    assert np.array_equal(got[~nan].view(np.uint16), expected[~nan].view(np.uint16))
    assert np.isnan(got[nan].astype(np.float32)).all()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("v_interp_p10_f32 v3, v1, v2, v1", "no rdna3 instruction starts with"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE), 3", "s_setreg_imm32_b32"),
        ("v_mqsad_u32_u8 v[4:7], v[1:2], v3, v[4:7]", "v_mqsad_u32_u8"),
        ("s_sethalt 1", "s_sethalt"),
        ("global_load_addtid_b32 v3, s[4:5]", "global_load_addtid_b32"),
    ],
)
def test_what_is_not_executed_stops_with_its_text(body: str, text: str) -> None:
    hsaco = assemble(PROLOGUE["gfx11"] + "  " + body, "gfx1151", 32, (("a", 8), ("b", 8), ("out", 8)), 0, 32)
    args = {"a": words(1, 32), "b": words(2, 32), "out": np.zeros(32, np.uint32)}
    with pytest.raises(DeviceError, match="unsupported-instruction") as caught:
        EmulatedKernel(hsaco, "k").launch(args, (1, 1, 1))
    assert text in str(caught.value)
