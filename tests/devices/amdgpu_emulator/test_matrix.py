"""WMMA and MFMA against numpy, with fragments laid out here from the ISA guides' formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator_compile import ATTRIBUTES, compile_ir, named

TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}


@dataclass(frozen=True)
class Case:
    """One intrinsic: `fragment` is the IR type of A and B, `result` of C and D."""

    target: str
    family: str
    side: int
    depth: int
    kind: str
    intrinsic: str
    fragment: str
    result: str

    @property
    def lanes(self) -> int:
        return 64 if self.family == "mfma" else 32


CASES = (
    Case("gfx1151", "gfx11", 16, 16, "f16", "wmma.f32.16x16x16.f16.v8f32.v16f16", "<16 x half>", "<8 x float>"),
    Case("gfx1100", "gfx11", 16, 16, "bf16", "wmma.f32.16x16x16.bf16.v8f32.v16i16", "<16 x i16>", "<8 x float>"),
    Case("gfx1151", "gfx11", 16, 16, "i8", "wmma.i32.16x16x16.iu8.v8i32.v4i32", "<4 x i32>", "<8 x i32>"),
    Case("gfx1201", "gfx12", 16, 16, "f16", "wmma.f32.16x16x16.f16.v8f32.v8f16", "<8 x half>", "<8 x float>"),
    Case("gfx1201", "gfx12", 16, 16, "bf16", "wmma.f32.16x16x16.bf16.v8f32.v8i16", "<8 x i16>", "<8 x float>"),
    Case("gfx1201", "gfx12", 16, 16, "i8", "wmma.i32.16x16x16.iu8.v8i32.v2i32", "<2 x i32>", "<8 x i32>"),
    Case("gfx942", "mfma", 16, 16, "f16", "mfma.f32.16x16x16f16", "<4 x half>", "<4 x float>"),
    Case("gfx942", "mfma", 16, 16, "bf16", "mfma.f32.16x16x16bf16.1k", "<4 x i16>", "<4 x float>"),
    Case("gfx942", "mfma", 16, 32, "i8", "mfma.i32.16x16x32.i8", "i64", "<4 x i32>"),
    Case("gfx942", "mfma", 32, 8, "f16", "mfma.f32.32x32x8f16", "<4 x half>", "<16 x float>"),
    Case("gfx950", "mfma", 16, 32, "f16", "mfma.f32.16x16x32.f16", "<8 x half>", "<4 x float>"),
    Case("gfx950", "mfma", 16, 32, "bf16", "mfma.f32.16x16x32.bf16", "<8 x bfloat>", "<4 x float>"),
    Case("gfx950", "mfma", 32, 16, "f16", "mfma.f32.32x32x16.f16", "<8 x half>", "<16 x float>"),
    Case("gfx950", "mfma", 16, 64, "i8", "mfma.i32.16x16x64.i8", "<4 x i32>", "<4 x i32>"),
)


def ir(case: Case) -> str:
    f, r = case.fragment, case.result
    name = f"@llvm.amdgcn.{case.intrinsic}"
    if "iu8" in case.intrinsic:
        types = f"i1, {f}, i1, {f}, {r}, i1"
        values = f"i1 true, {f} %a, i1 true, {f} %b, {r} %c, i1 false"
    elif case.family == "mfma":
        types = f"{f}, {f}, {r}, i32, i32, i32"
        values = f"{f} %a, {f} %b, {r} %c, i32 0, i32 0, i32 0"
    else:
        types, values = f"{f}, {f}, {r}", f"{f} %a, {f} %b, {r} %c"
    return f"""
declare i32 @llvm.amdgcn.workitem.id.x()
declare {r} {name}({types})
define amdgpu_kernel void @k(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc,
    ptr addrspace(1) noalias %pd) #0 {{
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %qa = getelementptr {f}, ptr addrspace(1) %pa, i64 %z
  %qb = getelementptr {f}, ptr addrspace(1) %pb, i64 %z
  %qc = getelementptr {r}, ptr addrspace(1) %pc, i64 %z
  %qd = getelementptr {r}, ptr addrspace(1) %pd, i64 %z
  %a = load {f}, ptr addrspace(1) %qa, align 4
  %b = load {f}, ptr addrspace(1) %qb, align 4
  %c = load {r}, ptr addrspace(1) %qc, align 4
  %d = call {r} {name}({values})
  store {r} %d, ptr addrspace(1) %qd, align 4
  ret void
}}
attributes #0 = {{ {ATTRIBUTES.format(size=case.lanes)} }}
"""


def fragments(case: Case, matrix: np.ndarray) -> np.ndarray:
    """[lanes, elements] of a [side, depth] matrix (A, or B transposed)."""
    rows = []
    for lane in range(case.lanes):
        row = lane % case.side
        if case.family == "gfx11":
            rows.append(matrix[row])
        else:
            each = case.side * case.depth // case.lanes
            first = each * (lane // case.side)
            rows.append(matrix[row, first : first + each])
    return np.array(rows)


def place(case: Case, register: int, lane: int) -> tuple[int, int]:
    """Row and column of C and D that a register of a lane holds."""
    column, block = lane % case.side, lane // case.side
    if case.family == "gfx11":
        return 2 * register + block, column
    if case.family == "gfx12":
        return register + 8 * block, column
    if case.side == 16:
        return 4 * block + register, column
    return 8 * (register // 4) + 4 * block + register % 4, column


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.target}-{case.intrinsic}")
def test_matrix_product(case: Case) -> None:
    rng = np.random.default_rng(5)
    integer = case.kind == "i8"
    low, high = (-128, 128) if integer else (-8, 9)
    a = rng.integers(low, high, (case.side, case.depth))
    b = rng.integers(low, high, (case.depth, case.side))
    c = rng.integers(-50, 50, (case.side, case.side))
    registers = case.side * case.side // case.lanes
    result_type = np.int32 if integer else np.float32
    places = [[place(case, register, lane) for register in range(registers)] for lane in range(case.lanes)]
    held = np.array([[c[at] for at in row] for row in places], result_type)
    args = {
        "pa": fragments(case, a.astype(TYPES[case.kind])),
        "pb": fragments(case, b.T.astype(TYPES[case.kind])),
        "pc": held,
        "pd": np.zeros_like(held),
    }
    run = named(compile_ir(ir(case), case.target), "k", case.lanes).launch(args, (1, 1, 1))
    product = a @ b + c
    expected = np.array([[product[at] for at in row] for row in places], result_type)
    assert np.array_equal(run.outputs["pd"], expected)
    assert run.findings == ()
    assert run.evidence["instructions"]["matrix"] == 1


def test_unrepeated_operand_is_refused() -> None:
    """RDNA3 wants lanes 16-31 to repeat lanes 0-15; anything else has no defined result."""
    from specgen.devices.base import DeviceError

    case = CASES[0]
    args = {
        "pa": np.arange(32 * 16).reshape(32, 16).astype(np.float16),
        "pb": np.ones((32, 16), np.float16),
        "pc": np.zeros((32, 8), np.float32),
        "pd": np.zeros((32, 8), np.float32),
    }
    with pytest.raises(DeviceError, match="unrepeated WMMA operand"):
        named(compile_ir(ir(case), case.target), "k", 32).launch(args, (1, 1, 1))
