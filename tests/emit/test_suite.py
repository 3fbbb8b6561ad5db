"""Generated suites: they pass for right kernels and fail for wrong ones; skips have reasons; text is harmless."""

import ast
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from corpus_build import FILES, HEAVY, MOTIFS
from emitting import SPECS, FaultyDevice, emit_folder, import_file, outcomes

SUM_ROWS = SPECS / "streaming" / "sum_rows.spec.yaml"
KERNELS = [
    pytest.param(FILES[name], id=name, marks=[pytest.mark.slow] if name in HEAVY else [])
    for name in FILES
    if name not in MOTIFS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The output folder of sum_rows for a target of each kind."""
    out = tmp_path_factory.mktemp("out") / "sum_rows"
    emit_folder(SUM_ROWS, out, ("gfx1151", "gfx942", "vulkan1.3"))
    return out


def generated(folder):
    return import_file(next(folder.glob("test_*.py")))


def test_runs_isolated_under_pytest(folder, tmp_path):
    """The call of interfaces.md, with a hostile file beside the suite."""
    environment = {**os.environ, "SPECGEN_DEVICES": "interpreter", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder)]
    command += ["--confcutdir", str(folder), "--import-mode=importlib", "-p", "no:cacheprovider", "--noconftest"]
    (folder / "numpy.py").write_text("raise SystemExit('imported from the folder')\n")
    try:
        done = subprocess.run([*command, str(folder)], env=environment, cwd=tmp_path, capture_output=True, text=True)
    finally:
        (folder / "numpy.py").unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    # Three checks by four entries; the targets have the same IR for the interpreter, which runs it once.
    assert "12 passed" in done.stdout


@pytest.mark.parametrize("spec", KERNELS)
def test_every_spec_passes_on_the_interpreter_and_fails_for_wrong_kernels(spec, tmp_path, use_device, monkeypatch):
    emit_folder(spec, tmp_path)
    use_device(FaultyDevice(), cases="4")
    monkeypatch.setenv("SPECGEN_ALLOW_ORACLES", "1")
    right = generated(tmp_path)
    places = right.EVERYWHERE
    assert {w.place.device for w in places} == {"fake"}
    passed, failed, skipped = outcomes(right)
    assert failed == {}
    assert all("is for builds with other params" in text for texts in skipped.values() for text in texts)
    tests = [n for n in vars(right) if n.startswith("test_")]
    assert passed + sum(len(texts) for texts in skipped.values()) == len(places) * len(tests)
    assert passed
    for fault in ("zero", "constant", "shifted", "not stored"):
        use_device(FaultyDevice(fault), cases="4")
        monkeypatch.setenv("SPECGEN_ALLOW_ORACLES", "1")
        assert outcomes(generated(tmp_path), until_failure=True)[1], f"{fault} contents pass"


@pytest.mark.parametrize(
    ("name", "scalar"),
    [("sum_rows", "row_count"), ("sum_vector_rows_pair", "row_count"), ("streaming_packed_dot", "count")],
)
def test_a_dropped_tail_fails_every_check_with_numbers(name, scalar, tmp_path, use_device):
    emit_folder(SPECS / "streaming" / f"{name}.spec.yaml", tmp_path)
    use_device(FaultyDevice("dropped tail", scalar), cases="4")
    _, failed, _ = outcomes(generated(tmp_path))
    checks = [c for c in vars(generated(tmp_path)).values() if type(c).__name__ == "Check" and c.expect is not None]
    wanted = {f"test_{c.name}" for c in checks if c.name != "same_order"}
    assert wanted <= set(failed)


def test_a_fault_of_one_variant_is_found_by_derived_cases(tmp_path, use_device):
    emit_folder(SUM_ROWS, tmp_path)
    use_device(FaultyDevice("dropped tail", "row_count", ("__ahead",)))
    _, failed, _ = outcomes(generated(tmp_path))
    (text,) = failed["test_trips_row_count"]
    assert "entry ahead" in text
    assert "other bits than the serial variant's" in text


def test_a_failure_says_what_where_and_within_what(folder, use_device):
    use_device(FaultyDevice("shifted"))
    _, failed, _ = outcomes(generated(folder))
    text = failed["test_boundaries"][0]
    assert text.startswith("sum_rows: check boundaries, entry default, fake for gfx1151: 7 of 8 cases fail")
    assert "case row_count=1:" in text
    assert "output: 32 of 32 elements differ; the first is [lane 0]: expected 1.0, actual 32.0" in text
    assert "tolerance: equal values, NaN equals NaN" in text
    assert "and 3 more cases" in text
    masked = failed["test_masked"][0]
    assert "(1 terms + 2) * 2^-24 * sum of magnitudes + 2^-24 * abs(expected), at most 2.3" in masked


def test_absent_devices_skip_once_a_test_with_their_reason(folder, use_device):
    use_device(FaultyDevice(reason="no such card in this machine"))
    passed, failed, skipped = outcomes(generated(folder))
    assert (passed, failed) == (0, {})
    assert skipped == {
        name: ["device fake is not available: no such card in this machine"]
        for name in ("test_boundaries", "test_masked", "test_trips_row_count")
    }


def test_unknown_targets_and_devices_have_a_reason(folder, use_device, monkeypatch):
    use_device(FaultyDevice())
    monkeypatch.setenv("SPECGEN_TARGETS", "gfx942, gfx950")
    passed, failed, skipped = outcomes(generated(folder))
    assert (passed, failed) == (12, {})
    assert skipped["test_masked"] == ["not built for gfx950"]
    monkeypatch.undo()
    monkeypatch.setenv("SPECGEN_DEVICES", "nosuch")
    assert "no device nosuch" in outcomes(generated(folder))[2]["test_masked"][0]


def test_findings_fail_unless_switched_off(folder, use_device, monkeypatch):
    from specgen.devices.base import Finding

    class Noisy(FaultyDevice):
        def load(self, artifact, entry):
            kernel = super().load(artifact, entry)
            launch = kernel.launch

            class Loud:
                def launch(self, args, grid=None):
                    run = launch(args, grid)
                    return type(run)(run.outputs, (Finding("race", "two work-items", "sum_rows.spec.yaml:3:1"),))

            return Loud()

    use_device(Noisy())
    _, failed, _ = outcomes(generated(folder))
    assert "sum_rows.spec.yaml:3:1: race: two work-items" in failed["test_boundaries"][0]
    monkeypatch.setenv("SPECGEN_SANITIZE", "0")
    assert outcomes(generated(folder))[1] == {}


def test_a_device_that_cannot_run_the_artifact_skips_the_interpreter_fails(folder, use_device):
    from specgen.devices.base import DeviceError

    class Unable(FaultyDevice):
        def load(self, artifact, entry):
            raise DeviceError("not for this card")

    use_device(Unable())
    _, failed, skipped = outcomes(generated(folder))
    assert failed == {}
    assert skipped["test_masked"] == [f"fake-{t}: not for this card" for t in ("gfx1151", "gfx942", "vulkan1.3")]
    use_device(Unable(), "interpreter")
    _, failed, skipped = outcomes(generated(folder))
    assert skipped == {}
    assert "not for this card" in failed["test_masked"][0]


def test_a_read_past_the_active_rows_fails_though_the_numbers_are_right(tmp_path, monkeypatch):
    """The load runs without its guard; where the allocation ends with the active rows that is a finding."""
    text = SUM_ROWS.read_text().replace("in: range(row_count)", "in: range(min(row_count + 1, 64))")
    text = text.replace("total: total + input[row, lane]", "total: total + (x if row < row_count else 0)")
    text = text.replace("  do:\n", "  do:\n  - let:\n      x: input[row, lane]\n")
    (tmp_path / "sum_rows.spec.yaml").write_text(text)
    emit_folder(tmp_path / "sum_rows.spec.yaml", tmp_path / "out")
    monkeypatch.setenv("SPECGEN_DEVICES", "interpreter")
    _, failed, _ = outcomes(generated(tmp_path / "out"))
    assert set(failed) == {"test_boundaries"}, "only this check ends the allocation where the rows end"
    assert "out-of-bounds: load of input[1, 0]: only 32 elements are backed" in failed["test_boundaries"][0]
    monkeypatch.setenv("SPECGEN_SANITIZE", "0")
    assert outcomes(generated(tmp_path / "out"))[1] == {}


def test_fewer_cases_are_spread_over_entries(folder, use_device, monkeypatch):
    use_device(FaultyDevice())
    monkeypatch.setenv("SPECGEN_CASES", "3")
    module = generated(folder)
    seen = set()
    for where in module.EVERYWHERE:
        cases = module.SUITE.cases(module.check_boundaries, where)
        assert 2 <= len(cases) <= 3
        seen |= {c["row_count"] for c in cases}
    assert seen == {0, 1, 2, 3, 4, 5, 63, 64}
    monkeypatch.setenv("SPECGEN_CASES", "many")
    with pytest.raises(ValueError, match="SPECGEN_CASES"):
        generated(folder)


def test_the_interpreter_runs_open_subgroup_sizes(tmp_path, use_device, monkeypatch):
    emit_folder(SPECS / "rows" / "row_softmax.spec.yaml", tmp_path, ("gfx942", "gfx1151", "vulkan1.3"))
    monkeypatch.setenv("SPECGEN_DEVICES", "interpreter")
    places = [str(p) for p in generated(tmp_path).SUITE.places.all()]
    assert places == ["interpreter-gfx942+1", "interpreter-gfx1151+1", "interpreter-vulkan1.3-sg8"]


def test_generated_text_is_plain_python_without_the_words_of_the_spec(tmp_path):
    source = SUM_ROWS.read_text()
    hostile = '"Sums \\"\\"\\" + __import__(\\"os\\").system(\\"true\\") {{ 7 * 7 }} </script> \\\\ é\\u2028"'
    changed = source.replace("summary: Each of 32 work-items sums one column of up to 64 rows.", f"summary: {hostile}")
    assert changed != source
    spec = tmp_path / "sum_rows.spec.yaml"
    spec.write_text(changed)
    plan = emit_folder(spec, tmp_path / "out")
    for file in ("test_sum_rows.py", "bench_sum_rows.py"):
        text = (tmp_path / "out" / file).read_text()
        assert text.isascii()
        tree = ast.parse(text)
        values = {n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign)}
        assert ast.literal_eval(values["SUMMARY"]) == plan.summary
        assert "__import__" in plan.summary
        calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        assert not any("import" in c or "system" in c for c in calls)


def test_same_spec_same_text(folder, tmp_path):
    emit_folder(SUM_ROWS, tmp_path, ("gfx1151", "gfx942", "vulkan1.3"))
    for name in ("test_sum_rows.py", "bench_sum_rows.py"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


def test_the_plan_is_json(tmp_path):
    plan = emit_folder(SPECS / "streaming" / "sum_guarded_rows.spec.yaml", tmp_path)
    assert json.loads(json.dumps(plan.as_dict()))["loops"][0]["label"] == "row"


ORACLE = """
import numpy as np

def totals(case):
    return {"output": case["input"][: case["row_count"]].sum(axis=0, dtype=np.float64)}

def loose(case):
    return {**totals(case), "output.tolerance": 1e9}
"""


@pytest.mark.parametrize(("function", "problem"), [("totals", None), ("loose", "zeros would pass every case")])
def test_oracles_run_only_when_allowed(function, problem, tmp_path, use_device, monkeypatch):
    source = SUM_ROWS.read_text().split("  masked:")[0] + (
        f"  foreign:\n    each: {{row_count: [1, 5]}}\n    given:\n      input: uniform(-1, 1, 3)\n"
        f"    expect: {{reference: oracles.py:{function}}}\n    compare: {{atol: 0.00001, rtol: 0}}\n"
    )
    (tmp_path / "oracles.py").write_text(ORACLE)
    (tmp_path / "sum_rows.spec.yaml").write_text(source)
    out = tmp_path / "out"
    assert emit_folder(tmp_path / "sum_rows.spec.yaml", out).references == ("oracles.py",)
    (out / "references").mkdir(exist_ok=True)
    (out / "references" / "oracles.py").write_text(ORACLE)
    use_device(FaultyDevice())
    _, failed, skipped = outcomes(generated(out))
    assert failed == {}
    assert set(skipped) == {"test_foreign"}
    assert "--allow-oracles" in skipped["test_foreign"][0]
    monkeypatch.setenv("SPECGEN_ALLOW_ORACLES", "1")
    _, failed, skipped = outcomes(generated(out))
    assert skipped == {}
    assert set(failed) == (set() if problem is None else {"test_foreign"})
    if problem is not None:
        assert problem in failed["test_foreign"][0]
    monkeypatch.setenv("SPECGEN_ALLOW_ORACLES", "1")


def test_params_of_another_build_are_skipped(tmp_path, use_device):
    text = (SPECS / "rows" / "rms_norm.spec.toml").read_text()
    text = text.replace(
        "[checks.unit]\neach = {rows = [1, 3]}", "[checks.unit]\neach = {rows = [1, 3], columns = [512]}"
    )
    (tmp_path / "rms_norm.spec.toml").write_text(text)
    emit_folder(tmp_path / "rms_norm.spec.toml", tmp_path / "out")
    use_device(FaultyDevice())
    _, failed, skipped = outcomes(generated(tmp_path / "out"))
    assert failed == {}
    assert set(skipped) == {"test_unit"}
    assert "builds with other params" in skipped["test_unit"][0]


def test_arrays_of_the_caller_are_left_alone(folder, use_device):
    """Devices must not change what they are given; the memo relies on it."""
    use_device(FaultyDevice())
    module = generated(folder)
    inputs = module.SUITE._memo.inputs(module.SUITE.signature, module.check_boundaries, {"row_count": 4})
    before = inputs.given["input"].flat.copy()
    outcomes(module)
    np.testing.assert_array_equal(inputs.given["input"].flat, before)
