"""Staged views of every element type, under guards, in `while` and in motifs; direct views; the layout of memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from binding_helpers import bound, kernel, load, told
from staged_kernels import HEAD, SCHEDULE, Point

ARGS = """\
args:
  n: {{type: index, range: [0, 12]}}
  m: {{type: index, range: [0, 12]}}
  x: {{buffer: {type}, shape: {{row: 24, c: 33}}}}
  y: {{buffer: i32, shape: {{a: 6, b: 8}}, access: write}}
launch:
  workgroup_size: {{b: 8, a: 6}}
"""
TYPES = {
    "bool": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "index": np.int64,
}


def without(*policies: str) -> str:
    """The head without policies that a kernel does not use."""
    lines = HEAD.splitlines(keepends=True)
    return "".join(line for line in lines if not line.strip().startswith(tuple(f"{p}:" for p in policies)))


def given(dtype: Any = np.int32, n: int = 7) -> dict[str, Any]:
    x = np.arange(24 * 33) * 37 % 11
    return {"n": n, "m": 4, "x": (x % 2 if dtype is np.uint8 else x).astype(dtype), "y": np.zeros(48, np.int32)}


def equal_to_direct(text: str, args: dict[str, Any], *policies: dict[str, Any]) -> np.ndarray:
    """Whether each point leaves what the direct form leaves; the outputs."""
    spec = load(text)
    (wanted,) = Point(spec, place="direct").interpreted([args])
    assert wanted.findings == ()
    for values in policies:
        point = Point(spec, **values)
        (found,) = point.interpreted([args])
        assert found.findings == ()
        assert found.outputs["y"].tobytes() == wanted.outputs["y"].tobytes(), values
    machine = point.emulated(args)
    assert machine.findings == ()
    assert machine.outputs["y"].tobytes() == wanted.outputs["y"].tobytes()
    return wanted.outputs["y"].reshape(6, 8)


A, B = np.mgrid[0:6, 0:8]


@pytest.mark.parametrize(
    "name", [name if name in ("bool", "bf16") else pytest.param(name, marks=pytest.mark.slow) for name in TYPES]
)
def test_element_types(name):
    number = "(i32(1) if {0} else i32(0))" if name == "bool" else "i32({0})"
    first, second = number.format("tile[a % 2, 3 * b]"), number.format("tile[1, 4 * a]")
    text = f"""{HEAD}{ARGS.format(type=name)}body:
- var: {{t: i32(0)}}
- for: k
  in: range(1, n, 2)
  schedule: {{pipeline: depth, unroll: factor}}
  do:
  - view: {{tile: "x[2 * k:+2, k - 1:+24]"}}
    outside: {"true" if name == "bool" else 3}
    schedule: {SCHEDULE}
  - set: {{t: "t * 2 + {first} - {second}"}}
- store: {{"y[a, b]": t}}
"""
    args = given(TYPES[name], 12)
    points = {"pad": 1, "buffers": 3}, {"swizzle": "xor", "depth": 2, "buffers": 2}
    found = equal_to_direct(text, args, *points)
    x = np.pad(
        args["x"].reshape(24, 33).astype(np.int32), ((0, 24), (0, 24)), constant_values=1 if name == "bool" else 3
    )
    total = np.zeros((6, 8), np.int32)
    for k in range(1, 12, 2):
        tile = x[2 * k : 2 * k + 2, k - 1 : k + 23]
        total = total * 2 + tile[A % 2, 3 * B] - tile[1, 4 * A]
    assert np.array_equal(found, total)


def test_under_a_guard_in_a_pipelined_loop():
    text = f"""{without("buffers", "swizzle")}{ARGS.format(type="i32")}body:
- var: {{t: i32(0)}}
- for: i
  in: range(n)
  schedule: {{pipeline: depth, unroll: factor}}
  do:
  - if: i < m
    then:
    - view: {{tile: "x[2 * i:+2, 1:+31]"}}
      schedule: {{place: place, pad: pad}}
    - set: {{t: "t * 2 + tile[a % 2, 3 * b] - tile[1, 5 * a]"}}
- store: {{"y[a, b]": t}}
"""
    equal_to_direct(text, given(), {}, {"depth": 2, "factor": 2}, {"depth": 3, "pad": 1})


def test_in_a_while():
    text = f"""{without("buffers", "depth", "factor")}{ARGS.format(type="i32")}body:
- var: {{t: i32(0), k: index(0)}}
- while: k < n
  do:
  - view: {{tile: "x[2 * k:+2, :]"}}
    outside: 5
    schedule: {{place: place, pad: pad, swizzle: swizzle}}
  - set: {{t: "t * 2 + tile[a % 2, 3 * b] - tile[1, 5 * a]", k: k + 1}}
