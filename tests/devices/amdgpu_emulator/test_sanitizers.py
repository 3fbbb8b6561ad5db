"""Each sanitizer on a kernel that has the fault, and silence on its sound twin."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from emulator_compile import ATTRIBUTES, assemble, compile_ir, lanes_of, named
from emulator_programs import BUFFER_FLAGS, HEADER, PROGRAMS

from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.devices.base import Finding, Run

TARGETS = ("gfx942", "gfx1151", "gfx1201")

FAULTS = {
    "past_end": """
define amdgpu_kernel void @past_end(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out, i32 %shift) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = add i32 %l, %shift
  %s = sext i32 %i to i64
  %z = zext i32 %l to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %s
  %v = load float, ptr addrspace(1) %p
  %q = getelementptr float, ptr addrspace(1) %out, i64 %z
  store float %v, ptr addrspace(1) %q
  ret void
}
""",
    "store_past_end": """
define amdgpu_kernel void @store_past_end(ptr addrspace(1) noalias %out, i32 %shift) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = add i32 %l, %shift
  %s = sext i32 %i to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %s
  store i32 %l, ptr addrspace(1) %q
  ret void
}
""",
    "bytes": """
define amdgpu_kernel void @bytes(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out, i64 %shift) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p0 = getelementptr float, ptr addrspace(1) %in, i64 %z
  %p = getelementptr i8, ptr addrspace(1) %p0, i64 %shift
  %v = load float, ptr addrspace(1) %p, align 1
  %q = getelementptr float, ptr addrspace(1) %out, i64 %z
  store float %v, ptr addrspace(1) %q
  ret void
}
""",
    "own_output": """
define amdgpu_kernel void @own_output(ptr addrspace(1) %out) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  %v = load i32, ptr addrspace(1) %q
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %q
  ret void
}
""",
    "half_tile": """
define amdgpu_kernel void @half_tile(ptr addrspace(1) noalias %out, i32 %filled) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp ult i32 %l, %filled
  br i1 %c, label %fill, label %meet
fill:
  %t = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  store i32 %l, ptr addrspace(3) %t
  br label %meet
meet:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %o = xor i32 %l, 1
  %u = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %o
  %w = load i32, ptr addrspace(3) %u
  %z = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %w, ptr addrspace(1) %q
  ret void
}
""",
    "same_cell": """
define amdgpu_kernel void @same_cell(ptr addrspace(1) noalias %out, i32 %shift) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = lshr i32 %l, %shift
  %t = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %i
  store volatile i32 %l, ptr addrspace(3) %t
  %w = load volatile i32, ptr addrspace(3) %t
  %z = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %w, ptr addrspace(1) %q
  ret void
}
""",
    "queue": """
define amdgpu_kernel void @queue(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %rows) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p0 = getelementptr float, ptr addrspace(1) %in, i64 %z
  %p1 = getelementptr float, ptr addrspace(1) %p0, i64 64
  %p2 = getelementptr float, ptr addrspace(1) %p0, i64 128
  %a0 = load float, ptr addrspace(1) %p0
  %a1 = load float, ptr addrspace(1) %p1
  %a2 = load float, ptr addrspace(1) %p2
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%n, %loop]
  %acc = phi float [0.0, %entry], [%sum, %loop]
  %q0 = phi float [%a0, %entry], [%q1, %loop]
  %q1 = phi float [%a1, %entry], [%q2, %loop]
  %q2 = phi float [%a2, %entry], [%new, %loop]
  %r = add i32 %i, 3
  %o = shl i32 %r, 6
  %k = add i32 %o, %l
  %zk = zext i32 %k to i64
  %pk = getelementptr float, ptr addrspace(1) %in, i64 %zk
  %new = load float, ptr addrspace(1) %pk
  %sum = fadd float %acc, %q0
  %n = add nuw nsw i32 %i, 1
  %c = icmp slt i32 %n, %rows
  br i1 %c, label %loop, label %done
