"""Triton kernels that the specs are measured against: the usual form of each, tuned over the options that matter."""

# Names in capitals are compile-time constants, as is usual in Triton code.

from __future__ import annotations

import triton
import triton.language as tl


def _configs(*sizes: dict[str, int], warps: tuple[int, ...]) -> list[triton.Config]:
    return [triton.Config(size, num_warps=w) for size in sizes for w in warps]


@triton.autotune(_configs({"BLOCK": 1024}, {"BLOCK": 2048}, {"BLOCK": 4096}, {"BLOCK": 8192}, warps=(4, 8)), key=["n"])
@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.autotune(_configs({}, warps=(2, 4, 8, 16)), key=["COLUMNS"])
@triton.jit
def row_sum(x, y, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row.to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS))
    tl.store(y + row, tl.sum(v, axis=0))


@triton.autotune(_configs({}, warps=(2, 4, 8, 16)), key=["COLUMNS"])
@triton.jit
def softmax(x, y, COLUMNS: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    v = tl.load(x + at).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty))


@triton.autotune(_configs({}, warps=(2, 4, 8, 16)), key=["COLUMNS"])
@triton.jit
def rms_norm(x, w, y, eps, COLUMNS: tl.constexpr):
    column = tl.arange(0, COLUMNS)
    at = tl.program_id(0).to(tl.int64) * COLUMNS + column
    v = tl.load(x + at).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / COLUMNS + eps)
    tl.store(y + at, (v * scale * tl.load(w + column).to(tl.float32)).to(y.dtype.element_ty))


@triton.autotune(_configs({}, warps=(2, 4, 8, 16)), key=["COLUMNS"])
@triton.jit
def layer_norm(x, w, b, y, eps, COLUMNS: tl.constexpr):
    column = tl.arange(0, COLUMNS)
    at = tl.program_id(0).to(tl.int64) * COLUMNS + column
    v = tl.load(x + at).to(tl.float32)
    off = v - tl.sum(v, axis=0) / COLUMNS
    scale = tl.rsqrt(tl.sum(off * off, axis=0) / COLUMNS + eps)
    out = off * scale * tl.load(w + column).to(tl.float32) + tl.load(b + column).to(tl.float32)
    tl.store(y + at, out.to(y.dtype.element_ty))


@triton.autotune(
    _configs(
        {"A": 32, "B": 32},
        {"A": 32, "B": 64},
        {"A": 64, "B": 32},
        {"A": 64, "B": 64},
        {"A": 128, "B": 64},
        warps=(4, 8),
    ),
    key=["rows"],
)
@triton.jit
def transpose(x, y, rows, columns, A: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(1) * A + tl.arange(0, A)
    c = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None].to(tl.int64) * columns + c[None, :])
    tl.store(y + c[:, None].to(tl.int64) * rows + r[None, :], tl.trans(v))


@triton.autotune(
    _configs({"R": 8, "O": 32}, {"R": 16, "O": 32}, {"R": 32, "O": 16}, {"R": 128, "O": 16}, warps=(1, 2, 4)), key=["n"]
)
@triton.jit
def packed_dot(fields, scales, rhs, out, n, OUTS: tl.constexpr, R: tl.constexpr, O: tl.constexpr):  # noqa: E741
    o = tl.program_id(0) * O + tl.arange(0, O)
    total = tl.zeros((R, O), tl.float32)
    for first in range(0, n, R):
        r = first + tl.arange(0, R)
        keep = (r < n)[:, None]
        at = r[:, None] * OUTS + o[None, :]
        word = tl.load(fields + at, mask=keep, other=0)
        scale = tl.load(scales + at, mask=keep, other=0.0).to(tl.float32)
        base = (r[:, None] * 64 + (o % 64)[None, :]) * 4
        for c in tl.static_range(4):
            byte = ((word << (24 - 8 * c)) >> 24).to(tl.float32)
            total += byte * scale * tl.load(rhs + base + c, mask=keep, other=0.0)
    tl.store(out + o, tl.sum(total, axis=0))


@triton.autotune(
    [triton.Config({"PAGES": p}, num_warps=w, num_stages=s) for p in (8, 16, 32) for w in (2, 4, 8) for s in (1, 2, 3)],
    key=["GROUP", "length"],
)
@triton.jit
def decode_split(
    q,
    keys,
    values,
    table,
    tops,
    totals,
    sums,
    length,
    heads,
    parts_most,
    scale,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    PAGES: tl.constexpr,
    PAGE: tl.constexpr,
    D: tl.constexpr,
):
    """One head of the cache, PAGES pages; GROUP heads of queries share it (ROWS of them for the matrix unit)."""
    head, part, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    d, slot, row = tl.arange(0, D), tl.arange(0, PAGE), tl.arange(0, ROWS)
    pages = tl.cdiv(length, PAGE)
    query = (sequence * heads + head) * GROUP + row
    if ROWS == 1:
        vector = tl.load(q + query[:, None] * D + d[None, :]).to(tl.float32) * scale
    else:
        vector = (tl.load(q + query[:, None] * D + d[None, :], mask=row[:, None] < GROUP, other=0.0) * scale).to(
            tl.float16
        )
    top = tl.full((ROWS,), -1e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for page in range(part * PAGES, tl.minimum(part * PAGES + PAGES, pages)):
        block = tl.load(table + sequence * pages + page).to(tl.int64) * heads + head
        at = block * PAGE * D + slot[:, None] * D + d[None, :]
        k = tl.load(keys + at)
        v = tl.load(values + at)
        if ROWS == 1:
            s = tl.sum(k.to(tl.float32) * vector, axis=1)[None, :]
        else:
            s = tl.dot(vector, tl.trans(k))
        s = tl.where(page * PAGE + slot[None, :] < length, s, -1e30)
        peak = tl.maximum(top, tl.max(s, axis=1))
        fade = tl.exp2(top - peak)
        p = tl.exp2(s - peak[:, None])
        total = total * fade + tl.sum(p, axis=1)
        if ROWS == 1:
            acc = acc * fade[:, None] + tl.sum(tl.trans(p) * v.to(tl.float32), axis=0)[None, :]
        else:
            acc = acc * fade[:, None] + tl.dot(p.to(tl.float16), v)
        top = peak
    at = query * parts_most + part
    tl.store(tops + at, top, mask=row < GROUP)
    tl.store(totals + at, total, mask=row < GROUP)
    tl.store(sums + at[:, None] * D + d[None, :], acc, mask=row[:, None] < GROUP)


@triton.jit
def decode_join(tops, totals, sums, out, parts, parts_most, MOST: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    part, d = tl.arange(0, MOST), tl.arange(0, D)
    top = tl.load(tops + head * parts_most + part, mask=part < parts, other=-1e30)
    weight = tl.where(part < parts, tl.exp2(top - tl.max(top, axis=0)), 0.0)
    total = tl.sum(tl.load(totals + head * parts_most + part, mask=part < parts, other=0.0) * weight, axis=0)
    acc = tl.load(sums + (head * parts_most + part)[:, None] * D + d[None, :], mask=(part < parts)[:, None], other=0.0)
    tl.store(out + head * D + d, (tl.sum(acc * weight[:, None], axis=0) / total).to(tl.float16))
