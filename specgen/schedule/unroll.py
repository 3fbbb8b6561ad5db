"""The pass that applies `unroll`: copies of the body inside a loop, or in the place of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from specgen.diagnostics import Diagnostic
from specgen.schedule import policy
from specgen.schedule.copies import Body
from specgen.schedule.emit import INDEX_MAX, Emitter, replace
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.orders import emit_copies
from specgen.schedule.passes import Log
from specgen.schedule.rows import UnrollRow
from specgen.schedule.rules import Rejected, broken
from specgen.schedule.tails import continue_serially, serial_side

MOST_OPERATIONS = 8192
"""Operations in the copies of one loop: LLVM needs about 20 s for as many, and the square of the time for more."""


@dataclass(frozen=True)
class Request:
    """What a loop asks for: a factor, or `full` (None); its order; its tail where it names one."""

    factor: int | None
    order: str
    tail: str | None


@dataclass(frozen=True)
class Unroll:
    """Before: `motif.unroll`, `motif.order`, `motif.tail` on loops, no `motif.pipeline`. After: none of them.

    Inner loops come first. A factor of 0 or 1 leaves the loop as it is.
    """

    name: ClassVar[str] = "unroll"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Rewrite every kernel."""
        for function in policy.kernels(module):
            for loop in policy.loops(function.body.block):
                if any(key in loop.attributes for key in policy.UNROLL_KEYS):
                    try:
                        _apply(function, loop, log)
                    except Rejected as rejected:
                        log.refuse(*rejected.diagnostics)
                        policy.take_off(loop, *policy.UNROLL_KEYS)


def _apply(function: func.FuncOp, loop: scf.ForOp, log: Log) -> None:
    assert policy.PIPELINE not in loop.attributes, f"{policy.name_of(loop)}: still to be pipelined"
    request = request_of(loop)
    if request.factor is not None and request.factor <= 1:
        log.unrolls.append(_row(loop, request, "cleared", None, None, "none", reason="factor <= 1"))
        policy.take_off(loop, *policy.UNROLL_KEYS)
        return
    knowledge = Knowledge(function)
    step = checked_step(loop, knowledge)
    trips = knowledge.trip_count(loop)
    if request.factor is None or (trips is not None and trips <= request.factor):
        full(loop, request, step, knowledge, log)
        return
    _check_size(loop, request.factor)
    tail = _tail(loop, request, knowledge)
    log.unrolls.append(_row(loop, request, "stripmined", step, trips, tail))
    _Strips(loop, request, step, tail, knowledge).rewrite()


def request_of(loop: scf.ForOp) -> Request:
    """The loop's policies. Raises `Rejected` (U5, U6, words)."""
    attributes = loop.attributes
    order, tail = (policy.word(attributes.get(key)) for key in (policy.ORDER, policy.TAIL))
    for key, value, known in ((policy.ORDER, order, policy.ORDERS), (policy.TAIL, tail, policy.TAILS)):
        if key in attributes and value not in known:
            raise Rejected([broken("words", loop, f"unknown word {attributes[key]}", allowed=known)])
    if policy.UNROLL not in attributes:
        key = "order" if policy.ORDER in attributes else "tail"
        raise Rejected([broken("U6", loop, f"the loop has `{key}` and no `unroll`")])
    asked = attributes[policy.UNROLL]
    if policy.word(asked) == policy.FULL:
        if tail is not None:
            raise Rejected([broken("U6", loop, "a full unroll leaves nothing for a tail")])
        return Request(None, order or policy.LINEAR, None)
    factor = policy.integer(asked)
    if factor is None or factor < 0:
        raise Rejected(
            [broken("U5", loop, f"the factor is {asked}", found=str(asked), allowed=("0 or more", policy.FULL))]
        )
    return Request(factor, order or policy.LINEAR, tail)


def checked_step(loop: scf.ForOp, knowledge: Knowledge) -> int:
    if any(isinstance(value.type, MemRefType) for value in loop.iter_args):
        raise Rejected([broken("storage", loop, "the loop carries a buffer")])
    step = knowledge.exact(loop, loop.step)
    if step is None or step <= 0:
        raise Rejected([broken("U3", loop, "the step is not a known positive number")])
    return step


def full(loop: scf.ForOp, request: Request, step: int, knowledge: Knowledge, log: Log) -> None:
    """Put all copies in the place of the loop."""
    trips = knowledge.trip_count(loop)
    if trips is None:
        raise Rejected([_open_count(loop, knowledge)])
    _check_size(loop, trips)
    log.unrolls.append(_row(loop, request, "unrolled", step, trips, "none"))
    emit = _before(loop)
    like = knowledge.counter(loop)
    counters = [emit.counter(loop.lb, number * step, like) for number in range(trips)]
    results: Sequence[SSAValue] = list(loop.iter_args)
    if counters:
        results = emit_copies(Body(loop), request.order, emit, counters, results, step)
    replace(loop, results)


