"""Takes a random kernel through specgen, and runs it on devices."""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from random_schedules.faults import PLANTED
from random_schedules.meaning import NUMPY, Kernel
from random_schedules.programs import SCALARS, Programs
from specgen.loading import load_spec
from specgen.model import Spec

RULES = sorted(PLANTED)


@functools.cache
def of_seed(seed: int) -> Kernel:
    """A kernel; every fifth breaks a rule, the rules in turn."""
    planted = RULES[seed // 5 % len(RULES)] if seed % 5 == 0 else None
    return Programs(Random(seed), planted).kernel("drawn")


def spec_of(kernel: Kernel, folder: Path) -> Spec:
    """The typed spec; the loader must accept it."""
    path = folder / "drawn.spec.yaml"
    path.write_text(kernel.text)
    loaded = load_spec(path, folder)
    errors = [(d.code, d.message) for d in loaded.diagnostics if d.is_error]
    assert loaded.spec is not None, f"{kernel.text}\n{errors}"
    assert not errors, f"{kernel.text}\n{errors}"
    return loaded.spec


def contents(kernel: Kernel, random: Random) -> dict[str, Any]:
    """First contents of the buffers, in the order of their axes."""
    numbers = np.random.default_rng(random.randrange(1 << 30))
    made = {}
    for buffer in kernel.buffers:
        if buffer.access == "write":
            made[buffer.name] = np.full(buffer.shape, -3, NUMPY[buffer.element])
        elif buffer.element in ("f32", "f16"):
            made[buffer.name] = numbers.uniform(-2, 2, buffer.shape).astype(NUMPY[buffer.element])
        else:
            low, high = buffer.promised or (-99, 99)
            made[buffer.name] = numbers.integers(low, high + 1, buffer.shape).astype(NUMPY[buffer.element])
    return made


def launches(kernel: Kernel, seed: int) -> list[dict[str, Any]]:
    """Scalars of some runs: empty, short and long loops."""
    random = Random(seed)
    rows = []
    for n in (0, 1, 3, 6):
        row = {"n": n, "m": random.randint(0, 4), "b": random.choice([-4, -1, 0, 1, 2, 3, 5, 9])}
        rows.append({key: value for key, value in row.items() if key in kernel.scalars})
    assert set(SCALARS) >= set(kernel.scalars)
    return [row for index, row in enumerate(rows) if row not in rows[:index]]


def arguments(kernel: Kernel, scalars: dict[str, int], held: dict[str, Any]) -> dict[str, Any]:
    """What devices take: buffers flat, in the order of memory."""
    flat = {b.name: (held[b.name].T if b.fast == 0 else held[b.name]).reshape(-1).copy() for b in kernel.buffers}
    return {**scalars, **flat}
