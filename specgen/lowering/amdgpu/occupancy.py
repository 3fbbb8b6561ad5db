"""How many waves are resident on a SIMD, from the target table.

The rules are LLVM's (`AMDGPUBaseInfo.cpp`: getNumWavesPerEUWithNumVGPRs, getOccupancyWithNumSGPRs,
getMaxWorkGroupsPerCU; `AMDGPUSubtarget.cpp`: getOccupancyWithWorkGroupSizes). Facts of a target used here
(`Target.extra`): `simds` and `memory_pool` (bytes, in granules of `memory_granule`) and `workgroups_per_pool` of the
unit that a workgroup lives in, `waves_per_simd`, `vector_registers` of a SIMD's lane and their `vector_granule`.
"""

from __future__ import annotations

from specgen.targets import Target

SCALAR_LIMITS = ((80, 10), (88, 9), (100, 8))
"""Scalar registers up to which so many waves fit on a gfx9 SIMD; 7 beyond."""


def waves(target: Target, vector: int, scalar: int, memory_bytes: int, workgroup_items: int) -> int:
    """Resident waves of one SIMD when every SIMD holds as many as it can; at least 1 for what can run at all."""
    facts = target.extra
    limit = int(facts["waves_per_simd"])
    limit = min(limit, facts["vector_registers"] // _up(max(vector, 1), facts["vector_granule"]))
    if "scalar_registers" in facts:
        limit = min(limit, next((n for most, n in SCALAR_LIMITS if scalar <= most), 7))
    assert target.subgroup_size is not None
    waves_of_workgroup = -(-workgroup_items // target.subgroup_size)
    workgroups = limit * facts["simds"] // waves_of_workgroup
    if waves_of_workgroup > 1:
        workgroups = min(workgroups, facts["workgroups_per_pool"])
    if memory_bytes:
        workgroups = min(workgroups, facts["memory_pool"] // _up(memory_bytes, facts["memory_granule"]))
    resident = workgroups * waves_of_workgroup // facts["simds"]
    return max(1, min(limit, resident))


def percent(target: Target, vector: int, scalar: int, memory_bytes: int, workgroup_items: int) -> float:
    """Resident waves of a SIMD against the most that it can hold, in percent."""
    return 100.0 * waves(target, vector, scalar, memory_bytes, workgroup_items) / target.extra["waves_per_simd"]


def _up(value: int, granule: int) -> int:
    return (value + granule - 1) // granule * granule
