"""Loops of the machine code: which source loop each is, its copies at the backedge, its waits."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from specgen.lowering.amdgpu.asm import Block, Instruction, reads, writes
from specgen.lowering.amdgpu.context import LoopMark

_COPY = re.compile(r"v_mov_b32|v_mov_b64|s_mov_b32|s_mov_b64|v_accvgpr_mov|v_dual_mov_b32")
_WAIT = re.compile(r"(vmcnt|lgkmcnt|expcnt|vscnt)\((\d+)\)")

COUNTERS = {
    "s_wait_loadcnt": "loadcnt",
    "s_wait_storecnt": "storecnt",
    "s_wait_samplecnt": "samplecnt",
    "s_wait_bvhcnt": "bvhcnt",
    "s_wait_dscnt": "dscnt",
    "s_wait_kmcnt": "kmcnt",
    "s_wait_expcnt": "expcnt",
    "s_wait_asynccnt": "asynccnt",
    "s_wait_tensorcnt": "tensorcnt",
    "s_wait_xcnt": "xcnt",
    "s_waitcnt_vscnt": "vscnt",
}
"""Wait instructions of one counter (gfx11 and gfx12)."""

PAIRS = {"s_wait_loadcnt_dscnt": ("loadcnt", "dscnt"), "s_wait_storecnt_dscnt": ("storecnt", "dscnt")}
"""Wait instructions of two counters: bits 8 and up, and bits 0 to 5."""

LOAD_COUNTERS = ("vmcnt", "loadcnt")


@dataclass(frozen=True)
class Wait:
    """One counter of a wait instruction: how many operations may stay outstanding."""

    counter: str
    target_count: int

    @property
    def full_drain(self) -> bool:
        """Whether nothing may stay outstanding."""
        return self.target_count == 0


@dataclass(frozen=True)
class MachineLoop:
    """A natural loop. `mark` is the source loop, None when debug information does not tell."""

    mark: LoopMark | None
    blocks: tuple[int, ...]
    instructions: int
    backedge_copies: int
    waits: tuple[Wait, ...]
    loads_pending: int


def waits(instruction: Instruction) -> list[Wait]:
    """What a wait instruction waits for; empty for others."""
    if instruction.name == "s_waitcnt":
        return [Wait(m[1], int(m[2])) for m in _WAIT.finditer(instruction.operands)]
    if instruction.name in COUNTERS:
        return [Wait(COUNTERS[instruction.name], int(instruction.operands.split(",")[-1], 0))]
    if instruction.name in PAIRS:
        value = int(instruction.operands, 0)
        upper, lower = PAIRS[instruction.name]
        return [Wait(upper, value >> 8 & 63), Wait(lower, value & 63)]
    return []


def find(blocks: list[Block], marks: tuple[LoopMark, ...]) -> list[MachineLoop]:
    """The natural loops of a function, in layout order."""
    dominators = _dominators(blocks)
    latches: dict[int, list[int]] = {}
    for block in blocks:
        for head in block.next:
            if head in dominators[block.number]:
                latches.setdefault(head, []).append(block.number)
    bodies = {head: _body(blocks, head, ends) for head, ends in latches.items()}
    by_number = {m.discriminator: m for m in marks}
    found = []
    for head, ends in sorted(latches.items()):
        body = bodies[head]
        inner = set().union(*(b for h, b in bodies.items() if h != head and b < body))
        mark = _mark(blocks, ends, sorted(body - inner), by_number)
        code = [i for n in sorted(body) for i in blocks[n].instructions]
        carried = _carried(blocks, head, body)
        found.append(
            MachineLoop(
                mark,
                tuple(sorted(body)),
                len(code),
                sum(_copies(blocks[n], carried) for n in ends),
                tuple(w for i in code for w in waits(i)),
                _pending(blocks, head, body, ends),
            )
        )
    return found


def _dominators(blocks: list[Block]) -> list[set[int]]:
    everything = set(range(len(blocks)))
    before: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for following in block.next:
            before[following].append(block.number)
    result = [{0}] + [set(everything) for _ in blocks[1:]]
    changed = True
    while changed:
        changed = False
        for number in range(1, len(blocks)):
            sets = [result[p] for p in before[number]]
            new = {number} | (set.intersection(*sets) if sets else everything)
            if new != result[number]:
                result[number], changed = new, True
    return result


def _body(blocks: list[Block], head: int, ends: list[int]) -> set[int]:
    before: dict[int, list[int]] = {}
    for block in blocks:
        for following in block.next:
            before.setdefault(following, []).append(block.number)
    body, pending = {head}, list(ends)
    while pending:
        number = pending.pop()
        if number not in body:
            body.add(number)
            pending += before.get(number, [])
    return body


def _mark(blocks: list[Block], ends: list[int], own: list[int], marks: dict[int, LoopMark]) -> LoopMark | None:
    """The source loop by the mark on the closing branch, else on another branch of the loop's own blocks, else by the
    mark that most of their instructions have: LLVM drops the location of a branch that it merges.
    """
    for number in (*ends, *own):
        for instruction in reversed(blocks[number].instructions[-2:]):
            if instruction.target is not None and instruction.mark in marks:
                return marks[instruction.mark]
    seen = Counter(i.mark for number in own for i in blocks[number].instructions if i.mark in marks)
    return marks[seen.most_common(1)[0][0]] if seen else None


def _copies(latch: Block, carried: set[str]) -> int:
    """Moves between registers in the closing block whose result goes round the loop."""
    count = 0
    for position, instruction in enumerate(latch.instructions):
        for name, operands in _parts(instruction):
            if not _COPY.match(name) or not reads(Instruction(name, operands, instruction.place, 0)):
                continue
            result = writes(Instruction(name, operands, instruction.place, 0))
            later = set().union(*(writes(i) for i in latch.instructions[position + 1 :]))
            if result & carried and not result & later:
                count += 1
    return count


def _parts(instruction: Instruction) -> list[tuple[str, str]]:
    """A dual instruction as its two halves."""
    first, *rest = instruction.operands.split("::")
    return [
        (instruction.name, first.strip()),
        *((h.strip().partition(" ")[0], h.strip().partition(" ")[2]) for h in rest),
    ]


def _read_first(code: list[Instruction]) -> tuple[set[str], set[str]]:
    """Registers whose value at the start of a block is used in it, and those that it writes."""
    defined: set[str] = set()
    found: set[str] = set()
    for instruction in code:
        found |= reads(instruction) - defined
        defined |= writes(instruction)
    return found, defined


def _carried(blocks: list[Block], head: int, body: set[int]) -> set[str]:
    """Registers whose value at the start of a round is used in that round."""
    facts = {n: _read_first(blocks[n].instructions) for n in body}
    live = {n: set(facts[n][0]) for n in body}
    changed = True
    while changed:
        changed = False
        for number in body:
            after = set().union(*(live[s] for s in blocks[number].next if s in body and s != head))
            new = facts[number][0] | (after - facts[number][1])
            if new != live[number]:
                live[number], changed = new, True
    return live[head]


ROUNDS = 128
"""Rounds after which a loop without any wait is taken to have settled."""


def _pending(blocks: list[Block], head: int, body: set[int], ends: list[int]) -> int:
    """The fewest loads outstanding at the backedge, whichever way through the loop, once it has settled."""
    order = _forward(blocks, head, body)
    outstanding = 0
    for _ in range(ROUNDS):
        left: dict[int, int] = {}
        for number in order:
            before = [left[p] for p in order if p in left and number in blocks[p].next and number != head]
            left[number] = _after(blocks[number].instructions, min(before, default=outstanding))
        settled = min(left[n] for n in ends)
        if settled == outstanding:
            break
        outstanding = settled
    return outstanding


def _forward(blocks: list[Block], head: int, body: set[int]) -> list[int]:
    """The blocks of a loop so that each comes after those that lead to it, backedges aside."""
    done: list[int] = []
    seen = {head}
    pending = [(head, iter(blocks[head].next))]
    while pending:
        _, following = pending[-1]
        step = next((s for s in following if s in body and s not in seen), None)
        if step is None:
            done.append(pending.pop()[0])
        else:
            seen.add(step)
            pending.append((step, iter(blocks[step].next)))
    return done[::-1]


def _after(code: list[Instruction], outstanding: int) -> int:
    """Loads outstanding behind instructions."""
    for instruction in code:
        if re.match(r"(buffer|global|flat)_load", instruction.name):
            outstanding += 1
        for wait in waits(instruction):
            if wait.counter in LOAD_COUNTERS:
                outstanding = min(outstanding, wait.target_count)
    return outstanding
