"""Sites of machine code. Rules by which a site is not drawn stand with the kind that they concern."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mutants.code import Kernel, Loop, nops, successors
from mutants.outstanding import most_outstanding
from mutants.site import MACHINE, Mutant
from specgen.devices.amdgpu_emulator.blocks import BRANCHES, Block
from specgen.devices.amdgpu_emulator.hazards import waits_of
from specgen.devices.amdgpu_emulator.instruction import LITERAL, VECTOR, Instruction

Patches = list[tuple[Instruction, bytes]]
Site = tuple[str, bool, str, Patches]
"""Kind, whether in a steady loop, text, and the new bytes of each changed instruction."""

MEMORY = ("MUBUF", "GLOBAL", "FLAT", "DS")


def machine_mutants(folder: Path, spec: str, target: str, entries: dict[str, str], elements: int) -> Iterator[Mutant]:
    """Every site of the kernels of a target; `entries` is entry -> symbol, `elements` the bytes of the smallest
    element of a buffer."""
    for entry, symbol in entries.items():
        kernel = Kernel(folder, target, symbol)
        for finder in (barriers, waits, guards, swaps, tails, drains, lanes):
            for kind, steady, text, patches in finder(kernel):
                yield Mutant(kind, MACHINE, spec, target, entry, steady, text, _patcher(kernel, patches))
        for kind, steady, text, patches in addresses(kernel, elements):
            yield Mutant(kind, MACHINE, spec, target, entry, steady, text, _patcher(kernel, patches))


def _patcher(kernel: Kernel, patches: Patches) -> Callable[[bytes], bytes]:
    start = kernel.place

    def apply(data: bytes) -> bytes:
        assert data[start:].startswith(kernel.object.code)
        changed = bytearray(data)
        for inst, new in patches:
            assert len(new) == inst.size
            changed[start + inst.offset : start + inst.offset + inst.size] = new
        return bytes(changed)

    return apply


def _each(kernel: Kernel) -> Iterator[tuple[Block, Instruction]]:
    for block in kernel.program.blocks:
        for inst in kernel.code_of(block):
            yield block, inst


def barriers(kernel: Kernel) -> Iterator[Site]:
    """Barriers dropped; a split barrier loses its signal and the next wait."""
    order = list(_each(kernel))
    for at, (block, inst) in enumerate(order):
        if inst.name == "s_barrier":
            yield "barrier", kernel.steady(block.number), kernel.shown(inst), [(inst, nops(4))]
        elif inst.name == "s_barrier_signal":
            wait = next(other for _, other in order[at:] if other.name == "s_barrier_wait")
            text = f"{kernel.shown(inst)} and its wait"
            yield "barrier", kernel.steady(block.number), text, [(inst, nops(4)), (wait, nops(4))]


def waits(kernel: Kernel) -> Iterator[Site]:
    """Each counter of each wait raised by one.

    Not drawn: a counter of which no path has more operations outstanding than the wait allows. Neither the wait nor
    the raised one then waits for anything.
    """
    most = most_outstanding(kernel)
    for index, inst in enumerate(kernel.program.instructions):
        block = next(b for b in kernel.program.blocks if b.first <= index <= b.last)
        for counter, count in waits_of(inst):
            if inst.name == "s_wait_idle" or most[index].get(counter, 0) <= count:
                continue
            new = _raised(kernel, inst, counter)
            if new is not None:
                text = f"{kernel.shown(inst)}: {counter}cnt {count} raised"
                yield "wait", kernel.steady(block.number), text, [(inst, new)]


def _raised(kernel: Kernel, inst: Instruction, counter: str) -> bytes | None:
    """The immediate for which the counter's number is one higher and the other counters' are as before."""
    wanted = {**dict(waits_of(inst)), counter: dict(waits_of(inst))[counter] + 1}
    for bit in range(16):
        new = kernel.with_field(inst, "simm16", inst.fields["simm16"] + (1 << bit))
        if new is None:
            continue
        value = int.from_bytes(new[:2], "little")
        if dict(waits_of(_with_immediate(inst, value))) == wanted:
            return new
    return None


def _with_immediate(inst: Instruction, value: int) -> Instruction:
    return Instruction(
        inst.arch, inst.offset, inst.size, inst.name, inst.form, "", {"simm16": value}, inst.operands, inst.literal
    )


_ORDERED = re.compile(r"(s_cmp|v_cmp|v_cmpx)_(lt|le|gt|ge)_([iu](?:16|32|64))")
_EQUAL = re.compile(r"s_cmp_(eq|lg)_[iu](32|64)")
_SHIFTED = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}


def guards(kernel: Kernel) -> Iterator[Site]:
    """`<` and `<=`, `>` and `>=` of integers exchanged; the constant that a scalar is compared with raised by one."""
    for block, inst in _each(kernel):
        steady = kernel.steady(block.number)
        if match := _ORDERED.fullmatch(inst.name):
            name = f"{match[1]}_{_SHIFTED[match[2]]}_{match[3]}"
            new = kernel.with_name(inst, name)
            if new is not None:
                yield "guard", steady, f"{kernel.shown(inst)} to {name}", [(inst, new)]
        elif _EQUAL.fullmatch(inst.name):
            for field in ("ssrc0", "ssrc1"):
                new = _next_constant(kernel, inst, field)
                if new is not None:
                    yield "guard", steady, f"{kernel.shown(inst)}: constant + 1", [(inst, new)]


def _next_constant(kernel: Kernel, inst: Instruction, field: str) -> bytes | None:
    code = inst.fields[field]
    if 128 <= code < 192:
        return kernel.with_field(inst, field, code + 1)
    if code == LITERAL and inst.literal is not None:
        return kernel.with_literal(inst, (inst.literal + 1) & 0xFFFFFFFF)
    return None


def swaps(kernel: Kernel) -> Iterator[Site]:
    """Destinations of neighbouring loads of a loop exchanged, or the sources of two copies in one of its blocks.

    Not drawn: loads from the same address, and copies of the same register (the exchange changes nothing); loops that
    only take maxima, which are the same in any order.
    """
    for loop in kernel.loops:
        if _takes_maxima(kernel, loop):
            continue
        own = [b for b in kernel.program.blocks if kernel.loop_of(b.number) == loop]
        loads = [i for b in own for i in kernel.code_of(b) if i.form in MEMORY and _loaded(i)]
        for first, second in itertools.pairwise(loads):
            yield from _exchanged(kernel, loop, first, second, _destination(first))
        for block in own:
            copies = [i for i in kernel.code_of(block) if i.name == "v_mov_b32" and not i.variant]
            copies = [i for i in copies if i.fields["src0"] >= VECTOR]
            for first, second in itertools.pairwise(copies):
                yield from _exchanged(kernel, loop, first, second, "src0")


_TAKES_ORDER = re.compile(
    r"v_(dual_)?(pk_)?(add|sub|mul|fma|fmac|fmaak|fmamk|mad|mac)\w*_(f32|f16|mix_f32)|.*_(store|write)_.*"
)
"""Instructions for which it matters in which order values come."""


def _takes_maxima(kernel: Kernel, loop: Loop) -> bool:
    body = [i for b in loop.blocks for i in kernel.code_of(kernel.program.blocks[b])]
    names = {part.name for i in body for part in (i.parts or (i,))}
    return any(name.startswith(("v_max", "v_dual_max")) for name in names) and not any(map(_TAKES_ORDER.match, names))


def _destination(inst: Instruction) -> str:
    return "vdata" if "vdata" in inst.fields else "vdst"


def _exchanged(kernel: Kernel, loop: Loop, first: Instruction, second: Instruction, field: str) -> Iterator[Site]:
    if first.name != second.name or field not in first.fields or field not in second.fields:
        return
    a, b = first.fields[field], second.fields[field]
    others = [{k: v for k, v in i.fields.items() if k != field} for i in (first, second)]
    if a == b or (field != "src0" and others[0] == others[1]):
        return
    new = kernel.with_field(first, field, b), kernel.with_field(second, field, a)
    if new[0] is not None and new[1] is not None:
        text = f"{field} of {kernel.shown(first)} and {kernel.shown(second)}"
        yield "swap", loop.steady, text, [(first, new[0]), (second, new[1])]


def tails(kernel: Kernel) -> Iterator[Site]:
    """Loops that are not steady, skipped by the branch that enters or passes them."""
    for loop in kernel.loops:
        if loop.steady:
            continue
        for block in kernel.program.blocks:
            last = kernel.program.instructions[block.last]
            if block.number in loop.blocks or last.name not in BRANCHES or last.name.endswith(("execz", "execnz")):
                continue
            assert block.target is not None
            assert block.following is not None
            passed = {block.following, _jumps_to(kernel, block.following)} & loop.exits
            if block.target in loop.exits and _leads_to(kernel, block.following, loop):
                new = kernel.with_name(last, "s_branch")
                if new is not None:
                    yield "tail", False, f"{kernel.shown(last)} always taken", [(last, new)]
            elif passed and _leads_to(kernel, block.target, loop):
                yield "tail", False, f"{kernel.shown(last)} never taken", [(last, nops(last.size))]


def _jumps_to(kernel: Kernel, number: int) -> int | None:
    """Where a block of a single jump leads."""
    block = kernel.program.blocks[number]
    return block.target if block.kind == "jump" and block.first == block.last else None


def _leads_to(kernel: Kernel, number: int, loop: Loop) -> bool:
    """Whether control comes from a block to the loop without a choice."""
    for _ in kernel.program.blocks:
        if number in loop.blocks:
            return True
        following = successors(kernel.program.blocks[number])
        if len(following) != 1:
            return False
        number = following[0]
    return False


_ACCUMULATE = re.compile(r"v_(add|max|max_num|min|min_num|fmac)_f32")


def drains(kernel: Kernel) -> Iterator[Site]:
    """Behind a steady loop: the first step on each register that the loop loaded ahead, left out."""
    for loop in kernel.loops:
        if not loop.steady:
            continue
        body = [i for b in sorted(loop.blocks) for i in kernel.code_of(kernel.program.blocks[b])]
        loaded = {r for i in body if i.form in MEMORY for r in _loaded(i)}
        for number in sorted(loop.exits):
            for inst in kernel.code_of(kernel.program.blocks[number]):
                if _ACCUMULATE.fullmatch(inst.name) and not inst.variant and inst.form == "VOP2" and inst.size == 4:
                    new = _without(inst, loaded)
                    if new is not None:
                        yield "tail", True, f"{kernel.shown(inst)} left out", [(inst, new)]


def _loaded(inst: Instruction) -> range:
    field = _destination(inst)
    if field not in inst.fields or "store" in inst.name or "write" in inst.name:
        return range(0)
    first = inst.fields[field]
    return range(first, first + max(1, inst.operand(field).bits // 32))


def _without(inst: Instruction, loaded: set[int]) -> bytes | None:
    """The step without its queued operand: the other one, copied."""
    queued = [f for f in ("src0", "vsrc1") if inst.fields[f] in loaded]
    if inst.name.startswith("v_fmac"):
        return nops(inst.size) if queued else None
    if len(queued) != 1 or min(inst.fields["src0"], inst.fields["vsrc1"]) < VECTOR:
        return None
    kept = inst.fields["vsrc1" if queued[0] == "src0" else "src0"]
    move = 0x7E000200 | (inst.fields["vdst"] - VECTOR) << 17 | kept
    return move.to_bytes(4, "little")


WRONG_PATTERNS = {
    0xB1: (0xE4, 0x4E),
    0x4E: (0xE4, 0xB1),
    0x141: (0xE4, 0xB1),
    0x140: (0xE4, 0x141),
    0x164: (0xE4, 0x161, 0x168),
    0x168: (0xE4, 0x164),
}
"""DPP control -> controls that read lanes of another group. 0xb1, 0x4e and 0xe4 permute quads (by distance 1, 2 and
not at all), 0x140 and 0x141 mirror rows and half rows, 0x160 + n is distance n within a row.

