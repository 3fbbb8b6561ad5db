"""Split barriers: what may stand in a phase, and every way to misuse one."""

from __future__ import annotations

import pytest

from specgen.ir import parse
from specgen.schedule import schedule

FRAME = """
func.func @k(%n: index, %a: memref<16xf32>, %out: memref<16xf32>) attributes {{motif.kernel}} {{
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %go = arith.cmpi slt, %c0, %n : index
  %tile = memref.alloc() {{motif.name = "tile"}} : memref<16xf32, 3 : i32>
  %slot = memref.alloc() {{motif.name = "slot"}} : memref<16xf32, 5 : i32>
  {body}
  memref.store %f0, %out[%c0] : memref<16xf32>
  func.return
}}
"""
ARRIVE = '%t = "motif.arrive"() : () -> index'
WAIT = '"motif.wait"(%t) : (index) -> ()'
HERE = ' loc("k.spec.yaml":1:5)'

ACCEPTED = {
    "nothing": f"{ARRIVE}\n{WAIT}",
    "private arithmetic": f"{ARRIVE}\n%x = arith.addf %f0, %f0 : f32\n{WAIT}",
    "private memory": f"{ARRIVE}\nmemref.store %f0, %slot[%c0] : memref<16xf32, 5 : i32>\n{WAIT}",
    "nested private control": f"{ARRIVE}\nscf.for %i = %c0 to %n step %c1 {{\nscf.if %go {{\n"
    f"memref.store %f0, %slot[%c0] : memref<16xf32, 5 : i32>\n}}\n}}\n{WAIT}",
    "phases one after the other": f'{ARRIVE}\n{WAIT}\n%u = "motif.arrive"() : () -> index\n'
    '"motif.wait"(%u) : (index) -> ()',
    "one pair an iteration": f"scf.for %i = %c0 to %n step %c1 {{\n{ARRIVE}\n{WAIT}\n}}",
    "shared work outside": f"memref.store %f0, %tile[%c0] : memref<16xf32, 3 : i32>\n{ARRIVE}\n{WAIT}\n"
    "%x = memref.load %tile[%c1] : memref<16xf32, 3 : i32>",
}
REFUSED = {
    "wait on one path": f"{ARRIVE}\nscf.if %go {{\n{WAIT}{HERE}\n}}",
    "wait in a loop": f"{ARRIVE}\nscf.for %i = %c0 to %n step %c1 {{\n{WAIT}{HERE}\n}}",
    "never waited for": f"{ARRIVE}{HERE}",
    "waited for twice": f"{ARRIVE}\n{WAIT}\n{WAIT}{HERE}",
    "two live phases": f'{ARRIVE}\n%u = "motif.arrive"() : () -> index{HERE}\n{WAIT}\n"motif.wait"(%u) : (index) -> ()',
    "complete barrier inside": f'{ARRIVE}\n"gpu.barrier"() : () -> (){HERE}\n{WAIT}',
    "collective inside": f'{ARRIVE}\n%x = "motif.subgroup_reduce"(%f0) <{{kind = "add"}}> : (f32) -> f32{HERE}\n{WAIT}',
    "workgroup store inside": f"{ARRIVE}\nmemref.store %f0, %tile[%c0] : memref<16xf32, 3 : i32>{HERE}\n{WAIT}",
    "buffer store nested inside": f"{ARRIVE}\nscf.if %go {{\nmemref.store %f0, %out[%c0] : memref<16xf32>{HERE}\n"
    f"}}\n{WAIT}",
}
ROUND_A_LOOP = f"""{ARRIVE} loc("k.spec.yaml":1:5)
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %t) -> (index) {{
    "motif.wait"(%p) : (index) -> () loc("k.spec.yaml":2:5)
    %u = "motif.arrive"() : () -> index loc("k.spec.yaml":3:5)
    scf.yield %u : index
  }}
  "motif.wait"(%last) : (index) -> () loc("k.spec.yaml":4:5)"""


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    """Private work in between, one wait for each arrival."""
    assert not schedule(parse(FRAME.format(body=ACCEPTED[name]))).diagnostics


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """One diagnostic, on the op at fault."""
    diagnostics = schedule(parse(FRAME.format(body=REFUSED[name]))).diagnostics
    own = [d for d in diagnostics if d.span.file == "k.spec.yaml"]
    assert [(d.code, d.span.line) for d in own] == [("SG-COLL", 1)]
    assert own[0].hint
    assert name == "two live phases" or len(diagnostics) == 1


def test_phase_carried_round_a_loop() -> None:
    """The arrivals that leave their block and the waits for what came in."""
    diagnostics = schedule(parse(FRAME.format(body=ROUND_A_LOOP))).diagnostics
    assert sorted(d.span.line for d in diagnostics) == [1, 2, 3, 4]
    assert {d.code for d in diagnostics} == {"SG-COLL"}
