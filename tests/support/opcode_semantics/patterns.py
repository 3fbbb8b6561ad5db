"""Operand values: corner cases of each kind first, random ones after; and the numpy type of each kind.

Kinds: `u16 i16 u32 i32 u64 i64` whole numbers, `f16 f32 f64` floats, `bf16` (bits in 16), `u32h` a word of two random
halves, `pk16` a word of two f16, `pkb` a word of two bf16, `pkf` two f32 in 64 bits, `shift` a small or large shift
amount, `mask` 0 or 1.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import numpy as np

LANES: Final = 256
"""Lanes of a program that tests vector operations."""

BITS: Final = {
    "u16": 16, "i16": 16, "f16": 16, "bf16": 16, "u32": 32, "i32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64,
    "u32h": 32, "pk16": 32, "pkb": 32, "pkf": 64, "shift": 32, "shift16": 16, "mask": 32, "class": 32, "power": 32,
    "power16": 16, "bytes": 32,
}  # fmt: skip

VIEW: Final[dict[str, Any]] = {
    "u16": np.uint16, "i16": np.int16, "f16": np.float16, "bf16": np.uint16, "u32": np.uint32, "i32": np.int32,
    "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64, "u32h": np.uint32, "pk16": np.uint32,
    "pkb": np.uint32, "pkf": np.uint64, "shift": np.uint32, "shift16": np.uint16, "mask": np.uint32,
    "class": np.uint32, "power": np.int32, "power16": np.int16, "bytes": np.uint32,
}  # fmt: skip

_INT: Final = {
    16: (0, 1, 0xFFFF, 0x8000, 0x7FFF, 2, 15, 16, 17, 0xFF, 0x100, 0x8001, 0xFFFE, 0x1234, 0xABCD, 31),
    32: (0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 2, 31, 32, 33, 0xFFFF, 0x10000, 0xFF800000, 0x7FFFFF, 0xFFFFFFFE,
         0x12345678, 0xFEDCBA98),
    64: (0, 1, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFF, 0x100000000, 63, 64, 65,
         0x80000000, 0xFFFFFFFF00000000, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 0xFFFFFFFF80000000, 2),
}  # fmt: skip
_FLOAT: Final = {
    "f16": (0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7D01, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF,
            0x3800, 0xC100, 0x4248),
    "f32": (0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00000001,
            0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000, 0xC0200000, 0x40490FDB),
    "f64": (0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
            0x7FF8000000000000, 0x7FF0000000000001, 1, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
            0xFFEFFFFFFFFFFFFF, 0x3FE0000000000000, 0xC004000000000000, 0x400921FB54442D18),
    "bf16": (0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0x0001, 0x807F, 0x0080, 0x7F7F, 0xFF7F,
             0x3F00, 0xC020, 0x4049),
}  # fmt: skip


def edges(kind: str) -> list[int]:
    """Sixteen corner cases, as bits: zeros, ones, extremes, infinities, quiet and signalling NaN, denormals."""
    if kind in _FLOAT:
        return list(_FLOAT[kind])
    if kind == "mask":
        return [0, 1] * 8
    if kind in ("pk16", "pkb"):
        halves = _FLOAT["f16" if kind == "pk16" else "bf16"]
        return [halves[k] | halves[(5 * k + 3) % 16] << 16 for k in range(16)]
    if kind == "pkf":
        return [_FLOAT["f32"][k] | _FLOAT["f32"][(5 * k + 3) % 16] << 32 for k in range(16)]
    if kind == "class":
        return [1 << k for k in range(10)] + [0, 0x3FF, 0x1E8, 0x207, 0x003, 0x060]
    if kind in ("power", "power16"):
        mask = 0xFFFFFFFF if kind == "power" else 0xFFFF
        return [k & mask for k in (0, 1, -1, 10, -10, 24, -24, 127, -126, -149, 15, -14, 300, -300, 2000, -2000)]
    return list(_INT[BITS[kind]])


def values(kind: str, position: int, salt: str) -> np.ndarray:
    """[LANES] bits of an operand. `salt` "edges": every pair of corner cases of the first two positions; anything
    else seeds random values, with corner cases among them."""
    corner = np.array(edges(kind), np.uint64)
    lane = np.arange(LANES)
    if salt == "edges":
        at = (lane % 16, lane // 16, (lane % 16 + 3 * (lane // 16)) % 16)[position]
        return corner[at]
    rng = np.random.default_rng(zlib.crc32(f"{kind} {position} {salt}".encode()))
    made = _random(rng, kind)
    take = rng.random(LANES) < 0.2
    return np.where(take, corner[rng.integers(0, 16, LANES)], made)


def _random(rng: np.random.Generator, kind: str) -> np.ndarray:
    if kind in ("f16", "f32", "f64", "bf16"):
        return _floats(rng, kind)
    if kind in ("pk16", "pkb", "pkf"):
        half = {"pk16": "f16", "pkb": "bf16", "pkf": "f32"}[kind]
        return _floats(rng, half) | _floats(rng, half) << np.uint64(BITS[kind] // 2)
    if kind == "mask":
        return rng.integers(0, 2, LANES, dtype=np.uint64)
    if kind in ("shift", "shift16"):
        return rng.integers(0, 80, LANES, dtype=np.uint64)
    if kind == "class":
        return rng.integers(0, 1024, LANES, dtype=np.uint64)
    if kind in ("power", "power16"):
        return rng.integers(-30, 31, LANES).astype(np.int64).view(np.uint64) & np.uint64((1 << BITS[kind]) - 1)
    bits = rng.integers(0, 1 << 63, LANES, dtype=np.uint64) << np.uint64(1) | rng.integers(0, 2, LANES, dtype=np.uint64)
    small = rng.integers(0, 40, LANES, dtype=np.uint64)
    return np.where(rng.random(LANES) < 0.25, small, bits) & np.uint64((1 << BITS[kind]) - 1)


def _floats(rng: np.random.Generator, kind: str) -> np.ndarray:
    numbers = rng.standard_normal(LANES) * 2.0 ** rng.integers(-6, 7, LANES)
    if kind == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
    return numbers.astype(VIEW[kind]).view(f"u{BITS[kind] // 8}").astype(np.uint64)


def view(bits: np.ndarray, kind: str) -> np.ndarray:
    """Bits in uint64 as an array of the kind's type."""
    return bits.astype(f"u{BITS[kind] // 8}").view(VIEW[kind])
