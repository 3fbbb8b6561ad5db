"""Two disassemblers of LLVM, and what a decoded instruction has in common with the text that they print.

`ROCm` is AMD's LLVM as `rocm-llvm-python` packs it, through LLVM's C disassembler API; it knows every target.
`llvm-objdump-19` is Debian's and knows neither gfx950 nor gfx1250.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from specgen import targets
from specgen.devices.amdgpu_emulator.blocks import Program
from specgen.devices.amdgpu_emulator.instruction import (
    ACCUMULATOR,
    INLINE_FLOATS,
    LITERAL,
    VCC,
    VECTOR,
    Instruction,
    sign_extend,
)
from specgen.devices.amdgpu_emulator.launch import entry_offset
from specgen.devices.amdgpu_emulator.loader import load, symbols_of

OBJDUMP = shutil.which("llvm-objdump-19")
OBJDUMP_LACKS = ("gfx950", "gfx1250")
CPUS = {"gfx9-4-generic": "gfx942"}
"""Processors under the name that llvm-objdump-19 knows."""

Printed = tuple[str, str, int]
"""Mnemonic, operands and size in bytes of an instruction as a disassembler prints it."""

_LINE = re.compile(r"^\t(?P<name>\S+)\s*(?P<operands>.*?)\s*//\s*(?P<address>[0-9A-F]+):(?P<words>(?: [0-9A-F]{8})+)")


def objdump(hsaco: bytes, target: str, folder: Path) -> dict[int, Printed]:
    """Every instruction of a code object by address, from llvm-objdump-19."""
    assert OBJDUMP is not None
    path = folder / "code.hsaco"
    path.write_bytes(hsaco)
    command = [OBJDUMP, "-d", "--triple=amdgcn", f"--mcpu={CPUS.get(target, target)}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    matches = filter(None, map(_LINE.match, done.stdout.splitlines()))
    return {int(m["address"], 16): (m["name"], m["operands"], 4 * len(m["words"].split())) for m in matches}


def objdump_omits(inst: Instruction) -> tuple[str, ...]:
    """Facts that llvm-objdump-19 does not print: which halves the 16-bit operations of GFX11 and GFX12 take."""
    return ("op_sel",) if inst.form == "VOP3" and not inst.arch.is_cdna else ()


def objdump_lacks(inst: Instruction) -> bool:
    """Whether llvm-objdump-19 cannot read it: VOP1 that writes an f16 to the upper half of a register of GFX11 or
    GFX12, which is encoded as a destination from 128 on. AMD's disassembler reads all of these."""
    if inst.name != "v_cvt_f16_f32" or inst.form != "VOP1" or inst.arch.is_cdna:
        return False
    return int(str(inst).split()[1].strip("v,")) >= 128


def rocm_library() -> Path | None:
    """The shared library of `rocm-llvm-python`; found without importing the package, which would load ROCm."""
    found = importlib.util.find_spec("rocm")
    folders = [] if found is None else [Path(p) for p in found.submodule_search_locations or ()]
    return next((lib for f in folders if (lib := f / "llvm" / "librocmllvm.so").exists()), None)


