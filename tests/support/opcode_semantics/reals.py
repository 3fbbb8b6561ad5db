"""Vector operations on f32 and f64, and conversions between 32- and 64-bit formats.

Sums, products and fused forms are computed in a wider format or with exact fractions and rounded once, to nearest
even; denormals are kept, as the kernels ask.
"""

# ruff: noqa: E731 (rows of a table, and their short meanings)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from opcode_semantics.rows import CDNA, RDNA3, RDNA4, Row, floats, ints

Array = np.ndarray[Any, Any]


def wide(x: Array) -> Array:
    return x.astype(np.float64)


def number_of(fraction: Fraction) -> float:
    try:
        return fraction.numerator / fraction.denominator
    except OverflowError:
        return float("inf") if fraction > 0 else float("-inf")


def fused(a: Array, b: Array, c: Array) -> Array:
    """a b + c, rounded once: exact fractions for finite numbers, the format's own rules for the rest."""
    plain = wide(a) * wide(b) + wide(c)
    kind = a.dtype.type
    made = []
    for x, y, z, p in zip(wide(a).tolist(), wide(b).tolist(), wide(c).tolist(), plain.tolist(), strict=True):
        finite = all(abs(v) < float("inf") for v in (x, y, z))
        exact = Fraction(x) * Fraction(y) + Fraction(z) if finite else Fraction(0)
        made.append(rounded(exact, kind) if finite and exact else kind(p))
    return np.array(made, kind)


def rounded(exact: Fraction, kind: Any) -> Any:
    """The nearest number of the format; ties to even."""
    info = np.finfo(kind)
    size = abs(exact)
    power = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, info.minexp)
    while power > info.minexp and size < Fraction(2) ** power:
        power -= 1
    while size >= Fraction(2) ** (power + 1):
        power += 1
    unit = Fraction(2) ** (power - info.nmant)
    whole = round(size / unit)
    value = number_of(whole * unit)
    with np.errstate(over="ignore"):
        return kind(value if exact > 0 else -value)


def pick(a: Array, b: Array, smaller: bool) -> Array:
    """The smaller (larger) of two numbers that are no NaN; -0 is below +0."""
    below = (a < b) | ((a == b) & np.signbit(a))
    return np.where(below == smaller, a, b)


def signalling(x: Array) -> Array:
    bits = x.view(f"u{x.dtype.itemsize}")
    top = {2: 9, 4: 22, 8: 51}[x.dtype.itemsize]
    return np.isnan(x) & (bits >> bits.dtype.type(top) & bits.dtype.type(1) == 0)


def least(a: Array, b: Array) -> Array:
    """V_MIN in IEEE mode (the kernels' mode): a signalling NaN gives NaN, a quiet one loses."""
    return extreme_ieee(a, b, True)


def most(a: Array, b: Array) -> Array:
    return extreme_ieee(a, b, False)


def extreme_ieee(a: Array, b: Array, smaller: bool) -> Array:
    nan = a.dtype.type(np.nan)
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, pick(a, b, smaller)))
    return np.where(signalling(a) | signalling(b), nan, result)


def least_number(a: Array, b: Array) -> Array:
    """minimumNumber of IEEE 754-2019: any NaN loses."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, pick(a, b, True)))


def most_number(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, pick(a, b, False)))


def minimum(a: Array, b: Array) -> Array:
    """minimum of IEEE 754-2019: any NaN wins."""
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), pick(a, b, True))


def maximum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), pick(a, b, False))


def median(low: Any, high: Any) -> Any:
    """The middle of three; with a NaN among them the minimum of the others, as V_MED3 says."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        some = np.isnan(a) | np.isnan(b) | np.isnan(c)
        triple = np.stack([a, b, c])
        order = np.lexsort((~np.signbit(triple), triple), axis=0)
        middle = np.take_along_axis(triple, order[1:2], 0)[0]
        return np.where(some, low(low(a, b), c), middle)

    return apply


_TWO = "const literal float dpp sdwa"
_TWO64 = "const float"


