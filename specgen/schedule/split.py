"""The pass that applies `split` of an `if`: its loop is cut where the condition changes, the test goes away.

The condition must be monotone in the counter: comparisons of `factor * counter + rest` with a rest that the loop does
not change, joined by `and` or `or` of one direction. Then the iterations where it holds are the first ones or the
last ones, and two loops, each with one side of the conditional, run the same iterations in the same order. What the
condition says stays known in both as a `motif.assume`, which costs nothing when the kernel runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from specgen.ir import locations
from specgen.ir.dialect import AssumeOp
from specgen.ir.facts import Facts
from specgen.ir.facts_interval import TOP, Interval, point
from specgen.ir.facts_linear import Linear
from specgen.ir.optable import OPS
from specgen.schedule import policy
from specgen.schedule.effects import Kind, effects_of
from specgen.schedule.emit import Emitter, constant_of, replace
from specgen.schedule.passes import Log
from specgen.schedule.rows import SplitRow
from specgen.schedule.rules import Rejected, broken, describe

_MEET = frozenset({Kind.COLLECTIVE, Kind.WORKGROUP_SYNC, Kind.GLOBAL_SYNC})


@dataclass(frozen=True)
class Cut:
    """The condition holds for counters below `bound` (`first`) or from it on (not `first`)."""

    first: bool
    bound: SSAValue


@dataclass(frozen=True)
class SplitLoops:
    """Before: `motif.split` on conditionals. After: none is left, and their loops are two each.

    Loops that never run are dropped. Loops get their ordinals after this pass: both halves have their own.
    """

    name: ClassVar[str] = "split"

    def run(self, module: ModuleOp, log: Log) -> None:
        """Rewrite every kernel."""
        for function in policy.kernels(module):
            while (found := _first(function)) is not None:
                function.attributes[policy.TOUCHED] = UnitAttr()
                try:
                    log.splits.append(_apply(function, found))
                except Rejected as rejected:
                    log.refuse(*rejected.diagnostics)
                    found.attributes.pop(policy.SPLIT)
            policy.number(function)


def _first(function: func.FuncOp) -> scf.IfOp | None:
    return next((op for op in function.walk() if isinstance(op, scf.IfOp) and policy.SPLIT in op.attributes), None)


def _apply(function: func.FuncOp, conditional: scf.IfOp) -> SplitRow:
    loop = _loop_of(conditional)
    facts = Facts(function)
    block = loop.parent_block()
    assert block is not None
    emit = Emitter(block, conditional.location, loop)
    finder = _Finder(facts, loop, conditional, emit)
    _check_participants(facts, loop, conditional)
    cut = finder.cut(conditional.cond)
    low, high, step = loop.lb, loop.ub, loop.step
    # The bound lies between the loop's own bounds, and the second half starts at the first counter from it on.
    end = finder.clamped(cut.bound, low, high)
    start = finder.aligned(end, low, step)
    number = list(loop.walk()).index(conditional)
    carried: list[SSAValue] = list(loop.iter_args)
    for bounds, holds in (((low, end), cut.first), ((start, high), not cut.first)):
        if not _never_runs(*bounds):
            half = loop.clone()
            half.operands[0], half.operands[1] = bounds
            for index, value in enumerate(carried):
                half.operands[3 + index] = value
            block.insert_op_before(half, loop)
            inner = list(half.walk())[number]
            assert isinstance(inner, scf.IfOp)
            _take(inner, holds)
            carried = list(half.results)
    row = _row(function, loop, conditional, cut, end)
    replace(loop, carried)
    return row


def _loop_of(conditional: scf.IfOp) -> scf.ForOp:
    outer = conditional.parent_op()
    while isinstance(outer, scf.IfOp):
        outer = outer.parent_op()
    if not isinstance(outer, scf.ForOp):
        where = "`while`" if isinstance(outer, scf.WhileOp) else "no loop"
        raise Rejected([broken("split-loop", conditional, f"the conditional stands in {where}")])
    step = constant_of(outer.step)
    if step is None or step <= 0:
        raise Rejected([broken("split-loop", conditional, "the step of the loop is no positive constant")])
    return outer


def _check_participants(facts: Facts, loop: scf.ForOp, conditional: scf.IfOp) -> None:
    """Work-items that meet in the loop have to cut it at the same place."""
    meeting = [(kind, op) for kind, op in effects_of(loop).ops if kind in _MEET]
    level = facts.uniform(conditional.cond)
    for kind, op in meeting:
        subgroup = kind is Kind.COLLECTIVE and op.name.startswith("motif.subgroup")
        if level == "none" or (level == "subgroup" and not subgroup):
            why = f"{describe(op)} stands in the loop, and work-items may disagree on the condition"
            raise Rejected([broken("split-participants", conditional, why, notes=[(op, "here")])])


def _never_runs(low: SSAValue, high: SSAValue) -> bool:
    first, end = constant_of(low), constant_of(high)
    return low is high or (first is not None and end is not None and first >= end)


def _take(conditional: scf.IfOp, holds: bool) -> None:
    """Put one side of a conditional in its place, with what is known there."""
    block = conditional.parent_block()
    assert block is not None
    emit = Emitter(block, conditional.location, conditional)
    known = conditional.cond
    if not holds:
        true = emit.value(arith.ConstantOp(IntegerAttr(1, IntegerType(1))))
        known = emit.value(arith.XOrIOp(known, true))
    emit.add(AssumeOp(operands=[known]))
    region = conditional.true_region if holds else conditional.false_region
    results: list[SSAValue] = []
    if region.blocks:
        inner = region.block
        end = inner.last_op
        assert isinstance(end, scf.YieldOp)
        results = list(end.arguments)
        end.detach()
        end.erase()
        Rewriter.inline_block(inner, InsertPoint.before(conditional))
    replace(conditional, results)


def _row(function: func.FuncOp, loop: scf.ForOp, conditional: scf.IfOp, cut: Cut, end: SSAValue) -> SplitRow:
    return SplitRow(
        function=function.sym_name.data,
        loop=policy.label(loop),
        location=locations.text(loop),
        condition=locations.text(conditional),
        first="then" if cut.first else "else",
        cut=constant_of(end),
    )


class _Finder:
    """Finds where a condition changes, and builds that value in front of the loop."""

    def __init__(self, facts: Facts, loop: scf.ForOp, conditional: scf.IfOp, emit: Emitter) -> None:
        self.facts = facts
        self.loop = loop
        self.conditional = conditional
        self.emit = emit
        self.counter = loop.body.block.args[0]
        self.copies: dict[SSAValue, SSAValue] = {}

    def cut(self, condition: SSAValue) -> Cut:
        """Where the condition changes. Raises `Rejected` when it is not monotone."""
        op = condition.owner
        if isinstance(op, arith.CmpiOp):
            return self._comparison(op)
        if isinstance(op, arith.XOrIOp):
            for side, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if constant_of(other) in (1, -1):
                    cut = self.cut(side)
                    return Cut(not cut.first, cut.bound)
        if isinstance(op, arith.AndIOp | arith.OrIOp):
            return self._joined(op)
        raise self._refused("the condition is no comparison of the counter")

    def _joined(self, op: arith.AndIOp | arith.OrIOp) -> Cut:
        sides = [self.cut(side) for side in op.operands]
        if sides[0].first is not sides[1].first:
            raise self._refused("one part of the condition holds first, the other last")
        # Both hold: up to the nearer bound, or from the farther on. One holds: the other way round.
        least = sides[0].first is isinstance(op, arith.AndIOp)
        kind = arith.MinSIOp if least else arith.MaxSIOp
        return Cut(sides[0].first, self._picked(kind, sides[0].bound, sides[1].bound))

    def _comparison(self, op: arith.CmpiOp) -> Cut:
        if op.predicate.value.data not in _TESTS:
            raise self._refused("equality changes twice")
        unsigned, above, strict = _TESTS[op.predicate.value.data]
        if unsigned and any(self.facts.range(side, op).low < 0 for side in op.operands):
            raise self._refused("the comparison is unsigned and a side may be negative")
        distance = self.facts.linear(op.lhs) - self.facts.linear(op.rhs)
        if above:
            distance = distance.scaled(-1)
        # Now `distance < 0`, or `distance <= 0`, which is `distance - 1 < 0`.
        if not strict:
            distance = distance.shifted(-1)
        factor = distance.terms.get(self.counter, 0)
        if not factor:
            raise self._refused("the condition does not follow the counter")
        rest = Linear(distance.constant, {s: f for s, f in distance.terms.items() if s is not self.counter})
        if factor > 0:
            # factor * counter < -rest: counters below the quotient, rounded up.
            return Cut(True, self._quotient(arith.CeilDivSIOp, rest.scaled(-1), factor))
        # rest < -factor * counter: counters above the quotient, rounded down.
        return Cut(False, self.emit.offset(self._quotient(arith.FloorDivSIOp, rest, -factor), 1))

    def _quotient(self, kind: type[arith.CeilDivSIOp | arith.FloorDivSIOp], form: Linear, divisor: int) -> SSAValue:
        value = self._built(form)
        known = constant_of(value)
        if known is not None:
            return self.emit.index(-(-known // divisor) if kind is arith.CeilDivSIOp else known // divisor)
        return value if divisor == 1 else self.emit.value(kind(value, self.emit.index(divisor)))

    def _built(self, form: Linear) -> SSAValue:
        total: SSAValue | None = None
        for symbol, factor in form.terms.items():
            part = self.emit.scale(self._before(symbol), factor)
            total = part if total is None else self.emit.add_index(total, part)
        return self.emit.index(form.constant) if total is None else self.emit.offset(total, form.constant)

    def _before(self, symbol: SSAValue) -> SSAValue:
        """A value as an `index` in front of the loop; what is computed inside from outer values is computed there."""
        value = self._hoisted(symbol)
        if isinstance(value.type, IndexType):
            return value
        return self.emit.value(arith.IndexCastOp(value, IndexType()))

    def _hoisted(self, value: SSAValue) -> SSAValue:
        if self._stands_before(value):
            return value
        if value not in self.copies:
            op = value.owner
            if isinstance(op, Block) or op.regions or op.name not in OPS or not OPS[op.name].pure:
                raise self._refused("the condition compares with a value that the loop changes")
            values = {operand: self._hoisted(operand) for operand in op.operands}
            made = self.emit.clone(op, values)
            self.copies.update(zip(op.results, made.results, strict=True))
        return self.copies[value]

    def _stands_before(self, value: SSAValue) -> bool:
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent_block()
        outer: Operation | None = self.loop
        while outer is not None:
            block = outer.parent_block()
            if block is home and block is not None:
                return isinstance(owner, Block) or owner.is_before_in_block(outer)
            outer = outer.parent_op()
        return False

    def _picked(self, kind: type[arith.MinSIOp | arith.MaxSIOp], left: SSAValue, right: SSAValue) -> SSAValue:
        a, b = self._limits(left), self._limits(right)
        if a.high <= b.low or b.high <= a.low:
            return left if (a.high <= b.low) is (kind is arith.MinSIOp) else right
        return self.emit.value(kind(left, right))

    def _limits(self, value: SSAValue) -> Interval:
        """The range of a constant or a bound of the loop; facts are of the function before this pass changed it."""
        known = constant_of(value)
        if known is not None:
            return point(known)
        return self.facts.range(value, self.loop) if value in (self.loop.lb, self.loop.ub) else TOP

    def clamped(self, bound: SSAValue, low: SSAValue, high: SSAValue) -> SSAValue:
        """The bound, but not beyond the loop's own."""
        return self._picked(arith.MaxSIOp, self._picked(arith.MinSIOp, bound, high), low)

    def aligned(self, end: SSAValue, low: SSAValue, step: SSAValue) -> SSAValue:
        """The first counter of the loop from `end` on."""
        width = constant_of(step)
        assert width is not None
        if width == 1:
            return end
        distance = self.emit.sub_index(end, low)
        known = constant_of(distance)
        if known is not None:
            return self.emit.offset(low, -(-known // width) * width)
        rounds = self.emit.value(arith.CeilDivSIOp(distance, self.emit.index(width)))
        return self.emit.add_index(low, self.emit.scale(rounds, width))

    def _refused(self, why: str) -> Rejected:
        return Rejected([broken("split-condition", self.conditional, why)])


_TESTS = {
    2: (False, False, True),
    3: (False, False, False),
    4: (False, True, True),
    5: (False, True, False),
    6: (True, False, True),
    7: (True, False, False),
    8: (True, True, True),
    9: (True, True, False),
}
"""Predicate of `arith.cmpi` -> unsigned, asks for greater, strict (slt sle sgt sge ult ule ugt uge)."""
