"""The order of the loads that fill a queue, in front of a steady loop and in it.

A wait in the loop has to be right for its first round too. LLVM groups loads by buffer: the oldest record in front of
the loop would be complete only when the last group is, and every round would wait as long. So the loads of a queue that
is filled from several buffers keep their order, record by record. In the loop that is so where fences part the records;
without them the loads of a round stand before the last use of the values whose registers they could take.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Operation, OpResult, SSAValue

from specgen.lowering.amdgpu.context import word

LOADS = ("memref.load", "vector.load")


def ordered_loads(function: Operation) -> frozenset[Operation]:
    """The loads of a function's queues that nothing may cross."""
    return frozenset(load for op in function.walk() if isinstance(op, scf.ForOp) for load in _queued(op))


def _queued(loop: scf.ForOp) -> Iterator[Operation]:
    if word(loop.attributes.get("motif.form")) != "steady":
        return
    ending = loop.body.block.last_op
    assert ending is not None
    before = [op for v in loop.iter_args if (op := _load(v)) is not None and op.parent is loop.parent]
    inside = [op for v in ending.operands if (op := _load(v)) is not None and op.parent is loop.body.block]
    if len({op.operands[0] for op in before}) > 1:
        yield from before
        if any(op.name == "motif.fence" for op in loop.body.block.ops):
            yield from inside


def _load(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) and value.op.name in LOADS else None
