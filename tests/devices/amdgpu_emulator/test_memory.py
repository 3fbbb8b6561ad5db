"""Storage: gathers and scatters of every width and alignment, bounds, written bytes, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specgen.devices.amdgpu_emulator.memory import ADDRESS_BASE, GUARD, Arena, Banked

Report = list[tuple[str, str, Any]]


def arena(*items: tuple[str, np.ndarray, bool]) -> tuple[Arena, Report]:
    """Buffers of (name, contents, written), and the list that reports go to."""
    found: Report = []

    def report(kind: str, site: Any, lanes: np.ndarray, detail: str) -> None:
        found.append((kind, detail, lanes.copy()))

    rows = [(name, array, array.dtype.itemsize, True, written) for name, array, written in items]
    return Arena(rows, report, tracked=True), found


def offsets(space: Arena, name: str, positions: Any) -> np.ndarray:
    return np.asarray(positions, np.int64).reshape(1, -1) + (space.address(name) - ADDRESS_BASE)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 12, 16, 32, 64])
@pytest.mark.parametrize("shift", [0, 1, 2, 4])
def test_loads_and_stores_are_little_endian(size: int, shift: int) -> None:
    raw = np.random.default_rng(size).integers(0, 256, 256).astype(np.uint8)
    space, found = arena(("a", raw, True), ("b", np.zeros(256, np.uint8), True))
    positions = shift + np.array([0, 80, 160])
    words = space.load(offsets(space, "a", positions), True, size, (0, None))
    assert words.shape == (1, 3, max(1, size // 4))
    for lane, at in enumerate(positions):
        assert words[0, lane].tobytes()[:size] == raw[at : at + size].tobytes()
    parts = [words[..., k] for k in range(words.shape[-1])]
    space.store(offsets(space, "b", positions), True, size, parts, (1, None))
    out = space.contents("b")
    for at in positions:
        assert np.array_equal(out[at : at + size], raw[at : at + size])
    assert np.count_nonzero(out) <= 3 * size
    assert not found


def test_a_lane_out_of_bounds_does_not_touch_others() -> None:
    space, found = arena(("a", np.arange(4, dtype=np.uint32), True), ("b", np.arange(4, dtype=np.uint32), True))
    where = offsets(space, "a", [0, 16, -4, 12])
    words = space.load(where, True, 4, (0, None))[..., 0]
    assert words.tolist() == [[0, 0, 0, 3]]
    assert found[0][0] == "out-of-bounds"
    assert found[0][2].tolist() == [[False, True, True, False]]
    space.store(where, True, 4, [np.full((1, 4), 9, np.uint32)], (1, None))
    assert space.contents("a").view(np.uint32).tolist() == [9, 1, 2, 9]
    assert space.contents("b").view(np.uint32).tolist() == [0, 1, 2, 3]


def test_an_access_must_stay_in_the_buffer_that_it_starts_in() -> None:
    space, found = arena(("a", np.zeros(3, np.uint32), True), ("b", np.zeros(3, np.uint32), True))
    space.load(offsets(space, "a", [4]), True, 8, (0, None))
    assert not found
    space.load(offsets(space, "a", [8]), True, 8, (1, None))
    assert found[0][0] == "out-of-bounds"
    assert "8 bytes at byte 8 of buffer 'a' (12 bytes)" in found[0][1]


def test_an_access_far_from_buffers_belongs_to_none() -> None:
    """Beside a buffer, up to the guard's size, it is told as a byte of it; further off by address and distance; never
    as part of what the launch adds, unless it lies in there."""
    found: list[str] = []
    items = [
        ("a", bytes(16), 4, True, True),
        ("b", bytes(8), 4, True, True),
        ("code object", bytes(64), 4, False, True),
    ]
    space = Arena(items, lambda kind, site, lanes, detail: found.append(detail), False)
    a, b = (next(x for x in space.buffers if x.name == name) for name in "ab")
    code = space.buffers[-1]
    for place in (
        a.start - GUARD + 1,
        a.start - GUARD,
        b.end + GUARD - 1,
        b.end + 3 * GUARD,
        code.start + 8,
        -(1 << 46),
    ):
        space.load(np.array([[place]], np.int64), True, 4, (0, None))
    space.store(np.array([[code.start + 8]], np.int64), True, 4, [np.zeros((1, 1), np.uint32)], (1, None))
    assert found == [
        f"4 bytes at byte {1 - GUARD} of buffer 'a' (16 bytes)",
        f"4 bytes at address {ADDRESS_BASE + a.start - GUARD:#x}, where no buffer is: "
        f"{GUARD} bytes before the start of the nearest, 'a' (16 bytes)",
        f"4 bytes at byte {GUARD + 7} of buffer 'b' (8 bytes)",
        f"4 bytes at address {ADDRESS_BASE + b.end + 3 * GUARD:#x}, where no buffer is: "
        f"{3 * GUARD} bytes behind the end of the nearest, 'b' (8 bytes)",
        f"4 bytes at address {ADDRESS_BASE - (1 << 46):#x}, where no buffer is: "
        f"{a.start + (1 << 46)} bytes before the start of the nearest, 'a' (16 bytes)",
        "store to read-only memory; 4 bytes at byte 8 of buffer 'code object' (64 bytes)",
    ]


def test_an_access_without_any_buffer() -> None:
    found: list[str] = []
    items = [("code object", bytes(64), 4, False, True)]
    space = Arena(items, lambda kind, site, lanes, detail: found.append(detail), False)
    space.load(np.array([[space.buffers[0].end]], np.int64), True, 4, (0, None))
    assert found == [f"4 bytes at address {ADDRESS_BASE + space.buffers[0].end:#x}, where no buffer is"]


def test_masked_lanes_are_not_looked_at() -> None:
    space, found = arena(("a", np.arange(4, dtype=np.uint32), True))
    mask = np.array([[True, False]])
    words = space.load(offsets(space, "a", [4, GUARD * 7]), mask, 4, (0, None))
    assert words[..., 0].tolist() == [[1, 0]]
    assert not found


def test_unwritten_bytes() -> None:
    space, found = arena(("a", np.zeros(8, np.uint8), False))
    space.store(offsets(space, "a", [0]), True, 2, [np.full((1, 1), 0x0201, np.uint32)], (0, None))
    assert space.load(offsets(space, "a", [0]), True, 2, (1, None))[0, 0, 0] == 0x0201
    assert not found
    space.load(offsets(space, "a", [1]), True, 2, (2, None))
    assert [kind for kind, _, _ in found] == ["unwritten-read"]


def test_alignment_follows_the_element() -> None:
    space, found = arena(("half", np.zeros(16, np.uint16), True), ("word", np.zeros(16, np.uint32), True))
    space.load(offsets(space, "half", [2]), True, 8, (0, None))
    assert not found
    space.load(offsets(space, "word", [2]), True, 4, (1, None))
    space.load(offsets(space, "half", [1]), True, 2, (2, None))
    assert [kind for kind, _, _ in found] == ["misaligned"] * 2


def test_atomics_return_what_each_lane_found() -> None:
    space, found = arena(("a", np.array([10, 20], np.uint32), True))
    where = offsets(space, "a", [0, 4, 0, 0])
    value = np.array([[1, 2, 3, 4]], np.uint32)
    old = space.atomic(where, True, 4, np.add, [value], (0, None))
    assert old.tolist() == [[10, 20, 11, 14]]
    assert space.contents("a").view(np.uint32).tolist() == [18, 22]
    space.accumulate(where, np.array([[True, True, False, True]]), np.maximum, value, np.uint32, (1, None))
    assert space.contents("a").view(np.uint32).tolist() == [18, 22]
    assert not found
    space.atomic(offsets(space, "a", [2]), True, 4, np.add, [np.ones((1, 1), np.uint32)], (2, None))
    assert found[0][0] == "misaligned"


def test_banks_do_not_overlap() -> None:
    found: Report = []
    space = Banked("workgroup memory", 2, 20, lambda *row: found.append((row[0], row[3], row[2])), tracked=False)
    bank = np.array([[0], [1]])
    flat, mask = space.place(bank, np.array([[16, 20], [0, -4]], np.int64), True, 4, (0, None))
    assert np.asarray(mask).tolist() == [[True, False], [True, False]]
    assert found[0][1] == "4 bytes at byte 20 of workgroup memory (20 bytes)"
    space.store(flat, mask, 4, [np.array([[1, 2], [3, 4]], np.uint32)], (0, None))
    assert space.load(flat, mask, 4, (1, None))[..., 0].tolist() == [[1, 0], [3, 0]]
