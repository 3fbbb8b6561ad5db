"""What a formula may name, what it is for, and the points at which its parts are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from specgen.checks.buffers import Contents
from specgen.checks.dtypes import ElementType
from specgen.checks.values import Value


@dataclass(frozen=True)
class Scope:
    """What a formula may name: numbers and words by name, words that stand for themselves, and buffers."""

    names: Mapping[str, Value] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    buffers: Mapping[str, Contents] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """The buffer whose contents a formula gives: its type and its axes with extents, in declared order.

    `kept` is its contents before the run, in the shape of the axes. With `rows` only so many of the first axis are
    computed.
    """

    type: ElementType
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    kept: Any = None
    rows: int | None = None


@dataclass(frozen=True)
class Frame:
    """The points at which a part is evaluated: their shape, and axes and counters as arrays that broadcast to it."""

    shape: tuple[int, ...]
    names: Mapping[str, Any]

    def restricted(self, used: frozenset[str]) -> Frame:
        """Without the axes that nothing in `used` depends on (their extent becomes 1)."""
        names = {name: array for name, array in self.names.items() if name in used}
        shape = np.broadcast_shapes((1,) * len(self.shape), *(a.shape for a in names.values()))
        return Frame(shape, names)

    def chosen(self, mask: Any) -> Frame:
        """Only the points of a mask of the frame's shape, as one axis."""
        names = {name: np.broadcast_to(array, self.shape)[mask] for name, array in self.names.items()}
        return Frame((int(np.count_nonzero(mask)),), names)

    def extended(self, name: str, counter: Any) -> Frame:
        """With a counter as a new first axis."""
        column = counter.reshape((-1,) + (1,) * len(self.shape))
        return Frame((len(counter), *self.shape), {**self.names, name: column})


def frame_of(target: Target) -> Frame:
    """Every element of a target."""
    shape = target.shape
    if target.rows is not None and shape:
        shape = (min(target.rows, shape[0]), *shape[1:])
    names: dict[str, Any] = {}
    for at, (axis, extent) in enumerate(zip(target.axes, shape, strict=True)):
        names[axis] = np.arange(extent).reshape((1,) * at + (extent,) + (1,) * (len(shape) - at - 1))
    names["flat"] = np.arange(prod(shape)).reshape(shape)
    if target.kept is not None:
        names["kept"] = target.kept[: shape[0]] if shape else target.kept
    return Frame(shape, names)
