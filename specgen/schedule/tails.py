"""The rest of an unrolled steady loop, run by the serial side that the pipelined loop has for short loops.

Before (after `pipeline`)::

    results = if long enough { start-up; steady; drain } else { serial from lower }

After, when the steady loop runs whole rounds only up to `end`::

    state, next = if long enough { start-up; rounds up to end; drain; end } else { initial values, lower }
    results = serial from next

A rolled remainder of the steady loop would carry the queue through copies, which wait for every load: it would cost
code and registers and hide nothing. The serial loop is there already.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, Region, SSAValue

from specgen.schedule import policy
from specgen.schedule.emit import Emitter


def serial_side(loop: scf.ForOp) -> scf.ForOp | None:
    """The serial loop of the conditional around a steady loop; None when there is no such conditional."""
    parent = loop.parent_op()
    if loop.attributes.get(policy.FORM) != StringAttr("steady") or not isinstance(parent, scf.IfOp):
        return None
    if loop.parent_block() is not parent.true_region.block:
        return None
    ops = list(parent.false_region.block.ops)
    if len(ops) != 2 or not isinstance(ops[0], scf.ForOp):
        return None
    serial, end = ops[0], ops[1]
    fits = serial.attributes.get(policy.FORM) == StringAttr("serial") and tuple(end.operands) == tuple(serial.results)
    return serial if fits else None


def continue_serially(serial: scf.ForOp, end: SSAValue, step: int) -> None:
    """Let the serial loop run behind its conditional, from `end` (a value of the true side) or from its own bound.

    The drain on the true side then ends with the iteration before `end`.
    """
    conditional = serial.parent_op()
    assert isinstance(conditional, scf.IfOp)
    _end_drain(conditional.true_region.block, end, step)
    block = conditional.parent_block()
    assert block is not None
    sides = [conditional.true_region.block, conditional.false_region.block]
    for side, values in zip(sides, ((end,), (*serial.iter_args, serial.lb)), strict=True):
        last = side.last_op
        assert last is not None
        kept = last.operands if side is sides[0] else ()
        ending = scf.YieldOp(*kept, *values)
        ending.location = last.location
        side.insert_op_before(ending, last)
        last.detach()
        last.erase()
    serial.detach()
    for side in sides:
        region = side.parent_region()
        assert region is not None
        region.detach_block(side)
    types = [*(result.type for result in conditional.results), IndexType()]
    shared = scf.IfOp(conditional.cond, types, Region(sides[0]), Region(sides[1]))
    shared.location = conditional.location
    block.insert_op_before(shared, conditional)
    block.insert_op_before(serial, conditional)
    for old, new in zip(conditional.results, shared.results, strict=False):
        new.name_hint = old.name_hint
    serial.operands = [shared.results[-1], serial.ub, serial.step, *shared.results[:-1]]
    for old, result in zip(conditional.results, serial.results, strict=True):
        old.replace_all_uses_with(result)
    conditional.detach()
    conditional.erase()


def _end_drain(block: Block, end: SSAValue, step: int) -> None:
    for op in list(block.ops):
        if policy.LAST in op.attributes:
            last = Emitter(block, op.location, op).offset(end, -step)
            last.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(last)
