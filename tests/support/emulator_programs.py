"""Test kernels with control flow, memory spaces and cross-lane traffic, as LLVM IR, one function each."""

# ruff: noqa: E501 (rows of tables of LLVM IR)

from __future__ import annotations

HEADER = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.ds.permute(i32, i32)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.writelane.i32(i32, i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32)
declare <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.f32(float, ptr addrspace(8), i32, i32, i32)
declare i32 @llvm.amdgcn.ballot.i32(i1)
declare i64 @llvm.amdgcn.ballot.i64(i1)
@tile = internal addrspace(3) global [256 x i32] poison, align 16
@bins = internal addrspace(3) global [64 x i32] poison, align 16
@halves = internal addrspace(3) global [512 x half] poison, align 16
"""

PROGRAMS: dict[str, str] = {}

PROGRAMS["saxpy"] = """
define amdgpu_kernel void @saxpy(ptr addrspace(1) %x, ptr addrspace(1) %y, float %a, i32 %n) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 64
  %i = add i32 %b, %l
  %c = icmp slt i32 %i, %n
  br i1 %c, label %t, label %e
t:
  %z = zext i32 %i to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %z
  %py = getelementptr float, ptr addrspace(1) %y, i64 %z
  %vx = load float, ptr addrspace(1) %px
  %vy = load float, ptr addrspace(1) %py
  %m = fmul float %vx, %a
  %s = fadd float %m, %vy
  store float %s, ptr addrspace(1) %py
  br label %e
e:
  ret void
}
"""

PROGRAMS["sum_rows"] = """
define amdgpu_kernel void @sum_rows(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %rows) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp sgt i32 %rows, 0
  br i1 %c, label %loop, label %done
loop:
  %r = phi i32 [0, %entry], [%rn, %loop]
  %acc = phi float [0.0, %entry], [%an, %loop]
  %o = mul i32 %r, 64
  %i = add i32 %o, %l
  %z = zext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %z
  %v = load float, ptr addrspace(1) %p
  %an = fadd float %acc, %v
  %rn = add nuw nsw i32 %r, 1
  %k = icmp slt i32 %rn, %rows
  br i1 %k, label %loop, label %done
done:
  %s = phi float [0.0, %entry], [%an, %loop]
  %zl = zext i32 %l to i64
  %q = getelementptr float, ptr addrspace(1) %out, i64 %zl
  store float %s, ptr addrspace(1) %q
  ret void
}
"""

PROGRAMS["buffer_rows"] = """
define amdgpu_kernel void @buffer_rows(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %rows, i32 %bytes) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %lo = shl i32 %l, 2
  %wide = zext i32 %bytes to i64
  %ri = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %in, i16 0, i64 %wide, i32 FLAGS)
  %ro = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 0, i64 256, i32 FLAGS)
  %c = icmp sgt i32 %rows, 0
  br i1 %c, label %loop, label %done
loop:
  %r = phi i32 [0, %entry], [%rn, %loop]
  %acc = phi float [0.0, %entry], [%an, %loop]
  %so = mul i32 %r, 256
  %v = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %ri, i32 %lo, i32 %so, i32 0)
  %an = fadd float %acc, %v
  %rn = add nuw nsw i32 %r, 1
  %k = icmp slt i32 %rn, %rows
  br i1 %k, label %loop, label %done
done:
  %s = phi float [0.0, %entry], [%an, %loop]
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %s, ptr addrspace(8) %ro, i32 %lo, i32 0, i32 0)
  ret void
}
"""

PROGRAMS["reverse"] = """
define amdgpu_kernel void @reverse(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 256
  %i = add i32 %b, %l
  %z = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
  %t = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  store i32 %v, ptr addrspace(3) %t
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %o = sub i32 255, %l
  %u = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %o
  %w = load i32, ptr addrspace(3) %u
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %w, ptr addrspace(1) %q
  ret void
}
"""

PROGRAMS["racy"] = (
    PROGRAMS["reverse"].replace("@reverse(", "@racy(").replace("  call void @llvm.amdgcn.s.barrier()\n", "")
)

PROGRAMS["histogram"] = """
define amdgpu_kernel void @histogram(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out, i32 %count) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %small = icmp ult i32 %l, 64
  %bin = getelementptr [64 x i32], ptr addrspace(3) @bins, i32 0, i32 %l
  br i1 %small, label %clear, label %ready
