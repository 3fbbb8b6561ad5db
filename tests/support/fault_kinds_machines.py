"""The small specs of the fault kinds on what the back ends make of them: the AMDGPU emulator and a Vulkan device."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from device_artifacts import artifact_of, device, lowered
from fault_kinds_product import plan, runs, scalars

from specgen import targets
from specgen.devices.base import Artifact, Grid, Run
from specgen.lowering.amdgpu import AmdgpuBinary

EXECUTABLE = tuple(name for name in targets.AMDGPU if name != "gfx1250")
"""AMDGPU targets whose code the emulator runs."""


@functools.lru_cache(maxsize=256)
def _binary(text: str, target: str, policies: tuple[tuple[str, Any], ...]) -> Any:
    return lowered(plan(text, target, **dict(policies)), target)


def code(text: str, target: str, **policies: Any) -> AmdgpuBinary:
    """The code object of a spec."""
    return _binary(text, target, tuple(sorted(policies.items())))


def artifact(text: str, target: str, **policies: Any) -> Artifact:
    """What a device loads."""
    return artifact_of(plan(text, target, **policies), target, code(text, target, **policies))


def launch(
    text: str, args: Mapping[str, Any], target: str, *, grid: Grid = (1, 1, 1), entry: str = "", **policies: Any
) -> Run:
    """One launch of the built code."""
    kind = "amdgpu-emulator" if targets.load(target).kind == "amdgpu" else "vulkan"
    return device(kind).load(artifact(text, target, **policies), entry or "default").launch(args, grid)


def same_as_interpreter(
    text: str, launches: Sequence[Mapping[str, Any]], target: str, *, grid: Grid = (1, 1, 1), **policies: Any
) -> list[dict[str, Any]]:
    """Default and serial entries on the machine leave the interpreter's bits, without a finding."""
    wanted = runs(text, launches, target=target, grid=grid, **policies)
    for given, right in zip(launches, wanted, strict=True):
        assert right.findings == (), (scalars(given), [str(f) for f in right.findings])
        for entry in ("", "serial"):
            run = launch(text, given, target, grid=grid, entry=entry, **policies)
            assert run.findings == (), (target, entry, scalars(given), [str(f) for f in run.findings])
            for name, contents in right.outputs.items():
                assert run.outputs[name].tobytes() == contents.tobytes(), (target, entry, scalars(given), name)
    return [run.outputs for run in wanted]
