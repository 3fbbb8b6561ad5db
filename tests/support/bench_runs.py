"""Calls of `bench` in this process, and timers whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from specgen.bench.command import main
from specgen.build import BuildOptions, build_paths

SPECS = Path(__file__).resolve().parents[2] / "specs"
BRIEF = ("--min-time", "4", "--warmup", "0", "--repetitions", "3", "--ring", "1")
"""Options of a call whose times nobody looks at."""


def built(folder: Path, *specs: str) -> Path:
    """Build specs of the corpus for vulkan1.3."""
    for result in build_paths([SPECS / spec for spec in specs], BuildOptions(folder, ("vulkan1.3",))):
        assert result.folder is not None, result
    return folder


def rows_of(capsys: Any, *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    """The status and the rows of a call."""
    status = main([*map(str, arguments), "--format", "jsonl"], "bench")
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def of_kind(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The rows of a kind."""
    return [row for row in rows if row["kind"] == kind]


@dataclass
class World:
    """A clock that all timers share: how often anything was measured, and the noise of this world."""

    noise: Callable[[np.random.Generator, int, int], np.ndarray]
    random: np.random.Generator
    turn: int = 0


@dataclass
class Simulated:
    """A timer with a true time of a dispatch, seen through the noise of its world."""

    world: World
    seconds: float
    calls: list[tuple[int, int]] = field(default_factory=list)

    def samples(self, batch: int, count: int) -> list[float]:
        """As timers do."""
        self.calls.append((batch, count))
        self.world.turn += 1
        factors = self.world.noise(self.world.random, self.world.turn, count)
        return [float(self.seconds * factor) for factor in factors]


def _gaussian(random: np.random.Generator, turn: int, count: int) -> np.ndarray:
    return 1 + random.normal(0, 0.02, count)


def _lognormal(random: np.random.Generator, turn: int, count: int) -> np.ndarray:
    return np.exp(random.normal(0, 0.03, count))


def _drift(random: np.random.Generator, turn: int, count: int) -> np.ndarray:
    """A clock that falls by a tenth of a percent a round and swings by 5 %."""
    return (1 + 0.001 * turn + 0.05 * np.sin(turn / 17)) * (1 + random.normal(0, 0.02, count))


def _steps(random: np.random.Generator, turn: int, count: int) -> np.ndarray:
    """A clock that jumps between three rates every 13 rounds."""
    return (1.0, 1.06, 0.97)[turn // 13 % 3] * (1 + random.normal(0, 0.02, count))


def _outliers(random: np.random.Generator, turn: int, count: int) -> np.ndarray:
    """One sample in ten takes three times as long."""
    return (1 + random.normal(0, 0.02, count)) * np.where(random.random(count) < 0.1, 3, 1)


NOISES = {f.__name__[1:]: f for f in (_gaussian, _lognormal, _drift, _steps, _outliers)}
"""Models of noise by name."""
