"""The interpreter behind the device protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from specgen.devices.base import Arguments, Artifact, DeviceError, DeviceFacts, Grid, Run, Timing, TimingPlan
from specgen.devices.interpreter.program import Program, compile_function, find_function
from specgen.devices.launching import launch_each
from specgen.manifest import symbol

IR_FILE = "scheduled.mlir"


@dataclass
class InterpreterKernel:
    """One compiled entry."""

    artifact: Artifact
    program: Program

    def launch(self, args: Arguments, grid: Grid | None = None) -> Run:
        """Run once; `grid` defaults to the manifest's."""
        return self.launch_batch([args], None if grid is None else [grid])[0]

    def launch_batch(self, launches: list[Arguments], grids: list[Grid] | None = None) -> list[Run]:
        """Run once for each of `launches`, all side by side."""

        def run(sound: list[Arguments], counts: list[Grid]) -> list[Run]:
            return self.program.run(sound, counts, promises=False)

        return launch_each(self.artifact, self.program.entry, launches, grids, run)

    def time(self, args: Arguments, plan: TimingPlan) -> Timing:
        """Always raises `DeviceError`: the time of an interpreter tells nothing about a kernel."""
        raise DeviceError("the interpreter has no clock worth reading")


@dataclass
class InterpreterDevice:
    """Executes the scheduled IR of an artifact of any target.

    `subgroup_size` is used where the target leaves the size open.
    """

    name: str = "interpreter"
    subgroup_size: int | None = None
    _kernels: dict[tuple[bytes, str], Program] = field(default_factory=dict)

    def available(self) -> str | None:
        """Always usable."""
        return None

    def facts(self) -> DeviceFacts:
        """Any subgroup size, no limits."""
        return DeviceFacts(self.name, (), features=("f64", "f16", "bf16", "findings"))

    def load(self, artifact: Artifact, entry: str) -> InterpreterKernel:
        """Compile an entry of the artifact's scheduled IR. Raises `DeviceError` without one."""
        text = artifact.files.get(IR_FILE)
        if text is None:
            raise DeviceError(f"{artifact.name} for {artifact.target} has no {IR_FILE}")
        key = (text, symbol(artifact.manifest, entry))
        if key not in self._kernels:
            function = find_function(text.decode(), key[1])
            size = None if "motif.subgroup_size" in function.attributes else self.subgroup_size
            self._kernels[key] = compile_function(function, size)
        return InterpreterKernel(artifact, self._kernels[key])

    def close(self) -> None:
        """Forget compiled kernels."""
        self._kernels.clear()
