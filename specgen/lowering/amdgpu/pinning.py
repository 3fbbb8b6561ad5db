"""Keeps lane offsets and their constants together in loops.

LLVM hoists `offset + constant` out of a loop, one register for each constant, and the constant no longer folds into
the instruction's immediate field. So the lane offset of a loop's accesses is passed round the loop through an empty
assembly statement: LLVM then takes it for a new value in each round. No instruction comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from specgen.lowering.amdgpu.addresses import Sum, address, emit_sum, is_split, key_of
from specgen.lowering.amdgpu.builder import Phi
from specgen.lowering.amdgpu.context import Lowering, SumKey
from specgen.lowering.amdgpu.types import Value

LOADS = ("memref.load", "vector.load", "vector.maskedload")
STORES = ("memref.store", "vector.store", "vector.maskedstore")


@dataclass
class Pinned:
    """The offsets that one loop passes round: values before the loop, phis, values in the round."""

    keys: list[SumKey]
    first: list[Value]
    phis: list[Phi]
    current: list[Value]
    outer: dict[SumKey, Value]


def _accesses(block: Block) -> Iterator[Operation]:
    """Memory accesses of a loop body and of the branches in it, but not of loops in it."""
    for op in block.ops:
        if op.name in LOADS or op.name in STORES:
            yield op
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _accesses(inner)


def base_and_indices(op: Operation) -> tuple[SSAValue, list[SSAValue]]:
    """The memref and the subscripts of an access."""
    rank_from = 1 if op.name == "memref.store" or op.name == "vector.store" else 0
    base = op.operands[rank_from]
    rank = len(base.type.get_shape())  # type: ignore[attr-defined]
    return base, list(op.operands[rank_from + 1 : rank_from + 1 + rank])


def plan(low: Lowering, body: Block) -> list[Sum]:
    """The lane offsets worth it: used with a constant, through a descriptor, and known before the loop."""
    found: dict[SumKey, Sum] = {}
    for op in _accesses(body):
        base, indices = base_and_indices(op)
        memory = low.memory.get(base)
        if memory is None or memory.descriptor is None:
            continue
        at = address(low, op, memory, indices)
        known = all(v in low.values for (value, scale) in at.varying.terms for v in (value, *scale) if v is not None)
        if known and at.varying.terms and at.constant and is_split(low, op, at):
            found.setdefault(key_of(at.varying), at.varying)
    return list(found.values())


def before(low: Lowering, body: Block) -> Pinned:
    """Computes the offsets in front of the loop."""
    sums = plan(low, body)
    keys = [key_of(s) for s in sums]
    first = []
    for key, part in zip(keys, sums, strict=True):
        value = low.pinned.get(key) or emit_sum(low, part, 32, flags=" nuw nsw")
        assert value is not None
        first.append(value)
    return Pinned(keys, first, [], [], dict(low.pinned))


def enter(low: Lowering, pinned: Pinned) -> None:
    """Makes the phis; call where the loop's phis are made. `opened` comes after the last phi."""
    pinned.phis = [low.b.phi("i32") for _ in pinned.keys]


def opened(low: Lowering, pinned: Pinned, entry: str) -> None:
    """Passes the offsets through the empty statement and lets the accesses of the body find them."""
    for key, phi, first in zip(pinned.keys, pinned.phis, pinned.first, strict=True):
        phi.incoming.append((first.ref, entry))
        value = low.b.emit("i32", f'call i32 asm sideeffect "", "=v,0"({phi.result})')
        pinned.current.append(value)
        low.pinned[key] = value


def leave(low: Lowering, pinned: Pinned) -> None:
    """Closes the phis from the current block; the offsets of the surrounding code hold again."""
    low.b.incoming(pinned.phis, pinned.current)
    low.pinned = pinned.outer
