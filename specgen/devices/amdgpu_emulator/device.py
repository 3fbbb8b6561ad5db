"""The device `amdgpu-emulator`: loads an HSACO and executes its machine code."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specgen.devices.base import Arguments, Artifact, DeviceError, DeviceFacts, Grid, Run, Timing, TimingPlan
from specgen.devices.launching import checked_counts, launch_one, workgroups
from specgen.manifest import symbol

NAME: Final = "amdgpu-emulator"


class EmulatorDevice:
    """Executes AMDGPU code objects of the targets in `loader.EXECUTABLE_TARGETS`."""

    name = NAME

    def __init__(self, sanitize: bool = True) -> None:
        """`sanitize` False runs without the sanitizers; accesses out of bounds are reported all the same."""
        self.sanitize = sanitize

    def available(self) -> str | None:
        """None when the decoder's tables and the ELF readers are installed."""
        for module in ("tinygrad", "elftools", "msgpack"):
            if importlib.util.find_spec(module) is None:
                return f"the Python package that provides {module!r} is not installed"
        return None

    def facts(self) -> DeviceFacts:
        return DeviceFacts(NAME, (32, 64), 65536, 1024, ("sanitizers", "evidence"))

    def load(self, artifact: Artifact, entry: str) -> EmulatedKernel:
        """Load an entry (a name or symbol) from `kernel.hsaco`; its code must be for the artifact's target."""
        if "kernel.hsaco" not in artifact.files:
            raise DeviceError(f"{artifact.name} for {artifact.target} has no kernel.hsaco")
        found = symbol(artifact.manifest, entry)
        kernel = EmulatedKernel(artifact.files["kernel.hsaco"], found, self.sanitize, artifact)
        if kernel.code.target != artifact.target:
            raise DeviceError(f"the artifact is for {artifact.target}, its code object for {kernel.code.target}")
        return kernel

    def close(self) -> None:
        """Nothing is held."""


