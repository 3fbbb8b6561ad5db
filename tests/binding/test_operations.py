"""The operations that constructs become, as printed."""

from __future__ import annotations

import re

from binding_helpers import ARGS, bound, ops, text

from specgen import ir


def body(source: str, **options: object) -> list[str]:
    """Operations without the id at the start and the store of 0 and return at the end."""
    found = [line for line in ops(source, **options) if "gpu.thread_id" not in line]
    return found[:-1] if "y[" in source else found[:-3] if found[-3].endswith("0.0 : f32") else found[:-2]


def test_arithmetic_is_three_address_with_constants_once() -> None:
    assert body("- let: {a: n * 4 + 1, b: n * 4 - 1}") == [
        "%c4 = arith.constant 4 : index",
        "%v = arith.muli %n, %c4 : index",
        "%c1 = arith.constant 1 : index",
        "%a = arith.addi %v, %c1 : index",
        "%v_2 = arith.muli %n, %c4 : index",
        "%b = arith.subi %v_2, %c1 : index",
    ]


def test_static_parts_are_computed() -> None:
    assert body("- let: {a: n + (3 * 4 - 5) // 2, b: f32(1 / sqrt(128))}") == [
        "%c3 = arith.constant 3 : index",
        "%a = arith.addi %n, %c3 : index",
    ]


def test_division_by_what_may_be_zero_is_checked_and_made_safe() -> None:
    assert body("- let: {a: 10 // n}") == [
        "%c0 = arith.constant 0 : index",
        "%v = arith.cmpi ne, %n, %c0 : index",
        '"motif.check"(%v) <{kind = "division-by-zero", message = "the divisor of `10 // n` is 0"}> : (i1) -> ()',
        "%c1 = arith.constant 1 : index",
        "%v_1 = arith.select %v, %n, %c1 : index",
        "%c10 = arith.constant 10 : index",
        "%v_2 = arith.floordivsi %c10, %v_1 : index",
        "%a = arith.select %v, %v_2, %c0 : index",
    ]


def test_division_is_unsigned_where_signs_are_known() -> None:
    assert body("- let: {a: n // 3, b: n % 3, c: (n - 9) % 3}") == [
        "%c3 = arith.constant 3 : index",
        "%a = arith.divui %n, %c3 : index",
        "%b = arith.remui %n, %c3 : index",
        "%c9 = arith.constant 9 : index",
        "%v_2 = arith.subi %n, %c9 : index",
        '%c = "motif.floorremsi"(%v_2, %c3) : (index, index) -> index',
    ]


def test_a_choice_without_loads_is_a_select() -> None:
    assert body("- let: {a: n if lane < n else 7}") == [
        "%v = arith.cmpi slt, %lane, %n : index",
        "%c7 = arith.constant 7 : index",
        "%a = arith.select %v, %n, %c7 : index",
    ]


def test_a_choice_with_loads_is_a_branch() -> None:
    assert body("- let:\n    a: x[0, lane] if lane < n else 0") == [
        "%v = arith.cmpi slt, %lane, %n : index",
        "%a = scf.if %v -> (f32) {",
        "%c0 = arith.constant 0 : index",
        "%x_1 = memref.load %x[%c0, %lane] : memref<64x32xf32>",
        "scf.yield %x_1 : f32",
        "} else {",
        "%cst = arith.constant 0.0 : f32",
        "scf.yield %cst : f32",
        "}",
    ]


def test_a_choice_by_element_masks_its_loads() -> None:
    assert body("- let: {c: '(iota(4) + n) < 5'}\n- let:\n    a: x[0, 0:+4] if c else 1".replace("'", '"'))[-5:] == [
        "%c0 = arith.constant 0 : index",
        "%cst_1 = arith.constant dense<0.0> : vector<4xf32>",
        "%x_1 = vector.maskedload %x[%c0, %c0], %c, %cst_1 : memref<64x32xf32>, vector<4xi1>, vector<4xf32> "
        "into vector<4xf32>",
        "%cst_2 = arith.constant dense<1.0> : vector<4xf32>",
        "%a = arith.select %c, %x_1, %cst_2 : vector<4xi1>, vector<4xf32>",
    ]


