"""The device of a run: opened once, its pipelines, its clocks, and the built-in kernels on it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specgen import devices
from specgen.bench import clocks, kernels
from specgen.bench.options import Request, UsageError
from specgen.bench.rounds import KernelTimer, Timer
from specgen.devices.base import Arguments, Artifact, Device, DeviceError, Kernel

HOW_TO_GET = {
    "vulkan": "install a Vulkan driver, or Mesa's for the CPU (Debian: mesa-vulkan-drivers); see specgen devices",
    "hip": "install ROCm and hip-python on a machine with an AMD GPU; see specgen devices",
}


@dataclass
class Inputs:
    """Sets of one case's arguments on the device, and how timers over them are made."""

    machine: Machine
    rows: Sequence[Mapping[str, Any]]
    args: Arguments
    set_bytes: int
    wanted: int
    ring: Any = None

    @property
    def sets(self) -> int:
        """Input sets that are visited in turn."""
        return 1 if self.ring is None else self.ring.sets

    def timer(self, kernel: Kernel) -> Timer:
        """A kernel that runs on these sets."""
        if self.ring is None:
            return KernelTimer(kernel, self.args)
        from specgen.devices.vulkan.timing import Prepared

        return Prepared(kernel, self.args, ring=self.ring)  # type: ignore[arg-type]

    def close(self) -> None:
        """Give the memory back."""
        if self.ring is not None:
            self.ring.close()
            self.ring = None


class AbsentError(UsageError):
    """The device is not there."""


@dataclass
class Machine:
    """A device that is open. Raises `AbsentError` when there is none."""

    request: Request
    device: Device = field(init=False)
    _kernels: dict[tuple[int, str], Kernel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = self.request.device
        self.device = devices.open(name)
        try:
            reason = self.device.available()
        except (DeviceError, ImportError) as error:
            reason = str(error)
        if reason is not None:
            raise AbsentError(f"device {name} is not available: {reason}", HOW_TO_GET[name])
        self.ring_bytes, self.ring_source = clocks.ring_bytes(self.kind, self.request.ring)

    @property
    def limits(self) -> Any:
        """Limits of a Vulkan device; None for others."""
        session = getattr(self.device, "session", None)
        return None if session is None else session().limits

    @property
    def kind(self) -> str:
        """discrete, integrated, virtual, cpu or other."""
        return str(getattr(self.limits, "type", "discrete"))

    @property
    def name(self) -> str:
        """Name of the hardware."""
        return str(self.limits.name if self.limits is not None else self.device.facts().name)

    @property
    def clock(self) -> str:
        """The clock that times are read from."""
        return "Vulkan timestamps" if self.limits is not None else f"the clock of {self.request.device}"

    @property
    def lost(self) -> bool:
        """Whether the device is of no more use: a kernel did not end, or the driver gave up."""
        session = getattr(self.device, "_session", None)
        return bool(getattr(session, "lost", False))

    def clocks(self) -> clocks.Clocks:
        """Clock rates as they are now."""
        return clocks.read(self.name, self.kind, str(getattr(self.limits, "uuid", "")))

    def row(self) -> dict[str, Any]:
        """The output row about the device."""
        rates, limits = self.clocks(), self.limits
        row: dict[str, Any] = {
            "kind": "device",
            "device": self.request.device,
            "name": self.name,
            "subgroup_sizes": list(self.device.facts().subgroup_sizes),
            "ring_bytes": self.ring_bytes,
            "ring_source": self.ring_source,
            "clocks_note": rates.note,
        }
        if limits is not None:
            row |= {"type": limits.type, "driver": limits.driver, "timestamp_seconds": limits.timestamp_seconds}
        if rates.mhz is not None:
            row["clocks"] = rates.mhz
        return row

    def load(self, artifact: Artifact, symbol: str) -> tuple[Kernel, float]:
        """A compiled entry point and the host seconds that took, 0 for one that is held. Raises `DeviceError`."""
        key = (id(artifact), symbol)
        if key in self._kernels:
            return self._kernels[key], 0.0
        start = time.perf_counter()
        self._kernels[key] = self.device.load(artifact, symbol)
        return self._kernels[key], time.perf_counter() - start

    def inputs(self, artifact: Artifact, args: Arguments, batch: int = 1, *, hot: bool | None = None) -> Inputs:
        """The arguments on the device: as many sets as exceed the ring's bytes and a batch visits once, one if hot."""
        rows = artifact.manifest["args"]
        size = sum(int(args[row["name"]].nbytes) for row in rows if row["kind"] == "buffer")
        alone = self.request.hot if hot is None else hot
        wanted = 1 if alone or self.limits is None else max(batch, -(-self.ring_bytes // max(size, 1)))
        made = Inputs(self, rows, args, size, wanted)
        if self.limits is not None:
            from specgen.devices.vulkan.timing import Ring

            made.ring = Ring(self.device, rows, args, wanted)  # type: ignore[arg-type]
        return made

    def builtin(self, name: str) -> Kernel:
        """A kernel that the tool brings along. Raises `DeviceError` where the device cannot run it."""
        artifact = kernels.artifact(name)
        return self.load(artifact, artifact.manifest["entries"][0]["symbol"])[0]

    def copy_inputs(self) -> Inputs:
        """Arguments of `copy` that exceed the ring's bytes by themselves; the kernel is checked first.

        Raises `DeviceError` when it copies wrongly.
        """
        import numpy as np

        artifact, kernel = kernels.artifact("copy"), self.builtin("copy")
        small = kernels.copy_arguments(8 * 3 * kernels.COPY_GRAIN)
        left = kernel.launch(small).outputs["output"]
        if not np.array_equal(left, small["input"]):
            raise DeviceError("the built-in kernel copy does not copy: no ratio can be set against it")
        return self.inputs(artifact, kernels.copy_arguments(self.ring_bytes), hot=True)

    def close(self) -> None:
        """Close the device."""
        self._kernels.clear()
        self.device.close()
