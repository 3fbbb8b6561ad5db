"""Control flow, memory spaces, atomics and cross-lane operations on every executable target, against numpy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from emulator_compile import ATTRIBUTES, TARGETS, compile_ir, lanes_of, named
from emulator_programs import module

from specgen.devices.base import Run

WIDE = [target for target in TARGETS if lanes_of(target) == 64]
NARROW = [target for target in TARGETS if lanes_of(target) == 32]


@functools.cache
def code(target: str) -> bytes:
    """Every program compiled for a target."""
    return compile_ir(module(target) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=256)} }}\n", target)


def run(target: str, name: str, args: dict[str, Any], grid: tuple[int, int, int] = (1, 1, 1), size: int = 256) -> Run:
    return named(code(target), name, size).launch(args, grid)


def clean(target: str, name: str, args: dict[str, Any], grid: tuple[int, int, int] = (1, 1, 1), size: int = 256) -> Any:
    """The outputs of a run that must have no findings."""
    done = run(target, name, args, grid, size)
    assert done.findings == ()
    return done.outputs


def numbers(count: int, low: int = -99, high: int = 99, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, count).astype(np.int32)


@pytest.mark.parametrize("target", TARGETS)
def test_saxpy_with_ragged_end(target: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(1000).astype("f4"), rng.standard_normal(1000).astype("f4")
    done = run(target, "saxpy", {"x": x, "y": y, "a": 2.5, "n": 1000}, (16, 1, 1), 64)
    assert np.array_equal(done.outputs["y"], x * np.float32(2.5) + y)
    assert done.findings == ()
    assert done.evidence["bytes"]["global read"] == 8000
    assert done.evidence["bytes"]["global write"] == 4000
    assert done.evidence["kind"] == "exact (emulated)"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["sum_rows", "buffer_rows"])
def test_sum_of_rows(target: str, name: str) -> None:
    values = numbers(64 * 9).astype("f4").reshape(9, 64)
    for rows in (0, 1, 2, 3, 9):
        args = {"in": values[:rows].ravel(), "out": np.full(64, -1, "f4"), "rows": rows}
        if name == "buffer_rows":
            args["bytes"] = rows * 256
        assert np.array_equal(clean(target, name, args, size=64)["out"], values[:rows].sum(0, dtype="f4"))


@pytest.mark.parametrize("target", TARGETS)
def test_workgroup_memory_and_barrier(target: str) -> None:
    values = numbers(1024)
    out = clean(target, "reverse", {"in": values, "out": np.zeros(1024, "i4")}, (4, 1, 1))["out"]
    assert np.array_equal(out, values.reshape(4, 256)[:, ::-1].ravel())


@pytest.mark.parametrize("target", TARGETS)
def test_missing_barrier_is_a_race(target: str) -> None:
    done = run(target, "racy", {"in": numbers(256), "out": np.zeros(256, "i4")})
    assert {finding.kind for finding in done.findings} == {"race"}


@pytest.mark.parametrize("target", TARGETS)
def test_atomics(target: str) -> None:
    values = numbers(700, 0, 1000)
    out = clean(target, "histogram", {"in": values, "out": np.zeros(64, "i4"), "count": 700}, (2, 1, 1))["out"]
    assert np.array_equal(out, 2 * np.bincount(values & 63, minlength=64))
    done = clean(target, "atomics", {"old": np.zeros(256, "i4"), "cell": np.array([3, 0, 0, 0, 10], "i4")})
    chain, swapped = 10, []
    for lane in range(256):
        swapped.append(chain)
        chain = lane + 5 if chain == lane else chain
    sums = 3 + np.concatenate([[0], np.cumsum(np.arange(255) + 5)])
    assert np.array_equal(done["old"], sums + swapped)
    cell = done["cell"]
    assert cell[0] == 3 + sum(range(5, 261))
    assert cell[1] == 260
    assert cell[2] == np.bitwise_xor.reduce(np.arange(256) + 5)
    assert cell[3:4].view("f4")[0] == sum(range(256))
    assert cell[4] == chain


@pytest.mark.parametrize("target", TARGETS)
def test_private_and_flat_memory(target: str) -> None:
    picks = numbers(256, 0, 16)
    lane = np.arange(256, dtype="i4")
    out = clean(target, "stack", {"in": picks, "out": np.zeros(256, "i4"), "n": 16})["out"]
    assert np.array_equal(out, picks * lane)
    done = run(target, "stack", {"in": picks, "out": np.zeros(256, "i4"), "n": 8})
    assert {finding.kind for finding in done.findings} == {"unwritten-read"}
    out = clean(target, "flat", {"in": picks, "out": np.zeros(256, "i4")})["out"]
    assert np.array_equal(out, np.where(lane & 1, picks, 7))


def steps_to_one(value: int) -> int:
    count = 0
    while value > 1:
        value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
    return count


@pytest.mark.parametrize("target", TARGETS)
def test_divergent_control_flow(target: str) -> None:
    values = numbers(1024, 1, 100)
    done = run(target, "collatz", {"in": values, "out": np.zeros(1024, "i4")}, (4, 1, 1))
    assert np.array_equal(done.outputs["out"], [steps_to_one(int(v)) for v in values])
    assert done.findings == ()
    assert 0 < done.evidence["active_lane_share"] < 1
    trips = np.array([5, 0, 3, 9, 1, 1, 2, 7], "i4")
    expected = np.tile(np.arange(256, dtype="i4"), (8, 1))
    for group, trip in enumerate(trips):
        for i in range(trip):
            expected[group] = expected[group] * 3 + i
    out = clean(target, "uneven", {"in": trips, "out": np.zeros(2048, "i4")}, (8, 1, 1))["out"]
    assert np.array_equal(out, expected.ravel())


@pytest.mark.parametrize("target", TARGETS)
def test_three_dimensional_grid(target: str) -> None:
    z, y, x = np.meshgrid(range(2), range(3), range(4), indexing="ij")
    out = clean(target, "grid3", {"out": np.zeros(24 * 256, "i4"), "w": 4, "h": 3}, (4, 3, 2))["out"]
    assert np.array_equal(out, np.repeat((x + 10 * y + 100 * z).ravel(), 256))


@pytest.mark.parametrize("target", TARGETS)
def test_every_access_width(target: str) -> None:
    for bits in (8, 16, 32, 64, 96, 128):
        raw = np.random.default_rng(bits).integers(0, 256, 32 * bits).astype("u1")
        values = raw.view({8: "u1", 16: "u2"}.get(bits, "u4"))
        out = clean(target, f"copy{bits}", {"in": values, "out": np.zeros_like(values)})["out"]
        assert np.array_equal(out.view("u1").reshape(256, -1), raw.reshape(256, -1)[::-1])


def lane_expectations(values: np.ndarray, lanes: int) -> dict[str, np.ndarray]:
    """What each cross-lane program gives for 256 values."""
    waves, rows = values.reshape(-1, lanes), values.reshape(-1, 16)
    lane, at = np.arange(lanes), np.arange(16)
    row = np.arange(len(rows)) % (lanes // 16)
    enabled = ((5 >> row) & 1).astype(bool)[:, None] & ((3 >> (at // 4)) & 1).astype(bool)
    mirrored = values.reshape(-1, 8)[:, ::-1]
    found = {
        "bpermute": np.array([wave[5 * (lane + lanes * k) % lanes] for k, wave in enumerate(waves)]),
        "permute": waves[:, lane ^ 5],
        "swizzle_xor": waves[:, lane ^ 17],
        "swizzle_quad": values.reshape(-1, 4)[:, ::-1],
        "first": np.repeat(waves[:, :1], lanes, 1),
        "lane5": np.repeat(waves[:, 5:6], lanes, 1),
        "write7": np.where(lane == 7, 77, waves),
        "count_below": np.tile(lane, len(waves)),
        "row_shr": np.where(at >= 1, np.roll(rows, 1, 1), -1),
        "row_shr_zero": np.where(at >= 3, np.roll(rows, 3, 1), 0),
        "quad": values.reshape(-1, 4)[:, ::-1],
        "row_mirror": rows[:, ::-1],
        "row_ror": np.roll(rows, 4, 1),
        "bank_masked": np.where(enabled, rows[:, ::-1], 9),
        "dpp_add": mirrored + values.reshape(-1, 8),
    }
    ballots = np.array([sum(1 << k for k in range(lanes) if wave[k] & 1) for wave in waves], np.uint64)
    folded = (ballots ^ (ballots >> np.uint64(32))).astype("u4").view("i4")
    if lanes == 64:
        found["row_bcast"] = np.where(lane >= 16, waves[:, np.maximum((lane & ~15) - 1, 0)], -1)
        found["wave_shr"] = np.where(lane > 0, np.roll(waves, 1, 1), -1)
        found["ballot64"] = np.repeat(folded[:, None], 64, 1)
        return found
    found["ballot32"] = np.repeat(ballots.astype("u4").view("i4")[:, None], 32, 1)
    pairs = values.reshape(-1, 2, 16)
    found["permlanex16"] = pairs[:, ::-1][:, :, selector(1985229328, -19088744)]
    found["permlane16"] = pairs[:, :, selector(305419896, -1698898192)]
    found["dpp8"] = values.reshape(-1, 8)[:, [(342391 >> (3 * k)) & 7 for k in range(8)]]
    return found


def selector(low: int, high: int) -> list[int]:
    """Sixteen 4-bit numbers of two words."""
    bits = (low & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
    return [bits >> (4 * k) & 15 for k in range(16)]


@pytest.mark.parametrize("target", TARGETS)
def test_cross_lane_operations(target: str) -> None:
    values = numbers(256, -999, 999)
    for name, expected in lane_expectations(values, lanes_of(target)).items():
        out = clean(target, name, {"in": values, "out": np.zeros(256, "i4")})["out"]
        assert np.array_equal(out, expected.ravel()), name