def test_variables_become_arguments_of_loops_and_results_of_conditions() -> None:
    source = """
    - var: {a: 0, b: f32(1), unset: 3}
    - for: i
      in: range(2, n, 3)
      schedule: {pipeline: 2, unroll: full, order: interleaved, tail: cut, lead: auto}
      do:
      - if: i > 5
        then:
        - set: {a: b0, b: b * 2}
    - let: {c: a + unset}
    """.replace("b0", "a + 1")
    assert body(source) == [
        "%c2 = arith.constant 2 : index",
        "%c3 = arith.constant 3 : index",
        "%a = arith.constant 0 : index",
        "%b = arith.constant 1.0 : f32",
        "%a_4, %b_4 = scf.for %i = %c2 to %n step %c3 iter_args(%a_1 = %a, %b_1 = %b) -> (index, f32) {",
        "%c5 = arith.constant 5 : index",
        "%v = arith.cmpi sgt, %i, %c5 : index",
        "%a_3, %b_3 = scf.if %v -> (index, f32) {",
        "%c1 = arith.constant 1 : index",
        "%a_2 = arith.addi %a_1, %c1 : index",
        "%cst = arith.constant 2.0 : f32",
        "%b_2 = arith.mulf %b_1, %cst : f32",
        "scf.yield %a_2, %b_2 : index, f32",
        "} else {",
        "scf.yield %a_1, %b_1 : index, f32",
        "}",
        "scf.yield %a_3, %b_3 : index, f32",
        '} {motif.loop = "i", motif.pipeline = 2 : i64, motif.lead = "auto", motif.unroll = "full", '
        'motif.order = "interleaved", motif.tail = "cut"}',
        "%c = arith.addi %a_4, %c3 : index",
    ]


def test_the_serial_variant_has_no_schedule() -> None:
    keys = "schedule: {pipeline: 3, unroll: 2, order: recurrence, lead: 1}"
    source = f"- for: i\n  in: range(4)\n  {keys}\n  do:\n  - let: {{a: i}}"
    found = ops(source, entry="serial")
    assert '} {motif.loop = "i", motif.pipeline = 1 : i64, motif.unroll = 1 : i64, motif.order = "recurrence"}' in found


def test_set_is_simultaneous() -> None:
    found = body("- var: {a: n, b: lane}\n- set: {a: b, b: a}\n- store:\n    y[b]: f32(a)", args=WIDE)
    assert found[-1] == "memref.store %v_1, %y[%n] : memref<128xf32>"
    assert "%v = arith.index_cast %lane : index to i64" in found


WIDE = ARGS.replace("y: {buffer: f32, shape: {lane: 32}", "y: {buffer: f32, shape: {lane: 128}")


def test_while_forwards_its_variables() -> None:
    assert body("- var: {a: n}\n- while: a > 3\n  do:\n  - set: {a: a - 2}") == [
        '%a_3 = "scf.while"(%n) ({',
        "^bb0(%a: index):",
        "%c3 = arith.constant 3 : index",
        "%v = arith.cmpi sgt, %a, %c3 : index",
        '"scf.condition"(%v, %a) : (i1, index) -> ()',
        "}, {",
        "^bb0(%a_1: index):",
        "%c2 = arith.constant 2 : index",
        "%a_2 = arith.subi %a_1, %c2 : index",
        "scf.yield %a_2 : index",
        "}) : (index) -> index",
    ]


def test_static_conditions_are_decided() -> None:
    source = "- if: target.subgroup_size == 32\n  then:\n  - let: {a: n + 1}\n  else:\n  - let: {a: n + 2}"
    assert body(source) == ["%c1 = arith.constant 1 : index", "%a = arith.addi %n, %c1 : index"]
    assert body(source, target="gfx942") == ["%c2 = arith.constant 2 : index", "%a = arith.addi %n, %c2 : index"]


def test_math_flags_become_fast_math() -> None:
    head = "math: [contract, approximate, no_nan]\n"
    found = body("- let:\n    a: exp(x[0, lane]) * 2 / 3 + 1\n    b: fma(a, a, a)\n    c: max(a, b)", head=head)
    assert [line for line in found if "constant" not in line][1:] == [
        "%v = math.exp %x_1 fastmath<afn,nnan> : f32",
        "%v_1 = arith.mulf %v, %cst fastmath<contract,nnan> : f32",
        "%v_2 = arith.divf %v_1, %cst_1 fastmath<afn,nnan> : f32",
        "%a = arith.addf %v_2, %cst_2 fastmath<contract,nnan> : f32",
        "%b = math.fma %a, %a, %a fastmath<nnan> : f32",
        "%c = arith.maxnumf %a, %b fastmath<nnan> : f32",
    ]


COOPERATIVE = """\
args:
  x: {buffer: f32, shape: {lane: 64}}
  h: {buffer: u32, shape: {bin: 16}, access: readwrite}
  f: {buffer: bool, shape: {lane: 64}, access: readwrite}
  y: {buffer: f32, shape: {lane: 64}, access: write}
memory:
  t: {space: workgroup, type: f32, shape: {a: 2, b: 64}}
  p: {space: private, type: i32, shape: {i: 4}}
launch:
  workgroups: {g: 4}
  workgroup_size: {lane: 32, wave: 2}
"""
COOPERATION = """
- let: {i: wave * 32 + lane}
- store:
    t[0, i]: x[i]
    p[lane % 4]: i32(i)
    f[i]: f[i] and lane > 3
- barrier: workgroup
- let:
    a: t[0, 63 - i]
    s: subgroup.sum(a, cluster=16) + subgroup.max(u32(i)) * 0.5
- atomic:
    h[i % 16]: {add: 1}
  as: old
- barrier: global
- if: wave == g
  then:
  - let: {q: "subgroup.shuffle(i, 31 - lane) + subgroup.scan_sum(i) + subgroup.shuffle_xor(i, 1)"}
- let:
    z: workgroup.any(a > 0)
    b: subgroup.broadcast(a, wave)
- store:
    y[i]: a + f32(old) + f32(p[0])
""".replace("subgroup.max(u32(i)) * 0.5", "f32(subgroup.max(u32(i)))")


