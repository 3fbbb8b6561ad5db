"""What devices load, made from a plan without an output folder; devices that are skipped where there are none."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from specgen import devices, manifest, targets
from specgen.devices.base import Artifact, Device
from specgen.lowering import amdgpu, spirv
from specgen.stages import Planned


def lowered(planned: Planned, target: str) -> Any:
    """The code object or shader of a plan."""
    facts = targets.load(target)
    return (amdgpu if facts.kind == "amdgpu" else spirv).lower(planned.scheduled.module, facts)


def artifact_of(planned: Planned, target: str, binary: Any) -> Artifact:
    """The artifact of what `lowered` made."""
    instance = planned.instance
    rows = {
        "args": manifest.arguments(instance),
        "entries": manifest.entries({target: instance}),
        "targets": [target],
        "spec": {"name": instance.name},
    }
    files = {"kernel.hsaco": binary.hsaco} if targets.load(target).kind == "amdgpu" else {"kernel.spv": binary.spv}
    return Artifact(instance.name, target, rows, files)


@functools.cache
def device(kind: str) -> Device:
    """An open device; the test is skipped without one."""
    opened = devices.open(kind)
    reason = opened.available()
    if reason is not None:
        pytest.skip(reason)
    return opened
