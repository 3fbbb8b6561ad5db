"""Collectives on the device's subgroups, executed in the order that the IR defines, with the size fixed and open."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import vulkan_support as support

from specgen.devices.base import DeviceError

pytestmark = pytest.mark.required_in_ci

ITEMS = 64


def targets() -> list[str]:
    """The open target and the one with the device's own subgroup size."""
    return ["open", "fixed"]


def target(name: str) -> str:
    size = support.device().session().limits.subgroup_size
    return "vulkan1.3" if name == "open" else f"vulkan1.3-sg{size}"


def lanes() -> int:
    return support.device().session().limits.subgroup_size


def collective(
    operation: str, type_: str, source: np.ndarray, where: str, size: tuple[int, int, int] = (ITEMS, 1, 1)
) -> np.ndarray:
    """Run `operation` (defines `%r` from `%v`) with one element a work-item."""
    count = math.prod(size)
    memref = f"memref<{count}x{type_}>"
    body = ""
    place = "%x"
    if size[1] > 1:
        body = f"""
    %y = "gpu.thread_id"() <{{dimension = #gpu<dim y>}}> {{motif.range = array<i64: 0, {size[1] - 1}>}} : () -> index
    %width = arith.constant {size[0]} : index
    %row = arith.muli %y, %width : index
    %at = arith.addi %row, %x : index"""
        place = "%at"
    body += f"""
    %v = memref.load %p[{place}] : {memref}
    {operation}
    memref.store %r, %q[{place}] : {memref}"""
    arguments = [support.buffer("p", memref, "read"), support.buffer("q", memref, "write")]
    text = support.kernel(", ".join(arguments), body, size)
    args = {"p": source, "q": np.zeros_like(source)}
    done = support.run(text, args, target=target(where))
    assert done.findings == ()
    return done.outputs["q"]


def numbers(type_: str, count: int = ITEMS) -> np.ndarray:
    random = np.random.default_rng(11)
    if type_.startswith("i"):
        return random.integers(-100, 100, count).astype(support.DTYPES[type_])
    return (random.uniform(-1, 1, count) * 2.0 ** random.integers(-4, 4, count)).astype(support.DTYPES[type_])


def rounded_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A sum in the operands' type; narrow floats through f32, which is exact enough for one rounding."""
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
        return (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype)
    return a + b


COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": rounded_sum,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def butterfly(source: np.ndarray, cluster: int, kind: str) -> np.ndarray:
    """Each step combines with the partner at distance 1, 2, 4, ..."""
    value, distance = source.copy(), 1
    while distance < cluster:
        partner = value[np.arange(len(value)) ^ distance]
        value = COMBINE[kind](value, partner).astype(source.dtype)
        distance *= 2
    return value


REDUCTIONS = [
    *((t, "add") for t in ("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64")),
    *((t, k) for t in ("f32", "f16", "i32", "i64", "i8") for k in ("min", "max")),
    *((t, k) for t in ("i32", "i64") for k in ("and", "or")),
]


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize(("type_", "kind"), REDUCTIONS)
def test_subgroup_reductions_in_the_defined_order(type_: str, kind: str, where: str) -> None:
    source = numbers(type_)
    operation = f'%r = "motif.subgroup_reduce"(%v) <{{kind = "{kind}"}}> : ({type_}) -> {type_}'
    out = collective(operation, type_, source, where)
    np.testing.assert_array_equal(out, butterfly(source, lanes(), kind))


def test_the_order_of_float_sums_shows() -> None:
    """The values above tell orders apart: else the test before could not fail."""
    source = numbers("f32")
    groups = source.reshape(-1, lanes())
    ascending = np.add.accumulate(groups, axis=1)[:, -1]
    assert (butterfly(source, lanes(), "add")[:: lanes()] != ascending).any()


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
def test_clusters_within_a_subgroup(cluster: int, where: str) -> None:
    source = numbers("f32")
    operation = f'%r = "motif.subgroup_reduce"(%v) <{{kind = "add", cluster = {cluster} : i64}}> : (f32) -> f32'
    out = collective(operation, "f32", source, where)
    np.testing.assert_array_equal(out, butterfly(source, cluster, "add"))


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize("cluster", [16, 32])
@pytest.mark.parametrize("type_", ["f32", "bf16", "f16", "i64"])
def test_clusters_wider_than_the_subgroup_go_through_workgroup_memory(type_: str, cluster: int, where: str) -> None:
    source = numbers(type_)
    head = f'%r = "motif.subgroup_reduce"(%v) <{{kind = "add", cluster = {cluster} : i64}}>'
    out = collective(f"{head} : ({type_}) -> {type_}", type_, source, where)
    np.testing.assert_array_equal(out, butterfly(source, cluster, "add"))


