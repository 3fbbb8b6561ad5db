"""Contents of buffers as formulas read them and as devices take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from specgen.checks.dtypes import ElementType, exact
from specgen.checks.values import FormulaError, Value


@dataclass(frozen=True)
class Contents:
    """A buffer's elements in memory order (a prefix of them when it is backed by less than its shape).

    `shape` is in declared order; `order[d]` is the declared number of memory dimension `d`, slow to fast.
    """

    name: str
    type: ElementType
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    flat: Any

    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each declared axis."""
        strides = [0] * len(self.shape)
        step = 1
        for axis in reversed(self.order):
            strides[axis] = step
            step *= self.shape[axis]
        return tuple(strides)

    def read(self, index: Sequence[Value]) -> Value:
        """Elements at subscripts (numbers or arrays that broadcast), exact. Raises `FormulaError` outside."""
        if len(index) != len(self.shape):
            raise FormulaError(f"`{self.name}` has {len(self.shape)} axes")
        place: Any = 0
        for axis, extent, stride, at in zip(self.axes, self.shape, self.strides(), index, strict=True):
            array = np.asarray(at)
            if np.any(array < 0) or np.any(array >= extent):
                raise FormulaError(f"`{self.name}` is read outside: axis `{axis}` has {extent} elements")
            place = place + array * stride
        if np.any(place >= len(self.flat)):
            raise FormulaError(f"`{self.name}` is read past the {len(self.flat)} elements that back it")
        value = exact(self.flat[np.asarray(place)])
        return value if np.ndim(place) else np.asarray(value).item()

    def shaped(self) -> Any:
        """All elements in the shape of the declared axes; only when fully backed."""
        memory = self.flat.reshape([self.shape[axis] for axis in self.order])
        return memory.transpose(np.argsort(self.order)) if self.order else memory


def in_memory_order(values: Any, order: Sequence[int]) -> Any:
    """An array over the declared axes as a flat array in memory order."""
    return np.ascontiguousarray(values.transpose(list(order)) if order else values).reshape(-1)


def element_place(flat: int, shape: Sequence[int], order: Sequence[int], axes: Sequence[str]) -> str:
    """Where a flat place in memory lies, as `row 3, lane 7`."""
    memory = [shape[axis] for axis in order]
    if prod(memory) <= flat:
        return f"element {flat}"
    index = np.unravel_index(flat, memory) if memory else ()
    named = {order[d]: int(i) for d, i in enumerate(index)}
    return ", ".join(f"{axes[axis]} {named[axis]}" for axis in range(len(shape))) or "the only element"
