"""Rows of structured control flow: `scf` maps one to one to structured SPIR-V."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.lowering.spirv.builder import Id, Instruction
from specgen.lowering.spirv.emitter import INT32, Emitter, Value, lane_count
from specgen.lowering.spirv.integers import Row

LOOP_MERGE = "OpLoopMerge"
SELECTION_MERGE = "OpSelectionMerge"


def lower_block(e: Emitter, block: Block) -> tuple[SSAValue, ...]:
    """Lower the ops of a block; the operands of its terminator."""
    from specgen.lowering.spirv.table import ROWS

    for op in block.ops:
        if op.name in ("scf.yield", "scf.condition", "func.return"):
            return tuple(op.operands)
        row = ROWS.get(op.name)
        if row is None:
            raise e.refuse(op, "no row in the SPIR-V table")
        if e.is_live(op):
            e.at(op)
            row(e, op)
    return ()


class _Phis:
    """The phis of values that several SSA values share: loop arguments or results of an `if`."""

    def __init__(self, e: Emitter, groups: Sequence[Sequence[SSAValue]]) -> None:
        self.e = e
        self.kinds = [_common_kind(e, group) for group in groups]
        self.made: list[list[tuple[Instruction, Id]]] = [
            [e.phi(kind) for _ in range(lane_count(group[0].type))]
            for kind, group in zip(self.kinds, groups, strict=True)
        ]

    def edge(self, values: Sequence[tuple[Id, ...]], block: Id) -> None:
        """Add the edge from `block`: scalars of each phi group in its kind."""
        for phis, ids in zip(self.made, values, strict=True):
            for (phi, _), scalar in zip(phis, ids, strict=True):
                phi.append(scalar, block)

    def fetch(self, values: Sequence[SSAValue]) -> list[tuple[Id, ...]]:
        """Scalars of values in the kinds of the phis, converted in the current block."""
        return [fetched(self.e, v, kind) for v, kind in zip(values, self.kinds, strict=True)]

    def bind(self, values: Sequence[SSAValue]) -> None:
        """Let values be the phis."""
        for value, kind, phis in zip(values, self.kinds, self.made, strict=True):
            self.e.values[value] = Value(kind, tuple(i for _, i in phis))


def fetched(e: Emitter, value: SSAValue, kind: str) -> tuple[Id, ...]:
    """The scalars of a value; integers in `kind`."""
    return e.get(value, kind) if kind in ("u32", "u64") else e.get(value)


def _common_kind(e: Emitter, group: Sequence[SSAValue]) -> str:
    kinds = {e.kind_of(v) for v in group}
    return "u64" if "u64" in kinds else kinds.pop()


def _counter_kind(e: Emitter, loop: scf.ForOp) -> str:
    """u32 when every value of the counter, also the one that ends the loop, fits in 32 signed bits."""
    low, high, step = (e.facts.range(v) for v in (loop.lb, loop.ub, loop.step))
    fits = low.low >= INT32[0] and max(high.high - 1, low.high) + step.high <= INT32[1]
    return "u32" if fits and e.kind_of(loop.body.block.args[0]) == "u32" else "u64"


def _for(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    body = op.body.block
    kind = _counter_kind(e, op)
    low, high, step = (e.scalar(v, kind) for v in (op.lb, op.ub, op.step))
    end = body.last_op
    assert end is not None
    groups = list(zip(body.args[1:], op.results, op.iter_args, end.operands, strict=True))
    first = [fetched(e, group[2], _common_kind(e, group)) for group in groups]
    head, inside, again, merge = (e.builder.new_id() for _ in range(4))
    before = e.block
    e.branch(head)
    e.label(head)
    counter_phi, counter = e.phi(kind)
    counter_phi.append(low, before)
    phis = _Phis(e, groups)
    phis.edge(first, before)
    phis.bind(body.args[1:])
    goes_on = e.op("OpSLessThan", "bool", counter, high)
    e.split((LOOP_MERGE, merge, again, "LoopControl.None"), goes_on, inside, merge)
    e.label(inside)
    e.define(body.args[0], (counter,), kind)
    last = phis.fetch(lower_block(e, body))
    e.at(op)
    e.branch(again)
    e.label(again)
    counter_phi.append(e.op("OpIAdd", kind, counter, step), again)
    phis.edge(last, again)
    e.branch(head)
    e.label(merge)
    phis.bind(op.results)


def _while(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block
    end = after.last_op
    assert end is not None
    groups = list(zip(before.args, op.arguments, end.operands, strict=True))
    first = [fetched(e, group[1], _common_kind(e, group)) for group in groups]
    head, test, inside, again, merge = (e.builder.new_id() for _ in range(5))
    entered = e.block
    e.branch(head)
    e.label(head)
    phis = _Phis(e, groups)
    phis.edge(first, entered)
    phis.bind(before.args)
    e.jump_into((LOOP_MERGE, merge, again, "LoopControl.None"), test)
    e.label(test)
    condition, *forwarded = lower_block(e, before)
    e.at(op)
    # Both consumers are dominated by this block: what is forwarded needs no phi.
    for values in (after.args, op.results):
        for value, source in zip(values, forwarded, strict=True):
            held = e.values[source]
            integer = held.kind in ("u32", "u64")
            e.define(value, held.ids, held.kind if integer else None)
    e.emit("OpBranchConditional", e.scalar(condition), inside, merge)
    e.label(inside)
    last = phis.fetch(lower_block(e, after))
    e.at(op)
    e.branch(again)
    e.label(again)
    phis.edge(last, again)
    e.branch(head)
    e.label(merge)


def _if(e: Emitter, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    regions = [op.true_region, op.false_region]
    blocks = [e.builder.new_id() if r.blocks else None for r in regions]
    merge = e.builder.new_id()
    true, false = (merge if b is None else b for b in blocks)
    e.split((SELECTION_MERGE, merge, "SelectionControl.None"), e.scalar(op.cond), true, false)
    kinds = [e.kind_of(r) for r in op.results]
    edges = []
    for region, block in zip(regions, blocks, strict=True):
        if block is None:
            continue
        e.label(block)
        yielded = lower_block(e, region.block)
        values = [fetched(e, v, k) for v, k in zip(yielded, kinds, strict=True)]
        e.at(op)
        edges.append((values, e.block))
        e.branch(merge)
    e.label(merge)
    if op.results:
        phis = _Phis(e, [(r,) for r in op.results])
        for values, block in edges:
            phis.edge(values, block)
        phis.bind(op.results)


def selection(e: Emitter, condition: Id) -> tuple[Id, Id, Id]:
    """Begin `if condition` without `else`: the blocks before, inside and behind; `label` the third to end it."""
    inside, merge = e.builder.new_id(), e.builder.new_id()
    before = e.block
    e.split((SELECTION_MERGE, merge, "SelectionControl.None"), condition, inside, merge)
    e.label(inside)
    return before, inside, merge


State = tuple[tuple[str, Id], ...]
"""Kinds and scalars that a loop carries."""


def repeat(
    e: Emitter, first: State, goes_on: Callable[[list[Id]], Id], step: Callable[[list[Id]], list[Id]]
) -> list[Id]:
    """`while goes_on(state): state = step(state)`; the last state."""
    head, inside, again, merge = (e.builder.new_id() for _ in range(4))
    before = e.block
    e.branch(head)
    e.label(head)
    phis = [e.phi(kind) for kind, _ in first]
    state = [made for _, made in phis]
    for (phi, _), (_, scalar) in zip(phis, first, strict=True):
        phi.append(scalar, before)
    condition = goes_on(state)
    e.split((LOOP_MERGE, merge, again, "LoopControl.None"), condition, inside, merge)
    e.label(inside)
    after = step(state)
    e.branch(again)
    e.label(again)
    for (phi, _), scalar in zip(phis, after, strict=True):
        phi.append(scalar, again)
    e.branch(head)
    e.label(merge)
    return state


ROWS: dict[str, Row] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "scf.yield": lambda e, op: None,
    "scf.condition": lambda e, op: None,
    "func.return": lambda e, op: None,
}
