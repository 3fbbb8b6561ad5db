"""`early` reads: where they stand in scheduled IR and in machine code, and that nothing else changes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fault_kinds_product import line_of, plan, refused, sweep
from xdsl.dialects.func import FuncOp

from specgen import targets
from specgen.ir import print_module
from specgen.lowering import amdgpu, spirv

TEXT = """\
spec: 1
kind: kernel
name: soon
summary: A bias that is needed behind a long loop.
args:
  n: {type: index, range: [0, 16]}
  x: {buffer: f32, shape: {row: 16, lane: 64}}
  bias: {buffer: f32, shape: {row: 16, lane: 64}}
  side: {buffer: f32, shape: {lane: 64}, access: ACCESS}
  out: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  early: {default: true, choices: [true, false]}
body:
- var: {total: f32(1)}
- for: row
  in: range(n)
  do:
  - set: {total: "total * 0.5 + x[row, lane]"}
STORE- let: {b: "BIAS"}   # here
  schedule: {early: early}
- store: {"out[lane]": total * b}
"""


def text(bias: str = "bias[15 - n // 2, lane]", store: str = "", access: str = "write") -> str:
    made = TEXT.replace("BIAS", bias).replace("STORE", store).replace("ACCESS", access)
    if "side[" not in made:
        made = "\n".join(line for line in made.split("\n") if not line.startswith("  side:"))
    return made


SIDE = '- store: {"side[lane]": total}\n'


def function(spec: str, number: int = 0, **policies: bool) -> list[str]:
    """Operations of the entry block of a scheduled function, in order."""
    module = plan(spec, **policies).scheduled.module
    found = [op for op in module.walk() if isinstance(op, FuncOp)][number]
    return [op.name for op in found.body.block.ops]


def launches() -> list[dict[str, object]]:
    rng = np.random.default_rng(20260705)
    x, bias = (rng.standard_normal(1024).astype(np.float32) for _ in range(2))
    return [{"n": n, "x": x, "bias": bias, "out": np.zeros(64, np.float32)} for n in (0, 1, 7, 16)]


def test_the_read_and_its_address_stand_first_and_a_fence_behind_them() -> None:
    names = function(text())
    at = names.index("memref.load")
    assert at < names.index("scf.for")
    assert names[at + 1] == "motif.fence"
    assert set(names[:at]) <= {"gpu.thread_id", "arith.constant", "arith.divui", "arith.subi", "motif.extents"}


@pytest.mark.parametrize("which", ["serial", "policy"])
def test_nothing_moves_without_the_key(which: str) -> None:
    names = function(text(), 1) if which == "serial" else function(text(), early=False)
    assert names.index("memref.load") > names.index("scf.for")
    assert "motif.fence" not in names
    assert "motif.early" not in print_module(plan(text()).source).split("@soon__serial")[1]


@pytest.mark.parametrize(
    "bias", ["bias[15 - n // 2, lane]", "sum(bias[n // 2, 0:+4])", "bias[n, lane] if n < 16 else 2"]
)
def test_same_bits(bias: str) -> None:
    sweep(text(bias), launches())


def test_a_guarded_read_moves_with_its_guard() -> None:
    names = function(text("bias[n, lane] if n < 16 else 2"))
    assert names.index("scf.if") < names.index("scf.for")


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_machine_code_issues_it_before_the_loop(target: str) -> None:
    """And waits for it behind the loop only."""
    asm = amdgpu.lower(plan(text(), target).scheduled.module, targets.load(target)).asm
    for symbol, early in (("soon", True), ("soon__serial", False)):
        body = re.search(rf"^{symbol}:\n(.*?)^\.Lfunc_end", asm, re.DOTALL | re.MULTILINE)
        assert body is not None
        before = body[1].split("\n.LBB", 1)[0]
        assert bool(re.search(r"\t(buffer|global)_load_(b32|dword) ", before)) is early


def test_a_store_to_another_buffer_is_passed() -> None:
    names = function(text(store=SIDE))
    assert names.index("memref.load") < names.index("scf.for") < names.index("memref.store")


def test_a_store_that_may_alias_is_refused() -> None:
    spec = text("side[63 - lane]", SIDE, "readwrite")
    assert refused(spec) == [("SG-LOOP", line_of(spec))]
    assert refused(spec, early=False) == []


def test_without_reads_there_is_nothing_to_do() -> None:
    spec = text("total * 2").replace("  bias: {buffer: f32, shape: {row: 16, lane: 64}}\n", "")
    assert refused(spec) == [("SG-LOOP", line_of(spec) + 1)]


TILE = """\
memory:
  tile: {space: workgroup, type: f32, shape: {lane: 64}}
policies:
"""
SHARED = '- store: {"tile[lane]": total}\n- barrier: workgroup\n- set: {total: "tile[63 - lane]"}\n'


@pytest.mark.parametrize("store", ["", SHARED])
def test_memory_of_the_kernel_is_not_in_the_way(store: str) -> None:
    """It is allocated where the kernel begins, in front of every read."""
    spec = text(store=SHARED).replace("policies:\n", TILE)
    if not store:  # the read stands in front of whatever touches the memory
        head, behind = spec.split("- var: {total: f32(1)}\n")
        early = behind[behind.index("- let: {b:") : behind.index('- store: {"out')]
        spec = f"{head}{early}- var: {{total: f32(1)}}\n{behind.replace(early, '')}"
    assert refused(spec) == []
    names = function(spec)
    assert names.index("memref.load") < names.index("scf.for")
    sweep(spec, launches())


def test_memory_that_is_read_itself_is() -> None:
    spec = text("tile[63 - lane]", '- store: {"tile[lane]": total}\n- barrier: workgroup\n').replace(
        "policies:\n", TILE
    )
    spec = spec.replace("  bias: {buffer: f32, shape: {row: 16, lane: 64}}\n", "")
    assert refused(spec) == [("SG-LOOP", line_of(spec))]


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "vulkan1.3"])
def test_the_size_of_a_buffer_stays_in_front_of_its_reads(target: str) -> None:
    spec = text("bias[n, lane]").replace("shape: {row: 16, lane: 64}", "shape: {row: n + 1, lane: 64}")
    names = function(spec)
    sizes = [at for at, name in enumerate(names) if name == "motif.extents"]
    assert sizes[-1] < names.index("memref.load") < names.index("scf.for")
    module = plan(spec, target).scheduled.module
    lowered = (spirv if target == "vulkan1.3" else amdgpu).lower(module, targets.load(target))
    assert len(lowered.entries) == 2
