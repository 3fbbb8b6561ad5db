"""Vector operations on whole numbers of 32 and 64 bits (ISA documents, "VOP1", "VOP2", "VOP3")."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

import numpy as np

from opcode_semantics.rows import CDNA, RDNA, Row, floats, ints

M32 = 0xFFFFFFFF


def s24(x: int) -> int:
    """The signed number in the low 24 bits."""
    return (x & 0x7FFFFF) - (x & 0x800000)


def u24(x: int) -> int:
    return x & 0xFFFFFF


def s32(x: int) -> int:
    return (x & 0x7FFFFFFF) - (x & 0x80000000)


def bits(x: int, low: int, count: int) -> int:
    return x >> low & (1 << count) - 1


def field(x: int, offset: int, width: int) -> int:
    """Unsigned bit field: 5-bit offset and width."""
    return bits(x & M32, offset & 31, width & 31)


def signed_field(x: int, offset: int, width: int) -> int:
    """Signed bit field: the field's top bit is copied upwards; beyond bit 31 the source's sign goes on."""
    width &= 31
    value = s32(x) >> (offset & 31) & (1 << width) - 1
    return value - (1 << width) if width and value >> (width - 1) else value


def reverse(x: int, width: int = 32) -> int:
    return int(f"{x:0{width}b}"[::-1], 2)


def leading(x: int, width: int = 32) -> int:
    """Zeros before the first one; -1 for none."""
    return width - x.bit_length() if x else -1


def trailing(x: int) -> int:
    return (x & -x).bit_length() - 1


def signs(x: int, width: int = 32) -> int:
    """Position from the top of the first bit that differs from the sign; -1 for none."""
    text = f"{x & (1 << width) - 1:0{width}b}"
    return text.find("1" if text[0] == "0" else "0")


def middle(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def octets(x: int) -> list[int]:
    return [x >> k & 255 for k in (0, 8, 16, 24)]


def perm(a: int, b: int, select: int) -> int:
    """V_PERM_B32: byte k of {a, b} for 0-7, sign fills of bytes 1, 3, 5, 7 for 8-11, 0 for 12, 255 above."""
    pair = a << 32 | b
    result = 0
    for k, pick in enumerate(octets(select)):
        if pick < 8:
            byte = bits(pair, 8 * pick, 8)
        elif pick < 12:
            byte = 255 * bits(pair, 16 * (pick - 8) + 15, 1)
        else:
            byte = 0 if pick == 12 else 255
        result |= byte << 8 * k
    return result


def lerp(a: int, b: int, c: int) -> int:
    """Bytewise average, rounded up where the lowest bit of c's byte is set."""
    mean = [(x + y + (z & 1)) >> 1 & 255 for x, y, z in zip(octets(a), octets(b), octets(c), strict=True)]
    return sum(m << 8 * k for k, m in enumerate(mean))


def masked_sad(a: int, b: int, c: int) -> int:
    """Sum of absolute byte differences where the reference byte (b) is not zero."""
    return c + sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True) if y)


def sad_words(a: int, b: int, c: int) -> int:
    return c + abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16))


_TWO = "const literal dpp sdwa"
_ONE = "const literal dpp sdwa"


def _unary() -> list[Row]:
    return [
        ints("v_mov_b32", "u32", "u32", lambda a: a, _ONE),
        ints("v_not_b32", "u32", "u32", lambda a: ~a, _ONE),
        ints("v_bfrev_b32", "u32", "u32", reverse, _ONE),
        ints("v_ffbh_u32 v_clz_i32_u32", "u32", "u32", leading, _ONE),
        ints("v_ffbl_b32 v_ctz_i32_b32", "u32", "u32", trailing, _ONE),
        ints("v_ffbh_i32 v_cls_i32", "u32", "u32", signs, _ONE),
        ints("v_mov_b64", "u64", "u64", lambda a: a, "const"),
    ]


