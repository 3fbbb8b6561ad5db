"""References of the attention kernels, in float64 and without any running maximum.

Each takes a case (arguments and buffers by name) and returns what the written buffers have to hold: `state`
(maximum, denominator) and `output`, whose last axis has the 128 channels.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

SCALE = np.float64(np.float32(1 / np.sqrt(128)))
"""The kernels' factor: 1 / sqrt(128), rounded to f32."""

FLOOR = -1e9
"""What the maximum starts from."""


def _softmax_mean(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Maximum and denominator of the softmax of one query's scores, and the mean of the value rows under it."""
    if len(keys) == 0:
        return FLOOR, 0.0, np.zeros(128)
    scores = keys.astype(np.float64) @ query.astype(np.float64) * SCALE
    top = max(float(scores.max()), FLOOR)
    weights = np.exp(scores - top)
    return top, float(weights.sum()), weights @ values.astype(np.float64) / weights.sum()


def _paged_rows(pages: np.ndarray, length: int) -> np.ndarray:
    """Cache rows of a query's tokens; tokens of absent pages have none."""
    token = np.arange(length)
    page = pages[token // 16].astype(np.int64)
    return (16 * page + token % 16)[page >= 0]


def _answers(rows: list[np.ndarray], queries: np.ndarray, case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The results for one list of cache rows a query. The cache may be given as far as it is allocated, flat."""
    keys, values = (case[name].reshape(-1, 128) for name in ("key", "value"))
    found = [_softmax_mean(q, keys[r], values[r]) for q, r in zip(queries, rows, strict=True)]
    state = np.array([[top, total] for top, total, _ in found])
    return {"state": state, "output": np.array([mean for _, _, mean in found])}


def paged_attention(case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """One page table and one length a query."""
    rows = [_paged_rows(pages, length) for pages, length in zip(case["pages"], case["lengths"], strict=True)]
    return _answers(rows, case["query"], case)


def grouped_attention(case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Two heads with their own lengths and one page table a pair."""
    pairs = zip(case["pages"], case["lengths"], strict=True)
    rows = [_paged_rows(pages, length) for pages, lengths in pairs for length in lengths]
    flat = _answers(rows, case["query"].reshape(-1, 128), case)
    return {name: part.reshape(-1, 2, part.shape[-1]) for name, part in flat.items()}


def sparse_attention(case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A list of cache rows a query, of which the first `lengths` count; numbers outside the cache name no row."""
    lists = [row[:length].astype(np.int64) for row, length in zip(case["indices"], case["lengths"], strict=True)]
    rows = [ids[(ids >= 0) & (ids < case["bound"])] for ids in lists]
    return _answers(rows, case["query"], case)
