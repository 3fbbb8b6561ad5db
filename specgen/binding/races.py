"""Races on workgroup memory that can be proven: places computed for every work-item, orders by the barriers between.

Only what certainly runs is looked at: accesses whose places follow from ids, constants and loop counters at their first
value, under conditions that do. What this cannot see is left to the checking devices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from specgen.binding.instance import Elements, Entry, Op
from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic

_MEMORY = re.compile(r"memref<((?:\d+x)+)\w+, 3 : i32>")
MOST_PENDING = 64
"""Accesses of one memory between two barriers that are compared with each other."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.minui": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.maxui": np.maximum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}
_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "arith.floordivsi": np.floor_divide,
    "arith.divui": np.floor_divide,
    "arith.remui": np.remainder,
    "motif.floorremsi": np.remainder,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}
_MEETINGS = ("gpu.barrier", "motif.wait", "motif.workgroup_reduce")
_READS = ("memref.load", "vector.load")
_WRITES = ("memref.store", "vector.store")


@dataclass(frozen=True)
class _Access:
    """An access that certainly happens: for each work-item that makes it, the elements that it touches."""

    write: bool
    items: Any
    places: Any
    span: Span


Pending = dict[str, list[_Access]]


def races(entry: Entry, subgroup_size: int | None) -> Iterator[Diagnostic]:
    """SG-RACE for accesses of two work-items to one element, one of them a store, with no barrier between."""
    memories = {
        o.name: (tuple(int(n) for n in m.group(1).split("x")[:-1]), str(dict(op.extra).get("motif.name", o.name)))
        for op in entry.body.ops
        if op.name == "memref.alloc" and (m := _MEMORY.fullmatch((o := op.results[0]).type))
    }
    if memories:
        finder = _Finder(entry, memories, subgroup_size)
        finder.block(entry.body.ops, np.ones(prod(entry.workgroup_size), bool), {})
        yield from finder.found.values()


