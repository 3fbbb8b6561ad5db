"""Times of the front end against three times the design's budgets: machines that test are slow and shared."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ALLOWANCE = 3.0
PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "frontend.py"


@pytest.fixture(scope="module")
def frontend():
    spec = importlib.util.spec_from_file_location("frontend_benchmark", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_long_spec_has_the_lines_that_it_is_measured_by(frontend):
    assert len(frontend.long_spec().splitlines()) == frontend.LINES == 200


@pytest.mark.slow
def test_front_end_times_stay_within_three_times_their_budget(frontend):
    found = frontend.figures(5)
    assert len(found) == 6
    late = [str(f) for f in found if f.seconds > ALLOWANCE * f.target]
    assert late == []
