"""Operations whose vendor pseudocode is replaced: by an equivalent that translates, or by a more exact one.

Each text is in the same language and may call the functions of `numeric` by the names that `translate` lists.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

_FLOATS: Final = ("f16", "f32", "f64")
_INTS: Final = ("i16", "u16", "i32", "u32")


def _pair_rules() -> dict[str, str]:
    """Minimum, maximum and their combinations for every type."""
    rules: dict[str, str] = {}
    families = (
        ("min", "max", "min_ieee", "max_ieee", "median_ieee"),
        ("min_num", "max_num", "min_num", "max_num", "median_num"),
    )
    for t in _FLOATS:
        for low, high, low_function, high_function, middle in families:
            tail = low.removeprefix("min")
            for prefix in ("v_", "s_", "v_dual_"):
                rules[f"{prefix}{low}_{t}"] = f"D0.{t} = {low_function}(S0.{t}, S1.{t})"
                rules[f"{prefix}{high}_{t}"] = f"D0.{t} = {high_function}(S0.{t}, S1.{t})"
            for name, one, two in (("min3", low_function, low_function), ("max3", high_function, high_function),
                                   ("minmax", low_function, high_function),
                                   ("maxmin", high_function, low_function)):  # fmt: skip
                rules[f"v_{name}{tail}_{t}"] = f"D0.{t} = {two}({one}(S0.{t}, S1.{t}), S2.{t})"
            rules[f"v_med3{tail}_{t}"] = f"D0.{t} = {middle}(S0.{t}, S1.{t}, S2.{t})"
        for name, one, two in (("minimum3", "minimum", "minimum"), ("maximum3", "maximum", "maximum"),
                               ("minimummaximum", "minimum", "maximum"),
                               ("maximumminimum", "maximum", "minimum")):  # fmt: skip
            rules[f"v_{name}_{t}"] = f"D0.{t} = {two}({one}(S0.{t}, S1.{t}), S2.{t})"
        for name in ("minimum", "maximum"):
            for prefix in ("v_", "s_"):
                rules[f"{prefix}{name}_{t}"] = f"D0.{t} = {name}(S0.{t}, S1.{t})"
    for t in _INTS:
        for name, one, two in (("min3", "int_min", "int_min"), ("max3", "int_max", "int_max"),
                               ("minmax", "int_min", "int_max"), ("maxmin", "int_max", "int_min")):  # fmt: skip
            rules[f"v_{name}_{t}"] = f"D0.{t} = {two}({one}(S0.{t}, S1.{t}), S2.{t})"
        rules[f"v_med3_{t}"] = f"D0.{t} = int_max(int_min(S0.{t}, S1.{t}), int_min(int_max(S0.{t}, S1.{t}), S2.{t}))"
    return rules


def _packed_rules() -> dict[str, str]:
    rules = {}
    families = {"min": "min_ieee", "max": "max_ieee", "min_num": "min_num", "max_num": "max_num",
                "minimum": "minimum", "maximum": "maximum"}  # fmt: skip
    for name, function in families.items():
        halves = (
            f"tmp[{top} : {low}].f16 = {function}(S0[{top} : {low}].f16, S1[{top} : {low}].f16)"
            for top, low in ((31, 16), (15, 0))
        )
        rules[f"v_pk_{name}_f16"] = ";\n".join(halves) + "; D0.u32 = tmp.u32"
    for name in ("minimum3", "maximum3"):
        halves = (
            f"tmp[{h}].f16 = {name[:-1]}({name[:-1]}(S0[{h}].f16, S1[{h}].f16), S2[{h}].f16)"
            for h in ("31 : 16", "15 : 0")
        )
        rules[f"v_pk_{name}_f16"] = ";\n".join(halves) + "; D0.u32 = tmp.u32"
    return rules


def _transcendental_rules() -> dict[str, str]:
    rules = {}
    functions = {"exp": "exp2", "log": "log2", "rcp": "reciprocal", "rsq": "rsqrt", "sqrt": "sqrt", "tanh": "tanh",
                 "sin": "sin_turns", "cos": "cos_turns", "rndne": "rint", "fract": "fract",
                 "frexp_mant": "mantissa"}  # fmt: skip
    for t in _FLOATS:
        for name, function in functions.items():
            for prefix in ("v_", "v_s_"):
                rules[f"{prefix}{name}_{t}"] = f"D0.{t} = {function}(S0.{t})"
        rules[f"s_rndne_{t}"] = f"D0.{t} = rint(S0.{t})"
        power = "S1.i16" if t == "f16" else "S1.i32"
        rules[f"v_ldexp_{t}"] = f"D0.{t} = ldexp(S0.{t}, 32'I({power}))"
        rules[f"v_cmp_class_{t}"] = f"D0.u64[laneId] = float_class(S0.{t}, S1.u32)"
        rules[f"v_cmpx_class_{t}"] = f"EXEC.u64[laneId] = float_class(S0.{t}, S1.u32)"
        rules[f"v_div_fmas_{t}"] = f"D0.{t} = division_fma(VCC.u64[laneId], S0.{t}, S1.{t}, S2.{t})"
        rules[f"v_div_fixup_{t}"] = f"D0.{t} = division_fixup(S0.{t}, S1.{t}, S2.{t})"
    for t, kind in (("f16", "i16"), ("f32", "i32"), ("f64", "i32")):
        rules[f"v_frexp_exp_{kind}_{t}"] = f"D0.{kind} = {kind[1:]}'I(frexp_exponent(S0.{t}))"
    rules["v_rcp_iflag_f32"] = rules["v_rcp_f32"]
    return rules


def _bit_rules() -> dict[str, str]:
    rules = {}
    for width in (32, 64):
        word = f"u{width}"
        rules[f"s_bcnt1_i32_b{width}"] = f"D0.u32 = popcount(S0.{word}); SCC = D0.u32 != 0U"
        rules[f"s_bcnt0_i32_b{width}"] = f"D0.u32 = popcount(~S0.{word}); SCC = D0.u32 != 0U"
        rules[f"s_brev_b{width}"] = f"D0.{word} = reverse_bits(S0.{word})"
        mask = f"S0.u32[{width.bit_length() - 2} : 0].u32"
        rules[f"s_bitset0_b{width}"] = f"D0.{word} = D0.{word} & ~({width}'U(1) << {mask})"
        rules[f"s_bitset1_b{width}"] = f"D0.{word} = D0.{word} | ({width}'U(1) << {mask})"
        for name in (f"s_ctz_i32_b{width}", f"s_ff1_i32_b{width}"):
            rules[name] = f"D0.i32 = ctz(S0.{word})"
        rules[f"s_ff0_i32_b{width}"] = f"D0.i32 = ctz(~S0.{word})"
        for name in (f"s_clz_i32_u{width}", f"s_flbit_i32_b{width}"):
            rules[name] = f"D0.i32 = clz(S0.{word})"
        rules[f"s_cls_i32_i{width}"] = f"D0.i32 = cls(S0.i{width})"
    rules["s_flbit_i32_i64"] = rules["s_cls_i32_i64"]
    rules["s_cls_i32"] = rules["s_flbit_i32"] = rules["v_cls_i32"] = rules["v_ffbh_i32"] = "D0.i32 = cls(S0.i32)"
    rules["v_clz_i32_u32"] = rules["v_ffbh_u32"] = "D0.i32 = clz(S0.u32)"
    rules["v_ctz_i32_b32"] = rules["v_ffbl_b32"] = "D0.i32 = ctz(S0.u32)"
    rules["v_bfrev_b32"] = "D0.u32 = reverse_bits(S0.u32)"
    rules["v_bcnt_u32_b32"] = "D0.u32 = popcount(S0.u32) + S1.u32"
    rules["v_perm_b32"] = "D0.u32 = byte_permute(S0.u32, S1.u32, S2.u32)"
    rules["v_mbcnt_lo_u32_b32"] = "D0.u32 = popcount(S0.u32 & LANES_BELOW_LO.u32) + S1.u32"
    rules["v_mbcnt_hi_u32_b32"] = "D0.u32 = popcount(S0.u32 & LANES_BELOW_HI.u32) + S1.u32"
    return rules


def _integer_rules() -> dict[str, str]:
    unsigned = "tmp = 64'U(S0.u32) * 64'U(S1.u32); D0.u64 = tmp + S2.u64; VCC.u64[laneId] = D0.u64 < tmp"
    signed = (
        "tmp = 64'I(S0.i32) * 64'I(S1.i32); D0.i64 = tmp + S2.i64;"
        "VCC.u64[laneId] = (D0.i64 < 0) != (((tmp ^ D0.i64) & (S2.i64 ^ D0.i64)) < 0)"
    )
    high = "tmp = 64'I(D0.i32) + SIMM16.i64; SCC = tmp != 64'I(tmp.i32); D0.i32 = tmp.i32"
    return {
        "v_mad_u64_u32": unsigned,
        "v_mad_co_u64_u32": unsigned,
        "v_mad_i64_i32": signed,
        "v_mad_co_i64_i32": signed,
        "v_mad_nc_u64_u32": "D0.u64 = 64'U(S0.u32) * 64'U(S1.u32) + S2.u64",
        "v_mad_nc_i64_i32": "D0.i64 = 64'I(S0.i32) * 64'I(S1.i32) + S2.i64",
        "s_addk_i32": high,
        "s_addk_co_i32": high,
        "s_add_i32": "tmp = 64'I(S0.i32) + 64'I(S1.i32); D0.i32 = tmp.i32; SCC = tmp != 64'I(tmp.i32)",
        "s_sub_i32": "tmp = 64'I(S0.i32) - 64'I(S1.i32); D0.i32 = tmp.i32; SCC = tmp != 64'I(tmp.i32)",
        "s_movk_i32": "D0.i32 = SIMM16.i32",
        "s_cmovk_i32": "if SCC then D0.i32 = SIMM16.i32 endif",
        "s_mulk_i32": "D0.i32 = D0.i32 * SIMM16.i32",
        "v_mul_lo_u32": "D0.u32 = S0.u32 * S1.u32",
        "v_mul_lo_i32": "D0.u32 = S0.u32 * S1.u32",
        "s_mul_i32": "D0.u32 = S0.u32 * S1.u32",
        "v_dot2_f32_bf16": (
            "tmp = S2.f32; tmp += bf16_to_f32(S0[15 : 0].bf16) * bf16_to_f32(S1[15 : 0].bf16);"
            "tmp += bf16_to_f32(S0[31 : 16].bf16) * bf16_to_f32(S1[31 : 16].bf16); D0.f32 = tmp"
        ),
        "v_pk_mul_lo_u16": "\n".join(f"tmp[{h}].u16 = S0[{h}].u16 * S1[{h}].u16;" for h in ("31 : 16", "15 : 0"))
        + "D0.u32 = tmp.u32",
    }


def _nibble_rules() -> dict[str, str]:
    """Dot products of eight 4-bit numbers: fields of words, the signed ones shifted down from the top."""

    def plain(source: str, k: int) -> str:
        return f"32'I({source}.u32[{k + 3} : {k}])"

    def signed(source: str, k: int) -> str:
        return f"(({source}.i32 << {28 - k}) >> 28)"

    def chosen(source: str, k: int) -> str:
        return f"(NEG[{source[1]}] ? {signed(source, k)} : {plain(source, k)})"

    kinds = {"v_dot8_u32_u4": plain, "v_dot8_i32_i4": signed, "v_dot8_i32_iu4": chosen}
    return {
        name: "D0.i32 = S2.i32 + " + " + ".join(f"{part('S0', k)} * {part('S1', k)}" for k in range(0, 32, 4))
        for name, part in kinds.items()
    }


def _byte_rules() -> dict[str, str]:
    """Two words shifted down and saturated to bytes, in the low half of the result."""
    rules = {}
    for name, low, high in (("i8", -128, 127), ("u8", 0, 255)):
        parts = (f"(int_min(int_max(S{at}.i32 >> S2.u32[4 : 0], {low}), {high}).u32 & 255U)" for at in (0, 1))
        rules[f"v_ashr_pk_{name}_i32"] = f"tmp = {next(parts)}; D0[15 : 0].u16 = 16'U(tmp | ({next(parts)} << 8U))"
    return rules


def _conversion_rules() -> dict[str, str]:
    pack = "D0.u32 = pack_rtz(S0.f32, S1.f32)"
    bf16 = "tmp[15 : 0].bf16 = f32_to_bf16(S0.f32); tmp[31 : 16].bf16 = f32_to_bf16(S1.f32); D0.u32 = tmp.u32"
    return {
        "v_cvt_pk_rtz_f16_f32": pack,
        "v_cvt_pkrtz_f16_f32": pack,
        "v_cvt_pk_bf16_f32": bf16,
        "v_sat_pk_u8_i16": (
            "tmp = int_min(int_max(32'I(S0.u32[15 : 0].i16), 0), 255).u32;"
            "tmp = tmp | (int_min(int_max(32'I(S0.u32[31 : 16].i16), 0), 255).u32 << 8U); D0.u16 = 16'U(tmp)"
        ),
        "v_cvt_f32_bf16": "D0.f32 = bf16_to_f32(S0[15 : 0].bf16)",
        "v_cvt_nearest_i32_f32": "D0.i32 = f32_to_i32(floor(S0.f32 + 0.5F))",
        "v_cvt_rpi_i32_f32": "D0.i32 = f32_to_i32(floor(S0.f32 + 0.5F))",
        "v_cvt_flr_i32_f32": "D0.i32 = f32_to_i32(floor(S0.f32))",
        "s_cvt_pk_rtz_f16_f32": pack,
        "s_cvt_hi_f32_f16": "D0.f32 = f16_to_f32(S0[31 : 16].f16)",
        "v_cvt_pk_i16_i32": (
            "tmp[15 : 0].i16 = 16'I(int_min(int_max(S0.i32, -32768), 32767));"
            "tmp[31 : 16].i16 = 16'I(int_min(int_max(S1.i32, -32768), 32767)); D0.u32 = tmp.u32"
        ),
        "v_cvt_pk_u16_u32": (
            "tmp[15 : 0].u16 = 16'U(int_min(S0.u32, 65535U));"
            "tmp[31 : 16].u16 = 16'U(int_min(S1.u32, 65535U)); D0.u32 = tmp.u32"
        ),
        "v_pack_b32_f16": "D0.u32 = { S1.u16, S0.u16 }",
    }


@functools.cache
def rules() -> Mapping[str, str]:
    """Operation name -> replacing pseudocode, for every architecture."""
    return {
        **_pair_rules(),
        **_packed_rules(),
        **_transcendental_rules(),
        **_bit_rules(),
        **_integer_rules(),
        **_nibble_rules(),
        **_byte_rules(),
        **_conversion_rules(),
    }


CUSTOM: Final = frozenset({"v_div_scale_f32", "v_div_scale_f64"})
"""Operations with two results that `alu` writes out itself."""
