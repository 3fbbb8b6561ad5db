"""Assembly text of LLVM read back: instructions with their places, basic blocks, edges between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\bdiscriminator (\d+))?")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_LABEL = re.compile(r"([.\w$]+):")
_REGISTER = re.compile(r"\b([vsa])(\d+)\b|\b([vsa])\[(\d+):(\d+)\]")

ENDS = ("s_endpgm", "s_setpc_b64", "s_swappc_b64")
"""Instructions after which nothing follows."""


@dataclass(frozen=True)
class Instruction:
    """One instruction; `place` is file, line, column, `mark` the discriminator (0: none)."""

    name: str
    operands: str
    place: tuple[str, int, int]
    mark: int

    @property
    def target(self) -> str | None:
        """The label that a branch goes to."""
        return self.operands.strip() if self.name.startswith(("s_branch", "s_cbranch")) else None


@dataclass
class Block:
    """A basic block: at most one branch, at its end. `next` are the numbers of the blocks that may follow."""

    number: int
    label: str | None
    instructions: list[Instruction] = field(default_factory=list)
    next: list[int] = field(default_factory=list)


def functions(text: str) -> dict[str, list[Block]]:
    """The basic blocks of every function, in layout order."""
    found: dict[str, list[Block]] = {}
    files: dict[str, str] = {}
    name: str | None = None
    items: list[Instruction | str] = []
    place, mark = ("", 0, 0), 0
    for line in text.splitlines():
        if line.startswith(".Lfunc_end") and name is not None:
            found[name] = _blocks(items)
            name = None
        elif label := _LABEL.match(line):
            started = label[1]
            if not started.startswith("."):
                name, items, place, mark = started, [], ("", 0, 0), 0
            elif name is not None and started.startswith(".LBB"):
                items.append(started)
        elif file := _FILE.match(line):
            files[file[1]] = file[3]
        elif location := _LOC.match(line):
            place = (files.get(location[1], ""), int(location[2]), int(location[3]))
            mark = int(location[4] or 0)
        elif name is not None and line.startswith("\t") and line.strip()[:1] not in ("", ".", ";"):
            head, _, rest = line.split(";")[0].strip().partition(" ")
            items.append(Instruction(head, rest.strip(), place, mark))
    return found


def _blocks(items: list[Instruction | str]) -> list[Block]:
    blocks = [Block(0, None)]
    for item in items:
        current = blocks[-1]
        if isinstance(item, str):
            if current.instructions or current.label:
                current = Block(len(blocks), None)
                blocks.append(current)
            current.label = item
            continue
        if current.instructions and _ends(current.instructions[-1]):
            current = Block(len(blocks), None)
            blocks.append(current)
        current.instructions.append(item)
    labels = {b.label: b.number for b in blocks if b.label}
    for block in blocks:
        last = block.instructions[-1] if block.instructions else None
        if last is not None and last.target in labels:
            block.next.append(labels[last.target])
        falls = last is None or not (last.name == "s_branch" or last.name in ENDS)
        if falls and block.number + 1 < len(blocks):
            block.next.append(block.number + 1)
    return blocks


def _ends(instruction: Instruction) -> bool:
    return instruction.target is not None or instruction.name in ENDS


def registers(text: str) -> set[str]:
    """The registers that operands name, ranges one by one: `v1`, `s4`; `vcc` and the like as they are."""
    found: set[str] = set()
    for match in _REGISTER.finditer(text):
        if match[1]:
            found.add(match[1] + match[2])
        else:
            found |= {f"{match[3]}{n}" for n in range(int(match[4]), int(match[5]) + 1)}
    return found | {word for word in ("vcc", "exec", "m0", "scc") if re.search(rf"\b{word}", text)}


_NO_RESULT = (
    "store",
    "s_cmp",
    "s_bitcmp",
    "s_wait",
    "s_branch",
    "s_cbranch",
    "s_barrier",
    "s_nop",
    "s_clause",
    "s_delay",
)


def writes(instruction: Instruction) -> set[str]:
    """The registers that an instruction defines: its first operand (both first operands of a dual instruction)."""
    if any(part in instruction.name for part in _NO_RESULT) or instruction.name.startswith(("ds_write", "v_cmpx")):
        return set()
    halves = instruction.operands.split("::")
    found = registers(halves[0].split(",")[0])
    for half in halves[1:]:
        found |= registers(half.strip().partition(" ")[2].split(",")[0])
    return found


def reads(instruction: Instruction) -> set[str]:
    """The registers that an instruction uses; an upper bound where an operand is read and written."""
    defined = writes(instruction)
    if not defined:
        return registers(instruction.operands)
    found: set[str] = set()
    for number, half in enumerate(instruction.operands.split("::")):
        text = half if number == 0 else half.strip().partition(" ")[2]
        found |= registers(",".join(text.split(",")[1:]))
    if re.search(r"fmac|dot2c|_mac_|accvgpr_mov|fmaak|fmamk", instruction.name + instruction.operands):
        found |= defined
    return found
