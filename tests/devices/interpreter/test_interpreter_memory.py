"""Memory: what is stored where, and a finding of each kind with its place."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kernels import THREAD, buffer, function, kinds, scalar

from specgen.devices.interpreter import interpret

IN = "memref<4x8xf32>"
C = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n" + THREAD


def run_body(body: str, args: dict, arguments: list[str], size: int = 4, grid: int = 1, subgroup: int | None = None):  # type: ignore[no-untyped-def, type-arg]
    text = function(", ".join(arguments), C + body, (size, 1, 1), subgroup)
    return interpret(text, "f", args, (grid, 1, 1))


def test_axis_bounds_name_buffer_index_axis_and_item() -> None:
    body = """%v = memref.load %in[%n, %t] : memref<4x8xf32> loc("k.spec.yaml":7:9)
    memref.store %v, %out[%t] : memref<4xf32>"""
    arguments = [
        scalar("n"),
        buffer("in", IN, more=', motif.axes = ["row", "lane"]'),
        buffer("out", "memref<4xf32>", "write"),
    ]
    args = {"n": 4, "in": np.zeros(32, np.float32), "out": np.zeros(4, np.float32)}
    run = run_body(body, args, arguments)
    (finding,) = run.findings
    assert finding.kind == "out-of-bounds"
    assert finding.where == "k.spec.yaml:7:9"
    assert finding.detail == (
        "load of in[4, 0]: axis row has 4 elements, work-item (0, 0, 0) of workgroup (0, 0, 0); 4 times"
    )
    assert np.isnan(run.outputs["out"]).all()
    assert not run_body(body, args | {"n": 3}, arguments).findings
    assert kinds(run_body(body, args | {"n": -1}, arguments)) == ["out-of-bounds"]


def test_an_inner_axis_may_not_run_into_the_next_row() -> None:
    body = """%c8 = arith.constant 8 : index
    %v = memref.load %in[%c0, %c8] : memref<4x8xf32>"""
    run = run_body(body, {"in": np.zeros(32, np.float32)}, [buffer("in", IN)])
    assert "axis 1 has 8 elements" in run.findings[0].detail


def test_backing_ends_before_the_shape() -> None:
    body = """%v = memref.load %in[%c1, %t] : memref<4x8xf32>
    memref.store %v, %out[%t] : memref<4xf32>"""
    arguments = [buffer("in", IN), buffer("out", "memref<4xf32>", "write")]
    data = np.arange(10, dtype=np.float32)
    run = run_body(body, {"in": data, "out": np.zeros(4, np.float32)}, arguments)
    assert "only 10 elements are backed" in run.findings[0].detail
    assert run.outputs["out"][:2].tolist() == [8, 9]
    assert np.isnan(run.outputs["out"][2:]).all()
    empty = run_body(body, {"in": data[:0], "out": np.zeros(4, np.float32)}, arguments)
    assert kinds(empty) == ["out-of-bounds"]


def test_stores_outside_are_dropped() -> None:
    body = """%c2 = arith.constant 2 : index
    %i = arith.addi %t, %c2 : index
    %v = arith.constant 5.0 : f32
    memref.store %v, %out[%i] : memref<4xf32>"""
    run = run_body(body, {"out": np.zeros(4, np.float32)}, [buffer("out", "memref<4xf32>", "write")])
    assert run.outputs["out"].tolist() == [0, 0, 5, 5]
    assert kinds(run) == ["out-of-bounds"]
    assert "; 2 times" in run.findings[0].detail


def test_extents_that_depend_on_arguments() -> None:
    body = """%v = memref.load %in[%c1, %t] : memref<?x?xf32>
    memref.store %v, %out[%t] : memref<4xf32>"""
    extents = '"motif.extents"(%in, %rows, %n) : (memref<?x?xf32>, index, index) -> ()\n'
    arguments = [scalar("rows"), scalar("n"), buffer("in", "memref<?x?xf32>"), buffer("out", "memref<4xf32>", "write")]
    args = {"rows": 2, "n": 5, "in": np.arange(10, dtype=np.float32), "out": np.zeros(4, np.float32)}
    run = run_body(extents + body, args, arguments)
    assert run.outputs["out"].tolist() == [5, 6, 7, 8]
    assert not run.findings
    bad = run_body(extents + body, args | {"n": 3}, arguments)
    assert "axis 1 has 3 elements" in bad.findings[0].detail


VECTOR = "memref<4x8xf32>"


def test_vector_access_is_wholly_inside() -> None:
    body = """%c5 = arith.constant 5 : index
    %v = vector.load %in[%c1, %t] : memref<4x8xf32>, vector<5xf32>
    %e = vector.extract %v[4] : f32 from vector<5xf32>
    memref.store %e, %out[%t] : memref<4xf32>"""
    arguments = [buffer("in", VECTOR), buffer("out", "memref<4xf32>", "write")]
    data = np.arange(32, dtype=np.float32)
    run = run_body(body, {"in": data, "out": np.zeros(4, np.float32)}, arguments)
    assert run.outputs["out"].tolist() == [12, 13, 14, 15]
    assert not run.findings
    bad = run_body(body.replace("[%c1, %t]", "[%c1, %c5]"), {"in": data, "out": np.zeros(4, np.float32)}, arguments)
    assert "load of in[1, 8]" in bad.findings[0].detail


def test_masked_vector_elements_are_not_touched() -> None:
    body = """%m = "vector.from_elements"(%yes, %no, %yes) : (i1, i1, i1) -> vector<3xi1>
    %p = arith.constant dense<-1.0> : vector<3xf32>
    %v = vector.maskedload %in[%n], %m, %p : memref<4xf32>, vector<3xi1>, vector<3xf32> into vector<3xf32> loc("k":1:1)
    vector.maskedstore %out[%n], %m, %v : memref<4xf32>, vector<3xi1>, vector<3xf32> loc("k":2:1)
    %e = vector.extract %v[1] : f32 from vector<3xf32>
    memref.store %e, %mid[%c0] : memref<1xf32>"""
    head = "%yes = arith.constant true\n%no = arith.constant false\n"
    arguments = [
        scalar("n"),
        buffer("in", "memref<4xf32>"),
        buffer("out", "memref<4xf32>", "write"),
        buffer("mid", "memref<1xf32>", "write"),
    ]
    args = {
        "n": 1,
        "in": np.arange(4, dtype=np.float32),
        "out": np.full(4, 9, np.float32),
        "mid": np.zeros(1, np.float32),
    }
    run = run_body(head + body, args, arguments, size=1)
    assert run.outputs["out"].tolist() == [9, 1, 9, 3]
    assert run.outputs["mid"].tolist() == [-1]
    assert not run.findings
    # At 3 the elements are 3, 4, 5: of those, 4 is masked and 5 is outside.
    beyond = run_body(head + body, args | {"n": 3}, arguments, size=1)
    assert kinds(beyond) == ["out-of-bounds", "out-of-bounds"]
    assert all("[5]" in f.detail for f in beyond.findings)


def test_claimed_alignment_is_checked() -> None:
    body = """%v = vector.load %in[%c0, %n] {motif.align = 16 : i64} : memref<4x8xf32>, vector<4xf32>"""
    arguments = [scalar("n"), buffer("in", VECTOR)]
    data = np.zeros(32, np.float32)
    assert not run_body(body, {"n": 4, "in": data}, arguments).findings
    bad = run_body(body, {"n": 2, "in": data}, arguments)
    assert kinds(bad) == ["misaligned"]
    assert "in[0, 2] is not at a multiple of 16 bytes" in bad.findings[0].detail


TILE = '%tile = memref.alloc() {motif.name = "tile"} : memref<4xf32, 3 : i32>\n'
BARRIER = '"gpu.barrier"() : () -> ()\n'
NEIGHBOUR = """%c3 = arith.constant 3 : index
%j = arith.subi %c3, %t : index
%f = arith.index_cast %t : index to i32
%x = arith.sitofp %f : i32 to f32
memref.store %x, %tile[%t] : memref<4xf32, 3 : i32>
BARRIER%y = memref.load %tile[%j] : memref<4xf32, 3 : i32> loc("k.spec.yaml":3:3)
memref.store %y, %out[%t] : memref<4xf32>"""


def test_workgroup_memory_with_and_without_a_barrier() -> None:
    arguments = [buffer("out", "memref<4xf32>", "write")]
    args = {"out": np.zeros(4, np.float32)}
    good = run_body(TILE + NEIGHBOUR.replace("BARRIER", BARRIER), args, arguments)
    assert good.outputs["out"].tolist() == [3, 2, 1, 0]
    assert not good.findings
    split = '%tok = "motif.arrive"() : () -> index\n"motif.wait"(%tok) : (index) -> ()\n'
    assert not run_body(TILE + NEIGHBOUR.replace("BARRIER", split), args, arguments).findings
    bad = run_body(TILE + NEIGHBOUR.replace("BARRIER", ""), args, arguments)
    assert kinds(bad) == ["race"]
    assert bad.findings[0].where == "k.spec.yaml:3:3"
    assert "tile[3]" in bad.findings[0].detail


def test_overwriting_what_others_still_read_is_a_race() -> None:
    body = TILE + NEIGHBOUR.replace("BARRIER", BARRIER) + "\nmemref.store %y, %tile[%t] : memref<4xf32, 3 : i32>"
    run = run_body(body, {"out": np.zeros(4, np.float32)}, [buffer("out", "memref<4xf32>", "write")])
    assert kinds(run) == ["race"]
    fixed = body.replace("\nmemref.store %y, %tile", "\n" + BARRIER + "memref.store %y, %tile")
    assert not run_body(fixed, {"out": np.zeros(4, np.float32)}, [buffer("out", "memref<4xf32>", "write")]).findings


def test_offsets_are_part_of_the_race_test() -> None:
    body = """%tile = memref.alloc() {motif.name = "tile"} : memref<5xf32, 3 : i32>
    %k = arith.constant 1.0 : f32
    %up = arith.addi %t, %c1 : index
    memref.store %k, %tile[%up] : memref<5xf32, 3 : i32>
    %on = arith.cmpi sge, %t, %c1 : index
    scf.if %on { %v = memref.load %tile[INDEX] : memref<5xf32, 3 : i32> }"""
    assert not run_body(body.replace("INDEX", "%up"), {}, []).findings
    assert kinds(run_body(body.replace("INDEX", "%t"), {}, [])) == ["race"]


def test_two_writers_race_when_their_values_differ() -> None:
    body = (
        TILE
        + """%f = arith.index_cast %t : index to i32
    %x = arith.sitofp %f : i32 to f32
    %k = arith.constant 2.0 : f32
    memref.store VALUE, %tile[%c0] : memref<4xf32, 3 : i32>"""
    )
    assert kinds(run_body(body.replace("VALUE", "%x"), {}, [])) == ["race"]
    assert not run_body(body.replace("VALUE", "%k"), {}, []).findings


def test_workgroup_memory_is_separate_and_starts_unwritten() -> None:
    body = (
        TILE
        + """%v = memref.load %tile[%t] : memref<4xf32, 3 : i32>
    memref.store %v, %out[%t] : memref<4xf32>"""
    )
    run = run_body(body, {"out": np.zeros(4, np.float32)}, [buffer("out", "memref<4xf32>", "write")])
    assert kinds(run) == ["unwritten-read"]
    assert np.isnan(run.outputs["out"]).all()


def test_reading_a_write_buffer_before_its_store() -> None:
    body = """%v = memref.load %out[%t] : memref<4xf32>
    memref.store %v, %out[%t] : memref<4xf32>"""
    args = {"out": np.ones(4, np.float32)}
    run = run_body(body, args, [buffer("out", "memref<4xf32>", "write")])
    assert kinds(run) == ["unwritten-read"]
    assert not run_body(body, args, [buffer("out", "memref<4xf32>", "readwrite")]).findings


def test_private_memory_belongs_to_one_work_item() -> None:
    body = """%p = memref.alloc() {motif.name = "p"} : memref<2xi64, 5 : i32>
    %v = arith.index_cast %t : index to i64
    memref.store %v, %p[%c1] : memref<2xi64, 5 : i32>
    %w = memref.load %p[%c1] : memref<2xi64, 5 : i32>
    memref.store %w, %out[%t] : memref<4xi64>"""
    run = run_body(body, {"out": np.zeros(4, np.int64)}, [buffer("out", "memref<4xi64>", "write")])
    assert run.outputs["out"].tolist() == [0, 1, 2, 3]
    assert not run.findings


def test_workgroups_race_over_a_buffer_whatever_the_barriers() -> None:
    body = """%b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %f = arith.index_cast %b : index to i64
    memref.store %f, %out[INDEX] : memref<2xi64>
    "gpu.barrier"() {motif.scope = "global"} : () -> ()
    %v = memref.load %out[%c0] : memref<2xi64>"""
    args = {"out": np.zeros(2, np.int64)}
    arguments = [buffer("out", "memref<2xi64>", "readwrite")]
    run = run_body(body.replace("INDEX", "%b"), args, arguments, size=1, grid=2)
    assert kinds(run) == ["race"]
    assert not run_body(body.replace("INDEX", "%b"), args, arguments, size=1).findings


def test_a_global_barrier_orders_a_buffer_and_a_plain_one_does_not() -> None:
    body = """%c3 = arith.constant 3 : index
    %j = arith.subi %c3, %t : index
    %f = arith.index_cast %t : index to i64
    memref.store %f, %out[%t] : memref<4xi64>
    "gpu.barrier"() SCOPE: () -> ()
    %v = memref.load %out[%j] : memref<4xi64>"""
    args = {"out": np.zeros(4, np.int64)}
    arguments = [buffer("out", "memref<4xi64>", "readwrite")]
    assert kinds(run_body(body.replace("SCOPE", ""), args, arguments)) == ["race"]
    assert not run_body(body.replace("SCOPE", '{motif.scope = "global"} '), args, arguments).findings


ATOMIC_KINDS = {
    0: ("f32", lambda a, b: a + b),
    1: ("i32", lambda a, b: a + b),
    2: ("i32", lambda a, b: b),
    4: ("i32", max),
    5: ("i32", lambda a, b: max(a % 2**32, b % 2**32)),
    7: ("i32", min),
    8: ("i32", lambda a, b: min(a % 2**32, b % 2**32)),
    11: ("i32", lambda a, b: a | b),
    12: ("i32", lambda a, b: a & b),
    13: ("f32", max),
    14: ("f32", min),
    15: ("i32", lambda a, b: a ^ b),
}


@pytest.mark.parametrize("kind", list(ATOMIC_KINDS))
def test_atomics_in_order_of_work_items(kind: int) -> None:
    type_, function_ = ATOMIC_KINDS[kind]
    dtype = np.float32 if type_ == "f32" else np.int32
    body = f"""%c3 = arith.constant 3 : index
    %slot = "motif.floorremsi"(%t, %c3) : (index, index) -> index
    %v = memref.load %in[%t] : memref<8x{type_}>
    %old = "memref.atomic_rmw"(%v, %acc, %slot) <{{kind = {kind} : i64}}>
      : ({type_}, memref<3x{type_}>, index) -> {type_}
    memref.store %old, %out[%t] : memref<8x{type_}>"""
    values = np.array([5, -3, 7, 2, 9, -8, 1, 4], dtype)
    start = np.array([3, 6, -1], dtype)
    arguments = [
        buffer("in", f"memref<8x{type_}>"),
        buffer("acc", f"memref<3x{type_}>", "readwrite"),
        buffer("out", f"memref<8x{type_}>", "write"),
    ]
    run = run_body(body, {"in": values, "acc": start, "out": np.zeros(8, dtype)}, arguments, size=8)
    cells, before = start.tolist(), []
    for t, v in enumerate(values.tolist()):
        before.append(cells[t % 3])
        cells[t % 3] = function_(cells[t % 3], v)
    if type_ == "i32":
        cells = [((c + 2**31) % 2**32) - 2**31 for c in cells]
        before = [((c + 2**31) % 2**32) - 2**31 for c in before]
    assert run.outputs["acc"].tolist() == cells
    assert run.outputs["out"].tolist() == before
    assert not run.findings


def test_atomic_and_plain_access_race() -> None:
    body = """%k = arith.constant 1 : i32
    %old = "memref.atomic_rmw"(%k, %acc, %c0) <{kind = 1 : i64}> : (i32, memref<1xi32>, index) -> i32
    %v = memref.load %acc[%c0] : memref<1xi32>"""
    run = run_body(body, {"acc": np.zeros(1, np.int32)}, [buffer("acc", "memref<1xi32>", "readwrite")])
    assert kinds(run) == ["race"]
    assert run.outputs["acc"].tolist() == [4]


def test_promises_about_arguments_and_contents() -> None:
    body = """%v = memref.load %ids[%t] : memref<4xi32>
    %c9 = arith.constant 9 : index
    %ok = arith.cmpi slt, %n, %c9 : index
    "motif.assume"(%ok) : (i1) -> ()"""
    arguments = [
        scalar("n", more=", motif.range = array<i64: 0, 16>, motif.multiple_of = 4 : i64"),
        buffer("ids", "memref<4xi32>", more=", motif.range = array<i64: -1, 7>"),
    ]
    good = np.array([-1, 0, 7, 3], np.int32)
    assert not run_body(body, {"n": 8, "ids": good}, arguments).findings
    assert "promised [0, 16]" in run_body(body, {"n": 20, "ids": good}, arguments).findings[0].detail
    assert "no multiple of 4" in run_body(body, {"n": 6, "ids": good}, arguments).findings[0].detail
    bad = run_body(body, {"n": 8, "ids": good + 1}, arguments)
    assert "ids[2] is 8, promised [-1, 7]" in bad.findings[0].detail
    assert kinds(run_body(body, {"n": 12, "ids": good}, arguments)) == ["broken-assumption"]


def test_claimed_ranges_of_results_are_checked() -> None:
    body = """%a = arith.addi %n, %t {motif.range = array<i64: 0, 9>} : index"""
    assert not run_body(body, {"n": 6}, [scalar("n")]).findings
    bad = run_body(body, {"n": 7}, [scalar("n")])
    assert kinds(bad) == ["broken-assumption"]
    assert "the value is 10, promised [0, 9], work-item (3, 0, 0)" in bad.findings[0].detail


def test_overflow_of_whole_arrays() -> None:
    body = """%big = arith.constant 9223372036854775805 : index
    %a = arith.addi %t, %big : index loc("k":1:1)
    %b = arith.muli %a, %t : index loc("k":2:1)
    %c = arith.addi %a, %t : index loc("k":3:1)
    %n = arith.subi %c0, %t : index
    %d = arith.subi %n, %a : index loc("k":4:1)"""
    found = {f.where: f.detail.split("; ")[1:] for f in run_body(body, {}, []).findings}
    values = [2**63 - 3 + t for t in range(4)]
    wrapped = [v if v < 2**63 else v - 2**64 for v in values]
    results = {
        "k:1:1": values,
        "k:2:1": [w * t for t, w in enumerate(wrapped)],
        "k:3:1": [w + t for t, w in enumerate(wrapped)],
        "k:4:1": [-t - w for t, w in enumerate(wrapped)],
    }
    for place, exact in results.items():
        times = sum(not -(2**63) <= v < 2**63 for v in exact)
        assert found.get(place) == (None if not times else [f"{times} times"] if times > 1 else []), place


def test_division_shift_overflow_and_checks() -> None:
    zero = run_body("%r = arith.floordivsi %n, %t : index", {"n": 5}, [scalar("n")])
    assert kinds(zero) == ["division-by-zero"]
    shift = run_body("%a = arith.index_cast %n : index to i32\n%r = arith.shli %a, %a : i32", {"n": 32}, [scalar("n")])
    assert kinds(shift) == ["shift-range"]
    for op, a, b, bad in (
        ("addi", 2**63 - 1, 1, True),
        ("addi", 2**63 - 1, -1, False),
        ("subi", -(2**63), 1, True),
        ("muli", 2**32, 2**31, True),
        ("muli", 2**32, -(2**31), False),
        ("muli", 3037000500, 3037000500, True),
        ("muli", 3037000499, 3037000499, False),
    ):
        run = run_body(f"%r = arith.{op} %a, %b : index", {"a": a, "b": b}, [scalar("a"), scalar("b")])
        assert kinds(run) == (["index-overflow"] if bad else []), (op, a, b)
    check = """%ok = arith.cmpi ne, %n, %c0 : index
    "motif.check"(%ok) <{kind = "division-by-zero", message = "n is 0"}> : (i1) -> ()"""
    found = run_body(check, {"n": 0}, [scalar("n")]).findings[0]
    assert (found.kind, found.detail[:6]) == ("division-by-zero", "n is 0")
    assert not run_body(check, {"n": 1}, [scalar("n")]).findings


def test_inactive_lanes_report_nothing() -> None:
    body = """%on = arith.cmpi eq, %t, %c1 : index
    scf.if %on {
      %q = arith.floordivsi %n, %t : index
      %v = memref.load %in[%t] : memref<2xf32>
    }"""
    assert not run_body(
        body, {"n": 5, "in": np.zeros(2, np.float32)}, [scalar("n"), buffer("in", "memref<2xf32>")]
    ).findings


def test_findings_are_few_and_counted() -> None:
    loads = "\n".join(f'%v{k} = memref.load %in[%n] : memref<2xf32> loc("k.yaml":{k + 1}:1)' for k in range(30))
    run = run_body(loads, {"n": 7, "in": np.zeros(2, np.float32)}, [scalar("n"), buffer("in", "memref<2xf32>")])
    assert len(run.findings) == 20
    assert run.findings[-1].detail.endswith("and 10 more places")


def test_inputs_are_not_changed() -> None:
    body = """%k = arith.constant 3.0 : f32
    memref.store %k, %io[%t] : memref<4xf32>"""
    given = np.zeros(4, np.float32)
    run = run_body(body, {"io": given}, [buffer("io", "memref<4xf32>", "readwrite")])
    assert run.outputs["io"].tolist() == [3.0] * 4
    assert given.tolist() == [0.0] * 4
