"""Device `vulkan`: the SPIR-V of an artifact on a Vulkan 1.3 device, Mesa's CPU driver included.

Buffers of a launch lie in one allocation, each between guards: a store beside a buffer changes a guard and is a
finding, a load beside it sees NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specgen import manifest
from specgen.devices.base import Arguments, Artifact, DeviceError, DeviceFacts, Finding, Grid, Run, Timing, TimingPlan
from specgen.devices.launching import launch_each, require_promises, workgroups
from specgen.devices.vulkan.arguments import Layout, push_block
from specgen.devices.vulkan.requirements import Requirements, problems, requirements
from specgen.devices.vulkan.session import Buffer, Pipeline, Session
from specgen.devices.vulkan.strengthen import keep_denormals
from specgen.devices.vulkan.uniform import arguments_in_uniform

FILE = "kernel.spv"
SMALLEST_ARENA = 1 << 20
FEATURES_SHOWN = {
    "f16": "shaderFloat16",
    "f64": "shaderFloat64",
    "i8": "shaderInt8",
    "i16": "shaderInt16",
    "i64": "shaderInt64",
    "8-bit storage": "storageBuffer8BitAccess",
    "16-bit storage": "storageBuffer16BitAccess",
}


@dataclass
class VulkanDevice:
    """The Vulkan device that `SPECGEN_VULKAN_DEVICE` names a part of, else a discrete GPU before others."""

    name: str = "vulkan"
    _session: Session | None = None
    _pipelines: dict[tuple[bytes, str, bool], Pipeline] = field(default_factory=dict)
    _arenas: dict[bool, Buffer] = field(default_factory=dict)
    _constants: dict[int, int] | None = None

    def available(self) -> str | None:
        """None when there is a usable Vulkan 1.3 device, else why not."""
        try:
            self.session()
        except DeviceError as error:
            return str(error)
        return None

    def session(self) -> Session:
        """The logical device, opened at first use. Raises `DeviceError` when there is none."""
        if self._session is not None and self._session.lost:
            raise DeviceError("the Vulkan device was lost by an earlier run")
        if self._session is None:
            self._session = Session()
        return self._session

    def facts(self) -> DeviceFacts:
        """Limits and features of the physical device; the first subgroup size is the device's own choice."""
        limits = self.session().limits
        low, high = limits.subgroup_sizes
        sizes = [1 << n for n in range(low.bit_length() - 1, high.bit_length())] if limits.requires_size else []
        others = [s for s in sizes if s != limits.subgroup_size]
        features = tuple(name for name, feature in FEATURES_SHOWN.items() if feature in limits.features)
        clock = ("timestamps",) if limits.timestamp_seconds else ()
        return DeviceFacts(
            limits.name,
            (limits.subgroup_size, *others),
            limits.workgroup_memory,
            limits.workgroup_items,
            (*features, *clock, limits.type),
        )

    def load(self, artifact: Artifact, entry: str) -> VulkanKernel:
        """Compile an entry point. Raises `DeviceError` when the module needs what the device does not have."""
        module = artifact.files.get(FILE)
        if module is None:
            raise DeviceError(f"{artifact.name} for {artifact.target} has no {FILE}")
        symbol = str(manifest.find_entry(artifact.manifest, entry)["symbol"])
        needs = requirements(module, symbol)
        session = self.session()
        found = list(problems(needs, session.limits))
        if found:
            raise DeviceError(f"{symbol} cannot run on {session.limits.name}: {'; '.join(found)}")
        return VulkanKernel(self, artifact, symbol, self.pipeline(module, symbol, needs), needs)

    def pipeline(self, module: bytes, symbol: str, needs: Requirements, *, uniform: bool = False) -> Pipeline:
        """An entry point compiled, once; `uniform`: with its arguments in a uniform buffer."""
        key = (module, symbol, uniform)
        if key not in self._pipelines:
            self._pipelines[key] = self._compile(module, symbol, needs, uniform)
        return self._pipelines[key]

    def _compile(self, module: bytes, symbol: str, needs: Requirements, uniform: bool) -> Pipeline:
        from specgen.devices.vulkan import probe

        session = self.session()
        if needs.specialized and self._constants is None:
            self._constants = probe.constants(session)
        kept = keep_denormals(module, session.limits)
        return session.pipeline(
            arguments_in_uniform(kept) if uniform else kept,
            symbol,
            needs.push_constants,
            subgroup_size=needs.subgroup_size if session.limits.requires_size else None,
            full=needs.uses_subgroups,
            constants=self._constants if needs.specialized else None,
            uniform=uniform,
        )

    def arena(self, size: int, *, host: bool) -> Buffer:
        """Memory of at least `size` bytes, kept for the next launch."""
        session = self.session()
        held = self._arenas.get(host)
        if held is None or held.size < size:
            if held is not None:
                session.free(self._arenas.pop(host))
            rounded = max(SMALLEST_ARENA, 1 << (size - 1).bit_length())
            self._arenas[host] = session.buffer(rounded, host=host)
        return self._arenas[host]

    @property
    def memory_is_shared(self) -> bool:
        """Whether kernels run in host memory without loss: everywhere but on discrete GPUs."""
        return self.session().limits.type != "discrete"

    def close(self) -> None:
        """Free memory, pipelines and the device."""
        session, self._session = self._session, None
        if session is not None:
            for buffer in self._arenas.values():
                session.free(buffer)
            for pipeline in self._pipelines.values():
                session.drop(pipeline)
            session.close()
        self._arenas.clear()
        self._pipelines.clear()


