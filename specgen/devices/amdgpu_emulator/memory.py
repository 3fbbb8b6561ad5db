"""Byte-addressed storage behind the address spaces: global buffers, workgroup memory and scratch.

`Space` gathers and scatters little-endian values at arrays of byte offsets, with masks; subclasses say which
offsets exist. A lane whose access is refused reads zero and stores nothing, and the reason is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = Any
"""`True` (all lanes) or a boolean array of the lanes' shape."""
Site = tuple[int, Any]
"""Instruction index and selection of waves, for reports."""
Report = Callable[[str, Site, Array, str], None]
"""Called with kind, site, boolean array of the faulting lanes and a detail."""

ADDRESS_BASE: Final = 0x7F00_0000_0000
"""Where the arena of global memory starts: beyond the 32-bit range, so that truncated pointers miss it."""
GUARD: Final = 1 << 20
"""Unmapped bytes before and behind each buffer. Untouched pages cost no memory."""

_UNSIGNED: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Space:
    """Bytes with a map of which were written; `valid` is None while every readable byte counts as written."""

    def __init__(self, size: int, report: Report, tracked: bool) -> None:
        padded = (size + 64 + 15) & ~15
        self.size = size
        self.bytes: Array = np.zeros(padded, np.uint8)
        self.valid: Array | None = np.zeros(padded, np.uint8) if tracked else None
        self._trusted = False
        """Whether the access just admitted goes to bytes that all count as written."""
        self._step = 1
        """Alignment in bytes that the access just admitted must have."""
        self._report = report
        self._views: dict[int, Array] = {}
        self._windows: dict[tuple[int, int], Array] = {}

    # -- what subclasses decide ---------------------------------------------------------------------------

    def admit(self, offsets: Array, mask: Mask, size: int, site: Site, write: bool) -> Mask:
        """Lanes of `mask` whose `size` bytes exist; reports the others."""
        raise NotImplementedError

    # -- element views ------------------------------------------------------------------------------------

    def _view(self, width: int) -> Array:
        if width not in self._views:
            self._views[width] = self.bytes.view(_UNSIGNED[width])
        return self._views[width]

    def _window(self, source: Array, width: int, count: int) -> Array:
        key = (id(source), count)
        if key not in self._windows:
            view = source.view(_UNSIGNED[width])
            shape = (view.size - count + 1, count)
            self._windows[key] = np.lib.stride_tricks.as_strided(view, shape, (width, width))
        return self._windows[key]

    # -- access -------------------------------------------------------------------------------------------

    def load(self, offsets: Array, mask: Mask, size: int, site: Site) -> Array:
        """`size` (1, 2 or a multiple of 4) bytes a lane as uint32 words of shape [..., max(1, size // 4)]."""
        mask = self.admit(offsets, mask, size, site, write=False)
        safe = offsets if mask is True else np.where(mask, offsets, 0)
        low_bits = self._low_bits(safe, mask, size, site)
        if self.valid is not None and not self._trusted:
            self._check_valid(safe, mask, size, site)
        words = self._gather(self.bytes, safe, size, low_bits)
        if mask is not True:
            words = np.where(mask[..., None], words, np.uint32(0))
        return words

    def _low_bits(self, offsets: Array, mask: Mask, size: int, site: Site) -> int:
        """The union of the offsets' bits, which tells the alignment of all; reports what is not aligned enough."""
        if size == 1 or not offsets.size:
            return 0
        low_bits = int(np.bitwise_or.reduce(offsets, axis=None))
        if low_bits & (self._step - 1):
            odd = (offsets & (self._step - 1) != 0) & mask
            detail = f"not a multiple of {self._step}: {self.describe(offsets, odd, size)}"
            self._report("misaligned", site, odd, detail)
        return low_bits

    def peek(self, offsets: Array, size: int) -> Array:
        """The word of up to four bytes at each offset, without any check."""
        return self._gather(self.bytes, offsets, size, int(np.bitwise_or.reduce(offsets, axis=None)))[..., 0]

    def _gather(self, source: Array, offsets: Array, size: int, low_bits: int) -> Array:
        width = min(size, 4)
        if low_bits & (width - 1):
            return self._gather_bytes(source, offsets, size)
        if size <= 4:
            view = self._view(width) if source is self.bytes else source.view(_UNSIGNED[width])
            index = offsets >> (width.bit_length() - 1)
            found = view.take(index)[..., None]
            return found if width == 4 else found.astype(np.uint32)
        return self._window(source, 4, size // 4)[offsets >> 2]

    @staticmethod
    def _gather_bytes(source: Array, offsets: Array, size: int) -> Array:
        raw = source[offsets[..., None] + np.arange(size)]
        if size < 4:
            wide = np.zeros((*offsets.shape, 4), np.uint8)
            wide[..., :size] = raw
            raw = wide
        return np.ascontiguousarray(raw).view(np.uint32)

    def store(self, offsets: Array, mask: Mask, size: int, words: list[Array], site: Site) -> None:
        """Write `size` bytes a lane from uint32 arrays; of several lanes at one address the last one wins."""
        mask = self.admit(offsets, mask, size, site, write=True)
        shape = offsets.shape
        if self._step > 1:
            self._low_bits(offsets if mask is True else np.where(mask, offsets, 0), mask, size, site)
        if mask is not True:
            offsets = offsets[mask]
            words = [np.broadcast_to(word, shape)[mask] for word in words]
        low_bits = int(np.bitwise_or.reduce(offsets, axis=None)) if size > 1 and offsets.size else 0
        self._scatter(offsets, size, words, low_bits)
        self._mark_valid(offsets, size)

    def _scatter(self, offsets: Array, size: int, words: list[Array], low_bits: int) -> None:
        width = min(size, 4)
        if low_bits & (width - 1):
            stacked = np.stack([np.broadcast_to(word, offsets.shape) for word in words], -1)
            self.bytes[offsets[..., None] + np.arange(size)] = stacked.view(np.uint8)[..., :size]
        elif size <= 4:
            self._view(width)[offsets >> (width.bit_length() - 1)] = words[0].astype(_UNSIGNED[width], copy=False)
        else:
            view, index = self._view(4), offsets >> 2
            for position, word in enumerate(words):
                view[index + position] = word

    def _check_valid(self, offsets: Array, mask: Mask, size: int, site: Site) -> None:
        assert self.valid is not None
        low_bits = int(np.bitwise_or.reduce(offsets, axis=None)) if size > 1 else 0
        known = self._gather(self.valid, offsets, size, low_bits)
        full = np.uint32({1: 0x01, 2: 0x0101}.get(size, 0x01010101))
        if (known == full).all():
            return
        missing = (known != full).any(-1) & mask
        if missing.any():
            self._report("unwritten-read", site, missing, self.describe(offsets, missing, size))

    def _mark_valid(self, offsets: Array, size: int) -> None:
        if self.valid is not None and offsets.size:
            for position in range(size):
                self.valid[offsets + position] = 1

    def describe(self, offsets: Array, lanes: Array, size: int) -> str:
        """Where the first of these lanes points, in words."""
        return f"{size} bytes at offset {int(np.broadcast_to(offsets, lanes.shape)[lanes][0])}"

    # -- atomics ------------------------------------------------------------------------------------------

    def atomic(
        self, offsets: Array, mask: Mask, width: int, combine: Callable[..., Array], lanes: list[Array], site: Site
    ) -> Array:
        """Read-modify-write of `width` (4 or 8) bytes, lane after lane; returns the old values (unsigned).

        `combine(old, *operands)` gives the new values; `lanes` are its operands, one array each.
        """
        shape = offsets.shape
        if width > 1:
            mask = self._natural(offsets, mask, width, site)
        mask = self.admit(offsets, mask, width, site, write=True)
        selected = np.broadcast_to(np.asarray(mask), shape)
        flat = offsets[selected]
        operands = [np.broadcast_to(lane, shape)[selected] for lane in lanes]
        view = self._view(width)
        index = flat >> (width.bit_length() - 1)
        if self.valid is not None and flat.size:
            self._check_valid(np.where(selected, offsets, flat[0]), selected, width, site)
        old = np.zeros(flat.shape, _UNSIGNED[width])
        pending = np.arange(flat.size)
        while pending.size:
            _, first = np.unique(index[pending], return_index=True)
            now = pending[first]
            old[now] = view[index[now]]
            view[index[now]] = combine(old[now], *(operand[now] for operand in operands))
            pending = np.delete(pending, first)
        self._mark_valid(flat, width)
        result = np.zeros(shape, _UNSIGNED[width])
        result[selected] = old
        return result

    def accumulate(self, offsets: Array, mask: Mask, ufunc: np.ufunc, value: Array, kind: Any, site: Site) -> None:
        """An atomic without a result: `ufunc` of memory (as dtype `kind`) and value, lane after lane."""
        shape, width = offsets.shape, np.dtype(kind).itemsize
        mask = self.admit(offsets, self._natural(offsets, mask, width, site), width, site, write=True)
        selected = np.broadcast_to(np.asarray(mask), shape)
        flat = offsets[selected]
        if self.valid is not None and flat.size:
            self._check_valid(np.where(selected, offsets, flat[0]), selected, width, site)
        ufunc.at(self.bytes.view(kind), flat >> (width.bit_length() - 1), np.broadcast_to(value, shape)[selected])

    def _natural(self, offsets: Array, mask: Mask, width: int, site: Site) -> Mask:
        odd = (offsets & (width - 1) != 0) & mask
        if odd.any():
            self._report("misaligned", site, odd, f"atomic of {width} bytes; {self.describe(offsets, odd, width)}")
            return np.broadcast_to(np.asarray(mask), offsets.shape) & ~odd
        return mask


@dataclass(frozen=True)
class Buffer:
    """A named range of the arena, in bytes; `item` is the element size that its accesses must be aligned to."""

    name: str
    start: int
    size: int
    item: int
    writable: bool = True
    """False for what a launch adds to the buffers of its caller: the argument segment and the code."""
    written: bool = True
    """Whether its contents count as written from the start."""

    @property
    def end(self) -> int:
        return self.start + self.size

    def distance(self, offset: int) -> int:
        """Bytes between the buffer and an offset beside it; 0 inside and at the edges."""
        return max(self.start - offset, offset - self.end, 0)


class Arena(Space):
    """Global memory: buffers with guard bytes between them. Offsets are addresses minus `ADDRESS_BASE`."""

    def __init__(self, items: list[tuple[str, bytes | Array, int, bool, bool]], report: Report, tracked: bool) -> None:
        """`items`: name, contents, element size, writable, written (false: its bytes count as unwritten)."""
        self.buffers: list[Buffer] = []
        top = GUARD
        for name, contents, item, writable, written in items:
            size = contents.nbytes if isinstance(contents, np.ndarray) else len(contents)
            self.buffers.append(Buffer(name, top, size, item, writable, written))
            top = (top + size + GUARD + 255) & ~255
        # A map of written bytes is kept only when some buffer starts unwritten.
        super().__init__(top, report, tracked and not all(item[4] for item in items))
        for buffer, (_, contents, _, _, written) in zip(self.buffers, items, strict=True):
            raw = np.frombuffer(contents.tobytes() if isinstance(contents, np.ndarray) else contents, np.uint8)
            self.bytes[buffer.start : buffer.end] = raw
            if written and self.valid is not None:
                self.valid[buffer.start : buffer.end] = 1
        self._starts = np.array([buffer.start for buffer in self.buffers], np.int64)
        self._ends = np.array([buffer.end for buffer in self.buffers], np.int64)
        self._last: dict[int, Buffer] = {}

    def address(self, name: str) -> int:
        """Device address of a buffer."""
        return ADDRESS_BASE + next(buffer.start for buffer in self.buffers if buffer.name == name)

    def contents(self, name: str) -> Array:
        """A copy of a buffer's bytes."""
        buffer = next(buffer for buffer in self.buffers if buffer.name == name)
        return self.bytes[buffer.start : buffer.end].copy()

    def admit(self, offsets: Array, mask: Mask, size: int, site: Site, write: bool) -> Mask:
        self._trusted, self._step = False, 1
        active = offsets if mask is True else offsets[np.broadcast_to(mask, offsets.shape)]
        if not active.size:
            return mask
        low, high = int(np.minimum.reduce(active, axis=None)), int(np.maximum.reduce(active, axis=None)) + size
        buffer = self._last.get(site[0])
        if buffer is None or low < buffer.start or high > buffer.end:
            buffer = next((b for b in self.buffers if b.start <= low and high <= b.end), None)
            if buffer is None:
                return self._admit_each(offsets, mask, size, site)
            self._last[site[0]] = buffer
        if write and not buffer.writable:
            return self._refuse(offsets, mask, np.ones(offsets.shape, bool), size, site, "store to read-only memory; ")
        self._trusted = buffer.written
        # The largest power of two that divides the element size (elements of 12 bytes need 4).
        self._step = min(size & -size, buffer.item & -buffer.item)
        return mask

    def _admit_each(self, offsets: Array, mask: Mask, size: int, site: Site) -> Mask:
        position = np.searchsorted(self._starts, offsets, side="right") - 1
        end = self._ends[position]
        return self._refuse(offsets, mask, (position < 0) | (offsets + size > end), size, site, "")

    def _refuse(self, offsets: Array, mask: Mask, bad: Array, size: int, site: Site, why: str) -> Mask:
        bad = bad & mask
        if not bad.any():
            return mask
        self._report("out-of-bounds", site, bad, why + self.describe(offsets, bad, size))
        return np.broadcast_to(np.asarray(mask), offsets.shape) & ~bad

    def describe(self, offsets: Array, lanes: Array, size: int) -> str:
        """Relative to the buffer that the access lies in or beside; an access further off than the guard between two
        buffers belongs to none, and is told by its address and how far the nearest buffer is."""
        offset = int(np.broadcast_to(offsets, lanes.shape)[lanes][0])
        inside = next((b for b in self.buffers if b.start <= offset < b.end), None)
        given = [b for b in self.buffers if b.writable]
        nearest = inside or min(given, key=lambda b: b.distance(offset), default=None)
        if nearest is not None and nearest.distance(offset) < GUARD:
            return f"{size} bytes at byte {offset - nearest.start} of buffer {nearest.name!r} ({nearest.size} bytes)"
        text = f"{size} bytes at address {ADDRESS_BASE + offset:#x}, where no buffer is"
        if nearest is None:
            return text
        side = "before the start" if offset < nearest.start else "behind the end"
        return (
            f"{text}: {nearest.distance(offset)} bytes {side} of the nearest, {nearest.name!r} ({nearest.size} bytes)"
        )


class Banked(Space):
    """Equal banks side by side: workgroup memory (a bank a workgroup) or scratch (a bank a lane)."""

    def __init__(self, name: str, banks: int, bank_size: int, report: Report, tracked: bool) -> None:
        self.name = name
        self.bank_size = bank_size
        self.stride = (bank_size + 15) & ~15
        super().__init__(banks * self.stride, report, tracked)

    def place(self, bank: Array, offsets: Array, mask: Mask, size: int, site: Site) -> tuple[Array, Mask]:
        """Flat offsets of int64 `offsets` inside `bank`, and the lanes that stay inside their bank."""
        active = offsets if mask is True else offsets[np.broadcast_to(mask, offsets.shape)]
        if active.size and (int(active.min()) < 0 or int(active.max()) + size > self.bank_size):
            bad = ((offsets < 0) | (offsets + size > self.bank_size)) & mask
            where = int(np.broadcast_to(offsets, bad.shape)[bad][0])
            detail = f"{size} bytes at byte {where} of {self.name} ({self.bank_size} bytes)"
            self._report("out-of-bounds", site, bad, detail)
            mask = np.broadcast_to(np.asarray(mask), offsets.shape) & ~bad
        return bank * self.stride + offsets, mask

    def admit(self, offsets: Array, mask: Mask, size: int, site: Site, write: bool) -> Mask:
        return mask

    def describe(self, offsets: Array, lanes: Array, size: int) -> str:
        offset = int(np.broadcast_to(offsets, lanes.shape)[lanes][0])
        return f"{size} bytes at byte {offset % self.stride} of {self.name}"
