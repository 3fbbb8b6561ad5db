"""Formulas of the manifest."""

from __future__ import annotations

import pytest

from specgen.expressions import evaluate_formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ceil_div(n, 256)", 4),
        ("round_up(n, 4)", 1004),
        ("-n // 7", -143),
        ("-n % 7", 0),
        ("n if n > 3 and true else 0", 1001),
        ("clamp(n, 0, 64) + min(n, 3, 5)", 67),
        ("0 <= n < 1001", False),
        ("1 << 4 | 1", 17),
    ],
)
def test_values(text: str, expected: int) -> None:
    assert evaluate_formula(text, {"n": 1001}) == expected


def test_unknown_names_and_calls() -> None:
    with pytest.raises(KeyError):
        evaluate_formula("m", {})
    with pytest.raises(TypeError):
        evaluate_formula("x[1]", {"x": 1})
