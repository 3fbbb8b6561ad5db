"""Races on workgroup memory: told where two work-items certainly touch one element, and nowhere else."""

from __future__ import annotations

import pytest
from binding_helpers import bound

ARGS = """\
args:
  n: {type: index, range: [0, 64]}
  x: {buffer: f32, shape: {lane: 128}}
  y: {buffer: f32, shape: {lane: 128}, access: write}
memory:
  t: {space: workgroup, type: f32, shape: {place: 256}}
launch:
  workgroup_size: {column: 32, line: 4}
"""
STORE = "- let: {lane: line * 32 + column}\n- store:\n    t[lane]: x[lane]\n"
BARRIER = "- barrier: workgroup\n"
USE = "- store:\n    y[lane]: v\n"

RACES = {
    "another item's element": (STORE + "- let:\n    v: t[127 - lane]\n" + USE, (0, 127)),
    "one element for all": (STORE + "- let:\n    v: t[5]\n" + USE, (0, 5)),
    "a range that reaches over": (STORE + "- let:\n    w: t[lane:+2]\n- let:\n    v: w[0]\n" + USE, (0, 1)),
    "stored again by another": (
        STORE + "- store:\n    t[lane // 2]: x[lane]\n" + BARRIER + "- let:\n    v: t[0]\n" + USE,
        (1, 0),
    ),
    "stored after it was read": (
        STORE + BARRIER + "- let:\n    v: t[127 - lane]\n- store:\n    t[lane]: v\n" + USE,
        (0, 127),
    ),
    "in a loop": (
        STORE + "- for: k\n  in: range(4)\n  do:\n  - let:\n      v: t[k]\n  - store:\n      y[lane]: v\n",
        (1, 0),
    ),
    "between lanes of one half": (
        STORE + "- if: column < 16\n  then:\n  - let:\n      v: t[lane + 16]\n  - store:\n      y[lane]: v\n",
        (0, 16),
    ),
}


@pytest.mark.parametrize(("body", "items"), RACES.values(), ids=RACES)
def test_races_name_both_work_items(body: str, items: tuple[int, int]) -> None:
    found = bound(body, args=ARGS).diagnostics
    assert [d.code for d in found] == ["SG-RACE"]
    assert found[0].message.startswith(f"work-item {items[0]} ")
    assert f" that work-item {items[1]} " in found[0].message
    assert len(found[0].notes) == 1


FINE = {
    "its own element": STORE + "- let:\n    v: t[lane]\n" + USE,
    "a barrier between": STORE + BARRIER + "- let:\n    v: t[127 - lane]\n" + USE,
    "other elements": STORE + "- let:\n    v: t[lane + 128]\n" + USE,
    "a loop that may not run": STORE
    + "- for: k\n  in: range(n)\n  do:\n  - let:\n      v: t[k]\n  - store:\n      y[lane]: v\n",
    "a condition that nobody knows": STORE
    + "- if: n > 3\n  then:\n  - let:\n      v: t[5]\n  - store:\n      y[lane]: v\n",
    "a barrier at the end of a loop": STORE
    + "- for: k\n  in: range(2)\n  do:\n  - barrier: workgroup\n- let:\n    v: t[127 - lane]\n"
    + USE,
    "a place that nobody knows": STORE + "- let:\n    v: t[n]\n" + USE,
    "a constant beyond 63 bits": STORE
    + BARRIER
    + "- let:\n    v: f32(u64(n) + u64(18446744073709551615)) + t[127 - lane]\n"
    + USE,
    "two reads": BARRIER + "- let: {lane: line * 32 + column}\n- let:\n    v: t[5] + t[lane]\n" + USE,
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_no_race_is_told_where_none_is_proven(body: str) -> None:
    assert bound(body, args=ARGS).diagnostics == ()