- store: {{"y[a, b]": t}}
"""
    equal_to_direct(text, given(), {"pad": 3}, {"swizzle": "xor"}, {})


def test_a_direct_view_of_a_staged_one_and_reads_beyond_it():
    """Beyond a view elements count as the reading statement says, beyond the buffer as the view says."""
    text = f"""{without("buffers", "swizzle", "depth", "factor")}{ARGS.format(type="i32")}body:
- view: {{outer: "x[20:+6, 30:+6]"}}
  outside: -1
  schedule: {{place: place, pad: pad}}
- view: {{inner: "outer[a, 0:+4]"}}
- let: {{v: "inner[b % 4:+3]"}}
  outside: -2
- store: {{"y[a, b]": "v[0] + 100 * v[1] + 10000 * v[2]"}}
"""
    args = given()
    found = equal_to_direct(text, args, {}, {"pad": 2})
    x = np.full((26, 36), -1)
    x[:24, :33] = args["x"].reshape(24, 33)
    inner = np.full((6, 8), -2)
    inner[:, :4] = x[20:26, 30:34]
    expected = sum(100**i * inner[A, B % 4 + i] for i in range(3))
    assert np.array_equal(found, expected)


def test_a_whole_buffer_by_its_name():
    text = f"""{without("buffers", "depth", "factor")}{ARGS.format(type="i16")}body:
- view: {{tile: x}}
  schedule: {{place: place, pad: pad, swizzle: swizzle}}
- store: {{"y[a, b]": "i32(tile[23 - a, 32 - b])"}}
"""
    args = given(np.int16)
    found = equal_to_direct(text, args, {"pad": 1}, {"swizzle": "xor"})
    assert np.array_equal(found, args["x"].reshape(24, 33)[23 - A, 32 - B])


def test_copies_count_as_workgroup_memory():
    body = """\
- view: {a: "x[0:+150, :]", b: "x[300:+100, :]"}
  schedule: {place: workgroup}
- store: {"y[lane]": "a[1, 63 - lane] + b[0, lane]"}
"""
    args = """\
args:
  x: {buffer: f32, shape: {row: 1024, lane: 64}}
  y: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
"""
    assert told(bound(body, args=args).diagnostics) == []
    (found,) = told(bound(body.replace("150", "160"), args=args).diagnostics)
    assert "SG-MEM workgroup memory up to here takes 66560 bytes; the target has 65536." in found


def test_stores_through_a_direct_view():
    text = """\
spec: 1
kind: kernel
name: k
summary: A test.
args:
  x: {buffer: i32, shape: {row: 6, c: 8}}
  y: {buffer: i32, shape: {a: 6, b: 8}, access: readwrite}
launch:
  workgroup_size: {b: 8, a: 6}
body:
- view: {part: "y[a, 2:+4]"}
- if: b == 0
  then:
  - store: {"part[1:+4]": "x[a, 0:+4]"}
    outside: skip
- if: b == 1
  then:
  - store: {"part[0]": "7"}
"""
    point = Point(load(text))
    args = {"x": np.arange(48, dtype=np.int32), "y": np.full(48, -1, np.int32)}
    (run,) = point.interpreted([args])
    expected = np.full((6, 8), -1)
    expected[:, 2] = 7
    expected[:, 3:6] = np.arange(48).reshape(6, 8)[:, :3]
    assert run.findings == ()
    assert np.array_equal(run.outputs["y"].reshape(6, 8), expected)
    assert np.array_equal(point.emulated(args).outputs["y"].reshape(6, 8), expected)


def test_a_subscript_beyond_a_view_is_found_although_the_buffer_goes_on():
    text = f"""{without("buffers", "swizzle", "depth", "factor")}{ARGS.format(type="i32")}body:
- view: {{part: "x[3:+2, 0:+8]"}}
  schedule: {{place: place, pad: pad}}
- store: {{"y[a, b]": "part[index(x[a, b]) // 10, b]"}}
"""
    args = given()
    for place, pad in (("direct", 0), ("workgroup", 0), ("workgroup", 4)):
        point = Point(load(text), place=place, pad=pad)
        args["x"] = np.full(24 * 33, 19, np.int32)
        assert point.interpreted([args])[0].findings == ()
        args["x"][2 * 33 + 5] = 20
        (run,) = point.interpreted([args])
        assert {f.kind for f in run.findings} == {"out-of-bounds"}, (place, pad)


MEMORY = """\
spec: 1
kind: kernel
name: k
summary: A test.
policies:
  fast: {{default: c, choices: [row, c]}}
  pad: {{default: 0, range: [0, 8]}}
  swizzle: {{default: none, choices: [none, xor]}}
args:
  x: {{buffer: {type}, shape: {{row: 16, c: 16}}, align: 16}}
  y: {{buffer: {type}, shape: {{row: 16, c: 16}}, access: write}}
memory:
  tile:
    space: workgroup
    type: {type}
    shape: {{row: 16, c: 16}}
    schedule: {{contiguous: fast, pad: pad, swizzle: swizzle}}
launch:
  workgroup_size: {{lane: 64}}
