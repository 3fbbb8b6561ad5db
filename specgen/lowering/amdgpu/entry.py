"""A kernel function as LLVM IR: arguments, attributes, and the module that holds all entry points."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from specgen.lowering.amdgpu import addresses, debug, queues, types
from specgen.lowering.amdgpu.builder import ModuleParts, integer
from specgen.lowering.amdgpu.context import LoopMark, Lowering, Memory, number, word
from specgen.lowering.amdgpu.optable import ROWS
from specgen.lowering.amdgpu.types import Value
from specgen.targets import Target

DESCRIPTOR_FLAGS = {"gfx9": 0x00027000, "gfx11": 0x31004000, "gfx12": 0x31004000}
"""Word 3 of a raw buffer descriptor: 32-bit format; on gfx11 and gfx12 out-of-range checks of the offset alone.

As in AMD's composable_kernel (`CK_BUFFER_RESOURCE_3RD_DWORD`) and MLIR's AMDGPU to ROCDL conversion.
"""

NO_DESCRIPTORS = ("gfx1250",)
"""Processors whose descriptor layout is not published; they use global pointers."""

IMPLICIT = (
    "dispatch-ptr queue-ptr dispatch-id implicitarg-ptr lds-kernel-id heap-ptr hostcall-ptr multigrid-sync-arg "
    "default-queue completion-action"
).split()
"""Inputs that a kernel may ask of the launcher and that ours never use."""

ID_NAMES = [f"{kind}.id.{axis}" for kind in ("workgroup", "workitem") for axis in "xyz"]


@dataclass(frozen=True)
class Module:
    """LLVM IR of all entry points of a module, without triple and layout, and the loops of each."""

    text: str
    loops: dict[str, tuple[LoopMark, ...]]


def kernels(module: ModuleOp) -> list[FuncOp]:
    """The entry points, in order."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and "motif.kernel" in op.attributes]


def lower_module(module: ModuleOp, target: Target) -> Module:
    """All entry points of a module for one target."""
    parts = ModuleParts()
    functions = kernels(module)
    places = [_place(f) for f in functions]
    info = debug.DebugInfo(parts.metadata, places[0][0] if places else "<ir>")
    texts, loops = [], {}
    for position, (function, place) in enumerate(zip(functions, places, strict=True)):
        low = Lowering(function, target, parts, info.function(function.sym_name.data, place), ROWS)
        texts.append(_function(low, position))
        loops[function.sym_name.data] = tuple(low.loops)
    head = [*parts.declarations, *parts.globals]
    return Module("\n".join([*head, *texts, parts.metadata.text()]), loops)


def _place(function: FuncOp) -> debug.Place:
    """Where a function starts in its spec: the first of its ops by line."""
    found = [p for op in function.walk() if (p := debug.place_of(op)) is not None]
    if not found:
        return ("<ir>", 1, 1)
    home = debug.place_of(function) or found[0]
    return min(p for p in found if p[0] == home[0]) if any(p[0] == home[0] for p in found) else found[0]


def _function(low: Lowering, position: int) -> str:
    function, name = low.function, low.function.sym_name.data
    arguments = [_argument(low, argument) for argument in function.body.block.args]
    for argument in function.body.block.args:
        if isinstance(argument.type, MemRefType) and all(e >= 0 for e in argument.type.get_shape()):
            bind_buffer(low, argument, None)
    low.ordered = queues.ordered_loads(function)
    low.run_block(function.body.block)
    node = low.b.module.metadata.node
    size = node(f"!{{{', '.join(f'i32 {n}' for n in low.workgroup_size)}}}")
    head = (
        f"define amdgpu_kernel void @{name}({', '.join(arguments)}) #{position} "
        f"!reqd_work_group_size {size} !dbg {low.b.debug.program} {{\n"
    )
    return f"{head}{low.b.text()}}}\nattributes #{position} = {{ {' '.join(_attributes(low))} }}\n"


def _attributes(low: Lowering) -> list[str]:
    items = low.workgroup_items
    unused = [n.replace(".", "-") for n in ID_NAMES if n not in low.used_ids]
    result = [
        "nounwind",
        "norecurse",
        f'"amdgpu-flat-work-group-size"="{items},{items}"',
        '"uniform-work-group-size"="true"',
    ]
    # Subnormals are kept in every type.
    result.append('"denormal-fp-math"="ieee,ieee"')
    result += [f'"amdgpu-no-{n}"' for n in [*unused, *IMPLICIT]]
    registers = low.function.attributes.get("motif.registers")
    if registers is not None:
        result.append(f'"amdgpu-num-vgpr"="{number(registers, 0)}"')
    return result


