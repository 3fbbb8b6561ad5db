"""What became of each barrier: one row for every phase (complete, arrive, wait) of an entry point.

Source counts are operations of the scheduled IR, low counts instructions of the artifact, found by the places that
the artifact's line table gives them. Static counts are occurrences; dynamic ones are executions by one subgroup in
one workgroup, left out where a trip count or a condition is known only when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from specgen.ir.facts import Facts
    from specgen.targets import Target

Place = tuple[str, int, int]
"""File, line, column."""

Machine = Mapping[Place, Mapping[str, int]]
"""How often each barrier instruction stands at each place."""

PHASES = {"gpu.barrier": "complete", "motif.arrive": "arrive", "motif.wait": "wait"}

_SPLIT = {
    "complete": ("s_barrier_signal", "s_barrier_wait"),
    "arrive": ("s_barrier_signal",),
    "wait": ("s_barrier_wait",),
}
_WHOLE: dict[str, tuple[str, ...]] = {"complete": ("s_barrier",), "arrive": (), "wait": ("s_barrier",)}
_SPIRV: dict[str, tuple[str, ...]] = {
    "complete": ("OpControlBarrier",),
    "arrive": (),
    "wait": ("OpControlBarrier",),
}


def instructions(target: Target) -> Mapping[str, tuple[str, ...]]:
    """The instructions that a target has for each phase: none for an arrival where the wait is a complete barrier."""
    if target.kind == "spirv":
        return _SPIRV
    return _SPLIT if target.split_barrier else _WHOLE


def rows(functions: Iterable[FuncOp], machine: Mapping[str, Machine], target: Target) -> list[dict[str, Any]]:
    """The rows of `barriers[]`; `machine` by the function's name."""
    result = []
    for function in functions:
        found: dict[str, list[Operation]] = {}
        for op in function.walk():
            if op.name in PHASES:
                found.setdefault(PHASES[op.name], []).append(op)
        if found:
            code = machine.get(function.sym_name.data, {})
            result += [_row(function, phase, found, code, target) for phase in PHASES.values() if phase in found]
    return result


def _row(
    function: FuncOp, phase: str, found: Mapping[str, list[Operation]], code: Machine, target: Target
) -> dict[str, Any]:
    from specgen.ir import locations

    ops, selected = found[phase], instructions(target)[phase]
    places = sorted({place for op in ops if (place := locations.of(op)) is not None})
    row: dict[str, Any] = {
        "function": function.sym_name.data,
        "phase": phase,
        "selection": " + ".join(selected) or "none: the wait is a complete barrier",
        "locations": [f"{file}:{line}:{column}" for file, line, column in places],
        "static_source_count": len(ops),
    }
    others = {
        locations.of(op)
        for other, same in found.items()
        if other != phase and set(instructions(target)[other]) & set(selected)
        for op in same
    }
    told_apart = not others & set(places)
    low = sum(count for p in places for name, count in code.get(p, {}).items() if name in selected)
    if told_apart:
        row["static_low_count"] = low
    executed = _executions(function, ops)
    if executed is not None:
        row["dynamic_source_count"] = executed
        # Each execution of a barrier runs its instructions once, whichever copy of the code it is in.
        row["dynamic_low_count"] = executed * len(selected) if low or not told_apart else 0
    return row


def _executions(function: FuncOp, ops: Iterable[Operation]) -> int | None:
    from specgen.ir.facts import Facts

    facts = Facts(function)
    counts = [_times(facts, op) for op in ops]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _times(facts: Facts, op: Operation) -> int | None:
    """How often an op runs in one run of its function; None when that is not known."""
    from xdsl.dialects import scf
    from xdsl.dialects.func import FuncOp

    trips: list[int] = []
    inner, outer = op, op.parent_op()
    while outer is not None and not isinstance(outer, FuncOp):
        count: int | None = None
        if isinstance(outer, scf.ForOp):
            count = facts.trip_count(outer)
        elif isinstance(outer, scf.IfOp):
            side = facts.exact(outer.cond, outer)
            if side is not None:
                count = int((inner.parent_region() is outer.true_region) == bool(side))
        if count is None:
            return None
        trips.append(count)
        inner, outer = outer, outer.parent_op()
    return prod(trips)
