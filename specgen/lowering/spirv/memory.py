"""Memories of a function: buffers behind addresses in push constants, workgroup and private memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from specgen.lowering.spirv.builder import Id, Operand
from specgen.lowering.spirv.convert import from_bits, to_bits
from specgen.lowering.spirv.emitter import BITS, KINDS, Emitter, element_name

WORKGROUP, PRIVATE = 3, 5
"""Memory spaces of the IR."""

STORED = {
    "i1": "u8",
    "i8": "u8",
    "i16": "u16",
    "i32": "u32",
    "i64": "u64",
    "index": "u64",
    "f16": "f16",
    "bf16": "u16",
    "f32": "f32",
    "f64": "f64",
}
"""How elements lie in memory, by element type."""

WIDEST_ACCESS = 16
"""Bytes of the widest load or store."""


@dataclass(frozen=True)
class Memory:
    """A place of elements.

    `pointer` points to a block with a run-time array (buffers) or to an array. `extents` are numbers or SSA values;
    `align` is what is promised of the start, in bytes; `shared`: other work-items' accesses are ordered by barriers.
    """

    storage: str
    element: str
    stored: str
    pointer: Id
    extents: tuple[int | SSAValue, ...]
    align: int
    shared: bool

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return max(BITS[self.element] // 8, 1)


def extents_of(e: Emitter, value: SSAValue, type_: MemRefType[Attribute]) -> tuple[int | SSAValue, ...]:
    """The extents of a memref: static ones as numbers, the others from its `motif.extents`."""
    shape = type_.get_shape()
    if all(n >= 0 for n in shape):
        return tuple(shape)
    for use in value.uses:
        if use.operation.name == "motif.extents":
            sizes = use.operation.operands[1:]
            return tuple(n if n >= 0 else s for n, s in zip(shape, sizes, strict=True))
    raise e.refuse(e.function, "a buffer with unknown extents has no motif.extents")


# Addresses


def _linear_kind(e: Emitter, memory: Memory) -> str:
    """u32 when no element number inside of the memory exceeds 31 bits."""
    total: int | float = 1
    for extent in memory.extents:
        high = extent if isinstance(extent, int) else e.facts.range(extent).high
        total *= max(high, 1)
    return "u32" if total <= 2**31 else "u64"


def _linear(e: Emitter, memory: Memory, subscripts: Sequence[SSAValue]) -> tuple[str, Id]:
    """The element number of subscripts, and its kind: row-major, evaluated from the slowest axis."""
    kind = _linear_kind(e, memory)
    if not subscripts:
        return kind, e.const(kind, 0)
    total = e.scalar(subscripts[0], kind)
    for extent, subscript in zip(memory.extents[1:], subscripts[1:], strict=True):
        size = e.const(kind, extent) if isinstance(extent, int) else e.scalar(extent, kind)
        total = e.add(kind, e.mul(kind, total, size), e.scalar(subscript, kind))
    return kind, total


def alignment(e: Emitter, op: Operation, memory: Memory, subscripts: Sequence[SSAValue]) -> int:
    """Bytes that the address of an access is proven (or claimed by `motif.align`) to be a multiple of, at most 16."""
    elements, stride = 0, 1
    for extent, subscript in reversed(list(zip(memory.extents, subscripts, strict=True))):
        elements = math.gcd(elements, e.facts.multiple_of(subscript, op) * stride)
        stride *= extent if isinstance(extent, int) else e.facts.multiple_of(extent, op)
    bytes_ = math.gcd(memory.align, elements * memory.element_bytes, WIDEST_ACCESS)
    claimed = op.attributes.get("motif.align")
    if isinstance(claimed, IntegerAttr):
        bytes_ = max(bytes_, math.gcd(claimed.value.data, WIDEST_ACCESS))
    return bytes_


@dataclass(frozen=True)
class Place:
    """An element of a memory, by its number."""

    memory: Memory
    kind: str
    number: Id

    def pointer(self, e: Emitter, offset: int) -> Id:
        """A pointer to the element `offset` places further."""
        memory = self.memory
        number = e.add(self.kind, self.number, e.const(self.kind, offset))
        type_ = e.builder.pointer(memory.storage, stored_type(e, memory))
        inner = (e.const("u32", 0),) if memory.storage == "PhysicalStorageBuffer" else ()
        return e.emit("OpAccessChain", memory.pointer, *inner, number, type=type_)

    def moved(self, e: Emitter, offset: int) -> Place:
        """The place `offset` elements further."""
        if offset == 0:
            return self
        return Place(self.memory, self.kind, e.add(self.kind, self.number, e.const(self.kind, offset)))


def stored_type(e: Emitter, memory: Memory) -> Id:
    """The type of an element in memory."""
    return e.builder.type(memory.stored)


def place_of(e: Emitter, op: Operation, base: SSAValue, subscripts: Sequence[SSAValue]) -> Place:
    """The place that an access names."""
    memory = e.memories.get(base)
    if memory is None:
        raise e.refuse(op, "a memory that is neither an argument nor an allocation")
    return Place(memory, *_linear(e, memory, subscripts))


def access(memory: Memory, align: int) -> tuple[Operand, ...]:
    """The memory operands of a load or store."""
    words = []
    if memory.storage == "PhysicalStorageBuffer":
        words.append("Aligned")
    if memory.shared:
        words.append("NonPrivatePointer")
    if not words:
        return ()
    mask = f"MemoryAccess.{'|'.join(words)}"
    return (mask, align) if "Aligned" in words else (mask,)


# Elements


def load_element(e: Emitter, place: Place, offset: int) -> Id:
    """The element `offset` places further, as a scalar of its kind (`index` as u64)."""
    memory = place.memory
    raw = e.emit("OpLoad", place.pointer(e, offset), *access(memory, memory.element_bytes), type=stored_type(e, memory))
    return _unpacked(e, raw, memory)


def _unpacked(e: Emitter, raw: Id, memory: Memory) -> Id:
    element, stored = memory.element, memory.stored
    if stored == kind_in(element):
        return raw
    if stored in ("u8", "u16"):
        raw = e.op("OpSConvert", "u32", raw)
    return from_bits(e, raw, element) if element in ("i1", "bf16", "f32", "f64") else raw


def store_element(e: Emitter, place: Place, offset: int, scalar: Id) -> None:
    """Write one element."""
    memory = place.memory
    stored = memory.stored
    if stored != kind_in(memory.element):
        scalar = to_bits(e, scalar, memory.element)
        if stored in ("u8", "u16"):
            scalar = e.op("OpUConvert", stored, scalar)
    e.emit("OpStore", place.pointer(e, offset), scalar, *access(memory, memory.element_bytes))


def kind_in(element: str) -> str:
    """The kind in which elements pass through loads and stores."""
    return "u64" if element == "index" else KINDS[element]


# Allocation


def allocate(e: Emitter, op: Operation) -> None:
    """`memref.alloc` in workgroup or private memory."""
    value = op.results[0]
    type_ = value.type
    assert isinstance(type_, MemRefType)
    space = type_.memory_space
    number = space.value.data if isinstance(space, IntegerAttr) else PRIVATE
    shape = type_.get_shape()
    if any(n < 0 for n in shape):
        raise e.refuse(op, "the size is not static")
    element = element_name(type_)
    count = max(math.prod(shape), 1)
    if number == WORKGROUP:
        stored = _workgroup_stored(value, element)
        variable = e.workgroup_variable(stored, count)
        e.memories[value] = Memory("Workgroup", element, stored, variable, shape, WIDEST_ACCESS, True)
        return
    # Private memory holds scalars as they are in registers.
    stored = kind_in(element)
    array = e.builder.array(e.builder.type(stored), count)
    variable = e.private_variable(e.builder.pointer("Function", array))
    e.memories[value] = Memory("Function", element, stored, variable, shape, WIDEST_ACCESS, False)


def _workgroup_stored(value: SSAValue, element: str) -> str:
    """Integers behind floats that are updated atomically: pointers into workgroup memory cannot be cast."""
    atomic = any(use.operation.name == "memref.atomic_rmw" for use in value.uses)
    if element == "i1":
        return "u32"
    if atomic and element in ("f32", "f64"):
        return {"f32": "u32", "f64": "u64"}[element]
    return STORED[element]
