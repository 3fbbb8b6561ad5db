"""`early` of a `let`: its reads carry a mark, and the scheduler issues them as soon as their addresses are known."""

from __future__ import annotations

import dataclasses

from specgen.binding.context import Context
from specgen.binding.instance import Op
from specgen.expressions import Expr

READS = ("memref.load", "vector.load", "vector.maskedload")


def mark(ctx: Context, first: int, key: Expr) -> None:
    """Mark the reads among the operations of the current block from number `first` on; SG-LOOP when there are none."""
    ops = ctx.builder.blocks[-1].ops
    found = [number for number in range(first, len(ops)) if _reads(ops[number])]
    for number in found:
        ops[number] = dataclasses.replace(ops[number], extra=(*ops[number].extra, ("motif.early", True)))
    if not found:
        ctx.report("SG-LOOP", "`early` is about reads; this statement reads nothing.", at=key.span, hint="Remove it.")


def _reads(op: Op) -> bool:
    return op.name in READS or any(_reads(inner) for region in op.regions for inner in region.ops)
