"""Which barriers a staged view gets, and that each of them is needed."""

from __future__ import annotations

import numpy as np
import pytest
from binding_helpers import bound, ops, text

from specgen.devices.interpreter import interpret
from specgen.ir import parse
from specgen.schedule import schedule

ARGS = """\
args:
  n: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 64, lane: 64}}
  y: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
"""
LOOP = """\
- var: {{t: f32(0)}}
- for: i
  in: range({trips})
  schedule: {{pipeline: {depth}}}
  do:
  - view: {{a: "x[i, :]"}}
    schedule: {{place: workgroup, buffers: {buffers}}}
  - set: {{t: "t + a[63 - lane]"}}
- store: {{"y[lane]": t}}
"""
NEST = """\
- var: {{t: f32(0)}}
- for: j
  in: range(3)
  do:
  - for: i
    in: range(1)
    do:
    - view: {{a: "x[j + i, :]"}}
      schedule: {{place: workgroup, buffers: {buffers}}}
    - set: {{t: "t + a[63 - lane]"}}
- store: {{"y[lane]": t}}
"""
BARRIER = '"gpu.barrier"() {motif.staged} : () -> ()'


def loop(buffers: int = 1, depth: int = 1, trips: str = "n") -> str:
    return LOOP.format(buffers=buffers, depth=depth, trips=trips)


def depths(lines: list[str]) -> list[int]:
    """How many regions are around each barrier."""
    level, found = 0, []
    for line in lines:
        level -= line.startswith("}")
        if line == BARRIER:
            found.append(level)
        level += line.endswith("{")
    return found


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (loop(1), [1, 1]),
        (loop(2), [1]),
        (loop(3), [1]),
        (NEST.format(buffers=1), [2, 2]),
        (NEST.format(buffers=2), [2, 1]),
        ('- view: {a: "x[n, :]"}\n  schedule: {place: workgroup}\n- store: {"y[lane]": "a[63 - lane]"}', [0]),
    ],
    ids=["publish and release", "rotating", "three copies", "nested", "nested and rotating", "no loop"],
)
def test_where_barriers_stand(body, wanted):
    assert depths(ops(body, args=ARGS)) == wanted


def race(body: str, drop: int | None) -> bool:
    """Whether the interpreter finds a race when barrier number `drop` is taken out."""
    lines = text(bound(body, args=ARGS), locations=False).split("\n")
    first = next(i for i, line in enumerate(lines) if "func.func @k(" in line)
    barriers = [i for i, line in enumerate(lines) if i > first and line.strip() == BARRIER]
    if drop is not None:
        del lines[barriers[drop]]
    args = {"n": 4, "x": np.arange(64 * 64, dtype=np.float32), "y": np.zeros(64, np.float32)}
    return "race" in {f.kind for f in interpret("\n".join(lines), "k", args).findings}


@pytest.mark.parametrize("body", [loop(1), loop(2), NEST.format(buffers=1), NEST.format(buffers=2)])
def test_each_barrier_is_needed(body):
    assert not race(body, None)
    for number in range(len(depths(ops(body, args=ARGS)))):
        assert race(body, number), f"barrier {number} may go"


def test_one_copy_less_than_two_is_a_race():
    """The release barrier is dropped because copies rotate: the same text with one copy races."""
    body = loop(2)
    once = text(bound(body, args=ARGS)).replace("remui %i, %c2", "remui %i, %c1")
    assert once != text(bound(body, args=ARGS))
    args = {"n": 4, "x": np.arange(64 * 64, dtype=np.float32), "y": np.zeros(64, np.float32)}
    assert "race" in {f.kind for f in interpret(once, "k", args).findings}


