"""Vectors, masks, memories, atomics and control flow of the SPIR-V table, executed."""

from __future__ import annotations

import numpy as np
import pytest
import vulkan_support as support

from specgen import ir, targets
from specgen.lowering import spirv

pytestmark = pytest.mark.required_in_ci


def ramp(count: int, type_: str) -> np.ndarray:
    """Small numbers that differ from element to element, negative ones among them."""
    return ((np.arange(count) * 37) % 101 - 50).astype(support.DTYPES[type_])


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize(("lanes", "align"), [(1, 16), (2, 16), (3, 4), (4, 16), (5, 16), (8, 8), (8, 16), (16, 2)])
def test_vector_copy_in_pieces(type_: str, lanes: int, align: int) -> None:
    size = np.dtype(support.DTYPES[type_]).itemsize
    count = 32 * lanes
    align = max(align, size)
    memref, vector = f"memref<{count}x{type_}>", f"vector<{lanes}x{type_}>"
    body = f"""
    %n = arith.constant {lanes} : index
    %i = arith.muli %x, %n : index
    %v = vector.load %p[%i] : {memref}, {vector}
    vector.store %v, %q[%i] : {memref}, {vector}"""
    arguments = [support.buffer("p", memref, "read", align), support.buffer("q", memref, "write", align)]
    source = ramp(count, type_)
    done = support.run(support.kernel(", ".join(arguments), body), {"p": source, "q": np.zeros_like(source)})
    assert done.findings == ()
    np.testing.assert_array_equal(done.outputs["q"], source)


def widest(text: str) -> int:
    """Bytes of the widest aligned access in the module of a kernel."""
    asm = spirv.lower(ir.parse(text), targets.load("vulkan1.3")).asm
    return max(int(line.split("Aligned ")[1].split()[0]) for line in asm.splitlines() if "Aligned " in line)


@pytest.mark.parametrize(("align", "stride", "expected"), [(16, 4, 16), (8, 4, 8), (16, 2, 8), (4, 4, 4), (16, 1, 4)])
def test_accesses_are_as_wide_as_alignment_is_proven(align: int, stride: int, expected: int) -> None:
    body = f"""
    %n = arith.constant {stride} : index
    %i = arith.muli %x, %n : index
    %v = vector.load %p[%i] : memref<256xf32>, vector<4xf32>
    vector.store %v, %p[%i] : memref<256xf32>, vector<4xf32>"""
    assert widest(support.kernel(support.buffer("p", "memref<256xf32>", align=align), body)) == expected


@pytest.mark.parametrize("type_", ["i8", "f16", "f32"])
def test_masked_access_leaves_false_elements_alone(type_: str) -> None:
    """Eight elements from 8 x on, of which those below a bound are touched: the buffers end at the bound."""
    bound, lanes = 101, 8
    memref, vector, mask = f"memref<?x{type_}>", f"vector<{lanes}x{type_}>", f"vector<{lanes}xi1>"
    body = f"""
    "motif.extents"(%p, %n) : ({memref}, index) -> ()
    "motif.extents"(%q, %n) : ({memref}, index) -> ()
    %c8 = arith.constant 8 : index
    %i = arith.muli %x, %c8 : index
"""
    tests = []
    for lane in range(lanes):
        body += f"""
    %k{lane} = arith.constant {lane} : index
    %j{lane} = arith.addi %i, %k{lane} : index
    %t{lane} = arith.cmpi slt, %j{lane}, %n : index"""
        tests.append(f"%t{lane}")
    zero = "0" if type_.startswith("i") else "0.0"
    body += f"""
    %m = "vector.from_elements"({", ".join(tests)}) : ({", ".join(["i1"] * lanes)}) -> {mask}
    %z = arith.constant {zero} : {type_}
    %o = vector.broadcast %z : {type_} to {vector}
    %v = "vector.maskedload"(%p, %i, %m, %o) : ({memref}, index, {mask}, {vector}) -> {vector}
    "vector.maskedstore"(%q, %i, %m, %v) : ({memref}, index, {mask}, {vector}) -> ()"""
    arguments = [support.scalar("n", "index", (0, 256)), support.buffer("p", memref, "read", 16)]
    arguments.append(support.buffer("q", memref, "write", 16))
    source = ramp(bound, type_)
    text = support.kernel(", ".join(arguments), body)
    done = support.run(text, {"n": bound, "p": source, "q": np.zeros_like(source)})
    assert done.findings == ()
    np.testing.assert_array_equal(done.outputs["q"], source)


