"""The page of a report shows the figures of the report."""

from __future__ import annotations

from specgen.report.show import svg, text

REPORT = {
    "identity": {"spec_sha256": "0", "policies": {"depth": 3}, "target": "gfx1151", "specgen": "9.9"},
    "entries": [
        {
            "name": "default",
            "policies": {"depth": 3},
            "symbol": "sums",
            "workgroup_size": [32, 1, 1],
            "code_byte_count": 1234,
            "target_resources": {"vector": {"final": {"register_count": 77}}},
            "allocation_spill_count": 5,
            "workgroup_memory_bytes": 256,
            "static_instruction_mix": {},
        }
    ],
    "source_low": {
        "loop_pipelines": {
            "rows": [
                {
                    "function": "sums",
                    "loop": "row",
                    "location": "a.yaml:3:1",
                    "outcome": "pipelined",
                    "depth": 3,
                    "queue_records": 2,
                    "values_per_record": 1,
                    "read_count": 1,
                }
            ],
            "stages": [],
        },
        "loop_splits": {
            "rows": [
                {
                    "function": "sums",
                    "loop": "row",
                    "location": "a.yaml:3:1",
                    "condition": "a.yaml:5:9",
                    "first": "else",
                }
            ]
        },
    },
    "machine_loops": [
        {
            "function": "sums",
            "loop": "a.yaml:3:1",
            "steady": steady,
            "backedge_copies": 0,
            "waits": [{"counter": "vmcnt", "target_count": count, "full_drain": False}],
        }
        for steady, count in ((True, 3), (False, 9))
    ],
    "findings": ["[odd] text"],
}


def test_text_holds_the_figures() -> None:
    page = text(REPORT)
    assert "sums for gfx1151, specgen 9.9" in page
    assert all(figure in page for figure in ("1234", "77", "256", "pipelined", "vmcnt(3)", "finding: [odd] text"))
    assert "vmcnt(9)" not in page
    assert "\x1b" not in page


def test_loops_that_were_cut() -> None:
    (line,) = [line for line in text(REPORT).split("\n") if "a.yaml:5:9" in line]
    assert [cell.strip() for cell in line.split("│")[1:-1]] == ["sums", "row", "a.yaml:5:9", "else", "known when run"]


def test_picture_is_reproducible() -> None:
    assert svg(REPORT) == svg(REPORT)
    assert "1234" in svg(REPORT)
    assert "@font-face" not in svg(REPORT)
