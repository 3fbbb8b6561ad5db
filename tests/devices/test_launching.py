"""Around a launch: promises about scalars, workgroup counts, types of arguments and results, alike on every device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import specgen
from specgen import api, devices
from specgen.checks.dtypes import dtype
from specgen.devices.base import DeviceError, TimingPlan

TARGETS = {"interpreter": "gfx1151", "amdgpu-emulator": "gfx1151", "vulkan": "vulkan1.3"}

PROMISES = """spec: 1
kind: kernel
name: promises
summary: Adds what its scalars say, within their promises.
args:
  n: {type: index, range: [0, 64], multiple_of: 4}
  last: {type: index, range: [0, n]}
  big: {type: u32, range: [1, 4000000000]}
  scale: {type: f32, range: [0.1, 2]}
  y: {buffer: f32, shape: {item: 64}, access: write}
launch: {workgroup_size: {lane: 64}}
body:
- store:
    y[lane]: scale if lane < n and lane < last and big > 0 else f32(0)
checks:
  all: {each: {n: [64], last: [3], big: [5], scale: [2]}, expect: {y: 2 if item < 3 else 0}, compare: exact}
"""
KEPT: dict[str, Any] = {"n": 64, "last": 10, "big": 3_000_000_000, "scale": 0.1}
BROKEN = [
    ({"n": 68}, 6, "argument n is 68, its range is [0, 64]"),
    ({"big": -1}, 8, "argument big is -1, its range is [1, 4000000000]"),
    ({"n": np.int64(62)}, 6, "argument n is 62, no multiple of 4"),
    ({"n": 8, "last": 9}, 7, "argument last is 9, its range is [0, 8], which is [0, n]"),
    ({"big": 0}, 8, "argument big is 0, its range is [1, 4000000000]"),
    ({"big": 4_000_000_001}, 8, "argument big is 4000000001, its range is [1, 4000000000]"),
    ({"scale": 2.5}, 9, "argument scale is 2.5, its range is [0.10000000149011612, 2.0]"),
    ({"scale": float("nan")}, 9, "argument scale is nan, its range is [0.10000000149011612, 2.0]"),
]

COUNTS = """spec: 1
kind: kernel
name: counts
summary: A workgroup count that is negative for small n.
args:
  n: {type: index, range: [0, 64]}
  y: {buffer: i32, shape: {item: 64}, access: write}
launch: {workgroups: {group: n - 8}, workgroup_size: {lane: 64}}
body:
- store:
    y[lane]: i32(n + lane)
checks:
  one: {each: {n: [9]}, expect: {y: n + item}, compare: exact}
"""

TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "index", "bool", "f16", "bf16", "f32", "f64"]
SCALARS = """spec: 1
kind: kernel
name: scalars
summary: Stores its scalars of every float type.
args:
  h: {type: f16}
  b: {type: bf16}
  s: {type: f32}
  d: {type: f64}
  y: {buffer: f64, shape: {item: 32}, access: write}
launch: {workgroup_size: {lane: 32}}
body:
- store:
    y[lane]: d if lane == 3 else f64(f32(h) if lane == 0 else f32(b) if lane == 1 else s)
checks:
  one:
    each: {h: [1], b: [2], s: [3], d: [4]}
    expect: {y: item + 1 if item < 4 else 3}
    compare: exact
"""

COPY = """spec: 1
kind: kernel
name: copy
summary: Copies elements.
args:
  x: {buffer: TYPE, shape: {row: 8, column: 4}}
  y: {buffer: TYPE, shape: {row: 8, column: 4}, access: write, contiguous: row}
