"""The push-constant block: arguments in declaration order with natural alignment (docs/design-notes.md, ABI).

The block is declared as buffer addresses and 32-bit words. Scalars narrower or wider than a word are taken from
words: that needs no capability for narrow or 64-bit push constants, and members never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from specgen.lowering.spirv import words
from specgen.lowering.spirv.builder import Builder, Id
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name
from specgen.lowering.spirv.groups import is_global
from specgen.lowering.spirv.memory import STORED, Memory, extents_of

ADDRESS_BYTES = 8
WORD_BYTES = 4


@dataclass(frozen=True)
class Member:
    """An argument in the block; `element` is None for a buffer's address."""

    value: SSAValue
    offset: int
    element: str | None

    @property
    def bytes(self) -> int:
        """Size and alignment of the member."""
        return ADDRESS_BYTES if self.element is None else max(BITS[self.element] // 8, 1)


def layout(e: Emitter) -> tuple[list[Member], int]:
    """The members with their offsets, and the size of the block rounded up to words."""
    members: list[Member] = []
    end = 0
    for value in e.function.body.block.args:
        element = None if isinstance(value.type, MemRefType) else element_name(value.type)
        member = Member(value, 0, element)
        offset = -(-end // member.bytes) * member.bytes
        members.append(Member(value, offset, element))
        end = offset + member.bytes
    return members, -(-end // WORD_BYTES) * WORD_BYTES


def load_arguments(e: Emitter) -> int:
    """Load what the function uses of its arguments; the size of the block in bytes."""
    members, size = layout(e)
    slots, variable = _block(e, members)
    for member in members:
        if not list(member.value.uses):
            continue
        e.use(variable)
        if member.element is None:
            address = _load(e, variable, slots[member.offset], _declared_type(e, member.value))
            if _declared_type(e, member.value) != _buffer_type(e, member.value):
                address = e.emit("OpBitcast", address, type=_buffer_type(e, member.value))
            e.memories[member.value] = _memory(e, member.value, address)
        else:
            _define_scalar(e, member, variable, slots)
    return size


def _define_scalar(e: Emitter, member: Member, variable: Id, slots: dict[int, int]) -> None:
    element, word = member.element or "", e.builder.type("u32")
    first = member.offset // WORD_BYTES * WORD_BYTES
    low = _load(e, variable, slots[first], word)
    kind = e.kind_of(member.value)
    if member.bytes == 8 and kind != "u32":
        high = _load(e, variable, slots[first + WORD_BYTES], word)
        e.define(member.value, words.from_words(e, (low, high), element, 1), "u64" if element != "f64" else None)
    elif member.bytes >= WORD_BYTES:
        # Of an index that fits in 32 signed bits the low word is enough.
        e.define(member.value, words.from_words(e, (low,), "i32" if kind == "u32" else element, 1))
    else:
        place = (member.offset - first) * 8
        shifted = e.op("OpShiftRightLogical", "u32", low, e.const("u32", place)) if place else low
        e.define(member.value, words.from_words(e, (shifted,), element, 1))


def _load(e: Emitter, variable: Id, slot: int, type_: Id) -> Id:
    pointer = e.emit("OpAccessChain", variable, e.const("u32", slot), type=e.builder.pointer("PushConstant", type_))
    return e.emit("OpLoad", pointer, type=type_)


def _block(e: Emitter, members: list[Member]) -> tuple[dict[int, int], Id]:
    """Member numbers by offset, and the variable; one block for equal signatures."""
    builder = e.builder
    types: dict[int, Id] = {}
    for member in members:
        if member.element is None:
            types[member.offset] = _declared_type(e, member.value)
        else:
            for offset in range(member.offset // WORD_BYTES * WORD_BYTES, member.offset + member.bytes, WORD_BYTES):
                types[offset] = builder.type("u32")
    offsets = sorted(types)
    key = ("block", " ".join(f"{o}:{int(types[o])}" for o in offsets))
    if offsets and key not in builder.named:
        struct = builder.emit("global", "OpTypeStruct", *(types[o] for o in offsets))
        builder.emit("annotation", "OpDecorate", struct, "Decoration.Block")
        for number, offset in enumerate(offsets):
            builder.emit("annotation", "OpMemberDecorate", struct, number, "Decoration.Offset", offset)
        pointer = builder.pointer("PushConstant", struct)
        builder.named[key] = builder.emit("global", "OpVariable", "StorageClass.PushConstant", type=pointer)
    return {o: n for n, o in enumerate(offsets)}, builder.named.get(key, Id(0))


def _attribute(e: Emitter, value: SSAValue, name: str) -> object:
    return e.facts.argument_attribute(value, name)


def _read_only(e: Emitter, value: SSAValue) -> bool:
    access = _attribute(e, value, "motif.access")
    return isinstance(access, StringAttr) and access.data == "read"


def _buffer_type(e: Emitter, value: SSAValue) -> Id:
    """Pointer to a block that is a run-time array of the buffer's elements."""
    return buffer_pointer(e.builder, STORED[element_name(value.type)], read_only=_read_only(e, value))


def _declared_type(e: Emitter, value: SSAValue) -> Id:
    """The pointer type in the block: validators ask for narrow push constants where the pointee is narrow."""
    narrow = STORED[element_name(value.type)] in ("u8", "u16", "f16")
    if not narrow:
        return _buffer_type(e, value)
    return buffer_pointer(e.builder, "u32", read_only=_read_only(e, value))


def buffer_pointer(builder: Builder, stored: str, *, read_only: bool) -> Id:
    """The pointer type of a buffer of `stored` elements, made once."""
    key = ("buffer", f"{stored} {read_only}")
    if key not in builder.named:
        array_key = ("array", stored)
        if array_key not in builder.named:
            array = builder.emit("global", "OpTypeRuntimeArray", builder.type(stored))
            builder.emit("annotation", "OpDecorate", array, "Decoration.ArrayStride", int(stored[1:]) // 8)
            builder.named[array_key] = array
        struct = builder.emit("global", "OpTypeStruct", builder.named[array_key])
        builder.emit("annotation", "OpDecorate", struct, "Decoration.Block")
        builder.emit("annotation", "OpMemberDecorate", struct, 0, "Decoration.Offset", 0)
        if read_only:
            builder.emit("annotation", "OpMemberDecorate", struct, 0, "Decoration.NonWritable")
        builder.named[key] = builder.pointer("PhysicalStorageBuffer", struct)
    return builder.named[key]


def _memory(e: Emitter, value: SSAValue, address: Id) -> Memory:
    type_ = value.type
    assert isinstance(type_, MemRefType)
    element = element_name(type_)
    given = _attribute(e, value, "motif.align")
    align = given.value.data if isinstance(given, IntegerAttr) else max(BITS[element] // 8, 1)
    shared = any(is_global(op) for op in e.function.walk())
    return Memory(
        "PhysicalStorageBuffer", element, STORED[element], address, extents_of(e, value, type_), align, shared
    )


def window(e: Emitter, op: Operation) -> None:
    """`motif.window`: the address of a buffer as a pointer to other elements."""
    base, *size = op.operands
    type_ = op.results[0].type
    assert isinstance(type_, MemRefType)
    memory = e.memories.get(base)
    if memory is None or memory.storage != "PhysicalStorageBuffer":
        raise e.refuse(op, "a window on what is no buffer")
    element = element_name(type_)
    pointer = buffer_pointer(e.builder, STORED[element], read_only=_read_only(e, base))
    address = memory.pointer
    if STORED[element] != memory.stored:
        address = e.emit("OpBitcast", address, type=pointer)
    (extent,) = type_.get_shape()
    e.memories[op.results[0]] = Memory(
        memory.storage, element, STORED[element], address, tuple(size) or (extent,), memory.align, memory.shared
    )
