"""Kernels with staged views, and running one point of their policies on a device."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from specgen import targets
from specgen.binding import bind
from specgen.devices.amdgpu_emulator.device import EmulatedKernel
from specgen.devices.base import Run
from specgen.devices.interpreter import interpret_batch
from specgen.expand import expand
from specgen.ir import parse
from specgen.lowering.amdgpu import lower
from specgen.model import Spec
from specgen.schedule import schedule

HEAD = """\
spec: 1
kind: kernel
name: k
summary: A test.
policies:
  place: {default: workgroup, choices: [direct, workgroup]}
  buffers: {default: 1, range: [1, 4]}
  pad: {default: 0, range: [0, 8]}
  swizzle: {default: none, choices: [none, xor]}
  depth: {default: 1, range: [1, 4]}
  factor: {default: 1, range: [1, 4]}
"""
SCHEDULE = "{place: place, buffers: buffers, pad: pad, swizzle: swizzle}"

ROWS = (
    HEAD
    + f"""\
args:
  n: {{type: index, range: [0, 12]}}
  x: {{buffer: f32, shape: {{row: 36, c: 40}}}}
  y: {{buffer: f32, shape: {{lane: 64}}, access: write}}
launch:
  workgroup_size: {{lane: 64}}
body:
- var: {{total: f32(0)}}
- for: i
  in: range(n)
  schedule: {{pipeline: depth, unroll: factor}}
  do:
  - view: {{tile: "x[3 * i:+3, 4:+36]"}}
    schedule: {SCHEDULE}
  - set: {{total: "total * 0.5 + tile[lane % 3, (lane + 7) % 36] + sum(tile[2 - lane % 3, 4 * (lane % 8):+4])"}}
- store:
    "y[lane]": total
"""
)
"""A region of 108 elements: 27 chunks of 4 for 64 work-items, or 108 of 1."""

EDGE = (
    HEAD
    + f"""\
args:
  n: {{type: index, range: [0, 4]}}
  rows: {{type: index, range: [0, 40]}}
  width: {{type: index, range: [0, 40]}}
  x: {{buffer: i32, shape: {{row: rows, c: width}}}}
  y: {{buffer: i32, shape: {{lane: 32}}, access: write}}
launch:
  workgroup_size: {{lane: 32}}
body:
- var: {{total: i32(0)}}
- for: j
  in: range(2)
  do:
  - for: i
    in: range(n)
    schedule: {{pipeline: depth, unroll: factor}}
    do:
    - view: {{tile: "x[8 * i - 2:+8, 5 * j + 16 * (i % 2) - 3:+13]"}}
      outside: -7
      schedule: {SCHEDULE}
    - set: {{total: "3 * total + tile[lane % 8, (lane * 5) % 13] - tile[7 - lane % 8, lane % 13]"}}
- store:
    "y[lane]": total
"""
)
"""Regions that leave the buffer on every side, in a loop inside of a loop."""

PAIR = (
    HEAD
    + f"""\
args:
  n: {{type: index, range: [0, 12]}}
  a: {{buffer: f16, shape: {{row: 12, k: 48}}, align: 16}}
  b: {{buffer: f16, shape: {{k: 48, c: 16}}, contiguous: k, align: 16}}
  y: {{buffer: f32, shape: {{wave: 2, lane: 32}}, access: write}}
launch:
  workgroup_size: {{lane: 32, wave: 2}}
body:
- var: {{total: f32(0)}}
- for: i
  in: range(n)
  schedule: {{pipeline: depth, unroll: factor}}
  do:
  - view:
      left: "a[i, :]"
      right: "b[:, i:+4]"
    schedule: {SCHEDULE}
  - for: k
    in: range(48)
    do:
    - set: {{total: "total + f32(left[k]) * f32(right[(k + lane) % 48, 2 * wave + lane % 2])"}}
- store:
    "y[wave, lane]": total
"""
)
"""Two views of one statement, one of them with another fastest axis and constant at a loop that the other follows."""

KERNELS = {"rows": ROWS, "edge": EDGE, "pair": PAIR}


def arguments(name: str, n: int) -> dict[str, Any]:
    """Inputs of a kernel, flat in the order of memory, the same for all policies."""
    numbers = np.random.default_rng(7)
    if name == "rows":
        return {"n": n, "x": numbers.uniform(-1, 1, 36 * 40).astype(np.float32), "y": np.full(64, np.nan, np.float32)}
    if name == "edge":
        x = numbers.integers(-1000, 1000, 21 * 23).astype(np.int32)
        return {"n": n, "rows": 21, "width": 23, "x": x, "y": np.full(32, -1, np.int32)}
    a, b = (numbers.uniform(-1, 1, size).astype(np.float16) for size in (12 * 48, 48 * 16))
    return {"n": n, "a": a, "b": b, "y": np.full(64, np.nan, np.float32)}


def points(depths: tuple[int, ...], factors: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Policies of staged kernels."""
    layouts = ({}, {"pad": 1}, {"pad": 4, "swizzle": "xor"}, {"swizzle": "xor"})
    for depth, factor, buffers, layout in itertools.product(depths, factors, (1, 2, 3), layouts):
        yield {"depth": depth, "factor": factor, "buffers": buffers, **layout}


class Point:
    """A kernel with values for its policies, bound for a target and scheduled."""

    def __init__(
        self, spec: Spec, target: str = "gfx1151", params: Mapping[str, Any] | None = None, **policies: Any
    ) -> None:
        self.target = targets.load(target)
        bound = bind(spec, self.target, policies, params)
        assert bound.instance is not None, [(d.code, d.message) for d in bound.diagnostics]
        self.symbol = bound.instance.entry("default").symbol
        self.source = parse(expand(bound.instance), "k")
        scheduled = schedule(self.source)
        assert not scheduled.diagnostics, [(d.code, d.message) for d in scheduled.diagnostics]
        self.module = scheduled.module

    def interpreted(self, launches: Sequence[Mapping[str, Any]]) -> list[Run]:
        """Runs on the interpreter, one an argument list."""
        return interpret_batch(self.module, self.symbol, launches)

    def emulated(self, args: Mapping[str, Any]) -> Run:
        """One run of the machine code."""
        kernel = EmulatedKernel(lower(self.module, self.target).hsaco, self.symbol)
        return kernel.launch(dict(args), (1, 1, 1), unwritten=())
