"""The text of a run."""

from __future__ import annotations

import pytest

from specgen.bench.options import Request
from specgen.bench.text import Text, duration, size

RATIO = {"ratio_p50": 0.91, "ratio_low": 0.9, "ratio_high": 0.92, "coverage": 0.99, "noise_floor_ppm": 4000}
COMPARED = {"kind": "comparison", "a": "k/b/-/t/serial", "b": "k/b/-/t/deep", "same_code": False, **RATIO}


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (1e-3, "1 ms"), (1.23456e-5, "12.35 us"), (3e-8, "30 ns")]
)
def test_durations_have_four_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(12, "12 B"), (1536, "1.5 KiB"), (1 << 20, "1 MiB"), (5 << 30, "5 GiB")])
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_quiet_output_names_each_group_once() -> None:
    text = Text(Request(quiet=True))
    first = text.line({**COMPARED, "verdict": "slower"})
    assert first == "\nk/b/-/t\n  deep against serial: 0.9100 [0.9000, 0.9200] times as fast: slower"
    again = text.line({**COMPARED, "b": "k/b/-/t/serial (again)", "same_code": True, "verdict": "not distinguishable"})
    assert again == "  A/A: 0.9100 [0.9000, 0.9200] of serial; noise floor 0.40 %"
    same = {"kind": "comparison", "a": "k/b/-/t/serial", "b": "k/b/-/t/default", "verdict": "x", "same_code": True}
    assert text.line(same) == "  default is the same code as serial"


def test_trials_and_rounds_are_told_on_request() -> None:
    trial = {"kind": "self_check", "subject": "copy", "trial": 3, "verdict": "slower", "right": True, **RATIO}
    assert Text(Request()).line(trial) == ""
    assert Text(Request(verbose=True)).line(trial).startswith("  trial 3: 0.9100 [0.9000, 0.9200]")


def test_a_count_that_went_wrong_is_loud() -> None:
    row = {"p10_seconds": 1e-6, "p50_seconds": 1e-6, "p90_seconds": 1e-6, "samples": 20, "batch": 1000}
    row |= {"kind": "dispatch_cost", "barrier": "b", "device": "d", "clock": "c", "correct": False}
    assert "WRONG: not every dispatch was counted" in Text(Request(quiet=True)).line(row)
