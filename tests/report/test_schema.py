"""The report's schema finds missing, unknown and mistyped keys, and accepts a report that has all of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from specgen.report.schema import SCHEMA, check, page

REPORT: dict[str, Any] = {
    "identity": {"spec_sha256": "0", "policies": {"depth": 3}, "target": "gfx1151", "specgen": "0", "llvm": "22"},
    "entries": [
        {
            "name": "default",
            "policies": {"depth": 3},
            "symbol": "k",
            "workgroup_size": [32, 1, 1],
            "code_byte_count": 4,
            "target_resources": {"vector": {"final": {"register_count": 7}}},
            "allocation_spill_count": 0,
            "private_memory_bytes": 0,
            "workgroup_memory_bytes": 0,
            "occupancy_percent": 100,
            "static_instruction_mix": {"vector_alu": 3},
        }
    ],
    "source_low": {"loop_pipelines": {"rows": [], "stages": []}},
    "machine_loops": [
        {
            "function": "k",
            "loop": "a:1:1",
            "steady": True,
            "backedge_copies": 0,
            "waits": [{"counter": "vmcnt", "target_count": 2, "full_drain": False}],
            "loads_pending": 2,
        }
    ],
}


def test_complete_report_is_clean() -> None:
    assert check(REPORT) == []


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("identity", "target"), None, "identity.target: missing"),
        (("entries", 0, "code_byte_count"), "4", "entries[0].code_byte_count: not a integer"),
        (("entries", 0, "code_byte_count"), True, "entries[0].code_byte_count: not a integer"),
        (("machine_loops", 0, "waits", 0, "counter"), None, "machine_loops[0].waits[0].counter: missing"),
        (
            ("entries", 0, "target_resources", "vector", "final", "register_count"),
            1.5,
            "entries[0].target_resources.vector.final.register_count: not a integer",
        ),
        (("identity", "extra"), 1, "identity.extra: unknown key"),
    ],
)
def test_faults_are_named(path: tuple[Any, ...], value: Any, problem: str) -> None:
    report = copy.deepcopy(REPORT)
    place: Any = report
    for part in path[:-1]:
        place = place[part]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert check(report) == [problem]


def test_page_has_every_row() -> None:
    text = page()
    assert all(f"| `{row.path}` |" in text for row in SCHEMA)
