"""The tool tells noise from a difference: on simulated clocks by the thousand, and its own check on a device."""

from __future__ import annotations

import numpy as np
import pytest
from bench_runs import NOISES, Simulated, World, built, of_kind, rows_of

from specgen.bench.options import Request
from specgen.bench.rounds import Slowed, Timer
from specgen.bench.selfcheck import _trial
from specgen.bench.statistics import Comparison

SEEDS = range(8)
TRIES = 20


def verdicts(noise: str, seed: int, slower: float) -> list[str]:
    """What the comparison says of B, whose dispatches take `slower` times as long as those of A."""
    world = World(NOISES[noise], np.random.default_rng(seed))
    a, b = Simulated(world, 1e-4), Simulated(world, 1e-4 * slower)
    return [_trial(a, b, 10, Request.repetitions, 1.0).verdict for _ in range(TRIES)]


@pytest.mark.parametrize("noise", NOISES)
def test_the_same_program_is_not_distinguished(noise: str) -> None:
    for seed in SEEDS:
        assert verdicts(noise, seed, 1.0).count(Comparison.SAME) >= 19, seed


@pytest.mark.parametrize("noise", NOISES)
def test_ten_percent_is_found(noise: str) -> None:
    for seed in SEEDS:
        assert verdicts(noise, 100 + seed, 1.1).count(Comparison.SLOWER) >= 19, seed


def test_a_bias_of_the_order_of_turns_is_no_difference() -> None:
    """Whoever comes second in a round finds warm caches: A against itself shows it, so B is not called faster."""
    world = World(lambda random, turn, count: np.full(count, 1.0 if turn % 3 == 1 else 0.9), np.random.default_rng(0))
    timer = Simulated(world, 1e-4)
    found = _trial(timer, timer, 10, 15, 1.0)
    assert found.ratio.middle == pytest.approx(1 / 0.9)
    assert found.noise == pytest.approx(1 / 0.9 - 1)
    assert found.verdict == Comparison.SAME


def test_a_planted_slowdown_is_eleven_dispatches_for_ten() -> None:
    world = World(lambda random, turn, count: np.ones(count), np.random.default_rng(0))
    timer = Simulated(world, 2e-6)
    slowed: Timer = Slowed(timer)
    assert slowed.samples(20, 3) == pytest.approx([2.2e-6] * 3)
    assert timer.calls == [(22, 3)]


@pytest.mark.required_in_ci
def test_the_devices_self_check(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of every kind; a loaded machine may blur the verdicts, so they are not looked at here."""
    out = built(tmp_path, "streaming/sum_rows.spec.yaml")
    options = ("--self-check", "--trials", "1", "--repetitions", "3", "--min-time", "4", "--warmup", "0", "--ring", "1")
    status, rows = rows_of(capsys, out, *options)
    (cost,) = of_kind(rows, "dispatch_cost")
    assert cost["correct"]
    assert 0 < cost["p10_seconds"] <= cost["p50_seconds"] <= cost["p90_seconds"] < 1e-2
    subjects = ["copy", "sum_rows/sum_rows_64/-/vulkan1.3/default"]
    assert [t["subject"] for t in of_kind(rows, "self_check_total")] == [s for s in subjects for _ in range(2)]
    trials = of_kind(rows, "self_check")
    assert [t["planted_percent"] for t in trials] == [0, 10, 0, 10]
    assert all(
        t["right"] == (t["verdict"] == ("slower" if t["planted_percent"] else "not distinguishable")) for t in trials
    )
    assert status == int(not all(t["passed"] for t in of_kind(rows, "self_check_total")))


@pytest.mark.required_in_ci
def test_the_dispatch_cost_needs_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = rows_of(capsys, "--dispatch-cost", "--warmup", "0")
    assert status == 0
    assert [row["kind"] for row in rows] == ["run", "device", "dispatch_cost", "summary"]
