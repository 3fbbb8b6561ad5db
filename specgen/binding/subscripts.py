"""Subscripts of memory and vectors as index values, ranges and vectors of indices."""

from __future__ import annotations

import ast
from dataclasses import replace

from specgen.binding import bounds, convert, edges
from specgen.binding.context import Context
from specgen.binding.convert import static_typed
from specgen.binding.types import INDEX, Vector
from specgen.binding.values import Buffer, Part, Unknown, Value
from specgen.expressions import range_count


def subscripts(ctx: Context, node: ast.Subscript, buffer: Buffer) -> list[Part] | None:
    """The subscripts of a buffer, one an axis; None after a diagnostic."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) != len(buffer.axes):
        axes = ", ".join(buffer.axes)
        given = f"{len(nodes)} subscript{'s are' if len(nodes) > 1 else ' is'} given"
        many = "axes" if len(buffer.axes) > 1 else "axis"
        ctx.report("SG-SHAPE", f"`{buffer.name}` has {len(buffer.axes)} {many} ({axes}); {given}.", at=node)
        return None
    parts = [_part(ctx, part, buffer, axis) for axis, part in enumerate(nodes)]
    return None if any(p is None for p in parts) else [p for p in parts if p is not None]


def resolved(
    ctx: Context, node: ast.Subscript, buffer: Buffer, *, masked: bool = False
) -> tuple[Buffer, list[Part]] | None:
    """The memory that a subscript of a buffer or view names, and the subscripts there; None after a diagnostic.

    `masked`: elements of a range beyond the view are left out instead of refused.
    """
    parts = subscripts(ctx, node, buffer)
    if parts is None or buffer.base is None:
        return None if parts is None else (buffer, parts)
    result: list[Part] = []
    axis = 0
    for fixed in buffer.window:
        if fixed.count is None:
            result.append(fixed)
            continue
        assert fixed.start is not None
        part = _inside_view(ctx, buffer, axis, parts[axis], masked)
        result.append(_moved(ctx, fixed.start, part))
        axis += 1
    return buffer.base, result


def _inside_view(ctx: Context, view: Buffer, axis: int, part: Part, masked: bool) -> Part:
    """The subscript with what is left to be tested of it."""
    if part.count is not None and part.start is not None:
        if bounds.proven(ctx, view, axis, part.start, part.count):
            return part
        if masked:
            return replace(part, inside=edges.inside_mask(ctx, view, axis, part.start, part.count))
        bounds.refuse_range(ctx, part.node, view, axis, part.start, part.count, store=False)
    elif part.start is not None:
        edges.check_single(ctx, part.node, view, axis, part.start)
    elif part.each is not None:
        for number in range(part.each.size or 1):
            edges.check_single(ctx, part.node, view, axis, convert.element(ctx, part.each, number))
    return part


def _moved(ctx: Context, first: Value, part: Part) -> Part:
    """A subscript of a view as one of its base."""
    if part.each is not None:
        size = part.each.size or 1
        (alo, ahi), (blo, bhi) = ctx.interval(first), ctx.interval(part.each)
        spread = convert.spread(ctx, first, size)
        interval = alo + blo, ahi + bhi
        return Part(
            part.node, None, each=ctx.op("arith.addi", Vector(INDEX, size), spread, part.each, interval=interval)
        )
    assert part.start is not None
    return Part(part.node, added(ctx, first, part.start), part.count, inside=part.inside)


def added(ctx: Context, a: Value, b: Value) -> Value:
    """`a + b` of two indices."""
    if a.static is not None and b.static is not None:
        return static_typed(INDEX, int(a.static) + int(b.static))  # type: ignore[arg-type]
    for zero, other in ((a, b), (b, a)):
        if zero.static == 0:
            return other
    lin = a.lin + b.lin if a.lin is not None and b.lin is not None else None
    return ctx.op("arith.addi", INDEX, a, b, lin=lin)


def _part(ctx: Context, node: ast.AST, buffer: Buffer, axis: int) -> Part | None:
    if not isinstance(node, ast.Slice):
        found = index_value(ctx, node)
        if found is None:
            return None
        return Part(node, None, each=found) if found.size is not None else Part(node, found)
    count_node = range_count(node)
    if count_node is None:
        extent = buffer.extents[axis].static
        if extent is None:
            what = (
                f"axis `{buffer.axes[axis]}` has {buffer.extents[axis].text} elements, known only when the kernel runs"
            )
            ctx.report("SG-STATIC", f"{what}.", at=node, hint="Read a range `first:+count` of static count.")
            return None
        return Part(node, static_typed(INDEX, 0), extent)
    assert node.lower is not None
    start, count = index_value(ctx, node.lower), static_count(ctx, count_node)
    if start is None or count is None:
        return None
    if start.size is not None:
        ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node.lower)}` is a vector; a range starts at one index.", at=node)
        return None
    return Part(node, start, count)


def static_count(ctx: Context, node: ast.AST) -> int | None:
    """The static, positive count of a range or a vector."""
    from specgen.binding.evaluate import value

    found = value(ctx, node)
    if isinstance(found, Unknown):
        return None
    text = ctx.expr.text_of(node)
    if not found.is_static:
        ctx.report(
            "SG-STATIC", f"the number of elements is static; `{text}` is known only when the kernel runs.", at=node
        )
        return None
    if isinstance(found.static, bool) or not isinstance(found.static, int) or found.static < 1:
        ctx.report("SG-SHAPE", f"a number of elements is at least 1; `{text}` is {found.static}.", at=node)
        return None
    if found.static > 4096:
        ctx.report("SG-SHAPE", f"a vector has at most 4096 elements; `{text}` is {found.static}.", at=node)
        return None
    return found.static


def index_value(ctx: Context, node: ast.AST) -> Value | None:
    """An integer, or a vector of them, as `index`; None after a diagnostic."""
    from specgen.binding.evaluate import value

    found = value(ctx, node)
    return None if isinstance(found, Unknown) else as_index(ctx, node, found)


def as_index(ctx: Context, node: ast.AST, found: Value) -> Value | None:
    """`found`, the value of `node`, as `index`; None after a diagnostic."""
    if not found.type.element.is_integer:
        text = ctx.expr.text_of(node)
        hint = f"Write `index({text})`." if found.type.element.is_float else None
        ctx.report("SG-TYPE", f"a subscript is an integer; `{text}` is `{found.type.element}`.", at=node, hint=hint)
        return None
    ctx.node = node
    if found.type.is_untyped:
        made = convert.literal(ctx, node, found, INDEX)
    else:
        made = convert.cast(ctx, node, found, INDEX)
    return None if isinstance(made, Unknown) else made
