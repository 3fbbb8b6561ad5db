"""Programs of many vector operations: each row in several forms, every result word stored and compared."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from emulator_compile import assemble, lanes_of

from opcode_semantics.encoding import SHORT, short_halves
from opcode_semantics.patterns import BITS, LANES, VIEW, values, view
from opcode_semantics.rows import CDNA, CPU, RDNA4, Row, evaluate
from specgen.devices.amdgpu_emulator import EmulatedKernel

OUT: Final = 10
"""Result registers v10, v11."""
OLD: Final = 18
"""What the result registers hold before an operation."""
SETS: Final = (("edges", 2), ("random", 12))
"""Value sets and their first register; operand k lies in registers first + 2 k and on."""
IDLE: Final = 0xF7FFEFFBEFDFBFFE
"""EXEC of the forms that run with some lanes off."""
CONSTANTS: Final = {
    "f16": [(0.5, 0x3800), (-4.0, 0xC400)], "f32": [(0.5, 0x3F000000), (-4.0, 0xC0800000)],
    "f64": [(0.5, 0x3FE0000000000000), (-4.0, 0xC010000000000000)],
}  # fmt: skip


SPELLED: Final = {f"v_mad_mix{k}": f"v_fma_mix{k}" for k in ("_f32", "lo_f16", "hi_f16")}
"""Operations that the assembler spells otherwise than the vendor's tables (fused since GFX90a)."""
SUFFIXED: Final = frozenset({"v_mov_b16"})
"""Operations whose halves the assembler (LLVM 19) writes as v1.l and v1.h on RDNA, and not as op_sel."""


@dataclass
class Trial:
    """One execution of a row: its operands and what it must leave."""

    row: Row
    name: str
    form: str
    operands: list[np.ndarray]
    expected: np.ndarray
    masked: bool = False
    high: bool = False
    plane: int = 0


