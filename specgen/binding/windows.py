"""`views`: typed windows on buffers, each checked whole where it is declared.

A window is a flat memory of its type over all bytes of the buffer (`motif.window`); its axes are strides and an offset
in elements of that type.
"""

from __future__ import annotations

from dataclasses import replace

from specgen.binding import arguments, convert, forms, layouts
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import static_typed
from specgen.binding.edges import extent_value
from specgen.binding.evaluate import expression
from specgen.binding.instance import Operand
from specgen.binding.knobs import type_of
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.types import INDEX
from specgen.binding.values import Buffer, Extent, Layout, Name, Unknown, Value
from specgen.diagnostics import Note
from specgen.expressions import Expr
from specgen.model import View


def windows(ctx: Context) -> None:
    """Declare the windows of a kernel or motif."""
    for view in ctx.spec.views:
        made = _window(ctx, view)
        declare(ctx, Name(view.name.text, "view", view.name.span, made or UNKNOWN))


def _window(ctx: Context, view: View) -> Buffer | None:
    buffer, element = _buffer(ctx, view), type_of(ctx, view.type)
    extents = [arguments.extent(ctx, axis, view=True) for axis in view.shape]
    known = [e for e in extents if e is not None]
    strides = _strides(ctx, view, known) if len(known) == len(extents) and known else None
    first = static_typed(INDEX, 0) if view.offset is None else _number(ctx, view.offset, "the offset of a window")
    if buffer is None or element is None or strides is None or first is None:
        return None
    if not _aligned(ctx, view, buffer, element.size, first):
        return None
    with ctx.builder.at_entry(), ctx.at_place(view.span):
        bytes_ = _bytes(ctx, buffer)
        count = layouts.divided(ctx, bytes_, element.size)
        static = int(count.static) if count.static is not None else None  # type: ignore[arg-type]
        ir = arguments.memref((static,), element)
        sizes = () if static is not None else (ctx.operand(count),)
        operands = (Operand(buffer.ssa, buffer.ir), *sizes)
        (ssa,) = ctx.emit("motif.window", operands, (ir,), hints=(view.name.text,))
    _check_end(ctx, view, bytes_, known, strides, first, element.size)
    with ctx.early(), ctx.at_place(view.span):
        offset = layouts.divided(ctx, first, element.size)
    axes = tuple(a.name.text for a in view.shape)
    fast = [number for number, stride in enumerate(strides) if stride.static == 1]
    order = tuple(n for n in range(len(axes)) if n not in fast[-1:]) + tuple(fast[-1:])
    return replace(
        buffer, name=view.name.text, ssa=ssa.name, element=element, axes=axes, extents=tuple(known), order=order, ir=ir,
        declared=None, promises=(), touched=set(), layout=Layout(strides=tuple(strides), offset=offset),
        root=buffer.storage,
    )  # fmt: skip


def _buffer(ctx: Context, view: View) -> Buffer | None:
    """The buffer that a window looks at; None after a diagnostic."""
    name = ctx.scope.find(view.of.text)
    if name is not None and isinstance(name.value, Unknown):
        return None
    if name is None or not isinstance(name.value, Buffer):
        near = ctx.scope.nearest(view.of.text, ("arg",))
        hint = f"Nearest: `{near.text}`." if near is not None and near is not name else None
        ctx.report("SG-VIEW", f"`{view.of.text}` is no buffer.", at=view.of.span, hint=hint)
        return None
    buffer = name.value
    if buffer.space != "global" or buffer.base is not None or buffer.root:
        message = f"`{view.of.text}` is {_kind(buffer)}; a window looks at a whole buffer."
        ctx.report("SG-VIEW", message, at=view.of.span)
        return None
    return buffer


def _kind(buffer: Buffer) -> str:
    return f"{buffer.space} memory" if buffer.space != "global" else "a view itself"


def _number(ctx: Context, expr: Expr, what: str) -> Value | None:
    """A number that is not negative; None after a diagnostic."""
    with ctx.early():
        found = expression(ctx, expr)
        if isinstance(found, Unknown):
            return None
        if found.size is not None or not found.type.element.is_integer:
            ctx.report("SG-TYPE", f"{what} is an integer; `{expr.text}` is `{found.type}`.", at=expr.span)
            return None
        with ctx.within(expr):
            made = convert.literal(ctx, expr.tree, found, INDEX) if found.type.is_untyped else None
            made = convert.cast(ctx, expr.tree, found, INDEX) if made is None else made
    if isinstance(made, Unknown):
        return None
    if made.lin is None or not ctx.facts.nonnegative(made.lin):
        low = ctx.interval(made)[0]
        ctx.report("SG-VIEW", f"{what} is not negative; `{expr.text}` may be {low}.", at=expr.span)
        return None
    return made


