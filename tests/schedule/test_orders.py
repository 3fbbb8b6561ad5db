"""The order of copies: what may change places, what may not, and where fences stand."""

from __future__ import annotations

from typing import Any

import pytest
from scheduling import kernels
from scheduling.evaluator import Program, same
from xdsl.dialects import scf

from specgen.ir import parse
from specgen.schedule import schedule

FRAME = """
func.func @k(%n: index {{motif.range = array<i64: 0, 20>}}, %m: index, %a: memref<32xf32> {attributes},
             %b: memref<32xf32> {attributes}, %out: memref<32xf32>) attributes {{motif.kernel}} {{
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %tile = memref.alloc() {{motif.name = "tile"}} : memref<32xf32, 3 : i32>
  %sum = scf.for %i = %c0 to %n step {step} iter_args(%acc = %f0) -> (f32) {{
    {body}
  }} {{motif.loop = "i"{policy}}}
  memref.store %sum, %out[%c0] : memref<32xf32>
  func.return
}}
"""
INTERESTING = {
    "memref.load": "L",
    "memref.store": "S",
    "arith.addf": "+",
    "arith.mulf": "*",
    "motif.subgroup_reduce": "V",
    "motif.fence": "|",
    "gpu.barrier": "B",
    "scf.if": "I",
}


def main_loop(body: str, *, step: str = "%c1", attributes: str = "{motif.noalias}", **keys: Any) -> str:
    """The ops of the unrolled loop's body as letters; results are compared with the serial loop on the way."""
    text = FRAME.format(body=body, step=step, attributes=attributes, policy="")
    serial = Program(parse(text))
    scheduled = schedule(
        parse(FRAME.format(body=body, step=step, attributes=attributes, policy=kernels.policy(**keys)))
    )
    assert not scheduled.diagnostics
    program = Program(scheduled.module)
    for n in (0, 1, 2, 3, 5, 20):
        given = {"n": n, "m": 2, "a": kernels.numbers(32), "b": kernels.numbers(32, seed=2), "out": kernels.numbers(32)}
        runs = serial.run(given), program.run(given)
        if "store" in body or "alloc" in body:
            compare_states(*runs)
        else:
            same(*runs, ["out"])
    loop = next(op for op in scheduled.module.walk() if isinstance(op, scf.ForOp))
    return "".join(INTERESTING.get(op.name, "") for op in loop.body.block.ops)


def compare_states(one: Any, other: Any) -> None:
    """Memories and reads are equal; independent stores may have changed places."""
    assert one.reads == other.reads
    for name in one.memories:
        assert one.contents(name) == other.contents(name)


SUM = "%x = memref.load %a[%i] : memref<32xf32>\n %t = arith.addf %acc, %x : f32\n scf.yield %t : f32"
STORE = (
    "%x = memref.load %a[{read}] : memref<32xf32>\n memref.store %x, {to}[{write}] : memref<32xf32>\n"
    " %t = arith.addf %acc, %x : f32\n scf.yield %t : f32"
)


@pytest.mark.parametrize(
    ("order", "shape"), [("linear", "L+L+L+"), ("interleaved", "LLL+++"), ("recurrence", "LLL|+|+|+")]
)
def test_reads_commute(order: str, shape: str) -> None:
    """Loads go side by side, the chain keeps its order."""
    assert main_loop(SUM, unroll=3, order=order, tail="cut") == shape


@pytest.mark.parametrize(
    ("depth", "factor", "shape"),
    [
        (3, 4, "LL|+|L|+|L|+|+"),
        (4, 6, "LLL|+|L|+|L|+|L|+|+|+"),
        (3, 2, "+|L|+|L"),
        (2, 2, "L|+|L|+"),
        (4, 2, "+|L|+|L"),
    ],
)
def test_recurrence_reloads_what_was_used(depth: int, factor: int, shape: str) -> None:
    """Of F loads, F - (depth - 1) go ahead; the others follow the additions that free their registers."""
    assert main_loop(SUM, pipeline=depth, unroll=factor, order="recurrence") == shape


def test_other_buffers_commute_when_promised() -> None:
    """A store to another buffer does not hold loads back, if the buffers are promised not to overlap."""
    body = STORE.format(read="%i", to="%b", write="%i")
    assert main_loop(body, unroll=2, order="interleaved") == "LLSS++"
    assert main_loop(body, unroll=2, order="interleaved", attributes="{}") == "LSLS++"


def test_same_buffer_by_known_distance() -> None:
    """Subscripts that certainly differ commute, equal or unknown ones keep their order."""
    near = "%j = arith.addi %i, %c1 : index\n " + STORE.format(read="%i", to="%a", write="%j")
    unknown = "%j = arith.muli %i, %c1 : index\n " + STORE.format(read="%i", to="%a", write="%j")
    fixed = STORE.format(read="%c1", to="%a", write="%c2")
    clash = STORE.format(read="%c2", to="%a", write="%c2")
    shapes = [main_loop(b, unroll=2, order="interleaved") for b in (near, unknown, fixed, clash)]
    assert shapes == ["LSLS++", "LSLS++", "LLSS++", "LSLS++"]


