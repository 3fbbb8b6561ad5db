"""Inner loops that have to be expanded before the loop around them can be cut.

An inner loop that reads buffers, and writes workgroup memory or takes in what the loop around it carries, is one unit
that could go neither ahead nor stay. With `unroll: full` in linear order it is replaced by its copies first: each of
their ops can then be placed alone.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.schedule import policy, unroll
from specgen.schedule.effects import PARTICIPANTS, effects_of
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.passes import Log


def expand_mixed(function: func.FuncOp, loop: scf.ForOp, log: Log) -> None:
    """Expand the mixed loops inside of `loop` that ask for it. Raises `Rejected` (U1 to U6)."""
    ordered: set[Operation] = set()
    _follow(loop.body.block, set(loop.body.block.args[1:]), ordered)
    for inner in policy.loops(loop.body.block):
        effects = effects_of(inner)
        if not effects.reads or policy.UNROLL not in inner.attributes:
            continue
        if inner not in ordered and not effects.of(*PARTICIPANTS):
            continue
        request = unroll.request_of(inner)
        if request.factor is None and request.order == policy.LINEAR:
            knowledge = Knowledge(function)
            unroll.full(inner, request, unroll.checked_step(inner, knowledge), knowledge, log)


def _follow(block: Block, carried: set[SSAValue], found: set[Operation]) -> bool:
    """Add to `carried` what is made of its values in `block`, and to `found` the operations that take them in."""
    for op in block.ops:
        takes = not carried.isdisjoint(op.operands)
        for region in op.regions:
            for inside in region.blocks:
                if takes:
                    carried.update(inside.args)
                takes |= _follow(inside, carried, found)
        if takes:
            carried.update(op.results)
            found.add(op)
    return not found.isdisjoint(block.ops)
