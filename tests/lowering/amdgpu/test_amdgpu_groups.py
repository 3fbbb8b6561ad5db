"""Memory, vectors, control flow and collectives: machine code against closed forms and the interpreter."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from amdgpu_kernels import DTYPES, THREAD, bits, buffer, compiled, emulate, interpret, kernel, module, scalar

from specgen import targets

RUN_ON = ("gfx942", "gfx1151", "gfx1201")
GROUP = 128


def _both(
    text: str, entry: str, args: dict[str, Any], target: str, grid: tuple[int, int, int] = (1, 1, 1)
) -> np.ndarray:
    """`out` of the machine code, which must be the interpreter's bit by bit and without findings."""
    got, want = emulate(text, target, entry, args, grid), interpret(text, target, entry, args, grid)
    assert got.findings == ()
    np.testing.assert_array_equal(bits(got.outputs["out"]), bits(want.outputs["out"]))
    return got.outputs["out"]


def _lanes(type_: str, body: str, group: int = GROUP) -> str:
    """A kernel that loads `%x` for each work-item, computes `%r`, stores it."""
    arguments = [buffer("x_in", f"{group}x{type_}"), buffer("out", f"{group}x{type_}", "write")]
    load = f"%x = memref.load %x_in[%t] : memref<{group}x{type_}>\n"
    store = f"\nmemref.store %r, %out[%t] : memref<{group}x{type_}>"
    return module(kernel("f", arguments, THREAD + load + body + store, group=(group, 1, 1)))


def _values(type_: str, group: int = GROUP) -> np.ndarray:
    rng = np.random.default_rng(7)
    if type_.startswith("i"):
        info = np.iinfo(DTYPES[type_])
        return rng.integers(info.min, info.max, group, dtype=DTYPES[type_])
    return (rng.standard_normal(group) * 100).astype(DTYPES[type_])


REDUCTIONS = [
    *(("add", t, "") for t in ("i32", "i64", "f32", "f16", "bf16", "f64")),
    *((k, t, "") for k in ("min", "max") for t in ("i16", "i64", "f32", "bf16")),
    *((k, "i32", ", unsigned") for k in ("min", "max")),
    *((k, "i32", "") for k in ("and", "or")),
]


@pytest.mark.parametrize("target", RUN_ON)
@pytest.mark.parametrize("op", ["subgroup_reduce", "workgroup_reduce", "subgroup_scan"])
def test_reductions(op: str, target: str) -> None:
    kernels = []
    for number, (kind, type_, unsigned) in enumerate(REDUCTIONS):
        if op == "subgroup_scan" and kind != "add":
            continue
        text = f'%r = "motif.{op}"(%x) <{{kind = "{kind}"{unsigned}}}> : ({type_}) -> {type_}'
        kernels.append((_lanes(type_, text).replace("@f(", f"@f{number}("), f"f{number}", type_))
    for text, entry, type_ in kernels:
        x = _values(type_)
        _both(text, entry, {"x_in": x, "out": np.zeros(GROUP, x.dtype)}, target)


@pytest.mark.parametrize("target", RUN_ON)
@pytest.mark.parametrize("cluster", [1, 2, 4, 8, 16, 32])
def test_clusters_add_pairs_at_growing_distance(cluster: int, target: str) -> None:
    text = _lanes(
        "f32", f'%r = "motif.subgroup_reduce"(%x) <{{kind = "add", cluster = {cluster} : i64}}> : (f32) -> f32'
    )
    x = _values("f32")
    got = _both(text, "f", {"x_in": x, "out": np.zeros(GROUP, np.float32)}, target)
    want = x.reshape(-1, cluster)
    while want.shape[1] > 1:
        want = want[:, 0::2] + want[:, 1::2]
    np.testing.assert_array_equal(got, np.repeat(want[:, 0], cluster))


