"""Conditionals without a branch, so that loads that run ahead may stay in flight.

Behind a branch round a load the wait counters are known only as far as both ways agree: the first use of any older
load then waits for all of them. Three things together leave a pipelined loop in one block:

- A guarded read becomes a read through the buffer descriptor whose lane offset is pushed out of range where the
  guard is false. The range check of the hardware then touches no memory and gives zero; composable_kernel reads
  invalid elements in the same way.
- A conditional that only computes, on a condition that a subgroup shares, is computed and selected.
- A read whose value takes the place of a queued one is issued right behind the last use of the old value. It keeps
  its whole distance, both fit one register, and no copy at the backedge has to wait for it.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from specgen.ir.optable import OPS
from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.builder import integer
from specgen.lowering.amdgpu.context import Guard, Late, Lowering, word
from specgen.lowering.amdgpu.pinning import LOADS, base_and_indices
from specgen.lowering.amdgpu.types import Value

DIVISIONS = ("floordivsi", "ceildivsi", "ceildivui", "divui", "remui", "remsi", "floorremsi")
"""Undefined for a divisor of zero, which a guard may have kept away."""

COLLECTIVES = (
    "motif.subgroup_reduce",
    "motif.subgroup_broadcast",
    "motif.subgroup_shuffle",
    "motif.subgroup_shuffle_xor",
)

MOST_OPS = 96
"""Ops of a conditional up to which computing it always is taken to be cheaper than to drain the loads."""


def _may_always_run(op: Operation) -> bool:
    row = OPS.get(op.name)
    return row is not None and row.pure and op.name.rsplit(".", 1)[-1] not in DIVISIONS


def _yields(block: Block) -> list[SSAValue]:
    end = block.last_op
    assert end is not None
    return list(end.operands)


def _inside(block: Block) -> list[Operation]:
    return [op for op in block.ops if not isinstance(op, scf.YieldOp)]


def _is_free(value: SSAValue) -> bool:
    """Whether a dropped read may give it: zero in all bits, or a value that nobody looks at."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp):
        return False
    if "motif.any" in op.attributes:
        return True
    held = op.value
    if isinstance(held, DenseIntOrFPElementsAttr):
        return all(_is_zero(v) for v in held.get_values())
    return isinstance(held, IntegerAttr | FloatAttr) and _is_zero(held.value.data)


def _is_zero(number: float) -> bool:
    return number == 0 and str(number)[0] != "-"


# Guarded reads


def _has_descriptor(low: Lowering, op: Operation) -> bool:
    from specgen.lowering.amdgpu.ops_memory import is_buffer_load

    return op.name in LOADS and op.name != "vector.maskedload" and is_buffer_load(low, op)


def is_guarded_read(low: Lowering, op: scf.IfOp) -> bool:
    """Reads and their address arithmetic on one side, constants on the other.

    Reads through descriptors give zero or anything where the guard is false. Reads of one address for all lanes may
    stand beside them: they keep their branch, for they count on a counter of their own.
    """
    if not op.false_region.blocks or not op.results:
        return False
    body, other = op.true_region.block, op.false_region.block
    reads = [o for o in _inside(body) if o.name in LOADS]
    vector = {o.results[0] for o in reads if _has_descriptor(low, o)}
    scalar = [o for o in reads if o.results[0] not in vector]
    if not vector or not all(_may_always_run(o) or o in reads for o in _inside(body)):
        return False
    if scalar and (low.facts.uniform(op.cond) == "none" or not all(_is_scalar_load(low, o) for o in scalar)):
        return False
    pairs = list(zip(_yields(body), _yields(other), strict=True))
    results = {o.results[0] for o in reads}
    feeds_address = any(use.operation is not body.last_op for r in results for use in r.uses)
    constants = all(isinstance(o, arith.ConstantOp) for o in _inside(other))
    free = all(yes in results and (yes not in vector or _is_free(no)) for yes, no in pairs)
    return not feeds_address and constants and free


