"""Rows of structured control flow: blocks, branches and phis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.ir import locations
from specgen.lowering.amdgpu import debug, pinning, straight
from specgen.lowering.amdgpu.builder import Phi
from specgen.lowering.amdgpu.context import LoopMark, Lowering, Row, word
from specgen.lowering.amdgpu.types import Value


def _end(block: Block) -> Operation:
    end = block.last_op
    assert end is not None
    return end


def _as(low: Lowering, values: Sequence[SSAValue], like: Sequence[SSAValue]) -> list[Value]:
    """Values in the widths of the values that they become."""
    return [
        low.sized(v, low.index_bits(t)) if low.type_of(t) != low.values[v].type else low.values[v]
        for v, t in zip(values, like, strict=True)
    ]


def _phis(low: Lowering, values: Sequence[SSAValue]) -> list[Phi]:
    phis = [low.b.phi(low.type_of(v)) for v in values]
    for value, phi in zip(values, phis, strict=True):
        low.values[value] = phi.result
    return phis


def _loop_mark(low: Lowering, op: Operation) -> int:
    """A discriminator for the branch that closes a loop."""
    mark = LoopMark(
        len(low.loops) + 1,
        locations.text(op),
        word(op.attributes.get("motif.loop")),
        word(op.attributes.get("motif.form")),
    )
    low.loops.append(mark)
    return mark.discriminator


def _for(low: Lowering, op: Operation) -> None:
    """A rotated loop: the test for an empty range comes once, before it; the closing branch carries the loop's mark."""
    assert isinstance(op, scf.ForOp)
    b, place, mark = low.b, debug.place_of(op), _loop_mark(low, op)
    body = op.body.block
    counter, *carried = body.args
    step = low.facts.exact(op.step, op)
    bits = _counter_bits(low, op, step)
    begin, end = low.sized(op.lb, bits), low.sized(op.ub, bits)
    head, after = b.new_block(), b.new_block()
    first = _as(low, op.iter_args, carried)
    initial = (b.block, _as(low, op.iter_args, op.results))
    runs = low.facts.trip_range(op).low > 0
    pinned = pinning.before(low, body)
    if runs:
        b.jump(head)
    else:
        b.branch(b.compare("icmp slt", begin, end), head, after)
    entry = b.block
    b.start(head)
    number = b.phi(begin.type)
    phis = _phis(low, carried)
    for phi, value in zip([number, *phis], [begin, *first], strict=True):
        phi.incoming.append((value.ref, entry))
    pinning.enter(low, pinned)
    # Behind the last phi: the counter's values may be narrower than the sum that ends the loop.
    low.define(counter, number.result)
    pinning.opened(low, pinned, entry)
    held = straight.enter(low, op)
    low.loop_depth += 1
    low.run_block(body)
    low.loop_depth -= 1
    straight.leave(low, held)
    b.place(place, mark)
    following = b.binary("add nsw", number.result, low.sized(op.step, bits))
    again = b.compare("icmp slt", following, end)
    ends = list(_end(body).operands)
    closing = _as(low, ends, carried)
    results = _as(low, ends, op.results)
    b.incoming([number, *phis], [following, *closing])
    pinning.leave(low, pinned)
    b.branch(again, head, after, _no_transform(low))
    last = b.block
    b.place(place)
    b.start(after)
    outs = _phis(low, op.results)
    for out, value, start in zip(outs, results, initial[1], strict=True):
        out.incoming.append((value.ref, last))
        if not runs:
            out.incoming.append((start.ref, initial[0]))


def _counter_bits(low: Lowering, op: scf.ForOp, step: int | None) -> int:
    """32 when the counter, both bounds and the value after the last round fit."""
    top = low.range(op.ub, op).high + (step or 2**31)
    fits = low.index_bits(op.lb) == 32 and low.index_bits(op.ub) == 32 and top < 2**31
    return 32 if fits else 64


def _no_transform(low: Lowering) -> str:
    """Metadata that keeps LLVM from unrolling: a loop that did not ask stays as it is."""
    node = low.b.module.metadata.node
    off = node('!{!"llvm.loop.unroll.disable"}')
    number = len(low.b.module.metadata.lines)
    return f", !llvm.loop {node(f'!{{!{number}, {off}}}', distinct=True)}"


def _if(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    if straight.is_guarded_read(low, op):
        straight.guarded_read(low, op)
        return
    if straight.is_private(low, op):
        straight.private(low, op)
        return
    b, place = low.b, debug.place_of(op)
    yes, after = b.new_block(), b.new_block()
    has_else = bool(op.false_region.blocks)
    no = b.new_block() if has_else else after
    b.branch(low.value(op.cond), yes, no)
    results = op.results
    incoming: list[tuple[str, list[Value]]] = []
    for label, region in ((yes, op.true_region), (no, op.false_region)):
        if not region.blocks:
            continue
        b.start(label)
        low.run_block(region.block)
        b.place(place)
        values = _as(low, _end(region.block).operands, results)
        b.jump(after)
        incoming.append((b.block, values))
    b.start(after)
    for number, phi in enumerate(_phis(low, results)):
        phi.incoming += [(values[number].ref, label) for label, values in incoming]


def _while(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    b, place, mark = low.b, debug.place_of(op), _loop_mark(low, op)
    before, inside = op.before_region.block, op.after_region.block
    head, body, after = b.new_block(), b.new_block(), b.new_block()
    first = _as(low, op.arguments, before.args)
    b.jump(head)
    entry = b.block
    b.start(head)
    phis = _phis(low, before.args)
    for phi, value in zip(phis, first, strict=True):
        phi.incoming.append((value.ref, entry))
    low.loop_depth += 1
    low.run_block(before)
    condition = _end(before)
    assert isinstance(condition, scf.ConditionOp)
    passed = list(condition.args)
    b.place(place)
    for argument, value in zip(inside.args, _as(low, passed, inside.args), strict=True):
        low.values[argument] = value
    for result, value in zip(op.results, _as(low, passed, op.results), strict=True):
        low.values[result] = value
    b.branch(low.value(condition.condition), body, after)
    b.start(body)
    low.run_block(inside)
    low.loop_depth -= 1
    b.place(place)
    closing = _as(low, _end(inside).operands, before.args)
    b.place(place, mark)
    b.incoming(phis, closing)
    b.effect(f"br label %{head}", _no_transform(low))
    b.place(place)
    b.start(after)


def _return(low: Lowering, op: Operation) -> None:
    low.b.effect("ret void")


ROWS: dict[str, Row] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "func.return": _return,
}
