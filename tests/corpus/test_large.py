"""Kernels whose whole suites take minutes: closed forms and steady loops here, everything with the slow tests."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_build import AMD, EXECUTABLE, FILES, LARGE
from corpus_runs import suite_module
from vulkan_support import validate

import specgen
from specgen import devices
from specgen.api import Artifact
from specgen.build import BuildOptions, build_paths
from specgen.checks.places import Place, Settings
from specgen.checks.suite import Suite, Where
from specgen.devices.base import Run
from specgen.report import peer
from specgen.report.schema import check
from specgen.testing import SuiteOptions, run_suite

ATTENTION = tuple(name for name in LARGE if "attention" in name)
OPEN_SUBGROUP = tuple(name for name in LARGE if name not in ATTENTION)
QUICK_CHECKS = ("analytic", "five_routes", "pairs")


def test_the_corpus_has_the_kernels():
    assert set(LARGE) == {
        "cooperative_paged_attention",
        "sparse_token_attention",
        "grouped_paged_attention",
        "routed_row_combine",
        "routed_row_combine_staged",
        "sum_paired_rows",
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    """A function from a name and targets to a built folder."""
    root = tmp_path_factory.mktemp("large")

    @cache
    def build(name: str, targets: tuple[str, ...] | None = None) -> Path:
        if targets is None:
            targets = ("gfx1151",)
        out = root / ("-".join(targets) or "all")
        (result,) = build_paths([FILES[name]], BuildOptions(out, targets=targets))
        assert result.status == "built", (result.problem, [d.message for d in result.diagnostics])
        return out / name

    return build


def run_checks(folder: Path, where: Where, names: tuple[str, ...]) -> int:
    """Runs the named checks of a folder's suite that it has; how many those are."""
    module = suite_module(folder)
    source: Suite = module.SUITE
    suite = Suite(folder, constants=source.signature.constants, words=source.signature.words, settings=Settings())
    checks = [c for c in vars(module).values() if getattr(c, "name", None) in names and hasattr(c, "given")]
    try:
        for one in checks:
            suite.check(one, where)
    finally:
        suite.places.close()
    return len(checks)


@pytest.mark.parametrize("name", LARGE)
def test_closed_forms_on_machine_code(name, built):
    folder = built(name)
    entries = [e["name"] for e in json.loads((folder / "manifest.json").read_text())["entries"]]
    # `serial` runs with each of the others, which have to leave its bits.
    for entry in [name for name in entries if name != "serial"]:
        assert run_checks(folder, Where(Place("amdgpu-emulator", "gfx1151"), entry), QUICK_CHECKS) > 0


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n.startswith("cooperative") else pytest.mark.slow) for n in ATTENTION]
)
def test_closed_forms_at_another_subgroup_size(name, built):
    """Eight lanes: each holds sixteen channels, and the sums over a subgroup are three steps instead of five."""
    folder = built(name, ("vulkan1.3-sg8",))
    assert run_checks(folder, Where(Place("interpreter", "vulkan1.3-sg8"), "default"), ("analytic",)) == 1
    validate((folder / "vulkan1.3-sg8" / "kernel.spv").read_bytes())


@pytest.mark.parametrize("name", ATTENTION)
def test_a_target_without_a_subgroup_size_is_told(name, tmp_path):
    """The others are built; naming it alone is refused with the names that fix a size."""
    (result,) = build_paths([FILES[name]], BuildOptions(tmp_path, targets=("vulkan1.3",)))
    assert result.status == "refused"
    assert any("vulkan1.3-sg32" in f"{d.message} {d.hint}" for d in result.diagnostics)


# Loads that stay in flight over the backedge


def page_arguments(queries: int, heads: int = 1) -> dict[str, object]:
    """Four pages of sixteen rows, all there."""
    shape = (queries, heads) if heads > 1 else (queries,)
    return {
        "lengths": np.full(shape, 64, np.int32),
        "query": np.ones((*shape, 128), np.float32),
        "pages": np.tile(np.arange(64, dtype=np.int32) % 4, (queries, 1)),
        "key": np.ones((64 * 128,), np.float32),
        "value": np.ones((64 * 128,), np.float32),
    }


