"""Collectives and barriers: against lane-by-lane Python, on several subgroup sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreter_kernels import THREAD, buffer, function, kinds

from specgen.devices.base import DeviceError, Run
from specgen.devices.interpreter import interpret

ITEMS = 64
SIZES = [8, 16, 32, 64]
HEAD = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n" + THREAD


def run_lanes(
    lines: str, values: Any, type_: str, subgroup: int, result: str | None = None, workgroups: int = 2
) -> Run:
    """`%r` from `%v` for each work-item of two workgroups of 64."""
    count, result = len(values), result or type_
    body = (
        HEAD
        + f"""%b = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
        %lane = "gpu.lane_id"() : () -> index
        %v = memref.load %in[%b, %t] : memref<{workgroups}x{ITEMS}x{type_}>
        {lines}
        memref.store %r, %out[%b, %t] : memref<{workgroups}x{ITEMS}x{result}>"""
    )
    arguments = [
        buffer("in", f"memref<{workgroups}x{ITEMS}x{type_}>"),
        buffer("out", f"memref<{workgroups}x{ITEMS}x{result}>", "write"),
    ]
    text = function(", ".join(arguments), body, (ITEMS, 1, 1), subgroup)
    dtype = {"f32": np.float32, "i32": np.int32, "f16": np.float16}[result]
    return interpret(text, "f", {"in": values, "out": np.zeros(count, dtype)}, (workgroups, 1, 1))


def floats(seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(2 * ITEMS) * 100).astype(np.float32)


def butterfly(lanes: Any, cluster: int, combine: Any) -> Any:
    """`x = x op shuffle_xor(x, d)` for d = 1, 2, 4, ..., one lane at a time."""
    current = list(lanes)
    distance = 1
    while distance < cluster:
        current = [combine(current[i], current[i ^ distance]) for i in range(len(current))]
        distance *= 2
    return current


@pytest.mark.parametrize("subgroup", SIZES)
@pytest.mark.parametrize("cluster", [None, 1, 4, 8])
def test_sums_follow_the_butterfly(subgroup: int, cluster: int | None) -> None:
    extra = "" if cluster is None else f", cluster = {cluster} : i64"
    values = floats()
    run = run_lanes(
        f'%r = "motif.subgroup_reduce"(%v) <{{kind = "add"{extra}}}> : (f32) -> f32', values, "f32", subgroup
    )
    wanted = butterfly(values, cluster or subgroup, lambda a, b: np.float32(a + b))
    assert run.outputs["out"].tolist() == [float(w) for w in wanted]
    assert not run.findings


INTEGER_KINDS = {
    ("add", ""): lambda a, b: ((a + b + 2**31) % 2**32) - 2**31,
    ("min", ""): min,
    ("max", ""): max,
    ("min", ", unsigned"): lambda a, b: min(a, b, key=lambda x: x % 2**32),
    ("max", ", unsigned"): lambda a, b: max(a, b, key=lambda x: x % 2**32),
    ("and", ""): lambda a, b: a & b,
    ("or", ""): lambda a, b: a | b,
}


@pytest.mark.parametrize(("kind", "unsigned"), list(INTEGER_KINDS))
def test_integer_reductions(kind: str, unsigned: str) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(-(2**31), 2**31 - 1, 2 * ITEMS, dtype=np.int32) | np.int32(3)
    run = run_lanes(
        f'%r = "motif.subgroup_reduce"(%v) <{{kind = "{kind}"{unsigned}}}> : (i32) -> i32', values, "i32", 16
    )
    wanted = butterfly(values.tolist(), 16, INTEGER_KINDS[kind, unsigned])
    assert run.outputs["out"].tolist() == wanted


def test_float_minimum_loses_nan_and_orders_zeros() -> None:
    values = np.full(2 * ITEMS, np.nan, np.float32)
    values[3], values[9], values[17] = 0.0, -0.0, 0.0
    run = run_lanes('%r = "motif.subgroup_reduce"(%v) <{kind = "min"}> : (f32) -> f32', values, "f32", 16)
    found = run.outputs["out"]
    assert np.signbit(found[:16]).all()
    assert (found[:16] == 0).all()
    assert not np.signbit(found[16:32]).any()
    assert np.isnan(found[32:]).all()


@pytest.mark.parametrize("subgroup", SIZES)
def test_workgroup_sum_adds_subgroups_in_order(subgroup: int) -> None:
    values = floats(1)
    run = run_lanes('%r = "motif.workgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32', values, "f32", subgroup)
    for group in range(2):
        mine = values[group * ITEMS : (group + 1) * ITEMS]
        parts = butterfly(mine, subgroup, lambda a, b: np.float32(a + b))[::subgroup]
        total = parts[0]
        for part in parts[1:]:
            total = np.float32(total + part)
        assert run.outputs["out"][group * ITEMS : (group + 1) * ITEMS].tolist() == [float(total)] * ITEMS


def test_scan_is_inclusive_and_ascending() -> None:
    values = floats(2)
    run = run_lanes('%r = "motif.subgroup_scan"(%v) <{kind = "add"}> : (f32) -> f32', values, "f32", 8)
    wanted = []
    for start in range(0, 2 * ITEMS, 8):
        total = values[start]
        wanted.append(float(total))
        for value in values[start + 1 : start + 8]:
            total = np.float32(total + value)
            wanted.append(float(total))
    assert run.outputs["out"].tolist() == wanted


def test_shuffles_and_broadcast() -> None:
    values = floats(3)
    xor = run_lanes('%r = "motif.subgroup_shuffle_xor"(%v) <{mask = 5 : i64}> : (f32) -> f32', values, "f32", 8)
    assert xor.outputs["out"].tolist() == [values[i ^ 5] for i in range(2 * ITEMS)]
    up = '%i = arith.xori %lane, %c1 : index\n%r = "motif.subgroup_shuffle"(%v, %i) : (f32, index) -> f32'
    assert run_lanes(up, values, "f32", 8).outputs["out"].tolist() == [values[i ^ 1] for i in range(2 * ITEMS)]
    one = '%r = "motif.subgroup_broadcast"(%v, %c1) : (f32, index) -> f32'
    run = run_lanes(one, values, "f32", 16)
    assert run.outputs["out"].tolist() == [values[i // 16 * 16 + 1] for i in range(2 * ITEMS)]
    assert not run.findings


def test_half_precision_sums_round_each_step() -> None:
    values = floats(4).astype(np.float16)
    run = run_lanes('%r = "motif.subgroup_reduce"(%v) <{kind = "add"}> : (f16) -> f16', values, "f16", 32)
    wanted = butterfly(values, 32, lambda a, b: np.float16(np.float64(a) + np.float64(b)))
    assert run.outputs["out"].tolist() == [float(w) for w in wanted]


def test_votes() -> None:
    values = np.ones(2 * ITEMS, np.int32)
    values[20] = 0
    lines = """%z = arith.constant 0 : i32
    %p = arith.cmpi ne, %v, %z : i32
    %all = "motif.subgroup_reduce"(%p) <{kind = "and"}> : (i1) -> i1
    %n = arith.cmpi eq, %v, %z : i32
    %any = "motif.subgroup_reduce"(%n) <{kind = "or"}> : (i1) -> i1
    %x = arith.extui %all : i1 to i32
    %y = arith.extui %any : i1 to i32
    %two = arith.constant 2 : i32
    %y2 = arith.muli %y, %two : i32
    %r = arith.addi %x, %y2 : i32"""
    found = run_lanes(lines, values, "i32", 16).outputs["out"]
    assert found.tolist() == [2 if 16 <= i < 32 else 1 for i in range(2 * ITEMS)]


GUARD = """%half = arith.constant LIMIT : index
%some = arith.cmpi slt, %t, %half : index
%zero = arith.constant 0.0 : f32
%r = scf.if %some -> (f32) {
  %s = COLLECTIVE loc("k.spec.yaml":5:7)
  scf.yield %s : f32
} else { scf.yield %zero : f32 }"""


@pytest.mark.parametrize(
    "collective",
    [
        '"motif.subgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32',
        '"motif.subgroup_scan"(%v) <{kind = "add"}> : (f32) -> f32',
        '"motif.subgroup_broadcast"(%v, %c0) : (f32, index) -> f32',
        '"motif.subgroup_shuffle_xor"(%v) <{mask = 7 : i64}> : (f32) -> f32',
    ],
)
def test_a_guard_must_take_whole_subgroups(collective: str) -> None:
    for limit, bad in ((16, False), (20, "broadcast" not in collective)):
        lines = GUARD.replace("LIMIT", str(limit)).replace("COLLECTIVE", collective)
        run = run_lanes(lines, floats(), "f32", 8)
        assert kinds(run) == (["divergent-collective"] if bad else []), (collective, limit)
        assert all(f.where == "k.spec.yaml:5:7" for f in run.findings)


def test_a_workgroup_reduction_takes_the_whole_workgroup() -> None:
    lines = GUARD.replace("COLLECTIVE", '"motif.workgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32')
    assert kinds(run_lanes(lines.replace("LIMIT", "16"), floats(), "f32", 8)) == ["divergent-collective"]
    assert not run_lanes(lines.replace("LIMIT", "64"), floats(), "f32", 8).findings


def test_reading_an_absent_lane() -> None:
    lines = '%c9 = arith.constant 9 : index\n%r = "motif.subgroup_shuffle"(%v, %c9) : (f32, index) -> f32'
    run = run_lanes(lines, floats(), "f32", 8)
    assert kinds(run) == ["out-of-bounds"]
    assert np.isnan(run.outputs["out"]).all()


@pytest.mark.parametrize(("limit", "bad"), [(16, True), (64, False), (0, False)])
def test_barriers_are_for_whole_workgroups(limit: int, bad: bool) -> None:
    lines = f"""%half = arith.constant {limit} : index
    %some = arith.cmpi slt, %t, %half : index
    scf.if %some {{ "gpu.barrier"() : () -> () loc("k.spec.yaml":6:1) }}
    %r = arith.addf %v, %v : f32"""
    run = run_lanes(lines, floats(), "f32", 8)
    assert kinds(run) == (["divergent-barrier"] if bad else [])
    if bad:
        assert "work-item (16, 0, 0)" in run.findings[0].detail


def test_barrier_in_a_loop_of_unequal_trip_counts() -> None:
    lines = """scf.for %i = %c0 to %t step %c1 { "gpu.barrier"() : () -> () }
    %r = arith.addf %v, %v : f32"""
    assert kinds(run_lanes(lines, floats(), "f32", 8)) == ["divergent-barrier"]
    fixed = lines.replace("to %t", "to %b")
    assert not run_lanes(fixed, floats(), "f32", 8).findings


def test_a_cluster_wider_than_the_subgroup() -> None:
    """Work-items of several subgroups meet, as they do through workgroup memory on a device; all of them must come."""
    lines = '%r = "motif.subgroup_reduce"(%v) <{kind = "add", cluster = 16 : i64}> : (f32) -> f32'
    values = floats()
    run = run_lanes(lines, values, "f32", 8)
    wanted = butterfly(values, 16, lambda a, b: np.float32(a + b))
    assert run.outputs["out"].tolist() == [float(w) for w in wanted]
    assert not run.findings
    guarded = f"""%c = arith.constant 8 : index
        %q = arith.cmpi slt, %t, %c : index
        %r = scf.if %q -> (f32) {{
          {lines.replace("%r", "%s")}
          scf.yield %s : f32
        }} else {{
          scf.yield %v : f32
        }}"""
    assert {f.kind for f in run_lanes(guarded, values, "f32", 8).findings} == {"divergent-collective"}


def test_a_cluster_wider_than_the_workgroup_is_refused() -> None:
    lines = '%r = "motif.subgroup_reduce"(%v) <{kind = "add", cluster = 128 : i64}> : (f32) -> f32'
    with pytest.raises(DeviceError, match="a cluster of 128 lanes in a workgroup of 64"):
        run_lanes(lines, floats(), "f32", 8)
