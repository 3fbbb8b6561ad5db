"""Scheduled IR to one SPIR-V module for Vulkan 1.3 with an entry point a function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from specgen.lowering import LoweringError
from specgen.lowering.spirv.abi import load_arguments
from specgen.lowering.spirv.builder import Builder, Id, Text
from specgen.lowering.spirv.capabilities import derive
from specgen.lowering.spirv.control import lower_block
from specgen.lowering.spirv.emitter import Emitter
from specgen.lowering.spirv.reader import disassemble

if TYPE_CHECKING:
    from specgen.targets import Target

NOTE = "specgen entry"
"""First words of the OpModuleProcessed line that tells a host what an entry point needs of subgroups."""


@dataclass(frozen=True)
class SpirvEntry:
    """An entry point: `subgroup_size` is the required one, `minimum_subgroup_size` holds where that is None.

    `workgroup_memory_bytes` counts what the kernel declares and what its collectives need.
    """

    symbol: str
    workgroup_size: tuple[int, int, int]
    push_constant_bytes: int
    subgroup_size: int | None
    minimum_subgroup_size: int
    workgroup_memory_bytes: int

    def note(self) -> str:
        """The line that the module carries."""
        return f"{NOTE} {self.symbol} subgroup_size={self.subgroup_size or 0} minimum={self.minimum_subgroup_size}"


@dataclass(frozen=True)
class SpirvBinary:
    """A module and its text."""

    spv: bytes
    asm: str
    entries: tuple[SpirvEntry, ...]


def lower(module: ModuleOp, target: Target) -> SpirvBinary:
    """Lower every kernel function. Raises `LoweringError` for what Vulkan cannot express."""
    builder = Builder()
    builder.emit("memory_model", "OpMemoryModel", "AddressingModel.PhysicalStorageBuffer64", "MemoryModel.Vulkan")
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]
    entries = tuple(_lower_function(builder, function, target) for function in functions)
    _float_controls(builder, target)
    for entry in entries:
        builder.emit("debug_processed", "OpModuleProcessed", Text(entry.note()))
    capabilities, extensions = derive(builder.assemble((), ()))
    spv = builder.assemble(capabilities, extensions)
    return SpirvBinary(spv, disassemble(spv), entries)


def _float_controls(builder: Builder, target: Target) -> None:
    """Zeros keep their sign and infinities and NaNs their meaning, in every float width of the module.

    `float_controls` of the target names other modes, for example DenormPreserve.
    """
    modes = target.extra.get("float_controls", ("SignedZeroInfNanPreserve",))
    for made in list(builder.sections["entry_point"]):
        for width in builder.float_widths():
            for mode in modes:
                symbol = Id(made.words[1])
                builder.emit("execution_mode", "OpExecutionMode", symbol, f"ExecutionMode.{mode}", width)


def _lower_function(builder: Builder, function: FuncOp, target: Target) -> SpirvEntry:
    e = Emitter(builder, function, target)
    type_ = builder.unique("OpTypeFunction", builder.void)
    name = function.sym_name.data
    symbol = builder.emit("function", "OpFunction", "FunctionControl.None", type_, type=builder.void)
    e.begin()
    bytes_ = load_arguments(e)
    lower_block(e, function.body.block)
    e.emit("OpReturn")
    builder.emit("function", "OpFunctionEnd")
    builder.emit("debug_name", "OpName", symbol, Text(name))
    builder.emit("entry_point", "OpEntryPoint", "ExecutionModel.GLCompute", symbol, Text(name), *e.interface)
    # Lanes are counted along one axis where subgroups matter (see `ids`).
    size = (math.prod(e.workgroup_size), 1, 1) if e.flat else e.workgroup_size
    builder.emit("execution_mode", "OpExecutionMode", symbol, "ExecutionMode.LocalSize", *size)
    required = e.subgroup_size if e.flat else None
    if e.workgroup_bytes > target.workgroup_memory:
        need = f"{e.workgroup_bytes} bytes of workgroup memory, those of collectives wider than a subgroup among them"
        raise LoweringError(f"{name}: {target.name} has {target.workgroup_memory} bytes; the kernel needs {need}")
    return SpirvEntry(name, e.workgroup_size, bytes_, required, e.minimum_subgroup_size, e.workgroup_bytes)
