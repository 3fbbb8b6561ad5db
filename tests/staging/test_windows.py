"""Typed windows: bytes of a buffer read as other elements, on every device, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding_helpers import bound, told
from vulkan_support import spirv_val, validate

import specgen
from specgen import devices
from specgen.ir import parse

SPEC = """\
spec: 1
kind: kernel
name: w
summary: Typed windows on the bytes of blocks.
policies:
  place: {default: direct, choices: [direct, workgroup]}
  depth: {default: 1, range: [1, 4]}
args:
  blocks: {type: index, range: [1, 1024]}
  cache: {buffer: u8, shape: {block: blocks, byte: 96}, align: 16}
  words: {buffer: i32, shape: {i: 64}, align: 8}
  y: {buffer: f32, shape: {lane: 32}, access: write}
  z: {buffer: i64, shape: {lane: 32}, access: write}
views:
  codes: {of: cache, type: i16, shape: {block: blocks, i: 32}, strides: {block: 48}}
  norms: {of: cache, type: f16, offset: 64, shape: {block: blocks, kv: 4, slot: 4}, strides: {block: 48}}
  columns:
    {of: cache, type: f16, offset: 64, shape: {slot: 4, block: blocks, kv: 4}, strides: {slot: 1, block: 48, kv: 4}}
  longs: {of: words, type: i64, shape: {i: 32}}
  bytes: {of: words, type: u8, offset: 4, shape: {i: 252}}
launch:
  workgroup_size: {lane: 32}
