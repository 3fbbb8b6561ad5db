"""What a target cannot do, refused before LLVM sees it: LLVM would end the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation

from specgen.ir import locations
from specgen.ir.dialect import COLLECTIVES, SubgroupReduceOp, SubgroupShuffleXorOp, integer
from specgen.ir.optable import OPS
from specgen.lowering import LoweringError
from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.context import number, numbers
from specgen.lowering.amdgpu.entry import kernels
from specgen.lowering.amdgpu.ops_memory import ATOMICS
from specgen.lowering.amdgpu.optable import BY_PARENT, ROWS
from specgen.targets import Target

ELEMENTS = ("index", "i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")

ONLY_F32 = ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf")
"""Functions of `math` that no AMD processor has in f64."""

MAX_LANES = 64
"""Elements of the longest vector value that is lowered."""


class IllegalError(LoweringError):
    """An op that the target lacks; the message starts with the spec's place."""


@dataclass(frozen=True)
class Rule:
    """One reason to refuse an op: `broken` says what is wrong, None when nothing is."""

    name: str
    broken: Callable[[Operation, Target], str | None]


def _known(op: Operation, target: Target) -> str | None:
    if op.name in ROWS or op.name in BY_PARENT:
        return None
    return f"{op.name} is no op of the IR" if op.name not in OPS else f"{op.name} cannot be lowered"


def _types(op: Operation) -> Iterator[Attribute]:
    yield from (v.type for v in op.operands)
    yield from (v.type for v in op.results)


def _elements(op: Operation, target: Target) -> str | None:
    for type_ in _types(op):
        try:
            name = types.name(type_)
        except KeyError:
            return f"{op.name} of type {type_}"
        if name not in ELEMENTS:
            return f"{op.name} of element type {name}"
        if not isinstance(type_, MemRefType) and (types.lanes(type_) or 1) > MAX_LANES:
            return f"{op.name} of a vector of {types.lanes(type_)} elements, {MAX_LANES} at most"
    return None


def _no_f64(op: Operation, target: Target) -> str | None:
    wide = op.name.startswith("math.") and op.name[5:] in ONLY_F32 and types.name(op.results[0].type) == "f64"
    return f"{op.name} of f64" if wide else None


def _atomic(op: Operation, target: Target) -> str | None:
    if not isinstance(op, memref.AtomicRMWOp):
        return None
    kind, name = ATOMICS.get(op.kind.value.data), types.name(op.value.type)
    if kind is None:
        return f"memref.atomic_rmw of kind {op.kind.value.data}"
    if types.is_float(op.value.type) != (kind in ("fadd", "fmax", "fmin")) and kind != "xchg":
        return f"memref.atomic_rmw {kind} of {name}"
    return None


def _memory(op: Operation, target: Target) -> str | None:
    if not isinstance(op, memref.AllocOp):
        return None
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    if any(extent < 0 for extent in type_.get_shape()):
        return "memory whose size is not static"
    if number(type_.memory_space, 3) not in (3, 5):
        return f"memory in space {type_.memory_space}"
    return None


def _lanes_of_clusters(op: Operation, target: Target) -> str | None:
    size = target.subgroup_size or 0
    if isinstance(op, SubgroupReduceOp) and op.cluster is not None:
        cluster = integer(op.cluster)
        if cluster < 1 or cluster & (cluster - 1) or cluster > size:
            return f"a cluster of {cluster} lanes in a subgroup of {size}"
    if isinstance(op, SubgroupShuffleXorOp) and not 0 <= integer(op.mask) < size:
        return f"shuffle_xor by {integer(op.mask)} in a subgroup of {size}"
    return None


def _dynamic_lanes(op: Operation, target: Target) -> str | None:
    if isinstance(op, vector.ExtractOp | vector.InsertOp) and len(op.static_position.get_values()) != 1:
        return f"{op.name} of a vector with several axes"
    return None


RULES: tuple[Rule, ...] = (
    Rule("op", _known),
    Rule("element type", _elements),
    Rule("f64 function", _no_f64),
    Rule("atomic", _atomic),
    Rule("memory", _memory),
    Rule("cluster", _lanes_of_clusters),
    Rule("position", _dynamic_lanes),
)
"""Tried in order on every op of every kernel."""


def problems(module: ModuleOp, target: Target) -> list[tuple[str, str]]:
    """`(place, what)` for everything in a module that the target cannot do; the place is `file:line:column`."""
    found: list[tuple[str, str]] = []
    for function in kernels(module):
        found += [(locations.text(function), text) for text in _function_problems(function, target)]
        for op in function.body.walk():
            text = next((t for rule in RULES if (t := rule.broken(op, target)) is not None), None)
            if text is not None:
                found.append((locations.text(op), text))
    return found


def _function_problems(function: Operation, target: Target) -> list[str]:
    size = numbers(function.attributes.get("motif.workgroup_size"))
    items = 1
    for extent in size:
        items *= extent
    found = []
    if not 1 <= items <= target.max_workgroup_size:
        found.append(f"a workgroup of {items} work-items, {target.max_workgroup_size} at most")
    asked = number(function.attributes.get("motif.subgroup_size"), target.subgroup_size or 0)
    if asked != target.subgroup_size:
        found.append(f"subgroups of {asked}, they have {target.subgroup_size} lanes")
    collectives = any(isinstance(op, COLLECTIVES) for op in function.walk())
    if collectives and items % (target.subgroup_size or 1):
        found.append(f"subgroup operations in a workgroup of {items} work-items, no multiple of {target.subgroup_size}")
    memory = _workgroup_bytes(function)
    if memory > target.workgroup_memory:
        found.append(f"{memory} bytes of workgroup memory, {target.workgroup_memory} at most")
    return found


def _workgroup_bytes(function: Operation) -> int:
    total = 0
    for op in function.walk():
        if isinstance(op, memref.AllocOp) and isinstance(op.memref.type, MemRefType):
            type_ = op.memref.type
            if number(type_.memory_space, 3) == 3:
                count = types.size(type_)
                for extent in type_.get_shape():
                    count *= max(extent, 0)
                total += -(-count // 16) * 16
    return total


def require(module: ModuleOp, target: Target) -> None:
    """Raises `IllegalError` for the first thing that the target cannot do."""
    found = problems(module, target)
    if found:
        place, text = found[0]
        raise IllegalError(f"{place + ': ' if place else ''}{target.name} cannot do {text}")
