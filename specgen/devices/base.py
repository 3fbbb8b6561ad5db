"""The protocol that every execution device follows, and the values that pass through it.

A device runs one entry point of one artifact. Arrays are one-dimensional, in memory order (row-major over the
declared axes unless the argument names another fastest axis: `order` in the manifest), and hold exactly the
elements that the buffer is backed by: whatever lies beyond does not exist, and a touch of it is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

Arguments = Mapping[str, Any]
"""Argument name -> numpy array (buffers, flat) or Python/numpy scalar."""

Grid = tuple[int, int, int]
"""Workgroup counts along x, y, z."""


@dataclass(frozen=True)
class DeviceFacts:
    """What a device can do; `None` means that the device does not tell."""

    name: str
    subgroup_sizes: tuple[int, ...]
    workgroup_memory_bytes: int | None = None
    max_workgroup_size: int | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Something that a run did and must not do (a sanitizer report).

    `kind` is one of `KINDS`; `where` is the spec's `file:line:column` or "" when unknown; `detail` names the
    buffer, index, instruction text, wave and lane as far as they are known.
    """

    kind: str
    detail: str
    where: str = ""

    KINDS = (
        "out-of-bounds",
        "misaligned",
        "unwritten-read",
        "race",
        "divergent-barrier",
        "divergent-collective",
        "wait-count",
        "broken-assumption",
        "division-by-zero",
        "index-overflow",
        "shift-range",
        "unsupported-instruction",
    )

    def __str__(self) -> str:
        return f"{self.where or '?'}: {self.kind}: {self.detail}"


@dataclass(frozen=True)
class Run:
    """What a launch left: the written buffers, the sanitizers' findings and counted evidence."""

    outputs: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TimingPlan:
    """How to time: `batch` dispatches a submission, `iterations` samples after `warmup_seconds` of running."""

    iterations: int = 10
    batch: int = 8
    warmup_seconds: float = 0.2


@dataclass(frozen=True)
class Timing:
    """Seconds of one dispatch, one number a sample; `clock` names what was read."""

    samples: tuple[float, ...]
    clock: str


@dataclass(frozen=True)
class Artifact:
    """A built kernel for one target: the manifest of its output folder and the files of the target's folder.

    `files` maps a file name (`scheduled.mlir`, `kernel.hsaco`, `kernel.spv`) to its bytes. `manifest` is the
    parsed `manifest.json` (schema: `specgen/report/manifest.py`).
    """

    name: str
    target: str
    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]

    @classmethod
    def read(cls, output: Path, manifest: Mapping[str, Any], target: str) -> Artifact:
        """What the output folder of a spec holds for a target; no files where it was not built for it."""
        folder = output / target
        files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file()} if folder.is_dir() else {}
        return cls(manifest["spec"]["name"], target, manifest, files)


@runtime_checkable
class Kernel(Protocol):
    """A loaded entry point; valid until its device is closed."""

    def launch(self, args: Arguments, grid: Grid | None = None) -> Run:
        """Run once. `grid` defaults to what the manifest says for these scalars. Arrays of `args` are not changed."""
        ...

    def time(self, args: Arguments, plan: TimingPlan) -> Timing:
        """Time repeated launches; raises `DeviceError` where a device has no clock worth reading."""
        ...


@runtime_checkable
class Device(Protocol):
    """One provider of execution."""

    name: str

    def available(self) -> str | None:
        """None when usable, else the reason in one line."""
        ...

    def facts(self) -> DeviceFacts:
        """Limits and features; only when available."""
        ...

    def load(self, artifact: Artifact, entry: str) -> Kernel:
        """Load the entry point (symbol name) of an artifact; raises `DeviceError` when the device cannot run it."""
        ...

    def close(self) -> None:
        """Free everything; kernels of this device must not be used afterwards."""
        ...


class DeviceError(Exception):
    """A device cannot do what was asked; the message is one line for the user."""


class RunawayError(DeviceError):
    """A kernel did not end within a device's limit: a fault of the kernel, never a reason to skip it."""
