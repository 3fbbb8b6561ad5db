"""Rows of barriers: what is counted, and what stays unknown."""

from __future__ import annotations

from typing import Any

import pytest

from specgen import ir, targets
from specgen.report import barriers
from specgen.report.show import text as page

FRAME = """
func.func @k(%n: index) attributes {{motif.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %go = arith.cmpi slt, %c0, %n : index
  %yes = arith.cmpi slt, %c1, %c3 : index
  {body}
  func.return
}}
"""
BARRIER = '"gpu.barrier"() : () -> () loc("k.spec.yaml":{line}:3)'
SPLIT = """%t = "motif.arrive"() : () -> index loc("k.spec.yaml":9:3)
"motif.wait"(%t) : (index) -> () loc("k.spec.yaml":9:3)"""
NESTED = "scf.for %i = %c0 to %c3 step %c1 {{\nscf.for %j = %c1 to %c5 step %c1 {{\n{0}\n}}\n}}"


def rows(
    body: str, machine: dict[tuple[str, int, int], dict[str, int]], target: str = "gfx1201"
) -> list[dict[str, Any]]:
    module = ir.parse(FRAME.format(body=body))
    return barriers.rows(list(module.body.block.ops), {"k": machine}, targets.load(target))


def counts(row: dict[str, Any]) -> dict[str, int]:
    return {key.removesuffix("_count"): value for key, value in row.items() if key.endswith("_count")}


def at(line: int) -> tuple[str, int, int]:
    return "k.spec.yaml", line, 3


def test_trip_counts_multiply() -> None:
    """3 * 4 rounds, and once behind them."""
    body = NESTED.format(BARRIER.format(line=4)) + "\n" + BARRIER.format(line=7)
    both = {"s_barrier_signal": 1, "s_barrier_wait": 1}
    (row,) = rows(body, {at(4): both, at(7): both, at(8): {"s_barrier_signal": 9}})
    assert (row["phase"], row["locations"]) == ("complete", ["k.spec.yaml:4:3", "k.spec.yaml:7:3"])
    assert counts(row) == {"static_source": 2, "static_low": 4, "dynamic_source": 13, "dynamic_low": 26}


@pytest.mark.parametrize(
    ("around", "times"),
    [
        ("scf.if %go {{\n{0}\n}}", None),
        ("scf.if %yes {{\n{0}\n}}", 1),
        ("scf.if %yes {{\n}} else {{\n{0}\n}}", 0),
        ("scf.for %i = %c0 to %n step %c1 {{\n{0}\n}}", None),
        ("scf.while () : () -> () {{\nscf.condition(%go)\n}} do {{\n{0}\nscf.yield\n}}", None),
    ],
)
def test_executions_are_known_or_left_out(around: str, times: int | None) -> None:
    (row,) = rows(around.format(BARRIER.format(line=4)), {at(4): {"s_barrier": 1}}, "gfx1151")
    expected = {"static_source": 1, "static_low": 1}
    if times is not None:
        expected |= {"dynamic_source": times, "dynamic_low": times}
    assert counts(row) == expected


def test_phases_of_a_split_barrier() -> None:
    machine = {at(9): {"s_barrier_signal": 1, "s_barrier_wait": 1}}
    arrive, wait = rows(SPLIT, machine)
    assert [(r["phase"], r["selection"]) for r in (arrive, wait)] == [
        ("arrive", "s_barrier_signal"),
        ("wait", "s_barrier_wait"),
    ]
    assert counts(arrive) == counts(wait) == {f"{a}_{b}": 1 for a in ("static", "dynamic") for b in ("source", "low")}


@pytest.mark.parametrize(("target", "name"), [("gfx942", "s_barrier"), ("vulkan1.3", "OpControlBarrier")])
def test_an_arrival_is_nothing_where_the_wait_is_complete(target: str, name: str) -> None:
    arrive, wait = rows(SPLIT, {at(9): {name: 1}}, target)
    assert arrive["selection"].startswith("none")
    assert counts(arrive) == {"static_source": 1, "static_low": 0, "dynamic_source": 1, "dynamic_low": 0}
    assert counts(wait) == {"static_source": 1, "static_low": 1, "dynamic_source": 1, "dynamic_low": 1}


def test_a_barrier_that_the_back_end_dropped_executes_nothing() -> None:
    """LLVM drops barriers of a workgroup that is one subgroup."""
    (row,) = rows(BARRIER.format(line=4), {}, "gfx1151")
    assert counts(row) == {"static_source": 1, "static_low": 0, "dynamic_source": 1, "dynamic_low": 0}


def test_instructions_of_two_phases_at_one_place_are_not_told_apart() -> None:
    """A motif's barrier that one application splits and another does not."""
    body = BARRIER.format(line=9) + "\n" + SPLIT
    complete, arrive, wait = rows(body, {at(9): {"s_barrier_signal": 2, "s_barrier_wait": 2}})
    for row, low in ((complete, 2), (arrive, 1), (wait, 1)):
        assert counts(row) == {"static_source": 1, "dynamic_source": 1, "dynamic_low": low}


def test_the_page_says_unknown() -> None:
    (row,) = rows(f"scf.if %go {{\n{BARRIER.format(line=4)}\n}}", {at(4): {"s_barrier": 1}}, "gfx1151")
    report = {
        "identity": {"target": "gfx1151", "specgen": "9.9"},
        "entries": [
            {"name": "default", "policies": {}, "symbol": "k", "code_byte_count": 8, "workgroup_memory_bytes": 0}
        ],
        "source_low": {"loop_pipelines": {"rows": []}},
        "barriers": [row],
    }
    (line,) = [line for line in page(report).split("\n") if "complete" in line]
    assert [cell.strip() for cell in line.split("│")[1:-1]] == ["k", "complete", "s_barrier", "1/1", "unknown"]
