"""Random, mostly wrong expressions: diagnostics and never an exception; what is accepted parses."""

from __future__ import annotations

import random

import pytest
from binding_helpers import ARGS, HEAD, load

from specgen import ir, targets
from specgen.binding import bind
from specgen.expand import expand

LEAVES = (
    "n lane x ids y v m b t 0 1 -1 3 2.5 0.0 true false inf nan x[0,lane] ids[lane] v[0] v[n] v[1:+2] x[n,lane] "
    "x[0,0:+4] x[:,0] x[m,lane] ids[m] one target.matrix target.subgroup_size target.nope subgroup.lane fast f32 i8 "
    "b64 1e300 9223372036854775807 18446744073709551615 y[lane] x[0] x[0:+2,0:+2] c.t word"
).split()
UNARY = ("-{0}", "~{0}", "not {0}", "({0})")
CALLS = (
    "min({0}, {1})",
    "max({0})",
    "max({0}, {1}, {2})",
    "clamp({0}, {1}, {2})",
    "abs({0})",
    "floor({0})",
    "exp({0})",
    "fma({0}, {1}, {2})",
    "ceil_div({0}, {1})",
    "round_up({0}, {1})",
    "popcount({0})",
    "dot({0}, {1})",
    "dot({0}, {1}, start={2})",
    "sum({0})",
    "sum({0}, start={1})",
    "any({0})",
    "all({0})",
    "full({0}, 4)",
    "full({0}, {1})",
    "concat({0}, {1})",
    "iota(4)",
    "iota({0})",
    "unpack({0}, i4)",
    "unpack({0}, u8)",
    "pack({0}, u8)",
    "bits({0}, i32)",
    "bits({0}, f32)",
    "size({0})",
    "f32({0})",
    "f16({0})",
    "bf16({0}, round=zero)",
    "i32({0})",
    "u8({0})",
    "index({0})",
    "bool({0})",
    "i64({0})",
    "subgroup.sum({0})",
    "subgroup.any({0})",
    "subgroup.shuffle({0}, {1})",
    "subgroup.shuffle_xor({0}, {1})",
    "subgroup.broadcast({0}, {1})",
    "subgroup.scan_sum({0})",
    "workgroup.max({0})",
    "workgroup.all({0})",
    "subgroup.sum({0}, cluster={1})",
    "x[{0}, {1}]",
    "x[{0}, {1}:+4]",
    "x[{0}:+2, {1}]",
    "ids[{0}]",
    "v[{0}]",
    "v[{0}:+2]",
    "tile({0})",
    "foo({0})",
)
BINARY = "+ - * / // % << >> & | ^ == != < <= > >= and or".split()
FORMS = ("{0} if {1} else {2}", "{0} < {1} <= {2}")


def expression(source: random.Random, depth: int) -> str:
    """A random expression; parts are in brackets so that every shape is drawn."""
    if depth == 0 or source.random() < 0.15:
        return source.choice(LEAVES)
    parts = [expression(source, depth - 1) for _ in range(3)]
    kind = source.random()
    if kind < 0.35:
        return f"({parts[0]} {source.choice(BINARY)} {parts[1]})"
    if kind < 0.75:
        return source.choice(CALLS).format(*parts)
    if kind < 0.85:
        return source.choice(UNARY).format(*parts)
    return "(" + source.choice(FORMS).format(*(f"({p})" for p in parts)) + ")"


def body(source: random.Random) -> str:
    """A body whose statements use random expressions."""
    e = [expression(source, source.randint(1, 3)) for _ in range(9)]
    return f"""\
- let:
    v: x[0, 0:+4]
    m: {e[0]}
- var:
    t: {e[1]}
    b: lane < n
- for: i
  in: range({e[2]})
  schedule: {{pipeline: {source.choice(["1", "2", "n", "fast", "0"])}}}
  do:
  - if: {e[3]}
    then:
    - set:
        t: {e[4]}
    else:
    - let:
        q: {e[5]}
  - set:
      b: {e[6]}
- let:
    w: {e[7]}
  outside: {source.choice(["0", "n", "1.5", "true"])}
- store:
    y[lane]: {e[8]}
    y[{source.choice(["0:+4", "lane", "n"])}]: w
  outside: skip
"""


def check(seed: int) -> bool:
    """Bind one random kernel; whether it was accepted."""
    text = f"{HEAD}{ARGS}body:\n{body(random.Random(seed))}"
    try:
        spec = load(text)
    except AssertionError:
        return False
    result = bind(spec, targets.load("gfx1151"))
    assert (result.instance is None) == any(d.is_error for d in result.diagnostics)
    if result.instance is None:
        return False
    ir.parse(expand(result.instance))
    return True


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_bodies_give_diagnostics_or_ir(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)


def test_random_values_are_bound_alone() -> None:
    accepted = 0
    for seed in range(200):
        source = random.Random(seed)
        lines = f"- let:\n    v: x[0, 0:+4]\n    r: {expression(source, 2)}\n- store:\n    y[lane]: f32(0)\n"
        text = f"{HEAD}{ARGS}body:\n{lines}"
        try:
            spec = load(text)
        except AssertionError:
            continue
        result = bind(spec, targets.load("gfx1151"))
        if result.instance is not None:
            ir.parse(expand(result.instance))
            accepted += 1
    assert accepted > 20
