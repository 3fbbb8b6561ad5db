"""The table of rows, and its checker."""

from __future__ import annotations

import pytest

from specgen.bench import schema
from specgen.bench.options import OPTIONS, Request, parse
from specgen.bench.page import page
from specgen.bench.statistics import WARNINGS

SKIP = {"kind": "skip", "row": "a", "reason": "b"}


def test_a_row_as_declared_is_clean() -> None:
    assert schema.check(SKIP) == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, "unknown kind of row: None"),
        ({**SKIP, "kind": "skipped"}, "unknown kind of row: 'skipped'"),
        ({"kind": "skip", "row": "a"}, "skip.reason: missing"),
        ({**SKIP, "why": "c"}, "skip.why: unknown key"),
        ({**SKIP, "reason": 3}, "skip.reason: not a text"),
    ],
)
def test_what_is_wrong_with_a_row(row: dict[str, object], problem: str) -> None:
    assert schema.check(row) == [problem]


def test_a_truth_value_is_no_number() -> None:
    keys = {key.name: 1 for key in schema.ROWS["summary"][1]} | {"run_id": "x", "dry_run": False}
    row = {"kind": "summary", **keys}
    assert schema.check(row) == []
    assert schema.check({**row, "timed": True}) == ["summary.timed: not a integer"]


def test_page_has_every_row_key_option_and_warning() -> None:
    text = page()
    for kind, (_, keys) in schema.ROWS.items():
        assert f"### `{kind}`" in text
        assert all(f"| `{key.name}` |" in text for key in keys)
    assert all(flag in text for option in OPTIONS for flag in option.flags)
    assert all(f"| `{code}` |" in text for code in WARNINGS)


def test_defaults_of_the_parser_are_those_of_the_request() -> None:
    assert parse(["x"], "bench") == Request(paths=("x",))
