"""One group of a plan: its rows are gated, then take turns, then are set against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from specgen.bench.machine import Inputs, Machine
from specgen.bench.options import Request
from specgen.bench.plan import SERIAL, Group, LogicalRow, WorkItem
from specgen.bench.rounds import SAMPLES, Participant, calibrate, interleave, warm_up
from specgen.bench.statistics import (
    Interval,
    compare_rounds,
    median_interval,
    noise_floor,
    round_ratios,
    summarise,
    warnings,
)
from specgen.checks.cases import parsed
from specgen.checks.formula import Scope, scalar
from specgen.checks.harness import Outcome, execute, judge
from specgen.checks.values import FormulaError
from specgen.devices.base import DeviceError, Kernel, RunawayError

Row = dict[str, Any]
AGAIN = " (again)"
"""Behind the name of the baseline's second participant, which the noise floor comes from."""
COPY = "copy"


@dataclass
class Measurement:
    """What a group's rounds gave: participants by work item, the baseline's second one, and the copy kernel."""

    participants: dict[WorkItem, Participant]
    again: Participant
    copy: Participant | None = None
    copy_bytes: int = 0

    @property
    def baseline(self) -> Participant:
        """The one that others are set against."""
        return next(iter(self.participants.values()))

    def everyone(self) -> list[Participant]:
        """In the order of turns: the baseline, itself again, the others, copy."""
        first, *others = self.participants.values()
        return [first, self.again, *others, *([self.copy] if self.copy else [])]


