"""Decoding against LLVM's disassembler, for every instruction of the compiled test kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from emulator_compile import ATTRIBUTES, TARGETS, compile_ir
from emulator_elementwise import OPERATIONS, WORKGROUP
from emulator_elementwise import module as elementwise_module
from emulator_programs import module as programs_module

from specgen.devices.amdgpu_emulator.blocks import Program
from specgen.devices.amdgpu_emulator.decoder import DecodeError, decode, opcode_names
from specgen.devices.amdgpu_emulator.instruction import Instruction, register_text
from specgen.devices.amdgpu_emulator.launch import entry_offset
from specgen.devices.amdgpu_emulator.loader import load, symbols_of

OBJDUMP = shutil.which("llvm-objdump-19")
CPUS = {"gfx9-4-generic": "gfx942"}
LINE = re.compile(r"^\t(?P<name>\S+)\s*(?P<operands>.*?)\s*//\s*(?P<address>[0-9A-F]+):(?P<words>(?: [0-9A-F]{8})+)")
REGISTER = re.compile(r"\b([vsa])(\d+)\b|\b([vsa])\[(\d+):(\d+)\]")
SUFFIX = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp)(?=$|_)")


def modules(target: str) -> list[str]:
    return [
        elementwise_module(OPERATIONS) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=WORKGROUP)} }}\n",
        programs_module(target) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=256)} }}\n",
    ]


def disassemble(hsaco: bytes, target: str, folder: Path) -> dict[int, tuple[str, str, int]]:
    """Address -> mnemonic, operands, bytes, as LLVM prints them."""
    assert OBJDUMP is not None
    path = folder / "code.hsaco"
    path.write_bytes(hsaco)
    done = subprocess.run(
        [OBJDUMP, "-d", "--triple=amdgcn", f"--mcpu={CPUS.get(target, target)}", str(path)],
        capture_output=True,
        text=True,
    )
    found = {}
    for text in done.stdout.splitlines():
        if match := LINE.match(text):
            size = 4 * len(match["words"].split())
            found[int(match["address"], 16)] = (match["name"], match["operands"], size)
    return found


@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump-19 is not installed")
@pytest.mark.parametrize("target", [t for t in TARGETS if t != "gfx950"])
def test_agrees_with_the_disassembler(target: str, tmp_path: Path) -> None:
    checked = unknown = 0
    for text in modules(target):
        hsaco = compile_ir(text, target)
        reference = disassemble(hsaco, target, tmp_path)
        for symbol in symbols_of(hsaco):
            code = load(hsaco, symbol)
            program = Program(code.code, entry_offset(code), code.arch, code.wave_size, False)
            for inst in program.instructions:
                name, operands, size = reference[code.address + inst.offset]
                if name == ".long":
                    unknown += 1  # an encoding newer than this disassembler
                    continue
                assert inst.size == size, f"{inst} against {name} {operands}"
                assert same_name(inst, name), f"{inst} against {name} {operands}"
                assert named_registers(inst) >= first_registers(operands, inst), f"{inst} against {name} {operands}"
                checked += 1
    assert checked > 3000
    assert unknown <= 4


def same_name(inst: Instruction, name: str) -> bool:
    ours = [part.name for part in inst.parts] if inst.parts else [inst.name]
    theirs = SUFFIX.sub("", name)
    return ours[0] == theirs or ours[0] in ALIASES.get(theirs, ())


ALIASES = {"v_fma_mix_f32": ("v_mad_mix_f32",)}
"""LLVM's name -> the vendor's."""


def named_registers(inst: Instruction) -> set[int]:
    """Codes of all registers that the decoded fields name, with the widths of the tables."""
    codes: set[int] = set()
    for part in inst.parts or (inst,):
        for key, value in part.fields.items():
            codes.update(range(value, value + max(1, part.operand(key).bits // 32)))
    return codes


def first_registers(operands: str, inst: Instruction) -> set[int]:
    """Code of the first register of each operand that LLVM prints; halves of v0-v127 as GFX11 encodes them."""
    base = {"v": 256, "s": 0, "a": 512}
    found = set()
    for match in REGISTER.finditer(operands.split(" vdst_sel")[0]):
        letter, number = (match[1], match[2]) if match[1] else (match[3], match[4])
        code = base[letter] + int(number)
        if operands[match.end() : match.end() + 2] == ".h" and inst.form in ("VOP1", "VOP2", "VOPC"):
            code += 128
        found.add(code)
    return found


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
