"""Kernels that break one rule, and the code that must be told for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from random_schedules import meaning as m
from random_schedules.meaning import E, Index, Statement

if TYPE_CHECKING:
    from random_schedules.programs import Programs
    from random_schedules.scope import Scope

Make = Callable[["Programs", "Scope"], list[Statement]]
Body = Callable[["Programs", "Scope"], list[Statement]]


@dataclass(frozen=True)
class Fault:
    """The code of a broken rule (and a word of its message), and statements that break it."""

    code: str
    says: str
    make: Make


def _looped(body: Body, schedule: str = "", *, high: str = "n", step: int = 1) -> Make:
    """A loop around `body`, beside statements that are in order."""

    def make(programs: Programs, scope: Scope) -> list[Statement]:
        end = scope.counters[0] if high == "n" else programs.constant(int(high))
        counter = Index("i", lambda env: env["i"], 0, end.high - 1)
        text = f"range(0, {high}, {step})" if step != 1 else f"range({high})"
        inside = scope.inside(
            counters=[*scope.counters, counter], counted=True, loops=scope.loops + 1,
            depth=2 if "pipeline" in schedule else 1,
        )  # fmt: skip
        statements = body(programs, inside)
        inside.views.clear()
        statements.append(programs.set("total", programs.update("total", programs.read(inside))))
        return [programs.counted(counter, (text, programs.constant(0), end, step), schedule, statements)]

    return make


def _staged(programs: Programs, scope: Scope) -> list[Statement]:
    known = len(scope.views)
    return [programs.viewed(scope, buffers=1), programs.follow(scope, scope.views[known])]


def _under_lanes(programs: Programs, scope: Scope) -> list[Statement]:
    inner = scope.inside(counted=False)
    return [programs.branch(programs.lane_condition(scope), _staged(programs, inner), [])]


def _turns_under_guard(programs: Programs, scope: Scope) -> list[Statement]:
    inner = scope.inside(counted=False)
    known = len(inner.views)
    body = [programs.viewed(inner, buffers=2), programs.follow(inner, inner.views[known])]
    return [programs.branch(programs.uniform_condition(scope), body, [])]


def _stored_while_live(programs: Programs, scope: Scope) -> list[Statement]:
    return [*programs.shared(scope, buffers=1), programs.store("w", "other")]


def _cut(text: Callable[[Programs, Scope], E], *, before: Body | None = None) -> Body:
    def make(programs: Programs, scope: Scope) -> list[Statement]:
        head = before(programs, scope) if before is not None else []
        condition = text(programs, scope)
        inner = scope.inside(counted=False, views=[])
        return [*head, programs.branch(condition, [programs.accumulate(inner)], [], "{split: true}")]

    return make


def _equal(programs: Programs, scope: Scope) -> E:
    return programs.compared(scope.counters[-1], scope.counters[0], "==")


def _both_ways(programs: Programs, scope: Scope) -> E:
    counter = scope.counters[-1]
    left = programs.compared(counter, scope.counters[0], "<")
    return programs.joined("and", left, programs.compared(counter, scope.counters[1], ">"))


def _by_lane(programs: Programs, scope: Scope) -> E:
    return programs.compared(scope.counters[-1], programs.wrapped(programs.lane, 5), "<")


def _store(programs: Programs, scope: Scope) -> list[Statement]:
    return [programs.store("w", "other")]


def _carried_row(programs: Programs, scope: Scope) -> list[Statement]:
    x = programs.buffers[0]
    row = Index(f"(index(total) % {x.shape[0]})", lambda env: m.truncated(env["total"]) % x.shape[0], 0, x.shape[0] - 1)
    return [programs.set("other", programs.update("other", programs.place(scope, x, row=row)))]


def _viewed_row(programs: Programs, scope: Scope) -> list[Statement]:
    x = programs.buffers[0]
    body = _staged(programs, scope)
    seen = programs.seen(scope, scope.views[-1])
    row = Index(
        f"(index({seen.text}) % {x.shape[0]})",
        lambda env: m.truncated(seen.value(env)) % x.shape[0], 0, x.shape[0] - 1,
    )  # fmt: skip
    return [*body, programs.set("other", programs.update("other", programs.place(scope, x, row=row)))]


def _copies_inside(programs: Programs, scope: Scope) -> list[Statement]:
    inner = _looped(_staged, "{unroll: 2, order: interleaved}", high="4")
    held = scope.inside(settable=["total"])
    (made,) = inner(programs, held)
    return [Statement([line.replace("for: i", "for: j") for line in made.lines], made.act)]


def _early(programs: Programs, scope: Scope) -> list[Statement]:
    w = programs.buffers[2]
    mine = E(f"w[group, {programs.lane.text}]", lambda env: m.element(env, w, (env["group"], env["lane"])))
    programs.features.add("early")
    return [programs.store("w", "total"), programs.let("t", mine, "{early: true}"), programs.follow(scope, "t")]


def _carried_let(programs: Programs, scope: Scope) -> list[Statement]:
    mine = E("t", lambda env: env["t"])
    return [programs.let("t", programs.update("other", programs.read(scope))), programs.set("other", mine)]


def _nothing(programs: Programs, scope: Scope) -> list[Statement]:
    return []


PLANTED: dict[str, Fault] = {
    "a view that lanes disagree on": Fault("SG-COLL", "copy of", _looped(_under_lanes)),
    "turns under a guard": Fault("SG-VIEW", "take turns", _looped(_turns_under_guard)),
    "stored while live": Fault("SG-VIEW", "", _looped(_stored_while_live)),
    "split by equality": Fault("SG-LOOP", "twice", _looped(_cut(_equal))),
    "split both ways": Fault("SG-LOOP", "holds first", _looped(_cut(_both_ways))),
    "split by lane around a view": Fault("SG-LOOP", "disagree", _looped(_cut(_by_lane, before=_staged))),
    "store ahead": Fault("SG-LOOP P8", "", _looped(_store, "{pipeline: 2}")),
    "shared copy ahead": Fault("SG-LOOP P9", "", _looped(lambda p, s: p.shared(s, buffers=1), "{pipeline: 3}")),
    "barrier ahead of an open bound": Fault("SG-LOOP P10", "", _looped(lambda p, s: p.exchange(s), "{pipeline: 2}")),
    "row that the loop carries": Fault("SG-LOOP P12", "", _looped(_carried_row, "{pipeline: 2}")),
    "row from a copy": Fault("SG-LOOP P13", "", _looped(_viewed_row, "{pipeline: 2}")),
    "copies of an inner loop": Fault("SG-LOOP P19", "", _looped(_copies_inside, "{pipeline: 2}", high="3")),
    "early behind a store": Fault("SG-LOOP", "", _looped(_early)),
    "through carried state": Fault("SG-LOOP", "`through`", _looped(_carried_let, "{pipeline: 2, through: t}")),
    "lead without a chain": Fault("SG-LOOP", "", _looped(_nothing, "{pipeline: 2, lead: 1}")),
    "full without a count": Fault("SG-LOOP U1", "", _looped(_staged, "{unroll: full}")),
}
"""A description of the fault -> what is told."""
