"""Extents that are computed: an address needs them although nothing else does."""

from __future__ import annotations

from specgen import targets
from specgen.ir import parse
from specgen.lowering.spirv import lower
from specgen.lowering.spirv.reader import read

KERNEL = """
func.func @k(%n: index {motif.name = "n", motif.range = array<i64: 1, 64>},
             %x: memref<?x?xf32> {motif.name = "x", motif.access = "read"},
             %y: memref<4xf32> {motif.name = "y", motif.access = "write"})
    attributes {motif.kernel, motif.entry = "default", motif.workgroup_size = array<i64: 4, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %wide = arith.muli %n, %c3 : index
  "motif.extents"(%x, %n, %wide) : (memref<?x?xf32>, index, index) -> ()
  %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 3>} : () -> index
  %v = memref.load %x[%i, %c0] : memref<?x?xf32>
  memref.store %v, %y[%i] : memref<4xf32>
  func.return
}
"""


def test_an_extent_that_only_addresses_use_is_computed() -> None:
    """Row i begins at i * (3 n): two products."""
    module = lower(parse(KERNEL), targets.load("vulkan1.3")).spv
    assert sum(1 for instruction in read(module) if instruction.name == "OpIMul") == 2
