"""Taking turns: how many dispatches a batch needs, and the order of rounds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol

from specgen.bench.statistics import Round
from specgen.devices.base import Arguments, DeviceError, Kernel, TimingPlan

SAMPLES = 7
"""Batches of a round: their median is what a round says, so that three outliers do not matter."""
SETTLING = 1
"""Batches at the start of a round that are not counted: they run on what another entry left in caches and queues."""
LONG = 4
"""A batch that lasts so many times what is wanted of one is long."""
LARGEST_BATCH = 1000


class Timer(Protocol):
    """Something that takes time."""

    def samples(self, batch: int, count: int) -> list[float]:
        """Seconds of one dispatch, for each of `count` batches of `batch` dispatches."""
        ...


@dataclass(frozen=True)
class KernelTimer:
    """A kernel of a device that has nothing better than `Kernel.time`."""

    kernel: Kernel
    args: Arguments

    def samples(self, batch: int, count: int) -> list[float]:
        """As the protocol says."""
        return list(self.kernel.time(self.args, TimingPlan(count, batch, 0.0)).samples)


@dataclass(frozen=True)
class Slowed:
    """A timer that does a tenth more than it counts: batches of tens run eleven dispatches for ten."""

    timer: Timer

    def samples(self, batch: int, count: int) -> list[float]:
        """As the protocol says; `batch` is a multiple of 10."""
        longer = batch * 11 // 10
        return [seconds * longer / batch for seconds in self.timer.samples(longer, count)]


@dataclass
class Participant:
    """One that takes turns: `batch` dispatches a sample; `rounds` are what was measured."""

    name: str
    timer: Timer
    batch: int = 1
    rounds: list[Round] = field(default_factory=list)

    def affordable(self, sample: float) -> int:
        """Batches of the next round: fewer where the last one's lasted much longer than the `sample` seconds wanted,
        because one dispatch does; such dispatches are long enough to be their own mean."""
        if not self.rounds or self.rounds[-1].p50 * self.batch < LONG * sample:
            return SAMPLES
        return max(1, int(SAMPLES * sample / (self.rounds[-1].p50 * self.batch)))

    @property
    def samples(self) -> list[float]:
        """Seconds of one dispatch, of all rounds."""
        return [s for r in self.rounds for s in r.samples]


def calibrate(timer: Timer, seconds: float, largest: int = LARGEST_BATCH) -> int:
    """Dispatches of a batch that lasts about `seconds`: grown until it does, at most `largest`.

    The second look corrects the first, in which a few dispatches paid for the start of a submission.
    """
    batch = 1
    for _ in range(8):
        took = min(timer.samples(batch, 2)) * batch
        if took >= seconds or batch == largest:
            break
        wanted = 10 * batch if took <= 0 else ceil(batch * seconds / took)
        batch = min(largest, max(batch + 1, min(wanted, 10 * batch)))
    return batch


def warm_up(timer: Timer, sample: float, seconds: float) -> None:
    """Run for some seconds in submissions as full as those that are timed, so that clocks rise; `sample` seconds is
    how long a batch lasts."""
    until = time.perf_counter() + seconds
    batch = calibrate(timer, sample)
    while time.perf_counter() < until:
        timer.samples(batch, SAMPLES if batch > 1 else 1)


def interleave(
    participants: Sequence[Participant], repetitions: int, sample: float
) -> Iterator[tuple[Participant, int]]:
    """A B C A B C ... A: every participant's rounds, the first one's closing round included. A batch should last
    `sample` seconds; a single one of long dispatches has none before it that is not counted.

    Yields each participant and its repetition after its round. Raises `DeviceError` for a clock that stands still.
    """
    turns: list[tuple[Any, int]] = [(p, n) for n in range(repetitions) for p in participants]
    turns.append((participants[0], repetitions))
    for position, (participant, repetition) in enumerate(turns):
        count = participant.affordable(sample)
        settling = SETTLING if count > 1 else 0
        samples = tuple(participant.timer.samples(participant.batch, settling + count)[settling:])
        if min(samples) <= 0:
            raise DeviceError(f"the clock does not see {participant.batch} dispatches of {participant.name}")
        participant.rounds.append(Round(position, samples))
        yield participant, repetition
