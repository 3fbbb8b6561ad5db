"""Packed operations (VOP3P), dot products, mixed-precision multiply-adds and VOP3 operations on packed words."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from opcode_semantics import reals
from opcode_semantics.rows import CDNA, RDNA, RDNA3, RDNA4, Row, floats, ints

Array = np.ndarray[Any, Any]


def parts(x: Array, kind: Any) -> tuple[Array, Array]:
    """Low and high 16 bits of words (32 of pairs) as numbers."""
    both = x.view(kind).reshape(len(x), 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def joined(low: Array, high: Array, kind: Any) -> Array:
    made = np.stack([np.asarray(low).astype(kind), np.asarray(high).astype(kind)], -1)
    return np.ascontiguousarray(made).view({2: np.uint32, 4: np.uint64}[made.itemsize]).ravel()


def chosen(x: Array, kind: Any, low: int, high: int, neg_low: int = 0, neg_high: int = 0) -> Array:
    """op_sel and neg modifiers: which half goes to each result half, and its sign."""
    halves = parts(x, kind)
    first, second = halves[low], halves[high]
    return joined(-first if neg_low else first, -second if neg_high else second, kind)


def halfwise(function: Callable[..., Any], kind: Any) -> Callable[..., Array]:
    """A function of numbers applied to both halves."""

    def apply(*words: Array) -> Array:
        split = [parts(w, kind) for w in words]
        low, high = (function(*(s[k] for s in split)) for k in (0, 1))
        return joined(low, high, kind)

    return apply


def selected(row: Row, kind: Any, sign: bool) -> list[Row]:
    """The row with halves exchanged or repeated, and with signs."""
    count = len(row.sources)
    choices = (("[1,0,1]", "[0,1,0]"), ("[1,1,0]", "[1,1,0]"), ("[0,0,0]", "[1,0,1]"))
    made = [row]
    for low, high in choices:
        lows, highs = (tuple(int(c) for c in text[1:-1].split(",")[:count]) for text in (low, high))
        suffix = f" op_sel:[{','.join(map(str, lows))}] op_sel_hi:[{','.join(map(str, highs))}]"
        made.append(_with(row, kind, suffix, lows, highs))
    if sign:
        negative = ((1, 0, 1)[:count], (0, 1, 1)[:count])
        suffix = f" neg_lo:[{','.join(map(str, negative[0]))}] neg_hi:[{','.join(map(str, negative[1]))}]"
        made.append(_with(row, kind, suffix, (0,) * count, (1,) * count, *negative))
    return made


def _with(
    row: Row, kind: Any, suffix: str, low: Any, high: Any, neg_low: Any = (0, 0, 0), neg_high: Any = (0, 0, 0)
) -> Row:
    def meaning(*words: Array) -> Any:
        return row.meaning(*(chosen(w, kind, low[k], high[k], neg_low[k], neg_high[k]) for k, w in enumerate(words)))

    operands = ", ".join("{" + "abc"[k] + "}" for k in range(len(row.sources)))
    return replace(row, meaning=meaning, text=f"{{op}} {{d}}, {operands}{suffix}", forms=frozenset())


def _packed_whole() -> list[Row]:
    u, i = np.uint16, np.int16
    table: tuple[tuple[str, str, Any, Callable[..., Any]], ...] = (
        ("v_pk_add_u16", "u32h u32h", u, lambda a, b: a + b), ("v_pk_sub_u16", "u32h u32h", u, lambda a, b: a - b),
        ("v_pk_add_i16", "u32h u32h", i, lambda a, b: a + b), ("v_pk_sub_i16", "u32h u32h", i, lambda a, b: a - b),
        ("v_pk_mul_lo_u16", "u32h u32h", u, lambda a, b: a * b),
        ("v_pk_mad_u16", "u32h u32h u32h", u, lambda a, b, c: a * b + c),
        ("v_pk_mad_i16", "u32h u32h u32h", i, lambda a, b, c: a * b + c),
        ("v_pk_min_u16", "u32h u32h", u, np.minimum), ("v_pk_max_u16", "u32h u32h", u, np.maximum),
        ("v_pk_min_i16", "u32h u32h", i, np.minimum), ("v_pk_max_i16", "u32h u32h", i, np.maximum),
        ("v_pk_lshlrev_b16", "u32h u32h", u, lambda a, b: b << (a & u(15))),
        ("v_pk_lshrrev_b16", "u32h u32h", u, lambda a, b: b >> (a & u(15))),
        ("v_pk_ashrrev_i16", "u32h u32h", i, lambda a, b: b >> (a & i(15))),
    )  # fmt: skip
    return [
        row
        for name, sources, kind, meaning in table
        for row in selected(floats(name, sources, "u32", halfwise(meaning, kind)), kind, sign=False)
    ]


def _saturated() -> list[Row]:
    """Sums and differences of halves that stop at the ends of their range."""
    made = []
    for sign, kind, low, high in (
        (1, np.uint16, 0, 65535),
        (-1, np.uint16, 0, 65535),
        (1, np.int16, -32768, 32767),
        (-1, np.int16, -32768, 32767),
    ):
        name = f"v_pk_{'add' if sign > 0 else 'sub'}_{'u' if low == 0 else 'i'}16"
        exact = lambda a, b, s=sign, lo=low, hi=high: np.clip(a.astype(np.int64) + s * b.astype(np.int64), lo, hi)
        made.append(floats(name, "u32h u32h", "u32", halfwise(exact, kind), text="{op} {d}, {a}, {b} clamp"))
    return made


def _packed_real() -> list[Row]:
    h, w = np.float16, reals.wide
    table: tuple[tuple[str, int, Any, tuple[str, ...]], ...] = (
        ("v_pk_add_f16", 2, lambda a, b: w(a) + w(b), (CDNA, *RDNA)),
        ("v_pk_mul_f16", 2, lambda a, b: w(a) * w(b), (CDNA, *RDNA)),
        ("v_pk_fma_f16", 3, reals.fused, (CDNA, *RDNA)),
        ("v_pk_min_f16", 2, reals.least, (CDNA, RDNA3)), ("v_pk_max_f16", 2, reals.most, (CDNA, RDNA3)),
        ("v_pk_min_num_f16", 2, reals.least_number, (RDNA4,)), ("v_pk_max_num_f16", 2, reals.most_number, (RDNA4,)),
        ("v_pk_minimum_f16", 2, reals.minimum, (RDNA4,)), ("v_pk_maximum_f16", 2, reals.maximum, (RDNA4,)),
    )  # fmt: skip
    made = [
        row
        for name, count, meaning, archs in table
        for row in selected(
            floats(name, "pk16 " * count, "pk16", halfwise(meaning, h), archs=archs), h, sign=True
        )
    ]  # fmt: skip
    wide_table: tuple[tuple[str, int, Any], ...] = (
        ("v_pk_add_f32", 2, lambda a, b: a + b), ("v_pk_mul_f32", 2, lambda a, b: a * b), ("v_pk_fma_f32", 3, reals.fused),
    )  # fmt: skip
    for name, count, meaning in wide_table:
        row = floats(name, "pkf " * count, "pkf", halfwise(meaning, np.float32), archs=(CDNA,))
        made += selected(row, np.float32, sign=True)
    moves = (("[0,1]", 0, 1), ("[1,0]", 1, 0), ("[1,1]", 1, 1))
    for text, first, second in moves:
        meaning = lambda a, b, f=first, s=second: joined(parts(a, np.uint32)[f], parts(b, np.uint32)[s], np.uint32)
        made.append(
            floats("v_pk_mov_b32", "u64 u64", "u64", meaning, text="{op} {d}, {a}, {b} op_sel:" + text, archs=(CDNA,))
        )
    made.append(floats("v_pk_fmac_f16", "pk16 pk16", "pk16", halfwise(reals.fused, h), old=True))
    return made


def octet(x: Array, signed: bool) -> Array:
    return x.view(np.int8 if signed else np.uint8).reshape(len(x), 4).astype(np.int64)


def nibble(x: Array, signed: bool) -> Array:
    made = np.stack([x >> np.uint32(4 * k) & np.uint32(15) for k in range(8)], -1).astype(np.int64)
    return np.where(made >= 8, made - 16, made) if signed else made


def dot(split: Callable[[Array, bool], Array], left: bool, right: bool) -> Callable[..., Array]:
    return lambda a, b, c: ((split(a, left) * split(b, right)).sum(1) + c.astype(np.int64)).astype(np.uint32)


def dot_real(a: Array, b: Array, c: Array) -> Array:
    """Two f16 products added to c in f32, low half first."""
    (al, ah), (bl, bh) = parts(a, np.float16), parts(b, np.float16)
    f = np.float32
    return (c + f(1) * al.astype(f) * bl.astype(f)) + ah.astype(f) * bh.astype(f)


def dot_brain(a: Array, b: Array, c: Array) -> Array:
    (al, ah), (bl, bh) = (parts(x, np.uint16) for x in (a, b))
    up = lambda x: (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return (c + up(al) * up(bl)) + up(ah) * up(bh)


def half_dot(a: Array, b: Array, c: Array, kind: Any) -> Array:
    (al, ah), (bl, bh) = parts(a, kind), parts(b, kind)
    total = al.astype(np.int64) * bl.astype(np.int64) + ah.astype(np.int64) * bh.astype(np.int64) + c.astype(np.int64)
    return total.astype(np.uint32)


def _dots() -> list[Row]:
    made = [
        floats("v_dot4_i32_i8", "bytes bytes u32", "u32", dot(octet, True, True)),
        floats("v_dot4_u32_u8", "bytes bytes u32", "u32", dot(octet, False, False)),
        floats("v_dot8_i32_i4", "bytes bytes u32", "u32", dot(nibble, True, True)),
        floats("v_dot8_u32_u4", "bytes bytes u32", "u32", dot(nibble, False, False)),
        floats("v_dot2_i32_i16", "u32h u32h u32", "u32", lambda a, b, c: half_dot(a, b, c, np.int16)),
        floats("v_dot2_u32_u16", "u32h u32h u32", "u32", lambda a, b, c: half_dot(a, b, c, np.uint16)),
        floats("v_dot2_f32_f16", "pk16 pk16 f32", "f32", dot_real, ulp=1, where=calm),
        floats("v_dot2_f32_bf16", "pkb pkb f32", "f32", dot_brain, ulp=1, where=calm_brain, archs=RDNA),
        floats(
            "v_dot2acc_f32_f16 v_dot2c_f32_f16",
            "pk16 pk16",
            "f32",
            dot_real,
            old=True,
            ulp=1,
            where=lambda a, b: calm(a, b, np.zeros(len(a), "f4")),
        ),
        floats("v_dot4c_i32_i8", "bytes bytes", "u32", dot(octet, True, True), old=True),
        floats("v_dot2c_i32_i16", "u32h u32h", "u32", lambda a, b, c: half_dot(a, b, c, np.int16), old=True),
    ]
    for name, split in (("v_dot4_i32_iu8", octet), ("v_dot8_i32_iu4", nibble)):
        made += [
            floats(name, "bytes bytes u32", "u32", dot(split, bool(left), bool(right)),
                   text=f"{{op}} {{d}}, {{a}}, {{b}}, {{c}} neg_lo:[{left},{right},0]")
            for left in (0, 1) for right in (0, 1)
        ]  # fmt: skip
    return made


def calm(a: Array, b: Array, c: Array) -> Array:
    """Operands whose products and sums neither cancel far nor leave the range: the order of rounding is open."""
    (al, ah), (bl, bh) = parts(a, np.float16), parts(b, np.float16)
    w = reals.wide
    return _calm(w(al) * w(bl), w(ah) * w(bh), w(c))


def calm_brain(a: Array, b: Array, c: Array) -> Array:
    up = lambda x: reals.wide((x.astype(np.uint32) << np.uint32(16)).view(np.float32))
    (al, ah), (bl, bh) = (parts(x, np.uint16) for x in (a, b))
    return _calm(up(al) * up(bl), up(ah) * up(bh), reals.wide(c))


def _calm(*terms: Array) -> Array:
    with np.errstate(all="ignore"):
        size = sum(np.abs(t) for t in terms)
        total = np.abs(sum(terms))
        tiny = np.zeros(total.shape, bool)
        for t in terms:
            tiny |= (t != 0) & (np.abs(t) < 2.0**-120)
        return np.isfinite(total) & (total < 2.0**120) & (total * 2 > size) & ~tiny


def _mixed() -> list[Row]:
    """V_FMA_MIX: each operand is an f32, or the half of a word that op_sel names; neg_hi is the magnitude."""
    names = {
        "f32": "v_fma_mix_f32 v_mad_mix_f32",
        "lo": "v_fma_mixlo_f16 v_mad_mixlo_f16",
        "hi": "v_fma_mixhi_f16 v_mad_mixhi_f16",
    }
    forms = (
        ("", (0, 0, 0), (0, 0, 0)),
        (" op_sel:[0,1,0] op_sel_hi:[1,1,0]", (1, 1, 0), (0, 1, 0)),
        (" op_sel:[1,0,1] op_sel_hi:[1,0,1]", (1, 0, 1), (1, 0, 1)),
    )
    made = []
    for suffix, is_half, high in forms:
        sources = " ".join("pk16" if flag else "f32" for flag in is_half)
        for spelled, signs in (("{a}, {b}, {c}", ""), ("-{a}, |{b}|, {c}", "signs")):
            if signs and not suffix:
                continue
            value = _mix(is_half, high, bool(signs))
            text = f"{{op}} {{d}}, {spelled}{suffix}"
            made.append(floats(names["f32"], sources, "f32", value, text=text))
            low = lambda *w, f=value: joined(_half(f(*w[:3])), parts(w[3], np.float16)[1], np.float16)
            top = lambda *w, f=value: joined(parts(w[3], np.float16)[0], _half(f(*w[:3])), np.float16)
            made.append(floats(names["lo"], sources, "pk16", low, text=text, old=True))
            made.append(floats(names["hi"], sources, "pk16", top, text=text, old=True))
    return [replace(row, text=row.text) for row in made]


def _half(x: Array) -> Array:
    return x.astype(np.float16)


def _mix(is_half: tuple[int, ...], high: tuple[int, ...], signs: bool) -> Callable[..., Array]:
    def apply(*words: Array) -> Array:
        terms = []
        for k, word in enumerate(words[:3]):
            x = parts(word, np.float16)[high[k]].astype(np.float32) if is_half[k] else word
            if signs:
                x = -x if k == 0 else np.abs(x) if k == 1 else x
            terms.append(x)
        return reals.fused(*terms)

    return apply


def _brain() -> list[Row]:
    """bf16 conversions of GFX950 and the dot products of GFX11+ into 16 bits."""
    return [
        floats("v_dot2_f16_f16", "pk16 pk16 f16", "f16", dot16, where=calm16, ulp=2, archs=RDNA),
    ]


def dot16(a: Array, b: Array, c: Array) -> Array:
    (al, ah), (bl, bh) = parts(a, np.float16), parts(b, np.float16)
    w = reals.wide
    return w(al) * w(bl) + w(ah) * w(bh) + w(c)


def calm16(a: Array, b: Array, c: Array) -> Array:
    (al, ah), (bl, bh) = parts(a, np.float16), parts(b, np.float16)
    w = reals.wide
    with np.errstate(all="ignore"):
        terms = (w(al) * w(bl), w(ah) * w(bh), w(c))
        total, size = np.abs(sum(terms)), sum(np.abs(t) for t in terms)
        return np.isfinite(total) & (total < 2.0**14) & (total > 2.0**-8) & (total * 1.3 > size)


def rows() -> list[Row]:
    return [*_packed_whole(), *_saturated(), *_packed_real(), *_dots(), *_mixed(), *_brain()]


__all__ = ["ints", "ml_dtypes", "rows"]
