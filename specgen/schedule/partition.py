"""The plan of a pipelined loop: what runs ahead, what stays, what the queue between them holds.

The plan is computed once; the rewriter, the report rows and the diagnostics all read it.

Vocabulary. The *producer* is the read closure: every load of a buffer and all that its address, guard and inner
bounds need; with `through` also a let and all that it needs. The *consumer* is the rest, in its order. A nested
`scf.if` or `scf.for` that reads (or computes the let) and touches neither carried state nor anything ordered is an
atomic *unit* of the producer. An `scf.if` of which one branch does so while the rest belongs to the consumer is
*split*: the closure of its reads becomes a guarded producer, what is left the guarded consumer. A *record* is what
one iteration puts into the queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from specgen.diagnostics import Diagnostic
from specgen.schedule import record
from specgen.schedule.effects import ORDERED, Effects, Kind, body_of, effects_of, kind_of, used_values
from specgen.schedule.rules import Rejected, broken, describe
from specgen.schedule.through import Ahead

PRODUCER, CONSUMER = "producer", "consumer"


@dataclass(frozen=True)
class Placement:
    """Where a top-level op of the body runs. `guarded`: it is one half of a split conditional."""

    op: Operation
    stage: str
    guarded: bool = False


@dataclass(frozen=True)
class Plan:
    """How a loop is cut.

    `producer`: ops that run ahead whole (in the body or in the reading branch of a split conditional).
    `splits`: split conditionals with the number of the branch that reads (0 then, 1 else).
    `repeated`: producer ops that the consumer computes again instead of taking them from the queue.
    `record`: the values of one queue entry, in program order. `reads`: the loads that run ahead.
    """

    loop: scf.ForOp
    producer: frozenset[Operation]
    splits: dict[Operation, int]
    repeated: frozenset[Operation]
    record: tuple[SSAValue, ...]
    reads: tuple[Operation, ...]
    uses_counter: bool

    def placements(self) -> Iterator[Placement]:
        """The rows of the body's ops; an op in both stages comes twice, producer first."""
        for op in body_of(self.loop.body.block):
            if op in self.splits:
                yield Placement(op, PRODUCER, guarded=True)
                yield Placement(op, CONSUMER, guarded=True)
                continue
            if op in self.producer:
                yield Placement(op, PRODUCER)
            if op not in self.producer or op in self.repeated:
                yield Placement(op, CONSUMER)

    def exports(self, op: Operation) -> list[SSAValue]:
        """The record values that the reading branch of a split conditional defines."""
        block = op.regions[self.splits[op]].blocks[0]
        return [value for value in self.record if _defined_under(value, block)]


@dataclass
class Dependence:
    """What the values of a body depend on: carried state, and results of ops that have to stay in order."""

    loop: scf.ForOp
    carried: set[SSAValue] = field(default_factory=set)
    ordered: set[SSAValue] = field(default_factory=set)
    effects: dict[Operation, Effects] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.carried.update(self.loop.body.block.args[1:])
        self._block(self.loop.body.block)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            uses = list(used_values(op))
            if any(value in self.carried for value in uses):
                self.carried.update(op.results)
            if any(value in self.ordered for value in uses) or self.effects_of(op).ordered:
                self.ordered.update(op.results)
            for region in op.regions:
                for inner in region.blocks:
                    self._arguments(op, inner)
                    self._block(inner)

    def _arguments(self, op: Operation, block: Block) -> None:
        if not block.args:
            return
        uses = list(used_values(op))
        if any(value in self.carried for value in uses):
            self.carried.update(block.args)
        if any(value in self.ordered for value in uses):
            self.ordered.update(block.args)

    def effects_of(self, op: Operation) -> Effects:
        """The effects of an op, computed once."""
        if op not in self.effects:
            self.effects[op] = effects_of(op)
        return self.effects[op]

    def touches_carried(self, op: Operation) -> bool:
        """Whether anything in the op depends on carried state."""
        return any(value in self.carried for value in used_values(op))