def test_step_is_part_of_the_distance() -> None:
    """With step 2 the element behind the counter is nobody's."""
    near = "%j = arith.addi %i, %c1 : index\n " + STORE.format(read="%i", to="%a", write="%j")
    assert main_loop(near, step="%c2", unroll=2, order="interleaved") == "LLSS++"


def test_private_and_workgroup_memory_are_their_own() -> None:
    """Another space cannot overlap."""
    body = (
        "%x = memref.load %a[%i] : memref<32xf32>\n memref.store %x, %tile[%i] : memref<32xf32, 3 : i32>\n"
        " %t = arith.addf %acc, %x : f32\n scf.yield %t : f32"
    )
    assert main_loop(body, unroll=2, order="interleaved", attributes="{}") == "LLSS++"


def test_barriers_hold_everything() -> None:
    """A barrier keeps its place among the accesses of all copies."""
    body = (
        "%x = memref.load %a[%i] : memref<32xf32>\n memref.store %x, %tile[%i] : memref<32xf32, 3 : i32>\n"
        ' "gpu.barrier"() : () -> ()\n %t = arith.addf %acc, %x : f32\n scf.yield %t : f32'
    )
    for order in ("interleaved", "recurrence"):
        shape = main_loop(body, unroll=2, order=order, tail="cut").replace("|", "")
        assert shape.replace("+", "") == "LSBLSB"


def test_no_load_crosses_an_earlier_collective() -> None:
    """Interleaved: the loads of the second copy that stand behind a collective stay behind the first copy's."""
    body = (
        "%x = memref.load %a[%i] : memref<32xf32>\n"
        ' %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32\n'
        " %y = memref.load %b[%i] : memref<32xf32>\n %z = arith.mulf %r, %y : f32\n"
        " %t = arith.addf %acc, %z : f32\n scf.yield %t : f32"
    )
    assert main_loop(body, unroll=2, order="interleaved", tail="cut") == "LVLVLL**++"
    assert main_loop(body, unroll=2, order="recurrence", tail="cut") == "LVL*LVL*|+|+"


def test_source_fences_survive_in_every_order() -> None:
    """A fence of the source parts the ops of all copies as it does in source order."""
    body = (
        '%x = memref.load %a[%i] : memref<32xf32>\n "motif.fence"() : () -> ()\n'
        " %t = arith.addf %acc, %x : f32\n scf.yield %t : f32"
    )
    assert main_loop(body, unroll=2, order="linear", tail="cut") == "L|+L|+"
    assert main_loop(body, unroll=2, order="interleaved", tail="cut") == "L|L+|+"
    assert main_loop(body, unroll=2, order="recurrence", tail="cut").replace("||", "|").startswith("L|")


def test_nested_fence_is_local() -> None:
    """A fence inside a conditional holds nothing outside of it."""
    body = (
        "%x = memref.load %a[%i] : memref<32xf32>\n %q = arith.cmpi slt, %i, %c2 : index\n"
        ' %y = scf.if %q -> (f32) {\n "motif.fence"() : () -> ()\n scf.yield %x : f32\n } else {\n'
        " scf.yield %f0 : f32\n }\n %t = arith.addf %acc, %y : f32\n scf.yield %t : f32"
    )
    assert main_loop(body, unroll=2, order="interleaved", tail="cut") == "LLII++"


def test_carried_values_that_rotate_are_no_chain() -> None:
    """Values that the source passes on by hand count as a queue: their loads need not wait for the chain."""
    text = """
    func.func @k(%n: index {motif.range = array<i64: 0, 20>}, %a: memref<32xf32>, %out: memref<32xf32>)
        attributes {motif.kernel} {
      %f0 = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %sum, %old = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0, %p = %f0) -> (f32, f32) {
        %t = arith.addf %acc, %p : f32
        %x = memref.load %a[%i] : memref<32xf32>
        scf.yield %t, %x : f32, f32
      } {motif.loop = "i"POLICY}
      %r = arith.addf %sum, %old : f32
      memref.store %r, %out[%c0] : memref<32xf32>
      func.return
    }
    """
    keys = kernels.policy(unroll=3, order="recurrence")
    scheduled = schedule(parse(text.replace("POLICY", keys)))
    loop = next(op for op in scheduled.module.walk() if isinstance(op, scf.ForOp))
    assert "".join(INTERESTING.get(op.name, "") for op in loop.body.block.ops) == "LL|+|L|+|+"
    serial, program = Program(parse(text.replace("POLICY", ""))), Program(scheduled.module)
    for n in (0, 1, 2, 3, 4, 20):
        given = {"n": n, "a": kernels.numbers(32), "out": kernels.numbers(32)}
        same(serial.run(given), program.run(given), ["out"])
