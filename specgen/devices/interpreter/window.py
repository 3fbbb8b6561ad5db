"""Typed windows on buffers: elements are put together from those of the buffer, or cut out of one.

So a window needs no alignment in the interpreter's own storage, and every element of the buffer that is touched is
checked as the buffer's: its end, whether it was written, races.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from specgen.devices.interpreter.frame import Frame
from specgen.devices.interpreter.memory import Memory


class Window:
    """A flat memory of `dtype` over all bytes of a buffer; loads only."""

    def __init__(self, base: Memory, dtype: np.dtype[Any]) -> None:
        total: Any = 1
        for extent in base.extents:
            total = total * extent
        self.flat = replace(base, axes=("element",), extents=[total], promise=None)
        self.data = np.empty(0, dtype)
        self.strides = [1]

    def element(self, index: Sequence[Any], place: tuple[int, ...]) -> str:
        """`name[i]` at a position, in elements of the window."""
        return self.flat.element(index, place)

    def load(self, index: Sequence[Any], frame: Frame, where: str, lanes: Any = None) -> Any:
        """The elements at `index`; poison where illegal. `lanes` masks elements that are not read."""
        (at,) = index
        at = np.asarray(at)
        dtype, own = self.data.dtype, self.flat.data.dtype
        parts = dtype.itemsize // own.itemsize
        if parts:
            found = [self.flat.load([at * parts + n], frame, where, lanes) for n in range(parts)]
            together = np.ascontiguousarray(np.stack(np.broadcast_arrays(*found), axis=-1))
            return together.view(dtype)[..., 0]
        pieces = own.itemsize // dtype.itemsize
        whole = np.ascontiguousarray(self.flat.load([at // pieces], frame, where, lanes))
        cut = whole.reshape(*whole.shape, 1).view(dtype)
        number = np.broadcast_to(at % pieces, whole.shape)[..., None]
        return np.take_along_axis(cut, number, axis=-1)[..., 0]
