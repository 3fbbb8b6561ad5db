"""The pass pipeline: clones, dumps, planning, what it leaves alone, what it must never leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from scheduling import kernels
from xdsl.dialects import scf
from xdsl.dialects.builtin import UnknownLoc

from specgen import targets
from specgen.binding import bind
from specgen.expand import expand
from specgen.ir import locations, parse, print_module
from specgen.loading import load_spec
from specgen.schedule import passes, schedule
from specgen.schedule.cleanup import CleanUp
from specgen.schedule.passes import PASSES
from specgen.schedule.read_ahead import ReadAhead

LOCATED = """
func.func @k(%n: index, %a: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32 loc("k.spec.yaml":1:1)
  %c0 = arith.constant 0 : index loc("k.spec.yaml":2:1)
  %c1 = arith.constant 1 : index loc("k.spec.yaml":2:1)
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0) -> (f32) {
    %j = arith.addi %i, %c1 : index loc("k.spec.yaml":3:1)
    %x = memref.load %a[%j] : memref<?xf32> loc("k.spec.yaml":4:1)
    %t = arith.addf %acc, %x : f32 loc("k.spec.yaml":5:1)
    scf.yield %t : f32 loc("k.spec.yaml":6:1)
  } {motif.pipeline = 3 : i64, motif.unroll = 2 : i64, motif.order = "interleaved"} loc("k.spec.yaml":7:1)
  memref.store %sum, %out[%c0] : memref<?xf32> loc("k.spec.yaml":8:1)
  func.return loc("k.spec.yaml":9:1)
}
"""


def test_the_source_is_not_touched() -> None:
    """`schedule` works on a clone."""
    module = kernels.module(kernels.SUM_ROWS, pipeline=3, unroll=4)
    before = print_module(module)
    schedule(module)
    assert print_module(module) == before


def test_dump_after_each_pass() -> None:
    """Every pass shows its result, without the notes that passes leave for each other; the text parses."""
    shown: dict[str, str] = {}
    module = kernels.module(kernels.SUM_ROWS, pipeline=3, unroll=4)
    scheduled = schedule(module, dump=lambda name, result: shown.update({name: print_module(result)}))
    assert tuple(shown) == PASSES
    assert "motif.unroll" in shown["pipeline"]
    assert "motif.pipeline" not in shown["pipeline"]
    assert shown["clean-up"] == print_module(scheduled.module)
    for text in shown.values():
        assert "motif.ordinal" not in text
        assert print_module(parse(text)) == text


def test_only_plan() -> None:
    """Planning gives the same rows and diagnostics and the source back."""
    module = kernels.module(kernels.SUM_ROWS, pipeline=3, unroll=4)
    planned, scheduled = schedule(module, only_plan=True), schedule(module)
    assert planned.module is module
    assert (planned.rows, planned.stages, planned.unroll_rows) == (
        scheduled.rows,
        scheduled.stages,
        scheduled.unroll_rows,
    )


def test_functions_that_are_no_kernels_stay() -> None:
    """Only kernels are scheduled."""
    text = kernels.SUM_ROWS.format(policy=kernels.policy(pipeline=3), inner="").replace("motif.kernel, ", "")
    module = parse(text)
    scheduled = schedule(module)
    assert print_module(scheduled.module) == print_module(module)
    assert not scheduled.rows


def test_every_op_keeps_a_location() -> None:
    """Copies point at the statement that they come from; what is new points at the loop."""
    scheduled = schedule(parse(LOCATED))
    for op in scheduled.module.walk():
        if op.name in ("builtin.module", "func.func"):
            continue
        assert not isinstance(op.location, UnknownLoc), op
    lines = {op.name: locations.of(op) for op in scheduled.module.walk()}
    assert lines["memref.load"] == ("k.spec.yaml", 4, 1)
    assert lines["arith.addf"] == ("k.spec.yaml", 5, 1)
    loops = [op for op in scheduled.module.walk() if isinstance(op, scf.ForOp)]
    assert {locations.of(loop) for loop in loops} == {("k.spec.yaml", 7, 1)}
    assert [loop.attributes["motif.form"].data for loop in loops] == ["steady", "serial"]  # type: ignore[attr-defined]


def test_left_over_policy_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that a pass drops is never silent."""
    monkeypatch.setattr(passes, "pipeline", lambda: (CleanUp(),))
    with pytest.raises(AssertionError, match="left behind"):
        schedule(kernels.module(kernels.SUM_ROWS, pipeline=3))


def test_pipeline_request_in_the_unroll_pass_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the passes is fixed."""
    from specgen.schedule.unroll import Unroll

    monkeypatch.setattr(passes, "pipeline", lambda: (Unroll(), ReadAhead()))
    with pytest.raises(AssertionError, match="still to be pipelined"):
        schedule(kernels.module(kernels.SUM_ROWS, pipeline=3, unroll=2))


SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").rglob("*.spec.*"))
ASKS = {
    "loop": "scf.for %i = %c0 to %n step %c1 { }",
    "early": "%v = memref.load %a[%n] {motif.early} : memref<?xf32>",
    "split": "scf.if %p { } {motif.split}",
    "arrive": '%t = "motif.arrive"() {motif.scope = "workgroup"} : () -> index',
    "ahead": '"motif.ahead"(%n) {motif.name = "n"} : (index) -> ()',
}
LEAVES = ("%s = arith.addi %n, %n : index", "scf.if %p { memref.store %f, %a[%n] : memref<?xf32> }")


@pytest.mark.parametrize("line", [*ASKS.values(), *LEAVES], ids=[*ASKS, "sum", "guard"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_module_without_anything_to_do_is_its_own_schedule(line: str, nested: bool) -> None:
    """Whatever a pass or a check looks at is found, however deep."""
    inner = f"scf.if %p {{ {line} }}" if nested else line
    text = f"""func.func @k(%n: index, %a: memref<?xf32>, %f: f32, %p: i1) attributes {{motif.kernel}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {inner}
      func.return
    }}"""
    module = parse(text)
    assert any(map(passes._concerns_a_pass, module.walk())) is (line in ASKS.values())
    if line in LEAVES:
        assert schedule(module, verified=True).module is module


def test_what_is_its_own_schedule_is_what_the_passes_leave() -> None:
    """Of every spec: its source is returned only where all passes together change nothing and tell nothing."""
    same = 0
    for path in SPECS:
        spec = load_spec(path, path.parent).spec
        if spec is None or spec.kind != "kernel" or path.parent.name in ("attention", "decode", "grid"):
            continue
        instance = bind(spec, targets.load("gfx1201")).instance
        if instance is None:
            continue
        module = parse(expand(instance))
        short = schedule(module, verified=True)
        if short.module is not module:
            continue
        whole = schedule(module, verified=False)
        assert whole.module is not module
        assert print_module(whole.module) == print_module(module), path
        assert (whole.rows, whole.stages, whole.unroll_rows, whole.split_rows, whole.diagnostics) == ((),) * 5
        same += 1
    assert same >= 5
