"""32-bit multiply-adds in 64-bit instructions: the addend's high half is undefined, and nothing may come of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import specgen

SPEC = """
spec: 1
kind: kernel
name: horner
summary: A polynomial in 3 over the rows.
args:
  count: {type: index, range: [0, 8]}
  x: {buffer: i32, shape: {row: 8, lane: 64}}
  out: {buffer: i32, shape: {lane: 64}, access: write}
launch:
  workgroup_size: {lane: 64}
policies:
  depth: {default: 4, range: [1, 8]}
  factor: {default: 2, range: [1, 8]}
body:
- var: {total: i32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: factor}
  do:
  - set:
      total: total * 3 + x[row, lane]
- store:
    out[lane]: total
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
@pytest.mark.parametrize("entry", ["default", "serial"])
def test_no_finding_and_the_right_value(target: str, entry: str, tmp_path: Path) -> None:
    path = tmp_path / "horner.spec.yaml"
    path.write_text(SPEC)
    artifact = specgen.load(path).build(target)
    x = np.random.default_rng(1).integers(-(2**31), 2**31, (8, 64)).astype(np.int32)
    for count in (0, 1, 5, 8):
        run = artifact.run("amdgpu-emulator", entry=entry, count=count, x=x)
        expected = np.zeros(64, np.int64)
        for row in x[:count].astype(np.int64):
            expected = (expected * 3 + row) & 0xFFFFFFFF
        assert run.findings == ()
        np.testing.assert_array_equal(run.outputs["out"].view(np.uint32), expected)
