"""Steps of loads, stores, atomics and allocations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Operation

from specgen.devices.base import DeviceError
from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Frame
from specgen.devices.interpreter.memory import Memory
from specgen.devices.interpreter.program import Compiler, Env, LocalMemory, Step, dtype_of, lanes_of, where
from specgen.devices.interpreter.window import Window


def _align(op: Operation) -> int:
    """The byte alignment that an access claims (`motif.align`), 1 when it claims none."""
    attribute = op.attributes.get("motif.align")
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 1


def _check_align(memory: Memory | Window, index: list[Any], align: int, frame: Frame, place: str) -> None:
    """The claimed alignment, within the buffer; only the start of a vector counts."""
    offset: Any = 0
    for i, stride in zip(index, memory.strides, strict=True):
        offset = offset + i * stride
    bad = offset * memory.data.dtype.itemsize % align != 0
    if np.count_nonzero(bad):
        frame.report(
            "misaligned", place, bad, lambda p: f"{memory.element(index, p)} is not at a multiple of {align} bytes"
        )


def _index(op: Operation, compiler: Compiler, count: int | None) -> Callable[[Env, Frame], tuple[Any, list[Any]]]:
    """Reads memory and subscripts; those of a vector access have one more axis in front."""
    base = op.base if isinstance(op, _VECTOR_OPS) else op.memref  # type: ignore[attr-defined]
    slot, indices = compiler.slot(base), compiler.slots(op.indices)  # type: ignore[attr-defined]
    align, place = _align(op), where(op)
    numbers = None if count is None else np.arange(count, dtype=np.int64).reshape(-1, 1, 1)

    def read(env: Env, frame: Frame) -> tuple[Any, list[Any]]:
        memory, index = env[slot], [env[i] for i in indices]
        if align > 1:
            _check_align(memory, index, align, frame, place)
        if numbers is not None:
            index[-1] = index[-1] + numbers
        return memory, index

    return read


_VECTOR_OPS = (vector.LoadOp, vector.StoreOp, vector.MaskedLoadOp, vector.MaskedStoreOp)


def _load(op: Operation, compiler: Compiler) -> Step:
    read, result, place = _index(op, compiler, lanes_of(op.results[0].type)), compiler.slot(op.results[0]), where(op)

    def step(env: Env, frame: Frame) -> None:
        memory, index = read(env, frame)
        env[result] = memory.load(index, frame, place)

    return step


def _store(op: Operation, compiler: Compiler) -> Step:
    value = op.vector if isinstance(op, vector.StoreOp) else op.value  # type: ignore[attr-defined]
    read, source, place = _index(op, compiler, lanes_of(value.type)), compiler.slot(value), where(op)

    def step(env: Env, frame: Frame) -> None:
        memory, index = read(env, frame)
        memory.store(index, env[source], frame, place)

    return step


def _masked_load(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, vector.MaskedLoadOp)
    read, result, place = _index(op, compiler, lanes_of(op.result.type)), compiler.slot(op.result), where(op)
    mask, other = compiler.slot(op.mask), compiler.slot(op.pass_thru)

    def step(env: Env, frame: Frame) -> None:
        memory, index = read(env, frame)
        lanes = env[mask]
        env[result] = np.where(lanes, memory.load(index, frame, place, lanes), env[other])

    return step


def _masked_store(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, vector.MaskedStoreOp)
    value = op.value_to_store
    read, source, place = _index(op, compiler, lanes_of(value.type)), compiler.slot(value), where(op)
    mask = compiler.slot(op.mask)

    def step(env: Env, frame: Frame) -> None:
        memory, index = read(env, frame)
        memory.store(index, env[source], frame, place, env[mask])

    return step


def _unsigned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(numerics.unsigned(a), numerics.unsigned(b)).view(a.dtype)


ATOMICS: dict[int, Callable[[Any, Any], Any]] = {
    0: lambda a, b: a + b,
    1: lambda a, b: a + b,
    2: lambda a, b: b,
    4: np.maximum,
    5: _unsigned(np.maximum),
    7: np.minimum,
    8: _unsigned(np.minimum),
    11: operator.or_,
    12: operator.and_,
    13: numerics.maxnum,
    14: numerics.minnum,
    15: operator.xor,
}
"""By MLIR's `AtomicRMWKind`: addf 0, addi 1, assign 2, maxs 4, maxu 5, mins 7, minu 8, ori 11, andi 12, maxnumf 13,
minnumf 14, xori 15. The others (maximumf, minimumf, mulf, muli) are not part of the IR."""


def _atomic(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, memref.AtomicRMWOp)
    combine = ATOMICS.get(op.kind.value.data)
    if combine is None:
        raise DeviceError(f"{where(op)}: memref.atomic_rmw has no kind {op.kind.value.data} in the IR")
    if dtype_of(op.value.type) in numerics.NARROW_FLOATS and op.kind.value.data == 0:
        combine = numerics.via_f32(operator.add)
    read, source, result, place = (
        _index(op, compiler, None),
        compiler.slot(op.value),
        compiler.slot(op.result),
        where(op),
    )
    function = combine

    def step(env: Env, frame: Frame) -> None:
        memory, index = read(env, frame)
        env[result] = memory.update(index, env[source], function, frame, place)

    return step


def _alloc(op: Operation, compiler: Compiler) -> None:
    assert isinstance(op, memref.AllocOp)
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    space = type_.memory_space
    private = isinstance(space, IntegerAttr) and space.value.data == 5
    name = op.attributes.get("motif.name")
    text = name.data if isinstance(name, StringAttr) else "memory"
    extents = type_.get_shape()
    if any(e < 0 for e in extents):
        raise DeviceError(f"{where(op)}: the size of memory {text} is not static")
    compiler.locals.append(LocalMemory(text, compiler.slot(op.memref), dtype_of(type_), extents, private))


def _extents(op: Operation, compiler: Compiler) -> Step:
    buffer, *sizes = compiler.slots(op.operands)

    def step(env: Env, frame: Frame) -> None:
        env[buffer].set_extents([int(env[s]) if np.ndim(env[s]) == 0 else env[s] for s in sizes])

    return step


def _window(op: Operation, compiler: Compiler) -> Step:
    base, result, dtype = compiler.slot(op.operands[0]), compiler.slot(op.results[0]), dtype_of(op.results[0].type)

    def step(env: Env, frame: Frame) -> None:
        env[result] = Window(env[base], dtype)

    return step


HANDLERS: dict[str, Callable[[Operation, Compiler], Step | None]] = {
    "memref.load": _load,
    "memref.store": _store,
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "memref.atomic_rmw": _atomic,
    "memref.alloc": _alloc,
    "motif.extents": _extents,
    "motif.window": _window,
}
