"""Kinds B41-B44: rounding, NaN, packed integers, signs of narrow types; exhaustive, on every device."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from fault_kinds_machines import launch
from fault_kinds_product import run

BF16 = ml_dtypes.bfloat16
EVERYWHERE = ("interpreter", "gfx942", "gfx950", "gfx1151", "gfx1201", "vulkan1.3")
HEAD = """\
spec: 1
kind: kernel
name: exhaustive
summary: One value a work-item.
"""
LAUNCH = """\
launch:
  workgroups: {group: 256}
  workgroup_size: {item: 256}
body:
- let: {at: group * 256 + item}
"""


def on(where: str, text: str, args: dict[str, Any]) -> dict[str, Any]:
    """What a launch of 65,536 work-items leaves on a device; no finding."""
    if where == "interpreter":
        return run(text, args, grid=(256, 1, 1))
    result = launch(text, args, where, grid=(256, 1, 1))
    assert result.findings == (), [str(f) for f in result.findings[:3]]
    return result.outputs


def to_bf16(exact: Any) -> Any:
    """Bits of the nearest bfloat16, ties to even, from float64 values: by scaling, not by any narrower type.

    Eight significant bits above 2^-126, a fixed step below; from 2^128 (1 - 2^-9) on infinity. NaN gives 0x7fc0.
    """
    with np.errstate(all="ignore"):
        size = np.abs(exact)
        _, exponent = np.frexp(np.where(np.isfinite(size), size, 1.0))
        step = np.exp2(np.maximum(exponent - 8, -133).astype(np.float64))
        rounded = np.rint(size / step) * step
        bits = np.where(
            rounded >= 2.0**-126,
            (np.frexp(np.where(np.isfinite(rounded), rounded, 1.0))[1] + 126) * 128
            + (np.rint(np.frexp(np.where(np.isfinite(rounded), rounded, 1.0))[0] * 256).astype(np.int64) - 128),
            np.rint(np.where(np.isfinite(rounded), rounded, 0.0) / 2.0**-133),
        )
        bits = np.where((rounded >= 2.0**128) | np.isinf(size), 0x7F80, bits)
        bits = np.where(np.signbit(exact), bits + 0x8000, bits)
        return np.where(np.isnan(exact), 0x7FC0, bits).astype(np.uint16)


def same_bits(found: Any, wanted: Any) -> None:
    """Equal bits; any NaN for a NaN."""
    nan = (wanted & 0x7FFF) > 0x7F80
    assert ((found & 0x7FFF) > 0x7F80)[nan].all(), "a NaN stays a NaN"
    wrong = np.flatnonzero((found != wanted) & ~nan)
    assert not wrong.size, [(hex(at), hex(found.flat[at]), hex(wanted.flat[at])) for at in wrong[:4]]


PRODUCT = (
    HEAD
    + """\
args:
  x: {buffer: bf16, shape: {at: 65536}}
  by: {buffer: bf16, shape: {m: 6}}
  out: {buffer: bf16, shape: {m: 6, at: 65536}, access: write}
"""
    + LAUNCH
    + """\
- for: m
  in: range(6)
  do:
  - store: {"out[m, at]": "x[at] * by[m]"}
"""
)


def test_own_rounding_is_right() -> None:
    """The expectation of the tests below, on values that can be checked by hand."""
    values = [1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -(2.0**-134), 3 * 2.0**-134, 2.0**-133, 3.4e38, np.inf, 0.0, -0.0]
    wanted = [0x3F80, 0x3F80, 0x3F82, 0x8000, 0x0002, 0x0001, 0x7F80, 0x7F80, 0, 0x8000]
    assert to_bf16(np.array(values)).tolist() == wanted


@pytest.mark.parametrize("where", EVERYWHERE)
def test_b41_products_round_to_nearest_even(where: str) -> None:
    """A bfloat16 product is the exact product rounded once to nearest even, for every operand, ties included."""
    x = np.arange(65536, dtype=np.uint16).view(BF16)
    by = np.array([1.0, 1.0078125, 1.5, -0.99609375, 2.0**-126, 3.0], BF16)
    out = on(where, PRODUCT, {"x": x, "by": by, "out": np.zeros(6 * 65536, BF16)})["out"].view(np.uint16)
    with np.errstate(all="ignore"):
        exact = by.astype(np.float64)[:, None] * x.astype(np.float64)[None, :]
    same_bits(out, to_bf16(exact).reshape(-1))


NARROW = (
    HEAD
    + """\
args:
  low: {type: u32, range: [0, 65535]}
  near: {buffer: bf16, shape: {at: 65536}, access: write}
  cut: {buffer: bf16, shape: {at: 65536}, access: write}
"""
    + LAUNCH
    + """\
