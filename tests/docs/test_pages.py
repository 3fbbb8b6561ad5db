"""Generated pages are current, and their tables cover what the code has."""

from __future__ import annotations

import re
from pathlib import Path

from specgen import docs, reference


def test_pages_are_current(repository: Path) -> None:
    assert docs.stale_pages(repository / "docs") == []


def test_stale_page_is_found(tmp_path: Path) -> None:
    assert docs.stale_pages(tmp_path) == list(docs.PAGES)


def test_reference_covers_every_function() -> None:
    from specgen.binding.names import FUNCTIONS

    described = [name for names in reference.FUNCTIONS for name in names.split()]
    assert sorted(described) == sorted(FUNCTIONS)


def test_reference_covers_every_supported_schema() -> None:
    from specgen.schema import tables

    left_out = {"suite", "gate", "sweep", "comparison", "launch_schedule"}
    left_out |= {"tile_argument", "scalar_result"}
    left_out |= {"atomic_operation"}
    assert {n for _, _, names in reference.SECTIONS for n in names} == set(tables.names()) - left_out


def test_reference_tells_what_stands_in_no_schema() -> None:
    """Types, target facts, atomic operations, and what only formulas of checks may name."""
    from specgen.binding.names import TARGET_FACTS
    from specgen.binding.stores import ATOMIC_KINDS
    from specgen.binding.types import SCALARS
    from specgen.checks.formula import FUNCTION_NAMES

    page = reference.page()
    words = {*re.findall(r"[a-z_][a-z_0-9]*", page)}
    wanted = {*SCALARS, *TARGET_FACTS, *(kind for kind, _ in ATOMIC_KINDS), *FUNCTION_NAMES, "kept", "flat"}
    assert wanted <= words, wanted - words
    assert "`kept`" in page
    assert "`uniform(lo, hi, seed)`" in page
    assert "`exact`, `bitwise`, `derived` or `{atol: ..., rtol: ...}`" in page