clear:
  store i32 0, ptr addrspace(3) %bin
  br label %ready
ready:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %loop
loop:
  %i = phi i32 [%l, %ready], [%n, %next]
  %k = icmp slt i32 %i, %count
  br i1 %k, label %body, label %finish
body:
  %z = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
  %m = and i32 %v, 63
  %a = getelementptr [64 x i32], ptr addrspace(3) @bins, i32 0, i32 %m
  %old = atomicrmw add ptr addrspace(3) %a, i32 1 syncscope("workgroup") monotonic
  br label %next
next:
  %n = add i32 %i, 256
  br label %loop
finish:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %small, label %give, label %end
give:
  %h = load i32, ptr addrspace(3) %bin
  %zl = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %zl
  %old2 = atomicrmw add ptr addrspace(1) %q, i32 %h syncscope("agent") monotonic
  br label %end
end:
  ret void
}
"""

PROGRAMS["atomics"] = """
define amdgpu_kernel void @atomics(ptr addrspace(1) noalias %old, ptr addrspace(1) noalias %cell) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = add i32 %l, 5
  %p0 = getelementptr i32, ptr addrspace(1) %cell, i64 0
  %p1 = getelementptr i32, ptr addrspace(1) %cell, i64 1
  %p2 = getelementptr i32, ptr addrspace(1) %cell, i64 2
  %p3 = getelementptr i32, ptr addrspace(1) %cell, i64 3
  %p4 = getelementptr i32, ptr addrspace(1) %cell, i64 4
  %f = sitofp i32 %l to float
  %a = atomicrmw add ptr addrspace(1) %p0, i32 %x syncscope("agent") monotonic
  %b = atomicrmw max ptr addrspace(1) %p1, i32 %x syncscope("agent") monotonic
  %c = atomicrmw xor ptr addrspace(1) %p2, i32 %x syncscope("agent") monotonic
  %d = atomicrmw fadd ptr addrspace(1) %p3, float %f syncscope("agent") monotonic
  %e = cmpxchg ptr addrspace(1) %p4, i32 %l, i32 %x syncscope("agent") monotonic monotonic
  %e0 = extractvalue { i32, i1 } %e, 0
  %z = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %old, i64 %z
  %s = add i32 %a, %e0
  store i32 %s, ptr addrspace(1) %q
  ret void
}
"""

PROGRAMS["stack"] = """
define amdgpu_kernel void @stack(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out, i32 %n) #0 {
entry:
  %a = alloca [16 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  br label %fill
fill:
  %i = phi i32 [0, %entry], [%j, %fill]
  %v = mul i32 %i, %l
  %p = getelementptr [16 x i32], ptr addrspace(5) %a, i32 0, i32 %i
  store volatile i32 %v, ptr addrspace(5) %p
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %fill, label %use
use:
  %z = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %k = load i32, ptr addrspace(1) %q
  %m = and i32 %k, 15
  %r = getelementptr [16 x i32], ptr addrspace(5) %a, i32 0, i32 %m
  %w = load volatile i32, ptr addrspace(5) %r
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %w, ptr addrspace(1) %o
  ret void
}
"""

PROGRAMS["flat"] = """
define amdgpu_kernel void @flat(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
  %a = alloca [4 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
  %t = getelementptr [256 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  %t2 = addrspacecast ptr addrspace(3) %t to ptr
  store volatile i32 %v, ptr %t2
  %s = getelementptr [4 x i32], ptr addrspace(5) %a, i32 0, i32 1
  %s2 = addrspacecast ptr addrspace(5) %s to ptr
  store volatile i32 7, ptr %s2
  %odd = and i32 %l, 1
  %c = icmp eq i32 %odd, 1
  %u = select i1 %c, ptr %t2, ptr %s2
  %w = load volatile i32, ptr %u
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  %q2 = addrspacecast ptr addrspace(1) %q to ptr
  store volatile i32 %w, ptr %q2
  ret void
}
"""

PROGRAMS["collatz"] = """
define amdgpu_kernel void @collatz(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 256
  %i = add i32 %b, %l
  %z = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
  br label %loop
loop:
  %x = phi i32 [%v, %entry], [%xn, %next]
  %s = phi i32 [0, %entry], [%sn, %next]
  %k = icmp ugt i32 %x, 1
  br i1 %k, label %body, label %done
body:
  %o = and i32 %x, 1
  %c = icmp eq i32 %o, 0
  br i1 %c, label %even, label %odd
even:
  %h = lshr i32 %x, 1
  br label %next
odd:
  %m = mul i32 %x, 3
  %m1 = add i32 %m, 1
  br label %next
next:
  %xn = phi i32 [%h, %even], [%m1, %odd]
  %sn = add i32 %s, 1
  br label %loop
done:
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %s, ptr addrspace(1) %q
  ret void
}
"""

PROGRAMS["uneven"] = """
define amdgpu_kernel void @uneven(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %z0 = zext i32 %g to i64
  %p0 = getelementptr i32, ptr addrspace(1) %in, i64 %z0
  %n = load i32, ptr addrspace(1) %p0
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %body]
  %a = phi i32 [%l, %entry], [%b, %body]
  %k = icmp slt i32 %i, %n
  br i1 %k, label %body, label %done
body:
  %m = mul i32 %a, 3
  %b = add i32 %m, %i
  %j = add i32 %i, 1
  br label %loop
done:
  %w = mul i32 %g, 256
  %o = add i32 %w, %l
  %z = zext i32 %o to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %a, ptr addrspace(1) %q
  ret void
}
"""

PROGRAMS["grid3"] = """
define amdgpu_kernel void @grid3(ptr addrspace(1) noalias %out, i32 %w, i32 %h) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %zz = call i32 @llvm.amdgcn.workgroup.id.z()
  %a = mul i32 %zz, %h
  %b = add i32 %a, %y
  %c = mul i32 %b, %w
  %d = add i32 %c, %x
  %e = mul i32 %d, 256
  %i = add i32 %e, %l
  %y10 = mul i32 %y, 10
  %z100 = mul i32 %zz, 100
  %v0 = add i32 %x, %y10
  %v = add i32 %v0, %z100
  %z = zext i32 %i to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %v, ptr addrspace(1) %q
  ret void
}
"""

for _bits in (8, 16, 32, 64, 96, 128):
    _t = f"i{_bits}" if _bits <= 64 else f"<{_bits // 32} x i32>"
    PROGRAMS[f"copy{_bits}"] = f"""
