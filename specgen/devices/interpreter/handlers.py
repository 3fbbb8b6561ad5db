"""The handler table: op name -> builder of its step.

A builder gets the op and the compiler and returns the step, or None when nothing is left to do at run time.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from specgen.devices.interpreter import ops_alu, ops_control, ops_group, ops_memory, ops_vector
from specgen.devices.interpreter.program import Compiler, Step

Builder = Callable[[Operation, Compiler], Step | None]

HANDLERS: dict[str, Builder] = {
    **ops_alu.HANDLERS,
    **ops_vector.HANDLERS,
    **ops_memory.HANDLERS,
    **ops_control.HANDLERS,
    **ops_group.HANDLERS,
}
