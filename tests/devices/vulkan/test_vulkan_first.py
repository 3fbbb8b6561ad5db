"""The first kernels: a row sum and saxpy, against closed forms, with guards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import vulkan_support as support

pytestmark = pytest.mark.required_in_ci

SUM_ROWS = """builtin.module {
  func.func @sum_rows(%row_count: index {motif.name = "row_count", motif.range = array<i64: 0, 64>},
      %input: memref<64x32xf32> {motif.name = "input", motif.access = "read", motif.align = 4 : i64},
      %output: memref<32xf32> {motif.name = "output", motif.access = "write", motif.align = 4 : i64})
      attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
    %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %sum = scf.for %row = %c0 to %row_count step %c1 iter_args(%acc = %zero) -> (f32) {
      %x = memref.load %input[%row, %lane] : memref<64x32xf32> loc("sum_rows.spec.yaml":31:23)
      %next = arith.addf %acc, %x : f32
      scf.yield %next : f32
    }
    memref.store %sum, %output[%lane] : memref<32xf32>
    func.return
  }
}
"""


@pytest.mark.parametrize("rows", [0, 1, 2, 63, 64])
def test_sum_rows_of_every_count_reads_the_backing_only(rows: int) -> None:
    # Integers: every order of the sum is exact. Row r, lane l holds r + 100 l.
    data = (np.arange(rows)[:, None] + 100 * np.arange(32)[None, :]).astype(np.float32)
    args = {"row_count": rows, "input": data.reshape(-1), "output": np.full(32, np.nan, np.float32)}
    done = support.run(SUM_ROWS, args)
    expected = rows * (rows - 1) / 2 + 100 * rows * np.arange(32)
    assert done.findings == ()
    np.testing.assert_array_equal(done.outputs["output"], expected.astype(np.float32))


def test_saxpy_with_a_tail_leaves_the_rest_alone() -> None:
    body = """
    %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 9>} : () -> index
    %c32 = arith.constant 32 : index
    %base = arith.muli %b, %c32 : index
    %i = arith.addi %base, %x : index
    %inside = arith.cmpi slt, %i, %n : index
    scf.if %inside {
      %u = memref.load %p[%i] : memref<?xf32>
      %v = memref.load %q[%i] : memref<?xf32>
      %m = arith.mulf %a, %u : f32
      %s = arith.addf %m, %v : f32
      memref.store %s, %q[%i] : memref<?xf32>
    }"""
    arguments = [
        support.scalar("n", "index", (0, 320)),
        support.scalar("a", "f32"),
        support.buffer("p", "memref<?xf32>", "read"),
        support.buffer("q", "memref<?xf32>"),
    ]
    extents = '    "motif.extents"(%p, %n) : (memref<?xf32>, index) -> ()\n'
    extents += '    "motif.extents"(%q, %n) : (memref<?xf32>, index) -> ()'
    text = support.kernel(", ".join(arguments), extents + body)
    x = np.arange(77, dtype=np.float32)
    y = np.float32(0.1) * np.arange(77, dtype=np.float32)
    done = support.run(text, {"n": 77, "a": 3.0, "p": x, "q": y}, (3, 1, 1))
    assert done.findings == ()
    np.testing.assert_array_equal(done.outputs["q"], np.float32(3) * x + y)


def test_module_bytes_do_not_depend_on_the_run() -> None:
    one, two = (support.build(SUM_ROWS).files["kernel.spv"] for _ in range(2))
    assert one == two
    assert str(Path.cwd()).encode() not in one
