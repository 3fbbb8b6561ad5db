"""Every instruction of every artifact: the emulator's decoder against two disassemblers of LLVM."""

from __future__ import annotations

import io
import re

import pytest
from corpus_build import AMD, EXECUTABLE, HEAVY, NAMES
from disassembly import (
    OBJDUMP,
    OBJDUMP_LACKS,
    Rocm,
    differences,
    disagreement,
    instructions,
    objdump,
    objdump_lacks,
    objdump_omits,
    rocm_library,
)
from elftools.elf.elffile import ELFFile

from specgen.devices.amdgpu_emulator.decoder import decode
from specgen.devices.amdgpu_emulator.loader import load, symbols_of

EVERY = [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)]


def artifacts(built, names=EXECUTABLE):
    """Target and code object of each executable target that a spec was built for."""
    for target in names:
        path = built.folder / target / "kernel.hsaco"
        if path.exists():
            yield target, path.read_bytes()


@pytest.mark.required_in_ci
@pytest.mark.skipif(rocm_library() is None, reason="rocm-llvm-python is not installed")
@pytest.mark.parametrize("name", EVERY)
def test_every_instruction_is_what_amds_llvm_says(name, corpus):
    targets = set()
    for target, hsaco in artifacts(corpus(name)):
        reference, ends = Rocm(target), {}
        for symbol, _, code, inst in instructions(hsaco):
            printed = reference.at(code, inst.offset)
            assert disagreement(code, inst, printed) == [], (target, symbol, str(inst), printed)
            ends[symbol] = inst.offset + inst.size
        assert ends == {symbol: len(load(hsaco, symbol).code) for symbol in symbols_of(hsaco)}
        targets.add(target)
    assert targets == set(EXECUTABLE)


@pytest.mark.required_in_ci
@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump-19 is not installed")
@pytest.mark.parametrize("name", EVERY)
def test_every_instruction_is_what_debians_llvm_says(name, corpus, tmp_path):
    checked = unknown = 0
    for target, hsaco in artifacts(corpus(name), [t for t in EXECUTABLE if t not in OBJDUMP_LACKS]):
        reference = objdump(hsaco, target, tmp_path)
        for symbol, address, code, inst in instructions(hsaco):
            printed = reference[address + inst.offset]
            if printed[0] == ".long":
                unknown += not objdump_lacks(inst)  # the rest: encodings newer than this disassembler
                continue
            assert disagreement(code, inst, printed, objdump_omits(inst)) == [], (target, symbol, str(inst), printed)
            checked += 1
    assert unknown <= checked // 1000


@pytest.mark.required_in_ci
@pytest.mark.skipif(rocm_library() is None, reason="rocm-llvm-python is not installed")
@pytest.mark.parametrize("name", EVERY)
def test_listings_hold_the_instructions_of_the_code_objects(name, corpus):
    """`kernel.s` is what the report's evidence is read from: it lists what the file holds, gfx1250 included."""
    for target, hsaco in artifacts(corpus(name), AMD):
        listing = (corpus(name).folder / target / "kernel.s").read_text()
        reference = Rocm(target)
        for symbol, code in functions(hsaco).items():
            offset, found = 0, []
            while offset < len(code):
                mnemonic, _, size = reference.at(code, offset)
                assert size, (target, symbol, hex(offset))
                found.append(mnemonic)
                offset += size
            assert told(found) == told(listed(listing, symbol)), (target, symbol)


def told(mnemonics: list[str]) -> list[str]:
    """Without `s_nop`, which the assembler also makes from a listing's `.p2align`."""
    return [m for m in mnemonics if m != "s_nop"]


def listed(listing: str, symbol: str) -> list[str]:
    """Mnemonics of a function of an assembly listing."""
    body = listing[listing.index(f"\n{symbol}:") :]
    lines = body[: body.index(".Lfunc_end")].splitlines()
    matches = (re.match(r"\t([a-z]\w*)", line) for line in lines)
    return [match[1] for match in matches if match]


def functions(hsaco: bytes) -> dict[str, bytes]:
    """The code of every function, read with pyelftools."""
    elf = ELFFile(io.BytesIO(hsaco))
    text = elf.get_section_by_name(".text")
    symbols = [s for s in elf.get_section_by_name(".dynsym").iter_symbols() if s["st_info"]["type"] == "STT_FUNC"]
    starts = {s.name: s["st_value"] - text["sh_addr"] for s in symbols}
    return {s.name: text.data()[starts[s.name] :][: s["st_size"]] for s in symbols}


CASES = [
    ("050013d602071284", "v_fma_f32", "v5, v2, v3, -v4", ("v5, v3, v2, -v4", "v5, v2, v3, v4", "v5, v2, v3, -|v4|")),
    (
        "080050e001024205",
        "buffer_load_b32",
        "v2, v1, s[8:11], s5 offen offset:8",
        ("v2, v1, s[8:11], s5 offen", "v2, v1, s[8:11], s6 offen offset:8", "v2, v1, s[8:11], s5 idxen offset:8"),
    ),
    (
        "fa02067e02b108ff",
        "v_mov_b32_dpp",
        "v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1",
        (
            "v3, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1",
            "v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            "v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0x7 bound_ctrl:1",
        ),
    ),
    ("002002b0", "s_movk_i32", "s2, 0x2000", ("s2, 0x2001", "s3, 0x2000")),
    (
        "014810cc02070210",
        "v_pk_mul_f16",
        "v1, v2, v3 op_sel:[1,0] op_sel_hi:[0,1]",
        ("v1, v2, v3 op_sel_hi:[0,1]", "v1, v2, v3 op_sel:[1,0]", "v1, v2, v3 op_sel:[1,0] op_sel_hi:[1,0]"),
    ),
    (
        "f01f52dc03000402",
        "global_load_b32",
        "v2, v3, s[4:5] offset:-16",
        ("v2, v3, s[4:5] offset:16", "v2, v3, s[6:7] offset:-16", "v2, v[3:4], off offset:-16"),
    ),
    (
        "ff04c8c80407000100004040",
        "v_dual_mul_f32",
        "v1, 0x40400000, v2 :: v_dual_add_f32 v0, v4, v3",
        ("v1, 0x40400001, v2 :: v_dual_add_f32 v0, v4, v3", "v1, 0x40400000, v2 :: v_dual_sub_f32 v0, v4, v3"),
    ),
]
"""Encodings of gfx1151 as llvm-mc-19 makes them from the text, and texts that mean something else."""


@pytest.mark.parametrize(("encoding", "name", "operands", "others"), CASES, ids=[case[1] for case in CASES])
def test_the_comparison_sees_each_part_of_an_instruction(encoding, name, operands, others):
    inst = decode(bytes.fromhex(encoding).ljust(24, b"\0"), 0, "rdna3")
    size = len(encoding) // 2
    assert differences(inst, (name, operands, size)) == []
    for other in others:
        assert differences(inst, (name, other, size)) != [], other
    assert differences(inst, (name, operands, size + 4)) != []
    assert differences(inst, (f"{name}_x", operands, size)) != []
