"""Reads of elements and ranges; masks where elements must not be touched."""

from __future__ import annotations

import ast
from collections.abc import Callable

from specgen.binding import bounds, convert, edges, layouts, operators
from specgen.binding.branches import branch, empty, if_op
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import element, static_typed
from specgen.binding.edges import inside_mask, offset
from specgen.binding.linear import Linear
from specgen.binding.subscripts import resolved
from specgen.binding.types import BOOL, I8, I64, INDEX, Scalar, Vector, same_shape
from specgen.binding.values import VARYING, Buffer, Level, Part, Unknown, Value


def read(ctx: Context, node: ast.Subscript, buffer: Buffer) -> Value | Unknown:
    """The value of `buffer[...]`: an element, or a vector for one range or one vector of indices."""
    if ctx.only_static is not None:
        message = f"`{ctx.expr.text_of(node)}` is read when the kernel runs; {ctx.only_static}."
        return ctx.report("SG-STATIC", message, at=node)
    buffer.touched.add("load")
    if buffer.access == "write":
        message = f"`{buffer.name}` is declared `write` and is read here."
        return ctx.report("SG-ACCESS", message, at=node, hint="Declare it `readwrite`.")
    place = resolved(ctx, node, buffer, masked=ctx.outside is not None)
    if place is None:
        return UNKNOWN
    if buffer.outside is None:
        return _read(ctx, node, *place)
    held, ctx.outside = ctx.outside, buffer.outside
    result = _read(ctx, node, *place, edge=True)
    ctx.outside = held
    return _beyond_view(ctx, buffer, place[1], result)


def _beyond_view(ctx: Context, view: Buffer, parts: list[Part], result: Value | Unknown) -> Value | Unknown:
    """Elements beyond a view with its own `outside` count as the reading statement says."""
    mask = next((p.inside for p in parts if p.inside is not None), None)
    if mask is None or isinstance(result, Unknown):
        return result
    return convert.select(ctx, mask, result, convert.spread(ctx, _passthrough(ctx, view), mask.size or 1))


def _read(
    ctx: Context, node: ast.Subscript, buffer: Buffer, parts: list[Part], *, edge: bool = False
) -> Value | Unknown:
    """Read from memory; with `edge` elements beyond the extents are not read, whichever subscript leads there."""
    wide = [p for p in parts if p.count is not None or p.each is not None]
    if len(wide) > 1:
        message = f"`{ctx.expr.text_of(node)}` has {len(wide)} ranges and is no vector."
        return ctx.report(
            "SG-TYPE", message, at=node, hint="A vector has one range; read the others element by element."
        )
    if not edge:
        check_singles(ctx, buffer, parts)
    ctx.node = node
    held = _inside_singles(ctx, buffer, parts) if edge else None
    if not wide:
        starts = [p.start for p in parts if p.start is not None]
        if held is None:
            return _scalar_read(ctx, buffer, starts)
        return guarded(ctx, held, _passthrough(ctx, buffer), lambda: _scalar_read(ctx, buffer, starts))
    part = wide[0]
    axis = parts.index(part)
    if part.each is not None:
        return _gather(ctx, buffer, parts, axis, part.each, _edge_mask(ctx, buffer, axis, part.each, held, edge))
    return _range_read(ctx, buffer, parts, axis, held)


def _edge_mask(ctx: Context, buffer: Buffer, axis: int, each: Value, held: Value | None, edge: bool) -> Value | None:
    """Which elements of a vector of subscripts lie inside, where those beyond count as something."""
    if not edge:
        return None
    size = each.size or 1
    tests = [edges.inside(ctx, buffer, axis, element(ctx, each, number)) for number in range(size)]
    mask = convert.from_elements(ctx, Vector(BOOL, size), tests)
    return mask if held is None else operators.conjunction(ctx, "and", convert.spread(ctx, held, size), mask)


def check_singles(ctx: Context, buffer: Buffer, parts: list[Part]) -> None:
    for axis, part in enumerate(parts):
        if part.count is None and part.start is not None:
            edges.check_single(ctx, part.node, buffer, axis, part.start)


def _level(buffer: Buffer, values: list[Value]) -> Level:
    if buffer.space == "private":
        return VARYING
    level = Level()
    for value in values:
        level |= value.level
    return level


def _limits(buffer: Buffer) -> tuple[int, int] | None:
    """Bounds of an integer element: the declared ones, else those of its type."""
    if not buffer.element.is_integer:
        return None
    return buffer.declared if buffer.declared is not None else buffer.element.limits


