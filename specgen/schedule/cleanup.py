"""Removes what rewriting left over: unused pure ops, conditionals with a known condition, loops that never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from specgen.schedule import policy
from specgen.schedule.effects import Kind, kind_of
from specgen.schedule.emit import constant_of, replace
from specgen.schedule.passes import Log


@dataclass(frozen=True)
class CleanUp:
    """Before and after: a verified module without policies. Ops that stay keep their order and locations.

    Equal ops are not merged: a constant keeps the location of the expression that it came from.
    """

    name: ClassVar[str] = "clean-up"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Clean every kernel."""
        for function in policy.kernels(module):
            _clean(function.body.block)


def _clean(block: Block) -> None:
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _clean(inner)
        if isinstance(op, scf.ForOp) and _never_runs(op):
            replace(op, op.iter_args)
        elif _unused(op):
            op.detach()
            op.erase()


def _never_runs(loop: scf.ForOp) -> bool:
    low, high = constant_of(loop.lb), constant_of(loop.ub)
    return low is not None and high is not None and low >= high


def _unused(op: Operation) -> bool:
    return kind_of(op) is Kind.PURE and bool(op.results) and not any(result.uses for result in op.results)
