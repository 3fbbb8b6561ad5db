"""What runs under a condition: masks of vectors, blocks that are bound apart, the `scf.if` that joins two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from specgen.binding import operators
from specgen.binding.builder import Attributes, Block
from specgen.binding.context import Context
from specgen.binding.instance import Region
from specgen.binding.linear import Linear
from specgen.binding.types import Vector
from specgen.binding.values import Value
from specgen.diagnostics import Span

T = TypeVar("T")


@contextmanager
def masked(ctx: Context, mask: Value) -> Iterator[None]:
    """Loads inside happen only for elements whose mask is true."""
    held = ctx.mask
    if held is not None and held.size == mask.size:
        mask = operators.conjunction(ctx, "and", held, mask)
    ctx.mask = mask
    try:
        yield
    finally:
        ctx.mask = held


def branch(
    ctx: Context, test: Value, side: bool, text: str, inside: Callable[[], T], span: Span | None = None
) -> tuple[Block, T]:
    """Bind something that runs only where `test` is `side`: its operations, and what `inside` returned.

    `text` and `span` are the condition as the author wrote it.
    """
    facts = ctx.facts
    facts.push(test.when_true if side else test.when_false)
    hidden = test.partial[0 if side else 1]
    facts.unlearned += hidden
    ctx.builder.open()
    try:
        with ctx.under(test.level, text, span or ctx.span):
            result = inside()
    finally:
        block = ctx.builder.close()
        facts.unlearned -= hidden
        facts.pop()
    return block, result


def empty(ctx: Context) -> Block:
    """A block without operations."""
    ctx.builder.open()
    return ctx.builder.close()


def reopened(ctx: Context, block: Block, emit: Callable[[], T]) -> T:
    """Emit more into a block that was closed."""
    ctx.builder.blocks.append(block)
    try:
        return emit()
    finally:
        ctx.builder.blocks.pop()


def if_op(
    ctx: Context,
    test: Value,
    blocks: tuple[Block, Block],
    pairs: list[tuple[Value, Value]],
    *,
    hints: tuple[str, ...],
    extra: Attributes = (),
) -> list[Value]:
    """An `scf.if` that yields one value of each pair; integer results are bounded by both sides."""
    regions = []
    for side, block in enumerate(blocks):

        def finish(side: int = side) -> None:
            operands = tuple(ctx.operand(pair[side]) for pair in pairs)
            ctx.emit("scf.yield", operands, ())

        if pairs or block.ops:
            reopened(ctx, block, finish)
        regions.append(Region((), tuple(block.ops)))
    made = ctx.emit(
        "scf.if",
        (ctx.operand(test),),
        tuple(a.type.ir for a, _ in pairs),
        hints=hints,
        extra=extra,
        regions=tuple(regions),
    )
    return [_merged(ctx, test, o.name, a, b) for o, (a, b) in zip(made, pairs, strict=True)]


def _merged(ctx: Context, test: Value, name: str, a: Value, b: Value) -> Value:
    lin: Linear | None = None
    interval = None
    if a.type.element.is_integer:
        (alo, ahi), (blo, bhi) = ctx.interval(a), ctx.interval(b)
        interval = min(alo, blo), max(ahi, bhi)
        if not isinstance(a.type, Vector):
            lin = ctx.facts.atom(*interval)
    return Value(a.type, name, level=test.level | a.level | b.level, lin=lin, interval=interval)
