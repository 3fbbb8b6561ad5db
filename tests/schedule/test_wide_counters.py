"""Bounds far from zero: nothing that the scheduler adds overflows, in any form of the rebuilt loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scheduling import kernels
from scheduling.evaluator import Program
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, StringAttr

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
    *((3, 3 + trips, 1) for trips in range(9)),
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


@pytest.mark.parametrize("depth", [2, 4])
def test_only_short_loops_take_the_serial_side(depth: int) -> None:
    """With a spoilt serial side, loops of at least `depth` iterations are still right, shorter ones are not."""
    scheduled = schedule(parse(TEXT.format(step=3, policy=kernels.policy(pipeline=depth))))
    spoilt = arith.ConstantOp(FloatAttr(-7.5, 32))
    serial = next(op for op in scheduled.module.walk() if op.attributes.get("motif.form") == StringAttr("serial"))
    end = serial.parent_block().last_op  # type: ignore[union-attr]
    assert end is not None
    serial.parent_block().insert_op_before(spoilt, end)  # type: ignore[union-attr]
    end.operands = [spoilt.result]
    program = Program(scheduled.module)
    for low in (MIN, -20, 0, 5, MAX - 40):
        for trips in range(8):
            high = low + 3 * trips
            data = {(i,): value for i, value in zip(range(low, high, 3), kernels.numbers(64), strict=False)}
            run = program.run({"low": low, "high": high, "in": data, "out": kernels.numbers(1)})
            wanted = expected(low, high, 3, data) if trips >= depth else np.float32(-7.5)
            assert run.memories["out"].data[(0,)].tobytes() == wanted.tobytes(), (low, trips)


def test_depth_whose_lead_leaves_the_range() -> None:
    """Rule P4 where `(depth - 1) * step` is no `index`; one less is accepted."""
    refused = schedule(parse(TEXT.format(step=2**62, policy=kernels.policy(pipeline=3))))
    assert [d.code for d in refused.diagnostics] == ["SG-LOOP P4"]
    assert not schedule(parse(TEXT.format(step=2**62 - 1, policy=kernels.policy(pipeline=3)))).diagnostics
