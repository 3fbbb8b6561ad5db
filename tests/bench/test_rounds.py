"""Taking turns: batches are as long as asked for, and the order of rounds is A B C ... A."""

from __future__ import annotations

import numpy as np
import pytest
from bench_runs import Simulated, World

from specgen.bench.rounds import LARGEST_BATCH, SAMPLES, SETTLING, Participant, calibrate, interleave
from specgen.bench.statistics import Round, compare_rounds, noise_floor, round_ratios
from specgen.devices.base import DeviceError


def quiet(seconds: float) -> Simulated:
    return Simulated(World(lambda random, turn, count: np.ones(count), np.random.default_rng(0)), seconds)


@pytest.mark.parametrize(
    ("seconds", "wanted", "batch"),
    [(1e-3, 1e-3, 1), (1e-4, 1e-3, 10), (3e-6, 1e-3, 334), (1e-9, 1.0, LARGEST_BATCH), (2.0, 1e-3, 1)],
)
def test_a_batch_lasts_as_long_as_asked(seconds: float, wanted: float, batch: int) -> None:
    assert calibrate(quiet(seconds), wanted) == batch


def test_a_start_that_costs_is_not_taken_for_the_kernel() -> None:
    """A first dispatch that pays 50 us more: the batch still comes near what is asked for."""

    class Starting:
        def samples(self, batch: int, count: int) -> list[float]:
            return [(50e-6 + 1e-6 * batch) / batch] * count

    assert 900 <= calibrate(Starting(), 1e-3) <= LARGEST_BATCH


def test_order_of_rounds() -> None:
    timers = {name: quiet(seconds) for name, seconds in (("a", 1.0), ("b", 2.0), ("c", 3.0))}
    participants = [Participant(name, timer, 7) for name, timer in timers.items()]
    order = [(p.name, n) for p, n in interleave(participants, 2, 21.0)]
    assert order == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1), ("a", 2)]
    assert [r.position for r in participants[0].rounds] == [0, 3, 6]
    assert [r.position for r in participants[2].rounds] == [2, 5]
    assert participants[1].samples == [2.0] * (2 * SAMPLES)
    assert timers["b"].calls == [(7, SETTLING + SAMPLES)] * 2


def test_long_dispatches_have_fewer_batches_a_round() -> None:
    """0.1 s each where a batch should last 1 ms: after the first round one dispatch a round, none uncounted; 5 ms: one
    of seven, too; 3 ms is not long."""
    for seconds, counts in ((0.1, [8, 1, 1, 1]), (5e-3, [8, 1, 1, 1]), (3e-3, [8, 8, 8, 8])):
        timer = quiet(seconds)
        list(interleave([Participant("a", timer, 1)], 3, 1e-3))
        assert timer.calls == [(1, count) for count in counts]


def test_a_clock_that_stands_still_is_refused() -> None:
    with pytest.raises(DeviceError, match="the clock does not see 4 dispatches of a"):
        list(interleave([Participant("a", quiet(0.0), 4)], 3, 1.0))


def test_ratios_follow_a_drifting_clock() -> None:
    """Times that grow linearly with the place: interpolation leaves exactly the true ratio of 2."""

    def rounds(places: range, seconds: float) -> list[Round]:
        return [Round(p, (seconds * (1 + p / 10),)) for p in places]

    a, b = rounds(range(0, 25, 3), 2.0), rounds(range(2, 24, 3), 1.0)
    assert round_ratios(a, b) == pytest.approx([2.0] * 8)
    again = rounds(range(1, 24, 3), 2.0)
    assert noise_floor(a, again) == pytest.approx(0, abs=1e-12)
    assert compare_rounds(a, b, noise_floor(a, again)).verdict == "faster"
    few = compare_rounds(a[:4], b[:3], 0.0)
    assert (few.ratio.low, few.ratio.coverage) == (pytest.approx(2.0), 0.75)
    assert few.verdict == "not distinguishable", "three rounds show nothing, however clear they look"
    assert round_ratios(b, a) == pytest.approx([0.5] * 7), "rounds of A without B on both sides do not count"