def guarded_read(low: Lowering, op: scf.IfOp) -> None:
    """Lower a conditional that `is_guarded_read` accepts."""
    body, other = op.true_region.block, op.false_region.block
    condition = low.value(op.cond)
    outer: dict[SSAValue, list[OpResult]] = {}
    for result, value in zip(op.results, _yields(body), strict=True):
        outer.setdefault(value, []).append(result)
    reads = [o for o in _inside(body) if o.name in LOADS]
    vector = [o for o in reads if _has_descriptor(low, o)]
    for inner in _inside(body):
        if inner not in reads:
            low.run(inner)
    scalar = [o for o in reads if o not in vector and o.results[0] in outer]
    if scalar:
        for inner in _inside(other):
            low.run(inner)
        instead = dict(zip(op.results, _yields(other), strict=True))
        _branched(low, condition, scalar, outer, {n: instead[n] for r in scalar for n in outer[r.results[0]]})
    low.guard = Guard(condition, low.facts.uniform(op.cond) != "none", op)
    for inner in vector:
        _read(low, inner, outer.get(inner.results[0], []))
    low.guard = None


def _branched(
    low: Lowering,
    condition: Value,
    reads: list[Operation],
    outer: dict[SSAValue, list[OpResult]],
    instead: dict[OpResult, SSAValue],
) -> None:
    """Reads into scalar registers behind a branch; other values where it is not taken."""
    b = low.b
    otherwise = {result: _like(low, no, result) for result, no in instead.items()}
    yes, after, before = b.new_block(), b.new_block(), b.block
    b.branch(condition, yes, after)
    b.start(yes)
    for read in reads:
        low.run(read)
    taken = {result: _like(low, r.results[0], result) for r in reads for result in outer[r.results[0]]}
    b.jump(after)
    b.start(after)
    for result, value in taken.items():
        phi = b.phi(value.type)
        phi.incoming += [(value.ref, yes), (otherwise[result].ref, before)]
        low.values[result] = phi.result


def _like(low: Lowering, value: SSAValue, result: SSAValue) -> Value:
    """A value in the width that a result has."""
    return low.sized(value, low.index_bits(result)) if types.is_index(value.type) else low.value(value)


def _read(low: Lowering, op: Operation, results: list[OpResult]) -> None:
    """A guarded read, now or when the value whose place it takes has been used."""
    guard = low.guard
    late = low.late.get(results[0]) if len(results) == 1 else None

    def issue() -> None:
        if late is not None:
            _wait_for(low, late.results)
        held, low.guard = low.guard, guard
        low.run(op)
        low.guard = held
        for result in results:
            low.define(result, low.values[op.results[0]])

    if late is None:
        issue()
    else:
        low.after.setdefault(late.anchor, []).append(issue)


def _wait_for(low: Lowering, results: tuple[SSAValue, ...]) -> None:
    """An empty statement that takes values: what comes later is issued after they are computed."""
    values = [low.value(v) for v in results]
    words = [low.b.extract(v, n) for v in values for n in range(types.count_text(v.type) or 0)]
    words += [v for v in values if types.count_text(v.type) is None]
    constraints = ",".join("v" for _ in words)
    low.b.effect(f'call void asm sideeffect "", "{constraints}"({", ".join(map(str, words))})')
    low.b.intrinsic_effect("amdgcn.sched.barrier", integer("i32", 0))


# Conditionals that compute


def is_private(low: Lowering, op: scf.IfOp) -> bool:
    """Arithmetic and subgroup collectives on a condition that the subgroup shares; no memory, no loop in it."""
    if not low.flat or not op.results or low.facts.uniform(op.cond) == "none" or not op.false_region.blocks:
        return False
    ops = [o for region in op.regions for o in _inside(region.block)]
    return len(ops) <= MOST_OPS and all(_may_always_run(o) or o.name in COLLECTIVES for o in ops)


def private(low: Lowering, op: scf.IfOp) -> None:
    """Lower a conditional that `is_private` accepts."""
    for region in op.regions:
        for inner in _inside(region.block):
            low.run(inner)
    condition = low.value(op.cond)
    pairs = zip(op.results, _yields(op.true_region.block), _yields(op.false_region.block), strict=True)
    for result, yes, no in pairs:
        low.define(result, low.b.select(condition, _like(low, yes, result), _like(low, no, result)))
    low.b.intrinsic_effect("amdgcn.sched.barrier", integer("i32", 0))


# Reads that take the place of a queued value


@dataclass(frozen=True)
class Held:
    """What `enter` found before a loop, for `leave`."""

    flat: bool
    late: dict[SSAValue, Late]


