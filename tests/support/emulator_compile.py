"""Compiling test kernels: LLVM IR or assembly to a linked code object, and running it on the emulator."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.devices.base import Artifact

TARGETS = ("gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201", "gfx9-4-generic", "gfx11-generic", "gfx12-generic")

LINKER = shutil.which("ld.lld-19") or shutil.which("ld.lld")
ASSEMBLER = shutil.which("llvm-mc-19")

ATTRIBUTES = (
    'nounwind "amdgpu-flat-work-group-size"="{size},{size}" "uniform-work-group-size"="true" '
    '"amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"'
)

_COMPILE = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets(); llvm.initialize_all_asmprinters()
cpu, out = sys.argv[1], sys.argv[2]
target = llvm.Target.from_triple("amdgcn-amd-amdhsa")
machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", features=sys.argv[3])
module = llvm.parse_assembly(sys.stdin.read()); module.verify()
builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
builder.getModulePassManager().run(module, builder)
open(out, "wb").write(machine.emit_object(module))
"""


def lanes_of(target: str) -> int:
    return 64 if target.startswith("gfx9") else 32


@functools.cache
def link(obj: bytes) -> bytes:
    """A test-only link with LLVM's own linker."""
    if LINKER is None:
        pytest.skip("ld.lld is not installed")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "a.o"), Path(folder, "a.hsaco")
        source.write_bytes(obj)
        subprocess.run([LINKER, "-shared", str(source), "-o", str(target)], check=True)
        return target.read_bytes()


@functools.cache
def compile_ir(text: str, cpu: str, features: str = "") -> bytes:
    """LLVM IR to a code object, in a process of its own (LLVM aborts on what it cannot select)."""
    head = 'target triple = "amdgcn-amd-amdhsa"\n'
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "a.o")
        done = subprocess.run(
            [sys.executable, "-c", _COMPILE, cpu, str(out), features], input=head + text, text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return link(out.read_bytes())


@functools.cache
def assemble(
    body: str, cpu: str, lanes: int, arguments: tuple[tuple[str, int], ...], lds: int, size: int,
    private: int = 0,
) -> bytes:  # fmt: skip
    """A kernel `k` from assembly; `arguments` are (name, bytes), 8-byte ones being buffers; memories in bytes."""
    if ASSEMBLER is None:
        pytest.skip("llvm-mc-19 is not installed")
    rows, at = [], 0
    for name, count in arguments:
        kind = "global_buffer\n        .address_space: global" if count == 8 else "by_value"
        at = (at + count - 1) // count * count
        rows.append(
            f"      - .name: {name}\n        .offset: {at}\n        .size: {count}\n        .value_kind: {kind}"
        )
        at += count
    wave32 = "\n  .amdhsa_wavefront_size32 1" if lanes == 32 else ""
    accumulate = "\n  .amdhsa_accum_offset 256" if cpu.startswith("gfx9") else ""
    text = f"""
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {private}
  .amdhsa_kernarg_size {at}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr {512 if accumulate else 128}
  .amdhsa_next_free_sgpr 96
  .amdhsa_float_denorm_mode_32 3{wave32}{accumulate}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{cpu}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {at}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {private}
    .wavefront_size: {lanes}
    .sgpr_count: 96
    .vgpr_count: 128
    .max_flat_workgroup_size: 1024
    .reqd_workgroup_size: [{size}, 1, 1]
    .args:
{chr(10).join(rows)}
...
.end_amdgpu_metadata
"""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "a.o")
        features = "+wavefrontsize32" if lanes == 32 else "+wavefrontsize64"
        if not cpu.startswith("gfx9"):
            features += ",+real-true16"
        done = subprocess.run(
            [str(ASSEMBLER), "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", f"-mattr={features}", "-filetype=obj", "-o",
             str(out)],
            input=text, text=True, capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return link(out.read_bytes())


def named(hsaco: bytes, symbol: str, size: int, sanitize: bool = True) -> EmulatedKernel:
    """A kernel of a code object whose workgroup size the manifest tells."""
    manifest = {"entries": [{"symbol": symbol, "workgroup_size": [size, 1, 1], "targets": {}}]}
    return EmulatedKernel(hsaco, symbol, sanitize, Artifact("test", "", manifest, {}))