class Rocm:
    """AMD's LLVM for one processor. Raises `FileNotFoundError` without the package."""

    _TEXT_BYTES = 512

    def __init__(self, target: str) -> None:
        path = rocm_library()
        if path is None:
            raise FileNotFoundError("rocm-llvm-python is not installed")
        library = ctypes.CDLL(str(path))
        for part in ("TargetInfo", "TargetMC", "Disassembler"):
            library[f"LLVMInitializeAMDGPU{part}"]()
        create = library.LLVMCreateDisasmCPUFeatures
        create.restype = ctypes.c_void_p
        create.argtypes = [*[ctypes.c_char_p] * 3, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self._one = library.LLVMDisasmInstruction
        self._one.restype = ctypes.c_size_t
        self._one.argtypes = [
            ctypes.c_void_p,
            ctypes.c_char_p,
            *[ctypes.c_uint64] * 2,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]
        facts = targets.load(target)
        wave = b"+wavefrontsize64" if facts.subgroup_size == 64 else b"+wavefrontsize32,-wavefrontsize64"
        self._context = create(b"amdgcn-amd-amdhsa", facts.cpu.encode(), wave, None, 0, None, None)
        assert self._context

    def at(self, code: bytes, offset: int) -> Printed:
        """The instruction at a byte offset; size 0 when there is none."""
        window = code[offset : offset + 24].ljust(24, b"\0")
        text = ctypes.create_string_buffer(self._TEXT_BYTES)
        size = self._one(self._context, window, len(window), offset, text, self._TEXT_BYTES)
        name, _, operands = text.value.decode().strip().partition(" ")
        return name, operands.strip(), size


def instructions(hsaco: bytes) -> Iterator[tuple[str, int, bytes, Instruction]]:
    """Symbol, address of its code, the code, and each instruction that the emulator decodes from it."""
    for symbol in symbols_of(hsaco):
        code = load(hsaco, symbol)
        for inst in Program(code.code, entry_offset(code), code.arch, code.wave_size, False).instructions:
            yield symbol, code.address, code.code, inst


_ALIKE: set[tuple[object, ...]] = set()


def disagreement(code: bytes, inst: Instruction, printed: Printed, unprinted: tuple[str, ...] = ()) -> list[str]:
    """`differences`, computed once for the same bytes, family and text; the decoded fields are compared each time."""
    raw = code[inst.offset : inst.offset + inst.size]
    key = (inst.arch.name, raw, printed, unprinted, inst.name, inst.form, inst.literal, *inst.fields.items())
    if key in _ALIKE:
        return []
    found = differences(inst, printed, unprinted)
    if not found:
        _ALIKE.add(key)
    return found


# What an instruction and its text have in common.

_SUFFIX = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp)(?=$|_)")
_ALIASES = {"v_fma_mix_f32": ("v_mad_mix_f32",), "v_fma_mixlo_f16": ("v_mad_mixlo_f16",)}
"""LLVM's name -> the vendor's."""

_ORDER = {
    "VOP1": "vdst src0",
    "VOP2": "vdst src0 vsrc1",
    "VOPC": "src0 vsrc1",
    "VOP3": "vdst src0 src1 src2",
    "VOP3P": "vdst src0 src1 src2",
    "VOP3SD": "vdst sdst src0 src1 src2",
    "SOP1": "sdst ssrc0",
    "SOP2": "sdst ssrc0 ssrc1",
    "SOPC": "ssrc0 ssrc1",
    "SOPK": "sdst simm16",
    "SMEM": "sdata sbase",
    "DS": "vdst addr data0 data1",
    "MUBUF": "vdata vaddr srsrc rsrc soffset",
    "GLOBAL": "vdst addr vaddr data vsrc saddr",
    "FLAT": "vdst addr vaddr data vsrc",
    "SCRATCH": "vdst addr vaddr data vsrc saddr",
}
"""Fields of an encoding in the order in which LLVM prints them; those that an operation does not use are left out."""

_TOKEN = re.compile(
    r"(?P<modifier>[a-z_0-9]+):(?P<value>\[[^\]]*\]|\S+)"
    r"|(?P<flag>clamp|offen|idxen|glc|sc0|row_mirror|row_half_mirror)\b"
    r"|(?P<file>v|s|a|ttmp)(?:(?P<one>\d+)(?:\.(?P<half>[hl]))?|\[(?P<first>\d+)(?::\d+)?\])(?![\w.])"
    r"|(?P<special>vcc_lo|vcc_hi|vcc|exec_lo|exec_hi|exec|m0|null|src_scc|off|src_shared_base|src_private_base)\b"
    r"|(?P<number>0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
    r"|(?P<word>[a-z_][\w.]*)"
)
_COMMENT = re.compile(r"/\*.*?\*/")
_FILES = {"v": VECTOR, "s": 0, "a": ACCUMULATOR, "ttmp": 108}
_SPECIAL = {"vcc": VCC, "vcc_lo": VCC, "vcc_hi": VCC + 1, "exec": 126, "exec_lo": 126, "exec_hi": 127, "src_scc": 253}
_APERTURES = {"src_shared_base": 235, "src_private_base": 237}
_SELECTIONS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_DPP = {"row_mirror": 0x140, "row_half_mirror": 0x141, "wave_shr": 0x138, "row_bcast": {15: 0x142, 31: 0x143}}
_DPP_ROWS = {"row_shl": 0x100, "row_shr": 0x110, "row_ror": 0x120, "row_share": 0x150, "row_xmask": 0x160}

