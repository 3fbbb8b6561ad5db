"""Kinds B57-B62: caches, benchmarks, sweeps, and tests that cannot fail."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fault_kinds_machines import artifact, code, device, same_as_interpreter
from fault_kinds_product import diagnostics_of, line_of, loaded, plan, refused, run, spec_of, zeros

from specgen import fingerprint, ir
from specgen.bench.statistics import Comparison, compare, warnings
from specgen.build import BUILT, REFUSED, UP_TO_DATE, BuildOptions, build_paths
from specgen.cli.main import cli
from specgen.devices.base import DeviceError, TimingPlan
from specgen.validate import validate_spec

CACHED = """\
spec: 1
kind: kernel
name: cached
summary: Scales rows.
args:
  x: {buffer: f32, shape: {row: 8, lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 2, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: row
  in: range(8)
  schedule: {pipeline: depth}
  do:
  - set: {total: "total + x[row, lane]"}
- store: {"out[lane]": total}
checks:
  sums:
    given: {x: flat}
    expect: {out: 8 * lane + 1792}
"""


def build(folder: Path, text: str, target: str = "gfx1100", **policies: Any) -> tuple[str, Path]:
    """Status and output folder of a build into `folder/out`."""
    path = folder / "cached.spec.yaml"
    path.write_text(text)
    settings = tuple((None, name, value) for name, value in policies.items())
    (result,) = build_paths([path], BuildOptions(folder / "out", (target,), settings))
    assert result.folder is not None, [d.message for d in result.diagnostics] + [result.problem]
    return result.status, result.folder


def test_b57_one_field_at_a_time() -> None:
    """Each input of a build takes part in its key: spec, used files, targets and their order, policies and types."""
    base: tuple[Any, ...] = ({"a.yaml": "1", "b.yaml": "2"}, ("gfx1100",), {"depth": 2})
    changed: list[tuple[Any, ...]] = [
        ({"a.yaml": "1", "b.yaml": "3"}, base[1], base[2]),
        ({"a.yaml": "1"}, base[1], base[2]),
        ({"a.yaml": "2", "b.yaml": "1"}, base[1], base[2]),
        (base[0], ("gfx1151",), base[2]),
        (base[0], ("gfx1100", "gfx1151"), base[2]),
        (base[0], base[1], {"depth": 3}),
        (base[0], base[1], {"depth": "2"}),
        (base[0], base[1], {"depths": 2}),
        (base[0], base[1], {}),
    ]
    keys = [fingerprint.key(*request) for request in (base, *changed)]
    assert len(set(keys)) == len(keys)
    assert fingerprint.key(*base) == keys[0]


@pytest.mark.parametrize("package", ["llvmlite", "xdsl", "numpy", "jinja2"])
def test_b57_tool_and_back_ends_are_keyed(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of a package that shapes the output is another tool; so is another byte of specgen itself."""
    digest = fingerprint.tool.__wrapped__
    before = digest()
    assert digest() == before
    real = fingerprint.metadata.version
    monkeypatch.setattr(fingerprint.metadata, "version", lambda n: "0.0" if n == package else real(n))
    assert digest() != before


def test_b57_stale_outputs_are_rebuilt(tmp_path: Path) -> None:
    """An output folder is taken as it is only if nothing changed: neither request, spec nor a file in it."""
    assert build(tmp_path, CACHED)[0] == BUILT
    assert build(tmp_path, CACHED)[0] == UP_TO_DATE
    assert build(tmp_path, CACHED, depth=3)[0] == BUILT
    assert build(tmp_path, CACHED.replace("8 * lane + 1792", "1792 + 8 * lane"))[0] == BUILT
    status, folder = build(tmp_path, CACHED, target="gfx1151")
    assert status == BUILT
    other = (folder / "gfx1151" / "kernel.hsaco").read_bytes()
    status, folder = build(tmp_path, CACHED)
    assert status == BUILT
    own = (folder / "gfx1100" / "kernel.hsaco").read_bytes()
    assert own != other
    (folder / "gfx1100" / "kernel.hsaco").write_bytes(other)
    status, folder = build(tmp_path, CACHED)
    assert status == BUILT, "a code object of another processor in the folder is not taken for its own"
    assert (folder / "gfx1100" / "kernel.hsaco").read_bytes() == own
    shutil.copytree(folder, tmp_path / "copy" / "cached")
    path = tmp_path / "cached.spec.yaml"
    (result,) = build_paths([path], BuildOptions(tmp_path / "copy", ("gfx1151",)))
    assert (result.status, result.targets) == (BUILT, ("gfx1151",))


SWEEP = """\
spec: 1
kind: suite   # here
name: sweep
summary: Points of a policy.
specs: [cached.spec.yaml]
sweeps:
- spec: cached
  policies: {depth: [1, 2, 3]}
"""


def test_b57_tuning_is_not_there_yet() -> None:
    """Sweeps, and with them any cache of winners, are refused; no command offers them."""
    spec, found = loaded(SWEEP)
    assert spec is None
    assert ("SG-UNSUPPORTED", line_of(SWEEP)) in [(d.code, d.span.line) for d in found]
    assert CliRunner().invoke(cli, ["tune"]).exit_code == 2


def test_b58_noise_is_told_from_difference() -> None:
    """A kernel against itself is "not distinguishable", also under drift; short or few samples carry warnings."""
    random = np.random.default_rng(58)

    def rounds(count: int, seconds: float, first: int) -> list[list[float]]:
        drift = 1 + 0.02 * np.arange(first, first + 2 * count, 2)
        return [list(seconds * d * (1 + 0.01 * random.random(10))) for d in drift]

    assert compare(rounds(9, 1e-3, 0), rounds(8, 1e-3, 1)).verdict == Comparison.SAME
    assert compare(rounds(9, 1e-3, 0), rounds(8, 0.7e-3, 1)).verdict == Comparison.FASTER
    assert "short_measured_duration" in warnings([1e-5] * 10, 8, 80)
    assert "low_physical_dispatch_sample_count" in warnings([1e-2] * 10, 8, 80)
    assert warnings([1e-2] * 100, 8, 800) == ()


@pytest.mark.parametrize("name", ["interpreter", "amdgpu-emulator"])
def test_b58_no_clock_no_time(name: str) -> None:
    """A device that only simulates refuses to time; nothing is made up."""
    scheduled = ir.print_module(plan(CACHED, "gfx1100").scheduled.module).encode()
    built = artifact(CACHED, "gfx1100")
    whole = dataclasses.replace(built, files={**built.files, "scheduled.mlir": scheduled})
    with pytest.raises(DeviceError, match=r"clock|does not time"):
        device(name).load(whole, "cached").time({"x": zeros(512), "out": zeros(64)}, TimingPlan())


POINTS = """\
spec: 1
kind: kernel
name: points
summary: Reverses a tile in workgroup memory whose size is a policy.
args:
  x: {buffer: f32, shape: {lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
memory:
  tile: {space: workgroup, type: f32, shape: {copy: copies, at: 64}}   # here
launch:
  workgroup_size: {lane: 64}
policies:
  copies: {default: 1, choices: [1, 64, 256, 257, 512]}
body:
- store: {"tile[copies - 1, lane]": "x[lane]"}
- barrier: workgroup
- store: {"out[lane]": "tile[copies - 1, 63 - lane]"}
"""


def test_b59_points_over_the_limit() -> None:
    """A point whose workgroup memory exceeds the target's limit is one coded error with both numbers; others run."""
    x = np.arange(64, dtype=np.float32)
    for target, fits in (("gfx1151", (1, 64, 256)), ("vulkan1.3", (1, 64))):
        for copies in (1, 64, 256, 257, 512):
            if copies in fits:
                left = run(POINTS, {"x": x, "out": zeros(64)}, target=target, copies=copies)
                assert left["out"].tolist() == x[::-1].tolist()
                continue
            assert refused(POINTS, target, copies=copies) == [("SG-MEM", line_of(POINTS))]
            (diagnostic,) = diagnostics_of(POINTS, target, copies=copies)
            text = f"{diagnostic.message} {diagnostic.found} {diagnostic.allowed}"
            assert str(copies * 256) in text
            assert str(65536 if target == "gfx1151" else 32768) in text


def test_b59_refusals_are_counted(tmp_path: Path) -> None:
    """Points and targets that `requires` excludes are refused with its line and do not end the rest."""
    text = POINTS.replace("body:", "requires:\n- copies * 256 <= target.workgroup_memory   # the rule\nbody:")
    assert ("SG-REQUIRES", line_of(text, "# the rule")) in refused(text, copies=512)
    assert refused(text, copies=1) == []
    path = tmp_path / "points.spec.yaml"
    path.write_text(text)
    good = tmp_path / "cached.spec.yaml"
    good.write_text(CACHED)
    settings = (("points", "copies", 512),)
    results = build_paths([path, good], BuildOptions(tmp_path / "out", ("gfx1100",), settings))
    assert {r.name: r.status for r in results}["cached"] == BUILT
    assert {r.name: r.status for r in results}["points"] != BUILT
    alone = text.replace("copies * 256 <= target.workgroup_memory", "copies == 1 and target.subgroup_size == 64")
    path.write_text(alone)
    (result,) = build_paths([path], BuildOptions(tmp_path / "out", ("gfx1100", "gfx1151")))
    assert (result.status, result.refused) in ((REFUSED, ("gfx1100", "gfx1151")), (REFUSED, ()))


SOFTMAX = """\
spec: 1
kind: kernel
name: softmax
summary: One row of equal shares.
args:
  x: {buffer: f32, shape: {column: 393216}}
  out: {buffer: f32, shape: {column: 393216}, access: write}
launch:
  workgroups: {group: 1536}
  workgroup_size: {item: 256}
body:
- store: {"out[group * 256 + item]": "x[group * 256 + item] / 393216"}
checks:
  shares:   # here
    given: {x: 1 + flat % 3}
    expect: {out: (1 + column % 3) / 393216}
    compare: COMPARE
"""


@pytest.mark.parametrize(
    ("how", "passes"),
    [("derived", True), ("{atol: 0, rtol: 0.0001}", True), ("{atol: 0.001, rtol: 0.001}", False)],
)
def test_b60_tolerance_above_the_values(how: str, passes: bool) -> None:
    """A check that zeros would pass, since the tolerance exceeds the results, is refused; derived bounds scale."""
    text = SOFTMAX.replace("COMPARE", how)
    found, _ = validate_spec(spec_of(text))
    assert [(d.code, d.span.line) for d in found if d.is_error] == ([] if passes else [("SG-CHECK", line_of(text))])


CHECKS = CACHED[CACHED.index("checks:") :]


@pytest.mark.parametrize(
    ("checks", "code", "word"),
    [
        (CHECKS.replace("checks:", "chekcs:"), "SG-KEY", "chekcs"),
        (CHECKS.replace("expect", "expcet"), "SG-KEY", "expcet"),
        (CHECKS.replace("    expect: {out: 8 * lane + 1792}\n", ""), "SG-CHECK", "sums"),
        (CHECKS + "    comapre: exact\n", "SG-KEY", "comapre"),
        (CHECKS + "    each: {seed: []}\n", "SG-CHECK", "each"),
        (CHECKS + "    cases: []\n", "SG-CHECK", "cases"),
        (CHECKS.replace("{out: 8", "{otu: 8"), "SG-CHECK", "otu"),
    ],
    ids=str,
)
def test_b61_checks_that_check_nothing(checks: str, code: str, word: str) -> None:
    """A misspelt key of a check, no case at all, or no expectation is an error, never a check that passes."""
    text = CACHED[: CACHED.index("checks:")] + checks
    found = refused(text)
    if not found:
        found = [(d.code, d.span.line) for d in validate_spec(spec_of(text))[0] if d.is_error]
    assert (code, line_of(text, word)) in found


def test_b61_no_checks_is_told() -> None:
    """A kernel without checks says that nothing is known about its results."""
    _, found = loaded(CACHED[: CACHED.index("checks:")])
    assert [(d.code, d.severity) for d in found] == [("SG-CHECK", "warning")]
    _, found = loaded(CACHED[: CACHED.index("checks:")] + "checks: {}\n")
    assert [(d.code, d.severity) for d in found] == [("SG-CHECK", "warning")]


def test_b61_a_run_without_tests_fails(tmp_path: Path) -> None:
    """`specgen test` of a folder that holds no suite is no success."""
    (tmp_path / "empty").mkdir()
    assert CliRunner().invoke(cli, ["test", str(tmp_path / "empty")]).exit_code != 0


STRIDES = """\
spec: 1
kind: kernel
name: strides
summary: Sixteen reads of workgroup memory at constant distances from one place that is known when run.
args:
  first: {type: index, range: [0, 63]}
  x: {buffer: f32, shape: {at: 2048}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
memory:
  tile: {space: workgroup, type: f32, shape: {at: 2048}}
launch:
  workgroup_size: {lane: 64}
body:
- for: i
  in: range(32)
  do:
  - store: {"tile[i * 64 + lane]": "x[i * 64 + lane]"}
- barrier: workgroup
- var: {total: f32(0)}
- for: k
  in: range(16)
  schedule: {unroll: full}
  do:
  - set: {total: "total * 2 + tile[first + lane + k * 112]"}
- store: {"out[lane]": total}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1151", "gfx1201"])
def test_b62_one_base_and_constants(target: str) -> None:
    """Reads at constant distances share one base register: the distances stay in the instructions, nothing spills."""
    binary = code(STRIDES, target)
    body = binary.asm.split("strides:")[1].split("s_endpgm")[0]
    reads = re.findall(r"ds_(?:load|read)\w* +\S+, (v\d+)(.*)", body)
    elements = sum(2 if "offset1" in rest else 1 for _, rest in reads)
    assert elements == 16
    assert len({base for base, _ in reads}) <= 4, "a paired read whose distances need another unit takes one more"
    entry = next(e for e in binary.entries if e.name == "strides")
    assert (entry.vector_spills, entry.scalar_spills, entry.private_memory_bytes) == (0, 0, 0)
    x = (np.arange(2048) % 5).astype(np.float32)
    for left, first in zip(
        same_as_interpreter(STRIDES, [{"first": f, "x": x, "out": zeros(64)} for f in (0, 5, 63)], target),
        (0, 5, 63),
        strict=True,
    ):
        total = np.zeros(64)
        for k in range(16):
            total = total * 2 + x[first + np.arange(64) + 112 * k]
        assert left["out"].tolist() == total.tolist()