class EmulatedKernel:
    """One kernel of a code object."""

    def __init__(self, hsaco: bytes, symbol: str, sanitize: bool = True, artifact: Artifact | None = None) -> None:
        """`artifact` (for its manifest) tells the workgroup counts and which buffers are only written."""
        from specgen.devices.amdgpu_emulator.loader import load

        self.code = load(hsaco, symbol)
        self.sanitize = sanitize
        self.artifact = artifact
        self.manifest: Mapping[str, Any] = {} if artifact is None else artifact.manifest
        self._lines: dict[int, str] | None = None

    def launch(self, args: Arguments, grid: Grid | None = None, unwritten: tuple[str, ...] | None = None) -> Run:
        """Run once. Buffers named in `unwritten` hold nothing yet: reading their bytes before a store is a finding.
        By default these are the buffers that the manifest says are only written.

        Raises `DeviceError` for arguments that do not fit and for instructions that are not executed.
        """
        if self.artifact is None:
            return self._launch(args, self._grid(grid, args), unwritten)
        return launch_one(
            self.artifact,
            self.code.symbol,
            args,
            grid,
            lambda counts: self._launch(self._typed(args), counts, unwritten),
        )

    def _typed(self, args: Arguments) -> dict[str, Any]:
        """Float scalars in their declared types: the code object tells their sizes only, and 2 bytes may be bf16."""
        from specgen.checks.dtypes import TYPES

        floats = {
            row["name"]: TYPES[row["type"]]
            for row in self.manifest.get("args", ())
            if row["kind"] == "scalar" and row["type"] in TYPES and TYPES[row["type"]].is_float
        }
        return {name: floats[name].dtype.type(value) if name in floats else value for name, value in args.items()}

    def _launch(self, args: Arguments, grid: Grid, unwritten: tuple[str, ...] | None) -> Run:
        from specgen.devices.amdgpu_emulator import evidence, executor, launch
        from specgen.devices.amdgpu_emulator.blocks import program

        code = self.code
        prog = program(code.code, launch.entry_offset(code), code.arch, code.wave_size, self.sanitize)
        for block in prog.blocks:
            block.counts.lanes[:] = [0] * len(block.counts.lanes)
        reporter = self._reporter(prog)
        empty = self._only_written() if unwritten is None else frozenset(unwritten)
        plan = launch.prepare(code, args, grid, self.workgroup_size(), empty, reporter)
        hits: dict[int, int] = {}
        pending: dict[int, tuple[int, int]] = {}
        granule = lds_granule(prog.instructions)
        for groups in plan.chunks():
            machine = launch.build_machine(plan, groups, reporter, granule, self.sanitize)
            execution = executor.Executor(prog, machine, plan.waves_per_group)
            execution.run()
            for number, count in execution.hits.items():
                hits[number] = hits.get(number, 0) + count
            for at, (low, high) in execution.pending.items():
                before = pending.get(at, (low, high))
                pending[at] = (min(before[0], low), max(before[1], high))
        outputs = {
            name: plan.arena.contents(plan.owner[name]).view(args[name].dtype).reshape(args[name].shape)
            for name in self._buffers(args)
        }
        return Run(outputs, reporter.findings, evidence.summary(hits, prog.blocks, code.wave_size, pending))

    def time(self, args: Arguments, plan: TimingPlan) -> Timing:
        """The emulator has no clock: cycles of the machine are not modelled."""
        raise DeviceError("the amdgpu-emulator executes but does not time: use its evidence counts")

    def trace(self, args: Arguments, grid: Grid | None = None, wave: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
        """Executed instructions of one wave, in order: (offset and text, registers that it wrote, after it ran)."""
        from specgen.devices.amdgpu_emulator.trace import trace

        return trace(self, args, self._grid(grid, args), wave)

    def workgroup_size(self) -> tuple[int, int, int]:
        """From the code object's metadata, else from the manifest; raises `DeviceError` when neither tells."""
        if self.code.workgroup_size is not None:
            return self.code.workgroup_size
        found = self._entry().get("workgroup_size")
        if found is None:
            raise DeviceError(
                f"neither the code object nor the manifest tells the workgroup size of {self.code.symbol}"
            )
        x, y, z = (*found, 1, 1)[:3]
        return int(x), int(y), int(z)

    def _entry(self) -> dict[str, Any]:
        """The manifest's facts about this kernel: those of the entry, overlaid by those of the target."""
        for entry in self.manifest.get("entries", ()):
            if entry.get("symbol") == self.code.symbol:
                targets = entry.get("targets", {})
                return {**entry, **(targets.get(self.code.target, {}) if isinstance(targets, Mapping) else {})}
        return {}

    def _grid(self, grid: Grid | None, args: Arguments) -> Grid:
        if grid is None:
            if self.artifact is None:
                raise DeviceError("the workgroup counts are not given and there is no manifest to tell them")
            return workgroups(self.artifact, self.code.symbol, args)
        return checked_counts(grid)

    def _only_written(self) -> frozenset[str]:
        return frozenset(a["name"] for a in self.manifest.get("args", ()) if a.get("access") == "write")

    def _buffers(self, args: Arguments) -> list[str]:
        read_only = {a["name"] for a in self.manifest.get("args", ()) if a.get("access") == "read"}
        return [a.name for a in self.code.arguments if a.kind == "global_buffer" and a.name not in read_only]

    def _line_table(self) -> dict[int, str]:
        if self._lines is None:
            self._lines = self.code.line_table()
        return self._lines

    def _reporter(self, prog: Any) -> Any:
        from specgen.devices.amdgpu_emulator.sanitize import Reporter

        return Reporter(prog.instructions, self._line_table, self.sanitize)


def lds_granule(instructions: list[Any]) -> int:
    """The smallest width in bytes that a kernel's workgroup memory accesses have (4 at most)."""
    from specgen.devices.amdgpu_emulator.evidence import vector_bytes

    sizes = [vector_bytes(inst)[1] for inst in instructions if inst.form in ("DS", "FLAT")]
    return min([4, *(size for size in sizes if size)])
