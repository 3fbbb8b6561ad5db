"""Findings of a run: the collector, and the check for races in workgroup memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.instruction import Instruction
from specgen.devices.amdgpu_emulator.memory import Banked, Mask, Site
from specgen.devices.base import DeviceError, Finding

Array = NDArray[Any]

_LIMIT: Final = 100
"""Findings kept of one run; each instruction reports each kind once."""


class Reporter:
    """Collects findings with instruction text, wave, lane and source line. `active` False drops all but bounds."""

    def __init__(self, instructions: list[Instruction], lines: Callable[[], dict[int, str]], active: bool) -> None:
        self._instructions = instructions
        self._lines = lines
        self.active = active
        self.first_wave = 0
        """Number of the first wave of the chunk that runs."""
        self._found: dict[tuple[str, int], Finding] = {}

    def report(self, kind: str, site: Site, faulty: Array, detail: str) -> None:
        """Add a finding for the first faulty lane; `faulty` is [waves of the selection, lanes or 1]."""
        index, ix = site
        if (kind, index) in self._found or len(self._found) >= _LIMIT or not (self.active or kind == "out-of-bounds"):
            return
        rows, columns = np.nonzero(faulty)
        row = int(rows[0])
        wave = row if ix is None else int(np.arange(ix.stop)[ix][row]) if isinstance(ix, slice) else int(ix[row])
        lane = f", lane {int(columns[0])}" if faulty.shape[1] > 1 else ""
        self.add(kind, index, f"{detail}; wave {self.first_wave + wave}{lane}")

    def add(self, kind: str, index: int, detail: str) -> None:
        """Add a finding of one instruction."""
        if (kind, index) in self._found or len(self._found) >= _LIMIT:
            return
        inst = self._instructions[index]
        where = self._lines().get(inst.offset, "")
        self._found[kind, index] = Finding(kind, f"`{inst}` at {inst.offset:#x}: {detail}", where)

    def unsupported(self, site: Site, why: str) -> None:
        """Stop the run: executing on would give a wrong value."""
        inst = self._instructions[site[0]]
        raise DeviceError(f"unsupported-instruction: `{inst}` at {inst.offset:#x}: {why}")

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._found.values())


_MANY: Final = 0xFFFF
"""Mark of reads or atomics when waves of different numbers have made them."""


class LdsRaces:
    """Accesses of different waves to one place of workgroup memory that no barrier separates.

    Each cell (of the smallest access width of the kernel, of a byte once an access lies across cells) remembers its
    last write, its reads and its atomics as `phase << 16 | wave`. An access counts the barriers that its wave had
    signalled when it was made; a later access of another wave is ordered behind it when that wave has waited for more
    barriers than that.
    """

    def __init__(self, size: int, granule: int, waves: int, wave_in_group: Array, report: Callable[..., None]) -> None:
        self._granule = granule
        cells = size // granule + 1
        self._writer: Array = np.full(cells, -1, np.int64)
        self._reader: Array = np.full(cells, -1, np.int64)
        self._atomic: Array = np.full(cells, -1, np.int64)
        self.signalled: Array = np.zeros((waves, 1), np.int64)
        self.waited: Array = np.zeros((waves, 1), np.int64)
        self._wave: Array = wave_in_group.astype(np.int64).reshape(waves, 1)
        self._report = report

    def _context(self, flat: Array, mask: Mask, size: int, site: Site) -> tuple[Array, Array, Array, Array]:
        """Cells, marks, waits and own wave numbers of the active lanes, repeated for each cell touched."""
        ix = slice(None) if site[1] is None else site[1]
        lanes = np.broadcast_to(np.asarray(mask), flat.shape)
        if self._granule > 1 and (flat[lanes] % self._granule).any():
            self._refine()
        count = max(1, size // self._granule)
        cells = (flat[lanes] // self._granule)[:, None] + np.arange(count)
        wave = np.broadcast_to(self._wave[ix], flat.shape)[lanes][:, None]
        mark = np.broadcast_to(self.signalled[ix] << 16, flat.shape)[lanes][:, None] | wave
        waited = np.broadcast_to(self.waited[ix], flat.shape)[lanes][:, None]
        return cells, mark, waited, wave

    def _refine(self) -> None:
        """Cells of a byte: an access that lies across larger ones shares them with its neighbours."""
        self._writer, self._reader, self._atomic = (
            np.repeat(marks, self._granule) for marks in (self._writer, self._reader, self._atomic)
        )
        self._granule = 1

    def _conflict(self, marks: Array, waited: Array, wave: Array) -> Array:
        return (marks >= 0) & ((marks >> 16) >= waited) & ((marks & _MANY) != wave)

    def _found(self, bad: Array, flat: Array, mask: Mask, site: Site, what: str) -> None:
        lanes = np.broadcast_to(np.asarray(mask), flat.shape)
        faulty = np.zeros(flat.shape, bool)
        faulty[lanes] = bad.any(1)
        at = int(flat[faulty][0])
        self._report(
            "race", site, faulty, f"{what} of another wave to the same bytes without a barrier between (flat byte {at})"
        )

    def read(self, flat: Array, mask: Mask, size: int, site: Site) -> None:
        """Note reads; a write of another wave in the same phase is a race."""
        cells, mark, waited, wave = self._context(flat, mask, size, site)
        self._check(flat, mask, site, (waited, wave), "read", write=self._writer[cells], atomic=self._atomic[cells])
        self._note(self._reader, cells, mark, wave)

    def _check(
        self, flat: Array, mask: Mask, site: Site, order: tuple[Array, Array], what: str, **earlier: Array
    ) -> None:
        """Report lanes that collide with the marks of earlier accesses, by their kind."""
        for kind, marks in earlier.items():
            bad = self._conflict(marks, *order)
            if bad.any():
                article = "an" if kind == "atomic" else "a"
                self._found(bad, flat, mask, site, f"{what} after {article} {kind}")

    def _note(self, marks: Array, cells: Array, mark: Array, wave: Array) -> None:
        """Remember accesses that do not exclude one another: several waves in one phase leave a mark of no wave."""
        known = marks[cells]
        same = (known >> 16 == mark >> 16) & (known & _MANY != wave) & (known >= 0)
        marks[cells] = np.where(same, mark | _MANY, mark)
        # Lanes of different waves in one instruction: the scatter kept only the last of them.
        kept = marks[cells]
        lost = (kept & _MANY != _MANY) & (kept != mark)
        if lost.any():
            marks[cells[lost]] = np.broadcast_to(mark, cells.shape)[lost] | _MANY

    def write(self, flat: Array, mask: Mask, size: int, site: Site) -> None:
        """Note writes; any access of another wave in the same phase is a race."""
        cells, mark, waited, wave = self._context(flat, mask, size, site)
        self._check(
            flat, mask, site, (waited, wave), "write",
            write=self._writer[cells], read=self._reader[cells], atomic=self._atomic[cells],
        )  # fmt: skip
        self._writer[cells] = mark
        marks = np.broadcast_to(mark, cells.shape)
        crossed = self._writer[cells] != marks
        if crossed.any():
            self._found(crossed, flat, mask, site, "write at the same time as a write")

    def atomic(self, flat: Array, mask: Mask, size: int, site: Site) -> None:
        """Note atomics; they race with plain accesses of other waves, and not with one another."""
        cells, mark, waited, wave = self._context(flat, mask, size, site)
        self._check(
            flat, mask, site, (waited, wave), "atomic", write=self._writer[cells], read=self._reader[cells]
        )  # fmt: skip
        self._note(self._atomic, cells, mark, wave)


def conflicting_lanes(
    lds: Banked, flat: Array, mask: Mask, size: int, words: list[Array], site: Site, report: Callable[..., None]
) -> None:
    """Report lanes that stored different values to one place: after the store, it holds another lane's value."""
    width = min(size, 4)
    keep = np.uint32((1 << (8 * width)) - 1)
    for position, word in enumerate(words):
        got = lds.peek(flat + 4 * position if mask is True else np.where(mask, flat + 4 * position, 0), width)
        bad = (got != (word & keep)) & mask
        if bad.any():
            report("race", site, bad, "lanes store different values to the same bytes")
            return
