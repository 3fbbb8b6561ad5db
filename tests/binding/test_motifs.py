"""`apply`: inference, policies, promises, results."""

from __future__ import annotations

import pytest
from binding_helpers import bound, errors, motif, ops, told

MOTIF = """\
spec: 1
kind: motif
name: m
summary: A weighted column.
math: [contract]
params:
  rows: {}
  twice: {default: false}
policies:
  depth: {default: 2, range: [1, 4]}
args:
  a: {buffer: f32, shape: {row: rows, c: 32}}
  n: {type: index, range: [0, rows]}
  s: {type: f32}
results:
  t: {type: f32}
body:
- var: {t: s}
- for: i
  in: range(n)
  schedule: {pipeline: depth}
  do:
  - set:
      t: t + a[i, 0] * (2 if twice else 3)
"""
OPTIONS = {"head": "uses: [m.spec.yaml]\n", "others": {"m": MOTIF}}
APPLY = "- apply: m\n  as: one\n  with: {a: x, n: n, s: 1}\n"
STORE = "- store:\n    y[lane]: one.t"


def test_bodies_are_bound_in_place() -> None:
    assert ops(f"{APPLY}  policies: {{depth: 3}}\n{STORE}", **OPTIONS)[1:] == [
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        "%t = arith.constant 1.0 : f32",
        "%t_3 = scf.for %i = %c0 to %n step %c1 iter_args(%t_1 = %t) -> (f32) {",
        "%a = memref.load %x[%i, %c0] : memref<64x32xf32>",
        "%cst = arith.constant 3.0 : f32",
        "%v = arith.mulf %a, %cst fastmath<contract> : f32",
        "%t_2 = arith.addf %t_1, %v fastmath<contract> : f32",
        "scf.yield %t_2 : f32",
        '} {motif.loop = "i", motif.pipeline = 3 : i64, motif.instance = "one"}',
        "memref.store %t_3, %y[%lane] : memref<32xf32>",
        "func.return",
    ]


def test_params_and_settings_of_an_instance() -> None:
    source = f"{APPLY}  params: {{twice: true}}\n{STORE}"
    found = ops(source, policies={"one.depth": 4}, **OPTIONS)
    assert "%cst = arith.constant 2.0 : f32" in found
    assert '} {motif.loop = "i", motif.pipeline = 4 : i64, motif.instance = "one"}' in found
    result = bound(source, policies={"one.deep": 4, "two.depth": 1}, **OPTIONS)
    assert told(result.diagnostics) == [
        "3:7 SG-POLICY no application `one` with a policy `deep` in `k`.",
        "3:7 SG-POLICY no application `two` with a policy `depth` in `k`.",
    ]


def test_serial_covers_instances() -> None:
    found = ops(APPLY + STORE, entry="serial", **OPTIONS)
    assert '} {motif.loop = "i", motif.pipeline = 1 : i64, motif.instance = "one"}' in found


WRONG = [
    (
        "- apply: m\n  as: one\n  with: {a: ids, n: n, s: n}\n" + STORE,
        [
            "3:13 SG-TYPE `a` is a buffer of `f32`; this is a buffer of `i32`.",
            "3:27 SG-TYPE `s` is `f32`; this is `index`.",
        ],
    ),
    (
        "- apply: m\n  as: one\n  with: {a: x, n: lane + 60, s: 1}\n" + STORE,
        ["3:19 SG-BOUNDS `n` may be 91; the motif takes values to 64. [Guard the application, or narrow the range.]"],
    ),
    (
        f"{APPLY}  policies: {{depth: 9}}\n{STORE}",
        ["4:21 SG-POLICY `depth` is 9; its range is [1, 4]."],
    ),
    (
        f"{APPLY}  params: {{rows: 64}}\n{STORE}",
        ["4:12 SG-PARAM `rows` is taken from the arguments and is not given. [Remove it.]"],
    ),
    (
        APPLY + STORE.replace("one.t", "one.u"),
        ["5:14 SG-NAME `one` has no result `u`; it has `t`."],
    ),
    (
        APPLY + STORE.replace("one.t", "one + 1"),
        ["5:14 SG-NAME `one` is an instance; read its results as `one.t`."],
    ),
]


