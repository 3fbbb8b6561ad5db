"""Rows of float arithmetic and comparisons.

bf16 is computed in f32 and rounded: + - * of two bf16 values round twice to the same result as once, for f32 has
more than twice the bits plus two. f16 is native for what Vulkan rounds correctly and goes through f32 otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.arith import CmpfOp
from xdsl.ir import Operation

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.emitter import Emitter, element_name
from specgen.lowering.spirv.integers import Row

WORDS = {"f16": "u16", "f32": "u32", "f64": "u64"}


def contracts(op: Operation) -> bool:
    """Whether the op may be fused with another (`fastmath<contract>` or `fast`)."""
    flags = op.properties.get("fastmath")
    return flags is not None and any(word in str(flags) for word in ("contract", "fast>"))


def round_bf16(e: Emitter, scalar: Id) -> Id:
    """An f32 rounded to the nearest bf16 value, ties to even; a NaN stays one (and becomes quiet)."""
    bits = e.op("OpBitcast", "u32", scalar)
    lowest = e.op("OpBitFieldUExtract", "u32", bits, e.const("u32", 16), e.const("u32", 1))
    half = e.op("OpIAdd", "u32", lowest, e.const("u32", 0x7FFF))
    near = e.op("OpIAdd", "u32", bits, half)
    magnitude = e.op("OpBitwiseAnd", "u32", bits, e.const("u32", 0x7FFFFFFF))
    is_nan = e.op("OpUGreaterThan", "bool", magnitude, e.const("u32", 0x7F800000))
    quiet = e.op("OpBitwiseOr", "u32", bits, e.const("u32", 0x400000))
    chosen = e.select("u32", is_nan, quiet, near)
    return e.op("OpBitcast", "f32", e.op("OpBitwiseAnd", "u32", chosen, e.const("u32", 0xFFFF0000)))


def _with_zero(e: Emitter, kind: str, name: str, sides: Sequence[Id]) -> Id | None:
    """A product, sum or difference with a constant zero that Mesa 22.3 gets wrong, None for anything else.

    It gives 0.0 for any product with 0.0, also of an infinity or a NaN, and -0.0 where two zeros should give 0.0.
    """
    a, b = sides
    signs = [math.copysign(1, v) if (v := e.builder.floats.get(x)) == 0 else 0 for x in sides]
    if name == "OpFMul" and 1 in signs:
        negative = e.exact("OpFMul", kind, b if signs[0] == 1 else a, e.const(kind, -0.0))
        return e.op("OpFNegate", kind, negative)
    if name == "OpFAdd" and 1 in signs:
        other = result = b if signs[0] == 1 else a
    elif name == "OpFSub" and signs[1] == -1:
        other = result = a
    elif name == "OpFSub" and signs[0] == 1:
        other, result = b, e.op("OpFNegate", kind, b)
    else:
        return None
    zero = e.const(kind, 0.0)
    return e.select(kind, e.op("OpFOrdEqual", "bool", other, zero), zero, result)


def arithmetic(name: str, *, through_f32: bool = False) -> Row:
    """A core float instruction, element by element."""

    def row(e: Emitter, op: Operation) -> None:
        element = element_name(op.results[0].type)
        kind = e.kind_of(op.results[0])
        emit = e.op if contracts(op) else e.exact
        ids = []
        for sides in zip(*(e.get(v) for v in op.operands), strict=True):
            if kind == "f16" and through_f32:
                wide = emit(name, "f32", *(e.widened(s) for s in sides))
                ids.append(e.op("OpFConvert", "f16", wide))
            else:
                folded = _with_zero(e, kind, name, sides)
                made = emit(name, kind, *sides) if folded is None else folded
                ids.append(round_bf16(e, made) if element == "bf16" else made)
        e.define(op.results[0], tuple(ids))

    return row


def _negate(e: Emitter, op: Operation) -> None:
    kind = e.kind_of(op.results[0])
    e.define(op.results[0], tuple(e.op("OpFNegate", kind, x) for x in e.get(op.operands[0])))


def extreme(e: Emitter, kind: str, a: Id, b: Id, *, least: bool) -> Id:
    """The smaller or larger of two floats: a NaN loses against a number, -0 < +0.

    NMin and NMax know the first rule. Equal values have equal bits unless they are zeros: the sign bits joined by
    `or` give the smaller zero, by `and` the larger.
    """
    if kind == "f16":
        # Through f32, which holds every f16: no 16-bit integers are needed.
        wide = [e.widened(x) for x in (a, b)]
        return e.op("OpFConvert", "f16", extreme(e, "f32", *wide, least=least))
    picked = e.glsl("NMin" if least else "NMax", kind, a, b)
    word = WORDS[kind]
    bits = [e.op("OpBitcast", word, x) for x in (a, b)]
    joined = e.op("OpBitwiseOr" if least else "OpBitwiseAnd", word, *bits)
    equal = e.op("OpFOrdEqual", "bool", a, b)
    return e.select(kind, equal, e.op("OpBitcast", kind, joined), picked)


def _extreme(*, least: bool) -> Row:
    def row(e: Emitter, op: Operation) -> None:
        kind = e.kind_of(op.results[0])
        pairs = zip(*(e.get(v) for v in op.operands), strict=True)
        e.define(op.results[0], tuple(extreme(e, kind, a, b, least=least) for a, b in pairs))

    return row


_PREDICATES = (
    None,
    "OpFOrdEqual",
    "OpFOrdGreaterThan",
    "OpFOrdGreaterThanEqual",
    "OpFOrdLessThan",
    "OpFOrdLessThanEqual",
    "OpFOrdNotEqual",
    "",
    "OpFUnordEqual",
    "OpFUnordGreaterThan",
    "OpFUnordGreaterThanEqual",
    "OpFUnordLessThan",
    "OpFUnordLessThanEqual",
    "OpFUnordNotEqual",
    "",
    None,
)
"""By predicate number: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true; "" asks for NaN."""


def _compare(e: Emitter, op: Operation) -> None:
    assert isinstance(op, CmpfOp)
    number = op.predicate.value.data
    name = _PREDICATES[number]
    pairs = list(zip(e.get(op.lhs), e.get(op.rhs), strict=True))
    if name is None:
        e.define(op.results[0], (e.const("bool", number == len(_PREDICATES) - 1),) * len(pairs))
    elif name:
        e.define(op.results[0], tuple(e.op(name, "bool", a, b) for a, b in pairs))
    else:
        ordered = number == 7
        ids = []
        for pair in pairs:
            nans = [e.op("OpIsNan", "bool", x) for x in pair]
            unordered = e.op("OpLogicalOr", "bool", *nans)
            ids.append(e.op("OpLogicalNot", "bool", unordered) if ordered else unordered)
        e.define(op.results[0], tuple(ids))


def _select(e: Emitter, op: Operation) -> None:
    """`arith.select` of any type; one condition for all elements or one each."""
    result = op.results[0]
    kind = e.kind_of(result)
    condition, true, false = op.operands
    integer = kind in ("u32", "u64")
    sides = [e.get(v, kind) if integer else e.get(v) for v in (true, false)]
    tests = e.get(condition)
    tests = tests * len(sides[0]) if len(tests) == 1 else tests
    e.define(result, tuple(e.select(kind, c, a, b) for c, a, b in zip(tests, *sides, strict=True)))


ROWS: dict[str, Row] = {
    "arith.addf": arithmetic("OpFAdd"),
    "arith.subf": arithmetic("OpFSub"),
    "arith.mulf": arithmetic("OpFMul"),
    "arith.divf": arithmetic("OpFDiv", through_f32=True),
    "arith.negf": _negate,
    "arith.minnumf": _extreme(least=True),
    "arith.maxnumf": _extreme(least=False),
    "arith.cmpf": _compare,
    "arith.select": _select,
}