def _check_size(loop: scf.ForOp, copies: int) -> None:
    """Raises `Rejected` (U2) for copies that would be more code than can be compiled."""
    size = sum(1 for _ in loop.body.walk())
    if copies * size > MOST_OPERATIONS:
        message = f"{copies} copies of a body of {size} operations"
        allowed = (f"at most {MOST_OPERATIONS // size} copies",)
        raise Rejected([broken("U2", loop, message, found=str(copies), allowed=allowed)])


def _open_count(loop: scf.ForOp, knowledge: Knowledge) -> Diagnostic:
    if knowledge.exact(loop, loop.lb) is None and knowledge.exact(loop, loop.ub) is not None:
        return broken("U4", loop, "the lower bound varies and the trip count with it")
    return broken("U1", loop, "the bounds leave the trip count open")


def _tail(loop: scf.ForOp, request: Request, knowledge: Knowledge) -> str:
    assert request.factor is not None
    if knowledge.divisible(loop, request.factor):
        return "none"
    return request.tail or (policy.GUARD if request.order == policy.LINEAR else policy.CUT)


def _row(
    loop: scf.ForOp,
    request: Request,
    outcome: str,
    step: int | None,
    trips: int | None,
    tail: str,
    reason: str | None = None,
) -> UnrollRow:
    name = policy.name_of(loop)
    return UnrollRow(
        function=name.function,
        ordinal=name.ordinal,
        loop=name.loop,
        location=name.location,
        outcome=outcome,
        policy=policy.FULL if request.factor is None else "factor",
        factor=(trips or 0) if request.factor is None else request.factor,
        order=request.order,
        trip_count="unresolved" if trips is None else "exact",
        tail=tail,
        step=step,
        trips=trips,
        reason=reason,
        instance=name.instance,
    )


