"""A device that has a clock and nothing more: `Kernel.time` is all that is asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_runs import SPECS, of_kind, rows_of
from emitting import FaultyDevice, emit_folder

from specgen import devices
from specgen.bench.command import main


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sum_rows with an empty code object: the device here runs the scheduled IR in its place."""
    folder = tmp_path_factory.mktemp("hip") / "sum_rows"
    emit_folder(SPECS / "streaming" / "sum_rows.spec.yaml", folder)
    (folder / "gfx1151" / "kernel.hsaco").write_bytes(b"")
    return folder


def measured(out: Path, device: FaultyDevice, capsys, monkeypatch) -> tuple[int, list[dict]]:
    monkeypatch.setattr(devices, "open", lambda name: device)
    return rows_of(capsys, out, "--device", "hip", "--warmup", "0", "--repetitions", "4")


def test_times_come_from_the_device(out: Path, capsys, monkeypatch) -> None:
    """The device says 0.5, 0.25 and 1 s whatever it is asked; in the first round the first is not counted."""
    status, rows = measured(out, FaultyDevice("clock"), capsys, monkeypatch)
    assert status == 0
    timed = of_kind(rows, "benchmark")
    assert [row["entry"] for row in timed] == ["default", "serial", "ahead", "copies"]
    assert {(row["p10_seconds"], row["p50_seconds"], row["p90_seconds"]) for row in timed} == {(0.25, 0.5, 1.0)}
    assert {(row["data_cache"], row["clock"], row["device"]) for row in timed} == {
        ("hot", "the clock of hip", "a fake")
    }
    assert not any("roofline_p50" in row for row in timed), "the copy kernel runs on Vulkan"
    assert {row["verdict"] for row in of_kind(rows, "comparison")} == {"not distinguishable"}


def test_a_wrong_entry_is_not_timed(out: Path, capsys, monkeypatch) -> None:
    status, rows = measured(out, FaultyDevice("shifted", entries=("__ahead",)), capsys, monkeypatch)
    assert status == 1
    assert next((f["row"].rpartition("/")[2], f["stage"]) for f in of_kind(rows, "failure")) == ("ahead", "gate")


def test_a_device_that_cannot_time_has_no_rows(out: Path, capsys, monkeypatch) -> None:
    status, rows = measured(out, FaultyDevice(), capsys, monkeypatch)
    assert status == 1
    assert not of_kind(rows, "benchmark")
    assert [(f["stage"], "clock" in f["reason"]) for f in of_kind(rows, "failure")] == [("time", True)]


def test_an_absent_device_says_how_to_get_one(out: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(devices, "open", lambda name: FaultyDevice(reason="no HIP runtime"))
    assert main([str(out), "--device", "hip"], "bench") == 2
    assert capsys.readouterr().err.splitlines() == [
        "specgen: device hip is not available: no HIP runtime",
        "  hint: install ROCm and hip-python on a machine with an AMD GPU; see specgen devices",
    ]