@pytest.mark.parametrize("where", targets())
def test_wide_clusters_that_share_memory_follow_each_other(where: str) -> None:
    """Nine reductions in a row, each of what the one before left: none reads what another wrote."""
    source = numbers("i32")
    chain, wanted = [], source
    for step in range(9):
        cluster, last = (16, 32)[step % 2], "%r" if step == 8 else f"%s{step}"
        before = "%v" if step == 0 else f"%s{step - 1}"
        chain.append(
            f'{last}q = "motif.subgroup_reduce"({before}) <{{kind = "add", cluster = {cluster} : i64}}> : (i32) -> i32'
        )
        chain.append(f"{last} = arith.xori {last}q, %v : i32")
        wanted = butterfly(wanted, cluster, "add") ^ source
    np.testing.assert_array_equal(collective("\n    ".join(chain), "i32", source, where), wanted)


def test_a_wide_cluster_in_divergent_flow_needs_a_device_with_wide_subgroups() -> None:
    body = """
    %v = memref.load %p[%x] : memref<64xf32>
    %c32 = arith.constant 32 : index
    %t = arith.cmpi slt, %x, %c32 : index
    scf.if %t {
      %r = "motif.subgroup_reduce"(%v) <{kind = "add", cluster = 32 : i64}> : (f32) -> f32
      memref.store %r, %p[%x] : memref<64xf32>
    }"""
    text = support.kernel(support.buffer("p", "memref<64xf32>"), body, (64, 1, 1))
    artifact = support.build(text)
    if lanes() >= 32:
        pytest.skip("the device's subgroups are wide enough")
    with pytest.raises(DeviceError, match="subgroups of at least 32 lanes, the device has"):
        support.device().load(artifact, "kernel")


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize("kind", ["and", "or"])
def test_any_and_all(kind: str, where: str) -> None:
    source = np.ones(ITEMS, np.int32)
    source[[3, 8 + 1, 8 + 2]] = 0
    source[16:24] = 0
    operation = f"""%zero = arith.constant 0 : i32
    %b = arith.cmpi ne, %v, %zero : i32
    %t = "motif.subgroup_reduce"(%b) <{{kind = "{kind}"}}> : (i1) -> i1
    %r = arith.extui %t : i1 to i32"""
    groups = source.reshape(-1, lanes()).astype(bool)
    expected = np.repeat(groups.all(1) if kind == "and" else groups.any(1), lanes())
    np.testing.assert_array_equal(collective(operation, "i32", source, where), expected)


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize(
    ("type_", "kind"),
    [("f32", "add"), ("bf16", "add"), ("f16", "add"), ("i32", "add"), ("i64", "add"), ("f32", "max"), ("i32", "min")],
)
def test_scans_are_inclusive_and_ascend(type_: str, kind: str, where: str) -> None:
    source = numbers(type_)
    operation = f'%r = "motif.subgroup_scan"(%v) <{{kind = "{kind}"}}> : ({type_}) -> {type_}'
    out = collective(operation, type_, source, where)
    expected = source.copy()
    for start in range(0, ITEMS, lanes()):
        for lane in range(start + 1, start + lanes()):
            expected[lane] = COMBINE[kind](expected[lane - 1 : lane], source[lane : lane + 1])[0]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize("type_", ["f32", "f16", "bf16", "i8", "i16", "i32", "i64", "f64"])
def test_lane_exchanges_of_every_type(type_: str, where: str) -> None:
    source, n = numbers(type_), np.arange(ITEMS)
    base, lane = n // lanes() * lanes(), n % lanes()
    cases = {
        f'%l = arith.constant 5 : index\n%r = "motif.subgroup_broadcast"(%v, %l) : ({type_}, index) -> {type_}': (
            base + 5
        ),
        f'%r = "motif.subgroup_shuffle_xor"(%v) <{{mask = 3 : i64}}> : ({type_}) -> {type_}': base + (lane ^ 3),
        f'%k = "gpu.lane_id"() : () -> index\n%c = arith.constant 2 : index\n%l = arith.floordivsi %k, %c : index\n'
        f'%r = "motif.subgroup_shuffle"(%v, %l) : ({type_}, index) -> {type_}': base + lane // 2,
    }
    for operation, origin in cases.items():
        np.testing.assert_array_equal(collective(operation, type_, source, where), source[origin])


