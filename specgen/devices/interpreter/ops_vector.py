"""Steps of vector values: `[n, rows | 1, items | 1]` arrays, the element axis first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import vector
from xdsl.ir import Operation

from specgen.devices.interpreter.frame import Frame, at
from specgen.devices.interpreter.numerics import poison
from specgen.devices.interpreter.program import Compiler, Env, Step, dtype_of, lanes_of, where


def stacked(values: list[Any]) -> Any:
    """Scalars as one vector."""
    arrays = np.broadcast_arrays(*(np.asarray(v) for v in values))
    joined = np.stack(arrays)
    return joined.reshape(len(values), 1, 1) if joined.ndim == 1 else joined


def _broadcast(op: Operation, compiler: Compiler) -> Step:
    result, source, count = (
        compiler.slot(op.results[0]),
        compiler.slot(op.operands[0]),
        lanes_of(op.results[0].type) or 1,
    )
    if lanes_of(op.operands[0].type) is not None:
        # A vector of one element or of the same length.
        def spread(env: Env, frame: Frame) -> None:
            env[result] = np.broadcast_to(env[source], (count, *env[source].shape[1:]))

        return spread

    def step(env: Env, frame: Frame) -> None:
        value = np.asarray(env[source])
        env[result] = np.broadcast_to(value, (count, *(value.shape if value.ndim else (1, 1))))

    return step


def _from_elements(op: Operation, compiler: Compiler) -> Step:
    result, sources = compiler.slot(op.results[0]), compiler.slots(op.operands)

    def step(env: Env, frame: Frame) -> None:
        env[result] = stacked([env[s] for s in sources])

    return step


def _position(op: vector.ExtractOp | vector.InsertOp, compiler: Compiler) -> tuple[int, int | None]:
    """The static position and the slot of a dynamic one."""
    position = op.static_position.get_values()[0]
    dynamic = compiler.slots(op.dynamic_position)
    return int(position), dynamic[0] if dynamic else None


def _extract(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, vector.ExtractOp)
    position, dynamic = _position(op, compiler)
    result, source, count, place = (
        compiler.slot(op.result),
        compiler.slot(op.vector),
        lanes_of(op.vector.type),
        where(op),
    )
    bad_value = poison(dtype_of(op.vector.type))

    def static(env: Env, frame: Frame) -> None:
        env[result] = env[source][position]

    def step(env: Env, frame: Frame) -> None:
        value, index = env[source], env[dynamic or 0]
        out = _outside(index, count, frame, place)
        index = np.asarray(index if out is None else np.where(out, 0, index))
        index = index.reshape(1, 1) if index.ndim == 0 else index
        shape = np.broadcast_shapes(value.shape[1:], index.shape)
        chosen = np.take_along_axis(
            np.broadcast_to(value, (count or 1, *shape)), np.broadcast_to(index, shape)[None], axis=0
        )[0]
        env[result] = chosen if out is None else np.where(out, bad_value, chosen)

    return static if dynamic is None else step


def _insert(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, vector.InsertOp)
    position, dynamic = _position(op, compiler)
    result, source, dest = compiler.slot(op.result), compiler.slot(op.source), compiler.slot(op.dest)
    count, place = lanes_of(op.dest.type) or 1, where(op)
    numbers = np.arange(count).reshape(-1, 1, 1)

    def step(env: Env, frame: Frame) -> None:
        index = np.int64(position) if dynamic is None else env[dynamic]
        _outside(index, count, frame, place)
        env[result] = np.where(numbers == index, env[source], env[dest])

    return step


def _outside(index: Any, count: int | None, frame: Frame, place: str) -> Any:
    out = (index < 0) | (index >= count)
    if not np.count_nonzero(out):
        return None
    frame.report("out-of-bounds", place, out, lambda p: f"element {at(index, p)} of a vector of {count}")
    return out


def _shuffle(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, vector.ShuffleOp)
    result, left, right = compiler.slot(op.result), compiler.slot(op.v1), compiler.slot(op.v2)
    mask = [int(i) for i in op.mask.get_values()]

    def step(env: Env, frame: Frame) -> None:
        a, b = env[left], env[right]
        shape = np.broadcast_shapes(a.shape[1:], b.shape[1:])
        both = np.concatenate([np.broadcast_to(v, (len(v), *shape)) for v in (a, b)])
        env[result] = both[mask]

    return step


def _bitcast(op: Operation, compiler: Compiler) -> Step:
    result, source, target = compiler.slot(op.results[0]), compiler.slot(op.operands[0]), dtype_of(op.results[0].type)

    def step(env: Env, frame: Frame) -> None:
        # Elements of one lane must lie side by side, low bits first.
        together = np.ascontiguousarray(np.moveaxis(env[source], 0, -1))
        env[result] = np.ascontiguousarray(np.moveaxis(together.view(target), -1, 0))

    return step


HANDLERS: dict[str, Callable[[Operation, Compiler], Step | None]] = {
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.bitcast": _bitcast,
    "vector.from_elements": _from_elements,
}
