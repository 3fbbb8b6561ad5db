"""`early` reads: issued as soon as their addresses are known in their block, and not put off by a back end.

What they are computed from moves along. In the source nothing that they pass may write what they read; where the copies
of a rewritten loop put more in the way, they stop behind it. A source fence behind each group keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from specgen.diagnostics import Diagnostic
from specgen.ir.dialect import EARLY, ExtentsOp, FenceOp
from specgen.ir.optable import OPS
from specgen.schedule import policy
from specgen.schedule.effects import WORKGROUP, Kind, effects_of, memory_of, space_of, used_values
from specgen.schedule.hazards import disjoint
from specgen.schedule.rules import broken, describe

if TYPE_CHECKING:
    from specgen.schedule.passes import Log


_WRITES = frozenset({Kind.WRITE, Kind.ATOMIC, Kind.WORKGROUP_WRITE, Kind.PRIVATE_WRITE})


def check_early(function: FuncOp) -> Iterator[Diagnostic]:
    """A diagnostic for each early read that would pass what may change its value."""
    for op in [op for op in function.walk() if EARLY in op.attributes]:
        way = _Way(op)
        for passed in reversed(way.passed):
            why = _in_the_way(op, passed)
            if why is not None:
                yield broken("early", op, f"{describe(op)} would be issued before {why}", notes=[(passed, "here")])
                break


@dataclass(frozen=True)
class EarlyReads:
    """Before: `motif.early` on reads. After: they stand as far up in their blocks as they may, a fence behind them.

    Reads and fences keep the mark: a back end whose compiler moves reads to where they are used has to hold them.
    """

    name: ClassVar[str] = "early"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Move the early reads of every kernel."""
        for function in policy.kernels(module):
            found = [op for op in function.walk() if EARLY in op.attributes]
            if found:
                function.attributes[policy.TOUCHED] = UnitAttr()
            for op in found:
                _move(op)
            for block in dict.fromkeys(op.parent_block() for op in found):
                assert block is not None
                _fence(block)


class _Way:
    """What an early read needs and what it passes on its way up, in the order of the block."""

    def __init__(self, op: Operation) -> None:
        block = op.parent_block()
        assert block is not None
        self.ops = list(block.ops)
        position = {other: number for number, other in enumerate(self.ops)}
        self.place = position[op]
        self.needed: set[int] = set()
        first = 0
        pending = [op]
        while pending:
            for value in used_values(pending.pop()):
                first = max([first, *(position[user] + 1 for user in _sized(value) if user in position)])
                number = _position(value, block, position)
                if number is None or number in self.needed:
                    continue
                feeder = self.ops[number]
                if _moves(feeder):
                    self.needed.add(number)
                    pending.append(feeder)
                else:
                    first = max(first, number + 1)
        self.first = first

    @property
    def passed(self) -> list[Operation]:
        """The ops between the earliest place and the read that do not move along."""
        return [self.ops[n] for n in range(self.first, self.place) if n not in self.needed]


def _sized(value: SSAValue) -> Iterator[Operation]:
    """What says how large a buffer is: it stands in front of every access."""
    return (use.operation for use in value.uses if isinstance(use.operation, ExtentsOp) and use.index == 0)


def _position(value: SSAValue, block: Block, position: dict[Operation, int]) -> int | None:
    owner = value.owner
    return None if isinstance(owner, Block) else position.get(owner)


def _moves(op: Operation) -> bool:
    return not op.regions and op.name in OPS and OPS[op.name].pure


def _in_the_way(op: Operation, passed: Operation) -> str | None:
    """What of `passed` an early read must stay behind; None when nothing."""
    reads = [memory for _, inner in effects_of(op).ops if (memory := memory_of(inner)) is not None]
    for kind, inner in effects_of(passed).ops:
        if inner.name == "memref.alloc":
            continue  # of memory that the read does not touch: what it touches is among its operands
        if kind in (Kind.FENCE, Kind.OTHER):
            return describe(inner)
        if kind in _WRITES:
            memory = memory_of(inner)
            if memory is None or any(not disjoint(memory, read) for read in reads if not _is_constant(read)):
                return f"{describe(inner)}, which may write what it reads"
        if kind is Kind.WORKGROUP_SYNC and any(_shared(read) for read in reads):
            return f"{describe(inner)}, which orders workgroup memory"
        if kind is Kind.GLOBAL_SYNC and any(not _is_constant(read) for read in reads):
            return f"{describe(inner)}, which orders memory"
    return None


def _shared(memory: SSAValue) -> bool:
    return space_of(memory) in (WORKGROUP, None)


def _is_constant(memory: SSAValue) -> bool:
    """Whether nobody writes the buffer while the kernel runs: declared `read`, and no other overlaps with it."""
    if not isinstance(memory, BlockArgument):
        return False
    function = memory.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return False
    attributes = function.arg_attrs.data[memory.index].data
    access = attributes.get("motif.access")
    return isinstance(access, StringAttr) and access.data == "read" and "motif.noalias" in attributes


def _move(op: Operation) -> None:
    way = _Way(op)
    first = way.first
    for number in range(way.first, way.place):
        if number not in way.needed and _in_the_way(op, way.ops[number]) is not None:
            first = number + 1
    anchor = next((n for n in range(first, way.place) if n not in way.needed), None)
    block = op.parent_block()
    if anchor is None or block is None:
        return
    for number in [n for n in sorted(way.needed) if n > anchor] + [way.place]:
        way.ops[number].detach()
        block.insert_op_before(way.ops[number], way.ops[anchor])


def _fence(block: Block) -> None:
    """A source fence behind each group of early reads that has anything behind it."""
    ops = list(block.ops)
    for number, op in enumerate(ops):
        if EARLY not in op.attributes:
            continue
        following = number + 1
        while following < len(ops) and _moves(ops[following]):
            following += 1
        behind = ops[following] if following < len(ops) else None
        if behind is not None and EARLY not in behind.attributes and not isinstance(ops[number + 1], scf.YieldOp):
            fence = FenceOp()
            fence.location = op.location
            fence.attributes[EARLY] = UnitAttr()
            block.insert_op_after(fence, op)