@dataclass(frozen=True)
class VulkanKernel:
    """A compiled entry point."""

    device: VulkanDevice
    artifact: Artifact
    symbol: str
    pipeline: Pipeline
    needs: Requirements

    @property
    def repeated(self) -> Pipeline:
        """The pipeline for dispatches in a row, whose arguments are blocks of `uniform.Blocks`."""
        return self.device.pipeline(self.artifact.files[FILE], self.symbol, self.needs, uniform=True)

    def grid(self, args: Arguments, grid: Grid | None) -> Grid:
        """The workgroup counts of a launch. Raises `DeviceError` beyond the device's limit."""
        counts = workgroups(self.artifact, self.symbol, args, grid)
        for axis, count, limit in zip("xyz", counts, self.device.session().limits.workgroup_count, strict=True):
            if count > limit:
                raise DeviceError(f"{count} workgroups along {axis}, the device takes up to {limit}")
        return counts

    def launch(self, args: Arguments, grid: Grid | None = None) -> Run:
        """Run once; arrays of `args` are not changed."""
        return self.launch_batch([args], None if grid is None else [grid])[0]

    def launch_batch(self, launches: Sequence[Arguments], grids: Sequence[Grid] | None = None) -> list[Run]:
        """Run once for each of `launches`, each with buffers of its own, in one submission.

        A launch whose scalars break a promise is not run: its findings say so.
        """
        return launch_each(self.artifact, self.symbol, launches, grids, self._launch)

    def _launch(self, launches: Sequence[Arguments], grids: Sequence[Grid]) -> list[Run]:
        counts = [self.grid(args, grid) for args, grid in zip(launches, grids, strict=True)]
        rows = self.artifact.manifest["args"]
        layouts: list[Layout] = []
        for args in launches:
            layouts.append(Layout.of(rows, args, layouts[-1].end if layouts else 0, exact=True))
        with _Memory(self.device, layouts[-1].end) as memory:
            for layout, args in zip(layouts, launches, strict=True):
                layout.fill(memory.host, args)
            pushes = [
                push_block(rows, args, lay.addresses(memory.address))
                for args, lay in zip(launches, layouts, strict=True)
            ]
            self._run(memory, pushes, counts)
            return [_result(rows, args, lay, memory.host) for args, lay in zip(launches, layouts, strict=True)]

    def _run(self, memory: _Memory, pushes: Sequence[bytes], counts: Sequence[Grid]) -> None:
        session = self.device.session()

        def body() -> None:
            memory.upload()
            for push, grid in zip(pushes, counts, strict=True):
                if 0 not in grid:
                    session.dispatch(self.pipeline, push, grid)
            memory.download()

        session.record(body)
        session.submit()

    def time(self, args: Arguments, plan: TimingPlan) -> Timing:
        """Time launches with the device's timestamps: `plan.batch` dependent dispatches a sample.

        Raises `DeviceError` where the queue has no clock.
        """
        from specgen.devices.vulkan.timing import measure

        require_promises(self.artifact.manifest, args)
        return measure(self, args, plan)


class _Memory:
    """The memory of a submission: what the host fills and what the kernel sees, one or two buffers."""

    def __init__(self, device: VulkanDevice, size: int) -> None:
        self.session = device.session()
        self.size = size
        self.host_buffer = device.arena(size, host=True)
        self.kernel_buffer = self.host_buffer if device.memory_is_shared else device.arena(size, host=False)
        self.host = self.host_buffer.view
        self.address = self.kernel_buffer.address

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *error: object) -> None:
        """Arenas stay with the device."""

    def upload(self) -> None:
        """Record the way to the kernel."""
        if self.kernel_buffer is not self.host_buffer:
            self.session.copy(self.host_buffer, self.kernel_buffer, self.size)
        self.session.barrier()

    def download(self) -> None:
        """Record the way back."""
        self.session.barrier()
        if self.kernel_buffer is not self.host_buffer:
            self.session.copy(self.kernel_buffer, self.host_buffer, self.size)
            self.session.barrier()


def _result(rows: Sequence[Mapping[str, Any]], args: Arguments, layout: Layout, host: Any) -> Run:
    outputs = {
        row["name"]: layout.contents(host, row["name"], args[row["name"]].dtype)
        for row in rows
        if row["kind"] == "buffer" and row["access"] != "read"
    }
    findings = tuple(
        Finding("out-of-bounds", f"a store {distance} bytes {side} {name} changed its guard")
        for name, side, distance in layout.broken_guards(host)
    )
    changed = tuple(
        Finding("out-of-bounds", f"the read-only buffer {row['name']} was changed")
        for row in rows
        if row["kind"] == "buffer" and row["access"] == "read" and layout.differs(host, row["name"], args)
    )
    return Run(outputs, findings + changed)
