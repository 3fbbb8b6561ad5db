"""A row-major number split by a runtime extent: `at // cols` and `at % cols` stay inside where the guard says so."""

from __future__ import annotations

import pytest
from binding_helpers import bound

ARGS = """\
args:
  rows: {type: index, range: [LEAST, 64]}
  cols: {type: index, range: [LEAST, 64]}
  x: {buffer: f32, shape: {row: ROWS, col: cols}}
  y: {buffer: f32, shape: {i: 64}, access: write}
launch:
  workgroups: {group: 128}
  workgroup_size: {lane: 32}
"""
BODY = """\
- let: {at: 'group * 32 + lane'}
- if: GUARD
  then:
  - let:
      v: x[at // cols, at % cols]
  - store:
      y[at % 64]: v
"""


def unproven(guard: str, body: str = BODY, *, least: int = 1, rows: str = "rows") -> list[str]:
    """What stays to be checked when the kernel runs."""
    args = ARGS.replace("LEAST", str(least)).replace("ROWS", rows)
    result = bound(body.replace("GUARD", guard), args=args)
    assert result.diagnostics == ()
    return [d.message for d in result.unproven]


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("guard", ["at < rows * cols", "at < cols * rows", "rows * cols > at and lane > 3"])
def test_a_guard_on_the_product_proves_both_subscripts(guard: str, least: int) -> None:
    assert unproven(guard, least=least) == []


def test_a_product_with_a_number_does_too() -> None:
    assert unproven("at < 64 * cols", rows="64") == []
    assert unproven("at < 65 * cols", rows="64") == ["`at // cols` is checked when run; axis `row` has [0, 64)."]


def test_a_loop_over_the_product_does_too() -> None:
    loop = "- for: at\n  in: range(rows * cols)\n  do:\n  - store:\n      y[at % 64]: x[at // cols, at % cols]\n"
    assert unproven("", loop) == []
    ranges = loop.replace("x[at // cols, at % cols]", "sum(x[at // cols, (at % cols):+1])")
    assert unproven("", ranges) == []


@pytest.mark.parametrize(
    ("guard", "old", "new", "left"),
    [
        ("at <= rows * cols", "", "", "at // cols"),
        ("at < 5000", "", "", "at // cols"),
        ("at < rows * cols", "at // cols", "at // rows", "at // rows"),
        ("at < rows * cols", "at % cols", "at % rows", "at % rows"),
        ("at < rows * cols", "at // cols", "(at + 1) // cols", "(at + 1) // cols"),
        ("at < rows * cols + cols", "", "", "at // cols"),
    ],
)
def test_what_does_not_follow_stays_to_be_checked(guard: str, old: str, new: str, left: str) -> None:
    (message,) = unproven(guard, BODY.replace(old, new) if old else BODY)
    assert message.startswith(f"`{left}` is checked when run")
