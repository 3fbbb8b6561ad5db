"""Whether a loop may be pipelined at all: the rules that need no partition, and the numbers of the rebuilt loop."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation

from specgen.diagnostics import Diagnostic
from specgen.schedule import policy
from specgen.schedule.effects import PARTICIPANTS, Effects, Kind, effects_of, memory_of
from specgen.schedule.emit import INDEX_MAX
from specgen.schedule.knowledge import Knowledge
from specgen.schedule.partition import Plan
from specgen.schedule.pipeline import Shape
from specgen.schedule.rules import Rejected, broken, describe

DEPTH_MAX = 65535
OPERANDS_MAX = 65535
"""The most values that a loop may carry, its queue included."""


def depth_of(loop: scf.ForOp) -> int:
    """The depth that the loop asks for. Raises `Rejected` (P1, P2)."""
    asked = loop.attributes.get(policy.PIPELINE, IntegerAttr(1, 64))
    depth = policy.integer(asked)
    if depth is None:
        raise Rejected([broken("P1", loop, "the depth is not an integer", found=str(asked))])
    if not 1 <= depth <= DEPTH_MAX:
        raise Rejected([broken("P2", loop, f"depth {depth}", found=str(depth), allowed=(f"1..{DEPTH_MAX}",))])
    return depth


def check_through(loop: scf.ForOp) -> None:
    """Raises `Rejected` (through-alone)."""
    if policy.THROUGH in loop.attributes and policy.PIPELINE not in loop.attributes:
        raise Rejected([broken("through-alone", loop, "the loop has `through` and no `pipeline`")])


def lead_of(loop: scf.ForOp) -> int | None:
    """The lead that the loop asks for; None for `auto`. Raises `Rejected` (lead-alone, lead-value)."""
    asked = loop.attributes.get(policy.LEAD)
    if asked is None:
        return 0
    if policy.word(asked) == policy.AUTO:
        return None
    lead = policy.integer(asked)
    if lead is None or not 0 <= lead <= DEPTH_MAX:
        raise Rejected(
            [broken("lead-value", loop, f"the lead is {asked}", found=str(asked), allowed=("0 or more", policy.AUTO))]
        )
    if lead and policy.PIPELINE not in loop.attributes:
        raise Rejected([broken("lead-alone", loop, "the loop has `lead` and no `pipeline`")])
    return lead


def read_count(loop: scf.ForOp) -> int:
    """Static loads of buffers in the body."""
    return len(effects_of(loop).reads)


def check_body(loop: scf.ForOp, depth: int, knowledge: Knowledge) -> None:
    """Rules about the loop's frame and about single ops of its body. Raises `Rejected` with all that are broken."""
    step = _step(loop, knowledge)
    if (depth - 1) * step > INDEX_MAX:
        raise Rejected([broken("P4", loop, f"{depth - 1} steps of {step} leave the range of `index`")])
    effects = effects_of(loop)
    faults = [*_storage(loop), *_forbidden(effects)]
    if faults:
        raise Rejected(faults)
    if not effects.reads:
        raise Rejected([broken("P6", loop, "the body reads no buffer")])
    faults = _participation(loop, effects, knowledge)
    if faults:
        raise Rejected(faults)


def _step(loop: scf.ForOp, knowledge: Knowledge) -> int:
    step = knowledge.exact(loop, loop.step)
    if step is None:
        raise Rejected([broken("P3", loop, "the step is not known")])
    if step <= 0:
        raise Rejected([broken("P3", loop, f"the step is {step}", found=str(step), allowed=("1 or more",))])
    return step


def _storage(loop: scf.ForOp) -> list[Diagnostic]:
    carried = [value for value in loop.iter_args if isinstance(value.type, MemRefType)]
    return [broken("P5", loop, "the loop carries a buffer")] if carried else []


def _forbidden(effects: Effects) -> list[Diagnostic]:
    faults = []
    for kind, op in effects.ops:
        if kind is Kind.WRITE:
            faults.append(_write(op, effects, "P8"))
        elif kind is Kind.ATOMIC:
            faults.append(_write(op, effects, "P16"))
        elif kind is Kind.GLOBAL_SYNC:
            faults.append(broken("P9", op, f"{describe(op)} orders buffers while later reads are already in flight"))
        elif kind is Kind.WHILE:
            faults.append(broken("P15", op, "a `while` is nested in the loop"))
        elif kind is Kind.FENCE:
            faults.append(broken("P16", op, "a source-order fence forbids that reads run ahead"))
        elif kind is Kind.OTHER:
            faults.append(broken("P16", op, f"{describe(op)} is no ordinary read"))
    return faults


