"""The page of measured ratios: what it says follows from the recorded rows."""

from __future__ import annotations

from specgen.report import measured


def test_every_goal_has_a_recorded_row() -> None:
    """A goal that no row meets or misses would be a wish."""
    rows = {(row["name"], row["baseline"].split()[0]) for row in measured.read("h200_kernels.json")["rows"]}
    assert set(measured.GOALS) <= rows
    assert set(measured.NOTES) <= rows


def test_ratios_are_those_of_the_times() -> None:
    """The median of ratios by round lies near the ratio of medians; both are recorded."""
    for row in measured.read("h200_kernels.json")["rows"]:
        times = row["medians_us"]
        assert abs(times["baseline"] / times["ours"] / row["ratio"] - 1) < 0.02, row["name"]
        assert row["checks"], row["name"]


def test_missed_goals_are_marked() -> None:
    """Each row below its goal, and no other."""
    page = measured.page()
    missed = [row for row in measured.read("h200_kernels.json")["rows"] if row["ratio"] < (measured.goal(row) or 0)]
    assert page.count("(missed)") == len(missed)
    for row in missed:
        assert f"| {row['name']} | {row['baseline']} | {row['ratio']:.3f} | {measured.goal(row):.2f} (missed)" in page
