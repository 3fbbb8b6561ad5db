"""A kernel's code as basic blocks, each compiled to one Python function when it is first reached."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from specgen.devices.amdgpu_emulator import alu, crosslane, hazards, matrix, memory_ops
from specgen.devices.amdgpu_emulator.decoder import DecodeError, decode
from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported, vector_index
from specgen.devices.amdgpu_emulator.evidence import BlockCounts, classify, vector_bytes
from specgen.devices.amdgpu_emulator.instruction import ARCHITECTURES, EXEC, VCC, VECTOR, Instruction
from specgen.devices.amdgpu_emulator.runtime import namespace
from specgen.devices.amdgpu_emulator.state import SCALAR_COUNT
from specgen.devices.amdgpu_emulator.values import Value
from specgen.devices.base import DeviceError

BRANCHES: Final = {
    "s_cbranch_scc0": ("~", "scc"), "s_cbranch_scc1": ("", "scc"), "s_cbranch_execz": ("~", "exec"),
    "s_cbranch_execnz": ("", "exec"), "s_cbranch_vccz": ("~", "vcc"), "s_cbranch_vccnz": ("", "vcc"),
}  # fmt: skip

NOTHING: Final = (
    "s_nop", "s_sleep", "s_delay_alu", "s_clause", "s_wait", "s_setprio", "s_inst_prefetch", "s_set_inst_prefetch",
    "s_code_end", "s_sendmsg", "s_icache_inv", "s_ttrace", "s_wakeup", "s_incperf", "s_decperf", "s_version",
    "s_singleuse", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_inv", "buffer_wbl2", "buffer_wbinv", "global_inv",
    "global_wb", "s_dcache", "v_nop", "v_pipeflush", "v_clrexcp",
)  # fmt: skip
"""Prefixes of instructions without an effect on values (waits and caches: see `hazards`)."""

_MODE_REGISTER: Final = 1
"""Hardware register number of MODE for s_setreg."""


@dataclass
class Block:
    """A straight piece of code. `kind` tells how it ends: fall, jump, branch, barrier or end."""

    number: int
    first: int
    last: int
    kind: str
    target: int | None
    following: int | None
    function: Callable[..., Any] | None = None
    vectors: tuple[int, ...] = ()
    steps: tuple[hazards.Step, ...] = ()
    counts: BlockCounts = field(default_factory=BlockCounts)

    @property
    def backward(self) -> bool:
        return self.target is not None and self.target <= self.number


class Program:
    """Decoded code of one kernel. Blocks are numbered in address order, so that a lower number is a lower PC."""

    def __init__(self, code: bytes, entry: int, arch: str, lanes: int, sanitize: bool, single: bool = False) -> None:
        """`single` makes each instruction a block of its own (for tracing)."""
        self.arch = ARCHITECTURES[arch]
        self.lanes = lanes
        self.sanitize = sanitize
        self.instructions = _reachable(code, entry, arch)
        self._index = {inst.offset: at for at, inst in enumerate(self.instructions)}
        writes = (inst for inst in self.instructions if inst.name == "v_writelane_b32")
        self._lane_registers = frozenset(vector_index(inst.fields["vdst"]) for inst in writes)
        self.blocks = self._form_blocks(entry, single)
        self.entry = next(block.number for block in self.blocks if self.instructions[block.first].offset == entry)

    def offset(self, block: Block) -> int:
        """Byte offset of a block in the kernel's code."""
        return self.instructions[block.first].offset

    def _form_blocks(self, entry: int, single: bool) -> list[Block]:
        leaders = {entry}
        for inst in self.instructions:
            if inst.name in BRANCHES or inst.name == "s_branch":
                leaders.update((inst.branch_target(), inst.offset + inst.size))
            elif inst.name in ("s_barrier", "s_barrier_wait", "s_endpgm") or single:
                leaders.add(inst.offset + inst.size)
        starts = sorted(self._index[offset] for offset in leaders if offset in self._index)
        number = {start: at for at, start in enumerate(starts)}
        blocks = []
        for at, start in enumerate(starts):
            end = starts[at + 1] if at + 1 < len(starts) else len(self.instructions)
            blocks.append(self._block(at, start, end - 1, number))
        return blocks

    def _block(self, at: int, first: int, last: int, number: dict[int, int]) -> Block:
        inst = self.instructions[last]
        following = number.get(self._index.get(inst.offset + inst.size, -1))
        kind, target = "fall", None
        if inst.name == "s_endpgm":
            kind, following = "end", None
        elif inst.name == "s_branch" or inst.name in BRANCHES:
            kind = "jump" if inst.name == "s_branch" else "branch"
            target = number[self._index[inst.branch_target()]]
        elif inst.name in ("s_barrier", "s_barrier_wait"):
            kind = "barrier"
        return Block(at, first, last, kind, target, following)

    def compile(self, block: Block) -> Callable[..., Any]:
        """Translate a block; raises `DeviceError` with the instruction's text when one is not executed."""
        em = Emitter(self.arch, self.lanes)
        checker = _Checker(em, self._lane_registers) if self.sanitize else None
        tally = _Tally(em, block.counts)
        condition = None
        steps = []
        for index in range(block.first, block.last + 1):
            inst = self.instructions[index]
            em.begin(index)
            start = len(em.lines)
            try:
                condition = emit(em, inst)
            except Unsupported as error:
                raise DeviceError(f"unsupported-instruction: `{inst}` at {inst.offset:#x}: {error}") from error
            if checker is not None:
                checker.instruction(inst, index, start)
            steps.append(hazards.make_step(index, inst, em.touched))
            tally.instruction(inst)
        tally.finish()
        source = em.function(condition)
        names = dict(namespace(self.lanes))
        names.update(em.globals)
        exec(compile(source, f"<block {self.offset(block):#x}>", "exec"), names)
        block.vectors, block.steps = em.vectors, tuple(steps)
        block.function = names["block"]
        return names["block"]


