"""Specs that must be refused: the whole text output of each is pinned beside it in `NAME.expected`.

`SPECGEN_BLESS=1 pytest tests/bad_specs` writes the `.expected` files that are missing. An existing one is never
rewritten: delete it first, and read what is written.
"""

from __future__ import annotations

import os
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


def test_the_corpus_is_wide_enough() -> None:
    counts = {path.name: len(validated(path).diagnostics) for path in FILES}
    assert len(FILES) >= 60
    assert sum(n >= 3 for n in counts.values()) >= 10


def test_many_files_in_one_call_give_the_same_findings() -> None:
    apart = [d for path in FILES for d in validated(path).diagnostics]
    together = validate_paths(FILES, root=CASES).diagnostics
    assert set(together) == set(apart)
