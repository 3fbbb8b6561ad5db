"""Barriers with private work: the form by word and by target, what is bound, and that the result is the same."""

from __future__ import annotations

import numpy as np
import pytest
from binding_helpers import bound, errors, kernel, ops, run, told

from specgen import targets
from specgen.binding import bind

BODY = """
- var:
    total: x[0, lane]
- barrier: {scope}
  {schedule}
  overlap:
  - set: {{total: total + 3}}
  - if: n > 4
    then:
    - for: i
      in: range(n)
      do:
      - set: {{total: total * 2}}
- store:
    y[lane]: total
"""


def body(form: str | None = None, scope: str = "workgroup") -> str:
    schedule = f"schedule: {{form: {form}}}" if form else ""
    return BODY.format(scope=scope, schedule=schedule)


def shape(form: str | None, target: str, scope: str = "workgroup", entry: str = "default") -> list[str]:
    """The barrier operations and where the addition stands among them."""
    wanted = {"gpu.barrier": "barrier", "motif.arrive": "arrive", "motif.wait": "wait", "arith.addf": "work"}
    found = [line for line in ops(body(form, scope), target=target, entry=entry) if any(w in line for w in wanted)]
    return [
        next(word for name, word in wanted.items() if name in line) + (" global" if '"global"' in line else "")
        for line in found
    ]


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201", "gfx1250", "gfx12-generic", "vulkan1.3-sg32"])
def test_the_form_picks_the_operations(target: str) -> None:
    whole, split = ["barrier", "work"], ["arrive", "work", "wait"]
    assert shape("complete", target) == whole
    assert shape("split", target) == split
    expected = split if targets.load(target).family == "gfx12" else whole
    assert shape("auto", target) == expected
    assert shape(None, target) == expected
    assert shape("split if target.split_barrier else complete", target) == expected


def test_the_serial_entry_meets_first() -> None:
    for form in ("complete", "split", "auto"):
        assert shape(form, "gfx1201", entry="serial") == ["barrier", "work"]


def test_the_scope_is_kept_by_both_halves() -> None:
    assert shape("split", "gfx1201", "global") == ["arrive global", "work", "wait global"]


def test_targets_are_told_apart_only_where_the_form_asks() -> None:
    """A binding that read no fact of the target about barriers is shared by targets that differ in it."""
    for form, reads in ((None, True), ("auto", True), ("split", False), ("complete", False)):
        found = bound(body(form)).read_target_facts
        assert ("split_barrier" in found) is reads, form


@pytest.mark.parametrize("form", ["complete", "split"])
def test_values_that_the_block_sets(form: str) -> None:
    """(lane + 1 + 3) * 2**5 with n = 5; the variable goes on behind the barrier."""
    assert np.array_equal(run(body(form))["y"], 32 * (np.arange(32, dtype=np.float32) + 4))


def test_names_end_with_the_block() -> None:
    text = "- barrier: workgroup\n  overlap:\n  - let: {a: f32(1)}\n- store:\n    y[lane]: a"
    assert errors(text)[0].startswith("5:14 SG-NAME no name `a` here")


def test_work_that_a_static_condition_drops_is_not_judged() -> None:
    text = "- barrier: workgroup\n  overlap:\n  - if: 1 > 2\n    then:\n    - barrier: workgroup"
    assert errors(text) == []


def test_what_a_motif_does_counts_for_the_block() -> None:
    """The place is the motif's own line."""
    motif = """\
spec: 1
kind: motif
name: peek
summary: Reads an element of a buffer.
args:
  x: {buffer: f32, shape: {row: 64, lane: 32}}
results:
  first: {type: f32}
body:
- let:
    first: x[0, 0]
"""
    text = """
- var: {total: f32(0)}
- barrier: workgroup
  overlap:
  - apply: peek
    as: one
    with: {x: x}
  - set: {total: one.first}
- store:
    y[lane]: total
"""
    spec = kernel(text, head="uses: [peek.spec.yaml]\n", others={"peek": motif})
    found = bind(spec, targets.load("gfx1151"))
    assert [(d.code, d.span.file, d.span.line) for d in found.diagnostics] == [("SG-COLL", "peek.spec.yaml", 11)]
    assert "buffer `x` is read" in told(found.diagnostics)[0]
