"""Facts that keep what each of them rests on, as it is found: declarations, the launch, guards, loop bounds, promises.

A reason is recorded where the analysis narrows a range: no reason is guessed afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from specgen.ir import locations
from specgen.ir.dialect import AssumeOp
from specgen.ir.facts import RANGE_DEPTH, Facts
from specgen.ir.facts_context import Context
from specgen.ir.facts_interval import Interval
from specgen.ir.facts_linear import Constraint, Linear
from specgen.ir.facts_multiple import constant_divisor
from specgen.ir.facts_proof import Proofs, single
from specgen.ir.facts_transfer import is_integer, type_range
from specgen.ir.optable import OPS

MOST_REASONS = 8
"""Reasons that are told of one fact."""


@dataclass(frozen=True)
class Reason:
    """What a fact rests on. `place` is `file:line:column`, empty for an argument: the IR has none for it.

    Kinds: declared, launch, guard, loop, while, assume, constant, computed, carried, memory.
    """

    kind: str
    text: str
    place: str
    values: tuple[SSAValue, ...] = ()
    """What a computed value is made of; the argument that a declaration is about."""


class _Recorder(Proofs):
    """Proofs that hand the constraints of each narrower end to the facts."""

    def __init__(self, facts: RecordedFacts) -> None:
        super().__init__(facts)
        self.used: list[Constraint] = []
        self.left: list[SSAValue] = []

    def narrowed(self, form: Linear, context: Context, depth: int, start: Interval) -> Interval:
        """See `Proofs.narrowed`."""
        result = super().narrowed(form, context, depth, start)
        used: list[Constraint] = []
        left: list[SSAValue] = []
        for end, better in ((form, result.high < start.high), (form.scaled(-1), result.low > start.low)):
            if better:
                self._upper(end, context, depth)  # again, for what it leaves in `path` and `rest`
                used += self.path
                left += self.rest.terms
        # Questions about other values may be asked on the way: what is kept is of the last one that was answered.
        self.used, self.left = used, left
        return result


class RecordedFacts(Facts):
    """`Facts` with `reasons` for ranges, `multiple_reasons` and `uniform_reasons`."""

    def __init__(self, function: FuncOp) -> None:
        super().__init__(function)
        self.proofs: _Recorder = _Recorder(self)
        self._base_reasons: dict[tuple[SSAValue, Context], tuple[Reason, ...]] = {}
        self._reasons: dict[tuple[SSAValue, Context], tuple[Reason, ...]] = {}

    def reasons(self, value: SSAValue, context: Context) -> tuple[Reason, ...]:
        """What the range of a value in a context rests on, first its own reasons, then those of what it is made of.

        Empty when nothing is known of it; at most `MOST_REASONS`.
        """
        found: dict[Reason, None] = {}
        seen, pending = {value}, [value]
        while pending and len(found) < MOST_REASONS:
            current = pending.pop(0)
            self.interval(current, context)
            for reason in self._reasons.get((current, context), ()):
                found[reason] = None
                parts = [p for p in reason.values if p not in seen and is_integer(p.type) and not _constant(p)]
                seen.update(parts)
                pending += parts
        return tuple(found)[:MOST_REASONS]

    def _plain_range(self, value: SSAValue, context: Context) -> Interval:
        found: list[Reason] = []
        limits, stated = type_range(value.type), self.declared(value)
        made = self._computed(self._plain, value, context).meet(limits)
        result = made.meet(stated)
        if made != limits and (result != stated or made == stated):
            found.append(self._made(value))
        if result != made:
            found.append(self._stated_reason(value))
        for constraint in context.about(value):
            if len(constraint.form.terms) == 1:
                narrower = result.meet(single(constraint.form, value))
                if narrower != result:
                    found.append(_of(self, constraint))
                result = narrower
        self._base_reasons[value, context] = tuple(found)
        return result

    def _refined(self, value: SSAValue, context: Context) -> Interval:
        base = self.base(value, context)
        found = list(self._base_reasons.get((value, context), ()))
        result = self._computed(self, value, context).meet(base)
        if result != base:
            found.append(self._made(value))
        form = self.linear(value)
        if form.terms:
            before = result
            result = self.proofs.narrowed(form, context, RANGE_DEPTH, result)
            if result != before:
                found += [_of(self, c) for c in self.proofs.used]
                for symbol in self.proofs.left:
                    found += self._base_reasons.get((symbol, context), ())
        after = self.proofs.without_excluded(form, result, context)
        if after != result:
            found += [_of(self, c) for c in context.constraints() if c.differs and set(c.form.terms) & set(form.terms)]
        self._reasons[value, context] = tuple(dict.fromkeys(found))
        return after

    def _made(self, value: SSAValue) -> Reason:
        """How a value comes about."""
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            if isinstance(parent, scf.ForOp) and value.index == 0:
                text = f"counts from {_shown(self, parent.lb)} to {_shown(self, parent.ub)}"
                return Reason("loop", text, _at(parent), (parent.lb, parent.ub))
            return Reason("carried", "carried by the loop: its first value and what each round leaves", _at(parent))
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, gpu.ThreadIdOp):
            return Reason("launch", f"a workgroup is {' x '.join(map(str, self.workgroup_size))} work-items", _at(op))
        if op.name in ("gpu.lane_id", "gpu.subgroup_id"):
            return Reason("launch", "the subgroup size and the workgroup size", _at(op))
        if isinstance(op, scf.IfOp | scf.ForOp | scf.WhileOp):
            return Reason("computed", f"what `{op.name.removeprefix('scf.')}` leaves", _at(op))
        parts = tuple(o for o in op.operands if o.type.name != "memref" and not _constant(o))
        names = ", ".join(_shown(self, o) for o in op.operands if o.type.name != "memref")
        return Reason("computed", f"{op.name} of {names}", _at(op), parts)

    def _stated_reason(self, value: SSAValue) -> Reason:
        if isinstance(value, BlockArgument):
            return Reason("declared", "the declared range", "", (value,))
        op = value.owner
        assert isinstance(op, Operation)
        if op.name.startswith("gpu."):
            return Reason("launch", "an id of the launch", _at(op))
        if op.name in ("memref.load", "vector.load"):
            name = name_of(self, op.operands[0])
            return Reason("declared", f"the declared range of the elements of {name}", "", (op.operands[0],))
        return Reason("declared", "a range that comes with the operation", _at(op))

    # Divisibility

    def multiple_reasons(self, value: SSAValue, context: Context) -> tuple[Reason, ...]:
        """What the divisor of a value in a context rests on."""
        form = self.linear(value)
        for zero in context.all_zeros():
            divisor = constant_divisor(zero)
            if divisor and self.linear(zero.owner.operands[0]).key == form.key:  # type: ignore[union-attr]
                zero_form = self.linear(zero).key
                origins = (c.origin for c in context.constraints() if c.form.key == zero_form)
                return tuple(_because(op, f"a multiple of {divisor}") for op in origins)[:1]
        if isinstance(value, BlockArgument):
            if isinstance(self.argument_attribute(value, "motif.multiple_of"), IntegerAttr):
                return (Reason("declared", "the declared multiple", "", (value,)),)
            parent = value.owner.parent_op()
            if isinstance(parent, scf.ForOp) and value.index == 0:
                text = f"starts at {_shown(self, parent.lb)}, steps by {_shown(self, parent.step)}"
                return (Reason("loop", text, _at(parent)),)
        return (self._made(value),)

    # Uniformity

    def uniform_reasons(self, value: SSAValue) -> tuple[Reason, ...]:
        """What makes work-items agree on a value, or which of its parts they differ in."""
        level = self.uniform(value)
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            if isinstance(parent, FuncOp):
                return (Reason("launch", "an argument is the same for all work-items", "", (value,)),)
            assert parent is not None
            if isinstance(parent, scf.ForOp) and value.index == 0:
                return (self._agreement(level, (parent.lb, parent.ub), "the bounds of the loop", parent),)
            return (Reason("carried", f"{_LEVELS[level]} in every round of the loop", _at(parent)),)
        op = value.owner
        assert isinstance(op, Operation)
        if op.name.startswith("gpu."):
            return (Reason("launch", f"an id of the launch: {_LEVELS[level]}", _at(op)),)
        if isinstance(op, scf.IfOp):
            ends = [r.block.last_op for r in op.regions if r.blocks]
            assert isinstance(value, OpResult)
            parts = (op.cond, *(end.operands[value.index] for end in ends if end is not None))
            return (self._agreement(level, parts, "the condition and what its sides give", op),)
        if isinstance(op, scf.ForOp | scf.WhileOp):
            return (Reason("carried", f"what the loop leaves: {_LEVELS[level]}", _at(op)),)
        parts = tuple(o for o in op.operands if o.type.name != "memref" and not _constant(o))
        if op.name in OPS and OPS[op.name].cls == "collective":
            return (Reason("computed", f"{op.name}: {_LEVELS[level]}", _at(op)),)
        if not parts:
            return (Reason("constant", "no part differs", _at(op)),)
        return (self._agreement(level, parts, op.name, op),)

    def _agreement(self, level: str, parts: tuple[SSAValue, ...], what: str, op: Operation) -> Reason:
        """Which parts decide: those that are no more uniform than the whole; all when the whole is uniform."""
        deciding = tuple(dict.fromkeys(p for p in parts if level == "workgroup" or self.uniform(p) == level))
        names = ", ".join(_shown(self, p) for p in deciding if not _constant(p))
        if not deciding:
            return Reason("computed", f"{what}: the lanes of a subgroup get the same", _at(op), parts)
        return Reason("computed", f"{what}{' of ' + names if names else ''}: {_LEVELS[level]}", _at(op), deciding)


_LEVELS = {
    "workgroup": "the same in the workgroup",
    "subgroup": "the same in a subgroup",
    "none": "differs between work-items",
}


def _of(facts: Facts, constraint: Constraint) -> Reason:
    """The reason that a constraint is."""
    return _because(constraint.origin, _inequality(facts, constraint))


def _because(op: Operation, what: str) -> Reason:
    kind, text = next((k, t) for type_, k, t in _ORIGINS if isinstance(op, type_))
    return Reason(kind, f"{what}, by {text or 'the meaning of ' + op.name}", _at(op))


_ORIGINS: tuple[tuple[type, str, str], ...] = (
    (scf.IfOp, "guard", "the condition of `if`"),
    (scf.ForOp, "loop", "the bounds of the loop"),
    (scf.WhileOp, "while", "the condition of `while`"),
    (AssumeOp, "assume", "a promise of the author"),
    (Operation, "computed", ""),
)
"""Kind and words of a constraint by the operation that it comes from."""


def _inequality(facts: Facts, constraint: Constraint) -> str:
    """`form <= 0` with what is added on the left and the rest on the right."""
    form = constraint.form
    sides: tuple[list[str], list[str]] = ([], [])
    for symbol, factor in form.terms.items():
        name = _shown(facts, symbol)
        sides[factor < 0].append(name if abs(factor) == 1 else f"{abs(factor)} * {name}")
    sign, constant = ("!=" if constraint.differs else "<="), form.constant
    if not sides[0]:
        return f"{' + '.join(sides[1])} {'!=' if constraint.differs else '>='} {constant}"
    if constant > 0:
        sides[0].append(str(constant))
    elif constant < 0 or not sides[1]:
        sides[1].append(str(-constant))
    return f"{' + '.join(sides[0])} {sign} {' + '.join(sides[1])}"


def _constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


def _shown(facts: Facts, value: SSAValue, depth: int = 3) -> str:
    """A value in words: its number, its name in the spec, or the operation that makes it."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return str(op.value.value.data)
    if not isinstance(op, Operation) or is_named(value) or not depth or op.regions:
        return name_of(facts, value)
    parts = (_shown(facts, o, depth - 1) for o in op.operands if o.type.name != "memref")
    return f"{op.name.split('.')[1]}({', '.join(parts)})"


def name_of(facts: Facts, value: SSAValue) -> str:
    """A value in words: the argument's or the spec's name, else the op that makes it."""
    named = facts.argument_attribute(value, "motif.name")
    if isinstance(named, StringAttr):
        return named.data
    if value.name_hint:
        return _COPY.sub("", value.name_hint)
    return value.owner.name if isinstance(value.owner, Operation) else "value"


def is_named(value: SSAValue) -> bool:
    """Whether a value has a name in the spec: others have hints that the binder made up."""
    return value.name_hint is not None and not _UNNAMED.match(value.name_hint)


_UNNAMED = re.compile(r"(v|cst|c\d+)(_\d+)?\Z")
_COPY = re.compile(r"_\d+\Z")
"""What tells several values of one name apart."""


def _at(op: Operation | None) -> str:
    return "" if op is None else locations.text(op)
