"""What a random kernel means: numpy over all work-items at once, each statement under a mask.

A value is an array with one entry a work-item; workgroups lie behind each other. Views are windows that are read in
place, and no schedule is known here. Nothing shares code with specgen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Env = dict[str, Any]
Value = Callable[[Env], Any]
NUMPY: dict[str, Any] = {"f32": np.float32, "i32": np.int32, "f16": np.float16, "i8": np.int8}
MASK, BUFFERS, POOL = "@mask", "@buffers", "@pool"


@dataclass(frozen=True)
class Index:
    """An `index` expression: its text, its entries, the range in which they lie, and whether a workgroup agrees."""

    text: str
    value: Value
    low: int
    high: int
    uniform: bool = True


@dataclass(frozen=True)
class E:
    """An expression of the kernel's element type, or a condition."""

    text: str
    value: Value


@dataclass(frozen=True)
class Buffer:
    """A buffer of two axes; `fast` is the axis whose elements lie side by side, `promised` a range of its elements."""

    name: str
    element: str
    shape: tuple[int, int]
    fast: int = 1
    align: int = 4
    access: str = "read"
    promised: tuple[int, int] | None = None


@dataclass(frozen=True)
class View:
    """A window on a buffer: where it starts and its size (0: a single place), and what counts beyond."""

    name: str
    buffer: Buffer
    sizes: tuple[int, int]
    outside: float | None

    @property
    def extents(self) -> list[int]:
        """The sizes of its axes."""
        return [size for size in self.sizes if size]


@dataclass(frozen=True)
class Statement:
    """Lines of YAML (a list item), and what the work-items of the mask do."""

    lines: list[str]
    act: Callable[[Env], None]


@dataclass
class Kernel:
    """A spec, and how to compute what it leaves in `out`."""

    text: str
    element: str
    items: int
    groups: int
    buffers: list[Buffer]
    scalars: dict[str, tuple[int, int]]
    body: list[Statement]
    features: set[str] = field(default_factory=set)
    planted: str | None = None

    def run(self, scalars: dict[str, int], contents: dict[str, Any]) -> dict[str, Any]:
        """The written buffers, two axes each, for arguments in the order of their axes."""
        total = self.groups * self.items
        env: Env = {name: np.full(total, value, np.int64) for name, value in scalars.items()}
        env |= {"lane": np.tile(np.arange(self.items), self.groups)}
        env |= {"group": np.repeat(np.arange(self.groups), self.items)}
        env |= {MASK: np.ones(total, bool), BUFFERS: {name: held.copy() for name, held in contents.items()}}
        env |= {POOL: np.zeros((self.groups, self.items), NUMPY[self.element])}
        block(self.body, env)
        return {b.name: env[BUFFERS][b.name] for b in self.buffers if b.access != "read"}


def block(body: Sequence[Statement], env: Env) -> None:
    """Statements in order."""
    for statement in body:
        statement.act(env)


def inner(body: Sequence[Statement], env: Env, mask: Any, extra: Env | None = None) -> None:
    """A block with names of its own, for the work-items of `mask`; variables of outside keep what it leaves."""
    if not mask.any():
        return
    held = {**env, MASK: mask, **(extra or {})}
    block(body, held)
    env.update({name: held[name] for name in env if name != MASK})


def assign(env: Env, name: str, value: Any) -> None:
    """`set` of one variable."""
    env[name] = np.where(env[MASK], value, env[name]).astype(env[name].dtype)


def element(env: Env, buffer: Buffer, places: Sequence[Any]) -> Any:
    """An element for each work-item; those of the mask must stand inside."""
    held = []
    for place, extent in zip(places, buffer.shape, strict=True):
        outside = env[MASK] & ((place < 0) | (place >= extent))
        assert not outside.any(), f"the generator left {buffer.name}"
        held.append(np.clip(place, 0, extent - 1))
    return env[BUFFERS][buffer.name][tuple(held)]


def through(env: Env, view: View, places: Sequence[Any]) -> Any:
    """An element of a view for each work-item, one subscript an axis."""
    given = iter(places)
    starts = env[view.name]
    where = []
    for start, size in zip(starts, view.sizes, strict=True):
        at = next(given) if size else np.zeros_like(start)
        assert not (env[MASK] & ((at < 0) | (at >= max(size, 1)))).any(), f"the generator left {view.name}"
        where.append(start + at)
    if view.outside is None:
        return element(env, view.buffer, where)
    inside = np.ones(len(starts[0]), bool)
    for place, extent in zip(where, view.buffer.shape, strict=True):
        inside &= (place >= 0) & (place < extent)
    clipped = [np.clip(place, 0, extent - 1) for place, extent in zip(where, view.buffer.shape, strict=True)]
    found = env[BUFFERS][view.buffer.name][tuple(clipped)]
    return np.where(inside, found, NUMPY[view.buffer.element](view.outside))


def summed(parts: Sequence[Any], kind: str) -> Any:
    """`sum` of a vector: in ascending order, from zero."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total = (total + part).astype(NUMPY[kind])
    return total


def meeting(env: Env, values: Any, groups: int) -> Any:
    """`workgroup.sum` of integers, whose order does not matter."""
    table = np.where(env[MASK], values, 0).reshape(groups, -1)
    return np.repeat(table.sum(axis=1, dtype=np.int64).astype(np.int32), table.shape[1])


def truncated(values: Any) -> Any:
    """A float or integer as an index, towards zero."""
    return np.trunc(values).astype(np.int64)
