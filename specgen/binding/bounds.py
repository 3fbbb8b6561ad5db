"""Whether a subscript stays inside: proven, refused, or left to the checks of a run."""

from __future__ import annotations

import ast

from specgen.binding.context import Context
from specgen.binding.linear import Linear
from specgen.binding.values import Buffer, Extent, Value
from specgen.diagnostics import Diagnostic

_FAR = 1 << 62


def single(ctx: Context, node: ast.AST, buffer: Buffer, axis: int, index: Value) -> bool:
    """One element: refused where a declared range shows that it may lie outside, noted where nothing is proven.

    Whether it was proven to lie inside, or refused: nothing is left to be checked when the kernel runs.
    """
    form, extent = index.lin, buffer.extents[axis]
    if form is None:
        form = ctx.facts.atom(*ctx.interval(index))
    below, above = form, extent.lin.plus(-1) - form
    low_ok, high_ok = ctx.facts.nonnegative(below), ctx.facts.nonnegative(above)
    if low_ok and high_ok:
        return True
    text = ctx.expr.text_of(node)
    lo, hi = ctx.facts.interval(form)
    top = ctx.facts.interval(extent.lin)[1]
    what = f"axis `{buffer.axes[axis]}` has [0, {extent.text})"
    if ctx.facts.declared(form) and ctx.mask is None:
        if lo < 0 and not low_ok:
            guard = f"if: {text} >= 0" if hi >= 0 else None
            _refuse(ctx, node, f"`{text}` may be {lo}; {what}.", guard)
            return True
        if hi >= top and not high_ok:
            guard = f"if: {text} < {extent.text}" if lo < top else None
            _refuse(ctx, node, f"`{text}` may be {hi}; {what}.", guard)
            return True
    ctx.notes.append(
        Diagnostic("SG-BOUNDS", ctx.expr.span_of(node), f"`{text}` is checked when run; {what}.", severity="note")
    )
    return False


def _refuse(ctx: Context, node: ast.AST, message: str, guard: str | None) -> None:
    ctx.report("SG-BOUNDS", message, at=node, hint=f"Guard it: `{guard}`." if guard else None)


def proven(ctx: Context, buffer: Buffer, axis: int, start: Value, count: int) -> bool:
    """Whether elements `start .. start + count - 1` of an axis are all inside."""
    if start.lin is None:
        return False
    above = buffer.extents[axis].lin.plus(-count) - start.lin
    return ctx.facts.nonnegative(start.lin) and ctx.facts.nonnegative(above)


def refuse_range(ctx: Context, node: ast.AST, buffer: Buffer, axis: int, start: Value, count: int, store: bool) -> None:
    """SG-BOUNDS for a range that is not proven to be inside, with what was found and what to write."""
    extent = buffer.extents[axis]
    first = node.lower if isinstance(node, ast.Slice) and node.lower is not None else node
    text = ctx.expr.text_of(first)
    what = f"axis `{buffer.axes[axis]}` has [0, {extent.text})"
    form = start.lin if start.lin is not None else ctx.facts.atom(*ctx.interval(start))
    lo, _ = ctx.facts.interval(form)
    add = "`outside: skip` to this store" if store else "`outside: 0` to this statement"
    if not ctx.facts.nonnegative(form):
        found = f"`{text}` may be {lo}" if lo > -_FAR else f"nothing bounds `{text}` from below"
        ctx.report("SG-BOUNDS", f"{found}; {what}.", at=node, hint=f"Add {add} or guard it: `if: {text} >= 0`.")
        return
    last = f"{text} + {count - 1}" if count > 1 else text
    reach = _reach(ctx, extent, form, count)
    found = f"`{last}` may reach {reach}" if reach else f"nothing bounds `{text}` from above"
    hint = f"Add {add}"
    if extent.static is None and count > 1:
        hint += f" or prove `{extent.text} % {count} == 0` with `multiple_of`"
    ctx.report("SG-BOUNDS", f"{found}; {what}.", at=node, hint=hint + ".")


def _reach(ctx: Context, extent: Extent, form: Linear, count: int) -> str | None:
    """The last element, as a number or relative to the extent; None when it is not bounded."""
    beyond = -ctx.facts.lower(extent.lin.plus(-1) - form.plus(count - 1))
    hi = ctx.facts.interval(form)[1]
    if extent.static is not None:
        return str(hi + count - 1) if hi < _FAR else None
    if beyond < _FAR and hi + count - 1 > ctx.facts.interval(extent.lin)[0]:
        offset = int(beyond) - 1
        return f"{extent.text} + {offset}" if offset > 0 else extent.text
    return str(hi + count - 1) if hi < _FAR else None
