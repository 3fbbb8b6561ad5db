"""Scheduled kernels equal serial ones bit for bit and read the same addresses, over depths, factors and lengths."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from scheduling import kernels
from scheduling.evaluator import Program, same

from specgen.schedule import schedule

LENGTHS = range(65)
ORDERS = ("linear", "interleaved", "recurrence")

K1 = kernels.SUM_ROWS, [{}]
K2 = kernels.SUM_VECTOR_ROWS, [{}]
K3 = (
    kernels.SUM_GUARDED_ROWS,
    [{"columns": 4, "active": 32}, {"columns": 1, "active": 3}, {"columns": 0, "active": 32}],
)


def arguments(text: str, count: int, extra: dict[str, int], lane: int) -> dict[str, Any]:
    """Only what the serial program may read exists: a read beyond it is an error."""
    wide = () if text is kernels.SUM_ROWS else (4,)
    data = kernels.numbers(64, 32, *wide)
    rows = {index: value for index, value in kernels.cells(data) if index[0] < count and index[1] == lane}
    return {"count": count, "input": rows, "output": kernels.numbers(32), **extra}


def compare(text: str, extras: list[dict[str, int]], lengths: Any, **policies: Any) -> int:
    """Run serial and scheduled for all lengths; the number of comparisons."""
    serial = Program(kernels.module(text))
    scheduled = schedule(kernels.module(text, **policies))
    assert not scheduled.diagnostics
    program = Program(scheduled.module)
    done = 0
    for number, (count, extra) in enumerate(itertools.product(lengths, extras)):
        given = arguments(text, count, extra, lane=number % 2)
        same(serial.run(given, number % 2), program.run(given, number % 2), ["output"])
        done += 1
    return done


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize("kernel", [K1, K2, K3], ids=["rows", "vector_rows", "guarded_rows"])
def test_bounded(kernel: tuple[str, list[dict[str, int]]], depth: int, order: str) -> None:
    """Two factors a depth, and the lengths round depth, factor and their sums."""
    text, extras = kernel
    for factor in (1 + depth % 8, 1 + (depth + 4) % 8):
        edges = {0, 1, depth - 1, depth, depth + 1, factor, depth + factor - 1, depth + factor, 2 * factor, 63}
        lengths = sorted(length for length in edges if 0 <= length <= 64)
        assert compare(text, extras[:1], lengths, pipeline=depth, unroll=factor, order=order) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize("kernel", [K1, K2, K3], ids=["rows", "vector_rows", "guarded_rows"])
def test_all(kernel: tuple[str, list[dict[str, int]]], depth: int, order: str) -> None:
    """Every factor and every length."""
    text, extras = kernel
    for factor in range(1, 9):
        done = compare(text, extras, LENGTHS, pipeline=depth, unroll=factor, order=order)
        assert done == 65 * len(extras)
