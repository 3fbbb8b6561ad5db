"""Staged views: the workgroup copies a region into workgroup memory together, between two barriers.

The copy is made of chunks, at most 16 bytes along the fastest axis of the buffer. Work-item `n` of `N` copies chunks
`n`, `n + N`, ... in the order of the buffer, first loading and then storing, so that loads are in flight together and
a pipelined loop may run them ahead. A barrier publishes the copy; one at the end of the block gives the memory free,
unless nothing can overwrite it: no loop is around, or the copies rotate. With `n >= 2` copies that take turns
in each iteration of a loop, a copy is overwritten `n` iterations later, and in between every work-item has passed the
publishing barrier of the next iteration, thus ended its reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, prod

from specgen.binding import bounds, convert, edges, layouts, memories, operators
from specgen.binding.collectives import workgroup_total
from specgen.binding.context import Context, Control, Demand, Live
from specgen.binding.convert import literal, static_typed
from specgen.binding.instance import Operand
from specgen.binding.memory import to_memory
from specgen.binding.subscripts import added
from specgen.binding.types import BOOL, INDEX
from specgen.binding.values import VARYING, Buffer, Part, Unknown, Value
from specgen.diagnostics import Span

STAGED = (("motif.staged", True),)
CHUNK_BYTES = 16
"""The widest access of a lane."""
BATCH_BYTES = 128
"""What a work-item loads before it stores: 32 registers."""


@dataclass(frozen=True)
class Staged:
    """Where and how a view is staged."""

    arranged: memories.Arrangement
    rotates: bool
    span: Span


def stage(ctx: Context, name: str, view: Buffer, wanted: Staged) -> Buffer | None:
    """Copy a view into workgroup memory; the memory as a buffer with the view's axes. None after a diagnostic."""
    base = view.base
    assert base is not None
    if base.space != "global":
        message = f"`{base.name}` is {base.space} memory; a staged view copies a buffer."
        ctx.report("SG-VIEW", message, at=wanted.span, hint="Read it in place: `place: direct`.")
        return None
    if base.access == "write":
        message = f"`{base.name}` is declared `write` and is read here."
        ctx.report("SG-ACCESS", message, at=wanted.span, hint="Declare it `readwrite`.")
        return None
    if not ctx.sizes:
        return None
    _demand(ctx, name, view, wanted.span)
    ranges = [axis for axis, part in enumerate(view.window) if part.count is not None]
    order = tuple(ranges.index(axis) for axis in base.order if axis in ranges)
    plain = Buffer(
        name, "", view.element, view.axes, view.extents, order, "", "workgroup", "read", _declared(ctx, view),
        layouts.GRANULE_BYTES, () if view.outside is not None else base.promises, root=base.storage,
    )  # fmt: skip
    memory = memories.allocate(ctx, plain, wanted.arranged, name, wanted.span, STAGED)
    if wanted.arranged.slots:
        memory = replace(memory, layout=replace(memory.layout, slot=_slot(ctx, wanted.arranged.slots)))
    if base.access != "read":
        barrier(ctx, everywhere=True)
    _Copy(ctx, view, base, memory).emit()
    needs = ctx.loops > 0 and not wanted.rotates
    ctx.live.append(Live(name, base.storage, needs, base.access != "read", wanted.span))
    return memory


def barrier(ctx: Context, *, everywhere: bool = False) -> None:
    """A barrier that the compiler places; `everywhere` it orders buffers too."""
    extra = (("motif.scope", "global"), *STAGED) if everywhere else STAGED
    ctx.emit("gpu.barrier", (), (), extra=extra)


def release(ctx: Context, first: int) -> None:
    """End the staged views from number `first` on, with a barrier where a loop would overwrite one."""
    ended = ctx.live[first:]
    del ctx.live[first:]
    held = next((v for v in ended if v.released), None)
    if held is not None:
        with ctx.at_place(held.span):
            barrier(ctx)


def _demand(ctx: Context, name: str, view: Buffer, span: Span) -> None:
    """All of the workgroup meets at the copy, and names one region."""
    with ctx.at_place(span):
        ctx.demand(0, f"copy of `{name}`")
    values = [(ctx.expr.text_of(p.node), ctx.expr.span_of(p.node), p.start) for p in view.window if p.start is not None]
    if view.outside is not None:
        values.append(("outside", span, view.outside))
    for text, at, value in values:
        ctx.demands.append(Demand(0, "staged region", at, (Control(value.level, text, at),)))


