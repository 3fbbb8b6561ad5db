"""Read-ahead: rebuilds a loop so that the reads of `depth - 1` later iterations are in flight.

Result, for bounds that are not known (constant ones fold the guard, so that one side remains)::

    if begin fits `index` and begin < end          # begin = lower + (depth - 1) * step
        producers of the first depth - 1 iterations
        for i = begin to end                       # steady: carries the carried values, then the queue
            producer(i); consumer(i - lead, oldest record); shift
        consumers of the records that are left
    else
        the serial loop

Each iteration runs its producer once and its consumer once, in order: the set of addresses read and the order of
every operation on carried values are those of the serial loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from specgen.schedule import policy
from specgen.schedule.emit import INDEX_MAX, Counter, Emitter, replace
from specgen.schedule.partition import Plan
from specgen.schedule.stages import Halves


@dataclass(frozen=True)
class Shape:
    """A plan with its numbers: `depth` >= 2 iterations, a positive `step`, `trips` when exact.

    `fits` tells that `lower + (depth - 1) * step` is proven not to overflow, `long` whether the loop is proven to
    run at least `depth` iterations (True), fewer (False) or neither (None).
    """

    plan: Plan
    depth: int
    step: int
    trips: int | None
    fits: bool
    long: bool | None
    counter: Counter

    @property
    def ahead(self) -> int:
        """Records in the queue."""
        return self.depth - 1

    @property
    def lead(self) -> int:
        """How far the producer's counter is ahead of the consumer's."""
        return self.ahead * self.step


def rewrite(shape: Shape) -> scf.ForOp | None:
    """Put the pipelined form in the place of the plan's loop; the steady loop, None when the loop is too short."""
    loop = shape.plan.loop
    block = loop.parent_block()
    assert block is not None
    emit = Emitter(block, loop.location, loop)
    steady: scf.ForOp | None = None
    if shape.long is None:
        results, steady = _guarded(shape, emit)
    elif shape.long:
        results, steady = _pipelined(shape, emit, emit.offset(loop.lb, shape.lead, "begin"))
    else:
        results = _serial(shape, emit, alone=True)
    replace(loop, results)
    return steady


def _guarded(shape: Shape, emit: Emitter) -> tuple[Sequence[SSAValue], scf.ForOp]:
    loop = shape.plan.loop
    begin, condition = _guard(shape, emit)
    blocks = [Block(), Block()]
    ahead = emit.inside(blocks[0])
    results, steady = _pipelined(shape, ahead, begin)
    ahead.finish(results)
    serial = emit.inside(blocks[1])
    serial.finish(_serial(shape, serial, alone=False))
    return emit.conditional(condition, [result.type for result in loop.results], *blocks).results, steady


def _guard(shape: Shape, emit: Emitter) -> tuple[SSAValue, SSAValue]:
    """The first index of the steady loop, and whether the loop is long enough for it."""
    loop = shape.plan.loop
    if shape.fits:
        begin = emit.offset(loop.lb, shape.lead, "begin")
        return begin, emit.less(begin, loop.ub)
    limit = emit.index(INDEX_MAX - shape.lead)
    fits = emit.value(arith.CmpiOp(loop.lb, limit, "sle"))
    begin = emit.offset(emit.value(arith.MinSIOp(loop.lb, limit)), shape.lead, "begin")
    return begin, emit.value(arith.AndIOp(fits, emit.less(begin, loop.ub)))


def _serial(shape: Shape, emit: Emitter, *, alone: bool) -> Sequence[SSAValue]:
    """A copy of the loop; the short-loop side (`alone` false) also loses the unroll policy."""
    loop = shape.plan.loop
    copy = emit.clone(loop, {})
    assert isinstance(copy, scf.ForOp)
    policy.take_off(copy, *policy.PIPELINE_KEYS)
    if shape.trips is not None:
        copy.attributes[policy.TRIPS] = IntegerAttr(shape.trips, 64)
    if not alone:
        policy.take_off(copy, *policy.UNROLL_KEYS)
        copy.attributes[policy.FORM] = StringAttr("serial")
    return copy.results


def _pipelined(shape: Shape, emit: Emitter, begin: SSAValue) -> tuple[list[SSAValue], scf.ForOp]:
    loop, plan = shape.plan.loop, shape.plan
    halves = Halves(plan)
    width, carried = len(plan.record), len(loop.iter_args)
    queue: list[SSAValue] = []
    for number in range(shape.ahead):
        queue += halves.producer(emit, emit.counter(loop.lb, number * shape.step, shape.counter))
    steady = emit.loop((begin, loop.ub, loop.step), [*loop.iter_args, *queue], _steady_attributes(shape))
    _name_arguments(shape, steady)
    inner = emit.inside(steady.body.block)
    counter, *state = steady.body.block.args
    newest = halves.producer(inner, counter)
    behind = inner.counter(counter, -shape.lead, shape.counter) if plan.uses_counter else None
    old = state[carried : carried + width]
    after = halves.consumer(inner, behind, old, state[:carried])
    inner.finish([*after, *state[carried + width :], *newest])
    return _drain(shape, emit, begin, halves, steady), steady


def _drain(shape: Shape, emit: Emitter, begin: SSAValue, halves: Halves, steady: scf.ForOp) -> list[SSAValue]:
    width, carried = len(shape.plan.record), len(shape.plan.loop.iter_args)
    values: list[SSAValue] = list(steady.results[:carried])
    last = _last(shape, emit, begin) if shape.plan.uses_counter else None
    if shape.long is None and last is not None and isinstance(last.owner, Operation):
        last.owner.attributes[policy.LAST] = UnitAttr()
    for number in range(shape.ahead):
        record = steady.results[carried + number * width : carried + (number + 1) * width]
        counter = None
        if last is not None:
            counter = emit.counter(last, -(shape.ahead - 1 - number) * shape.step, shape.counter)
        values = halves.consumer(emit, counter, record, values)
    return values


def _last(shape: Shape, emit: Emitter, begin: SSAValue) -> SSAValue:
    """The counter of the loop's last iteration; exact although a distance of `index` values may wrap."""
    loop = shape.plan.loop
    if shape.trips is not None:
        return emit.offset(loop.lb, (shape.trips - 1) * shape.step)
    if shape.step == 1:
        return emit.offset(loop.ub, -1)
    distance = emit.offset(emit.sub_index(loop.ub, begin), -1)
    return emit.add_index(begin, emit.scale(emit.quotient(distance, shape.step), shape.step))


def _steady_attributes(shape: Shape) -> dict[str, Attribute]:
    attributes = policy.without(shape.plan.loop, *policy.PIPELINE_KEYS)
    attributes[policy.FORM] = StringAttr("steady")
    if shape.trips is not None:
        attributes[policy.TRIPS] = IntegerAttr(shape.trips - shape.ahead, 64)
    return attributes


def _name_arguments(shape: Shape, steady: scf.ForOp) -> None:
    source = shape.plan.loop.body.block.args
    hints = [arg.name_hint for arg in source] + [value.name_hint for value in shape.plan.record] * shape.ahead
    for arg, hint in zip(steady.body.block.args, hints, strict=True):
        arg.name_hint = hint