class Partition:
    """Builds a plan; raises `Rejected` with every rule that the closure breaks.

    `reads` limits the loads that run ahead (None: all loads of buffers); the others then stay in the consumer. `lets`
    are values, computed in the body, that run ahead as well.
    """

    def __init__(self, loop: scf.ForOp, reads: frozenset[Operation] | None = None, lets: Sequence[Ahead] = ()) -> None:
        self.loop = loop
        self.only = reads
        self.lets = {let.op: let for let in lets if let.op is not None}
        self.dependence = Dependence(loop)
        self.producer: set[Operation] = set()
        self.splits: dict[Operation, int] = {}
        self.open: set[Block] = {loop.body.block}
        self.faults: list[Diagnostic] = []
        self.let_faults: dict[Ahead, Diagnostic] = {}
        """The first fault of each let; told when the reads have none, for a let may need a read."""

    def plan(self) -> Plan:
        """The finished plan."""
        self._place(self.loop.body.block)
        if not self.faults and not self.let_faults:
            self._follow_promises(self.loop.body.block)
        if self.faults or self.let_faults:
            raise Rejected(self.faults or list(self.let_faults.values()))
        needs = self._needs()
        chosen = record.choose(self.loop, self.producer, needs.values, self.lets.keys() & self.producer)
        reads = [op for op in self.loop.walk() if self._ahead(op)]
        self._check_edge(reads, chosen.record)
        self._check_types(chosen.record)
        return Plan(
            self.loop,
            frozenset(self.producer),
            dict(self.splits),
            chosen.repeated,
            chosen.record,
            tuple(reads),
            needs.counter or any(self._counter(op) for op in chosen.repeated),
        )

    def _counter(self, op: Operation) -> bool:
        return self.loop.body.block.args[0] in list(used_values(op))

    def _ahead(self, op: Operation) -> bool:
        return kind_of(op) is Kind.READ and (self.only is None or op in self.only)

    def _reads_of(self, op: Operation) -> list[Operation]:
        return [read for read in self.dependence.effects_of(op).reads if self._ahead(read)]

    def _let_of(self, op: Operation) -> Ahead | None:
        """The let for whose sake alone `op` runs ahead: op or something inside computes it, and nothing there reads."""
        if not self.lets or self._reads_of(op):
            return None
        return next((self.lets[inner] for inner in op.walk() if inner in self.lets), None)

    # Placing the reads and lets ----------------------------------------------------------------------------------

    def _place(self, block: Block) -> None:
        for op in body_of(block):
            reads = self._reads_of(op)
            if not reads and self._let_of(op) is None:
                continue
            if isinstance(op, scf.IfOp) and self._mixed(op):
                self._split(op)
            elif reads and isinstance(op, scf.ForOp) and self._mixed(op):
                self.faults.append(self._refuse_loop(op, reads))
            else:
                self._require(op, op)

    def _mixed(self, op: Operation) -> bool:
        dependence = self.dependence
        kept = self.only is not None and any(read not in self.only for read in dependence.effects_of(op).reads)
        return kept or dependence.touches_carried(op) or bool(dependence.effects_of(op).ordered)

    def _split(self, op: scf.IfOp) -> None:
        branches = [region.blocks[0] if region.blocks else None for region in op.regions]
        reading = [n for n, block in enumerate(branches) if block is not None and self._runs_ahead(block)]
        if op in self.lets:
            self._refuse_result(op)
        elif len(reading) != 1:
            self._refuse_both(op, [block for block in branches if block is not None])
        else:
            self.splits[op] = reading[0]
            block = branches[reading[0]]
            assert block is not None
            self.open.add(block)
            self._require_value(op.cond, op, op)
            self._place(block)

    def _runs_ahead(self, block: Block) -> bool:
        return any(self._reads_of(op) or self._let_of(op) is not None for op in block.ops)

    def _refuse_result(self, op: scf.IfOp) -> None:
        """The let is a result of a conditional that cannot go ahead whole."""
        let, held = self.lets[op], self.dependence.effects_of(op).ordered
        carried = self.dependence.touches_carried(op) or not held
        self.let_faults.setdefault(let, let.carried(self.loop, op) if carried else let.ordered(held[0]))

    def _refuse_both(self, op: scf.IfOp, branches: list[Block]) -> None:
        if not all(any(self._reads_of(inner) for inner in block.ops) for block in branches):
            let = next(let for inner, let in self.lets.items() if inner in list(op.walk()))
            why = "is computed in one branch of a conditional whose other branch also has something that runs ahead"
            self.let_faults.setdefault(let, let.refused("through-branch", why, (op, "the conditional")))
            return
        held = self.dependence.effects_of(op).ordered
        if held and not self.dependence.touches_carried(op):
            why = f"both branches read, and one has {describe(held[0])}"
            self.faults.append(broken("P14", held[0], why, notes=[(op, "the conditional")]))
        else:
            why = "both branches read, and the conditional also depends on what the loop carries"
            self.faults.append(broken("P12", op, why))

    def _refuse_loop(self, op: scf.ForOp, reads: list[Operation]) -> Diagnostic:
        effects = self.dependence.effects_of(op)
        note = [(reads[0], "this read is in the same loop")]
        stores = effects.of(Kind.WORKGROUP_WRITE, Kind.WORKGROUP_SYNC)
        if stores:
            return broken(
                "P19", stores[0], f"the inner loop both reads a buffer and has {describe(stores[0])}", notes=note
            )
        collectives = effects.of(Kind.COLLECTIVE)
        if collectives:
            return broken(
                "P14", collectives[0], f"{describe(collectives[0])} shares an inner loop with a read", notes=note
            )
        carried = self.dependence.carried
        if any(bound in carried for bound in (op.lb, op.ub, op.step)):
            return broken("P12", op, "an inner bound depends on what the outer loop carries", notes=note)
        if any(initial in carried for initial in op.iter_args):
            return broken(
                "P12", op, "an initial value of the inner loop depends on what the outer loop carries", notes=note
            )
        if effects.of(*ORDERED):
            return broken("P13", effects.of(*ORDERED)[0], "an inner loop mixes a read with ordered memory", notes=note)
        return broken("P12", op, "the inner loop reads and captures a value that the outer loop carries", notes=note)

    # The closure -------------------------------------------------------------------------------------------------

    def _require(self, op: Operation, reader: Operation) -> None:
        """Let `op` and all that it needs run ahead, for the sake of `reader`."""
        if op in self.producer:
            return
        if self._refuse(op, reader):
            return
        self.producer.add(op)
        for value in used_values(op):
            self._require_value(value, reader, op)

    def _require_value(self, value: SSAValue, reader: Operation, user: Operation) -> None:
        if isinstance(value, BlockArgument):
            if value in self.loop.body.block.args[1:]:
                self._refuse_carried(reader, user)
            return
        op = value.owner
        assert isinstance(op, Operation)
        if op.parent_block() in self.open:
            self._require(op, reader)

    def _refuse_carried(self, reader: Operation, user: Operation) -> None:
        let = self._let_of(reader)
        if let is not None:
            self.let_faults.setdefault(let, let.carried(self.loop, user))
            return
        part = "the address of" if kind_of(reader) is Kind.READ else "what decides on the reads of"
        notes: list[tuple[Operation, str]] = [(self.loop, "carried by this loop")]
        if user is not reader:
            notes.insert(0, (user, "here a carried value comes in"))
        why = f"{part} {describe(reader)} depends on what the loop carries"
        self.faults.append(broken("P12", reader, why, notes=notes))

    def _refuse(self, op: Operation, reader: Operation) -> bool:
        """Whether `op` itself cannot run ahead, which is then told."""
        let = self._let_of(reader)
        role = "it" if op is reader else f"a value that {describe(reader)} needs"
        held = self.dependence.effects_of(op).of(*ORDERED)
        if held and let is not None:
            self.let_faults.setdefault(let, let.ordered(held[0]))
        elif held:
            key = "P14" if self._nested(reader) else "P13"
            why = f"{role} comes from {describe(held[0])}"
            self.faults.append(broken(key, reader, why, notes=[(held[0], "it stands here")]))
        elif op in self.splits and let is not None:
            self.let_faults.setdefault(let, let.carried(self.loop, op))
        elif op in self.splits:
            why = f"{role} comes from a conditional that updates carried state"
            self.faults.append(broken("P12", reader, why))
        return bool(held) or op in self.splits

    def _nested(self, op: Operation) -> bool:
        return op.parent_block() is not self.loop.body.block

    def _follow_promises(self, block: Block) -> None:
        """A promise or check about values that all run ahead runs ahead with them."""
        for op in body_of(block):
            if op in self.splits:
                self._follow_promises(op.regions[self.splits[op]].blocks[0])
            if kind_of(op) is not Kind.META or op.regions:
                continue
            ahead, behind = self._meta_sources(op)
            if ahead and not behind:
                self._require(op, op)
            elif ahead and op.name == "motif.assume" and any(v in self.dependence.carried for v in behind):
                self.faults.append(
                    broken("P12", op, "a promise about a value that runs ahead depends on what the loop carries")
                )

    def _meta_sources(self, op: Operation) -> tuple[list[SSAValue], list[SSAValue]]:
        """Values that the op's condition compares: those that run ahead, and those that cannot."""
        ahead: list[SSAValue] = []
        behind: list[SSAValue] = []
        pending = list(op.operands)
        while pending:
            value = pending.pop()
            owner = value.owner
            if value in self.dependence.carried or value in self.dependence.ordered:
                if isinstance(owner, Operation) and kind_of(owner) is Kind.PURE and not owner.regions:
                    pending.extend(owner.operands)
                else:
                    behind.append(value)
            elif isinstance(owner, Operation) and owner.parent_block() in self.open:
                if owner in self.producer and not isinstance(owner, arith.ConstantOp):
                    ahead.append(value)
                elif kind_of(owner) is Kind.PURE and not owner.regions:
                    pending.extend(owner.operands)
                else:
                    behind.append(value)
        return ahead, behind

    # The cut -----------------------------------------------------------------------------------------------------

    def _needs(self) -> record.Needs:
        return record.needs(self.loop, self.producer, self.splits)

    def _check_edge(self, reads: list[Operation], chosen: tuple[SSAValue, ...]) -> None:
        derived: set[SSAValue] = set()
        for op in self.loop.body.block.walk():
            if self._reads_of(op) or any(value in derived for value in used_values(op)):
                derived.update(op.results)
        if not any(value in derived for value in chosen):
            raise Rejected(
                [broken("P7", reads[0], f"the value of {describe(reads[0])} is used by nothing that stays behind")]
            )

    def _check_types(self, chosen: tuple[SSAValue, ...]) -> None:
        for value in chosen:
            if isinstance(value.type, MemRefType):
                owner = value.owner
                assert isinstance(owner, Operation)
                raise Rejected([broken("P17", owner, "a buffer chosen inside the loop would have to be queued")])


def _defined_under(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    at: Block | None = owner if isinstance(owner, Block) else owner.parent_block()
    while at is not None:
        if at is block:
            return True
        parent = at.parent_op()
        at = parent.parent_block() if parent is not None else None
    return False
