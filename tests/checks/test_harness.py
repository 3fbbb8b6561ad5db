"""Cases and the harness with kernels that are right and kernels that are wrong in a known way."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from specgen.checks.cases import Check, Reference, Signature, expectations, prepare
from specgen.checks.dtypes import TYPES, poison
from specgen.checks.harness import Memo, run_check
from specgen.checks.places import Place, Settings
from specgen.checks.suite import Suite, Where
from specgen.checks.values import FormulaError
from specgen.devices.base import Finding, Run, RunawayError

ROWS = (
    {"name": "row_count", "kind": "scalar", "type": "index"},
    {
        "name": "input",
        "kind": "buffer",
        "type": "f32",
        "access": "read",
        "axes": ["row", "lane"],
        "shape": ["8", "4"],
        "order": [0, 1],
    },
    {"name": "output", "kind": "buffer", "type": "f32", "access": "write", "axes": ["lane"], "shape": ["4"]},
)
SIGNATURE = Signature.of(ROWS, {})
SUM = Check(
    "sum",
    given={"input": "1 + 4 * row + lane if row < row_count else nan"},
    expect={"output": "row_count * (lane + 1) + 2 * row_count * (row_count - 1)"},
    each={"row_count": (0, 1, 2, 7, 8)},
    backing={"input": "row_count * 4"},
    compare="exact",
)


@dataclass
class SumKernel:
    """Sums rows in numpy; the fields are faults."""

    lost_rows: int = 0
    shift: int = 0
    scale: float = 1.0
    silent_lane: int | None = None
    findings: tuple = ()
    seen: tuple = ()

    def launch(self, args, grid=None):
        self.seen += (args,)
        rows = args["input"].reshape(-1, 4)[: max(int(args["row_count"]) - self.lost_rows, 0)]
        output = args["output"].copy()
        total = np.roll(rows.sum(axis=0, dtype=np.float32), self.shift) * np.float32(self.scale)
        lanes = [lane for lane in range(4) if lane != self.silent_lane]
        output[lanes] = total[lanes]
        return Run({"output": output}, self.findings)


def verdicts(check, kernel, **options):
    results, outcomes = run_check(SIGNATURE, check, kernel, 0, **options)
    return results, outcomes


def test_a_right_kernel_passes_and_gets_exactly_what_is_backed():
    kernel = SumKernel()
    results, _ = verdicts(SUM, kernel)
    assert [r.passed for r in results] == [True] * 5
    assert [a["input"].size for a in kernel.seen] == [0, 4, 8, 28, 32]
    assert all(a["row_count"].dtype == np.int64 for a in kernel.seen)
    assert results[0].tolerances == {"output": "equal values, NaN equals NaN"}


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (SumKernel(lost_rows=1), "4 of 4 elements differ; the first is [lane 0]: expected 3616.0, actual 0.0"),
        (SumKernel(shift=1), "the first is [lane 0]: expected 1.0, actual 4.0"),
        (SumKernel(scale=0.0), "largest error 4 at [lane 3], where 0 is allowed"),
        (SumKernel(silent_lane=2), "[lane 2]: expected 3.0, actual -12352.0 (what it held before the run"),
        (SumKernel(findings=(Finding("out-of-bounds", "load of input[8, 0]", "a.yaml:3:1"),)), "a.yaml:3:1: out-of-bo"),
    ],
)
def test_faults_are_told(fault, text):
    results, _ = verdicts(SUM, fault)
    failed = [str(r) for r in results if not r.passed]
    assert failed
    assert text.replace("3616.0, actual 0.0", "1.0, actual 0.0") in "\n".join(failed)


def test_findings_do_not_count_when_switched_off():
    kernel = SumKernel(findings=(Finding("race", "x"),) * 5)
    results, _ = verdicts(SUM, kernel)
    assert "and 2 more findings" in str(results[0])
    results, _ = verdicts(SUM, kernel, findings_count=False)
    assert all(r.passed for r in results)


def test_variants_are_held_to_the_bits_of_serial():
    free = Check("free", given=SUM.given, expect=None, each=SUM.each)
    _, serial = verdicts(free, SumKernel())
    same, _ = run_check(SIGNATURE, free, SumKernel(), 1, serial=serial)
    assert all(r.passed for r in same)
    other, _ = run_check(SIGNATURE, free, SumKernel(scale=1 + 2.0**-23), 1, serial=serial)
    assert [r.passed for r in other] == [True, False, False, False, False]
    assert "other bits than the serial variant's; the first is [lane 0]: serial 1.0, here 1.0000001" in str(other[1])


def test_unstored_elements_count_only_where_the_other_variant_stored():
    free = Check("free", given=SUM.given, expect=None, each={"row_count": (3,)})
    _, serial = verdicts(free, SumKernel(silent_lane=1))
    both, _ = run_check(SIGNATURE, free, SumKernel(silent_lane=1), 1, serial=serial)
    assert both[0].passed
    one, _ = run_check(SIGNATURE, free, SumKernel(), 1, serial=serial)
    assert "[lane 1]: serial -12352.0" in str(one[0])


def test_poison_differs_between_variants():
    for ordinal in (0, 3):
        kernel = SumKernel()
        run_check(SIGNATURE, SUM, kernel, ordinal)
        assert set(kernel.seen[0]["output"].tolist()) == {float(poison(TYPES["f32"], ordinal))}
    assert poison(TYPES["f32"], 0) != poison(TYPES["f32"], 3)


def test_wrong_size_and_missing_outputs():
    class Odd:
        def launch(self, args, grid=None):
            return Run({"output": np.zeros(3, np.float32)} if args["row_count"] else {})

    results, _ = verdicts(SUM, Odd())
    assert "the device returned no contents" in str(results[0])
    assert "output: 3 elements instead of 4" in str(results[1])


def test_launches_go_side_by_side_where_the_device_can():
    class Batch(SumKernel):
        calls = 0

        def launch_batch(self, launches):
            type(self).calls += 1
            return [self.launch(a) for a in launches]

    results, _ = verdicts(SUM, Batch())
    assert all(r.passed for r in results)
    assert Batch.calls == 1


def test_memo_gives_the_same_and_does_not_grow_past_its_limit():
    memo = Memo(limit=200)
    first, _ = verdicts(SUM, SumKernel(shift=1), memo=memo)
    second, _ = verdicts(SUM, SumKernel(shift=1), memo=memo)
    assert first == second
    assert memo._used <= 200


def test_cases_are_rows_times_product():
    check = Check("c", each={"a": (1, 2), "b": (3,)}, rows=({"x": 5}, {"x": 6}))
    assert check.cases() == [{"x": x, "a": a, "b": 3} for a in (1, 2) for x in (5, 6)]
    assert Check("c").cases() == [{}]


def test_expectations_read_what_the_run_left_and_what_was_there():
    rows = [
        {**ROWS[1], "name": "x", "access": "readwrite", "shape": ["2", "n"], "order": [1, 0]},
        {**ROWS[2], "name": "y", "shape": ["n"]},
        {"name": "n", "kind": "scalar", "type": "i32"},
    ]
    signature = Signature.of(rows, {"k": 10})
    check = Check(
        "c",
        given={"n": "m + 1", "x": "k * row + lane"},
        expect={"x": "kept + y[lane]", "y": "3 * lane"},
        each={"m": (2,)},
    )
    inputs = prepare(signature, check, check.cases()[0])
    assert inputs.shapes == {"x": (2, 3), "y": (3,)}
    before = inputs.before(signature, 0)
    assert before["x"].flat.tolist() == [0, 10, 1, 11, 2, 12], "axis 0 is fastest here"
    after = {"y": np.array([0, 3, 6], np.float32), "x": before["x"].flat}
    wanted = expectations(signature, check, inputs, before, after)
    assert wanted["x"].contents.tolist() == [0, 10, 4, 14, 8, 18]
    assert wanted["y"].contents.tolist() == [0, 3, 6]


def test_errors_name_the_argument():
    with pytest.raises(FormulaError, match="says nothing about `row_count`"):
        prepare(SIGNATURE, Check("c"), {})
    with pytest.raises(FormulaError, match="given `input`: no axis"):
        prepare(SIGNATURE, Check("c", given={"input": "nobody"}), {"row_count": 1})
    with pytest.raises(FormulaError, match="backing of `input`: 36 is outside of 0 to 32"):
        prepare(SIGNATURE, Check("c", backing={"input": "36"}), {"row_count": 1})


REFERENCE = """
import numpy as np