def test_cooperation() -> None:
    found = ops(COOPERATION, args=COOPERATIVE)
    for line in (
        '%t = memref.alloc() {motif.name = "t"} : memref<2x64xf32, 3 : i32>',
        '%p = memref.alloc() {motif.name = "p"} : memref<4xi32, 5 : i32>',
        '%sum = "motif.subgroup_reduce"(%a) <{kind = "add", cluster = 16 : i64}> : (f32) -> f32',
        '%max = "motif.subgroup_reduce"(%v_9) <{kind = "max", unsigned}> : (i32) -> i32',
        '%old = "memref.atomic_rmw"(%c1, %h, %v_13) <{kind = 1 : i64}> : (i32, memref<16xi32>, index) -> i32',
        '"gpu.barrier"() : () -> ()',
        '"gpu.barrier"() {motif.scope = "global"} : () -> ()',
        '%z = "motif.workgroup_reduce"(%v_22) <{kind = "or"}> : (i1) -> i1',
        '%b = "motif.subgroup_broadcast"(%a, %wave) : (f32, index) -> f32',
        '%g = "gpu.block_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 3>} : () -> index',
    ):
        key = line.split(" = ")[0] if " = " in line else line
        assert any(_same(line, other) for other in found), (key, [o for o in found if key in o])
    assert sum("scan" in line or "shuffle" in line for line in found) == 3


def _same(expected: str, found: str) -> bool:
    """Equal but for the numbers of values that have no name of their own."""
    import re

    return re.sub(r"%v_\d+", "%v", expected) == re.sub(r"%v_\d+", "%v", found)


def test_bool_memory_is_bytes() -> None:
    found = ops(COOPERATION, args=COOPERATIVE)
    assert any(line.startswith("%f_1 = memref.load %f[%i] : memref<64xi8>") for line in found)
    assert any("arith.extui" in line and "i1 to i8" in line for line in found)


def test_contiguous_permutes_subscripts() -> None:
    args = ARGS.replace("{row: 64, lane: 32}}", "{row: 64, lane: 32}, contiguous: row}")
    made = text(
        bound(
            "- let:\n    a: x[n - 1, lane] if n > 0 else 0\n    v: x[4:+4, lane]\n- store:\n    y[lane]: a", args=args
        )
    )
    assert "%x: memref<32x64xf32>" in made
    assert 'motif.axes = ["lane", "row"]' in made
    assert "memref.load %x[%lane, %v_1] : memref<32x64xf32>" in made
    assert "vector.load %x[%lane, %c4] : memref<32x64xf32>, vector<4xf32>" in made


def test_every_operation_has_its_place() -> None:
    made = text(bound("- let:\n    a: x[0, lane] + 1\n- store:\n    y[lane]: a"), locations=True)
    lines = [line for line in made.split("\n") if " = " in line and "func.func" not in line]
    assert lines
    assert all('loc("k.spec.yaml":' in line for line in lines)
    assert any("memref.load" in line and line.endswith('loc("k.spec.yaml":14:8)') for line in lines)
    assert any("arith.addf" in line and line.endswith('loc("k.spec.yaml":14:8)') for line in lines)


def test_names_of_arguments_are_theirs_alone() -> None:
    """Extents and ends of ranges are computed before later arguments are declared; none takes a name from them."""
    args = """\
args:
  n: {type: index, range: [0, 4 * 8]}
  c4: {type: index, range: [0, n * 2]}
  x: {buffer: f32, shape: {row: n * 4, lane: 32}}
  v: {buffer: f32, shape: {row: n * 4 + 1}}
  c64: {buffer: i32, shape: {at: 64 * n}, range: [-1, 63]}
  cst: {buffer: f32, shape: {at: 1}}
  v_1: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
"""
    source = "- store:\n    v_1[lane]: v[4 * n] + (x[0, lane] + f32(c64[0]) if n > 0 else 0.5) + cst[0] + f32(c4)"
    made = text(bound(source, args=args), locations=True)
    assert ir.print_module(ir.parse(made))
    signature = made.split("attributes")[0]
    assert re.findall(r"%(\w+):", signature) == ["n", "c4", "x", "v", "c64", "cst", "v_1"]
