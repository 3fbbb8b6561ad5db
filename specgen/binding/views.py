"""`view: {n: region}`: names a window on memory, read in place or from a copy."""

from __future__ import annotations

import ast
from dataclasses import replace

from specgen.binding import bounds, memories, staging
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import static_typed
from specgen.binding.evaluate import evaluate, integer
from specgen.binding.linear import Linear
from specgen.binding.loops import word
from specgen.binding.memory import check_singles
from specgen.binding.names import declare
from specgen.binding.subscripts import resolved
from specgen.binding.types import INDEX
from specgen.binding.values import Buffer, Extent, Name, Part, Unknown, Value
from specgen.expressions import Expr
from specgen.model import ReadSchedule, ViewStatement

PLACES = ("direct", "workgroup", "registers")
MOST_BUFFERS = 64
"""Copies of a staged view that may take turns."""


def view(ctx: Context, statement: ViewStatement) -> None:
    """Declare the windows of a `view` statement, and copy them where its schedule says so."""
    from specgen.binding.statements import outside_value

    known = len(ctx.live)
    outside = outside_value(ctx, statement.outside)
    place, wanted = _schedule(ctx, statement)
    for entry in statement.entries:
        with ctx.within(entry.value):
            found = _window(ctx, entry.name.text, entry.value, outside)
        if isinstance(found, Buffer) and place == "workgroup":
            with ctx.within(entry.value), ctx.at_place(statement.span):
                region = _ranged(ctx, found, entry.value)
                staged = None if region is None else staging.stage(ctx, entry.name.text, region, wanted)
                found = UNKNOWN if staged is None else staged
        declare(ctx, Name(entry.name.text, "view", entry.name.span, found if place is not None else UNKNOWN))
    if len(ctx.live) > known:
        with ctx.at_place(statement.span):
            staging.barrier(ctx, everywhere=any(v.shared for v in ctx.live[known:]))


def _schedule(ctx: Context, statement: ViewStatement) -> tuple[str | None, staging.Staged]:
    """Where the view is read, and how a staged one lies; None after a diagnostic."""
    keys = statement.schedule or ReadSchedule()
    place: str | None = "direct"
    slots = 1
    held, ctx.in_schedule = ctx.in_schedule, True
    if keys.place is not None:
        place = word(ctx, keys.place, "place", PLACES)
    if keys.buffers is not None:
        slots = integer(ctx, keys.buffers, "`buffers` is static") or 0
        if not 1 <= slots <= MOST_BUFFERS:
            message = f"`buffers` is 1 to {MOST_BUFFERS} copies; `{keys.buffers.text}` is {slots}."
            ctx.report("SG-POLICY", message, at=keys.buffers.span)
            slots = 1
    ctx.in_schedule = held
    arranged = memories.arrangement(ctx, keys)
    if ctx.serial:
        return "direct", staging.Staged(arranged, False, statement.span)
    if place == "registers":
        assert keys.place is not None
        ctx.report("SG-UNSUPPORTED", "not supported yet: `place: registers`.", at=keys.place.span)
        place = None
    rotates = slots > 1 and place == "workgroup" and _may_rotate(ctx, statement)
    return place, staging.Staged(replace(arranged, slots=slots if rotates else 0), rotates, statement.span)


def _may_rotate(ctx: Context, statement: ViewStatement) -> bool:
    """Whether the statement runs in every iteration of a counted loop; SG-VIEW when it does not."""
    rotation = ctx.rotation
    if rotation is not None and rotation.controls == len(ctx.controls):
        return True
    assert statement.schedule is not None
    assert statement.schedule.buffers is not None
    message = "copies take turns in the iterations of a counted loop; this view does not stand directly in one."
    hint = "Set `buffers: 1`, or move the view into the body of a `for`, out of any condition."
    ctx.report("SG-VIEW", message, at=statement.schedule.buffers.span, hint=hint)
    return False


def _ranged(ctx: Context, found: Buffer, expr: Expr) -> Buffer | None:
    """A whole buffer that is named without subscripts as a view of all of it; None after a diagnostic."""
    if found.base is not None:
        return found
    for axis, extent in zip(found.axes, found.extents, strict=True):
        if extent.static is None:
            message = f"axis `{axis}` has {extent.text} elements, known only when the kernel runs."
            hint = "Name a region of static size, or read in place: `place: direct`."
            ctx.report("SG-STATIC", message, at=expr.span, hint=hint)
            return None
    window = tuple(Part(expr.tree, static_typed(INDEX, 0), extent.static) for extent in found.extents)
    return replace(found, base=found, window=window)


def _window(ctx: Context, name: str, expr: Expr, outside: Value | None) -> Buffer | Unknown:
    node = expr.tree
    found = evaluate(ctx, node.value if isinstance(node, ast.Subscript) else node)
    if isinstance(found, Unknown):
        return found
    if not isinstance(found, Buffer):
        return ctx.report("SG-TYPE", f"a view is a region of memory, not `{expr.text}`.", at=node)
    if not isinstance(node, ast.Subscript):
        return replace(found, name=name)
    place = resolved(ctx, node, found)
    if place is None:
        return UNKNOWN
    base, parts = place
    outside = outside if outside is not None else found.outside
    ranges = [(axis, p) for axis, p in enumerate(parts) if p.count is not None]
    if any(p.each is not None for p in parts) or not ranges:
        return ctx.report("SG-TYPE", f"a view is a region with a range; `{expr.text}` has none.", at=node)
    if outside is None:
        check_singles(ctx, base, parts)
        for axis, part in ranges:
            assert part.start is not None
            assert part.count is not None
            if not bounds.proven(ctx, base, axis, part.start, part.count):
                bounds.refuse_range(ctx, part.node, base, axis, part.start, part.count, store=False)
    counts = [p.count or 1 for _, p in ranges]
    return replace(
        base,
        name=name,
        axes=tuple(base.axes[axis] for axis, _ in ranges),
        extents=tuple(Extent(Linear(n), n, str(n)) for n in counts),
        base=base,
        window=tuple(parts),
        outside=outside,
    )
