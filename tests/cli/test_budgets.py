"""Times of the front end against three times the design's budgets: machines that test are slow and shared."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from cli_calls import SAXPY

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


def test_what_a_cold_build_imports_before_llvm_is_at_work(tmp_path):
    """The rest (numpy, the evaluator of formulas, the suite) is imported while LLVM's process works."""
    script = f"""
import sys
from pathlib import Path
from specgen import emit
from specgen.cli import build

original, early = emit._start, []
emit._start = lambda planned: (early.extend(sys.modules), original(planned))[1]
results = build.build_paths([Path({str(SAXPY)!r})], build.BuildOptions(Path("out"), ("gfx1151",)))
assert [r.status for r in results] == ["built"]
late = ("numpy", "ml_dtypes", "specgen.testing", "specgen.checks.plan", "concurrent.futures")
print([name for name in late if name in early], "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[] True", done.stdout + done.stderr