def _scalar_read(ctx: Context, buffer: Buffer, indices: list[Value]) -> Value:
    if ctx.mask is None:
        return load(ctx, buffer, indices)
    zero = _zero(buffer.element)
    return guarded(ctx, any_of(ctx, ctx.mask), zero, lambda: load(ctx, buffer, indices))


def _inside_singles(ctx: Context, buffer: Buffer, parts: list[Part]) -> Value | None:
    """Whether the subscripts that are single elements lie inside; None when that is proven."""
    result: Value | None = None
    for axis, part in enumerate(parts):
        if part.start is None or part.count is not None:
            continue
        test = edges.inside(ctx, buffer, axis, part.start)
        if test.static is not True:
            result = test if result is None else operators.conjunction(ctx, "and", result, test)
    return result


def load(ctx: Context, buffer: Buffer, indices: list[Value]) -> Value:
    """Load one element; `bool` and `index` are converted from their memory form."""
    operands = layouts.place(ctx, buffer, indices)
    limits = _limits(buffer)
    extra = (("motif.range", limits),) if buffer.declared is not None and limits is not None else ()
    (made,) = ctx.emit("memref.load", operands, (buffer.element.memory,), extra=extra, hints=(_hint(ctx),))
    lin: Linear | None = None
    if limits is not None:
        lin = _element_form(ctx, buffer, indices, limits)
    return from_memory(ctx, Value(buffer.element, made.name, level=_level(buffer, indices), lin=lin))


def _element_form(ctx: Context, buffer: Buffer, indices: list[Value], limits: tuple[int, int]) -> Linear:
    """An element as a form with its promises; the same element of a buffer that is only read is the same form."""

    def make() -> Linear:
        lin = ctx.facts.atom(*limits, declared=buffer.declared is not None)
        ctx.facts.always(*(end(lin) for end in buffer.promises))
        return lin

    places = tuple(i.lin for i in indices)
    if buffer.access != "read" or buffer.space != "global" or None in places:
        return make()
    return ctx.facts.named((buffer.ssa, places), make)


def _hint(ctx: Context) -> str:
    node = ctx.node
    return node.value.id if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else ""


def from_memory(ctx: Context, value: Value) -> Value:
    """A value as loaded (`bool` is a byte, `index` 64 bits) in its own type."""
    element_type = value.type.element
    if element_type is BOOL:
        raw = Value(same_shape(value.type, I8), value.name, level=value.level)
        zero = static_typed(raw.type, (0,) * raw.size if raw.size is not None else 0)
        return operators.compare_values(ctx, "!=", raw, zero)
    if element_type is INDEX:
        raw = Value(same_shape(value.type, I64), value.name, level=value.level, lin=value.lin, interval=value.interval)
        made = convert.cast(ctx, None, raw, INDEX)
        assert isinstance(made, Value)
        return made
    return value


def to_memory(ctx: Context, value: Value) -> Value:
    """A value in the form that memory holds."""
    element_type = value.type.element
    if element_type is BOOL:
        if value.static is not None:
            flags = value.static
            bits = tuple(int(f) for f in flags) if isinstance(flags, tuple) else int(flags)
            return static_typed(same_shape(value.type, I8), bits)
        return ctx.op("arith.extui", same_shape(value.type, I8), value)
    if element_type is INDEX:
        made = convert.cast(ctx, None, value, I64)
        assert isinstance(made, Value)
        return made
    return value


def _zero(type_: Scalar) -> Value:
    return static_typed(type_, False if type_ is BOOL else 0.0 if type_.is_float else 0)


def _passthrough(ctx: Context, buffer: Buffer) -> Value:
    """What an element that is not read counts as."""
    if ctx.outside is None:
        return _zero(buffer.element)
    made = convert.literal(ctx, None, ctx.outside, buffer.element) if ctx.outside.type.is_untyped else ctx.outside
    if isinstance(made, Unknown):
        return _zero(buffer.element)
    if made.type != buffer.element:
        ctx.report("SG-TYPE", f"`outside` is `{made.type}`; `{buffer.name}` holds `{buffer.element}`.")
        return _zero(buffer.element)
    return made