def test_a_uniform_mask_guards_one_wide_access() -> None:
    body = """
    %c4 = arith.constant 4 : index
    %c100 = arith.constant 100 : index
    %i = arith.muli %x, %c4 : index
    %t = arith.cmpi slt, %i, %c100 : index
    %m = vector.broadcast %t : i1 to vector<4xi1>
    %z = arith.constant 0.0 : f32
    %o = vector.broadcast %z : f32 to vector<4xf32>
    %v = "vector.maskedload"(%p, %i, %m, %o)
      : (memref<100xf32>, index, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    vector.store %v, %q[%i] : memref<128xf32>, vector<4xf32>"""
    arguments = [
        support.buffer("p", "memref<100xf32>", "read", 16),
        support.buffer("q", "memref<128xf32>", "write", 16),
    ]
    text = support.kernel(", ".join(arguments), body)
    assert widest(text) == 16
    source = ramp(100, "f32")
    done = support.run(text, {"p": source, "q": np.ones(128, np.float32)})
    assert done.findings == ()
    np.testing.assert_array_equal(done.outputs["q"], np.concatenate([source, np.zeros(28)]))


VECTOR_CASES = {
    "extract": ("%r = vector.extract %v[2] : f32 from vector<4xf32>", lambda v, i: v[:, 2]),
    "dynamic extract": (
        "%c3 = arith.constant 3 : index\n%k = arith.remui %x, %c3 : index\n"
        "%r = vector.extract %v[%k] : f32 from vector<4xf32>",
        lambda v, i: v[i, i % 3],
    ),
    "insert": (
        "%w = vector.insert %e, %v[1] : f32 into vector<4xf32>\n%r = vector.extract %w[1] : f32 from vector<4xf32>",
        lambda v, i: np.full(32, 7.5),
    ),
    "dynamic insert": (
        "%c4 = arith.constant 4 : index\n%k = arith.remui %x, %c4 : index\n"
        "%w = vector.insert %e, %v[%k] : f32 into vector<4xf32>\n%r = vector.extract %w[1] : f32 from vector<4xf32>",
        lambda v, i: np.where(i % 4 == 1, 7.5, v[:, 1]),
    ),
    "shuffle": (
        "%w = vector.shuffle %v, %v [3, 4, 1] : vector<4xf32>, vector<4xf32>\n"
        "%r = vector.extract %w[0] : f32 from vector<3xf32>",
        lambda v, i: v[:, 3],
    ),
    "vector arithmetic": (
        "%w = arith.mulf %v, %v : vector<4xf32>\n%r = vector.extract %w[3] : f32 from vector<4xf32>",
        lambda v, i: v[:, 3] * v[:, 3],
    ),
}


@pytest.mark.parametrize("case", VECTOR_CASES)
def test_vector_rows(case: str) -> None:
    operation, reference = VECTOR_CASES[case]
    body = f"""
    %n = arith.constant 4 : index
    %i = arith.muli %x, %n : index
    %e = arith.constant 7.5 : f32
    %v = vector.load %p[%i] : memref<128xf32>, vector<4xf32>
    {operation}
    memref.store %r, %q[%x] : memref<32xf32>"""
    arguments = [support.buffer("p", "memref<128xf32>", "read", 16), support.buffer("q", "memref<32xf32>", "write")]
    source = ramp(128, "f32")
    done = support.run(support.kernel(", ".join(arguments), body), {"p": source, "q": np.zeros(32, np.float32)})
    np.testing.assert_array_equal(done.outputs["q"], reference(source.reshape(32, 4), np.arange(32)))


CASTS = [("i32", 1, "i8", 4), ("i8", 8, "i32", 2), ("f16", 4, "i32", 2), ("i64", 1, "i16", 4), ("i16", 4, "f16", 4)]


