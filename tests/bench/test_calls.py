"""Wrong calls end with 2 and say why; names of rows choose what is measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bench_runs import built, of_kind, rows_of
from cli_calls import SAXPY, specgen_here

from specgen.bench.plan import _fits
from specgen.output import digest, mark_stale


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """saxpy, built for vulkan1.3."""
    return built(tmp_path_factory.mktemp("calls") / "out", "elementwise/saxpy.spec.yaml")


WRONG = {
    "no path": ((), "no path given"),
    "a missing path": (("nowhere",), "no such file or folder: nowhere"),
    "an unknown flag": (("OUT", "--fast"), "--fast"),
    "an unknown device": (("OUT", "--device", "abacus"), "unknown device: abacus"),
    "a device without a clock": (("OUT", "--device", "interpreter"), "interpreter has no clock"),
    "an unknown target of a spec": ((SAXPY, "--target", "gfx1511"), "unknown target: gfx1511"),
    "a target that was not built": (("OUT", "--target", "gfx942"), "targets: vulkan1.3"),
    "an unknown row": (("OUT", "--only", "saxpy/steam"), "rows: saxpy/stream/n=65536/vulkan1.3/default"),
    "an unknown entry": (("OUT", "--compare", "serial,wide"), "entries: default, narrow, serial"),
    "one entry": (("OUT", "--compare", "serial"), "two different entries"),
    "an entry against itself": (("OUT", "--compare", "serial,serial"), "two different entries"),
    "too few rounds": (("OUT", "--repetitions", "2"), "at least 3"),
    "half a round": (("OUT", "--repetitions", "3.5"), "no whole number"),
    "a negative time": (("OUT", "--min-time", "-1"), "--min-time"),
    "no number": (("OUT", "--warmup", "long"), "'long' is no number"),
    "no end": (("OUT", "--warmup", "inf"), "out of range"),
    "an unknown form": (("OUT", "--format", "xml"), "xml"),
    "a plan of a self-check": (("--self-check", "--dry-run"), "--self-check and --dispatch-cost have none"),
    "a self-check without Vulkan": (("--self-check", "--device", "hip"), "run on vulkan only"),
    "a file in no folder": (("OUT", "--dry-run", "-o", "nowhere/rows.json"), "cannot write nowhere/rows.json"),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
def test_wrong_calls_end_with_2_and_say_why(arguments: tuple[object, ...], told: str, out: Path) -> None:
    call = specgen_here("bench", *(out if a == "OUT" else a for a in arguments))
    assert call.status == 2
    assert told in call.err
    assert call.err.startswith("specgen: ")


DAMAGE = {
    "no script": (lambda f: (f / "bench_saxpy.py").unlink(), "has no bench_saxpy.py"),
    "an edited script": (lambda f: (f / "bench_saxpy.py").write_text("pass\n"), "bench_saxpy.py is not what was built"),
    "a script of another version": (lambda f: rewritten(f, "SUITE = 1\n"), "built by another version of specgen"),
    "a script that is none": (lambda f: rewritten(f, "1 +\n"), "SyntaxError"),
    "a failed build": (lambda f: mark_stale(f, "a failed build"), "is stale"),
    "half an artifact": (lambda f: (f / "vulkan1.3" / "kernel.spv").write_bytes(b"garbage!"), "is not what was built"),
    "half a manifest": (lambda f: (f / "manifest.json").write_text('{"specgen": "0", "files": {}}'), "lacks `spec`"),
}


def rewritten(folder: Path, script: str) -> None:
    """Another script, as if it had been built so."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "bench_saxpy.py").write_text(script)
    manifest["files"]["bench_saxpy.py"] = digest(script.encode())
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=DAMAGE)
def test_folders_that_cannot_be_used(damage, told: str, out: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saxpy"
    shutil.copytree(out / "saxpy", folder)
    damage(folder)
    call = specgen_here("bench", folder)
    assert call.status == 1
    assert told in call.err
    assert "build it" in call.err


def test_a_folder_may_travel_without_what_timing_does_not_need(out: Path, tmp_path: Path, capsys) -> None:
    """Without the scheduled IR only a shared symbol says that entries have the same code."""
    shutil.copytree(out / "saxpy", tmp_path / "saxpy")
    for file in ("source.mlir", "test_saxpy.py", "vulkan1.3/scheduled.mlir", "vulkan1.3/kernel.s"):
        (tmp_path / "saxpy" / file).unlink()
    status, rows = rows_of(capsys, tmp_path, "--dry-run", "--only", "stream/n=65536")
    assert (status, rows[-1]["logical_rows"], rows[-1]["work_items"]) == (0, 3, 2)


def test_specs_are_built_for_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    call = specgen_here("bench", SAXPY, "--dry-run", "--only", "saxpy/stream/n=65536/vulkan1.3-sg*/narrow")
    assert call.status == 0
    assert "1 logical row, 1 physical work item; nothing was timed" in call.out


def test_a_spec_with_errors_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "saxpy.spec.yaml").write_text(SAXPY.read_text())
    (tmp_path / "broken.spec.yaml").write_text("spec: 1\nkind: kernel\n")
    call = specgen_here("bench", tmp_path, "--dry-run")
    assert call.status == 1
    assert "6 logical rows" in call.out
    assert "broken.spec.yaml" in call.err


