"""The seeded generator of inputs: SplitMix64 makes the state, xoroshiro128** the numbers; bit-exact everywhere.

Published by David Blackman and Sebastiano Vigna (the 2018 constants 24, 16, 37); a stream's state is the first two
draws of SplitMix64 for its seed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

MASK = (1 << 64) - 1
BLOCK = 256
"""Draws of one lane of the vectorised generator; a power of two, because the jump is made by squaring."""
_SHIFTS = (24, 16, 37)


def splitmix64(seed: int, count: int) -> list[int]:
    """The first `count` draws of SplitMix64 for `seed` (taken modulo 2**64)."""
    state, draws = seed & MASK, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        draws.append(z ^ (z >> 31))
    return draws


def _rotated(x: int, count: int) -> int:
    return ((x << count) | (x >> (64 - count))) & MASK


def _advance(state: int) -> int:
    """The next state; the low 64 bits are the first word. Linear over the bits of the state."""
    first, second = state & MASK, state >> 64
    second ^= first
    first = _rotated(first, _SHIFTS[0]) ^ second ^ ((second << _SHIFTS[1]) & MASK)
    return first | _rotated(second, _SHIFTS[2]) << 64


def _apply(columns: tuple[int, ...], state: int) -> int:
    """A linear map, given as the images of the 128 unit states, applied to a state."""
    result = 0
    while state:
        low = state & -state
        result ^= columns[low.bit_length() - 1]
        state ^= low
    return result


@lru_cache(maxsize=1)
def _jump() -> tuple[int, ...]:
    """The map that advances a state by `BLOCK` steps."""
    columns = tuple(_advance(1 << bit) for bit in range(128))
    for _ in range(BLOCK.bit_length() - 1):
        columns = tuple(_apply(columns, column) for column in columns)
    return columns


def draws(seed: int, count: int) -> Any:
    """The first `count` draws of the stream of `seed`, as read-only uint64."""
    return _stream(seed & MASK, max(BLOCK, 1 << (count - 1).bit_length()) if count else BLOCK)[:count]


@lru_cache(maxsize=16)
def _stream(seed: int, count: int) -> Any:
    """As `draws` for a count that is a power of two; kept, because variants and cases share streams."""
    first, second = splitmix64(seed, 2)
    state = first | second << 64
    states = []
    for _ in range(count // BLOCK):
        states.append(state)
        state = _apply(_jump(), state)
    a = np.array([s & MASK for s in states], np.uint64)
    b = np.array([s >> 64 for s in states], np.uint64)
    result = np.empty((len(states), BLOCK), np.uint64)
    five, nine = np.uint64(5), np.uint64(9)
    for step in range(BLOCK):
        result[:, step] = _rotate(a * five, 7) * nine
        b ^= a
        a = _rotate(a, _SHIFTS[0]) ^ b ^ (b << np.uint64(_SHIFTS[1]))
        b = _rotate(b, _SHIFTS[2])
    result.setflags(write=False)
    return result.reshape(-1)


def _rotate(x: Any, count: int) -> Any:
    return (x << np.uint64(count)) | (x >> np.uint64(64 - count))


def uniform_floats(draws_: Any, lower: Any, upper: Any) -> Any:
    """Draws as float64 in `[lower, upper)`: the top 53 bits scaled, computed in double."""
    return lower + (draws_ >> np.uint64(11)).astype(np.float64) * 2.0**-53 * (upper - lower)


def uniform_integers(draws_: Any, lower: int, upper: int) -> Any:
    """Draws as int64 in `[lower, upper]`, both ends included."""
    span = upper - lower + 1
    if span > MASK:
        return draws_.astype(np.int64)
    return (draws_ % np.uint64(span)).astype(np.int64) + np.int64(lower)