define amdgpu_kernel void @copy{_bits}(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {{
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %o = mul i32 %l, {_bits // 8}
  %z = zext i32 %o to i64
  %p = getelementptr i8, ptr addrspace(1) %in, i64 %z
  %v = load {_t}, ptr addrspace(1) %p, align {min(4, _bits // 8)}
  %t = getelementptr i8, ptr addrspace(3) @big, i32 %o
  store {_t} %v, ptr addrspace(3) %t, align {16 if _bits == 128 else 8 if _bits == 64 else min(4, _bits // 8)}
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %r = sub i32 255, %l
  %ro = mul i32 %r, {_bits // 8}
  %u = getelementptr i8, ptr addrspace(3) @big, i32 %ro
  %w = load {_t}, ptr addrspace(3) %u, align {16 if _bits == 128 else 8 if _bits == 64 else min(4, _bits // 8)}
  %q = getelementptr i8, ptr addrspace(1) %out, i64 %z
  store {_t} %w, ptr addrspace(1) %q, align {min(4, _bits // 8)}
  ret void
}}
"""
HEADER += "@big = internal addrspace(3) global [4096 x i8] poison, align 16\n"


def _lane_kernel(name: str, body: str) -> str:
    return f"""
define amdgpu_kernel void @{name}(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) #0 {{
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %z = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %z
  %v = load i32, ptr addrspace(1) %p
{body}
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %z
  store i32 %r, ptr addrspace(1) %q
  ret void
}}
"""


LANE_BODIES: dict[str, str] = {
    "bpermute": "  %a = mul i32 %l, 20\n  %r = call i32 @llvm.amdgcn.ds.bpermute(i32 %a, i32 %v)",
    "permute": "  %x = xor i32 %l, 5\n  %a = shl i32 %x, 2\n  %r = call i32 @llvm.amdgcn.ds.permute(i32 %a, i32 %v)",
    "swizzle_xor": "  %r = call i32 @llvm.amdgcn.ds.swizzle(i32 %v, i32 17439)",
    "swizzle_quad": "  %r = call i32 @llvm.amdgcn.ds.swizzle(i32 %v, i32 32795)",
    "first": "  %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v)",
    "lane5": "  %r = call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 5)",
    "write7": "  %r = call i32 @llvm.amdgcn.writelane.i32(i32 77, i32 7, i32 %v)",
    "count_below": "  %c = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n  %r = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %c)",
    "row_shr": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 -1, i32 %v, i32 273, i32 15, i32 15, i1 false)",
    "row_shr_zero": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 -1, i32 %v, i32 275, i32 15, i32 15, i1 true)",
    "quad": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 27, i32 15, i32 15, i1 true)",
    "row_mirror": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 320, i32 15, i32 15, i1 true)",
    "row_ror": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 292, i32 15, i32 15, i1 true)",
    "bank_masked": "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 9, i32 %v, i32 320, i32 5, i32 3, i1 false)",
    "dpp_add": (
        "  %d = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 322, i32 15, i32 15, i1 true)\n"
        "  %r = add i32 %d, %v"
    ).replace("i32 322", "i32 321"),
}
for _name, _body in LANE_BODIES.items():
    PROGRAMS[_name] = _lane_kernel(_name, _body)

WAVE64_ONLY: dict[str, str] = {
    "row_bcast": _lane_kernel(
        "row_bcast", "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 -1, i32 %v, i32 322, i32 15, i32 15, i1 false)"
    ),
    "wave_shr": _lane_kernel(
        "wave_shr", "  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 -1, i32 %v, i32 312, i32 15, i32 15, i1 false)"
    ),
    "ballot64": _lane_kernel(
        "ballot64",
        "  %o = and i32 %v, 1\n  %c = icmp eq i32 %o, 1\n  %m = call i64 @llvm.amdgcn.ballot.i64(i1 %c)\n"
        "  %h = lshr i64 %m, 32\n  %x = xor i64 %h, %m\n  %r = trunc i64 %x to i32",
    ),
}
WAVE32_ONLY: dict[str, str] = {
    "ballot32": _lane_kernel(
        "ballot32",
        "  %o = and i32 %v, 1\n  %c = icmp eq i32 %o, 1\n  %r = call i32 @llvm.amdgcn.ballot.i32(i1 %c)",
    ),
    "permlanex16": "declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)\n"
    + _lane_kernel(
        "permlanex16",
        "  %r = call i32 @llvm.amdgcn.permlanex16.i32(i32 -1, i32 %v, i32 1985229328, i32 -19088744, i1 false, i1 false)",
    ),
    "permlane16": "declare i32 @llvm.amdgcn.permlane16.i32(i32, i32, i32, i32, i1, i1)\n"
    + _lane_kernel(
        "permlane16",
        "  %r = call i32 @llvm.amdgcn.permlane16.i32(i32 -1, i32 %v, i32 305419896, i32 -1698898192, i1 false, i1 false)",
    ),
    "dpp8": "declare i32 @llvm.amdgcn.mov.dpp8.i32(i32, i32)\n"
    + _lane_kernel("dpp8", "  %r = call i32 @llvm.amdgcn.mov.dpp8.i32(i32 %v, i32 342391)"),
}

BUFFER_FLAGS = {"gfx9": 0x27000, "gfx11": 0x31016000, "gfx12": 0x31016000}


def module(target: str) -> str:
    """Every program for a target as one module."""
    family = "gfx9" if target.startswith("gfx9") else "gfx11" if target.startswith("gfx11") else "gfx12"
    extra = WAVE64_ONLY if family == "gfx9" else WAVE32_ONLY
    text = HEADER + "".join(PROGRAMS.values()) + "".join(extra.values())
    return text.replace("FLAGS", str(BUFFER_FLAGS[family]))
