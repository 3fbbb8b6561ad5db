"""Running the waves of a launch: lowest program counter first, all waves at one place together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator import hazards
from specgen.devices.amdgpu_emulator.blocks import Block, Program
from specgen.devices.amdgpu_emulator.state import Machine
from specgen.devices.base import DeviceError, RunawayError

Array = NDArray[Any]
Selection = Any
"""None (every wave), a slice, or a sorted array of wave numbers."""

STEP_LIMIT: Final = 1_000_000
"""Blocks run (for any number of waves at once) before a launch counts as endless."""


class Executor:
    """Executes one chunk of workgroups to its end."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        waves_per_group: int,
        watch: Callable[[Block, Selection], None] | None = None,
    ) -> None:
        """`watch(block, selection)` is called before each block (for traces)."""
        self._program = program
        self._machine = machine
        self._per_group = waves_per_group
        self._watch = watch
        self._queue: dict[int, Selection] = {program.entry: None}
        self._barrier: Array = np.full(machine.waves, -1, np.int64)
        self._alive: Array = np.ones(machine.waves, bool)
        self._ready: set[int] = set()
        self.hits: dict[int, int] = {}
        self.pending: dict[int, tuple[int, int]] = {}
        self._hazards = _HazardTracker(program, machine) if machine.sanitize else None

    def run(self) -> None:
        """Run until every wave has ended; raises `DeviceError` for unsupported instructions and endless loops."""
        with np.errstate(all="ignore"):
            for _ in range(STEP_LIMIT):
                if not self._queue and not self._release():
                    return
                number = min(self._queue)
                self._step(number, self._queue.pop(number))
        raise RunawayError(f"no end after {STEP_LIMIT} blocks")

    def _step(self, number: int, ix: Selection) -> None:
        block = self._program.blocks[number]
        function = block.function or self._program.compile(block)
        if number not in self._ready:
            self._machine.ensure(block.vectors)
            self._ready.add(number)
        if self._watch is not None:
            self._watch(block, ix)
        condition = function(self._machine, ix)
        self.hits[number] = self.hits.get(number, 0) + self._count(ix)
        pending = self._hazards.step(block, ix) if self._hazards is not None else None
        if block.kind == "branch":
            self._branch(block, ix, condition, pending)
        elif block.kind == "end":
            self._alive[slice(None) if ix is None else ix] = False
        elif block.kind == "barrier":
            self._arrive(block, ix)
        else:
            target = block.target if block.kind == "jump" else block.following
            if pending is not None and block.kind == "jump" and block.backward:
                self._note_pending(block, pending)
            self._enqueue(target, ix)

    def _count(self, ix: Selection) -> int:
        if ix is None:
            return self._machine.waves
        return len(range(ix.start, ix.stop, ix.step or 1)) if isinstance(ix, slice) else len(ix)

    def _branch(self, block: Block, ix: Selection, condition: Array, pending: tuple[int, int] | None) -> None:
        taken = bool(condition[0]) if condition.size == 1 else bool(condition.all())
        if pending is not None and block.backward and (taken or condition.any()):
            self._note_pending(block, pending)
        if taken:
            self._enqueue(block.target, ix)
        elif condition.size == 1 or not condition.any():
            self._enqueue(block.following, ix)
        else:
            waves = self._waves(ix)
            self._enqueue(block.target, self._selection(waves[condition]))
            self._enqueue(block.following, self._selection(waves[~condition]))

    def _note_pending(self, block: Block, pending: tuple[int, int]) -> None:
        assert block.target is not None
        at = self._program.offset(self._program.blocks[block.target])
        low, high = self.pending.get(at, pending)
        self.pending[at] = (min(low, pending[0]), max(high, pending[1]))

    # -- selections ---------------------------------------------------------------------------------------

    def _waves(self, ix: Selection) -> Array:
        every = np.arange(self._machine.waves)
        return every if ix is None else every[ix]

    def _selection(self, waves: Array) -> Selection:
        """The cheapest form of a sorted list of waves."""
        count = len(waves)
        if count == self._machine.waves:
            return None
        first = int(waves[0])
        if count == 1:
            return slice(first, first + 1)
        step = int(waves[1]) - first
        if int(waves[-1]) - first == step * (count - 1) and (np.diff(waves) == step).all():
            return slice(first, int(waves[-1]) + 1, step)
        return waves

    def _enqueue(self, number: int | None, ix: Selection) -> None:
        if number is None:
            raise DeviceError("control flow leaves the kernel's code")
        if number in self._queue:
            ix = self._selection(np.sort(np.concatenate([self._waves(self._queue[number]), self._waves(ix)])))
        self._queue[number] = ix

    # -- barriers -----------------------------------------------------------------------------------------

    def _arrive(self, block: Block, ix: Selection) -> None:
        if self._program.instructions[block.last].name == "s_barrier":
            self._machine.barrier_signal(ix)
        self._barrier[slice(None) if ix is None else ix] = block.number

    def _release(self) -> bool:
        """Let the waves go on that wait at barriers; False when none waits."""
        waiting = self._barrier >= 0
        if not waiting.any():
            return False
        self._check_barriers(waiting)
        machine = self._machine
        machine.barrier_wait(waiting)
        for number in np.unique(self._barrier[waiting]):
            waves = np.flatnonzero(self._barrier == number)
            self._enqueue(self._program.blocks[int(number)].following, self._selection(waves))
        self._barrier[:] = -1
        return True

    def _check_barriers(self, waiting: Array) -> None:
        """Report workgroups whose waves are not all at the same barrier, or have not all signalled it."""
        place = self._barrier.reshape(-1, self._per_group)
        here = waiting.reshape(place.shape)
        first = place.max(1, keepdims=True)
        mixed = ((place != first) & here).any(1)
        ended = (~here).any(1) & here.any(1)
        signals = self._machine.signals.reshape(place.shape)
        uneven = (np.where(here, signals, signals.max(1, keepdims=True)) != signals.max(1, keepdims=True)).any(1)
        for rows, why in (
            (mixed, "waves of one workgroup wait at different barriers"),
            (ended, "a wave of the workgroup ended while others wait"),
            (uneven & ~mixed, "waves of one workgroup have signalled different numbers of barriers"),
        ):
            if rows.any():
                group = int(np.flatnonzero(rows)[0])
                wave = group * self._per_group + int(np.flatnonzero(here[group])[0])
                block = self._program.blocks[int(self._barrier[wave])]
                number = self._machine.reporter.first_wave + wave
                self._machine.reporter.add("divergent-barrier", block.last, f"{why}; wave {number}")


