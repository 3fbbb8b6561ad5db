"""Operations that only gfx950 has, through LLVM's intrinsics (the assembler of Debian does not know the part)."""

from __future__ import annotations

import functools

import numpy as np
from emulator_compile import ATTRIBUTES, compile_ir, named

from specgen.devices.base import Run

IR = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3))
declare { i32, i32 } @llvm.amdgcn.permlane32.swap(i32, i32, i1, i1)
declare { i32, i32 } @llvm.amdgcn.permlane16.swap(i32, i32, i1, i1)
declare void @llvm.amdgcn.s.barrier()
@tile = internal addrspace(3) global [256 x i16] poison, align 16

define amdgpu_kernel void @transposed(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p = getelementptr <4 x i16>, ptr addrspace(1) %in, i64 %z
  %v = load <4 x i16>, ptr addrspace(1) %p
  %t = getelementptr <4 x i16>, ptr addrspace(3) @tile, i32 %l
  store <4 x i16> %v, ptr addrspace(3) %t
  FENCE
  %r = call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) %t)
  %q = getelementptr <4 x i16>, ptr addrspace(1) %out, i64 %z
  store <4 x i16> %r, ptr addrspace(1) %q
  ret void
}
define amdgpu_kernel void @swap32(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
  SWAP32
}
define amdgpu_kernel void @swap16(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
  SWAP16
}
"""
FENCE = """fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire"""
SWAP = """%l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
  %w = add i32 %v, 1000
  %s = call { i32, i32 } @llvm.amdgcn.permlaneN.swap(i32 %v, i32 %w, i1 false, i1 false)
  %a = extractvalue { i32, i32 } %s, 0
  %b = extractvalue { i32, i32 } %s, 1
  %q = getelementptr <2 x i32>, ptr addrspace(1) %out, i64 %z
  %x = insertelement <2 x i32> poison, i32 %a, i32 0
  %y = insertelement <2 x i32> %x, i32 %b, i32 1
  store <2 x i32> %y, ptr addrspace(1) %q
  ret void"""


@functools.cache
def code() -> bytes:
    text = IR.replace("FENCE", FENCE)
    for width in ("32", "16"):
        text = text.replace(f"SWAP{width}", SWAP.replace("permlaneN", f"permlane{width}"))
    return compile_ir(text + f"attributes #0 = {{ {ATTRIBUTES.format(size=64)} }}", "gfx950")


def run(name: str, values: np.ndarray, count: int) -> Run:
    return named(code(), name, 64).launch({"in": values, "out": np.zeros(count, values.dtype)}, (1, 1, 1))


def test_transposed_read() -> None:
    """Lane t's element e is column t%4 of lane 4e + (t%16)/4 of its block of 16."""
    values = np.arange(256, dtype=np.int16)
    done = run("transposed", values, 256)
    rows = values.reshape(64, 4)
    expected = [[rows[t // 16 * 16 + 4 * e + t % 16 // 4, t % 4] for e in range(4)] for t in range(64)]
    assert np.array_equal(done.outputs["out"].reshape(64, 4), expected)
    assert done.findings == ()


def swapped(width: int) -> np.ndarray:
    """Odd blocks of the first register change places with the even ones before them of the second."""
    first, second = np.arange(64), np.arange(64) + 1000
    a, b = first.copy(), second.copy()
    for low in range(0, 64, 2 * width):
        a[low + width : low + 2 * width] = second[low : low + width]
        b[low : low + width] = first[low + width : low + 2 * width]
    return np.stack([a, b], -1)


def test_swaps_between_registers() -> None:
    for width in (32, 16):
        done = run(f"swap{width}", np.arange(64, dtype=np.int32), 128)
        assert np.array_equal(done.outputs["out"].reshape(64, 2), swapped(width))
        assert done.findings == ()
