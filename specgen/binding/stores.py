"""Stores of elements and ranges, and atomics."""

from __future__ import annotations

import ast

from specgen.binding import bounds, convert, layouts, operators
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import element
from specgen.binding.edges import inside_mask, offset
from specgen.binding.instance import Region
from specgen.binding.memory import check_singles, mask_piece, to_memory
from specgen.binding.subscripts import resolved
from specgen.binding.types import BOOL, Vector
from specgen.binding.values import VARYING, Buffer, Part, Unknown, Value
from specgen.diagnostics import Note
from specgen.expressions import Expr

ATOMIC_KINDS = {
    ("add", "float"): 0,
    ("add", "integer"): 1,
    ("exchange", "float"): 2,
    ("exchange", "integer"): 2,
    ("max", "signed"): 4,
    ("max", "unsigned"): 5,
    ("min", "signed"): 7,
    ("min", "unsigned"): 8,
    ("or", "integer"): 11,
    ("and", "integer"): 12,
    ("max", "float"): 13,
    ("min", "float"): 14,
    ("xor", "integer"): 15,
}
"""Numbers of MLIR's `arith.AtomicRMWKind` (mlir/Dialect/Arith/IR/ArithBase.td)."""


def target(ctx: Context, expr: Expr, what: str, *, skip: bool = False) -> tuple[Buffer, list[Part]] | None:
    """The place that `store` or `atomic` names; None after a diagnostic. `skip`: ranges may reach beyond a view."""
    from specgen.binding.evaluate import evaluate

    node = expr.tree
    if not isinstance(node, ast.Subscript):
        return None  # told when the spec was loaded
    buffer = evaluate(ctx, node.value)
    if isinstance(buffer, Unknown):
        return None
    if not isinstance(buffer, Buffer):
        ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node.value)}` is no buffer; {what} memory.", at=node.value)
        return None
    buffer.touched.add("store")
    if not _may_be_stored(ctx, buffer, node):
        return None
    if buffer.access == "read":
        message = f"`{buffer.name}` is declared `read` and is stored here."
        ctx.report("SG-ACCESS", message, at=node, hint="Declare it `write` or `readwrite`.")
        return None
    place = resolved(ctx, node, buffer, masked=skip)
    if place is None:
        return None
    buffer, parts = place
    if any(p.each is not None for p in parts):
        ctx.report("SG-TYPE", "a store to a vector of places is not defined; store element by element.", at=node)
        return None
    check_singles(ctx, buffer, parts)
    return buffer, parts


def _may_be_stored(ctx: Context, buffer: Buffer, node: ast.AST) -> bool:
    """SG-VIEW for a typed window, which is only read, and for what a staged view has a copy of."""
    if buffer.root and buffer.space == "global":
        message = f"`{buffer.name}` is a window that reads the bytes of a buffer; it is not stored to."
        ctx.report("SG-VIEW", message, at=node, hint="Store to the buffer itself.")
        return False
    live = next((v for v in ctx.live if v.storage == buffer.storage), None)
    if live is not None:
        message = (
            f"`{buffer.name}` is stored while the staged view `{live.name}` (line {live.span.line}) has a copy of it."
        )
        hint = "Store after the block of the view, or read it in place: `place: direct`."
        ctx.report("SG-VIEW", message, at=node, hint=hint, notes=(Note(live.span, "the view"),))
        return False
    return True


def store(ctx: Context, place: tuple[Buffer, list[Part]], value: Value, node: ast.AST, skip: bool) -> None:
    """Store a value of the buffer's element type (a vector for one range)."""
    buffer, parts = place
    wide = [a for a, p in enumerate(parts) if p.count is not None]
    if len(wide) > 1:
        ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node)}` has {len(wide)} ranges; a vector has one.", at=node)
        return
    starts = [p.start for p in parts if p.start is not None]
    if not wide:
        if value.size is not None:
            message = f"`{ctx.expr.text_of(node)}` is one element; the value has {value.size}."
            ctx.report("SG-TYPE", message, at=node)
            return
        _store_element(ctx, buffer, starts, to_memory(ctx, value))
        return
    axis = wide[0]
    count = parts[axis].count or 1
    if value.size is None:
        value = convert.spread(ctx, value, count)
    if value.size != count:
        message = f"`{ctx.expr.text_of(node)}` has {count} elements; the value has {value.size}."
        ctx.report("SG-SHAPE", message, at=node)
        return
    _store_range(ctx, buffer, parts, axis, value, skip)