def _sums(t: str, two: str) -> list[Row]:
    """Addition, multiplication and fused forms of a format."""
    kind = f"{t} {t}"
    made = [
        floats(f"v_add_{t}", kind, t, lambda a, b: a + b, two),
        floats(f"v_mul_{t}", kind, t, lambda a, b: a * b, two),
        floats(f"v_fma_{t}", f"{kind} {t}", t, fused, "const float"),
    ]
    if t == "f32":
        made += [
            floats("v_sub_f32", kind, t, lambda a, b: a - b, two),
            floats("v_subrev_f32", kind, t, lambda a, b: b - a, two),
            floats("v_fmac_f32", kind, t, lambda a, b, old: fused(a, b, old), "const literal", old=True),
            floats(
                "v_fmamk_f32",
                kind,
                t,
                lambda a, b: fused(a, np.full_like(a, 1.5), b),
                text="{op} {d}, {a}, 0x3fc00000, {b}",
            ),
            floats(
                "v_fmaak_f32",
                kind,
                t,
                lambda a, b: fused(a, b, np.full_like(a, 1.5)),
                text="{op} {d}, {a}, {b}, 0x3fc00000",
            ),
            floats(
                "v_mul_legacy_f32 v_mul_dx9_zero_f32",
                kind,
                t,
                lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), a * b),
                "float",
            ),
        ]
    else:
        made.append(floats("v_fmac_f64", kind, t, lambda a, b, old: fused(a, b, old), "const", old=True, archs=(CDNA,)))
    return made


def _extremes(t: str, two: str) -> list[Row]:
    kind, three = f"{t} {t}", f"{t} {t} {t}"
    made = []
    families = (
        ("", least, most, (CDNA, RDNA3)), ("_num", least_number, most_number, (RDNA4,)),
    )  # fmt: skip
    for tail, low, high, archs in families:
        made += [
            floats(f"v_min{tail}_{t}", kind, t, low, two, archs=archs),
            floats(f"v_max{tail}_{t}", kind, t, high, two, archs=archs),
        ]
        if t != "f64":
            made += [
                floats(
                    f"v_min3{tail}_{t}",
                    three,
                    t,
                    lambda a, b, c, f=low: f(f(a, b), c),
                    "const float opsel",
                    archs=archs,
                ),
                floats(
                    f"v_max3{tail}_{t}",
                    three,
                    t,
                    lambda a, b, c, f=high: f(f(a, b), c),
                    "const float opsel",
                    archs=archs,
                ),
                floats(f"v_med3{tail}_{t}", three, t, median(low, high), "const float opsel", archs=archs),
            ]
            if archs != (CDNA, RDNA3):
                archs_mix = archs
            else:
                archs_mix = (RDNA3,)
            made += [
                floats(
                    f"v_minmax{tail}_{t}",
                    three,
                    t,
                    lambda a, b, c, f=low, g=high: g(f(a, b), c),
                    "const float opsel",
                    archs=archs_mix,
                ),
                floats(
                    f"v_maxmin{tail}_{t}",
                    three,
                    t,
                    lambda a, b, c, f=low, g=high: f(g(a, b), c),
                    "const float opsel",
                    archs=archs_mix,
                ),
            ]
    made += [
        floats(f"v_minimum_{t}", kind, t, minimum, "const float opsel", archs=(RDNA4,)),
        floats(f"v_maximum_{t}", kind, t, maximum, "const float opsel", archs=(RDNA4,)),
    ]
    if t != "f64":
        made += [
            floats(
                f"v_minimum3_{t}",
                three,
                t,
                lambda a, b, c: minimum(minimum(a, b), c),
                "const float opsel",
                archs=(RDNA4,),
            ),
            floats(
                f"v_maximum3_{t}",
                three,
                t,
                lambda a, b, c: maximum(maximum(a, b), c),
                "const float opsel",
                archs=(RDNA4,),
            ),
            floats(
                f"v_minimummaximum_{t}",
                three,
                t,
                lambda a, b, c: maximum(minimum(a, b), c),
                "const float opsel",
                archs=(RDNA4,),
            ),
            floats(
                f"v_maximumminimum_{t}",
                three,
                t,
                lambda a, b, c: minimum(maximum(a, b), c),
                "const float opsel",
                archs=(RDNA4,),
            ),
        ]
    return made


