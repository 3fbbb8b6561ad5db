"""Kinds B12-B15: unrolling and the structure of loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fault_kinds_product import ORDERS, diagnostics_of, line_of, refused, run, sweep, zeros

FROM = """\
spec: 1
kind: kernel
name: from_low
summary: Folds the counters of a loop so that a wrong one or a wrong order shows.
args:
  low: {type: i64}
  trips: {type: index, range: [0, 16]}
  x: {buffer: i32, shape: {at: 16}}
  out: {buffer: i64, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
body:
- var: {total: i64(1)}
- for: i
  in: RANGE
  schedule: {SCHEDULE}
  do:
  - set: {total: "total * 31 + i64(i) + i64(x[i - index(low)])"}
- store: {"out[one]": total}
"""


def folded(counters: range, low: int) -> int:
    """The fold over Python's own integers, wrapped to 64 bits."""
    total = 1
    for i in counters:
        total = total * 31 + i + 7 * (i - low)
    return (total + 2**63) % 2**64 - 2**63


def launch(low: int, trips: int, reach: int) -> dict[str, Any]:
    """A launch whose buffer ends with the last element that may be read."""
    return {"low": low, "trips": trips, "x": 7 * np.arange(reach, dtype=np.int32), "out": zeros(1, np.int64)}


SCHEDULES = [
    "unroll: full",
    *(f"unroll: {factor}, order: {order}" for factor in (2, 3, 7, 8) for order in ORDERS),
    "unroll: 3, tail: cut",
    "unroll: 3, tail: guard",
    "pipeline: 2, unroll: full",
    "pipeline: 3, unroll: 2, order: recurrence",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_b12_start_is_kept(schedule: str) -> None:
    """A loop from 3 to 10 is unrolled from 3, not from 0; also with a step, and from below zero."""
    for counters in (range(3, 10), range(3, 10, 2), range(3, 11, 2), range(-5, 3, 3), range(4, 5), range(4, 4)):
        written = f"range({counters.start}, {counters.stop}, {counters.step})"
        text = FROM.replace("RANGE", written).replace("SCHEDULE", schedule)
        text = text.replace("x[i - index(low)]", f"x[i - ({counters.start})]").replace("  low: {type: i64}\n", "")
        args = launch(0, 0, max(len(counters) and counters[-1] - counters.start + 1, 0))
        del args["low"]
        text = text.replace("  trips: {type: index, range: [0, 16]}\n", "")
        del args["trips"]
        assert run(text, args)["out"].tolist() == [folded(counters, counters.start)], counters


@pytest.mark.parametrize("low", [2**32 - 3, 2**32 + 3, 2**31 - 2, -(2**32) - 2, 0])
def test_b13_remainder_of_wide_counters(low: int) -> None:
    """The rest of an unrolled loop has the right number of iterations where the counter needs 64 bits."""
    for schedule in ("unroll: 3", "unroll: 3, tail: cut", "unroll: 4, order: recurrence", "pipeline: 2, unroll: 3"):
        text = FROM.replace("RANGE", "range(low, low + i64(trips))").replace("SCHEDULE", schedule)
        launches = [launch(low, trips, trips) for trips in range(8)]
        for trips, left in enumerate(sweep(text, launches)):
            assert left["out"].tolist() == [folded(range(low, low + trips), low)], (schedule, trips)


VECTORS = """\
spec: 1
kind: kernel
name: vectors
summary: Copies groups of four from element 4 on.
args:
  x: {buffer: f32, shape: {at: 20}}
  out: {buffer: f32, shape: {at: 20}, access: readwrite}
launch:
  workgroup_size: {one: 1}
body:
- for: c
  in: range(4, 20, 4)
  schedule: {unroll: 2}   # here
  do:
  - store: {"out[c:+4]": "2 * x[c:+4]"}
"""


def test_b14_vector_reads_from_a_start() -> None:
    """Vectors from a start that is not zero, in unrolled loops; the part before the start stays as it was."""
    x, kept = np.arange(20, dtype=np.float32), np.full(20, -1, np.float32)
    for schedule in ("unroll: 2", "unroll: 3", "unroll: full", "unroll: 4, tail: cut"):
        left = run(VECTORS.replace("unroll: 2", schedule), {"x": x, "out": kept})
        assert left["out"].tolist() == [-1] * 4 + [2 * n for n in range(4, 20)], schedule


def test_b14_what_the_language_lacks_is_refused() -> None:
    """A `vectorize` key and an early exit do not exist: each is one finding at its line, no silent loss."""
    wide = VECTORS.replace("unroll: 2", "vectorize: 4")
    assert refused(wide) == [("SG-KEY", line_of(wide))]
    early = VECTORS.replace("   # here", "").replace("  do:\n", "  do:\n  - break: true   # here\n")
    assert [row for row in refused(early) if row[1] == line_of(early)] == [("SG-KEY", line_of(early))]


TRIANGLE = """\
spec: 1
kind: kernel
name: triangle
summary: Sums the lower triangle of a matrix, row by row.
args:
  x: {buffer: i32, shape: {row: 7, column: 7}}
  out: {buffer: i32, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
body:
- var: {total: i32(0)}
- for: i
  in: range(7)
  schedule: {OUTER}   # the outer
  do:
  - for: j
    in: range(i + 1)
    schedule: {INNER}   # the inner
    do:
    - set: {total: "total * 3 + x[i, j]"}
- store: {"out[one]": total}
"""


def test_b15_inner_bound_of_the_outer_counter() -> None:
    """A triangular nest is never treated as a rectangle: schedules keep it, and what needs a rectangle is refused."""
    swap = TRIANGLE.replace("OUTER", "interchange: j").replace("INNER", "unroll: 2")
    assert refused(swap) == [("SG-KEY", line_of(swap, "# the outer"))]
    whole = TRIANGLE.replace("OUTER", "unroll: 1").replace("INNER", "unroll: full")
    (diagnostic,) = diagnostics_of(whole)
    assert diagnostic.code == "SG-LOOP U1"
    assert diagnostic.span.line == line_of(whole, "- for: j")
    x = np.arange(49, dtype=np.int32)
    total = 0
    for i in range(7):
        for j in range(i + 1):
            total = (total * 3 + 7 * i + j + 2**31) % 2**32 - 2**31
    x[[7 * i + j for i in range(7) for j in range(i + 1, 7)]] = -(2**31)
    for outer in ("unroll: 1", "unroll: 2", "unroll: full", "unroll: 3, tail: cut"):
        for inner in ("unroll: 1", "pipeline: 3", "unroll: 2, order: recurrence", "pipeline: 2, unroll: 3"):
            text = TRIANGLE.replace("OUTER", outer).replace("INNER", inner)
            assert run(text, {"x": x, "out": zeros(1, np.int32)})["out"].tolist() == [total], (outer, inner)
