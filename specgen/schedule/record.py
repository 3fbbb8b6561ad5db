"""What a queue record holds: the fewest registers that give the consumer every producer value it uses.

A value is either queued or, where it is an index addition or subtraction (or a constant) whose inputs the consumer
has anyway, computed again. Among the choices the one with fewer queued 32-bit registers wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from specgen.schedule.effects import used_values


@dataclass(frozen=True)
class Needs:
    """The producer values that the consumer uses, in program order, and whether it uses the loop's counter."""

    values: tuple[SSAValue, ...]
    counter: bool


@dataclass(frozen=True)
class Chosen:
    """The values of a record in program order, and the ops that the consumer computes again."""

    record: tuple[SSAValue, ...]
    repeated: frozenset[Operation]


def registers(type_: Attribute) -> int:
    """32-bit registers that a value of the type takes in a work-item."""
    if isinstance(type_, VectorType):
        element = type_.get_element_type()
        bits = 64 if isinstance(element, IndexType) else _bits(element)
        return max(1, -(-bits * type_.get_shape()[0] // 32))
    return 2 if isinstance(type_, IndexType) else max(1, -(-_bits(type_) // 32))


def _bits(type_: Attribute) -> int:
    return type_.bitwidth if isinstance(type_, FixedBitwidthType) else 32


def needs(loop: scf.ForOp, producer: set[Operation], splits: dict[Operation, int]) -> Needs:
    """What the consumer takes from the producer."""
    used: set[SSAValue] = set()
    for op in _consumer_ops(loop.body.block, producer, splits):
        used.update(op.operands if op in splits else used_values(op))
    order = [result for op in loop.body.walk() for result in op.results if op in producer]
    return Needs(tuple(v for v in order if v in used), loop.body.block.args[0] in used)


def _consumer_ops(block: Block, producer: set[Operation], splits: dict[Operation, int]) -> Iterator[Operation]:
    """Ops of the consumer; of a split conditional itself and then the ops of its branches."""
    for op in block.ops:
        if op in splits:
            yield op
            for number, region in enumerate(op.regions):
                for inner in region.blocks:
                    if number == splits[op]:
                        yield from _consumer_ops(inner, producer, splits)
                    else:
                        yield from inner.ops
        elif op not in producer:
            yield op


def choose(
    loop: scf.ForOp, producer: set[Operation], needed: tuple[SSAValue, ...], queued_ops: Collection[Operation] = ()
) -> Chosen:
    """The record for the needed values; those of `queued_ops` are never computed again."""
    chooser = _Chooser(loop, producer, needed, queued_ops)
    queued = chooser.settle(set(needed))
    improved = True
    while improved:
        improved = False
        for candidate in chooser.candidates():
            if candidate in queued:
                continue
            other = chooser.settle(queued | set(needed) | {candidate})
            if chooser.weight(other) < chooser.weight(queued):
                queued, improved = other, True
    return Chosen(tuple(v for v in chooser.order if v in queued), chooser.repeated(queued))


class _Chooser:
    def __init__(
        self,
        loop: scf.ForOp,
        producer: set[Operation],
        needed: tuple[SSAValue, ...],
        queued_ops: Collection[Operation],
    ) -> None:
        self.counter = loop.body.block.args[0]
        self.producer = producer
        self.queued_ops = queued_ops
        self.needed = needed
        self.order = [result for op in loop.body.walk() if op in producer for result in op.results]

    def candidates(self) -> list[SSAValue]:
        """Inputs of cheap ops, in program order."""
        inputs = {value for op in self.producer if self._cheap(op) for value in op.operands}
        return [value for value in self.order if value in inputs]

    def weight(self, queued: set[SSAValue]) -> tuple[int, int]:
        """Registers, then values."""
        return sum(registers(value.type) for value in queued), len(queued)

    def settle(self, queued: set[SSAValue]) -> set[SSAValue]:
        """`queued` without what can be computed from the rest or is not needed."""
        kept = set(queued)
        for value in reversed(self.order):
            if value in kept:
                rest = kept - {value}
                if all(self.available(need, rest) for need in self.needed):
                    kept = rest
        return kept

    def available(self, value: SSAValue, queued: set[SSAValue]) -> bool:
        """Whether the consumer has the value."""
        owner = value.owner
        if value in queued or value is self.counter or not isinstance(owner, Operation):
            return True
        if owner not in self.producer:
            return True
        return self._cheap(owner) and all(self.available(operand, queued) for operand in owner.operands)

    def repeated(self, queued: set[SSAValue]) -> frozenset[Operation]:
        """The ops that have to be computed again."""
        result: set[Operation] = set()
        pending = [value for value in self.needed if value not in queued]
        while pending:
            owner = pending.pop().owner
            if isinstance(owner, Operation) and owner in self.producer and owner not in result:
                result.add(owner)
                pending.extend(operand for operand in owner.operands if operand not in queued)
        return frozenset(result)

    def _cheap(self, op: Operation) -> bool:
        if isinstance(op, arith.ConstantOp):
            return True
        sum_of_indices = isinstance(op, arith.AddiOp | arith.SubiOp) and isinstance(op.results[0].type, IndexType)
        return sum_of_indices and op not in self.queued_ops
