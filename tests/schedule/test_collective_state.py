"""Collectives whose results are carried, behind a runtime guard and inside a runtime loop, in a pipelined loop.

128 work-items, seven rows of 1, 2, 3, ...; behind `row < limit`, `repeat` times: state = 2 * state + sum of a row over
16 lanes, and the same over the workgroup, from 37. The expected values are closed forms: row r sums to
2048 r + 256 c + 136 over cluster c and to 16384 r + 8256 over the workgroup.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduling import kernels
from xdsl.dialects.builtin import ModuleOp

from specgen import targets
from specgen.devices.amdgpu_emulator.device import EmulatedKernel
from specgen.devices.interpreter import interpret
from specgen.ir import parse
from specgen.lowering.amdgpu import lower
from specgen.schedule import schedule

TEXT = """
func.func @state(%limit: index {motif.name = "limit", motif.range = array<i64: 0, 16>},
    %repeat: index {motif.name = "repeat", motif.range = array<i64: 0, 2>},
    %rows: memref<16x128xi32> {motif.name = "rows", motif.access = "read", motif.noalias},
    %out: memref<2x128xi32> {motif.name = "out", motif.access = "write", motif.noalias})
    attributes {motif.kernel, motif.workgroup_size = array<i64: 128, 1, 1>, motif.subgroup_size = 32 : i64} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 127>} : () -> index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %length = arith.constant LENGTH : index
  %two = arith.constant 2 : i32
  %seed = arith.constant 37 : i32
  %cluster, %group = scf.for %row = %c0 to %length step %c1 iter_args(%a = %seed, %b = %seed) -> (i32, i32) {
    %inside = arith.cmpi slt, %row, %limit : index
    %a2, %b2 = scf.if %inside -> (i32, i32) {
      %x = memref.load %rows[%row, %lane] : memref<16x128xi32>
      %p, %q = scf.for %again = %c0 to %repeat step %c1 iter_args(%s = %a, %t = %b) -> (i32, i32) {
        %near = "motif.subgroup_reduce"(%x) <{kind = "add", cluster = 16 : i64}> : (i32) -> i32
        %all = "motif.workgroup_reduce"(%x) <{kind = "add"}> : (i32) -> i32
        %s2 = arith.muli %s, %two : i32
        %s3 = arith.addi %s2, %near : i32
        %t2 = arith.muli %t, %two : i32
        %t3 = arith.addi %t2, %all : i32
        scf.yield %s3, %t3 : i32, i32
      }
      scf.yield %p, %q : i32, i32
    } else {
      scf.yield %a, %b : i32, i32
    }
    scf.yield %a2, %b2 : i32, i32
  } {motif.loop = "row"POLICY}
  memref.store %cluster, %out[%c0, %lane] : memref<2x128xi32>
  memref.store %group, %out[%c1, %lane] : memref<2x128xi32>
  func.return
}
"""
POLICIES: list[dict[str, Any]] = [
    {"pipeline": 1, "unroll": 1},
    {"pipeline": 3, "unroll": 2},
    {"pipeline": 3, "unroll": 2, "order": "recurrence"},
    {"pipeline": 2, "unroll": 3, "order": "interleaved"},
    {"pipeline": 7},
    {"pipeline": 4, "unroll": "full", "order": "recurrence"},
]
# (limit, repeat) -> constant and factor of the cluster number, workgroup value; for seven rows.
EXPECTED = {
    (0, 1): (37, 0, 37),
    (1, 1): (210, 256, 8330),
    (2, 2): (8776, 3840, 173584),
    (7, 1): (267768, 32512, 3019328),
    (7, 2): (14004088, 4194048, 225222592),
    (7, 0): (37, 0, 37),
}


def build(length: int, **keys: Any) -> ModuleOp:
    """The scheduled kernel for a number of rows."""
    text = TEXT.replace("LENGTH", str(length)).replace("POLICY", kernels.policy(**keys))
    scheduled = schedule(parse(text))
    assert not scheduled.diagnostics
    return scheduled.module


def arguments(limit: int, repeat: int) -> dict[str, Any]:
    """Inputs 1, 2, 3, ... in row-major order; outputs hold a value that no result has."""
    rows = np.arange(1, 16 * 128 + 1, dtype=np.int32)
    return {"limit": limit, "repeat": repeat, "rows": rows, "out": np.full(256, -5, np.int32)}


def check(out: np.ndarray, constant: int, factor: int, group: int) -> None:
    """Sixteen lanes share a cluster value, all lanes the workgroup's."""
    values = out.reshape(2, 128)
    assert values[0].tolist() == [constant + factor * (lane // 16) for lane in range(128)]
    assert values[1].tolist() == [group] * 128


@pytest.mark.parametrize("keys", POLICIES, ids=str)
def test_closed_forms(keys: dict[str, Any]) -> None:
    """Every policy gives the closed form, without findings, on the interpreter and as machine code."""
    module = build(7, **keys)
    kernel = EmulatedKernel(lower(module, targets.load("gfx1151")).hsaco, "state")
    for (limit, repeat), wanted in EXPECTED.items():
        given = arguments(limit, repeat)
        for run in (interpret(module, "state", given), kernel.launch(given, (1, 1, 1))):
            assert not run.findings
            check(np.asarray(run.outputs["out"]), *wanted)


@pytest.mark.parametrize("length", [0, 1])
def test_loops_shorter_than_the_depth(length: int) -> None:
    """No row and one row under depth 3."""
    module = build(length, pipeline=3, unroll=2)
    run = interpret(module, "state", arguments(16, 1))
    assert not run.findings
    check(np.asarray(run.outputs["out"]), *((210, 256, 8330) if length else (37, 0, 37)))


def test_rows() -> None:
    """The load runs ahead behind its guard, the predicate goes with it, the collectives stay."""
    scheduled = schedule(parse(TEXT.replace("LENGTH", "7").replace("POLICY", kernels.policy(pipeline=3))))
    (row,) = scheduled.rows
    assert (row.queue_records, row.values_per_record, row.read_count) == (2, 2, 1)
    assert [(s.op, s.stage, s.iteration_lookahead, s.partition) for s in scheduled.stages] == [
        ("arith.cmpi", "producer", 2, None),
        ("scf.if", "producer", 2, "guarded"),
        ("scf.if", "consumer", 0, "guarded"),
    ]