@pytest.mark.parametrize("target", RUN_ON)
def test_lane_weighted_sum_covers_the_whole_subgroup(target: str) -> None:
    """B36: a sum over 32 lanes where there are 64 would give another number."""
    size = targets.load(target).subgroup_size
    assert size is not None
    x = np.arange(GROUP, dtype=np.int32)
    text = _lanes("i32", '%r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (i32) -> i32')
    got = _both(text, "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)
    np.testing.assert_array_equal(got, np.repeat(x.reshape(-1, size).sum(1), size))


@pytest.mark.parametrize("target", RUN_ON)
def test_votes(target: str) -> None:
    body = """%zero = arith.constant 0 : i32
    %c = arith.cmpi slt, %x, %zero : i32
    %any = "motif.subgroup_reduce"(%c) <{kind = "or"}> : (i1) -> i1
    %all = "motif.workgroup_reduce"(%c) <{kind = "and"}> : (i1) -> i1
    %four = "motif.subgroup_reduce"(%c) <{kind = "and", cluster = 4 : i64}> : (i1) -> i1
    %p = arith.extui %any : i1 to i32
    %q = arith.extui %all : i1 to i32
    %s = arith.extui %four : i1 to i32
    %two = arith.constant 2 : i32
    %q2 = arith.muli %q, %two : i32
    %s2 = arith.shli %s, %two : i32
    %u = arith.ori %p, %q2 : i32
    %r = arith.ori %u, %s2 : i32"""
    text = _lanes("i32", body)
    for x in (_values("i32"), np.full(GROUP, -1, np.int32), np.ones(GROUP, np.int32)):
        _both(text, "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)


@pytest.mark.parametrize("target", RUN_ON)
@pytest.mark.parametrize("mask", [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63])
def test_shuffle_xor(mask: int, target: str) -> None:
    size = targets.load(target).subgroup_size or 0
    if mask >= size:
        mask = 5
    for type_ in ("f32", "i16", "f64"):
        text = _lanes(type_, f'%r = "motif.subgroup_shuffle_xor"(%x) <{{mask = {mask} : i64}}> : ({type_}) -> {type_}')
        x = _values(type_)
        got = _both(text, "f", {"x_in": x, "out": np.zeros(GROUP, x.dtype)}, target)
        lane = np.arange(GROUP)
        np.testing.assert_array_equal(got, x[lane // size * size + (lane % size ^ mask)])


@pytest.mark.parametrize("target", RUN_ON)
def test_single_lanes_and_ids(target: str) -> None:
    body = """%lane = "gpu.lane_id"() : () -> index
    %group = "gpu.subgroup_id"() : () -> index
    %c5 = arith.constant 5 : index
    %b = "motif.subgroup_broadcast"(%x, %c5) : (i32, index) -> i32
    %c7 = arith.constant 7 : index
    %c31 = arith.constant 31 : index
    %m = arith.muli %lane, %c7 : index
    %from = arith.andi %m, %c31 : index
    %s = "motif.subgroup_shuffle"(%x, %from) : (i32, index) -> i32
    %l = arith.index_cast %lane : index to i32
    %g = arith.index_cast %group : index to i32
    %k = arith.constant 1000 : i32
    %gk = arith.muli %g, %k : i32
    %ids = arith.addi %l, %gk : i32
    %bs = arith.xori %b, %s : i32
    %r = arith.addi %bs, %ids : i32"""
    x = _values("i32")
    _both(_lanes("i32", body), "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)


REVERSE = """%tile = memref.alloc() {motif.name = "tile"} : memref<128xf32, 3 : i32>
    memref.store %x, %tile[%t] : memref<128xf32, 3 : i32>
    BARRIER
    %last = arith.constant 127 : index
    %j = arith.subi %last, %t : index
    %r = memref.load %tile[%j] : memref<128xf32, 3 : i32>"""
SPLIT = '%token = "motif.arrive"() : () -> index\n"motif.wait"(%token) : (index) -> ()'


@pytest.mark.parametrize("target", RUN_ON)
@pytest.mark.parametrize("form", ['"gpu.barrier"() : () -> ()', SPLIT])
def test_workgroup_memory_and_barriers(form: str, target: str) -> None:
    x = _values("f32")
    text = _lanes("f32", REVERSE.replace("BARRIER", form))
    got = _both(text, "f", {"x_in": x, "out": np.zeros(GROUP, np.float32)}, target)
    np.testing.assert_array_equal(got, x[::-1])
    assert compiled(text, target).entries[0].workgroup_memory_bytes == 512


def test_split_barriers_where_the_target_has_them() -> None:
    text = _lanes("f32", REVERSE.replace("BARRIER", SPLIT))
    for target in targets.AMDGPU:
        asm = compiled(text, target).asm
        signal, complete = "s_barrier_signal" in asm, "\ts_barrier\n" in asm
        assert (signal, complete) == ((True, False) if targets.load(target).split_barrier else (False, True))


def test_loads_stay_in_flight_over_a_workgroup_barrier() -> None:
    """The fences of a barrier order workgroup memory only."""
    body = "%one = arith.constant 1 : index\n%near = arith.xori %t, %one : index\n"
    body += "%z = memref.load %x_in[%near] : memref<128xf32>\n"
    body += REVERSE.replace("BARRIER", '"gpu.barrier"() : () -> ()').replace("%r =", "%y =")
    asm = compiled(_lanes("f32", body + "\n%r = arith.addf %y, %z : f32"), "gfx1151").asm
    before, after = asm.split("\ts_barrier\n")
    assert before.count("buffer_load_b32") == 2
    assert "vmcnt(1)" in before
    assert "vmcnt(0)" not in before
    assert "vmcnt(0)" in after


@pytest.mark.parametrize("target", RUN_ON)
def test_reduction_in_a_loop_reuses_its_memory(target: str) -> None:
    body = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %r = scf.for %k = %c0 to %c5 step %c1 iter_args(%v = %x) -> (i32) {
      %s = "motif.workgroup_reduce"(%v) <{kind = "max"}> : (i32) -> i32
      %w = arith.xori %v, %s : i32
      scf.yield %w : i32
    }"""
    x = _values("i32")
    _both(_lanes("i32", body), "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)


VECTORS = [
    (t, n, align)
    for t, counts in {
        "f32": (1, 2, 3, 4, 8),
        "f16": (2, 3, 4, 8),
        "i8": (2, 4, 7, 16),
        "f64": (1, 2),
        "bf16": (4,),
    }.items()
    for n in counts
    for align in (0, 16)
]


@pytest.mark.parametrize("target", RUN_ON)
def test_vector_loads_and_stores(target: str) -> None:
    for number, (type_, count, align) in enumerate(VECTORS):
        total, name = 64 * count, f"f{number}"
        arguments = [
            buffer("x_in", f"{total}x{type_}", align=align),
            buffer("out", f"{total}x{type_}", "write", align=align),
        ]
        body = (
            THREAD
            + f"""%n = arith.constant {count} : index
        %at = arith.muli %t, %n : index
        %v = vector.load %x_in[%at] : memref<{total}x{type_}>, vector<{count}x{type_}>
        vector.store %v, %out[%at] : memref<{total}x{type_}>, vector<{count}x{type_}>"""
        )
        x = _values(type_, total)
        text = module(kernel(name, arguments, body, group=(64, 1, 1)))
        got = _both(text, name, {"x_in": x, "out": np.zeros(total, x.dtype)}, target)
        np.testing.assert_array_equal(bits(got), bits(x))


@pytest.mark.parametrize("target", RUN_ON)
def test_masked_elements_are_not_touched(target: str) -> None:
    """The buffers end inside of the last vectors: a touch of a masked element would be a finding."""
    body = (
        THREAD
        + """%four = arith.constant 4 : index
    %at = arith.muli %t, %four : index
    %zero = arith.constant 0.0 : f32
    %pass = vector.broadcast %zero : f32 to vector<4xf32>
    %i0 = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
    %base = vector.broadcast %at : index to vector<4xindex>
    %places = arith.addi %base, %i0 : vector<4xindex>
    %limit = vector.broadcast %n : index to vector<4xindex>
    %mask = arith.cmpi slt, %places, %limit : vector<4xindex>
    %v = vector.maskedload %x_in[%at], %mask, %pass : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %out[%at], %mask, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
    """
    )
    arguments = [scalar("n", "index", (0, 256)), buffer("x_in", "?xf32"), buffer("out", "?xf32", "write")]
    extents = "".join(f'"motif.extents"(%{b}, %n) : (memref<?xf32>, index) -> ()\n' for b in ("x_in", "out"))
    text = module(kernel("f", arguments, extents + body, group=(64, 1, 1)))
    for n in (1, 7, 64, 255, 256):
        x = _values("f32", n)
        got = _both(text, "f", {"n": n, "x_in": x, "out": np.full(n, -1, np.float32)}, target)
        np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize("target", RUN_ON)
def test_vector_values(target: str) -> None:
    body = """%v = vector.broadcast %x : i32 to vector<4xi32>
    %i = "vector.from_elements"(%x, %x, %x, %x) : (i32, i32, i32, i32) -> vector<4xi32>
    %k = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>
    %w = arith.muli %v, %k : vector<4xi32>
    %e = vector.extract %w[2] : i32 from vector<4xi32>
    %u = vector.insert %e, %i[1] : i32 into vector<4xi32>
    %s = vector.shuffle %u, %w [7, 1, 0, 4] : vector<4xi32>, vector<4xi32>
    %h = vector.bitcast %s : vector<4xi32> to vector<8xi16>
    %p = vector.extract %h[3] : i16 from vector<8xi16>
    %q = vector.extract %s[0] : i32 from vector<4xi32>
    %pw = arith.extsi %p : i16 to i32
    %three = arith.constant 3 : index
    %low = arith.andi %t, %three : index
    %d = vector.extract %w[%low] : i32 from vector<4xi32>
    %m = arith.xori %pw, %q : i32
    %r = arith.addi %m, %d : i32"""
    x = _values("i32")
    _both(_lanes("i32", body), "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)


@pytest.mark.parametrize("target", RUN_ON)
def test_divergent_control_flow(target: str) -> None:
    """The Collatz steps of each work-item's number: a while loop with an if inside."""
    body = """%c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %r, %last = scf.while (%n = %c0, %v = %x) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi sgt, %v, %one : i32
      scf.condition(%more) %n, %v : i32, i32
    } do {
    ^bb0(%n: i32, %v: i32):
      %m = arith.addi %n, %one : i32
      %odd = arith.andi %v, %one : i32
      %is = arith.cmpi eq, %odd, %one : i32
      %next = scf.if %is -> (i32) {
        %t3 = arith.muli %v, %three : i32
        %t1 = arith.addi %t3, %one : i32
        scf.yield %t1 : i32
      } else {
        %half = arith.shrsi %v, %one : i32
        scf.yield %half : i32
      }
      scf.yield %m, %next : i32, i32
    }"""
    x = np.arange(1, GROUP + 1, dtype=np.int32)
    got = _both(_lanes("i32", body), "f", {"x_in": x, "out": np.zeros(GROUP, np.int32)}, target)

    def steps(v: int) -> int:
        count = 0
        while v > 1:
            v, count = (3 * v + 1 if v % 2 else v // 2), count + 1
        return count

    assert got.tolist() == [steps(int(v)) for v in x]


ATOMICS = {"addi": "i32", "maxs": "i32", "minu": "i32", "andi": "i32", "ori": "i32", "xori": "i32", "addf": "f32"}


@pytest.mark.parametrize("target", RUN_ON)
@pytest.mark.parametrize("kind", ATOMICS)
def test_atomics(kind: str, target: str) -> None:
    type_ = ATOMICS[kind]
    arguments = [buffer("x_in", f"128x{type_}"), buffer("out", f"4x{type_}", "read_write")]
    number = {"addf": 0, "addi": 1, "maxs": 4, "minu": 8, "ori": 11, "andi": 12, "xori": 15}[kind]
    signature = f"({type_}, memref<4x{type_}>, index) -> {type_}"
    body = (
        THREAD
        + f"""%x = memref.load %x_in[%t] : memref<128x{type_}>
    %three = arith.constant 3 : index
    %at = arith.andi %t, %three : index
    %old = "memref.atomic_rmw"(%x, %out, %at) <{{kind = {number} : i64}}> : {signature}"""
    )
    text = module(kernel("f", arguments, body, group=(128, 1, 1)))
    x = np.arange(128).astype(DTYPES[type_]) if type_ == "f32" else _values(type_)
    _both(text, "f", {"x_in": x, "out": np.full(4, 5, x.dtype)}, target)


@pytest.mark.parametrize("target", RUN_ON)
def test_private_memory(target: str) -> None:
    body = """%mine = memref.alloc() {motif.name = "mine"} : memref<4xf32, 5 : i32>
    %c3 = arith.constant 3 : index
    %at = arith.andi %t, %c3 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %i = arith.index_cast %k : index to i32
      %f = arith.sitofp %i : i32 to f32
      %y = arith.addf %x, %f : f32
      memref.store %y, %mine[%k] : memref<4xf32, 5 : i32>
    }
    %r = memref.load %mine[%at] : memref<4xf32, 5 : i32>"""
    x = _values("f32")
    _both(_lanes("f32", body), "f", {"x_in": x, "out": np.zeros(GROUP, np.float32)}, target)


def test_group_kernels_compile_on_all_targets() -> None:
    bodies = [
        '%r = "motif.workgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32',
        '%r = "motif.subgroup_scan"(%x) <{kind = "add"}> : (f32) -> f32',
        '%r = "motif.subgroup_shuffle_xor"(%x) <{mask = 16 : i64}> : (f32) -> f32',
        REVERSE.replace("BARRIER", '"gpu.barrier"() {motif.scope = "global"} : () -> ()'),
        '"motif.fence"() : () -> ()\n%c = arith.cmpf olt, %x, %x : f32\n"motif.assume"(%c) : (i1) -> ()\n'
        '"motif.check"(%c) <{kind = "division-by-zero", message = ""}> : (i1) -> ()\n%r = arith.addf %x, %x : f32',
    ]
    for target in targets.AMDGPU:
        for body in bodies:
            assert compiled(_lanes("f32", body), target).entries[0].private_memory_bytes == 0


def test_numbers_of_four_bits_are_exact() -> None:
    """B43: all 65,536 words of four nibbles, sign-extended as the binder expands `unpack`."""
    count = 1 << 16
    body = (
        THREAD
        + """%b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %size = arith.constant 256 : index
    %first = arith.muli %b, %size : index
    %i = arith.addi %first, %t : index
    %w = memref.load %x_in[%i] : memref<65536xi16>
    %x = arith.extui %w : i16 to i32
    %c28 = arith.constant 28 : i32
    %acc = arith.constant 0 : i32
    """
    )
    total = "%acc"
    for n in range(4):
        body += f"""%l{n} = arith.constant {28 - 4 * n} : i32
        %s{n} = arith.shli %x, %l{n} : i32
        %v{n} = arith.shrsi %s{n}, %c28 : i32
        %k{n} = arith.constant {17**n} : i32
        %p{n} = arith.muli %v{n}, %k{n} : i32
        %a{n} = arith.addi {total}, %p{n} : i32
        """
        total = f"%a{n}"
    body += f"memref.store {total}, %out[%i] : memref<65536xi32>"
    text = module(
        kernel("f", [buffer("x_in", "65536xi16"), buffer("out", "65536xi32", "write")], body, group=(256, 1, 1))
    )
    words = np.arange(count, dtype=np.uint16)
    nibbles = [(words >> 4 * n & 15).astype(np.int32) for n in range(4)]
    want = sum((np.where(v > 7, v - 16, v)) * 17**n for n, v in enumerate(nibbles))
    args = {"x_in": words.view(np.int16), "out": np.zeros(count, np.int32)}
    got = emulate(text, "gfx1151", "f", args, (count // 256, 1, 1)).outputs["out"]
    np.testing.assert_array_equal(got, want)


def test_unsigned_exponents_are_not_sign_extended() -> None:
    """B44: scale bytes 0x7f, 0x80, 0xff as 2^(b - 127) in bf16."""
    body = """%w = arith.extui %x : i8 to i32
    %c = arith.constant 7 : i32
    %e = arith.shli %w, %c : i32
    %h = arith.trunci %e : i32 to i16
    %s = arith.bitcast %h : i16 to bf16
    %f = arith.extf %s : bf16 to f32"""
    arguments = [buffer("x_in", "128xi8"), buffer("out", "128xf32", "write")]
    load = "%x = memref.load %x_in[%t] : memref<128xi8>\n"
    text = module(
        kernel(
            "f", arguments, THREAD + load + body + "\nmemref.store %f, %out[%t] : memref<128xf32>", group=(128, 1, 1)
        )
    )
    x = np.resize(np.array([0x7F, 0x80, 0xFE, 0x01], np.uint8), 128).view(np.int8)
    got = emulate(text, "gfx1151", "f", {"x_in": x, "out": np.zeros(128, np.float32)}).outputs["out"]
    assert got[:4].tolist() == [1.0, 2.0, 2.0**127, 2.0**-126]


@pytest.mark.parametrize("target", RUN_ON)
def test_reads_stay_in_front_of_a_barrier(target: str) -> None:
    """LLVM sinks a load to where it is used: behind the barrier that frees its place for the next round's values."""
    body = """%m = memref.alloc() {motif.name = "m"} : memref<128xi32, 3 : i32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %last = arith.constant 127 : index
    %far = arith.subi %last, %t : index
    %block = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %usual = arith.cmpi ult, %block, %c3 : index
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%v = %x) -> (i32) {
      memref.store %v, %m[%t] : memref<128xi32, 3 : i32>
      "gpu.barrier"() : () -> ()
      %y = memref.load %m[%far] : memref<128xi32, 3 : i32>
      "gpu.barrier"() : () -> ()
      scf.if %usual {
      } else {
        memref.store %v, %out[%far] : memref<128xi32>
      }
      %w = arith.addi %y, %v : i32
      scf.yield %w : i32
    }"""
    x = _values("i32")
    args = {"x_in": x, "out": np.zeros(GROUP, np.int32)}
    expected = x.copy()
    with np.errstate(over="ignore"):
        for _ in range(3):
            expected = expected + expected[::-1]
    text = _lanes("i32", body)
    np.testing.assert_array_equal(_both(text, "f", args, target), expected)
    asm = compiled(text, target).asm
    order = [line.split()[0] for line in asm.splitlines() if line.startswith(("\tds_", "\ts_barrier"))]
    rounds = [
        name.split("_")[1].replace("store", "write").replace("load", "read") for name in order if "wait" not in name
    ]
    assert rounds == ["write", "barrier", "read", "barrier"]


@pytest.mark.parametrize("target", RUN_ON)
def test_a_counter_is_narrower_than_its_last_sum(target: str) -> None:
    """The counter ends below 2^31 and the sum behind the last round does not; a carried value stands beside it."""
    text = module(
        kernel(
            "f",
            [scalar("n", "index", (0, 2**31 - 1)), buffer("out", f"{GROUP}xi64", "write")],
            THREAD
            + """%c0 = arith.constant 0 : index
            %c7 = arith.constant 7 : index
            %z = arith.constant 5 : i64
            %r = scf.for %k = %c0 to %n step %c7 iter_args(%v = %z) -> (i64) {
              %i = arith.index_cast %k : index to i64
              %w = arith.addi %v, %i : i64
              scf.yield %w : i64
            }
            memref.store %r, %out[%t] : memref<128xi64>""",
            group=(GROUP, 1, 1),
        )
    )
    for n in (0, 1, 8, 100):
        out = _both(text, "f", {"n": n, "out": np.zeros(GROUP, np.int64)}, target)
        assert set(out.tolist()) == {5 + sum(range(0, n, 7))}


def _put_together(name: str, random: Random) -> tuple[str, list[int]]:
    """A kernel that stores eight halves, loaded from places of `x_in` that the list tells (below 0: the lane's own)."""
    places = [random.choice([-1 - random.randrange(4), random.randrange(30)]) for _ in range(random.choice([2, 3, 4]))]
    chosen = [random.randrange(len(places)) for _ in range(8)]
    body = THREAD + "%c0 = arith.constant 0 : index\n%c5 = arith.constant 5 : index\n"
    for number, place in enumerate(places):
        body += f"%o{number} = arith.constant {abs(place)} : index\n"
        body += f"%a{number} = arith.addi %t, %o{number} : index\n" if place < 0 else ""
        body += f"%x{number} = memref.load %x_in[%{'a' if place < 0 else 'o'}{number}] : memref<100xf16>\n"
    values = ", ".join(f"%x{k}" for k in chosen)
    body += f'%v = "vector.from_elements"({values}) : ({", ".join(["f16"] * 8)}) -> vector<8xf16>\n'
    body += "scf.for %i = %c0 to %t step %c5 {\nmemref.store %x0, %last[%t] : memref<64xf16>\n}\n"
    body += "vector.store %v, %out[%t, %c0] : memref<64x8xf16>, vector<8xf16>"
    shapes = {"x_in": "100xf16", "out": "64x8xf16", "last": "64xf16"}
    arguments = [buffer(n, s, "read" if n == "x_in" else "write", noalias=False) for n, s in shapes.items()]
    return kernel(name, arguments, body), [places[k] for k in chosen]


@pytest.mark.parametrize("target", [*RUN_ON, "gfx1100"])
def test_vectors_of_halves_hold_what_they_were_made_of(target: str) -> None:
    random = Random(5)
    kernels = {f"f{n}": _put_together(f"f{n}", random) for n in range(24)}
    text = module(*(k for k, _ in kernels.values()))
    x = np.arange(1, 101).astype(np.float16)
    for name, (_, places) in kernels.items():
        args = {"x_in": x, "out": np.zeros(512, np.float16), "last": np.zeros(64, np.float16)}
        run = emulate(text, target, name, args)
        lane = np.arange(64)[:, None]
        expected = x[np.where(np.array(places) < 0, lane - np.array(places), places)]
        assert run.findings == ()
        np.testing.assert_array_equal(run.outputs["out"].reshape(64, 8), expected)


@pytest.mark.parametrize("target", RUN_ON)
def test_halves_of_negative_zero_keep_their_sign(target: str) -> None:
    """Constant zeros with a sign beside loaded halves, in either half of a register."""
    body = THREAD + "%c0 = arith.constant 0 : index\n%z = arith.constant dense<-0.0> : vector<8xf16>\n"
    body += "%m = arith.constant dense<[false, true, false, false, true, false, false, true]> : vector<8xi1>\n"
    body += (
        "%v = vector.maskedload %x_in[%c0], %m, %z : memref<64xf16>, vector<8xi1>, vector<8xf16> into vector<8xf16>\n"
    )
    body += "vector.store %v, %out[%t, %c0] : memref<64x8xf16>, vector<8xf16>"
    text = module(kernel("f", [buffer("x_in", "64xf16"), buffer("out", "64x8xf16", "write")], body))
    args = {"x_in": np.full(64, 3, np.float16), "out": np.zeros(512, np.float16)}
    out = _both(text, "f", args, target)
    assert out[:8].view(np.uint16).tolist() == [0x4200 if n in (1, 4, 7) else 0x8000 for n in range(8)]
