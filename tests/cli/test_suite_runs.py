"""`specgen test` runs the suite of a folder and nothing else that lies there; oracles only when they are allowed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from cli_calls import SAXPY, SUM_ROWS, specgen, specgen_here

ON = ("--device", "interpreter")
TRAP = "from pathlib import Path\nPath({flag!r}).write_text('executed')\nraise SystemExit(77)\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suites")
    call = specgen("build", SAXPY, SUM_ROWS, "--target", "gfx1151", "-o", folder / "out", cwd=folder)
    assert call.status == 0, call
    return folder / "out"


@pytest.fixture
def out(built, tmp_path):
    shutil.copytree(built, tmp_path / "out")
    return tmp_path / "out"


def test_the_closing_line_counts(out, tmp_path):
    for path in ("out", "out/saxpy", out):
        call = specgen("test", path, *ON, cwd=tmp_path)
        assert call.status == 0, call
        passed, failed, skipped = (int(p.split()[0]) for p in call.out.splitlines()[-1].split(", "))
        assert passed > 0
        assert failed == skipped == 0


def test_skips_are_told_with_their_reason(out, tmp_path):
    call = specgen("test", out, *ON, "--target", "gfx942", cwd=tmp_path)
    lines = call.out.splitlines()
    assert lines[-2].endswith(": not built for gfx942")
    assert lines[-1].startswith("0 passed, 0 failed, ")
    assert call.status == 1  # nothing was tested


def test_a_device_that_runs_none_of_the_artifacts_says_so(out, tmp_path):
    call = specgen("test", out, "--device", "amdgpu-emulator", "--device", "interpreter", cwd=tmp_path)
    assert call.status == 0
    (out / "saxpy/gfx1151/kernel.hsaco").rename(out / "saxpy/kernel.hsaco")
    call = specgen("test", out / "saxpy", "--device", "amdgpu-emulator", cwd=tmp_path)
    assert call.status == 1
    reason = "device amdgpu-emulator runs a kernel.hsaco, which no folder of gfx1151 has"
    assert call.out.splitlines()[-2].endswith(reason)


def test_foreign_code_of_the_folder_is_not_executed(out, tmp_path):
    """What pytest or Python would pick up from the folder, its parent, or the current one."""
    flag = tmp_path / "flag"
    for folder in (out, out / "saxpy", tmp_path):
        for name in ("conftest.py", "numpy.py", "pytest.py", "sitecustomize.py", "specgen.py", "_pytest.py"):
            (folder / name).write_text(TRAP.format(flag=str(flag)))
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p numpy --co\n")
        (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--collect-only'\n")
    (out / "saxpy" / "test_other.py").write_text(TRAP.format(flag=str(flag)))
    script = shutil.which("specgen", path=str(Path(sys.executable).parent)) or shutil.which("specgen")
    if script is None:
        pytest.skip("the console script is not installed")
    import subprocess

    done = subprocess.run([script, "test", "out", *ON], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not flag.exists()
    assert int(done.stdout.splitlines()[-1].split()[0]) > 0


def test_environment_of_the_caller_does_not_change_the_suite(out, tmp_path):
    call = specgen("test", out, *ON, cwd=tmp_path, PYTEST_ADDOPTS="--collect-only", PYTEST_PLUGINS="no_such_plugin")
    assert call.status == 0
    assert not call.out.splitlines()[-1].startswith("0 passed")


def test_a_wrong_kernel_fails_with_status_1(out, tmp_path):
    path = out / "sum_rows/gfx1151/scheduled.mlir"
    text = path.read_text()
    assert "arith.addf" in text
    path.write_text(text.replace("arith.addf", "arith.subf"))
    call = specgen("test", out, *ON, cwd=tmp_path)
    assert call.status == 1
    assert "check boundaries" in call.out
    assert ", 0 failed" not in call.out.splitlines()[-1]


def test_a_folder_without_its_suite_ends_with_2(out, tmp_path):
    (out / "saxpy/test_saxpy.py").unlink()
    call = specgen("test", "out/saxpy", *ON, cwd=tmp_path)
    assert call.status == 2
    assert call.out.splitlines()[:2] == [
        f"{out}/saxpy: not as it was built: test_saxpy.py",
        "  hint: build it again",
    ]


def test_artifacts_that_cannot_be_read_are_named(out, tmp_path):
    for name in ("scheduled.mlir", "kernel.hsaco"):
        path = out / "saxpy/gfx1151" / name
        path.write_bytes(path.read_bytes()[:100])
    call = specgen("test", out, "--device", "interpreter", "--device", "amdgpu-emulator", cwd=tmp_path)
    assert call.status == 2
    assert f"{out}/saxpy: not as it was built: gfx1151/kernel.hsaco, gfx1151/scheduled.mlir" in call.out
    assert "Traceback" not in call.out + call.err


ORACLE = (
    "import numpy as np\ndef totals(case):\n    return {'output': case['input'][: case['row_count']].sum(axis=0)}\n"
)


def test_oracles_run_only_when_allowed(tmp_path):
    text = SUM_ROWS.read_text().split("  masked:")[0] + (
        "  foreign:\n    each: {row_count: [1, 5]}\n    given:\n      input: uniform(-1, 1, 3)\n"
        "    expect: {reference: oracles.py:totals}\n    compare: {atol: 0.00001, rtol: 0}\n"
    )
    (tmp_path / "sum_rows.spec.yaml").write_text(text)
    (tmp_path / "oracles.py").write_text(ORACLE)
    arguments = ("test", "sum_rows.spec.yaml", "--target", "gfx1151", *ON)
    call = specgen(*arguments, cwd=tmp_path)
    assert call.status == 0
    assert "allow it with --allow-oracles" in call.out.splitlines()[-2]
    skipped = int(call.out.splitlines()[-1].split()[-2])
    assert skipped > 0
    allowed = specgen(*arguments, "--allow-oracles", cwd=tmp_path)
    assert allowed.status == 0, allowed
    assert allowed.out.splitlines()[-1].endswith(", 0 skipped")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["oracles.py", "sum_rows.spec.yaml"]


def test_specs_are_built_where_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = specgen_here("test", SAXPY, "--target", "gfx1151", *ON, "-o", "kept")
    assert call.status == 0
    assert json.loads((tmp_path / "kept/saxpy/manifest.json").read_text())["targets"] == ["gfx1151"]
