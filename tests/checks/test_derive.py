"""Cases derived from the schedule, against trip counts worked out by hand."""

from pathlib import Path

import pytest

from specgen import ir, manifest, targets
from specgen.binding import bind
from specgen.checks.derive import MOST_BYTES, Schedule, wanted_trips
from specgen.checks.plan import plan_suite
from specgen.checks.trips import scheduled_loops, touched_rows
from specgen.loading import load_spec
from specgen.stages import plan, schedule_instance


@pytest.fixture
def derived(repository, tmp_path):
    """Derived checks by name, and the plan, of a spec of the repository with some of its text replaced."""

    def make(name, *changes, policies=None, **extra):
        text = (repository / "specs" / name).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name.rpartition("/")[2]
        path.write_text(text)
        spec = load_spec(path).spec
        planned = plan(spec, "gfx1151", policies).planned
        suite = plan_suite(spec, planned.instance, planned.scheduled)
        return {p.check.name: p for p in suite.derived}, suite, planned

    return make


def test_wanted_trips_cover_every_change_of_path():
    trips = wanted_trips([Schedule("default", 3, 4)], 64)
    # 0, 1, depth - 1 to depth + 1, both sides of the factor, both sides of the first full step after the prologue,
    # every remainder after two steps, the last two.
    assert trips == [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 63, 64]
    assert wanted_trips([Schedule("serial", 1, 1)], 1) == [0, 1]
    assert wanted_trips([Schedule("default", 8, 8)], 3) == [0, 1, 2, 3]


def test_sum_rows(derived):
    checks, suite, _ = derived("streaming/sum_rows.spec.yaml")
    (planned,) = checks.values()
    check = planned.check
    assert check.name == "trips_row_count"
    counts = [case["row_count"] for case in check.cases()]
    assert counts == [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 63, 64]
    assert check.expect is None
    assert check.given == {"input": "uniform(-1, 1, seed) if row < row_count else nan"}
    # The allocation ends with the last active row.
    assert check.backing == {"input": "input_elements"}
    assert all(case["input_elements"] == 32 * case["row_count"] for case in check.cases())
    assert planned.reasons == (
        "Loop `row` (sum_rows.spec.yaml:24:3) follows `row_count`; default: depth 3, factor 4, serial: depth 1, "
        "factor 1, copies: depth 1, factor 2, ahead: depth 3, factor 1.",
    )
    assert [(loop.label, loop.scalar) for loop in suite.loops] == [("row", "row_count")]


def test_policies_move_the_cases(derived):
    checks, _, _ = derived("streaming/sum_rows.spec.yaml", policies={"depth": 6, "factor": 8})
    counts = {case["row_count"] for case in checks["trips_row_count"].check.cases()}
    assert counts >= {0, 1, 5, 6, 7, 8, 9, 12, 13, 14, 63, 64, *range(21, 29)}


def test_a_rounded_bound_is_met_from_both_sides(derived):
    checks, _, _ = derived("streaming/sum_guarded_rows.spec.yaml")
    counts = [case["count"] for case in checks["trips_count"].check.cases()]
    # Trips are 0, 4, 8, ...: the least and the greatest count for each.
    assert {0, 1, 4, 5, 8, 9, 12, 61, 63} <= set(counts)
    assert checks["trips_count"].check.backing == {"values": "count * 32 * 4"}, "the author's own"
    inner = checks["trips_columns"].check.cases()
    assert [case["columns"] for case in inner] == [0, 1, 2, 3, 4]
    assert {(case["count"], case["active"]) for case in inner} == {(63, 32)}, "the most demanding case of the check"


def test_loops_of_a_motif_are_planned_together(derived, repository, tmp_path):
    motif = "streaming/sum_vector_rows.spec.yaml"
    (tmp_path / "sum_vector_rows.spec.yaml").write_text((repository / "specs" / motif).read_text())
    checks, _, _ = derived("streaming/sum_vector_rows_pair.spec.yaml")
    planned = checks["trips_row_count"]
    assert "default: depth 4, factor 6" in planned.reasons[0]
    assert "default: depth 1, factor 2" in planned.reasons[0]
    counts = {case["row_count"] for case in planned.check.cases()}
    # Both sides of depth 4, of factor 6, of the first full step (3 + 6), and each remainder after two.
    assert counts >= {0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 18, 19, 20, 63, 64}


