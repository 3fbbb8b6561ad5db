"""Atomics on workgroup memory are no races among themselves; with plain accesses of other waves they are."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_compile import assemble

from specgen.devices.amdgpu_emulator import EmulatedKernel

OWN = "v_lshlrev_b32 v1, 2, v0"
OTHER = "v_sub_nc_u32 v2, 0xfc, v1"
BARRIER = "s_waitcnt lgkmcnt(0)\ns_barrier"
WRITE = "ds_store_b32 {}, v0"
READ = "ds_load_b32 v3, {}"
ADD = "ds_add_u32 {}, v0"


def races(*steps: str) -> list[str]:
    """Findings of two waves that go through these accesses to their own (v1) or the other wave's (v2) words."""
    body = "\n".join([OWN, OTHER, *steps, "s_waitcnt lgkmcnt(0)"])
    hsaco = assemble(body, "gfx1151", 32, (("out", 8),), 256, 64)
    run = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(1, np.uint32)}, (1, 1, 1))
    return [finding.detail.split(": ", 1)[1] for finding in run.findings if finding.kind == "race"]


@pytest.mark.parametrize(
    "steps",
    [
        (WRITE.format("v1"), BARRIER, ADD.format("v1"), ADD.format("v2"), BARRIER, READ.format("v2")),
        (WRITE.format("v1"), ADD.format("v1"), READ.format("v1"), WRITE.format("v1")),
    ],
)
def test_ordered_or_own(steps: tuple[str, ...]) -> None:
    assert races(*steps) == []


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (ADD, READ, "read after an atomic"),
        (ADD, WRITE, "write after an atomic"),
        (WRITE, ADD, "atomic after a write"),
        (READ, ADD, "atomic after a read"),
    ],
)
def test_unordered(first: str, second: str, text: str) -> None:
    (found,) = races(WRITE.format("v1"), BARRIER, first.format("v1"), second.format("v2"))
    assert found.startswith(text)
