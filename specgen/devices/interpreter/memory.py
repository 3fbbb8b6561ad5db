"""Buffers, workgroup memory and private memory with their checks: bounds, backing, unwritten reads, races."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Frame, at

MANY = -1
"""In a reader column: several work-items of one workgroup."""
SPREAD = -2
"""In a reader column: work-items of several workgroups."""


class RaceTracker:
    """Who touched an element last, and since which barrier; 0 is nobody, work-items count from 1.

    `between_groups`: workgroups share the memory, and no barrier orders one against another.
    """

    def __init__(self, size: int, items: int, between_groups: bool) -> None:
        self.items = items
        self.between_groups = between_groups
        self.writer, self.reader, self.atomic = (np.zeros(size, np.int64) for _ in range(3))
        self.write_epoch, self.read_epoch, self.atomic_epoch = (np.zeros(size, np.int32) for _ in range(3))

    def _clashes(self, who: Any, since: Any, item: Any, epoch: Any) -> Any:
        """Whether an access by `who` at barrier `since` is unordered with one by `item` at `epoch`."""
        unordered = since == epoch
        if self.between_groups:
            unordered = unordered | (who == SPREAD) | ((who > 0) & self._foreign(who, item))
        return (who != 0) & (who != item) & unordered

    def _foreign(self, who: Any, item: Any) -> Any:
        return (who - 1) // self.items != (item - 1) // self.items

    def read(self, place: Any, item: Any, epoch: Any) -> Any:
        """Record plain reads; returns where they race with a write or an atomic."""
        race = self._clashes(self.writer[place], self.write_epoch[place], item, epoch)
        race |= self._clashes(self.atomic[place], self.atomic_epoch[place], item, epoch)
        self._mark(self.reader, self.read_epoch, place, item, epoch)
        return race

    def _mark(self, column: Any, since: Any, place: Any, item: Any, epoch: Any) -> None:
        old = column[place]
        stale = (old == 0) | (since[place] != epoch)
        if self.between_groups:
            # A read by another workgroup is never ordered: it must not be forgotten at a barrier.
            foreign = (old > 0) & self._foreign(old, item)
            new = np.where(foreign | (old == SPREAD), SPREAD, np.where(stale | (old == item), item, MANY))
        else:
            new = np.where(stale | (old == item), item, MANY)
        column[place] = new
        since[place] = epoch
        lost = (column[place] != new) & (column[place] > 0)
        if np.any(lost):
            again = column[place]
            both = SPREAD if self.between_groups and np.any(self._foreign(again, item)[lost]) else MANY
            column[place[lost]] = both

    def write(self, place: Any, item: Any, epoch: Any, changes: Any) -> Any:
        """Record plain writes; returns where they race.

        Two writes race when the later `changes` the bits; a write races with any unordered read or atomic.
        """
        race = self._clashes(self.writer[place], self.write_epoch[place], item, epoch) & changes
        race |= self._clashes(self.reader[place], self.read_epoch[place], item, epoch)
        race |= self._clashes(self.atomic[place], self.atomic_epoch[place], item, epoch)
        self.writer[place] = item
        self.write_epoch[place] = epoch
        return race

    def update(self, place: Any, item: Any, epoch: Any) -> Any:
        """Record atomic updates; returns where they race with a plain access."""
        race = self._clashes(self.writer[place], self.write_epoch[place], item, epoch)
        race |= self._clashes(self.reader[place], self.read_epoch[place], item, epoch)
        self._mark(self.atomic, self.atomic_epoch, place, item, epoch)
        return race


@dataclass
class Memory:
    """One memref as the steps of a frame see it.

    `data` holds all instances (launches, workgroups or work-items) one after another; `base` is where the
    instance of a lane starts (broadcasts to `[rows, items]`); `extents` has a number or a `[rows, 1]` array an
    axis; `backed` counts the elements of an instance that exist.
    """

    name: str
    axes: tuple[str, ...]
    data: Any
    extents: list[Any]
    base: Any = 0
    backed: Any = 0
    written: Any = None
    tracker: RaceTracker | None = None
    promise: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not len(self.data):
            self.data = np.full(1, numerics.poison(self.data.dtype))
        self.poison = numerics.poison(self.data.dtype)
        self.set_extents(self.extents)

    def set_extents(self, extents: Sequence[Any]) -> None:
        """The extents, slow to fast; strides are packed."""
        self.extents = list(extents)
        stride: Any = 1
        strides = []
        for extent in reversed(self.extents):
            strides.append(stride)
            stride = stride * extent
        self.strides = strides[::-1]
        self.short = bool(np.any(np.asarray(self.backed) < stride))

    def locate(self, index: Sequence[Any], frame: Frame, where: str, lanes: Any, verb: str) -> tuple[Any, Any]:
        """`(linear, bad)`: flat places (0 where outside) and where they are illegal (None: nowhere).

        `lanes` is None or a mask of elements that are touched at all.
        """
        offset: Any = 0
        outside: Any = None
        for axis, (i, extent, stride) in enumerate(zip(index, self.extents, self.strides, strict=True)):
            out = _beyond(i, extent)
            if out is not None:
                self._report_axis(frame, where, lanes, verb, index, axis, out)
                outside = out if outside is None else outside | out
            step = i if type(stride) is int and stride == 1 else i * stride
            offset = step if type(offset) is int else offset + step
        offset = np.int64(0) if type(offset) is int else offset
        if self.short:
            out = _beyond(offset, self.backed)
            if out is not None:
                self._report_backing(frame, where, lanes, verb, index, out if outside is None else out & ~outside)
                outside = out if outside is None else outside | out
        linear = offset if type(self.base) is int else offset + self.base
        if outside is not None:
            linear = np.where(outside, 0, linear)
        return linear, outside

    def _report_axis(
        self, frame: Frame, where: str, lanes: Any, verb: str, index: Sequence[Any], axis: int, out: Any
    ) -> None:
        def detail(place: tuple[int, ...]) -> str:
            name = self.axes[axis] if axis < len(self.axes) else str(axis)
            extent = at(self.extents[axis], place)
            return f"{verb} {self.element(index, place)}: axis {name} has {extent} elements"

        frame.report("out-of-bounds", where, out if lanes is None else out & lanes, detail)

    def _report_backing(self, frame: Frame, where: str, lanes: Any, verb: str, index: Sequence[Any], out: Any) -> None:
        def detail(place: tuple[int, ...]) -> str:
            return f"{verb} {self.element(index, place)}: only {at(self.backed, place)} elements are backed"

        frame.report("out-of-bounds", where, out if lanes is None else out & lanes, detail)

    def element(self, index: Sequence[Any], place: tuple[int, ...]) -> str:
        """`name[i, j]` at a position."""
        return f"{self.name}[{', '.join(str(int(at(i, place))) for i in index)}]"

    def load(self, index: Sequence[Any], frame: Frame, where: str, lanes: Any = None) -> Any:
        """The elements at `index`; poison where illegal. `lanes` masks elements that are not read."""
        linear, bad = self.locate(index, frame, where, lanes, "load of")
        value = self.data.take(linear)
        if self.written is not None or self.tracker is not None or self.promise is not None:
            value = self._check_load(index, linear, value, frame, where, _and(lanes, bad))
        return value if bad is None else np.where(bad, self.poison, value)

    def _check_load(
        self,
        index: Sequence[Any],
        linear: Any,
        value: Any,
        frame: Frame,
        where: str,
        lanes: Any,
        *,
        atomic: bool = False,
    ) -> Any:
        """`atomic`: the read half of an update, which races only as the update does."""
        fresh: Any = None
        if self.written is not None:
            fresh = ~self.written.take(linear)
            fresh = fresh if np.count_nonzero(fresh) else None
        if fresh is not None:
            frame.report(
                "unwritten-read",
                where,
                fresh if lanes is None else fresh & lanes,
                lambda place: f"load of {self.element(index, place)}, which nothing has written",
            )
        if self.tracker is not None and not atomic:
            self._track(self.tracker.read, index, linear, frame, where, lanes, "load of")
        if self.promise is not None:
            self._check_promise(index, value, frame, where, lanes)
        return value if fresh is None else np.where(fresh, self.poison, value)

    def _check_promise(self, index: Sequence[Any], value: Any, frame: Frame, where: str, lanes: Any) -> None:
        low, high = self.promise or (0, 0)
        out = ~((value >= low) & (value <= high))
        if np.count_nonzero(out):
            frame.report(
                "broken-assumption",
                where,
                out if lanes is None else out & lanes,
                lambda place: f"{self.element(index, place)} is {at(value, place)}, promised [{low}, {high}]",
            )

    def store(self, index: Sequence[Any], value: Any, frame: Frame, where: str, lanes: Any = None) -> None:
        """Store `value` at `index` for the active lanes; what is illegal is dropped."""
        linear, bad = self.locate(index, frame, where, lanes, "store to")
        touched = _and(_both(lanes, frame.mask), bad)
        shape = np.broadcast_shapes(np.shape(linear), np.shape(value), frame.shape, np.shape(touched))
        places, values = np.broadcast_to(linear, shape), np.broadcast_to(value, shape)
        if touched is not None:
            touched = np.broadcast_to(touched, shape)
            places, values = places[touched], values[touched]
        else:
            places, values = places.reshape(-1), values.reshape(-1)
        if self.tracker is None:
            self.data[places] = values
        else:
            self._tracked_store(index, places, values, frame, where, touched, shape)
        if self.written is not None:
            self.written[places] = True

    def _tracked_store(
        self, index: Sequence[Any], places: Any, values: Any, frame: Frame, where: str, touched: Any, shape: Any
    ) -> None:
        tracker = self.tracker
        assert tracker is not None
        item, epoch = self._who(frame, shape, touched)
        race = tracker.write(places, item, epoch, _bits(self.data[places]) != _bits(values))
        self.data[places] = values
        # Two lanes of this very store: the one that lost finds another's value.
        race |= (tracker.writer[places] != item) & (_bits(self.data[places]) != _bits(values))
        self._report_race(index, race, frame, where, touched, shape, "store to")

    def _who(self, frame: Frame, shape: Any, touched: Any) -> tuple[Any, Any]:
        epochs = frame.global_epoch if self.tracker and self.tracker.between_groups else frame.epoch
        item, epoch = np.broadcast_to(frame.item_numbers, shape), np.broadcast_to(epochs, shape)
        if touched is None:
            return item.reshape(-1), epoch.reshape(-1)
        return item[touched], epoch[touched]

    def _track(
        self, record: Any, index: Sequence[Any], linear: Any, frame: Frame, where: str, lanes: Any, verb: str
    ) -> None:
        touched = _both(lanes, frame.mask)
        shape = np.broadcast_shapes(np.shape(linear), frame.shape, np.shape(touched))
        places = np.broadcast_to(linear, shape)
        if touched is not None:
            touched = np.broadcast_to(touched, shape)
        item, epoch = self._who(frame, shape, touched)
        race = record(places.reshape(-1) if touched is None else places[touched], item, epoch)
        self._report_race(index, race, frame, where, touched, shape, verb)

    def _report_race(
        self, index: Sequence[Any], race: Any, frame: Frame, where: str, touched: Any, shape: Any, verb: str
    ) -> None:
        if not np.count_nonzero(race):
            return
        where_bad = np.zeros(shape, bool)
        if touched is None:
            where_bad = race.reshape(shape)
        else:
            where_bad[touched] = race
        frame.report(
            "race",
            where,
            where_bad,
            lambda place: f"{verb} {self.element(index, place)}, which another work-item touches without a barrier",
        )

    def update(self, index: Sequence[Any], value: Any, combine: Any, frame: Frame, where: str) -> Any:
        """Atomic update in ascending order of work-items; returns the values before (poison where illegal)."""
        linear, bad = self.locate(index, frame, where, None, "atomic on")
        touched = _and(frame.mask, bad)
        if self.written is not None:
            self._check_load(index, linear, self.data.take(linear), frame, where, _and(None, bad), atomic=True)
        if self.tracker is not None:
            self._track(self.tracker.update, index, linear, frame, where, _and(None, bad), "atomic on")
        active = np.broadcast_to(np.True_ if touched is None else touched, frame.shape)
        places = np.broadcast_to(linear, frame.shape)[active]
        values = np.broadcast_to(value, frame.shape)[active]
        old = np.full(frame.shape, self.poison)
        old[active] = _serial_update(self.data, places, values, combine)
        return old


def _serial_update(data: Any, places: Any, values: Any, combine: Any) -> Any:
    """Apply updates in order; those to distinct places go side by side."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(ordered)), 0)) if len(ordered) else ordered
    rank = np.empty(len(places), np.int64)
    rank[order] = np.arange(len(ordered)) - first
    by_rank = np.argsort(rank, kind="stable")
    counts = np.bincount(rank)
    old = np.empty(len(places), data.dtype)
    begin = 0
    for count in counts:
        chosen = by_rank[begin : begin + count]
        begin += count
        old[chosen] = data[places[chosen]]
        data[places[chosen]] = combine(old[chosen], values[chosen])
    return old


def _beyond(i: Any, extent: Any) -> Any:
    """Where `i` is outside [0, extent); None when nowhere."""
    if np.ndim(i) == 0 and type(extent) is int:
        return None if 0 <= i < extent else np.True_
    out = np.asarray(i).view(np.uint64) >= (extent if type(extent) is int else np.asarray(extent).astype(np.uint64))
    return out if np.count_nonzero(out) else None


def _both(a: Any, b: Any) -> Any:
    return b if a is None else (a if b is None else a & b)


def _and(lanes: Any, bad: Any) -> Any:
    """`lanes` without the illegal ones."""
    if bad is None:
        return lanes
    return ~bad if lanes is None else lanes & ~bad


def _bits(x: Any) -> Any:
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")