class _Finder:
    def __init__(
        self, entry: Entry, memories: Mapping[str, tuple[tuple[int, ...], str]], subgroup_size: int | None
    ) -> None:
        self.memories = memories
        self.subgroup_size = subgroup_size
        self.found: dict[Span, Diagnostic] = {}
        """By the later access, which is told once."""
        self.values: dict[str, Any] = {}
        number = np.arange(prod(entry.workgroup_size))
        x, y, _ = entry.workgroup_size
        self.number = number
        self.ids = {"x": number % x, "y": number // x % y, "z": number // (x * y)}

    def block(self, ops: Sequence[Op], runs: Any, pending: Pending) -> None:
        """Walk operations that the work-items `runs` execute; `pending` are accesses since the last barrier."""
        for op in ops:
            if op.name in _MEETINGS:
                pending.clear()
            elif op.name in _READS or op.name in _WRITES:
                self.access(op, runs, pending)
            elif op.name == "scf.for":
                self.loop(op, runs, pending)
            elif op.name == "scf.if":
                self.conditional(op, runs, pending)
            elif op.regions:
                if _meets(op):
                    pending.clear()
            elif len(op.results) == 1:
                self.compute(op)

    def loop(self, op: Op, runs: Any, pending: Pending) -> None:
        """The first round of a loop: where it is sure to happen it follows what came before."""
        low, high = (self.values.get(o.name) for o in op.operands[:2])
        body = op.regions[0]
        if low is not None and np.ndim(low) == 0:
            self.values[body.arguments[0].name] = low
            surely = high is not None and np.ndim(high) == 0 and low < high
            self.block(body.ops, runs, pending if surely else {})
        if _meets(op):
            pending.clear()

    def conditional(self, op: Op, runs: Any, pending: Pending) -> None:
        """Both sides of a condition that follows from ids; others are passed over."""
        test = self.values.get(op.operands[0].name)
        if test is None:
            if _meets(op):
                pending.clear()
            return
        for region, taken in zip(op.regions, (test, np.logical_not(test)), strict=False):
            inside = runs & taken
            if inside.any():
                self.block(region.ops, inside, pending)

    def compute(self, op: Op) -> None:
        """The value of an operation for every work-item, if it follows from ids and constants."""
        made = self.value(op, [self.values.get(o.name) for o in op.operands])
        if made is not None:
            self.values[op.results[0].name] = made

    def value(self, op: Op, given: list[Any]) -> Any:
        if op.name == "arith.constant":
            number = op.attribute("value")
            known = isinstance(number, Elements) and op.results[0].type in ("index", "i1", "i32", "i64")
            # Unsigned ones beyond 2^63 as the bits that they are.
            return np.int64((number.values[0] + 2**63) % 2**64 - 2**63) if known else None  # type: ignore[union-attr]
        if op.name == "gpu.thread_id":
            return self.ids[str(op.attribute("dimension"))]
        if op.name == "gpu.block_id":
            return np.int64(0)
        if op.name in ("gpu.lane_id", "gpu.subgroup_id") and self.subgroup_size is not None:
            return (np.remainder if op.name == "gpu.lane_id" else np.floor_divide)(self.number, self.subgroup_size)
        if not given or any(g is None for g in given):
            return None
        if op.name in _BINARY:
            return _BINARY[op.name](*given)
        if op.name in _DIVISIONS:
            return _DIVISIONS[op.name](*given) if np.all(np.asarray(given[1]) > 0) else None
        if op.name == "arith.cmpi":
            compare = _COMPARE.get(str(op.attribute("predicate")))
            return None if compare is None else compare(*given)
        if op.name == "arith.select":
            return np.where(*given)
        return given[0] if op.name == "arith.index_cast" else None

    def access(self, op: Op, runs: Any, pending: Pending) -> None:
        write = op.name in _WRITES
        memory, *index = op.operands[1:] if write else op.operands
        if memory.name not in self.memories:
            return
        places = [self.values.get(o.name) for o in index]
        if any(p is None for p in places):
            return
        shape, name = self.memories[memory.name]
        strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        flat = sum((np.asarray(p) * s for p, s in zip(places, strides, strict=True)), np.zeros(len(runs), np.int64))
        wide = (op.operands[0] if write else op.results[0]).type
        count = int(wide.removeprefix("vector<").split("x")[0]) if wide.startswith("vector<") else 1
        items = np.repeat(self.number[runs], count)
        touched = (flat[runs][:, None] + np.arange(count)).reshape(-1)
        inside = (touched >= 0) & (touched < prod(shape))
        access = _Access(write, items[inside], touched[inside], op.span)
        before = pending.setdefault(memory.name, [])
        for other in reversed(before):
            if (write or other.write) and op.span not in self.found:
                self.compare(other, access, prod(shape), name)
        if len(before) < MOST_PENDING:
            before.append(access)

    def compare(self, first: _Access, second: _Access, size: int, name: str) -> None:
        """Report two accesses that touch one element for different work-items."""
        least, most = np.full(size, len(self.number)), np.full(size, -1)
        np.minimum.at(least, first.places, first.items)
        np.maximum.at(most, first.places, first.items)
        other = np.where(least[second.places] != second.items, least[second.places], most[second.places])
        clash = (most[second.places] >= 0) & (other != second.items)
        if not clash.any():
            return
        at = int(np.argmax(clash))
        did, does = ("wrote" if first.write else "read"), ("writes" if second.write else "reads")
        message = (
            f"work-item {int(second.items[at])} {does} an element of `{name}` that work-item {int(other[at])} {did} "
            f"(line {first.span.line}), with no barrier between."
        )
        hint = "Put `- barrier: workgroup` between the two."
        note = Note(first.span, f"{'written' if first.write else 'read'} here")
        self.found[second.span] = diagnostic("SG-RACE", second.span, message, hint=hint, notes=(note,))


def _meets(op: Op) -> bool:
    """Whether a barrier stands anywhere inside."""
    return any(inner.name in _MEETINGS or _meets(inner) for region in op.regions for inner in region.ops)