body:
- var: {t: f32(0)}
- for: b
  in: range(blocks)
  schedule: {pipeline: depth}
  do:
  - view: {part: "codes[b, :]"}
    schedule: {place: place}
  - let:
      v: "part[4 * (lane % 8):+4]"
  - set:
      t: "t + f32(i32(v[0]) + v[1] + v[2] + v[3]) * f32(norms[b, lane % 4, lane // 8])
        - f32(sum(f32(columns[lane // 8, b, :])))"
- store: {"y[lane]": t}
- store: {"z[lane]": "longs[lane] + i64(bytes[lane * 7])"}
""".replace("f32(i32(v[0]) + v[1] + v[2] + v[3])", "f32(i32(v[0]) + i32(v[1]) + i32(v[2]) + i32(v[3]))").replace(
    "f32(sum(f32(columns[lane // 8, b, :])))", "sum(f32(columns[lane // 8, b, :]))"
)
BLOCKS = 5


def given() -> dict[str, Any]:
    numbers = np.random.default_rng(3)
    cache = np.zeros((BLOCKS, 96), np.uint8)
    cache[:, :64] = numbers.integers(-3000, 3000, (BLOCKS, 32)).astype(np.int16).view(np.uint8)
    cache[:, 64:] = numbers.integers(-8, 8, (BLOCKS, 16)).astype(np.float16).view(np.uint8)
    return {"blocks": BLOCKS, "cache": cache, "words": numbers.integers(-(2**31), 2**31, 64).astype(np.int32)}


def wanted(args: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """All values are small integers, so that every order of the sums is exact."""
    codes = args["cache"][:, :64].copy().view(np.int16).astype(np.float64)
    norms = args["cache"][:, 64:].copy().view(np.float16).astype(np.float64).reshape(BLOCKS, 4, 4)
    lane = np.arange(32)
    y = np.zeros(32)
    for b in range(BLOCKS):
        y += codes[b].reshape(8, 4).sum(1)[lane % 8] * norms[b, lane % 4, lane // 8] - norms[b].sum(0)[lane // 8]
    z = args["words"].view(np.int64) + args["words"].view(np.uint8)[4 + lane * 7]
    return y.astype(np.float32), z


def check(folder: Path, device: str, target: str, **policies: Any) -> None:
    reason = devices.open(device).available()
    if reason is not None:
        pytest.skip(reason)
    (folder / "w.spec.yaml").write_text(SPEC)
    args = given()
    run = specgen.load(folder / "w.spec.yaml").build(target, **policies).run(device, **args)
    y, z = wanted(args)
    assert run.findings == ()
    assert np.array_equal(run.outputs["y"], y)
    assert np.array_equal(run.outputs["z"], z)


@pytest.mark.parametrize(("place", "depth"), [("direct", 1), ("workgroup", 1), ("workgroup", 3)])
def test_on_the_interpreter(place, depth, tmp_path):
    check(tmp_path, "interpreter", "gfx1151", place=place, depth=depth)


MACHINES = [
    ("gfx1151", "direct"),
    ("gfx942", "workgroup"),
    pytest.param("gfx1201", "direct", marks=pytest.mark.slow),
    pytest.param("gfx1201", "workgroup", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("target", "place"), MACHINES)
def test_as_machine_code(target, place, tmp_path):
    check(tmp_path, "amdgpu-emulator", target, place=place, depth=2)


@pytest.mark.required_in_ci
@pytest.mark.parametrize("place", ["direct", "workgroup"])
def test_on_vulkan(place, tmp_path):
    check(tmp_path, "vulkan", "vulkan1.3", place=place, depth=2)


# --- refusals and findings ------------------------------------------------------------------------------------------

ARGS = """\
args:
  n: {{type: index, range: [0, 64]}}
  b: {{buffer: u8, shape: {{i: n, byte: 16}}, align: 4}}
  y: {{buffer: f32, shape: {{lane: 32}}, access: write}}
memory:
  m: {{space: workgroup, type: f32, shape: {{i: 32}}}}
views:
  w: {view}
launch:
  workgroup_size: {{lane: 32}}
"""


def refusal(view: str, body: str = '- store: {"m[lane]": 0, "y[lane]": "m[lane]"}') -> list[str]:
    found = told(bound(body, args=ARGS.format(view=view)).diagnostics)
    return [line.split(" ", 1)[1] for line in found]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("{of: b, type: f32, shape: {i: n, k: 4}}", None),
        ("{of: b, type: f32, offset: 4, shape: {i: n, k: 3}, strides: {i: 4}}", None),
        ("{of: b, type: f32, shape: {i: n, k: 5}}", "it may end 256 bytes beyond the end of `b`"),
        ("{of: b, type: f32, offset: 4, shape: {i: n, k: 4}}", "it may end 4 bytes beyond the end of `b`"),
        ("{of: b, type: f32, shape: {i: 4}}", "it may end 16 bytes beyond the end of `b`"),
        ("{of: b, type: f32, offset: 2, shape: {i: n}}", "the offset `2` is no proven multiple"),
        ("{of: b, type: f32, offset: 2 * n, shape: {i: n}}", "the offset `2 * n` is no proven multiple"),
        ("{of: b, type: f32, offset: n - 1, shape: {i: n}}", "`n - 1` may be -1"),
        ("{of: b, type: f64, shape: {i: n}}", "has elements of 8 bytes, `b` is aligned to 4"),
        ("{of: m, type: i32, shape: {i: 32}}", "`m` is no buffer"),
        ("{of: c, type: i32, shape: {i: 32}}", "`c` is no buffer"),
        ("{of: b, type: f32, shape: {i: n}, strides: {k: 1}}", "`w` has no axis `k`"),
        ("{of: b, type: f32, shape: {i: n}, strides: {i: -1}}", "`-1` may be -1"),
    ],
)
def test_a_window_that_does_not_fit(view, message):
    found = refusal(view)
    if message is None:
        assert found == []
    else:
        assert [line for line in found if line.startswith("SG-VIEW") and message in line], found


def test_a_window_is_only_read():
    body = '- store: {"m[lane]": 0, "y[lane]": "m[lane]", "w[0, 0]": 0}'
    args = ARGS.format(view="{of: b, type: f32, shape: {i: n, k: 4}}").replace(
        "align: 4", "align: 4, access: readwrite"
    )
    (found,) = told(bound(body, args=args).diagnostics)
    assert "SG-VIEW `w` is a window that reads the bytes of a buffer; it is not stored to." in found


def test_a_subscript_beyond_its_axis_is_found_although_the_buffer_goes_on(tmp_path):
    spec = SPEC.replace("norms[b, lane % 4, lane // 8]", "norms[b, lane % 4, index(words[lane]) // 8]")
    (tmp_path / "w.spec.yaml").write_text(spec)
    args = given() | {"words": np.arange(64, dtype=np.int32)}
    artifact = specgen.load(tmp_path / "w.spec.yaml").build("gfx1151")
    assert artifact.run("interpreter", **args).findings == ()
    args["words"][5] = 32
    findings = artifact.run("interpreter", **args).findings
    assert {f.kind for f in findings} == {"out-of-bounds"}
    assert "axis `slot` of `norms`" in findings[0].detail


# --- the operation ----------------------------------------------------------------------------------------------------

MODULE = """
builtin.module {{
  func.func @f(%b: memref<4x8xi8>, %n: index) {{
    %w = "motif.window"({operands}) : ({types}) -> {result}
    func.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("operands", "types", "result", "wrong"),
    [
        ("%b", "memref<4x8xi8>", "memref<8xf32>", None),
        ("%b, %n", "memref<4x8xi8>, index", "memref<?xf32>", None),
        ("%b", "memref<4x8xi8>", "memref<?xf32>", "a size exactly where the type has none"),
        ("%b, %n", "memref<4x8xi8>, index", "memref<8xf32>", "a size exactly where the type has none"),
        ("%b", "memref<4x8xi8>", "memref<2x4xf32>", "the result has one axis"),
    ],
)
def test_windows_are_verified(operands, types, result, wrong):
    text = MODULE.format(operands=operands, types=types, result=result)
    if wrong is None:
        module = parse(text, "f")
        assert str(parse(str(module), "f")) == str(module)
        return
    with pytest.raises(Exception, match=wrong):
        parse(text, "f")


@pytest.mark.parametrize("place", ["direct", "workgroup"])
def test_modules_with_windows_are_valid(place, tmp_path):
    try:
        spirv_val()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    (tmp_path / "w.spec.yaml").write_text(SPEC)
    validate(specgen.load(tmp_path / "w.spec.yaml").build("vulkan1.3", place=place).files["kernel.spv"])
