"""Exit statuses: 0 clean, 1 what a file holds or a failing check, 2 a wrong call or a failure of the tool."""

from __future__ import annotations

import numpy as np
import pytest
from cli_calls import SAXPY, SPECS, SUM_ROWS, specgen, specgen_here

MOTIF = SPECS / "streaming" / "sum_vector_rows.spec.yaml"
BUILD = ("build", SUM_ROWS, "--target", "gfx1151", "-o", "out")

WRONG_CALLS = {
    "no command of that name": (("frobnicate",), "commands: validate, build, test"),
    "a misspelt command": (("validte",), "nearest: validate"),
    "explain a rule by its number": (("explain", "p8"), "nearest: SG-LOOP P8"),
    "explain a code without its beginning": (("explain", "type"), "nearest: SG-TYPE"),
    "facts of a line without values": (("facts", SAXPY, "--line", "1"), "lines with values: "),
    "unknown flag": (("--frobnicate",), "frobnicate"),
    "validate without a path": (("validate",), "no path given"),
    "validate a missing path": (("validate", "nowhere.spec.yaml"), "no such file or folder: nowhere.spec.yaml"),
    "validate with an unknown flag": (("validate", SAXPY, "--fast"), "--fast"),
    "validate until an unknown stage": (("validate", SAXPY, "--until", "dawn"), "dawn"),
    "validate in an unknown form": (("validate", SAXPY, "--format", "xml"), "xml"),
    "build without a path": (("build",), "no path given"),
    "build a missing path": (("build", "nowhere"), "no such file or folder: nowhere"),
    "build for an unknown target": (("build", SAXPY, "--target", "gfx1511"), "unknown target: gfx1511"),
    "build with jobs of zero": (("build", SAXPY, "-j", "0"), "-j"),
    "setting that is none": ((*BUILD, "--set", "depth"), "[SPEC:][INSTANCE.]POLICY=VALUE"),
    "setting of an unknown policy": ((*BUILD, "--set", "dept=2"), "nearest: depth"),
    "setting of an unknown spec": ((*BUILD, "--set", "sum_row:depth=2"), "no spec of this call is named sum_row"),
    "setting of an unknown policy of a spec": ((*BUILD, "--set", "sum_rows:length=2"), "policies: depth, factor"),
    "setting of an unknown instance": ((*BUILD, "--set", "ahead.depth=2"), "no such policy"),
    "setting outside of its range": ((*BUILD, "--set", "depth=99"), "allowed: 1 to 8"),
    "setting of a policy to a word": ((*BUILD, "--set", "depth=deep"), "depth=deep: not a number"),
    "setting of a number to a truth": ((*BUILD, "--set", "sum_rows:depth=true"), "depth=true: outside of what is"),
    "validate with jobs of zero": (("validate", SAXPY, "-j", "0"), "-j"),
    "dump after an unknown pass": ((*BUILD, "--dump-ir", "after:lunch"), "after:PASS with one of expand"),
    "dump without after": ((*BUILD, "--dump-ir", "pipeline"), "after:PASS"),
    "test without a path": (("test",), "no path given"),
    "test on an unknown device": (("test", SAXPY, "--device", "abacus"), "unknown device: abacus"),
    "test for an unknown target": (("test", SAXPY, "--target", "gfx1511"), "unknown target: gfx1511"),
    "run a missing spec": (("run", "nowhere.spec.yaml"), "no such file: nowhere.spec.yaml"),
    "run a folder": (("run", SPECS), "no such file"),
    "run on an unknown device": (("run", SAXPY, "--device", "abacus"), "unknown device: abacus"),
    "run for an unknown target": (("run", SAXPY, "--target", "gfx1511"), "unknown target: gfx1511"),
    "run with a policy outside of its range": (("run", SUM_ROWS, "--set", "depth=0"), "allowed: 1 to 8"),
    "run with an unknown policy": (("run", SUM_ROWS, "--set", "dept=2"), "nearest: depth"),
    "run a motif": (("run", MOTIF), "is a motif"),
    "run with an unknown argument": (("run", SUM_ROWS, "--arg", "rows=1"), "arguments: row_count, input, output"),
    "run with half an argument": (("run", SUM_ROWS, "--arg", "row_count"), "NAME=VALUE"),
    "run without arguments": (("run", SUM_ROWS), "is missing"),
    "run with a fraction for an integer": (("run", SUM_ROWS, "--arg", "row_count=2.5"), "not an integer"),
    "run with NaN for an integer": (("run", SUM_ROWS, "--arg", "row_count=nan"), "not an integer"),
    "run with a number for a buffer": (("run", SUM_ROWS, "--arg", "input=1"), "a .npy file"),
    "run with a missing file": (("run", SUM_ROWS, "--arg", "input=no.npy"), "cannot read no.npy"),
    "run into what is not written": (("run", SUM_ROWS, "--out", "input=o.npy"), "written buffers: output"),
    "run into another kind of file": (("run", SUM_ROWS, "--out", "output=o.txt"), "must end in .npy"),
    "explain an unknown code": (("explain", "SG-TYPO"), "nearest: SG-TYPE"),
    "explain nothing": (("explain",), "CODE"),
    "schema of an unknown section": (("schema", "kernels"), "no schema section kernels"),
    "init with no name": (("init",), "NAME"),
    "init with a bad name": (("init", "9lives"), "is no name for a spec"),
    "init with a Python keyword": (("init", "class"), "is no name for a spec"),
    "init with a path for a name": (("init", "../up"), "is no name for a spec"),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_wrong_calls_end_with_2_and_say_why(arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = specgen_here(*arguments)
    assert call.status == 2, call
    assert told in call.err
    assert call.out == ""
    assert list(tmp_path.iterdir()) == [], "a wrong call writes nothing"


def test_an_explicit_device_that_is_absent_ends_with_2(tmp_path):
    from specgen import devices

    reason = devices.open("hip").available()
    if reason is None:
        pytest.skip("this machine has a HIP device")
    for command in ("test", "run"):
        call = specgen(command, SAXPY, "--device", "hip", cwd=tmp_path)
        assert call.status == 2
        assert f"device hip is not available: {reason}" in call.err
        assert len(call.err.splitlines()) == 1


BAD_FILES = {
    "not UTF-8": b"spec: 1\nname: \xff\xfe\n",
    "too large": b"# " + b"x" * (1 << 20) + b"\nspec: 1\n",
    "no mapping": b"- 1\n- 2\n",
    "empty": b"",
    "syntax": b"spec: [1\n",
    "unknown key": b"spec: 1\nkind: kernel\nname: bad\nsummary: a\nnonsense: 1\n",
    "path escape": b"spec: 1\nkind: kernel\nname: bad\nsummary: a\nuses: {m: ../../../etc/passwd}\n",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("command", ["validate", "build", "test"])
def test_bad_files_end_with_1(command, content, tmp_path, monkeypatch):
    (tmp_path / "bad.spec.yaml").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    call = specgen_here(command, "bad.spec.yaml")
    assert call.status == 1, call
    assert "bad.spec.yaml:" in call.out
    assert "error[SG-" in call.out
    assert [p.name for p in tmp_path.iterdir()] == ["bad.spec.yaml"], "no output folder"


@pytest.mark.parametrize("command", ["validate", "build", "test"])
def test_a_folder_without_specs_ends_with_1(command, tmp_path):
    (tmp_path / "empty").mkdir()
    call = specgen(command, "empty", cwd=tmp_path)
    assert call.status == 1
    assert "the folder holds no spec" in call.out


def test_one_name_twice_in_a_call_is_an_error_and_the_first_is_built(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "saxpy.spec.yaml").write_bytes(SAXPY.read_bytes())
    call = specgen("build", "a", "b", "--target", "gfx1151", cwd=tmp_path)
    assert call.status == 1
    assert "b/saxpy.spec.yaml:1:1: error[SG-PATH]: the name `saxpy` is already taken" in call.out
    assert "saxpy: built" in call.out


def test_a_spec_that_refuses_the_target_ends_with_1(tmp_path):
    text = SAXPY.read_text() + "\nrequires: [target.subgroup_size == 64]\n"
    (tmp_path / "saxpy.spec.yaml").write_text(text)
    call = specgen("build", "saxpy.spec.yaml", "--target", "gfx1151", cwd=tmp_path)
    assert call.status == 1
    assert "error[SG-REQUIRES]" in call.out
    assert not (tmp_path / "specgen-out").exists()
    call = specgen("build", "saxpy.spec.yaml", "--target", "gfx942", cwd=tmp_path)
    assert call.status == 0
    assert "gfx1151" not in call.out


def test_run_gives_the_sum_and_writes_it(tmp_path):
    rows = np.arange(5 * 32, dtype=np.float32).reshape(5, 32)
    full = np.full((64, 32), np.nan, np.float32)
    full[:5] = rows
    np.save(tmp_path / "x.npy", full)
    for device in ("interpreter", "amdgpu-emulator"):
        arguments = ("--arg", "row_count=5", "--arg", "input=x.npy", "--out", "output=y.npy", "--device", device)
        call = specgen("run", SUM_ROWS, *arguments, cwd=tmp_path)
        assert call.status == 0, call
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), rows.sum(axis=0))
        assert call.out.startswith("output: [")
        (tmp_path / "y.npy").unlink()


def test_run_with_findings_ends_with_1(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(4 * 32, np.float32))
    call = specgen("run", SUM_ROWS, "--arg", "row_count=5", "--arg", "input=x.npy", "-q", cwd=tmp_path)
    assert call.status == 1
    assert "out-of-bounds: load of input[4, 0]" in call.out


def test_init_writes_what_builds_and_passes(tmp_path):
    call = specgen("init", "my_kernel", cwd=tmp_path)
    assert call.status == 0
    text = (tmp_path / "my_kernel.spec.yaml").read_text()
    assert text.count("#") > 10
    call = specgen(
        "build", "my_kernel.spec.yaml", "--test", "--target", "gfx1151", "--target", "vulkan1.3", cwd=tmp_path
    )
    assert call.status == 0, call
    assert call.out.splitlines()[-1].endswith("passed, 0 failed, 0 skipped")
    again = specgen("init", "my_kernel", cwd=tmp_path)
    assert again.status == 2
    assert "exists and is left as it is" in again.err
    assert (tmp_path / "my_kernel.spec.yaml").read_text() == text
