"""Built kernels on the Vulkan device: buffers that several of them share, timed chains of dependent dispatches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from specgen.devices.base import Artifact
from specgen.devices.vulkan.arguments import push_block
from specgen.devices.vulkan.device import VulkanDevice
from specgen.devices.vulkan.session import Pipeline
from specgen.devices.vulkan.uniform import BLOCK_BYTES, Blocks

TARGET = "vulkan1.3-sg32"


@dataclass(frozen=True)
class Step:
    """One dispatch of a sequence: the output folder of a spec, its entry point, scalars, and buffers by argument."""

    kernel: str
    scalars: Mapping[str, Any]
    buffers: Mapping[str, str]
    entry: str = "default"
    grid: tuple[int, int, int] | None = None


@dataclass
class Memory:
    """Named buffers on the device."""

    device: VulkanDevice
    held: dict[str, Any] = field(default_factory=dict)
    blocks: list[Blocks] = field(default_factory=list)

    def put(self, name: str, contents: np.ndarray) -> None:
        """A buffer with these contents."""
        session, data = self.device.session(), np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
        self.room(name, data.nbytes)
        staging = session.buffer(data.nbytes, host=True)
        staging.view[:] = data
        self._copied(lambda: session.copy(staging, self.held[name], data.nbytes))
        session.free(staging)

    def room(self, name: str, size: int) -> None:
        """A buffer of `size` bytes."""
        self.held[name] = self.device.session().buffer(size, host=False)

    def fill(self, name: str) -> None:
        """Poison: bytes of 0xFF, a NaN in every float."""
        buffer = self.held[name]
        staging = self.device.session().buffer(buffer.size, host=True)
        staging.view[:] = 0xFF
        self._copied(lambda: self.device.session().copy(staging, buffer, buffer.size))
        self.device.session().free(staging)

    def get(self, name: str, dtype: Any) -> np.ndarray:
        """A copy of a buffer's contents, flat."""
        session, buffer = self.device.session(), self.held[name]
        staging = session.buffer(buffer.size, host=True)
        self._copied(lambda: session.copy(buffer, staging, buffer.size))
        contents = staging.view.copy().view(dtype)
        session.free(staging)
        return contents

    def arguments(self, blocks: Sequence[bytes]) -> Blocks:
        """Argument blocks, which live as long as the buffers."""
        self.blocks.append(Blocks.of(self.device.session(), blocks, shared=self.device.memory_is_shared))
        return self.blocks[-1]

    def _copied(self, copy: Callable[[], None]) -> None:
        session = self.device.session()

        def body() -> None:
            session.barrier()
            copy()
            session.barrier()

        session.record(body)
        session.submit()

    def close(self) -> None:
        """Give the memory back."""
        for blocks in self.blocks:
            blocks.close()
        for buffer in self.held.values():
            self.device.session().free(buffer)
        self.blocks.clear()
        self.held.clear()


class Chain:
    """Steps that run one after the other, each after the end of the one before, with their arguments in a buffer."""

    def __init__(self, device: VulkanDevice, folder: Path, steps: Sequence[Step], memory: Memory) -> None:
        self._session = device.session()
        recorded = [_recorded(device, folder, step, memory) for step in steps]
        self._steps = [(pipeline, grid) for pipeline, grid, _ in recorded]
        self._blocks = memory.arguments([block for _, _, block in recorded])

    def sample(self, batch: int) -> float:
        """Seconds of one run of the sequence, over `batch` of them in one submission."""
        session = self._session

        def body() -> None:
            session.reset_stamps()
            session.barrier()
            session.stamp(0)
            for number, times in itertools.groupby([*range(len(self._steps))] * batch):
                pipeline, grid = self._steps[number]
                session.bind(pipeline)
                session.dispatch_each(pipeline, grid, self._blocks.set, [n * BLOCK_BYTES for n in times])
            session.stamp(1)

        session.record(body)
        session.submit()
        return session.intervals(1)[0] / batch


def _recorded(
    device: VulkanDevice, folder: Path, step: Step, memory: Memory
) -> tuple[Pipeline, tuple[int, int, int], bytes]:
    output = folder / step.kernel
    artifact = Artifact.read(output, json.loads((output / "manifest.json").read_text(encoding="utf-8")), TARGET)
    kernel = device.load(artifact, step.entry)
    addresses = {name: memory.held[buffer].address for name, buffer in step.buffers.items()}
    block = push_block(artifact.manifest["args"], step.scalars, addresses)
    return kernel.repeated, kernel.grid(step.scalars, step.grid), block
