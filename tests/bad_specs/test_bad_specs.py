"""Specs that must be refused: the whole text output of each is pinned beside it in `NAME.expected`.

`SPECGEN_BLESS=1 pytest tests/bad_specs` writes the `.expected` files that are missing. An existing one is never
rewritten: delete it first, and read what is written.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from specgen.diagnostics import render
from specgen.diagnostics.catalogue import CATALOGUE
from specgen.validate import Validation, validate_paths

CASES = Path(__file__).parent / "cases"
FILES = sorted(p for p in CASES.iterdir() if p.name.endswith((".spec.yaml", ".spec.toml")))


def validated(path: Path) -> Validation:
    return validate_paths([path], root=CASES)


def output(result: Validation) -> str:
    """What `specgen validate` prints."""
    lines = [render.text(result.diagnostics, result.sources)]
    lines += [f"{spec.file}: {spec.kind} {spec.name}: {spec.status}" for spec in result.specs]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_output_is_as_pinned(path: Path) -> None:
    before = sorted(p.name for p in CASES.iterdir())
    result = validated(path)
    assert result.failed, "a bad spec was accepted"
    assert all(d.code in CATALOGUE for d in result.diagnostics)
    assert sorted(p.name for p in CASES.iterdir()) == before, "validation wrote something"
    text = output(result)
    assert "Traceback" not in text
    pinned = path.with_name(path.name.split(".spec.")[0] + ".expected")
    if not pinned.exists() and os.environ.get("SPECGEN_BLESS") == "1":
        pinned.write_text(text, encoding="utf-8")
    assert pinned.exists(), f"{pinned.name} is missing: SPECGEN_BLESS=1 writes it, then read it"
    assert text == pinned.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_place_exists(path: Path) -> None:
    """Spans lie inside of the file that they name (its end counts), start before they end, and are sorted."""
    result = validated(path)
    for finding in result.diagnostics:
        source = result.sources.get(finding.span.file)
        if source is None or not source.text:
            continue
        span = finding.span
        assert (span.line, span.column) < (span.end_line, span.end_column)
        lines = source.text.split("\n")
        assert 1 <= span.line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1


def test_there_are_no_stray_expectations() -> None:
    names = {p.name.split(".spec.")[0] for p in FILES}
    assert {p.stem for p in CASES.glob("*.expected")} == names


def pinned_codes(path: Path) -> list[str]:
    """The codes of the errors that an `.expected` file holds."""
    return re.findall(r"error\[(SG-[A-Z]+(?: [PU]\d+)?)\]", path.read_text(encoding="utf-8"))


def test_the_corpus_is_wide_enough() -> None:
    counts = {path.name: pinned_codes(path) for path in CASES.glob("*.expected")}
    assert len(FILES) >= 60
    assert sum(len(codes) >= 3 for codes in counts.values()) >= 10
    assert sum(len({code.split()[0] for code in codes}) >= 3 for codes in counts.values()) >= 10
    assert len({code.split()[0] for codes in counts.values() for code in codes}) >= 25


UNREACHED = {"SG-TILE": "tiles are not supported yet"}
"""Codes of the language that nothing raises so far, and why."""

UNWRITABLE = {"SG-LOOP P5"}
"""A loop that carries a buffer cannot be written in a spec; `tests/schedule/test_rules.py` refuses one in IR."""


def test_every_code_of_the_catalogue_is_raised() -> None:
    """By a pinned spec or, for rules of loop schedules, by a loop in IR under `tests/schedule/rules`."""
    raised = {code for path in CASES.glob("*.expected") for code in pinned_codes(path)} | UNWRITABLE
    rules = CASES.parents[1] / "schedule" / "rules"
    raised |= {f"SG-LOOP {path.stem}" for path in rules.iterdir() if "// refused" in path.read_text(encoding="utf-8")}
    assert CATALOGUE.keys() - raised == UNREACHED.keys()


def test_what_is_called_unreached_is_named_by_no_module() -> None:
    sources = [p for p in (CASES.parents[2] / "specgen").rglob("*.py") if p.name != "codes.py"]
    named = {code for path in sources for code in UNREACHED if code in path.read_text(encoding="utf-8")}
    assert named == set()


def test_many_files_in_one_call_give_the_same_findings() -> None:
    apart = [d for path in FILES for d in validated(path).diagnostics]
    together = validate_paths(FILES, root=CASES).diagnostics
    assert set(together) == set(apart)
