"""The SPIR-V module as a file: tables, encoding, text, capabilities, coverage of the IR."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
import vulkan_support as support

from specgen import ir, targets
from specgen.ir.optable import OPS
from specgen.lowering import LoweringError, spirv
from specgen.lowering.spirv import generate, reader
from specgen.lowering.spirv.builder import Builder, Id, float_words, text_words
from specgen.lowering.spirv.capabilities import derive, implied
from specgen.lowering.spirv.table import ROWS


def lowered(text: str, target: str = "vulkan1.3") -> spirv.SpirvBinary:
    return spirv.lower(ir.parse(text), targets.load(target))


def tool(name: str, *arguments: str) -> bytes:
    return subprocess.run([str(support.spirv_val().parent / name), *arguments], check=True, capture_output=True).stdout


EVERYTHING = support.kernel(
    ", ".join(
        [
            support.scalar("n", "index", (0, 100)),
            support.buffer("p", "memref<128xf16>", "read", 16),
            support.buffer("q", "memref<128xf16>", "write", 16),
            support.buffer("r", "memref<32xf64>"),
            support.buffer("s", "memref<32xi8>"),
        ]
    ),
    """
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %i = arith.muli %x, %c4 : index
    %v = vector.load %p[%i] : memref<128xf16>, vector<4xf16>
    %w = arith.addf %v, %v : vector<4xf16>
    vector.store %w, %q[%i] : memref<128xf16>, vector<4xf16>
    %h = arith.constant 0.1 : f64
    %t = arith.constant 0x1p-140 : f32
    %e = vector.extract %w[0] : f16 from vector<4xf16>
    %f = arith.extf %e : f16 to f32
    %g = math.fma %f, %f, %f : f32
    %u = "motif.workgroup_reduce"(%g) <{kind = "add"}> : (f32) -> f32
    %d = arith.extf %u : f32 to f64
    %k = arith.addf %d, %h : f64
    memref.store %k, %r[%x] : memref<32xf64>
    %o = memref.load %s[%x] : memref<32xi8>
    %m = arith.muli %o, %o : i8
    memref.store %m, %s[%x] : memref<32xi8> loc("dir/some.spec.yaml":3:4)""".replace(
        "    %t = arith.constant 0x1p-140 : f32\n", ""
    ),
)


def test_the_generated_table_is_that_of_the_installed_grammar() -> None:
    assert generate.OUTPUT.read_text() == generate.generate()


def test_every_op_of_the_ir_has_a_row_and_no_other() -> None:
    assert set(ROWS) == set(OPS)


def test_text_assembles_to_the_same_words(tmp_path: Path) -> None:
    """Our disassembly, read by the Khronos assembler, is the module again (but for its header's generator)."""
    binary = lowered(EVERYTHING)
    source, made = tmp_path / "kernel.s", tmp_path / "kernel.spv"
    source.write_text(binary.asm)
    tool("spirv-as", "--target-env", "vulkan1.3", "--preserve-numeric-ids", "-o", str(made), str(source))
    assert made.read_bytes()[12:] == binary.spv[12:]


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -1.5, 0.1, 65504.0, 2.0**-24, 6e-8])
@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_float_constants_in_text(kind: str, value: float, tmp_path: Path) -> None:
    width = int(kind[1:])
    builder = Builder()
    builder.emit("memory_model", "OpMemoryModel", "AddressingModel.Logical", "MemoryModel.GLSL450")
    builder.constant(kind, value)
    text = reader.disassemble(builder.assemble(("Shader", "Float16", "Float64", "Linkage"), ()))
    source, made = tmp_path / "c.s", tmp_path / "c.spv"
    source.write_text(text)
    tool("spirv-as", "--preserve-numeric-ids", "-o", str(made), str(source))
    constant = next(r for r in reader.read(made.read_bytes()) if r.name == "OpConstant")
    assert constant.words[2:] == float_words(kind, value)
    code = {16: "<e", 32: "<f", 64: "<d"}[width]
    raw = struct.pack(f"<{len(constant.words) - 2}I", *constant.words[2:])[: width // 8]
    assert struct.unpack(code, raw)[0] == pytest.approx(value, rel=2.0**-10, abs=2.0**-25)


def test_float_constants_beyond_the_type_are_infinite() -> None:
    assert float_words("f16", 1e9) == (0x7C00,)
    assert float_words("f32", -1e300) == (0xFF800000,)


def test_strings_are_padded_to_words() -> None:
    assert text_words("abc") == [0x00636261]
    assert text_words("abcd") == [0x64636261, 0]


def test_an_id_has_no_truth() -> None:
    with pytest.raises(TypeError, match="truth"):
        bool(Id(3))


def capabilities(text: str, target: str = "vulkan1.3") -> set[str]:
    module = lowered(text, target).spv
    return {str(r.operands[0].value) for r in reader.read(module) if r.name == "OpCapability"}


BASE = {"Shader", "VulkanMemoryModel", "PhysicalStorageBufferAddresses"}
FLOATS = BASE | {"SignedZeroInfNanPreserve"}


def copy(type_: str, operation: str = "") -> str:
    body = f"""
    %v = memref.load %p[%x] : memref<32x{type_}>
    {operation or "%r = arith.bitcast %v : " + type_ + " to " + type_}
    memref.store %r, %p[%x] : memref<32x{type_}>"""
    return support.kernel(support.buffer("p", f"memref<32x{type_}>"), body)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("i32", BASE),
        ("f32", FLOATS),
        ("i64", BASE | {"Int64"}),
        ("f64", FLOATS | {"Float64", "Int64"}),
        ("i8", BASE | {"Int8", "StorageBuffer8BitAccess"}),
        ("i16", BASE | {"Int16", "StorageBuffer16BitAccess"}),
        ("f16", FLOATS | {"Float16", "StorageBuffer16BitAccess"}),
        ("bf16", FLOATS | {"Int16", "StorageBuffer16BitAccess"}),
    ],
)
def test_capabilities_are_those_of_the_types_used(type_: str, expected: set[str]) -> None:
    assert capabilities(copy(type_)) == expected


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ('%r = "motif.subgroup_reduce"(%v) <{kind = "add"}> : (i32) -> i32', "GroupNonUniformArithmetic"),
        ('%r = "motif.subgroup_shuffle_xor"(%v) <{mask = 1 : i64}> : (i32) -> i32', "GroupNonUniformShuffle"),
    ],
)
def test_capabilities_of_collectives(operation: str, expected: str) -> None:
    assert expected in capabilities(copy("i32", operation))


