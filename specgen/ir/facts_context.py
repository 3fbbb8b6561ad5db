"""What is known at a program point: the conditions, loop bounds and assumptions that hold there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from specgen.ir.dialect import AssumeOp
from specgen.ir.facts_linear import Constraint, Linear, symbol_of

if TYPE_CHECKING:
    from specgen.ir.facts import Facts


@dataclass(frozen=True, eq=False)
class Context:
    """The constraints of a point: those of `parent` and its own. Points with equal knowledge share an object."""

    parent: Context | None
    own: tuple[Constraint, ...]
    zeros: tuple[SSAValue, ...] = ()
    _index: dict[SSAValue, tuple[Constraint, ...]] = field(default_factory=dict)

    def about(self, symbol: SSAValue) -> tuple[Constraint, ...]:
        """The constraints `form <= 0` in which a symbol occurs, innermost first."""
        found = self._index.get(symbol)
        if found is None:
            found = tuple(c for c in self.constraints() if not c.differs and symbol in c.form.terms)
            self._index[symbol] = found
        return found

    def constraints(self) -> Iterable[Constraint]:
        """All constraints, innermost first."""
        context: Context | None = self
        while context is not None:
            yield from context.own
            context = context.parent

    def all_zeros(self) -> Iterable[SSAValue]:
        """Values that are known to be 0."""
        context: Context | None = self
        while context is not None:
            yield from context.zeros
            context = context.parent


class Contexts:
    """Contexts of the points of a function, found on demand."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.root = Context(None, ())
        self._entry: dict[Block, Context] = {}
        self._before: dict[Operation, Context] = {}
        self._extended: dict[tuple[Context, SSAValue, bool], Context] = {}

    def at(self, place: Operation | Block) -> Context:
        """The context just before an op, or at the entry of a block."""
        if isinstance(place, Block):
            if place not in self._entry:
                self._entry[place] = self._enter(place)
            return self._entry[place]
        if place not in self._before:
            block = place.parent
            if block is None:
                return self.root
            self._walk(block)
        return self._before[place]

    def of(self, value: SSAValue) -> Context:
        """The context where a value is defined."""
        if isinstance(value, BlockArgument):
            return self.at(value.owner)
        assert isinstance(value, OpResult)
        return self.at(value.owner)

    def _walk(self, block: Block) -> None:
        context = self.at(block)
        for op in block.ops:
            self._before[op] = context
            if isinstance(op, AssumeOp):
                context = self.extended(context, op.condition, True, op)

    def extended(self, context: Context, condition: SSAValue, truth: bool, origin: Operation) -> Context:
        """`context` plus what the condition says when it is `truth`; the same object when that is nothing."""
        key = (context, condition, truth)
        if key not in self._extended:
            collected = _Collected([], [])
            self._collect(condition, truth, origin, context, collected)
            found = bool(collected.constraints or collected.zeros)
            own, zeros = tuple(collected.constraints), tuple(collected.zeros)
            self._extended[key] = Context(context, own, zeros) if found else context
        return self._extended[key]

    def _enter(self, block: Block) -> Context:
        parent = block.parent_op()
        if parent is None or parent.parent is None:
            return self.root
        outer = self.at(parent)
        if isinstance(parent, scf.IfOp):
            return self.extended(outer, parent.cond, block is parent.true_region.block, parent)
        if isinstance(parent, scf.ForOp):
            return Context(outer, tuple(self._loop_bounds(parent, outer)))
        if isinstance(parent, scf.WhileOp) and block is parent.after_region.block:
            return self._while_body(parent, outer)
        return outer

    def _loop_bounds(self, loop: scf.ForOp, outer: Context) -> list[Constraint]:
        counter = symbol_of(loop.body.block.args[0])
        low, high = self.facts.linear(loop.lb), self.facts.linear(loop.ub)
        step = self.facts.base(loop.step, outer).exact or 1
        # counter <= high - 1; where whole steps lie between the bounds, counter <= high - step.
        whole = step > 1 and self.facts.divides(step, high - low, outer)
        return [
            Constraint(low - counter, loop),
            Constraint((counter - high).shifted(step if whole else 1), loop),
        ]

    def _while_body(self, loop: scf.WhileOp, outer: Context) -> Context:
        """The condition as it reads in terms of the forwarded values.

        What it says of values that are computed in the condition region and not forwarded is lost.
        """
        before, after = loop.before_region.block, loop.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        names: dict[SSAValue, Linear] = {}
        for source, target in zip(condition.args, after.args, strict=True):
            if _inside(source, loop):
                names.setdefault(self.facts.forms.symbol(source), symbol_of(target))
        collected = _Collected([], [])
        self._collect(condition.condition, True, loop, self.at(condition), collected)
        kept = [
            Constraint(c.form.renamed(names), c.origin, c.differs)
            for c in collected.constraints
            if all(s in names or not _inside(s, loop) for s in c.form.terms)
        ]
        return Context(outer, tuple(kept)) if kept else outer

    def _collect(self, condition: SSAValue, truth: bool, origin: Operation, context: Context, out: _Collected) -> None:
        op = condition.owner
        if isinstance(op, arith.CmpiOp):
            self._compare(op, truth, origin, context, out)
        elif isinstance(op, arith.AndIOp | arith.OrIOp) and condition.type == _I1:
            # An `and` that holds and an `or` that does not hold give both parts; the other cases give nothing.
            if isinstance(op, arith.AndIOp) == truth:
                self._collect(op.lhs, truth, origin, context, out)
                self._collect(op.rhs, truth, origin, context, out)
        elif isinstance(op, arith.XOrIOp) and condition.type == _I1:
            self._negation(op, truth, origin, context, out)
        elif isinstance(op, arith.SelectOp):
            self._choice(op.cond, op.lhs, op.rhs, truth, origin, context, out)
        elif isinstance(op, scf.IfOp) and op.false_region.blocks and isinstance(condition, OpResult):
            left, right = (r.block.last_op for r in (op.true_region, op.false_region))
            if left is not None and right is not None:
                chosen = left.operands[condition.index], right.operands[condition.index]
                self._choice(op.cond, *chosen, truth, origin, context, out)

    def _choice(
        self,
        condition: SSAValue,
        left: SSAValue,
        right: SSAValue,
        truth: bool,
        origin: Operation,
        context: Context,
        out: _Collected,
    ) -> None:
        """`c and x` is also written `x if c else false`, `c or x` as `true if c else x`."""
        if truth and boolean(right) is False:
            self._collect(condition, True, origin, context, out)
            self._collect(left, True, origin, context, out)
        elif not truth and boolean(left) is True:
            self._collect(condition, False, origin, context, out)
            self._collect(right, False, origin, context, out)
        elif boolean(left) is False and boolean(right) is True:
            self._collect(condition, not truth, origin, context, out)

    def _negation(self, op: arith.XOrIOp, truth: bool, origin: Operation, context: Context, out: _Collected) -> None:
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if boolean(other) is not None:
                self._collect(one, truth != boolean(other), origin, context, out)
                return

    def _compare(self, op: arith.CmpiOp, truth: bool, origin: Operation, context: Context, out: _Collected) -> None:
        predicate = op.predicate.value.data
        predicate = predicate if truth else _NEGATED[predicate]
        left, right = self.facts.linear(op.lhs), self.facts.linear(op.rhs)
        difference = left - right
        if predicate >= _FIRST_UNSIGNED:
            signed = self._as_signed(op, predicate, context)
            if signed is None:
                return
            # Below a bound that is not negative, an unsigned comparison also says that the left is not negative.
            if predicate in (6, 7):
                out.constraints.append(Constraint(left.scaled(-1), origin))
            predicate = signed
        if predicate == 0:
            out.constraints += [Constraint(difference, origin), Constraint(difference.scaled(-1), origin)]
            if not right.terms and right.constant == 0:
                out.zeros.append(op.lhs)
        elif predicate == 1:
            out.constraints.append(Constraint(difference, origin, differs=True))
        else:
            sign, shift = _ORDERS[predicate]
            out.constraints.append(Constraint(difference.scaled(sign).shifted(shift), origin))

    def _as_signed(self, op: arith.CmpiOp, predicate: int, context: Context) -> int | None:
        """The signed predicate of an unsigned one where the sides' signs allow it."""
        left, right = self.facts.base(op.lhs, context), self.facts.base(op.rhs, context)
        if predicate in (6, 7):
            return predicate - 4 if right.low >= 0 else None
        return predicate - 4 if left.low >= 0 and right.low >= 0 else None


@dataclass
class _Collected:
    constraints: list[Constraint]
    zeros: list[SSAValue]


_I1 = IntegerType(1)
_FIRST_UNSIGNED = 6
# Predicates: eq ne slt sle sgt sge ult ule ugt uge.
_NEGATED = (1, 0, 5, 4, 3, 2, 9, 8, 7, 6)
# Sign and shift that turn `left - right` into a form that is <= 0.
_ORDERS = {2: (1, 1), 3: (1, 0), 4: (-1, 1), 5: (-1, 0)}


def boolean(value: SSAValue) -> bool | None:
    """The value of an i1 constant."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and value.type == _I1:
        attribute = op.value
        return bool(attribute.value.data) if hasattr(attribute, "value") else None
    return None


def _inside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is defined in a region of `loop`."""
    block = value.owner if isinstance(value, BlockArgument) else value.owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is loop:
            return True
        block = parent.parent if parent is not None else None
    return False