Facts = dict[str, object]


def differences(inst: Instruction, printed: Printed, unprinted: tuple[str, ...] = ()) -> list[str]:
    """What the decoded instruction and a disassembler's text do not agree in; empty when they agree.

    `unprinted` are facts that this disassembler does not print.
    """
    name, operands, size = printed
    found = [] if inst.size == size else [f"{inst.size} bytes, not {size}"]
    texts = [f"{name} {operands}"]
    if inst.parts:
        texts = [text.strip() for text in texts[0].split("::")]
        if len(texts) != len(inst.parts):
            return [*found, "not a pair"]
    for part, text in zip(inst.parts or (inst,), texts, strict=True):
        ours, theirs = _decoded(part), _printed(part, text)
        keys = sorted((ours.keys() | theirs.keys()).difference(unprinted))
        found += [f"{k}: {ours.get(k)} not {theirs.get(k)}" for k in keys if ours.get(k, 0) != theirs.get(k, 0)]
    return found


def _decoded(inst: Instruction) -> Facts:
    """Name, operands in LLVM's order and modifiers, from the decoded fields."""
    facts: Facts = {"name": inst.name, "operands": _operands(inst)}
    fields = inst.fields
    if inst.form in ("MUBUF", "GLOBAL", "FLAT", "SCRATCH", "SMEM"):
        facts["offset"] = _offset(inst)
        facts["offen"], facts["idxen"] = fields.get("offen", 0), fields.get("idxen", 0)
        if "atomic" in inst.name:
            facts["returns"] = _returns(inst)
    elif inst.form == "DS":
        facts |= _ds_offsets(inst)
    elif inst.form in ("VOP3", "VOP3SD") and not inst.name.startswith("v_bitop3"):
        facts |= {"neg": fields.get("neg", 0), "abs": fields.get("abs", 0), "clamp": fields.get("clmp", 0)}
        facts["omod"], facts["op_sel"] = fields.get("omod", 0), fields.get("opsel", 0)
    elif inst.form == "VOP3P" and not inst.name.startswith(("v_mfma", "v_smfmac")):
        facts |= {"neg": fields["neg"], "clamp": fields["clmp"], "op_sel": fields["opsel"]}
        facts["op_sel_hi"] = (fields["opsel_hi"] | fields["opsel_hi2"] << 2) & (1 << _sources(inst)) - 1
    elif inst.name.startswith("v_bitop3"):
        facts["bitop3"] = fields["omod"] << 6 | fields["abs"] << 3 | fields["neg"]
    if inst.variant == "dpp16":
        facts |= {"dpp": fields["dpp"], "row_mask": fields["row_mask"], "bank_mask": fields["bank_mask"]}
        facts["bound_ctrl"] = fields["bc"]
    elif inst.variant == "dpp8":
        facts["dpp8"] = tuple(fields[f"lane_sel_{n}"] for n in range(8))
    elif inst.variant == "sdwa":
        facts["src0_sel"] = fields["src0_sel"]
    return facts


def _sources(inst: Instruction) -> int:
    return sum(_used(inst, field) for field in ("src0", "src1", "src2"))


def _used(inst: Instruction, field: str) -> bool:
    if field not in inst.fields:
        return False
    if inst.form == "SCRATCH" and field in ("addr", "vaddr"):
        return bool(inst.fields["sve"])
    stem = field.removeprefix("v")
    return not inst.operands or bool({field, stem, "v" + stem} & inst.operands.keys())