class _HazardTracker:
    """The wait-count state of every wave, by number of a shared state."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self._machine = machine
        self._counter = hazards.VECTOR_LOADS[program.arch.name]
        self._states: list[hazards.State] = [hazards.EMPTY]
        self._numbers: dict[hazards.State, int] = {hazards.EMPTY: 0}
        self._memory: dict[tuple[int, int], tuple[int, int]] = {}
        self._common: int | None = 0
        self._of_wave: Array = np.zeros(machine.waves, np.int32)

    def step(self, block: Block, ix: Selection) -> tuple[int, int]:
        """Advance the waves over a block; returns the fewest and most vector loads left pending."""
        if ix is None and self._common is not None:
            self._common, pending = self._advance(block, self._common)
            return pending, pending
        if self._common is not None:
            self._of_wave[:] = self._common
            self._common = None
        rows = slice(None) if ix is None else ix
        now = self._of_wave[rows]
        first = int(now[0])
        if (now == first).all():
            after, pending = self._advance(block, first)
            self._of_wave[rows] = after
            if ix is None:
                self._common = after
            return pending, pending
        known = {int(number): self._advance(block, int(number)) for number in np.unique(now)}
        self._of_wave[rows] = np.array([known[int(number)][0] for number in now], np.int32)
        counts = [pending for _, pending in known.values()]
        return min(counts), max(counts)

    def _advance(self, block: Block, state: int) -> tuple[int, int]:
        key = (block.number, state)
        if key not in self._memory:
            outcome = hazards.run(self._states[state], block.steps, self._counter)
            for index, text in outcome.faults:
                self._machine.reporter.add("wait-count", index, text)
            if outcome.state not in self._numbers:
                self._numbers[outcome.state] = len(self._states)
                self._states.append(outcome.state)
            self._memory[key] = (self._numbers[outcome.state], outcome.pending)
        return self._memory[key]