- let: {x: "bits((u32(at) << 16) | low, f32)"}
- store:
    "near[at]": bf16(x)
    "cut[at]": bf16(x, round=zero)
"""
)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_b42_rounding_keeps_the_class(where: str) -> None:
    """NaN with any payload stays NaN, infinity infinity; the largest finite value goes to infinity or, cut, stays."""
    for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        args: dict[str, Any] = {"low": low, "near": np.zeros(65536, BF16), "cut": np.zeros(65536, BF16)}
        left = on(where, NARROW, args)
        high = np.arange(65536, dtype=np.uint32)
        with np.errstate(invalid="ignore"):
            x = ((high << 16) | np.uint32(low)).view(np.float32).astype(np.float64)
        same_bits(left["near"].view(np.uint16), to_bf16(x))
        cut = np.where(np.isnan(x), 0x7FC0, high).astype(np.uint16)
        same_bits(left["cut"].view(np.uint16), cut)


NIBBLES = (
    HEAD
    + """\
args:
  signed: {buffer: i32, shape: {at: 65536, k: 4}, access: write}
  plain: {buffer: i32, shape: {at: 65536, k: 4}, access: write}
  bytes: {buffer: i32, shape: {at: 65536, k: 4}, access: write}
  again: {buffer: i16, shape: {at: 65536}, access: write}
"""
    + LAUNCH
    + """\
- let:
    word: i16(at)
    s: unpack(word, i4)
    u: unpack(word, u4)
    wide: unpack(i32(at) * 65537, i8)
- store:
    "signed[at, :]": s
    "plain[at, :]": u
    "bytes[at, :]": wide
    "again[at]": "i16(pack(s, i4))"
"""
)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_b43_every_packed_word(where: str) -> None:
    """Each nibble and byte is decoded by its own two's complement, without borrow from its neighbour."""
    args = {name: np.zeros(4 * 65536, np.int32) for name in ("signed", "plain", "bytes")}
    left = on(where, NIBBLES, {**args, "again": np.zeros(65536, np.int16)})
    word = np.arange(65536)
    fields = np.stack([word >> (4 * k) & 15 for k in range(4)], 1)
    octets = np.stack([word & 255, word >> 8, word & 255, word >> 8], 1)
    assert np.array_equal(left["plain"].reshape(-1, 4), fields)
    assert np.array_equal(left["signed"].reshape(-1, 4), (fields + 8) % 16 - 8)
    assert np.array_equal(left["bytes"].reshape(-1, 4), (octets + 128) % 256 - 128)
    assert np.array_equal(left["again"].view(np.uint16), word)


SCALES = """\
spec: 1
kind: kernel
name: scales
summary: Scales whose exponents are bytes, read as unsigned and as signed ones.
args:
  plain: {buffer: u8, shape: {at: 256}}
  signed: {buffer: i8, shape: {at: 256}}
  out: {buffer: f32, shape: {way: 3, at: 256}, access: write}
  wide: {buffer: i32, shape: {way: 4, at: 256}, access: write}
launch:
  workgroup_size: {at: 256}
body:
- store:
    "out[0, at]": "bits(u32(plain[at]) << 23, f32)"
    "out[1, at]": "f32(plain[at])"
    "out[2, at]": "f32(signed[at])"
    "wide[0, at]": "i32(plain[at]) - 127"
    "wide[1, at]": "i32(signed[at]) - 127"
    "wide[2, at]": "i32(plain[at] >> 1)"
    "wide[3, at]": "i32(signed[at] >> 1)"
"""


@pytest.mark.parametrize("where", EVERYWHERE)
def test_b44_declared_sign_wins(where: str) -> None:
    """A byte declared unsigned is extended by zeros, one declared signed by its sign, wherever it is used."""
    every = np.arange(256, dtype=np.uint8)
    args = {"plain": every, "signed": every.view(np.int8)}
    args |= {"out": np.zeros(3 * 256, np.float32), "wide": np.zeros(4 * 256, np.int32)}
    if where == "interpreter":
        left = run(SCALES, args)
    else:
        result = launch(SCALES, args, where)
        assert result.findings == ()
        left = result.outputs
    number = np.arange(256)
    signed = (number + 128) % 256 - 128
    scale = left["out"].reshape(3, 256)
    assert scale[0, 1:255].tolist() == [2.0 ** (e - 127) for e in range(1, 255)]
    assert scale[0, [0x7F, 0x80]].tolist() == [1.0, 2.0]
    assert (scale[0, 0], scale[0, 255]) == (0.0, np.inf)
    assert scale[1].tolist() == number.tolist()
    assert scale[2].tolist() == signed.tolist()
    assert left["wide"].reshape(4, 256).tolist() == [
        (number - 127).tolist(),
        (signed - 127).tolist(),
        (number >> 1).tolist(),
        (signed >> 1).tolist(),
    ]
