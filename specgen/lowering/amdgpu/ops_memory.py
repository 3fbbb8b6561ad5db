"""Rows of loads, stores, atomics and allocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from specgen.ir.dialect import EARLY
from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.addresses import Address, address, buffer_offsets, pointer
from specgen.lowering.amdgpu.builder import integer
from specgen.lowering.amdgpu.context import Lowering, Memory, Row, number
from specgen.lowering.amdgpu.types import Value

PIECES = (16, 12, 8, 4, 2, 1)
"""Bytes that one buffer instruction moves."""

MOST_PIECES = 4
"""More pieces than that, and the access goes through a global pointer, where unaligned vectors are allowed."""


def _pieces(type_text: str, element_bytes: int, align: int) -> tuple[int, str] | None:
    """Equal pieces of a value for buffer instructions: their count and LLVM type; None when there are too many."""
    total = (types.count_text(type_text) or 1) * element_bytes
    for piece in PIECES:
        fits = total % piece == 0 and piece >= element_bytes and min(piece, 4) <= max(align, 1)
        if not fits or (piece == 12 and total != 12):
            continue
        if total // piece > MOST_PIECES:
            return None
        count = piece // 4
        return total // piece, f"<{count} x i32>" if count > 1 else f"i{8 * piece}"
    return None


def _through_descriptor(low: Lowering, memory: Memory, at: Address, type_: Attribute) -> tuple[int, str] | None:
    """The pieces of a buffer access; None when a pointer is better: no descriptor, or the same address in all lanes."""
    if memory.descriptor is None or not at.varying.terms:
        return None
    return _pieces(types.llvm(type_), types.size(type_), at.align)


def is_buffer_load(low: Lowering, op: Operation) -> bool:
    """Whether a load goes through its buffer's descriptor."""
    base, *indices = op.operands
    memory = low.memory.get(base)
    if memory is None:
        return False
    return _through_descriptor(low, memory, address(low, op, memory, indices), op.results[0].type) is not None


def load(low: Lowering, op: Operation, memory: Memory, at: Address, type_: Attribute) -> Value:
    """A scalar or a vector from memory."""
    text = types.llvm(type_)
    pieces = _through_descriptor(low, memory, at, type_)
    if pieces is None:
        source = pointer(low, op, memory, at)
        # LLVM sinks invariant loads past anything, to where they are used; an early read is to stay where it is.
        varies = memory.shared or EARLY in op.attributes
        tag = "" if varies else f", !invariant.load {low.b.module.metadata.node('!{}')}"
        return low.b.emit(text, f"load {text}, {source}, align {_power(at.align)}{tag}")
    count, piece = pieces
    step = types.bits_text(piece) * (types.count_text(piece) or 1) // 8
    parts = []
    for number_ in range(count):
        offsets = buffer_offsets(low, op, at.shifted(number_ * step))
        name = f"amdgcn.raw.ptr.buffer.load.{types.mangled(piece)}"
        assert memory.descriptor is not None
        parts.append(low.b.intrinsic(name, piece, memory.descriptor, offsets.lane, offsets.scalar, integer("i32", 0)))
    return low.b.cast("bitcast", _joined(low, parts), text)


def store(low: Lowering, op: Operation, memory: Memory, at: Address, value: Value, type_: Attribute) -> None:
    """A scalar or a vector to memory."""
    pieces = _through_descriptor(low, memory, at, type_)
    if pieces is None:
        target = pointer(low, op, memory, at)
        low.b.effect(f"store {value}, {target}, align {_power(at.align)}")
        return
    count, piece = pieces
    step = types.bits_text(piece) * (types.count_text(piece) or 1) // 8
    for number_, part in enumerate(_split(low, value, count, piece)):
        offsets = buffer_offsets(low, op, at.shifted(number_ * step))
        name = f"amdgcn.raw.ptr.buffer.store.{types.mangled(piece)}"
        assert memory.descriptor is not None
        low.b.intrinsic_effect(name, part, memory.descriptor, offsets.lane, offsets.scalar, integer("i32", 0))


def _power(align: int) -> int:
    """The largest power of two that divides an alignment."""
    return min(align & -align, 1 << 12)


def _joined(low: Lowering, parts: list[Value]) -> Value:
    """Pieces as one integer vector, low addresses first."""
    if len(parts) == 1:
        return parts[0]
    scalars = [low.b.extract(p, n) for p in parts for n in range(types.count_text(p.type) or 0)] or parts
    return low.b.gather(scalars)


def _split(low: Lowering, value: Value, count: int, piece: str) -> list[Value]:
    """The inverse of `_joined`."""
    words = (types.count_text(piece) or 1) * count
    scalar = types.element_text(piece)
    whole = low.b.cast("bitcast", value, scalar if words == 1 else f"<{words} x {scalar}>")
    if count == 1:
        return [whole]
    items = [low.b.extract(whole, n) for n in range(words)]
    width = words // count
    return [items[n] if width == 1 else low.b.gather(items[n * width : (n + 1) * width]) for n in range(count)]


def _load(low: Lowering, op: Operation) -> None:
    base = op.operands[0]
    memory = low.memory[base]
    at = address(low, op, memory, list(op.operands[1:]))
    low.define(op.results[0], load(low, op, memory, at, op.results[0].type))


def _stored(low: Lowering, value: SSAValue) -> Value:
    return low.sized(value, 64) if types.is_index(value.type) else low.value(value)


def _store(low: Lowering, op: Operation) -> None:
    value, base, *indices = op.operands
    memory = low.memory[base]
    at = address(low, op, memory, indices)
    store(low, op, memory, at, _stored(low, value), value.type)


