"""Statistics of timings against closed forms and planted differences."""

from __future__ import annotations

import numpy as np
import pytest

from specgen.bench.statistics import Comparison, compare, median_interval, percentile, summarise, warnings


def test_percentile_is_nearest_rank() -> None:
    assert [percentile([5, 1, 3, 2, 4], share) for share in (0.2, 0.5, 0.9, 1.0)] == [1, 3, 5, 5]
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 0.5)


def test_summary() -> None:
    summary = summarise([float(x) for x in range(1, 11)])
    assert (summary.count, summary.p50, summary.p90, summary.minimum) == (10, 5.5, 9.0, 1.0)
    assert summary.spread == pytest.approx(9 / 5.5 - 1)


def test_interval_of_eleven_uses_second_order_statistics() -> None:
    interval = median_interval([float(x) for x in range(1, 12)])
    assert (interval.low, interval.middle, interval.high) == (2.0, 6.0, 10.0)
    assert interval.coverage == pytest.approx(1 - 2 * (1 + 11) / 2**11)


def test_warnings_name_each_fault() -> None:
    assert warnings([2e-7] * 4, 1, 4) == (
        "short_measured_duration",
        "single_logical_operation_batch",
        "low_physical_dispatch_sample_count",
        "sub_microsecond_logical_operation",
    )
    assert warnings([1e-3] * 5 + [1.3e-3] * 5, 8, 200) == ("unstable_p90_to_p50",)
    assert warnings([1e-3] * 10, 8, 200) == ()


def _rounds(rng: np.random.Generator, count: int, seconds: float, start: int) -> list[list[float]]:
    """Lognormal noise with a slow drift of the clock and rare outliers; rounds of A and B alternate in time."""
    result = []
    for k in range(count):
        drift = 1 + 0.002 * (start + 2 * k)
        samples = seconds * drift * np.exp(rng.normal(0, 0.02, 10))
        samples[rng.random(10) < 0.05] *= 3
        result.append(samples.tolist())
    return result


@pytest.mark.parametrize("seed", range(5))
def test_same_program_is_not_distinguished(seed: int) -> None:
    rng = np.random.default_rng(seed)
    verdicts = [compare(_rounds(rng, 12, 1e-4, 0), _rounds(rng, 11, 1e-4, 1)).verdict for _ in range(20)]
    assert verdicts.count(Comparison.SAME) >= 19


@pytest.mark.parametrize("seed", range(5))
def test_ten_percent_is_found(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    slower = [compare(_rounds(rng, 12, 1e-4, 0), _rounds(rng, 11, 1.1e-4, 1)) for _ in range(20)]
    assert all(c.verdict == Comparison.SLOWER for c in slower)
    assert all(0.85 < c.ratio.middle < 0.97 for c in slower)
    faster = compare(_rounds(rng, 12, 1.1e-4, 0), _rounds(rng, 11, 1e-4, 1))
    assert faster.verdict == Comparison.FASTER


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="interleave"):
        compare([[1.0]] * 3, [[1.0]] * 3)
    with pytest.raises(ValueError, match="interleave"):
        compare([[1.0]] * 3, [[1.0]] * 2)