@dataclass
class _Strips:
    """A loop whose round runs `factor` iterations; what is left over is guarded or runs in a loop of its own."""

    loop: scf.ForOp
    request: Request
    step: int
    tail: str
    knowledge: Knowledge

    def __post_init__(self) -> None:
        assert self.request.factor is not None
        self.factor = self.request.factor
        self.body = Body(self.loop)
        self.emit = _before(self.loop)
        self.like = self.knowledge.counter(self.loop)

    def rewrite(self) -> None:
        """Put the new form in the place of the loop."""
        loop = self.loop
        if self.tail == policy.GUARD and self.request.order == policy.LINEAR:
            replace(loop, self._guarded_rounds())
            return
        end = loop.ub if self.tail == "none" else self._end_of_whole_rounds()
        results = self._rounds(end)
        serial = serial_side(loop) if self.tail == policy.CUT else None
        if serial is not None:
            replace(loop, results)
            continue_serially(serial, end, self.step)
            return
        if self.tail == policy.CUT:
            results = self._remainder(end, results)
        elif self.tail == policy.GUARD:
            results = self._guarded_remainder(end, results)
        replace(loop, results)

    def _upper(self) -> SSAValue:
        """The upper bound, but not below the lower one."""
        low, _ = self.knowledge.trips(self.loop)
        return self.loop.ub if low > 0 else self.emit.value(arith.MaxSIOp(self.loop.ub, self.loop.lb))

    def _trips(self) -> SSAValue:
        """The number of iterations as an unsigned value, exact for any bounds."""
        loop, emit = self.loop, self.emit
        distance = emit.sub_index(self._upper(), loop.lb)
        if self.step == 1:
            return distance
        return emit.value(arith.CeilDivUIOp(distance, emit.index(self.step)))

    def _end_of_whole_rounds(self) -> SSAValue:
        emit, loop = self.emit, self.loop
        known = self.knowledge.trip_count(loop)
        if known is not None:
            return emit.offset(loop.lb, (known - known % self.factor) * self.step)
        if self.step == 1:
            upper = self._upper()
            return emit.sub_index(upper, emit.remainder(emit.sub_index(upper, loop.lb), self.factor))
        trips = self._trips()
        whole = emit.sub_index(trips, emit.remainder(trips, self.factor))
        return emit.add_index(loop.lb, emit.scale(whole, self.step))

    def _attributes(self) -> dict[str, Attribute]:
        return policy.without(self.loop, *policy.UNROLL_KEYS, policy.TRIPS)

    def _rounds(self, end: SSAValue) -> Sequence[SSAValue]:
        span = self.step * self.factor
        rounds, inner, first = self._round_loop(end, span <= INDEX_MAX)
        counters = [inner.counter(first, number * self.step, self.like) for number in range(self.factor)]
        carried = rounds.body.block.args[1:]
        inner.finish(emit_copies(self.body, self.request.order, inner, counters, carried, self.step))
        return rounds.results

    def _round_loop(self, end: SSAValue, fits: bool) -> tuple[scf.ForOp, Emitter, SSAValue]:
        """A loop over rounds, an emitter for its body and the first counter of a round.

        `fits`: the counter behind the last round is an `index`; otherwise rounds are counted instead.
        """
        loop, emit, span = self.loop, self.emit, self.step * self.factor
        if fits:
            bounds = loop.lb, end, emit.index(span)
            rounds = emit.loop(bounds, list(loop.iter_args), self._attributes())
            _copy_hints(loop, rounds)
            return rounds, emit.inside(rounds.body.block), rounds.body.block.args[0]
        trips = self._trips()
        if end is loop.ub:
            trips = emit.value(arith.CeilDivUIOp(trips, emit.index(self.factor)))
        else:
            trips = emit.quotient(trips, self.factor)
        rounds = emit.loop((emit.index(0), trips, emit.index(1)), list(loop.iter_args), self._attributes())
        inner = emit.inside(rounds.body.block)
        first = inner.add_index(inner.value(arith.MuliOp(rounds.body.block.args[0], inner.index(span))), loop.lb)
        return rounds, inner, first

    def _remainder(self, begin: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        loop = self.loop
        attributes = self._attributes() | {policy.FORM: StringAttr("remainder")}
        rest = self.emit.loop((begin, loop.ub, loop.step), carried, attributes)
        _copy_hints(loop, rest)
        inner = self.emit.inside(rest.body.block)
        counter, *state = rest.body.block.args
        inner.finish(emit_copies(self.body, policy.LINEAR, inner, [counter], state, self.step))
        return rest.results

    def _guarded_remainder(self, begin: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """At most `factor - 1` iterations: the first behind a test, inside of it the others behind one each."""
        then, otherwise = Block(), Block()
        inner = self.emit.inside(then)
        state = emit_copies(self.body, policy.LINEAR, inner, [begin], carried, self.step)
        inner.finish(self._guarded(inner, begin, state, range(1, self.factor - 1)))
        self.emit.inside(otherwise).finish(carried)
        condition = self.emit.less(begin, self.loop.ub)
        return self.emit.conditional(condition, [value.type for value in carried], then, otherwise).results

    def _guarded_rounds(self) -> Sequence[SSAValue]:
        """Rounds of which the first copy always runs; the others have a test each."""
        fits = self.knowledge.largest(self.loop, self.loop.ub) + self.step * self.factor <= INDEX_MAX
        rounds, inner, first = self._round_loop(self.loop.ub, fits)
        state = emit_copies(self.body, policy.LINEAR, inner, [first], rounds.body.block.args[1:], self.step)
        inner.finish(self._guarded(inner, first, state, range(1, self.factor)))
        return rounds.results

    def _guarded(self, emit: Emitter, first: SSAValue, state: list[SSAValue], numbers: range) -> list[SSAValue]:
        """Iterations `first + number * step` while they are below the upper bound; `first` is."""
        if not numbers:
            return state
        left = emit.sub_index(self.loop.ub, first)
        for number in numbers:
            ahead = number * self.step
            # Unsigned, for the distance of two `index` values may exceed the signed range; it is not negative.
            inside = emit.value(arith.CmpiOp(emit.index(ahead), left, "ult"))
            then, otherwise = Block(), Block()
            inner = emit.inside(then)
            counter = inner.counter(first, ahead, self.like)
            inner.finish(emit_copies(self.body, policy.LINEAR, inner, [counter], state, self.step))
            emit.inside(otherwise).finish(state)
            types = [value.type for value in state]
            guarded = emit.conditional(inside, types, then, otherwise)
            for result, argument in zip(guarded.results, self.body.arguments, strict=True):
                result.name_hint = argument.name_hint
            state = list(guarded.results)
        return state


def _before(loop: scf.ForOp) -> Emitter:
    block = loop.parent_block()
    assert block is not None
    return Emitter(block, loop.location, loop)


def _copy_hints(source: scf.ForOp, target: scf.ForOp) -> None:
    for old, new in zip(source.body.block.args, target.body.block.args, strict=True):
        new.name_hint = old.name_hint
