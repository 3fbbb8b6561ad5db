"""Timing with timestamp queries: batches of dependent dispatches in one submission, a timestamp between batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from specgen.devices.base import Arguments, DeviceError, Grid, Timing, TimingPlan
from specgen.devices.vulkan.arguments import CLOSEST_ALIGNMENT, Layout, Slot, places, push_block
from specgen.devices.vulkan.session import STAMPS
from specgen.devices.vulkan.uniform import BLOCK_BYTES, BLOCKS_AT_ONCE, Blocks

if TYPE_CHECKING:
    from specgen.devices.vulkan.device import VulkanDevice, VulkanKernel
    from specgen.devices.vulkan.session import Buffer, Session

CLOCK = "Vulkan timestamps"
LARGEST_RING = 1 << 30
"""Bytes: what every Vulkan 1.3 device lets one allocation have at least (maxMemoryAllocationSize)."""
LARGEST_GAP = 4096


def packed(rows: Sequence[Mapping[str, Any]], args: Arguments) -> Layout:
    """Buffers one behind the other, apart by a sixteenth of their size or a page, whichever is less: those whose
    sizes are powers of two would otherwise share the sets of a cache. Raises `DeviceError` for a missing argument."""
    slots: list[Slot] = []
    at = 0
    for row in rows:
        if row["kind"] == "buffer":
            if row["name"] not in args:
                raise DeviceError(f"argument {row['name']} is missing")
            size = int(args[row["name"]].nbytes)
            slots.append(Slot(row["name"], at, size))
            at = _aligned(at + size + min(LARGEST_GAP, size // 16))
    return Layout(tuple(slots), 0, max(at, CLOSEST_ALIGNMENT))


def _aligned(place: int) -> int:
    return -(-place // CLOSEST_ALIGNMENT) * CLOSEST_ALIGNMENT


class Ring:
    """Copies of one set of arguments in the device's memory, visited in turn by the kernels that share them.

    A dispatch does not find its set in a cache that the sets together exceed. There are `sets` of them, less where
    they would take more than `LARGEST_RING` bytes.
    """

    def __init__(self, device: VulkanDevice, rows: Sequence[Mapping[str, Any]], args: Arguments, sets: int = 1) -> None:
        self._session = device.session()
        if not self._session.limits.timestamp_seconds:
            raise DeviceError(f"the compute queue of {self._session.limits.name} has no timestamps")
        self._rows, self._args = rows, args
        self._layout = packed(rows, args)
        self._size = self._layout.end
        self.sets = max(1, min(sets, LARGEST_RING // self._size))
        shared = device.memory_is_shared
        self._buffer = self._session.buffer(self.sets * self._size, host=shared)
        self._fill(shared)
        self.blocks = Blocks(self._session, self.sets, shared=shared)
        self._written: set[int] = set()
        self._turn = 0

    def _fill(self, shared: bool) -> None:
        """One set from the host; then what is filled is copied behind itself, twice as much each time."""
        session, size, whole = self._session, self._size, self.sets * self._size
        first = self._buffer if shared else session.buffer(size, host=True)
        self._layout.fill(first.view, self._args)
        steps = [(done, min(done, whole - done)) for done in (size << n for n in range(64)) if done < whole]
        if shared:
            for done, count in steps:
                first.view[done : done + count] = first.view[:count]
            return

        def body() -> None:
            session.copy(first, self._buffer, size)
            for done, count in steps:
                session.barrier()
                session.copy(self._buffer, self._buffer, count, done)
            session.barrier()

        session.record(body)
        session.submit()
        session.free(first)

    def _write_blocks(self, begin: int) -> None:
        """The arguments of `BLOCKS_AT_ONCE` sets: those of the first set, with addresses that go up by a set's size."""
        import numpy as np

        block = push_block(self._rows, self._args, self._layout.addresses(self._buffer.address))
        first = np.frombuffer(block.ljust(BLOCK_BYTES, b"\0"), np.uint8)
        starts = places(self._rows)
        numbers = np.arange(begin, min(begin + BLOCKS_AT_ONCE, self.sets), dtype=np.uint64)
        made = np.tile(first, (len(numbers), 1))
        for slot in self._layout.slots:
            field = made[:, starts[slot.name] : starts[slot.name] + 8]
            field[:] = (field.copy().view("<u8")[:, 0] + numbers * np.uint64(self._size))[:, None].view(np.uint8)
        self.blocks.write(begin, made)

    def turns(self, count: int) -> list[int]:
        """The sets of the next `count` dispatches; their arguments are written where they are not yet, so nothing may
        be being recorded."""
        first = self._turn
        self._turn = (first + count) % self.sets
        numbers = [(first + n) % self.sets for n in range(count)]
        for begin in sorted({n - n % BLOCKS_AT_ONCE for n in numbers} - self._written):
            self._write_blocks(begin)
            self._written.add(begin)
        return numbers

    def contents(self, number: int, name: str, dtype: Any) -> Any:
        """A copy of a buffer of a set as it is now."""
        session, start = self._session, number * self._size
        if self._buffer.view is not None:
            return self._layout.contents(self._buffer.view[start : start + self._size], name, dtype)
        back = session.buffer(self._size, host=True)
        session.record(lambda: self._download(back, start))
        session.submit()
        copied = self._layout.contents(back.view, name, dtype)
        session.free(back)
        return copied

    def _download(self, back: Buffer, start: int) -> None:
        self._session.barrier()
        self._session.copy_from(self._buffer, start, back, self._size)
        self._session.barrier()

    def close(self) -> None:
        """Give the memory back."""
        self.blocks.close()
        self._session.free(self._buffer)


