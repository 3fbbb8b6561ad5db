"""Facts about the values of a function: ranges, exactness, divisibility, equalities, uniformity.

A snapshot: build a new `Facts` after the IR has changed. Values of SSA never change, so what a condition, a loop
bound or an assumption says holds for every point below it; queries take the point (`at`, an op: just before it;
left out: where the value is defined).

Arithmetic of `index` is taken as free of overflow (it is a finding when it happens); narrower integers wrap, so
a result that may leave its type has the range of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from specgen.ir.facts_context import Context, Contexts
from specgen.ir.facts_forms import Forms
from specgen.ir.facts_interval import TOP, Interval, ceil_div, make
from specgen.ir.facts_linear import Linear
from specgen.ir.facts_proof import Predicate, Proofs, decide_by_ranges, single
from specgen.ir.facts_regions import Regions
from specgen.ir.facts_transfer import INT32, TRANSFERS, View, is_integer, type_range
from specgen.ir.optable import OPS

RANGE_DEPTH = 2
"""Constraints that the range of a value may rest on."""

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
        self.forms = Forms(self)
        self.proofs = Proofs(self)
        self.regions = Regions(self)

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
        distance = self.proofs.bound(self.linear(loop.ub) - self.linear(loop.lb), context)
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
        return self.proofs.holds(self.linear(lhs) - self.linear(rhs), predicate, context)

    def fits_32_bits(self, value: SSAValue, at: Operation | None = None) -> bool:
        """Whether every intermediate integer in the computation of `value` fits in 32 signed bits.

        The computation ends at arguments, loads, loop counters and whatever else is not integer arithmetic.
        """
        context = self._context(value, at)
        seen: set[SSAValue] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in seen or not is_integer(current.type):
                continue
            seen.add(current)
            if not self.interval(current, context).within(INT32):
                return False
            op = current.owner
            if isinstance(op, Operation) and op.name in OPS and OPS[op.name].cls == "alu":
                pending += op.operands
        return True

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
            result = self.proofs.narrowed(form, context, RANGE_DEPTH, result)
        return self.proofs.without_excluded(form, result, context)

    def _plain_range(self, value: SSAValue, context: Context) -> Interval:
        result = self._computed(self._plain, value, context).meet(self.declared(value))
        for constraint in context.about(value):
            if len(constraint.form.terms) == 1:
                result = result.meet(single(constraint.form, value))
        return result

    def declared(self, value: SSAValue) -> Interval:
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
        if value in self.regions.assumed:
            return self.regions.assumed[value]
        if isinstance(value, BlockArgument):
            return self.regions.argument(view, value)
        assert isinstance(value, OpResult)
        transfer = TRANSFERS.get(value.owner.name)
        if transfer is None:
            return self.regions.result(view, value, context)
        result, limits = transfer(view, value.owner, context), type_range(value.type)
        return result if isinstance(value.type, IndexType) or result.within(limits) else limits

    def assuming_ranges(self, ranges: Mapping[SSAValue, Interval]) -> Facts:
        """Other facts of the function that take some ranges for granted."""
        trial = Facts(self.function)
        trial.regions = self.regions.extended(trial, ranges)
        return trial

    # Linear forms and proofs

    def linear(self, value: SSAValue | int) -> Linear:
        """A value as constant plus multiples of symbols; equal forms are equal values."""
        return self.forms.linear(value)

    def decide(self, op: arith.CmpiOp, context: Context) -> bool | None:
        """The truth of an integer comparison where it is certain."""
        return self.proofs.decide(op, context)

    def divides(self, factor: int, form: Linear, context: Context) -> bool:
        """Whether `factor` divides a linear form for certain."""
        from specgen.ir.facts_multiple import multiple_of

        return form.constant % factor == 0 and all(
            f * multiple_of(self, s, context) % factor == 0 for s, f in form.terms.items()
        )


def _long_chain(value: SSAValue) -> list[SSAValue]:
    """What `value` is computed from, operands first, without the nearest: long chains must not recurse deeply."""
    order: list[SSAValue] = []
    seen, pending = {value}, [value]
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or op.name not in TRANSFERS:
            continue
        for operand in op.operands:
            if operand not in seen and is_integer(operand.type):
                seen.add(operand)
                order.append(operand)
                pending.append(operand)
    return order[: CHAIN_START - 1 : -1]


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
