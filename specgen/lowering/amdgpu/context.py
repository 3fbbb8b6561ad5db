"""State of the lowering of one function, and what every op's row uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from specgen.ir.facts import Facts
from specgen.ir.facts_interval import Interval
from specgen.lowering.amdgpu import debug, types
from specgen.lowering.amdgpu.builder import Builder, ModuleParts, integer
from specgen.lowering.amdgpu.types import Value
from specgen.targets import Target

INT32 = Interval(-(2**31), 2**31 - 1)

SumKey = frozenset[tuple[object, int]]
"""A part of an address as a dictionary key (`addresses.key_of`)."""

Row = Callable[["Lowering", Operation], None]
"""How one op is lowered: it defines the op's results."""


@dataclass(frozen=True)
class Memory:
    """Where a memref lives. `sizes` are the extents: integers, or `index` values where the type leaves them open.

    `pointer` is the LLVM pointer (its type holds the address space: 1 buffers, 3 workgroup memory, 5 private
    memory), `descriptor` the buffer descriptor when accesses go through one.
    """

    pointer: Value
    type: MemRefType
    sizes: tuple[int | SSAValue, ...]
    align: int
    shared: bool
    descriptor: Value | None = None

    @property
    def space(self) -> int:
        """LLVM's address space."""
        return int(self.pointer.type.removeprefix("ptr addrspace(").removesuffix(")"))


@dataclass(frozen=True)
class LoopMark:
    """A source loop as debug information names it: discriminator, spec place, and which part of a schedule it is."""

    discriminator: int
    place: str
    name: str
    form: str


@dataclass(frozen=True)
class Guard:
    """The condition of a guarded read that is lowered without a branch, and the conditional."""

    condition: Value
    uniform: bool
    op: Operation


@dataclass(frozen=True)
class Late:
    """When a read that goes round a loop is issued: behind an op, once these results are computed."""

    anchor: Operation
    results: tuple[SSAValue, ...]


class Lowering:
    """One function of the IR on its way to LLVM IR."""

    def __init__(
        self, function: FuncOp, target: Target, parts: ModuleParts, info: debug.FunctionDebug, rows: Mapping[str, Row]
    ) -> None:
        self.function = function
        self.target = target
        self.b = Builder(parts, info)
        self.facts = Facts(function)
        self.rows = rows
        self.values: dict[SSAValue, Value] = {}
        self.memory: dict[SSAValue, Memory] = {}
        self.used_ids: set[str] = set()
        self.loops: list[LoopMark] = []
        self.loop_depth = 0
        self.pinned: dict[SumKey, Value] = {}
        self.guard: Guard | None = None
        self.flat = False
        self.late: dict[SSAValue, Late] = {}
        self.after: dict[Operation, list[Callable[[], None]]] = {}
        self.id_places: dict[str, int] = {}
        self.multiples: dict[tuple[str, int], Value] = {}
        self.ordered: frozenset[Operation] = frozenset()

    # Sizes

    @property
    def workgroup_size(self) -> tuple[int, int, int]:
        """Work-items along x, y, z."""
        return self.facts.workgroup_size

    @property
    def workgroup_items(self) -> int:
        """Work-items of a workgroup."""
        x, y, z = self.workgroup_size
        return x * y * z

    @property
    def wave(self) -> int:
        """Lanes of a subgroup on this target."""
        assert self.target.subgroup_size is not None
        return self.target.subgroup_size

    # Values

    def index_bits(self, value: SSAValue) -> int:
        """How wide an `index` value is kept: 32 where facts prove that it fits, else 64."""
        if not types.is_index(value.type):
            return 64
        return 32 if self.facts.range(value).within(INT32) else 64

    def type_of(self, value: SSAValue) -> str:
        """The LLVM type that holds a value."""
        return types.llvm(value.type, self.index_bits(value))

    def value(self, value: SSAValue) -> Value:
        """The LLVM value of an IR value."""
        return self.values[value]

    def sized(self, value: SSAValue, bits: int) -> Value:
        """An `index` value (or vector) in a given width; the low bits when it is wider."""
        return self.resize(self.values[value], bits)

    def resize(self, value: Value, bits: int) -> Value:
        """A signed integer in another width."""
        have = types.bits_text(value.type)
        to = types.with_element(value.type, f"i{bits}")
        if have == bits:
            return value
        if value.ref.lstrip("-").isdigit():
            return integer(to, int(value.ref))
        return self.b.cast("trunc" if have > bits else "sext", value, to)

    def operands(self, op: Operation) -> list[Value]:
        """The operands in one width: `index` operands and results share the widest that any of them needs."""
        indexes = [v for v in (*op.operands, *op.results) if types.is_index(v.type)]
        bits = max((self.index_bits(v) for v in indexes), default=64)
        return [self.sized(o, bits) if types.is_index(o.type) else self.values[o] for o in op.operands]

    def define(self, result: SSAValue, value: Value) -> None:
        """Bind a result, in the width that its values are kept in."""
        if types.is_index(result.type):
            value = self.resize(value, self.index_bits(result))
        self.values[result] = value

    # Facts

    def range(self, value: SSAValue, at: Operation | None = None) -> Interval:
        """What facts know of an integer value."""
        return self.facts.range(value, at)

    def never_negative(self, *values: SSAValue) -> bool:
        """Whether all values are proven not to be negative."""
        return all(self.range(v).low >= 0 for v in values)

    def multiple(self, value: Value, factor: int, flags: str) -> Value:
        """`factor * value`; for an id of the hardware right where it is read, once.

        LLVM would otherwise merge the products that two sides of a branch compute, and keeps a merged scalar in a
        vector register: each access with it as its scalar offset then becomes a loop over the lanes.
        """
        place, known = self.id_places.get(value.ref), integer(value.type, factor)
        if place is None:
            return self.b.binary(f"mul{flags}", value, known)
        key = (value.ref, factor)
        if key not in self.multiples:
            self.multiples[key] = self.b.emit_at(place, value.type, f"mul{flags} {value}, {known.ref}")
        return self.multiples[key]

    # Walking

    def run_block(self, block: Block) -> None:
        """Lower the ops of a block but for its terminator."""
        for op in block.ops:
            if op.name not in ("scf.yield", "scf.condition"):
                self.run(op)

    def run(self, op: Operation) -> None:
        """Lower one op."""
        self.b.place(debug.place_of(op))
        self.rows[op.name](self, op)
        if op in self.ordered:
            self.b.intrinsic_effect("amdgcn.sched.barrier", integer("i32", 0))
        for waiting in self.after.pop(op, ()):
            waiting()


def word(attribute: Attribute | None) -> str:
    """The text of a string attribute, "" for anything else."""
    return attribute.data if isinstance(attribute, StringAttr) else ""


def number(attribute: Attribute | None, default: int) -> int:
    """The value of an integer attribute, `default` for anything else."""
    return attribute.value.data if isinstance(attribute, IntegerAttr) else default


def numbers(attribute: Attribute | None) -> tuple[int, ...]:
    """The values of an integer array attribute, () for anything else."""
    return tuple(int(v) for v in attribute.get_values()) if isinstance(attribute, DenseArrayBase) else ()