def total(case):
    rows = case["input"][: case["row_count"]].astype(np.float64)
    return {"output": rows.sum(axis=0), "output.tolerance": 0.5}

def inputs(case):
    return {"input": np.full((8, 4), case["seed"])}

def nothing(case):
    return {}
"""


def test_references_are_python_of_the_folder(tmp_path):
    (tmp_path / "oracles.py").write_text(REFERENCE)
    signature = Signature.of(ROWS, {}, (), tmp_path)
    check = Check(
        "r",
        given={"input": Reference("oracles.py", "inputs")},
        expect=Reference("oracles.py", "total"),
        each={"row_count": (0, 3), "seed": (2,)},
    )
    assert check.needs_oracle()
    results, _ = run_check(signature, check, SumKernel(), 0)
    assert all(r.passed for r in results)
    assert "the reference's own bound, at most 0.5" in results[0].tolerances["output"]
    results, _ = run_check(signature, check, SumKernel(scale=1.2), 0)
    assert [r.passed for r in results] == [True, False]
    bad = Check("r", given=check.given, expect=Reference("oracles.py", "nothing"), each=check.each)
    results, _ = run_check(signature, bad, SumKernel(), 0)
    assert "returns no written buffer" in str(results[0])
    with pytest.raises(FormulaError, match="has no function absent"):
        run_check(signature, Check("r", given={"input": Reference("oracles.py", "absent")}, each=check.each), None, 0)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError("no 9 GiB"), "check c: a case does not fit the memory of this machine: no 9 GiB"),
        (FormulaError("no `q` here"), "check c: no `q` here"),
        (RunawayError("still running"), "interpreter-x-default: still running"),
    ],
)
def test_a_case_that_cannot_run_fails_in_one_line(error, text, monkeypatch):
    """Without the chain of exceptions behind it: those are the tool's."""
    suite = Suite.__new__(Suite)
    suite.places = SimpleNamespace(settings=Settings())
    monkeypatch.setattr(suite, "cases", lambda check, where: [{}])

    def results(check, where, cases):
        raise error

    monkeypatch.setattr(suite, "results", results)
    with pytest.raises(pytest.fail.Exception) as failure:
        suite.check(Check("c", expect={"y": "1"}), Where(Place("interpreter", "x"), "default"))
    assert str(failure.value) == text
    assert failure.value.__context__ is None