Not drawn: another lane of the right group. After the steps before, all lanes of a group hold the same bits."""


def lanes(kernel: Kernel) -> Iterator[Site]:
    """Shuffles between lanes that read a lane of the wrong group."""
    for block, inst in _each(kernel):
        steady = kernel.steady(block.number)
        for text, new in _wrong_lanes(kernel, inst):
            if new is not None:
                yield "lane", steady, f"{kernel.shown(inst)} {text}", [(inst, new)]


def _wrong_lanes(kernel: Kernel, inst: Instruction) -> Iterator[tuple[str, bytes | None]]:
    if inst.variant == "dpp16":
        for control in WRONG_PATTERNS.get(inst.fields["dpp"], ()):
            yield f"reads by {control:#x}", kernel.with_field(inst, "dpp", control)
    elif inst.name == "v_permlanex16_b32":
        yield "reads its own row", kernel.with_name(inst, "v_permlane16_b32")
    elif inst.name == "ds_swizzle_b32":
        # The mask that is exclusive-ored into the lane stands in bits 10 to 14 of the offset.
        yield "reads its own lane", kernel.with_field(inst, "offset1", inst.fields["offset1"] & 0x83)
    elif inst.name == "ds_bpermute_b32":
        yield "reads 32 lanes on", kernel.with_field(inst, "offset0", inst.fields["offset0"] ^ 128)


def addresses(kernel: Kernel, elements: int) -> Iterator[Site]:
    """Offsets of memory instructions raised by one element, or lowered where the field is full."""
    for block, inst in _each(kernel):
        if inst.form not in MEMORY or inst.name.startswith(("ds_swizzle", "ds_bpermute", "ds_permute")):
            continue
        field = next((f for f in ("offset", "ioffset", "offset0") if f in inst.fields), None)
        if field is None:
            continue
        size = _element(inst, elements)
        for value in (inst.fields[field] + size, inst.fields[field] - size):
            new = kernel.with_field(inst, field, value) if value >= 0 else None
            if new is not None:
                text = f"{kernel.shown(inst)}: {field} {value}"
                yield "address", kernel.steady(block.number), text, [(inst, new)]
                break


def _element(inst: Instruction, smallest: int) -> int:
    """Bytes of an element: those of the access where it is narrow, else of the smallest element of a buffer."""
    if re.search(r"(u8|i8|b8|byte|ubyte|sbyte)$", inst.name):
        return 1
    if re.search(r"(u16|i16|b16|short|ushort|sshort)(_d16)?$", inst.name):
        return 2
    return 4 if inst.form == "DS" or inst.name.endswith(("_b32", "_dword")) else smallest