def fraction_part(x: Array) -> Array:
    """x - floor(x), below one; NaN of an infinity."""
    below = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    return np.where(np.isinf(x), x.dtype.type(np.nan), np.minimum(x - np.floor(x), below))


def turns(function: Any) -> Any:
    """Sine or cosine of an angle in turns."""
    return lambda x: function(2 * np.pi * np.fmod(wide(x), 1.0))


def scaled(a: Array, power: Array) -> Array:
    """a 2^power, rounded once."""
    made = []
    for x, n in zip(wide(a).tolist(), power.tolist(), strict=True):
        finite = abs(x) < float("inf") and x != 0
        made.append(
            rounded(Fraction(x) * Fraction(2) ** max(-2300, min(2300, n)), a.dtype.type) if finite else a.dtype.type(x)
        )
    return np.array(made, a.dtype)


def frexp_power(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0)


def _functions(t: str, one: str) -> list[Row]:
    bits = "i16" if t == "f16" else "i32"
    power = "power16" if t == "f16" else "power"
    return [
        floats(f"v_floor_{t}", t, t, np.floor, one),
        floats(f"v_ceil_{t}", t, t, np.ceil, one),
        floats(f"v_trunc_{t}", t, t, np.trunc, one),
        floats(f"v_rndne_{t}", t, t, nearest_even, one),
        floats(f"v_fract_{t}", t, t, fraction_part, one),
        floats(f"v_sqrt_{t}", t, t, lambda x: np.sqrt(wide(x)), one, ulp=1),
        floats(f"v_rcp_{t}", t, t, lambda x: 1 / wide(x), one, ulp=1),
        floats(f"v_rsq_{t}", t, t, lambda x: 1 / np.sqrt(wide(x)), one, ulp=1),
        floats(f"v_frexp_mant_{t}", t, t, lambda x: np.where(np.isfinite(x), np.frexp(x)[0], x), one),
        floats(f"v_frexp_exp_{bits}_{t}", t, bits, frexp_power, "const literal dpp" if t == "f32" else "const"),
        floats(f"v_ldexp_{t}", f"{t} {power}", t, scaled, "const opsel" if t != "f16" else "const"),
    ]


def nearest_even(x: Array) -> Array:
    """To a whole number with Python's round (ties to even), the sign kept."""
    made = [float(round(v)) if abs(v) < 2.0**52 else v for v in wide(x).tolist()]
    return np.copysign(np.array(made), wide(x))


def _transcendental(t: str, one: str) -> list[Row]:
    return [
        floats(f"v_exp_{t}", t, t, lambda x: np.exp2(wide(x)), one, ulp=1),
        floats(f"v_log_{t}", t, t, lambda x: np.log2(wide(x)), one, ulp=1),
        floats(f"v_sin_{t}", t, t, turns(np.sin), "small" + one, ulp=2, floor=2e-7),
        floats(f"v_cos_{t}", t, t, turns(np.cos), "small" + one, ulp=2, floor=2e-7),
    ]


def saturate(low: int, high: int) -> Any:
    """Truncation toward zero that saturates; NaN gives 0."""

    def apply(x: Array) -> Array:
        made = [0 if v != v else high if v >= high else low if v <= low else int(v) for v in wide(x).tolist()]
        return np.array(made, np.int64)

    return apply


I32, U32 = (-(1 << 31), (1 << 31) - 1), (0, (1 << 32) - 1)


def half_toward_zero(x: Array) -> Array:
    """f32 to f16 toward zero; finite values stay finite."""
    near = x.astype(np.float16)
    beyond = np.isfinite(x) & (np.abs(near.astype(np.float64)) > np.abs(wide(x)))
    return np.where(beyond, np.nextafter(near, np.float16(0)), near)


