"""Timing with timestamp queries: a sample is a batch of dependent dispatches in one submission."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from specgen.devices.base import Arguments, DeviceError, Grid, Timing, TimingPlan
from specgen.devices.vulkan.arguments import Layout, push_block

if TYPE_CHECKING:
    from specgen.devices.vulkan.device import VulkanKernel

CLOCK = "Vulkan timestamps"


class Prepared:
    """A kernel with its arguments on the device; `sample` may be called in turns with another kernel's.

    Buffers have memory of their own until `close`. `sets` copies of the arguments are visited in turn, so that a
    dispatch does not find its inputs in a cache that the sets together exceed.
    """

    def __init__(self, kernel: VulkanKernel, args: Arguments, grid: Grid | None = None, sets: int = 1) -> None:
        session = kernel.device.session()
        if not session.limits.timestamp_seconds:
            raise DeviceError(f"the compute queue of {session.limits.name} has no timestamps")
        self._kernel, self._session = kernel, session
        self._grid = kernel.grid(args, grid)
        rows = kernel.artifact.manifest["args"]
        layout = Layout.of(rows, args, 0, exact=False)
        self._buffer = session.buffer(sets * layout.end, host=kernel.device.memory_is_shared)
        staging = self._buffer if kernel.device.memory_is_shared else session.buffer(layout.end, host=True)
        layout.fill(staging.view, args)
        if staging is not self._buffer:
            session.record(lambda: self._spread(staging, layout.end, sets))
            session.submit()
            session.free(staging)
        else:
            for number in range(1, sets):
                staging.view[number * layout.end : (number + 1) * layout.end] = staging.view[: layout.end]
        places = [self._buffer.address + number * layout.end for number in range(sets)]
        self._pushes = [push_block(rows, args, layout.addresses(place)) for place in places]
        self._turn = 0

    def _spread(self, staging: object, size: int, sets: int) -> None:
        for number in range(sets):
            self._session.copy(staging, self._buffer, size, number * size)  # type: ignore[arg-type]
        self._session.barrier()

    def sample(self, batch: int) -> float:
        """Seconds of one dispatch: `batch` dispatches, each after the end of the one before."""
        session = self._session
        turns = [(self._turn + n) % len(self._pushes) for n in range(batch)]
        self._turn = (self._turn + batch) % len(self._pushes)

        def body() -> None:
            session.reset_stamps()
            session.barrier()
            session.stamp(0)
            for turn in turns:
                if 0 not in self._grid:
                    session.dispatch(self._kernel.pipeline, self._pushes[turn], self._grid)
                session.between_dispatches()
            session.stamp(1)

        session.record(body)
        session.submit()
        return session.seconds() / batch

    def close(self) -> None:
        """Give the memory back."""
        self._session.free(self._buffer)


def measure(kernel: VulkanKernel, args: Arguments, plan: TimingPlan) -> Timing:
    """The samples of a plan, after running for its warm-up time."""
    prepared = Prepared(kernel, args)
    try:
        _warm_up(lambda: prepared.sample(plan.batch), plan.warmup_seconds)
        return Timing(tuple(prepared.sample(plan.batch) for _ in range(plan.iterations)), CLOCK)
    finally:
        prepared.close()


def _warm_up(run: Callable[[], object], seconds: float) -> None:
    until = time.perf_counter() + seconds
    run()
    while time.perf_counter() < until:
        run()
