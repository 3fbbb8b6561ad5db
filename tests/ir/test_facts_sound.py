"""Facts of random programs against what the interpreter computes: a fact that some run breaks is wrong.

Every value of a program is stored to a trace buffer at its place, for arguments drawn within their promises; the
trace must lie within the range, hit the exact value, be divided by the divisor and agree within the group.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import StringAttr

from specgen.devices.interpreter import interpret_batch
from specgen.devices.interpreter.frame import Frame
from specgen.devices.interpreter.memory import Memory
from specgen.ir import parse
from specgen.ir.facts import Facts

ITEMS = 16
CONSTANTS = (0, 1, 2, 3, 4, 8, 16, -1, -5, 100)


@dataclass
class Writer:
    """Writes a random function. Each index value is stored to `trace[number, item]` where it is made."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    traced: list[str] = field(default_factory=list)
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def emit(self, text: str) -> None:
        self.lines.append(text)

    def trace(self, name: str) -> None:
        number = len(self.traced)
        self.traced.append(name)
        self.emit(f"%at_{name} = arith.constant {number} : index")
        self.emit(f"%w_{name} = arith.index_cast %{name} : index to i64")
        self.emit(f'memref.store %w_{name}, %trace[%at_{name}, %t] {{of = "{name}"}} : memref<?x{ITEMS}xi64>')

    def value(self, scope: list[str]) -> str:
        """A new value from values in scope; small enough that nothing overflows 64 bits."""
        rng, made = self.rng, self.name()
        a, b = rng.choice(scope), rng.choice(scope)
        pick = rng.random()
        if pick < 0.55:
            op = rng.choice(["addi", "subi", "minsi", "maxsi", "minsi", "addi"])
            self.emit(f"%{made} = arith.{op} %{a}, %{b} : index")
        elif pick < 0.75:
            factor = rng.choice([2, 3, 4, 8])
            self.emit(f"%k_{made} = arith.constant {factor} : index")
            op = rng.choice(["arith.muli", "arith.floordivsi", "arith.ceildivsi", "motif.floorremsi", "arith.remsi"])
            if op == "arith.muli":
                self.emit(f"%m_{made} = arith.constant 1000000 : index")
                self.emit(f'%r_{made} = "arith.remsi"(%{a}, %m_{made}) : (index, index) -> index')
                a = f"r_{made}"
            self.emit(f'%{made} = "{op}"(%{a}, %k_{made}) : (index, index) -> index')
        elif pick < 0.85:
            self.emit(f"%c_{made} = {self.condition(a, b)}")
            self.emit(f"%{made} = arith.select %c_{made}, %{a}, %{rng.choice(scope)} : index")
        else:
            width = rng.choice(["i8", "i16", "i32"])
            extend = rng.choice(["extsi", "extui"])
            self.emit(f"%n_{made} = arith.index_cast %{a} : index to {width}")
            self.emit(f"%s_{made} = arith.addi %n_{made}, %n_{made} : {width}")
            self.emit(f"%e_{made} = arith.{extend} %s_{made} : {width} to i64")
            self.emit(f"%{made} = arith.index_cast %e_{made} : i64 to index")
        self.trace(made)
        return made

    def condition(self, a: str, b: str) -> str:
        predicate = self.rng.choice(["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge"])
        return f"arith.cmpi {predicate}, %{a}, %{b} : index"

    def guard(self, scope: list[str]) -> str:
        """A condition of one or two parts."""
        rng, made = self.rng, self.name()
        self.emit(f"%{made}_0 = {self.condition(rng.choice(scope), rng.choice(scope))}")
        self.emit(f"%{made}_1 = {self.condition(rng.choice(scope), rng.choice(scope))}")
        self.emit(f"%{made} = arith.{rng.choice(['andi', 'ori'])} %{made}_0, %{made}_1 : i1")
        return rng.choice([made, f"{made}_0"])

    def block(self, scope: list[str], depth: int) -> list[str]:
        """A few statements; the values visible afterwards."""
        scope = list(scope)
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.random()
            if depth == 0 or kind < 0.5:
                scope.append(self.value(scope))
            elif kind < 0.75:
                scope.append(self.branch(scope, depth - 1))
            elif kind < 0.9:
                scope.append(self.loop(scope, depth - 1))
            else:
                scope.append(self.while_loop(scope, depth - 1))
        return scope

    def branch(self, scope: list[str], depth: int) -> str:
        made, guard = self.name(), self.guard(scope)
        self.emit(f"%{made} = scf.if %{guard} -> (index) {{")
        self.emit(f"scf.yield %{self.block(scope, depth)[-1]} : index }} else {{")
        self.emit(f"scf.yield %{self.block(scope, depth)[-1]} : index }}")
        self.trace(made)
        return made

    def small(self, scope: list[str], top: int) -> str:
        """A value of the scope cut to [0, top], so that loops end."""
        made = self.name()
        self.emit(f"%z_{made} = arith.constant 0 : index\n%t_{made} = arith.constant {top} : index")
        self.emit(f"%x_{made} = arith.maxsi %{self.rng.choice(scope)}, %z_{made} : index")
        self.emit(f"%{made} = arith.minsi %x_{made}, %t_{made} : index")
        self.trace(made)
        return made

    def loop(self, scope: list[str], depth: int) -> str:
        made, low, high = self.name(), self.small(scope, 6), self.small(scope, 9)
        step, first = self.rng.choice([1, 1, 2, 4]), self.rng.choice(scope)
        self.emit(f"%st_{made} = arith.constant {step} : index")
        carried = f"iter_args(%a_{made} = %{first}) -> (index) {{"
        self.emit(f"%{made} = scf.for %i_{made} = %{low} to %{high} step %st_{made} {carried}")
        inner = [*scope, f"i_{made}", f"a_{made}"]
        self.trace(f"i_{made}")
        self.trace(f"a_{made}")
        self.emit(f"%b_{made} = arith.constant 1000000007 : index")
        last = self.block(inner, depth)[-1]
        self.emit(f'%y_{made} = "arith.remsi"(%{last}, %b_{made}) : (index, index) -> index')
        self.emit(f"scf.yield %y_{made} : index }}")
        self.trace(made)
        return made

    def while_loop(self, scope: list[str], depth: int) -> str:
        """Counts down by 1, 2 or 3 while the rest is large enough."""
        made, first, other = self.name(), self.small(scope, 9), self.rng.choice(scope)
        step = self.rng.choice([1, 2, 3])
        self.emit(f"%g_{made} = arith.constant {step} : index")
        types = "(index, index) -> (index, index) {"
        self.emit(f"%{made}, %o_{made} = scf.while (%p_{made} = %{first}, %q_{made} = %{other}) : {types}")
        self.emit(f"%c_{made} = arith.cmpi sge, %p_{made}, %g_{made} : index")
        self.emit(f"scf.condition(%c_{made}) %p_{made}, %q_{made} : index, index }} do {{")
        self.emit(f"^bb_{made}(%l_{made}: index, %r_{made}: index):")
        self.trace(f"l_{made}")
        self.trace(f"r_{made}")
        self.emit(f"%d_{made} = arith.subi %l_{made}, %g_{made} : index")
        self.trace(f"d_{made}")
        self.emit(f"%b_{made} = arith.constant 1000000007 : index")
        last = self.block([*scope, f"l_{made}", f"r_{made}", f"d_{made}"], depth)[-1]
        self.emit(f'%y_{made} = "arith.remsi"(%{last}, %b_{made}) : (index, index) -> index')
        self.emit(f"scf.yield %d_{made}, %y_{made} : index, index }}")
        self.trace(made)
        self.trace(f"o_{made}")
        return made


