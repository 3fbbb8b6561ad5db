"""Kernels as source IR for the scheduler's tests; `{policy}` stands for the loop's attributes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from specgen.ir import parse

SUM_ROWS = """
func.func @sum_rows(%count: index {{motif.range = array<i64: 0, 64>}}, %input: memref<64x32xf32> {{motif.noalias}},
                    %output: memref<32xf32> {{motif.noalias}})
    attributes {{motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>}} {{
  %lane = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> {{motif.range = array<i64: 0, 31>}} : () -> index
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %row = %c0 to %count step %c1 iter_args(%acc = %zero) -> (f32) {{
    %x = memref.load %input[%row, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  }} {{motif.loop = "row"{policy}}}
  memref.store %sum, %output[%lane] : memref<32xf32>
  func.return
}}
"""

SUM_VECTOR_ROWS = """
func.func @sum_vector_rows(%count: index {{motif.range = array<i64: 0, 64>}},
                           %input: memref<64x32x4xf32> {{motif.noalias}}, %output: memref<32xf32> {{motif.noalias}})
    attributes {{motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>}} {{
  %lane = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %row = %c0 to %count step %c1 iter_args(%acc = %zero) -> (f32) {{
    %x = vector.load %input[%row, %lane, %c0] : memref<64x32x4xf32>, vector<4xf32>
    %x0 = vector.extract %x[0] : f32 from vector<4xf32>
    %s0 = arith.addf %acc, %x0 : f32
    %x1 = vector.extract %x[1] : f32 from vector<4xf32>
    %s1 = arith.addf %s0, %x1 : f32
    %x2 = vector.extract %x[2] : f32 from vector<4xf32>
    %s2 = arith.addf %s1, %x2 : f32
    %x3 = vector.extract %x[3] : f32 from vector<4xf32>
    %s3 = arith.addf %s2, %x3 : f32
    scf.yield %s3 : f32
  }} {{motif.loop = "row"{policy}}}
  memref.store %sum, %output[%lane] : memref<32xf32>
  func.return
}}
"""

SUM_GUARDED_ROWS = """
func.func @sum_guarded_rows(%count: index {{motif.range = array<i64: 0, 64>}},
    %columns: index {{motif.range = array<i64: 0, 4>}}, %active: index {{motif.range = array<i64: 0, 32>}},
    %input: memref<64x32x4xf32> {{motif.noalias}}, %output: memref<32xf32> {{motif.noalias}})
    attributes {{motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>}} {{
  %lane = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %groups = arith.ceildivsi %count, %c4 : index
  %padded = arith.muli %groups, %c4 : index
  %sum = scf.for %row = %c0 to %padded step %c1 iter_args(%acc = %zero) -> (f32) {{
    %inside = arith.cmpi slt, %row, %count : index
    %part = scf.if %inside -> (f32) {{
      %inner = scf.for %column = %c0 to %columns step %c1 iter_args(%p = %zero) -> (f32) {{
        %on = arith.cmpi slt, %lane, %active : index
        %v = scf.if %on -> (f32) {{
          %x = memref.load %input[%row, %lane, %column] : memref<64x32x4xf32>
          scf.yield %x : f32
        }} else {{
          scf.yield %zero : f32
        }}
        %q = arith.addf %p, %v : f32
        scf.yield %q : f32
      }} {{motif.loop = "column"{inner}}}
      scf.yield %inner : f32
    }} else {{
      scf.yield %zero : f32
    }}
    %next = arith.addf %acc, %part : f32
    scf.yield %next : f32
  }} {{motif.loop = "row"{policy}}}
  memref.store %sum, %output[%lane] : memref<32xf32>
  func.return
}}
"""


def policy(**keys: Any) -> str:
    """Attributes text that follows another attribute: `, motif.pipeline = 3 : i64`."""
    return "".join(f", motif.{k} = {_value(v)}" for k, v in keys.items() if v is not None)


def _value(value: Any) -> str:
    return f"{value} : i64" if isinstance(value, int) else f'"{value}"'


def module(text: str, inner: str = "", **keys: Any) -> ModuleOp:
    """A kernel text with policies, parsed."""
    return parse(text.format(policy=policy(**keys), inner=inner))


def cells(data: np.ndarray) -> list[tuple[tuple[int, ...], Any]]:
    """Subscripts and elements of an array."""
    return list(np.ndenumerate(data))


@functools.cache
def numbers(*shape: int, seed: int = 1) -> np.ndarray:
    """Floats whose sums depend on their order."""
    generator = np.random.default_rng(seed)
    return (generator.uniform(-1, 1, shape) * 2.0 ** generator.integers(-12, 12, shape)).astype(np.float32)
