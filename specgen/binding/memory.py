"""Subscripts: reads of elements and ranges, stores, atomics; masks where elements must not be touched."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from specgen.binding import bounds, convert, operators
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import element, per_element, static_typed
from specgen.binding.instance import Operand, Region
from specgen.binding.linear import Linear
from specgen.binding.types import BOOL, I8, I64, INDEX, Scalar, Vector, same_shape
from specgen.binding.values import VARYING, Buffer, Level, Unknown, Value
from specgen.expressions import Expr, range_count

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


@dataclass(frozen=True)
class Part:
    """A subscript of one axis: `start` an index, with `count` a range; `each` a vector of indices."""

    node: ast.AST
    start: Value | None
    count: int | None = None
    each: Value | None = None


def subscripts(ctx: Context, node: ast.Subscript, buffer: Buffer) -> list[Part] | None:
    """The subscripts of a buffer, one an axis; None after a diagnostic."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) != len(buffer.axes):
        axes = ", ".join(buffer.axes)
        given = f"{len(nodes)} subscript{'s are' if len(nodes) > 1 else ' is'} given"
        many = "axes" if len(buffer.axes) > 1 else "axis"
        ctx.report("SG-TYPE", f"`{buffer.name}` has {len(buffer.axes)} {many} ({axes}); {given}.", at=node)
        return None
    parts = [_part(ctx, part, buffer, axis) for axis, part in enumerate(nodes)]
    return None if any(p is None for p in parts) else [p for p in parts if p is not None]


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
        ctx.report("SG-TYPE", f"a number of elements is at least 1; `{text}` is {found.static}.", at=node)
        return None
    if found.static > 4096:
        ctx.report("SG-TYPE", f"a vector has at most 4096 elements; `{text}` is {found.static}.", at=node)
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


# --- reading -------------------------------------------------------------------------------------------------------


def read(ctx: Context, node: ast.Subscript, buffer: Buffer) -> Value | Unknown:
    """The value of `buffer[...]`: an element, or a vector for one range or one vector of indices."""
    if ctx.only_static is not None:
        message = f"`{ctx.expr.text_of(node)}` is read when the kernel runs; {ctx.only_static}."
        return ctx.report("SG-STATIC", message, at=node)
    buffer.touched.add("load")
    if buffer.access == "write":
        message = f"`{buffer.name}` is declared `write` and is read here."
        return ctx.report("SG-ACCESS", message, at=node, hint="Declare it `readwrite`.")
    parts = subscripts(ctx, node, buffer)
    if parts is None:
        return UNKNOWN
    wide = [p for p in parts if p.count is not None or p.each is not None]
    if len(wide) > 1:
        message = f"`{ctx.expr.text_of(node)}` has {len(wide)} ranges and is no vector."
        return ctx.report(
            "SG-TYPE", message, at=node, hint="A vector has one range; read the others element by element."
        )
    _check_singles(ctx, buffer, parts)
    ctx.node = node
    if not wide:
        return _scalar_read(ctx, buffer, [p.start for p in parts if p.start is not None])
    part = wide[0]
    axis = parts.index(part)
    if part.each is not None:
        return _gather(ctx, buffer, parts, axis, part.each)
    return _range_read(ctx, buffer, parts, axis)


def _check_singles(ctx: Context, buffer: Buffer, parts: list[Part]) -> None:
    for axis, part in enumerate(parts):
        if part.count is None and part.start is not None:
            bounds.single(ctx, part.node, buffer, axis, part.start)


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


def load(ctx: Context, buffer: Buffer, indices: list[Value]) -> Value:
    """Load one element; `bool` and `index` are converted from their memory form."""
    operands = (Operand(buffer.ssa, buffer.ir), *(ctx.operand(indices[a]) for a in buffer.order))
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


def _range_read(ctx: Context, buffer: Buffer, parts: list[Part], axis: int) -> Value | Unknown:
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
    if axis == buffer.order[-1]:
        return _contiguous(ctx, buffer, parts, part.count, mask)
    indices = [p.start for p in parts if p.start is not None]

    def one(number: int) -> Value:
        own = list(indices)
        own[axis] = offset(ctx, indices[axis], number)
        return _masked_load(ctx, buffer, own, mask, number)

    return convert.from_elements(ctx, Vector(buffer.element, part.count), [one(i) for i in range(part.count)])


