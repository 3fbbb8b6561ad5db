"""Target files: complete, consistent, and found by name."""

from __future__ import annotations

import pytest

from specgen import targets

WAVE = {"gfx9": 64, "gfx11": 32, "gfx12": 32}


def test_default_targets_exist_and_come_first() -> None:
    names = targets.names()
    assert names[: len(targets.DEFAULT)] == targets.DEFAULT
    assert set(names) == {*targets.DEFAULT, *(f"vulkan1.3-sg{n}" for n in (8, 16, 32, 64))}


@pytest.mark.parametrize("name", targets.names())
def test_target_is_consistent(name: str) -> None:
    target = targets.load(name)
    assert target.name == name
    assert hash(target) == hash(targets.load(name))
    assert (target.kind == "spirv") == name.startswith("vulkan") == (target.family == "spirv")
    assert all(n >= 65535 for n in target.max_workgroups)
    assert target.workgroup_memory % 1024 == 0
    if target.kind == "amdgpu":
        assert target.subgroup_size == WAVE[target.family]
        assert target.max_registers is not None
        assert target.max_registers <= target.extra["vector_registers"]
        assert target.extra["vector_registers"] % target.extra["vector_granule"] == 0
        assert target.workgroup_memory <= target.extra["memory_pool"]


def test_subgroup_sizes_of_vulkan() -> None:
    assert targets.load("vulkan1.3").subgroup_size is None
    assert [targets.load(f"vulkan1.3-sg{n}").subgroup_size for n in (8, 16, 32, 64)] == [8, 16, 32, 64]


def test_unknown_target() -> None:
    with pytest.raises(KeyError):
        targets.load("gfx900")