def test_values_that_only_checks_use_cost_nothing() -> None:
    operation = """%w = arith.extsi %v : i32 to i64
    %z = arith.constant 0 : i64
    %t = arith.cmpi ne, %w, %z : i64
    "motif.check"(%t) <{kind = "division-by-zero", message = "m"}> : (i1) -> ()
    %r = arith.addi %v, %v : i32"""
    assert capabilities(copy("i32", operation)) == BASE


def test_implied_capabilities_are_not_repeated() -> None:
    assert "Matrix" in implied(["Shader"])
    found, extensions = derive(lowered(copy("i32")).spv)
    assert "Matrix" not in found
    assert extensions == []


def test_entries_share_a_module_and_tell_their_needs() -> None:
    one = copy("f32", '%r = "motif.subgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32')
    function = one.split("builtin.module {")[1].rsplit("}", 1)[0]
    text = "builtin.module {" + function + function.replace("@kernel", "@kernel__serial") + "}"
    binary = lowered(text, "vulkan1.3-sg32")
    support.validate(binary.spv)
    assert [e.symbol for e in binary.entries] == ["kernel", "kernel__serial"]
    assert {e.subgroup_size for e in binary.entries} == {32}
    assert binary.asm.count("OpEntryPoint") == 2
    assert binary.asm.count(" PushConstant\n") == 1
    assert 'OpModuleProcessed "specgen entry kernel__serial subgroup_size=32 minimum=1"' in binary.asm


def test_local_size_is_flat_where_lanes_matter() -> None:
    plain = copy("f32").replace("array<i64: 32, 1, 1>", "array<i64: 8, 4, 1>")
    assert "LocalSize 8 4 1" in lowered(plain).asm
    reduced = copy("f32", '%r = "motif.workgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32')
    assert "LocalSize 32 1 1" in lowered(reduced.replace("array<i64: 32, 1, 1>", "array<i64: 8, 4, 1>")).asm


