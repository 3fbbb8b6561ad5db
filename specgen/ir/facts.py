"""Facts about the values of a function: ranges, exactness, divisibility, equalities, uniformity.

A snapshot: build a new `Facts` after the IR has changed. Values of SSA never change, so what a condition, a loop
bound or an assumption says holds for every point below it; queries take the point (`at`, an op: just before it;
left out: where the value is defined).

Arithmetic of `index` is taken as free of overflow (it is a finding when it happens); narrower integers wrap, so
a result that may leave its type has the range of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from specgen.ir.facts_context import Context, Contexts
from specgen.ir.facts_interval import INF, TOP, Interval, ceil_div, hull, make, point
from specgen.ir.facts_linear import Constraint, Linear, cancelling_factor, symbol_of
from specgen.ir.facts_transfer import INT32, TRANSFERS, View, is_integer, type_range
from specgen.ir.optable import OPS

Predicate = Literal["<", "<=", ">", ">=", "==", "!="]

SEARCH_DEPTH = 3
"""Constraints that one proof may add up."""

RANGE_DEPTH = 2
"""Constraints that the range of a value may rest on."""

ROUNDS = 6
"""Rounds of a loop that are tried for the ranges of carried values; the second half widens."""

CHAIN_START = 24
"""Length of a chain of operations up to which recursion is cheaper than ordering."""


class _Plain:
    """The view of a function's ranges without constraints between values."""

    def __init__(self, facts: Facts) -> None:
        self.workgroup_size = facts.workgroup_size
        self.subgroup_size = facts.subgroup_size
        self.interval = facts.base
        self.assuming = facts.assuming

    def decide(self, op: arith.CmpiOp, context: Context) -> bool | None:
        """The truth of a comparison by the ranges of its sides alone."""
        left, right = self.interval(op.lhs, context), self.interval(op.rhs, context)
        return decide_by_ranges(op.predicate.value.data, left, right)


