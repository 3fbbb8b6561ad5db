"""Elements and slices of vectors."""

from __future__ import annotations

import ast

from specgen.binding import convert, operators
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import element, per_element, static_typed
from specgen.binding.edges import offset
from specgen.binding.subscripts import index_value, static_count
from specgen.binding.types import INDEX, Vector, same_shape
from specgen.binding.values import Unknown, Value
from specgen.expressions import range_count


def vector_subscript(ctx: Context, node: ast.Subscript, vector: Value) -> Value | Unknown:
    """`v[i]` and `v[a:+n]`."""
    text = ctx.expr.text_of(node.value)
    size = vector.size
    if size is None or isinstance(node.slice, ast.Tuple):
        message = f"`{text}` is `{vector.type}` and has no elements." if size is None else f"`{text}` has one axis."
        return ctx.report("SG-TYPE", message, at=node)
    if isinstance(node.slice, ast.Slice):
        return _slice(ctx, node, node.slice, vector, size)
    at = index_value(ctx, node.slice)
    if at is None:
        return UNKNOWN
    ctx.node = node
    return per_element(
        ctx, same_shape(at.type, vector.type.element), lambda i: _vector_element(ctx, node, vector, size, i), at
    )


def _vector_element(ctx: Context, node: ast.Subscript, vector: Value, size: int, at: Value) -> Value:
    lo, hi = ctx.interval(at)
    if lo >= size or hi < 0 or (at.is_static and not 0 <= lo < size):
        text = ctx.expr.text_of(node.slice)
        told = lo if lo == hi else f"at least {lo}" if lo >= size else f"at most {hi}"
        ctx.report(
            "SG-BOUNDS",
            f"`{text}` is {told}; the vector has [0, {size}).",
            at=node,
        )
        return element(ctx, vector, 0)
    if at.static is not None:
        return element(ctx, vector, int(at.static))  # type: ignore[arg-type]
    if lo < 0 or hi >= size:
        inside = operators.compare_values(ctx, "<", at, static_typed(INDEX, size))
        if lo < 0:
            low = operators.compare_values(ctx, ">=", at, static_typed(INDEX, 0))
            inside = operators.conjunction(ctx, "and", low, inside)
        message = f"`{ctx.expr.text_of(node.slice)}` is outside of [0, {size})"
        operators.check(ctx, inside, "out-of-bounds", message)
        at = convert.select(ctx, inside, at, static_typed(INDEX, 0))
    type_ = vector.type.element
    lin = ctx.facts.atom(*ctx.interval(vector)) if type_.is_integer else None
    return ctx.op("vector.extract", type_, vector, at, attributes=(("dynamic", True),), lin=lin)


def _slice(ctx: Context, node: ast.Subscript, part: ast.Slice, vector: Value, size: int) -> Value | Unknown:
    count_node = range_count(part)
    if count_node is None or part.lower is None:
        return vector
    start, count = index_value(ctx, part.lower), static_count(ctx, count_node)
    if start is None or count is None:
        return UNKNOWN
    lo, hi = ctx.interval(start)
    if lo < 0 or hi + count > size:
        text = ctx.expr.text_of(part)
        return ctx.report(
            "SG-BOUNDS", f"`{text}` may reach {max(hi + count - 1, lo)}; the vector has [0, {size}).", at=part
        )
    ctx.node = node
    type_ = Vector(vector.type.element, count)
    if start.static is None:
        made = [_vector_element(ctx, node, vector, size, offset(ctx, start, i)) for i in range(count)]
        return convert.from_elements(ctx, type_, made)
    first = int(start.static)  # type: ignore[arg-type]
    if isinstance(vector.static, tuple):
        return static_typed(type_, vector.static[first : first + count])
    mask = tuple(range(first, first + count))
    interval = vector.interval
    return ctx.op("vector.shuffle", type_, vector, vector, attributes=(("mask", mask),), interval=interval)