def test_a_spec_without_benchmarks_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SAXPY.read_text()
    (tmp_path / "saxpy.spec.yaml").write_text(text[: text.index("benchmarks:")])
    call = specgen_here("bench", tmp_path / "saxpy.spec.yaml", "--dry-run")
    assert "skipped saxpy: the spec has no `benchmarks:`" in call.out


def test_a_spec_that_the_devices_target_does_not_admit_is_skipped(tmp_path: Path) -> None:
    """Unless the target was named: then the call asked for what cannot be."""
    text = SAXPY.read_text().replace("launch:", "requires:\n- target.subgroup_size == 5\n\nlaunch:", 1)
    (tmp_path / "saxpy.spec.yaml").write_text(text)
    call = specgen_here("bench", tmp_path, "--dry-run")
    assert call.status == 0
    assert "skipped saxpy: `vulkan1.3-sg" in call.out
    assert "`target.subgroup_size == 5` does not hold" in call.out
    assert specgen_here("bench", tmp_path, "--dry-run", "--target", "vulkan1.3-sg32").status == 1


def test_sets_of_params_have_rows_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SAXPY.read_text().replace("args:", "params:\n  times: {default: 1, choices: [1, 2]}\n\nargs:", 1)
    text = text.replace("a * x[at] + y[at]", "a * x[at] + y[at] * times").replace("+ kept", "+ kept * times")
    text = text[: text.index("  integers:")] + text[text.index("  random:") :]
    text = text.replace("each: {n: [65536, 16777216]}", "each: {n: [65536], times: [1, 2]}")
    (tmp_path / "saxpy.spec.yaml").write_text(text)
    out = built(tmp_path / "out", str(tmp_path / "saxpy.spec.yaml"))
    _, rows = rows_of(capsys, out, "--dry-run", "--compare", "serial,narrow")
    assert [(row["row"].rpartition("/vulkan")[0], row["entry"]) for row in of_kind(rows, "plan")] == [
        (f"saxpy{label}/stream/n=65536,times={times}", entry)
        for label, times in (("", 1), ("@times=2", 2))
        for entry in ("serial", "narrow")
    ]


def test_help_tells_the_options() -> None:
    call = specgen_here("bench", "--help")
    assert call.status == 0
    assert "--self-check" in call.out


def test_patterns_fit_the_first_parts_of_a_name() -> None:
    name = "saxpy/stream/n=65536/vulkan1.3/narrow"
    for pattern in ("saxpy", "saxpy/stream", "stream", "stream/n=65536", "s*/*/n=6*", "saxpy/*/*/*/narrow", "saxpy/"):
        assert _fits(pattern, name), pattern
    for pattern in ("sax", "saxpy/n=65536", "stream/saxpy", "n=65536", "saxpy/*/*/*/*/*", ""):
        assert not _fits(pattern, name), pattern


def test_variants_are_chosen(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows = rows_of(capsys, out, "--dry-run", "--compare", "narrow,default", "--only", "stream/n=65536")
    assert [row["entry"] for row in of_kind(rows, "plan")] == ["default", "narrow"]
    assert rows[0]["options"]["compare"] == ["narrow", "default"]