RUNS: dict[str, tuple[str, str, int, dict[str, object]]] = {
    "sum rows": ("sum_rows", "default", 2, {"row_count": 64, "input": np.ones((64, 32), np.float32)}),
    "vector rows": ("vector_rows", "default", 3, {"row_count": 64, "values": np.ones((64, 32, 4), np.float32)}),
    "cooperative": ("cooperative_paged_attention", "default", 4, {"queries": 1, **page_arguments(1)}),
    "grouped": ("grouped_paged_attention", "default", 2, {"pairs": 1, **page_arguments(1, heads=2)}),
    "apart": ("grouped_paged_attention", "independent", 2, {"pairs": 1, **page_arguments(1, heads=2)}),
    "routed rows": (
        "routed_row_combine",
        "default",
        1,
        {
            "tokens": 1,
            "routes": 32,
            "ids": np.arange(32, dtype=np.int32)[None] % 4,
            "weights": np.ones((1, 32), np.float32),
            "rows": np.ones(4 * 1024, np.float32),
        },
    ),
    "sparse": (
        "sparse_token_attention",
        "default",
        4,
        {
            "queries": 1,
            "bound": 64,
            "indices": np.tile(np.arange(1024, dtype=np.int32) % 64, (1, 1)),
            **{n: v for n, v in page_arguments(1).items() if n != "pages"},
        },
    ),
}
"""Spec, entry, loads that wait over the backedge of the innermost loop, arguments that keep all guards true."""


def launched(folder: Path, entry: str, arguments: dict[str, object]) -> Run:
    """One run of the machine code for gfx1151; written buffers hold what the suite would poison."""
    artifact = devices_artifact(folder, "gfx1151")
    kernel = devices.open("amdgpu-emulator").load(artifact.for_device(), artifact.symbol(entry))
    return kernel.launch(artifact.arrays(arguments))


def devices_artifact(folder: Path, target: str) -> Artifact:
    """A built folder as the Python interface takes it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {path.name: path.read_bytes() for path in (folder / target).iterdir()}
    return Artifact(folder.name, target, manifest, files)


@pytest.mark.parametrize("kernel", RUNS)
def test_loads_are_pending_over_the_steady_backedge(kernel, built):
    """The emulator counts what is in flight when a loop starts over; the report tells the same from the text."""
    name, entry, pending, arguments = RUNS[kernel]
    folder = built(name)
    report = json.loads((folder / "gfx1151" / "report.json").read_text())
    (symbol,) = [e["symbol"] for e in report["entries"] if e["name"] == entry]
    run = launched(folder, entry, arguments)
    assert run.findings == ()
    assert {"min": pending, "max": pending} in run.evidence["loads_pending"].values()
    loops = [m for m in report["machine_loops"] if m["function"] == symbol and m["steady"]]
    steady = loops[-1]
    assert steady["loads_pending"] == pending
    assert not any(w["full_drain"] for w in steady["waits"] if w["counter"] == "vmcnt")


# Two instances with schedules of their own


def depths(report: dict[str, Any], symbol: str) -> dict[str, int]:
    """Depth of each instance's loop by the report."""
    rows = report["source_low"]["loop_pipelines"]["rows"]
    return {row["instance"]: row["depth"] for row in rows if row["function"] == symbol}


def test_instances_have_the_depths_that_they_ask_for(built):
    """Deep queues cost residency and nothing else."""
    report = json.loads((built("sum_paired_rows") / "gfx1151" / "report.json").read_text())
    entries = {e["name"]: e for e in report["entries"]}
    wanted = {"default": (4, 1), "swapped": (1, 4), "both": (4, 4), "deep": (32, 32)}
    for name, (left, right) in wanted.items():
        assert depths(report, entries[name]["symbol"]) == {"left": left, "right": right}, name
        assert entries[name]["allocation_spill_count"] == 0
    assert entries["both"]["occupancy_percent"] == 100
    assert entries["deep"]["occupancy_percent"] < 50


