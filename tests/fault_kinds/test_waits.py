"""Kinds B24-B27: waits, repeatability, and a back end that fails."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from fault_kinds_machines import EXECUTABLE, code, launch, same_as_interpreter
from fault_kinds_product import line_of, places, plan, refused, zeros

from specgen import targets
from specgen.devices.amdgpu_emulator.device import EmulatedKernel
from specgen.devices.base import DeviceError
from specgen.lowering import LoweringError, amdgpu
from specgen.lowering.amdgpu.codegen import CodegenError, compile_modules

PAIRS = """\
spec: 1
kind: kernel
name: pairs
summary: Two reads an iteration, queued.
args:
  count: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 8, lane: 64}}
  y: {buffer: f32, shape: {row: 8, lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 3, range: [1, 4]}
  factor: {default: 1, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: factor, order: recurrence}
  do:
  - set: {total: "total * 2 + x[row, lane] * y[row, lane]"}   # here
- store: {"out[lane]": total}
"""


def pair_args(count: int) -> dict[str, Any]:
    """Small whole numbers; the buffers end with the last active row."""
    x = (np.arange(count * 64) % 7).astype(np.float32)
    return {"count": count, "x": x, "y": x + 1, "out": zeros(64)}


@pytest.mark.parametrize("target", EXECUTABLE)
def test_b24_waits_in_the_tail(target: str) -> None:
    """Every consumer waits for what its own path issued, in start-up, steady loop and drain, for short trips too."""
    same_as_interpreter(PAIRS, [pair_args(count) for count in range(6)], target)


MEMORY_WAITS = {
    "gfx9": lambda word: word >> 16 == 0xBF8C,
    "gfx11": lambda word: word >> 16 == 0xBF89,
    "gfx12": lambda word: word >> 16 in (0xBFC0, 0xBFC8),
}
"""Family -> words of `s_waitcnt`; from gfx12 on of `s_wait_loadcnt` and its combined form (ISA guides, SOPP)."""
NO_OPERATION = 0xBF800000


def without_waits(elf: bytes, family: str) -> bytes:
    """The code object with its waits for memory replaced by `s_nop 0`."""
    words = bytearray(elf)
    seen = 0
    for at in range(0, len(elf) - 3, 4):
        if MEMORY_WAITS[family](struct.unpack_from("<I", elf, at)[0]):
            seen += 1
            struct.pack_into("<I", words, at, NO_OPERATION)
    assert seen
    return bytes(words)


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_b24_a_missing_wait_is_found(target: str) -> None:
    """A register that is read while its load is under way is a finding at the spec's line."""
    broken = without_waits(code(PAIRS, target).hsaco, targets.load(target).family)
    found = EmulatedKernel(broken, "pairs").launch(pair_args(4), (1, 1, 1)).findings
    assert ("wait-count", line_of(PAIRS)) in places([f for f in found if f.where])


BRANCHES = """\
spec: 1
kind: kernel
name: branches
summary: A value that is loaded and then replaced on one path, with control that a clean-up likes to merge.
args:
  count: {type: index, range: [0, 8]}
  ids: {buffer: i32, shape: {row: 8}, range: [-1, 7]}
  x: {buffer: f32, shape: {row: 8, lane: 64}}
  out: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 2, range: [1, 4]}
body:
- var: {total: f32(0), last: f32(1)}
- for: row
  in: range(count)
  schedule: {pipeline: depth}
  do:
  - let: {id: "ids[row]"}
  - var: {value: f32(3)}
  - if: id >= 0
    then:
    - set: {value: "x[id, lane]"}
  - if: id == 2
    then:
    - set: {value: last}
  - set:
      total: total * 2 + value
      last: value
- store: {"out[lane]": total}
"""


def branch_args(count: int) -> dict[str, Any]:
    """Rows that are named, not named, and named but replaced."""
    ids = np.array([0, -1, 2, 5, 2, -1, 7, 2], np.int32)[:count]
    return {"count": count, "ids": ids, "x": (np.arange(512) % 5).astype(np.float32), "out": zeros(64)}


def branch_result(count: int) -> list[float]:
    """The fold over Python's numbers."""
    rows = (np.arange(512) % 5).reshape(8, 64).astype(np.float64)
    total, last = np.zeros(64), np.ones(64)
    for i in branch_args(count)["ids"]:
        value = last if i == 2 else rows[i] if i >= 0 else np.full(64, 3.0)
        total, last = total * 2 + value, value
    return total.tolist()


@pytest.mark.parametrize("target", EXECUTABLE)
def test_b25_final_code_is_what_is_checked(target: str) -> None:
    """Waits are replayed on the bytes that ship: no register is read or overwritten under a load on any path."""
    counts = (0, 1, 2, 5, 8)
    lefts = same_as_interpreter(BRANCHES, [branch_args(count) for count in counts], target)
    assert [left["out"].tolist() for left in lefts] == [branch_result(count) for count in counts]


def test_b25_code_that_cannot_be_replayed_says_so() -> None:
    """gfx1250 is compiled and not executed: the emulator refuses it in words instead of passing it."""
    with pytest.raises(DeviceError, match="gfx1250 code is compiled but not executed"):
        launch(BRANCHES, branch_args(3), "gfx1250")


@pytest.mark.parametrize("target", [*EXECUTABLE, "vulkan1.3"])
def test_b26_the_same_bits_every_time(target: str) -> None:
    """Twenty launches of one build leave the same bits, and two builds are the same bytes."""
    args = branch_args(7)
    first = launch(BRANCHES, args, target).outputs["out"].tobytes()
    assert all(launch(BRANCHES, args, target).outputs["out"].tobytes() == first for _ in range(19))
    facts = targets.load(target)
    if facts.kind == "amdgpu":
        again = amdgpu.lower(plan(BRANCHES, target).scheduled.module, facts)
        assert again.hsaco == code(BRANCHES, target).hsaco


UNSELECTABLE = """
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)
define amdgpu_kernel void @k(ptr addrspace(1) %p, <16 x half> %a, <8 x float> %c) {
  %r = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %a, <8 x float> %c)
  store <8 x float> %r, ptr addrspace(1) %p
  ret void
}
"""
RIGHT = "define amdgpu_kernel void @k() {\n  ret void\n}\n"


def test_b27_abort_of_the_code_generator_is_contained() -> None:
    """A matrix op on a processor without it makes LLVM abort: this process lives, and the next job is compiled."""
    with pytest.raises(LoweringError) as caught:
        compile_modules([(UNSELECTABLE, "gfx90a")])
    assert isinstance(caught.value, CodegenError)
    assert "gfx90a" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "select" in caught.value.detail.lower()
    assert compile_modules([(RIGHT, "gfx942")])[0].object[:4] == b"\x7fELF"


def test_b27_ir_that_does_not_parse() -> None:
    """Damaged IR is an error of that job only."""
    with pytest.raises(CodegenError, match="refused"):
        compile_modules([("define nonsense", "gfx942")])
    assert compile_modules([(RIGHT, "gfx1151")])[0].object[:4] == b"\x7fELF"


MATRIX = """\
spec: 1
kind: kernel
name: matrix
summary: A product of tiles.
args:
  a: {buffer: f16, shape: {m: 16, k: 16}}
  b: {buffer: f16, shape: {n: 16, k: 16}}
  out: {buffer: f32, shape: {m: 16, n: 16}, access: write}
launch:
  workgroup_size: {lane: 64}
body:
- let: {c: "mma(tile(a[:, :]), tile(b[:, :]))"}   # here
- store: {"out[:, :]": c}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "vulkan1.3"])
def test_b27_tiles_are_refused_at_their_line(target: str) -> None:
    """A tile product is a diagnostic at the spec's line and never reaches a back end that would die of it."""
    found = refused(MATRIX, target)
    assert ("SG-UNSUPPORTED", line_of(MATRIX)) in found
    assert {code for code, _ in found} == {"SG-UNSUPPORTED"}