def _range_read(ctx: Context, buffer: Buffer, parts: list[Part], axis: int, held: Value | None) -> Value | Unknown:
    """A range; `held` says where the other subscripts lie inside."""
    part = parts[axis]
    assert part.start is not None
    assert part.count is not None
    mask = None
    if not bounds.proven(ctx, buffer, axis, part.start, part.count):
        if ctx.outside is None:
            if ctx.mask is None or ctx.mask.size != part.count:
                bounds.refuse_range(ctx, part.node, buffer, axis, part.start, part.count, store=False)
                return UNKNOWN
        else:
            mask = inside_mask(ctx, buffer, axis, part.start, part.count)
    mask = _with_mask(ctx, mask, part.count)
    for test in (part.inside, None if held is None else convert.spread(ctx, held, part.count)):
        if test is not None:
            mask = test if mask is None else operators.conjunction(ctx, "and", test, mask)
    indices = [p.start for p in parts if p.start is not None]
    run = layouts.neighbours(buffer, axis, part.start, part.count)
    if run == part.count:
        return _contiguous(ctx, buffer, indices, part.count, mask)

    def moved(number: int) -> list[Value]:
        return [offset(ctx, at, number) if own == axis else at for own, at in enumerate(indices)]

    if run == 1:
        found = [_masked_load(ctx, buffer, moved(i), mask, i) for i in range(part.count)]
    else:
        found = []
        for first in range(0, part.count, run):
            piece = _contiguous(ctx, buffer, moved(first), run, mask_piece(ctx, mask, first, run))
            found += [element(ctx, piece, i) for i in range(run)]
    return convert.from_elements(ctx, Vector(buffer.element, part.count), found)


def mask_piece(ctx: Context, mask: Value | None, first: int, count: int) -> Value | None:
    """Some elements of a mask, in a vector."""
    if mask is None:
        return None
    return convert.from_elements(ctx, Vector(BOOL, count), [element(ctx, mask, first + i) for i in range(count)])


def _with_mask(ctx: Context, mask: Value | None, size: int) -> Value | None:
    if ctx.mask is None or ctx.mask.size != size:
        return mask
    return ctx.mask if mask is None else operators.conjunction(ctx, "and", mask, ctx.mask)


def _masked_load(ctx: Context, buffer: Buffer, indices: list[Value], mask: Value | None, number: int) -> Value:
    if mask is None:
        return load(ctx, buffer, indices)
    return guarded(ctx, element(ctx, mask, number), _passthrough(ctx, buffer), lambda: load(ctx, buffer, indices))


def _contiguous(ctx: Context, buffer: Buffer, starts: list[Value], count: int, mask: Value | None) -> Value:
    base, extra = layouts.place(ctx, buffer, starts), layouts.claimed(buffer, count)
    memory_type = f"vector<{count}x{buffer.element.memory}>"
    hints = (_hint(ctx),)
    if mask is None:
        (made,) = ctx.emit("vector.load", base, (memory_type,), hints=hints, extra=extra)
        interval = _limits(buffer)
    else:
        through = _passthrough(ctx, buffer)
        fill = convert.spread(ctx, to_memory(ctx, through), count)
        operands = (*base, ctx.operand(mask), ctx.operand(fill))
        (made,) = ctx.emit("vector.maskedload", operands, (memory_type,), hints=hints, extra=extra)
        interval = _wider(ctx, _limits(buffer), through)
    level = _level(buffer, starts)
    if mask is not None:
        level |= mask.level
    whole = Value(Vector(buffer.element, count), made.name, level=level, interval=interval)
    return from_memory(ctx, whole)


def _wider(ctx: Context, limits: tuple[int, int] | None, through: Value) -> tuple[int, int] | None:
    if limits is None:
        return None
    lo, hi = ctx.interval(through)
    return min(limits[0], lo), max(limits[1], hi)


def _gather(
    ctx: Context, buffer: Buffer, parts: list[Part], axis: int, each: Value, inside: Value | None
) -> Value | Unknown:
    size = each.size or 1
    mask = _with_mask(ctx, inside, size)
    node = parts[axis].node

    def one(number: int) -> Value:
        at = element(ctx, each, number)
        indices = [p.start if p.start is not None else at for p in parts]
        if mask is None and (number == 0 or buffer.layout.loose):
            edges.check_single(ctx, node, buffer, axis, at)
        return _masked_load(ctx, buffer, indices, mask, number)

    return convert.from_elements(ctx, Vector(buffer.element, size), [one(i) for i in range(size)])


def any_of(ctx: Context, mask: Value) -> Value:
    """Whether any element of a mask is true."""
    result = element(ctx, mask, 0)
    for number in range(1, mask.size or 1):
        result = operators.conjunction(ctx, "or", result, element(ctx, mask, number))
    return result


def guarded(ctx: Context, test: Value, otherwise: Value, inside: Callable[[], Value]) -> Value:
    """`inside()` where `test` holds, else `otherwise`, as an `scf.if`."""
    if test.static is not None:
        return inside() if test.static else otherwise
    held, ctx.mask = ctx.mask, None
    block, chosen = branch(ctx, test, True, "an element's mask", inside)
    ctx.mask = held
    return if_op(ctx, test, (block, empty(ctx)), [(chosen, otherwise)], hints=("",))[0]