def _reachable(code: bytes, entry: int, arch: str) -> list[Instruction]:
    """Every instruction that control flow can reach, by address."""
    found: dict[int, Instruction] = {}
    work = [entry]
    while work:
        at = work.pop()
        while at not in found:
            if not 0 <= at < len(code):
                raise DeviceError(f"control flow leaves the kernel's code at {at:#x}")
            try:
                inst = decode(code, at, arch)
            except DecodeError as error:
                raise DeviceError(f"unsupported-instruction: {error}") from error
            found[at] = inst
            if inst.name in BRANCHES or inst.name == "s_branch":
                work.append(inst.branch_target())
            if inst.name in ("s_endpgm", "s_branch"):
                break
            at += inst.size
    return [found[at] for at in sorted(found)]


class _Checker:
    """Adds the unwritten-register checks to a block; a register is looked at once between changes of EXEC."""

    def __init__(self, em: Emitter, lane_registers: frozenset[int]) -> None:
        """`lane_registers`: vector registers that the kernel puts scalars into, one lane at a time."""
        self._em = em
        self._lane_registers = lane_registers
        self._vectors: set[int] = set()
        self._scalars: set[int] = set()
        em.emit("W = st.written")

    def instruction(self, inst: Instruction, index: int, start: int) -> None:
        em, touched = self._em, em_touched(self._em)
        mask = "True" if inst.name.startswith(("v_mfma", "v_wmma")) else None
        before = []
        copies, spreads = register_copies(inst)
        lanes = _lane_move(em, inst)
        scalars = scalar_copies(inst)
        unseen_v = {undefined_high(inst), *copies.values(), *lanes.vectors, *self._spilled(inst)}
        for at in sorted(touched.reads_v - self._vectors - unseen_v):
            before.append(f"if W.v[{at}] is not True: check_vector(st, {at}, ix, {mask or em.mask}, {index})")
            self._vectors.add(at)
        scalar_high = inst.get("src2") + 1 if inst.name in WIDE_ADDENDS else None
        unseen_s = {scalar_high, *merged_mask(inst), *lanes.sources, *scalars.values(), *spreads.values()}
        for code in sorted(touched.reads_s - self._scalars - unseen_s):
            before.append(f"if W.s[{code}] is not True: check_scalar(st, {code}, ix, {index})")
            self._scalars.add(code)
        em.lines[start:start] = before
        self._follow(copies, spreads, lanes, scalars)
        for at in sorted(touched.writes_v - self._vectors - copies.keys() - spreads.keys() - lanes.vectors):
            em.emit(f"if W.v[{at}] is not True: W.mark_v({at}, ix, {mask or em.mask})")
            self._vectors.add(at)
        for code in sorted(touched.writes_s - self._scalars - lanes.targets - scalars.keys()):
            em.emit(f"if W.s[{code}] is not True: W.mark_s({code}, ix)")
            self._scalars.add(code)
        if any("set_exec" in line for line in em.lines[start:]):
            self._vectors.clear()

    def _follow(
        self, copies: dict[int, int], spreads: dict[int, int], lanes: _LaneMove, scalars: dict[int, int]
    ) -> None:
        """What a copy leaves is as unwritten as what it was made from: the first real use is the finding."""
        em = self._em
        for at, source in copies.items():
            em.emit(f"W.follow_v({at}, {source}, ix, {em.mask})")
        for at, source in spreads.items():
            em.emit(f"if W.v[{at}] is not True or W.s[{source}] is not True: W.spread({at}, {source}, ix, {em.mask})")
        for target, source in scalars.items():
            em.emit(f"if W.s[{target}] is not True or W.s[{source}] is not True: W.copy_s({target}, {source}, ix)")
        if lanes.text:
            em.emit(lanes.text)
        self._vectors -= copies.keys() | spreads.keys() | lanes.vectors
        self._scalars -= scalars.keys() | lanes.targets

    def _spilled(self, inst: Instruction) -> frozenset[int]:
        """Registers that hold scalars in some of their lanes and that go to private memory as a whole."""
        if inst.form != "SCRATCH" or "_store_" not in inst.name:
            return frozenset()
        first = vector_index(inst.get("data", "vsrc", default=VECTOR))
        return self._lane_registers & set(range(first, first + 4))


