"""What is common to the steps of one run: shape, mask, ids, findings, counters.

A frame executes `rows` workgroups (of one launch or of many) with `items` work-items each. A scalar SSA value is
an array that broadcasts to `[rows, items]`; a vector of n elements has shape `[n, rows | 1, items | 1]`. Values that
are the same everywhere are numpy scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specgen.devices.base import DeviceError, Finding

FINDING_LIMIT = 20
"""Findings that a run keeps; the rest is counted in the last one."""

STEP_BUDGET = 50_000_000
"""Loop rounds after which a run is given up: a loop that never ends must not hang a test."""

Mask = Any
"""None (every lane is active) or a boolean array that broadcasts to `[rows, items]`."""


@dataclass
class Findings:
    """Findings of one launch, one entry a kind and place, with the number of occurrences."""

    entries: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def add(self, kind: str, where: str, detail: str, count: int = 1) -> None:
        """Record `count` occurrences of which `detail` describes the first."""
        entry = self.entries.setdefault((kind, where), [detail, 0])
        entry[1] += count

    def result(self) -> tuple[Finding, ...]:
        """The findings in order of first occurrence."""
        found = [
            Finding(kind, detail if count == 1 else f"{detail}; {count} times", where)
            for (kind, where), (detail, count) in self.entries.items()
        ]
        if len(found) > FINDING_LIMIT:
            last = found[FINDING_LIMIT - 1]
            more = f"{last.detail}; and {len(found) - FINDING_LIMIT} more places"
            return (*found[: FINDING_LIMIT - 1], Finding(last.kind, more, last.where))
        return tuple(found)


@dataclass
class Frame:
    """The running state of a group of workgroups.

    `launch_of` and `block_of` give for each row its launch (number) and workgroup ids (x, y, z).
    """

    workgroup_size: tuple[int, int, int]
    subgroup_size: int | None
    launch_of: Any
    block_of: Any
    first_item: int
    findings: list[Findings]
    executed: list[int]
    mask: Mask = None
    rounds: int = 0

    def __post_init__(self) -> None:
        x, y, z = self.workgroup_size
        self.items = x * y * z
        self.rows = len(self.launch_of)
        self.shape = (self.rows, self.items)
        # Numbers of workgroup-wide and device-wide barriers passed, one a row.
        self.epoch = np.zeros((self.rows, 1), np.int32)
        self.global_epoch = np.zeros((self.rows, 1), np.int32)
        first = np.arange(self.rows, dtype=np.int64)[:, None] * self.items + self.first_item + 1
        self.item_numbers = first + np.arange(self.items, dtype=np.int64)[None, :]

    def active(self) -> Any:
        """The mask as a full boolean array."""
        return np.broadcast_to(np.True_ if self.mask is None else self.mask, self.shape)

    def count_round(self) -> None:
        """Count one loop round; raises `DeviceError` when the run does not end."""
        self.rounds += 1
        if self.rounds > STEP_BUDGET:
            raise DeviceError(f"the kernel did not end within {STEP_BUDGET} loop rounds")

    def name_item(self, row: int, item: int) -> str:
        """A work-item in words."""
        x, y, _ = self.workgroup_size
        inside = (item % x, item // x % y, item // (x * y))
        block = tuple(int(b) for b in self.block_of[row])
        return f"work-item {inside} of workgroup {block}"

    def report(self, kind: str, where: str, bad: Any, detail: Callable[[tuple[int, ...]], str]) -> None:
        """A finding for the true elements of `bad` (broadcasts to `[rows, items]` or `[n, rows, items]`).

        Only active lanes count. `detail` describes the element at a full position; the work-item is appended.
        """
        shape = np.broadcast_shapes(np.shape(bad), self.shape)
        bad = np.broadcast_to(bad, shape)
        if self.mask is not None:
            bad = bad & self.mask
        places = np.nonzero(bad)
        if not len(places[0]):
            return
        launches = self.launch_of[places[-2]]
        for launch in np.unique(launches):
            mine = np.nonzero(launches == launch)[0]
            place = tuple(int(axis[mine[0]]) for axis in places)
            text = f"{detail(place)}, {self.name_item(place[-2], place[-1])}"
            self.findings[launch].add(kind, where, text, len(mine))


def at(value: Any, place: tuple[int, ...]) -> Any:
    """The element of a broadcastable value at a full position (`[rows, items]` or `[n, rows, items]`)."""
    array = np.asarray(value)
    if array.ndim == 0:
        return array[()]
    padded = (0,) * (array.ndim - len(place)) + place
    tail = padded[len(padded) - array.ndim :]
    return array[tuple(0 if size == 1 else p for size, p in zip(array.shape, tail, strict=True))]