def _operands(inst: Instruction) -> list[object]:
    if inst.form in ("SOPP", "VOPD"):
        return []
    found: list[object] = []
    unprinted = _unprinted(inst)
    for field in _ORDER.get(inst.form, "").split():
        if field not in unprinted and _used(inst, field):
            key = "vsrc0" if field == "src0" and inst.variant else field
            found.append(_operand(inst, key))
    if inst.name.startswith(("v_fmamk", "v_dual_fmamk")):
        found.insert(2, inst.literal)
    elif inst.name.startswith(("v_fmaak", "v_dual_fmaak")):
        found.append(inst.literal)
    return [code for code in found if code != "null"]


def _unprinted(inst: Instruction) -> tuple[str, ...]:
    """Fields that hold something without meaning: the address of an access without one, the second source of a move
    in a pair, the destination of a comparison that writes EXEC."""
    if inst.name == "v_dual_mov_b32":
        return ("vsrc1",)
    if re.search(r"_(inv|wb|wbinv1|wbl2)$", inst.name):
        return tuple(inst.fields)
    if inst.form == "MUBUF" and not (inst.fields["offen"] or inst.fields["idxen"]):
        return ("vaddr",)
    if "atomic" in inst.name and inst.form in ("GLOBAL", "FLAT") and not _returns(inst):
        return ("vdst",)
    return ("vdst",) if inst.name.startswith("v_cmpx") else ()


def _operand(inst: Instruction, field: str) -> object:
    value = inst.fields[field]
    if field == "simm16":
        return f"={value & 0xFFFF:#x}"
    if value == inst.arch.null or (value == 127 and field == "saddr"):
        return "null"
    if value == inst.arch.m0:
        return "m0"
    if value == LITERAL:
        return inst.literal if inst.operand(field).bits != 16 else (inst.literal or 0) & 0xFFFF
    if value in INLINE_FLOATS:
        return round(INLINE_FLOATS[value], 6)
    if 128 <= value <= 208:
        return (value - 128 if value <= 192 else 192 - value) & 0xFFFFFFFF
    return f"r{value}"


def _returns(inst: Instruction) -> int:
    """Whether an atomic gives back what was there before."""
    return inst.get("glc", "sc0", default=inst.fields.get("th", 0) & 1)


def _offset(inst: Instruction) -> int:
    raw = inst.get("ioffset", "offset")
    if inst.form == "MUBUF":
        return raw
    bits = {"rdna4": 24, "rdna3": 21 if inst.form == "SMEM" else 13, "cdna": 21 if inst.form == "SMEM" else 13}
    return sign_extend(raw, bits[inst.arch.name])


def _ds_offsets(inst: Instruction) -> Facts:
    first, second = inst.fields["offset0"], inst.fields["offset1"]
    if re.search(r"(read2|write2|load_2addr|store_2addr)", inst.name):
        return {"offset0": first, "offset1": second}
    return {} if inst.name.startswith("ds_swizzle") else {"offset": first | second << 8}


def _printed(inst: Instruction, text: str) -> Facts:
    """The same facts, from the text alone; the instruction says only which kind of number stands where."""
    name, _, rest = text.partition(" ")
    name = _SUFFIX.sub("", name)
    rest = _COMMENT.sub("", rest)
    facts: Facts = {"name": inst.name if inst.name in _ALIASES.get(name, ()) else name}
    if inst.form == "VOP3P" and "_mix" not in name:
        facts["op_sel_hi"] = (1 << _sources(inst)) - 1
    operands: list[object] = []
    source = 0
    destinations = 2 if inst.form == "VOP3SD" else 0 if name.startswith("v_cmpx") else 1
    for match in [] if inst.form == "SOPP" else _TOKEN.finditer(rest):
        if match["modifier"]:
            facts |= _modifier(inst, match["modifier"], match["value"])
        elif match["flag"]:
            facts |= _flag(match["flag"])
        elif not match["word"] and match["special"] != "off":
            operands.append(_named(inst, match))
            before, after = rest[: match.start()], rest[match.end() :]
            if len(operands) > destinations:
                if before.endswith(("-", "-|")):
                    facts["neg"] = int(facts.get("neg", 0)) | 1 << source  # type: ignore[call-overload]
                if before.endswith("|") and after.startswith("|"):
                    facts["abs"] = int(facts.get("abs", 0)) | 1 << source  # type: ignore[call-overload]
                source += 1
    facts["operands"] = _explicit(inst, operands, facts)
    if "atomic" not in name:
        facts.pop("returns", None)
    return facts
    return facts


