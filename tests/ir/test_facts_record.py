"""Facts that keep their reasons: the same facts, and no reason that was not used."""

from __future__ import annotations

import pytest
from binding_helpers import bound
from corpus_build import FILES
from xdsl.dialects.func import FuncOp

from specgen import ir, targets
from specgen.expand import expand
from specgen.facts_table import Row, table
from specgen.ir.facts import Facts
from specgen.ir.facts_record import RecordedFacts
from specgen.loading import load_spec
from specgen.stages import plan


def rows(body: str, **options: object) -> list[Row]:
    made = bound(body, **options)  # type: ignore[arg-type]
    assert made.instance is not None
    module = ir.parse(expand(made.instance), "k")
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    return table(function, made.instance)


def of(found: list[Row], name: str, side: str = "") -> Row:
    (row,) = [r for r in found if r.name == name and r.side == side]
    return row


def kinds(row: Row, fact: str = "range") -> list[str]:
    return [b.kind for b in row.because if b.fact == fact]


@pytest.mark.parametrize("name", ["sum_rows", "triangular_matvec", "sum_spans", "row_softmax", "transpose", "stencil5"])
def test_recording_changes_no_fact(name: str) -> None:
    """Every value of the source, at its definition and at the end of its block."""
    loaded = load_spec(FILES[name])
    assert loaded.spec is not None
    planned = plan(loaded.spec, "gfx1151").planned
    assert planned is not None
    function = next(op for op in planned.source.body.block.ops if isinstance(op, FuncOp))
    plain, recorded = Facts(function), RecordedFacts(function)
    for op in function.walk():
        for value in op.results:
            assert plain.range(value) == recorded.range(value)
            assert plain.uniform(value) == recorded.uniform(value)
            last = op.parent_block().last_op  # type: ignore[union-attr]
            assert plain.range(value, last) == recorded.range(value, last)


def test_declarations_and_the_launch() -> None:
    found = rows(
        """
- let: {i: "ids[n // 2]"}
- if: i >= 0
  then:
  - store:
      y[lane]: x[i, lane]
- store: {"y[lane]": f32(0)}
"""
    )
    n = of(found, "n")
    assert (n.low, n.high, n.uniform, kinds(n)) == (0, 64, "workgroup", ["declared"])
    assert n.because[0].place.endswith("k.spec.yaml:6:6")
    lane = of(found, "lane")
    assert (lane.low, lane.high, lane.uniform, kinds(lane)) == (0, 31, "none", ["launch"])
    assert kinds(lane, "uniform") == ["launch"]
    i = of(found, "i")
    assert (i.low, i.high, kinds(i)) == (-1, 63, ["declared"])
    assert i.because[0].place.endswith("k.spec.yaml:8:8"), "the buffer's declaration"
    assert (of(found, "i", "then").low, kinds(of(found, "i", "then"))) == (0, ["declared", "guard"])


def test_a_guard_is_named_only_where_it_narrows() -> None:
    body = """
- var: {t: "x[0, lane]"}
- if: n <= 99 and n >= 8
  then:
  - if: lane < 4
    then:
    - set: {t: t * 2}
- store: {"y[lane]": t}
"""
    found = rows(body)
    inner = [r for r in found if r.name == "n" and r.within]
    assert [(r.low, r.high, r.side) for r in inner] == [(8, 64, "then")]
    (guard,) = [b for b in inner[0].because if b.kind == "guard"]
    assert guard.text == "n >= 8, by the condition of `if`"
    lane = of(found, "lane", "then")
    assert (lane.low, lane.high) == (0, 3)
    assert [b.text for b in lane.because if b.kind == "guard"] == ["lane <= 3, by the condition of `if`"]


def test_the_other_side_of_a_guard() -> None:
    found = rows(
        """
- var: {t: "x[0, lane]"}
- if: n < 8
  then:
  - set: {t: t * 2}
  else:
  - set: {t: t * 3}
- store: {"y[lane]": t}
"""
    )
    assert [(of(found, "n", s).low, of(found, "n", s).high) for s in ("then", "else")] == [(0, 7), (8, 64)]


def test_loops() -> None:
    found = rows(
        """
- var: {t: f32(0)}
- for: i
  in: range(n)
  do:
  - set:
      t: t + x[i, lane]
- store: {"y[lane]": t}
"""
    )
    i = of(found, "i")
    assert (i.low, i.high, i.uniform) == (0, 63, "workgroup")
    assert kinds(i)[0] == "loop"
    n = of(found, "n", "body")
    assert (n.low, n.high) == (1, 64)
    assert "loop" in kinds(n)


def test_steps_are_multiples() -> None:
    found = rows(
        """
- var: {t: f32(0)}
- for: i
  in: range(0, n, 4)
  do:
  - if: n % 8 == 0
    then:
    - set:
        t: t + x[i, lane]
- store: {"y[lane]": t}
"""
    )
    i = of(found, "i")
    assert i.multiple_of == 4
    assert [b.text for b in i.because if b.fact == "multiple"] == ["starts at 0, steps by 4"]
    n = of(found, "n", "then")
    assert n.multiple_of == 8
    assert [(b.kind, b.text) for b in n.because if b.fact == "multiple"] == [
        ("guard", "a multiple of 8, by the condition of `if`")
    ]


def test_promises_hold_behind_them() -> None:
    found = rows("""
- assume: n >= 5
- store: {"y[lane]": "x[n - 5, lane]"}
""")
    n = of(found, "n", "behind")
    assert (n.low, n.high, kinds(n)) == (5, 64, ["declared", "assume"])


def test_conditions_of_while() -> None:
    found = rows("""
- var: {k: index(0)}
- while: k < n
  do:
  - set: {k: k + 3}
- store: {"y[lane]": f32(k)}
""")
    inside = [r for r in found if r.name == "k" and r.low == 0 and "while" in kinds(r)]
    assert [(r.high, r.multiple_of) for r in inside] == [(63, 3)]
    assert "k + 1 <= n, by the condition of `while`" in [b.text for b in inside[0].because]


def test_uniformity_names_the_part_that_differs() -> None:
    found = rows("""
- let: {a: n * 3 + lane}
- let: {b: n * 3 + 1}
- store: {"y[lane]": f32(a + b)}
""")
    assert of(found, "a").uniform == "none"
    assert [b.text for b in of(found, "a").because if b.fact == "uniform"] == [
        "arith.addi of lane: differs between work-items"
    ]
    assert of(found, "b").uniform == "workgroup"


def test_exact_values() -> None:
    found = rows(
        """
- var: {t: f32(0)}
- if: n >= 8
  then:
  - let: {m: "min(n, 8)"}
  - set:
      t: x[m, lane]
- store: {"y[lane]": t}
"""
    )
    assert all(r.exact == 8 for r in found if r.name == "m")
    assert targets.load("gfx1151").subgroup_size == 32
