"""Whole random functions: control flow around operations and accesses, arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from random_ir.builder import ELEMENTS, FLOATS, INTEGERS, WIDTH, Options, Value, typed
from random_ir.memory import Memories, Place

Carried = tuple[str, int, tuple[int, int]]
"""Element type, lanes, and the bounds of an `index`."""

LIMITS = ((0, 15), (-4, 100), (-(2**33), 2**33), (0, 2**40), (-(2**31), 2**31 - 1))
SIZES = ((64, 1, 1), (128, 1, 1), (16, 8, 1), (8, 4, 4), (64, 2, 1))
DEEPEST = 3


@dataclass(frozen=True)
class Argument:
    """A scalar (no shape) with its bounds, or a buffer."""

    name: str
    element: str
    shape: tuple[int, ...] = ()
    access: str = ""
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Program:
    """A module with the function `k`, and how to launch it."""

    text: str
    groups: int
    arguments: tuple[Argument, ...]
    used: frozenset[str]


class Programs(Memories):
    """Draws a function."""

    def __init__(self, random: Random, options: Options) -> None:
        super().__init__(random, options)
        self.places = []
        self.budget = random.randint(options.statements // 2, 2 * options.statements)
        self.shared = [True]
        self.arguments: list[Argument] = []
        self.counts: list[Value] = []

    # Statements

    def statement(self) -> None:
        """One statement; collectives and barriers only where all work-items come by."""
        self.budget -= 1
        deep, together = len(self.shared) > DEEPEST, self.shared[-1]
        makers: list[tuple[int, Callable[[], object]]] = [
            (10, self.store),
            (12, self.load),
            (4, self.atomic),
            (46, self.expression),
        ]
        makers += [] if deep else [(8, self.conditional), (7, self.counted), (4, self.conditioned)]
        makers += [(7, self.collective), (3, self.exchange)] if together else []
        self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]()

    def block(self, count: int, values: list[Value], shared: bool, ends: list[Carried]) -> list[Value]:
        """Statements in a scope of their own, and the values that they yield."""
        self.scopes.append(list(values))
        self.shared.append(self.shared[-1] and shared)
        for _ in range(count):
            if self.budget > 0:
                self.statement()
        result = [self.carried(c) for c in ends]
        self.shared.pop()
        return result

    def drawn(self, most: int) -> list[Carried]:
        """Types of values that a loop carries or a conditional gives."""
        r, result = self.random, []
        for _ in range(r.randrange(most + 1)):
            element = r.choice([self.pick_element(), self.pick_element(), "i1", "index"])
            result.append((element, 0 if element == "index" else self.pick_lanes(), r.choice(LIMITS)))
        return result

    def carried(self, kind: Carried) -> Value:
        """A value of the type, an `index` within its bounds."""
        element, lanes, (low, high) = kind
        if element != "index":
            return self.pick(element, lanes)
        x = self.pick_index()
        return x if low <= x.low and x.high <= high else self.clamped(x, low, high)

    def named(self, kinds: list[Carried]) -> list[Value]:
        """New values of the types."""
        return [Value(self.fresh(), t, n, *(b if t == "index" else (0, 0))) for t, n, b in kinds]

    def yields(self, values: list[Value]) -> None:
        """The end of a block, and of its scope."""
        if values:
            self.line(f"scf.yield {_refs(values)} : {_types(values)}")
        self.scopes.pop()

    def conditional(self) -> None:
        """`scf.if`, often on a comparison of an `index`, which facts understand."""
        r, condition = self.random, self.pick("i1")
        if r.random() < 0.4:
            sides = [self.pick_index(), self.index(r.choice([0, 1, 3, 8, -1, 30]))]
            condition = self.op("arith.cmpi", sides, "i1", properties=f"predicate = {r.choice([2, 3, 4, 5])} : i64")
        kinds = self.drawn(3)
        results = self.named(kinds)
        head = f"{_refs(results)} = " if results else ""
        self.line(f"{head}scf.if {condition.ref}" + (f" -> ({_types(results)})" if results else "") + " {")
        self.yields(self.block(r.randint(1, 5), [], condition.uniform, kinds))
        if results or r.random() < 0.4:
            self.line("} else {")
            self.yields(self.block(r.randint(1, 5), [], condition.uniform, kinds))
        self.line("}")
        self.scopes[-1] += results

    def counted(self) -> None:
        """`scf.for` with constant, shared or varying ends."""
        r = self.random
        low, step = self.index(r.choice([0, 0, 0, 1, -3, 5])), self.index(r.choice([1, 1, 2, 3, 7]))
        form = r.random()
        if form < 0.4:
            end = self.index(low.low + r.randrange(6))
        elif form < 0.7:
            end = r.choice(self.counts)
        else:
            end = self.within(self.pick_index(), r.choice([2, 4, 6]))
        kinds = self.drawn(3)
        first = [self.carried(k) for k in kinds]
        counter = Value(self.fresh(), "index", 0, min(low.low, end.high), max(end.high - 1, low.low), end.uniform)
        inner, results = self.named(kinds), self.named(kinds)
        pairs = ", ".join(f"{a.ref} = {b.ref}" for a, b in zip(inner, first, strict=True))
        head = f"{_refs(results)} = " if results else ""
        tail = f" iter_args({pairs}) -> ({_types(results)})" if results else ""
        self.line(f"{head}scf.for {counter.ref} = {low.ref} to {end.ref} step {step.ref}{tail} {{")
        self.yields(self.block(r.randint(1, 6), [counter, *inner], end.uniform, kinds))
        self.line("}")
        self.scopes[-1] += results

    def conditioned(self) -> None:
        """`scf.while` that counts down in a type of its own and carries other values."""
        r = self.random
        start = r.choice(self.counts) if r.random() < 0.3 else self.within(self.pick_index(), r.choice([3, 5, 7]))
        kind = r.choice(["index", *INTEGERS])
        first = start if kind == "index" else self.op("arith.index_cast", [start], kind)
        kinds: list[Carried] = [(kind, 0, (0, start.high)), *self.drawn(3)]
        given = [first, *(self.carried(k) for k in kinds[1:])]
        before, after, results = self.named(kinds), self.named(kinds), self.named(kinds)
        pairs = ", ".join(f"{a.ref} = {b.ref}" for a, b in zip(before, given, strict=True))
        self.line(f"{_refs(results)} = scf.while ({pairs}) : ({_types(before)}) -> ({_types(before)}) {{")
        self.block(r.choice([0, 0, 1]), before, False, [])
        step = r.choice([1, 2])
        sides = [before[0], self.constant(kind, step)]
        goes_on = self.op("arith.cmpi", sides, "i1", properties="predicate = 5 : i64")
        self.line(f"scf.condition({goes_on.ref}) {_refs(before)} : {_types(before)}")
        self.scopes.pop()
        self.line("} do {")
        self.line(f"^bb0({', '.join(f'{v.ref} : {v.type}' for v in after)}):")
        ends = self.block(r.randint(1, 4), after, start.uniform, kinds[1:])
        left = self.op("arith.subi", [after[0], self.constant(kind, step)], kind, bounds=(0, start.high))
        self.yields([left, *ends])
        self.line("}")
        self.scopes[-1] += results

    # The function

    def program(self) -> Program:
        """The module."""
        r = self.random
        size, groups = r.choice(SIZES), r.choice([1, 1, 2])
        items = size[0] * size[1] * size[2]
        elements = ["i32", *r.sample([e for e in ELEMENTS if e != "i32"], 3)] if self.options.small else list(ELEMENTS)
        self._arguments(elements, items * groups)
        self._ids(size, groups)
        self._memories(elements, items)
        for place in [p for p in self.places if p.kind == "read"]:
            self.load(place)
        while self.budget > 0:
            self.statement()
        self._results(items * groups)
        return Program(self._module(size), groups, tuple(self.arguments), frozenset(self.used))

    def _arguments(self, elements: list[str], items: int) -> None:
        r = self.random
        for name in ("n", "m"):
            high = r.choice([2, 4, 7])
            self.arguments.append(Argument(name, "index", bounds=(0, high)))
            self.counts.append(self.see(Value(f"%{name}", "index", 0, 0, high, True)))
        for name, element in (("whole", r.choice(INTEGERS)), ("real", r.choice(FLOATS))):
            self.arguments.append(Argument(name, element))
            self.see(Value(f"%{name}", element, uniform=True))
        for element in elements:
            shape = r.choice(
                [
                    (items,),
                    (items, r.choice([3, 8, 9])),
                    (r.choice([3, 5]), items),
                    (2, r.choice([3, 7]), r.choice([16, 17])),
                    (40,),
                ]
            )
            self._buffer(f"in_{element}", element, "read", shape, r.random() < (0.1 if self.options.small else 0.3))
        for number in range(1 if self.options.small else 2):
            self._buffer(f"own_{number}", r.choice(elements), "own", (items, r.choice([3, 4, 8, 9, 16])), False)

    def _buffer(self, name: str, element: str, kind: str, shape: tuple[int, ...], is_open: bool) -> None:
        bytes_ = WIDTH[element] // 8
        align = max(bytes_, self.random.choice([1, 1, 4, 16]))
        place = Place(name, element, kind, shape, (is_open, *(False for _ in shape[1:])), align)
        self.places.append(place)
        self.arguments.append(Argument(name, element, shape, "read" if kind == "read" else "readwrite"))
        if is_open:
            extent = f"extent_of_{name}"
            self.arguments.append(
                Argument(extent, "index", bounds=(shape[0], shape[0] + self.random.choice([0, 9, 2**33])))
            )
            sizes = [f"%{extent}", *(self.index(n).ref for n in shape[1:])]
            types = ", ".join([place.type, *("index" for _ in sizes)])
            self.line(f'"motif.extents"(%{name}, {", ".join(sizes)}) : ({types}) -> ()')

    def _ids(self, size: tuple[int, int, int], groups: int) -> None:
        def known(name: str, high: int, properties: str = "", *, uniform: bool = False) -> Value:
            attributes = f"motif.range = array<i64: 0, {high}>"
            return self.op(
                name, [], "index", properties=properties, attributes=attributes, bounds=(0, high), uniform=uniform
            )

        items, lanes = size[0] * size[1] * size[2], self.options.subgroup
        x, y, z = (
            known("gpu.thread_id", extent - 1, f"dimension = #gpu<dim {axis}>")
            for axis, extent in zip("xyz", size, strict=True)
        )
        group = known("gpu.block_id", groups - 1, "dimension = #gpu<dim x>", uniform=True)
        known("gpu.lane_id", lanes - 1)
        known("gpu.subgroup_id", items // lanes - 1)
        self.local = self._plus(self._plus(x, y, size[0]), z, size[0] * size[1])
        self.item = self._plus(self.local, group, items)

    def _plus(self, a: Value, b: Value, times: int) -> Value:
        product = self.op("arith.muli", [b, self.index(times)], "index", bounds=(0, b.high * times))
        return self.op("arith.addi", [a, product], "index", bounds=(0, a.high + product.high))

    def _memories(self, elements: list[str], items: int) -> None:
        r = self.random
        for number in range(r.randrange(3)):
            element, width = r.choice(elements), r.choice([3, 4, 5, 8])
            if items * width * WIDTH[element] // 8 <= 8192:
                self._alloc(Place(f"pool_{number}", element, "workgroup", (items, width)))
        if r.random() < 0.3:
            self._alloc(Place("slots", r.choice(elements), "private", (r.choice([4, 6, 8, 16]),)))

    def _alloc(self, place: Place) -> None:
        """Memory whose every element is stored before anything else happens to it."""
        self.line(f'%{place.name} = memref.alloc() {{motif.name = "{place.name}"}} : {place.type}')
        for column in range(place.shape[-1]):
            at = [self.local.ref] if place.kind == "workgroup" else []
            value = self.pick(place.element)
            self.line(
                f"memref.store {value.ref}, %{place.name}[{', '.join([*at, self.index(column).ref])}] : {place.type}"
            )
        self.places.append(place)

    def _results(self, items: int) -> None:
        found = [v for scope in self.scopes for v in scope]
        self.random.shuffle(found)
        for number, value in enumerate(found[: 4 if self.options.small else 8]):
            if value.element == "index":
                value = self.op("arith.index_cast", [value], "i64")
            elif value.element == "i1":
                value = self.op("arith.extui", [value], "i8", value.lanes)
            name, shape = f"out_{number}", (items, max(value.lanes, 1))
            self.arguments.append(Argument(name, value.element, shape, "write"))
            type_ = f"memref<{shape[0]}x{shape[1]}x{value.element}>"
            at = f"%{name}[{self.item.ref}, {self.index(0).ref}] : {type_}"
            self.line(
                f"vector.store {value.ref}, {at}, {value.type}" if value.lanes else f"memref.store {value.ref}, {at}"
            )

    def _module(self, size: tuple[int, int, int]) -> str:
        places = {p.name: p for p in self.places}
        rows = []
        for a in self.arguments:
            words = [f'motif.name = "{a.name}"']
            words += [f"motif.range = array<i64: {a.bounds[0]}, {a.bounds[1]}>"] if a.bounds else []
            words += [f'motif.access = "{a.access}"', "motif.noalias"] if a.shape else []
            words += [f"motif.align = {places[a.name].align} : i64"] if a.name in places else []
            extents = "x".join(map(str, a.shape))
            type_ = (
                places[a.name].type if a.name in places else f"memref<{extents}x{a.element}>" if a.shape else a.element
            )
            rows.append(f"%{a.name}: {type_} {{{', '.join(words)}}}")
        attributes = f"motif.kernel, motif.workgroup_size = array<i64: {', '.join(map(str, size))}>"
        attributes += f", motif.subgroup_size = {self.options.subgroup} : i64"
        body = "\n".join(self.lines)
        head = f"func.func @k({', '.join(rows)}) attributes {{{attributes}}}"
        return f"builtin.module {{\n{head} {{\n{body}\n  func.return\n}}\n}}\n"


def _refs(values: list[Value]) -> str:
    return ", ".join(v.ref for v in values)


def _types(values: list[Value]) -> str:
    return ", ".join(typed(v.element, v.lanes) for v in values)
