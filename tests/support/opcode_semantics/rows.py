"""One row an operation: its names, operands and meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from opcode_semantics.patterns import BITS

CDNA, RDNA3, RDNA4 = "cdna", "rdna3", "rdna4"
ARCHS: Final = (CDNA, RDNA3, RDNA4)
RDNA: Final = (RDNA3, RDNA4)
CPU: Final = {CDNA: "gfx942", RDNA3: "gfx1151", RDNA4: "gfx1201"}

Meaning = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """`names` are alternatives, of which each architecture has at most one; `sources` and `result` are kinds.

    `meaning(*operands)` takes arrays of the kinds' types and gives an array; with `each` it takes and gives Python
    integers, one lane at a time, and the result is wrapped to its width. `text` is the assembly with {op}, {d} and
    {a} {b} {c}; `setup` lines come before it. `forms` are the variants that the operation is also tried in.
    """

    names: str
    sources: tuple[str, ...]
    result: str
    meaning: Meaning
    each: bool = False
    forms: frozenset[str] = frozenset()
    text: str = ""
    setup: tuple[str, ...] = ()
    ulp: float = 0.0
    floor: float = 0.0
    """Absolute room, for functions whose error does not shrink with their value."""
    archs: tuple[str, ...] = ARCHS
    old: bool = False
    """The meaning takes the destination's old value as its last operand."""
    keeps: bool = False
    """On CDNA a 16-bit result leaves the other half of the register (elsewhere it always does)."""
    variant: str = ""
    """The text is a variant encoding of the operation: `sdwa`."""
    idle_zero: bool = False
    """Lanes that EXEC leaves out give 0 (a bit of a mask) instead of keeping the destination."""
    where: Meaning | None = None
    """Lanes (of the operands) that the manuals define."""

    def name(self, arch: str, known: frozenset[str]) -> str | None:
        """The operation's name on an architecture, if it has it there."""
        if arch not in self.archs:
            return None
        return next((name for name in self.names.split() if name in known), None)

    @property
    def result_words(self) -> int:
        return 2 if BITS[self.result] == 64 else 1


def evaluate(row: Row, operands: Sequence[np.ndarray]) -> np.ndarray:
    """The expected result of every lane, in the type of the result's kind."""
    from opcode_semantics.patterns import VIEW

    kind = VIEW[row.result]
    with np.errstate(all="ignore"):
        if not row.each:
            found = np.asarray(row.meaning(*operands))
            return found if found.dtype == kind else found.astype(kind)
    bits = BITS[row.result]
    mask = (1 << bits) - 1
    numbers = [row.meaning(*lane) & mask for lane in zip(*(o.tolist() for o in operands), strict=True)]
    return np.array(numbers, f"u{bits // 8}").view(kind)


def ints(names: str, sources: str, result: str, meaning: Meaning, forms: str = "", **rest: Any) -> Row:
    """A row on whole numbers, one lane at a time."""
    return Row(names, tuple(sources.split()), result, meaning, True, frozenset(forms.split()), **rest)


def floats(names: str, sources: str, result: str, meaning: Meaning, forms: str = "", **rest: Any) -> Row:
    """A row on arrays."""
    return Row(names, tuple(sources.split()), result, meaning, False, frozenset(forms.split()), **rest)