@dataclass
class GroupRun:
    """Measures one group; `copy` holds the arguments of the copy kernel, None where there are none."""

    group: Group
    machine: Machine
    request: Request
    copy: Inputs | None
    amounts: dict[str, float] = field(default_factory=dict)
    failed: set[WorkItem] = field(default_factory=set)

    def rows(self) -> Iterator[Row]:
        """Every row of output about the group."""
        built, benchmark = self.group.built, self.group.benchmark
        if benchmark.inputs.needs_oracle():
            yield from self._skips("its inputs come from Python of the spec's folder, which benchmarks do not run")
            return
        outcomes: dict[WorkItem, Outcome] = {}
        try:
            yield from self._gate(outcomes)
            first = next(iter(outcomes.values()), None)
            if first is None:
                return
            self.amounts = self._amounts(first)
            args = first.inputs.arguments(built.signature, first.before)
        except FormulaError as error:
            yield self._failure(self.group.name, "inputs", error.message)
            return
        except DeviceError as error:
            # A device that cannot take a launch has not shown anything to be wrong; one that is lost has.
            if isinstance(error, RunawayError) or self.machine.lost:
                yield self._failure(self.group.name, "gate", str(error))
            else:
                yield from self._skips(str(error))
            return
        try:
            yield from self._timed(args, outcomes)
        except DeviceError as error:
            yield self._failure(self.group.name, "time", str(error))

    def _skips(self, reason: str) -> Iterator[Row]:
        for row in self.group.rows:
            yield {"kind": "skip", "row": row.name, "reason": reason}

    def _failure(self, name: str, stage: str, reason: str) -> Row:
        return {"kind": "failure", "row": name, "stage": stage, "reason": reason}

    # The gate

    def _gate(self, passed: dict[WorkItem, Outcome]) -> Iterator[Row]:
        """Run each work item once; those whose result is that of `serial` are put into `passed`."""
        serial = self._outcome(SERIAL)
        for item in self.group.items:
            own_code = self._code(item.entry) == self._code(SERIAL)
            outcome = serial if own_code else self._outcome(item.entry)
            verdict = judge(self.group.built.signature, self.group.benchmark.inputs, outcome, serial)
            row: Row = {"kind": "sample", "work_item": item.number, "entry": item.entry}
            if not own_code:
                row["compared_with"] = SERIAL
            if verdict.passed:
                passed[item] = outcome
                yield {**row, "status": "passed"}
                continue
            self.failed.add(item)
            reason = "; ".join(verdict.problems)
            yield {**row, "status": "failed", "reason": reason}
            for logical in self.group.rows:
                if logical.item == item:
                    yield self._failure(logical.name, "gate", reason)

    def _outcome(self, entry: str) -> Outcome:
        built = self.group.built
        ordinal = built.entries.index(entry)
        case = [self.group.case]
        return next(execute(built.signature, self.group.benchmark.inputs, case, self.kernel(entry), ordinal))

    def kernel(self, entry: str) -> Kernel:
        """The compiled entry point. Raises `DeviceError`."""
        built = self.group.built
        return self.machine.load(built.artifact(self.group.target), built.entry(entry)["symbol"])[0]

    def _code(self, entry: str) -> str:
        return self.group.built.code(entry, self.group.target)

    def _amounts(self, outcome: Outcome) -> dict[str, float]:
        """Values of the benchmark's `bytes` and `flops`. Raises `FormulaError`."""
        signature, benchmark = self.group.built.signature, self.group.benchmark
        names = {**signature.constants, **outcome.inputs.case, **outcome.inputs.scalars}
        texts = {"bytes": benchmark.bytes, "flops": benchmark.flops}
        scope = Scope(names, signature.words)
        return {key: float(scalar(parsed(text), scope)) for key, text in texts.items() if text is not None}

    # Time

    def _timed(self, args: Mapping[str, Any], outcomes: dict[WorkItem, Outcome]) -> Iterator[Row]:
        artifact = self.group.built.artifact(self.group.target)
        inputs = self.machine.inputs(artifact, args)
        try:
            yield from self._first_dispatches(inputs, outcomes)
            if not outcomes:
                return
            order = self._ordered(list(outcomes))
            batches = self._batches(inputs, order)
            if max(batches.values()) > inputs.wanted and not self.request.hot:
                inputs.close()
                inputs = self.machine.inputs(artifact, args, max(batches.values()))
            measurement = self._measurement(inputs, order, batches)
            before = self._warm(measurement.baseline)
            turns = interleave(measurement.everyone(), self.request.repetitions, sample_seconds(self.request))
            for participant, repetition in turns:
                yield _repetition(participant, repetition)
            after = self.machine.clocks().mhz
            rates = {k: v for k, v in (("clocks_before", before), ("clocks_after", after)) if v is not None}
            for row in self.group.rows:
                if row.item in measurement.participants:
                    yield {**self._benchmark(row, measurement, inputs), **rates}
        finally:
            inputs.close()
        yield from self._comparisons(measurement)

    def _first_dispatches(self, inputs: Inputs, outcomes: dict[WorkItem, Outcome]) -> Iterator[Row]:
        """One dispatch of each work item on a fresh set of the ring, the way that is timed: it must leave what the
        gate's run left. Those that do not are taken out of `outcomes`."""
        for number, item in enumerate(list(outcomes)):
            if inputs.ring is None or number >= inputs.sets:
                return
            inputs.timer(self.kernel(item.entry)).samples(1, 1)
            for name, after in outcomes[item].after.items():
                left = inputs.ring.contents(number, name, after.dtype)
                count = unlike(left, after, outcomes[item].before[name].flat, inputs.args[name])
                if count:
                    del outcomes[item]
                    reason = f"{name}: the first timed dispatch left {count} other elements than the gate's run"
                    for row in self.group.rows:
                        if row.item == item:
                            yield self._failure(row.name, "time", reason)
                    break

    def _ordered(self, passed: list[WorkItem]) -> list[WorkItem]:
        """The baseline first: A of `--compare`, else `serial`."""
        wanted = self.request.compare[0] if self.request.compare else SERIAL
        row = self.group.row(wanted)
        first = row.item if row is not None and row.item in passed else passed[0]
        return [first, *(item for item in passed if item != first)]

    def _batches(self, inputs: Inputs, order: list[WorkItem]) -> dict[WorkItem, int]:
        """Batch sizes, found at the clocks that the rounds will have."""
        timers = {item: inputs.timer(self.kernel(item.entry)) for item in order}
        warm_up(timers[order[0]], sample_seconds(self.request), self.request.warmup / 1e3)
        return {item: calibrate(timer, sample_seconds(self.request)) for item, timer in timers.items()}

    def _measurement(self, inputs: Inputs, order: list[WorkItem], batches: dict[WorkItem, int]) -> Measurement:
        def participant(item: WorkItem, more: str = "") -> Participant:
            name = f"{self.group.name}/{item.entry}{more}"
            return Participant(name, inputs.timer(self.kernel(item.entry)), batches[item])

        made = Measurement({item: participant(item) for item in order}, participant(order[0], AGAIN))
        if self.copy is not None and "bytes" in self.amounts:
            timer = self.copy.timer(self.machine.builtin(COPY))
            made.copy = Participant(COPY, timer, calibrate(timer, sample_seconds(self.request)))
            made.copy_bytes = 8 * int(self.copy.args["n"])
        return made

    def _warm(self, participant: Participant) -> dict[str, int] | None:
        """Clocks fell while buffers were filled, and fall again while they are read: returns them."""
        seconds = self.request.warmup / 1e3
        warm_up(participant.timer, sample_seconds(self.request), seconds)
        rates = self.machine.clocks().mhz
        warm_up(participant.timer, sample_seconds(self.request), seconds / 5)
        return rates

    # Rows about time

    def _benchmark(self, row: LogicalRow, measurement: Measurement, inputs: Inputs) -> Row:
        own = measurement.participants[row.item]
        dispatches = own.batch * len(own.samples)
        result: Row = {
            "kind": "benchmark",
            **self.group.fields(row),
            "device": self.machine.name,
            "clock": self.machine.clock,
            **seconds_of(own.samples),
            "samples": len(own.samples),
            "batch": own.batch,
            "dispatches": dispatches,
            "data_cache": "rotated" if inputs.sets > 1 else "hot",
            "ring_sets": inputs.sets,
            "set_bytes": inputs.set_bytes,
            "ring_capped": inputs.sets < inputs.wanted,
            "warnings": list(warnings(own.samples, own.batch, dispatches)),
            **self.amounts,
        }
        if self.amounts.get("bytes") and "flops" in self.amounts:
            result["flops_per_byte"] = self.amounts["flops"] / self.amounts["bytes"]
        if measurement.copy is not None:
            ratios = round_ratios(measurement.copy.rounds, own.rounds)
            if ratios:
                roofline = median_interval(ratios).scaled(self.amounts["bytes"] / measurement.copy_bytes)
                names = ("roofline_p50", "roofline_low", "roofline_high")
                result |= dict(zip(names, (roofline.middle, roofline.low, roofline.high), strict=True))
        return result

    def _comparisons(self, measurement: Measurement) -> Iterator[Row]:
        items = list(measurement.participants)
        rows = [row for row in self.group.rows if row.item in measurement.participants]
        named = [row for row in rows if row.item == items[0]]
        wanted = self.request.compare[0] if self.request.compare else SERIAL
        a = next((row for row in named if row.entry == wanted), named[0])
        baseline = measurement.baseline
        noise = noise_floor(baseline.rounds, measurement.again.rounds)
        yield comparison_row(a.name, a.name + AGAIN, baseline, measurement.again, noise)
        for b in rows:
            if b.item == a.item and b is not a:
                same = "not distinguishable"
                yield {"kind": "comparison", "a": a.name, "b": b.name, "verdict": same, "same_code": True}
            elif b.item != a.item:
                yield comparison_row(a.name, b.name, baseline, measurement.participants[b.item], noise)