@pytest.mark.parametrize(("source", "lanes", "target", "made"), [*CASTS, ("bf16", 2, "f32", 1), ("f32", 1, "bf16", 2)])
def test_vector_bitcast_keeps_bytes(source: str, lanes: int, target: str, made: int) -> None:
    given, wanted = f"memref<{32 * lanes}x{source}>", f"memref<{32 * made}x{target}>"
    body = f"""
    %n = arith.constant {lanes} : index
    %m = arith.constant {made} : index
    %i = arith.muli %x, %n : index
    %j = arith.muli %x, %m : index
    %v = vector.load %p[%i] : {given}, vector<{lanes}x{source}>
    %w = vector.bitcast %v : vector<{lanes}x{source}> to vector<{made}x{target}>
    vector.store %w, %q[%j] : {wanted}, vector<{made}x{target}>"""
    arguments = [support.buffer("p", given, "read"), support.buffer("q", wanted, "write")]
    data = ramp(32 * lanes, source)
    out = np.zeros(32 * made, support.DTYPES[target])
    done = support.run(support.kernel(", ".join(arguments), body), {"p": data, "q": out})
    np.testing.assert_array_equal(done.outputs["q"].view(np.uint8), data.view(np.uint8))


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_transpose_through_workgroup_memory(type_: str) -> None:
    memref, tile = f"memref<8x16x{type_}>", f"memref<8x17x{type_}, 3 : i32>"
    body = f"""
    %y = "gpu.thread_id"() <{{dimension = #gpu<dim y>}}> {{motif.range = array<i64: 0, 7>}} : () -> index
    %t = memref.alloc() {{motif.name = "tile"}} : {tile}
    %v = memref.load %p[%y, %x] : {memref}
    memref.store %v, %t[%y, %x] : {tile}
    "gpu.barrier"() : () -> ()
    %c16 = arith.constant 16 : index
    %c8 = arith.constant 8 : index
    %row = arith.muli %y, %c16 : index
    %k = arith.addi %row, %x : index
    %a = arith.floordivsi %k, %c8 : index
    %b = "motif.floorremsi"(%k, %c8) : (index, index) -> index
    %w = memref.load %t[%b, %a] : {tile}
    memref.store %w, %q[%a, %b] : memref<16x8x{type_}>"""
    arguments = [support.buffer("p", memref, "read"), support.buffer("q", f"memref<16x8x{type_}>", "write")]
    source = ramp(128, type_)
    text = support.kernel(", ".join(arguments), body, (16, 8, 1))
    done = support.run(text, {"p": source, "q": np.zeros_like(source)})
    np.testing.assert_array_equal(done.outputs["q"].reshape(16, 8), source.reshape(8, 16).T)


def test_private_memory() -> None:
    body = """
    %t = memref.alloc() {motif.name = "local"} : memref<4xi32, 5 : i32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant 0 : i32
    scf.for %k = %c0 to %c4 step %c1 {
      %s = arith.muli %k, %x : index
      %w = arith.index_cast %s : index to i32
      memref.store %w, %t[%k] : memref<4xi32, 5 : i32>
    }
    %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%a = %z) -> (i32) {
      %w = memref.load %t[%k] : memref<4xi32, 5 : i32>
      %n = arith.addi %a, %w : i32
      scf.yield %n : i32
    }
    memref.store %sum, %q[%x] : memref<32xi32>"""
    text = support.kernel(support.buffer("q", "memref<32xi32>", "write"), body)
    done = support.run(text, {"q": np.zeros(32, np.int32)})
    np.testing.assert_array_equal(done.outputs["q"], 6 * np.arange(32))


ATOMICS = {
    ("i32", 1): (lambda v: v.sum(), 0),
    ("i32", 4): (lambda v: v.max(), -1000),
    ("i32", 7): (lambda v: v.min(), 1000),
    ("i32", 5): (lambda v: v.view(np.uint32).max().view(np.int32), 0),
    ("i32", 8): (lambda v: v.view(np.uint32).min().view(np.int32), -1),
    ("i32", 11): (lambda v: np.bitwise_or.reduce(v), 0),
    ("i32", 12): (lambda v: np.bitwise_and.reduce(v), -1),
    ("i32", 15): (lambda v: np.bitwise_xor.reduce(v), 0),
    ("i64", 1): (lambda v: v.sum(), 0),
    ("f32", 0): (lambda v: v.sum(), 0),
    ("f32", 13): (lambda v: v.max(), -1000),
    ("f32", 14): (lambda v: v.min(), 1000),
    ("f64", 0): (lambda v: v.sum(), 0),
}
"""By element type and MLIR's AtomicRMWKind: what all work-items leave together, and the contents before."""


