"""Where elements lie: the subscripts of memory for those of the author, and which elements are neighbours."""

from __future__ import annotations

from math import gcd

from specgen.binding import forms
from specgen.binding.context import Context
from specgen.binding.convert import static_typed
from specgen.binding.instance import Operand
from specgen.binding.linear import Linear
from specgen.binding.types import INDEX
from specgen.binding.values import Buffer, Value

SWIZZLES = ("none", "xor")
GRANULE_BYTES = 16
"""What a swizzle keeps together: the widest access of a lane."""
PERIOD = 8
"""Rows after which a swizzle repeats: 8 granules of 16 bytes pass all 32 banks of 4 bytes."""


def swizzle(element_bytes: int, row: int) -> tuple[int, int]:
    """Elements of a granule and period for rows of `row` elements; a period of 1 changes nothing."""
    granule = max(GRANULE_BYTES // element_bytes, 1)
    granules = row // granule if row % granule == 0 else 1
    return granule, min(PERIOD, granules & -granules)


def place(ctx: Context, buffer: Buffer, indices: list[Value]) -> tuple[Operand, ...]:
    """The memory and its subscripts for one index an axis of the author."""
    layout = buffer.layout
    if layout.strides:
        at = _flat(ctx, layout.strides, layout.offset, indices)
        return Operand(buffer.ssa, buffer.ir), ctx.operand(at)
    subscripts = [indices[axis] for axis in buffer.order]
    if layout.granule and len(subscripts) > 1:
        subscripts[-1] = _swizzled(ctx, subscripts[-1], subscripts[-2], layout.granule, layout.period)
    if layout.slot is not None:
        subscripts.insert(0, layout.slot)
    return Operand(buffer.ssa, buffer.ir), *(ctx.operand(s) for s in subscripts)


def neighbours(buffer: Buffer, axis: int, start: Value, count: int) -> int:
    """How many elements along an axis lie side by side: ranges of `count` from `start` on fall into such pieces."""
    layout = buffer.layout
    if layout.strides:
        return count if layout.strides[axis].static == 1 else 1
    if axis != buffer.order[-1]:
        return 1
    return gcd(layout.granule, multiple(start), count) if layout.granule else count


def claimed(buffer: Buffer, count: int) -> tuple[tuple[str, int], ...]:
    """What is to be said of the alignment of a piece of a swizzled row, which back ends cannot see."""
    if not buffer.layout.granule or count & (count - 1):
        return ()
    bytes_ = count * buffer.element.size
    whole = all(n % bytes_ == 0 for n in (GRANULE_BYTES, buffer.layout.pad * buffer.element.size))
    return (("motif.align", bytes_),) if whole and bytes_ > buffer.element.size else ()


def multiple(value: Value) -> int:
    """A number that divides the value whatever its atoms are; 0 for 0."""
    if value.static is not None:
        return abs(int(value.static))  # type: ignore[arg-type]
    return 1 if value.lin is None else divisor(value.lin)


def divisor(form: Linear) -> int:
    """The greatest number that certainly divides a form; 0 for 0."""
    parts = (form.constant, *(c for _, c in form.terms))
    return gcd(*(int(p) for p in parts)) if all(p == int(p) for p in parts) else 1


def times(ctx: Context, value: Value, factor: int) -> Value:
    """`value * factor` as `index`."""
    if factor == 1:
        return value
    if value.static is not None or factor == 0:
        return static_typed(INDEX, int(value.static or 0) * factor)  # type: ignore[arg-type]
    lin = value.lin.scaled(factor) if value.lin is not None else None
    return ctx.op("arith.muli", INDEX, value, static_typed(INDEX, factor), lin=lin)


def divided(ctx: Context, value: Value, by: int) -> Value:
    """`value // by` of an index that is not negative."""
    if by == 1:
        return value
    if value.static is not None:
        return static_typed(INDEX, int(value.static) // by)  # type: ignore[arg-type]
    lin = forms.quotient(ctx.facts, value.lin, Linear(by)) if value.lin is not None else None
    return ctx.op("arith.divui", INDEX, value, static_typed(INDEX, by), lin=lin)


def rest(ctx: Context, value: Value, by: int) -> Value:
    """`value % by` of an index that is not negative."""
    if value.static is not None or by == 1:
        return static_typed(INDEX, int(value.static or 0) % by)  # type: ignore[arg-type]
    if value.lin is not None and ctx.facts.nonnegative(Linear(by - 1) - value.lin):
        return value
    lin = forms.remainder(ctx.facts, value.lin, Linear(by)) if value.lin is not None else None
    return ctx.op("arith.remui", INDEX, value, static_typed(INDEX, by), lin=lin)


def _swizzled(ctx: Context, fast: Value, row: Value, granule: int, period: int) -> Value:
    """The element of a row that holds what the author calls `fast`: granules are exchanged by exclusive or."""
    mask = times(ctx, rest(ctx, row, period), granule)
    if mask.static == 0:
        return fast
    if mask.static is not None and fast.static is not None:
        return static_typed(INDEX, int(fast.static) ^ int(mask.static))  # type: ignore[arg-type]
    return ctx.op("arith.xori", INDEX, fast, mask)


def _flat(ctx: Context, strides: tuple[Value, ...], first: Value | None, indices: list[Value]) -> Value:
    from specgen.binding.subscripts import added

    total = first if first is not None else static_typed(INDEX, 0)
    for index, stride in zip(indices, strides, strict=True):
        if stride.static is not None:
            step = times(ctx, index, int(stride.static))  # type: ignore[arg-type]
        else:
            step = ctx.op("arith.muli", INDEX, index, stride)
        total = added(ctx, total, step)
    return total
