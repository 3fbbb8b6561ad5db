"""Random regions, workgroups and layouts: every element of the copy is the element of the region."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from binding_helpers import load
from staged_kernels import Point

TYPES = {"f32": np.float32, "i8": np.int8, "i16": np.int16, "i64": np.int64}


def kernel(random: Random) -> tuple[str, dict[str, Any], np.ndarray]:
    """A kernel that stores a staged region in row-major order, its arguments, and what it should leave."""
    rank = random.randint(1, 3)
    shape = [random.randint(2, 24) for _ in range(rank)]
    items = random.choice([(32,), (64,), (8, 4), (5, 7), (48,), (3, 2, 16)])
    outside = random.random() < 0.5
    name = random.choice(list(TYPES))
    fast = random.randrange(rank)
    fixed = {axis for axis in range(rank) if rank > 1 and random.random() < 0.25}
    fixed -= {random.randrange(rank)} if len(fixed) == rank else set()
    if len(fixed) == rank:
        fixed.pop()
    starts, counts, parts = [], [], []
    for axis, extent in enumerate(shape):
        count = 1 if axis in fixed else random.randint(1, extent + (4 if outside else 0))
        start = random.randint(-3, extent + 2) if outside else random.randint(0, extent - count)
        starts.append(start)
        counts.append(count)
        parts.append(str(start) if axis in fixed else f"{start}:+{count}")
    ids = "uvw"[: len(items)]
    linear, total = [], 1
    for key, size in zip(ids, items, strict=True):
        linear.append(f"{total} * {key}")
        total *= size
    size = int(np.prod(counts))
    ranged = [axis for axis in range(rank) if axis not in fixed]
    subscripts, step = {}, 1
    for axis in reversed(ranged):
        subscripts[axis] = f"at // {step} % {counts[axis]}"
        step *= counts[axis]
    axes = "abc"[:rank]
    text = f"""\
spec: 1
kind: kernel
name: k
summary: A test.
args:
  src: {{buffer: {name}, shape: {{{", ".join(f"{a}: {n}" for a, n in zip(axes, shape, strict=True))}}}, \
contiguous: {axes[fast]}, align: {random.choice([8, 16])}}}
  y: {{buffer: {name}, shape: {{i: {size}}}, access: write}}
launch:
  workgroup_size: {{{", ".join(f"{k}: {n}" for k, n in zip(ids, items, strict=True))}}}
body:
- view: {{tile: "src[{", ".join(parts)}]"}}
{"  outside: 9" if outside else ""}
  schedule: {{place: workgroup, pad: {random.choice([0, 0, 1, 3])}, swizzle: {random.choice(["none", "xor"])}}}
- for: round
  in: range({-(-size // total)})
  do:
  - let: {{at: "round * {total} + {" + ".join(linear)}"}}
  - if: at < {size}
    then:
    - store: {{"y[at]": "tile[{", ".join(subscripts[axis] for axis in ranged)}]"}}
"""
    array = (np.arange(np.prod(shape)) % 97).astype(TYPES[name]).reshape(shape)
    padded = np.full(counts, 9, TYPES[name])
    for index in np.ndindex(*counts):
        place = [s + i for s, i in zip(starts, index, strict=True)]
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            padded[index] = array[tuple(place)]
    order = [axis for axis in range(rank) if axis != fast] + [fast]
    args = {"src": array.transpose(order).reshape(-1).copy(), "y": np.zeros(size, TYPES[name])}
    return text, args, padded.reshape(-1)


def check(seed: int, *, machine: bool = False) -> None:
    text, args, wanted = kernel(Random(seed))
    point = Point(load(text))
    runs = [*point.interpreted([args]), *([point.emulated(args)] if machine else [])]
    for run in runs:
        assert run.findings == (), (seed, run.findings)
        assert np.array_equal(run.outputs["y"], wanted), seed


@pytest.mark.parametrize("seeds", [range(8)], ids=str)
def test_regions(seeds):
    for seed in seeds:
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 40))
def test_many_regions(first):
    for seed in range(first, first + 40):
        check(seed, machine=seed % 8 == 0)
