"""Calls on the CPU driver: what is gated, what is timed, what the rows say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench_runs import BRIEF, built, of_kind, rows_of

from specgen.bench import schema
from specgen.bench.command import main
from specgen.devices.vulkan.device import VulkanKernel

pytestmark = pytest.mark.required_in_ci

SMALL = ("--only", "saxpy/stream/n=65536")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """saxpy and sum_rows, built for vulkan1.3."""
    folder = tmp_path_factory.mktemp("bench") / "out"
    return built(folder, "elementwise/saxpy.spec.yaml", "streaming/sum_rows.spec.yaml")


def test_dry_run_counts_rows_and_work_items(out: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    """Both cases of saxpy: `serial` is the default's code, `narrow` has smaller workgroups. No device is opened."""
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nonexistent")
    status, rows = rows_of(capsys, out, "--dry-run", "--device", "vulkan")
    assert status == 0
    plan = [(row["row"], row["work_item"]) for row in of_kind(rows, "plan")]
    names = [f"saxpy/stream/n={n}/vulkan1.3/{e}" for n in (65536, 16777216) for e in ("default", "serial", "narrow")]
    assert plan[:6] == list(zip(names, [0, 0, 1, 2, 2, 3], strict=True))
    assert [item for _, item in plan[6:]] == [4, 5, 6, 7]
    summary = rows[-1]
    assert (summary["logical_rows"], summary["work_items"], summary["dry_run"], summary["timed"]) == (10, 8, True, 0)
    assert {row["kind"] for row in rows} == {"run", "plan", "summary"}


