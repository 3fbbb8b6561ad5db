"""Rows of loads and stores: elements, vectors in wide pieces, masked vectors element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, vector
from xdsl.ir import Operation, SSAValue

from specgen.lowering.spirv import words
from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.control import selection
from specgen.lowering.spirv.emitter import Emitter, element_name, lane_count
from specgen.lowering.spirv.integers import Row
from specgen.lowering.spirv.memory import Place, access, alignment, kind_in, load_element, place_of, store_element


@dataclass(frozen=True)
class Piece:
    """A part of a vector access: `count` elements from `offset` on, as `parts` components of kind `kind`."""

    offset: int
    count: int
    kind: str
    parts: int


def pieces(place: Place, count: int, align: int) -> Iterator[Piece]:
    """The parts of an access to `count` elements at an address that is a multiple of `align`."""
    memory = place.memory
    size = memory.element_bytes
    wide = memory.storage == "PhysicalStorageBuffer"
    offset = 0
    while offset < count:
        room = (count - offset) * size
        width = min(align, 1 << (room.bit_length() - 1)) if wide else size
        if width <= size or width < 4:
            yield Piece(offset, 1, memory.stored, 1)
            offset += 1
        elif size >= 4:
            yield Piece(offset, width // size, memory.stored, width // size)
            offset += width // size
        else:
            yield Piece(offset, width // size, "u32", width // 4)
            offset += width // size


def _pointer(e: Emitter, place: Place, piece: Piece) -> Id:
    type_ = e.builder.pointer(place.memory.storage, e.builder.vector(piece.kind, piece.parts))
    return e.emit("OpBitcast", place.pointer(e, piece.offset), type=type_)


def _load_piece(e: Emitter, place: Place, piece: Piece) -> tuple[Id, ...]:
    if piece.count == 1:
        return (load_element(e, place, piece.offset),)
    memory = place.memory
    type_ = e.builder.vector(piece.kind, piece.parts)
    operands = access(memory, piece.count * memory.element_bytes)
    whole = e.emit("OpLoad", _pointer(e, place, piece), *operands, type=type_)
    if piece.parts == 1:
        parts: list[Id] = [whole]
    else:
        parts = [e.op("OpCompositeExtract", piece.kind, whole, n) for n in range(piece.parts)]
    return tuple(parts) if memory.element_bytes >= 4 else words.from_words(e, parts, memory.element, piece.count)


def load(e: Emitter, place: Place, count: int, align: int) -> tuple[Id, ...]:
    """The elements from a place on."""
    return tuple(i for piece in pieces(place, count, align) for i in _load_piece(e, place, piece))


def store(e: Emitter, place: Place, ids: Sequence[Id], align: int) -> None:
    """Write elements from a place on."""
    memory = place.memory
    for piece in pieces(place, len(ids), align):
        part = ids[piece.offset : piece.offset + piece.count]
        if piece.count == 1:
            store_element(e, place, piece.offset, part[0])
            continue
        components = part if memory.element_bytes >= 4 else words.to_words(e, part, memory.element)
        type_ = e.builder.vector(piece.kind, piece.parts)
        value = components[0] if piece.parts == 1 else e.emit("OpCompositeConstruct", *components, type=type_)
        e.emit("OpStore", _pointer(e, place, piece), value, *access(memory, piece.count * memory.element_bytes))


def _base(op: Operation) -> tuple[SSAValue, Sequence[SSAValue]]:
    base = op.memref if isinstance(op, memref.LoadOp | memref.StoreOp | memref.AtomicRMWOp) else op.base  # type: ignore[attr-defined]
    return base, tuple(op.indices)  # type: ignore[attr-defined]


def _found(e: Emitter, op: Operation, count: int) -> tuple[Place, int]:
    base, subscripts = _base(op)
    place = place_of(e, op, base, subscripts)
    size = place.memory.element_bytes
    return place, alignment(e, op, place.memory, subscripts) if count > 1 else size


def _operands(e: Emitter, value: SSAValue) -> tuple[Id, ...]:
    """Scalars as loads and stores pass them."""
    return e.get(value, "u64") if element_name(value.type) == "index" else e.get(value)


def _define(e: Emitter, value: SSAValue, ids: tuple[Id, ...]) -> None:
    e.define(value, ids, "u64" if element_name(value.type) == "index" else None)


def _load(e: Emitter, op: Operation) -> None:
    count = lane_count(op.results[0].type)
    place, align = _found(e, op, count)
    _define(e, op.results[0], load(e, place, count, align))


def _store(e: Emitter, op: Operation) -> None:
    value = op.vector if isinstance(op, vector.StoreOp) else op.value  # type: ignore[attr-defined]
    place, align = _found(e, op, lane_count(value.type))
    store(e, place, _operands(e, value), align)


# Masked accesses


def _runs(mask: Sequence[Id]) -> list[tuple[Id, int, int]]:
    """Neighbours with the same condition: condition, first element, number of elements."""
    runs: list[tuple[Id, int, int]] = []
    for number, condition in enumerate(mask):
        if runs and int(runs[-1][0]) == int(condition):
            runs[-1] = (condition, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((condition, number, 1))
    return runs


def _aligned_run(mask: Sequence[Id], align: int, size: int) -> int:
    """Wide access only when one condition covers the whole vector."""
    return align if len(_runs(mask)) == 1 else size


def _guarded(e: Emitter, condition: Id, body: Callable[[], tuple[Id, ...]], other: Sequence[Id], kind: str) -> list[Id]:
    """The scalars that `body` yields where the condition holds, else `other`; `body` runs only then."""
    before, _, merge = selection(e, condition)
    yielded = body()
    inside = e.block
    e.branch(merge)
    e.label(merge)
    result = []
    for scalar, instead in zip(yielded, other, strict=True):
        phi, made = e.phi(kind)
        phi.append(scalar, inside)
        phi.append(instead, before)
        result.append(made)
    return result


def _masked_load(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.MaskedLoadOp)
    count = lane_count(op.result.type)
    place, align = _found(e, op, count)
    mask, other = e.get(op.mask), _operands(e, op.pass_thru)
    align = _aligned_run(mask, align, place.memory.element_bytes)
    kind = kind_in(element_name(op.result.type))
    ids: list[Id] = []
    for condition, first, number in _runs(mask):

        def body(first: int = first, number: int = number) -> tuple[Id, ...]:
            return load(e, place.moved(e, first), number, align)

        ids += _guarded(e, condition, body, other[first : first + number], kind)
    _define(e, op.result, tuple(ids))


def _masked_store(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.MaskedStoreOp)
    value = op.value_to_store
    place, align = _found(e, op, lane_count(value.type))
    mask, ids = e.get(op.mask), _operands(e, value)
    align = _aligned_run(mask, align, place.memory.element_bytes)
    for condition, first, number in _runs(mask):

        def body(first: int = first, number: int = number) -> tuple[Id, ...]:
            store(e, place.moved(e, first), ids[first : first + number], align)
            return ()

        _guarded(e, condition, body, (), "u32")


ROWS: dict[str, Row] = {
    "memref.load": _load,
    "memref.store": _store,
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
}
