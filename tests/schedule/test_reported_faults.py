"""Faults of other pipeliners and unrollers, as public reports tell them, in inputs of our kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduling import kernels
from scheduling.evaluator import OutOfBounds, Program, same

from specgen.ir import parse, print_module
from specgen.schedule import schedule

FRAME = """
func.func @k(%count: index {{motif.range = array<i64: 0, 20>}}, %ids: memref<20xi64> {{motif.noalias}},
    %rows: memref<32xf32> {{motif.noalias}}, %cells: memref<4xi32>, %out: memref<4xf32> {{motif.noalias}})
    attributes {{motif.kernel}} {{
  %total = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %less = arith.subi %count, %c2 : index
  %sum = scf.for %i = {bounds} iter_args(%acc = %total) -> (f32) {{
    {body}
  }} {{motif.loop = "i"{policy}}}
  {after}
  memref.store %result, %out[%c0] : memref<4xf32>
  func.return
}}
"""
SUM = "%x = memref.load %rows[%i] : memref<32xf32>\n %t = arith.addf %acc, %x : f32\n scf.yield %t : f32"
PASS_ON = "%result = arith.addf %sum, %total : f32"


def build(body: str, bounds: str, after: str = PASS_ON, **keys: Any) -> tuple[Program, Program]:
    """The serial and the scheduled program."""
    texts = [
        FRAME.format(body=body, bounds=bounds, after=after, policy=policy) for policy in ("", kernels.policy(**keys))
    ]
    scheduled = schedule(parse(texts[1]))
    assert not scheduled.diagnostics
    return Program(parse(texts[0])), Program(scheduled.module)


def given(
    count: int, rows: dict[tuple[int, ...], Any], ids: dict[tuple[int, ...], int] | None = None
) -> dict[str, Any]:
    """Arguments; what is not in the dicts does not exist."""
    return {"count": count, "rows": rows, "ids": ids or {}, "cells": {}, "out": kernels.numbers(4)}


def test_short_loops_read_nothing_beyond_their_end() -> None:
    """Fewer iterations than stages: each start-up read has its own condition."""
    serial, program = build(SUM, "%c0 to %count step %c1", pipeline=4)
    for count in range(6):
        rows = {(i,): np.float32(i + 1) for i in range(count)}
        same(serial.run(given(count, rows)), program.run(given(count, rows)), ["out"])
        if count:
            rows.pop((count - 1,))
            with pytest.raises(OutOfBounds):
                program.run(given(count, rows))


def test_depth_one_is_the_build_without_a_depth() -> None:
    """A depth of 1 leaves exactly what the other policies make."""
    with_depth = schedule(kernels.module(kernels.SUM_ROWS, pipeline=1, unroll=2, order="interleaved"))
    without = schedule(kernels.module(kernels.SUM_ROWS, unroll=2, order="interleaved"))
    assert print_module(with_depth.module) == print_module(without.module)


def test_guard_that_is_loaded() -> None:
    """`ids[i] >= 0` guards `rows[ids[i]]`: the two steps run ahead together, or `lead` apart; holes are not read."""
    body = """
    %id = memref.load %ids[%i] : memref<20xi64>
    %zero = arith.constant 0 : i64
    %there = arith.cmpi sge, %id, %zero : i64
    %t = scf.if %there -> (f32) {
      %j = arith.index_cast %id : i64 to index
      %x = memref.load %rows[%j] : memref<32xf32>
      %s = arith.addf %acc, %x : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
    scf.yield %t : f32
    """
    rows = {(i,): np.float32(1.25 * i) for i in range(4)}
    for keys in ({"lead": 0}, {"lead": 1}, {"lead": 3}, {"lead": "auto", "unroll": 2, "order": "recurrence"}):
        serial, program = build(body, "%c0 to %count step %c1", pipeline=3, **keys)
        for count in (0, 1, 2, 3, 4, 5, 6, 13, 20):
            ids = {(i,): (3, 2, 1, 0, -1)[i % 5] for i in range(count)}
            same(serial.run(given(count, rows, ids)), program.run(given(count, rows, ids)), ["out"])


@pytest.mark.parametrize("depth", range(1, 7))
def test_rotation_is_right_at_every_exit(depth: int) -> None:
    """Distinct values, every depth and length: a slot that is off by one shows."""
    body = SUM.replace("arith.addf %acc, %x", "arith.subf %x, %acc")
    serial, program = build(body, "%c0 to %count step %c1", pipeline=depth)
    rows = {(i,): np.float32(2.0**i) for i in range(20)}
    for count in range(21):
        same(serial.run(given(count, rows)), program.run(given(count, rows)), ["out"])


def test_each_copy_has_its_own_guard() -> None:
    """Depth 3, factor 2, all ones: the sum is the count, so a tile that is masked by the wrong offset shows."""
    for order in ("linear", "interleaved", "recurrence"):
        _, program = build(SUM, "%c0 to %count step %c1", pipeline=3, unroll=2, order=order)
        for count in range(6, 10):
            run = program.run(given(count, {(i,): np.float32(1) for i in range(count)}))
            assert run.memories["out"].data[(0,)] == np.float32(count + 1)


def test_initial_value_is_used_after_the_loop() -> None:
    """`out = sum - initial`: both are alive behind the loop."""
    after = "%result = arith.subf %sum, %total : f32"
    serial, program = build(SUM, "%c0 to %count step %c1", after, pipeline=3, unroll=2)
    for count in (0, 1, 5):
        rows = {(i,): np.float32(i + 1) for i in range(count)}
        run = program.run(given(count, rows))
        assert run.memories["out"].data[(0,)] == np.float32(count * (count + 1) / 2)
        same(serial.run(given(count, rows)), run, ["out"])


def test_count_less_a_constant() -> None:
    """An upper bound that may be negative runs no iteration."""
    for keys in ({"pipeline": 2}, {"unroll": 3}, {"unroll": 3, "order": "recurrence", "tail": "guard"}):
        serial, program = build(SUM, "%c0 to %less step %c1", **keys)
        for count in range(5):
            rows = {(i,): np.float32(i + 1) for i in range(max(0, count - 2))}
            same(serial.run(given(count, rows)), program.run(given(count, rows)), ["out"])


def test_read_behind_an_atomic_of_the_same_cell() -> None:
    """The read would pass the atomic: refused, both are named."""
    body = """
    %one = arith.constant 1 : i32
    %old = "memref.atomic_rmw"(%one, %cells, %c1) <{kind = 0 : i64}> : (i32, memref<4xi32>, index) -> i32
    %now = memref.load %cells[%c1] : memref<4xi32>
    %f = arith.sitofp %now : i32 to f32
    %t = arith.addf %acc, %f : f32
    scf.yield %t : f32
    """
    text = FRAME.format(body=body, bounds="%c0 to %count step %c1", after=PASS_ON, policy=kernels.policy(pipeline=2))
    (diagnostic,) = schedule(parse(text)).diagnostics
    assert diagnostic.code == "SG-LOOP P16"
    assert "`cells`" in diagnostic.message
    assert len(diagnostic.notes) == 1


def test_loop_without_carried_values() -> None:
    """Workgroup memory is all that such a loop changes: stores and barriers keep their order."""
    text = """
    func.func @k(%rows: memref<32xf32>, %out: memref<4xf32>) attributes {motif.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %tile = memref.alloc() {motif.name = "tile"} : memref<4xf32, 3 : i32>
      scf.for %i = %c0 to %c9 step %c1 {
        %x = memref.load %rows[%i] : memref<32xf32>
        memref.store %x, %tile[%c0] : memref<4xf32, 3 : i32>
        "gpu.barrier"() : () -> ()
      } {motif.loop = "i"POLICY}
      %y = memref.load %tile[%c0] : memref<4xf32, 3 : i32>
      memref.store %y, %out[%c0] : memref<4xf32>
      func.return
    }
    """
    serial = Program(parse(text.replace("POLICY", "")))
    for keys in ({"pipeline": 3}, {"unroll": 2}, {"pipeline": 2, "unroll": 3, "order": "recurrence"}):
        scheduled = schedule(parse(text.replace("POLICY", kernels.policy(**keys))))
        assert not scheduled.diagnostics
        arguments = {"rows": kernels.numbers(32), "out": kernels.numbers(4)}
        same(serial.run(arguments), Program(scheduled.module).run(arguments), ["out"])