def test_trips_through_a_division(derived):
    checks, _, _ = derived("rows/row_softmax.spec.yaml")
    columns = {case["columns"] for case in checks["trips_columns"].check.cases()}
    # ceil_div(columns, 128): the least and the greatest number of columns for one, two and all trips.
    assert {1, 128, 129, 256, 257, 384, 4096} <= columns
    assert len(checks["trips_columns"].reasons) == 2


def test_an_exact_loop_has_no_derived_cases(derived):
    checks, suite, _ = derived("rows/rms_norm.spec.toml")
    assert checks == {}
    assert [(loop.label, loop.scalar) for loop in suite.loops] == [("chunk", None)]
    (note,) = suite.notes
    assert note.startswith("Loop `chunk` (rms_norm.spec.toml:9:3) follows no single scalar")


def test_derived_cases_keep_promises(derived):
    checks, _, _ = derived(
        "streaming/sum_rows.spec.yaml",
        ("row_count: {type: index, range: [0, 64]}", "row_count: {type: index, range: [3, 64], multiple_of: 5}"),
        ("each: {row_count: [0, 1, 2, 3, 4, 5, 63, 64]", "each: {row_count: [5, 60]"),
    )
    counts = [case["row_count"] for case in checks["trips_row_count"].check.cases()]
    assert counts[0] == 5
    assert counts[-1] == 60
    assert all(c % 5 == 0 for c in counts)


def test_inputs_that_do_not_fit_every_trip_are_replaced_by_random_ones(derived):
    checks, _, _ = derived(
        "streaming/sum_rows.spec.yaml",
        # The formula reads itself outside for all but 64 rows: it has no value there.
        (
            "input: uniform(-1, 1, seed) if row < row_count else nan",
            "input: uniform(-1, 1, seed) + 1 // (row_count // 64)",
        ),
        ("each: {row_count: [0, 1, 2, 3, 4, 5, 63, 64], seed: [1000]}", "each: {row_count: [64], seed: [1000]}"),
    )
    check = checks["trips_row_count"].check
    assert check.given == {"input": "uniform(-1, 1, 1)"}
    assert len(check.cases()) == 14


def test_large_arguments_are_left_to_the_spec(derived):
    rows = MOST_BYTES // (32 * 4)
    checks, suite, _ = derived(
        "streaming/sum_rows.spec.yaml",
        ("range: [0, 64]", f"range: [0, {2 * rows}]"),
        ("row: 64, lane: 32", f"row: {2 * rows}, lane: 32"),
    )
    assert checks == {}
    assert suite.notes == ("No derived cases follow `row_count`: no check has inputs that fit.",)


def _only_check(given: str) -> tuple[str, str]:
    """All checks of sum_rows replaced by one whose results come from Python."""
    text = (Path(__file__).parents[2] / "specs/streaming/sum_rows.spec.yaml").read_text()
    old = text[text.index("checks:") : text.index("benchmarks:")]
    new = f"checks:\n  python:\n    each: {{row_count: [3, 9]}}\n    given: {{input: {given}}}\n"
    return old, new + "    expect: {reference: oracle.py:sums}\n\n"


def test_results_of_a_reference_do_not_keep_cases_from_being_derived(derived, tmp_path):
    (tmp_path / "oracle.py").write_text("def sums(case): ...\ndef rows(case): ...\n")
    checks, suite, _ = derived("streaming/sum_rows.spec.yaml", _only_check("flat"))
    check = checks["trips_row_count"].check
    assert [case["row_count"] for case in check.cases()] == [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 63, 64]
    assert (check.expect, check.given) == (None, {"input": "flat"})
    assert suite.notes == ()