@dataclass(frozen=True)
class _LaneMove:
    """`v_writelane` or `v_readlane` of a kernel: its vector register, the scalar registers, and the line to emit."""

    vectors: frozenset[int] = frozenset()
    sources: frozenset[int] = frozenset()
    targets: frozenset[int] = frozenset()
    text: str = ""


def _lane_move(em: Emitter, inst: Instruction) -> _LaneMove:
    """Scalars are spilled to single lanes: each lane is as written as the scalar that it holds."""
    if inst.name not in ("v_writelane_b32", "v_readlane_b32"):
        return _LaneMove()
    lane = em.source(inst.fields["src1"], 32, inst, "u32").code
    if inst.name == "v_readlane_b32":
        at, target = vector_index(inst.fields["src0"]), inst.fields["vdst"]
        text = f"if W.v[{at}] is not True or W.s[{target}] is not True: W.read_lane({at}, {lane}, {target}, ix)"
        return _LaneMove(frozenset({at}), targets=frozenset({target}), text=text)
    at, source = vector_index(inst.fields["vdst"]), inst.fields["src0"]
    if source >= SCALAR_COUNT:
        return _LaneMove(frozenset({at}), text=f"if W.v[{at}] is not True: W.write_lane({at}, {lane}, None, ix)")
    text = f"if W.v[{at}] is not True or W.s[{source}] is not True: W.write_lane({at}, {lane}, {source}, ix)"
    return _LaneMove(frozenset({at}), frozenset({source}), text=text)


def scalar_copies(inst: Instruction) -> dict[int, int]:
    """Destination -> source of an instruction that only copies general scalar registers."""
    words = {"s_mov_b32": 1, "s_mov_b64": 2}.get(inst.name, 0)
    if not words or max(inst.fields["sdst"], inst.fields["ssrc0"]) >= VCC:
        return {}
    return {inst.fields["sdst"] + k: inst.fields["ssrc0"] + k for k in range(words)}


