"""Ranges of what structured control flow defines: block arguments and results of `if`, `for` and `while`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from specgen.ir.facts_context import Context
from specgen.ir.facts_interval import INF, TOP, Interval, hull, make
from specgen.ir.facts_transfer import View, is_integer

if TYPE_CHECKING:
    from specgen.ir.facts import Facts

ROUNDS = 6
"""Rounds of a loop that are tried for the ranges of carried values; the second half widens."""


class Regions:
    """Ranges across region boundaries. `assumed` holds the ranges that a trial round takes for granted."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.assumed: dict[SSAValue, Interval] = {}
        self._carried: dict[Operation, dict[SSAValue, Interval]] = {}

    def at_end(self, view: View, end: Operation, index: int) -> Interval:
        """The range of what a terminator passes on."""
        return view.interval(end.operands[index], self.facts.contexts.at(end))

    def argument(self, view: View, value: BlockArgument) -> Interval:
        """The range of a block argument by what is passed to it; TOP for a function's."""
        parent = value.owner.parent_op()
        if isinstance(parent, scf.ForOp):
            outer = self.facts.contexts.at(parent)
            if value.index == 0:
                low, high = view.interval(parent.lb, outer), view.interval(parent.ub, outer)
                return make(low.low, max(low.low, high.high - 1))
            return self._loop_carried(parent)[value]
        if isinstance(parent, scf.WhileOp):
            if value.owner is parent.before_region.block:
                return self._loop_carried(parent)[value]
            condition = parent.before_region.block.last_op
            assert condition is not None
            return self.at_end(view, condition, value.index + 1)
        return TOP

    def result(self, view: View, value: OpResult, context: Context) -> Interval:
        """The range of a result of a structured op; TOP for other ops."""
        op = value.owner
        if isinstance(op, scf.IfOp):
            return self._if_result(view, op, value.index, context)
        if isinstance(op, scf.ForOp):
            return self._for_result(view, op, value.index, context)
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            assert condition is not None
            return self.at_end(view, condition, value.index + 1)
        return TOP

    def _if_result(self, view: View, op: scf.IfOp, index: int, context: Context) -> Interval:
        truth = view.interval(op.cond, context).exact
        regions = [r for r, wanted in ((op.true_region, 1), (op.false_region, 0)) if truth in (None, wanted)]
        ends = [r.block.last_op for r in regions if r.blocks]
        return hull(self.at_end(view, end, index) for end in ends if end is not None)

    def _for_result(self, view: View, loop: scf.ForOp, index: int, context: Context) -> Interval:
        end = loop.body.block.last_op
        assert end is not None
        rounds = self.facts.trip_range(loop)
        first = view.interval(loop.iter_args[index], context)
        if rounds.high == 0:
            return first
        last = self.at_end(view, end, index)
        return last if rounds.low > 0 else first.join(last)

    def _loop_carried(self, loop: scf.ForOp | scf.WhileOp) -> dict[SSAValue, Interval]:
        """Ranges of the carried block arguments: a fixed point with widening and one narrowing step."""
        if loop in self._carried:
            return self._carried[loop]
        if isinstance(loop, scf.ForOp):
            arguments, first = loop.body.block.args[1:], loop.iter_args
            end = loop.body.block.last_op
        else:
            arguments, first = loop.before_region.block.args, loop.arguments
            end = loop.after_region.block.last_op
        assert end is not None
        outer = self.facts.contexts.at(loop)
        begin: dict[SSAValue, Interval] = {
            a: self.facts.interval(f, outer) for a, f in zip(arguments, first, strict=True)
        }
        pairs = list(zip(arguments, end.operands, strict=True))
        if not any(is_integer(a.type) for a in arguments):
            return dict.fromkeys(arguments, TOP)
        current = dict(begin)
        for attempt in range(ROUNDS):
            after = self._one_round(pairs, current)
            grown = {a: current[a].join(after[a]) for a in current}
            if grown == current:
                break
            widen = attempt >= ROUNDS // 2
            current = {
                a: _widened(current[a], grown[a]).meet(self.facts.declared(a)) if widen else grown[a] for a in grown
            }
        else:
            current = {a: self.facts.declared(a) for a in current}
        after = self._one_round(pairs, current)
        narrowed = {a: begin[a].join(after[a]).meet(current[a]) for a in current}
        self._carried[loop] = narrowed
        return narrowed

    def _one_round(
        self, pairs: list[tuple[BlockArgument, SSAValue]], current: dict[SSAValue, Interval]
    ) -> dict[SSAValue, Interval]:
        """Ranges of the yielded values when the arguments have the ranges `current`.

        Computed by other facts, for what is derived from an assumption must not be remembered here.
        """
        trial = self.facts.assuming_ranges(current)
        return {a: trial.regions.at_end(trial, _end_of_round(a), n) for n, (a, _) in enumerate(pairs)}

    def extended(self, facts: Facts, ranges: Mapping[SSAValue, Interval]) -> Regions:
        """The same for `facts`, which take `ranges` for granted."""
        result = Regions(facts)
        result.assumed = {**self.assumed, **ranges}
        result._carried = dict(self._carried)
        return result


def _end_of_round(argument: BlockArgument) -> Operation:
    loop = argument.owner.parent_op()
    assert isinstance(loop, scf.ForOp | scf.WhileOp)
    end = (loop.after_region if isinstance(loop, scf.WhileOp) else loop.body).block.last_op
    assert end is not None
    return end


def _widened(old: Interval, new: Interval) -> Interval:
    return make(old.low if new.low >= old.low else -INF, old.high if new.high <= old.high else INF)
