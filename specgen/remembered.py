"""Memories that are bounded: what is dear to make is kept for the next time, up to a number of entries."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def keep(memory: dict[K, V], key: K, value: V, most: int) -> V:
    """Keep `value` and return it; a memory of `most` entries starts afresh."""
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
    return value