def merged_mask(inst: Instruction) -> frozenset[int]:
    """The scalar registers of a lane mask that loses the bits of the active lanes. Compilers merge new bits into a mask
    that way, also where it holds nothing yet; the bits of the other lanes are looked at by none of these lanes."""
    words = {"s_and_not1_b32": 1, "s_and_not1_b64": 2, "s_andn2_b32": 1, "s_andn2_b64": 2}.get(inst.name, 0)
    if not words or inst.fields["ssrc1"] != EXEC:
        return frozenset()
    return frozenset(range(inst.fields["ssrc0"], inst.fields["ssrc0"] + words))


WIDE_ADDENDS: Final = frozenset({"v_mad_u64_u32", "v_mad_i64_i32", "v_mad_co_u64_u32", "v_mad_co_i64_i32"})
"""Multiply-adds with a 64-bit addend: the low half of the result does not depend on the addend's high half, which
compilers leave undefined when they want 32 bits."""


def undefined_high(inst: Instruction) -> int | None:
    """The vector register of the addend's high half, unless a factor reads it too. The result's high half then counts
    as written: compilers copy it along with the low half and look at neither."""
    if inst.name not in WIDE_ADDENDS:
        return None
    addend = inst.get("src2")
    if addend < VECTOR or addend + 1 in (inst.get("src0"), inst.get("src1")):
        return None
    return vector_index(addend + 1)


COPIES: Final = {"v_mov_b32": 1, "v_dual_mov_b32": 1, "v_mov_b64": 2}
"""Instructions that only copy, and how many registers."""


def register_copies(inst: Instruction) -> tuple[dict[int, int], dict[int, int]]:
    """Destination -> source of an instruction that only copies into vector registers: from vector registers, and from
    general scalar ones. Compilers copy values that nothing looks at; a copy is as unwritten as its source, and the
    first real use is the finding."""
    parts = inst.parts or (inst,)
    if any(part.name not in COPIES or part.variant for part in parts):
        return {}, {}
    moves = [
        (vector_index(part.get("vdst")) + k, part.get("src0") + k) for part in parts for k in range(COPIES[part.name])
    ]
    vectors = {at: vector_index(source) for at, source in moves if source >= VECTOR}
    return vectors, {at: source for at, source in moves if source < VCC}


def em_touched(em: Emitter) -> Any:
    """The registers of the emitter's current instruction."""
    return em.touched


class _Tally:
    """Counts classes of instructions, and active lanes between changes of EXEC."""

    def __init__(self, em: Emitter, counts: BlockCounts) -> None:
        self._em = em
        self._counts = counts
        counts.clear()
        self._open = False
        self._seen = 0

    def instruction(self, inst: Instruction) -> None:
        kind = classify(inst)
        self._counts.classes[kind] += 1
        if inst.form in alu.VECTOR_FORMS or inst.form in ("VOPD", "DS", *memory_ops.VECTOR_MEMORY):
            if not self._open:
                self._counts.segments.append({"instructions": 0})
                self._open = True
            segment = self._counts.segments[-1]
            segment["instructions"] += 1
            space, size = vector_bytes(inst)
            if size:
                segment[space] = segment.get(space, 0) + size
        elif inst.form == "SMEM":
            self._counts.scalar_bytes += vector_bytes(inst)[1]
        changed = any("set_exec" in line for line in self._em.lines[self._seen :])
        if changed:
            self.finish()
        self._seen = len(self._em.lines)

    def finish(self) -> None:
        """Close the segment: the mask that its instructions saw is about to change."""
        if not self._open:
            return
        key = len(self._counts.segments) - 1
        line = f"tally[{key}] += lane_count({self._em.mask}, {self._em.exec_bits})"
        at = next((n for n in range(self._seen, len(self._em.lines)) if "ex = unpack" in self._em.lines[n]), None)
        self._em.lines.insert(len(self._em.lines) if at is None else at, line)
        self._em.globals["tally"] = self._counts.lanes
        self._counts.lanes.append(0)
        self._open = False


