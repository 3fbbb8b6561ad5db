"""Pieces of code that move data: memory, lanes and control. Each leaves words in v10 and on, and maybe in memory.

Before a piece, v2 and v4 hold random words, v6 and v8 floats, v[18:19] are the words that registers hold before; v1 is
four times the work-item's number, v25 sixteen times. `s[36:37]` point at `DATA` bytes of input, `s[40:43]` describe
them, `v[26:27]` is their address plus v25. `s[38:39]` point at an output plane of the piece's own, when it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

from opcode_semantics.harness import Program, close
from opcode_semantics.patterns import LANES, values
from opcode_semantics.rows import CDNA, RDNA, RDNA3, RDNA4

Words = np.ndarray[Any, Any]
DATA_PLANES: Final = 5
FIRST_DATA: Final = 2


@dataclass(frozen=True)
class State:
    """What a piece finds: words of v2, v4, v6, v8, what registers held, the data bytes, lanes of a wave."""

    a: Words
    b: Words
    x: Words
    y: Words
    old: Words
    data: Words
    lanes: int

    @property
    def lane(self) -> Words:
        """The work-item's number."""
        return np.arange(LANES)

    def waves(self, words: Words) -> Words:
        return words.reshape(-1, self.lanes)


@dataclass(frozen=True)
class Snippet:
    """`names`: operations tested, `;` between them, alternatives by blanks; the text names them {0}, {1}, ...

    `meaning(state)` gives the words of v10 on, one array each; with `planes` the first ones are output planes.
    """

    names: str
    text: str
    meaning: Callable[[State], tuple[Words, ...]]
    planes: int = 0
    archs: tuple[str, ...] = (CDNA, *RDNA)
    kind: str = ""
    """For floats: NaN equals NaN (`f32`, `f64` of two words, pairs `pk16` and `pkb`); `near` and `near16`: one unit."""

    variant: str = ""
    """The text is a variant encoding of the first operation: `dpp16` or `dpp8`."""
    first: int = 10
    """The first result register."""
    inputs: Callable[[], dict[int, Words]] = dict
    """Words [lanes of a wave] that more registers hold before, the same in each wave."""

    def resolved(self, arch: str, known: frozenset[str]) -> list[str] | None:
        """The operations' names, if the architecture has them all."""
        if arch not in self.archs:
            return None
        found = [next((n for n in part.split() if n in known), None) for part in self.names.split(";")]
        return [name for name in found if name] if all(found) else None


