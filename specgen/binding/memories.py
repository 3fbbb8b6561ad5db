"""Memory that the author declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from specgen.binding import layouts
from specgen.binding.arguments import fastest, memref
from specgen.binding.asked import fits_memory
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import integer
from specgen.binding.knobs import type_of
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.values import (
    Buffer,
    Extent,
    Layout,
    Name,
)
from specgen.diagnostics import Span
from specgen.model import Memory, MemorySchedule, ReadSchedule

_SPACES = {"workgroup": 3, "private": 5}


def memories(ctx: Context, named: frozenset[str] | None = None) -> dict[str, Buffer]:
    """Declare author-written memory and allocate it in the entry block: all of it, or what has one of these names."""
    made: dict[str, Buffer] = {}
    for entry in ctx.spec.memory:
        if named is not None and entry.name.text not in named:
            continue
        buffer = _memory(ctx, entry)
        declare(ctx, Name(entry.name.text, "memory", entry.name.span, buffer or UNKNOWN))
        if buffer is not None:
            made[entry.name.text] = buffer
    return made


@dataclass(frozen=True)
class Arrangement:
    """How memory lies: a schedule's words and numbers. `slots` copies come one after another (0: no rotation)."""

    pad: int = 0
    swizzle: str = "none"
    slots: int = 0


def arrangement(ctx: Context, schedule: MemorySchedule | ReadSchedule) -> Arrangement:
    """`pad` and `swizzle` of a schedule; the serial variant has neither."""
    from specgen.binding.loops import word

    held, ctx.in_schedule = ctx.in_schedule, True
    pad, swizzle = 0, None
    if schedule.pad is not None:
        pad = integer(ctx, schedule.pad, "`pad` is static") or 0
        if not 0 <= pad <= MOST_PAD:
            message = f"`pad` is 0 to {MOST_PAD} elements; `{schedule.pad.text}` is {pad}."
            ctx.report("SG-POLICY", message, at=schedule.pad.span)
            pad = 0
    if schedule.swizzle is not None:
        swizzle = word(ctx, schedule.swizzle, "swizzle", layouts.SWIZZLES)
    ctx.in_schedule = held
    return Arrangement() if ctx.serial else Arrangement(pad, swizzle or "none")


MOST_PAD = 1024
"""Elements of padding that a row may have."""


def allocate(
    ctx: Context,
    buffer: Buffer,
    arranged: Arrangement,
    name: str,
    span: Span,
    extra: tuple[tuple[str, bool], ...] = (),
) -> Buffer:
    """Allocate memory for a buffer of static extents in the entry block: the buffer with its place and layout."""
    sizes = [buffer.extents[axis].static or 1 for axis in buffer.order]
    granule, period = layouts.swizzle(buffer.element.size, sizes[-1])
    if arranged.swizzle == "none" or period == 1 or len(sizes) == 1:
        granule = 0
    sizes[-1] += arranged.pad
    if arranged.slots:
        sizes.insert(0, arranged.slots)
    ir = memref(tuple(sizes), buffer.element, f", {_SPACES[buffer.space]} : i32")
    with ctx.builder.at_entry(), ctx.at_place(span):
        told = ".".join((*ctx.path, name))
        (ssa,) = ctx.emit("memref.alloc", (), (ir,), hints=(name,), extra=(("motif.name", told), *extra))
    if buffer.space == "workgroup":
        _count(ctx, buffer.element.size * prod(sizes), span)
    return replace(buffer, ssa=ssa.name, ir=ir, layout=Layout(granule=granule, period=period, pad=arranged.pad))


def _count(ctx: Context, size: int, span: Span) -> None:
    """Count bytes of workgroup memory; SG-MEM at the memory that passes the target's limit."""
    before = ctx.builder.workgroup_bytes
    ctx.builder.workgroup_bytes += size
    if ctx.shared.ask(fits_memory, before) and not ctx.shared.ask(fits_memory, ctx.builder.workgroup_bytes):
        limit = ctx.shared.fact("workgroup_memory")
        message = f"workgroup memory up to here takes {ctx.builder.workgroup_bytes} bytes; the target has {limit}."
        ctx.report("SG-MEM", message, at=span, hint="Make it smaller, or use a narrower type.")


def _memory(ctx: Context, entry: Memory) -> Buffer | None:
    element = type_of(ctx, entry.type)
    extents = []
    for axis in entry.shape:
        number = integer(ctx, axis.extent, "the shape of memory is static")
        if number is not None and number < 1:
            ctx.report(
                "SG-SHAPE", f"an extent of memory is at least 1; `{axis.extent.text}` is {number}.", at=axis.extent.span
            )
            number = None
        extents.append(None if number is None else Extent(Linear(number), number, str(number)))
    axes = tuple(a.name.text for a in entry.shape)
    held, ctx.in_schedule = ctx.in_schedule, True
    fast = fastest(ctx, entry.schedule.contiguous, axes)
    ctx.in_schedule = held
    arranged = arrangement(ctx, entry.schedule)
    if ctx.serial:
        fast = len(axes) - 1
    known = [e for e in extents if e is not None]
    if element is None or len(known) != len(axes) or not axes or entry.space not in _SPACES:
        return None
    order = (*(i for i in range(len(axes)) if i != fast), fast)
    plain = Buffer(
        entry.name.text, "", element, axes, tuple(known), order, "", entry.space, "readwrite", None, element.size
    )
    return allocate(ctx, plain, arranged, entry.name.text, entry.span)


def check_memory_read(ctx: Context, made: Mapping[str, Buffer]) -> None:
    """SG-MEM for memory that is never read (told when everything else could be bound)."""
    if ctx.shared.failed(ctx.spec):
        return
    for entry in ctx.spec.memory:
        buffer = made.get(entry.name.text)
        if buffer is not None and "load" not in buffer.touched:
            message = f"`{entry.name.text}` is never read."
            ctx.report("SG-MEM", message, at=entry.name.span, hint="Remove it and the stores to it.")
