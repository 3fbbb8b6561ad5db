"""Bounds far from zero: nothing that the scheduler adds overflows, in any form of the rebuilt loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from scheduling import kernels
from scheduling.evaluator import Program

from specgen.ir import parse
from specgen.schedule import schedule

MAX, MIN = 2**63 - 1, -(2**63)

TEXT = """
func.func @wide(%low: index, %high: index, %in: memref<?xf32> {{motif.noalias}}, %out: memref<?xf32> {{motif.noalias}})
    attributes {{motif.kernel}} {{
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %step = arith.constant {step} : index
  %sum = scf.for %i = %low to %high step %step iter_args(%acc = %f0) -> (f32) {{
    %x = memref.load %in[%i] : memref<?xf32>
    %w = arith.index_cast %i : index to i64
    %f = arith.sitofp %w : i64 to f32
    %y = arith.mulf %x, %f : f32
    %t = arith.addf %acc, %y : f32
    scf.yield %t : f32
  }} {{motif.loop = "i"{policy}}}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}}
"""

# Lower bound, upper bound, step. The last counter plus a step fits `index`, as it has to in the serial loop.
BOUNDS = [
    *((2**32 + 3, 2**32 + 3 + trips, 1) for trips in range(8)),
    *((2**31 + 3, 2**31 + 3 + trips * 2**30, 2**30) for trips in range(5)),
    *((MAX - trips, MAX, 1) for trips in range(8)),
    (MAX - 13, MAX - 3, 3),
    (MAX - 12, MAX - 3, 3),
    (MAX - 14, MAX - 3, 3),
    (MAX - 15, MAX - 3, 3),
    (MAX, MAX, 1),
    *((MIN, MIN + trips, 1) for trips in range(6)),
    (MIN, MIN + 17, 4),
    (MIN, 2**62, 2**62),
    (MIN, 1, 2**62),
    (-3, 4, 2),
    (5, -5, 1),
    (MAX, MIN, 1),
]
POLICIES: list[dict[str, Any]] = [
    {"pipeline": 2},
    {"pipeline": 3},
    {"pipeline": 5},
    {"unroll": 2},
    {"unroll": 3, "tail": "cut"},
    {"unroll": 3, "order": "recurrence"},
    {"unroll": 4, "order": "interleaved", "tail": "guard"},
    {"pipeline": 3, "unroll": 3},
    {"pipeline": 3, "unroll": 4, "order": "recurrence"},
    {"pipeline": 2, "unroll": 2, "order": "interleaved"},
]


def expected(low: int, high: int, step: int, data: dict[tuple[int, ...], Any]) -> Any:
    """The sum as a plain loop computes it."""
    total = kernels.numbers(1)[0] * 0
    for i in range(low, high, step):
        total = total + data[(i,)] * type(total)(i)
    return total


@pytest.mark.parametrize("keys", POLICIES, ids=str)
def test_bounds_near_the_ends(keys: dict[str, Any]) -> None:
    """Sum and addresses are those of a Python loop, which has no overflow at all."""
    for low, high, step in BOUNDS:
        if step > 1 and keys.get("pipeline", 1) > 2 and step * (keys["pipeline"] - 1) > MAX:
            continue  # refused: rule P4
        module = parse(TEXT.format(step=step, policy=kernels.policy(**keys)))
        scheduled = schedule(module)
        assert not scheduled.diagnostics
        counters = range(low, high, step)
        data = {(i,): value for i, value in zip(counters, kernels.numbers(64), strict=False)}
        run = Program(scheduled.module).run({"low": low, "high": high, "in": data, "out": kernels.numbers(1)})
        assert run.reads == Counter(("in", (i,)) for i in counters)
        result = run.memories["out"].data[(0,)]
        assert result.tobytes() == expected(low, high, step, data).tobytes(), (low, high, step)


def test_depth_whose_lead_leaves_the_range() -> None:
    """Rule P4 where `(depth - 1) * step` is no `index`; one less is accepted."""
    refused = schedule(parse(TEXT.format(step=2**62, policy=kernels.policy(pipeline=3))))
    assert [d.code for d in refused.diagnostics] == ["SG-LOOP P4"]
    assert not schedule(parse(TEXT.format(step=2**62 - 1, policy=kernels.policy(pipeline=3)))).diagnostics
