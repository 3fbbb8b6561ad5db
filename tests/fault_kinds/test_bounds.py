"""Kinds B28-B35: bounds, masks and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fault_kinds_machines import code, launch, same_as_interpreter
from fault_kinds_product import diagnostics_of, findings, line_of, refused, run, runs, sweep, zeros

ATTENTION = """\
spec: 1
kind: kernel
name: weighted
summary: One streaming softmax-weighted sum over the slots of a cache, by powers of two.
args:
  length: {type: index, range: [1, 24]}
  score: {buffer: i32, shape: {slot: 24}, range: [0, 20]}
  cache: {buffer: f32, shape: {slot: 24, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 3, range: [1, 8]}
  factor: {default: 2, range: [1, 8]}
body:
- var: {mass: f32(0), total: f32(0)}
- for: block
  in: range(ceil_div(length, 4))
  schedule: {pipeline: depth, unroll: factor}
  do:
  - var: {part: f32(0), sum_part: f32(0)}
  - for: k
    in: range(4)
    schedule: {unroll: full}
    do:
    - let:
        slot: block * 4 + k
        weight: "exp2(f32(score[slot])) if slot < length else 0"
        row: "cache[slot, lane] if slot < length else 0"
    - set:
        part: part + weight
        sum_part: sum_part + weight * row
  - set:
      mass: mass + part
      total: total + sum_part
- store: {"out[lane]": total / mass}
"""


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, None], ids=str)
def test_b28_weight_zero_does_not_hide_garbage(poison: float | None) -> None:
    """Slots past the length are not loaded (or selected to zero before the product): 0 times NaN never arises."""
    launches, wanted = [], []
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 23, 24):
        score = np.arange(24, dtype=np.int32) % 5
        cache = (np.arange(24 * 32) % 13).astype(np.float32).reshape(24, 32)
        weight = 2.0 ** score[:length]
        exact = (weight[:, None] * cache[:length].astype(np.float64)).sum(0)
        wanted.append((exact.astype(np.float32) / np.float32(weight.sum())).tolist())
        score[length:] = -(2**31)
        if poison is not None:
            cache[length:] = poison
        reach = 24 if poison is not None else length
        launches.append(
            {"length": length, "score": score[:reach], "cache": cache[:reach].reshape(-1).copy(), "out": zeros(32)}
        )
    for policies in ({"depth": 1, "factor": 1}, {"depth": 3, "factor": 2}, {"depth": 2, "factor": 4}):
        for left, right in zip(sweep(ATTENTION, launches, **policies), wanted, strict=True):
            assert left["out"].tolist() == right, policies


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201", "vulkan1.3"])
def test_b28_on_machines(target: str) -> None:
    """The built code leaves the slots past the length alone as well: guards lie where they end."""
    launches = []
    for length in (1, 3, 4, 9):
        score = np.arange(length, dtype=np.int32) % 5
        cache = (np.arange(length * 32) % 13).astype(np.float32)
        launches.append({"length": length, "score": score, "cache": cache, "out": zeros(32)})
    for given in launches:
        weight = 2.0 ** given["score"]
        exact = (weight[:, None] * given["cache"].reshape(-1, 32)).sum(0)
        for entry in ("", "serial"):
            result = launch(ATTENTION, given, target, entry=entry)
            assert result.findings == (), [str(f) for f in result.findings]
            assert np.allclose(result.outputs["out"], exact / weight.sum(), rtol=1e-6, atol=0)


SCALED = """\
spec: 1
kind: kernel
name: scaled
summary: Packed bytes times activations, each group of eight with its own scale.
args:
  n: {type: index, range: [0, 32]}
  packed: {buffer: i8, shape: {k: n}}
  scale: {buffer: f32, shape: {group: "ceil_div(n, 8)"}}
  rhs: {buffer: f32, shape: {k: n}}
  out: {buffer: f32, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
policies:
  depth: {default: 2, range: [1, 4]}
body:
- var: {total: f32(0)}
- for: group
  in: range(ceil_div(n, 8))
  schedule: {pipeline: depth}
  do:
  - let:
      weights: "f32(packed[group * 8:+8])"
      right: "rhs[group * 8:+8]"
    outside: 0
  - let: {by: "scale[group]"}
  - set: {total: "total + by * dot(weights, right)"}
- store: {"out[one]": total}
"""


def test_b29_side_inputs_are_masked_too() -> None:
    """Every operand of a ragged dot ends where its data ends, the scales as well: no tail reads further."""
    launches, wanted = [], []
    for n in range(33):
        groups = -(-n // 8)
        packed = (np.arange(n) % 7 - 3).astype(np.int8)
        scale = 2.0 ** (np.arange(groups) - 2)
        rhs = 1 + np.arange(n) % 5
        wanted.append(float((np.repeat(scale, 8)[:n] * packed * rhs).sum()))
        launches.append(
            {"n": n, "packed": packed, "scale": scale.astype(np.float32), "rhs": rhs.astype(np.float32)}
            | {"out": zeros(1)}
        )
    for depth in (1, 2, 3):
        assert [left["out"][0] for left in sweep(SCALED, launches, depth=depth)] == wanted


TAIL = """\
spec: 1
kind: kernel
name: tail
summary: Doubles a vector in groups of four.
args:
  n: {type: index, range: [0, 16]}
  x: {buffer: f32, shape: {at: n}}
  out: {buffer: f32, shape: {at: n}, access: write}
launch:
  workgroup_size: {lane: 4}
body:
- let: {v: "2 * x[lane * 4:+4]"}   # here
  outside: 0
- store: {"out[lane * 4:+4]": v}
  outside: skip
"""


def tail_launches() -> list[dict[str, Any]]:
    """Allocations that end with element n."""
    return [{"n": n, "x": np.arange(n, dtype=np.float32), "out": zeros(n)} for n in range(17)]


def test_b30_no_read_past_the_end() -> None:
    """A masked vector read touches no element past the data, not even one that is thrown away."""
    for n, left in enumerate(sweep(TAIL, tail_launches())):
        assert left["out"].tolist() == [2 * at for at in range(n)]
    short = {"n": 7, "x": np.arange(6, dtype=np.float32), "out": zeros(7)}
    assert {f.kind for f in findings(TAIL, short)} == {"out-of-bounds"}, "an over-read of one element is seen"


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1151", "gfx1201", "vulkan1.3"])
@pytest.mark.parametrize("text", [TAIL, SCALED], ids=["tail", "scaled"])
def test_b30_machine_reads_end_with_the_data(text: str, target: str) -> None:
    """Masked vector reads of the built code touch nothing behind the data either: a finding would tell."""
    if text is TAIL:
        same_as_interpreter(TAIL, [tail_launches()[n] for n in (0, 1, 6, 7, 8, 16)], target)
        return
    given = []
    for n in (0, 1, 7, 8, 9, 31):
        groups = -(-n // 8)
        given.append(
            {"n": n, "packed": (np.arange(n) % 7 - 3).astype(np.int8), "scale": np.ones(groups, np.float32)}
            | {"rhs": (1 + np.arange(n) % 5).astype(np.float32), "out": zeros(1)}
        )
    same_as_interpreter(SCALED, given, target)


def test_b31_guarded_tails_are_accepted() -> None:
    """A correctly guarded tail is no error: by `outside`, by a guard of each element, by a guard of the group."""
    guards = {
        "masked": TAIL,
        "elements": TAIL.replace(
            TAIL[TAIL.index("- let: {v") :],
            "- for: k\n  in: range(4)\n  do:\n  - if: lane * 4 + k < n\n    then:\n"
            '    - store: {"out[lane * 4 + k]": "2 * x[lane * 4 + k]"}\n',
        ),
        "groups": TAIL.replace(
            TAIL[TAIL.index("- let: {v") :],
            '- if: lane * 4 + 3 < n\n  then:\n  - store: {"out[lane * 4:+4]": "2 * x[lane * 4:+4]"}\n'
            '  else:\n  - for: k\n    in: range(lane * 4, n)\n    do:\n    - store: {"out[k]": "2 * x[k]"}\n',
        ),
    }
    for name, text in guards.items():
        assert refused(text) == [], name
        for n, left in enumerate(sweep(text, tail_launches())):
            assert left["out"].tolist() == [2 * at for at in range(n)], name


def test_b31_unguarded_tail_is_refused() -> None:
    """The same read without its guard is refused where it stands, with the key to add."""
    text = TAIL.replace("# here\n  outside: 0\n", "# here\n")
    assert refused(text) == [("SG-BOUNDS", line_of(text))]
    assert "outside" in str(diagnostics_of(text)[0].hint)


BLOCKS = """\
spec: 1
kind: kernel
name: blocks
summary: Workgroups that visit tiles of 224 columns in another order than their own number.
args:
  columns: {type: index, range: [1, 2048]}
  x: {buffer: f32, shape: {column: columns}}
  out: {buffer: f32, shape: {column: columns}, access: write}
launch:
  workgroups: {block: "ceil_div(columns, 224)"}
  workgroup_size: {lane: 32, wave: 4}
body:
- let:
    last: ceil_div(columns, 224) - 1
    tile: "block // 2 if block % 2 == 0 else last - block // 2"
- for: step
  in: range(2)
  do:
  - let: {at: tile * 224 + step * 128 + wave * 32 + lane}
  - if: at < columns and step * 128 + wave * 32 + lane < 224
    then:
    - store: {"out[at]": "3 * x[at]"}
"""


def test_b32_bounds_in_mapped_coordinates() -> None:
    """Where workgroups are reordered, the guard concerns the tile that is visited, not the workgroup's number."""
    for columns in (1, 223, 224, 225, 448, 672, 1000, 1344):
        args = {"columns": columns, "x": np.arange(columns, dtype=np.float32), "out": np.full(columns, np.nan)}
        args["out"] = args["out"].astype(np.float32)
        left = run(BLOCKS, args, grid=(-(-columns // 224), 1, 1))
        assert left["out"].tolist() == [3 * at for at in range(columns)]


def test_b32_reordering_by_schedule() -> None:
    """The launch order as a schedule is refused until it is there."""
    text = BLOCKS.replace("wave: 4}\n", "wave: 4}\n  schedule: {band: 4}   # here\n")
    assert refused(text) == [("SG-UNSUPPORTED", line_of(text))]


FAR = """\
spec: 1
kind: kernel
name: far
summary: Rows so far apart that byte and element offsets need more than 32 bits.
args:
  at: {type: index, range: [0, 63]}
  x: {buffer: f32, shape: {row: 64, column: 67108864}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
body:
- store: {"out[lane]": "x[at, lane]"}   # here
"""


def test_b33_offsets_past_32_bits() -> None:
    """An offset past 2^31 does not wrap into the buffer: the far row is found absent, never taken for the first."""
    x = np.arange(32, dtype=np.float32)
    near = runs(FAR, [{"at": 0, "x": x, "out": zeros(32)}])[0]
    assert near.findings == ()
    assert near.outputs["out"].tolist() == x.tolist()
    for at in (16, 32, 63):
        found = findings(FAR, {"at": at, "x": x, "out": zeros(32)})
        assert {f.kind for f in found} == {"out-of-bounds"}, at
        assert all(int(f.where.split(":")[1]) == line_of(FAR) for f in found)


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_b33_machine_addresses_do_not_wrap(target: str) -> None:
    """The machine code's address of a far row lies far away too: reported as outside, not read from the start."""
    x = np.arange(32, dtype=np.float32)
    assert launch(FAR, {"at": 0, "x": x, "out": zeros(32)}, target).outputs["out"].tolist() == x.tolist()
    for at in (16, 32, 48, 63):
        result = launch(FAR, {"at": at, "x": x, "out": zeros(32)}, target)
        assert {f.kind for f in result.findings} == {"out-of-bounds"}, "2^32 bytes a row: 32 bits would give row 0"
        assert all(int(f.where.split(":")[1]) == line_of(FAR) for f in result.findings)
    assert code(FAR, target).entries[0].scalar_spills == 0


RAGGED_K = """\
spec: 1
kind: kernel
name: ragged_k
summary: A dot product whose length is no multiple of the tile of four.
args:
  K: {type: index, range: [0, 16]}
  a: {buffer: f32, shape: {k: K}}
  b: {buffer: f32, shape: {k: K}}
  out: {buffer: f32, shape: {one: 1}, access: write}
launch:
  workgroup_size: {one: 1}
body:
- var: {total: f32(0)}
- for: k
  in: range(K)
  schedule: {unroll: 4, tail: cut}   # here
  do:
  - set: {total: "total + a[k] * b[k]"}
- store: {"out[one]": total}
"""


def test_b34_length_that_no_tile_divides() -> None:
    """What the tile leaves over is computed, by a guard or a loop of its own; "no tail" cannot be asked for."""
    launches = [
        {"K": k, "a": np.arange(k, dtype=np.float32), "b": np.full(k, 2, np.float32), "out": zeros(1)}
        for k in range(17)
    ]
    for tail in ("tail: cut", "tail: guard"):
        lefts = sweep(RAGGED_K.replace("tail: cut", tail), launches)
        assert [left["out"][0] for left in lefts] == [k * (k - 1) for k in range(17)]
    none = RAGGED_K.replace("tail: cut", "tail: none")
    assert refused(none) == [("SG-POLICY", line_of(none))]
    bare = RAGGED_K.replace("in: range(K)", "in: range(0, K, 4)").replace("{unroll: 4, tail: cut}", "{unroll: 2}")
    bare = bare.replace("   # here", "").replace(
        '"total + a[k] * b[k]"', '"dot(a[k:+4], b[k:+4], start=total)"   # here'
    )
    bare = bare.replace('{total: "dot', '\n      total: "dot').replace(
        'start=total)"   # here}', 'start=total)"   # here'
    )
    assert set(refused(bare)) == {("SG-BOUNDS", line_of(bare))}


MAXIMA = """\
spec: 1
kind: kernel
name: maxima
summary: The largest of 64 values, by every way in which a maximum can be formed.
args:
  x: {buffer: f32, shape: {at: 64}}
  start: {type: f32}
  fresh: {buffer: f32, shape: {way: 5}, access: write}
  merged: {buffer: f32, shape: {way: 5}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  factor: {default: 4, range: [1, 64]}
body:
- var: {folded: f32(-inf), onto: start}
- for: at
  in: range(64)
  schedule: {unroll: factor}
  do:
  - set:
      folded: "max(folded, x[at])"
      onto: "max(onto, x[at])"
- let:
    group: "workgroup.max(x[lane])"
    vector: "max(x[0:+64])"
    both: "max(max(x[0:+32]), max(x[32:+32]))"
    lanes: "subgroup.max(x[lane])"
- if: lane == 0
  then:
  - store:
      "fresh[0]": folded
      "fresh[1]": group
      "fresh[2]": vector
      "fresh[3]": both
      "fresh[4]": "max(lanes, x[63])"
      "merged[0]": onto
      "merged[1]": "max(start, group)"
      "merged[2]": "max(start, vector)"
      "merged[3]": "max(both, start)"
      "merged[4]": "max(max(lanes, start), x[63])"
"""


@pytest.mark.parametrize("at", [0, 1, 31, 32, 62])
def test_b35_one_rule_for_nan_on_every_path(at: int) -> None:
    """A NaN loses against a number in fresh and in merged maxima alike, wherever it stands."""
    x = np.arange(64, dtype=np.float32) - 100
    x[at] = np.nan
    for start, expected in ((-1000.0, -37.0), (5.0, 5.0), (np.nan, -37.0)):
        args = {"x": x, "start": start, "fresh": zeros(5), "merged": zeros(5)}
        for target in ("gfx942", "gfx1151"):
            left = run(MAXIMA, args, target=target)
            assert left["fresh"].tolist() == [-37.0] * 5
            assert left["merged"].tolist() == [expected] * 5


def test_b35_nothing_but_nan() -> None:
    """Where there is no number at all, every fresh maximum is NaN or the fold's own start."""
    args = {"x": np.full(64, np.nan, np.float32), "start": np.nan, "fresh": zeros(5), "merged": zeros(5)}
    left = run(MAXIMA, args, target="gfx942")
    assert left["fresh"][0] == -np.inf
    assert np.isnan(left["fresh"][1:]).all()
    assert np.isnan(left["merged"]).all()
