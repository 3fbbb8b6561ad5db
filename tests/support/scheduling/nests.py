"""Random loop nests as IR text: guards, inner loops, several carried values, chains of reads, workgroup memory,
barriers, collectives and staged copies, under random policies.

Addresses are remainders by the extent, so that every read is inside. A fault can be planted: the nest then breaks
one known rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from scheduling import kernels, lets

SIZE = 16
HEAD = """
func.func @nest(%n: index {motif.name = "n", motif.range = array<i64: 0, 9>},
    %m: index {motif.name = "m", motif.range = array<i64: 0, 4>}, %free: index {motif.name = "free"},
    %ids: memref<16xi64> {motif.name = "ids", motif.access = "read", motif.range = array<i64: 0, 15>, motif.noalias},
    %a: memref<16xf32> {motif.name = "a", motif.access = "read", motif.noalias},
    %b: memref<16xf32> {motif.name = "b", motif.access = "read", motif.noalias},
    %out: memref<4x32xf32> {motif.name = "out", motif.access = "write", motif.noalias})
    attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>, motif.subgroup_size = 32 : i64} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %tile = memref.alloc() {motif.name = "tile"} : memref<32xf32, 3 : i32>
  %copy = memref.alloc() {motif.name = "copy", motif.staged} : memref<32xf32, 3 : i32>
  %f0 = arith.constant 0.5 : f32
  %f1 = arith.constant -1.25 : f32
