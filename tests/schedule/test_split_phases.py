"""Loops that hold a split barrier, under every loop policy: phases stay whole and the results are the serial ones."""

from __future__ import annotations

import numpy as np
import pytest
from fault_kinds_product import ORDERS, plan, refused, sweep
from xdsl.dialects.func import FuncOp

from specgen.schedule.barriers import check_split_barriers

TEXT = """\
spec: 1
kind: kernel
name: phases
summary: A shared row, reused eight times, the next rows read ahead.
args:
  n: {{type: index, range: [0, 8]}}
  x: {{buffer: f32, shape: {{row: 8, lane: 64}}}}
  out: {{buffer: f32, shape: {{lane: 64}}, access: write}}
memory:
  tile: {{space: workgroup, type: f32, shape: {{at: 64}}}}
launch:
  workgroup_size: {{lane: 64}}
policies:
  depth: {{default: 1, range: [1, 8]}}
  factor: {{default: 1, range: [1, 8]}}
body:
- var: {{total: f32(0)}}
- for: row
  in: range({trips})
  schedule: {{pipeline: depth, unroll: factor, order: {order}}}
  do:
  - store: {{"tile[lane]": "x[row, lane] * 0.5"}}
  - barrier: workgroup
    schedule: {{form: split}}
    overlap:
    - set: {{total: total * 1.25}}
  - let: {{other: "tile[63 - lane]"}}
  - barrier: workgroup   # here
    schedule: {{form: split}}
    overlap:
    - for: i
      in: range(n)
      do:
      - set: {{total: total * 0.75 + other}}
- store: {{"out[lane]": total}}
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("depth", "factor"), [(1, 2), (1, 3), (2, 1), (3, 2), (8, 8)])
def test_every_policy_keeps_phases_whole(order: str, depth: int, factor: int) -> None:
    text = TEXT.format(trips=8, order=order)
    rng = np.random.default_rng(20260701)
    launches = [
        {"n": n, "x": rng.standard_normal(512).astype(np.float32), "out": np.zeros(64, np.float32)} for n in (0, 1, 5)
    ]
    sweep(text, launches, target="gfx1201", depth=depth, factor=factor)
    module = plan(text, "gfx1201", depth=depth, factor=factor).scheduled.module
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    for function in functions:
        assert check_split_barriers(function) == []
    assert sum(op.name == "motif.arrive" for op in functions[0].walk()) >= 2


def test_read_ahead_wants_exact_bounds() -> None:
    """P10: with bounds known only when the kernel runs, participants could meet in different copies of the loop."""
    text = TEXT.format(trips="n", order="linear")
    found = refused(text, "gfx1201", depth=2, factor=1)
    assert found
    assert {code for code, _ in found} == {"SG-LOOP P10"}
