"""Questions to the tool whose answers are known: A/A, a planted slowdown, and what a dependent dispatch costs.

A trial is a comparison as benchmarks make it: A, A again for the noise floor, and B take turns. In an A/A trial B is
A; in a planted one B does a tenth more work, as more bytes (the built-in copy) or as eleven dispatches where ten are
counted (kernels of built folders).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from specgen.bench import kernels
from specgen.bench.group import GroupRun, ratio_fields, sample_seconds, seconds_of
from specgen.bench.machine import Inputs, Machine
from specgen.bench.options import Request
from specgen.bench.plan import Plan
from specgen.bench.rounds import LARGEST_BATCH, Participant, Slowed, Timer, calibrate, interleave, warm_up
from specgen.bench.statistics import Comparison, compare_rounds, noise_floor
from specgen.checks.harness import execute
from specgen.checks.values import FormulaError
from specgen.devices.base import DeviceError

Row = dict[str, Any]

PLANTED_PERCENT = 10
WANTED_PERCENT = 95
"""Right answers of a hundred without which a check fails: 19 of 20."""
SUBJECTS = 2
"""Built folders' rows that are asked, so that a check stays below a minute: name others with --only."""
LATEST_SECONDS = 30
"""A subject is not begun later than this."""
SHARE = 5
"""A trial takes this share of the time of a benchmark: there are many."""
DISPATCHES = LARGEST_BATCH
COST_SAMPLES = 20
BARRIER = "one global memory barrier, compute to compute"


@dataclass(frozen=True)
class Subject:
    """Something to compare with itself and with itself slowed; `planted` says how."""

    name: str
    plain: Timer
    slowed: Timer
    planted: str
    grain: int = 1
    """The batch is a multiple of this."""


def rows(request: Request, plan: Plan, machine: Machine) -> Iterator[Row]:
    """The dispatch cost; with --self-check the trials of every subject too."""
    try:
        yield _dispatch_cost(machine)
        if not request.self_check:
            return
        with ExitStack() as stack:
            for subject in _subjects(request, plan, machine, stack):
                if isinstance(subject, Subject):
                    yield from _trials(request, machine, subject)
                else:
                    yield subject
    except (DeviceError, FormulaError) as error:
        yield {"kind": "failure", "row": "the device's self-check", "stage": "self-check", "reason": str(error)}


def _dispatch_cost(machine: Machine) -> Row:
    """A tiny kernel that counts: N dependent dispatches in a command buffer between two timestamps."""
    kernel, args = machine.builtin("tick"), kernels.tick_arguments()
    inputs = machine.inputs(kernels.artifact("tick"), args, hot=True)
    timer = inputs.timer(kernel)
    done = 0

    def batches(count: int) -> list[float]:
        nonlocal done
        done += DISPATCHES * count
        return timer.samples(DISPATCHES, count)

    try:
        until = time.monotonic() + machine.request.warmup / 1e3
        while not done or time.monotonic() < until:
            batches(1)
        samples = [batches(1)[0] for _ in range(COST_SAMPLES)]
        left = inputs.ring.contents(0, "count", args["count"].dtype)
    finally:
        inputs.close()
    return {
        "kind": "dispatch_cost",
        "device": machine.name,
        "clock": machine.clock,
        **seconds_of(samples),
        "samples": len(samples),
        "batch": DISPATCHES,
        "barrier": BARRIER,
        "correct": bool((left == done).all()),
    }


def _subjects(request: Request, plan: Plan, machine: Machine, stack: ExitStack) -> Iterator[Subject | Row]:
    """The built-in copy, then the first entry of the first groups that the device can run; rows for the others."""

    def held(inputs: Inputs) -> Inputs:
        stack.callback(inputs.close)
        return inputs

    kernel, plain = machine.builtin("copy"), held(machine.copy_inputs())
    more = kernels.copy_arguments(machine.ring_bytes * (100 + PLANTED_PERCENT) // 100)
    longer = held(machine.inputs(kernels.artifact("copy"), more, hot=True))
    percent = 100 * (kernels.copy_bytes(more) / kernels.copy_bytes(dict(plain.args)) - 1)
    yield Subject("copy", plain.timer(kernel), longer.timer(kernel), f"{percent:.3g} % more bytes")
    start, asked = time.monotonic(), 0
    for group in plan.groups:
        name, entry = group.rows[0].name, group.rows[0].entry
        if asked == SUBJECTS or time.monotonic() - start > LATEST_SECONDS:
            yield {"kind": "skip", "row": name, "reason": "the check would take too long: name it with --only"}
            continue
        try:
            kernel = GroupRun(group, machine, request, None).kernel(entry)
            outcome = next(execute(group.built.signature, group.benchmark.inputs, [group.case], kernel, 0))
        except DeviceError as error:
            yield {"kind": "skip", "row": name, "reason": str(error)}
            continue
        args = outcome.inputs.arguments(group.built.signature, outcome.before)
        timer = held(machine.inputs(group.built.artifact(group.target), args)).timer(kernel)
        asked += 1
        yield Subject(name, timer, Slowed(timer), "11 dispatches counted as 10", 10)


def _trials(request: Request, machine: Machine, subject: Subject) -> Iterator[Row]:
    sample = sample_seconds(request) / SHARE
    warm_up(subject.plain, sample, request.warmup / 1e3)
    batch = -(-calibrate(subject.plain, sample) // subject.grain) * subject.grain
    for timer, percent, planted, wanted in (
        (subject.plain, 0, "nothing planted", Comparison.SAME),
        (subject.slowed, PLANTED_PERCENT, subject.planted, Comparison.SLOWER),
    ):
        right = 0
        for trial in range(request.trials):
            found = _trial(subject.plain, timer, batch, request.repetitions, sample)
            right += found.verdict == wanted
            yield {
                "kind": "self_check",
                "subject": subject.name,
                "trial": trial,
                "planted_percent": percent,
                "verdict": found.verdict,
                "right": found.verdict == wanted,
                **ratio_fields(found.ratio),
                "noise_floor_ppm": round(found.noise * 1e6),
            }
        yield from _total(request, subject.name, planted, right)


def _trial(plain: Timer, other: Timer, batch: int, repetitions: int, sample: float) -> Comparison:
    a, again, b = Participant("A", plain, batch), Participant("A again", plain, batch), Participant("B", other, batch)
    for _ in interleave([a, again, b], repetitions, sample):
        pass
    return compare_rounds(a.rounds, b.rounds, noise_floor(a.rounds, again.rounds))


def _total(request: Request, subject: str, planted: str, right: int) -> Iterator[Row]:
    least = -(-request.trials * WANTED_PERCENT // 100)
    passed = right >= least
    yield {
        "kind": "self_check_total",
        "subject": subject,
        "planted": planted,
        "trials": request.trials,
        "right": right,
        "wanted": least,
        "passed": passed,
    }
    if not passed:
        reason = f"{right} of {request.trials} trials right, {least} wanted ({planted})"
        yield {"kind": "failure", "row": subject, "stage": "self-check", "reason": reason}