def _binary() -> list[Row]:
    plain = "const literal dpp sdwa clamp"
    return [
        ints("v_add_u32 v_add_nc_u32", "u32 u32", "u32", lambda a, b: a + b, plain),
        ints("v_sub_u32 v_sub_nc_u32", "u32 u32", "u32", lambda a, b: a - b, plain),
        ints("v_subrev_u32 v_subrev_nc_u32", "u32 u32", "u32", lambda a, b: b - a, plain),
        ints("v_add_i32 v_add_nc_i32", "i32 i32", "i32", lambda a, b: a + b, "const clamp"),
        ints("v_sub_i32 v_sub_nc_i32", "i32 i32", "i32", lambda a, b: a - b, "const clamp"),
        ints("v_mul_lo_u32", "u32 u32", "u32", lambda a, b: a * b, "const"),
        ints("v_mul_hi_u32", "u32 u32", "u32", lambda a, b: a * b >> 32, "const"),
        ints("v_mul_hi_i32", "i32 i32", "u32", lambda a, b: a * b >> 32, "const"),
        ints("v_mul_i32_i24", "i32 i32", "u32", lambda a, b: s24(a) * s24(b), _TWO),
        ints("v_mul_hi_i32_i24", "i32 i32", "u32", lambda a, b: s24(a) * s24(b) >> 32, _TWO),
        ints("v_mul_u32_u24", "u32 u32", "u32", lambda a, b: u24(a) * u24(b), _TWO),
        ints("v_mul_hi_u32_u24", "u32 u32", "u32", lambda a, b: u24(a) * u24(b) >> 32, _TWO),
        ints("v_min_u32", "u32 u32", "u32", min, _TWO),
        ints("v_max_u32", "u32 u32", "u32", max, _TWO),
        ints("v_min_i32", "i32 i32", "i32", min, _TWO),
        ints("v_max_i32", "i32 i32", "i32", max, _TWO),
        ints("v_and_b32", "u32 u32", "u32", lambda a, b: a & b, _TWO),
        ints("v_or_b32", "u32 u32", "u32", lambda a, b: a | b, _TWO),
        ints("v_xor_b32", "u32 u32", "u32", lambda a, b: a ^ b, _TWO),
        ints("v_xnor_b32", "u32 u32", "u32", lambda a, b: ~(a ^ b), "const literal dpp"),
        ints("v_lshlrev_b32", "u32 u32", "u32", lambda a, b: b << (a & 31), _TWO),
        ints("v_lshrrev_b32", "u32 u32", "u32", lambda a, b: b >> (a & 31), _TWO),
        ints("v_ashrrev_i32", "u32 i32", "u32", lambda a, b: b >> (a & 31), _TWO),
        ints("v_lshlrev_b64", "shift u64", "u64", lambda a, b: b << (a & 63), "const"),
        ints("v_lshrrev_b64", "shift u64", "u64", lambda a, b: b >> (a & 63), "const"),
        ints("v_ashrrev_i64", "shift i64", "u64", lambda a, b: b >> (a & 63), "const"),
        ints("v_bfm_b32", "shift shift", "u32", lambda a, b: (1 << (a & 31)) - 1 << (b & 31), "const"),
        ints("v_bcnt_u32_b32", "u32 u32", "u32", lambda a, b: a.bit_count() + b, "const"),
    ]  # fmt: skip


def _ternary() -> list[Row]:
    c = "const"
    return [
        ints("v_bfe_u32", "u32 shift shift", "u32", field, c),
        ints("v_bfe_i32", "u32 shift shift", "u32", signed_field, c),
        ints("v_bfi_b32", "u32 u32 u32", "u32", lambda a, b, c: a & b | ~a & c, c),
        ints("v_alignbit_b32", "u32 u32 shift", "u32", lambda a, b, c: (a << 32 | b) >> (c & 31), c),
        ints("v_alignbyte_b32", "u32 u32 shift", "u32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3), c),
        ints("v_perm_b32", "u32 u32 u32", "u32", perm, c),
        ints("v_add3_u32", "u32 u32 u32", "u32", lambda a, b, c: a + b + c, c),
        ints("v_lshl_add_u32", "u32 shift u32", "u32", lambda a, b, c: (a << (b & 31)) + c, c),
        ints("v_add_lshl_u32", "u32 u32 shift", "u32", lambda a, b, c: a + b << (c & 31), c),
        ints("v_lshl_or_b32", "u32 shift u32", "u32", lambda a, b, c: a << (b & 31) | c, c),
        ints("v_and_or_b32", "u32 u32 u32", "u32", lambda a, b, c: a & b | c, c),
        ints("v_or3_b32", "u32 u32 u32", "u32", lambda a, b, c: a | b | c, c),
        ints("v_xor3_b32", "u32 u32 u32", "u32", lambda a, b, c: a ^ b ^ c, c),
        ints("v_xad_u32", "u32 u32 u32", "u32", lambda a, b, c: (a ^ b) + c, c),
        ints("v_mad_u32_u24", "u32 u32 u32", "u32", lambda a, b, c: u24(a) * u24(b) + c, c),
        ints("v_mad_i32_i24", "i32 i32 i32", "i32", lambda a, b, c: s24(a) * s24(b) + c, c),
        ints("v_min3_u32", "u32 u32 u32", "u32", min, c),
        ints("v_max3_u32", "u32 u32 u32", "u32", max, c),
        ints("v_med3_u32", "u32 u32 u32", "u32", middle, c),
        ints("v_min3_i32", "i32 i32 i32", "i32", min, c),
        ints("v_max3_i32", "i32 i32 i32", "i32", max, c),
        ints("v_med3_i32", "i32 i32 i32", "i32", middle, c),
        ints("v_minmax_u32", "u32 u32 u32", "u32", lambda a, b, c: max(min(a, b), c), c),
        ints("v_maxmin_u32", "u32 u32 u32", "u32", lambda a, b, c: min(max(a, b), c), c),
        ints("v_minmax_i32", "i32 i32 i32", "i32", lambda a, b, c: max(min(a, b), c), c),
        ints("v_maxmin_i32", "i32 i32 i32", "i32", lambda a, b, c: min(max(a, b), c), c),
        ints("v_sad_u8", "u32 u32 u32", "u32", lambda a, b, c: c + sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True)), c),
        ints("v_sad_u16", "u32 u32 u32", "u32", sad_words, c),
        ints("v_sad_u32", "u32 u32 u32", "u32", lambda a, b, c: abs(a - b) + c, c),
        ints("v_msad_u8", "u32 u32 u32", "u32", masked_sad, c),
        ints("v_lerp_u8", "u32 u32 u32", "u32", lerp, c),
    ]  # fmt: skip