class Program:
    """Assembly of a batch, with the planes of input words that it reads and of output words that it writes."""

    def __init__(self, arch: str, known: frozenset[str]) -> None:
        self.arch = arch
        self.known = known
        self.cdna = arch == CDNA
        self.lines: list[str] = []
        self.inputs: list[np.ndarray] = []
        self.trials: list[Trial] = []
        self.shared = self.private = 0
        """Bytes of workgroup and private memory of the kernel."""
        self._planes = 0
        self._bases = {"s4": 0, "s6": 0}
        lane = np.arange(LANES, dtype=np.uint64)
        self.old = (lane * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(0x5A5AC3C3A5A53C3C)
        self.load(OLD, self.old & np.uint64(0xFFFFFFFF))
        self.load(OLD + 1, self.old >> np.uint64(32))

    # -- text ---------------------------------------------------------------------------------------------

    def add(self, *lines: str) -> None:
        self.lines.extend(lines)

    def set_exec(self, full: bool) -> None:
        if full:
            self.add("s_mov_b64 exec, -1" if self.cdna else "s_mov_b32 exec_lo, -1")
        elif self.cdna:
            self.add(f"s_mov_b32 exec_lo, {IDLE & 0xFFFFFFFF:#x}", f"s_mov_b32 exec_hi, {IDLE >> 32:#x}")
        else:
            self.add(f"s_mov_b32 exec_lo, {IDLE & 0xFFFFFFFF:#x}")

    def load(self, register: int, words: np.ndarray) -> None:
        """Fill a vector register from a plane of input words."""
        self.inputs.append(words.astype(np.uint32))
        at = len(self.inputs) - 1
        op = "global_load_dword" if self.cdna else "global_load_b32"
        self._bump("s4", at)
        self.add(f"{op} v{register}, v1, s[4:5] offset:{at % 4 * 4 * LANES}")

    def wait(self) -> None:
        self.add("s_wait_loadcnt 0" if self.arch == RDNA4 else "s_waitcnt vmcnt(0)")

    def store(self, register: int) -> int:
        """Write a vector register to the next output plane; returns its number."""
        op = "global_store_dword" if self.cdna else "global_store_b32"
        self._bump("s6", self._planes)
        self.add(f"{op} v1, v{register}, s[6:7] offset:{self._planes % 4 * 4 * LANES}")
        self._planes += 1
        if self._planes % 16 == 0:  # few accesses stay in flight, which the wait checks go through at every step
            self.add(
                "s_wait_storecnt 0"
                if self.arch == RDNA4
                else "s_waitcnt vmcnt(0)"
                if self.cdna
                else "s_waitcnt_vscnt null, 0x0"
            )
        return self._planes - 1

    def _bump(self, base: str, at: int) -> None:
        """Immediate offsets reach four planes: move the base register on after that."""
        if (steps := at // 4 - self._bases[base]) > 0:
            self._bases[base] += steps
            self.advance(base, base, 16 * LANES * steps)

    def advance(self, target: str, base: str, count: int) -> None:
        """A 64-bit scalar addition of a number of bytes."""
        plus, carry = ("s_add_co_u32", "s_add_co_ci_u32") if self.arch == RDNA4 else ("s_add_u32", "s_addc_u32")
        upper = [f"s{int(name[1:]) + 1}" for name in (target, base)]
        self.add(f"{plus} {target}, {base}, {count}", f"{carry} {upper[0]}, {upper[1]}, 0")

    # -- rows ---------------------------------------------------------------------------------------------

    def rows(self, rows: Iterable[Row]) -> None:
        """All rows that the architecture has, grouped by operand kinds."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            if row.name(self.arch, self.known):
                groups.setdefault(row.sources, []).append(row)
        for kinds, members in groups.items():
            sets = self._operands(kinds)
            for row in members:
                self._row(row, sets)

    def _operands(self, kinds: tuple[str, ...]) -> dict[str, list[np.ndarray]]:
        """Load both value sets of a signature."""
        sets: dict[str, list[np.ndarray]] = {}
        for salt, first in SETS:
            sets[salt] = []
            for position, kind in enumerate(kinds):
                bits = values(kind, position, salt)
                sets[salt].append(view(bits, kind))
                self.load(first + 2 * position, bits & np.uint64(0xFFFFFFFF))
                if BITS[kind] == 64:
                    self.load(first + 2 * position + 1, bits >> np.uint64(32))
        self.wait()
        return sets

    def _row(self, row: Row, sets: dict[str, list[np.ndarray]]) -> None:
        edge, random = sets["edges"], sets["random"]
        if "steady" in row.forms:
            self._trial(row, "plain", edge, [self._register(row, k, 2) for k in range(len(edge))])
            return
        if "once" in row.forms:
            self._trial(row, "masked", edge, [self._register(row, k, 2) for k in range(len(edge))], masked=True)
            return
        self._trial(row, "plain", edge, [self._register(row, k, 2) for k in range(len(edge))])
        texts = [self._register(row, k, 12) for k in range(len(random))]
        self._trial(row, "masked", random, texts, masked=True)
        if row.forms & {"const", "inline"}:
            self._constants(row, random, texts)
        if "float" in row.forms:
            self._modifiers(row, edge, random, texts)
        if "half" in row.forms or (not self.cdna and "short" in row.forms):
            self._halves(row, texts)
        if "clamp" in row.forms:
            self._trial(row, "clamp", random, texts, suffix=" clamp", meaning=_saturated(row))
        if "dpp" in row.forms:
            self._dpp(row, random, texts)
        if not self.cdna and has_long_dpp(row):
            self._dpp(row, random, texts)
        if self.cdna and has_sdwa(row):
            if 16 in (BITS[kind] for kind in (*row.sources, row.result)):
                self._sdwa_halves(row, texts)
            else:
                self._sdwa(row, random, texts)

    def _constants(self, row: Row, random: list[np.ndarray], texts: list[str]) -> None:
        """The first operand as a scalar register, an inline constant and, where the encoding allows it, a literal."""
        kind = row.sources[0]
        seed = zlib.crc32(row.names.encode())
        wide = BITS[kind] == 64
        word = int(random[0].view(f"u{BITS[kind] // 8}")[seed % LANES])
        self.add(f"s_mov_b32 s30, {word & 0xFFFFFFFF:#x}", f"s_mov_b32 s31, {word >> 32:#x}")
        choices = [("scalar", "s[30:31]" if wide else "s30", word)] if "const" in row.forms else []
        number = (seed % 65) if seed & 0x100 else -(seed % 16) - 1
        choices.append(("integer", str(number), number & ((1 << BITS[kind]) - 1)))
        if kind in CONSTANTS:
            spelling, bits = CONSTANTS[kind][seed & 1]
            choices.append(("number", str(spelling), bits))
        if "literal" in row.forms and not wide:
            value = (word ^ 0x12345678) & ((1 << BITS[kind]) - 1) | 0x3000
            choices.append(("literal", f"{value:#x}", value))
        for form, spelling, bits in choices:
            fixed = np.full(LANES, bits, f"u{BITS[kind] // 8}").view(VIEW[kind])
            self._trial(row, form, [fixed, *random[1:]], [spelling, *texts[1:]])

    def _modifiers(self, row: Row, edge: list[np.ndarray], random: list[np.ndarray], texts: list[str]) -> None:
        """Signs and magnitudes of float operands, and the clamp to [0, 1]."""
        spelled, changed = [], []
        for k, (kind, operand) in enumerate(zip(row.sources, edge, strict=True)):
            text = self._register(row, k, 2)
            if kind not in ("f16", "f32", "f64"):
                spelled.append(text)
                changed.append(operand)
                continue
            sign = VIEW["u" + kind[1:]](1 << (BITS[kind] - 1))
            bits = operand.view(f"u{BITS[kind] // 8}")
            pattern = ("-|{}|", "-{}", "|{}|")[k]
            bits = {0: bits | sign, 1: bits ^ sign, 2: bits & ~sign}[k]
            spelled.append(pattern.format(text))
            changed.append(bits.view(VIEW[kind]))
        self._trial(row, "signs", changed, spelled, e64=True)
        if row.result in ("f16", "f32", "f64") and "noclamp" not in row.forms:
            self._trial(row, "clamp", random, texts, suffix=" clamp", e64=True, meaning=_clamped)

    def _sdwa_halves(self, row: Row, texts: list[str]) -> None:
        """GFX9's other way to high halves; a 16-bit result goes to the high half, the low one is preserved."""
        moved, spelled = self._high_operands(row, texts)
        narrow = BITS[row.result] == 16
        suffix = " dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE" if narrow else " dst_sel:DWORD dst_unused:UNUSED_PAD"
        for k, kind in enumerate(row.sources):
            suffix += f" src{k}_sel:{'WORD_1' if BITS[kind] == 16 else 'DWORD'}"
        self._trial(row, "sdwa", moved, spelled, suffix=suffix, encoding="_sdwa", high=narrow)

    def _high_operands(self, row: Row, texts: list[str]) -> tuple[list[np.ndarray], list[str]]:
        """Registers from v20 on with 16-bit operands in their high halves; the low halves hold other values."""
        moved, spelled = [], list(texts)
        for k, kind in enumerate(row.sources):
            low = values(kind, k, "random")
            if BITS[kind] != 16:
                moved.append(view(low, kind))
                continue
            high = values(kind, k, "high")
            self.load(20 + 2 * k, low | high << np.uint64(16))
            moved.append(view(high, kind))
            spelled[k] = f"v{20 + 2 * k}"
        self.wait()
        return moved, spelled

    def _halves(self, row: Row, texts: list[str]) -> None:
        """High halves of the operands and of the result."""
        moved, spelled = self._high_operands(row, texts)
        parts = [int(BITS[kind] == 16) for kind in (*row.sources, row.result)]
        if "short" in row.forms:
            self._trial(row, "halves", moved, spelled, high=bool(parts[-1]), short=tuple(parts))
        elif self._suffixed(row):
            spelled = [text + ".h" if part else text for text, part in zip(spelled, parts, strict=False)]
            self._trial(row, "halves", moved, spelled, high=True)
        else:
            suffix = f" op_sel:[{','.join(map(str, parts))}]"
            self._trial(row, "halves", moved, spelled, high=bool(parts[-1]), suffix=suffix)

    def _dpp(self, row: Row, random: list[np.ndarray], texts: list[str]) -> None:
        """The first operand taken from another lane of its row of 16, bound_ctrl giving 0 outside."""
        control, moved = _dpp_choice(self.arch, zlib.crc32(row.names.encode()), random[0])
        suffix = f" {control} row_mask:0xf bank_mask:0xf bound_ctrl:{0 if self.cdna else 1}"
        encoding = "_e64_dpp" if has_long_dpp(row) else "_dpp"
        self._trial(row, "dpp", [moved, *random[1:]], texts, suffix=suffix, encoding=encoding)

    def _sdwa(self, row: Row, random: list[np.ndarray], texts: list[str]) -> None:
        """Operands from bytes and words of registers."""
        operands = [random[0].view(np.uint32) >> np.uint32(8) & np.uint32(0xFF)]
        suffix = " dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1"
        if len(random) > 1:
            operands.append(random[1].view(np.uint32) >> np.uint32(16))
            suffix += " src1_sel:WORD_1"
        views = [o.view(VIEW[kind]) for o, kind in zip(operands, row.sources, strict=True)]
        self._trial(row, "sdwa", views, texts, suffix=suffix, encoding="_sdwa")

    # -- one trial ----------------------------------------------------------------------------------------

    def _suffixed(self, row: Row) -> bool:
        """Whether the assembler writes halves as v1.l and v1.h rather than as op_sel."""
        return not self.cdna and row.name(self.arch, self.known) in SUFFIXED

    def _register(self, row: Row, position: int, first: int) -> str:
        kind, at = row.sources[position], first + 2 * position
        if BITS[kind] == 64:
            return f"v[{at}:{at + 1}]"
        return f"v{at}.l" if BITS[kind] == 16 and self._suffixed(row) else f"v{at}"

    def _trial(
        self, row: Row, form: str, operands: list[np.ndarray], texts: list[str], suffix: str = "", masked: bool = False,
        high: bool = False, e64: bool = False, encoding: str = "", meaning: object = None, short: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        name = row.name(self.arch, self.known)
        assert name is not None
        old = view(self.old & np.uint64((1 << BITS[row.result]) - 1), row.result)
        if high:
            old = view(self.old >> np.uint64(16) & np.uint64(0xFFFF), row.result)
        given = [*operands, old] if row.old else operands
        expected = evaluate(row, given)
        if callable(meaning):
            expected = meaning(row, given, expected)
        wide = row.result_words == 2
        self.add(f"v_mov_b32 v{OUT}, v{OLD}", *([f"v_mov_b32 v{OUT + 1}, v{OLD + 1}"] if wide else []))
        target = f"v[{OUT}:{OUT + 1}]" if wide else f"v{OUT}"
        if BITS[row.result] == 16 and self._suffixed(row):
            target += ".h" if high else ".l"
        template = row.text or "{op} {d}, " + ", ".join("{" + "abc"[k] + "}" for k in range(len(texts)))
        op = SPELLED.get(name, name) + (encoding or ("_e64" if e64 and "nosuffix" not in row.forms else ""))
        if masked:
            self.set_exec(False)
        fields = dict(zip("abc", texts, strict=False))
        vcc = "vcc" if self.cdna else "vcc_lo"
        mask = "s[24:25]" if self.cdna else "s24"
        full = "s_mov_b64 exec, -1" if self.cdna else "s_mov_b32 exec_lo, -1"
        for line in (*row.setup, template):
            text = line.format(op=op, d=target, vcc=vcc, m=mask, full=full, **fields)
            if line is template:
                text = f"{SHORT}{','.join(map(str, short))} {text}" if short else text + suffix
            self.add(text)
        if masked:
            self.set_exec(True)
        plane = self.store(OUT)
        if wide:
            self.store(OUT + 1)
        self.trials.append(Trial(row, name, form, operands, expected, masked, high, plane))

    # -- running ------------------------------------------------------------------------------------------

    def run(self) -> list[str]:
        """Execute and compare; returns a line for every trial that went wrong."""
        words = self._execute()
        return [text for trial in self.trials if (text := self._difference(trial, words))]

    def _execute(self) -> np.ndarray:
        cpu = CPU[self.arch]
        body = [*self._prologue(), *short_halves(self.lines, cpu)]
        hsaco = assemble(
            "\n".join(body), cpu, lanes_of(cpu), (("inp", 8), ("out", 8)), self.shared, LANES, self.private
        )
        args = {"inp": np.concatenate(self.inputs), "out": np.full(self._planes * LANES, 0xDEADBEEF, np.uint32)}
        done = EmulatedKernel(hsaco, "k").launch(args, (1, 1, 1))
        assert done.findings == (), done.findings[:3]
        return done.outputs["out"].reshape(self._planes, LANES)

    def _prologue(self) -> list[str]:
        load = "s_load_dwordx2" if self.cdna else "s_load_b64"
        saved = list(self.lines)
        self.lines = []
        self.add(f"{load} s[4:5], s[0:1], 0x0", f"{load} s[6:7], s[0:1], 0x8", "v_lshlrev_b32 v1, 2, v0")
        self.add("s_wait_kmcnt 0" if self.arch == RDNA4 else "s_waitcnt lgkmcnt(0)")
        self.add(*(f"v_mov_b32 v{k}, 0" for k in range(2, 32)))
        self.add("s_mov_b32 vcc_lo, 0", "s_mov_b32 vcc_hi, 0", "s_mov_b32 s24, 0", "s_mov_b32 s25, 0")
        prologue, self.lines = self.lines, saved
        return prologue

    def _difference(self, trial: Trial, words: np.ndarray) -> str:
        row = trial.row
        got = words[trial.plane].astype(np.uint64)
        if row.result_words == 2:
            got |= words[trial.plane + 1].astype(np.uint64) << np.uint64(32)
        wanted = trial.expected.view(f"u{BITS[row.result] // 8}").astype(np.uint64)
        same = self._agrees(trial, got, wanted)
        if trial.masked:
            bits = IDLE if self.cdna else IDLE & 0xFFFFFFFF
            lanes = 64 if self.cdna else 32
            active = np.array([bits >> (k % lanes) & 1 for k in range(LANES)], bool)
            whole = self.old if row.result_words == 2 else self.old & np.uint64(0xFFFFFFFF)
            same = np.where(active, same, got == (0 if row.idle_zero else whole))
        if row.where is not None:
            same |= ~row.where(*trial.operands)
        if same.all():
            return ""
        at = int(np.flatnonzero(~same)[0])
        shown = ", ".join(f"{o[at]!r}" for o in trial.operands)
        return (
            f"{self.arch} {trial.name} ({trial.form}): lane {at} of {int((~same).sum())}: {int(got[at]):#x} for "
            f"{int(wanted[at]):#x} from ({shown}), was {int(self.old[at]):#x}"
        )

    def _agrees(self, trial: Trial, got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        row, bits = trial.row, BITS[trial.row.result]
        rest = np.ones(LANES, bool)
        if bits == 16:
            low, high = got & np.uint64(0xFFFF), got >> np.uint64(16)
            value, other = (high, low) if trial.high else (low, high)
            kept = self.old & np.uint64(0xFFFF) if trial.high else self.old >> np.uint64(16) & np.uint64(0xFFFF)
            clears = self.cdna and not row.keeps and not trial.high
            rest = other == (np.uint64(0) if clears else kept)
            got = value
        if row.result in ("f16", "f32", "f64"):
            a, b = (x.astype(f"u{bits // 8}").view(VIEW[row.result]) for x in (got, wanted))
            same = close(a, b, row.ulp, row.floor)
            if trial.form == "clamp":  # the manuals leave open which zero a clamped -0 gives
                same |= (a == 0) & (b == 0)
        elif row.result in ("pk16", "pkf"):
            half = "f16" if row.result == "pk16" else "f32"
            a, b = (x.astype(f"u{bits // 8}").view(VIEW[half]).reshape(LANES, 2) for x in (got, wanted))
            same = close(a, b, row.ulp, row.floor).all(1)
        elif row.result in ("bf16", "pkb"):
            a, b = (_bf16(x, bits) for x in (got, wanted))
            same = close(a, b, row.ulp, row.floor).all(1)
        else:
            same = got == wanted
        return same & rest


LONG_DPP: Final = frozenset({"f32", "f16", "u32", "i32", "u16", "i16", "shift", "shift16", "power", "power16", "bytes"})
"""Kinds of operands that a VOP3 with DPP may have."""
NO_DPP: Final = re.compile(r"v_(dot.*|mul_(lo|hi)_[ui]\d+|mad_[iu]\d+_[iu]\d+|.*(64|accvgpr).*)")


def has_long_dpp(row: Row) -> bool:
    """Whether RDNA has a DPP form of the operation's VOP3 encoding that is tried."""
    kinds = {*row.sources, row.result}
    plain = not row.text and not row.variant and not row.old and "dpp" not in row.forms and len(row.sources) > 1
    return plain and kinds <= LONG_DPP and not NO_DPP.match(row.names)


def has_sdwa(row: Row) -> bool:
    """Whether GFX9 has a sub-dword form of the operation: those of VOP1 and VOP2."""
    return bool(row.forms & {"sdwa", "short"})


def close(a: np.ndarray, b: np.ndarray, ulp: float, floor: float) -> np.ndarray:
    """Bitwise equal, both NaN, or within some units in the last place of the expected value."""
    bits = f"u{a.dtype.itemsize}"
    same = (np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)) | (np.isnan(a) & np.isnan(b))
    if ulp or floor:
        with np.errstate(all="ignore"):
            room = ulp * np.spacing(np.abs(b)).astype(np.float64) + floor
            same |= np.abs(a.astype(np.float64) - b.astype(np.float64)) <= room
    return same


def _bf16(words: np.ndarray, bits: int) -> np.ndarray:
    """bf16 values as f32 [lanes, elements]."""
    halves = words.astype(f"u{bits // 8}").view(np.uint16).reshape(LANES, bits // 16)
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _clamped(row: Row, operands: list[np.ndarray], plain: np.ndarray) -> np.ndarray:
    """ISA "CLAMP": floats go to [0, 1] and NaN to 0."""
    kind = plain.dtype.type
    return np.where(np.isnan(plain) | (plain <= 0), kind(0), np.minimum(plain, kind(1)))


def _saturated(row: Row) -> object:
    """ISA "CLAMP" of whole numbers: the exact result limited to the result's range."""
    bits, signed = BITS[row.result], row.result[0] == "i"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)

    def apply(row: Row, operands: list[np.ndarray], plain: np.ndarray) -> np.ndarray:
        exact = [row.meaning(*lane) for lane in zip(*(o.tolist() for o in operands), strict=True)]
        return np.array([min(max(x, low), high) for x in exact]).astype(plain.dtype)

    return apply


def _dpp_choice(arch: str, seed: int, value: np.ndarray) -> tuple[str, np.ndarray]:
    """A lane pattern of the ISA's "DPP_CTRL" table and the moved operand; lanes without a source read 0."""
    lane = np.arange(LANES)
    row, at = lane & ~15, lane & 15
    n = seed % 15 + 1
    moves = [
        (f"row_shl:{n}", np.where(at + n < 16, lane + n, -1)),
        (f"row_shr:{n}", np.where(at >= n, lane - n, -1)),
        (f"row_ror:{n}", row + (at - n) % 16),
        ("row_mirror", row + 15 - at),
        ("row_half_mirror", (lane & ~7) + 7 - (lane & 7)),
        ("quad_perm:[3,1,0,2]", (lane & ~3) + np.array([3, 1, 0, 2])[lane & 3]),
        (f"row_newbcast:{n}", row + n) if arch == CDNA else (f"row_share:{n}", row + n),
    ]
    if arch != CDNA:
        moves.append((f"row_xmask:{n}", row + (at ^ n)))
    control, source = moves[seed // 16 % len(moves)]
    moved = np.where(source >= 0, value[source], value.dtype.type(0))
    return control, moved