def _declared(ctx: Context, view: Buffer) -> tuple[int, int] | None:
    """Bounds of the elements: those of the buffer, with what counts beyond it."""
    base = view.base
    assert base is not None
    if view.outside is None or base.declared is None:
        return base.declared
    lo, hi = ctx.interval(view.outside)
    return min(lo, base.declared[0]), max(hi, base.declared[1])


def _slot(ctx: Context, count: int) -> Value:
    """The number of the iteration modulo the copies."""
    rotation = ctx.rotation
    assert rotation is not None
    rotation.used = True
    at = rotation.counter
    if rotation.first.static != 0:
        lin = at.lin - rotation.first.lin if at.lin is not None and rotation.first.lin is not None else None
        at = ctx.op("arith.subi", INDEX, at, rotation.first, lin=lin)
    return layouts.rest(ctx, layouts.divided(ctx, at, rotation.step), count)


class _Copy:
    """One copy: chunks of `width` elements, of which each work-item takes one a round."""

    def __init__(self, ctx: Context, view: Buffer, base: Buffer, memory: Buffer) -> None:
        self.ctx, self.view, self.base, self.memory = ctx, view, base, memory
        self.items = workgroup_total(ctx)
        self.axes = [axis for axis in base.order if view.window[axis].count is not None]
        counts = [view.window[axis].count or 1 for axis in self.axes]
        self.width = self._width(counts)
        self.radices = [*counts[:-1], counts[-1] // self.width]
        self.chunks = prod(self.radices)

    def _width(self, counts: list[int]) -> int:
        """Elements of a chunk: whole chunks in a row, words of the buffer, and something to do for all work-items."""
        size, fast = self.base.element.size, self.axes[-1]
        start = self.view.window[fast].start
        assert start is not None
        width = gcd(CHUNK_BYTES // size if size <= CHUNK_BYTES else 1, counts[-1])
        while width > 1 and not self._suits(width, fast, start, prod(counts)):
            width //= 2
        return width

    def _suits(self, width: int, fast: int, start: Value, total: int) -> bool:
        size = self.base.element.size
        if layouts.neighbours(self.base, fast, start, width) != width or total < width * self.items:
            return False
        return gcd(self.base.align, self._multiple(fast, start, width) * size) >= min(width * size, 4)

    def _multiple(self, fast: int, start: Value, width: int) -> int:
        """What divides the number of the first element of every chunk in its memory."""
        layout = self.base.layout
        if layout.strides:
            others = (layouts.multiple(s) for axis, s in enumerate(layout.strides) if axis != fast)
            first = layouts.multiple(layout.offset) if layout.offset is not None else 0
            return gcd(width, layouts.multiple(start), first, *others)
        rows = [layouts.divisor(self.base.extents[fast].lin)] if len(self.base.axes) > 1 else []
        return gcd(width, layouts.multiple(start), *rows)

    def emit(self) -> None:
        """Loads, then stores, in batches."""
        batch = max(1, BATCH_BYTES // (self.width * self.base.element.size))
        rounds = range(-(-self.chunks // self.items))
        for first in range(0, len(rounds), batch):
            chunks = [self._round(number) for number in rounds[first : first + batch]]
            loaded = [(places, mask, self._load(places, mask)) for places, mask in chunks]
            for places, mask, value in loaded:
                self._store(places, mask, value)

    def _round(self, number: int) -> tuple[list[Value], Value | None]:
        """Where in the view the chunk of this work-item starts, an index for each of `axes`, and whether it has one.

        Known before the loop: in the entry block.
        """
        ctx, first = self.ctx, number * self.items
        with ctx.builder.at_entry():
            item = _item(ctx)
            digits = list(_digits(ctx, item, first, self.items, self.radices))
            digits[-1] = layouts.times(ctx, digits[-1], self.width)
            mask = None
            if first + self.items > self.chunks:
                mask = operators.compare_values(ctx, "<", item, static_typed(INDEX, self.chunks - first))
        return digits, mask

    def _load(self, places: list[Value], mask: Value | None) -> Operand:
        ctx, base, window = self.ctx, self.base, self.view.window
        indices = [p.start or static_typed(INDEX, 0) for p in window]
        for axis, place in zip(self.axes, places, strict=True):
            indices[axis] = added(ctx, indices[axis], place)
        inside = self._inside(indices, mask)
        where = layouts.place(ctx, base, indices)
        if inside is None and self.width == 1:
            (made,) = ctx.emit("memref.load", where, (base.element.memory,))
            return made
        type_ = f"vector<{self.width}x{base.element.memory}>"
        if inside is None:
            (made,) = ctx.emit("vector.load", where, (type_,))
            return made
        fill = convert.spread(ctx, self._fill(), self.width)
        (made,) = ctx.emit("vector.maskedload", (*where, ctx.operand(inside), ctx.operand(fill)), (type_,))
        return made

    def _fill(self) -> Value:
        """What elements beyond the buffer count as, in the form of memory."""
        ctx, element, outside = self.ctx, self.base.element, self.view.outside
        zero = static_typed(element, False if element is BOOL else 0.0 if element.is_float else 0)
        if outside is None:
            return to_memory(ctx, zero)
        made = literal(ctx, None, outside, element) if outside.type.is_untyped else outside
        if isinstance(made, Unknown):
            return to_memory(ctx, zero)
        if made.type != element:
            ctx.report("SG-TYPE", f"`outside` is `{made.type}`; `{self.base.name}` holds `{element}`.")
            return to_memory(ctx, zero)
        return to_memory(ctx, made)

    def _inside(self, indices: list[Value], mask: Value | None) -> Value | None:
        """The elements of a chunk that are read; None for all."""
        ctx, base, fast = self.ctx, self.base, self.axes[-1]
        tests = [] if mask is None else [mask]
        vector = None
        for axis, (part, index) in enumerate(zip(self.view.window, indices, strict=True)):
            if self._proven(axis, part):
                continue
            even = gcd(layouts.divisor(base.extents[axis].lin), layouts.multiple(index), self.width)
            if axis == fast and even != self.width:
                vector = edges.inside_mask(ctx, base, axis, index, self.width)
            else:
                tests.append(edges.inside(ctx, base, axis, index))
        whole = None
        for test in (t for t in tests if t.static is not True):
            whole = test if whole is None else operators.conjunction(ctx, "and", whole, test)
        if whole is None:
            return vector
        spread = convert.spread(ctx, whole, self.width)
        return spread if vector is None else operators.conjunction(ctx, "and", spread, vector)

    def _proven(self, axis: int, part: Part) -> bool:
        if self.view.outside is None:
            return True
        assert part.start is not None
        return bounds.proven(self.ctx, self.base, axis, part.start, part.count or 1)

    def _store(self, places: list[Value], mask: Value | None, value: Operand) -> None:
        ctx, memory = self.ctx, self.memory
        by_axis = dict(zip(memory.order, places, strict=True))
        where = layouts.place(ctx, memory, [by_axis[axis] for axis in range(len(memory.axes))])
        extra = (*layouts.claimed(memory, self.width), *STAGED)
        if not value.type.startswith("vector"):
            ctx.emit("memref.store", (value, *where), (), extra=extra)
        elif mask is None:
            ctx.emit("vector.store", (value, *where), (), extra=extra)
        else:
            taken = ctx.operand(convert.spread(ctx, mask, self.width))
            ctx.emit("vector.maskedstore", (*where, taken, value), (), extra=extra)


def _item(ctx: Context) -> Value:
    """The number of the work-item in its workgroup, x fastest; computed once, in the entry block."""
    if ctx.builder.item is not None:
        return ctx.builder.item
    total, stride = static_typed(INDEX, 0), 1
    for dim, (name, size) in enumerate(ctx.sizes):
        if size > 1:
            own = ctx.op(
                "gpu.thread_id", INDEX, hint=name, attributes=(("dimension", "xyz"[dim]),),
                extra=(("motif.range", (0, size - 1)),), level=VARYING, lin=ctx.facts.atom(0, size - 1, declared=True),
            )  # fmt: skip
            total = added(ctx, total, layouts.times(ctx, own, stride))
        stride *= size
    ctx.builder.item = total
    return total


def _digits(ctx: Context, item: Value, first: int, items: int, radices: list[int]) -> Iterator[Value]:
    """The digits of `first + item` in mixed radix, slowest first; constants stay outermost where digits do not carry.

    `item` is in `[0, items)`, `first` a multiple of `items`.
    """
    *slower, radix = radices
    if not slower:
        yield edges.offset(ctx, item, first)
    elif radix % items == 0:
        yield from _digits(ctx, static_typed(INDEX, 0), first // radix, 1, slower)
        yield edges.offset(ctx, item, first % radix)
    elif items % radix == 0:
        yield from _digits(ctx, layouts.divided(ctx, item, radix), first // radix, items // radix, slower)
        yield layouts.rest(ctx, item, radix)
    else:
        at = edges.offset(ctx, item, first)
        yield from _digits(ctx, layouts.divided(ctx, at, radix), 0, -(-(first + items) // radix), slower)
        yield layouts.rest(ctx, at, radix)
