"""Rows of the `vector` dialect: vectors are tuples of scalars, so most of these emit nothing."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.ir import Operation

from specgen.lowering.spirv import words
from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name, lane_count
from specgen.lowering.spirv.integers import Row


def _broadcast(e: Emitter, op: Operation) -> None:
    result, (source,) = op.results[0], op.operands
    held = e.values[source]
    count = lane_count(result.type)
    ids = held.ids if len(held.ids) == count else held.ids * count
    e.define(result, ids, held.kind if held.kind in ("u32", "u64") else None)


def _sources(e: Emitter, op: Operation, *values: object) -> list[tuple[Id, ...]]:
    """Scalars of operands of the result's type, in the kind of the result."""
    kind = e.kind_of(op.results[0])
    integer = kind in ("u32", "u64")
    return [e.get(v, kind) if integer else e.get(v) for v in values]  # type: ignore[arg-type]


def _from_elements(e: Emitter, op: Operation) -> None:
    e.define(op.results[0], tuple(ids[0] for ids in _sources(e, op, *op.operands)))


def _extract(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    (ids,) = _sources(e, op, op.vector)
    if not op.dynamic_position:
        e.define(op.result, (ids[op.static_position.get_values()[0]],))
        return
    # A choice by comparison: SPIR-V can index a vector of four at most.
    index = e.scalar(op.dynamic_position[0])
    index_kind, kind = e.values[op.dynamic_position[0]].kind, e.kind_of(op.result)
    chosen = ids[-1]
    for number in reversed(range(len(ids) - 1)):
        here = e.op("OpIEqual", "bool", index, e.const(index_kind, number))
        chosen = e.select(kind, here, ids[number], chosen)
    e.define(op.result, (chosen,))


def _insert(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    source, dest = _sources(e, op, op.source, op.dest)
    if not op.dynamic_position:
        place = op.static_position.get_values()[0]
        e.define(op.result, (*dest[:place], source[0], *dest[place + 1 :]))
        return
    index = e.scalar(op.dynamic_position[0])
    index_kind, kind = e.values[op.dynamic_position[0]].kind, e.kind_of(op.result)
    ids = []
    for number, old in enumerate(dest):
        here = e.op("OpIEqual", "bool", index, e.const(index_kind, number))
        ids.append(e.select(kind, here, source[0], old))
    e.define(op.result, tuple(ids))


def _shuffle(e: Emitter, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    left, right = _sources(e, op, op.v1, op.v2)
    both = (*left, *right)
    e.define(op.result, tuple(both[n] for n in op.mask.get_values()))


def _bitcast(e: Emitter, op: Operation) -> None:
    (source,), result = op.operands, op.results[0]
    origin, target = element_name(source.type), element_name(result.type)
    ids = e.get(source, "u64") if BITS[origin] == 64 and origin != "f64" else e.get(source)
    made = words.from_words(e, words.to_words(e, ids, origin), target, lane_count(result.type))
    e.define(result, made, "u64" if target in ("index", "i64") else None)


ROWS: dict[str, Row] = {
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.bitcast": _bitcast,
    "vector.from_elements": _from_elements,
}