def enter(low: Lowering, loop: scf.ForOp) -> Held:
    """Before the body of a loop: whether its conditionals are flattened, and which reads are issued late."""
    held = Held(low.flat, low.late)
    low.flat = word(loop.attributes.get("motif.form")) == "steady" and _runs_straight(low, loop.body.block)
    low.late = _late_reads(low, loop.body.block) if low.flat else {}
    return held


def leave(low: Lowering, held: Held) -> None:
    """After the body."""
    low.flat, low.late = held.flat, held.late


def _runs_straight(low: Lowering, body: Block) -> bool:
    """Whether all conditionals of a body vanish; flattening only some would gain nothing."""
    low.flat = True
    for op in _inside(body):
        if isinstance(op, scf.IfOp):
            if not (is_guarded_read(low, op) or is_private(low, op) or _is_scalar_read(low, op)):
                return False
        elif op.regions:
            return False
    return True


def _is_scalar_read(low: Lowering, op: scf.IfOp) -> bool:
    """A guarded read of one address for all lanes: it counts on the scalar counter, the others' stay known."""
    ops = [o for region in op.regions for o in _inside(region.block)]
    reads = [o for o in ops if o.name in LOADS]
    if not all(_may_always_run(o) or o in reads for o in ops) or low.facts.uniform(op.cond) == "none":
        return False
    return all(_is_scalar_load(low, read) for read in reads)


def _is_scalar_load(low: Lowering, read: Operation) -> bool:
    """A load of one address for all lanes from a buffer that nobody writes."""
    base, indices = base_and_indices(read)
    memory = low.memory.get(base)
    return memory is not None and not memory.shared and all(low.facts.uniform(i) != "none" for i in indices)


def _late_reads(low: Lowering, body: Block) -> dict[SSAValue, Late]:
    """Guarded reads whose value only goes round the loop, where the loop's value in that place is used after them."""
    order = {op: number for number, op in enumerate(body.walk())}
    end = body.last_op
    assert end is not None
    found: dict[SSAValue, Late] = {}
    for old, new in zip(body.args[1:], end.operands, strict=True):
        read = new.owner
        if not isinstance(read, scf.IfOp) or read.parent is not body or not is_guarded_read(low, read):
            continue
        users = _consumers(old)
        if not users or len(list(new.uses)) != 1 or not all(_in_line(low, u, body) for u in users):
            continue
        last = max(users, key=order.__getitem__)
        if order[last] > order[read]:
            final = tuple(u.results[0] for u in sorted(_final(users, order), key=order.__getitem__))
            if all(types.element_text(low.type_of(v)) in ("float", "i32") for v in final):
                found[new] = Late(last, final)
    return found


def _consumers(value: SSAValue) -> set[Operation] | None:
    """The ops that compute with a value, where it is no more needed once they are done; None when it is passed on.

    An element taken from a vector is the vector; a product that may be fused with a sum is used where the sum is.
    """
    found: set[Operation] = set()
    for use in value.uses:
        op = use.operation
        row = OPS[op.name]
        if len(op.results) != 1 or not (row.pure or row.cls == "collective"):
            return None
        if op.name == "vector.extract" or _may_fuse(op):
            below = _consumers(op.results[0])
            if below is None:
                return None
            found |= below
        else:
            found.add(op)
    return found


def _in_line(low: Lowering, op: Operation, body: Block) -> bool:
    """Whether an op of a loop runs in every round: it stands in the body or in a conditional computed always."""
    around = op.parent_op()
    return op.parent is body or (isinstance(around, scf.IfOp) and around.parent is body and is_private(low, around))


def _may_fuse(op: Operation) -> bool:
    return op.name == "arith.mulf" and all(
        use.operation.name in ("arith.addf", "arith.subf") for use in op.results[0].uses
    )


def _final(ops: set[Operation], inside: Container[Operation]) -> list[Operation]:
    """The ops whose result no other of them needs, by way of ops `inside` the loop."""
    needed: set[Operation] = set()
    for op in ops:
        pending, seen = [op], {op}
        while pending:
            owners = {o.owner for o in pending.pop().operands if isinstance(o.owner, Operation) and o.owner in inside}
            needed |= owners & ops
            pending += owners - seen
            seen |= owners
    return [op for op in ops if op not in needed]
