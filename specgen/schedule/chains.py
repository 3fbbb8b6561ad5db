"""Chains of reads: loads whose values feed the address or guard of other loads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from specgen.schedule import policy
from specgen.schedule.effects import Kind, kind_of


@dataclass(frozen=True)
class Chains:
    """For each load of a body its height: 0 when no other load needs its value, else one more than the tallest
    load that does; the loads of an inner loop move together and have one height. `closures[h]` holds the ops that
    loads of height `h` and more need, those loads included.
    """

    heights: dict[Operation, int]
    closures: tuple[frozenset[Operation], ...]

    @property
    def links(self) -> int:
        """Links of the longest chain."""
        return max(self.heights.values(), default=0)

    def link_of(self, op: Operation) -> int:
        """The tallest load that needs `op` (or anything inside of it)."""
        return max(
            (h for h, closure in enumerate(self.closures) if any(inner in closure for inner in op.walk())), default=0
        )

    def tag(self) -> None:
        """Write the heights on the loads, so that they survive copying."""
        for load, height in self.heights.items():
            load.attributes[policy.HEIGHT] = IntegerAttr(height, 64)


def chains_of(loop: scf.ForOp) -> Chains:
    """The chains of the reads of `loop`'s body."""
    loads = [op for op in loop.walk() if kind_of(op) is Kind.READ]
    needs = {load: _closure(load, loop) for load in loads}
    units = {load: _unit(load, loop) for load in loads}
    tall: dict[Operation, int] = dict.fromkeys(units.values(), 0)
    for unit in reversed(list(tall)):
        members = {load for load in loads if units[load] is unit}
        fed = {units[load] for load in loads if members & needs[load]} - {unit}
        tall[unit] = max((tall[other] + 1 for other in fed), default=0)
    heights = {load: tall[units[load]] for load in loads}
    tallest = max(heights.values(), default=0)
    closures = [
        frozenset(op for load in loads if heights[load] >= height for op in (load, *needs[load]))
        for height in range(tallest + 1)
    ]
    return Chains(heights, tuple(closures))


def _unit(load: Operation, loop: scf.ForOp) -> Operation:
    """What moves with the load: the outermost inner loop around it, or the load alone."""
    unit, parent = load, load.parent_op()
    while parent is not None and parent is not loop:
        if isinstance(parent, scf.ForOp):
            unit = parent
        parent = parent.parent_op()
    return unit


def _closure(load: Operation, loop: scf.ForOp) -> set[Operation]:
    """Ops of the body that decide whether and where `load` reads, at any nesting."""
    found: set[Operation] = set()
    pending: list[SSAValue] = list(load.operands) + _controls(load, loop)
    while pending:
        owner = pending.pop().owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        if op is None or op in found or op is loop or not _within(op, loop):
            continue
        found.add(op)
        pending.extend(op.operands)
        pending.extend(_controls(op, loop))
        for region in op.regions:
            for block in region.blocks:
                if block.last_op is not None:
                    pending.extend(block.last_op.operands)
    return found


def _controls(op: Operation, loop: scf.ForOp) -> list[SSAValue]:
    values: list[SSAValue] = []
    parent = op.parent_op()
    while parent is not None and parent is not loop:
        values.extend(parent.operands)
        parent = parent.parent_op()
    return values


def _within(op: Operation, loop: scf.ForOp) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not loop:
        parent = parent.parent_op()
    return parent is loop


def tagged(loop: scf.ForOp, height: int) -> frozenset[Operation]:
    """Loads of `loop` that were tagged with at least `height`."""
    heights = ((op, policy.integer(op.attributes.get(policy.HEIGHT))) for op in loop.walk())
    return frozenset(op for op, known in heights if known is not None and known >= height)


def untag(root: Operation) -> None:
    """Remove the tags."""
    for op in root.walk():
        op.attributes.pop(policy.HEIGHT, None)