def _store_element(ctx: Context, buffer: Buffer, indices: list[Value], value: Value) -> None:
    ctx.emit("memref.store", (ctx.operand(value), *layouts.place(ctx, buffer, indices)), ())


def _store_range(ctx: Context, buffer: Buffer, parts: list[Part], axis: int, value: Value, skip: bool) -> None:
    part = parts[axis]
    assert part.start is not None
    count, mask = part.count or 1, part.inside
    if not bounds.proven(ctx, buffer, axis, part.start, count):
        if not skip:
            bounds.refuse_range(ctx, part.node, buffer, axis, part.start, count, store=True)
            return
        edge = inside_mask(ctx, buffer, axis, part.start, count)
        mask = edge if mask is None else operators.conjunction(ctx, "and", mask, edge)
    starts = [p.start for p in parts if p.start is not None]
    value = to_memory(ctx, value)
    run = layouts.neighbours(buffer, axis, part.start, count)
    if run == 1 and count > 1:
        for number in range(count):
            _store_one_of(ctx, buffer, starts, axis, number, value, mask)
        return
    for first in range(0, count, run):
        own = [offset(ctx, at, first) if number == axis else at for number, at in enumerate(starts)]
        _store_piece(ctx, buffer, own, *(_piece(ctx, v, first, run) for v in (value, mask)))


def _piece(ctx: Context, vector: Value | None, first: int, count: int) -> Value | None:
    if vector is None or vector.size == count:
        return vector
    if vector.type.element is BOOL:
        return mask_piece(ctx, vector, first, count)
    found = [element(ctx, vector, first + i) for i in range(count)]
    return convert.from_elements(ctx, Vector(vector.type.element, count), found)


def _store_piece(ctx: Context, buffer: Buffer, starts: list[Value], value: Value | None, mask: Value | None) -> None:
    assert value is not None
    base, extra = layouts.place(ctx, buffer, starts), layouts.claimed(buffer, value.size or 1)
    if mask is None:
        ctx.emit("vector.store", (ctx.operand(value), *base), (), extra=extra)
    else:
        ctx.emit("vector.maskedstore", (*base, ctx.operand(mask), ctx.operand(value)), (), extra=extra)


def _store_one_of(
    ctx: Context, buffer: Buffer, starts: list[Value], axis: int, number: int, value: Value, mask: Value | None
) -> None:
    own = list(starts)
    own[axis] = offset(ctx, starts[axis], number)
    part = element(ctx, value, number)
    if mask is None:
        _store_element(ctx, buffer, own, part)
        return
    test = element(ctx, mask, number)
    ctx.builder.open()
    _store_element(ctx, buffer, own, part)
    ctx.emit("scf.yield", (), ())
    block = ctx.builder.close()
    ctx.emit("scf.if", (ctx.operand(test),), (), regions=(Region((), tuple(block.ops)), Region((), ())))


def atomic(ctx: Context, expr: Expr, operation: str, value: Value, place: tuple[Buffer, list[Part]]) -> Value | Unknown:
    """An atomic read-modify-write of one element; gives the old value."""
    buffer, parts = place
    if operation not in {name for name, _ in ATOMIC_KINDS}:
        return UNKNOWN  # told when the spec was loaded
    kind_of = buffer.element.kind
    if any(p.count is not None for p in parts) or value.size is not None:
        return ctx.report("SG-TYPE", "an atomic works on one element.", at=expr.span)
    names = (kind_of, "float" if buffer.element.is_float else "integer")
    kind = next((ATOMIC_KINDS[operation, n] for n in names if (operation, n) in ATOMIC_KINDS), None)
    if kind is None or kind_of in ("bool", "index") or buffer.element.bits < 32:
        message = f"there is no atomic `{operation}` of `{buffer.element}`."
        return ctx.report("SG-TYPE", message, at=expr.span, hint="Use a 32- or 64-bit type.")
    starts = [p.start for p in parts if p.start is not None]
    (made,) = ctx.emit(
        "memref.atomic_rmw",
        (ctx.operand(value), *layouts.place(ctx, buffer, starts)),
        (buffer.element.ir,),
        attributes=(("kind", kind),),
        hints=("old",),
    )
    lin = ctx.facts.atom(*buffer.element.limits) if buffer.element.is_integer else None
    return Value(buffer.element, made.name, level=VARYING, lin=lin)