@pytest.mark.parametrize(("source", "expected"), WRONG, ids=[e[0][:30] for _, e in WRONG])
def test_wrong_applications(source: str, expected: list[str]) -> None:
    assert errors(source, **OPTIONS) == expected


def test_motifs_are_checked_alone() -> None:
    assert motif(MOTIF) == []
    assert motif(MOTIF.replace("t: {type: f32}", "t: {type: i32}")) == [
        "16:6 SG-RESULT `t` is `f32` (line 18); the result is declared `i32`."
    ]
    assert motif(MOTIF.replace("a[i, 0]", "a[i + 1, 0]")) == [
        "24:16 SG-BOUNDS `i + 1` may be 4; axis `row` has [0, 4). [Guard it: `if: i + 1 < 4`.]"
    ]
    assert motif(MOTIF.replace("(2 if twice else 3)", "(i if twice else i)")) == [
        "24:25 SG-TYPE `a[i, 0]` is `f32` and `i if twice else i` is `index`; there is no implicit conversion. "
        "[Write `f32(i if twice else i)` or `index(a[i, 0])`.]"
    ]


INNER = """\
spec: 1
kind: motif
name: inner
summary: A step.
params:
  width: {}
args:
  v: {vector: f32, size: width}
  k: {type: i32, range: [0, 7]}
results:
  out: {vector: f32, size: width}
body:
- let: {out: v * 2}
- for: j
  in: range(k)
  do:
  - let: {unused: j}
"""
OUTER = """\
spec: 1
kind: motif
name: outer
summary: Two steps.
uses: [inner.spec.yaml]
args:
  v: {vector: f32, size: 4}
results:
  w: {vector: f32, size: 4}
body:
- apply: inner
  as: deep
  with: {v: v, k: 3}
- let: {w: deep.out + 1}
"""


def test_motifs_apply_motifs() -> None:
    source = "- let:\n    v: x[0, 0:+4]\n- apply: outer\n  as: top\n  with: {v: v}\n- store:\n    y[lane]: sum(top.w)"
    options = {"head": "uses: [outer.spec.yaml]\n", "others": {"inner": INNER, "outer": OUTER}}
    found = ops(source, **options)
    assert '} {motif.loop = "j", motif.instance = "top.deep"}' in found
    assert "%out = arith.mulf %v, %cst : vector<4xf32>" in found


def test_a_promise_that_is_not_known_is_assumed() -> None:
    source = (
        "- var: {k: i32(0)}\n- for: i\n  in: range(n)\n  do:\n  - set: {k: k + 1}\n"
        "- let:\n    v: x[0, 0:+4]\n- apply: inner\n  as: one\n"
        "  with: {v: v, k: k}\n- store:\n    y[lane]: sum(one.out)"
    )
    options = {"head": "uses: [inner.spec.yaml]\n", "others": {"inner": INNER}}
    found = ops(source, **options)
    assert sum("motif.assume" in line for line in found) == 2
    assert any(line.startswith("%v_") and "cmpi sge" in line for line in found)


def test_requirements_of_a_motif_refuse_its_callers() -> None:
    text = MOTIF.replace("params:", "requires: [depth < 4, target.subgroup_size == 32]\nparams:")
    options = {"head": OPTIONS["head"], "others": {"m": text}}
    assert bound(APPLY + STORE, **options).diagnostics == ()
    result = bound(f"{APPLY}  policies: {{depth: 4}}\n{STORE}", **options)
    assert told(result.diagnostics) == ["6:12 SG-REQUIRES `gfx1151` is refused: `depth < 4` does not hold."]
    assert result.refused
    assert bound(APPLY + STORE, target="gfx942", **options).refused
