"""What a generated benchmark script calls: correctness first, then the device's own clock."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specgen.checks.cases import Check, parsed
from specgen.checks.formula import Scope, scalar
from specgen.checks.harness import Outcome
from specgen.checks.suite import Suite, Where
from specgen.checks.values import FormulaError
from specgen.devices.base import DeviceError, TimingPlan

CLOCKLESS = ("interpreter", "amdgpu-emulator")
"""Devices that run kernels on the host: their time tells nothing about a kernel."""


@dataclass(frozen=True)
class Benchmark:
    """Inputs, and formulas over arguments and case names of the bytes moved and the operations done."""

    inputs: Check
    bytes: str | None = None
    flops: str | None = None


def main(suite: Suite, benchmarks: Sequence[Benchmark], arguments: Sequence[str]) -> int:
    """Measure and print one line of JSON a row; 1 when an entry was wrong, else 0."""
    parser = argparse.ArgumentParser(description="Time the entry points of one built spec.")
    parser.add_argument("--iterations", type=int, default=TimingPlan.iterations, help="samples a row")
    parser.add_argument("--batch", type=int, default=TimingPlan.batch, help="launches a sample")
    parser.add_argument("--warmup-seconds", type=float, default=TimingPlan.warmup_seconds)
    options = parser.parse_args(arguments)
    plan = TimingPlan(options.iterations, options.batch, options.warmup_seconds)
    failed = False
    try:
        for row in rows(suite, benchmarks, plan):
            failed |= row["status"] == "wrong"
            print(json.dumps(row), flush=True)
    finally:
        suite.close()
    return int(failed)


def rows(suite: Suite, benchmarks: Sequence[Benchmark], plan: TimingPlan) -> Iterator[dict[str, Any]]:
    """A row for each benchmark, case, place and entry; `status` is timed (then it has times), wrong or skipped."""
    name = suite.manifest["spec"]["name"]
    for benchmark in benchmarks:
        for where in suite.everywhere():
            place = where.place
            head = {"spec": name, "benchmark": benchmark.inputs.name, "device": place.device, "target": place.target}
            reason = place.problem
            if reason is None and place.device in CLOCKLESS:
                reason = f"{place.device} has no clock worth reading"
            if reason is not None:
                if place.problem is not None or where.entry == suite.entries[0]:
                    yield {**head, "status": "skipped", "reason": reason}
                continue
            for case in benchmark.inputs.cases():
                yield {**head, "entry": where.entry, "case": case, **measure(suite, benchmark, where, case, plan)}


def measure(
    suite: Suite, benchmark: Benchmark, where: Where, case: Mapping[str, Any], plan: TimingPlan
) -> dict[str, Any]:
    """Gate, then time one entry for one case."""
    try:
        results = suite.results(benchmark.inputs, where, [case])
        wrong = [str(r) for r in results if not r.passed]
        if wrong:
            return {"status": "wrong", "reason": wrong[0]}
        outcome = suite.last_outcomes[0]
        kernel = suite.places.kernel(where.place, where.entry)
        timing = kernel.time(outcome.inputs.arguments(suite.signature, outcome.before), plan)
    except (DeviceError, FormulaError) as error:
        return {"status": "skipped", "reason": str(error)}
    samples = sorted(timing.samples)
    median = statistics.median(samples)
    row: dict[str, Any] = {
        "status": "timed",
        "median_seconds": median,
        "p90_seconds": samples[min(len(samples) - 1, int(0.9 * len(samples)))],
        "samples": len(samples),
        "batch": plan.batch,
        "clock": timing.clock,
        "host": platform.machine(),
    }
    for key, text in (("bytes", benchmark.bytes), ("flops", benchmark.flops)):
        if text is not None:
            row[f"{key}_per_second"] = _amount(suite, text, outcome) / median
    return row


def _amount(suite: Suite, text: str, outcome: Outcome) -> float:
    names = {**suite.signature.constants, **outcome.inputs.case, **outcome.inputs.scalars}
    return float(scalar(parsed(text), Scope(names, suite.signature.words)))
