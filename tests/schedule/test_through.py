"""`through`: a let runs ahead with the reads; the queue holds its value, and every bit is that of the serial loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_kinds_product import TARGET, diagnostics_of, plan, refused, sweep
from scheduling import kernels
from scheduling.evaluator import Program, same

from specgen import stages
from specgen.devices.interpreter import interpret_batch
from specgen.ir import parse, print_module
from specgen.loading import load_spec
from specgen.schedule import Scheduled, schedule
from specgen.schedule.rows import PipelineRow

FRAME = """
func.func @k(%n: index {{motif.range = array<i64: 0, 12>}}, %ids: memref<16xi64> {{motif.noalias}},
             %a: memref<16xf32> {{motif.noalias}}, %b: memref<16xf32> {{motif.noalias}},
             %out: memref<16xf32> {{motif.noalias}}) attributes {{motif.kernel}} {{
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0) -> (f32) {{
    {body}
    scf.yield %t : f32
  }} {{motif.loop = "i"{policy}}}
  memref.store %sum, %out[%c0] : memref<16xf32>
  func.return
}}
"""
PRODUCT = """
    %x = memref.load %a[%i] : memref<16xf32>
    %y = memref.load %b[%i] : memref<16xf32>
    %p = arith.mulf %x, %y : f32
    "motif.ahead"(%p) : (f32) -> ()
    %t = arith.subf %acc, %p : f32