def _argument(low: Lowering, argument: BlockArgument) -> str:
    """One parameter; its value is bound here, a buffer by `bind_buffer`."""
    name = word(low.facts.argument_attribute(argument, "motif.name")) or f"argument{argument.index}"
    ref = f"%{name}" if re.fullmatch(r"[A-Za-z_]\w*", name) else f"%argument{argument.index}"
    if isinstance(argument.type, MemRefType):
        return f"{_pointer_type(low, argument)} {ref}"
    text = types.llvm(argument.type)
    if text == "i1":
        low.values[argument] = low.b.cast("trunc", Value("i8", ref), "i1")
        return f"i8 {ref}"
    # LLVM is not told the range: it would widen comparisons of what facts made narrow.
    low.define(argument, Value(text, ref))
    return f"{text} {ref}"


def _pointer_type(low: Lowering, argument: BlockArgument) -> str:
    """The pointer and what is promised about it.

    Never `dereferenceable`: a buffer may be backed only as far as its active data, so no load may be speculated.
    """
    attribute = low.facts.argument_attribute
    words = ["ptr addrspace(1)", "nofree"]
    if isinstance(attribute(argument, "motif.noalias"), UnitAttr):
        words.append("noalias")
    words += {"read": ["readonly"], "write": ["writeonly"]}.get(word(attribute(argument, "motif.access")), [])
    words.append(f"align {_align(low, argument)}")
    return " ".join(words)


def _align(low: Lowering, argument: SSAValue) -> int:
    return max(number(low.facts.argument_attribute(argument, "motif.align"), 1), types.size(argument.type))


def bind_buffer(low: Lowering, argument: SSAValue, sizes: tuple[SSAValue, ...] | None) -> None:
    """Makes a buffer argument accessible; `sizes` are its extents unless the type has them."""
    assert isinstance(argument.type, MemRefType)
    assert isinstance(argument, BlockArgument)
    shape = tuple(argument.type.get_shape())
    attribute = low.facts.argument_attribute
    extents = tuple(
        e if e >= 0 or sizes is None else (low.facts.exact(sizes[n]) or sizes[n]) for n, e in enumerate(shape)
    )
    name = word(attribute(argument, "motif.name")) or f"argument{argument.index}"
    pointer = Value(
        "ptr addrspace(1)", f"%{name}" if re.fullmatch(r"[A-Za-z_]\w*", name) else f"%argument{argument.index}"
    )
    alone = (
        isinstance(attribute(argument, "motif.noalias"), UnitAttr)
        and word(attribute(argument, "motif.access")) == "read"
    )
    memory = Memory(pointer, argument.type, extents, _align(low, argument), shared=not alone)
    descriptor = _descriptor(low, memory) if _may_have_descriptor(low, argument) else None
    low.memory[argument] = Memory(pointer, argument.type, extents, memory.align, not alone, descriptor)


def _may_have_descriptor(low: Lowering, argument: SSAValue) -> bool:
    """Buffers with atomics stay plain pointers, so that all accesses of one buffer are of one kind."""
    if low.target.cpu in NO_DESCRIPTORS:
        return False
    return not any(use.operation.name == "memref.atomic_rmw" for use in argument.uses)


def _descriptor(low: Lowering, memory: Memory) -> Value | None:
    """A descriptor that ends exactly where the buffer ends; None for buffers that may reach 2 GiB."""
    total = addresses.Sum()
    constant = types.size(memory.type)
    dynamic: tuple[SSAValue, ...] = ()
    for extent in memory.sizes:
        if isinstance(extent, int):
            constant *= extent
        else:
            dynamic = (*dynamic, extent)
    total.add((None, dynamic), constant)
    limits = addresses.span(low, total, low.function.body.block.last_op) if dynamic else None  # type: ignore[arg-type]
    top = constant if limits is None else limits.high
    if top >= addresses.LIMIT or constant == 0:
        return None
    count = integer("i64", constant) if not dynamic else addresses.emit_sum(low, total, 64)
    assert count is not None
    flags = integer("i32", DESCRIPTOR_FLAGS[low.target.family])
    type_ = "ptr addrspace(8)"
    return low.b.intrinsic("amdgcn.make.buffer.rsrc.p8.p1", type_, memory.pointer, Value("i16", "0"), count, flags)
