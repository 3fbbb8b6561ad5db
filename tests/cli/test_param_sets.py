"""Params that cases name: one build for each set, beside the default one; `--set` chooses one set."""

from __future__ import annotations

import json

import pytest
from cli_calls import specgen_here

SPEC = """
spec: 1
kind: kernel
name: widened
summary: A multiple of each element, in a type of choice.
params:
  element: {default: f32, choices: [f16, f32]}
  factor: {default: 2, range: [1, 9]}
args:
  n: {type: index, range: [0, 64]}
  x: {buffer: element, shape: {i: n}}
  y: {buffer: element, shape: {i: n}, access: write}
launch:
  workgroups: {group: "ceil_div(n, 32)"}
  workgroup_size: {lane: 32}
body:
- let: {i: group * 32 + lane}
- if: i < n
  then:
  - store: {"y[i]": "x[i] * factor"}
checks:
  plain:
    each: {n: [1, 33]}
    given: {x: flat}
    expect: {y: i * factor}
    compare: exact
  types:
    each: {element: [f32, f16], factor: [2, 3], n: [5]}
    given: {x: flat}
    expect: {y: i * factor}
    compare: exact
benchmarks:
  one:
    given: {n: 64, factor: 3, x: 1}
    bytes: n * 2 * size(element)
    flops: n
"""

FOR = ("--target", "vulkan1.3", "-j", "1")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "widened.spec.yaml").write_text(SPEC)
    return tmp_path


def params(folder) -> dict[str, object]:
    return json.loads((folder / "manifest.json").read_text())["params"]


def test_each_set_is_a_build_of_its_own(here):
    call = specgen_here("build", "widened.spec.yaml", *FOR)
    assert call.status == 0, call.out + call.err
    out = here / "specgen-out"
    names = {"widened", "widened@factor=3", "widened@element=f16", "widened@element=f16,factor=3"}
    assert {p.name for p in out.iterdir()} == names
    assert params(out / "widened") == {"element": "f32", "factor": 2}
    assert params(out / "widened@factor=3") == {"element": "f32", "factor": 3}
    assert params(out / "widened@element=f16,factor=3") == {"element": "f16", "factor": 3}
    assert specgen_here("build", "widened.spec.yaml", *FOR).out.count(": up to date: ") == 4


def test_every_set_is_tested_with_its_own_cases(here):
    """An expectation that is wrong for factor 3 fails in the two builds with that factor, on each device once."""
    wrong = SPEC.replace("given: {x: flat}\n    expect: {y: i * factor}\n    compare: exact\nbench", "WRONG\nbench")
    wrong = wrong.replace("WRONG", "given: {x: flat}\n    expect: {y: i * 2}\n    compare: exact")
    (here / "widened.spec.yaml").write_text(wrong)
    call = specgen_here("build", "widened.spec.yaml", *FOR, "--test")
    assert call.status == 1
    failed = {line for line in call.out.splitlines() if "cases fail" in line}
    assert failed
    assert all("check types" in line for line in failed)
    assert "factor=3" in call.out
    assert "factor=2" not in call.out


def test_set_chooses_one(here):
    call = specgen_here("build", "widened.spec.yaml", *FOR, "--set", "factor=5")
    assert call.status == 0, call.out + call.err
    assert [p.name for p in (here / "specgen-out").iterdir()] == ["widened"]
    assert params(here / "specgen-out/widened") == {"element": "f32", "factor": 5}


def test_mistakes_of_a_set_are_found_by_validate(here):
    """The default is right; the set that a case names breaks the spec's own condition."""
    (here / "widened.spec.yaml").write_text(SPEC.replace("launch:", "requires:\n- factor != 3\nlaunch:"))
    call = specgen_here("validate", "widened.spec.yaml")
    assert call.status == 1
    assert "SG-REQUIRES" in call.out
