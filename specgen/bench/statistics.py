"""Statistics of timings: summaries, ratios of interleaved rounds, and when a difference may be claimed.

Order statistics only: timings are skewed and have outliers, so means and standard deviations mislead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.975
"""Least coverage of the interval of a median ratio; one A/A comparison in 40 may lie outside it."""

WARNINGS = {
    "short_measured_duration": "a sample lasts less than 1 ms in all",
    "single_logical_operation_batch": "each sample is one dispatch",
    "low_physical_dispatch_sample_count": "fewer than 100 dispatches were timed",
    "sub_microsecond_logical_operation": "a dispatch takes less than a microsecond",
    "unstable_p90_to_p50": "the 90th percentile lies more than 10 % above the median",
}
"""Warning code -> what it says."""


@dataclass(frozen=True)
class Summary:
    """Seconds of one dispatch over all samples."""

    count: int
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
    """Median, 90th percentile and minimum of the samples. Raises `ValueError` when there are none."""
    return Summary(len(samples), median(samples), percentile(samples, 0.9), min(samples))


def warnings(samples: Sequence[float], batch: int, dispatches: int) -> tuple[str, ...]:
    """Codes of `WARNINGS` that hold for these samples of `batch` dispatches each."""
    summary = summarise(samples)
    tests = {
        "short_measured_duration": summary.p50 * batch < 1e-3,
        "single_logical_operation_batch": batch == 1,
        "low_physical_dispatch_sample_count": dispatches < 100,
        "sub_microsecond_logical_operation": summary.p50 < 1e-6,
        "unstable_p90_to_p50": summary.spread > 0.1,
    }
    return tuple(code for code in WARNINGS if tests[code])


@dataclass(frozen=True)
class Interval:
    """The median of ratios and the order statistics that enclose it with at least `CONFIDENCE`."""

    low: float
    middle: float
    high: float
    coverage: float


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
class Comparison:
    """B against A from rounds A B A B ... A: `ratio` is time of A / time of B (above 1: B is faster).

    `noise` is the largest deviation from 1 that the A/A ratios of the same run show at their median's interval.
    """

    ratio: Interval
    noise: float
    verdict: str

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "not distinguishable"


def compare(a_rounds: Sequence[Sequence[float]], b_rounds: Sequence[Sequence[float]]) -> Comparison:
    """Compare interleaved rounds: one more of A than of B, each with its samples (seconds of one dispatch).

    Each round of B is set against the mean of its two neighbours of A, which removes a drift of the clock. A
    difference is claimed only when the interval of the median ratio excludes 1 by more than the A/A noise floor.
    Raises `ValueError` for other shapes or fewer than three rounds of B.
    """
    if len(a_rounds) != len(b_rounds) + 1 or len(b_rounds) < 3:
        raise ValueError("interleave A B A ... A with at least three rounds of B")
    a = [median(samples) for samples in a_rounds]
    b = [median(samples) for samples in b_rounds]
    ratios = [(before + after) / 2 / own for before, own, after in zip(a, b, a[1:], strict=False)]
    interval = median_interval(ratios)
    noise = _noise(a)
    if interval.low > 1 + noise:
        verdict = Comparison.FASTER
    elif interval.high < 1 - noise:
        verdict = Comparison.SLOWER
    else:
        verdict = Comparison.SAME
    return Comparison(interval, noise, verdict)


def _noise(a: Sequence[float]) -> float:
    """Half the median deviation between rounds of A and the mean of their neighbours: what no change looks like."""
    deviations = [abs((a[i - 1] + a[i + 1]) / 2 / a[i] - 1) for i in range(1, len(a) - 1)]
    return median(deviations) / 2 if deviations else 0.0