def _explicit(inst: Instruction, operands: list[object], facts: Facts) -> list[object]:
    """Operands that have a field: without the VCC that an encoding implies, null, and offsets among the operands."""
    if inst.form == "SMEM" and len(operands) == 3:
        last = operands.pop()
        facts["offset"] = last if isinstance(last, int) else facts.get("offset", 0)
    if inst.form == "VOPC" and not inst.name.startswith("v_cmpx"):
        operands = operands[1:]
    if inst.form == "VOP2" and "_co_" in inst.name:
        operands = [operands[0], *operands[2:]]
    if re.match(r"v_cndmask|v_(add|sub|subrev)(c|b|brev)?_co_(ci_)?u32", inst.name) and inst.form == "VOP2":
        operands = operands[:3]
    return [code for code in operands if code != "null"]


def _named(inst: Instruction, match: re.Match[str]) -> object:
    if match["file"]:
        code = _FILES[match["file"]] + int(match["one"] or match["first"])
        # Halves of v0 to v127 are numbers of their own where a field has eight bits.
        half = 128 if match["half"] == "h" and inst.form in ("VOP1", "VOP2", "VOPC") else 0
        return f"r{code + half}"
    if match["special"]:
        special = match["special"]
        return (
            f"r{_SPECIAL[special]}"
            if special in _SPECIAL
            else (f"r{_APERTURES[special]}" if special in _APERTURES else special)
        )
    text = match["number"]
    if inst.form == "SOPK":
        return f"={int(text, 0) & 0xFFFF:#x}"
    return round(float(text), 6) if "." in text else int(text, 0) & 0xFFFFFFFF


def _modifier(inst: Instruction, name: str, value: str) -> Facts:
    if name in ("op_sel", "op_sel_hi"):
        bits = [int(bit) for bit in value.strip("[]").split(",")]
        if inst.form == "VOP3":
            bits = [*[*bits[:-1], 0, 0, 0][:3], bits[-1]]  # the result's half comes last, in bit 3
        return {name: sum(bit << n for n, bit in enumerate(bits))}
    if name == "neg_lo":
        return {"neg": sum(int(bit) << n for n, bit in enumerate(value.strip("[]").split(",")))}
    if name == "quad_perm":
        return {"dpp": sum(int(lane) << 2 * n for n, lane in enumerate(value.strip("[]").split(",")))}
    if name == "dpp8":
        return {"dpp8": tuple(int(lane) for lane in value.strip("[]").split(","))}
    if name == "src0_sel":
        return {name: _SELECTIONS.index(value)}
    if name == "row_bcast":
        return {"dpp": _DPP["row_bcast"][int(value)]}  # type: ignore[index]
    if name == "wave_shr":
        return {"dpp": _DPP["wave_shr"]}
    if name in _DPP_ROWS:
        return {"dpp": _DPP_ROWS[name] + int(value)}
    if name == "mul":
        return {"omod": {2: 1, 4: 2}[int(value)]}
    if name == "div":
        return {"omod": 3}
    if name == "th":
        return {"returns": int("RETURN" in value)}
    if name in ("offset", "offset0", "offset1", "row_mask", "bank_mask", "bound_ctrl", "bitop3"):
        return {} if value.startswith("swizzle") else {name: int(value, 0)}
    return {}


def _flag(name: str) -> Facts:
    if name in ("row_mirror", "row_half_mirror"):
        return {"dpp": _DPP[name]}
    return {"returns": 1} if name in ("glc", "sc0") else {name: 1}