def program(seed: int) -> tuple[str, list[str]]:
    """The text of a random function and the names of its traced values."""
    writer = Writer(random.Random(seed))
    writer.emit('%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index')
    scope = ["n", "m", "t"]
    for number, value in enumerate(CONSTANTS):
        writer.emit(f"%const{number} = arith.constant {value} : index")
        scope.append(f"const{number}")
    writer.block(scope, 3)
    rows = len(writer.traced)
    body = "\n".join(writer.lines).replace("memref<?x", f"memref<{rows}x")
    text = (
        'builtin.module { func.func @f(%n: index {motif.name = "n", motif.range = array<i64: -3, 40>}, '
        '%m: index {motif.name = "m", motif.range = array<i64: 0, 64>, motif.multiple_of = 8 : i64}, '
        f'%trace: memref<{rows}x{ITEMS}xi64> {{motif.name = "trace", motif.access = "readwrite"}}) '
        f"attributes {{motif.workgroup_size = array<i64: {ITEMS}, 1, 1>, motif.subgroup_size = 8 : i64}} "
        f"{{\n{body}\nfunc.return\n}} }}"
    )
    return text, writer.traced


UNTOUCHED = -(2**62) - 12345


def check(seed: int) -> int:
    """Check one program; the number of values with a range narrower than `index`."""
    text, traced = program(seed)
    module = parse(text)
    (function,) = module.body.block.ops
    facts = Facts(function)  # type: ignore[arg-type]
    stores = {
        op.attributes["of"].data: op  # type: ignore[attr-defined]
        for op in function.walk()
        if isinstance(op, memref.StoreOp) and isinstance(op.attributes.get("of"), StringAttr)
    }
    launches = [
        {"n": n, "m": m, "trace": np.full(len(traced) * ITEMS, UNTOUCHED)}
        for n in (-3, 0, 1, 7, 8, 9, 23, 40)
        for m in (0, 8, 16, 64)
    ]
    levels = {n: facts.uniform(stores[name].value.owner.operands[0]) for n, name in enumerate(traced)}  # type: ignore[union-attr]
    watched = Watched(levels, traced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "store", lambda *given: watched(*given))
        runs = interpret_batch(text, "f", launches)
    assert all(f.kind == "race" for r in runs for f in r.findings), runs[0].findings
    found = np.stack([r.outputs["trace"].reshape(len(traced), ITEMS) for r in runs])
    narrow = 0
    for number, name in enumerate(traced):
        store = stores[name]
        value = store.value.owner.operands[0]  # type: ignore[union-attr]
        seen = found[:, number]
        real = seen[seen != UNTOUCHED]
        for known in (facts.range(value), facts.range(value, store)):
            narrow += known.lo > -(2**40)  # type: ignore[operator]
            if real.size:
                assert known.low <= real.min(), (name, known)
                assert real.max() <= known.high, (name, known)
        factor = facts.multiple_of(value)
        assert not (real % factor).any() if factor else not real.any(), (name, factor)
    return narrow


class Watched:
    """Stands in for `Memory.store`: at each store the active work-items of a group must agree."""

    def __init__(self, levels: dict[int, str], traced: list[str]) -> None:
        self.levels, self.traced, self.store = levels, traced, Memory.store

    def __call__(self, memory: Memory, index: Any, value: Any, frame: Frame, *rest: Any) -> None:
        number = int(index[0])
        size = {"workgroup": ITEMS, "subgroup": 8, "none": 1}[self.levels[number]]
        values = np.broadcast_to(value, frame.shape).reshape(frame.rows, -1, size)
        active = frame.active().reshape(values.shape)
        low = np.where(active, values, 2**63 - 1).min(-1)
        high = np.where(active, values, -(2**63)).max(-1)
        assert ((low == high) | ~active.any(-1)).all(), (self.traced[number], self.levels[number])
        self.store(memory, index, value, frame, *rest)


def test_facts_of_random_programs() -> None:
    narrow = sum(check(seed) for seed in range(60))
    # The test would be empty if facts never knew anything.
    assert narrow > 500


@pytest.mark.slow
def test_facts_of_many_random_programs() -> None:
    for seed in range(60, 500):
        check(seed)
