"""Cases derived from schedule and facts: the trip counts at which a scheduled loop changes its path."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from specgen import ir
from specgen.checks.cases import Buffer, Check, Reference, Signature, parsed, prepare
from specgen.checks.trips import Loop, scheduled_loops, touched_rows
from specgen.checks.values import FormulaError
from specgen.expressions import evaluate_formula, nodes
from specgen.param_sets import of_case

if TYPE_CHECKING:
    from specgen.schedule import Scheduled

SCANNED = 640
"""Values from the low end of a scalar's range among which those for a wanted trip count are looked for."""
SCANNED_TOP = 160
MOST_BYTES = 32 << 20
"""Arguments of a derived case; larger ones are left to the spec's own checks."""
MOST_CASES = 48


@dataclass(frozen=True)
class Schedule:
    """How one entry point runs a loop: iterations in flight and copies of an unrolled step."""

    entry: str
    depth: int
    factor: int


@dataclass(frozen=True)
class LoopPlan:
    """A scheduled loop: where it stands, what its trips follow (None: not one scalar), how entries run it."""

    label: str
    location: str
    scalar: str | None
    schedules: tuple[Schedule, ...]


@dataclass(frozen=True)
class Derivation:
    """What a schedule gives: checks, the loops that it has, and why a loop gave no check."""

    checks: tuple[Derived, ...] = ()
    loops: tuple[LoopPlan, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Derived:
    """A derived check and the lines that say where it comes from."""

    check: Check
    reasons: tuple[str, ...]


def derive(
    checks: Sequence[Check],
    signature: Signature,
    rows: Sequence[Mapping[str, Any]],
    scheduled: Scheduled,
    serial: str,
    params: Mapping[str, Any] = MappingProxyType({}),
    policies: Collection[str] = (),
) -> Derivation:
    """Checks for the loops of a scheduled module, one a scalar that trip counts follow.

    `serial` is the symbol of the serial entry, whose loops stand as they are written;
    `rows` are the `args` rows of the manifest, for ranges; `params` are the values of this build,
    `policies` the names of what its entries may disagree in.
    """
    function = ir.function_named(scheduled.module, serial)
    places = _schedules(scheduled)
    if function is None or not places:
        return Derivation()
    loops, others = scheduled_loops(function, list(places))
    plans = [LoopPlan(loop.label, loop.location, loop.scalar, tuple(places[loop.location])) for loop in loops]
    plans += [LoopPlan(label, place, None, tuple(places[place])) for label, place in others]
    ranges = {row["name"]: row for row in rows}
    source = _source(checks, params, policies)
    result = []
    notes = [f"Loop `{label}` ({place}) follows no single scalar: no derived cases." for label, place in others]
    for scalar in sorted({loop.scalar for loop in loops}):
        own = [(loop, places[loop.location]) for loop in loops if loop.scalar == scalar]
        made = _for_scalar(scalar, own, source, signature, ranges, function)
        if isinstance(made, str):
            notes.append(f"No derived cases follow `{scalar}`: {made}.")
        else:
            result.append(made)
    return Derivation(tuple(result), tuple(sorted(plans, key=lambda p: _order(p.location))), tuple(notes))


def _order(location: str) -> tuple[str, int, int]:
    file, line, column = location.rsplit(":", 2)
    return file, int(line), int(column)


def _schedules(scheduled: Scheduled) -> dict[str, list[Schedule]]:
    """Depth and factor of each loop in each entry, by the loop's place; several instances of a motif share one."""
    found: dict[tuple[str, str, int], list[int]] = {}
    for row in scheduled.rows:
        found.setdefault((row.location, row.function, row.ordinal), [1, 1])[0] = row.depth
    for unrolled in scheduled.unroll_rows:
        key = (unrolled.location, unrolled.function, unrolled.ordinal)
        found.setdefault(key, [1, 1])[1] = max(unrolled.factor, 1)
    result: dict[str, list[Schedule]] = {}
    for (location, function, _), (depth, factor) in found.items():
        entry = function.partition("__")[2] or "default"
        schedule = Schedule(entry, depth, factor)
        if location and schedule not in result.setdefault(location, []):
            result[location].append(schedule)
    return result


def wanted_trips(schedules: Iterable[Schedule], most: int) -> list[int]:
    """Trip counts at which prologue, steady loop, remainder and epilogue come and go, within 0 to `most`."""
    wanted = {0, 1, 2, most - 1, most}
    for s in schedules:
        ahead, factor = s.depth - 1, s.factor
        wanted |= {ahead, s.depth, s.depth + 1, factor - 1, factor, factor + 1}
        wanted |= {ahead + factor - 1, ahead + factor, ahead + factor + 1}
        wanted |= {ahead + 2 * factor + rest for rest in range(factor)}
    return sorted(t for t in wanted if 0 <= t <= most)


def _for_scalar(
    scalar: str,
    loops: Sequence[tuple[Loop, Sequence[Schedule]]],
    source: tuple[Check, dict[str, Any]] | None,
    signature: Signature,
    ranges: Mapping[str, Mapping[str, Any]],
    function: Any,
) -> Derived | str:
    """The check of the loops that follow a scalar, or why there is none."""
    row = ranges[scalar]
    if row["range"] is None or not isinstance(row["range"][0], int):
        return "it has no range"
    values = _candidates(row, loops)[:MOST_CASES]
    if source is None:
        return "every check takes its inputs from a Python reference, which a derived case cannot ask for others"
    generic = replace(source[0], given=_generic(source[0], signature, ranges), backing={})
    best: tuple[Check, list[dict[str, Any]]] = (source[0], [])
    for check in (source[0], generic):
        cases = [_case(check, signature, {**source[1], scalar: value}, function, ranges) for value in values]
        kept = [case for case in cases if case is not None]
        if len(kept) > len(best[1]):
            best = check, kept
    check, cases_ = best
    if not cases_:
        return "no check has inputs that fit"
    given = {n: g for n, g in check.given.items() if n not in cases_[0]}
    made = Check(f"trips_{scalar}", given, None, {}, tuple(cases_), _backing(check, cases_[0]))
    return Derived(made, tuple(_reason(loop, schedules) for loop, schedules in loops))


_ELEMENTS = "_elements"
"""Ending of the case names that hold how much of a buffer exists."""


def _reason(loop: Loop, schedules: Sequence[Schedule]) -> str:
    how = ", ".join(f"{s.entry}: depth {s.depth}, factor {s.factor}" for s in schedules)
    return f"Loop `{loop.label}` ({loop.location}) follows `{loop.scalar}`; {how}."


def _candidates(row: Mapping[str, Any], loops: Sequence[tuple[Loop, Sequence[Schedule]]]) -> list[int]:
    """Values of the scalar: the least and the greatest for each wanted trip count (or the next one that there is)."""
    lo, hi = row["range"]
    step = row.get("multiple_of") or 1
    numbers = sorted({*range(lo, min(hi, lo + SCANNED * step) + 1), *range(max(lo, hi - SCANNED_TOP * step), hi + 1)})
    numbers = [n for n in numbers if n % step == 0]
    values: set[int] = set()
    for loop, schedules in loops:
        by_trips: dict[int, list[int]] = {}
        for number in numbers:
            trips = loop.trips({row["name"]: number})
            if trips is not None:
                by_trips.setdefault(trips, []).append(number)
        for trips in wanted_trips(schedules, max(by_trips, default=0)):
            found = by_trips[min(t for t in by_trips if t >= trips)]
            values |= {found[0], found[-1]}
    return sorted(values)


def _source(
    checks: Sequence[Check], params: Mapping[str, Any], policies: Collection[str]
) -> tuple[Check, dict[str, Any]] | None:
    """The check whose inputs a derived one takes over and its most demanding case: the first with random contents if
    any, else the first. Its expectation is not taken over, so it may be a reference's; its inputs may not.

    Cases of this build come first. What a case gives to params is left out, for the build has its own values, and so
    are policies that no input names: derived cases are for every entry."""
    plain = [c for c in checks if not any(isinstance(g, Reference) for g in c.given.values())]
    ranked = sorted(plain, key=lambda c: not any("uniform" in str(g) for g in c.given.values()))
    if not ranked:
        return None

    def size(case: Mapping[str, Any]) -> float:
        return sum(min(max(v, -(2**60)), 2**60) for v in case.values() if isinstance(v, (int, float)))

    check = ranked[0]
    named = {n.id for text in check.given.values() for n in nodes(parsed(str(text))) if isinstance(n, ast.Name)}
    left_out = {*params, *(set(policies) - named)}
    cases = check.cases()
    own = [case for case in cases if of_case(check, case, params.keys()).items() <= params.items()]
    case = max(own or cases, key=size)
    given = {name: text for name, text in check.given.items() if name not in left_out}
    return replace(check, given=given), {name: value for name, value in case.items() if name not in left_out}


def _generic(check: Check, signature: Signature, ranges: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What a check gives, with random contents of every buffer."""
    given = dict(check.given)
    for seed, (name, buffer) in enumerate(signature.buffers.items(), 1):
        if name in given:
            lo, hi = ranges[name]["range"] or ((-1, 1) if buffer.type.is_float else (0, 1))
            given[name] = f"uniform({lo!r}, {hi!r}, {seed})"
    return given


def _case(
    check: Check, signature: Signature, case: dict[str, Any], function: Any, ranges: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The case with the elements that it may touch, or None when its arguments have no value or are too large."""
    given = {n: g for n, g in check.given.items() if n not in case}
    bare = replace(check, given={n: g for n, g in given.items() if n in signature.scalars}, backing={})
    try:
        inputs = prepare(signature, bare, case)
        if not _promised(inputs.scalars, ranges):
            return None
        sizes = {n: prod(inputs.shapes[n]) * b.type.dtype.itemsize for n, b in signature.buffers.items()}
        if sum(sizes.values()) > MOST_BYTES:
            return None
        numbers = {n: v for n, v in inputs.scalars.items() if isinstance(v, int)}
        for name, buffer in signature.buffers.items():
            if name not in check.backing and not buffer.written:
                rows = touched_rows(function, name, numbers)
                case[name + _ELEMENTS] = _elements(buffer, inputs.shapes[name], rows)
        prepare(signature, replace(check, given=given, backing=_backing(check, case)), case)
    except FormulaError:
        return None
    return case


def _backing(check: Check, case: Mapping[str, Any]) -> dict[str, str]:
    return {**check.backing, **{n.removesuffix(_ELEMENTS): n for n in case if n.endswith(_ELEMENTS)}}


def _elements(buffer: Buffer, shape: Sequence[int], rows: int | None) -> int:
    """Elements of the first `rows` rows in memory; all of them when nobody knows which rows are touched."""
    if rows is None or not shape:
        return prod(shape)
    slowest = buffer.order[0]
    return min(rows, shape[slowest]) * prod(shape[axis] for axis in buffer.order[1:])


def _promised(scalars: Mapping[str, Any], ranges: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether scalars keep what their arguments promise."""
    for name, value in scalars.items():
        row = ranges[name]
        ends = row["range"]
        if row.get("range_formulas"):
            ends = [evaluate_formula(str(f), scalars) for f in row["range_formulas"]]
        if ends is not None and not ends[0] <= value <= ends[1]:
            return False
        if row.get("multiple_of") and value % row["multiple_of"]:
            return False
    return True