def _with_mask(ctx: Context, mask: Value | None, size: int) -> Value | None:
    if ctx.mask is None or ctx.mask.size != size:
        return mask
    return ctx.mask if mask is None else operators.conjunction(ctx, "and", mask, ctx.mask)


def _masked_load(ctx: Context, buffer: Buffer, indices: list[Value], mask: Value | None, number: int) -> Value:
    if mask is None:
        return load(ctx, buffer, indices)
    return guarded(ctx, element(ctx, mask, number), _passthrough(ctx, buffer), lambda: load(ctx, buffer, indices))


def offset(ctx: Context, start: Value, number: int) -> Value:
    """`start + number` as `index`."""
    if number == 0:
        return start
    if start.static is not None:
        return static_typed(INDEX, int(start.static) + number)  # type: ignore[arg-type]
    lin = start.lin.plus(number) if start.lin is not None else None
    return ctx.op("arith.addi", INDEX, start, static_typed(INDEX, number), lin=lin)


def inside_mask(ctx: Context, buffer: Buffer, axis: int, start: Value, count: int) -> Value:
    """A vector that says which elements of a range are inside."""
    extent = extent_value(ctx, buffer, axis)

    def one(number: int) -> Value:
        at = offset(ctx, start, number)
        low_ok = at.lin is not None and ctx.facts.nonnegative(at.lin)
        high_ok = at.lin is not None and ctx.facts.nonnegative(buffer.extents[axis].lin.plus(-1) - at.lin)
        result = Value(BOOL, static=True)
        if not low_ok:
            result = operators.compare_values(ctx, ">=", at, static_typed(INDEX, 0))
        if not high_ok:
            below = operators.compare_values(ctx, "<", at, extent)
            result = below if result.is_static else operators.conjunction(ctx, "and", result, below)
        return result

    return convert.from_elements(ctx, Vector(BOOL, count), [one(i) for i in range(count)])


def extent_value(ctx: Context, buffer: Buffer, axis: int) -> Value:
    """An extent as an `index` value."""
    extent = buffer.extents[axis]
    if extent.static is not None:
        return static_typed(INDEX, extent.static)
    return Value(INDEX, extent.name, lin=extent.lin)


def _contiguous(ctx: Context, buffer: Buffer, parts: list[Part], count: int, mask: Value | None) -> Value:
    starts = [p.start for p in parts if p.start is not None]
    base = (Operand(buffer.ssa, buffer.ir), *(ctx.operand(starts[a]) for a in buffer.order))
    memory_type = f"vector<{count}x{buffer.element.memory}>"
    hints = (_hint(ctx),)
    if mask is None:
        (made,) = ctx.emit("vector.load", base, (memory_type,), hints=hints)
        interval = _limits(buffer)
    else:
        through = _passthrough(ctx, buffer)
        fill = convert.spread(ctx, to_memory(ctx, through), count)
        operands = (*base, ctx.operand(mask), ctx.operand(fill))
        (made,) = ctx.emit("vector.maskedload", operands, (memory_type,), hints=hints)
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


def _gather(ctx: Context, buffer: Buffer, parts: list[Part], axis: int, each: Value) -> Value | Unknown:
    size = each.size or 1
    mask = _with_mask(ctx, None, size)
    node = parts[axis].node

    def one(number: int) -> Value:
        at = element(ctx, each, number)
        indices = [p.start if p.start is not None else at for p in parts]
        if number == 0 and mask is None:
            bounds.single(ctx, node, buffer, axis, at)
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
    from specgen.binding.evaluate import branch, if_op

    if test.static is not None:
        return inside() if test.static else otherwise
    held, ctx.mask = ctx.mask, None
    block, chosen = branch(ctx, test, True, "an element's mask", inside)
    ctx.mask = held
    ctx.builder.open()
    other = ctx.builder.close()
    return if_op(ctx, test, (block, other), [(chosen, otherwise)], hints=("",))[0]


# --- vectors as places ---------------------------------------------------------------------------------------------


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


# --- writing -------------------------------------------------------------------------------------------------------


