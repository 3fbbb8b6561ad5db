"""The op table of the SPIR-V back end: one row an op of `specgen.ir.optable`."""

from __future__ import annotations

from xdsl.ir import Operation

from specgen.lowering.spirv import (
    access,
    atomics,
    control,
    convert,
    floats,
    groups,
    ids,
    integers,
    mathematics,
    vectors,
)
from specgen.lowering.spirv.abi import window
from specgen.lowering.spirv.emitter import Emitter
from specgen.lowering.spirv.integers import Row
from specgen.lowering.spirv.memory import allocate


def nothing(e: Emitter, op: Operation) -> None:
    """Ops that are facts or orders for earlier stages: no code."""


ROWS: dict[str, Row] = {
    **ids.ROWS,
    **integers.ROWS,
    **floats.ROWS,
    **mathematics.ROWS,
    **convert.ROWS,
    **vectors.ROWS,
    **access.ROWS,
    **atomics.ROWS,
    **control.ROWS,
    **groups.ROWS,
    "memref.alloc": allocate,
    "motif.assume": nothing,
    "motif.check": nothing,
    "motif.ahead": nothing,
    "motif.extents": nothing,
    "motif.window": window,
    "motif.fence": nothing,
}
"""How each op is lowered, by op name."""