class Prepared:
    """A kernel with arguments on the device; `samples` may be called in turns with another kernel's.

    Without a `ring` to share it has one of its own of `sets` sets, which `close` gives back.
    """

    def __init__(
        self, kernel: VulkanKernel, args: Arguments, grid: Grid | None = None, sets: int = 1, ring: Ring | None = None
    ) -> None:
        self._pipeline = kernel.repeated
        self._session: Session = kernel.device.session()
        self._grid = kernel.grid(args, grid)
        self._own = Ring(kernel.device, kernel.artifact.manifest["args"], args, sets) if ring is None else None
        self.ring: Ring = ring or self._own  # type: ignore[assignment]

    def samples(self, batch: int, count: int) -> list[float]:
        """Seconds of one dispatch for each of `count` batches (below `STAMPS`) of one submission.

        A batch is `batch` dispatches, each after the end of the one before; one global memory barrier from compute to
        compute lies between them, the pipeline is bound once, and each finds its arguments in a uniform buffer.
        """
        if not 0 < count < STAMPS:
            raise ValueError(f"1 to {STAMPS - 1} batches a submission, not {count}")
        session, pipeline, blocks = self._session, self._pipeline, self.ring.blocks.set
        batches = [[turn * BLOCK_BYTES for turn in self.ring.turns(batch)] for _ in range(count)]

        def body() -> None:
            session.reset_stamps()
            session.barrier()
            session.bind(pipeline)
            session.stamp(0)
            for number, starts in enumerate(batches):
                session.dispatch_each(pipeline, self._grid, blocks, starts if 0 not in self._grid else ())
                session.stamp(number + 1)

        session.record(body)
        session.submit()
        return [seconds / batch for seconds in session.intervals(count)]

    def sample(self, batch: int) -> float:
        """Seconds of one dispatch: one batch."""
        return self.samples(batch, 1)[0]

    def close(self) -> None:
        """Give the memory back."""
        if self._own is not None:
            self._own.close()


def measure(kernel: VulkanKernel, args: Arguments, plan: TimingPlan) -> Timing:
    """The samples of a plan, after running for its warm-up time."""
    prepared = Prepared(kernel, args)
    try:
        warm_up(lambda: prepared.sample(plan.batch), plan.warmup_seconds)
        return Timing(tuple(prepared.sample(plan.batch) for _ in range(plan.iterations)), CLOCK)
    finally:
        prepared.close()


def warm_up(run: Callable[[], object], seconds: float) -> None:
    """Call `run` at least once and until `seconds` have passed, so that clocks rise."""
    until = time.perf_counter() + seconds
    run()
    while time.perf_counter() < until:
        run()
