"""What a pipelined and unrolled loop leaves over runs in the serial loop that is there for short loops."""

from __future__ import annotations

from typing import Any

import pytest
from scheduling import kernels
from scheduling.evaluator import Program, same
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr

from specgen.ir import parse
from specgen.schedule import schedule

TEXT = """
func.func @k(%n: index {motif.range = array<i64: 0, 40>}, %ids: memref<64xi64> {motif.noalias},
    %in: memref<64xf32> {motif.noalias}, %out: memref<4xf32> {motif.noalias}) attributes {motif.kernel} {
  %f0 = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %sum = scf.for %i = %c0 to %n step STEP iter_args(%acc = %f0) -> (f32) {
    BODY
  } {motif.loop = "i"POLICY}
  memref.store %sum, %out[%c0] : memref<4xf32>
  func.return
}
"""
COUNTER = """
%x = memref.load %in[%i] : memref<64xf32>
%w = arith.index_cast %i : index to i64
%f = arith.sitofp %w : i64 to f32
%y = arith.mulf %x, %f : f32
%t = arith.addf %acc, %y : f32
scf.yield %t : f32
"""
INNER = """
%part = scf.for %u = %c0 to %c5 step %c1 iter_args(%p = %f0) -> (f32) {
  %at = arith.addi %i, %u : index
  %x = memref.load %in[%at] : memref<64xf32>
  %w = arith.index_cast %u : index to i64
  %f = arith.sitofp %w : i64 to f32
  %y = arith.mulf %x, %f : f32
  %q = arith.addf %p, %y : f32
  scf.yield %q : f32
} {motif.loop = "u", motif.pipeline = 3 : i64}
%t = arith.addf %acc, %part : f32
scf.yield %t : f32
"""
CHAIN = """
%id = memref.load %ids[%i] : memref<64xi64>
%j = arith.index_cast %id : i64 to index
%x = memref.load %in[%j] : memref<64xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
"""


def build(body: str, step: str = "%c1", **keys: Any) -> tuple[Program, ModuleOp]:
    """The serial program and the scheduled module."""
    text = TEXT.replace("BODY", body).replace("STEP", step)
    plain = parse(text.replace("POLICY", "").replace(", motif.pipeline = 3 : i64", ""))
    scheduled = schedule(parse(text.replace("POLICY", kernels.policy(**keys))))
    assert not scheduled.diagnostics
    return Program(plain), scheduled.module


@pytest.mark.parametrize("order", ["linear", "interleaved", "recurrence"])
@pytest.mark.parametrize("step", ["%c1", "%c3"])
@pytest.mark.parametrize("body", [COUNTER, INNER, CHAIN], ids=["counter", "inner", "chain"])
def test_equals_serial(body: str, step: str, order: str) -> None:
    """The drain has the counters of the iterations before the rest; an inner loop's own drain is left alone."""
    for keys in ({"pipeline": 3, "unroll": 4}, {"pipeline": 2, "unroll": 3}, {"pipeline": 5, "unroll": 2}):
        lead = {"lead": 1} if body == CHAIN else {}
        serial, module = build(body, step, order=order, tail="cut", **keys, **lead)
        program = Program(module)
        for n in range(0, 41, 1 if step == "%c1" else 2):
            ids = {(k,): (13 * k + 5) % 64 for k in range(64)}
            given = {"n": n, "ids": ids, "in": kernels.numbers(64), "out": kernels.numbers(4)}
            same(serial.run(given), program.run(given), ["out"])


def test_form() -> None:
    """Rounds inside of the conditional, one serial loop behind it, no rolled remainder with a queue."""
    _, module = build(COUNTER, pipeline=3, unroll=4, order="recurrence")
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    assert [loop.attributes["motif.form"] for loop in loops] == [StringAttr("steady"), StringAttr("serial")]
    rounds, serial = loops
    assert isinstance(rounds.parent_op(), scf.IfOp)
    assert not isinstance(serial.parent_op(), scf.IfOp)
    assert len(serial.iter_args) == 1
    assert serial.lb.owner is rounds.parent_op()


def test_guarded_rest_leaves_the_serial_side_alone() -> None:
    """With a guarded rest the serial loop stays in its branch."""
    _, module = build(COUNTER, pipeline=2, unroll=2, tail="guard", order="recurrence")
    serial = next(op for op in module.walk() if op.attributes.get("motif.form") == StringAttr("serial"))
    assert isinstance(serial.parent_op(), scf.IfOp)
