"""Collectives in a loop over a tile whose size is exact only by what a `while` or `if` says (rule P11 else)."""

from __future__ import annotations

import pytest
from scheduling import kernels
from scheduling.evaluator import Program, same

from specgen.ir import parse
from specgen.schedule import schedule

HEAD = """
func.func @tiles(%count: index {motif.range = array<i64: 0, 63>}, %other: index {motif.range = array<i64: 0, 63>},
    %values: memref<64x32xf32> {motif.noalias}, %out: memref<32xf32> {motif.noalias})
    attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>, motif.subgroup_size = 32 : i64} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
"""
TAIL = """
  memref.store %result, %out[%lane] : memref<32xf32>
  func.return
}
"""
TILE = """
    %size = arith.minsi LEFT, %c8 : index
    %part = scf.for %row = %c0 to %size step %c1 iter_args(%acc = %total) -> (f32) {
      %at = arith.addi %first, %row : index
      %x = memref.load %values[%at, %lane] : memref<64x32xf32>
      %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
      %t = arith.addf %acc, %r : f32
      scf.yield %t : f32
    } {motif.loop = "row"POLICY}
"""


def walk(condition: str, tile: str, forwarded: str = "%first0, %left0, %total0") -> str:
    """Tiles of eight rows while the condition holds."""
    return f"""{HEAD}
  %end, %left_end, %result = scf.while (%first0 = %c0, %left0 = %count, %total0 = %f0)
      : (index, index, f32) -> (index, index, f32) {{
    {condition}
    scf.condition(%go) {forwarded} : index, index, f32
  }} do {{
  ^bb(%first: index, %left: index, %total: f32):
    {tile}
    %first2 = arith.addi %first, %c8 : index
    %left2 = arith.subi %left, %c8 : index
    scf.yield %first2, %left2, %part : index, index, f32
  }}
{TAIL}"""


ENOUGH = "%go = arith.cmpi sge, %left0, %c8 : index"
EITHER = """
    %a = arith.cmpi sge, %left0, %c8 : index
    %b = arith.cmpi sge, %other, %c8 : index
    %go = arith.ori %a, %b : i1
"""
BOTH = EITHER.replace("arith.ori", "arith.andi")
IF = f"""{HEAD}
  %first = arith.constant 0 : index
  %total = arith.constant 1.0 : f32
  %go = arith.cmpi sge, %count, %c8 : index
  %result = scf.if %go -> (f32) {{
    {TILE}
    scf.yield %part : f32
  }} else {{
    scf.yield %total : f32
  }}
{TAIL}"""
AFTER = f"""{HEAD}
  %first, %left = scf.while (%first0 = %c0, %left0 = %count) : (index, index) -> (index, index) {{
    {ENOUGH}
    scf.condition(%go) %first0, %left0 : index, index
  }} do {{
  ^bb(%first1: index, %left1: index):
    %first2 = arith.addi %first1, %c8 : index
    %left2 = arith.subi %left1, %c8 : index
    scf.yield %first2, %left2 : index, index
  }}
  %total = arith.constant 0.0 : f32
  {TILE}
  %result = arith.addf %part, %f0 : f32
{TAIL}"""
IN_CONDITION = f"""{HEAD}
  %total = arith.constant 0.0 : f32
  %end, %left_end, %result = scf.while (%first = %c0, %left0 = %count, %total0 = %f0)
      : (index, index, f32) -> (index, index, f32) {{
    {TILE}
    {ENOUGH}
    scf.condition(%go) %first, %left0, %part : index, index, f32
  }} do {{
  ^bb(%first1: index, %left: index, %total1: f32):
    %first2 = arith.addi %first1, %c8 : index
    %left2 = arith.subi %left, %c8 : index
    scf.yield %first2, %left2, %total1 : index, index, f32
  }}
{TAIL}"""

ACCEPTED = {
    "if": IF.replace("LEFT", "%count"),
    "while": walk(ENOUGH, TILE).replace("LEFT", "%left"),
    "both conditions": walk(BOTH, TILE).replace("LEFT", "%left"),
}
REFUSED = {
    "either condition": walk(EITHER, TILE).replace("LEFT", "%left"),
    "another value": walk(ENOUGH, TILE).replace("LEFT", "%other"),
    "the condition's own region": IN_CONDITION.replace("LEFT", "%left0"),
    "after the loop": AFTER.replace("LEFT", "%left"),
}
PIPELINED = ', motif.pipeline = 3 : i64, motif.unroll = "full", motif.order = "recurrence"'


@pytest.mark.parametrize("name", ACCEPTED)
def test_exact_where_the_condition_holds(name: str) -> None:
    """Guarded by a comparison, the tile has eight rows: no guard is left, and results are those of the serial form."""
    scheduled = schedule(parse(ACCEPTED[name].replace("POLICY", PIPELINED)))
    assert not scheduled.diagnostics
    assert [(row.outcome, row.factor, row.trips) for row in scheduled.unroll_rows] == [("unrolled", 6, 6)]
    serial, program = Program(parse(ACCEPTED[name].replace("POLICY", ""))), Program(scheduled.module)
    for count in (0, 7, 8, 15, 16, 63):
        given = {"count": count, "other": 9, "values": kernels.numbers(64, 32), "out": kernels.numbers(32)}
        same(serial.run(given, 5), program.run(given, 5), ["out"])


@pytest.mark.parametrize("name", REFUSED)
def test_not_exact_elsewhere(name: str) -> None:
    """What the condition says does not reach there."""
    text = REFUSED[name].replace("POLICY", ", motif.pipeline = 3 : i64")
    assert [d.code for d in schedule(parse(text)).diagnostics] == ["SG-LOOP P11"]