done:
  %s1 = fadd float %sum, %q1
  %s2 = fadd float %s1, %q2
  %s3 = fadd float %s2, %new
  %q = getelementptr float, ptr addrspace(1) %out, i64 %z
  store float %s3, ptr addrspace(1) %q
  ret void
}
""",
}


def family(target: str) -> str:
    return "gfx9" if target.startswith("gfx9") else target[:5]


@functools.cache
def code(target: str) -> bytes:
    text = HEADER + PROGRAMS["buffer_rows"] + PROGRAMS["reverse"] + "".join(FAULTS.values())
    attributes = ATTRIBUTES.format(size=256)
    return compile_ir(
        text.replace("FLAGS", str(BUFFER_FLAGS[family(target)])) + f"attributes #0 = {{ {attributes} }}", target
    )


def kinds(run: Run) -> set[str]:
    return {finding.kind for finding in run.findings}


def only(run: Run) -> Finding:
    assert len(run.findings) == 1, run.findings
    return run.findings[0]


def ramp(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_bounds_of_loads(target: str) -> None:
    kernel = named(code(target), "past_end", 64)
    for shift, where in ((1, 256), (-1, -4)):
        finding = only(kernel.launch({"in": ramp(64), "out": ramp(64), "shift": shift}, (1, 1, 1)))
        assert finding.kind == "out-of-bounds"
        assert f"4 bytes at byte {where} of buffer 'in' (256 bytes)" in finding.detail
        assert "global_load" in finding.detail
        lane = 63 % lanes_of(target) if shift > 0 else 0
        wave = 63 // lanes_of(target) if shift > 0 else 0
        assert finding.detail.endswith(f"wave {wave}, lane {lane}")
    assert kernel.launch({"in": ramp(64), "out": ramp(64), "shift": 0}, (1, 1, 1)).findings == ()


@pytest.mark.parametrize("target", TARGETS)
def test_bounds_of_stores_are_kept_without_sanitizers(target: str) -> None:
    args = {"out": np.full(64, -1, "i4"), "shift": 1}
    for sanitize in (True, False):
        run = named(code(target), "store_past_end", 64, sanitize).launch(args, (1, 1, 1))
        assert kinds(run) == {"out-of-bounds"}
        assert np.array_equal(run.outputs["out"], [-1, *range(63)])


@pytest.mark.parametrize("target", TARGETS)
def test_descriptor_does_not_hide_bounds(target: str) -> None:
    rows = 4
    args = {"in": ramp(64 * rows), "out": ramp(64), "rows": rows, "bytes": 256 * rows - 4}
    run = named(code(target), "buffer_rows", 64).launch(args, (1, 1, 1))
    assert kinds(run) == {"out-of-bounds"}
    assert "(the hardware hides it)" in run.findings[0].detail
    expected = ramp(64 * rows).reshape(rows, 64)
    expected[-1, -1] = 0
    assert np.array_equal(run.outputs["out"], expected.sum(0, dtype="f4"))


@pytest.mark.parametrize("target", TARGETS)
def test_alignment(target: str) -> None:
    kernel = named(code(target), "bytes", 64)
    assert kernel.launch({"in": ramp(65), "out": ramp(64), "shift": 4}, (1, 1, 1)).findings == ()
    run = kernel.launch({"in": ramp(65), "out": ramp(64), "shift": 2}, (1, 1, 1))
    assert "misaligned" in kinds(run)
    raw = ramp(65).tobytes()[2:258]
    assert run.outputs["out"].tobytes() == raw


@pytest.mark.parametrize("target", TARGETS)
def test_unwritten_buffers(target: str) -> None:
    kernel = named(code(target), "own_output", 64)
    args = {"out": np.zeros(64, "i4")}
    assert kernel.launch(args, (1, 1, 1)).findings == ()
    finding = only(kernel.launch(args, (1, 1, 1), unwritten=("out",)))
    assert finding.kind == "unwritten-read"
    assert "buffer 'out'" in finding.detail


@pytest.mark.parametrize("target", TARGETS)
def test_unwritten_workgroup_memory(target: str) -> None:
    kernel = named(code(target), "half_tile", 256)
    assert kernel.launch({"out": np.zeros(256, "i4"), "filled": 256}, (2, 1, 1)).findings == ()
    finding = only(kernel.launch({"out": np.zeros(256, "i4"), "filled": 255}, (1, 1, 1)))
    assert finding.kind == "unwritten-read"
    assert "byte 1020 of workgroup memory" in finding.detail


@pytest.mark.parametrize("target", TARGETS)
def test_lanes_that_store_different_values(target: str) -> None:
    kernel = named(code(target), "same_cell", 32)
    assert kernel.launch({"out": np.zeros(32, "i4"), "shift": 0}, (1, 1, 1)).findings == ()
    finding = only(kernel.launch({"out": np.zeros(32, "i4"), "shift": 1}, (1, 1, 1)))
    assert finding.kind == "race"
    assert "different values" in finding.detail


ROTATING = """
  s_load_b64 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 0
  s_mov_b32 s10, 4
  s_waitcnt lgkmcnt(0)
  global_load_b32 v4, v1, s[4:5]
