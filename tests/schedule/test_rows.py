"""Report rows: the figures that the loop contract gives for the corpus kernels, and the shape of rows."""

from __future__ import annotations

import pytest
from scheduling import kernels

from specgen.ir import parse
from specgen.schedule import Scheduled, schedule


def stages(scheduled: Scheduled) -> list[tuple[str, str, int, str | None]]:
    """Op, stage, lookahead and partition of each row."""
    return [(row.op, row.stage, row.iteration_lookahead, row.partition) for row in scheduled.stages]


def test_sum_rows() -> None:
    """Depth 3, factor 4: two records of one value, one read; the load is two ahead."""
    scheduled = schedule(kernels.module(kernels.SUM_ROWS, pipeline=3, unroll=4, order="recurrence"))
    (row,) = scheduled.rows
    assert (row.function, row.ordinal, row.loop) == ("sum_rows", 0, "row")
    assert (row.outcome, row.depth) == ("pipelined", 3)
    assert (row.queue_records, row.values_per_record, row.read_count) == (2, 1, 1)
    assert stages(scheduled) == [("memref.load", "producer", 2, None), ("arith.addf", "consumer", 0, None)]
    (unrolled,) = scheduled.unroll_rows
    assert (unrolled.outcome, unrolled.factor, unrolled.order, unrolled.tail) == ("stripmined", 4, "recurrence", "cut")
    assert (unrolled.trip_count, unrolled.step, unrolled.trips) == ("unresolved", 1, None)


def test_guarded_rows() -> None:
    """The inner loop is serial and has a row; the outer one queues one value for one read."""
    inner = ", motif.pipeline = 1 : i64"
    scheduled = schedule(kernels.module(kernels.SUM_GUARDED_ROWS, inner, pipeline=3, unroll=2, order="recurrence"))
    column, row = scheduled.rows
    assert (column.ordinal, column.loop, column.outcome, column.depth) == (0, "column", "serial", 1)
    assert column.queue_records == 0
    assert (row.ordinal, row.loop, row.outcome, row.depth) == (1, "row", "pipelined", 3)
    assert (row.queue_records, row.values_per_record, row.read_count) == (2, 1, 1)
    assert stages(scheduled) == [
        ("arith.cmpi", "producer", 2, None),
        ("scf.if", "producer", 2, None),
        ("arith.addf", "consumer", 0, None),
    ]


def test_multiple_of_the_factor_leaves_no_tail() -> None:
    """The padded count is a multiple of 4, two iterations are the queue's: nothing is left over by factor 2."""
    scheduled = schedule(kernels.module(kernels.SUM_GUARDED_ROWS, pipeline=3, unroll=2, order="recurrence"))
    assert [row.tail for row in scheduled.unroll_rows] == ["none"]


GUARDED_ADDRESS = """
func.func @k(%n: index, %limit: index, %a: memref<512xf32>, %out: memref<16xf32>) attributes {motif.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f0 = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0) -> (f32) {
    %q = arith.cmpi slt, %i, %limit : index
    %t = scf.if %q -> (f32) {
      %at = arith.muli %i, %c3 : index
      %x = memref.load %a[%at] : memref<512xf32>
      %s = arith.addf %acc, %x : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
    scf.yield %t : f32
  } {motif.pipeline = 2 : i64}
  memref.store %sum, %out[%c0] : memref<16xf32>
  func.return
}
"""


def test_guarded_update_queues_what_the_update_uses() -> None:
    """The guard and the value read: the address, made inside the guard, is not needed again."""
    (row,) = schedule(parse(GUARDED_ADDRESS)).rows
    assert (row.outcome, row.queue_records, row.values_per_record, row.read_count) == ("pipelined", 1, 2, 1)


def test_inner_depth_counts_in_the_outer_loop() -> None:
    """Start-up, steady and serial load of the rewritten inner loop."""
    inner = ", motif.pipeline = 2 : i64"
    scheduled = schedule(kernels.module(kernels.SUM_GUARDED_ROWS, inner, pipeline=4, unroll=3, order="recurrence"))
    assert [(row.loop, row.depth, row.read_count) for row in scheduled.rows] == [("column", 2, 1), ("row", 4, 3)]


@pytest.mark.parametrize(("trips", "outcome"), [(0, "serial"), (2, "serial"), (3, "pipelined"), (4, "pipelined")])
def test_exact_loops_are_judged_by_their_length(trips: int, outcome: str) -> None:
    """Depth 3 needs three iterations; a loop that never has them stays serial and the row says why."""
    text = kernels.SUM_ROWS.format(policy=kernels.policy(pipeline=3), inner="")
    text = text.replace("to %count", "to %end").replace("%sum =", f"%end = arith.constant {trips} : index\n %sum =")
    (row,) = schedule(parse(text)).rows
    assert (row.outcome, row.depth) == (outcome, 3)
    assert row.reason == (None if outcome == "pipelined" else "never runs 3 iterations")


@pytest.mark.parametrize(("most", "outcome"), [(2, "serial"), (3, "pipelined")])
def test_ranges_are_judged_by_their_end(most: int, outcome: str) -> None:
    """A loop that may run as often as the depth asks for is pipelined."""
    text = kernels.SUM_ROWS.format(policy=kernels.policy(pipeline=3), inner="").replace("0, 64", f"0, {most}")
    assert [row.outcome for row in schedule(parse(text)).rows] == [outcome]


def test_no_policy_no_row_no_change() -> None:
    """A kernel without policies stays as it is."""
    module = kernels.module(kernels.SUM_ROWS)
    scheduled = schedule(module)
    assert (scheduled.rows, scheduled.stages, scheduled.unroll_rows) == ((), (), ())
    assert str(scheduled.module) == str(module)


def test_depth_and_factor_one_equal_no_policy() -> None:
    """Policies of 1 are consumed and change nothing."""
    scheduled = schedule(kernels.module(kernels.SUM_GUARDED_ROWS, pipeline=1, unroll=1, order="recurrence"))
    plain = parse(kernels.SUM_GUARDED_ROWS.format(policy="", inner=""))
    assert str(scheduled.module) == str(plain)
    assert [row.outcome for row in scheduled.rows] == ["serial"]
    assert [(row.outcome, row.reason) for row in scheduled.unroll_rows] == [("cleared", "factor <= 1")]


def test_rows_leave_out_what_is_not_known() -> None:
    """`as_dict` has no empty keys."""
    scheduled = schedule(kernels.module(kernels.SUM_ROWS, pipeline=2, unroll=2))
    assert "lead" not in scheduled.rows[0].as_dict()
    assert "partition" not in scheduled.stages[0].as_dict()
    assert "trips" not in scheduled.unroll_rows[0].as_dict()
    assert scheduled.unroll_rows[0].as_dict()["tail"] == "guard"
