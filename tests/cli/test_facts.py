"""`specgen facts`: forms, options and statuses."""

from __future__ import annotations

import json

import pytest
from cli_calls import SPECS, specgen_here

SPEC = str(SPECS / "streaming" / "sum_rows.spec.yaml")
MOTIF = str(SPECS / "streaming" / "sum_span.spec.yaml")


def facts(*arguments: str) -> dict:
    result = specgen_here("facts", *arguments, "--format", "json")
    assert result.status == 0, result.out + result.err
    return json.loads(result.out)


def test_json_and_text_say_the_same() -> None:
    found = facts(SPEC)
    assert {k: found[k] for k in ("spec", "target", "entry")} == {
        "spec": "sum_rows",
        "target": "gfx1151",
        "entry": "default",
    }
    lines = specgen_here("facts", SPEC).out.split("\n")
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert len(heads) == len(found["facts"])
    for row, head in zip(found["facts"], heads, strict=True):
        assert f"{row['name']}: {row['type']}" in head
        assert (row.get("within") or row["location"]) in head
        if "range" in row and "exact" not in row:
            assert f"in [{row['range'][0]}, {row['range'][1]}]" in head
    counts = next(row for row in found["facts"] if row["name"] == "row_count")
    assert counts["range"] == [0, 64]
    assert counts["because"][0] == {
        "fact": "range",
        "source": "declared",
        "text": "the declared range",
        "location": counts["location"],
    }


def test_quiet_leaves_the_reasons_out_and_verbose_adds_values() -> None:
    plain, quiet, more = (specgen_here("facts", SPEC, *flags).out for flags in ((), ("-q",), ("-v",)))
    assert [line for line in plain.split("\n") if not line.startswith(" ")] == quiet.split("\n")
    assert len(more.split("\n")) >= len(plain.split("\n"))


def test_entries_targets_and_lines() -> None:
    assert facts(SPEC, "--entry", "serial")["entry"] == "serial"
    lanes = {t: facts(SPEC, "--target", t)["target"] for t in ("gfx1201", "vulkan1.3")}
    assert lanes == {"gfx1201": "gfx1201", "vulkan1.3": "vulkan1.3"}
    line = next(row for row in facts(SPEC)["facts"] if row["name"] == "row")["location"].split(":")[1]
    chosen = facts(SPEC, "--line", line)["facts"]
    assert chosen
    assert all((row.get("within") or row["location"]).split(":")[1] == line for row in chosen)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((SPEC, "--target", "gfx1152"), 2, "unknown target: gfx1152"),
        ((SPEC, "--entry", "deep"), 2, "no entry deep in sum_rows"),
        (("nothing.spec.yaml",), 2, "no such file"),
        ((MOTIF,), 2, "sum_span is a motif"),
        ((SPEC, "--line", "0"), 2, "--line"),
    ],
)
def test_wrong_calls(arguments: tuple[str, ...], status: int, said: str) -> None:
    result = specgen_here("facts", *arguments)
    assert result.status == status
    assert said in result.out + result.err


def test_a_spec_with_errors(tmp_path) -> None:
    path = tmp_path / "bad.spec.yaml"
    path.write_text("spec: 1\nkind: kernel\nname: bad\n")
    result = specgen_here("facts", str(path))
    assert result.status == 1
    assert "SG-KEY" in result.out + result.err
