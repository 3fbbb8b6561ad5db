"""Copies of the two halves of a plan: one iteration's producer, one iteration's consumer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.schedule.effects import body_of
from specgen.schedule.emit import Emitter, Values
from specgen.schedule.partition import Plan


class Halves:
    """Emits halves of `plan`, as often as asked."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.body = plan.loop.body.block

    def producer(self, emit: Emitter, counter: SSAValue) -> list[SSAValue]:
        """Run the reads of iteration `counter`; the record."""
        values: Values = {self.body.args[0]: counter}
        self._produce(self.body, emit, values)
        return [values[value] for value in self.plan.record]

    def _produce(self, block: Block, emit: Emitter, values: Values) -> None:
        for op in body_of(block):
            if op in self.plan.splits:
                self._guarded_producer(op, emit, values)
            elif op in self.plan.producer:
                emit.clone(op, values)

    def _guarded_producer(self, op: Operation, emit: Emitter, values: Values) -> None:
        """The reads behind their guard; on the other side the record holds what nothing looks at."""
        assert isinstance(op, scf.IfOp)
        reading = self.plan.splits[op]
        exports = self.plan.exports(op)
        blocks = [Block(), Block()]
        inner = _at(emit, op, blocks[reading])
        self._produce(op.regions[reading].blocks[0], inner, values)
        inner.finish([values[value] for value in exports])
        other = _at(emit, op, blocks[1 - reading])
        other.finish([other.anything(value.type) for value in exports])
        types = [value.type for value in exports]
        condition = values.get(op.cond, op.cond)
        guarded = _at(emit, op, emit.block, emit.anchor).conditional(condition, types, *blocks)
        for value, result in zip(exports, guarded.results, strict=True):
            result.name_hint = value.name_hint
            values[value] = result

    def consumer(
        self, emit: Emitter, counter: SSAValue | None, record: Sequence[SSAValue], carried: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Run the ordered part of an iteration on its record; the carried values after it.

        `counter` may be None when the plan does not use it.
        """
        values: Values = dict(zip(self.plan.record, record, strict=True))
        values.update(zip(self.body.args[1:], carried, strict=True))
        if counter is not None:
            values[self.body.args[0]] = counter
        self._consume(self.body, emit, values)
        return _yielded(self.body, values)

    def _consume(self, block: Block, emit: Emitter, values: Values) -> None:
        for op in body_of(block):
            if op in self.plan.splits:
                self._guarded_consumer(op, emit, values)
            elif op not in self.plan.producer or op in self.plan.repeated:
                emit.clone(op, values)

    def _guarded_consumer(self, op: Operation, emit: Emitter, values: Values) -> None:
        assert isinstance(op, scf.IfOp)
        reading = self.plan.splits[op]
        blocks = []
        for number, region in enumerate(op.regions):
            block = Block()
            inner = _at(emit, op, block)
            if region.blocks:
                source = region.blocks[0]
                scope = values if number == reading else dict(values)
                if number == reading:
                    self._consume(source, inner, scope)
                else:
                    for nested in body_of(source):
                        inner.clone(nested, scope)
                inner.finish(_yielded(source, scope))
            else:
                inner.finish([])
            blocks.append(block)
        condition = values.get(op.cond, op.cond)
        types = [result.type for result in op.results]
        rebuilt = _at(emit, op, emit.block, emit.anchor).conditional(condition, types, *blocks)
        rebuilt.attributes.update(op.attributes)
        for old, new in zip(op.results, rebuilt.results, strict=True):
            new.name_hint = old.name_hint
            values[old] = new


def _at(emit: Emitter, op: Operation, block: Block, anchor: Operation | None = None) -> Emitter:
    return Emitter(block, op.location, anchor)


def _yielded(block: Block, values: Values) -> list[SSAValue]:
    end = block.last_op
    assert isinstance(end, scf.YieldOp)
    return [values.get(value, value) for value in end.arguments]
