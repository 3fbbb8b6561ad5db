"""Rows of vector values."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.ir import Operation

from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.context import Lowering, Row
from specgen.lowering.amdgpu.types import Value


def _fitted(low: Lowering, op: Operation) -> list[Value]:
    """Operands that hold elements of the result, in the result's width of `index`."""
    bits = low.index_bits(op.results[0])
    return [low.sized(o, bits) if types.is_index(o.type) else low.value(o) for o in op.operands]


def _broadcast(low: Lowering, op: Operation) -> None:
    (source,) = _fitted(low, op)
    if types.lanes(op.operands[0].type) == 1 and types.lanes(op.results[0].type) != 1:
        source = low.b.extract(source, 0)
    whole = types.lanes(op.operands[0].type) == types.lanes(op.results[0].type)
    low.define(op.results[0], source if whole else low.b.splat(source, low.type_of(op.results[0])))


def _from_elements(low: Lowering, op: Operation) -> None:
    low.define(op.results[0], low.b.gather(_fitted(low, op)))


def _position(low: Lowering, op: vector.ExtractOp | vector.InsertOp) -> Value | int:
    dynamic = list(op.dynamic_position)
    if dynamic:
        return low.sized(dynamic[0], 32)
    return int(op.static_position.get_values()[0])


def _extract(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    low.define(op.result, low.b.extract(low.value(op.vector), _position(low, op)))


def _insert(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    bits = low.index_bits(op.result)
    source, dest = (low.sized(v, bits) if types.is_index(v.type) else low.value(v) for v in (op.source, op.dest))
    low.define(op.result, low.b.insert(dest, source, _position(low, op)))


def _shuffle(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    bits = low.index_bits(op.result)
    left, right = (low.sized(v, bits) if types.is_index(v.type) else low.value(v) for v in (op.v1, op.v2))
    mask = [int(i) for i in op.mask.get_values()]
    first = types.count_text(left.type) or 1
    if left.type != right.type:
        # LLVM wants equal lengths: take the elements one by one.
        items = [low.b.extract(left, i) if i < first else low.b.extract(right, i - first) for i in mask]
        low.define(op.result, low.b.gather(items))
        return
    places = ", ".join(f"i32 {i}" for i in mask)
    text = f"shufflevector {left}, {right}, <{len(mask)} x i32> <{places}>"
    low.define(op.result, low.b.emit(low.type_of(op.result), text))


def _bitcast(low: Lowering, op: Operation) -> None:
    low.define(op.results[0], low.b.cast("bitcast", low.value(op.operands[0]), low.type_of(op.results[0])))


ROWS: dict[str, Row] = {
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.bitcast": _bitcast,
    "vector.from_elements": _from_elements,
}