"""


def scheduled(body: str, **policies: Any) -> Scheduled:
    """The body under policies, after its results and reads were compared with the serial ones."""
    result = schedule(parse(FRAME.format(body=body, policy=kernels.policy(**policies))))
    assert not result.diagnostics
    serial, program = Program(parse(FRAME.format(body=body, policy=""))), Program(result.module)
    ids = {(k,): (7 * k + 3) % 16 for k in range(16)}
    for count in (0, 1, 2, 3, 4, 7, 12):
        a, b, out = (kernels.numbers(16, seed=seed) for seed in (1, 2, 3))
        given = {"n": count, "ids": ids, "a": a, "b": b, "out": out}
        same(serial.run(given), program.run(given), ["out"])
    assert "motif.through" not in str(result.module)
    assert "motif.ahead" not in str(result.module)
    return result


def the_row(result: Scheduled, loop: str = "i") -> PipelineRow:
    """The row of a loop."""
    (row,) = [row for row in result.rows if row.loop == loop]
    return row


def ahead(result: Scheduled) -> dict[str, int]:
    """How far each op of the producer runs ahead."""
    return {row.op: row.iteration_lookahead for row in result.stages if row.stage == "producer"}


def test_product_takes_the_place_of_its_factors() -> None:
    """Two values a record become one; the product is computed as early as its factors are read."""
    plain = scheduled(PRODUCT, pipeline=3)
    through = scheduled(PRODUCT, pipeline=3, through="p")
    assert [the_row(result).values_per_record for result in (plain, through)] == [2, 1]
    assert "arith.mulf" not in ahead(plain)
    assert ahead(through) == {"memref.load": 2, "arith.mulf": 2}
    assert the_row(through).read_count == 2


def test_factor_that_stays_behind_too_is_queued_too() -> None:
    """The product and the factor that the consumer uses as well."""
    body = PRODUCT.replace("%t = arith.subf %acc, %p", "%u = arith.subf %acc, %p : f32\n%t = arith.addf %u, %x")
    row = the_row(scheduled(body, pipeline=3, through="p"))
    assert (row.values_per_record, row.queue_records) == (2, 2)


def test_sum_of_indices_is_queued_when_named() -> None:
    """Else it is computed again from what the queue holds anyway."""
    body = """
    %id = memref.load %ids[%i] : memref<16xi64>
    %j = arith.index_cast %id : i64 to index
    %p = arith.addi %j, %c3 : index
    "motif.ahead"(%p) : (index) -> ()
    %at = arith.remui %p, %c5 : index
    %x = memref.load %a[%at] : memref<16xf32>
    %k = arith.muli %p, %j : index
    %l = arith.index_cast %k : index to i32
    %f = arith.sitofp %l : i32 to f32
    %y = arith.mulf %f, %x : f32
    %t = arith.addf %acc, %y : f32
    """
    assert the_row(scheduled(body, pipeline=2)).values_per_record == 2
    assert the_row(scheduled(body, pipeline=2, through="p")).values_per_record == 3


@pytest.mark.parametrize("lead", [1, 2, "auto"])
@pytest.mark.parametrize("order", ["linear", "interleaved", "recurrence"])
def test_with_lead_and_copies(lead: int | str, order: str) -> None:
    """Reads of addresses go further ahead than the product of what is read there."""
    body = PRODUCT.replace("%a[%i]", "%a[%j]")
    body = "%id = memref.load %ids[%i] : memref<16xi64>\n%j = arith.index_cast %id : i64 to index" + body
    result = scheduled(body, pipeline=2, lead=lead, through="p", unroll=2, order=order)
    assert the_row(result).values_per_record == 1
    found = {(row.position, row.op): row.iteration_lookahead for row in result.stages if row.stage == "producer"}
    distance = 1 if lead == "auto" else lead
    assert found[(0, "memref.load")] == 1 + int(distance)
    assert found[(4, "arith.mulf")] == 1


GUARDED = """
    %x = memref.load %a[%i] : memref<16xf32>
    %y = memref.load %b[%i] : memref<16xf32>
    %q = arith.cmpi slt, %c3, %i : index
    %t = scf.if %q -> (f32) {
      %p = arith.mulf %x, %y : f32
      "motif.ahead"(%p) : (f32) -> ()
      %s = arith.subf %acc, %p : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
"""


def test_let_behind_a_guard() -> None:
    """The conditional, which reads nothing, is cut: predicate and product are queued, not the factors."""
    assert the_row(scheduled(GUARDED, pipeline=3)).values_per_record == 2
    result = scheduled(GUARDED, pipeline=3, through="p", unroll=2)
    assert the_row(result).values_per_record == 2
    halves = [(row.stage, row.iteration_lookahead) for row in result.stages if row.partition == "guarded"]
    assert halves == [("producer", 2), ("consumer", 0)]


@pytest.mark.parametrize("inner", [{}, {"pipeline": 2}, {"pipeline": 3, "unroll": 2}])
@pytest.mark.parametrize("high", ["%n", "%c5"])
def test_result_of_an_inner_loop(inner: dict[str, int], high: str) -> None:
    """An inner loop is rewritten first; its result stays the value that is named."""
    body = f"""
    %x = memref.load %a[%i] : memref<16xf32>
    %p = scf.for %j = %c0 to {high} step %c1 iter_args(%r = %x) -> (f32) {{
      %z = memref.load %b[%j] : memref<16xf32>
      %u = arith.mulf %z, %x : f32
      "motif.ahead"(%u) : (f32) -> ()
      %s = arith.subf %r, %u : f32
      scf.yield %s : f32
    }} {{motif.loop = "j"{kernels.policy(**inner, through="u" if inner else None)}}}
    "motif.ahead"(%p) : (f32) -> ()
    %t = arith.subf %acc, %p : f32
    """
    result = scheduled(body, pipeline=3, through="p")
    assert the_row(result).values_per_record == 1
    if inner:
        assert the_row(result, "j").values_per_record == 1


@pytest.mark.parametrize("side", ["then", "else"])
def test_cut_loops_keep_the_let(side: str) -> None:
    """`split` cuts the loop first: one half has the let, the other none."""
    lets = ["%p = arith.mulf %x, %y : f32", '"motif.ahead"(%p) : (f32) -> ()', "%s = arith.subf %acc, %p : f32"]
    other = ["%s = arith.addf %acc, %x : f32"]
    first, second = (lets, other) if side == "then" else (other, lets)
    blocks = ["\n".join([*lines, "scf.yield %s : f32"]) for lines in (first, second)]
    body = f"""
    %x = memref.load %a[%i] : memref<16xf32>
    %y = memref.load %b[%i] : memref<16xf32>
    %q = arith.cmpi slt, %i, %c5 : index
    %t = scf.if %q -> (f32) {{
      {blocks[0]}
    }} else {{
      {blocks[1]}
    }} {{motif.split}}
    """
    rows = scheduled(body, pipeline=2, through="p").rows
    assert [row.values_per_record for row in rows] == [1, 1]


def test_cut_loops_take_what_a_side_yields() -> None:
    """The let is the result of the conditional that goes away: in each half the value of its side."""
    body = """
    %x = memref.load %a[%i] : memref<16xf32>
    %y = memref.load %b[%i] : memref<16xf32>
    %q = arith.cmpi slt, %i, %c5 : index
    %p = scf.if %q -> (f32) {
      %s = arith.mulf %x, %y : f32
      scf.yield %s : f32
    } else {
      %r = arith.subf %x, %y : f32
      scf.yield %r : f32
    } {motif.split}
    "motif.ahead"(%p) : (f32) -> ()
    %t = arith.subf %acc, %p : f32
    """
    result = scheduled(body, pipeline=2, through="p")
    assert [row.values_per_record for row in result.rows] == [1, 1]
    assert {row.op for row in result.stages if row.stage == "producer"} >= {"arith.mulf", "arith.subf"}


def test_inner_loop_that_is_expanded_first() -> None:
    """An inner loop that stores to workgroup memory is expanded before the cut: its sum is the last copy's."""
    body = """
    %p = scf.for %j = %c0 to %c3 step %c1 iter_args(%r = %f0) -> (f32) {
      %x = memref.load %a[%j] : memref<16xf32>
      memref.store %x, %tile[%j] : memref<16xf32, 3 : i32>
      %s = arith.addf %r, %x : f32
      scf.yield %s : f32
    } {motif.loop = "j", motif.unroll = "full"}
    "motif.ahead"(%p) : (f32) -> ()
    %t = arith.subf %acc, %p : f32
    """
    frame = FRAME.replace("to %n step", "to %c5 step").replace(
        "  %f0 =", '  %tile = memref.alloc() {{motif.name = "tile"}} : memref<16xf32, 3 : i32>\n  %f0 ='
    )
    keys = kernels.policy(pipeline=2, through="p")
    row = the_row(schedule(parse(frame.format(body=body, policy=keys))))
    assert row.values_per_record == 4  # the sum, and three elements to store
    plain = the_row(schedule(parse(frame.format(body=body, policy=kernels.policy(pipeline=2)))))
    assert plain.values_per_record == 3


# --- the spec's side -------------------------------------------------------------------------------------------------

SPEC = """\
spec: 1
kind: kernel
name: ahead
summary: A let of two reads and another one.
args:
  n: {type: index, range: [0, 12]}
  m: {type: index, range: [0, 5]}
  x: {buffer: f32, shape: {row: 12, lane: 32}}
  y: {buffer: f32, shape: {row: 12, lane: 32}}
  w: {buffer: i32, shape: {row: 12, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 3, range: [1, 4]}
  factor: {default: 1, range: [0, 4]}
body:
- var: {total: f32(0)}
- for: row
  in: range(n)
  schedule: {pipeline: depth, through: p, unroll: factor, order: recurrence}
  do:
  - let:
      a: x[row, lane]
      b: y[row, lane]
      c: w[row, lane]
      p: LET
  - set: {total: "total * 0.5 + USE"}
- store: {"out[lane]": total}
"""
FORMS = (
    ("a * b", "p"),
    ("a", "p * b"),
    ("a < b", "(f32(1) if p else f32(2))"),
    ("a if row < m else b", "p"),
    ("x[row, lane] if row < m else y[row, lane] * f32(2)", "p"),
    ("max(a, b) - a", "p"),
    ("dot(unpack(c, i8), unpack(c, u8))", "f32(p)"),
    ("unpack(c, i4)", "f32(p[3]) * f32(p[7])"),
    ("f16(a)", "f32(p)"),
    ("bf16(a)", "f32(p)"),
    ("i64(c) * i64(c)", "f32(p)"),
    ("index(c) % 7", "f32(p)"),
    ("row + 2", "f32(p) * a"),
    ("c // (c % 3)", "f32(p)"),
    ("bits(c, f32)", "(p if p == p else f32(0))"),
    ("fma(a, b, a)", "p"),
    ("exp(a - b)", "p"),
    ("concat(full(a, 2), full(b, 2))", "sum(p)"),
    ("x[min(index(c) % 12, 11), lane]", "p"),
)


def text(let: str, use: str) -> str:
    """The spec with a let and a use of it; reads that neither names are left out."""
    made = SPEC.replace("LET", let).replace("USE", use)
    lines = made.split("\n")
    for name, buffer in (("a", "x"), ("b", "y"), ("c", "w")):
        words = set(f" {let} {use} ".replace("(", " ").replace(")", " ").replace(",", " ").replace("[", " ").split())
        if name not in words:
            lines = [line for line in lines if f"      {name}: {buffer}[" not in line]
            if buffer not in words:
                lines = [line for line in lines if not line.startswith(f"  {buffer}: {{buffer")]
    if " m " not in f" {let} ".replace(")", " "):
        lines = [line for line in lines if not line.startswith("  m: ")]
    return "\n".join(lines)


def launches(made: str) -> list[dict[str, Any]]:
    """Loops of all lengths, with what of the arguments the spec declares."""
    random = np.random.default_rng(3)
    given: dict[str, Any] = {
        "x": random.uniform(-2, 2, 12 * 32).astype(np.float32),
        "y": random.uniform(-2, 2, 12 * 32).astype(np.float32),
        "w": random.integers(-(2**31), 2**31, 12 * 32).astype(np.int32),
        "out": np.zeros(32, np.float32),
    }
    declared = {name: value for name, value in given.items() if f"  {name}: " in made}
    declared |= {"m": 2} if "  m: " in made else {}
    return [{**declared, "n": n} for n in (0, 1, 2, 3, 5, 12)]


@pytest.mark.parametrize(("let", "use"), FORMS[:13] + FORMS[14:])
def test_every_form_of_value(let: str, use: str) -> None:
    """Reads, conditions, vectors, conversions: default and serial give the same bits, whatever the depth."""
    made = text(let, use)
    for depth, factor in ((3, 1), (2, 3)):
        sweep(made, launches(made), depth=depth, factor=factor)
    assert plan(made).scheduled.rows[0].outcome == "pipelined"


def test_check_of_a_divisor_goes_ahead_with_it() -> None:
    """A quotient whose divisor may be 0 has a check, which stands where the quotient is computed."""
    made = text(*FORMS[13])
    planned = plan(made)
    assert planned.scheduled.rows[0].values_per_record == 1
    assert [row.stage for row in planned.scheduled.stages if row.op == "motif.check"] == ["producer"]


def test_constant_is_refused() -> None:
    """A let that is known when the kernel is built: nothing is computed."""
    made = text("a * b", "a * b * f32(p)").replace("p: a * b", "p: 1.5")
    (line,) = [number for number, row in enumerate(made.split("\n"), 1) if row.startswith("      p: ")]
    assert refused(made) == [("SG-LOOP", line)]
    assert refused(made, depth=1) == []


def test_depth_one_and_serial_have_no_mark() -> None:
    """At depth 1 the key stays on the loop and does nothing; the serial entry has neither."""
    made = text(*FORMS[0])
    for depth, marks, keys in ((3, 1, 1), (1, 0, 1)):
        source = print_module(plan(made, depth=depth).source)
        default, serial = source.split("func.func @ahead__serial")
        assert (default.count('"motif.ahead"'), default.count("motif.through")) == (marks, keys)
        assert "motif.ahead" not in serial
        assert "motif.through" not in serial


def test_static_conditions_choose_the_let() -> None:
    """Either branch of a static condition may hold the let; one that is dropped with its branch is not computed."""
    body = "  - if: depth == 3\n    then:\n    - let: {p: a * b}\n    - set: {total: total + p}\n"
    other = "    else:\n    - set: {total: total + a - b}\n"
    made = text("a * b", "p").replace("      p: a * b\n", "")
    made = made.replace('  - set: {total: "total * 0.5 + p"}\n', body + other)
    assert plan(made, depth=3).scheduled.rows[0].values_per_record == 1
    assert plan(made, depth=2).scheduled.rows[0].values_per_record == 2
    sweep(made, launches(made), depth=3)


def test_misspelt_name_has_the_nearest() -> None:
    """SG-NAME at the key."""
    made = text("a * b", "prod").replace("      p: ", "      prod: ").replace("through: p", "through: prd")
    (found,) = diagnostics_of(made)
    assert (found.code, found.hint) == ("SG-NAME", "Nearest: `prod` (let, line 24).")


def test_printed_source_is_read_back() -> None:
    """The mark survives printing and parsing."""
    module = parse(FRAME.format(body=PRODUCT, policy=kernels.policy(pipeline=2, through="p")))
    assert print_module(parse(print_module(module))) == print_module(module)
    assert the_row(schedule(parse(print_module(module)))).values_per_record == 1


MOTIF = """\
spec: 1
kind: motif
name: products
summary: The sum of products of a row, with a let of its own that runs ahead.
args:
  n: {type: index, range: [0, 8]}
  row: {type: index, range: [0, 11]}
  start: {type: f32}
  x: {buffer: f32, shape: {row: 12, at: 8}}
  y: {buffer: f32, shape: {row: 12, at: 8}}
policies:
  depth: {default: 2, range: [1, 4]}
results:
  total: {type: f32}
body:
- var: {total: start}
- for: at
  in: range(n)
  schedule: {pipeline: depth, through: p}
  do:
  - let: {p: "x[row, at] * y[row, at]"}
  - set: {total: total * 0.5 + p}
"""
CALLER = """\
spec: 1
kind: kernel
name: caller
summary: Two applications under a loop that lets the result of one run ahead, under the same name.
uses: [products.spec.yaml]
args:
  rows: {type: index, range: [0, 12]}
  n: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 12, at: 8}}
  y: {buffer: f32, shape: {row: 12, at: 8}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 3, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: row
  in: range(rows)
  schedule: {pipeline: depth, through: p}
  do:
  - apply: products
    as: one
    with: {n: n, row: row, start: f32(1), x: x, y: y}
  - let: {p: one.total}
  - apply: products
    as: two
    with: {n: n, row: row, start: p, x: x, y: x}
    policies: {depth: depth}
  - set: {total: total * 0.5 + two.total}
- store: {"out[lane]": total}
"""


def test_motifs_have_lets_of_their_own(tmp_path: Path) -> None:
    """Each loop takes the let of its own body: the motif's, twice, and the caller's, which is a motif's result."""
    (tmp_path / "products.spec.yaml").write_text(MOTIF)
    (tmp_path / "caller.spec.yaml").write_text(CALLER)
    loaded = load_spec(tmp_path / "caller.spec.yaml")
    assert loaded.spec is not None
    random = np.random.default_rng(4)
    x, y = (random.uniform(-2, 2, 12 * 8).astype(np.float32) for _ in range(2))
    sizes = [{"rows": rows, "n": n} for rows in (0, 2, 3, 7) for n in (0, 1, 5)]
    given = [{**size, "x": x, "y": y, "out": np.zeros(32, np.float32)} for size in sizes]
    for depth in (3, 2, 1):
        planned = stages.plan(loaded.spec, TARGET, {"depth": depth}).planned
        assert planned is not None
        widths = {(r.instance, r.loop): r.values_per_record for r in planned.scheduled.rows if r.function == "caller"}
        assert widths[("one", "at")] == 1
        assert widths[("two", "at")] == (1 if depth > 1 else 0)
        found = interpret_batch(planned.scheduled.module, "caller", given)
        serial = interpret_batch(planned.scheduled.module, "caller__serial", given)
        assert [run.outputs["out"].tobytes() for run in found] == [run.outputs["out"].tobytes() for run in serial]
        assert not any(run.findings for run in (*found, *serial))


def test_packed_products_take_less_room_than_their_words() -> None:
    """The kernel of the corpus that uses the key: product and guard for two pieces of a key and the guard."""
    made = (Path(__file__).parents[2] / "specs/rows/packed_nearest.spec.yaml").read_text()
    rows = [plan(made).scheduled.rows[0], plan(made.replace("through: product, ", "")).scheduled.rows[0]]
    assert [(row.function, row.depth, row.values_per_record) for row in rows] == [
        ("packed_nearest", 3, 2),
        ("packed_nearest", 3, 3),
    ]
