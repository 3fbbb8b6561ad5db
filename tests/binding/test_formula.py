"""Closed formulas: names replaced, static parts computed, the same value as the expression."""

from __future__ import annotations

import pytest

from specgen.binding.formula import substitute
from specgen.diagnostics import Span
from specgen.expressions import evaluate_formula, parse_expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ceil_div(n, tile)", "ceil_div(n, 64)"),
        ("ceil_div(256, tile) * 2", "8"),
        ("n * (tile // 16) + 2 * 3", "n * 4 + 6"),
        ("n if mode == wide else 1", "n"),
        ("n if mode != wide else 1", "1"),
        ("min(n, tile - 4) if flag else n", "min(n, 60)"),
        ("128 // target.subgroup_size", "4"),
        ("n if n > tile else tile", "n if n > 64 else 64"),
        ("-tile", "-64"),
    ],
)
def test_substitution(text: str, expected: str) -> None:
    env = {"tile": 64, "mode": "wide", "flag": True, "target.subgroup_size": 32}
    expression = parse_expression(text, Span("f", 1, 1, 1, len(text) + 1))
    found = substitute(expression, env)
    assert found == expected
    assert isinstance(evaluate_formula(found, {"n": 100}), int)
