"""Vector and scalar arithmetic: operands with their modifiers, the translated operation, masked results."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from specgen.devices.amdgpu_emulator import decoder, pseudocode
from specgen.devices.amdgpu_emulator.alu_rules import rules
from specgen.devices.amdgpu_emulator.dpp import dpp_source, select_sdwa, store_sdwa
from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported, raw_bits
from specgen.devices.amdgpu_emulator.instruction import EXEC, VCC, VECTOR, Instruction, sign_extend
from specgen.devices.amdgpu_emulator.pseudocode import Untranslatable
from specgen.devices.amdgpu_emulator.translate import Translator
from specgen.devices.amdgpu_emulator.values import WIDTH, Result, Value, is_float

VECTOR_FORMS: Final = frozenset({"VOP1", "VOP2", "VOP3", "VOP3SD", "VOP3P", "VOPC"})
SCALAR_FORMS: Final = frozenset({"SOP1", "SOP2", "SOPC", "SOPK"})

_MASK_IN_SRC2: Final = re.compile(r"v_(cndmask|(add|sub|subrev)_co_ci|addc|subb|subbrev)")
_SATURATING: Final = re.compile(r"v_(?:pk_)?(add|sub|subrev)(?:_nc)?_([ui])(16|32)$")
_KEEPS_HALF: Final = re.compile(
    r"v_(?:(?:fma|mad|div_fixup)_f16|mad_[ui]16|(?:mac|fmac|madak|madmk|fmaak|fmamk)_f16|(?:min3|max3|med3)_|(?:add|sub)_i16|bitop3_b16)"
)
"""16-bit operations of GFX9 that leave the other half of the register alone (CDNA3 ISA, V_MAD_F16 against
V_MAD_LEGACY_F16; LLVM's `zeroesHigh16BitsOfDest` names those that clear it)."""
_SIGN_FLAGS: Final = re.compile(r"v_dot[48]_i32_iu")


@functools.lru_cache(maxsize=4096)
def _body(arch: str, name: str) -> tuple[pseudocode.Statement, ...]:
    text = rules().get(name) or decoder.pseudocode(arch, name)
    if text is None:
        raise Unsupported("no pseudocode")
    return pseudocode.parse(text)


@dataclass
class _Half:
    """Where a 16-bit operand or result lives: register code and half."""

    code: int
    high: bool


class AluEmitter:
    """Emits one arithmetic instruction."""

    def __init__(self, em: Emitter, inst: Instruction, prefix: str = "t") -> None:
        self.em = em
        self.inst = inst
        self.prefix = prefix
        self.name = inst.name.replace("v_dual_", "v_")
        self.scalar = inst.form in SCALAR_FORMS
        self.mask: str | None = None
        self._sources: dict[int, Value] = {}

    # -- entry points -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Emit the operation and its stores; raises `Unsupported`."""
        self.store(self.translate())

    def translate(self) -> Result:
        try:
            body = self._saturated() or _body(self.inst.arch.name, self.name)
            translator = Translator(self._read, self._constants(), f"u{self._bits()}", self.em.typed, self.prefix)
            result = translator.run(body)
        except Untranslatable as error:
            raise Unsupported(str(error)) from error
        self.em.emit(*result.lines)
        return result

    def _saturated(self) -> tuple[pseudocode.Statement, ...] | None:
        """The clamped form of whole-number addition and subtraction."""
        match = _SATURATING.match(self.name)
        if match is None or not self.inst.get("clmp"):
            return None
        kind, bits = match[2], int(match[3])
        left, right = ("S1", "S0") if match[1] == "subrev" else ("S0", "S1")
        low, high = (0, (1 << bits) - 1) if kind == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        sign = "+" if match[1] == "add" else "-"

        def bounded(part: str) -> str:
            exact = f"64'I({left}{part}.{kind}{bits}) {sign} 64'I({right}{part}.{kind}{bits})"
            return f"{bits}'{kind.upper()}(int_min(int_max({exact}, {low}), {high}))"

        if self.inst.form != "VOP3P":
            return pseudocode.parse(f"D0.{kind}{bits} = {bounded('')}")
        halves = [f"tmp{part}.{kind}16 = {bounded(part)};" for part in ("[15 : 0]", "[31 : 16]")]
        return pseudocode.parse("".join(halves) + "D0.u32 = tmp.u32")

    def _constants(self) -> dict[str, int | float | bool]:
        inst = self.inst
        return {
            "WAVE64": self.em.lanes == 64,
            "WAVE32": self.em.lanes == 32,
            "INF": math.inf,
            "PI": math.pi,
            # Kernels with another rounding mode are refused at launch; other modes stay unknown names.
            "ROUND_MODE": 0,
            "ROUND_NEAREST_EVEN": 0,
            "NEG": inst.get("neg"),
            "OPSEL": inst.get("opsel"),
            "SIMM16": sign_extend(inst.get("simm16"), 16),
        }

    # -- reading ------------------------------------------------------------------------------------------

    def _read(self, name: str) -> Value | None:
        if name in ("S0", "S1", "S2"):
            at = int(name[1])
            if at not in self._sources:
                self._sources[at] = self._source(at)
            return self._sources[at]
        if name == "D0":
            return self._old_destination()
        if name == "VCC":
            code = self.inst.fields["src2"] if self._mask_operand() else VCC
            return Value(self.em.lane_mask(code), "mask")
        if name == "EXEC":
            return self.em.source(EXEC, self._bits(), self.inst, "any") if self.scalar else None
        if name == "SCC":
            return Value(self.em.scc(), "u1")
        if name == "laneId":
            return Value(self.em.constant(np.arange(self.em.lanes, dtype=np.uint32)[None], "lane"), "u32")
        if name in ("LANES_BELOW_LO", "LANES_BELOW_HI"):
            return Value(self.em.constant(_lanes_below(self.em.lanes, name.endswith("HI")), "below"), "u32")
        if name == "SIMM32":
            return Value(self.em.number(self.inst.literal or 0, "u32"), "u32")
        return None

    def _mask_operand(self) -> bool:
        return self.inst.form in ("VOP3", "VOP3SD") and bool(_MASK_IN_SRC2.match(self.name))

    def _field(self, at: int) -> str:
        names = {0: ("ssrc0", "src0"), 1: ("ssrc1", "vsrc1", "src1"), 2: ("src2",)}[at]
        found = next((name for name in names if name in self.inst.fields), None)
        if found is None:
            raise Untranslatable(f"operand S{at}")
        return found

    def _source(self, at: int) -> Value:
        inst = self.inst
        if inst.form == "SOPK":
            if at == 1:
                number = sign_extend(inst.fields["simm16"], 16)
                return Value(str(number), "i32", number)
            return self.em.source(inst.fields["sdst"], 32, inst, "any")
        name = self._field(at)
        operand = inst.operand(name)
        if inst.form == "VOP3P":
            return self._packed_source(at, name)
        if at == 0 and inst.variant in ("dpp16", "dpp8"):
            moved, self.mask = dpp_source(self.em, inst)
            half = operand.bits == 16 and inst.fields["vsrc0"] >= VECTOR + 128
            value = Value(f"({moved} >> u32(16))" if half else moved, "u32")
        elif inst.variant == "sdwa" and at < 2:
            value = select_sdwa(self.em, inst, at, operand.bits)
        elif operand.bits == 16 and self.name != "s_cvt_hi_f32_f16":
            value = self._half_source(at, inst.fields[name], operand.number)
        else:
            value = self.em.source(inst.fields[name], 64 if operand.bits == 64 else 32, inst, operand.number)
        return self._modified(at, value, operand.number)

    def _half_source(self, at: int, code: int, number: str) -> Value:
        inst = self.inst
        if code < VECTOR:
            value = self.em.source(code, 32, inst, number)
            if inst.get("opsel") >> at & 1:
                return Value(f"({value.code} >> u32(16)).astype(u16)", "u16")
            return Value(f"{value.code}.astype(u16)", "u16")
        half = self._half(code, bool(inst.get("opsel") >> at & 1))
        return Value(f"{self.em.vector(half.code)}.view(u16)[:, {int(half.high)}::2]", "u16")

    def _half(self, code: int, selected: bool) -> _Half:
        """GFX11+ short encodings name the high half of v0-v127 as v128-v255."""
        if not self.inst.arch.is_cdna and self.inst.form in ("VOP1", "VOP2", "VOPC") and code >= VECTOR + 128:
            return _Half(code - 128, True)
        return _Half(code, selected)

    def _modified(self, at: int, value: Value, number: str) -> Value:
        inst = self.inst
        negate = inst.get("neg") >> at & 1 or inst.get(f"src{at}_neg")
        absolute = inst.get("abs") >> at & 1 or inst.get(f"src{at}_abs")
        if self.scalar or not (negate or absolute):
            return value
        if number in ("b64", "u64", "i64", "m64"):
            raise Unsupported("sign modifier of a whole-number operand")
        width = WIDTH[value.type]
        sign = 1 << ((16 if "16" in number else width) - 1)
        kind = value.type
        code = value.code
        if absolute:
            code = f"({code} & {kind}({sign - 1}))"
        if negate:
            code = f"({code} ^ {kind}({sign}))"
        return Value(code, kind)

    def _packed_source(self, at: int, name: str) -> Value:
        inst = self.inst
        operand = inst.operand(name)
        if operand.bits == 64:
            return self._packed_wide_source(at, name)
        value = self.em.source(inst.fields[name], 32, inst, operand.number)
        if self.name.startswith(("v_dot4", "v_dot8")):
            if inst.get("neg") and not _SIGN_FLAGS.match(self.name):
                raise Unsupported("sign modifier of a whole-number dot product")
            return value
        single = operand.number in ("f32", "i32", "u32", "b32")
        low = inst.get("opsel") >> at & 1
        high = (inst.get("opsel_hi") | inst.get("opsel_hi2") << 2) >> at & 1
        code = value.code
        if not single:
            code = {
                (0, 1): code,
                (0, 0): f"(({code} & u32(0xffff)) * u32(0x10001))",
                (1, 1): f"(({code} >> u32(16)) * u32(0x10001))",
                (1, 0): f"(({code} >> u32(16)) | ({code} << u32(16)))",
            }[low, high]
        negate, negate_high = inst.get("neg") >> at & 1, inst.get("neg_hi") >> at & 1
        flip = (negate << 31) if single else (negate << 15 | negate_high << 31)
        return Value(f"({code} ^ u32({flip}))" if flip else code, "u32")

    def _packed_wide_source(self, at: int, name: str) -> Value:
        """Two 32-bit halves, each chosen and negated on its own (CDNA packed f32)."""
        inst = self.inst
        code = inst.fields[name]
        words = []
        for position, (selected, sign) in enumerate((("opsel", "neg"), ("opsel_hi", "neg_hi"))):
            bits = inst.get(selected) | (inst.get("opsel_hi2") << 2 if position else 0)
            upper = bits >> at & 1
            if 128 <= code < VECTOR and upper:
                raise Unsupported("high half of a packed inline constant")
            value = self.em.source(code + upper, 32, inst, "f32").code
            words.append(f"({value} ^ u32(0x80000000))" if inst.get(sign) >> at & 1 else value)
        return Value(f"join({words[0]}, {words[1]})", "u64")

    # -- destinations -------------------------------------------------------------------------------------

    def _destination(self) -> str:
        return "sdst" if self.scalar else "vdst"

    def _bits(self) -> int:
        name = self._destination()
        if self.scalar and name not in self.inst.fields:
            return 64 if self.name.endswith("64") else 32
        return 64 if self.inst.operand(name).bits == 64 else 32

    def _old_destination(self) -> Value:
        name = self._destination()
        code = self.inst.fields.get(name)
        if code is None:
            raise Untranslatable("no destination")
        if not self.scalar and self.inst.operand(name).bits == 16 and not self.inst.arch.is_cdna:
            half = self._half(code, bool(self.inst.get("opsel") >> 3 & 1))
            return Value(f"{self.em.vector(half.code)}.view(u16)[:, {int(half.high)}::2]", "u16")
        return self.em.source(code, self._bits(), self.inst, "any")

    def store(self, result: Result) -> None:
        """Emit the stores of every output."""
        outputs = result.outputs
        if "D0" in outputs and self._destination() in self.inst.fields:
            self._store_d0(self._finished(outputs["D0"]))
        if "SCC" in outputs:
            value = outputs["SCC"]
            code = value.code if value.const is None else f"np.full(st_shape(st, ix), {bool(value.const)})"
            self.em.write_scc(code if value.type == "u1" else f"({code} != 0)")
        for name in ("@D0", "@VCC"):
            if name in outputs:
                self.em.write_lane_mask(self._mask_destination(), outputs[name].code, self.mask)
        if "@EXEC" in outputs:
            if self.inst.arch.is_cdna and "@D0" not in outputs:
                self.em.write_lane_mask(self._mask_destination(), outputs["@EXEC"].code, self.mask)
            self.em.write_lane_mask(EXEC, outputs["@EXEC"].code, self.mask)
        if "EXEC" in outputs:
            self.em.store_scalar(EXEC, WIDTH[outputs["EXEC"].type], outputs["EXEC"])

    def _mask_destination(self) -> int:
        if self.inst.form == "VOP3SD":
            return self.inst.fields["sdst"]
        if self.inst.form == "VOP3" and self.name.startswith("v_cmp"):
            return self.inst.fields["vdst"] & 0x7F
        return self.inst.get("sdst", default=VCC) if self.inst.get("sd") else VCC

    def _finished(self, value: Value) -> Value:
        """The clamp to [0, 1], which takes NaN to 0. The output multiplier has no effect where denormals are kept
        (RDNA3 ISA, "Output Modifiers"), and other kernels are refused at launch."""
        clamp = self.inst.get("clmp")
        if self.scalar or not clamp or _SATURATING.match(self.name):
            return value
        kind = value.type
        if self.inst.form == "VOP3P" and not is_float(kind):
            raise Unsupported("clamp of a packed result")
        if not is_float(kind):
            raise Unsupported("output modifier of a whole-number result")
        return Value(f"np.clip(np.nan_to_num({value.code}, nan=0.0), {kind}(0), {kind}(1))", kind)

    def _store_d0(self, value: Value) -> None:
        inst = self.inst
        code = inst.fields[self._destination()]
        if self.scalar or self.name.startswith("v_s_"):  # GFX12: transcendental functions of scalars
            self.em.store_scalar(code, self._bits(), value)
        elif inst.variant == "sdwa":
            store_sdwa(self.em, inst, value, self.mask)
        elif WIDTH.get(value.type) == 16:
            self._store_16(code, value)
        else:
            self.em.store_vector(code, self._bits(), value, self.mask)

    def _store_16(self, code: int, value: Value) -> None:
        """GFX9's older operations clear the upper half unless it is the one selected; all others keep the other."""
        high = bool(self.inst.get("opsel") >> 3 & 1)
        if self.inst.arch.is_cdna and not high and not _KEEPS_HALF.match(self.name):
            bits = Value(f"np.asarray({raw_bits(value, 'u16')}).astype(u32)", "u32")
            self.em.store_vector(code, 32, bits, self.mask)
            return
        half = self._half(code, high)
        self.em.store_half(half.code, half.high, value, self.mask)


def emit_pair(em: Emitter, inst: Instruction) -> None:
    """A VOPD: both results are computed before either is stored."""
    halves = [AluEmitter(em, part, prefix) for part, prefix in zip(inst.parts, ("x", "y"), strict=True)]
    results = [half.translate() for half in halves]
    first = results[0].outputs["D0"]
    if first.const is None:
        # The second half may read what the first one writes.
        em.emit(f"x0 = {first.code}" if first.code[0] != "v" else f"x0 = {first.code}.copy()")
    second = results[1].outputs["D0"]
    if second.const is None:
        em.emit(f"y0 = {second.code}" if second.code[0] != "v" else f"y0 = {second.code}.copy()")
    for half, result, name in zip(halves, results, ("x0", "y0"), strict=True):
        value = result.outputs["D0"]
        result.outputs["D0"] = Value(name, value.type) if value.const is None else value
        half.store(result)


def emit_division_scale(em: Emitter, inst: Instruction) -> None:
    """`v_div_scale`: the scaled operand and a flag a lane."""
    kind = inst.name[-3:]
    alu = AluEmitter(em, inst)
    values = [alu._read(name) for name in ("S0", "S1", "S2")]
    texts = [Translator(lambda name: None, {}, "u32", em.typed).bits(v, kind).code for v in values if v is not None]
    em.emit(f"r0, flag = division_scale({', '.join(texts)})")
    em.store_vector(inst.fields["vdst"], 64 if kind == "f64" else 32, Value("r0", kind))
    em.write_lane_mask(inst.fields["sdst"], "flag")


def emit_mixed_fma(em: Emitter, inst: Instruction) -> None:
    """`v_fma_mix*`: each operand is f32 or a half of a register, fused in f32."""
    terms = []
    high_flags = inst.get("opsel_hi") | inst.get("opsel_hi2") << 2
    for at, name in enumerate(("src0", "src1", "src2")):
        is_half = bool(high_flags >> at & 1)
        value = em.source(inst.fields[name], 32, inst, "f16" if is_half else "f32").code
        if is_half:
            shifted = f"({value} >> u32(16))" if inst.get("opsel") >> at & 1 else value
            text = f"{shifted}.astype(u16).view(f16).astype(f32)"
        else:
            text = f"{value}.view(f32)"
        if inst.get("neg_hi") >> at & 1:
            text = f"np.abs({text})"
        terms.append(f"-{text}" if inst.get("neg") >> at & 1 else text)
    result = f"fma({', '.join(terms)})"
    if inst.get("clmp"):
        result = f"np.clip(np.nan_to_num({result}, nan=0.0), f32(0), f32(1))"
    if inst.name.endswith("_f32"):
        em.store_vector(inst.fields["vdst"], 32, Value(result, "f32"))
    else:
        em.store_half(inst.fields["vdst"], "mixhi" in inst.name, Value(f"{result}.astype(f16)", "f16"))


def emit_bit_operation(em: Emitter, inst: Instruction) -> None:
    """`v_bitop3`: the result bit for each combination of three operand bits, from a table in the modifier fields."""
    table = inst.get("omod") << 6 | inst.get("abs") << 3 | inst.get("neg")
    alu = AluEmitter(em, inst)
    names = ("src0", "src1", "src2")
    narrow = inst.name == "v_bitop3_b16"
    if narrow:
        words = [alu._half_source(at, inst.fields[name], "b16").code for at, name in enumerate(names)]
    else:
        words = [em.source(inst.fields[name], 32, inst, "b32").code for name in names]
    terms = [
        " & ".join(word if row >> bit & 1 else f"~{word}" for word, bit in zip(words, (2, 1, 0), strict=True))
        for row in range(8)
        if table >> row & 1
    ]
    kind = "u16" if narrow else "u32"
    value = Value(" | ".join(f"({term})" for term in terms) if terms else em.number(0, kind), kind)
    if narrow:
        alu._store_16(inst.fields["vdst"], value)
    else:
        em.store_vector(inst.fields["vdst"], 32, value)


def emit_packed_move(em: Emitter, inst: Instruction) -> None:
    """CDNA `v_pk_mov_b32`: one word of each source."""
    codes = (inst.fields["src0"], inst.fields["src1"])
    words = [em.source(c + (inst.get("opsel") >> at & 1), 32, inst, "b32").code for at, c in enumerate(codes)]
    em.store_vector(inst.fields["vdst"], 64, Value(f"join({words[0]}, {words[1]})", "u64"))


def _lanes_below(lanes: int, high: bool) -> np.ndarray:
    base = 32 if high else 0
    counts = [min(max(lane - base, 0), 32) for lane in range(lanes)]
    return np.array([[(1 << count) - 1 for count in counts]], np.uint32)
