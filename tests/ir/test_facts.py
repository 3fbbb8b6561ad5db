"""Facts of hand-written functions; expected ranges are worked out by hand in each test."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from specgen.ir import parse
from specgen.ir.facts import Facts
from specgen.ir.facts_interval import Interval
from specgen.ir.facts_record import RecordedFacts

HEADER = (
    '%n: index {motif.name = "n", motif.range = array<i64: 0, 64>}, '
    '%m: index {motif.name = "m", motif.range = array<i64: 0, 640>, motif.multiple_of = 8 : i64}, '
    '%free: index {motif.name = "free"}, '
    '%w: i32 {motif.name = "w", motif.range = array<i64: 0, 100>}, '
    '%ids: memref<64xi32> {motif.name = "ids", motif.range = array<i64: -1, 4095>}'
)


class Probe:
    """A function with the arguments above and `body`; values are named by their text name."""

    def __init__(self, body: str, size: str = "32, 4, 1", subgroup: int | None = 32) -> None:
        extra = "" if subgroup is None else f", motif.subgroup_size = {subgroup} : i64"
        text = (
            f"builtin.module {{ func.func @f({HEADER}) attributes {{motif.workgroup_size = array<i64: {size}>{extra}}} "
            f"{{\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c4 = arith.constant 4 : index\n"
            f"%c8 = arith.constant 8 : index\n{body}\nfunc.return\n}} }}"
        )
        module = parse(text)
        (function,) = module.body.block.ops
        self.facts = Facts(function)  # type: ignore[arg-type]
        self.values: dict[str, SSAValue] = {}
        self.ops: list[Operation] = list(function.walk())
        for op in self.ops:
            values = [*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)]
            self.values |= {v.name_hint: v for v in values if v.name_hint}

    def __getitem__(self, name: str) -> SSAValue:
        return self.values[name]

    def range(self, name: str, at: Operation | None = None) -> tuple[int | None, int | None]:
        found = self.facts.range(self[name], at)
        return found.lo, found.hi

    def loop(self, number: int = 0) -> scf.ForOp:
        return [op for op in self.ops if isinstance(op, scf.ForOp)][number]


def test_arithmetic_of_ranges() -> None:
    p = Probe(
        """%a = arith.addi %n, %c8 : index
        %b = arith.muli %n, %c4 : index
        %c = arith.floordivsi %n, %c8 : index
        %d = "motif.floorremsi"(%free, %c8) : (index, index) -> index
        %e = arith.minsi %free, %n : index
        %f = arith.maxsi %free, %c0 : index
        %g = arith.subi %c0, %n : index
        %h = arith.ceildivsi %n, %c8 : index"""
    )
    assert p.range("a") == (8, 72)
    assert p.range("b") == (0, 256)
    assert p.range("c") == (0, 8)
    assert p.range("d") == (0, 7)
    assert p.range("e") == (-(2**63), 64)
    assert p.range("f") == (0, 2**63 - 1)
    assert p.range("g") == (-64, 0)
    assert p.range("h") == (0, 8)


def test_narrow_integers_wrap() -> None:
    p = Probe(
        """%k = arith.constant 100 : i8
        %s = arith.trunci %w : i32 to i8
        %t = arith.addi %s, %k : i8
        %u = arith.extui %t : i8 to i32
        %x = arith.addi %w, %w : i32"""
    )
    assert p.range("s") == (0, 100)
    assert p.range("t") == (-128, 127)
    assert p.range("u") == (0, 255)
    assert p.range("x") == (0, 200)


def test_loop_counter_and_trip_counts() -> None:
    p = Probe(
        """scf.for %i = %c0 to %n step %c1 { scf.yield }
        %lo = arith.addi %n, %c4 : index
        %hi = arith.addi %n, %c8 : index
        scf.for %j = %lo to %hi step %c1 { scf.yield }
        scf.for %k = %c1 to %c8 step %c4 { scf.yield }"""
    )
    assert p.range("i") == (0, 63)
    assert p.facts.trip_count(p.loop(0)) is None
    assert p.facts.trip_range(p.loop(0)) == Interval(0, 64)
    assert p.facts.trip_count(p.loop(1)) == 4
    assert p.facts.trip_count(p.loop(2)) == 2
    assert p.facts.provably(p["i"], "<", p.facts.function.body.block.args[0])


def test_min_is_exact_under_its_guard() -> None:
    p = Probe(
        """%left = arith.subi %n, %c4 : index
        %full = arith.cmpi sge, %left, %c8 : index
        scf.if %full {
          %take = arith.minsi %left, %c8 : index
          scf.for %i = %c0 to %take step %c1 { scf.yield }
        } else {
          %rest = arith.minsi %left, %c8 : index
        }"""
    )
    assert p.facts.exact(p["take"]) == 8
    assert p.facts.trip_count(p.loop()) == 8
    assert p.range("rest") == (-4, 7)


def test_min_before_the_guard_is_exact_inside() -> None:
    p = Probe(
        """%left = arith.subi %n, %c4 : index
        %take = arith.minsi %left, %c8 : index
        %full = arith.cmpi sge, %left, %c8 : index
        scf.if %full { scf.for %i = %c0 to %take step %c1 { scf.yield } }"""
    )
    assert p.facts.exact(p["take"]) is None
    assert p.facts.trip_count(p.loop()) == 8


def test_parts_of_and_hold_and_parts_of_or_do_not() -> None:
    p = Probe(
        """%a = arith.cmpi sge, %n, %c8 : index
        %b = arith.cmpi slt, %free, %n : index
        %both = arith.andi %a, %b : i1
        %one = arith.ori %a, %b : i1
        scf.if %both { %x1 = arith.addi %n, %c0 : index
                       %y1 = arith.addi %free, %c0 : index } else { %x2 = arith.addi %n, %c0 : index }
        scf.if %one { %x3 = arith.addi %n, %c0 : index } else { %x4 = arith.addi %n, %c0 : index
                                                                %y4 = arith.addi %free, %c0 : index }"""
    )
    assert p.range("x1") == (8, 64)
    assert p.range("y1")[1] == 63
    assert p.range("x2") == (0, 64)
    assert p.range("x3") == (0, 64)
    assert p.range("x4") == (0, 7)
    assert p.range("y4")[0] == 0


def test_lazy_and_is_a_guard_too() -> None:
    p = Probe(
        """%id = memref.load %ids[%c0] : memref<64xi32>
        %z = arith.constant 0 : i32
        %no = arith.constant false
        %a = arith.cmpi sge, %id, %z : i32
        %both = scf.if %a -> (i1) { %b = arith.cmpi slt, %id, %w : i32
                                    scf.yield %b : i1 } else { scf.yield %no : i1 }
        scf.if %both { %row = arith.index_cast %id : i32 to index }"""
    )
    assert p.range("id") == (-1, 4095)
    assert p.range("row") == (0, 99)


def test_while_facts_hold_in_the_body_for_forwarded_values_only() -> None:
    p = Probe(
        """%r, %l = scf.while (%row = %c0, %left = %n) : (index, index) -> (index, index) {
          %inside = arith.minsi %left, %c8 : index
          %go = arith.cmpi sge, %left, %c8 : index
          scf.condition(%go) %row, %left : index, index
        } do {
        ^bb0(%row_b: index, %left_b: index):
          %take = arith.minsi %left_b, %c8 : index
          scf.for %i = %c0 to %take step %c1 { scf.yield }
          %next = arith.addi %row_b, %c8 : index
          %less = arith.subi %left_b, %c8 : index
          scf.yield %next, %less : index, index
        }
        %after = arith.minsi %l, %c8 : index"""
    )
    assert p.facts.exact(p["take"]) == 8
    assert p.facts.trip_count(p.loop()) == 8
    assert p.facts.exact(p["inside"]) is None
    assert p.facts.exact(p["after"]) is None
    assert p.range("left_b") == (8, 64)
    assert p.range("less") == (0, 56)


def test_while_fact_through_an_expression_of_forwarded_values() -> None:
    p = Probe(
        """%r = scf.while (%row = %c0) : (index) -> (index) {
          %left = arith.subi %n, %row : index
          %go = arith.cmpi sge, %left, %c8 : index
          scf.condition(%go) %row : index
        } do {
        ^bb0(%row_b: index):
          %left_b = arith.subi %n, %row_b : index
          %take = arith.minsi %left_b, %c8 : index
          %next = arith.addi %row_b, %c8 : index
          scf.yield %next : index
        }"""
    )
    assert p.facts.exact(p["take"]) == 8
    assert p.range("row_b") == (0, 56)
    assert p.facts.multiple_of(p["row_b"]) == 8


def test_or_in_a_while_condition_teaches_nothing() -> None:
    p = Probe(
        """%flag = arith.cmpi eq, %free, %c0 : index
        %l = scf.while (%left = %n) : (index) -> (index) {
          %big = arith.cmpi sge, %left, %c8 : index
          %go = arith.ori %big, %flag : i1
          scf.condition(%go) %left : index
        } do {
        ^bb0(%left_b: index):
          %take = arith.minsi %left_b, %c8 : index
          %less = arith.subi %left_b, %take : index
          scf.yield %less : index
        }"""
    )
    assert p.facts.exact(p["take"]) is None


def test_sums_of_constraints_prove_bounds() -> None:
    p = Probe(
        """%stop = arith.subi %n, %c4 : index
        scf.for %i = %c0 to %stop step %c1 {
          %k = arith.addi %i, %c4 : index
          scf.for %j = %c0 to %c4 step %c1 {
            %e = arith.addi %i, %j : index
          }
        }"""
    )
    n = p.facts.function.body.block.args[0]
    assert p.facts.provably(p["k"], "<", n)
    assert p.facts.provably(p["e"], "<", n)
    assert p.range("e") == (0, 62)
    assert not p.facts.provably(p["e"], "<", 62)


def test_counter_of_whole_steps_leaves_room_for_a_step() -> None:
    p = Probe(
        """%all = arith.muli %n, %c8 : index
        scf.for %i = %c0 to %all step %c8 { %last = arith.addi %i, %c8 : index }
        %odd = arith.addi %all, %c1 : index
        scf.for %j = %c0 to %odd step %c8 { %past = arith.addi %j, %c8 : index }"""
    )
    assert p.facts.provably(p["last"], "<=", p["all"])
    assert not p.facts.provably(p["past"], "<=", p["odd"])
    assert p.facts.multiple_of(p["i"]) == 8


def test_carried_integers_reach_a_fixed_point() -> None:
    p = Probe(
        """%s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c4, %b = %c8) -> (index, index) {
          %x = arith.addi %a, %c8 : index
          %y = arith.minsi %b, %i : index
          scf.yield %x, %y : index, index
        }"""
    )
    assert p.range("a")[0] == 4
    assert p.facts.multiple_of(p["a"]) == 4
    assert p.range("b") == (0, 8)
    assert p.range("t") == (0, 8)


def test_divisibility() -> None:
    p = Probe(
        """%a = arith.muli %free, %c8 : index
        %b = arith.addi %a, %c4 : index
        %m8 = arith.floordivsi %a, %c4 : index
        %r = "motif.floorremsi"(%free, %c8) : (index, index) -> index
        %zero = arith.cmpi eq, %r, %c0 : index
        "motif.assume"(%zero) : (i1) -> ()
        %late = arith.addi %free, %c8 : index"""
    )
    m = p.facts.function.body.block.args[1]
    assert p.facts.multiple_of(m) == 8
    assert p.facts.multiple_of(p["a"]) == 8
    assert p.facts.multiple_of(p["b"]) == 4
    assert p.facts.multiple_of(p["m8"]) == 2
    free = p.facts.function.body.block.args[2]
    assert p.facts.multiple_of(free) == 1
    assert p.facts.multiple_of(free, p["late"].owner) == 8  # type: ignore[arg-type]


def test_assumption_holds_after_it_only() -> None:
    p = Probe(
        """%before = arith.addi %free, %c0 : index
        %small = arith.cmpi ult, %free, %c8 : index
        "motif.assume"(%small) : (i1) -> ()
        %after = arith.addi %free, %c0 : index"""
    )
    assert p.range("before") == (-(2**63), 2**63 - 1)
    assert p.range("after") == (0, 7)


def test_safe_divisor_and_exclusion() -> None:
    p = Probe(
        """%none = arith.cmpi eq, %n, %c0 : index
        %safe = arith.select %none, %c1, %n : index
        %some = arith.cmpi ne, %n, %c0 : index
        scf.if %some { %inside = arith.addi %n, %c0 : index }"""
    )
    assert p.range("safe") == (1, 64)
    assert p.range("inside") == (1, 64)


def test_equal_computations_are_one_symbol() -> None:
    p = Probe(
        """%a = arith.muli %n, %free : index
        %b = arith.muli %n, %free : index
        %c = arith.addi %a, %c4 : index"""
    )
    assert p.facts.provably(p["a"], "==", p["b"])
    assert p.facts.provably(p["c"], ">", p["b"])
    assert not p.facts.provably(p["a"], "==", p["c"])


def test_ids_and_uniformity() -> None:
    p = Probe(
        """%x = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
        %y = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index
        %z = "gpu.thread_id"() <{dimension = #gpu<dim z>}> : () -> index
        %g = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
        %c32 = arith.constant 32 : index
        %row = arith.muli %y, %c32 : index
        %id = arith.addi %row, %x : index
        %sub = arith.floordivsi %id, %c32 : index
        %half = arith.floordivsi %id, %c8 : index
        %u = arith.addi %g, %n : index
        %v = memref.load %ids[%y] : memref<64xi32>
        %t = arith.cmpi slt, %x, %n : index
        %pick = scf.if %t -> (index) { scf.yield %c0 : index } else { scf.yield %c1 : index }
        %sum = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (index) -> index
        %all = "motif.workgroup_reduce"(%x) <{kind = "add"}> : (index) -> index"""
    )
    assert p.range("x") == (0, 31)
    assert p.range("y") == (0, 3)
    levels = {name: p.facts.uniform(p[name]) for name in ("x", "y", "z", "g", "id", "sub", "half", "u", "v", "t")}
    assert levels == {
        "x": "none",
        "y": "subgroup",
        "z": "workgroup",
        "g": "workgroup",
        "id": "none",
        "sub": "subgroup",
        "half": "none",
        "u": "workgroup",
        "v": "subgroup",
        "t": "none",
    }
    assert p.facts.uniform(p["pick"]) == "none"
    assert p.facts.uniform(p["sum"]) == "subgroup"
    assert p.facts.uniform(p["all"]) == "workgroup"
    assert p.range("sum")[1] is not None


def test_carried_values_lose_uniformity_by_bounds_or_contents() -> None:
    p = Probe(
        """%x = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
        %a = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c0) -> (index) {
          %p1 = arith.addi %p, %i : index
          scf.yield %p1 : index }
        %b = scf.for %j = %c0 to %n step %c1 iter_args(%q = %c0) -> (index) {
          %q1 = arith.addi %q, %x : index
          scf.yield %q1 : index }
        %c = scf.for %k = %c0 to %x step %c1 iter_args(%r = %c0) -> (index) {
          %r1 = arith.addi %r, %c1 : index
          scf.yield %r1 : index }"""
    )
    assert [p.facts.uniform(p[v]) for v in "abc"] == ["workgroup", "none", "none"]


def test_open_subgroup_size_makes_nothing_subgroup_uniform() -> None:
    p = Probe('%y = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index', subgroup=None)
    assert p.facts.uniform(p["y"]) == "none"


def test_index_width() -> None:
    p = Probe(
        """%big = arith.constant 100000000 : index
        %a = arith.muli %n, %c8 : index
        %b = arith.muli %n, %big : index
        %c = arith.floordivsi %b, %big : index"""
    )
    assert p.facts.fits_32_bits(p["a"])
    assert not p.facts.fits_32_bits(p["b"])
    assert p.range("c") == (0, 64)
    assert not p.facts.fits_32_bits(p["c"])


def test_long_chains_do_not_overflow_the_stack() -> None:
    lines = ["%v0 = arith.addi %n, %c1 : index", "%u0 = arith.minsi %n, %c8 : index"]
    for k in range(1, 1500):
        lines.append(f"%v{k} = arith.addi %v{k - 1}, %c1 : index")
        lines.append(f"%u{k} = arith.maxsi %u{k - 1}, %c1 : index")
    p = Probe("\n".join(lines))
    assert p.range("v1499") == (1500, 1564)
    assert p.range("u1499") == (1, 8)


def test_why_names_declarations_and_conditions() -> None:
    p = Probe(
        """%big = arith.cmpi sge, %n, %c8 : index
        scf.if %big { %take = arith.minsi %n, %c8 : index }"""
    )
    facts = RecordedFacts(p.facts.function)
    inside = facts.contexts.of(p["take"])
    assert facts.interval(p["take"], inside).exact == 8
    assert facts.interval(p["n"], inside) == Interval(8, 64)
    kinds = {(reason.kind, reason.values) for reason in facts.reasons(p["take"], inside)}
    assert ("declared", (p["n"],)) in kinds
    assert any(kind == "guard" for kind, _ in kinds)


@pytest.mark.parametrize(("predicate", "low", "high"), [("ult", 0, 7), ("ule", 0, 8), ("slt", None, 7)])
def test_unsigned_guards(predicate: str, low: int | None, high: int) -> None:
    p = Probe(
        f"""%t = arith.cmpi {predicate}, %free, %c8 : index
        scf.if %t {{ %v = arith.addi %free, %c0 : index }}"""
    )
    found = p.range("v")
    assert found[1] == high
    assert found[0] == (-(2**63) if low is None else low)
