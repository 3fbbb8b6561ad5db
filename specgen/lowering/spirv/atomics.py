"""Row of `memref.atomic_rmw`: relaxed atomics on 32- and 64-bit elements.

Floats other than exchange go through compare-and-exchange on their bits: Vulkan's float atomics are optional.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import memref
from xdsl.ir import Operation

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.control import LOOP_MERGE
from specgen.lowering.spirv.convert import from_bits, to_bits
from specgen.lowering.spirv.emitter import Emitter
from specgen.lowering.spirv.floats import extreme
from specgen.lowering.spirv.integers import Row
from specgen.lowering.spirv.memory import Memory, Place, place_of

INSTRUCTIONS = {
    1: "OpAtomicIAdd",
    2: "OpAtomicExchange",
    4: "OpAtomicSMax",
    5: "OpAtomicUMax",
    7: "OpAtomicSMin",
    8: "OpAtomicUMin",
    11: "OpAtomicOr",
    12: "OpAtomicAnd",
    15: "OpAtomicXor",
}
"""By MLIR's `AtomicRMWKind`: addi, assign, maxs, maxu, mins, minu, ori, andi, xori."""

Combine = Callable[[Emitter, str, Id, Id], Id]

FLOATS: dict[int, Combine] = {
    0: lambda e, kind, a, b: e.exact("OpFAdd", kind, a, b),
    13: lambda e, kind, a, b: extreme(e, kind, a, b, least=False),
    14: lambda e, kind, a, b: extreme(e, kind, a, b, least=True),
}
"""addf, maxnumf, minnumf."""


def _word_pointer(e: Emitter, place: Place, word: str) -> Id:
    pointer = place.pointer(e, 0)
    if place.memory.stored == word:
        return pointer
    type_ = e.builder.pointer(place.memory.storage, e.builder.type(word))
    return e.emit("OpBitcast", pointer, type=type_)


def scope_of(e: Emitter, memory: Memory) -> Id:
    """The workgroup for its own memory, else every work-item of the queue family (the device, in the IR's words)."""
    return e.const("u32", 2 if memory.storage == "Workgroup" else 5)


def _atomic(e: Emitter, op: Operation) -> None:
    assert isinstance(op, memref.AtomicRMWOp)
    number = op.kind.value.data
    place = place_of(e, op, op.memref, tuple(op.indices))
    memory = place.memory
    if memory.storage == "Function" or memory.element_bytes < 4:
        raise e.refuse(op, f"no atomic operation on {memory.element} in this memory")
    word = "u64" if memory.element_bytes == 8 else "u32"
    index = memory.element == "index"
    value = e.scalar(op.value, "u64") if index else e.scalar(op.value)
    pointer, scope, relaxed = _word_pointer(e, place, word), scope_of(e, memory), e.const("u32", 0)
    if number in INSTRUCTIONS:
        operand = to_bits(e, value, memory.element)
        old = e.op(INSTRUCTIONS[number], word, pointer, scope, relaxed, operand)
    elif number in FLOATS:
        old = _exchange_loop(e, memory.element, word, pointer, scope, value, FLOATS[number])
    else:
        raise e.refuse(op, f"the IR has no kind {number}")
    e.define(op.result, (from_bits(e, old, memory.element),), "u64" if index else None)


def _exchange_loop(e: Emitter, element: str, word: str, pointer: Id, scope: Id, value: Id, combine: Combine) -> Id:
    """Until nobody came between: new bits for the bits seen. The bits before the update."""
    relaxed = e.const("u32", 0)
    first = e.op("OpAtomicLoad", word, pointer, scope, relaxed)
    head, inside, again, merge = (e.builder.new_id() for _ in range(4))
    before = e.block
    e.branch(head)
    e.label(head)
    phi, seen = e.phi(word)
    phi.append(first, before)
    e.jump_into((LOOP_MERGE, merge, again, "LoopControl.None"), inside)
    e.label(inside)
    made = to_bits(e, combine(e, element, from_bits(e, seen, element), value), element)
    found = e.op("OpAtomicCompareExchange", word, pointer, scope, relaxed, relaxed, made, seen)
    done = e.op("OpIEqual", "bool", found, seen)
    e.emit("OpBranchConditional", done, merge, again)
    e.label(again)
    phi.append(found, again)
    e.branch(head)
    e.label(merge)
    return found


ROWS: dict[str, Row] = {"memref.atomic_rmw": _atomic}
