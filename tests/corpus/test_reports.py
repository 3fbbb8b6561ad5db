"""Reports of every spec and target: the schema, the loops, and agreement with the code object's own metadata."""

from __future__ import annotations

import io
import json
import re
import struct

import msgpack
import pytest
from corpus_build import AMD, NAMES
from elftools.elf.elffile import ELFFile

from specgen import targets
from specgen.report import peer
from specgen.report.schema import check

SUM_ROWS_BYTES = 360
SUM_ROWS_VECTOR_REGISTERS = 7
"""What sum_rows may take at depth 3, factor 4, recurrence on gfx1151 (the nearest peer: 376 bytes, 7 registers)."""

PACKED_DOT_BYTES = 1408
PACKED_DOT_VECTOR_REGISTERS = 32
"""What streaming_packed_dot took on gfx1151 at depth 4, factor 2, with copies and full waits at the backedge."""


def report_of(built, target: str) -> dict:
    """The parsed `report.json` of a target."""
    return json.loads((built.folder / target / "report.json").read_text())


def metadata(hsaco: bytes) -> dict[str, dict]:
    """The kernels of a code object's metadata note, by name (LLVM's AMDGPUUsage, note type 32)."""
    data = ELFFile(io.BytesIO(hsaco)).get_section_by_name(".note").data()
    name_size, size, kind = struct.unpack_from("<III", data)
    assert kind == 32
    start = 12 + (name_size + 3) // 4 * 4
    note = msgpack.unpackb(data[start : start + size], strict_map_key=False)
    return {kernel[".name"]: kernel for kernel in note["amdhsa.kernels"]}


def code_sizes(hsaco: bytes) -> dict[str, int]:
    """Size of every function of a code object."""
    table = ELFFile(io.BytesIO(hsaco)).get_section_by_name(".dynsym")
    return {s.name: s["st_size"] for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}


@pytest.mark.parametrize("name", NAMES)
def test_reports_follow_the_schema(name, corpus):
    built = corpus(name)
    manifest = json.loads((built.folder / "manifest.json").read_text())
    for target in manifest["targets"]:
        report = report_of(built, target)
        assert check(report) == [], target
        assert report["identity"]["target"] == target
        assert report["identity"]["spec_sha256"] == manifest["spec"]["sha256"]
        names = [e["name"] for e in report["entries"]]
        assert names == [e["name"] for e in manifest["entries"]]
        assert names[:2] == ["default", "serial"]
        assert names[2:] == sorted(names[2:])


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_check_notices_faults(name, corpus):
    report = report_of(corpus(name), "gfx942")
    del report["entries"][0]["code_byte_count"]
    report["entries"][1]["workgroup_memory_bytes"] = "none"
    report["rumour"] = 1
    assert len(check(report)) == 3


@pytest.mark.parametrize("name", NAMES)
def test_resources_agree_with_the_code_object(name, corpus):
    built = corpus(name)
    for target in AMD:
        hsaco = (built.folder / target / "kernel.hsaco").read_bytes()
        kernels, sizes = metadata(hsaco), code_sizes(hsaco)
        entries = report_of(built, target)["entries"]
        assert set(kernels) == {e["symbol"] for e in entries}
        for entry in entries:
            kernel = kernels[entry["symbol"]]
            resources = {file: r["final"]["register_count"] for file, r in entry["target_resources"].items()}
            accumulators = kernel.get(".agpr_count", 0)
            assert resources["vector"] + (accumulators if "accumulator" in resources else 0) == kernel[".vgpr_count"]
            assert resources.get("accumulator", 0) == accumulators
            assert resources["scalar"] == kernel[".sgpr_count"]
            assert entry["allocation_spill_count"] == kernel[".vgpr_spill_count"] + kernel[".sgpr_spill_count"]
            assert entry["private_memory_bytes"] == kernel[".private_segment_fixed_size"]
            assert entry["workgroup_memory_bytes"] == kernel[".group_segment_fixed_size"]
            assert entry["workgroup_size"] == kernel[".reqd_workgroup_size"]
            assert entry["code_byte_count"] == sizes[entry["symbol"]]
            assert kernel[".wavefront_size"] == targets.load(target).subgroup_size
            assert 0 < entry["occupancy_percent"] <= 100


def scheduled_loops(report: dict) -> set[tuple[str, str]]:
    """(function, location) of every loop that read-ahead or unrolling changed."""
    low = report["source_low"]
    ahead = {(r["function"], r["location"]) for r in low["loop_pipelines"]["rows"] if r["depth"] > 1}
    unrolled = {(r["function"], r["location"]) for r in low.get("loop_unrolls", {}).get("rows", ()) if r["factor"] > 1}
    return ahead | unrolled


