"""Generated pages are current, and their tables cover what the code has."""

from __future__ import annotations

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