body:
- store: {{"tile[lane // 4, 4 * (lane % 4):+4]": "x[lane // 4, 4 * (lane % 4):+4]"}}
- barrier: workgroup
- store: {{"y[lane // 4, 4 * (lane % 4):+4]": "tile[4 * (lane % 4):+4, lane // 4]"}}
"""


@pytest.mark.parametrize("name", ["f32", "i8", "f16"])
@pytest.mark.parametrize(
    "policies",
    [{}, {"fast": "row"}, {"pad": 1}, {"swizzle": "xor"}, {"fast": "row", "pad": 4, "swizzle": "xor"}],
    ids=str,
)
def test_no_result_depends_on_how_memory_lies(name, policies):
    """A transpose by ranges along both axes."""
    point = Point(load(MEMORY.format(type=name)), **policies)
    x = (np.arange(256) % 127).astype({"f32": np.float32, "i8": np.int8, "f16": np.float16}[name])
    args = {"x": x, "y": np.zeros_like(x)}
    for run in (*point.interpreted([args]), point.emulated(args)):
        assert run.findings == ()
        assert np.array_equal(run.outputs["y"].reshape(16, 16), x.reshape(16, 16).T)


def test_swizzled_ranges_stay_wide_and_padding_costs_memory():
    made = str(Point(load(MEMORY.format(type="f32")), swizzle="xor").module)
    assert "vector.store" in made
    assert "motif.align = 16" in made
    assert "memref<16x20xf32, 3 : i32>" in str(Point(load(MEMORY.format(type="f32")), pad=4).module)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 255, 256, 257])
def test_two_private_slots_that_take_turns(trips):
    """1 + 7 * trips: each iteration reads the slot that the one before wrote."""
    text = """\
spec: 1
kind: kernel
name: k
summary: A test.
args:
  trips: {type: index, range: [0, 257]}
  y: {buffer: i32, shape: {lane: 32}, access: write}
memory:
  slots: {space: private, type: i32, shape: {slot: 2}}
launch:
  workgroup_size: {lane: 32}
body:
- store: {"slots[0]": 1}
- for: t
  in: range(trips)
  schedule: {unroll: 2}
  do:
  - store: {"slots[(t + 1) % 2]": "slots[t % 2] + 7"}
- store: {"y[lane]": "slots[trips % 2]"}
"""
    (run,) = Point(load(text)).interpreted([{"trips": trips, "y": np.zeros(32, np.int32)}])
    assert run.findings == ()
    assert run.outputs["y"].tolist() == [1 + 7 * trips] * 32


MOTIFS = {
    "part": """\
spec: 1
kind: motif
name: part
summary: One staged row, mirrored.
params: {rows: {}}
policies:
  copies: {default: 2, range: [1, 3]}
args:
  a: {buffer: f32, shape: {row: rows, lane: 64}}
  i: {type: index, range: [0, rows - 1]}
  lane: {type: index, range: [0, 63]}
  t: {type: f32}
results:
  s: {type: f32}
body:
- view: {tile: "a[i, :]"}
  schedule: {place: workgroup, buffers: copies}
- let: {s: "t + tile[63 - lane]"}
""",
    "user": """\
spec: 1
kind: motif
name: user
summary: Reads one element of what it is given.
args:
  v: {buffer: f32, shape: {lane: 64}}
  lane: {type: index, range: [0, 63]}
results:
  s: {type: f32}
body:
- let: {s: "v[63 - lane]"}
""",
}


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_motifs_that_stage_and_motifs_that_are_given_a_copy(copies):
    """The copies of a motif turn with the loop around its application; behind the inner loop stands a barrier."""
    args = """\
uses: [part.spec.yaml, user.spec.yaml]
args:
  n: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 64, lane: 64}}
  y: {buffer: f32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
"""
    body = f"""\
- var: {{t: f32(0)}}
- for: round
  in: range(3)
  do:
  - for: i
    in: range(n)
    schedule: {{pipeline: 3}}
    do:
    - apply: part
      as: one
      with: {{a: x, i: i + round, lane: lane, t: t}}
      policies: {{copies: {copies}}}
    - view: {{w: "x[i + 8, :]"}}
      schedule: {{place: workgroup, pad: 1, swizzle: xor}}
    - apply: user
      as: two
      with: {{v: w, lane: lane}}
    - set: {{t: one.s + two.s}}
- store: {{"y[lane]": t}}
"""
    point = Point(kernel(body, args=args, others=MOTIFS))
    x = np.arange(64 * 64, dtype=np.float32)
    rows = x.reshape(64, 64)[:, ::-1]
    launches = [{"n": n, "x": x, "y": np.zeros(64, np.float32)} for n in range(6)]
    for n, run in enumerate(point.interpreted(launches)):
        assert run.findings == ()
        wanted = sum((rows[i + r] + rows[i + 8] for r in range(3) for i in range(n)), np.zeros(64))
        assert np.array_equal(run.outputs["y"], wanted)