def test_inputs_of_a_reference_do_and_the_suite_says_so(derived, tmp_path):
    (tmp_path / "oracle.py").write_text("def sums(case): ...\ndef rows(case): ...\n")
    checks, suite, _ = derived("streaming/sum_rows.spec.yaml", _only_check("{reference: oracle.py:rows}"))
    assert checks == {}
    (note,) = suite.notes
    assert note.startswith("No derived cases follow `row_count`: every check takes its inputs from a Python reference")


def _serial(planned):
    return ir.function_named(planned.scheduled.module, planned.instance.entry("serial").symbol)


def test_touched_rows_follow_the_loop(derived):
    _, _, planned = derived("streaming/streaming_packed_dot.spec.yaml")
    function = _serial(planned)
    for count in (0, 1, 128):
        assert touched_rows(function, "fields", {"count": count}) == count
        assert touched_rows(function, "rhs", {"count": count}) == count
    assert touched_rows(function, "output", {"count": 3}) is None, "the subscript is a work-item's number"
    assert touched_rows(function, "absent", {}) is None


def test_trips_of_bounds(derived):
    """Every operation that bounds are made of, evaluated from the IR."""
    cases = {
        "range(count // 3 + count % 3)": lambda n: n // 3 + n % 3,
        "range(1, count, 2)": lambda n: len(range(1, n, 2)),
        "range(min(count, 9) * 2 - max(count - 20, 0))": lambda n: max(min(n, 9) * 2 - max(n - 20, 0), 0),
        "range(ceil_div(count, 4))": lambda n: -(-n // 4),
        "range(5 if count > 7 else count)": lambda n: 5 if n > 7 else n,
    }
    for bounds, trips in cases.items():
        _, _, planned = derived(
            "streaming/sum_guarded_rows.spec.yaml", ("in: range(round_up(count, 4))", f"in: {bounds}")
        )
        function = _serial(planned)
        loops, others = scheduled_loops(function, [r.location for r in planned.scheduled.rows])
        (loop,) = [found for found in loops if found.label == "row"]
        assert (loop.scalar, others) == ("count", [])
        assert [loop.trips({"count": n}) for n in range(64)] == [trips(n) for n in range(64)], bounds


def test_the_serial_entry_is_found(derived):
    _, _, planned = derived("streaming/sum_rows.spec.yaml")
    assert _serial(planned).sym_name.data == "sum_rows__serial"
    assert "sum_rows__serial" in ir.print_module(planned.scheduled.module)
    assert manifest.arguments(planned.instance)[0]["range"] == [0, 64]


SETS = """spec: 1
kind: kernel
name: probe
summary: Columns of a matrix whose width is a param.
params:
  width: {default: 32, choices: [32, 64]}
args:
  rows: {type: index, range: [0, 40]}
  x: {buffer: f32, shape: {row: rows, lane: width}}
  y: {buffer: f32, shape: {lane: width}, access: write}
policies:
  depth: {default: 3, range: [1, 4]}
launch:
  workgroup_size: {lane: width}
body:
- var: {total: f32(0)}
- for: row
  in: range(rows)
  schedule: {pipeline: depth}
  do:
  - set: {total: "total + x[row, lane]"}
- store: {"y[lane]": total}
checks:
  sums:
    each: {rows: [0, 7], width: [32, 64], depth: [1, 3]}
    given: {x: row + lane}
    expect: {y: "rows * lane + rows * (rows - 1) // 2"}
"""


@pytest.mark.parametrize("width", [32, 64])
def test_derived_cases_are_for_this_build_and_every_entry(width, tmp_path):
    """A case that names another param set, or a policy, would be skipped where the suite runs."""
    path = tmp_path / "probe.spec.yaml"
    path.write_text(SETS)
    spec = load_spec(path).spec
    bound = bind(spec, targets.load("gfx1151"), {}, {"width": width})
    planned = schedule_instance(spec, bound.instance, "gfx1151").planned
    (made,) = plan_suite(spec, planned.instance, planned.scheduled).derived
    cases = made.check.cases()
    assert [case["rows"] for case in cases] == [0, 1, 2, 3, 4, 39, 40]
    assert all(case == {"rows": case["rows"], "x_elements": width * case["rows"]} for case in cases)
