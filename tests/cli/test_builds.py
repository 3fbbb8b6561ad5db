"""`specgen build`: batches, what is up to date, stale output, foreign files, dumps, workers that die."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from cli_calls import SAXPY, SPECS, SUM_ROWS, specgen_here

import specgen.build as building
from specgen.build import BROKEN, BUILT, BuildOptions, build_file, build_paths

FOR = ("--target", "gfx1151", "-j", "1")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAXPY, tmp_path)
    return tmp_path


def build(*arguments):
    return specgen_here("build", "saxpy.spec.yaml", *FOR, *arguments)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_unchanged_specs_are_up_to_date_until_forced(here):
    assert ": built: " in build().out
    before = contents(here / "specgen-out")
    stamp = (here / "specgen-out/saxpy/manifest.json").stat().st_mtime_ns
    call = build()
    assert call.status == 0
    assert ": up to date: specgen-out/saxpy (1 targets)" in call.out
    assert (here / "specgen-out/saxpy/manifest.json").stat().st_mtime_ns == stamp
    assert ": built: " in build("--force").out
    assert contents(here / "specgen-out") == before


@pytest.mark.parametrize("change", ["spec", "target", "output", "lost"])
def test_a_change_of_anything_rebuilds(here, change):
    build()
    again: tuple[str, ...] = ()
    if change == "spec":
        with (here / "saxpy.spec.yaml").open("a") as out:
            out.write("# a comment\n")
    elif change == "target":
        again = ("--target", "gfx942")
    elif change == "output":
        (here / "specgen-out/saxpy/gfx1151/kernel.s").write_text("edited")
    else:
        (here / "specgen-out/saxpy/gfx1151/kernel.s").unlink()
    call = build(*again)
    assert call.status == 0
    assert ": built: " in call.out
    assert "edited" not in (here / "specgen-out/saxpy/gfx1151/kernel.s").read_text()


def test_another_policy_value_rebuilds(here):
    shutil.copy(SUM_ROWS, here)
    arguments = ("build", "sum_rows.spec.yaml", *FOR)
    assert ": built: " in specgen_here(*arguments, "--set", "depth=2").out
    assert ": up to date: " in specgen_here(*arguments, "--set", "sum_rows:depth=2").out
    assert ": built: " in specgen_here(*arguments, "--set", "depth=3").out
    report = json.loads((here / "specgen-out/sum_rows/gfx1151/report.json").read_text())
    assert report["entries"][0]["policies"] == {"depth": 3, "factor": 4}


def test_a_policy_is_set_where_it_exists(here):
    """saxpy has no `depth`; sum_rows has."""
    shutil.copy(SUM_ROWS, here)
    call = specgen_here("build", "saxpy.spec.yaml", "sum_rows.spec.yaml", *FOR, "--set", "depth=2", "--set", "factor=1")
    assert call.status == 0
    report = json.loads((here / "specgen-out/sum_rows/gfx1151/report.json").read_text())
    assert report["entries"][0]["policies"] == {"depth": 2, "factor": 1}


def test_policies_of_applied_motifs_are_set_by_instance(here):
    for name in ("sum_vector_rows", "sum_vector_rows_pair"):
        shutil.copy(SPECS / "streaming" / f"{name}.spec.yaml", here)
    arguments = ("build", "sum_vector_rows_pair.spec.yaml", *FOR)
    assert specgen_here(*arguments, "--set", "control.factor=3").status == 0
    rows = json.loads((here / "specgen-out/sum_vector_rows_pair/gfx1151/report.json").read_text())
    factors = [
        r["factor"] for r in rows["source_low"]["loop_unrolls"]["rows"] if r["function"] == "sum_vector_rows_pair"
    ]
    assert factors == [6, 3]


def test_a_failed_rebuild_leaves_the_old_output_marked_stale(here):
    build()
    before = contents(here / "specgen-out/saxpy")
    good = (here / "saxpy.spec.yaml").read_text()
    (here / "saxpy.spec.yaml").write_text(good.replace("kind: kernel", "kind: kernle"))
    assert build().status == 1
    after = contents(here / "specgen-out/saxpy")
    manifest = json.loads(after.pop("manifest.json"))
    assert manifest["stale"]
    before.pop("manifest.json")
    assert after == before
    (here / "saxpy.spec.yaml").write_text(good)
    assert ": built: " in build().out, "a stale folder is never up to date"
    assert "stale" not in json.loads((here / "specgen-out/saxpy/manifest.json").read_text())


def test_a_foreign_file_stops_the_replacement_and_stays(here):
    build()
    (here / "specgen-out/saxpy/notes.txt").write_text("mine")
    call = build("--force")
    assert call.status == 2
    assert "holds files that specgen did not write (notes.txt): not replaced" in call.err
    assert (here / "specgen-out/saxpy/notes.txt").read_text() == "mine"
    assert (here / "specgen-out/saxpy/gfx1151/kernel.hsaco").exists()


def test_a_folder_that_is_not_ours_is_left_alone(here):
    (here / "specgen-out/saxpy").mkdir(parents=True)
    (here / "specgen-out/saxpy/thesis.txt").write_text("years of work")
    call = build("--force")
    assert call.status == 2
    assert "no manifest of specgen: not replaced" in call.err
    assert contents(here / "specgen-out") == {"saxpy/thesis.txt": b"years of work"}


def test_a_motif_builds_nothing_and_says_so(here):
    call = specgen_here("build", SPECS / "streaming" / "sum_vector_rows.spec.yaml", *FOR)
    assert call.status == 0
    assert "motif sum_vector_rows: checked; a motif has no output of its own" in call.out
    assert not (here / "specgen-out").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_good_specs_are_built_when_others_fail(here, jobs):
    (here / "broken.spec.yaml").write_text("spec: 1\nkind: kernel\nname: broken\n")
    call = specgen_here("build", ".", "--target", "gfx1151", "-j", jobs)
    assert call.status == 1
    assert "broken.spec.yaml: broken: failed" in call.out
    assert ": saxpy: built: " in call.out
    assert sorted(os.listdir("specgen-out")) == ["saxpy"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_dumps_are_printed_after_their_pass(here, jobs):
    shutil.copy(SUM_ROWS, here)
    call = specgen_here("build", ".", "--target", "gfx1151", "-j", jobs, "--dump-ir", "after:pipeline", "--force")
    assert call.status == 0
    head, _, text = call.out.partition("// ---- sum_rows: gfx1151 after pipeline ----")
    assert "// ---- saxpy: gfx1151 after pipeline ----" in head
    assert 'motif.form = "steady"' in text
    assert "scf.for" in text


def _dying(job, options):
    if job.name == "saxpy":
        os._exit(9)
    return build_file(job, options)


def test_a_worker_that_dies_costs_its_spec_only(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "build_file", _dying)
    paths = [SPECS / "grid" / "transpose.spec.toml", SAXPY, SUM_ROWS]
    results = build_paths(paths, BuildOptions(tmp_path / "out", ("gfx1151",)), jobs=2)
    assert [(r.name, r.status) for r in results] == [("transpose", BUILT), ("saxpy", BROKEN), ("sum_rows", BUILT)]
    assert "died" in (results[1].problem or "")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["sum_rows", "transpose"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_fault_of_the_tool_costs_its_spec_only_and_ends_with_2(here, jobs, monkeypatch):
    from specgen import emit

    original = emit.emit

    def faulty(spec, root, options, *params):
        if spec.name.text == "saxpy":
            raise ZeroDivisionError("a fault")
        return original(spec, root, options, *params)

    monkeypatch.setattr(emit, "emit", faulty)
    monkeypatch.delenv("SPECGEN_TRACEBACK", raising=False)
    shutil.copy(SUM_ROWS, here)
    call = specgen_here("build", ".", "--target", "gfx1151", "-j", jobs)
    assert call.status == 2
    assert call.err == "specgen: saxpy.spec.yaml: internal error: ZeroDivisionError: a fault\n"
    assert "sum_rows: built" in call.out


def test_all_is_every_default_target(here):
    build()
    from specgen import targets

    call = specgen_here("build", "saxpy.spec.yaml", "--target", "all", "-j", "1")
    assert call.status == 0
    assert json.loads((here / "specgen-out/saxpy/manifest.json").read_text())["targets"] == list(targets.DEFAULT)
