"""The launch: sizes, counts, and the ids that they declare."""

from __future__ import annotations

from math import prod

from specgen.binding import asked, convert
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import expression, integer
from specgen.binding.formula import substitute
from specgen.binding.knobs import static_environment
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.types import INDEX
from specgen.binding.values import (
    SUBGROUP,
    UNIFORM,
    VARYING,
    Level,
    Name,
    Unknown,
    Value,
)
from specgen.diagnostics import Span
from specgen.model import Axis


def launch(ctx: Context) -> tuple[tuple[int, int, int], tuple[str, str, str]] | None:
    """Declare the launch ids; sizes and count formulas, x first."""
    found = ctx.spec.launch
    if ctx.spec.lost is not None and (found is None or not found.workgroup_size):
        ctx.nameless = True
        return None
    if found is None:
        ctx.report(
            "SG-LAUNCH",
            "a kernel says its `launch`.",
            at=ctx.spec.name.span,
            hint="Add `launch: {workgroup_size: {lane: 32}}`.",
        )
        return None
    if found.band is not None:
        ctx.report("SG-UNSUPPORTED", "not supported yet: the schedule key `band`.", at=found.band.span)
    sizes = [_size(ctx, axis) for axis in found.workgroup_size]
    known = [s for s in sizes if s is not None]
    if len(known) != len(sizes):
        for axis in (*found.workgroup_size, *found.workgroups):
            declare(ctx, Name(axis.name.text, "id", axis.name.span, UNKNOWN))
        return None
    ctx.sizes = tuple((a.name.text, n) for a, n in zip(found.workgroup_size, known, strict=True))
    _check_size(ctx, known, found.span)
    for dim, (axis, size) in enumerate(zip(found.workgroup_size, known, strict=True)):
        _declare_id(ctx, axis, "gpu.thread_id", dim, size - 1, None, _item_level(ctx, dim, known))
    ctx.linear_ids = _linear_ids(ctx, known)
    formulas = [_count(ctx, axis, dim) for dim, axis in enumerate(found.workgroups)]
    if any(f is None for f in formulas):
        return None
    x, y, z = (*known, 1, 1, 1)[:3]
    a, b, c = (*(f or "1" for f in formulas), "1", "1", "1")[:3]
    return (x, y, z), (a, b, c)


def _size(ctx: Context, axis: Axis) -> int | None:
    held, ctx.static_code = ctx.static_code, "SG-LAUNCH"
    number = integer(ctx, axis.extent, "a workgroup size is static")
    ctx.static_code = held
    if number is None:
        return None
    if number < 1:
        ctx.report("SG-LAUNCH", f"the size of `{axis.name.text}` is at least 1, not {number}.", at=axis.extent.span)
        return None
    return number


def _check_size(ctx: Context, sizes: list[int], span: Span) -> None:
    total = prod(sizes)
    if not ctx.shared.ask(asked.fits_workgroup, total):
        name, limit = ctx.shared.target.name, ctx.shared.fact("max_workgroup_size")
        ctx.report("SG-LAUNCH", f"a workgroup of {total} work-items is over the limit of `{name}` ({limit}).", at=span)


def _item_level(ctx: Context, dim: int, sizes: list[int]) -> Level:
    """The first size moves fastest: when whole subgroups fill it, the others are the same in a subgroup."""
    if sizes[dim] == 1:
        return UNIFORM
    return SUBGROUP if dim > 0 and ctx.shared.ask(asked.whole_subgroups, prod(sizes[:dim])) else VARYING


def _linear_ids(ctx: Context, sizes: list[int]) -> tuple[Linear, ...]:
    """The number of a work-item, and its first id where rows are made of whole subgroups."""
    forms, stride = Linear(0), 1
    found: list[Linear] = []
    for (name, _), size in zip(ctx.sizes, sizes, strict=True):
        entry = ctx.scope.find(name)
        ctx.scope.used.discard(name)
        if entry is None or not isinstance(entry.value, Value) or entry.value.lin is None:
            return ()
        forms, stride = forms + entry.value.lin.scaled(stride), stride * size
        found.append(forms)
    rows = found[:1] if len(found) > 1 and ctx.shared.ask(asked.whole_subgroups, sizes[0]) else []
    return (*rows, *found[-1:])


def _declare_id(
    ctx: Context, axis: Axis, op: str, dim: int, top: int, count: Linear | None, level: Level, *, declared: bool = True
) -> None:
    top = max(top, 0)
    lin = ctx.facts.atom(0, top, declared=declared)
    if count is not None:
        ctx.facts.always(count.plus(-1) - lin)
    with ctx.builder.at_entry(), ctx.at_place(axis.name.span):
        attributes = (("dimension", "xyz"[dim]),)
        extra = (("motif.range", (0, top)),)
        value = ctx.op(op, INDEX, hint=axis.name.text, attributes=attributes, extra=extra, level=level, lin=lin)
    declare(ctx, Name(axis.name.text, "id", axis.name.span, value))


def _count(ctx: Context, axis: Axis, dim: int) -> str | None:
    """The formula of a workgroup count; its operations are thrown away, its bounds become facts of the id."""
    ctx.builder.open()
    found = expression(ctx, axis.extent)
    ctx.builder.close()
    made = convert.typed(ctx, axis.extent.tree, found) if isinstance(found, Value) else found
    if isinstance(made, Unknown) or made.lin is None:
        if isinstance(made, Value):
            ctx.report(
                "SG-LAUNCH",
                f"a workgroup count is an integer; `{axis.extent.text}` is `{made.type}`.",
                at=axis.extent.span,
            )
        declare(ctx, Name(axis.name.text, "id", axis.name.span, UNKNOWN))
        return None
    lo, hi = ctx.facts.interval(made.lin)
    limit = hi if ctx.shared.ask(asked.fits_grid, dim, hi) else ctx.shared.fact("max_workgroups")[dim]
    if hi < 1 and made.is_static:
        ctx.report("SG-LAUNCH", f"the count of `{axis.name.text}` is at least 1, not {hi}.", at=axis.extent.span)
    elif lo > limit:
        ctx.report(
            "SG-LAUNCH", f"{lo} workgroups along `{axis.name.text}` are over the limit {limit}.", at=axis.extent.span
        )
    declared = ctx.facts.declared(made.lin) or made.is_static
    _declare_id(ctx, axis, "gpu.block_id", dim, limit - 1, made.lin, UNIFORM, declared=declared)
    return substitute(axis.extent, static_environment(ctx))
