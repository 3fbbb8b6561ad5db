"""Barriers: complete, or split into arrival and wait with private work in between.

The block under `overlap` may run while other work-items have not arrived yet, so nothing in it may be seen by them
or wait for them. It is bound first and judged by its operations, whatever form the barrier then takes: a spec that
one target accepts is accepted by the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specgen.binding.builder import Block
from specgen.binding.context import Context
from specgen.binding.instance import Attribute, Op
from specgen.binding.loops import word
from specgen.diagnostics import Note, Span
from specgen.model import Barrier
from specgen.schema.messages import first_line

FORMS = ("complete", "split", "auto")

_READS = ("memref.load", "vector.load", "vector.maskedload")
_WRITES = ("memref.store", "vector.store", "vector.maskedstore")
_SYNC = ("gpu.barrier", "motif.arrive", "motif.wait")
_COLLECTIVE = ("motif.subgroup_", "motif.workgroup_")
_PRIVATE = ", 5 : i32>"
_WORKGROUP = ", 3 : i32>"


def barrier(ctx: Context, statement: Barrier) -> None:
    """`barrier: workgroup | global`, its private work and its form."""
    form = _form(ctx, statement)
    with ctx.at_place(statement.span):
        ctx.demand(0, "barrier")
    work = _overlap(ctx, statement)
    extra: tuple[tuple[str, Attribute], ...] = ()
    if statement.scope == "global":
        extra = (("motif.scope", "global"),)
    if form == "split":
        with ctx.at_place(statement.span):
            token = ctx.emit("motif.arrive", (), ("index",), hints=("phase",), extra=extra)
        ctx.builder.splice(work)
        with ctx.at_place(statement.span):
            ctx.emit("motif.wait", token, (), extra=extra)
        return
    with ctx.at_place(statement.span):
        ctx.emit("gpu.barrier", (), (), extra=extra)
    ctx.builder.splice(work)


def _form(ctx: Context, statement: Barrier) -> str:
    """complete or split; `auto` (the default) splits where the target can and there is work to do meanwhile."""
    form: str | None = "auto"
    if statement.form is not None:
        held, ctx.in_schedule = ctx.in_schedule, True
        form = word(ctx, statement.form, "form", FORMS)
        ctx.in_schedule = held
    if ctx.serial or form is None:
        return "complete"
    if form != "auto":
        return form
    if not statement.overlap:
        return "complete"
    return "split" if ctx.shared.fact("split_barrier") else "complete"


def _overlap(ctx: Context, statement: Barrier) -> Block:
    """The operations of the block under `overlap`, after SG-COLL for each that is not private."""
    from specgen.binding.statements import block

    ctx.builder.open()
    block(ctx, statement.overlap or ())
    work = ctx.builder.close()
    told: set[tuple[Span, str]] = set()
    for op in _walk(work.ops):
        fault = _fault(op)
        if fault is not None and (op.span, fault[0]) not in told:
            told.add((op.span, fault[0]))
            what, hint = fault
            message = f"{what} between the arrival at a barrier and its wait, where work is private."
            notes = (Note(first_line(statement.span), "the barrier"),)
            ctx.report("SG-COLL", message, at=op.span, hint=hint, notes=notes)
    return work


def _walk(ops: Iterable[Op]) -> Iterator[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from _walk(region.ops)


def _fault(op: Op) -> tuple[str, str] | None:
    """What an operation does that others see or wait for, and where it could go; None for private work."""
    if op.name in _SYNC:
        return "a second barrier stands", "Put it before or behind this one."
    if op.name.startswith(_COLLECTIVE):
        return "a collective stands", "Move it before the barrier, or behind it."
    if op.name == "memref.atomic_rmw":
        memory, done = op.operands[1], "changed by `atomic`"
    elif op.name in _READS:
        memory, done = op.operands[0], "read"
    elif op.name in _WRITES:
        memory = next(o for o in op.operands if o.type.startswith("memref"))
        done = "stored"
    else:
        return None
    if memory.type.endswith(_PRIVATE):
        return None
    kind = "workgroup memory" if memory.type.endswith(_WORKGROUP) else "the buffer"
    hint = "Read it into a `let` before the barrier." if done == "read" else "Move it before the barrier, or behind it."
    return f"{kind} `{memory.name}` is {done}", hint
