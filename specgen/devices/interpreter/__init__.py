"""The reference device: numpy, vectorised over work-items, exact numerics, every fault a finding.

Importing the package is cheap; numpy and xDSL are imported by the first call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from specgen.devices.base import Arguments, Grid, Run


def interpret(
    module: ModuleOp | str,
    entry: str,
    args: Arguments,
    grid: Grid = (1, 1, 1),
    subgroup_size: int | None = None,
    batch: int | None = None,
) -> Run:
    """Run function `entry` once. `batch` bounds how many work-items are executed side by side.

    `args` maps `motif.name` to flat arrays and scalars; arrays are not changed. `subgroup_size` overrides the
    function's attribute. Raises `DeviceError` for arguments that do not fit and ops that the IR does not have.
    """
    return interpret_batch(module, entry, [args], grid, subgroup_size, batch)[0]


def interpret_batch(
    module: ModuleOp | str,
    entry: str,
    launches: Sequence[Arguments],
    grid: Grid | Sequence[Grid] = (1, 1, 1),
    subgroup_size: int | None = None,
    batch: int | None = None,
) -> list[Run]:
    """Run function `entry` once for each of `launches`, side by side: one interpretation for a whole sweep.

    Buffers that a launch writes are its own; one grid serves all launches unless there is one for each.
    """
    from specgen.devices.interpreter.program import compile_function, find_function

    return compile_function(find_function(module, entry), subgroup_size).run(launches, grid, batch)
