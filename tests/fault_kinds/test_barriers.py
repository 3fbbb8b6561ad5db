"""Kinds B16-B23: barriers, staging, races."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from fault_kinds_product import diagnostics_of, findings, line_of, places, plan, refused, run, sweep, zeros

from specgen import ir
from specgen.devices.interpreter import interpret

VIEWS = """\
spec: 1
kind: kernel
name: staged
summary: Rows that the workgroup copies into its memory, by the compiler's own staging.
args:
  x: {buffer: f32, shape: {row: 8, lane: 64}}
  bias: {buffer: f32, shape: {lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
body:
- var: {total: f32(0)}
- for: row
  in: range(8)
  schedule: {pipeline: DEPTH}
  do:
  - view: {tile: "x[row, :]"}   # here
    schedule: {place: workgroup, buffers: BUFFERS}
MORE  - set: {total: "total + tile[63 - lane]"}
- store: {"out[lane]": total}
"""


def staged(depth: int, buffers: int, more: str = "") -> str:
    """A kernel that stages by `view`."""
    text = VIEWS.replace("DEPTH", str(depth)).replace("BUFFERS", str(buffers)).replace("MORE", more)
    return text if more else text.replace("  bias: {buffer: f32, shape: {lane: 64}}\n", "")


def staged_args() -> dict[str, Any]:
    """Small whole numbers, so that every sum is exact."""
    x = (np.arange(8 * 64) % 23).astype(np.float32)
    return {"x": x, "bias": (np.arange(64) % 3 + 1).astype(np.float32), "out": zeros(64)}


def given(text: str) -> dict[str, Any]:
    args = staged_args()
    return args if "bias" in text else {k: v for k, v in args.items() if k != "bias"}


@pytest.mark.parametrize("buffers", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 3, 4, 5])
def test_b16_fewer_buffers_than_stages(depth: int, buffers: int) -> None:
    """Rows in flight wait in registers, so a writer never meets a reader, however few copies there are."""
    text = staged(depth, buffers)
    wanted = staged_args()["x"].reshape(8, 64)[:, ::-1].sum(0)
    assert run(text, given(text))["out"].tolist() == wanted.tolist()


def test_b16_one_copy_too_few_is_found() -> None:
    """Where copies rotate without a release barrier, the same kernel with one copy races."""
    module = plan(staged(4, 2)).scheduled.module
    printed = ir.print_module(module)
    assert "memref<2x64xf32, 3 : i32>" in printed
    text = re.sub(r"(arith\.remui %\w+, )%c2\w*", r"\1%one", printed)
    text = re.sub(r"(func\.func @staged\(.*\n)", r"\1    %one = arith.constant 1 : index\n", text, count=1)
    found = interpret(text, "staged", given(staged(4, 2))).findings
    assert "race" in {f.kind for f in found}


BY_HAND = """\
spec: 1
kind: kernel
name: by_hand
summary: Rows staged in one piece of workgroup memory, an outer loop around it.
args:
  x: {buffer: f32, shape: {round: 3, row: 4, lane: 64}}
  bias: {buffer: f32, shape: {lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
memory:
  tile: {space: workgroup, type: f32, shape: {at: 64}}
  side: {space: workgroup, type: f32, shape: {at: 64}}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 2, range: [1, 4]}
  factor: {default: 1, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: round
  in: range(3)
  do:
  - store: {"side[lane]": "bias[lane]"}
  - for: row
    in: range(4)
    schedule: {pipeline: depth, unroll: factor}
    do:
    - store: {"tile[lane]": "x[round, row, lane]"}     # the store
    - barrier: workgroup      # publish
    - set: {total: "total * 2 + tile[63 - lane] * side[63 - lane]"}    # the read
    - barrier: workgroup      # release
- store: {"out[lane]": total}
"""


def by_hand_args() -> dict[str, Any]:
    """Small whole numbers, so that every product and sum is exact."""
    return {
        "x": (np.arange(3 * 4 * 64) % 11).astype(np.float32),
        "bias": (np.arange(64) % 3 + 1).astype(np.float32),
        "out": zeros(64),
    }


def by_hand_result() -> Any:
    """The fold in float64."""
    args = by_hand_args()
    total = np.zeros(64)
    for row in args["x"].reshape(12, 64):
        total = total * 2 + row[::-1].astype(np.float64) * args["bias"][::-1]
    return total


POLICIES = [{"depth": d, "factor": f} for d, f in ((1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (2, 2), (3, 3), (2, 4))]


def without(text: str, marker: str) -> str:
    """The spec without the marked line; line numbers stay."""
    return "\n".join("" if marker in line else line for line in text.split("\n"))


@pytest.mark.parametrize("policies", POLICIES, ids=str)
def test_b17_reads_end_before_the_release(policies: dict[str, int]) -> None:
    """One buffer: the next write waits until the last read of it is done, in every schedule."""
    assert run(BY_HAND, by_hand_args(), **policies)["out"].tolist() == by_hand_result().tolist()


@pytest.mark.parametrize("policies", POLICIES[:5], ids=str)
def test_b17_missing_release_is_found(policies: dict[str, int]) -> None:
    """Without the release the overwrite races with reads that may still be under way."""
    text = without(BY_HAND, "# release")
    found = places(findings(text, by_hand_args(), **policies))
    assert ("race", line_of(text, "# the store")) in found


@pytest.mark.parametrize("policies", POLICIES[:3], ids=str)
def test_b17_missing_publish_is_found(policies: dict[str, int]) -> None:
    """Without the publish barrier the reads race with the writes: that is proven when the spec is bound."""
    text = without(BY_HAND, "# publish")
    if refused(text, **policies):
        assert ("SG-RACE", line_of(text, "# the read")) in refused(text, **policies)
        return
    assert ("race", line_of(text, "# the read")) in places(findings(text, by_hand_args(), **policies))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_b18_prologue_of_the_next_round(depth: int) -> None:
    """Re-entering a pipelined staging loop does not overwrite rows that the last round still reads."""
    assert run(BY_HAND, by_hand_args(), depth=depth)["out"].tolist() == by_hand_result().tolist()
    guarded = BY_HAND.replace(
        "    - barrier: workgroup      # release\n",
        "    - if: row < 3\n      then:\n      - barrier: workgroup\n",
    )
    if refused(guarded, depth=depth):
        assert depth > 1
        assert {code.split()[0] for code, _ in refused(guarded, depth=depth)} == {"SG-LOOP"}
        return
    found = places(findings(guarded, by_hand_args(), depth=depth))
    assert ("race", line_of(guarded, "# the store")) in found, "the barrier before the next round is what keeps order"


def test_b19_all_staged_or_none() -> None:
    """A staged input that does not depend on the counter stays right beside one that runs ahead."""
    inside = BY_HAND.replace('  - store: {"side[lane]": "bias[lane]"}\n', "").replace(
        "    - barrier: workgroup      # publish\n",
        '    - store: {"side[lane]": "bias[lane]"}\n    - barrier: workgroup      # publish\n',
    )
    assert inside.index("# the store") < inside.index('"side[lane]"')
    for policies in POLICIES:
        assert run(inside, by_hand_args(), **policies)["out"].tolist() == by_hand_result().tolist(), policies
    second = staged(3, 2, '  - view: {side: "bias[:]"}\n    schedule: {place: workgroup, buffers: BUFFERS}\n')
    second = second.replace("total + tile[63 - lane]", "total + tile[63 - lane] * side[lane]")
    for buffers in (1, 2, 3):
        text = second.replace("BUFFERS", str(buffers))
        rows, bias = staged_args()["x"].reshape(8, 64), staged_args()["bias"]
        assert run(text, staged_args())["out"].tolist() == (rows[:, ::-1] * bias).sum(0).tolist(), buffers


NEIGHBOUR = """\
spec: 1
kind: kernel
name: neighbour
summary: Each work-item passes its value to the next one.
args:
  x: {buffer: f32, shape: {at: 64}}
  out: {buffer: f32, shape: {at: 64}, access: write}
memory:
  a: {space: workgroup, type: f32, shape: {at: 72}}
launch:
  workgroup_size: {lane: 64}
body:
- if: lane < SHIFT
  then:
  - store: {"a[lane]": "f32(0 - 1 - lane)"}
- store: {"a[lane + SHIFT]": "x[lane]"}
- barrier: workgroup    # the barrier
- store: {"out[lane]": "a[lane + BACK]"}   # here
"""


@pytest.mark.parametrize(("shift", "back"), [(1, 0), (2, 1), (7, 6), (8, 0)])
def test_b20_offsets_take_part_in_the_race_test(shift: int, back: int) -> None:
    """Write of `a[lane + s]`, read of `a[lane + b]`: a race without barrier, the shifted values with it."""
    text = NEIGHBOUR.replace("SHIFT", str(shift)).replace("BACK", str(back))
    x = np.arange(64, dtype=np.float32)
    memory = [-1.0 - n for n in range(shift)] + x.tolist()
    left = run(text, {"x": x, "out": zeros(64)})
    assert left["out"].tolist() == memory[back : back + 64]
    bare = without(text, "# the barrier")
    if refused(bare):
        assert refused(bare) == [("SG-RACE", line_of(bare))]
    else:
        assert ("race", line_of(bare)) in places(findings(bare, {"x": x, "out": zeros(64)}))


def test_b20_no_race_with_oneself() -> None:
    """The same offset on both sides needs no barrier and gives no false alarm."""
    text = without(NEIGHBOUR.replace("SHIFT", "8").replace("BACK", "8"), "# the barrier")
    x = np.arange(64, dtype=np.float32)
    assert run(text, {"x": x, "out": zeros(64)})["out"].tolist() == x.tolist()


PHASES = """\
spec: 1
kind: kernel
name: phases
summary: Two phases over one scratch buffer, eight subgroups of 32.
args:
  x: {buffer: f32, shape: {at: 256}}
  scratch: {buffer: f32, shape: {at: 256}, access: readwrite}
  out: {buffer: f32, shape: {at: 256}, access: write}
launch:
  workgroup_size: {item: 256}
body:
- store: {"scratch[item]": "x[item]"}
- barrier: global    # the barrier
- store: {"out[item]": "scratch[255 - item]"}   # here
"""


def phase_args() -> dict[str, Any]:
    """Scratch that holds NaN before the launch."""
    x = np.arange(256, dtype=np.float32)
    return {"x": x, "scratch": np.full(256, np.nan, np.float32), "out": zeros(256)}


def test_b21_phases_over_one_buffer() -> None:
    """What other subgroups wrote to a buffer is read after a barrier that orders buffers, else it is a finding."""
    assert run(PHASES, phase_args())["out"].tolist() == list(range(255, -1, -1))
    for text in (without(PHASES, "# the barrier"), PHASES.replace("barrier: global ", "barrier: workgroup ")):
        if refused(text):
            assert refused(text) == [("SG-RACE", line_of(text))]
        else:
            assert places(findings(text, phase_args())) == {("race", line_of(text))}


COLLECTIVE = """\
spec: 1
kind: kernel
name: collective
summary: A sum over the workgroup in which only some work-items have a value.
args:
  active: {type: index, range: [0, 64]}
  x: {buffer: f32, shape: {at: 64}}
  out: {buffer: f32, shape: {at: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
body:
- var: {total: f32(0)}
BODY
- store: {"out[lane]": total}
"""
UNIFORM = """- set: {total: "workgroup.sum(x[lane] if lane < active else 0)"}"""
DIVERGENT = {
    "reduce under a guard": """- if: lane < active
  then:
  - set: {total: "workgroup.sum(x[lane])"}   # here""",
    "subgroup reduce under a guard": """- if: lane < active
  then:
  - set: {total: "subgroup.sum(x[lane])"}   # here""",
    "barrier under a guard": """- if: lane < active
  then:
  - barrier: workgroup   # here
  - set: {total: "x[lane]"}""",
    "reduce in a loop of the lane": """- for: i
  in: range(lane)
  do:
  - set: {total: "total + workgroup.sum(x[i])"}   # here""",
    "barrier in a while of the lane": """- while: total < f32(lane)
  do:
  - barrier: workgroup   # here
  - set: {total: total + 1}""",
    "reduce behind a lazy and": """- let:
    seen: lane < active and workgroup.any(x[lane] > 0)   # here
- if: seen
  then:
  - set: {total: "x[lane]"}""",
}


@pytest.mark.parametrize("body", DIVERGENT.values(), ids=DIVERGENT)
def test_b22_collective_under_divergence(body: str) -> None:
    """Collectives and barriers that some work-items would miss are refused with the way out."""
    text = COLLECTIVE.replace("BODY", body)
    assert refused(text) == [("SG-COLL", line_of(text))]
    (diagnostic,) = diagnostics_of(text)
    assert diagnostic.hint


def test_b22_the_way_out() -> None:
    """The hoisted form, idle lanes giving the neutral element, is right for every number of active lanes."""
    x = np.full(64, np.nan, np.float32)
    for active in (0, 1, 31, 32, 33, 63, 64):
        x[:active] = 1 + np.arange(active)
        args = {"active": active, "x": x[:active].copy(), "out": zeros(64)}
        left = run(COLLECTIVE.replace("BODY", UNIFORM), args)
        assert left["out"].tolist() == [active * (active + 1) / 2] * 64


WAVES = """\
spec: 1
kind: kernel
name: waves
summary: A subgroup operation in a workgroup of any size.
args:
  x: {buffer: f32, shape: {at: SIZE}}
  out: {buffer: f32, shape: {at: SIZE}, access: write}
launch:
  workgroup_size: {lane: SIZE}
body:
- store: {"out[lane]": "subgroup.sum(x[lane])"}   # here
"""


@pytest.mark.parametrize(
    ("size", "target", "whole"),
    [
        (32, "gfx942", False),
        (96, "gfx942", False),
        (64, "gfx942", True),
        (128, "gfx942", True),
        (16, "gfx1151", False),
        (48, "gfx1151", False),
        (32, "gfx1151", True),
        (96, "gfx1151", True),
    ],
)
def test_b23_parts_of_a_subgroup(size: int, target: str, whole: bool) -> None:
    """A workgroup that is no whole number of subgroups forbids subgroup operations, per target."""
    text = WAVES.replace("SIZE", str(size))
    if not whole:
        assert refused(text, target) == [("SG-COLL", line_of(text))]
        return
    lanes = 64 if target == "gfx942" else 32
    x = np.arange(size, dtype=np.float32)
    left = sweep(text, [{"x": x, "out": zeros(size)}], target=target)[0]
    assert left["out"].tolist() == np.repeat(x.reshape(-1, lanes).sum(1), lanes).tolist()


def test_b23_plain_code_in_any_size() -> None:
    """Without subgroup operations any workgroup size is accepted."""
    for size in (1, 32, 96):
        text = WAVES.replace("SIZE", str(size)).replace("subgroup.sum(x[lane])", "2 * x[lane]")
        x = np.arange(size, dtype=np.float32)
        assert run(text, {"x": x, "out": zeros(size)}, target="gfx942")["out"].tolist() == (2 * x).tolist()
