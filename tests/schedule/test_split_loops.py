"""`split` of an `if`: two loops without the test, the same bits as one loop with it, wherever the condition changes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fault_kinds_product import plan, refused, sweep
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp

from specgen.schedule.rows import SplitRow

TEXT = """\
spec: 1
kind: kernel
name: cut
summary: A loop whose rows are treated differently from some row on.
args:
  n: {type: index, range: [0, 24]}
  b: {type: index, range: [-30, 60]}
  len: {type: i32, range: [0, 24]}
  x: {buffer: f32, shape: {row: 24, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 1, range: [1, 8]}
  factor: {default: 1, range: [1, 8]}
body:
- var: {total: f32(0)}
- for: row
  in: range(BOUNDS)
  schedule: {pipeline: depth, unroll: factor}
  do:
  - if: CONDITION   # here
    schedule: {split: true}
    then:
    - set: {total: "total + x[row, lane]"}
    else:
    - set: {total: "total * 0.75 - x[row, lane]"}
- store: {"out[lane]": total}
"""

CONDITIONS = (
    "row < b",
    "row <= b",
    "b > row",
    "row >= b",
    "b <= row + 3",
    "2 * row + 3 < b",
    "b - 3 * row > 2",
    "5 - row < b",
    "7 * row - 11 >= 2 * b + n",
    "row < index(len)",
    "row < min(b, n)",
    "row < b and row < n",
    "row < b or row + 4 <= n",
    "row >= b and 2 * row > n",
    "not row < b",
    "not (row < b and row < 7)",
    "row < 5",
    "row >= 0",
    "row > 99",
    "row < b and 0 < b",
)
FITTING = CONDITIONS[:-1]
BOUNDS = ("n", "0, n, 3", "b, n, 5", "2, 23, 4")


def text(condition: str, bounds: str = "n") -> str:
    made = TEXT.replace("CONDITION", condition).replace("BOUNDS", bounds)
    unused = [] if re.search(r"\blen\b", condition) else ["len"]
    unused += [name for name in ("n", "b") if not re.search(rf"\b{name}\b", f"{condition} {bounds}")]
    lines = [line for line in made.split("\n") if not any(line.startswith(f"  {name}: {{type") for name in unused)]
    if bounds.startswith("b,"):
        lines = [line.replace("range: [-30, 60]", "range: [0, 60]") for line in lines]
    return "\n".join(lines)


def launches(bounds: str, spec: str) -> list[dict[str, object]]:
    rng = np.random.default_rng(20260703)
    x = rng.standard_normal(24 * 32).astype(np.float32)
    low = 0 if bounds.startswith("b,") else -30
    values = [(n, b) for n in (0, 1, 11, 24) for b in (low, -1, 0, 1, 5, 11, 12, 25, 60) if b >= low]
    made = []
    for n, b in values:
        given: dict[str, object] = {"n": n, "b": b, "len": n // 2, "x": x, "out": np.zeros(32, np.float32)}
        made.append({k: v for k, v in given.items() if not isinstance(v, int) or f"\n  {k}: {{type" in spec})
    return made


@pytest.mark.parametrize("condition", FITTING)
def test_same_bits_and_no_test(condition: str) -> None:
    number = CONDITIONS.index(condition)
    for bounds in (BOUNDS[number % 4], BOUNDS[(number + 1) % 4]):
        spec = text(condition, bounds)
        sweep(spec, launches(bounds, spec))
        functions = [op for op in plan(spec).scheduled.module.walk() if isinstance(op, FuncOp)]
        for function in functions:
            conditionals = sum(isinstance(op, scf.IfOp) for op in function.walk())
            assert conditionals == ("serial" in function.sym_name.data), (condition, bounds)


@pytest.mark.parametrize(("depth", "factor"), [(3, 1), (1, 4), (2, 3)])
@pytest.mark.parametrize("condition", FITTING[::4])
def test_other_policies_apply_to_both_halves(condition: str, depth: int, factor: int) -> None:
    for bounds in BOUNDS[1:3]:
        spec = text(condition, bounds)
        sweep(spec, launches(bounds, spec), depth=depth, factor=factor)
        rows = [r for r in plan(spec, depth=depth, factor=factor).scheduled.rows if r.function == "cut"]
        assert len({row.ordinal for row in rows}) == len(rows) == 2


def test_a_known_cut_needs_no_arithmetic() -> None:
    """Rows 2 and 6 of 2, 6, 10, 14, 18, 22 lie below 10; the second half starts at 10."""
    spec = text("row < 7", "2, 23, 4")
    scheduled = plan(spec).scheduled
    assert [row for row in scheduled.split_rows if row.function == "cut"] == [
        SplitRow("cut", "row", "cut.spec.yaml:15:3", "cut.spec.yaml:19:5", "then", 7)
    ]
    function = next(op for op in scheduled.module.walk() if isinstance(op, FuncOp))
    names = [op.name for op in function.walk()]
    assert names.count("scf.for") == 2
    assert not any(name in names for name in ("arith.minsi", "arith.maxsi", "arith.ceildivsi"))


def test_a_half_that_never_runs_is_dropped() -> None:
    for condition in ("row >= 0", "row > 99", "row < 24"):
        function = next(op for op in plan(text(condition)).scheduled.module.walk() if isinstance(op, FuncOp))
        assert sum(isinstance(op, scf.ForOp) for op in function.walk()) == 1


def test_what_the_condition_says_stays_known() -> None:
    """Full tiles of a ragged loop: in the first half `min(n - row, 8)` is 8, so a collective may be read ahead."""
    spec = """\
spec: 1
kind: kernel
name: tiles
summary: Full tiles first, the ragged one behind them.
args:
  n: {type: index, range: [0, 63]}
  x: {buffer: f32, shape: {row: 63, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
body:
- var: {total: f32(0)}
- for: base
  in: range(0, n, 8)
  do:
  - if: base + 8 <= n
    schedule: {split: true}
    then:
    - for: row
      in: range(min(n - base, 8))
      schedule: {pipeline: 3}
      do:
      - set: {total: "total + subgroup.sum(x[base + row, lane])"}
    else:
    - for: row
      in: range(base, n)
      do:
      - set: {total: "total + subgroup.sum(x[row, lane])"}
- store: {"out[lane]": total}
"""
    x = np.random.default_rng(20260704).integers(-9, 9, 63 * 32).astype(np.float32)
    counts = (0, 1, 7, 8, 9, 16, 62, 63)
    found = sweep(spec, [{"n": n, "x": x, "out": np.zeros(32, np.float32)} for n in counts])
    for n, outputs in zip(counts, found, strict=True):
        assert np.array_equal(outputs["out"], np.full(32, x.reshape(63, 32)[:n].sum(), np.float32))


REFUSED = {
    "row == b": "equality",
    "row != b": "equality",
    "row < b and 0 < b": "a part that does not follow the counter",
    "row < b and row > n": "two directions",
    "x[row, lane] > 0": "no integers",
    "row % 4 < 2": "back and forth",
    "row * row < b": "no multiple",
}


@pytest.mark.parametrize("condition", REFUSED)
def test_refused_at_the_line(condition: str) -> None:
    from fault_kinds_product import line_of

    spec = text(condition)
    assert refused(spec) == [("SG-LOOP", line_of(spec))]


def test_a_policy_decides() -> None:
    spec = (
        text("row == b")
        .replace("split: true", "split: cut")
        .replace("policies:", "policies:\n  cut: {default: false, choices: [true, false]}")
    )
    assert refused(spec) == []
    assert [code for code, _ in refused(spec, cut=True)] == ["SG-LOOP"]
