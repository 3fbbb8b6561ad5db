"""Emits operations into blocks: fresh names, constants once a block, regions that may be spliced back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from specgen.binding.instance import Attribute, Elements, Op, Operand, Region
from specgen.binding.types import Type
from specgen.binding.values import Value
from specgen.diagnostics import Span

Number = int | float | bool
Attributes = tuple[tuple[str, Attribute], ...]

_PURE_DIALECTS = ("arith.", "math.")
_PURE = frozenset(
    f"vector.{n}" for n in ("broadcast", "extract", "insert", "bitcast", "shuffle", "from_elements")
) | frozenset(("motif.floorremsi", "motif.fptoi", "gpu.thread_id", "gpu.block_id", "gpu.lane_id", "gpu.subgroup_id"))


def is_pure(op: Op) -> bool:
    """Whether the op may be executed where the serial program would not execute it."""
    if op.regions:
        return all(is_pure(inner) or inner.name == "scf.yield" for r in op.regions for inner in r.ops)
    return op.name.startswith(_PURE_DIALECTS) or op.name in _PURE


@dataclass
class Block:
    """Operations under construction and the constants that they hold."""

    ops: list[Op] = field(default_factory=list)
    constants: dict[tuple[str, str], Operand] = field(default_factory=dict)

    @property
    def pure(self) -> bool:
        return all(is_pure(op) for op in self.ops)


class Builder:
    """The operations of one function."""

    def __init__(self) -> None:
        self.prologue = Block()
        """The start of the entry block: ids, extents, memory."""
        self.blocks: list[Block] = [self.prologue, Block()]
        self.names: dict[str, int] = {}
        self.item: Value | None = None
        """The number of the work-item, when something asked for it."""
        self.workgroup_bytes = 0
        """Workgroup memory that was allocated so far."""
        self.named: set[str] = set()
        """Values that carry an author's name: a second name for one of them must not take the first away."""

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """Emit into the start of the entry block."""
        held, self.blocks = self.blocks, [self.prologue]
        try:
            yield
        finally:
            self.blocks = held

    def rename(self, name: str, hint: str) -> str:
        """Call the value `name` by `hint` when the operation just emitted made it; returns its name from now on."""
        ops = self.blocks[-1].ops
        if (
            name in self.named
            or not ops
            or len(ops[-1].results) != 1
            or ops[-1].results[0].name != name
            or ops[-1].name == "arith.constant"
        ):
            return name
        new = self.fresh(hint)
        self.named.add(new)
        ops[-1] = dataclasses.replace(ops[-1], results=(Operand(new, ops[-1].results[0].type),))
        return new

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names for values that no operation makes: the arguments, which the function's head names."""
        self.names.update((name, 0) for name in names)

    def fresh(self, hint: str) -> str:
        """A name that no other value of the function has."""
        base = hint or "v"
        count = self.names.get(base)
        if count is None:
            self.names[base] = 0
            return base
        while True:
            count += 1
            name = f"{base}_{count}"
            if name not in self.names:
                self.names[base] = count
                self.names[name] = 0
                return name

    def open(self) -> None:
        """Start a block; what is emitted goes there until `close`."""
        self.blocks.append(Block())

    def close(self) -> Block:
        """End the innermost block and hand it over."""
        return self.blocks.pop()

    def splice(self, block: Block) -> None:
        """Emit a closed block's operations into the current one."""
        current = self.blocks[-1]
        current.ops += block.ops
        for key, operand in block.constants.items():
            current.constants.setdefault(key, operand)

    def emit(
        self,
        name: str,
        operands: tuple[Operand, ...],
        results: tuple[str, ...],
        span: Span,
        *,
        hints: tuple[str, ...] = (),
        attributes: Attributes = (),
        extra: Attributes = (),
        regions: tuple[Region, ...] = (),
    ) -> tuple[Operand, ...]:
        """Append an op with results of the IR types `results`; returns them."""
        made = tuple(Operand(self.fresh(hints[i] if i < len(hints) else ""), t) for i, t in enumerate(results))
        self.blocks[-1].ops.append(Op(name, operands, made, attributes, extra, regions, span))
        return made

    def constant(self, type_: Type, value: Number | tuple[Number, ...], span: Span, hint: str = "") -> Operand:
        """A constant; an equal one of this or an enclosing block is used again."""
        elements = value if isinstance(value, tuple) else (value,)
        if isinstance(value, tuple) and len({repr(v) for v in value}) == 1:
            elements = (value[0],)
        key = (type_.ir, repr(elements))
        for block in self.blocks:
            if key in block.constants:
                return block.constants[key]
        (made,) = self.emit(
            "arith.constant",
            (),
            (type_.ir,),
            span,
            hints=(hint or _hint(elements),),
            attributes=(("value", Elements(elements)),),
        )
        self.blocks[-1].constants[key] = made
        return made


def _hint(elements: tuple[Number, ...]) -> str:
    value = elements[0]
    if len(elements) == 1 and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6:
        return f"c{value}"
    return "cst"
