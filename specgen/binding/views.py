"""`view: {n: region}` read in place: names a window on memory without reading it."""

from __future__ import annotations

import ast
import dataclasses

from specgen.binding import bounds
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import evaluate, static
from specgen.binding.linear import Linear
from specgen.binding.memory import check_singles
from specgen.binding.names import declare
from specgen.binding.subscripts import resolved
from specgen.binding.values import Buffer, Extent, Name, Unknown, Value, Word
from specgen.expressions import Expr
from specgen.model import ReadSchedule, ViewStatement

PLACES = ("direct", "workgroup", "registers")


def view(ctx: Context, statement: ViewStatement) -> None:
    """Declare the windows of a `view` statement."""
    from specgen.binding.statements import outside_value

    direct = _is_direct(ctx, statement.schedule)
    outside = outside_value(ctx, statement.outside)
    for entry in statement.entries:
        found: Buffer | Unknown = UNKNOWN
        if direct:
            with ctx.within(entry.value):
                found = _window(ctx, entry.name.text, entry.value, outside)
        declare(ctx, Name(entry.name.text, "view", entry.name.span, found))


def _is_direct(ctx: Context, schedule: ReadSchedule | None) -> bool:
    """Whether the region is read in place; staging is not supported yet."""
    if schedule is None or schedule.place is None:
        return True
    found = static(ctx, schedule.place, "`place` is static", PLACES)
    if ctx.serial or (isinstance(found, Word) and found.text == "direct"):
        return True
    if not isinstance(found, Unknown):
        ctx.report("SG-UNSUPPORTED", "not supported yet: staged views (`place`).", at=schedule.place.span)
    return False


def _window(ctx: Context, name: str, expr: Expr, outside: Value | None) -> Buffer | Unknown:
    node = expr.tree
    found = evaluate(ctx, node.value if isinstance(node, ast.Subscript) else node)
    if isinstance(found, Unknown):
        return found
    if not isinstance(found, Buffer):
        return ctx.report("SG-TYPE", f"a view is a region of memory, not `{expr.text}`.", at=node)
    if not isinstance(node, ast.Subscript):
        return dataclasses.replace(found, name=name)
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
    return dataclasses.replace(
        base,
        name=name,
        axes=tuple(base.axes[axis] for axis, _ in ranges),
        extents=tuple(Extent(Linear(n), n, str(n)) for n in counts),
        base=base,
        window=tuple(parts),
        outside=outside,
    )