@pytest.mark.parametrize("where", targets())
@pytest.mark.parametrize("size", [(64, 1, 1), (8, 8, 1), (256, 1, 1), (4, 32, 1)])
@pytest.mark.parametrize(("type_", "kind"), [("f32", "add"), ("f32", "max"), ("i32", "add"), ("bf16", "add")])
def test_workgroup_reductions(type_: str, kind: str, size: tuple[int, int, int], where: str) -> None:
    """Subgroups are runs of the linear id, whatever the shape; their results are added in ascending order."""
    count = math.prod(size)
    source = numbers(type_, count)
    operation = f'%r = "motif.workgroup_reduce"(%v) <{{kind = "{kind}"}}> : ({type_}) -> {type_}'
    out = collective(operation, type_, source, where, size)
    partial = butterfly(source, lanes(), kind)[:: lanes()]
    total = partial[:1]
    for number in range(1, len(partial)):
        total = COMBINE[kind](total, partial[number : number + 1])
    np.testing.assert_array_equal(out, np.repeat(total, count))


@pytest.mark.parametrize("where", targets())
def test_workgroup_reductions_in_a_loop_do_not_overtake_each_other(where: str) -> None:
    operation = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 20 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (i32) {
      %s = "motif.workgroup_reduce"(%a) <{kind = "add"}> : (i32) -> i32
      %k = arith.index_cast %x : index to i32
      %b = arith.xori %s, %k : i32
      scf.yield %b : i32
    }"""
    source = numbers("i32")
    expected = source.copy()
    with np.errstate(over="ignore"):
        for _ in range(20):
            expected = np.full(ITEMS, expected.sum(dtype=np.int32)) ^ np.arange(ITEMS, dtype=np.int32)
    np.testing.assert_array_equal(collective(operation, "i32", source, where), expected)


@pytest.mark.parametrize("where", targets())
def test_lane_and_subgroup_ids_divide_the_linear_id(where: str) -> None:
    operation = """%l = "gpu.lane_id"() : () -> index
    %g = "gpu.subgroup_id"() : () -> index
    %hundred = arith.constant 100 : index
    %h = arith.muli %g, %hundred : index
    %s = arith.addi %h, %l : index
    %r = arith.index_cast %s : index to i32"""
    out = collective(operation, "i32", np.zeros(ITEMS, np.int32), where, (4, 16, 1))
    linear = np.arange(ITEMS)
    np.testing.assert_array_equal(out, linear // lanes() * 100 + linear % lanes())


def test_split_barrier_orders_workgroup_memory() -> None:
    body = """
    %t = memref.alloc() {motif.name = "tile"} : memref<64xi32, 3 : i32>
    %i = arith.index_cast %x : index to i32
    memref.store %i, %t[%x] : memref<64xi32, 3 : i32>
    %token = "motif.arrive"() : () -> index
    "motif.fence"() : () -> ()
    "motif.wait"(%token) : (index) -> ()
    %c63 = arith.constant 63 : index
    %j = arith.subi %c63, %x : index
    %v = memref.load %t[%j] : memref<64xi32, 3 : i32>
    memref.store %v, %q[%x] : memref<64xi32>"""
    text = support.kernel(support.buffer("q", "memref<64xi32>", "write"), body, (64, 1, 1))
    done = support.run(text, {"q": np.zeros(64, np.int32)})
    np.testing.assert_array_equal(done.outputs["q"], 63 - np.arange(64))


def test_global_barrier_orders_buffers() -> None:
    body = """
    %i = arith.index_cast %x : index to i32
    memref.store %i, %q[%x] : memref<64xi32>
    "gpu.barrier"() {motif.scope = "global"} : () -> ()
    %c63 = arith.constant 63 : index
    %j = arith.subi %c63, %x : index
    %v = memref.load %q[%j] : memref<64xi32>
    "gpu.barrier"() {motif.scope = "global"} : () -> ()
    memref.store %v, %q[%x] : memref<64xi32>"""
    text = support.kernel(support.buffer("q", "memref<64xi32>"), body, (64, 1, 1))
    done = support.run(text, {"q": np.zeros(64, np.int32)})
    np.testing.assert_array_equal(done.outputs["q"], 63 - np.arange(64))
