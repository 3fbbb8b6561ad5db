"""Removes what rewriting left over: unused pure ops, loops of our own that run never or once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from specgen.schedule import policy
from specgen.schedule.copies import Body
from specgen.schedule.effects import Kind, kind_of
from specgen.schedule.emit import Emitter, constant_of, replace
from specgen.schedule.orders import emit_copies
from specgen.schedule.passes import Log


@dataclass(frozen=True)
class CleanUp:
    """Before and after: a verified module without policies. Ops that stay keep their order and locations.

    Equal ops are not merged: a constant keeps the location of the expression that it came from. Functions without
    policies and loops that the author wrote are left alone.
    """

    name: ClassVar[str] = "clean-up"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Clean every kernel."""
        for function in policy.kernels(module):
            if policy.TOUCHED in function.attributes:
                _clean(function.body.block)


def _clean(block: Block) -> None:
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _clean(inner)
        if isinstance(op, scf.ForOp) and policy.FORM in op.attributes:
            _simplify(op)
        elif _unused(op):
            op.detach()
            op.erase()


def _simplify(loop: scf.ForOp) -> None:
    trips = _trips(loop)
    if trips == 0:
        replace(loop, loop.iter_args)
    elif trips == 1:
        block = loop.parent_block()
        assert block is not None
        emit = Emitter(block, loop.location, loop)
        replace(loop, emit_copies(Body(loop), policy.LINEAR, emit, [loop.lb], loop.iter_args, None))


def _trips(loop: scf.ForOp) -> int | None:
    noted = policy.integer(loop.attributes.get(policy.TRIPS))
    low, high, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if noted is not None or low is None or high is None or step is None or step <= 0:
        return noted
    return max(0, -(-(high - low) // step))


def _unused(op: Operation) -> bool:
    return kind_of(op) is Kind.PURE and bool(op.results) and not any(result.uses for result in op.results)
