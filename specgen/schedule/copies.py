"""Copies of a loop body: which instances of its ops have to keep their order, and an order for all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from specgen.schedule.effects import Effects, Kind, body_of, effects_of, used_values
from specgen.schedule.emit import Emitter, Values
from specgen.schedule.hazards import Hazards

Instance = tuple[int, int]
"""An op of a copy: number of the copy, position in the body."""

Key = Callable[[Instance], tuple[int, ...]]


@dataclass
class Body:
    """The body of a loop with what the orders ask about it."""

    loop: scf.ForOp

    def __post_init__(self) -> None:
        block = self.loop.body.block
        end = block.last_op
        assert isinstance(end, scf.YieldOp)
        self.ops: list[Operation] = body_of(block)
        self.counter = block.args[0]
        self.arguments: tuple[SSAValue, ...] = tuple(block.args[1:])
        self.yielded: tuple[SSAValue, ...] = tuple(end.arguments)
        self.position = {op: number for number, op in enumerate(self.ops)}
        self.uses: list[list[SSAValue]] = [list(dict.fromkeys(used_values(op))) for op in self.ops]
        self.effects: list[Effects] = [effects_of(op) for op in self.ops]

    def definition(self, value: SSAValue) -> int | None:
        """Position of the op of the body that defines the value."""
        owner = value.owner
        return self.position.get(owner) if isinstance(owner, Operation) else None

    def source(self, copy: int, value: SSAValue) -> Instance | None:
        """The instance that defines `value` as copy `copy` sees it; None for values from before the copies."""
        while value in self.arguments:
            if copy == 0:
                return None
            value = self.yielded[self.arguments.index(value)]
            copy -= 1
        position = self.definition(value)
        return None if position is None else (copy, position)

    @property
    def has_collective(self) -> bool:
        """Whether lanes meet in the body."""
        return any(Kind.COLLECTIVE in effects.kinds for effects in self.effects)


class Copies:
    """Emits `counters` copies of a body, one after the other in the carried values, in any legal order."""

    def __init__(self, body: Body, emit: Emitter, counters: Sequence[SSAValue], carried: Sequence[SSAValue]) -> None:
        self.body = body
        self.emit = emit
        self.counters = counters
        self.carried = carried
        self.values: list[Values] = [{} for _ in counters]

    def value(self, copy: int, value: SSAValue) -> SSAValue:
        """`value` as copy `copy` sees it."""
        body = self.body
        while value in body.arguments:
            number = body.arguments.index(value)
            if copy == 0:
                return self.carried[number]
            value = body.yielded[number]
            copy -= 1
        if value is body.counter:
            return self.counters[copy]
        return self.values[copy].get(value, value)

    def place(self, instance: Instance) -> None:
        """Emit one instance; everything that it uses has been emitted."""
        copy, position = instance
        values = {value: self.value(copy, value) for value in self.body.uses[position]}
        op = self.body.ops[position]
        self.emit.clone(op, values)
        for result in op.results:
            self.values[copy][result] = values[result]

    def results(self) -> list[SSAValue]:
        """The carried values after the last copy."""
        last = len(self.counters) - 1
        return [self.value(last, value) for value in self.body.yielded]


def in_source_order(body: Body, count: int) -> Iterable[Instance]:
    """Copy by copy."""
    return ((copy, position) for copy in range(count) for position in range(len(body.ops)))


def arranged(body: Body, count: int, key: Key, hazards: Hazards) -> list[Instance]:
    """All instances, always the one with the least key next of those whose predecessors are placed."""
    waiting, followers = _constraints(body, count, hazards)
    ready = [(key(instance), instance) for instance, number in waiting.items() if number == 0]
    heapq.heapify(ready)
    result = []
    while ready:
        _, instance = heapq.heappop(ready)
        result.append(instance)
        for follower in followers.get(instance, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, (key(follower), follower))
    assert len(result) == len(waiting)
    return result


def _constraints(
    body: Body, count: int, hazards: Hazards
) -> tuple[dict[Instance, int], dict[Instance, list[Instance]]]:
    edges: set[tuple[Instance, Instance]] = set()
    instances = list(in_source_order(body, count))
    for copy, position in instances:
        for value in body.uses[position]:
            source = body.source(copy, value)
            if source is not None:
                edges.add((source, (copy, position)))
    acting = [instance for instance in instances if hazards.acts(instance[1])]
    binding = [(number, instance) for number, instance in enumerate(acting) if hazards.binds(instance[1])]
    for number, instance in binding:
        edges.update((earlier, instance) for earlier in acting[:number] if hazards.ordered(earlier, instance))
        edges.update((instance, later) for later in acting[number + 1 :] if hazards.ordered(instance, later))
    waiting = dict.fromkeys(instances, 0)
    followers: dict[Instance, list[Instance]] = {}
    for before, after in sorted(edges):
        waiting[after] += 1
        followers.setdefault(before, []).append(after)
    return waiting, followers
