"""The names that block code may use: numpy functions, numeric helpers and the functions on the state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator import crosslane, dpp, evidence, matrix, numeric, state

Array = NDArray[Any]


def join(low: Array, high: Array) -> Array:
    """Two 32-bit words as one of 64."""
    if low.shape != high.shape:
        low, high = np.broadcast_arrays(low, high)
    wide = np.empty((*low.shape, 2), np.uint32)
    wide[..., 0] = low
    wide[..., 1] = high
    return wide.view(np.uint64)[..., 0]


def _lane_masks(lanes: int) -> dict[str, Any]:
    """`unpack(bits)` gives booleans [waves, lanes]; `pack(booleans, mask)` the word of the active true lanes."""
    word = np.uint32 if lanes == 32 else np.uint64

    def unpack(bits: Array) -> Array:
        raw = np.ascontiguousarray(bits).view(np.uint8)
        return np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)

    def pack(booleans: Array, mask: Any) -> Array:
        if mask is not True:
            booleans = booleans & mask
        elif booleans.shape[-1] != lanes:
            booleans = np.broadcast_to(booleans, (booleans.shape[0], lanes))
        return np.packbits(booleans, axis=1, bitorder="little").view(word)

    return {"unpack": unpack, "pack": pack}


@functools.cache
def namespace(lanes: int) -> dict[str, Any]:
    """Globals of block code for a wave size; copy before adding to it."""
    names: dict[str, Any] = {
        name: value
        for module in (numeric, crosslane, matrix, state)
        for name, value in vars(module).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, type))
    }
    names.update(
        np=np,
        ndarray=np.ndarray,
        where=np.where,
        copyto=np.copyto,
        add=np.add,
        subtract=np.subtract,
        multiply_words=np.multiply,
        bitwise_and=np.bitwise_and,
        bitwise_or=np.bitwise_or,
        bitwise_xor=np.bitwise_xor,
        join=join,
        dpp=dpp.apply_dpp,
        lane_count=evidence.lane_count,
        M32=np.uint64(0xFFFFFFFF),
        N32=np.uint64(32),
        **_lane_masks(lanes),
    )
    return names