def packed(low: Array, high: Array) -> Array:
    """Two arrays of 16-bit values as words."""
    low, high = (np.ascontiguousarray(x).view(np.uint16).astype(np.uint32) for x in (low, high))
    return low | high << np.uint32(16)


def unit(x: Array, low: float, scale: int) -> Array:
    """Normalised integers: clamp to [low, 1], scale, to nearest even."""
    clamped = np.clip(np.nan_to_num(wide(x), nan=0.0), low, 1.0)
    return np.array([round(v * scale) for v in clamped.tolist()], np.int64).astype(np.int16)


def _conversions() -> list[Row]:
    one, plain = "const literal dpp sdwa", "const literal"
    up = lambda kind: lambda x: x.astype(kind)
    made = [
        floats("v_cvt_f32_i32", "i32", "f32", lambda x: wide(x), one),
        floats("v_cvt_f32_u32", "u32", "f32", lambda x: wide(x), one),
        floats("v_cvt_f64_i32", "i32", "f64", up(np.float64), plain),
        floats("v_cvt_f64_u32", "u32", "f64", up(np.float64), plain),
        floats("v_cvt_i32_f32", "f32", "i32", saturate(*I32), one),
        floats("v_cvt_u32_f32", "f32", "u32", saturate(*U32), one),
        floats("v_cvt_i32_f64", "f64", "i32", saturate(*I32), "const"),
        floats("v_cvt_u32_f64", "f64", "u32", saturate(*U32), "const"),
        floats(
            "v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32",
            "f32",
            "i32",
            lambda x: saturate(*I32)(np.floor(wide(x) + 0.5)),
            one,
        ),
        floats("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "f32", "i32", lambda x: saturate(*I32)(np.floor(wide(x))), one),
        floats("v_cvt_f64_f32", "f32", "f64", up(np.float64), plain),
        floats("v_cvt_f32_f64", "f64", "f32", up(np.float32), "const"),
        floats(
            "v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32",
            "f32 f32",
            "pk16",
            lambda a, b: packed(half_toward_zero(a), half_toward_zero(b)),
            "const",
        ),
        floats(
            "v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32",
            "f32 f32",
            "u32",
            lambda a, b: packed(unit(a, -1, 32767), unit(b, -1, 32767)),
        ),
        floats(
            "v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32",
            "f32 f32",
            "u32",
            lambda a, b: packed(unit(a, 0, 65535), unit(b, 0, 65535)),
        ),
        ints("v_cvt_pk_u16_u32", "u32 u32", "u32", lambda a, b: min(a, 65535) | min(b, 65535) << 16, "const"),
        ints(
            "v_cvt_pk_i16_i32",
            "i32 i32",
            "u32",
            lambda a, b: max(-32768, min(a, 32767)) & 65535 | (max(-32768, min(b, 32767)) & 65535) << 16,
            "const",
        ),
        floats(
            "v_cvt_pk_u16_f32",
            "f32 f32",
            "u32",
            lambda a, b: packed(saturate(0, 65535)(a).astype(np.uint16), saturate(0, 65535)(b).astype(np.uint16)),
        ),
        floats(
            "v_cvt_pk_i16_f32",
            "f32 f32",
            "u32",
            lambda a, b: packed(
                saturate(-32768, 32767)(a).astype(np.int16), saturate(-32768, 32767)(b).astype(np.int16)
            ),
        ),
    ]
    made += [
        ints(f"v_cvt_f32_ubyte{k}", "u32", "f32", lambda x, k=k: int(np.float32(x >> 8 * k & 255).view(np.uint32)), one)
        for k in range(4)
    ]
    return made


def rows() -> list[Row]:
    made = _conversions()
    for t, two, one in (("f32", _TWO, "const literal float dpp sdwa"), ("f64", _TWO64, "const float")):
        made += [*_sums(t, two), *_extremes(t, two), *_functions(t, one)]
    made += _transcendental("f32", "const literal float")
    made.append(floats("v_rcp_iflag_f32", "f32", "f32", lambda x: 1 / wide(x), "const", ulp=1))
    return made
