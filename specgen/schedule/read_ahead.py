"""The pass that applies `pipeline`: judges each loop, plans it, rewrites it and writes its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp

from specgen.ir import locations
from specgen.schedule import chains, legality, pipeline, policy, through
from specgen.schedule.expand import expand_mixed
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.partition import PRODUCER, Partition, Plan
from specgen.schedule.passes import Log
from specgen.schedule.rows import PipelineRow, StageRow
from specgen.schedule.rules import Rejected, broken


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
                if any(key in loop.attributes for key in policy.PIPELINE_KEYS):
                    try:
                        _apply(function, loop, log)
                    except Rejected as rejected:
                        log.refuse(*rejected.diagnostics)
                        policy.take_off(loop, *policy.PIPELINE_KEYS)
            chains.untag(function)
            through.forget(function)


def _apply(function: func.FuncOp, loop: scf.ForOp, log: Log) -> None:
    legality.check_through(loop)
    lead = legality.lead_of(loop)
    depth = legality.depth_of(loop)
    if depth == 1:
        log.rows.append(_row(loop, "serial", 1, None))
        policy.take_off(loop, *policy.PIPELINE_KEYS)
        return
    expand_mixed(function, loop, log)
    knowledge = Knowledge(function)
    legality.check_body(loop, depth, knowledge)
    lets = through.take(loop)
    through.check_computed(loop, lets)
    plan = Partition(loop, lets=lets).plan()
    through.check_rounding(lets, plan.record, plan.producer)
    legality.check_size(plan, depth)
    links = chains.chains_of(loop)
    if lead and not links.links:
        raise Rejected([broken("lead-chain", loop, "no read of the loop needs the value of another read")])
    distance = depth - 1 if lead is None else lead
    shape = legality.shape(plan, depth, knowledge)
    if shape.long is False:
        log.rows.append(_row(loop, "serial", depth, None, reason=f"never runs {depth} iterations"))
    else:
        log.rows.append(_row(loop, "pipelined", depth, plan, distance if links.links else 0))
        log.stages.extend(_stages(plan, depth, links, distance))
    if distance:
        links.tag()
    steady = pipeline.rewrite(shape)
    for height in range(1, links.links + 1) if distance else ():
        if steady is not None:
            steady = _further(function, steady, height, distance)


def _further(function: func.FuncOp, loop: scf.ForOp, height: int, distance: int) -> scf.ForOp | None:
    """Let the reads of this height and more run `distance` iterations ahead of the rest of the steady loop."""
    plan = Partition(loop, chains.tagged(loop, height)).plan()
    legality.check_size(plan, distance + 1)
    return pipeline.rewrite(legality.shape(plan, distance + 1, Knowledge(function)))


def _row(
    loop: scf.ForOp, outcome: str, depth: int, plan: Plan | None, lead: int = 0, reason: str | None = None
) -> PipelineRow:
    name = policy.name_of(loop)
    return PipelineRow(
        function=name.function,
        ordinal=name.ordinal,
        loop=name.loop,
        location=name.location,
        outcome=outcome,
        depth=depth,
        queue_records=0 if plan is None else depth - 1,
        values_per_record=0 if plan is None else len(plan.record),
        read_count=legality.read_count(loop) if plan is None else len(plan.reads),
        lead=lead or None,
        reason=reason,
        instance=name.instance,
    )


def _stages(plan: Plan, depth: int, links: chains.Chains, lead: int) -> list[StageRow]:
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
            iteration_lookahead=depth - 1 + lead * links.link_of(placed.op) if placed.stage == PRODUCER else 0,
            partition="guarded" if placed.guarded else None,
        )
        for placed in plan.placements()
    ]
