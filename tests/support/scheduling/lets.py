"""Values of a loop's body in the text of a random nest: those that `through` may name, and those that it may not."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFINED = re.compile(r"(%\w+)(?:, %\w+)* = (.*)")
NAMES = re.compile(r"%\w+")
ORDERED = ("motif.subgroup", "memref<32xf32, 3")
"""What the text of an op has that keeps its order."""


@dataclass(frozen=True)
class Let:
    """A value, the number of the line behind its definition, and whether nothing carried or ordered goes into it."""

    name: str
    type: str
    line: int
    free: bool


def candidates(lines: list[str], mark: str) -> list[Let]:
    """The values that the loop whose closing line holds `mark` computes once an iteration."""
    last = next(n for n, line in enumerate(lines) if mark in line)
    first = _opening(lines, last)
    bound = set(NAMES.findall(lines[first].split("iter_args(")[1].split(")")[0])[::2])
    found: list[Let] = []
    opened: list[tuple[int, bool]] = []
    inner = 0
    for number in range(first + 1, last):
        line = lines[number].strip()
        bad = any(word in line for word in ORDERED) or bool(bound & set(NAMES.findall(line)))
        if line.endswith("{") and not line.startswith("}"):
            opened.append((number, "scf.for" in line))
            inner += "scf.for" in line
            bound |= _names(line) if bad else set()
            continue
        closed = line.startswith("}") and not line.endswith("{")
        start = number
        if closed:
            start, loop = opened.pop()
            inner -= loop
            region = " ".join(lines[start : number + 1])
            bad = bool((bound - _names(lines[start])) & set(NAMES.findall(region))) or any(w in region for w in ORDERED)
        names = _names(lines[start])
        bound |= names if bad else set()
        if names and not inner:
            found += [Let(name, _type(lines[start]), number + 1, not bad) for name in sorted(names)[:1]]
    return found


def _opening(lines: list[str], last: int) -> int:
    depth = 0
    for number in range(last, -1, -1):
        line = lines[number].strip()
        depth += line.startswith("}") and not line.endswith("{")
        depth -= line.endswith("{") and not line.startswith("}")
        if depth == 0:
            return number
    raise AssertionError("no opening line")


def _names(line: str) -> set[str]:
    defined = DEFINED.match(line.strip())
    return set() if defined is None else set(NAMES.findall(line.split(" = ")[0]))


def _type(line: str) -> str:
    """The type of the first result."""
    text = line.strip().removesuffix(" {")
    if "->" in text:
        return text.rsplit("-> ", 1)[1].strip("()").split(",")[0]
    if " = arith.cmp" in text:
        return "i1"
    loaded = re.search(r": memref<\d+x(\w+)", text)
    return text.rsplit(" : ", 1)[1].rsplit(" to ", 1)[-1] if loaded is None else loaded[1]