@pytest.mark.parametrize("name", NAMES)
def test_scheduled_loops_have_a_steady_loop_or_are_folded(name, corpus):
    built = corpus(name)
    expected = {"sum_rows": 3, "streaming_packed_dot": 4, "sum_guarded_rows": 3, "row_softmax": 4, "rms_norm": 2}
    for target in AMD:
        report = report_of(built, target)
        steady = {(m["function"], m["loop"]) for m in report["machine_loops"] if m["steady"]}
        loops = scheduled_loops(report)
        assert len(loops) >= expected.get(name, 0)
        folded = {(f["function"], f["loop"]) for f in report["folded_loops"]}
        assert loops <= steady | folded, f"{target}: {loops - steady - folded} have no row"
        assert not [f for f in report["findings"] if "not found" in f], target


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_loop_is_a_loop_of_the_spec(name, corpus):
    """Others would be loops over lanes, made for a scalar operand that the compiler put into a vector register."""
    for target in AMD:
        loops = report_of(corpus(name), target)["machine_loops"]
        assert [m for m in loops if m["loop"] == "not found"] == [], target


@pytest.mark.parametrize("name", NAMES)
def test_pipelines_are_planned_alike_on_every_target(name, corpus):
    """The schedule is the spec's, not the target's: subgroup size and matrix units change no row."""
    built = corpus(name)
    rows = [report_of(built, t)["source_low"]["loop_pipelines"]["rows"] for t in targets.DEFAULT]
    assert all(r == rows[0] for r in rows)
    for row in rows[0]:
        assert row["queue_records"] == row["depth"] - 1 or row["outcome"] == "serial"
        assert (row["outcome"] == "pipelined") == (row["depth"] > 1)


def test_sum_rows_meets_its_figures_on_gfx1151(corpus):
    report = report_of(corpus("sum_rows"), "gfx1151")
    entry = report["entries"][0]
    assert entry["policies"] == {"depth": 3, "factor": 4}
    assert entry["allocation_spill_count"] == 0
    assert entry["private_memory_bytes"] == 0
    assert entry["code_byte_count"] <= SUM_ROWS_BYTES
    assert entry["target_resources"]["vector"]["final"]["register_count"] <= SUM_ROWS_VECTOR_REGISTERS
    (steady,) = [m for m in report["machine_loops"] if m["function"] == "sum_rows" and m["steady"]]
    assert steady["backedge_copies"] == 0
    assert steady["waits"]
    assert not any(wait["full_drain"] or wait["target_count"] == 0 for wait in steady["waits"])
    assert steady["loads_pending"] == 2


def test_the_steady_loop_of_sum_rows_in_the_assembly(corpus):
    """The same, read from the assembly text and not from the report: a loop of four loads without a full wait."""
    text = (corpus("sum_rows").folder / "gfx1151" / "kernel.s").read_text()
    body = text[text.index("\nsum_rows:") : text.index(".Lfunc_end0")]
    blocks = re.split(r"\n(?=\.?LBB\d+_\d+:|\.LBB)", body)
    loops = [b for b in blocks if (m := re.match(r"(\.LBB\d+_\d+):", b)) and re.search(rf"s_c?branch\S* {m[1]}\b", b)]
    steady = [b for b in loops if b.count("buffer_load") + b.count("global_load") == 4]
    assert len(steady) == 1
    waits = [int(n) for n in re.findall(r"vmcnt\((\d+)\)", steady[0])]
    assert waits
    assert min(waits) >= 1
    assert "v_mov_b32" not in steady[0]


def test_sum_rows_executes_fewer_instructions_than_the_peer(corpus, repository, monkeypatch):
    """One wave over 64 rows, counted on the built code; the recorded counts are those."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import resources

    rows = resources.executed_of(corpus("sum_rows").folder)
    assert rows == peer.recorded()["executed"]
    by_entry = {row["entry"]: row for row in rows}
    assert by_entry["default"]["instructions"] < peer.EXECUTED_PEER
    for row in rows:
        assert (row["by_class"]["vmem_load"], row["by_class"]["vmem_store"]) == (64, 1)
        assert row["instructions"] == sum(row["by_class"].values())
        assert row["by_class"]["valu"] >= 64, "an addition a row"


@pytest.mark.parametrize("target", AMD)
def test_streaming_packed_dot_keeps_its_queue_in_place(target, corpus):
    """Three records of three loads each: the wait for the oldest load leaves at least the two younger records' six,
    but on gfx9, whose packed multiplications gather operands of several records (measured: 1)."""
    report = report_of(corpus("streaming_packed_dot"), target)
    (steady,) = [m for m in report["machine_loops"] if m["function"] == "streaming_packed_dot" and m["steady"]]
    counts = [w["target_count"] for w in steady["waits"] if w["counter"] in ("vmcnt", "loadcnt")]
    assert (steady["backedge_copies"], counts[0]) == (0, 8)
    assert min(counts) >= (1 if target.startswith("gfx9") else 6), counts
    assert steady["loads_pending"] >= 6
    entry = report["entries"][0]
    assert entry["policies"] == {"depth": 4, "factor": 3}
    assert (entry["allocation_spill_count"], entry["occupancy_percent"]) == (0, 100.0)
    if target == "gfx1151":
        (ahead,) = [m for m in report["machine_loops"] if m["function"].endswith("__ahead") and m["steady"]]
        assert not any(wait["full_drain"] for wait in ahead["waits"]), "one record ahead, its loads in any order"
        assert entry["code_byte_count"] <= PACKED_DOT_BYTES
        assert entry["target_resources"]["vector"]["final"]["register_count"] <= PACKED_DOT_VECTOR_REGISTERS