def _write(op: Operation, effects: Effects, rule: str) -> Diagnostic:
    """Reads of the same buffer are named: they are what would be moved across the store."""
    memory = memory_of(op)
    crossing = [read for read in effects.reads if memory_of(read) is memory]
    buffer = "a buffer" if memory is None or memory.name_hint is None else f"`{memory.name_hint}`"
    notes = [(read, "this read of the same buffer would run ahead of the store") for read in crossing[:3]]
    return broken(rule, op, f"{describe(op)} writes {buffer} while later reads are already in flight", notes=notes)


@dataclass(frozen=True)
class _Meeting:
    """Ops that several work-items execute together: their rule, their kinds, who meets, the uniformity they need."""

    code: str
    kinds: frozenset[Kind]
    who: str
    levels: tuple[str, ...]


_MEETINGS = (
    _Meeting("P10", PARTICIPANTS, "the workgroup", ("workgroup",)),
    _Meeting("P11", frozenset({Kind.COLLECTIVE}), "several lanes", ("workgroup", "subgroup")),
)


def _participation(loop: scf.ForOp, effects: Effects, knowledge: Knowledge) -> list[Diagnostic]:
    """Rules P10 and P11: all participants meet the same instances at the same places of the rebuilt loop.

    What the author wrote needs exact bounds; what the compiler placed for a staged view needs uniform ones.
    """
    bounds = (("lower", loop.lb), ("upper", loop.ub))
    which = " and ".join(end for end, value in bounds if knowledge.exact(loop, value) is None)
    faults = []
    for meeting in _MEETINGS:
        ops = effects.of(*meeting.kinds)
        written = [op for op in ops if policy.STAGED not in op.attributes]
        if written and which:
            why = f"{describe(written[0])} is met by {meeting.who}, but the loop has no exact {which} bound"
            faults.append(broken(meeting.code, written[0], why, notes=[(loop, f"the {which} bound is not exact")]))
        else:
            faults += [fault for op in ops if (fault := _divergent(loop, op, meeting, knowledge)) is not None]
    return faults


def _divergent(loop: scf.ForOp, op: Operation, meeting: _Meeting, knowledge: Knowledge) -> Diagnostic | None:
    """A control value of the loop, or between it and the op, on which the participants may disagree."""
    at: Operation | None = op
    whole = op.name == "motif.workgroup_reduce"
    while at is not None and at is not loop:
        at = at.parent_op()
        assert at is not None
        controls = at.operands[:1] if isinstance(at, scf.IfOp) else at.operands[:3]
        if any(knowledge.uniform(value) not in (meeting.levels[:1] if whole else meeting.levels) for value in controls):
            why = f"{describe(op)} is met by {meeting.who}, which may disagree on what encloses it"
            return broken(meeting.code, op, why, notes=[(at, "not proven uniform over the participants")])
    return None


def check_size(plan: Plan, depth: int) -> None:
    """Rule P18. Raises `Rejected`."""
    carried = len(plan.loop.iter_args)
    total = carried + (depth - 1) * len(plan.record)
    if total > OPERANDS_MAX:
        why = f"{depth - 1} records of {len(plan.record)} values and {carried} carried values"
        raise Rejected([broken("P18", plan.loop, why, found=str(total), allowed=(f"at most {OPERANDS_MAX}",))])


def shape(plan: Plan, depth: int, knowledge: Knowledge) -> Shape:
    """The numbers of the rebuilt loop, with every question of its guard answered that facts can answer."""
    loop = plan.loop
    step = knowledge.exact(loop, loop.step)
    assert step is not None
    low, high = knowledge.trips(loop)
    long = True if low >= depth else False if high is not None and high < depth else None
    fits = knowledge.largest(loop, loop.lb) + (depth - 1) * step <= INDEX_MAX
    return Shape(plan, depth, step, low if low == high else None, fits, long, knowledge.counter(loop))
