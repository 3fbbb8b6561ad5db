"""`through`: lets that run ahead with the reads, so that the queue holds their values instead of what they are made of.

In the IR the loop carries the let's name, and `motif.ahead` in its body names the value: an operand follows the value
through every rewrite, whatever op makes it. The marks are taken off before the loop is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.diagnostics import Diagnostic, Span
from specgen.ir.dialect import AheadOp
from specgen.schedule import policy
from specgen.schedule.effects import Kind, kind_of
from specgen.schedule.rules import Rejected, broken, describe, span_of


@dataclass(frozen=True)
class Ahead:
    """A let that runs ahead: its name, its value and where it stands. Sibling blocks may each have one of the name."""

    name: str
    value: SSAValue
    span: Span

    @property
    def op(self) -> Operation | None:
        """What makes the value; None for an argument of a block."""
        return None if isinstance(self.value.owner, Block) else self.value.owner

    def refused(self, key: str, why: str, *notes: tuple[Operation, str]) -> Diagnostic:
        """The diagnostic for a rule that the let breaks."""
        return broken(key, self.span, f"`{self.name}` {why}", notes=notes)

    def carried(self, loop: scf.ForOp, user: Operation | None) -> Diagnostic:
        """It needs what the loop carries, which `user` takes in on its way."""
        notes: list[tuple[Operation, str]] = [(loop, "carried by this loop")]
        if user is not None and span_of(user) != self.span:
            notes.insert(0, (user, "here a carried value comes in"))
        return self.refused("through-carried", "depends on what the loop carries", *notes)

    def ordered(self, op: Operation) -> Diagnostic:
        """It needs an op that keeps its order."""
        memory = {Kind.WORKGROUP_READ: " of workgroup memory", Kind.PRIVATE_READ: " of private memory"}
        why = f"needs {describe(op)}{memory.get(kind_of(op), '')}"
        return self.refused("through-ordered", why, (op, "it stands here"))


def take(loop: scf.ForOp) -> tuple[Ahead, ...]:
    """The lets that `loop` lets run ahead; the marks are gone afterwards."""
    name = policy.word(loop.attributes.get(policy.THROUGH))
    marks = [op for op in loop.body.walk() if isinstance(op, AheadOp) and _loop_around(op) is loop]
    found = [] if name is None else [Ahead(name, op.value, span_of(op)) for op in marks]
    _erase(marks)
    return tuple(found)


def forget(root: Operation) -> None:
    """Remove marks that no loop asks for."""
    _erase([op for op in root.walk() if isinstance(op, AheadOp)])


def _erase(marks: Sequence[AheadOp]) -> None:
    for op in marks:
        op.detach()
        op.erase()


def _loop_around(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp):
        parent = parent.parent_op()
    return parent


def check_computed(loop: scf.ForOp, lets: Sequence[Ahead]) -> None:
    """Each let is computed in the body. Raises `Rejected` (through-idle, through-carried)."""
    body = loop.body.block
    faults = []
    for let in lets:
        if let.value in body.args[1:]:
            faults.append(let.carried(loop, None))
        elif let.value is body.args[0]:
            faults.append(let.refused("through-idle", "is the counter", (loop, "of this loop")))
        elif not _inside(let.value, loop):
            faults.append(let.refused("through-idle", "is the same in every iteration", (loop, "of this loop")))
    if faults:
        raise Rejected(faults)


def _inside(value: SSAValue, loop: scf.ForOp) -> bool:
    owner = value.owner
    return any(parent is loop for parent in _parents(owner.parent_op() if isinstance(owner, Block) else owner))


def _parents(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        yield op
        op = op.parent_op()


# --- products that a sum may be rounded with -------------------------------------------------------------------------

_MOVES = ("arith.negf", "arith.extf", "vector.")
"""Ops across which a back end still finds the product that a sum adds."""


def check_rounding(lets: Sequence[Ahead], record: Sequence[SSAValue], producer: frozenset[Operation]) -> None:
    """Under `contract` a product and its sum may be rounded once, which a queue between them would prevent: other bits
    than those of the serial loop. Raises `Rejected` (through-rounding)."""
    for value in record if lets else ():
        product = _product(value)
        total = None if product is None else _sum(value, producer)
        if product is not None and total is not None:
            notes = [(product, "the product"), (total, "the sum")]
            why = "is, or needs, a product that may be rounded together with a sum that stays behind"
            raise Rejected([lets[0].refused("through-rounding", why, *notes)])


def _contracts(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return flags is not None and any(word in str(flags) for word in ("contract", "fast>"))


def _product(value: SSAValue) -> Operation | None:
    pending, seen = [value], set()
    while pending:
        op = pending.pop().owner
        if isinstance(op, Block) or op in seen:
            continue
        seen.add(op)
        if isinstance(op, arith.MulfOp) and _contracts(op):
            return op
        if op.name.startswith(_MOVES):
            pending.extend(op.operands)
    return None


def _sum(value: SSAValue, producer: frozenset[Operation]) -> Operation | None:
    pending = [use.operation for use in value.uses]
    while pending:
        op = pending.pop()
        if any(parent in producer for parent in _parents(op)):
            continue
        if isinstance(op, arith.AddfOp | arith.SubfOp) and _contracts(op):
            return op
        if op.name.startswith(_MOVES):
            pending.extend(use.operation for result in op.results for use in result.uses)
    return None
