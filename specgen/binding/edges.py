"""Subscripts against extents where the kernel runs: masks of ranges at an edge, checks of single elements."""

from __future__ import annotations

import ast

from specgen.binding import bounds, convert, operators
from specgen.binding.context import Context
from specgen.binding.convert import static_typed
from specgen.binding.types import BOOL, INDEX, Vector
from specgen.binding.values import Buffer, Value


def extent_value(ctx: Context, buffer: Buffer, axis: int) -> Value:
    """An extent as an `index` value."""
    extent = buffer.extents[axis]
    if extent.static is not None:
        return static_typed(INDEX, extent.static)
    return Value(INDEX, extent.name, lin=extent.lin)


def offset(ctx: Context, start: Value, number: int) -> Value:
    """`start + number` as `index`."""
    if number == 0:
        return start
    if start.static is not None:
        return static_typed(INDEX, int(start.static) + number)  # type: ignore[arg-type]
    lin = start.lin.plus(number) if start.lin is not None else None
    return ctx.op("arith.addi", INDEX, start, static_typed(INDEX, number), lin=lin)


def inside(ctx: Context, buffer: Buffer, axis: int, at: Value) -> Value:
    """Whether one index of an axis is inside; static where that is proven."""
    low_ok = at.lin is not None and ctx.facts.nonnegative(at.lin)
    high_ok = at.lin is not None and ctx.facts.nonnegative(buffer.extents[axis].lin.plus(-1) - at.lin)
    result = Value(BOOL, static=True)
    if not low_ok:
        result = operators.compare_values(ctx, ">=", at, static_typed(INDEX, 0))
    if not high_ok:
        below = operators.compare_values(ctx, "<", at, extent_value(ctx, buffer, axis))
        result = below if result.is_static else operators.conjunction(ctx, "and", result, below)
    return result


def inside_mask(ctx: Context, buffer: Buffer, axis: int, start: Value, count: int) -> Value:
    """A vector that says which elements of a range are inside."""
    return convert.from_elements(
        ctx, Vector(BOOL, count), [inside(ctx, buffer, axis, offset(ctx, start, number)) for number in range(count)]
    )


def check_single(ctx: Context, node: ast.AST, buffer: Buffer, axis: int, at: Value) -> None:
    """One element: as `bounds.single`, and checked by an operation where the access itself would not tell.

    The access tells where the axes of the buffer are those of its memory.
    """
    if bounds.single(ctx, node, buffer, axis, at) or not (buffer.layout.loose or buffer.base is not None):
        return
    message = f"`{ctx.expr.text_of(node)}` is outside of axis `{buffer.axes[axis]}` of `{buffer.name}`"
    operators.check(ctx, inside(ctx, buffer, axis, at), "out-of-bounds", message)