SEARCH = [*itertools.product((1, 4), repeat=4), (8, 4, 8, 4), (16, 4, 16, 4), (32, 4, 32, 4)]
"""Depth and factor of the left and the right instance."""


@pytest.mark.slow
def test_every_point_of_the_search_is_built_without_spills():
    spec = specgen.load(FILES["sum_paired_rows"])
    for left, left_unroll, right, right_unroll in SEARCH:
        artifact = spec.build(
            "gfx1151",
            left_lookahead=left - 1,
            left_unroll=left_unroll,
            right_lookahead=right - 1,
            right_unroll=right_unroll,
        )
        report = json.loads(artifact.files["report.json"])
        (entry,) = [e for e in report["entries"] if e["name"] == "default"]
        assert depths(report, entry["symbol"]) == {"left": left, "right": right}
        assert entry["allocation_spill_count"] == 0
        assert (entry["occupancy_percent"] == 100) == (max(left, right) < 16), (left, right, entry["occupancy_percent"])


# Resources


def test_recorded_resources_are_no_larger_than_the_peers():
    rows = peer.recorded()["rows"]
    assert {peer.key(r) for r in rows if r["target"] == "gfx1151"} == set(peer.PEER)
    for row in rows:
        size, registers = peer.PEER[peer.key(row)]
        assert row["bytes"] <= size * 1.15, row
        assert row["vector_registers"] <= registers * 1.15, row
        assert (row["spills"], row["private_bytes"], row["occupancy"]) == (0, 0, 100), row
        assert not peer.exceeds(row) or peer.REASONS[peer.key(row)], row
    assert sum(not peer.exceeds(row) for row in rows if row["target"] == "gfx1151") >= 6


@pytest.mark.slow
def test_recorded_resources_are_those_of_fresh_builds(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import resources

    assert resources.rows() == peer.recorded()["rows"]


# Everything


def run_all(folder: Path, device: str, targets: tuple[str, ...] = ()) -> None:
    """The whole suite, references included."""
    result = run_suite(folder, SuiteOptions(devices=(device,), targets=targets, allow_oracles=True))
    assert result.broken == ()
    assert result.failed == 0, "\n".join(result.output)[-4000:]
    assert result.passed > 0
    assert result.skip_reasons == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_reports_follow_the_schema(name, built):
    folder = built(name, ())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(AMD) <= set(manifest["targets"])
    assert ("vulkan1.3" in manifest["targets"]) == (name in OPEN_SUBGROUP)
    for target in manifest["targets"]:
        assert check(json.loads((folder / target / "report.json").read_text())) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", EXECUTABLE)
@pytest.mark.parametrize("name", LARGE)
def test_suites_pass_on_machine_code(name, target, built):
    run_all(built(name, ()), "amdgpu-emulator", (target,))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx1151"])
@pytest.mark.parametrize("name", LARGE)
def test_suites_pass_on_the_interpreter(name, target, built):
    run_all(built(name, ()), "interpreter", (target,))


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 32, 64])
@pytest.mark.parametrize("name", ATTENTION)
def test_spirv_is_valid_and_runs_where_a_device_has_the_size(name, size, built):
    target = f"vulkan1.3-sg{size}"
    folder = built(name, (target,))
    validate((folder / target / "kernel.spv").read_bytes())
    vulkan = devices.open("vulkan")
    reason = vulkan.available()
    if reason is not None:
        pytest.skip(reason)
    if size not in vulkan.facts().subgroup_sizes:
        pytest.skip(f"{target}: the device has subgroups of {vulkan.facts().subgroup_sizes}")
    run_all(folder, "vulkan", (target,))