def unlike(left: Any, after: Any, before: Any, given: Any) -> int:
    """Elements of a buffer that a run left unlike another run of the same kernel, which found `before` and left
    `after`; this one found `given`, and elements that the kernel does not store stay as each run found them."""
    import numpy as np

    now, then, poison, own = (np.asarray(a).view(f"u{after.dtype.itemsize}") for a in (left, after, before, given))
    return int(((now != then) & ~((then == poison) & (now == own))).sum())


def sample_seconds(request: Request) -> float:
    """How long a batch should last, so that all batches of a row last as long as the call asks."""
    return request.min_time / 1e3 / (request.repetitions * SAMPLES)


def seconds_of(samples: list[float]) -> Row:
    """The keys of a row that summarise samples."""
    summary = summarise(samples)
    return {
        "p10_seconds": summary.p10,
        "p50_seconds": summary.p50,
        "p90_seconds": summary.p90,
        "minimum_seconds": summary.minimum,
        "spread_ppm": round(summary.spread * 1e6),
    }


def ratio_fields(ratio: Interval) -> Row:
    """The keys of a row that hold a ratio and its interval."""
    return {
        "ratio_p50": ratio.middle,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "coverage": ratio.coverage,
    }


def comparison_row(a_name: str, b_name: str, a: Participant, b: Participant, noise: float) -> Row:
    """B against A."""
    found = compare_rounds(a.rounds, b.rounds, noise)
    return {
        "kind": "comparison",
        "a": a_name,
        "b": b_name,
        "verdict": found.verdict,
        "same_code": b_name == a_name + AGAIN,
        **ratio_fields(found.ratio),
        "ratio_p90": summarise(a.samples).p90 / summarise(b.samples).p90,
        "noise_floor_ppm": round(noise * 1e6),
    }


def _repetition(participant: Participant, number: int) -> Row:
    last = participant.rounds[-1]
    return {
        "kind": "repetition",
        "row": participant.name,
        "repetition": number,
        "position": last.position,
        "p50_seconds": last.p50,
        "samples": list(last.samples),
    }
