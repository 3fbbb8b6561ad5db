"""Guarded reads without a branch: nothing is touched where the guard is false, and loads stay in flight."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amdgpu_kernels import THREAD, buffer, compiled, emulate, interpret, kernel, module, scalar

TARGETS = ("gfx942", "gfx1151", "gfx1201")
LANES, ROWS = 64, 8


def guarded(condition: str, other: str = "0.0", row: str = "%row") -> str:
    """out[t] = values[row, t] where the condition holds, else a constant; `row` may then be far away."""
    return kernel(
        "guarded",
        [
            scalar("row", "index", (-(2**20), 2**20)),
            scalar("limit", "index", (0, LANES)),
            buffer("values", f"{ROWS}x{LANES}xf32"),
            buffer("out", f"{LANES}xf32", "write"),
        ],
        f"""{THREAD}
%zero = arith.constant 0 : index
%rows = arith.constant {ROWS} : index
{condition}
%r = scf.if %c -> (f32) {{
  %v = memref.load %values[{row}, %t] : memref<{ROWS}x{LANES}xf32>
  scf.yield %v : f32
}} else {{
  %o = arith.constant {other} : f32
  scf.yield %o : f32
}}
memref.store %r, %out[%t] : memref<{LANES}xf32>""",
    )


BY_ROW = """%low = arith.cmpi sge, %row, %zero : index
%high = arith.cmpi slt, %row, %rows : index
%c = arith.andi %low, %high : i1"""
BY_LANE = """%inside = arith.cmpi slt, %t, %limit : index
%low = arith.cmpi sge, %row, %zero : index
%high = arith.cmpi slt, %row, %rows : index
%both = arith.andi %low, %high : i1
%c = arith.andi %inside, %both : i1"""


def branches(text: str, target: str) -> int:
    """Branches of the machine code."""
    return len(re.findall(r"\bs_cbranch", compiled(text, target).asm))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("condition", [BY_ROW, BY_LANE], ids=["uniform", "by lane"])
@pytest.mark.parametrize(
    ("row", "limit"), [(0, 64), (7, 64), (7, 5), (3, 0), (8, 64), (-1, 64), (-(2**20), 7), (2**20, 64)]
)
def test_a_false_guard_touches_nothing(condition, row, limit, target):
    text = module(guarded(condition))
    values = np.arange(ROWS * LANES, dtype=np.float32).reshape(ROWS, LANES) + 1
    results = []
    for run in (emulate, interpret):
        out = np.full(LANES, -1, np.float32)
        done = run(text, target, "guarded", {"row": row, "limit": limit, "values": values.ravel(), "out": out})
        assert done.findings == ()
        results.append(done.outputs["out"])
    wanted = np.zeros(LANES, np.float32)
    if 0 <= row < ROWS:
        wanted = values[row] * (1 if condition is BY_ROW else np.arange(LANES) < limit)
    assert np.array_equal(results[0], wanted.astype(np.float32))
    assert np.array_equal(results[1], results[0])


@pytest.mark.parametrize("target", TARGETS)
def test_zero_needs_no_branch_and_another_value_does(target):
    assert branches(module(guarded(BY_ROW)), target) == 0
    assert branches(module(guarded(BY_ROW, other="1.0")), target) > 0
    assert branches(module(guarded(BY_ROW, other="-0.0")), target) > 0


def test_where_no_descriptor_is_known_the_branch_stays():
    assert branches(module(guarded(BY_ROW)), "gfx1250") > 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [-1, -8, ROWS, 2**20])
def test_a_wrong_row_without_a_guard_is_still_found(row, target):
    """Dropping on purpose must not hide a wrong index, on either side of the buffer."""
    text = module(guarded("%c = arith.cmpi sge, %rows, %zero : index"))
    values = np.ones(ROWS * LANES, np.float32)
    args = {"row": row, "limit": 0, "values": values, "out": np.zeros(LANES, np.float32)}
    (finding, *_) = emulate(text, target, "guarded", args).findings
    assert finding.kind == "out-of-bounds"


def weighted(other: str = "") -> str:
    """out[t] = weights[row] + values[row, t] where 0 <= row: one address for all lanes beside one for each.

    Else 3, or `other`, a value from outside of the conditional.
    """
    return kernel(
        "weighted",
        [
            scalar("row", "index", (-(2**20), ROWS - 1)),
            buffer("weights", f"{ROWS}xf32"),
            buffer("values", f"{ROWS}x{LANES}xf32"),
            buffer("out", f"{LANES}xf32", "write"),
        ],
        f"""{THREAD}
%zero = arith.constant 0 : index
%c = arith.cmpi sge, %row, %zero : index
%outer = memref.load %weights[%zero] : memref<{ROWS}xf32>
%w, %v = scf.if %c -> (f32, f32) {{
  %a = memref.load %weights[%row] : memref<{ROWS}xf32>
  %b = memref.load %values[%row, %t] : memref<{ROWS}x{LANES}xf32>
  scf.yield %a, %b : f32, f32
}} else {{
  %o = arith.constant 3.0 : f32
  %p = arith.constant 0.0 : f32
  scf.yield {other or "%o"}, %p : f32, f32
}}
%s = arith.addf %w, %v : f32
memref.store %s, %out[%t] : memref<{LANES}xf32>""",
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [0, 7, -1, -(2**20)])
@pytest.mark.parametrize(("other", "value"), [("", 3), ("%outer", 100)], ids=["constant", "from outside"])
def test_a_scalar_read_beside_keeps_its_branch_and_its_other_value(other, value, row, target):
    text = module(weighted(other))
    weights = np.arange(ROWS, dtype=np.float32) + 100
    values = np.arange(ROWS * LANES, dtype=np.float32) + 1
    for run in (emulate, interpret):
        out = np.full(LANES, -1, np.float32)
        done = run(text, target, "weighted", {"row": row, "weights": weights, "values": values, "out": out})
        assert done.findings == ()
        wanted = weights[row] + values.reshape(ROWS, LANES)[row] if row >= 0 else np.full(LANES, value)
        assert np.array_equal(done.outputs["out"], wanted.astype(np.float32))
    if not other:
        assert branches(text, target) == 1