class Facts:
    """The facts of one function. Queries are computed on demand and remembered."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        self.workgroup_size = _three(function.attributes.get("motif.workgroup_size"))
        size = function.attributes.get("motif.subgroup_size")
        self.subgroup_size = size.value.data if isinstance(size, IntegerAttr) else None
        self.contexts = Contexts(self)
        self._ranges: dict[tuple[SSAValue, Context], Interval] = {}
        self._bases: dict[tuple[SSAValue, Context], Interval] = {}
        self._ordering = False
        self._plain = _Plain(self)
        self._linear: dict[SSAValue, Linear] = {}
        self._symbols: dict[object, SSAValue] = {}
        self._carried: dict[Operation, dict[SSAValue, Interval]] = {}
        self._assumed: dict[SSAValue, Interval] = {}
        self._multiples: dict[SSAValue, int] = {}
        self._assumed_multiples: dict[SSAValue, int] = {}

    # Queries

    def range(self, value: SSAValue, at: Operation | None = None) -> Interval:
        """The integers that `value` (or the elements of a vector) may be; unbounded for floats."""
        return self.interval(value, self._context(value, at))

    def exact(self, value: SSAValue, at: Operation | None = None) -> int | None:
        """The only integer that `value` may be, else None."""
        return self.range(value, at).exact

    def multiple_of(self, value: SSAValue, at: Operation | None = None) -> int:
        """An integer that divides `value` always: 1 when nothing is known, 0 for a value that is 0."""
        from specgen.ir.facts_multiple import multiple_of

        return multiple_of(self, value, self._context(value, at))

    def uniform(self, value: SSAValue) -> Literal["workgroup", "subgroup", "none"]:
        """The widest group of work-items that agree on `value` where they compute it together."""
        from specgen.ir.facts_uniform import Uniformity

        if not hasattr(self, "_uniformity"):
            self._uniformity = Uniformity(self)
        return self._uniformity.of(value)

    def trip_count(self, loop: scf.ForOp) -> int | None:
        """The number of rounds of a loop when it is always the same."""
        return self.trip_range(loop).exact

    def trip_range(self, loop: scf.ForOp) -> Interval:
        """The numbers of rounds that a loop may have."""
        context = self.contexts.at(loop)
        distance = self.bound(self.linear(loop.ub) - self.linear(loop.lb), context)
        step = self.interval(loop.step, context)
        if step.low <= 0:
            return Interval(0, None)
        count = ceil_div(distance, step)
        return make(max(count.low, 0), max(count.high, 0))

    def provably(
        self, lhs: SSAValue | int, predicate: Predicate, rhs: SSAValue | int, at: Operation | None = None
    ) -> bool:
        """Whether `lhs predicate rhs` holds for certain at the point (default: the later definition of both)."""
        contexts = [self._context(v, at) for v in (lhs, rhs) if isinstance(v, SSAValue)]
        context = max(contexts, key=_depth) if contexts else self.contexts.root
        return self.holds(self.linear(lhs) - self.linear(rhs), predicate, context)

    def fits_32_bits(self, value: SSAValue, at: Operation | None = None) -> bool:
        """Whether every intermediate integer in the computation of `value` fits in 32 signed bits.

        The computation ends at arguments, loads, loop counters and whatever else is not integer arithmetic.
        """
        context = self._context(value, at)
        seen: set[SSAValue] = set()
        todo = [value]
        while todo:
            current = todo.pop()
            if current in seen or not is_integer(current.type):
                continue
            seen.add(current)
            if not self.interval(current, context).within(INT32):
                return False
            op = current.owner
            if isinstance(op, Operation) and op.name in OPS and OPS[op.name].cls == "alu":
                todo += op.operands
        return True

    def why(self, value: SSAValue, at: Operation | None = None) -> list[tuple[str, str]]:
        """What is known of `value` and what it rests on: `(sentence, "file:line:column")` lines."""
        from specgen.ir.facts_why import explain

        return explain(self, value, self._context(value, at))

    # Ranges

    def _context(self, value: SSAValue, at: Operation | None) -> Context:
        return self.contexts.of(value) if at is None else self.contexts.at(at)

    def assuming(self, context: Context, condition: SSAValue, truth: bool, origin: Operation) -> Context:
        """`context` plus what a condition says."""
        return self.contexts.extended(context, condition, truth, origin)

    def interval(self, value: SSAValue, context: Context) -> Interval:
        """The range of a value in a context, with all constraints."""
        return self._remembered(self._ranges, self._refined, value, context)

    def base(self, value: SSAValue, context: Context) -> Interval:
        """The range of a value from its computation, declarations and the constraints on single values.

        Constraints between values are evaluated by these ranges, so that no question leads back to itself.
        """
        return self._remembered(self._bases, self._plain_range, value, context)

    def _remembered(
        self,
        memory: dict[tuple[SSAValue, Context], Interval],
        compute: Callable[[SSAValue, Context], Interval],
        value: SSAValue,
        context: Context,
    ) -> Interval:
        if not is_integer(value.type):
            return TOP
        known = memory.get((value, context))
        if known is None:
            if not self._ordering:
                self._ordering = True
                for operand in _long_chain(value):
                    if (operand, context) not in memory:
                        memory[operand, context] = compute(operand, context)
                self._ordering = False
            known = memory[value, context] = compute(value, context)
        return known

    def _refined(self, value: SSAValue, context: Context) -> Interval:
        result = self._computed(self, value, context).meet(self.base(value, context))
        form = self.linear(value)
        if form.terms:
            result = self._by_constraints(form, context, RANGE_DEPTH, result)
        return self._without_excluded(form, result, context)

    def _plain_range(self, value: SSAValue, context: Context) -> Interval:
        result = self._computed(self._plain, value, context).meet(self._declared(value))
        for constraint in context.about(value):
            if len(constraint.form.terms) == 1:
                result = result.meet(_single(constraint.form, value))
        return result

    def _declared(self, value: SSAValue) -> Interval:
        """The range of the type, narrowed by `motif.range`."""
        return type_range(value.type).meet(self._stated(value) or TOP)

    def _stated(self, value: SSAValue) -> Interval | None:
        attribute = self.argument_attribute(value, "motif.range")
        if isinstance(value, OpResult):
            attribute = value.owner.attributes.get("motif.range")
            if attribute is None and value.owner.name in ("memref.load", "vector.load"):
                attribute = self.argument_attribute(value.owner.operands[0], "motif.range")
        if not isinstance(attribute, DenseArrayBase):
            return None
        low, high = (int(v) for v in attribute.get_values())
        limits = type_range(value.type)
        # A promise about an unsigned value beyond the signed range says nothing in signed terms.
        return Interval(low, high) if Interval(low, high).within(limits) else None

    def argument_attribute(self, value: SSAValue, name: str) -> Attribute | None:
        """An attribute of a function argument; None for other values."""
        if not isinstance(value, BlockArgument) or value.owner is not self.function.body.block:
            return None
        attributes = self.function.arg_attrs
        return None if attributes is None else attributes.data[value.index].data.get(name)

    def _computed(self, view: View, value: SSAValue, context: Context) -> Interval:
        if value in self._assumed:
            return self._assumed[value]
        if isinstance(value, BlockArgument):
            return self._block_argument(view, value)
        assert isinstance(value, OpResult)
        op = value.owner
        transfer = TRANSFERS.get(op.name)
        if transfer is not None:
            result = transfer(view, op, context)
            limits = type_range(value.type)
            return result if isinstance(value.type, IndexType) or result.within(limits) else limits
        if isinstance(op, scf.IfOp):
            return self._if_result(view, op, value.index, context)
        if isinstance(op, scf.ForOp):
            return self._for_result(view, op, value.index, context)
        if isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            assert condition is not None
            return self._at_end(view, condition, value.index + 1)
        return TOP

    def _at_end(self, view: View, end: Operation, index: int) -> Interval:
        """The range of what a terminator passes on."""
        return view.interval(end.operands[index], self.contexts.at(end))

    def _block_argument(self, view: View, value: BlockArgument) -> Interval:
        parent = value.owner.parent_op()
        if isinstance(parent, scf.ForOp):
            outer = self.contexts.at(parent)
            if value.index == 0:
                low, high = view.interval(parent.lb, outer), view.interval(parent.ub, outer)
                return make(low.low, max(low.low, high.high - 1))
            return self._loop_carried(parent)[value]
        if isinstance(parent, scf.WhileOp):
            if value.owner is parent.before_region.block:
                return self._loop_carried(parent)[value]
            condition = parent.before_region.block.last_op
            assert condition is not None
            return self._at_end(view, condition, value.index + 1)
        return TOP

    def _if_result(self, view: View, op: scf.IfOp, index: int, context: Context) -> Interval:
        truth = view.interval(op.cond, context).exact
        regions = [r for r, wanted in ((op.true_region, 1), (op.false_region, 0)) if truth in (None, wanted)]
        ends = [r.block.last_op for r in regions if r.blocks]
        return hull(self._at_end(view, end, index) for end in ends if end is not None)

    def _for_result(self, view: View, loop: scf.ForOp, index: int, context: Context) -> Interval:
        end = loop.body.block.last_op
        assert end is not None
        rounds = self.trip_range(loop)
        first = view.interval(loop.iter_args[index], context)
        if rounds.high == 0:
            return first
        last = self._at_end(view, end, index)
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
        outer = self.contexts.at(loop)
        begin: dict[SSAValue, Interval] = {a: self.interval(f, outer) for a, f in zip(arguments, first, strict=True)}
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
            current = {a: _widened(current[a], grown[a]).meet(self._declared(a)) if widen else grown[a] for a in grown}
        else:
            current = {a: self._declared(a) for a in current}
        after = self._one_round(pairs, current)
        narrowed = {a: begin[a].join(after[a]).meet(current[a]) for a in current}
        if not self._assumed:
            self._carried[loop] = narrowed
        return narrowed

    def _one_round(
        self, pairs: list[tuple[BlockArgument, SSAValue]], current: dict[SSAValue, Interval]
    ) -> dict[SSAValue, Interval]:
        """Ranges of the yielded values when the arguments have the ranges `current`.

        Computed by other facts, for what is derived from an assumption must not be remembered here.
        """
        trial = Facts(self.function)
        trial._assumed = {**self._assumed, **current}
        trial._carried = dict(self._carried)
        return {a: trial._at_end(trial, _end_of_round(a), n) for n, (a, _) in enumerate(pairs)}

    # Linear forms and proofs

    def linear(self, value: SSAValue | int) -> Linear:
        """A value as constant plus multiples of symbols; equal forms are equal values."""
        if isinstance(value, int):
            return Linear(value)
        if value not in self._linear:
            self._linear[value] = self._linear_form(value)
        return self._linear[value]

    def symbol(self, value: SSAValue) -> SSAValue:
        """The symbol that stands for a value when its form is one symbol, else the value."""
        form = self.linear(value)
        if form.constant == 0 and list(form.terms.values()) == [1]:
            return next(iter(form.terms))
        return value

    def _linear_form(self, value: SSAValue) -> Linear:
        op = value.owner
        if not isinstance(op, Operation) or not is_integer(value.type) or len(op.results) != 1:
            return symbol_of(value)
        form = self._sum_form(op)
        if form is None:
            return symbol_of(self._representative(op, value))
        if isinstance(value.type, IndexType):
            return form
        # A narrower integer wraps unless the exact result is known to fit.
        fits = self._form_range(form).within(type_range(value.type))
        return form if fits else symbol_of(value)

    def _sum_form(self, op: Operation) -> Linear | None:
        if isinstance(op, arith.ConstantOp):
            return Linear(op.value.value.data) if isinstance(op.value, IntegerAttr) else None
        if op.name not in _LINEAR_OPS:
            return None
        sides = [self.linear(o) for o in op.operands]
        if op.name == "arith.addi":
            return sides[0] + sides[1]
        if op.name == "arith.subi":
            return sides[0] - sides[1]
        if op.name == "arith.muli":
            for one, other in (sides, sides[::-1]):
                if not other.terms:
                    return one.scaled(other.constant)
            return None
        if op.name == "arith.shli":
            amount = sides[1]
            return None if amount.terms or not 0 <= amount.constant < 63 else sides[0].scaled(1 << amount.constant)
        return self._cast_form(op, sides[0])

    def _cast_form(self, op: Operation, form: Linear) -> Linear | None:
        source = self.base(op.operands[0], self.contexts.at(op))
        if op.name == "arith.extui" and source.low < 0:
            return None
        if op.name == "arith.extsi" and type_range(op.operands[0].type) == Interval(0, 1):
            return None
        return form if source.within(type_range(op.results[0].type)) else None

    def _representative(self, op: Operation, value: SSAValue) -> SSAValue:
        """The first value that was computed in the same way: pure ops of equal operands are equal."""
        row = OPS.get(op.name)
        if row is None or not row.pure or op.regions:
            return value
        operands = tuple(self.linear(o).key if is_integer(o.type) else id(o) for o in op.operands)
        properties = tuple(sorted((k, str(v)) for k, v in op.properties.items()))
        return self._symbols.setdefault((op.name, operands, properties, str(value.type)), value)

    def _form_range(self, form: Linear) -> Interval:
        """The range of a form from the ranges of its symbols where they are defined."""
        total = point(form.constant)
        for symbol, factor in form.terms.items():
            total = total + self.base(symbol, self.contexts.of(symbol)) * point(factor)
        return total

    def _evaluated(self, form: Linear, context: Context) -> Interval:
        total = point(form.constant)
        for symbol, factor in form.terms.items():
            total = total + self.base(symbol, context) * point(factor)
        return total

    def bound(self, form: Linear, context: Context) -> Interval:
        """The range of a linear form in a context, by its symbols and by sums of constraints."""
        return self._by_constraints(form, context, SEARCH_DEPTH, self._evaluated(form, context))

    def _by_constraints(self, form: Linear, context: Context, depth: int, start: Interval) -> Interval:
        high = min(start.high, self._upper(form, context, depth))
        low = max(start.low, -self._upper(form.scaled(-1), context, depth))
        return make(low, high) if low <= high else start

    def _upper(self, form: Linear, context: Context, depth: int) -> float | int:
        """An upper bound: adding `q * c` for a constraint `c <= 0` never makes a form larger."""
        best = self._evaluated(form, context).high
        if depth == 0 or not form.terms:
            return best
        for constraint in self._relevant(form, context):
            for symbol in form.terms:
                factor = cancelling_factor(form, constraint.form, symbol)
                if factor:
                    rest = form - constraint.form.scaled(factor)
                    if len(rest.terms) <= len(form.terms) + 1:
                        best = min(best, self._upper(rest, context, depth - 1))
                    break
        return best

    def _relevant(self, form: Linear, context: Context) -> Iterator[Constraint]:
        for symbol in form.terms:
            yield from context.about(symbol)
            yield from self._definition(symbol)

    def _definition(self, symbol: SSAValue) -> Iterator[Constraint]:
        """Inequalities that hold for the result of an op by its meaning."""
        op = symbol.owner
        if not isinstance(op, Operation):
            return
        me = symbol_of(symbol)
        if op.name in ("arith.minsi", "arith.maxsi"):
            for operand in op.operands:
                difference = me - self.linear(operand)
                yield Constraint(difference if op.name == "arith.minsi" else difference.scaled(-1), op)
        elif op.name in ("arith.floordivsi", "arith.ceildivsi"):
            divisor = self.exact(op.operands[1])
            if divisor is not None and divisor > 0:
                excess = me.scaled(divisor) - self.linear(op.operands[0])
                up = divisor - 1 if op.name == "arith.ceildivsi" else 0
                yield Constraint(excess.shifted(-up), op)
                yield Constraint(excess.scaled(-1).shifted(up - divisor + 1), op)

    def _without_excluded(self, form: Linear, result: Interval, context: Context) -> Interval:
        """The range without an end that a `!=` rules out."""
        for constraint in context.constraints():
            if not constraint.differs:
                continue
            for sign in (1, -1):
                difference = form - constraint.form.scaled(sign)
                if not difference.terms:
                    value = difference.constant
                    if result.lo == value and result.hi != value:
                        result = Interval(value + 1, result.hi)
                    elif result.hi == value and result.lo != value:
                        result = Interval(result.lo, value - 1)
        return result

    def holds(self, difference: Linear, predicate: Predicate, context: Context) -> bool:
        """Whether `difference predicate 0` is certain in a context."""
        if predicate in ("<", "<=", ">", ">="):
            form = difference if predicate[0] == "<" else difference.scaled(-1)
            high = min(self._upper(form, context, SEARCH_DEPTH), INF)
            return high < 0 if len(predicate) == 1 else high <= 0
        if predicate == "==":
            return (not difference.terms and difference.constant == 0) or self.bound(difference, context).exact == 0
        value = self.bound(difference, context)
        if value.low > 0 or value.high < 0:
            return True
        return any(
            c.differs and (difference - c.form.scaled(s)).key == Linear().key
            for c in context.constraints()
            for s in (1, -1)
        )

    def divides(self, factor: int, form: Linear, context: Context) -> bool:
        """Whether `factor` divides a linear form for certain."""
        from specgen.ir.facts_multiple import multiple_of

        return form.constant % factor == 0 and all(
            f * multiple_of(self, s, context) % factor == 0 for s, f in form.terms.items()
        )

    def decide(self, op: arith.CmpiOp, context: Context) -> bool | None:
        """The truth of an integer comparison where it is certain."""
        predicate = op.predicate.value.data
        if predicate >= 6:
            sides = [self.interval(o, context) for o in op.operands]
            if any(s.low < 0 for s in sides):
                return None
            predicate -= 4
        yes, no = _DECISIONS[predicate]
        difference = self.linear(op.lhs) - self.linear(op.rhs)
        if self.holds(difference, yes, context):
            return True
        return False if self.holds(difference, no, context) else None


_LINEAR_OPS = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.shli",
    "arith.index_cast",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
)

_DECISIONS: tuple[tuple[Predicate, Predicate], ...] = (
    ("==", "!="),
    ("!=", "=="),
    ("<", ">="),
    ("<=", ">"),
    (">", "<="),
    (">=", "<"),
)


def decide_by_ranges(predicate: int, left: Interval, right: Interval) -> bool | None:
    """The truth of integer predicate number `predicate` where the ranges leave no choice."""
    if predicate >= 6:
        if left.low < 0 or right.low < 0:
            return None
        predicate -= 4
    apart = left.high < right.low or right.high < left.low
    if predicate in (0, 1):
        same = left.exact is not None and left.exact == right.exact
        return None if not apart and not same else same == (predicate == 0)
    if predicate in (4, 5):
        left, right, predicate = right, left, predicate - 2
    certain = left.high < right.low if predicate == 2 else left.high <= right.low
    never = left.low >= right.high if predicate == 2 else left.low > right.high
    return True if certain else (False if never else None)


def _long_chain(value: SSAValue) -> list[SSAValue]:
    """What `value` is computed from, operands first, without the nearest: long chains must not recurse deeply."""
    order: list[SSAValue] = []
    seen, todo = {value}, [value]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Operation) or op.name not in TRANSFERS:
            continue
        for operand in op.operands:
            if operand not in seen and is_integer(operand.type):
                seen.add(operand)
                order.append(operand)
                todo.append(operand)
    return order[: CHAIN_START - 1 : -1]


def _end_of_round(argument: BlockArgument) -> Operation:
    loop = argument.owner.parent_op()
    assert isinstance(loop, scf.ForOp | scf.WhileOp)
    end = (loop.after_region if isinstance(loop, scf.WhileOp) else loop.body).block.last_op
    assert end is not None
    return end


def _single(form: Linear, symbol: SSAValue) -> Interval:
    """What `factor * symbol + constant <= 0` says of the symbol."""
    factor = form.terms[symbol]
    if factor > 0:
        return Interval(None, -form.constant // factor)
    return Interval(-(-form.constant // -factor), None)


def _widened(old: Interval, new: Interval) -> Interval:
    return make(old.low if new.low >= old.low else -INF, old.high if new.high <= old.high else INF)


def _depth(context: Context) -> int:
    depth, current = 0, context.parent
    while current is not None:
        depth, current = depth + 1, current.parent
    return depth


def _three(attribute: Attribute | None) -> tuple[int, int, int]:
    if not isinstance(attribute, DenseArrayBase):
        return 1, 1, 1
    x, y, z = (int(v) for v in attribute.get_values())
    return x, y, z
