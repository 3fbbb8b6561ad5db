"""Loop schedules: policies on `scf.for` become pipelined and unrolled loops with the same results, bit for bit.

`schedule` is the entry point; importing this package is cheap (xDSL is imported by the first call).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specgen.diagnostics import Diagnostic
from specgen.schedule.rows import PipelineRow, SplitRow, StageRow, UnrollRow

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Dump = Callable[[str, "ModuleOp"], None]


@dataclass(frozen=True)
class Scheduled:
    """The scheduled clone of a module, the report rows, and what was refused.

    With errors in `diagnostics` the module is the unchanged source and must not be lowered.
    """

    module: ModuleOp
    rows: tuple[PipelineRow, ...]
    stages: tuple[StageRow, ...]
    unroll_rows: tuple[UnrollRow, ...]
    diagnostics: tuple[Diagnostic, ...]
    split_rows: tuple[SplitRow, ...] = ()


def schedule(
    module: ModuleOp, *, dump: Dump | None = None, only_plan: bool = False, verified: bool = False
) -> Scheduled:
    """Apply the loop policies of every kernel of `module` to a clone of it; a module without any comes back itself.

    `dump(name, module)` is called after each pass. `only_plan` stops after the loops were judged and rows made:
    the module that comes back is then the source. `verified`: the caller has just verified the module (`ir.parse`
    does), so that it is not done twice.
    """
    from specgen.schedule.passes import run

    return run(module, dump=dump, only_plan=only_plan, verified=verified)
