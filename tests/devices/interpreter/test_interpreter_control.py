"""Structured control flow, vectors, ids, batches: against plain Python loops."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kernels import THREAD, buffer, elementwise, function, kinds, scalar

from specgen.devices.base import DeviceError
from specgen.devices.interpreter import interpret, interpret_batch
from specgen.devices.interpreter.handlers import HANDLERS
from specgen.devices.interpreter.ops_control import trips
from specgen.ir.optable import OPS

CONSTANTS = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c3 = arith.constant 3 : index\n" + THREAD


def test_every_op_of_the_table_has_a_handler() -> None:
    assert set(HANDLERS) == set(OPS)


def test_unknown_op_is_refused_with_its_place() -> None:
    text = function("", '%a = arith.constant 1.0 : f32\n%b = math.cbrt %a : f32 loc("x.yaml":3:4)')
    with pytest.raises(DeviceError, match=r"x\.yaml:3:4: the IR has no op math\.cbrt"):
        interpret(text, "f", {})


def test_loops_whose_bounds_differ_between_lanes() -> None:
    body = (
        CONSTANTS
        + """%a, %b = scf.for %i = %t to %n step %c3 iter_args(%x = %c0, %y = %c1) -> (index, index) {
          %x1 = arith.addi %x, %i : index
          %y1 = arith.addi %x, %y : index
          scf.yield %x1, %y1 : index, index
        }
        %r = arith.addi %a, %b : index
        %w = arith.index_cast %r : index to i64
        memref.store %w, %out[%t] : memref<8xi64>"""
    )
    text = function(scalar("n") + ", " + buffer("out", "memref<8xi64>", "write"), body, (8, 1, 1))
    for n in (0, 1, 4, 9, 20):
        run = interpret(text, "f", {"n": n, "out": np.zeros(8, np.int64)})
        wanted = []
        for t in range(8):
            x, y = 0, 1
            for i in range(t, n, 3):
                x, y = x + i, x + y
            wanted.append(x + y)
        assert run.outputs["out"].tolist() == wanted
        assert not run.findings


def test_while_keeps_the_values_of_lanes_that_left() -> None:
    body = (
        CONSTANTS
        + """%r, %k = scf.while (%v = %t, %s = %c0) : (index, index) -> (index, index) {
          %go = arith.cmpi slt, %v, %n : index
          scf.condition(%go) %v, %s : index, index
        } do {
        ^bb0(%v1: index, %s1: index):
          %v2 = arith.addi %v1, %c3 : index
          %s2 = arith.addi %s1, %v1 : index
          scf.yield %v2, %s2 : index, index
        }
        %sum = arith.addi %r, %k : index
        %w = arith.index_cast %sum : index to i64
        memref.store %w, %out[%t] : memref<8xi64>"""
    )
    text = function(scalar("n") + ", " + buffer("out", "memref<8xi64>", "write"), body, (8, 1, 1))
    for n in (0, 5, 11):
        wanted = []
        for t in range(8):
            v, s = t, 0
            while v < n:
                v, s = v + 3, s + v
            wanted.append(v + s)
        assert interpret(text, "f", {"n": n, "out": np.zeros(8, np.int64)}).outputs["out"].tolist() == wanted


def test_a_branch_that_no_lane_takes_is_not_executed() -> None:
    body = (
        CONSTANTS
        + """%z = arith.constant 7.0 : f32
        %some = arith.cmpi slt, %t, %n : index
        %r = scf.if %some -> (f32) {
          %v = memref.load %in[%t] : memref<8xf32>
          scf.yield %v : f32
        } else { scf.yield %z : f32 }
        memref.store %r, %out[%t] : memref<8xf32>"""
    )
    arguments = ", ".join([scalar("n"), buffer("in", "memref<8xf32>"), buffer("out", "memref<8xf32>", "write")])
    text = function(arguments, body, (8, 1, 1))
    for n in range(9):
        # Only the first n elements exist: any other read would be a finding.
        run = interpret(text, "f", {"n": n, "in": np.arange(n, dtype=np.float32), "out": np.zeros(8, np.float32)})
        assert run.outputs["out"].tolist() == [float(t) if t < n else 7.0 for t in range(8)]
        assert not run.findings


def test_nested_masks() -> None:
    body = (
        CONSTANTS
        + """%c2 = arith.constant 2 : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> (index) {
          %p = "motif.floorremsi"(%t, %c2) : (index, index) -> index
          %odd = arith.cmpi eq, %p, %c1 : index
          %y = scf.if %odd -> (index) {
            %late = arith.cmpi sgt, %i, %t : index
            %z = scf.if %late -> (index) {
              %w = scf.for %j = %c0 to %t step %c1 iter_args(%q = %x) -> (index) {
                %q1 = arith.addi %q, %i : index
                scf.yield %q1 : index }
              scf.yield %w : index
            } else { scf.yield %x : index }
            scf.yield %z : index
          } else {
            %e = arith.addi %x, %c1 : index
            scf.yield %e : index }
          scf.yield %y : index
        }
        %w64 = arith.index_cast %r : index to i64
        memref.store %w64, %out[%t] : memref<8xi64>"""
    )
    text = function(scalar("n") + ", " + buffer("out", "memref<8xi64>", "write"), body, (8, 1, 1))
    wanted = []
    for t in range(8):
        x = 0
        for i in range(9):
            if t % 2 == 1:
                if i > t:
                    for _ in range(t):
                        x += i
            else:
                x += 1
        wanted.append(x)
    assert interpret(text, "f", {"n": 9, "out": np.zeros(8, np.int64)}).outputs["out"].tolist() == wanted


def test_trip_counts_at_the_ends_of_64_bits() -> None:
    top, low = 2**63 - 1, -(2**63)
    cases = [(0, 0, 1), (5, 4, 1), (low, top, 2**62), (top - 1, top, 7), (low, low + 1, 5), (2**31 + 3, 2**33, 2**30)]
    for begin, end, step in cases:
        with np.errstate(over="ignore"):
            found = trips(np.int64(begin), np.int64(end), np.int64(step))
        assert int(found) == len(range(begin, end, step))


def test_ids_are_linear_with_x_first() -> None:
    body = """%x = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %y = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index
    %z = "gpu.thread_id"() <{dimension = #gpu<dim z>}> : () -> index
    %bx = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %by = "gpu.block_id"() <{dimension = #gpu<dim y>}> : () -> index
    %bz = "gpu.block_id"() <{dimension = #gpu<dim z>}> : () -> index
    %l = "gpu.lane_id"() : () -> index
    %s = "gpu.subgroup_id"() : () -> index
    %c10 = arith.constant 10 : index
    %a = arith.muli %s, %c10 : index
    %b = arith.addi %a, %l : index
    %v = arith.index_cast %b : index to i64
    memref.store %v, %out[%bz, %by, %bx, %z, %y, %x] : memref<2x1x3x2x3x4xi64>"""
    text = function(buffer("out", "memref<2x1x3x2x3x4xi64>", "write"), body, (4, 3, 2), 8)
    run = interpret(text, "f", {"out": np.zeros(144, np.int64)}, (3, 1, 2), batch=30)
    found = run.outputs["out"].reshape(6, 24)
    assert (found == np.array([10 * (i // 8) + i % 8 for i in range(24)])).all()
    assert not run.findings


def test_vectors() -> None:
    lines = """%v = vector.from_elements %a, %b, %c : vector<3xf32>"""
    lines = '%v = "vector.from_elements"(%a, %b, %c) : (f32, f32, f32) -> vector<3xf32>\n'
    values = [("f32", np.arange(5, dtype=np.float32) + 10 * k) for k in range(3)]
    assert elementwise(lines + "%r = vector.extract %v[2] : f32 from vector<3xf32>", values, "f32").tolist() == [
        20,
        21,
        22,
        23,
        24,
    ]
    more = """%s = vector.shuffle %v, %v [5, 1, 0, 2] : vector<3xf32>, vector<3xf32>
    %w = vector.insert %b, %s[0] : f32 into vector<4xf32>
    %k = vector.broadcast %c : f32 to vector<4xf32>
    %m = arith.cmpf olt, %w, %k : vector<4xf32>
    %p = arith.select %m, %w, %k : vector<4xi1>, vector<4xf32>
    %x = arith.addf %p, %k : vector<4xf32>
    %x0 = vector.extract %x[0] : f32 from vector<4xf32>
    %x3 = vector.extract %x[3] : f32 from vector<4xf32>
    %r = arith.subf %x3, %x0 : f32"""
    # x = [b + c, b + c, a + c, c + c]; x3 - x0 = c - b = 10.
    assert elementwise(lines + more, values, "f32").tolist() == [10.0] * 5


def test_dynamic_vector_elements() -> None:
    lines = """%v = "vector.from_elements"(%a, %b) : (f32, f32) -> vector<2xf32>
    %i = arith.index_cast %c : i64 to index
    %e = vector.extract %v[%i] : f32 from vector<2xf32>
    %u = vector.insert %e, %v[%i] : f32 into vector<2xf32>
    %f = vector.extract %u[0] : f32 from vector<2xf32>
    %r = arith.addf %e, %f : f32"""
    a, b = np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)
    picks = np.array([0, 1, 1], np.int64)
    assert elementwise(lines, [("f32", a), ("f32", b), ("i64", picks)], "f32").tolist() == [2, 22, 33]


def test_vector_bitcast_takes_low_bits_first() -> None:
    words = np.array([0x04030201, -1, 0x7F80FF00], np.int32)
    for k in range(4):
        lines = f"""%v = vector.broadcast %a : i32 to vector<1xi32>
        %w = vector.bitcast %v : vector<1xi32> to vector<4xi8>
        %r = vector.extract %w[{k}] : i8 from vector<4xi8>"""
        found = elementwise(lines, [("i32", words)], "i8")
        assert found.tolist() == [int(w.tobytes()[k].__index__() ^ 0x80) - 0x80 for w in words]


def test_vector_constants_and_conversions() -> None:
    lines = """%k = arith.constant dense<[1, -2, 3]> : vector<3xi32>
    %f = arith.sitofp %k : vector<3xi32> to vector<3xf32>
    %h = arith.truncf %f : vector<3xf32> to vector<3xbf16>
    %g = arith.extf %h : vector<3xbf16> to vector<3xf32>
    %b = vector.broadcast %a : f32 to vector<3xf32>
    %p = math.fma %g, %b, %g : vector<3xf32>
    %r = vector.extract %p[1] : f32 from vector<3xf32>"""
    assert elementwise(lines, [("f32", np.array([1, 10], np.float32))], "f32").tolist() == [-4, -22]


SUM = function(
    ", ".join(
        [
            scalar("n", more=", motif.range = array<i64: 0, 9>"),
            buffer("in", "memref<9x4xf32>"),
            buffer("out", "memref<4xf32>", "write"),
        ]
    ),
    CONSTANTS
    + """%z = arith.constant 0.0 : f32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (f32) {
      %v = memref.load %in[%i, %t] : memref<9x4xf32>
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32 }
    memref.store %s, %out[%t] : memref<4xf32>""",
)


def test_batches_equal_single_launches() -> None:
    data = np.random.default_rng(0).standard_normal(36).astype(np.float32)
    launches = [{"n": n, "in": data, "out": np.full(4, n, np.float32)} for n in range(10)]
    runs = interpret_batch(SUM, "f", launches)
    for launch, run in zip(launches, runs, strict=True):
        alone = interpret(SUM, "f", launch)
        assert np.array_equal(run.outputs["out"], alone.outputs["out"])
        wanted = np.zeros(4, np.float32)
        for row in data.reshape(9, 4)[: launch["n"]]:
            wanted += row
        assert np.array_equal(run.outputs["out"], wanted)
        assert not run.findings
        assert launch["out"].tolist() == [launch["n"]] * 4


def test_batches_keep_findings_and_backings_apart() -> None:
    data = np.arange(36, dtype=np.float32)
    launches = [{"n": n, "in": data[: 4 * k], "out": np.zeros(4, np.float32)} for n, k in ((2, 2), (3, 2), (5, 9))]
    runs = interpret_batch(SUM, "f", launches)
    assert [kinds(r) for r in runs] == [[], ["out-of-bounds"], []]
    assert "8 elements are backed" in runs[1].findings[0].detail
    assert runs[2].outputs["out"].tolist() == data.reshape(9, 4)[:5].sum(0).tolist()


def test_batches_with_a_grid_each() -> None:
    body = """%b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %v = arith.index_cast %b : index to i64
    memref.store %v, %out[%b] : memref<5xi64>"""
    text = function(buffer("out", "memref<5xi64>", "write"), body, (1, 1, 1))
    launches = [{"out": np.full(5, -1, np.int64)} for _ in range(3)]
    runs = interpret_batch(text, "f", launches, [(1, 1, 1), (5, 1, 1), (0, 1, 1)])
    assert [r.outputs["out"].tolist() for r in runs] == [[0, -1, -1, -1, -1], [0, 1, 2, 3, 4], [-1] * 5]


def test_float_scalars_of_a_batch_keep_their_bits() -> None:
    body = THREAD + "memref.store %s, %out[%t] : memref<1xf32>"
    text = function(scalar("s", "f32") + ", " + buffer("out", "memref<1xf32>", "write"), body, (1, 1, 1))
    values = [0.0, -0.0, 1.5, float("nan")]
    runs = interpret_batch(text, "f", [{"s": v, "out": np.zeros(1, np.float32)} for v in values])
    bits = [int(r.outputs["out"].view(np.uint32)[0]) for r in runs]
    assert bits == np.array(values, np.float32).view(np.uint32).tolist()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"n": 1, "in": np.zeros(36, np.float32)}, "argument out is missing"),
        ({"n": 1, "in": np.zeros((9, 4), np.float32), "out": np.zeros(4, np.float32)}, "2 axes"),
        ({"n": 1, "in": np.zeros(36, np.float64), "out": np.zeros(4, np.float32)}, "an array of float64"),
        ({"n": 2**70, "in": np.zeros(36, np.float32), "out": np.zeros(4, np.float32)}, "does not fit in 64 bits"),
    ],
)
def test_arguments_that_do_not_fit(args: dict[str, object], message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        interpret(SUM, "f", args)


def test_missing_entry_and_open_subgroup_size() -> None:
    with pytest.raises(DeviceError, match="no entry g; the module has f"):
        interpret(SUM, "g", {})
    text = function("", '%l = "gpu.lane_id"() : () -> index')
    with pytest.raises(DeviceError, match="needs a subgroup size"):
        interpret(text, "f", {})
    with pytest.raises(DeviceError, match="no multiple of the subgroup size 8"):
        interpret(text, "f", {}, subgroup_size=8)
    interpret(text, "f", {}, subgroup_size=4)


def test_a_loop_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specgen.devices.interpreter.frame.STEP_BUDGET", 1000)
    body = """%yes = arith.constant true
    scf.while () : () -> () { scf.condition(%yes) } do { scf.yield }"""
    with pytest.raises(DeviceError, match="did not end"):
        interpret(function("", body), "f", {})


def test_counts_of_executed_ops() -> None:
    run = interpret(SUM, "f", {"n": 3, "in": np.zeros(36, np.float32), "out": np.zeros(4, np.float32)})
    # thread_id and three additions; three loads and a store; one loop.
    assert run.evidence["ops"] == {"alu": 4, "control": 1, "memory": 4}
