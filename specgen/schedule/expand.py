"""Inner loops that have to be expanded before the loop around them can be cut.

An inner loop that reads buffers and writes workgroup memory is one unit that could go neither ahead nor stay. With
`unroll: full` in linear order it is replaced by its copies first: each of their ops can then be placed alone.
"""

from __future__ import annotations

from xdsl.dialects import func, scf

from specgen.schedule import policy, unroll
from specgen.schedule.effects import PARTICIPANTS, effects_of
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.passes import Log


def expand_mixed(function: func.FuncOp, loop: scf.ForOp, log: Log) -> None:
    """Expand the mixed loops inside of `loop` that ask for it. Raises `Rejected` (U1 to U6)."""
    for inner in policy.loops(loop.body.block):
        effects = effects_of(inner)
        if not effects.reads or not effects.of(*PARTICIPANTS) or policy.UNROLL not in inner.attributes:
            continue
        request = unroll.request_of(inner)
        if request.factor is None and request.order == policy.LINEAR:
            knowledge = Knowledge(function)
            unroll.full(inner, request, unroll.checked_step(inner, knowledge), knowledge, log)