def _strides(ctx: Context, view: View, extents: list[Extent]) -> list[Value] | None:
    """Elements from one index to the next for each axis; axes that are not named are packed into the ones after."""
    named = {axis.name.text: axis.extent for axis in view.strides}
    for axis in view.strides:
        if axis.name.text not in {a.name.text for a in view.shape}:
            ctx.report("SG-VIEW", f"`{view.name.text}` has no axis `{axis.name.text}`.", at=axis.name.span)
            return None
    result: list[Value] = []
    behind: Extent | None = None
    for axis, extent in reversed(list(zip(view.shape, extents, strict=True))):
        expr = named.get(axis.name.text)
        stride: Value | None = static_typed(INDEX, 1)
        if expr is not None:
            stride = _number(ctx, expr, "a stride")
        elif behind is not None:
            with ctx.early(), ctx.at_place(view.span):
                stride = _product(ctx, result[0], _extent_value(behind))
        if stride is None:
            return None
        result.insert(0, stride)
        behind = extent
    return result


def _extent_value(extent: Extent) -> Value:
    if extent.static is not None:
        return static_typed(INDEX, extent.static)
    return Value(INDEX, extent.name, lin=extent.lin)


def _product(ctx: Context, a: Value, b: Value) -> Value:
    """`a * b` of two indices, as a form."""
    for one, other in ((a, b), (b, a)):
        if one.static is not None:
            return layouts.times(ctx, other, int(one.static))  # type: ignore[arg-type]
    lin = None
    if a.lin is not None and b.lin is not None:
        lin = forms.bounded(ctx.facts, "*", a.lin, b.lin, forms.product_rule("*", INDEX))
    return ctx.op("arith.muli", INDEX, a, b, lin=lin)


def _bytes(ctx: Context, buffer: Buffer) -> Value:
    """The size of a buffer."""
    total = static_typed(INDEX, buffer.element.size)
    for axis in range(len(buffer.axes)):
        total = _product(ctx, total, extent_value(ctx, buffer, axis))
    return total


def _aligned(ctx: Context, view: View, buffer: Buffer, size: int, first: Value) -> bool:
    """SG-VIEW where an element may stand at an address that is no multiple of its size."""
    note = Note(view.of.span, "its buffer")
    if buffer.align % size:
        name, align = buffer.name, buffer.align
        message = f"misaligned: `{view.name.text}` has elements of {size} bytes, `{name}` is aligned to {align}."
        ctx.report("SG-VIEW", message, at=view.span, hint=f"Declare the buffer with `align: {size}`.", notes=(note,))
        return False
    if layouts.multiple(first) % size:
        assert view.offset is not None
        message = f"misaligned: the offset `{view.offset.text}` is no proven multiple of the element's {size} bytes."
        ctx.report("SG-VIEW", message, at=view.offset.span, hint="Choose an offset of whole elements.")
        return False
    return True


def _check_end(
    ctx: Context, view: View, bytes_: Value, extents: list[Extent], strides: list[Value], first: Value, size: int
) -> None:
    """SG-VIEW where the last element is not proven to lie inside of the buffer."""
    last = first
    for extent, stride in zip(extents, strides, strict=True):
        top = Value(INDEX, "", lin=extent.lin.plus(-1))
        lin = _span(ctx, top, stride)
        if last.lin is None or lin is None:
            break
        last = Value(INDEX, "", lin=last.lin + lin.scaled(size))
    else:
        if last.lin is not None and bytes_.lin is not None:
            end = last.lin.plus(size)
            if ctx.facts.nonnegative(bytes_.lin - end):
                return
            over = -ctx.facts.lower(bytes_.lin - end)
            message = f"the window leaves the buffer: it may end {int(over)} bytes beyond the end of `{view.of.text}`."
            ctx.report("SG-VIEW", message, at=view.span, hint="Make it smaller, or prove that it fits with `range`.")
            return
    message = f"nothing proves that the window ends inside of `{view.of.text}`."
    ctx.report("SG-VIEW", message, at=view.span, hint="Make its extents and strides products of static numbers.")


def _span(ctx: Context, top: Value, stride: Value) -> Linear | None:
    """`top * stride` as a form."""
    assert top.lin is not None
    if stride.lin is None:
        return None
    if stride.lin.number is not None:
        return top.lin.scaled(stride.lin.number)
    if top.lin.number is not None:
        return stride.lin.scaled(top.lin.number)
    # (extent - 1) * stride is extent * stride, which packed strides and the buffer's size name alike, less a stride.
    whole = forms.bounded(ctx.facts, "*", stride.lin, top.lin.plus(1), forms.product_rule("*", INDEX))
    return None if whole is None else whole - stride.lin