def test_rows_of_a_run(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = rows_of(capsys, out, *SMALL, *BRIEF)
    assert status == 0
    assert [problem for row in rows for problem in schema.check(row)] == []
    kinds = [row["kind"] for row in rows]
    assert kinds.index("repetition") > max(n for n, kind in enumerate(kinds) if kind == "compile")
    assert [row["symbol"] for row in of_kind(rows, "compile")] == ["saxpy", "saxpy__narrow"]
    assert [(s["entry"], s["status"]) for s in of_kind(rows, "sample")] == [("default", "passed"), ("narrow", "passed")]
    timed = {row["entry"]: row for row in of_kind(rows, "benchmark")}
    assert list(timed) == ["default", "serial", "narrow"]
    for row in timed.values():
        assert (row["bytes"], row["flops"], row["flops_per_byte"]) == (65536 * 12, 65536 * 2, 1 / 6)
        assert row["set_bytes"] == 65536 * 8
        assert row["ring_sets"] >= max(2, row["batch"]), "a ring of 1 MiB takes two sets, and one a dispatch"
        assert row["data_cache"] == "rotated"
        assert row["dispatches"] == row["batch"] * row["samples"]
        assert 0 < row["minimum_seconds"] <= row["p10_seconds"] <= row["p50_seconds"] <= row["p90_seconds"]
        assert row["spread_ppm"] == round((row["p90_seconds"] / row["p50_seconds"] - 1) * 1e6)
        assert 0 < row["roofline_low"] <= row["roofline_p50"] <= row["roofline_high"]
    assert timed["default"]["p50_seconds"] == timed["serial"]["p50_seconds"]
    places = [(row["row"].rpartition("/")[2], row["position"]) for row in of_kind(rows, "repetition")]
    turns = ["default", "default (again)", "narrow", "copy"]
    assert places == [(name, n) for n, name in enumerate([*turns * 3, "default"])]
    again, same, other = of_kind(rows, "comparison")
    assert again["same_code"]
    assert (same["same_code"], "ratio_p50" in same) == (True, False)
    assert (other["a"], other["b"]) == (timed["serial"]["row"], timed["narrow"]["row"])
    assert other["ratio_low"] <= other["ratio_p50"] <= other["ratio_high"]


def test_median_and_roofline_come_from_the_rounds(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recomputed with numpy from the samples in the repetition rows."""
    _, rows = rows_of(capsys, out, *SMALL, *BRIEF, "--compare", "default,narrow")
    rounds = of_kind(rows, "repetition")
    own = [row for row in rounds if row["row"].endswith("/narrow")]
    (row,) = [row for row in of_kind(rows, "benchmark") if row["entry"] == "narrow"]
    assert row["p50_seconds"] == pytest.approx(np.median([s for r in own for s in r["samples"]]))
    copies = [r for r in rounds if r["row"] == "copy"]
    ratios = [
        np.interp(r["position"], [c["position"] for c in copies], [c["p50_seconds"] for c in copies]) / r["p50_seconds"]
        for r in own
        if copies[0]["position"] < r["position"]
    ]
    ring = 1 << 20
    assert row["roofline_p50"] == pytest.approx(np.median(ratios) * 65536 * 12 / ring)


def test_hot_uses_one_set(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = rows_of(capsys, out, "--only", "sum_rows/*/*/*/ahead", "--hot", *BRIEF)
    (row,) = of_kind(rows, "benchmark")
    assert (status, row["data_cache"], row["ring_sets"], row["ring_capped"]) == (0, "hot", 1, False)
    assert len(of_kind(rows, "compile")) == 2, "`serial` is compiled too, for the gate"


def test_a_wrong_entry_has_no_time(out: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    right = VulkanKernel.launch_batch

    def launch_batch(kernel, launches, grids=None):
        runs = right(kernel, launches, grids)
        if kernel.symbol == "sum_rows__ahead":
            runs[0].outputs["output"][7] += 1
        return runs

    monkeypatch.setattr(VulkanKernel, "launch_batch", launch_batch)
    status, rows = rows_of(capsys, out, "--only", "sum_rows", *BRIEF)
    assert status == 1
    assert [row["entry"] for row in of_kind(rows, "benchmark")] == ["default", "serial", "copies"]
    (failure,) = of_kind(rows, "failure")
    assert failure["row"] == "sum_rows/sum_rows_64/-/vulkan1.3/ahead"
    assert failure["stage"] == "gate"
    assert "output: 1 of 32 elements have other bits" in failure["reason"]
    assert all("ahead" not in row["b"] for row in of_kind(rows, "comparison"))


def test_what_the_device_cannot_launch_is_skipped(out: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    from specgen.devices.base import DeviceError

    def grid(kernel, args, grid):
        raise DeviceError("99 workgroups along x, the device takes up to 9")

    monkeypatch.setattr(VulkanKernel, "grid", grid)
    status, rows = rows_of(capsys, out, "--only", "sum_rows", *BRIEF)
    assert status == 0
    assert {row["reason"] for row in of_kind(rows, "skip")[1:]} == {"99 workgroups along x, the device takes up to 9"}
    assert of_kind(rows, "skip")[0]["row"] == "copy"
    assert not of_kind(rows, "benchmark")


def test_text_and_file(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "rows.json", tmp_path / "rows.jsonl"]
    for file in files:
        assert main([str(out), *SMALL, *BRIEF, "--compare", "serial,narrow", "-o", str(file)], "bench") == 0
    text = capsys.readouterr().out
    assert "input sets exceed 1 MiB (--ring)" in text
    assert "saxpy/stream/n=65536/vulkan1.3  (on llvmpipe" in text or "/vulkan1.3  (on " in text
    assert "narrow against serial: " in text
    assert re.search(r"^  serial +[\d.]+ [mu]s  p10", text, re.MULTILINE)
    assert "2 logical rows, 2 physical work items: 2 timed, 0 failed, 0 skipped" in text
    document = json.loads(files[0].read_text())
    assert document["version"] == schema.VERSION
    lines = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert [row["kind"] for row in document["rows"]] == [row["kind"] for row in lines]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.json", "rows.jsonl"]


def test_without_a_device_rows_are_skipped_unless_it_was_named(out: Path, capsys, monkeypatch) -> None:
    from specgen.devices.vulkan.device import VulkanDevice

    monkeypatch.setattr(VulkanDevice, "available", lambda self: "no driver")
    status, rows = rows_of(capsys, out)
    assert (status, rows[-1]["skipped"]) == (0, 10)
    reasons = {row["reason"] for row in of_kind(rows, "skip")}
    assert reasons == {"device vulkan is not available: no driver; " + HOW}
    assert main([str(out), "--device", "vulkan"], "bench") == 2
    assert capsys.readouterr().err.splitlines() == [
        "specgen: device vulkan is not available: no driver",
        f"  hint: {HOW}",
    ]


HOW = "install a Vulkan driver, or Mesa's for the CPU (Debian: mesa-vulkan-drivers); see specgen devices"

BLOCKED = (
    "xdsl llvmlite cerberus jinja2 yaml tinygrad click rich pytest ml_dtypes msgpack elftools tree_sitter hip".split()
)
BLOCKER = f"""
import sys

blocked = {BLOCKED!r}
finders = list(sys.meta_path)

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            return None
        return next((s for s in (f.find_spec(name, path, target) for f in finders) if s is not None), None)

sys.meta_path[:] = [Blocker()]
"""


@pytest.mark.parametrize("devices", ["vulkan", ""])
def test_a_suite_needs_pytest_besides(out: Path, devices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three entries by the checks; devices that need more are skipped with the reason."""
    monkeypatch.setenv("SPECGEN_DEVICES", devices)
    path = out / "saxpy" / "test_saxpy.py"
    options = ["-q", "-c", "/dev/null", "--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rs", str(path)]
    options += ["--import-mode=importlib", "-p", "no:timeout"]
    run = f"blocked.remove('pytest')\nimport pytest; sys.exit(pytest.main({options!r}))"
    done = subprocess.run([sys.executable, "-c", BLOCKER + run], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)
    assert ("skipped" in done.stdout) == (not devices)
    if not devices:
        assert re.search(r"device interpreter is not available: .*No module named", done.stdout)


@pytest.mark.parametrize("module", ["", "specgen", "specgen.bench"], ids=["script", "package", "module"])
def test_a_built_folder_needs_numpy_and_a_loader_only(out: Path, module: str) -> None:
    options = [*SMALL, *BRIEF]
    if not module:
        path = str(out / "saxpy" / "bench_saxpy.py")
        run = f"import runpy; sys.argv = {[path, *options]!r}; runpy.run_path({path!r}, run_name='__main__')"
    else:
        argv = ["x", *(["bench"] if module == "specgen" else []), str(out), *options]
        run = f"import runpy; sys.argv = {argv!r}; runpy.run_module({module!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", BLOCKER + run], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 timed, 0 failed, 0 skipped" in done.stdout
    assert "  serial       as default: the same work item" in done.stdout.splitlines()


def test_the_command_needs_no_compiler_for_built_folders(out: Path) -> None:
    """`specgen bench OUT` with click, and without what builds and tests need."""
    argv = ["specgen", "bench", str(out), *SMALL, *BRIEF]
    run = f"from specgen.cli.main import main; sys.argv = {argv!r}; main()"
    blocker = BLOCKER.replace("'click', ", "")
    assert blocker != BLOCKER
    done = subprocess.run([sys.executable, "-c", blocker + run], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 timed, 0 failed, 0 skipped" in done.stdout


def test_the_first_timed_dispatch_has_to_leave_what_the_gate_saw(out: Path, capsys, monkeypatch) -> None:
    """A kernel that is right when it is launched and wrong on the sets that are timed."""
    from specgen.devices.vulkan.timing import Ring

    right = Ring.contents

    def contents(ring, number, name, dtype):
        left = right(ring, number, name, dtype)
        if number == 1:
            left[3] += 1
        return left

    monkeypatch.setattr(Ring, "contents", contents)
    status, rows = rows_of(capsys, out, "--only", "sum_rows", *BRIEF)
    assert status == 1
    failures = [(f["row"].rpartition("/")[2], f["stage"], f["reason"]) for f in of_kind(rows, "failure")]
    reason = "output: the first timed dispatch left 1 other elements than the gate's run"
    assert failures == [("serial", "time", reason)]
    assert [row["entry"] for row in of_kind(rows, "benchmark")] == ["default", "ahead", "copies"]
    assert {row["a"].rpartition("/")[2] for row in of_kind(rows, "comparison")} == {"default"}


def test_what_is_not_stored_stays_as_each_run_found_it() -> None:
    from specgen.bench.group import unlike

    after, before, given = (np.array(a, np.uint8) for a in ([1, 2, 7, 7], [7, 7, 7, 7], [9, 9, 9, 9]))
    for left, count in (([1, 2, 7, 9], 0), ([1, 2, 9, 9], 0), ([1, 9, 9, 9], 1), ([2, 2, 8, 9], 2)):
        assert unlike(np.array(left, np.uint8), after, before, given) == count
