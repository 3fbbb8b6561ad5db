"""The pass that applies `pipeline`: judges each loop, plans it, rewrites it and writes its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp

from specgen.schedule import legality, pipeline, policy
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.partition import PRODUCER, Partition, Plan
from specgen.schedule.passes import Log
from specgen.schedule.rows import PipelineRow, StageRow
from specgen.schedule.rules import Rejected


@dataclass(frozen=True)
class ReadAhead:
    """Before: `motif.pipeline` on loops. After: none is left; loops of depth 2 and more are rebuilt.

    Inner loops come first, so that the start-up, queue and short-loop side of an inner loop become part of the
    loop around it. Loops without the policy are not touched and have no row.
    """

    name: ClassVar[str] = "pipeline"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Rewrite every kernel."""
        for function in policy.kernels(module):
            for loop in policy.loops(function.body.block):
                if policy.PIPELINE in loop.attributes:
                    try:
                        _apply(function, loop, log)
                    except Rejected as rejected:
                        log.refuse(*rejected.diagnostics)
                        policy.take_off(loop, *policy.PIPELINE_KEYS)


def _apply(function: func.FuncOp, loop: scf.ForOp, log: Log) -> None:
    depth = legality.depth_of(loop)
    if depth == 1:
        log.rows.append(_row(loop, "serial", 1, None))
        policy.take_off(loop, *policy.PIPELINE_KEYS)
        return
    knowledge = Knowledge(function)
    legality.check_body(loop, depth, knowledge)
    plan = Partition(loop).plan()
    legality.check_size(plan, depth)
    log.rows.append(_row(loop, "pipelined", depth, plan))
    log.stages.extend(_stages(plan, depth))
    pipeline.rewrite(legality.shape(plan, depth, knowledge))


def _row(loop: scf.ForOp, outcome: str, depth: int, plan: Plan | None) -> PipelineRow:
    name = policy.name_of(loop)
    return PipelineRow(
        function=name.function,
        ordinal=name.ordinal,
        loop=name.loop,
        location=name.location,
        outcome=outcome,
        depth=depth,
        queue_records=depth - 1,
        values_per_record=0 if plan is None else len(plan.record),
        read_count=legality.read_count(loop) if plan is None else len(plan.reads),
    )


def _stages(plan: Plan, depth: int) -> list[StageRow]:
    from specgen.ir import locations

    name = policy.name_of(plan.loop)
    positions = {op: number for number, op in enumerate(plan.loop.body.block.ops)}
    return [
        StageRow(
            function=name.function,
            ordinal=name.ordinal,
            loop=name.loop,
            position=positions[placed.op],
            op=placed.op.name,
            location=locations.text(placed.op),
            stage=placed.stage,
            iteration_lookahead=depth - 1 if placed.stage == PRODUCER else 0,
            partition="guarded" if placed.guarded else None,
        )
        for placed in plan.placements()
    ]
