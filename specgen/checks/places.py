"""Where a suite runs: which device runs which target's artifact, and why not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specgen import devices
from specgen.devices.base import Artifact, Device, DeviceError, Kernel
from specgen.manifest import symbol

FILE_OF: dict[str, str] = {
    "interpreter": "scheduled.mlir",
    "amdgpu-emulator": "kernel.hsaco",
    "hip": "kernel.hsaco",
    "vulkan": "kernel.spv",
}
"""The file of a target's folder that a device runs; a device that is not listed is offered every target."""
OPEN_SIZES = (8, 32, 64)
"""Subgroup sizes that the interpreter takes where the target leaves the size open."""
CASES_OF: dict[str, int] = {"amdgpu-emulator": 24}
"""Cases of a check that an entry point runs on a slow device; every entry and target takes others of them."""
_SUBGROUP = re.compile(r',?\s*"?motif\.subgroup_size"? = (\d+) : i64')
_COLLECTIVE = re.compile(r"motif\.(subgroup|workgroup)_(reduce|scan|shuffle|broadcast)|gpu\.(lane|subgroup)_id")


@dataclass(frozen=True)
class Place:
    """A device and the target whose artifact it runs; `also` are targets whose artifact is the same for it.

    `problem` says why nothing can run here. `subgroup_size` fixes a size that the target leaves open.
    """

    device: str
    target: str = ""
    also: tuple[str, ...] = ()
    problem: str | None = None
    subgroup_size: int | None = None

    def __str__(self) -> str:
        more = f"+{len(self.also)}" if self.also else ""
        size = f"-sg{self.subgroup_size}" if self.subgroup_size else ""
        return f"{self.device}-{self.target}{more}{size}" if self.target else self.device


@dataclass(frozen=True)
class Settings:
    """What the environment asks for."""

    devices: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sanitize: bool = True
    allow_oracles: bool = False
    cases: int | None = None
    """Cases of a check that an entry point runs at most; 0 means all, None the default of the device."""
    slow_cases: int | None = None
    """The same for slow devices alone; None the default of the device."""

    @staticmethod
    def of(environment: Mapping[str, str]) -> Settings:
        """From `SPECGEN_DEVICES`, `SPECGEN_TARGETS` (names with commas), `SPECGEN_SANITIZE`, `SPECGEN_ALLOW_ORACLES`
        (0 or 1) and `SPECGEN_CASES` (a number or `all`; `,slow:` and a number behind it is for slow devices).
        Raises `ValueError` for another `SPECGEN_CASES`."""

        def names(key: str) -> tuple[str, ...]:
            return tuple(n.strip() for n in environment.get(key, "").split(",") if n.strip())

        cases, _, slow = environment.get("SPECGEN_CASES", "").partition(",slow:")
        if (cases not in ("", "all") and not cases.isdecimal()) or (slow and not slow.isdecimal()):
            raise ValueError(f"SPECGEN_CASES is a number or `all`, perhaps with `,slow:` and a number, not {cases!r}")
        return Settings(
            names("SPECGEN_DEVICES"),
            names("SPECGEN_TARGETS"),
            environment.get("SPECGEN_SANITIZE", "1") != "0",
            environment.get("SPECGEN_ALLOW_ORACLES", "0") == "1",
            None if not cases else 0 if cases == "all" else int(cases),
            int(slow) if slow else None,
        )


@dataclass
class Places:
    """The devices and artifacts of one suite; devices are opened once and closed together."""

    folder: Path
    manifest: Mapping[str, Any]
    settings: Settings = field(default_factory=lambda: Settings.of(os.environ))
    open_device: Callable[[str], Device] = field(default_factory=lambda: devices.open)
    _devices: dict[tuple[str, int | None], Device] = field(default_factory=dict)
    _kernels: dict[tuple[Place, str], Kernel] = field(default_factory=dict)
    _artifacts: dict[str, Artifact] = field(default_factory=dict)

    def all(self) -> list[Place]:
        """Every place, in order of devices and targets; one with a `problem` for a device or target that is absent."""
        built = list(self.manifest["targets"])
        places = [Place("no-device", t, problem=f"not built for {t}") for t in self.settings.targets if t not in built]
        targets = [t for t in built if not self.settings.targets or t in self.settings.targets]
        for name in self.settings.devices or devices.names():
            places += self._places(name, targets)
        return places

    def _places(self, name: str, targets: Sequence[str]) -> list[Place]:
        file = FILE_OF.get(name)
        fitting = [t for t in targets if file is None or file in self.artifact(t).files]
        if not fitting:
            if name not in self.settings.devices or not targets:
                return []
            return [Place(name, problem=f"device {name} runs a {file}, which no folder of {', '.join(targets)} has")]
        try:
            reason = self.device(name, None).available()
        except (DeviceError, ImportError) as error:
            reason = str(error)
        if reason is not None:
            return [Place(name, problem=f"device {name} is not available: {reason}")]
        return self._merged(name, fitting) if name == "interpreter" else [self._usable(name, t) for t in fitting]

    def _usable(self, name: str, target: str) -> Place:
        """The place, or why the device cannot run this target's artifact."""
        place = Place(name, target)
        try:
            self.kernel(place, self.manifest["entries"][0]["name"])
        except DeviceError as error:
            return Place(name, target, problem=f"{place}: {error}")
        return place

    def _merged(self, name: str, targets: Sequence[str]) -> list[Place]:
        """The interpreter runs equal IR once for a subgroup size, whatever the number of targets that it is for."""
        groups: dict[object, list[tuple[str, int | None]]] = {}
        for target in targets:
            text = self.artifact(target).files[FILE_OF[name]].decode()
            bare = _SUBGROUP.sub("", text)
            fixed = _SUBGROUP.search(text)
            sizes: tuple[int | None, ...] = (int(fixed[1]),) if fixed else OPEN_SIZES
            launches = [repr(entry["targets"][target]["workgroups"]) for entry in self.manifest["entries"]]
            for size in sizes if _COLLECTIVE.search(bare) else (None,):
                groups.setdefault((bare, size, *launches), []).append((target, None if fixed else size))
        return [Place(name, g[0][0], tuple(t for t, _ in g[1:]), None, g[0][1]) for g in groups.values()]

    def artifact(self, target: str) -> Artifact:
        """The files of a target's folder."""
        if target not in self._artifacts:
            self._artifacts[target] = Artifact.read(self.folder, self.manifest, target)
        return self._artifacts[target]

    def device(self, name: str, subgroup_size: int | None) -> Device:
        """An open device. Raises `DeviceError` for an unknown name."""
        key = (name, subgroup_size)
        if key not in self._devices:
            opened = self.open_device(name)
            if subgroup_size is not None:
                opened.subgroup_size = subgroup_size  # type: ignore[attr-defined]
            self._devices[key] = opened
        return self._devices[key]

    def kernel(self, place: Place, entry: str) -> Kernel:
        """The loaded entry point. Raises `DeviceError` when the device cannot run it."""
        key = (place, entry)
        if key not in self._kernels:
            device = self.device(place.device, place.subgroup_size)
            self._kernels[key] = device.load(self.artifact(place.target), symbol(self.manifest, entry))
        return self._kernels[key]

    def limit(self, place: Place) -> int | None:
        """The number of cases that an entry point runs here at most."""
        if place.device in CASES_OF and self.settings.slow_cases is not None:
            return self.settings.slow_cases
        if self.settings.cases is not None:
            return self.settings.cases or None
        return CASES_OF.get(place.device)

    def close(self) -> None:
        """Close every device that was opened."""
        self._kernels.clear()
        for device in self._devices.values():
            device.close()
        self._devices.clear()
