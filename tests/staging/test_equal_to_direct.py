"""Staged views give what reading in place gives, bit for bit and without a race, whatever the policies say."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding_helpers import load
from staged_kernels import KERNELS, Point, arguments, points

import specgen
from specgen import devices
from specgen.devices.base import Run
from specgen.loading import load_spec
from specgen.model import Spec

TRIPS = (0, 1, 2, 3, 4, 7)
TARGETS = ("gfx1151", "gfx942", "gfx1201")
CORNERS: tuple[dict[str, Any], ...] = (
    {"depth": 3, "factor": 2, "buffers": 2, "pad": 1},
    {"depth": 2, "buffers": 1, "swizzle": "xor"},
    {"depth": 1, "factor": 2, "buffers": 3, "pad": 4, "swizzle": "xor"},
)


@functools.cache
def spec_of(name: str) -> Spec:
    return load(KERNELS[name])


def trips(name: str) -> tuple[int, ...]:
    return tuple(n for n in TRIPS if name != "edge" or n <= 4)


@functools.cache
def direct(name: str) -> tuple[bytes, ...]:
    runs = Point(spec_of(name), place="direct").interpreted([arguments(name, n) for n in trips(name)])
    assert all(run.findings == () for run in runs)
    return tuple(run.outputs["y"].tobytes() for run in runs)


def same(run: Run, wanted: bytes) -> None:
    assert run.findings == ()
    assert run.outputs["y"].tobytes() == wanted


def interpreted(name: str, policies: dict[str, Any]) -> None:
    runs = Point(spec_of(name), **policies).interpreted([arguments(name, n) for n in trips(name)])
    for run, wanted in zip(runs, direct(name), strict=True):
        same(run, wanted)


def test_the_direct_form_is_right():
    """Against numpy, in float64 where the sums are exact enough: the other forms are compared with this one."""
    given = arguments("edge", 4)
    x = given["x"].astype(np.int64).reshape(21, 23)
    total, lane = np.zeros(32, np.int64), np.arange(32)
    for j in range(2):
        for i in range(4):
            tile = np.full((8, 13), -7)
            for r, c in np.ndindex(8, 13):
                row, column = 8 * i - 2 + r, 5 * j + 16 * (i % 2) - 3 + c
                if 0 <= row < 21 and 0 <= column < 23:
                    tile[r, c] = x[row, column]
            total = 3 * total + tile[lane % 8, lane * 5 % 13] - tile[7 - lane % 8, lane % 13]
    assert direct("edge")[trips("edge").index(4)] == total.astype(np.int32).tobytes()


@pytest.mark.parametrize("policies", CORNERS, ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_on_the_interpreter(name, policies):
    interpreted(name, policies)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_all_policies_on_the_interpreter(name):
    for policies in points((1, 2, 3), (1, 2)):
        interpreted(name, policies)


def emulated(name: str, target: str, policies: dict[str, Any]) -> None:
    last = trips(name)[-1]
    same(Point(spec_of(name), target, **policies).emulated(arguments(name, last)), direct(name)[-1])


@pytest.mark.parametrize("target", TARGETS)
def test_as_machine_code(target):
    emulated("rows", target, CORNERS[0])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_corners_as_machine_code(name, target):
    for policies in ({"place": "direct"}, *CORNERS):
        emulated(name, target, policies)


def on_vulkan(folder: Path, name: str, policies: dict[str, Any]) -> None:
    reason = devices.open("vulkan").available()
    if reason is not None:
        pytest.skip(reason)
    (folder / "k.spec.yaml").write_text(KERNELS[name])
    args = arguments(name, trips(name)[-1])
    args.pop("y")
    shapes = {"rows": {"x": (36, 40)}, "edge": {"x": (21, 23)}, "pair": {"a": (12, 48), "b": (16, 48)}}[name]
    shaped = {k: v.reshape(shapes[k]) if k in shapes else v for k, v in args.items()}
    if name == "pair":
        shaped["b"] = shaped["b"].T
    run = specgen.load(folder / "k.spec.yaml").build("vulkan1.3", **policies).run("vulkan", **shaped)
    same(run, direct(name)[-1])


@pytest.mark.required_in_ci
def test_on_vulkan(tmp_path):
    on_vulkan(tmp_path, "edge", CORNERS[0])


@pytest.mark.slow
@pytest.mark.required_in_ci
@pytest.mark.parametrize("name", KERNELS)
def test_corners_on_vulkan(name, tmp_path):
    for policies in ({"place": "direct"}, *CORNERS):
        on_vulkan(tmp_path, name, policies)


# --- the corpus spec ------------------------------------------------------------------------------------------------

CASES = [(0, 2, 1), (1, 3, 1), (2, 2, 1), (2, 3, 1), (3, 3, 1), (4, 1, 1), (4, 2, 1), (4, 3, 2)]
"""Rows, depth, factor."""


def mirror(repository: Path, rows: int, depth: int, factor: int, **more: Any) -> Point:
    loaded = load_spec(repository / "specs" / "streaming" / "workgroup_staging.spec.yaml")
    assert loaded.spec is not None
    return Point(loaded.spec, params={"rows": rows}, depth=depth, factor=factor, **more)


def expected(rows: int) -> np.ndarray:
    """`1 + flat` in the buffer: the sum of two mirrored stripes of each row, in closed form."""
    return (rows * (384 - 2 * np.arange(128)) + 256 * rows * (rows - 1)).astype(np.int32)


def given(rows: int) -> dict[str, Any]:
    """Backed only as far as the active rows."""
    return {"input": np.arange(1, 1 + rows * 256, dtype=np.int32), "output": np.full(128, 37, np.int32)}


@pytest.mark.parametrize(("rows", "depth", "factor"), CASES)
def test_the_cases_of_the_mirror(rows, depth, factor, repository):
    for more in ({}, {"buffers": 2}, {"place": "direct"}):
        (run,) = mirror(repository, rows, depth, factor, **more).interpreted([given(rows)])
        assert run.findings == ()
        assert np.array_equal(run.outputs["output"], expected(rows))


@pytest.mark.parametrize("target", ["gfx1151", "gfx1201"])
def test_a_subscript_that_falls_with_the_lane(target, repository):
    """`127 - lane`: the constant may not become an immediate of an address whose rest is negative."""
    run = mirror(repository, 4, 3, 1, place="direct", target=target).emulated(given(4))
    assert run.findings == ()
    assert np.array_equal(run.outputs["output"], expected(4))


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "depth", "factor"), CASES)
def test_the_cases_of_the_mirror_as_machine_code(rows, depth, factor, repository):
    for more in ({}, {"buffers": 2}, {"place": "direct"}):
        run = mirror(repository, rows, depth, factor, **more).emulated(given(rows))
        assert run.findings == ()
        assert np.array_equal(run.outputs["output"], expected(rows))
