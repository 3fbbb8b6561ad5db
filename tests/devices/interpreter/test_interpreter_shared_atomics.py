"""Atomics on workgroup memory order themselves: many work-items on one cell are no race, plain accesses beside are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import specgen

SPEC = """
spec: 1
kind: kernel
name: cells
summary: Sixty-four work-items count in two cells.
args:
  y: {{buffer: i32, shape: {{t: 64}}, access: write}}
launch:
  workgroup_size: {{t: 64}}
memory:
  cell: {{space: workgroup, type: i32, shape: {{k: 2}}}}
body:
- if: t < 2
  then:
  - store: {{"cell[t]": 5}}
- barrier: workgroup
- atomic: {{"cell[t % 2]": {{add: 1}}}}
{barrier}
- store: {{"y[t]": "cell[t % 2] + i32(t)"}}
"""


@pytest.mark.parametrize("device", ["interpreter", "amdgpu-emulator"])
def test_atomics_on_one_cell(device: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.spec.yaml"
    path.write_text(SPEC.format(barrier="- barrier: workgroup"))
    run = specgen.load(path).build("gfx1151").run(device)
    assert run.findings == ()
    np.testing.assert_array_equal(run.outputs["y"], 37 + np.arange(64))


def test_plain_read_without_a_barrier_races(tmp_path: Path) -> None:
    path = tmp_path / "cells.spec.yaml"
    path.write_text(SPEC.format(barrier=""))
    run = specgen.load(path).build("gfx1151").run("interpreter")
    assert {f.kind for f in run.findings} == {"race"}