@pytest.mark.parametrize("space", ["buffer", "workgroup"])
@pytest.mark.parametrize(("type_", "kind"), ATOMICS)
def test_atomics_of_all_work_items(type_: str, kind: int, space: str) -> None:
    reduce, first = ATOMICS[type_, kind]
    place, target = ("%q", f"memref<1x{type_}>") if space == "buffer" else ("%t", f"memref<1x{type_}, 3 : i32>")
    update = f'"memref.atomic_rmw"(%v, {place}, %c0) <{{kind = {kind} : i64}}> : ({type_}, {target}, index) -> {type_}'
    body = f"""
    %c0 = arith.constant 0 : index
    %v = memref.load %p[%x] : memref<256x{type_}>"""
    if space == "buffer":
        body += f"\n    %o = {update}"
    else:
        body += f"""
    %t = memref.alloc() {{motif.name = "total"}} : {target}
    %first = arith.cmpi eq, %x, %c0 : index
    scf.if %first {{
      %i = memref.load %q[%c0] : memref<1x{type_}>
      memref.store %i, %t[%c0] : {target}
    }}
    "gpu.barrier"() : () -> ()
    %o = {update}
    "gpu.barrier"() : () -> ()
    scf.if %first {{
      %i = memref.load %t[%c0] : {target}
      memref.store %i, %q[%c0] : memref<1x{type_}>
    }}"""
    arguments = [support.buffer("p", f"memref<256x{type_}>", "read"), support.buffer("q", f"memref<1x{type_}>")]
    source = ramp(256, type_)
    before = np.array([first], support.DTYPES[type_])
    text = support.kernel(", ".join(arguments), body, (256, 1, 1))
    done = support.run(text, {"p": source, "q": before})
    assert done.findings == ()
    assert done.outputs["q"][0] == reduce(source)


def test_exchange_hands_every_value_on() -> None:
    body = """
    %c0 = arith.constant 0 : index
    %v = memref.load %p[%x] : memref<64xf32>
    %o = "memref.atomic_rmw"(%v, %t, %c0) <{kind = 2 : i64}> : (f32, memref<1xf32>, index) -> f32
    memref.store %o, %q[%x] : memref<64xf32>"""
    arguments = [support.buffer("p", "memref<64xf32>", "read"), support.buffer("t", "memref<1xf32>")]
    arguments.append(support.buffer("q", "memref<64xf32>", "write"))
    source = np.arange(64, dtype=np.float32)
    text = support.kernel(", ".join(arguments), body, (64, 1, 1))
    args = {"p": source, "t": np.array([-1], np.float32), "q": np.zeros(64, np.float32)}
    done = support.run(text, args)
    assert sorted([*done.outputs["q"], *done.outputs["t"]]) == [-1, *range(64)]


def test_while_with_two_values() -> None:
    """Collatz steps of x + 1."""
    body = """
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %z = arith.constant 0 : i32
    %i = arith.index_cast %x : index to i32
    %n0 = arith.addi %i, %c1 : i32
    %end, %steps = scf.while (%n = %n0, %s = %z) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi ne, %n, %c1 : i32
      scf.condition(%more) %n, %s : i32, i32
    } do {
    ^bb0(%n: i32, %s: i32):
      %odd = arith.andi %n, %c1 : i32
      %is = arith.cmpi eq, %odd, %c1 : i32
      %next = scf.if %is -> (i32) {
        %t = arith.muli %n, %c3 : i32
        %u = arith.addi %t, %c1 : i32
        scf.yield %u : i32
      } else {
        %h = arith.shrui %n, %c1 : i32
        scf.yield %h : i32
      }
      %more = arith.addi %s, %c1 : i32
      scf.yield %next, %more : i32, i32
    }
    memref.store %steps, %q[%x] : memref<64xi32>"""
    text = support.kernel(support.buffer("q", "memref<64xi32>", "write"), body, (64, 1, 1))
    done = support.run(text, {"q": np.zeros(64, np.int32)})

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    assert list(done.outputs["q"]) == [steps(n + 1) for n in range(64)]


