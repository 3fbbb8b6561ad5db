"""Scheduled IR to AMDGPU code objects: LLVM IR text, LLVM in a worker process, a linker of our own, evidence.

Importing this package is cheap; xDSL is imported by the first lowering, LLVM only ever in the worker.
"""

from __future__ import annotations

import threading
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

__all__ = ["AmdgpuBinary", "CodegenError", "Pending", "lower", "lower_many", "start", "warm"]


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
    from specgen.lowering.amdgpu.codegen import compile_modules

    lowered = [_legal_ir(module, target) for module, target in jobs]
    requests = [(ir.text, target.cpu) for ir, (_, target) in zip(lowered, jobs, strict=True)]
    return [
        _finish(ir, compiled, target)
        for ir, compiled, (_, target) in zip(lowered, compile_modules(requests), jobs, strict=True)
    ]


class Pending:
    """A module on its way through LLVM, which runs in a process of its own while the caller goes on."""

    def __init__(self, module: ModuleOp, target: Target) -> None:
        self._target = target
        self._ir: Module | None = None
        self._compiled: list[Compiled] = []
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None
        try:
            self._ir = _legal_ir(module, target)
        except Exception as error:  # told by `result`, whatever it is
            self._error = error
            return
        self._thread = threading.Thread(target=self._compile, args=(self._ir.text,), daemon=True)
        self._thread.start()

    def _compile(self, text: str) -> None:
        from specgen.lowering.amdgpu.codegen import compile_modules

        try:
            self._compiled = compile_modules([(text, self._target.cpu)])
        except Exception as error:
            self._error = error

    def result(self) -> AmdgpuBinary:
        """The code object, when LLVM is done. Raises what `lower` raises."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._ir is not None
        return _finish(self._ir, self._compiled[0], self._target)


def start(module: ModuleOp, target: Target) -> Pending:
    """Begin to lower a module; every error waits for `Pending.result`."""
    return Pending(module, target)


def _legal_ir(module: ModuleOp, target: Target) -> Module:
    from specgen.lowering.amdgpu import entry, legality

    legality.require(module, target)
    return entry.lower_module(module, target)


def _finish(ir: Module, compiled: Compiled, target: Target) -> AmdgpuBinary:
    from specgen.lowering.amdgpu import evidence, hsaco

    found = evidence.gather(compiled.object, compiled.asm, target, ir.loops)
    return AmdgpuBinary(hsaco.link(compiled.object), compiled.asm, found, compiled.llvm)
