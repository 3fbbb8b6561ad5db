"""Arguments of a launch: where buffers lie in one allocation, and the bytes of the block that the kernel reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specgen.devices.base import Arguments, DeviceError

GUARD_BYTES = 4096
GUARD_PATTERN = b"\xfd\xff"
"""NaN in f16, bf16, f32 and f64; negative in integers."""

CLOSEST_ALIGNMENT = 256
"""Buffers that are timed start at multiples of this; it is what drivers give."""

FORMATS = {
    "index": "q",
    "i64": "q",
    "u64": "Q",
    "i32": "i",
    "u32": "I",
    "i16": "h",
    "u16": "H",
    "i8": "b",
    "u8": "B",
    "bool": "?",
    "f64": "d",
    "f32": "f",
    "f16": "e",
    "bf16": "H",
}
"""struct's format characters by argument type."""


@dataclass(frozen=True)
class Slot:
    """A buffer's bytes in the allocation."""

    name: str
    start: int
    size: int


@dataclass(frozen=True)
class Layout:
    """Buffers between guards: bytes `begin` to `end` of an allocation."""

    slots: tuple[Slot, ...]
    begin: int
    end: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], args: Arguments, begin: int, *, exact: bool) -> Layout:
        """Place the buffers of a launch from `begin` (a multiple of 256) on.

        `exact`: a buffer starts at a multiple of its promised alignment and of no more than that, so that code which
        assumes more shows. Raises `DeviceError` for a missing argument.
        """
        slots = []
        at = begin
        for row in rows:
            if row["kind"] != "buffer":
                continue
            if row["name"] not in args:
                raise DeviceError(f"argument {row['name']} is missing")
            start = -(-(at + GUARD_BYTES) // CLOSEST_ALIGNMENT) * CLOSEST_ALIGNMENT
            if exact and row["align"] < CLOSEST_ALIGNMENT:
                start += row["align"]
            size = int(args[row["name"]].nbytes)
            slots.append(Slot(row["name"], start, size))
            at = start + size
        end = -(-(at + GUARD_BYTES) // CLOSEST_ALIGNMENT) * CLOSEST_ALIGNMENT
        return cls(tuple(slots), begin, end)

    def addresses(self, base: int) -> dict[str, int]:
        """The buffers' addresses in an allocation at `base`."""
        return {slot.name: base + slot.start for slot in self.slots}

    def fill(self, host: Any, args: Arguments) -> None:
        """Write guards and contents into the allocation's bytes."""
        import numpy as np

        host[self.begin : self.end].reshape(-1, 2)[:] = np.frombuffer(GUARD_PATTERN, np.uint8)
        for slot in self.slots:
            host[slot.start : slot.start + slot.size] = _bytes(args[slot.name])

    def contents(self, host: Any, name: str, dtype: Any) -> Any:
        """A copy of a buffer."""
        slot = next(s for s in self.slots if s.name == name)
        return host[slot.start : slot.start + slot.size].copy().view(dtype)

    def differs(self, host: Any, name: str, args: Arguments) -> bool:
        """Whether a buffer no longer holds what was given."""
        slot = next(s for s in self.slots if s.name == name)
        return bool((host[slot.start : slot.start + slot.size] != _bytes(args[name])).any())

    def broken_guards(self, host: Any) -> Iterator[tuple[str, str, int]]:
        """Changed guards: the nearest buffer, "before" or "behind" it, and how far off the first changed byte is."""
        import numpy as np

        pattern = np.frombuffer(GUARD_PATTERN, np.uint8)
        edges = [self.begin, *(edge for s in self.slots for edge in (s.start, s.start + s.size)), self.end]
        for number in range(0, len(edges), 2):
            low, high = edges[number], edges[number + 1]
            wanted = pattern[(np.arange(low, high) - self.begin) % 2]
            wrong = np.nonzero(host[low:high] != wanted)[0]
            if not len(wrong):
                continue
            before, behind = number // 2, number // 2 - 1
            to_next, from_last = high - low - int(wrong[-1]), int(wrong[0]) + 1
            if behind >= 0 and (before >= len(self.slots) or from_last <= to_next):
                yield self.slots[behind].name, "behind the end of", from_last
            else:
                yield self.slots[before].name, "before the start of", high - low - int(wrong[0])


def _bytes(array: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def places(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The byte of the argument block at which each argument starts: in declaration order, naturally aligned."""
    found, end = {}, 0
    for row in rows:
        size = 8 if row["kind"] == "buffer" else struct.calcsize("<" + FORMATS[row["type"]])
        found[row["name"]] = -(-end // size) * size
        end = found[row["name"]] + size
    return found


def push_block(rows: Sequence[Mapping[str, Any]], args: Arguments, addresses: Mapping[str, int]) -> bytes:
    """The argument block, rounded up to words: the push constants of a dispatch."""
    block, starts = b"", places(rows)
    for row in rows:
        name = row["name"]
        if row["kind"] == "buffer":
            value = struct.pack("<Q", addresses[name])
        else:
            if name not in args:
                raise DeviceError(f"argument {name} is missing")
            value = scalar_bytes(name, row["type"], args[name])
        block = block.ljust(starts[name], b"\0") + value
    return block + b"\0" * (-len(block) % 4)


def scalar_bytes(name: str, type_: str, value: Any) -> bytes:
    """A scalar as its type stores it. Raises `DeviceError` when it does not fit."""
    if type_ == "bf16":
        import ml_dtypes
        import numpy as np

        value = int(np.asarray(value, ml_dtypes.bfloat16).view(np.uint16))
    elif type_ == "bool":
        value = bool(value)
    elif type_ in ("f64", "f32", "f16"):
        value = float(value)
    else:
        value = int(value)
    try:
        return struct.pack("<" + FORMATS[type_], value)
    except (struct.error, OverflowError) as error:
        raise DeviceError(f"argument {name}: {value} is no {type_}") from error
