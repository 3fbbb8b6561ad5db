"""Scalars in single lanes of vector registers: each lane is as written as the scalar that was put there."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_compile import assemble, lanes_of

from specgen.devices.amdgpu_emulator import EmulatedKernel

HEAD = {
    "gfx942": "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v0, 2, v0",
    "gfx1151": "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v0, 2, v0",
}
USE = {
    "gfx942": "v_add_u32 v1, s20, v0\nglobal_store_dword v0, v1, s[4:5]",
    "gfx1151": "v_add_nc_u32 v1, s20, v0\nglobal_store_b32 v0, v1, s[4:5]",
}


def findings(cpu: str, body: str, use: bool = True, private: int = 0) -> list[str]:
    """What the sanitizers say of a piece of code, and of the use of s20 after it."""
    lanes = lanes_of(cpu)
    text = f"{HEAD[cpu]}\n{body}\n{USE[cpu] if use else ''}"
    hsaco = assemble(text, cpu, lanes, (("out", 8),), 0, lanes, private)
    run = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(lanes, np.uint32)}, (1, 1, 1))
    return [f"{finding.kind}: {finding.detail}" for finding in run.findings]


@pytest.mark.parametrize("cpu", HEAD)
def test_a_written_scalar_comes_back_written(cpu: str) -> None:
    assert findings(cpu, "s_mov_b32 s9, 7\nv_writelane_b32 v9, s9, 3\nv_readlane_b32 s20, v9, 3") == []
    assert findings(cpu, "v_writelane_b32 v9, 5, 3\ns_mov_b32 s10, 3\nv_readlane_b32 s20, v9, s10") == []


@pytest.mark.parametrize("cpu", HEAD)
@pytest.mark.parametrize(
    "body",
    [
        "v_writelane_b32 v9, s9, 3\nv_readlane_b32 s20, v9, 3",
        "v_writelane_b32 v9, 5, 2\nv_readlane_b32 s20, v9, 3",
        "v_mov_b32 v9, 0\nv_writelane_b32 v9, s9, 3\nv_readlane_b32 s20, v9, 3",
        "s_mov_b32 s20, s9",
        "s_mov_b64 s[20:21], s[10:11]",
    ],
)
def test_an_unwritten_one_is_a_finding_where_it_is_used(cpu: str, body: str) -> None:
    """Putting it away and taking it back is none: compilers spill registers that hold nothing."""
    assert findings(cpu, body, use=False) == []
    (found,) = findings(cpu, body)
    assert found.startswith("unwritten-read: ")
    assert "u32 v1, s20, v0" in found
    assert "s20 was never written" in found


@pytest.mark.parametrize("cpu", HEAD)
def test_registers_of_lanes_may_go_to_private_memory(cpu: str) -> None:
    stored, loaded = ("dword", "dword") if cpu == "gfx942" else ("b32", "b32")
    spill = (
        f"v_writelane_b32 v9, 5, 3\nscratch_store_{stored} off, v9, off\ns_waitcnt vmcnt(0)\n"
        f"scratch_load_{loaded} v9, off, off\ns_waitcnt vmcnt(0)\nv_readlane_b32 s20, v9, 3"
    ).replace(
        "s_waitcnt vmcnt(0)\nscratch",
        ("" if cpu == "gfx942" else "s_waitcnt_vscnt null, 0x0\n") + "s_waitcnt vmcnt(0)\nscratch",
    )
    assert findings(cpu, spill, private=16) == []
    plain = f"scratch_store_{stored} off, v9, off"
    assert any("v9 was never written" in text for text in findings(cpu, plain, use=False, private=16))