class SnippetProgram(Program):
    """A program of pieces."""

    def __init__(self, arch: str, known: frozenset[str]) -> None:
        super().__init__(arch, known)
        rng = np.random.default_rng(7)
        data = rng.integers(0, 1 << 32, (DATA_PLANES, LANES), dtype=np.uint32)
        self.inputs.extend(data)
        self.shared, self.private = 16384, 64
        lanes = 64 if self.cdna else 32
        u32, f32 = (
            (lambda k: values("u32", k, "snippets").astype(np.uint32)),
            (lambda k: values("f32", k, "snippets").astype(np.uint32)),
        )
        old = self.old & np.uint64(0xFFFFFFFF)
        self.state = State(u32(0), u32(1), f32(0), f32(1), old.astype(np.uint32), data.view(np.uint8).ravel(), lanes)
        self._found: list[tuple[Snippet, str, list[int], tuple[Words, ...]]] = []
        self._setup()

    def _setup(self) -> None:
        cdna = self.cdna
        self.lines.insert(0, "s_nop 0")
        saved, self.lines = self.lines, []
        self.advance("s36", "s4", 4 * LANES * FIRST_DATA)
        vcc = "vcc" if cdna else "vcc_lo"
        carry = "v_addc_co_u32" if cdna else "v_add_co_ci_u32"
        flags = {CDNA: 0x00027000, RDNA3: 0x31004000, RDNA4: 0x31004000}[self.arch]
        self.add(
            "s_mov_b32 s40, s36", "s_mov_b32 s41, s37", f"s_mov_b32 s42, {4 * LANES * DATA_PLANES}",
            f"s_mov_b32 s43, {flags:#x}", "v_lshlrev_b32 v25, 2, v1", f"v_add_co_u32 v26, {vcc}, s36, v25",
            "v_mov_b32 v27, s37", f"{carry} v27, {vcc}, 0, v27, {vcc}",
        )  # fmt: skip
        self.lines += saved
        for register, words in ((2, self.state.a), (4, self.state.b), (6, self.state.x), (8, self.state.y)):
            self.load(register, words)
        self.wait()

    def snippets(self, snippets: Iterable[Snippet]) -> None:
        for snippet in snippets:
            names = snippet.resolved(self.arch, self.known)
            if names:
                self._snippet(snippet, names)

    def _snippet(self, snippet: Snippet, names: list[str]) -> None:
        with np.errstate(all="ignore"):
            expected = tuple(np.asarray(w) for w in snippet.meaning(self.state))
        if snippet.planes:
            self.advance("s38", "s6", 4 * LANES * (self._planes - 4 * self._bases["s6"]))
        planes = list(range(self._planes, self._planes + snippet.planes))
        self._planes += snippet.planes
        for register, words in snippet.inputs().items():
            self.load(register, np.tile(words, LANES // len(words)))
        self.wait()
        if snippet.first == 10:
            self.add(*(f"v_mov_b32 v{10 + k}, v18" for k in range(len(expected) - snippet.planes)))
        for line in snippet.text.splitlines():
            self.add(line.strip().format(*names, **self._words()))
        planes += [self.store(snippet.first + k) for k in range(len(expected) - snippet.planes)]
        self._found.append((snippet, " ".join(names), planes, expected))

    def _words(self) -> dict[str, str]:
        old = self.arch != RDNA4
        return {
            "wl": "s_waitcnt lgkmcnt(0)" if old else "s_wait_dscnt 0",
            "wm": "s_waitcnt vmcnt(0)" if old else "s_wait_loadcnt 0",
            "wf": "s_waitcnt vmcnt(0) lgkmcnt(0)" if old else "s_wait_loadcnt_dscnt 0",
            "wk": "s_waitcnt lgkmcnt(0)" if old else "s_wait_kmcnt 0",
            "ws": "s_waitcnt vmcnt(0)" if self.cdna else "s_waitcnt_vscnt null, 0x0" if old else "s_wait_storecnt 0",
            "vcc": "vcc" if self.cdna else "vcc_lo", "m": "s[24:25]" if self.cdna else "s24",
            "full": "s_mov_b64 exec, -1" if self.cdna else "s_mov_b32 exec_lo, -1",
                        "back": {CDNA: "sc0", RDNA3: "glc", RDNA4: "th:TH_ATOMIC_RETURN"}[self.arch],
            "zero": "0" if old else "null",
            "barrier": "s_barrier" if old else "s_barrier_signal -1\ns_barrier_wait -1",
        }  # fmt: skip

    def compare(self) -> list[str]:
        """Execute; returns a line for every piece that went wrong."""
        words = self._execute()
        wrong = []
        for snippet, name, planes, expected in self._found:
            found = [words[plane] for plane in planes]
            undefined = both_nan(found, expected) if snippet.kind == "f64" else np.zeros(LANES, bool)
            for k, (got, wanted) in enumerate(zip(found, expected, strict=True)):
                same = alike(got, np.ascontiguousarray(wanted).view(np.uint32), snippet.kind) | undefined
                if not same.all():
                    at = int(np.flatnonzero(~same)[0])
                    wrong.append(
                        f"{self.arch} {name}: word {k} of item {at} ({int((~same).sum())} in all): {int(got[at]):#x} "
                        f"for {int(wanted.view(np.uint32)[at]):#x}"
                    )
        return wrong


def both_nan(found: list[Words], expected: tuple[Words, ...]) -> Words:
    """Lanes where two words are a NaN of f64, got and wanted."""
    pairs = (np.stack([w[0], w[1].view(np.uint32)], -1) for w in (found, expected))
    got, wanted = (np.isnan(np.ascontiguousarray(p).view(np.float64)[:, 0]) for p in pairs)
    return got & wanted


def alike(got: Words, wanted: Words, kind: str) -> Words:
    """Equal words; of floats (`f32`, pairs `pk16` and `pkb`) any NaN equals any other."""
    same = got == wanted
    if kind in ("near", "near16"):  # one unit in the last place, as the ISA grants transcendental functions
        numbers = [
            w.view(np.float32) if kind == "near" else w.astype(np.uint16).view(np.float16) for w in (got, wanted)
        ]
        return close(numbers[0], numbers[1], 1, 0)
    if kind == "f64":
        return same
    if kind == "f32":
        return same | np.isnan(got.view(np.float32)) & np.isnan(wanted.view(np.float32))
    if kind:
        numbers = ml_dtypes.bfloat16 if kind == "pkb" else np.float16
        halves = [w.view(np.uint16).reshape(-1, 2) for w in (got, np.ascontiguousarray(wanted))]
        nan = [np.isnan(h.view(numbers).astype(np.float32)) for h in halves]
        return ((halves[0] == halves[1]) | (nan[0] & nan[1])).all(1)
    return same
