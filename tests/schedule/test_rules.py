"""One file a rule under `rules/`: loops that break it, and near misses that are accepted.

A case is a loop body for the frame below; comment lines set the loop's bounds, step, policy and what stands before it.
`HERE` marks the op on which the diagnostic has to stand, `// fault: loop` says that it is the loop itself. Each near
miss is also run and compared with the serial loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from scheduling import kernels
from scheduling.evaluator import Program, same
from xdsl.dialects.builtin import ModuleOp

from specgen.diagnostics import catalogue
from specgen.ir import parse
from specgen.schedule import Scheduled, schedule
from specgen.schedule.rules import RULES

FILES = Path(__file__).parent / "rules"

FRAME = """
func.func @k(%n: index {{motif.range = array<i64: 0, 12>}}, %base: index, %ids: memref<16xi64> {{motif.noalias}},
             %a: memref<16xf32> {{motif.noalias}}, %b: memref<16xf32> {{motif.noalias}},
             %out: memref<16xf32> {{motif.noalias}})
    attributes {{motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>, motif.subgroup_size = 32 : i64}} {{
  %lane = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> {{motif.range = array<i64: 0, 31>}} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %tile = memref.alloc() {{motif.name = "tile"}} : memref<16xf32, 3 : i32>
  %slot = memref.alloc() {{motif.name = "slot"}} : memref<4xf32, 5 : i32>
  {before}
  %sum = scf.for %i = {low} to {high} step {step} iter_args(%acc = %f0) -> (f32) {{
    {body}
  }} {{motif.loop = "i", {policy}}} loc("k.spec.yaml":{loop}:1)
  memref.store %sum, %out[%c0] : memref<16xf32>
  func.return
}}
"""


@dataclass(frozen=True)
class Case:
    """A body in the frame."""

    body: str
    low: str = "%c0"
    high: str = "%c7"
    step: str = "%c1"
    policy: str = "motif.pipeline = 3 : i64"
    before: str = ""
    fault: str = "op"

    def module(self, *, scheduled: bool = True) -> ModuleOp:
        """The case as IR, with its policy or without any. The op at fault is on line 1 of the spec, the loop on 9."""
        text = FRAME.format(
            before=self.before,
            low=self.low,
            high=self.high,
            step=self.step,
            body=self.body.replace("HERE", 'loc("k.spec.yaml":1:5)'),
            policy=self.policy if scheduled else "motif.serial",
            loop=1 if self.fault == "loop" else 9,
        )
        return parse(text)


def read_cases() -> dict[str, list[tuple[str, Case]]]:
    """`refused` and `accepted` cases with their names: the rule, then what is special."""
    found: dict[str, list[tuple[str, Case]]] = {"refused": [], "accepted": []}
    for path in sorted(FILES.iterdir()):
        for section in path.read_text(encoding="utf-8").split("\n\n"):
            lines = section.strip().split("\n")
            comments = [line[3:].partition(": ") for line in lines if line.startswith("// ")]
            (kind, _, title), *keys = comments
            body = "\n".join(line for line in lines if not line.startswith("// "))
            case = Case(body, **{key: value for key, _, value in keys})
            found[kind].append((f"{path.stem} {title}".strip(), case))
    return found


CASES = read_cases()
REFUSED = dict(CASES["refused"])
ACCEPTED = dict(CASES["accepted"])

CARRIED_BUFFER = """
func.func @k(%n: index, %a: memref<16xf32>, %out: memref<16xf32>) attributes {motif.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %m, %s = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a, %acc = %f0) -> (memref<16xf32>, f32) {
    %x = memref.load %a[%i] : memref<16xf32>
    %t = arith.addf %acc, %x : f32
    scf.yield %b, %t : memref<16xf32>, f32
  } {POLICY} loc("k.spec.yaml":1:5)
  memref.store %s, %out[%c0] : memref<16xf32>
  func.return
}
"""


def codes(scheduled: Scheduled) -> list[str]:
    """The rules that were broken."""
    return [diagnostic.code.removeprefix("SG-LOOP ") for diagnostic in scheduled.diagnostics]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """The code, the op at fault, and nothing half applied."""
    module = REFUSED[name].module()
    scheduled = schedule(module)
    rule = RULES[name.split()[0]]
    assert [d.code for d in scheduled.diagnostics] == [rule.code]
    (diagnostic,) = scheduled.diagnostics
    if name != "P15":  # the printer of `scf.while` decides where its location may stand
        assert (diagnostic.span.file, diagnostic.span.line) == ("k.spec.yaml", 1)
    assert scheduled.module is module
    assert rule.title in diagnostic.message
    assert diagnostic.hint == rule.hint


@pytest.mark.parametrize("name", ACCEPTED)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 12])
def test_accepted(name: str, count: int) -> None:
    """The near miss schedules, and its result and reads are those of the serial loop."""
    case = ACCEPTED[name]
    scheduled = schedule(case.module())
    assert not scheduled.diagnostics
    data = kernels.numbers(16)
    given = {
        "n": count,
        "base": 3,
        "ids": {(k,): (5 * k) % 16 for k in range(16)},
        "a": data,
        "b": kernels.numbers(16, seed=2),
        "out": kernels.numbers(16, seed=3),
    }
    same(Program(case.module(scheduled=False)).run(given), Program(scheduled.module).run(given), ["out"])


@pytest.mark.parametrize(
    ("policy", "code"), [("motif.pipeline = 2 : i64", "P5"), ("motif.unroll = 2 : i64", "SG-LOOP")]
)
def test_carried_buffer(policy: str, code: str) -> None:
    """A loop that carries storage keeps its form."""
    scheduled = schedule(parse(CARRIED_BUFFER.replace("POLICY", policy)))
    assert codes(scheduled) == [code]
    assert scheduled.diagnostics[0].span.line == 1


def test_every_rule_has_both() -> None:
    """No rule without a refused case and a near miss."""
    refused = {name.split()[0] for name in REFUSED} | {"P5", "storage"}
    accepted = {name.split()[0] for name in ACCEPTED}
    assert refused == set(RULES)
    assert accepted == set(RULES)


def test_conditional_that_feeds_an_address_is_named() -> None:
    """A read behind a conditional that updates what the loop carries: the message says what stands in the way."""
    body = """
      %q = arith.cmpi slt, %i, %c2 : index
      %t, %j = scf.if %q -> (f32, index) {
        %y = memref.load %a[%i] : memref<16xf32>
        %s = arith.addf %acc, %y : f32
        scf.yield %s, %i : f32, index
      } else {
        scf.yield %acc, %c0 : f32, index
      }
      %x = memref.load %b[%j] : memref<16xf32>  HERE
      %u = arith.addf %t, %x : f32
      scf.yield %u : f32
    """
    (diagnostic,) = schedule(Case(body).module()).diagnostics
    assert diagnostic.code == RULES["P12"].code
    assert diagnostic.span.line == 1
    assert "comes from a conditional that updates carried state" in diagnostic.message


def test_all_faults_of_a_body_are_told() -> None:
    """Two stores and a barrier give three diagnostics, in program order."""
    body = """
      %x = memref.load %a[%i] : memref<16xf32>
      memref.store %x, %b[%i] : memref<16xf32>
      "gpu.barrier"() {motif.scope = "global"} : () -> ()
      memref.store %x, %out[%i] : memref<16xf32>
      scf.yield %x : f32
    """
    assert codes(schedule(Case(body).module())) == ["P8", "P9", "P8"]


def test_aliasing_read_is_named() -> None:
    """The read that would cross the store is a note of the diagnostic."""
    scheduled = schedule(REFUSED["P8 same buffer"].module())
    (diagnostic,) = scheduled.diagnostics
    assert [note.message for note in diagnostic.notes] == ["this read of the same buffer would run ahead of the store"]
    assert "`a`" in diagnostic.message


def test_catalogue_knows_every_code() -> None:
    """`specgen explain` has a page for each."""
    assert {rule.code for rule in RULES.values()} <= set(catalogue.CATALOGUE)