def _wide() -> list[Row]:
    """Multiply-adds into 64 bits, their carry, and 64-bit shifts and additions."""
    product = "{op} {d}, {m}, {a}, {b}, {c}"
    flag = "{op} v[26:27], {m}, {a}, {b}, {c}\n  v_cndmask_b32 {d}, 0, 1, {m}"
    unsigned, signed = "v_mad_u64_u32 v_mad_co_u64_u32", "v_mad_i64_i32 v_mad_co_i64_i32"
    shifts = [
        ints(
            "v_lshl_add_u64",
            "u64 u64",
            "u64",
            lambda a, b, n=n: (a << n) + b,
            "const",
            text=f"{{op}} {{d}}, {{a}}, {n}, {{b}}",
        )
        for n in range(5)
    ]
    return [
        ints(unsigned, "u32 u32 u64", "u64", lambda a, b, c: a * b + c, "const", text=product),
        ints(unsigned, "u32 u32 u64", "u32", lambda a, b, c: a * b + c >> 64 & 1, text=flag),
        ints(signed, "i32 i32 i64", "u64", lambda a, b, c: a * b + c, "const", text=product),
        *shifts,
    ]


def _carries() -> list[Row]:
    """Additions with carry out and in; the third operand is the carry (0 or 1)."""
    take = "v_cmp_ne_u32 {m}, 0, {c}"
    rows = []
    names = {
        "add": ("v_add_co_u32", "v_addc_co_u32 v_add_co_ci_u32", lambda a, b, c: a + b + c),
        "sub": ("v_sub_co_u32", "v_subb_co_u32 v_sub_co_ci_u32", lambda a, b, c: a - b - c),
        "subrev": ("v_subrev_co_u32", "v_subbrev_co_u32 v_subrev_co_ci_u32", lambda a, b, c: b - a - c),
    }
    for plain, chained, meaning in names.values():
        two = lambda a, b, f=meaning: f(a, b, 0)
        two_flag = lambda a, b, f=meaning: int(not 0 <= f(a, b, 0) <= M32)
        three_flag = lambda a, b, c, f=meaning: int(not 0 <= f(a, b, c) <= M32)
        rows += [
            ints(plain, "u32 u32", "u32", two, "const", text="{op} {d}, {m}, {a}, {b}"),
            ints(plain, "u32 u32", "u32", two_flag, text="{op} v26, {m}, {a}, {b}\n  v_cndmask_b32 {d}, 0, 1, {m}"),
            ints(chained, "u32 u32 mask", "u32", meaning, setup=(take,), text="{op} {d}, {vcc}, {a}, {b}, {m}"),
            ints(chained, "u32 u32 mask", "u32", three_flag, setup=(take,),
                 text="{op} v26, {m}, {a}, {b}, {m}\n  v_cndmask_b32 {d}, 0, 1, {m}"),
            ints(chained, "u32 u32 mask", "u32", meaning, setup=("v_cmp_ne_u32 {vcc}, 0, {c}",),
                 text="{op} {d}, {vcc}, {a}, {b}, {vcc}"),
        ]  # fmt: skip
    return rows


def _selections() -> list[Row]:
    def pick(a: int, b: int, c: int) -> int:
        return b if c else a

    return [
        ints("v_cndmask_b32", "u32 u32 mask", "u32", pick, forms, archs=archs,
             setup=(f"v_cmp_ne_u32 {mask}, 0, {{c}}",), text=f"{{op}} {{d}}, {{a}}, {{b}}, {mask}")
        for mask in ("{m}", "{vcc}")
        for forms, archs in (("inline", (CDNA,)), ("const literal", RDNA))
    ] + [
        ints("v_cndmask_b32", "u32 u32 mask", "u32", lambda a, b, c: b & 0xFFFF if c else a >> 8 & 255, archs=(CDNA,), variant="sdwa",
             setup=("v_cmp_ne_u32 {vcc}, 0, {c}",), text="{op}_sdwa {d}, {a}, {b}, {vcc} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_0"),
        floats("v_cndmask_b32", "u32 u32 mask", "u32", lambda a, b, c: np.where(c, b, a[np.arange(len(a)) ^ 1]), "steady", variant="dpp16",
               setup=("v_cmp_ne_u32 {vcc}, 0, {c}",), text="{op}_dpp {d}, {a}, {b}, {vcc} quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"),
    ]  # fmt: skip


def rows() -> list[Row]:
    return [*_unary(), *_binary(), *_ternary(), *_wide(), *_carries(), *_selections()]