# Masked accesses


def _uniform_mask(mask: SSAValue) -> SSAValue | None:
    """The condition of a mask that is one value for all elements."""
    owner = mask.owner
    return owner.operands[0] if isinstance(owner, vector.BroadcastOp) else None


def _guarded(
    low: Lowering, condition: Value, inside: Callable[[], Value | None], otherwise: Value | None
) -> Value | None:
    """What `inside` gives where the condition holds, else `otherwise`."""
    b = low.b
    yes, after, before = b.new_block(), b.new_block(), b.block
    b.branch(condition, yes, after)
    b.start(yes)
    value = inside()
    b.jump(after)
    end = b.block
    b.start(after)
    if value is None or otherwise is None:
        return None
    phi = b.phi(value.type)
    phi.incoming += [(otherwise.ref, before), (value.ref, end)]
    return phi.result


def _masked_load(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.MaskedLoadOp)
    memory = low.memory[op.base]
    type_, other = op.result.type, low.value(op.pass_thru)
    at = address(low, op, memory, list(op.indices))
    condition = _uniform_mask(op.mask)
    if condition is not None:
        whole = _guarded(low, low.value(condition), lambda: load(low, op, memory, at, type_), other)
        assert whole is not None
        low.define(op.result, whole)
        return
    mask, step, result = low.value(op.mask), types.size(type_), other
    for place in range(types.lanes(type_) or 1):
        taken = _guarded(
            low,
            low.b.extract(mask, place),
            lambda place=place: load(low, op, memory, at.shifted(place * step), types.element(type_)),  # type: ignore[misc]
            low.b.extract(other, place),
        )
        assert taken is not None
        result = low.b.insert(result, taken, place)
    low.define(op.result, result)


def _masked_store(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.MaskedStoreOp)
    memory = low.memory[op.base]
    type_ = op.value_to_store.type
    value = low.value(op.value_to_store)
    at = address(low, op, memory, list(op.indices))

    def put(where: Address, item: Value, kind: Attribute) -> Callable[[], None]:
        return lambda: store(low, op, memory, where, item, kind)

    condition = _uniform_mask(op.mask)
    if condition is not None:
        _guarded(low, low.value(condition), put(at, value, type_), None)
        return
    mask, step = low.value(op.mask), types.size(type_)
    for place in range(types.lanes(type_) or 1):
        inside = put(at.shifted(place * step), low.b.extract(value, place), types.element(type_))
        _guarded(low, low.b.extract(mask, place), inside, None)


# Atomics and allocations

ATOMICS = {
    0: "fadd",
    1: "add",
    2: "xchg",
    4: "max",
    5: "umax",
    7: "min",
    8: "umin",
    11: "or",
    12: "and",
    13: "fmax",
    14: "fmin",
    15: "xor",
}
"""LLVM's `atomicrmw` by MLIR's `AtomicRMWKind`; those that are missing are no part of the IR."""


def _atomic(low: Lowering, op: Operation) -> None:
    """Relaxed; the whole device for buffers, the workgroup for its memory."""
    assert isinstance(op, memref.AtomicRMWOp)
    memory = low.memory[op.memref]
    at = address(low, op, memory, list(op.indices))
    value = _stored(low, op.value)
    text = value.type
    if types.name(op.value.type) == "bf16":
        value = low.b.cast("bitcast", value, "bfloat")
    scope = "agent" if memory.space == 1 else "workgroup"
    place = pointer(low, op, memory, at)
    # Buffers are ordinary device memory: the hardware's float atomics hold there.
    empty = low.b.module.metadata.node("!{}")
    tags = f", !amdgpu.no.fine.grained.memory {empty}, !amdgpu.no.remote.memory {empty}"
    kind = ATOMICS[op.kind.value.data]
    old = low.b.emit(value.type, f'atomicrmw {kind} {place}, {value} syncscope("{scope}") monotonic{tags}')
    low.define(op.result, low.b.cast("bitcast", old, text))


def _alloc(low: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.AllocOp)
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    sizes = tuple(type_.get_shape())
    count = types.size(type_)
    for extent in sizes:
        count *= extent
    align = max(16, number(op.attributes.get("motif.align"), 1))
    if number(type_.memory_space, 3) == 5:
        place = low.b.emit("ptr addrspace(5)", f"alloca [{count} x i8], align {align}, addrspace(5)")
    else:
        place = Value("ptr addrspace(3)", low.b.module.workgroup_memory(count, align))
    low.memory[op.memref] = Memory(place, type_, sizes, align, shared=True)


def _extents(low: Lowering, op: Operation) -> None:
    """The extents of a buffer argument; see `entry.bind_buffer`."""
    from specgen.lowering.amdgpu.entry import bind_buffer

    bind_buffer(low, op.operands[0], tuple(op.operands[1:]))


def _window(low: Lowering, op: Operation) -> None:
    """The same place and the same descriptor, which ends where the buffer ends."""
    base, *size = op.operands
    memory, type_ = low.memory[base], op.results[0].type
    assert isinstance(type_, MemRefType)
    (extent,) = type_.get_shape()
    sizes = (low.facts.exact(size[0]) or size[0],) if size else (extent,)
    low.memory[op.results[0]] = replace(memory, type=type_, sizes=sizes)


ROWS: dict[str, Row] = {
    "memref.load": _load,
    "vector.load": _load,
    "memref.store": _store,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "memref.atomic_rmw": _atomic,
    "memref.alloc": _alloc,
    "motif.extents": _extents,
    "motif.window": _window,
}
