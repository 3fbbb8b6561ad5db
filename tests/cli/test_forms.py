"""Forms of output: the text and the JSON of a call say the same; quiet, colour, listings, explanations."""

from __future__ import annotations

import json
import os

import pytest
from cli_calls import SAXPY, SPECS, specgen, specgen_here

from specgen import devices, targets
from specgen.diagnostics.catalogue import CATALOGUE
from specgen.validate import SpecStatus, Validation

BROKEN = """\
spec: 1
kind: kernel
name: broken
summary: Two mistakes.
args:
  n: {type: index, range: [0, 8]}
  y: {buffer: f32, shape: {i: 8}, access: write}
launch: {workgroup_size: {i: 8}}
body:
- store: {"y[i]": m}
- store: {"y[i]": f32(0) + i32(1)}
checks:
  c: {each: {n: [1]}, expect: {y: "1"}}
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    (tmp_path / "broken.spec.yaml").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "broken.spec.yaml"


def test_json_has_the_content_of_the_text(broken):
    text = specgen_here("validate", "broken.spec.yaml")
    data = specgen_here("validate", "broken.spec.yaml", "--format", "json")
    assert text.status == data.status == 1
    document = json.loads(data.out)
    assert list(document) == ["diagnostics", "specs"]
    assert document["specs"] == [{"name": "broken", "file": "broken.spec.yaml", "kind": "kernel", "status": "error"}]
    assert len(document["diagnostics"]) == text.out.count("error[SG-") >= 2
    for found in document["diagnostics"]:
        assert (
            list(found) == "code severity file line column end_line end_column message found allowed hint notes".split()
        )
        place = f"{found['file']}:{found['line']}:{found['column']}"
        assert f"{place}: {found['severity']}[{found['code']}]: {found['message']}" in text.out
        for key in ("found", "allowed", "hint"):
            assert not found[key] or f"{key}: {found[key]}" in text.out
    assert text.out.splitlines()[-1] == "broken.spec.yaml: kernel broken: error"


def test_build_json_tells_every_spec(broken):
    call = specgen_here("build", "broken.spec.yaml", SAXPY, "--target", "gfx1151", "--format", "json", "-j", "1")
    assert call.status == 1
    document = json.loads(call.out)
    rows = {row["name"]: row for row in document["specs"]}
    assert rows["broken"]["status"] == "failed"
    assert rows["broken"]["folder"] is None
    assert rows["saxpy"]["status"] == "built"
    assert rows["saxpy"]["folder"] == "specgen-out/saxpy"
    assert rows["saxpy"]["targets"] == ["gfx1151"]
    assert {d["file"] for d in document["diagnostics"]} == {"broken.spec.yaml"}


def test_tests_json_is_one_document(tmp_path):
    arguments = (SAXPY, "--target", "gfx1151", "--format", "json")
    build = json.loads(specgen("build", *arguments, "--test", cwd=tmp_path).out)
    assert build["specs"][0]["status"] == "built"
    test = json.loads(specgen("test", *arguments, "--device", "interpreter", cwd=tmp_path).out)
    assert test["passed"] > 0
    assert test["failed"] == test["skipped"] == 0
    assert build["test"]["passed"] == test["passed"] * 2, "interpreter and emulator"


def test_quiet_prints_only_what_is_wrong(broken):
    assert specgen_here("validate", SAXPY, "-q").out == ""
    assert specgen_here("validate", SAXPY).out.endswith(": kernel saxpy: ok\n")
    assert specgen_here("build", SAXPY, "--target", "gfx1151", "-q").out == ""
    loud = specgen_here("validate", broken.name, "-q").out
    assert "error[SG-" in loud
    assert "broken: error" not in loud


def test_colour_is_for_terminals_without_no_color(broken, monkeypatch):
    from specgen.cli import common

    class Stream:
        def __init__(self, terminal):
            self.terminal = terminal

        def isatty(self):
            return self.terminal

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert common.colour(Stream(True))
    assert not common.colour(Stream(False))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not common.colour(Stream(True))
    assert "\x1b" not in specgen_here("validate", broken.name).out


def test_every_code_is_explained():
    for code in CATALOGUE:
        call = specgen_here("explain", *code.split())
        assert call.status == 0
        assert call.out.startswith(f"{code}: ")
        assert len(call.out.split()) > 15, code
    assert specgen_here("explain", "sg-type").out == specgen_here("explain", "SG-TYPE").out


def test_targets_lists_all_in_both_forms():
    text, data = specgen_here("targets"), specgen_here("targets", "--format", "json")
    assert text.status == data.status == 0
    assert [line.split()[0] for line in text.out.splitlines()[1:]] == list(targets.names())
    rows = {row["name"]: row for row in json.loads(data.out)["targets"]}
    assert set(rows) == set(targets.names())
    assert rows["gfx942"]["subgroup_size"] == 64
    assert rows["gfx1151"]["subgroup_size"] == 32
    assert rows["vulkan1.3"]["subgroup_size"] is None


def test_devices_lists_all_with_the_reason_of_absence():
    text, data = specgen_here("devices"), specgen_here("devices", "--format", "json")
    assert text.status == data.status == 0
    rows = {row["device"]: row for row in json.loads(data.out)["devices"]}
    assert list(rows) == list(devices.names()) == [line.split()[0] for line in text.out.splitlines()]
    assert rows["interpreter"]["available"]
    assert rows["amdgpu-emulator"]["available"]
    for name, row in rows.items():
        assert (row["reason"] is None) == row["available"] == (row["facts"] is not None)
        assert row["available"] or row["reason"] in text.out, name


def test_the_schema_is_json_and_sections_are_parts_of_it():
    whole = json.loads(specgen_here("schema").out)
    assert {"kernel", "motif", "policy", "for"} <= set(whole)
    assert json.loads(specgen_here("schema", "policy").out) == whole["policy"]


def test_version_and_help():
    import specgen as package

    assert specgen_here("--version").out == f"specgen, version {package.__version__}\n"
    text = specgen_here("--help").out
    for command in ("validate", "build", "test", "run", "explain", "schema", "targets", "devices", "init"):
        assert f"  {command} " in text
        assert specgen_here(command, "--help").status == 0


def test_validate_takes_a_folder_and_names_every_spec():
    call = specgen_here("validate", SPECS / "streaming")
    assert call.status == 0, call
    files = sorted((SPECS / "streaming").glob("*.spec.yaml"))
    texts = [file.read_text() for file in files]
    lines = call.out.splitlines()
    assert len(lines) == len(files) >= 5
    assert all(line.endswith(": ok") for line in lines)
    assert sum(": motif " in line for line in lines) == sum("\nkind: motif\n" in text for text in texts)


@pytest.mark.parametrize("form", ["text", "json"])
def test_validate_says_the_same_with_any_number_of_processes(form, broken):
    (broken.parent / "typo.spec.yaml").write_text(BROKEN.replace("name: broken", "nme: typo"))
    (broken.parent / "saxpy.spec.yaml").write_text(SAXPY.read_text())
    serial = specgen_here("validate", ".", "--format", form, "-j", "1")
    shared = specgen_here("validate", ".", "--format", form, "-j", "3")
    assert serial.status == 1
    assert "typo.spec.yaml" in serial.out
    assert shared == serial


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_fault_while_validating_costs_its_own_file(jobs, broken, monkeypatch):
    """An exception, and in a process of its own also its death."""
    (broken.parent / "saxpy.spec.yaml").write_text(SAXPY.read_text())
    monkeypatch.delenv("SPECGEN_TRACEBACK", raising=False)

    def faulty(path, **options):
        if path.name.startswith("broken"):
            if jobs == "2":
                os._exit(3)
            raise RuntimeError("lost my way")
        return Validation((), (SpecStatus("saxpy", path.name, "kernel", "ok"),))

    monkeypatch.setattr("specgen.validate.validate_file", faulty)
    call = specgen_here("validate", ".", "-j", jobs)
    assert call.status == 2
    assert call.out == "saxpy.spec.yaml: kernel saxpy: ok\n"
    why = "the worker process died" if jobs == "2" else "internal error: RuntimeError: lost my way"
    assert call.err.startswith(f"specgen: broken.spec.yaml: {why}")
