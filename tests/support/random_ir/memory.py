"""Random accesses: buffers that are read, buffers with a row a work-item, workgroup and private memory, atomics."""

from __future__ import annotations

from dataclasses import dataclass

from random_ir.builder import FLOATS, WIDTH, Value, typed
from random_ir.expressions import Expressions

SPACES = {"workgroup": ", 3 : i32", "private": ", 5 : i32"}
ATOMICS = {"i32": (1, 2, 4, 5, 7, 8, 11, 12, 15), "i64": (1, 2, 4, 5, 7, 8, 11, 12, 15), "f32": (0, 2, 13, 14)}
"""Kinds of `memref.atomic_rmw` by element type."""


@dataclass(frozen=True)
class Place:
    """A memref. `kind`: read, own (row i of the first axis belongs to work-item i), workgroup (the same), private."""

    name: str
    element: str
    kind: str
    shape: tuple[int, ...]
    open: tuple[bool, ...] = ()
    align: int = 0

    @property
    def type(self) -> str:
        """The type as the IR spells it; open axes are `?`."""
        axes = [("?" if self.open and self.open[n] else str(extent)) for n, extent in enumerate(self.shape)]
        return f"memref<{'x'.join(axes)}x{self.element}{SPACES.get(self.kind, '')}>"


class Memories(Expressions):
    """Draws accesses that stay inside and race with none of another work-item."""

    places: list[Place]
    item: Value
    """Number of the work-item in the grid."""
    local: Value
    """Number of the work-item in its workgroup."""

    def subscripts(self, place: Place, lanes: int, row: Value | None = None) -> list[Value]:
        """One `index` an axis; the whole vector stays inside the last one. `row` replaces the own row."""
        r, result = self.random, []
        for axis, extent in enumerate(place.shape):
            last = axis == len(place.shape) - 1
            room = extent - (max(lanes, 1) - 1 if last else 0)
            if axis == 0 and place.kind in ("own", "workgroup"):
                result.append(row or (self.item if place.kind == "own" else self.local))
            elif r.random() < 0.25:
                result.append(self.index(r.randrange(room)))
            elif axis == 0 and self.item.high < room and r.random() < 0.3:
                result.append(self.item)
            elif last and lanes and r.random() < 0.3:
                step = r.choice([2, lanes])
                q = self.within(self.pick_index(), (room - 1) // step + 1)
                scaled = self.op("arith.muli", [q, self.index(step)], "index", bounds=(0, q.high * step))
                result.append(scaled)
            else:
                result.append(self.within(self.pick_index(), room))
        return result

    def _sizes(self, place: Place) -> list[int]:
        return [n for n in self.options.sizes if n <= place.shape[-1]]

    def load(self, place: Place | None = None, row: Value | None = None) -> Value:
        """An element or a vector of a memref, perhaps under a mask."""
        place = place or self.random.choice(self.places)
        lanes = self.random.choice([0, 0, *self._sizes(place)])
        where, ref = self.subscripts(place, lanes, row), self.fresh()
        at = f"%{place.name}[{', '.join(v.ref for v in where)}]"
        if not lanes:
            self.line(f"{ref} = memref.load {at} : {place.type}")
        elif self.random.random() < 0.3:
            mask, other = self.pick("i1", lanes), self.pick(place.element, lanes)
            self.used.add("vector.maskedload")
            types = f"{place.type}, {mask.type}, {other.type} into {other.type}"
            self.line(f"{ref} = vector.maskedload {at}, {mask.ref}, {other.ref} : {types}")
        else:
            self.used.add("vector.load")
            self.line(f"{ref} = vector.load {at} : {place.type}, {typed(place.element, lanes)}")
        return self.see(Value(ref, place.element, lanes))

    def store(self) -> None:
        """An element or a vector into what the work-item owns, perhaps under a mask."""
        place = self.random.choice([p for p in self.places if p.kind != "read"])
        lanes = self.random.choice([0, 0, *self._sizes(place)])
        value, where = self.pick(place.element, lanes), self.subscripts(place, lanes)
        at = f"%{place.name}[{', '.join(v.ref for v in where)}]"
        if not lanes:
            self.line(f"memref.store {value.ref}, {at} : {place.type}")
        elif self.random.random() < 0.35:
            mask = self.pick("i1", lanes)
            self.used.add("vector.maskedstore")
            names = ", ".join([f"%{place.name}", *(v.ref for v in where), mask.ref, value.ref])
            types = ", ".join([place.type, *("index" for _ in where), mask.type, value.type])
            self.line(f'"vector.maskedstore"({names}) : ({types}) -> ()')
        else:
            self.used.add("vector.store")
            self.line(f"vector.store {value.ref}, {at} : {place.type}, {value.type}")

    def atomic(self) -> None:
        """An update of what the work-item owns, so that the old value is the same on every device."""
        fitting = [p for p in self.places if p.kind in ("own", "workgroup") and p.element in ATOMICS]
        if not fitting:
            return
        place = self.random.choice(fitting)
        kind, value = self.random.choice(ATOMICS[place.element]), self.pick(place.element)
        where, ref = self.subscripts(place, 0), self.fresh()
        self.used.add(f"memref.atomic_rmw {kind}")
        names = ", ".join([value.ref, f"%{place.name}", *(v.ref for v in where)])
        types = ", ".join([value.type, place.type, *("index" for _ in where)])
        self.line(f'{ref} = "memref.atomic_rmw"({names}) <{{kind = {kind} : i64}}> : ({types}) -> {value.type}')
        self.see(Value(ref, place.element))

    def exchange(self) -> None:
        """Read another work-item's row between two barriers."""
        fitting = [p for p in self.places if p.kind == "workgroup"]
        if fitting:
            place = self.random.choice(fitting)
            row = self.within(self.pick_index(), place.shape[0])
            self.line('"gpu.barrier"() : () -> ()')
            self.load(place, row)
            self.line('"gpu.barrier"() : () -> ()')

    def collective(self) -> None:
        """An operation of the subgroup or the workgroup."""
        r, lanes = self.random, self.options.subgroup
        element = r.choice(["i1", self.pick_element()])
        x, form = self.pick(element), r.choice(["reduce", "reduce", "workgroup", "scan", "broadcast", "shuffle", "xor"])
        if form in ("reduce", "workgroup", "scan"):
            kinds = [] if element == "i1" else ["add", "min", "max"]
            kinds += [] if element in FLOATS else ["and", "or"]
            kind = r.choice(kinds) if form != "scan" else "add"
            if kind not in kinds:
                return
            properties = f'kind = "{kind}"'
            if element in WIDTH and element not in FLOATS and kind in ("min", "max") and r.random() < 0.5:
                properties += ", unsigned"
            if form == "reduce" and r.random() < 0.7:
                properties += f", cluster = {2 ** r.randrange(lanes.bit_length())} : i64"
            name = {"reduce": "subgroup_reduce", "workgroup": "workgroup_reduce", "scan": "subgroup_scan"}[form]
            self.op(f"motif.{name}", [x], element, properties=properties, uniform=form == "workgroup")
        elif form == "broadcast":
            shared = self.visible("index", fits=lambda v: v.uniform)
            lane = (
                self.within(r.choice(shared), lanes) if shared and r.random() < 0.5 else self.index(r.randrange(lanes))
            )
            self.op("motif.subgroup_broadcast", [x, lane], element, uniform=False)
        elif form == "shuffle":
            self.op("motif.subgroup_shuffle", [x, self.within(self.pick_index(), lanes)], element, uniform=False)
        else:
            self.op(
                "motif.subgroup_shuffle_xor",
                [x],
                element,
                properties=f"mask = {r.randrange(lanes)} : i64",
                uniform=False,
            )
