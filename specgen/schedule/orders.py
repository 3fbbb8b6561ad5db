"""The order of the copies of an unrolled body: linear, interleaved or recurrence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from specgen.ir.dialect import FenceOp
from specgen.schedule import policy
from specgen.schedule.copies import Body, Copies, Instance, arranged, in_source_order
from specgen.schedule.effects import Kind
from specgen.schedule.emit import Emitter
from specgen.schedule.hazards import Hazards


def emit_copies(
    body: Body,
    order: str,
    emit: Emitter,
    counters: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    step: int | None,
) -> list[SSAValue]:
    """Emit one copy of `body` a counter; the carried values after them."""
    copies = Copies(body, emit, counters, carried)
    count = len(counters)
    if order == policy.LINEAR or count == 1:
        _place(copies, in_source_order(body, count))
        return copies.results()
    hazards = Hazards(tuple(body.ops), tuple(body.effects), body.counter, step)
    if order == policy.INTERLEAVED:
        _place(copies, arranged(body, count, lambda instance: (instance[1], instance[0]), hazards))
        return copies.results()
    recurrence = Recurrence(body, count)
    previous: int | None = None
    for instance in arranged(body, count, recurrence.key, hazards):
        group = recurrence.group(instance)
        if previous is not None and group != previous:
            emit.add(FenceOp())
        copies.place(instance)
        previous = group
    return copies.results()


def _place(copies: Copies, instances: Iterable[Instance]) -> None:
    for instance in instances:
        copies.place(instance)


@dataclass
class Recurrence:
    """Groups of instances for the recurrence order; a fence goes between groups.

    The reads of a copy and what they need are its producer. What depends on a value that really recurs (one that
    depends on itself from iteration to iteration, unlike a queue, whose slots only pass a value on) is its chain.
    The chains run copy by copy. A read whose value is used within the body goes ahead of all chains. A read whose
    value is handed to the next round goes right behind the chain that used up the oldest value still in the queue,
    so that it may be loaded into the same registers: with a queue of D iterations and F copies, D copies are
    handed on, and copy k of those follows the chain of copy k - (F - D). Independent work on what was read goes ahead
    too where there is no queue; with one, collectives and what leads to them do, for copies whose values come from it.
    """

    body: Body
    count: int

    def __post_init__(self) -> None:
        recurring = _recurring(self.body)
        self.chain = self._dependent(recurring)
        self.producer = self._producer()
        queue = _queue_length(self.body, recurring)
        self.early = max(0, self.count - queue)
        self.waiting = queue if queue else self.count
        hoist = not queue or self.body.has_collective
        self.ahead = frozenset(range(len(self.body.ops))) - self.chain if hoist else self.producer

    def group(self, instance: Instance) -> int:
        """Number of the instance's group: 0 ahead of all chains, then chains (odd) and late reads (even)."""
        copy, position = instance
        if position in self.producer:
            return 0 if copy < self.early else 2 * (copy - self.early + 1)
        if position in self.ahead and copy < self.waiting:
            return 0
        return 2 * copy + 1

    def key(self, instance: Instance) -> tuple[int, ...]:
        """Sorting key: the group, then source order."""
        return self.group(instance), *instance

    def _dependent(self, recurring: set[SSAValue]) -> frozenset[int]:
        seen = set(recurring)
        found = set()
        for position, op in enumerate(self.body.ops):
            if any(value in seen for value in self.body.uses[position]):
                seen.update(op.results)
                found.add(position)
        return frozenset(found)

    def _producer(self) -> frozenset[int]:
        """The closure of the reads that need no carried value at all."""
        body = self.body
        bound: set[SSAValue] = set(body.arguments)
        free = []
        for position, op in enumerate(body.ops):
            if any(value in bound for value in body.uses[position]):
                bound.update(op.results)
            else:
                free.append(position)
        wanted = {p for p in free if Kind.READ in body.effects[p].kinds and not body.effects[p].ordered}
        pending = list(wanted)
        while pending:
            for value in body.uses[pending.pop()]:
                source = body.definition(value)
                if source is not None and source not in wanted:
                    wanted.add(source)
                    pending.append(source)
        return frozenset(wanted)


def _sources(body: Body, value: SSAValue) -> set[SSAValue]:
    """The carried arguments that a value of the body depends on."""
    found: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in body.arguments:
            found.add(current)
            continue
        position = body.definition(current)
        if position is not None:
            pending.extend(body.uses[position])
    return found


def _recurring(body: Body) -> set[SSAValue]:
    """Carried arguments that depend on themselves, or on one that does."""
    depends = {arg: _sources(body, value) for arg, value in zip(body.arguments, body.yielded, strict=True)}
    reach = {arg: set(direct) for arg, direct in depends.items()}
    changed = True
    while changed:
        changed = False
        for known in reach.values():
            wider = known.union(*(reach[other] for other in known)) if known else known
            if wider != known:
                known |= wider
                changed = True
    cyclic = {arg for arg, known in reach.items() if arg in known}
    return {arg for arg, known in reach.items() if known & cyclic}


def _queue_length(body: Body, recurring: set[SSAValue]) -> int:
    """For how many rounds a value is passed on before it is used: the longest way through the other arguments."""
    yielded = dict(zip(body.arguments, body.yielded, strict=True))
    lengths: dict[SSAValue, int] = {}

    def length(argument: SSAValue) -> int:
        if argument not in lengths:
            sources = _sources(body, yielded[argument])
            lengths[argument] = 1 + max((length(source) for source in sources), default=0)
        return lengths[argument]

    return max((length(argument) for argument in body.arguments if argument not in recurring), default=0)
