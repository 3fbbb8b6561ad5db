"""Memory that the author declares."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from specgen.binding.arguments import fastest, memref
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import integer
from specgen.binding.knobs import type_of
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.values import (
    Buffer,
    Extent,
    Name,
)
from specgen.model import Memory

_SPACES = {"workgroup": 3, "private": 5}


def memories(ctx: Context) -> dict[str, Buffer]:
    """Declare author-written memory and allocate it in the entry block."""
    made: dict[str, Buffer] = {}
    total = 0
    for entry in ctx.spec.memory:
        buffer = _memory(ctx, entry)
        declare(ctx, Name(entry.name.text, "memory", entry.name.span, buffer or UNKNOWN))
        if buffer is None:
            continue
        made[entry.name.text] = buffer
        if entry.space == "workgroup":
            total += buffer.element.size * prod(e.static or 0 for e in buffer.extents)
            ctx.shared.facts_read.add("workgroup_memory")
            limit = ctx.shared.target.workgroup_memory
            if total > limit:
                message = f"workgroup memory up to here takes {total} bytes; the target has {limit}."
                ctx.report("SG-MEM", message, at=entry.span, hint="Make it smaller, or use a narrower type.")
    return made


def _memory(ctx: Context, entry: Memory) -> Buffer | None:
    element = type_of(ctx, entry.type)
    extents = []
    for axis in entry.shape:
        number = integer(ctx, axis.extent, "the shape of memory is static")
        if number is not None and number < 1:
            ctx.report(
                "SG-TYPE", f"an extent of memory is at least 1; `{axis.extent.text}` is {number}.", at=axis.extent.span
            )
            number = None
        extents.append(None if number is None else Extent(Linear(number), number, str(number)))
    for key in ("pad", "swizzle"):
        expr = getattr(entry.schedule, key)
        if expr is not None:
            ctx.report("SG-UNSUPPORTED", f"not supported yet: `{key}` of memory.", at=expr.span)
    axes = tuple(a.name.text for a in entry.shape)
    fast = fastest(ctx, entry.schedule.contiguous, axes)
    if ctx.serial:
        fast = len(axes) - 1
    known = [e for e in extents if e is not None]
    if element is None or len(known) != len(axes) or not axes:
        return None
    order = (*(i for i in range(len(axes)) if i != fast), fast)
    ir = memref(tuple(known[i].static for i in order), element, f", {_SPACES[entry.space]} : i32")
    with ctx.builder.at_entry(), ctx.at_place(entry.span):
        name = ".".join((*ctx.path, entry.name.text))
        (ssa,) = ctx.emit("memref.alloc", (), (ir,), hints=(entry.name.text,), extra=(("motif.name", name),))
    return Buffer(
        entry.name.text, ssa.name, element, axes, tuple(known), order, ir, entry.space, "readwrite", None, element.size
    )


def check_memory_read(ctx: Context, made: Mapping[str, Buffer]) -> None:
    """SG-MEM for memory that is never read (told when everything else could be bound)."""
    if ctx.shared.failed(ctx.spec):
        return
    for entry in ctx.spec.memory:
        buffer = made.get(entry.name.text)
        if buffer is not None and "load" not in buffer.touched:
            message = f"`{entry.name.text}` is never read."
            ctx.report("SG-MEM", message, at=entry.name.span, hint="Remove it and the stores to it.")
    ctx.in_schedule = held
    arranged = arrangement(ctx, entry.schedule)