@pytest.mark.parametrize("bounded", [True, False])
def test_loops_with_vectors_index_carries_and_any_step(bounded: bool) -> None:
    """Counter, carried index and carried vector, in 32 and in 64 bits; bounds differ between work-items."""
    body = """
    %c3 = arith.constant 3 : index
    %z = arith.constant 0.0 : f32
    %v0 = vector.broadcast %z : f32 to vector<2xf32>
    %end = arith.addi %low, %x : index
    %k, %v = scf.for %i = %low to %end step %c3 iter_args(%a = %x, %w = %v0) -> (index, vector<2xf32>) {
      %b = arith.addi %a, %i : index
      %s = arith.index_cast %i : index to i64
      %f = arith.sitofp %s : i64 to f32
      %u = vector.broadcast %f : f32 to vector<2xf32>
      %y = arith.addf %w, %u : vector<2xf32>
      scf.yield %b, %y : index, vector<2xf32>
    }
    %e = vector.extract %v[1] : f32 from vector<2xf32>
    %o = arith.index_cast %k : index to i64
    memref.store %e, %q[%x] : memref<32xf32>
    memref.store %o, %r[%x] : memref<32xi64>"""
    arguments = [support.scalar("low", "index", (-20, 20) if bounded else None)]
    arguments += [support.buffer("q", "memref<32xf32>", "write"), support.buffer("r", "memref<32xi64>", "write")]
    text = support.kernel(", ".join(arguments), body)
    args = {"low": -7, "q": np.zeros(32, np.float32), "r": np.zeros(32, np.int64)}
    done = support.run(text, args)
    sums = [sum(range(-7, -7 + x, 3)) for x in range(32)]
    assert list(done.outputs["q"]) == sums
    assert list(done.outputs["r"]) == [x + s for x, s in enumerate(sums)]


SCALARS = [("i8", -5), ("i16", -300), ("f16", 1.5), ("bf16", -2.5), ("i1", True), ("i64", -(2**40)), ("f64", 0.1)]


def test_scalar_arguments_of_every_size_at_their_offsets() -> None:
    arguments = [support.buffer("q", "memref<16xf64>", "write")]
    arguments += [support.scalar(f"s{n}", type_) for n, (type_, _) in enumerate(SCALARS)]
    arguments.append(support.scalar("last", "index", (0, 100)))
    body = ""
    for number, (type_, _) in enumerate(SCALARS):
        convert = {"f16": "arith.extf", "bf16": "arith.extf", "i1": "arith.uitofp", "f64": ""}.get(
            type_, "arith.sitofp"
        )
        value = f"%s{number}"
        if convert:
            body += f"\n    %f{number} = {convert} %s{number} : {type_} to f64"
            value = f"%f{number}"
        body += f"\n    %k{number} = arith.constant {number} : index"
        body += f"\n    memref.store {value}, %q[%k{number}] : memref<16xf64>"
    body += """
    %i = arith.index_cast %last : index to i64
    %f = arith.sitofp %i : i64 to f64
    %k = arith.constant 15 : index
    memref.store %f, %q[%k] : memref<16xf64>"""
    text = support.kernel(", ".join(arguments), body, (1, 1, 1))
    args = {f"s{n}": value for n, (_, value) in enumerate(SCALARS)}
    done = support.run(text, {**args, "last": 77, "q": np.zeros(16)})
    assert list(done.outputs["q"][: len(SCALARS)]) == [float(v) for _, v in SCALARS]
    assert done.outputs["q"][15] == 77


def test_elements_beyond_31_bits_use_64_bit_numbers() -> None:
    """A buffer with unknown extents: element numbers are 64 bits wide and the result is still right."""
    body = """
    "motif.extents"(%q, %n, %n) : (memref<?x?xf32>, index, index) -> ()
    %c1 = arith.constant 1 : index
    %f = arith.constant 2.0 : f32
    memref.store %f, %q[%x, %c1] : memref<?x?xf32>"""
    arguments = [support.scalar("n", "index"), support.buffer("q", "memref<?x?xf32>")]
    text = support.kernel(", ".join(arguments), body, (4, 1, 1))
    done = support.run(text, {"n": 4, "q": np.zeros(16, np.float32)})
    expected = np.zeros((4, 4))
    expected[:, 1] = 2
    np.testing.assert_array_equal(done.outputs["q"].reshape(4, 4), expected)


def test_three_dimensional_ids() -> None:
    body = """
    %y = "gpu.thread_id"() <{dimension = #gpu<dim y>}> {motif.range = array<i64: 0, 2>} : () -> index
    %z = "gpu.thread_id"() <{dimension = #gpu<dim z>}> {motif.range = array<i64: 0, 1>} : () -> index
    %b = "gpu.block_id"() <{dimension = #gpu<dim y>}> {motif.range = array<i64: 0, 1>} : () -> index
    %i = arith.index_cast %x : index to i32
    memref.store %i, %q[%b, %z, %y, %x] : memref<2x2x3x4xi32>"""
    text = support.kernel(support.buffer("q", "memref<2x2x3x4xi32>", "write"), body, (4, 3, 2))
    done = support.run(text, {"q": np.full(48, -1, np.int32)}, (1, 2, 1))
    np.testing.assert_array_equal(done.outputs["q"], np.tile(np.arange(4), 12))
