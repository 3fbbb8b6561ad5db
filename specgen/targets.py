"""What each target offers: one YAML file a target, the only place that names processors and their limits."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

Family = Literal["gfx9", "gfx11", "gfx12", "spirv"]

_FOLDERS = (Path(__file__).parent / "_targets", Path(__file__).parent.parent / "targets")
"""An installed package carries the files; a checkout has them beside the package."""

AMDGPU = (
    "gfx942",
    "gfx950",
    "gfx1100",
    "gfx1151",
    "gfx1201",
    "gfx1250",
    "gfx9-4-generic",
    "gfx11-generic",
    "gfx12-generic",
)

DEFAULT = (*AMDGPU, "vulkan1.3")
"""What `build` builds for unless told otherwise."""

FAMILIES: tuple[str, ...] = get_args(Family)

_STAND_INS = {
    "gfx942": "gfx9-4-generic",
    "gfx950": "gfx9-4-generic",
    "gfx1100": "gfx11-generic",
    "gfx1151": "gfx11-generic",
    "gfx1201": "gfx12-generic",
}
"""The generic target whose code runs on a part (LLVM's AMDGPUUsage, "Generic processor code objects")."""


def stand_in(name: str) -> str | None:
    """The target that stands for this one: what suits it suits this one, never the other way round."""
    if name.startswith("vulkan1.3-"):
        return "vulkan1.3"
    return _STAND_INS.get(name)


@dataclass(frozen=True)
class Target:
    """One target. `None` means that the target leaves the fact open; sizes are in bytes.

    `max_registers`: vector registers (32 bits a lane) of one work-item, accumulators included. `transpose_read`:
    transposed reads of workgroup memory. `async_copy`: copies from buffers to workgroup memory that pass no register.
    `max_workgroups`: workgroups along x, y, z. `extra`: facts of one back end; those of AMDGPU are described in
    `specgen.lowering.amdgpu.occupancy`.
    """

    name: str
    kind: Literal["amdgpu", "spirv"]
    cpu: str
    family: Family
    subgroup_size: int | None
    workgroup_memory: int
    max_registers: int | None
    matrix: bool
    transpose_read: bool
    split_barrier: bool
    async_copy: bool
    max_workgroup_size: int
    max_workgroups: tuple[int, int, int]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@functools.cache
def _files() -> dict[str, Path]:
    """Target files by target name; the first folder that has any wins."""
    for folder in _FOLDERS:
        found = {path.stem: path for path in sorted(folder.glob("*.yaml"), key=lambda p: (len(p.stem), p.stem))}
        if found:
            return found
    return {}


def names() -> tuple[str, ...]:
    """All target names: those of `DEFAULT` first, the rest by name."""
    known = _files()
    return (*(n for n in DEFAULT if n in known), *(n for n in known if n not in DEFAULT))


@functools.cache
def load(name: str) -> Target:
    """The target of that name. Raises `KeyError` for an unknown one, `ValueError` for a file with wrong keys."""
    import yaml

    path = _files()[name]
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    expected = {f.name for f in fields(Target)} - {"name"}
    if set(values) != expected:
        raise ValueError(f"{path.name}: keys differ from a target's: {sorted(set(values) ^ expected)}")
    values["max_workgroups"] = tuple(values["max_workgroups"])
    return Target(name=name, **values)