def test_reads_of_the_copy_run_ahead_and_bounds_may_be_runtime_values():
    """P10 asks for uniform bounds where the compiler placed stores and barriers; stores and barriers stay behind."""
    result = bound(loop(1, depth=3), args=ARGS)
    scheduled = schedule(parse(text(result, locations=True)))
    assert scheduled.diagnostics == ()
    (row,) = [r for r in scheduled.rows if r.function == "k"]
    assert (row.depth, row.read_count, row.queue_records) == (3, 1, 2)
    stages = {(s.op, s.stage) for s in scheduled.stages if s.function == "k"}
    assert ("memref.load", "producer") in stages
    assert ("gpu.barrier", "producer") not in stages
    assert ("gpu.barrier", "consumer") in stages
    assert ("memref.store", "consumer") in stages


def test_a_bound_that_lanes_disagree_on_is_refused():
    body = loop(1, trips="lane")
    found = [d for d in bound(body, args=ARGS).diagnostics if d.is_error]
    assert {d.code for d in found} == {"SG-COLL"}
    assert any("would miss the copy of `a`" in d.message for d in found)
    assert any("disagree on `i`; a staged view is one region for all" in d.message for d in found)


RULES = {
    "P13": """\
- var: {t: f32(0)}
- for: i
  in: range(n)
  schedule: {pipeline: 2}
  do:
  - view: {ids: "names[i, :]"}
    schedule: {place: workgroup}
  - set: {t: "t + x[ids[0], lane]"}
- store: {"y[lane]": t}
""",
    "P19": """\
- var: {t: f32(0)}
- for: i
  in: range(n)
  schedule: {pipeline: 2}
  do:
  - for: j
    in: range(n)
    do:
    - view: {a: "x[i + j, :]"}
      schedule: {place: workgroup}
    - set: {t: "t + a[63 - lane]"}
- store: {"y[lane]": t}
""",
    "P9": """\
- var: {t: f32(0)}
- for: i
  in: range(n)
  schedule: {pipeline: 2}
  do:
  - view: {a: "z[i, :]"}
    schedule: {place: workgroup}
  - set: {t: "t + a[63 - lane]"}
- store: {"y[lane]": t, "z[0, lane]": t}
""",
}


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_the_pipeline(rule):
    """Addresses from a copy, a copy in an inner loop, a copy of a buffer that is stored to: none of them runs ahead."""
    args = ARGS.replace(
        "  y:",
        "  names: {buffer: i32, shape: {row: 64, at: 4}, range: [0, 63]}\n"
        "  z: {buffer: f32, shape: {row: 64, lane: 64}, access: readwrite}\n  y:",
    )
    body = RULES[rule] + ('- store: {"z[0, lane]": t}\n' if rule != "P9" else "")
    scheduled = schedule(parse(text(bound(body, args=args), locations=True)))
    assert {d.code for d in scheduled.diagnostics} == {f"SG-LOOP {rule}"}


def test_a_buffer_that_is_stored_to_is_copied_between_barriers_that_order_buffers():
    """Each work-item reads what others stored: without the first barrier it races, with it the result is right."""
    body = """\
- store: {"z[0, 63 - lane]": "x[0, lane]"}
- view: {a: "z[0, :]"}
  schedule: {place: workgroup}
- store: {"y[lane]": "a[63 - lane]"}
"""
    args = ARGS.replace("  y:", "  z: {buffer: f32, shape: {row: 1, lane: 64}, access: readwrite}\n  y:")
    made = text(bound(body, args=args))
    barrier = '"gpu.barrier"() {motif.scope = "global", motif.staged} : () -> ()\n'
    assert made.split("func.func @k__serial")[0].count(barrier) == 2
    x = np.arange(64 * 64, dtype=np.float32)
    given = {"n": 1, "x": x, "z": np.zeros(64, np.float32), "y": np.zeros(64, np.float32)}
    run = interpret(made, "k", given)
    assert run.findings == ()
    assert np.array_equal(run.outputs["y"], x[:64])
    assert "race" in {f.kind for f in interpret(made.replace(barrier, "", 1), "k", given).findings}