"""
CONSTANTS = (0, 1, 2, 3, 5, 8, 16)


@dataclass
class Scope:
    """Values that may be used, by type; `recent` ones are preferred."""

    index: list[str]
    floats: list[str]
    depth: int = 0
    carried: list[str] = field(default_factory=list)

    def inner(self) -> Scope:
        """A scope for a nested block."""
        return Scope(list(self.index), list(self.floats), self.depth + 1, list(self.carried))


@dataclass
class Nest:
    """A generated kernel: `serial` has no policies, `text` has them. `rule` is the rule that was broken on purpose."""

    text: str
    serial: str
    rule: str | None


class Builder:
    """Writes one nest."""

    def __init__(self, random: Random, rule: str | None = None, *, lanes: bool = False) -> None:
        """`lanes`: work-items read what others stored, so that one work-item alone cannot run it."""
        self.peer = "%peer" if lanes else "%lane"
        self.random = random
        self.rule = rule
        self.lines: list[str] = []
        self.number = 0
        self.exact = rule in _NEED_EXACT or (rule not in _NEED_OPEN and random.random() < 0.4)
        self.shared = self.exact and random.random() < 0.4
        self.policies: list[str] = []
        self.staged = rule is None and random.random() < 0.3

    def build(self) -> Nest:
        """The nest; the outermost loop has a fault planted when one is asked for."""
        for value in CONSTANTS:
            self.emit(f"%c{value} = arith.constant {value} : index")
        self.emit("%c31 = arith.constant 31 : index")
        self.emit("%peer = arith.subi %c31, %lane : index")
        self.emit("%huge = arith.constant 4611686018427387904 : index")
        scope = Scope(["%c1", "%lane", "%c2", "%c3", "%n", "%m"], ["%f0", "%f1"])
        sums = self.loop(scope, outer=True)
        for number, value in enumerate(sums[:4]):
            self.emit(f"memref.store {value}, %out[%c{number}, %lane] : memref<4x32xf32>")
        if self.rule is None:
            self.through()
        body = "\n".join(self.lines)
        text = HEAD + body + "\n  func.return\n}\n"
        bare = text
        for number, policy in enumerate(self.policies):
            text = text.replace(f"POLICY{number}_", policy)
            bare = bare.replace(f"POLICY{number}_", "motif.bare")
        return Nest(text, bare, self.rule)

    def through(self) -> None:
        """Some pipelined loops let a value of their body run ahead, mostly one that may."""
        for number, policy in enumerate(self.policies):
            if not policy.startswith("motif.pipeline") or self.random.random() < 0.6:
                continue
            found = lets.candidates(self.lines, f"POLICY{number}_")
            free = [let for let in found if let.free]
            if free or self.random.random() < 0.3:
                let = self.random.choice(free if free and self.random.random() < 0.85 else found)
                self.lines.insert(let.line, f'  "motif.ahead"({let.name}) : ({let.type}) -> ()')
                self.policies[number] += ', motif.through = "p"'

    def emit(self, line: str) -> None:
        """A line of text."""
        self.lines.append("  " + line)

    def name(self, kind: str) -> str:
        """A fresh name."""
        self.number += 1
        return f"%{kind}{self.number}"

    def pick(self, values: list[str]) -> str:
        """A value, more often a late one."""
        late = values[-4:]
        return self.random.choice(late if self.random.random() < 0.6 else values)

    # Statements --------------------------------------------------------------------------------------------------

    def block(self, scope: Scope, length: int, *, reads: bool) -> None:
        """Some statements; at least one read when asked for."""
        kinds = [self.arithmetic, self.index_sum, self.conditional, self.read, self.chained_read]
        weights = [4, 3, 2 if scope.depth < 3 else 0, 3, 1]
        if scope.depth < 2:
            kinds.append(self.inner_loop)
            weights.append(1)
        if self.shared and scope.depth == 1:
            kinds += [self.collective, self.workgroup]
            weights += [1, 1]
        if self.staged and scope.depth == 1:
            kinds.append(self.staged_copy)
            weights.append(2)
        if self.rule in _WITHOUT_READS:
            kinds, weights, reads = [self.arithmetic, self.index_sum], [1, 1], False
        if reads:
            self.read(scope)
        for _ in range(length):
            self.random.choices(kinds, weights)[0](scope)

    def arithmetic(self, scope: Scope) -> None:
        """A float operation."""
        operands = [self.pick(scope.floats + scope.carried) for _ in range(2)]
        result = self.name("f")
        self.emit(f"{result} = arith.{self.random.choice(['addf', 'mulf', 'subf'])} {operands[0]}, {operands[1]} : f32")
        scope.floats.append(result)

    def index_sum(self, scope: Scope) -> None:
        """An index operation."""
        left, right = self.pick(scope.index), self.pick(scope.index)
        result = self.name("i")
        self.emit(f"{result} = arith.{self.random.choice(['addi', 'addi', 'muli'])} {left}, {right} : index")
        scope.index.append(result)

    def address(self, scope: Scope) -> str:
        """A subscript inside the buffers."""
        result = self.name("at")
        self.emit(f"{result} = arith.remui {self.pick(scope.index)}, %c16 : index")
        return result

    def read(self, scope: Scope) -> None:
        """A load."""
        at, result = self.address(scope), self.name("x")
        self.emit(f"{result} = memref.load {self.random.choice(['%a', '%b'])}[{at}] : memref<16xf32>")
        scope.floats.append(result)

    def chained_read(self, scope: Scope) -> None:
        """A load whose value can be an address."""
        at, loaded, result = self.address(scope), self.name("id"), self.name("i")
        self.emit(f"{loaded} = memref.load %ids[{at}] : memref<16xi64>")
        self.emit(f"{result} = arith.index_cast {loaded} : i64 to index")
        scope.index.append(result)

    def condition(self, scope: Scope) -> str:
        """A guard on coordinates, rarely on data."""
        result = self.name("q")
        if self.random.random() < 0.08:
            left, right = self.pick(scope.floats), self.pick(scope.floats)
            self.emit(f"{result} = arith.cmpf olt, {left}, {right} : f32")
        else:
            left, right = self.pick(scope.index), self.pick(scope.index)
            self.emit(f"{result} = arith.cmpi {self.random.choice(['slt', 'sge', 'eq'])}, {left}, {right} : index")
        return result

    def conditional(self, scope: Scope) -> None:
        """An `scf.if` with a float result; often one side passes a value on."""
        condition, result = self.condition(scope), self.name("f")
        self.emit(f"{result} = scf.if {condition} -> (f32) {{")
        reading = self.random.randrange(2)
        for side in range(2):
            inner = scope.inner()
            inner.depth += 1
            if side == reading or self.random.random() < 0.3:
                self.block(inner, self.random.randrange(3), reads=side == reading and self.random.random() < 0.8)
            self.emit(f"scf.yield {self.pick(inner.floats + inner.carried)} : f32")
            self.emit("} else {" if side == 0 else "}")
        scope.floats.append(result)

    def inner_loop(self, scope: Scope) -> None:
        """A nested loop that sums up."""
        scope.floats.extend(self.loop(scope, outer=False)[:1])

    def collective(self, scope: Scope) -> None:
        """A subgroup sum."""
        result = self.name("r")
        value = self.pick(scope.floats)
        self.emit(f'{result} = "motif.subgroup_reduce"({value}) <{{kind = "add"}}> : (f32) -> f32')
        scope.floats.append(result)

    def workgroup(self, scope: Scope) -> None:
        """Publish, meet, read, meet."""
        result = self.name("w")
        self.emit(f"memref.store {self.pick(scope.floats)}, %tile[%lane] : memref<32xf32, 3 : i32>")
        self.emit('"gpu.barrier"() : () -> ()')
        self.emit(f"{result} = memref.load %tile[{self.peer}] : memref<32xf32, 3 : i32>")
        self.emit('"gpu.barrier"() : () -> ()')
        scope.floats.append(result)

    def staged_copy(self, scope: Scope) -> None:
        """What a view becomes that is staged: each work-item copies an element, all meet, read what others copied, and
        meet again before the next copy. Any uniform bounds will do around it."""
        at, loaded, result = self.address(scope), self.name("x"), self.name("s")
        self.emit(f"{loaded} = memref.load {self.random.choice(['%a', '%b'])}[{at}] : memref<16xf32>")
        self.emit(f"memref.store {loaded}, %copy[%lane] {{motif.staged}} : memref<32xf32, 3 : i32>")
        self.emit('"gpu.barrier"() {motif.staged} : () -> ()')
        self.emit(f"{result} = memref.load %copy[{self.peer}] : memref<32xf32, 3 : i32>")
        self.emit('"gpu.barrier"() {motif.staged} : () -> ()')
        scope.floats.append(result)

    # Loops -------------------------------------------------------------------------------------------------------

    def loop(self, scope: Scope, *, outer: bool) -> list[str]:
        """A loop; the names of its results."""
        random = self.random
        low, high, step = self.bounds(scope, outer=outer)
        count = random.choice([1, 1, 2])
        carried = [self.name("acc") for _ in range(count)]
        results = [self.name("sum") for _ in range(count)]
        counter = self.name("k")
        initial = [random.choice(["%f0", "%f1"]) for _ in range(count)]
        pairs = ", ".join(f"{a} = {v}" for a, v in zip(carried, initial, strict=True))
        types = ", ".join(["f32"] * count)
        if outer and self.rule == "P5":
            carried, results = [*carried, "%stored"], [*results, "%kept"]
            pairs, types = f"{pairs}, %stored = %a", f"{types}, memref<16xf32>"
        self.emit(
            f"{', '.join(results)} = scf.for {counter} = {low} to {high} step {step} iter_args({pairs}) -> ({types}) {{"
        )
        inner = scope.inner()
        inner.index += [counter, counter]
        inner.carried = carried[:count] if outer or random.random() < 0.5 else []
        self.block(inner, random.randrange(2, 6), reads=True)
        if outer and self.rule is not None:
            PLANTED[self.rule](self, inner, counter, carried)
        yielded = []
        for name in carried:
            if name == "%stored":
                yielded.append(name)
                continue
            value, last = self.name("t"), inner.floats[-1] if random.random() < 0.8 else self.pick(inner.floats)
            self.emit(f"{value} = arith.addf {name}, {last} : f32")
            yielded.append(value)
        self.emit(f"scf.yield {', '.join(yielded)} : {types}")
        self.emit(f'}} {{motif.loop = "{counter[1:]}", POLICY{len(self.policies)}_}}')
        self.policies.append(self.policy(outer=outer))
        return results[:count]

    def bounds(self, scope: Scope, *, outer: bool) -> tuple[str, str, str]:
        """Lower and upper bound and step."""
        random = self.random
        step = random.choice(["%c1", "%c1", "%c2", "%c3"])
        if outer and self.rule == "P3":
            return "%c0", "%n", "%free"
        if outer and self.rule == "P4":
            return "%c0", "%n", "%huge"
        if outer and self.exact:
            return random.choice(["%c0", "%c1", "%c2"]), random.choice(["%c0", "%c3", "%c5", "%c8", "%c16"]), step
        if outer:
            return random.choice(["%c0", "%c0", "%m"]), "%n", step
        high = self.name("h")
        self.emit(f"{high} = arith.remui {self.pick(scope.index)}, %c3 : index")
        return "%c0", random.choice([high, "%c2", "%m"]), "%c1"

    def policy(self, *, outer: bool) -> str:
        """Random policies of a loop."""
        random = self.random
        if outer and self.rule in _POLICIES:
            return _POLICIES[self.rule]
        keys: dict[str, Any] = {}
        if outer or random.random() < 0.3:
            keys["pipeline"] = random.choice([1, 2, 2, 3, 3, 4, 5])
            if random.random() < 0.25:
                keys["lead"] = random.choice(["auto", "auto", 0, 1])
        if outer and self.rule is not None:
            keys["pipeline"] = random.choice([2, 3])
        if random.random() < 0.6:
            keys["unroll"] = random.choice([0, 1, 2, 3, 4, 5, *(["full"] if outer and self.exact else [])])
            keys["order"] = random.choice(["linear", "interleaved", "recurrence"])
            if random.random() < 0.3 and keys["unroll"] != "full":
                keys["tail"] = random.choice(["guard", "cut"])
        return kernels.policy(**keys)[2:] or "motif.bare"


# Faults that are planted in the outermost loop: what breaks the rule, given counter and carried values.

_WITHOUT_READS = frozenset({"P6", "P7"})
_NEED_EXACT = frozenset({"P14", "P19"})
_NEED_OPEN = frozenset({"P10", "P11"})
_POLICIES = {
    "P1": 'motif.pipeline = "deep"',
    "P2": "motif.pipeline = 0 : i64",
    "P4": "motif.pipeline = 3 : i64",
    "P18": "motif.pipeline = 65535 : i64",
}


def _lines(*templates: str) -> Any:
    def plant(builder: Builder, scope: Scope, counter: str, carried: list[str]) -> None:
        new = {key: builder.name(key) for key in ("x", "y", "z")}
        words = {"counter": counter, "acc": carried[0], "float": builder.pick(scope.floats), **new}
        for template in templates:
            builder.emit(template.format(**words))
        if any(template.startswith("{x} =") and template.endswith("f32") for template in templates):
            scope.floats.append(new["x"])

    return plant


def _nothing(builder: Builder, scope: Scope, counter: str, carried: list[str]) -> None:
    pass


_STORE = "memref.store {float}, %out[%c3, %lane] : memref<4x32xf32>"
_VOTE = '{x} = "motif.subgroup_reduce"({float}) <{{kind = "add"}}> : (f32) -> f32'

PLANTED: dict[str, Any] = {
    "P1": _nothing,
    "P2": _nothing,
    "P3": _nothing,
    "P4": _nothing,
    "P5": _nothing,
    "P6": _nothing,
    "P7": _lines("{x} = memref.load %a[%c1] : memref<16xf32>"),
    "P8": _lines(_STORE),
    "P9": _lines('"gpu.barrier"() {{motif.scope = "global"}} : () -> ()'),
    "P10": _lines("memref.store {float}, %tile[%c3] : memref<32xf32, 3 : i32>"),
    "P11": _lines(_VOTE),
    "P12": _lines(
        '{y} = "motif.fptoi"({acc}) <{{signed}}> : (f32) -> i64',
        "{z} = arith.index_cast {y} : i64 to index",
        "{y}m = arith.remui {z}, %c16 : index",
        "{x} = memref.load %a[{y}m] : memref<16xf32>",
    ),
    "P13": _lines(
        "{y} = memref.load %tile[%c3] : memref<32xf32, 3 : i32>",
        '{z} = "motif.fptoi"({y}) <{{signed}}> : (f32) -> i64',
        "{z}i = arith.index_cast {z} : i64 to index",
        "{x} = memref.load %a[{z}i] : memref<16xf32>",
    ),
    "P14": _lines(
        "{x} = scf.for {y} = %c0 to %c2 step %c1 iter_args({z} = %f0) -> (f32) {{",
        "{x}l = memref.load %a[{y}] : memref<16xf32>",
        '{x}r = "motif.subgroup_reduce"({x}l) <{{kind = "add"}}> : (f32) -> f32',
        "{x}s = arith.addf {z}, {x}r : f32",
        "scf.yield {x}s : f32",
        "}}",
    ),
    "P15": _lines(
        "{x} = scf.while ({y} = %c0) : (index) -> index {{",
        "{x}q = arith.cmpi slt, {y}, %c2 : index",
        "scf.condition({x}q) {y} : index",
        "}} do {{",
        "^bb({z}: index):",
        "{z}n = arith.addi {z}, %c1 : index",
        "scf.yield {z}n : index",
        "}}",
    ),
    "P16": _lines('"motif.fence"() : () -> ()'),
    "P17": _lines(
        "{x} = memref.load %ids[%c1] : memref<16xi64>",
        "{x}q = arith.cmpi slt, {x}, {x} : i64",
        "{x}m = arith.select {x}q, %a, %b : memref<16xf32>",
        "{y} = memref.load {x}m[%c1] : memref<16xf32>",
        '{z} = "motif.fptoi"({acc}) <{{signed}}> : (f32) -> i64',
        "{z}i = arith.index_cast {z} : i64 to index",
        '"motif.extents"({x}m, {z}i) : (memref<16xf32>, index) -> ()',
        "{x}t = arith.mulf {y}, {acc} : f32",
    ),
    "P18": _lines(
        "{x} = memref.load %a[%c1] : memref<16xf32>",
        "{x}b = memref.load %b[%c1] : memref<16xf32>",
        "{x}m = arith.mulf {x}, {x}b : f32",
    ),
    "P19": _lines(
        "scf.for {y} = %c0 to %c2 step %c1 {{",
        "{x}l = memref.load %a[{y}] : memref<16xf32>",
        "memref.store {x}l, %tile[{y}] : memref<32xf32, 3 : i32>",
        "}} {{motif.unroll = 2 : i64}}",
    ),
}


def of_seed(seed: int, *, lanes: bool = False) -> tuple[Nest, Random]:
    """A nest, and the generator for what else its test needs. Each fifth has a fault planted, the rules in turn."""
    random, rules = Random(seed), sorted(PLANTED)
    rule = rules[seed // 5 % len(rules)] if seed % 5 == 0 else None
    return Builder(random, rule, lanes=lanes).build(), random


def inputs(random: Random) -> list[dict[str, Any]]:
    """Arguments for runs of a nest: short and long loops."""
    a, b, out = kernels.numbers(SIZE), kernels.numbers(SIZE, seed=2), np.zeros((4, 32), np.float32)
    ids = {(k,): (7 * k + 3) % SIZE for k in range(SIZE)}
    tile = {"free": 1, "ids": ids, "a": a, "b": b, "out": out}
    return [{"n": n, "m": random.randrange(5), **tile} for n in (0, 1, 2, random.randrange(3, 6), 9)]
