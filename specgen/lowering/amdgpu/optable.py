"""All rows: how each op of the IR becomes LLVM IR. Terminators but `func.return` are handled by their parents."""

from __future__ import annotations

from specgen.lowering.amdgpu import ops_alu, ops_control, ops_group, ops_math, ops_memory, ops_vector
from specgen.lowering.amdgpu.context import Row

ROWS: dict[str, Row] = {
    **ops_alu.ROWS,
    **ops_math.ROWS,
    **ops_vector.ROWS,
    **ops_memory.ROWS,
    **ops_control.ROWS,
    **ops_group.ROWS,
}

BY_PARENT = ("scf.yield", "scf.condition")
