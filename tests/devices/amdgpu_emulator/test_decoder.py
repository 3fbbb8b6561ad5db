"""Decoding against LLVM's disassemblers, for every instruction of the compiled test kernels."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from disassembly import OBJDUMP, OBJDUMP_LACKS, Rocm, disagreement, instructions, objdump, objdump_omits, rocm_library
from emulator_compile import ATTRIBUTES, TARGETS, compile_ir
from emulator_elementwise import OPERATIONS, WORKGROUP
from emulator_elementwise import module as elementwise_module
from emulator_programs import module as programs_module

from specgen.devices.amdgpu_emulator.decoder import DecodeError, decode, opcode_names
from specgen.devices.amdgpu_emulator.instruction import register_text


def modules(target: str) -> list[str]:
    return [
        elementwise_module(OPERATIONS) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=WORKGROUP)} }}\n",
        programs_module(target) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=256)} }}\n",
    ]


@pytest.mark.required_in_ci
@pytest.mark.skipif(rocm_library() is None, reason="rocm-llvm-python is not installed")
@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump-19 is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_agrees_with_two_disassemblers(target: str, tmp_path: Path) -> None:
    """Operations that the corpus does not reach: every kind of memory access, lane move, half and modifier."""
    checked = unknown = 0
    rocm = Rocm(target)
    for text in modules(target):
        hsaco = compile_ir(text, target)
        reference = objdump(hsaco, target, tmp_path) if target not in OBJDUMP_LACKS else {}
        for _, address, code, inst in instructions(hsaco):
            printed = rocm.at(code, inst.offset)
            assert disagreement(code, inst, printed) == [], f"{inst} against {printed}"
            checked += 1
            if not reference:
                continue
            printed = reference[address + inst.offset]
            if printed[0] == ".long":
                unknown += 1  # an encoding newer than this disassembler
            else:
                assert disagreement(code, inst, printed, objdump_omits(inst)) == [], f"{inst} against {printed}"
    assert checked > 3000
    assert unknown <= 4


def test_bad_bytes_are_refused() -> None:
    with pytest.raises(DecodeError, match="no rdna3 instruction starts with 0xffffffff"):
        decode(b"\xff" * 16, 0, "rdna3")


@pytest.mark.parametrize(
    ("code", "count", "text"),
    [
        (256 + 7, 1, "v7"),
        (256 + 2, 2, "v[2:3]"),
        (512 + 4, 4, "a[4:7]"),
        (106, 2, "vcc"),
        (129, 1, "1"),
        (193, 1, "-1"),
        (242, 1, "1.0"),
    ],
)
def test_register_text(code: int, count: int, text: str) -> None:
    from specgen.devices.amdgpu_emulator.instruction import ARCHITECTURES

    assert register_text(ARCHITECTURES["rdna3"], code, count) == text


def test_tables_name_the_operations() -> None:
    for arch in ("cdna", "rdna3", "rdna4"):
        assert {"v_add_f32", "s_endpgm", "v_cmp_lt_f32"} <= set(opcode_names(arch))


@pytest.mark.parametrize("arch", ["rdna3", "rdna4"])
def test_pairs_of_unknown_operations_are_refused_with_their_bytes(arch: str) -> None:
    """VOPD has room for more operations than there are: `opx` in bits 25:22 of the first dword, `opy` in 21:17."""
    raw = 0b110010 << 26 | 14 << 22 | 31 << 17 | 0x1234567800000000
    code = raw.to_bytes(8, "little")
    with pytest.raises(DecodeError, match=f"no {arch} instruction: {code.hex(' ')} at 0x4 pairs operations: 14 is not"):
        decode(bytes(4) + code + bytes(12), 4, arch)


@pytest.mark.parametrize("arch", ["cdna", "rdna3", "rdna4"])
def test_any_bytes_are_an_instruction_or_a_decode_error(arch: str) -> None:
    """Foreign code objects may hold anything: every value of the byte that tells the encoding, the rest by chance."""
    words = random.Random(7)
    refused = 0
    for number in range(6000):
        raw = bytearray(words.getrandbits(160).to_bytes(20, "little"))
        raw[3] = number % 256
        try:
            str(decode(bytes(raw), 0, arch))
        except DecodeError:
            refused += 1
    assert 500 < refused < 5900