launch: {workgroup_size: {lane: 32}}
body:
- store:
    y[lane // 4, lane % 4]: x[lane // 4, lane % 4]
checks:
  all: {given: {x: VALUES}, expect: {y: "x[row, column]"}, compare: exact}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Artifacts by spec text and device, each built once; skips for devices that this machine lacks."""
    folder = tmp_path_factory.mktemp("specs")
    done: dict[tuple[str, str], api.Artifact] = {}

    def build(text: str, device: str) -> api.Artifact:
        reason = devices.open(device).available()
        if reason is not None:
            pytest.skip(f"{device}: {reason}")
        key = (text, TARGETS[device])
        if key not in done:
            name = next(line for line in text.splitlines() if line.startswith("name:")).split()[1]
            path = Path(folder) / f"{name}.spec.yaml"
            path.write_text(text, encoding="utf-8")
            done[key] = specgen.load(path).build(TARGETS[device])
        return done[key]

    return build


@pytest.mark.parametrize("device", TARGETS)
def test_float_scalars_are_numbers_of_their_declared_types(built: Any, device: str) -> None:
    """A whole number means itself, not a bit pattern; two bytes may be f16 or bf16; numpy's numbers are rounded."""
    for h, b, s, d in ((2.5, -2.5, 0.1, 0.1), (3, 5, 7, 9), (np.float64(1.5), np.float32(1e38), np.float64(0.1), 1)):
        run = built(SCALARS, device).run(device, h=h, b=b, s=s, d=d)
        expected = [np.float16(h), np.float32(b).astype(ml_dtypes.bfloat16), np.float32(s), np.float64(d)]
        assert run.findings == ()
        assert run.outputs["y"][:4].tolist() == [float(x) for x in expected]


@pytest.mark.parametrize("device", TARGETS)
def test_kept_promises_are_no_finding(built: Any, device: str) -> None:
    """Both ends belong to a range; the end of a float's range is the float next to it."""
    artifact = built(PROMISES, device)
    for change in ({}, {"n": 0, "last": 0}, {"big": 1}, {"big": 4_000_000_000}, {"scale": np.float32(0.1)}):
        run = artifact.run(device, **{**KEPT, **change})
        assert run.findings == ()
        args = {**KEPT, **change}
        expected = np.where(np.arange(64) < min(args["n"], args["last"]), np.float32(args["scale"]), np.float32(0))
        np.testing.assert_array_equal(run.outputs["y"], expected)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize(("change", "line", "detail"), BROKEN)
def test_broken_promises_are_findings(built: Any, device: str, change: dict[str, Any], line: int, detail: str) -> None:
    """The finding names the argument and where the spec declares it; the kernel is not started."""
    held = np.full(64, 7, np.float32)
    run = built(PROMISES, device).run(device, **{**KEPT, **change, "y": held})
    (finding,) = run.findings
    assert (finding.kind, finding.detail) == ("broken-assumption", detail)
    assert finding.where.startswith(f"promises.spec.yaml:{line}:")
    np.testing.assert_array_equal(run.outputs["y"], held)


def test_broken_promises_of_a_batch_are_told_apart(built: Any) -> None:
    """Launches side by side: those that keep their promises run."""
    artifact = built(PROMISES, "interpreter")
    kernel = devices.open("interpreter").load(artifact.for_device(), "promises")
    launches = [artifact.arrays({**KEPT, "n": n}) for n in (64, 68, 12, 13)]
    runs = kernel.launch_batch(launches)
    assert [len(run.findings) for run in runs] == [0, 1, 0, 1]
    assert [int(np.count_nonzero(run.outputs["y"])) for run in runs] == [10, 0, 10, 0]


@pytest.mark.parametrize("device", ["vulkan"])
def test_broken_promises_are_not_timed(built: Any, device: str) -> None:
    """There is no run to hold a finding."""
    artifact = built(PROMISES, device)
    opened = devices.open(device)
    try:
        kernel = opened.load(artifact.for_device(), "promises")
        with pytest.raises(DeviceError, match=r"promises\.spec\.yaml:6:\d+: broken-assumption: argument n is 68"):
            kernel.time(artifact.arrays({**KEPT, "n": 68}), TimingPlan(1, 1, 0.0))
    finally:
        opened.close()


@pytest.mark.parametrize("device", TARGETS)
def test_negative_counts_are_told_with_their_formula(built: Any, device: str) -> None:
    """One line: the axis, the formula, its value and the arguments in it, and no error behind the error."""
    artifact = built(COUNTS, device)
    with pytest.raises(DeviceError) as caught:
        artifact.run(device, n=3)
    assert str(caught.value) == "counts: the workgroup count along x, n - 8, is -5 for n = 3"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    with pytest.raises(DeviceError, match=r"workgroup counts are three numbers from 0 on, not 1, -2, 1"):
        artifact.run(device, (1, -2, 1), n=9)
    assert artifact.run(device, n=8).findings == ()


def values(type_: str) -> np.ndarray[Any, Any]:
    """Elements whose bits tell types apart: the greatest, the least, fractions."""
    kind = dtype(type_)
    if type_ == "bool":
        return (np.arange(32) % 3 == 0).astype(np.uint8).reshape(8, 4)
    if type_ in ("f16", "bf16", "f32", "f64"):
        return (np.arange(32) / 4 - 3).astype(kind).reshape(8, 4)
    ends = np.iinfo(kind)
    return np.array([ends.max - i if i % 2 else ends.min + i for i in range(32)], kind).reshape(8, 4)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("type_", TYPES)
def test_outputs_have_the_declared_type(built: Any, device: str, type_: str) -> None:
    """On each device, with the bits that went in; memory order is the declared one."""
    given = {"bool": "row % 2 == 0"}.get(type_, f"{type_}(row + 2 * column)")
    artifact = built(COPY.replace("TYPE", type_).replace("VALUES", f'"{given}"'), device)
    x = values(type_)
    try:
        run = artifact.run(device, x=x)
    except DeviceError as error:
        if "feature" in str(error) or "does not support" in str(error):
            pytest.skip(f"{device}: {error}")
        raise
    y = run.outputs["y"]
    assert y.dtype == dtype(type_)
    assert y.tobytes() == np.ascontiguousarray(x.T).tobytes()
    flat = artifact.run(device, x=x.reshape(-1))
    assert flat.outputs["y"].tobytes() == y.tobytes()


WRONG: list[tuple[str, Any, str]] = [
    ("f32", np.zeros((8, 4)), r"x is an array of float64, declared is f32 \(float32\)"),
    ("f32", np.zeros((8, 4), np.int32), r"x is an array of int32, declared is f32 \(float32\)"),
    ("u32", np.zeros((8, 4), np.int32), r"x is an array of int32, declared is u32 \(uint32\)"),
    ("bf16", np.zeros((8, 4), np.uint16), r"x is an array of uint16, declared is bf16 \(bfloat16\)"),
    ("f32", np.zeros((4, 8), np.float32), r"the shape \(4, 8\), declared is \(8, 4\) \(row: 8, column: 4\)"),
    ("f32", np.zeros(33, np.float32), r"the shape \(33,\), declared is \(8, 4\).*it has up to 32 elements"),
    ("f32", np.zeros((8, 4, 1), np.float32), r"the shape \(8, 4, 1\), declared is \(8, 4\)"),
    ("f32", [0.1] * 32, "f32, which does not hold every number"),
    ("u64", [-1] * 32, "u64, which does not hold every number"),
    ("i64", [2**63] * 32, "i64, which does not hold every number"),
    ("i8", [1.5] * 32, "i8, which does not hold every number"),
    ("i8", [float("nan")] * 32, "i8, which does not hold every number"),
    ("i64", [2**70] * 32, "whole numbers: of at most 64 bits"),
    ("f32", [[1, 2], [3]], "lists of different lengths"),
    ("f32", ["one"] * 32, "takes an array of f32"),
]


@pytest.mark.parametrize(("type_", "given", "message"), WRONG)
def test_arrays_of_another_type_or_shape_are_refused(type_: str, given: Any, message: str) -> None:
    """Nothing is converted, cut or reshaped in silence."""
    from specgen.devices.arrays import flat_buffer

    row = {"name": "x", "type": type_, "axes": ["row", "column"], "order": [0, 1]}
    with pytest.raises(DeviceError, match=message):
        flat_buffer(row, given, (8, 4))


def test_numbers_that_fit_will_do() -> None:
    """Lists become arrays where nothing is lost."""
    from specgen.devices.arrays import flat_buffer

    row = {"name": "x", "type": "bf16", "axes": ["row", "column"], "order": [1, 0]}
    array = flat_buffer(row, [[1, 2, float("nan")], [0.5, -4, 256]], (2, 3))
    assert array.dtype == ml_dtypes.bfloat16
    assert [str(v) for v in array.tolist()] == ["1.0", "0.5", "2.0", "-4.0", "nan", "256.0"]