def to_memory(ctx: Context, value: Value) -> Value:
    """A value in the form that memory holds."""
    element_type = value.type.element
    if element_type is BOOL:
        if value.static is not None:
            flags = value.static
            bits = tuple(int(f) for f in flags) if isinstance(flags, tuple) else int(flags)
            return static_typed(same_shape(value.type, I8), bits)
        return ctx.op("arith.extui", same_shape(value.type, I8), value, lin=Linear(0) if value.size is None else None)
    if element_type is INDEX:
        made = convert.cast(ctx, None, value, I64)
        assert isinstance(made, Value)
        return made
    return value


def target(ctx: Context, expr: Expr, what: str) -> tuple[Buffer, list[Part]] | None:
    """The place that `store` or `atomic` names; None after a diagnostic."""
    from specgen.binding.evaluate import evaluate

    node = expr.tree
    if not isinstance(node, ast.Subscript):
        ctx.report("SG-TYPE", f"{what} a place such as `x[i]`, not `{expr.text}`.", at=node)
        return None
    buffer = evaluate(ctx, node.value)
    if isinstance(buffer, Unknown):
        return None
    if not isinstance(buffer, Buffer):
        ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node.value)}` is no buffer; {what} memory.", at=node.value)
        return None
    buffer.touched.add("store")
    if buffer.access == "read":
        message = f"`{buffer.name}` is declared `read` and is stored here."
        ctx.report("SG-ACCESS", message, at=node, hint="Declare it `write` or `readwrite`.")
        return None
    parts = subscripts(ctx, node, buffer)
    if parts is None:
        return None
    if any(p.each is not None for p in parts):
        ctx.report("SG-TYPE", "a store to a vector of places is not defined; store element by element.", at=node)
        return None
    _check_singles(ctx, buffer, parts)
    return buffer, parts


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
        ctx.report("SG-TYPE", message, at=node)
        return
    _store_range(ctx, buffer, parts, axis, value, skip)


def _store_element(ctx: Context, buffer: Buffer, indices: list[Value], value: Value) -> None:
    base = (Operand(buffer.ssa, buffer.ir), *(ctx.operand(indices[a]) for a in buffer.order))
    ctx.emit("memref.store", (ctx.operand(value), *base), ())


def _store_range(ctx: Context, buffer: Buffer, parts: list[Part], axis: int, value: Value, skip: bool) -> None:
    part = parts[axis]
    assert part.start is not None
    count = part.count or 1
    mask = None
    if not bounds.proven(ctx, buffer, axis, part.start, count):
        if not skip:
            bounds.refuse_range(ctx, part.node, buffer, axis, part.start, count, store=True)
            return
        mask = inside_mask(ctx, buffer, axis, part.start, count)
    starts = [p.start for p in parts if p.start is not None]
    value = to_memory(ctx, value)
    if axis == buffer.order[-1]:
        base = (Operand(buffer.ssa, buffer.ir), *(ctx.operand(starts[a]) for a in buffer.order))
        if mask is None:
            ctx.emit("vector.store", (ctx.operand(value), *base), ())
        else:
            ctx.emit("vector.maskedstore", (*base, ctx.operand(mask), ctx.operand(value)), ())
        return
    for number in range(count):
        _store_one_of(ctx, buffer, starts, axis, number, value, mask)


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
    kind_of = buffer.element.kind
    if any(p.count is not None for p in parts) or value.size is not None:
        return ctx.report("SG-TYPE", "an atomic works on one element.", at=expr.span)
    names = (kind_of, "float" if buffer.element.is_float else "integer")
    kind = next((ATOMIC_KINDS[operation, n] for n in names if (operation, n) in ATOMIC_KINDS), None)
    if kind is None or kind_of in ("bool", "index") or buffer.element.bits < 32:
        message = f"there is no atomic `{operation}` of `{buffer.element}`."
        return ctx.report("SG-TYPE", message, at=expr.span, hint="Use a 32- or 64-bit type.")
    starts = [p.start for p in parts if p.start is not None]
    base = (Operand(buffer.ssa, buffer.ir), *(ctx.operand(starts[a]) for a in buffer.order))
    (made,) = ctx.emit(
        "memref.atomic_rmw",
        (ctx.operand(value), *base),
        (buffer.element.ir,),
        attributes=(("kind", kind),),
        hints=("old",),
    )
    lin = ctx.facts.atom(*buffer.element.limits) if buffer.element.is_integer else None
    return Value(buffer.element, made.name, level=VARYING, lin=lin)
