"""References for checks whose result has no closed form.

An oracle gets the case as a mapping (arguments as declared, parameters, case variables) and
returns the expected contents of every buffer that it vouches for.
"""

import numpy as np


def _online_free_softmax(scores, values):
    """Maximum, denominator and mean of `values` under softmax of `scores`, all in float64."""
    if scores.size == 0:
        return -1e9, 0.0, np.zeros(values.shape[1])
    top = max(scores.max(), -1e9)
    weights = np.exp(scores - top)
    return top, weights.sum(), weights @ values / weights.sum()


def _paged_rows(pages, length):
    tokens = np.arange(length)
    ids = pages[tokens // 16]
    return (ids * 16 + tokens % 16)[ids >= 0]


def paged_attention(case):
    """One query, one page table."""
    scale = np.float64(np.float32(1 / np.sqrt(128)))
    state = np.empty((case["queries"], 2))
    output = np.empty((case["queries"], 128))
    for i in range(case["queries"]):
        rows = _paged_rows(case["pages"][i], case["lengths"][i])
        scores = case["key"][rows].astype(np.float64) @ case["query"][i] * scale
        state[i, 0], state[i, 1], output[i] = _online_free_softmax(scores, case["value"][rows].astype(np.float64))
    return {"state": state, "output": output}


def paged_attention_pairs(case):
    """Two heads of a pair share one page table."""
    parts = [
        paged_attention(
            {**case, "queries": case["pairs"], "lengths": case["lengths"][:, head], "query": case["query"][:, head]}
        )
        for head in range(2)
    ]
    return {name: np.stack([part[name] for part in parts], axis=1) for name in ("state", "output")}


def attention(case):
    """Dense attention with grouped heads and an optional causal mask."""
    q, k, v = (case[name].astype(np.float64) for name in "QKV")
    share = case["heads"] // case["groups"]
    k, v = (np.repeat(x, share, axis=1) for x in (k, v))
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(case["head"])
    if case["causal"]:
        later = np.arange(case["keys"])[None, :] > np.arange(case["queries"])[:, None]
        scores = np.where(later, -np.inf, scores)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"O": np.einsum("bhqk,bhkd->bhqd", p, v) / p.sum(axis=-1)[..., None]}


def tq_cache(case):
    """Bytes of a cache: random codes, then f16 norms, scales and zeros of a sane size."""
    draw = np.random.default_rng(5)
    blocks, heads, slots = case["blocks"], case["kv_heads"], case["slots"]
    codes = draw.integers(0, 256, (blocks, slots * heads * 128), dtype=np.uint8)
    meta = draw.uniform(0.25, 1.0, (blocks, heads * 3 * slots)).astype(np.float16)
    return np.concatenate([codes, meta.view(np.uint8)], axis=1)


def tq_decode(case):
    """Per sequence, head and partition: softmax over the tokens of that partition."""
    slots, heads, group = case["slots"], case["kv_heads"], case["group"]
    data = slots * heads * 128
    codes = case["cache"][:, :data].reshape(-1, slots, heads, 2, 64)
    codes = np.stack([codes & 15, codes >> 4], axis=-1).reshape(-1, slots, heads, 2, 128)
    meta = case["cache"][:, data:].copy().view(np.float16).astype(np.float64).reshape(-1, heads, 3, slots)
    shape = (case["sequences"], heads, case["partitions"], group)
    output, maxima, sums = np.zeros((*shape, 128)), np.full(shape, -np.inf), np.zeros(shape)
    span = case["extent"] * 256
    for seq, kv, part in np.ndindex(shape[:3]):
        tokens = np.arange(part * span, min((part + 1) * span, case["lengths"][seq]))
        if tokens.size == 0:
            continue
        block, slot = case["table"][seq, tokens // slots], tokens % slots
        k = case["centroids"].astype(np.float64)[codes[block, slot, kv, 0]] * meta[block, kv, 0, slot][:, None]
        v = codes[block, slot, kv, 1] * meta[block, kv, 1, slot][:, None] + meta[block, kv, 2, slot][:, None]
        s = case["query"][seq, kv].astype(np.float64) @ k.T / np.sqrt(128)
        p = np.exp(s - s.max(axis=1, keepdims=True))
        maxima[seq, kv, part], sums[seq, kv, part] = s.max(axis=1), p.sum(axis=1)
        output[seq, kv, part] = p @ v / p.sum(axis=1)[:, None]
    return {"output": output, "maxima": maxima, "sums": sums}