def test_a_workgroup_reduction_in_a_loop_waits_for_the_round_before() -> None:
    """One barrier a reduction, one more where partial results of the round before may still be read."""
    reduced = '%s = "motif.workgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32'
    straight = copy("f32", reduced.replace("%s", "%r"))
    looped = f"""%a = arith.constant 0 : index
    %b = arith.constant 1 : index
    %n = arith.constant 9 : index
    %r = scf.for %i = %a to %n step %b iter_args(%w = %v) -> (f32) {{
      {reduced.replace("(%v)", "(%w)")}
      scf.yield %s : f32
    }}"""
    for text, barriers in ((straight, 1), (copy("f32", looped), 2)):
        wider = text.replace("array<i64: 32, 1, 1>", "array<i64: 128, 1, 1>")
        assert lowered(wider, "vulkan1.3-sg32").asm.count("OpControlBarrier") == barriers


CLUSTERS = """%a = "motif.subgroup_reduce"(%v) <{kind = "add", cluster = 32 : i64}> : (f32) -> f32
    %b = "motif.subgroup_reduce"(%a) <{kind = "max", cluster = 16 : i64}> : (f32) -> f32
    %i = arith.bitcast %b : f32 to i32
    %j = "motif.subgroup_reduce"(%i) <{kind = "or", cluster = 16 : i64}> : (i32) -> i32
    %r = arith.bitcast %j : i32 to f32"""


def test_wide_clusters_share_memory_and_are_counted() -> None:
    """One array for the floats and one for the integers of 32 work-items; none where a subgroup is wide enough."""
    for target, arrays in (("vulkan1.3", 2), ("vulkan1.3-sg8", 2), ("vulkan1.3-sg32", 0)):
        binary = lowered(copy("f32", CLUSTERS), target)
        support.validate(binary.spv)
        assert len(re.findall(r"OpVariable %\S+ Workgroup", binary.asm)) == arrays
        assert [e.workgroup_memory_bytes for e in binary.entries] == [arrays * 32 * 4]


def test_memory_of_collectives_counts_against_the_limit() -> None:
    """What the kernel declares fits the 32 KB that Vulkan promises by itself, and does not with 128 bytes more."""
    declared = (
        "%m = memref.alloc() : memref<8192xf32, 3 : i32>\n    memref.store %v, %m[%x] : memref<8192xf32, 3 : i32>\n    "
    )
    reduced = '%r = "motif.subgroup_reduce"(%v) <{kind = "add", cluster = 16 : i64}> : (f32) -> f32'
    binary = lowered(copy("f32", declared + reduced), "vulkan1.3-sg32")
    assert [e.workgroup_memory_bytes for e in binary.entries] == [32768]
    with pytest.raises(LoweringError, match=r"vulkan1\.3 has 32768 bytes; the kernel needs 32896 bytes"):
        lowered(copy("f32", declared + reduced))


def test_locations_are_lines_of_the_spec() -> None:
    asm = lowered(EVERYTHING).asm
    name = next(line.split(" = ")[0].strip() for line in asm.splitlines() if '"dir/some.spec.yaml"' in line)
    assert f"OpLine {name} 3 4" in asm


def test_what_vulkan_lacks_is_refused_with_its_place() -> None:
    operation = '%r = math.exp %v : f64 loc("a.spec.yaml":7:3)'
    with pytest.raises(LoweringError, match=r"a\.spec\.yaml:7:3: math\.exp: Vulkan has no f64 form"):
        lowered(copy("f64", operation))


def test_the_reader_refuses_what_is_no_module() -> None:
    good = lowered(copy("i32")).spv
    for bad in (good[:7], b"\0" * 40, good[:20] + struct.pack("<I", 0)):
        with pytest.raises(ValueError, match="not a SPIR-V module"):
            list(reader.read(bad))


def test_lowering_is_quick() -> None:
    """400 ops in well under a second."""
    import time

    body = "    %v0 = memref.load %p[%x] : memref<32xf32>\n"
    body += "\n".join(f"    %v{n + 1} = arith.addf %v{n}, %v{n} : f32" for n in range(400))
    body += "\n    memref.store %v400, %p[%x] : memref<32xf32>"
    module = ir.parse(support.kernel(support.buffer("p", "memref<32xf32>"), body))
    start = time.perf_counter()
    spirv.lower(module, targets.load("vulkan1.3"))
    assert time.perf_counter() - start < 2.0
