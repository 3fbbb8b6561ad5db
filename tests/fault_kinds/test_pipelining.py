"""Kinds B01-B11: software pipelining."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from fault_kinds_machines import same_as_interpreter
from fault_kinds_product import ORDERS, diagnostics_of, line_of, plan, refused, run, runs, sweep, zeros

from specgen import ir

ROWS = """\
spec: 1
kind: kernel
name: rows
summary: Each work-item folds one column so that the order and the identity of every row shows in the result.
args:
  count: {type: index, range: [0, 64]}
  x: {buffer: i32, shape: {row: 64, lane: 32}}
  out: {buffer: i32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 1, range: [1, 64]}
  factor: {default: 1, range: [1, 64]}
body:
- var: {total: i32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: factor, order: recurrence}
  do:
  - set: {total: "total * 3 + x[row, lane]"}
- store: {"out[lane]": total}
"""


def folded(count: int) -> Any:
    """`sum 3^(count - 1 - row) * (32 row + lane)` modulo 2^32."""
    lanes = np.arange(32, dtype=np.int64)
    total = np.zeros(32, dtype=object)
    for row in range(count):
        total = total * 3 + (32 * row + lanes)
    return np.array([int(t) % 2**32 for t in total], np.uint32).view(np.int32)


def row_launches(counts: Any) -> list[dict[str, Any]]:
    """Launches whose buffer ends with the last active row."""
    return [{"count": c, "x": np.arange(c * 32, dtype=np.int32), "out": zeros(32, np.int32)} for c in counts]


SUMS = ROWS.replace("i32", "f32").replace("total * 3 +", "total +")


@pytest.mark.parametrize("absent", [True, False], ids=["absent", "nan"])
def test_b01_fewer_iterations_than_stages(absent: bool) -> None:
    """Each start-up stage has the predicate of its own iteration: nothing past a short trip count is read or counts."""
    launches = []
    for count in range(6):
        x = np.arange(64 * 32, dtype=np.float32)
        x[count * 32 :] = np.nan
        launches.append({"count": count, "x": x[: count * 32] if absent else x, "out": zeros(32)})
    for depth in (2, 4, 6):
        for count, left in enumerate(sweep(SUMS, launches, depth=depth)):
            lanes = np.arange(32)
            assert np.array_equal(left["out"], count * lanes + 16 * count * (count - 1)), (depth, count)


def test_b02_depth_one_is_the_serial_loop() -> None:
    """Depth 1 adds nothing: the IR is that of a loop without the key, also when it is unrolled."""
    for unroll in ("", ", unroll: 2, order: interleaved"):
        one = ROWS.replace("pipeline: depth, unroll: factor, order: recurrence", f"pipeline: 1{unroll}")
        one = re.sub(r"policies:\n.*\n.*\n", "", one)
        none = one.replace("schedule: {pipeline: 1, ", "schedule: {").replace("  schedule: {pipeline: 1}\n", "")
        assert "pipeline" not in none
        texts = [ir.print_module(plan(text).scheduled.module, locations=False) for text in (one, none)]
        assert texts[0] == texts[1]
        assert "scf.for" in texts[0]


@pytest.mark.parametrize("depth", ["0", "-1", "65536", "1 - 1"])
def test_b02_depth_zero_is_an_error(depth: str) -> None:
    """A depth without meaning is refused where it stands, never read as "off"."""
    text = ROWS.replace("pipeline: depth, unroll: factor, order: recurrence}", f"pipeline: {depth}}}   # here")
    text = re.sub(r"policies:\n.*\n.*\n", "", text)
    assert refused(text) == [("SG-LOOP P2", line_of(text))]


BOUND_TYPES = """\
spec: 1
kind: kernel
name: bounds
summary: A loop whose bounds are arguments of a narrow or a wide type.
args:
  low: {type: TYPE}
  high: {type: TYPE}
  x: {buffer: i32, shape: {at: 8}}
  out: {buffer: i32, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
body:
- var: {total: i32(1)}
- for: i
  in: range(low, high, STEP)
  schedule: {SCHEDULE}
  do:
  - set: {total: "total * 3 + x[(index(i) - index(low)) // STEP]"}
- store: {"out[one]": total}
"""


@pytest.mark.parametrize(
    ("type_", "low", "high", "step"),
    [
        ("i64", 0, 2**31 + 3, 2**30),
        ("i64", 2**31 - 2, 2**31 + 3, 1),
        ("i8", 120, 127, 1),
        ("i8", -128, -122, 1),
        ("u8", 250, 255, 1),
        ("i16", 32760, 32767, 2),
        ("u16", 65530, 65535, 1),
        ("i32", 2**31 - 6, 2**31 - 1, 1),
        ("u32", 2**32 - 6, 2**32 - 1, 1),
    ],
)
def test_b03_counts_in_the_type_of_the_bounds(type_: str, low: int, high: int, step: int) -> None:
    """The number of iterations is that of the mathematical range, whatever type the bounds have."""
    expected = 1
    for at, _ in enumerate(range(low, high, step)):
        expected = expected * 3 + at + 1
    args = {"low": low, "high": high, "x": np.arange(1, 9, dtype=np.int32), "out": zeros(1, np.int32)}
    args["x"] = args["x"][: len(range(low, high, step))]
    for schedule in ("pipeline: 3", "unroll: 3", "pipeline: 2, unroll: 2, order: recurrence"):
        text = BOUND_TYPES.replace("TYPE", type_).replace("STEP", str(step)).replace("SCHEDULE", schedule)
        assert run(text, args)["out"].tolist() == [expected], schedule


PREFIX = """\
spec: 1
kind: kernel
name: prefix
summary: Running sums in place, each cell from the one before it.
args:
  x: {buffer: f32, shape: {row: 9}, access: readwrite}
launch:
  workgroup_size: {one: 1}
policies:
  depth: {default: 1, range: [1, 4]}
body:
- for: row
  in: range(8)
  schedule: {pipeline: depth}
  do:
  - let: {before: "x[row]"}        # the read
  - store: {"x[row + 1]": "before + x[row + 1]"}   # here
"""


def test_b04_read_after_write_of_one_buffer() -> None:
    """A read may not run ahead of a store to its buffer: refused, naming the store and the read."""
    assert refused(PREFIX, depth=2) == [("SG-LOOP P8", line_of(PREFIX))]
    (diagnostic,) = diagnostics_of(PREFIX, depth=2)
    assert "`x`" in diagnostic.message
    assert line_of(PREFIX, "# the read") in {note.span.line for note in diagnostic.notes}
    left = run(PREFIX, {"x": np.arange(9, dtype=np.float32)}, depth=1)
    assert left["x"].tolist() == [n * (n + 1) / 2 for n in range(9)]


HISTOGRAM = """\
spec: 1
kind: kernel
name: histogram
summary: Counts into a cell and reads that cell at once.
args:
  bins: {buffer: i32, shape: {b: 8}, access: readwrite}
  x: {buffer: i32, shape: {i: 16}, range: [0, 7]}
  out: {buffer: i32, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
policies:
  depth: {default: 1, range: [1, 4]}
body:
- var: {total: i32(0)}
- for: i
  in: range(16)
  schedule: {pipeline: depth}
  do:
  - let: {b: "x[i]"}
  - atomic: {"bins[b]": {add: 1}}   # here
  - set: {total: "total * 3 + bins[b]"}
- store: {"out[one]": total}
"""


def test_b05_atomic_orders_reads() -> None:
    """An atomic is a write: reads do not pass it, and the schedule that wants them to is refused."""
    assert refused(HISTOGRAM, depth=2) == [("SG-LOOP P16", line_of(HISTOGRAM))]
    x = np.array([3, 3, 1, 3, 0, 1, 3, 7] * 2, np.int32)
    bins, total = [0] * 8, 0
    for b in x:
        bins[b] += 1
        total = total * 3 + bins[b]
    left = run(HISTOGRAM, {"bins": zeros(8, np.int32), "x": x, "out": zeros(1, np.int32)}, depth=1)
    assert left["bins"].tolist() == bins
    assert left["out"].tolist() == [total]


GATHER = """\
spec: 1
kind: kernel
name: gather
summary: Rows that a list names; negative entries name none.
args:
  count: {type: index, range: [0, 12]}
  ids: {buffer: i32, shape: {i: 12}, range: [-1, 6]}
  table: {buffer: f32, shape: {row: 7, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 3, range: [1, 8]}
  lead: {default: 0, range: [0, 2]}
body:
- var: {total: f32(0)}
- for: i
  in: range(count)
  schedule: {pipeline: depth, lead: lead}
  do:
  - let: {id: "ids[i]"}
  - if: id >= 0
    then:
    - set: {total: "total * 2 + table[id, lane]"}
- store: {"out[lane]": total}
"""


@pytest.mark.parametrize(("depth", "lead"), [(1, 0), (2, 0), (3, 0), (5, 0), (2, 1), (3, 1), (2, 2)])
def test_b06_guard_that_is_loaded(depth: int, lead: int) -> None:
    """A guard and an address that come from memory go ahead together; entries that name nothing read nothing."""
    ids = np.array([2, -1, 0, 6, -1, -1, 5, 2, 4, -1, 1, 3], np.int32)
    table = np.arange(7 * 32, dtype=np.float32)
    launches = [{"count": c, "ids": ids[:c], "table": table, "out": zeros(32)} for c in range(13)]
    expected = np.zeros(32, np.float32)
    for count, left in enumerate(sweep(GATHER, launches, depth=depth, lead=lead)):
        assert np.array_equal(left["out"], expected), count
        if count < 12 and ids[count] >= 0:
            expected = expected * 2 + table.reshape(7, 32)[ids[count]]


def test_b06_all_guards_false_touch_nothing() -> None:
    """With every guard false the table may be absent altogether."""
    args = {"count": 12, "ids": np.full(12, -1, np.int32), "table": zeros(0), "out": zeros(32)}
    assert not run(GATHER, args, depth=3)["out"].any()


@pytest.mark.parametrize("depth", range(1, 7))
def test_b07_rotation_at_every_exit(depth: int) -> None:
    """The queue's oldest slot is used first in start-up, steady loop and drain, for every trip count."""
    counts = [*range(15), 63, 64]
    for count, left in zip(counts, sweep(ROWS, row_launches(counts), depth=depth), strict=True):
        assert np.array_equal(left["out"], folded(count)), count


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201", "vulkan1.3"])
@pytest.mark.parametrize(("depth", "factor"), [(3, 1), (5, 1), (4, 2), (3, 3)])
def test_b07_rotation_in_the_built_code(target: str, depth: int, factor: int) -> None:
    """The same of the code that ships; buffers end with the active rows, every sum is a whole number below 2^24."""
    text = ROWS.replace("i32", "f32").replace("total * 3", "total * 2")
    counts = [0, 1, 2, 3, 4, 5, 6, 9]
    launches = [{"count": c, "x": np.arange(c * 32, dtype=np.float32), "out": zeros(32)} for c in counts]
    lefts = same_as_interpreter(text, launches, target, depth=depth, factor=factor)
    for count, left in zip(counts, lefts, strict=True):
        total = np.zeros(32)
        for row in range(count):
            total = total * 2 + 32 * row + np.arange(32)
        assert left["out"].tolist() == total.tolist(), count


@pytest.mark.parametrize("order", ORDERS)
def test_b08_guards_of_unrolled_copies(order: str) -> None:
    """Each copy of an unrolled read-ahead has the guard of its own iteration: the last valid rows are not lost."""
    text = SUMS.replace("order: recurrence", f"order: {order}")
    counts = range(13)
    launches = [{"count": c, "x": np.ones(c * 32, np.float32), "out": zeros(32)} for c in counts]
    for depth, factor in itertools.product((2, 3, 4), (2, 3, 4)):
        for count, left in zip(counts, sweep(text, launches, depth=depth, factor=factor), strict=True):
            assert left["out"].tolist() == [count] * 32, (depth, factor)


GUARDED_STAGE = """\
spec: 1
kind: kernel
name: guarded_stage
summary: Rows staged in workgroup memory under a guard.
args:
  count: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 8, lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
memory:
  tile: {space: workgroup, type: f32, shape: {at: 64}}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 1, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth}
  do:
  - let: {value: "x[row, lane]"}
  - if: row != 3
    then:
    - store: {"tile[lane]": value}   # here
    - barrier: workgroup    # the barrier
    - set: {total: "total + tile[63 - lane]"}
    - barrier: workgroup
- store: {"out[lane]": total}
"""


def test_b09_schedule_that_cannot_be_honoured() -> None:
    """Staging under a guard in a loop of unknown length is not pipelined and says so; nothing is half applied."""
    found = refused(GUARDED_STAGE, depth=3)
    assert found
    assert {code for code, _ in found} == {"SG-LOOP P10"}
    assert found[0][1] == line_of(GUARDED_STAGE)
    x = np.arange(8 * 64, dtype=np.float32)
    rows = x.reshape(8, 64)[:, ::-1]
    for count in range(9):
        left = run(GUARDED_STAGE, {"count": count, "x": x[: count * 64], "out": zeros(64)}, depth=1)
        wanted = rows[[row for row in range(count) if row != 3]].sum(0)
        assert np.array_equal(left["out"], wanted), count
    shapes = re.findall(r"memref\.alloc\(\).*", ir.print_module(plan(GUARDED_STAGE, depth=1).scheduled.module))
    assert len(shapes) == 1, "one piece of workgroup memory, never two; both entries are the same kernel"


def test_b09_fixed_length_keeps_one_buffer() -> None:
    """With exact bounds the staging is pipelined; its memory is that of the serial loop."""
    text = GUARDED_STAGE.replace("in: range(count)", "in: range(8)")
    x = np.arange(8 * 64, dtype=np.float32)
    rows = x.reshape(8, 64)[:, ::-1]
    for depth in (1, 2, 3):
        printed = ir.print_module(plan(text, depth=depth).scheduled.module)
        assert printed.count("memref.alloc()") == printed.count("func.func") == (1 if depth == 1 else 2)
        left = run(text, {"count": 8, "x": x, "out": zeros(64)}, depth=depth)
        assert np.array_equal(left["out"], rows.sum(0) - rows[3]), depth


def test_b09_a_staged_view_under_a_guard() -> None:
    """What the compiler places itself needs uniform bounds only: it is pipelined with the memory of the serial loop."""
    text = GUARDED_STAGE.replace(
        """    - store: {"tile[lane]": value}   # here
    - barrier: workgroup    # the barrier
    - set: {total: "total + tile[63 - lane]"}
    - barrier: workgroup
""",
        """    - view: {tile: "x[row, :]"}
      schedule: {place: workgroup}
    - set: {total: "total + tile[63 - lane]"}
""",
    )
    text = text.replace('  - let: {value: "x[row, lane]"}\n', "").replace(
        "memory:\n  tile: {space: workgroup, type: f32, shape: {at: 64}}\n", ""
    )
    x = np.arange(8 * 64, dtype=np.float32)
    rows = x.reshape(8, 64)[:, ::-1]
    for depth in (1, 2, 3):
        printed = ir.print_module(plan(text, depth=depth).scheduled.module)
        assert printed.count("memref.alloc()") == 1, "the serial entry reads in place"
        for count in range(9):
            left = run(text, {"count": count, "x": x[: count * 64], "out": zeros(64)}, depth=depth)
            wanted = rows[[row for row in range(count) if row != 3]].sum(0)
            assert np.array_equal(left["out"], wanted), (depth, count)


KEPT_START = """\
spec: 1
kind: kernel
name: kept_start
summary: The first value of a variable is used again after the loop.
args:
  count: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 8, lane: 32}}
  start: {buffer: f32, shape: {lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 2, range: [1, 4]}
  factor: {default: 2, range: [1, 4]}
body:
- let: {initial: "start[lane]"}
- var: {total: initial}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: factor}
  do:
  - set: {total: "total + x[row, lane]"}
- store: {"out[lane]": "total - initial"}
"""


def test_b10_initial_value_lives_on() -> None:
    """The value that a variable started with stays what it was when the loop changes the variable."""
    for depth, factor in itertools.product((1, 2, 4), (1, 2, 3)):
        launches = [
            {"count": c, "x": np.full(c * 32, 2, np.float32), "start": np.arange(100, 132, dtype=np.float32)}
            | {"out": zeros(32)}
            for c in range(9)
        ]
        for count, left in enumerate(sweep(KEPT_START, launches, depth=depth, factor=factor)):
            assert left["out"].tolist() == [2 * count] * 32


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bound", ["count - 2", "count + (0 - 2)", "min(count - 2, 8)"])
def test_b11_negative_constant_in_a_bound(bound: str) -> None:
    """A bound below zero means no iteration, not billions of them."""
    body = ROWS.replace("in: range(count)", f'in: "range({bound})"')
    launches = [
        {"count": c, "x": np.arange(max(c - 2, 0) * 32, dtype=np.int32), "out": zeros(32, np.int32)} for c in range(9)
    ]
    for depth, factor in ((1, 1), (3, 1), (1, 4), (3, 2), (2, 3)):
        for count, left in enumerate(sweep(body, launches, depth=depth, factor=factor)):
            assert np.array_equal(left["out"], folded(max(count - 2, 0))), (count, depth, factor)
    executed = runs(body, launches[:2], depth=3, factor=2)
    assert all(sum(r.evidence["ops"].values()) < 4096 for r in executed)