# -- one instruction --------------------------------------------------------------------------------------


def emit(em: Emitter, inst: Instruction) -> str | None:
    """Emit an instruction; returns the condition [waves] of a conditional branch."""
    name = inst.name
    if name in BRANCHES:
        return _condition(em, *BRANCHES[name])
    if name.startswith(NOTHING) or name in ("s_endpgm", "s_branch", "s_barrier", "s_barrier_wait"):
        return None
    if name in crosslane.EMITTERS:
        crosslane.EMITTERS[name](em, inst)
    elif name in SPECIAL:
        SPECIAL[name](em, inst)
    elif name.startswith(("v_wmma", "v_mfma", "v_smfma", "v_swmma")):
        matrix.emit_matrix(em, inst)
    elif name.startswith(("v_fma_mix", "v_mad_mix")):
        alu.emit_mixed_fma(em, inst)
    elif inst.form == "VOPD":
        alu.emit_pair(em, inst)
    elif inst.form in alu.VECTOR_FORMS or inst.form in alu.SCALAR_FORMS:
        alu.AluEmitter(em, inst).run()
    elif inst.form == "SMEM":
        memory_ops.emit_scalar_memory(em, inst)
    elif inst.form == "DS" or inst.form in memory_ops.VECTOR_MEMORY:
        memory_ops.emit_memory(em, inst)
    else:
        raise Unsupported("not executed")
    return None


def _condition(em: Emitter, sign: str, what: str) -> str:
    if what == "scc":
        return f"{sign}{em.scc()}[:, 0]"
    if what == "exec":
        return f"{sign}{em.exec_bits}.any(1)"
    bits = em.pair(106) if em.lanes == 64 else em.scalar(106)
    return f"{sign}({bits}[:, 0] != 0)"


def _signal_barrier(em: Emitter, inst: Instruction) -> None:
    code = inst.fields["ssrc0"]
    if code != 193:
        raise Unsupported("named barrier")
    em.emit("st.barrier_signal(ix)")


def _get_pc(em: Emitter, inst: Instruction) -> None:
    em.store_scalar(inst.fields["sdst"], 64, Value(f"u64(st.code_address + {inst.offset + inst.size})", "u64"))


def _set_mode(em: Emitter, inst: Instruction) -> None:
    """Denormals are kept and rounding is to nearest even: only writes that say so are executed."""
    wanted = {"s_denorm_mode": 0xF, "s_round_mode": 0}[inst.name]
    if inst.fields["simm16"] & 0xF != wanted:
        raise Unsupported("floating-point mode other than the default")


def _transpose_read(em: Emitter, inst: Instruction) -> None:
    offset = inst.fields["offset0"] | inst.fields["offset1"] << 8
    em.emit(f"a = ({em.vector(inst.fields['addr'])}.astype(i64) + {offset}) & 0xFFFFFFFF")
    em.emit(f"r = transpose_read(lds_load(st, a, {em.mask}, 8, {em.site()}))")
    for position in (0, 1):
        em.store_vector(inst.fields["vdst"] + position, 32, Value(f"r[..., {position}]", "u32"))


SPECIAL: Final[dict[str, Callable[[Emitter, Instruction], None]]] = {
    "s_barrier_signal": _signal_barrier,
    "s_getpc_b64": _get_pc,
    "s_denorm_mode": _set_mode,
    "s_round_mode": _set_mode,
    "v_div_scale_f32": alu.emit_division_scale,
    "v_div_scale_f64": alu.emit_division_scale,
    "v_pk_mov_b32": alu.emit_packed_move,
    "v_bitop3_b32": alu.emit_bit_operation,
    "v_bitop3_b16": alu.emit_bit_operation,
    "ds_read_b64_tr_b16": _transpose_read,
}


@functools.lru_cache(maxsize=64)
def program(code: bytes, entry: int, arch: str, lanes: int, sanitize: bool, single: bool = False) -> Program:
    """The program of these bytes, with the blocks that earlier launches translated."""
    return Program(code, entry, arch, lanes, sanitize, single)
