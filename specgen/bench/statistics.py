"""Statistics of timings: summaries, ratios of interleaved rounds, and when a difference may be claimed.

Order statistics only: timings are skewed and have outliers, so means and standard deviations mislead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.975
"""Least coverage of the interval of a median ratio, where there are rounds enough (7 or more)."""


@dataclass(frozen=True)
class Summary:
    """Seconds of one dispatch over all samples."""

    count: int
    p10: float
    p50: float
    p90: float
    minimum: float

    @property
    def spread(self) -> float:
        """p90 / p50 - 1."""
        return self.p90 / self.p50 - 1


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample with at least `share` of all samples at or below it (nearest rank)."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    rank = max(1, -(-int(share * 1_000_000) * len(ordered) // 1_000_000))
    return ordered[rank - 1]


def summarise(samples: Sequence[float]) -> Summary:
    """Median, 10th and 90th percentile and minimum of the samples. Raises `ValueError` when there are none."""
    p10, p90 = percentile(samples, 0.1), percentile(samples, 0.9)
    return Summary(len(samples), p10, median(samples), p90, min(samples))


@dataclass(frozen=True)
class Measured:
    """What the warnings look at: the summary, dispatches a sample, and dispatches in all."""

    summary: Summary
    batch: int
    dispatches: int


@dataclass(frozen=True)
class Warning:
    """A reason to trust a row less. `holds` decides it."""

    code: str
    meaning: str
    remedy: str
    holds: Callable[[Measured], bool]


_TABLE = (
    Warning(
        "short_measured_duration",
        "a sample lasts less than 1 ms in all",
        "raise --min-time",
        lambda m: m.summary.p50 * m.batch < 1e-3,
    ),
    Warning(
        "single_logical_operation_batch",
        "each sample is one dispatch",
        "raise --min-time; harmless where a dispatch lasts milliseconds",
        lambda m: m.batch == 1,
    ),
    Warning(
        "low_physical_dispatch_sample_count",
        "fewer than 100 dispatches were timed",
        "raise --min-time or --repetitions",
        lambda m: m.dispatches < 100,
    ),
    Warning(
        "sub_microsecond_logical_operation",
        "a dispatch takes less than a microsecond",
        "measure a larger case: this is the cost of a dispatch",
        lambda m: m.summary.p50 < 1e-6,
    ),
    Warning(
        "unstable_p90_to_p50",
        "the 90th percentile lies more than 10 % above the median",
        "look for other work on the device, or for clocks that change",
        lambda m: m.summary.spread > 0.1,
    ),
)

WARNINGS: dict[str, Warning] = {row.code: row for row in _TABLE}
"""Every warning by its code."""


def warnings(samples: Sequence[float], batch: int, dispatches: int) -> tuple[str, ...]:
    """Codes of `WARNINGS` that hold for these samples of `batch` dispatches each."""
    measured = Measured(summarise(samples), batch, dispatches)
    return tuple(code for code, row in WARNINGS.items() if row.holds(measured))


@dataclass(frozen=True)
class Interval:
    """The median of ratios and the order statistics that enclose it with at least `CONFIDENCE`."""

    low: float
    middle: float
    high: float
    coverage: float

    def scaled(self, factor: float) -> Interval:
        """The interval of the ratios times a positive factor."""
        return Interval(self.low * factor, self.middle * factor, self.high * factor, self.coverage)


def median_interval(values: Sequence[float]) -> Interval:
    """A distribution-free confidence interval of the median (Conover, Practical Nonparametric Statistics, 3.2).

    The coverage of the interval between the k-th smallest and the k-th largest of n values is
    1 - 2 P(Binomial(n, 1/2) < k). Takes the largest k whose coverage reaches `CONFIDENCE`, else the whole range.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = 1
    for k in range(1, n // 2 + 1):
        if _coverage(n, k) >= CONFIDENCE:
            best = k
    return Interval(ordered[best - 1], median(ordered), ordered[n - best], _coverage(n, best))


def _coverage(n: int, k: int) -> float:
    return 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n


@dataclass(frozen=True)
class Round:
    """One turn of one entry: its place in the order of all turns, and seconds of one dispatch, a sample each."""

    position: int
    samples: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median of the turn."""
        return median(self.samples)


LEAST_ROUNDS = 3
"""Rounds of B without which nothing can be said about a ratio."""


def round_ratios(a: Sequence[Round], b: Sequence[Round]) -> list[float]:
    """Time of A / time of B for each round of B that has rounds of A on both sides (above 1: B is faster).

    A's time at the place of B's round is interpolated between its two neighbours, which removes a drift of the clock.
    """
    places = [r.position for r in a]
    ratios = []
    for own in b:
        after = bisect_left(places, own.position)
        if 0 < after < len(a):
            first, last = a[after - 1], a[after]
            share = (own.position - first.position) / (last.position - first.position)
            ratios.append(((1 - share) * first.p50 + share * last.p50) / own.p50)
    return ratios


@dataclass(frozen=True)
class Comparison:
    """B against A: `ratio` is time of A / time of B (above 1: B is faster).

    `noise` is how far from 1 a ratio of A with itself was found in the same run.
    """

    ratio: Interval
    noise: float
    verdict: str

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "not distinguishable"


def noise_floor(a: Sequence[Round], again: Sequence[Round]) -> float:
    """How far from 1 the ratio of A and A may lie: the distance of the A/A median from 1, but at least half of what
    one A/A round deviates in the median. The first catches a bias of the order of turns, the second a lucky median.
    """
    ratios = round_ratios(a, again)
    return max(abs(median(ratios) - 1), median(abs(r - 1) for r in ratios) / 2)


def compare_rounds(a: Sequence[Round], b: Sequence[Round], noise: float) -> Comparison:
    """B against A, from rounds of one run in which A and B took turns.

    A difference is claimed only when the interval of the median ratio excludes 1 by more than the noise floor, and
    when there are rounds enough (7) for the interval to hold the median with a probability of `CONFIDENCE`.

    Raises `ValueError` for fewer than three rounds of B that have rounds of A on both sides.
    """
    ratios = round_ratios(a, b)
    if len(ratios) < LEAST_ROUNDS:
        raise ValueError("interleave A B A ... A with at least three rounds of B")
    interval = median_interval(ratios)
    if interval.coverage < CONFIDENCE:
        verdict = Comparison.SAME
    elif interval.low > 1 + noise:
        verdict = Comparison.FASTER
    elif interval.high < 1 - noise:
        verdict = Comparison.SLOWER
    else:
        verdict = Comparison.SAME
    return Comparison(interval, noise, verdict)


def compare(a_rounds: Sequence[Sequence[float]], b_rounds: Sequence[Sequence[float]]) -> Comparison:
    """Compare rounds that alternated A B A ... A without an A/A run: the noise floor is half of what a round of A
    deviates, in the median, from the mean of its neighbours.

    Raises `ValueError` for other shapes or fewer than three rounds of B.
    """
    if len(a_rounds) != len(b_rounds) + 1:
        raise ValueError("interleave A B A ... A with at least three rounds of B")
    a = [Round(2 * k, tuple(samples)) for k, samples in enumerate(a_rounds)]
    b = [Round(2 * k + 1, tuple(samples)) for k, samples in enumerate(b_rounds)]
    deviations = [abs((x.p50 + z.p50) / 2 / y.p50 - 1) for x, y, z in zip(a, a[1:], a[2:], strict=False)]
    return compare_rounds(a, b, median(deviations) / 2 if deviations else 0.0)
