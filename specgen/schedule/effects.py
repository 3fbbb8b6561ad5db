"""What ops do besides computing: memory, synchronisation, collectives. One table, asked by every pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from specgen.ir.optable import OPS

WORKGROUP, PRIVATE = 3, 5
"""Memory spaces of `memref` types; a buffer has none."""


class Kind(Enum):
    """The role of a single op, its regions aside."""

    PURE = auto()
    META = auto()
    CONTROL = auto()
    WHILE = auto()
    READ = auto()
    WORKGROUP_READ = auto()
    PRIVATE_READ = auto()
    WRITE = auto()
    ATOMIC = auto()
    WORKGROUP_WRITE = auto()
    PRIVATE_WRITE = auto()
    COLLECTIVE = auto()
    WORKGROUP_SYNC = auto()
    GLOBAL_SYNC = auto()
    FENCE = auto()
    OTHER = auto()


PARTICIPANTS = frozenset({Kind.WORKGROUP_WRITE, Kind.WORKGROUP_SYNC})
"""Other work-items of the workgroup see these, so each of them has to meet the same ones (rule P10)."""

ORDERED = PARTICIPANTS | {Kind.WORKGROUP_READ, Kind.PRIVATE_READ, Kind.PRIVATE_WRITE, Kind.COLLECTIVE}
"""What only the consumer of a pipelined loop may hold: it keeps its order."""


def memory_of(op: Operation) -> SSAValue | None:
    """The memref that a memory op accesses."""
    return next((operand for operand in op.operands if isinstance(operand.type, MemRefType)), None)


def space_of(memory: SSAValue) -> int | None:
    """0 for buffers, 3 for workgroup memory, 5 for private memory; None for anything else."""
    type_ = memory.type
    if not isinstance(type_, MemRefType):
        return None
    if isinstance(type_.memory_space, NoneAttr):
        return 0
    if isinstance(type_.memory_space, IntegerAttr):
        number = type_.memory_space.value.data
        return number if number in (0, WORKGROUP, PRIVATE) else None
    return None


_READS = {0: Kind.READ, WORKGROUP: Kind.WORKGROUP_READ, PRIVATE: Kind.PRIVATE_READ, None: Kind.OTHER}
_WRITES = {0: Kind.WRITE, WORKGROUP: Kind.WORKGROUP_WRITE, PRIVATE: Kind.PRIVATE_WRITE, None: Kind.WRITE}


def kind_of(op: Operation) -> Kind:
    """The kind of an op by its row in the op table; ops outside of it are `OTHER`."""
    row = OPS.get(op.name)
    if row is None:
        return Kind.OTHER
    if row.cls == "sync":
        return _sync(op)
    if row.cls == "memory":
        return _memory(op, reads=row.reads, writes=row.writes)
    if row.cls == "collective":
        return Kind.COLLECTIVE
    if row.cls == "control":
        return Kind.WHILE if isinstance(op, scf.WhileOp) else Kind.CONTROL
    return Kind.META if row.cls == "meta" else Kind.PURE


def _sync(op: Operation) -> Kind:
    if op.name == "motif.fence":
        return Kind.FENCE
    scope = op.attributes.get("motif.scope")
    return Kind.GLOBAL_SYNC if isinstance(scope, StringAttr) and scope.data == "global" else Kind.WORKGROUP_SYNC


def _memory(op: Operation, *, reads: bool, writes: bool) -> Kind:
    memory = memory_of(op)
    if memory is None:
        return Kind.OTHER
    if reads and writes and space_of(memory) not in (WORKGROUP, PRIVATE):
        return Kind.ATOMIC
    return _WRITES[space_of(memory)] if writes else _READS[space_of(memory)]


@dataclass(frozen=True)
class Effects:
    """The effectful ops inside of an op, itself included, in program order."""

    ops: tuple[tuple[Kind, Operation], ...]

    def of(self, *kinds: Kind) -> list[Operation]:
        """The ops of these kinds."""
        return [op for kind, op in self.ops if kind in kinds]

    @property
    def reads(self) -> list[Operation]:
        """Loads from buffers."""
        return self.of(Kind.READ)

    @property
    def ordered(self) -> list[Operation]:
        """Ops that have to stay in the consumer."""
        return self.of(*ORDERED)

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds that occur."""
        return frozenset(kind for kind, _ in self.ops)


_SILENT = frozenset({Kind.PURE, Kind.META, Kind.CONTROL})


def effects_of(op: Operation) -> Effects:
    """The effects of `op` and of everything nested in it."""
    kinds = ((kind_of(inner), inner) for inner in op.walk())
    return Effects(tuple((kind, inner) for kind, inner in kinds if kind not in _SILENT))


def body_of(block: Block) -> list[Operation]:
    """The ops of a block without its terminator."""
    return [op for op in block.ops if not isinstance(op, scf.YieldOp | scf.ConditionOp)]


def used_values(op: Operation) -> Iterator[SSAValue]:
    """Operands of the op and of everything inside that are defined outside of it."""
    yield from op.operands
    if not op.regions:
        return
    for inner in op.walk():
        if inner is op:
            continue
        for operand in inner.operands:
            if not _inside(operand, op):
                yield operand


def _inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    block: Block | None = owner if isinstance(owner, Block) else owner.parent_block()
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return True
        block = parent.parent_block() if parent is not None else None
    return False