.Lloop:
  global_load_b32 v5, v1, s[4:5]
  s_waitcnt vmcnt(1)
  v_add_f32 v3, v3, v4
  global_load_b32 v4, v1, s[4:5]
  s_waitcnt vmcnt({last})
  v_add_f32 v3, v3, v5
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lloop
  s_waitcnt vmcnt(0)
  global_store_b32 v1, v3, s[4:5]
"""


@pytest.mark.parametrize("last", [0, 1])
def test_loads_pending_at_the_backedge(last: int) -> None:
    hsaco = assemble(ROTATING.format(last=last), "gfx1151", 32, (("data", 8),), 0, 32)
    run = EmulatedKernel(hsaco, "k").launch({"data": ramp(32)}, (1, 1, 1))
    assert run.findings == ()
    assert list(run.evidence["loads_pending"].values()) == [{"min": last, "max": last}]
    assert np.array_equal(run.outputs["data"], 8 * ramp(32))


def raised_waits(hsaco: bytes, target: str, symbol: str) -> list[tuple[str, bytes]]:
    """Every variant of the file with one wait on vector loads, scalar loads or workgroup memory raised by one."""
    from specgen.devices.amdgpu_emulator import hazards, launch, loader
    from specgen.devices.amdgpu_emulator.blocks import Program

    kernel = loader.load(hsaco, symbol)
    program = Program(kernel.code, launch.entry_offset(kernel), kernel.arch, kernel.wave_size, False)
    base = hsaco.index(kernel.code)
    assert hsaco.count(kernel.code) == 1
    steps = {
        "cdna": {"vm": 1, "lgkm": 1 << 8},
        "rdna3": {"vm": 1 << 10, "lgkm": 1 << 4},
        "rdna4": {"load": 1, "ds": 1, "km": 1},
    }[kernel.arch]
    found = []
    for inst in program.instructions:
        for counter, _ in hazards.waits_of(inst):
            if counter not in steps:
                continue
            step = steps[counter] << 8 if inst.name == "s_wait_loadcnt_dscnt" and counter == "load" else steps[counter]
            at = base + inst.offset
            value = int.from_bytes(hsaco[at : at + 2], "little") + step
            found.append((f"{inst.offset:#x} {counter}", hsaco[:at] + value.to_bytes(2, "little") + hsaco[at + 2 :]))
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_every_raised_wait_is_seen(target: str) -> None:
    values = ramp(64 * 13)
    calls = {
        "queue": ({"in": values, "out": ramp(64), "rows": 10}, 64),
        "reverse": ({"in": np.arange(256, dtype="i4"), "out": np.zeros(256, "i4")}, 256),
        "own_output": ({"out": np.zeros(64, "i4")}, 64),
    }
    missed, total = [], 0
    for symbol, (args, size) in calls.items():
        for name, variant in raised_waits(code(target), target, symbol):
            total += 1
            if "wait-count" not in kinds(named(variant, symbol, size).launch(args, (1, 1, 1))):
                missed.append(f"{symbol} {name}")
    assert total >= 9
    assert not missed


BARRIERS = {
    "gfx1151": """
  v_readfirstlane_b32 s10, v0
  s_cmp_lt_u32 s10, 32
  s_cbranch_scc1 .Lout
  s_barrier
.Lout:
""",
    "gfx1201": """
  v_readfirstlane_b32 s10, v0
  s_cmp_lt_u32 s10, 32
  s_cbranch_scc1 .Lout
  s_barrier_signal -1
  s_barrier_wait -1
.Lout:
""",
    "gfx942": """
  v_readfirstlane_b32 s10, v0
  s_cmp_lt_u32 s10, 64
  s_cbranch_scc1 .Lother
  s_barrier
  s_branch .Lout
.Lother:
  s_nop 0
  s_barrier
