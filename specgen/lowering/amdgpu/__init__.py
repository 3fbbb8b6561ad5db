"""Scheduled IR to AMDGPU code objects: LLVM IR text, LLVM in a worker process, a linker of our own, evidence.

Importing this package is cheap; xDSL is imported by the first lowering, LLVM only ever in the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specgen.lowering.amdgpu.codegen import CodegenError, warm

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from specgen.lowering.amdgpu.codegen import Compiled
    from specgen.lowering.amdgpu.entry import Module
    from specgen.lowering.amdgpu.evidence import EntryEvidence
    from specgen.targets import Target

__all__ = ["AmdgpuBinary", "CodegenError", "lower", "lower_many", "warm"]


@dataclass(frozen=True)
class AmdgpuBinary:
    """A code object of all entry points, its assembly text, what was found out about each entry, LLVM's version."""

    hsaco: bytes
    asm: str
    entries: tuple[EntryEvidence, ...]
    llvm: str


def lower(module: ModuleOp, target: Target) -> AmdgpuBinary:
    """The code object of a scheduled module. Raises `LoweringError` (`CodegenError` when LLVM fails)."""
    return lower_many([(module, target)])[0]


def lower_many(jobs: Sequence[tuple[ModuleOp, Target]]) -> list[AmdgpuBinary]:
    """Several modules or targets in one round trip to the worker; results in the order of the jobs."""
    from specgen.lowering.amdgpu import entry, legality
    from specgen.lowering.amdgpu.codegen import compile_modules

    for module, target in jobs:
        legality.require(module, target)
    lowered = [entry.lower_module(module, target) for module, target in jobs]
    requests = [(ir.text, target.cpu) for ir, (_, target) in zip(lowered, jobs, strict=True)]
    return [
        _finish(ir, compiled, target)
        for ir, compiled, (_, target) in zip(lowered, compile_modules(requests), jobs, strict=True)
    ]


def _finish(ir: Module, compiled: Compiled, target: Target) -> AmdgpuBinary:
    from specgen.lowering.amdgpu import evidence, hsaco

    found = evidence.gather(compiled.object, compiled.asm, target, ir.loops)
    return AmdgpuBinary(hsaco.link(compiled.object), compiled.asm, found, compiled.llvm)
