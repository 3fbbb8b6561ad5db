"""Tiles in expressions are refused once, whatever else is wrong with them."""

from __future__ import annotations

import pytest
from binding_helpers import bound, errors, told


@pytest.mark.parametrize(
    ("body", "place", "name"),
    [
        ("- let:\n    a: full(f32(0), m=4)\n    b: iota(m=4)", "2:8", "full"),
        ("- let:\n    a: iota(m=4)", "2:8", "iota"),
        ("- let:\n    v: x[0, 0:+4]\n    a: sum(v, over=lane) + max(v, over=lane)", "3:8", "sum"),
        ("- let:\n    a: mma(tile(x[0:+4, :]), tile(x[0:+4, :]))", "2:8", "mma"),
    ],
)
def test_tiles(body: str, place: str, name: str) -> None:
    assert errors(body) == [f"{place} SG-UNSUPPORTED not supported yet: tiles (`{name}`)."]


def test_other_findings_are_told_as_well() -> None:
    found = told(bound("- let:\n    a: full(f32(0), m=4)\n    b: nn").diagnostics)
    assert [line.split()[1] for line in found] == ["SG-UNSUPPORTED", "SG-NAME"]