.Lout:
""",
}


@pytest.mark.parametrize("target", TARGETS)
def test_divergent_barriers(target: str) -> None:
    hsaco = assemble(BARRIERS[target], target, lanes_of(target), (("out", 8),), 0, 2 * lanes_of(target))
    finding = only(EmulatedKernel(hsaco, "k").launch({"out": np.zeros(1, "i4")}, (1, 1, 1)))
    assert finding.kind == "divergent-barrier"
    assert "s_barrier" in finding.detail
    expected = "wait at different barriers" if target == "gfx942" else "ended while others wait"
    assert expected in finding.detail


SPLIT = """
  v_lshlrev_b32 v1, 2, v0
  ds_store_b32 v1, v0
  s_wait_dscnt 0
  s_barrier_signal -1
{between}
  s_barrier_wait -1
  v_xor_b32 v2, 128, v1
  ds_load_b32 v3, v2
  s_wait_dscnt 0
  s_load_b64 s[4:5], s[0:1], 0x0
  s_wait_kmcnt 0
  global_store_b32 v1, v3, s[4:5]
"""


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", set()),
        ("  ds_store_b32 v1, v1 offset:256\n  s_wait_dscnt 0", set()),
        ("  ds_store_b32 v1, v1\n  s_wait_dscnt 0", {"race"}),
    ],
)
def test_split_barrier_orders_what_was_signalled(between: str, expected: set[str]) -> None:
    """A store between signal and wait is not released: another wave may read before it."""
    hsaco = assemble(SPLIT.format(between=between), "gfx1201", 32, (("out", 8),), 1024, 64)
    run = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(64, "u4")}, (1, 1, 1))
    assert kinds(run) == expected
    if not expected:
        assert np.array_equal(run.outputs["out"], np.arange(64) ^ 32)


def test_unwritten_registers() -> None:
    body = """
  s_load_b64 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_cmpx_lt_u32 3, v0
  v_mov_b32 v9, 1
  s_mov_b32 exec_lo, -1
  v_add_nc_u32 v3, v9, v0
  s_add_i32 s20, s21, 1
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v3, s[4:5]
"""
    hsaco = assemble(body, "gfx1151", 32, (("out", 8),), 0, 32)
    findings = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(32, "u4")}, (1, 1, 1)).findings
    assert [finding.kind for finding in findings] == ["unwritten-read"] * 2
    assert "vector register v9 was never written; wave 0, lane 0" in findings[0].detail
    assert "scalar register s21 was never written; wave 0" in findings[1].detail
    assert EmulatedKernel(hsaco, "k", sanitize=False).launch({"out": np.zeros(32, "u4")}, (1, 1, 1)).findings == ()


DEBUG = """
define amdgpu_kernel void @k(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 !dbg !4 {
  %l = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !7
  %z = zext i32 %l to i64, !dbg !7
  %p = getelementptr float, ptr addrspace(1) %in, i64 %z, !dbg !8
  %v = load float, ptr addrspace(1) %p, !dbg !8
  %q = getelementptr float, ptr addrspace(1) %out, i64 %z, !dbg !9
  store float %v, ptr addrspace(1) %q, !dbg !9
  ret void, !dbg !9
}
declare i32 @llvm.amdgcn.workitem.id.x()
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "p", emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernels/copy.spec.yaml", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 3, type: !5, spFlags: DISPFlagDefinition, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 4, column: 7, scope: !4)
!8 = !DILocation(line: 12, column: 9, scope: !4)
!9 = !DILocation(line: 13, column: 5, scope: !4)
"""


@pytest.mark.parametrize("target", TARGETS)
def test_findings_name_the_line_of_the_spec(target: str) -> None:
    hsaco = compile_ir(DEBUG + f"attributes #0 = {{ {ATTRIBUTES.format(size=32)} }}", target)
    finding = only(named(hsaco, "k", 32).launch({"in": ramp(31), "out": ramp(32)}, (1, 1, 1)))
    assert finding.kind == "out-of-bounds"
    assert finding.where == "kernels/copy.spec.yaml:12:9"


def test_masks_that_lose_the_active_lanes() -> None:
    """`and_not1 exec` merges into a mask that may hold nothing yet; with any other mask the old bits are looked at."""
    body = """
  s_load_b64 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_mov_b32 s22, -1
  s_and_not1_b32 s20, s20, exec_lo
  s_and_not1_b32 s21, s21, s22
  s_or_b32 s20, s20, s21
  v_cndmask_b32_e64 v3, 5, 6, s20
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v3, s[4:5]
"""
    run = EmulatedKernel(assemble(body, "gfx1151", 32, (("out", 8),), 0, 32), "k").launch(
        {"out": np.zeros(32, "u4")}, (1, 1, 1)
    )
    (finding,) = run.findings
    assert finding.kind == "unwritten-read"
    assert "scalar register s21 was never written" in finding.detail
    assert run.outputs["out"].tolist() == [5] * 32


def test_scalars_that_are_only_copied_to_lanes() -> None:
    """Compilers copy what holds nothing; its first use is the finding, also of the copy beside it in a pair."""
    body = """
  s_load_b64 s[4:5], s[0:1], 0x0
  s_mov_b32 s9, 7
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, s20
  v_dual_mov_b32 v4, s9 :: v_dual_mov_b32 v5, s21
  v_mov_b32 v6, s22
  v_add_nc_u32 v4, v4, USED
  v_mov_b32 v6, 0
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v4, s[4:5]
"""
    given = {"out": np.zeros(32, "u4")}
    for used, wanted in (("v1", None), ("v3", "v3"), ("v5", "v5"), ("v6", "v6")):
        hsaco = assemble(body.replace("USED", used), "gfx1151", 32, (("out", 8),), 0, 32)
        found = [finding.detail for finding in EmulatedKernel(hsaco, "k").launch(given, (1, 1, 1)).findings]
        assert len(found) == (wanted is not None)
        assert all(f"vector register {wanted} was never written; wave 0, lane 0" in detail for detail in found)


def test_scalar_pairs_that_are_only_copied_to_lanes() -> None:
    """The same for both registers of a 64-bit move, each on its own, and for pairs of vector registers."""
    body = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s20, 7
  v_lshlrev_b32 v1, 2, v0
  v_mov_b64 v[4:5], s[20:21]
  v_mov_b64 v[6:7], v[4:5]
  v_add_u32 v4, v1, USED
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v4, s[4:5]
"""
    given = {"out": np.zeros(64, "u4")}
    for used, wanted in (("v4", None), ("v6", None), ("v5", "v5"), ("v7", "v7")):
        hsaco = assemble(body.replace("USED", used), "gfx942", 64, (("out", 8),), 0, 64)
        run = EmulatedKernel(hsaco, "k").launch(given, (1, 1, 1))
        details = [finding.detail for finding in run.findings]
        assert len(details) == (wanted is not None)
        assert all(f"vector register {wanted} was never written; wave 0, lane 0" in detail for detail in details)
        if wanted is None:
            assert run.outputs["out"].tolist() == [4 * lane + 7 for lane in range(64)]


@pytest.mark.parametrize(
    ("issued", "told"),
    [
        ("ds_bpermute_b32 v3, v1, v0", False),
        ("ds_swizzle_b32 v3, v0 offset:0x1f", False),
        ("ds_write_b32 v1, v0", True),
    ],
)
def test_moves_between_lanes_are_no_memory_access_at_a_barrier(issued: str, told: bool) -> None:
    """They take the way of workgroup memory and touch none of it: they may be in flight at a barrier."""
    body = f"""
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, v0
  s_waitcnt lgkmcnt(0)
  {issued}
  s_barrier
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
"""
    hsaco = assemble(body, "gfx942", 64, (("out", 8),), 512, 64)
    run = EmulatedKernel(hsaco, "k").launch({"out": np.zeros(64, "u4")}, (1, 1, 1))
    assert [f.kind for f in run.findings] == ["wait-count"] * told
    assert run.outputs["out"].tolist() == list(range(64))


@pytest.mark.parametrize(("second", "kinds"), [(6, []), (5, ["race"]), (7, [])])
def test_races_of_accesses_across_words(second: int, kinds: list[str]) -> None:
    """Two waves store two bytes each beside or across one another, none of them at an even place."""
    body = f"""
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshrrev_b32 v2, 6, v0
  v_mul_u32_u24 v1, {second - 4}, v2
  v_lshlrev_b32 v3, 2, v0
  v_mov_b32 v4, 0
  v_cmp_eq_u32 vcc, 0, v2
  s_and_saveexec_b64 s[6:7], vcc
  ds_write_b16 v1, v4 offset:5
  s_mov_b64 exec, s[6:7]
  v_cmp_eq_u32 vcc, 1, v2
  s_and_saveexec_b64 s[6:7], vcc
  ds_write_b16 v1, v4 offset:5
  s_mov_b64 exec, s[6:7]
  s_waitcnt lgkmcnt(0)
  global_store_dword v3, v4, s[4:5]
"""
    run = EmulatedKernel(assemble(body, "gfx942", 64, (("out", 8),), 512, 128), "k").launch(
        {"out": np.zeros(128, "u4")}, (1, 1, 1)
    )
    assert [f.kind for f in run.findings] == kinds
