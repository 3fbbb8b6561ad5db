"""Questions about a target whose answers a binding depends on, where the fact itself does not matter.

A binding holds for every target that gives the same answers, so most specs are bound once for all targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specgen import targets

if TYPE_CHECKING:
    from specgen.targets import Target

Question = Callable[..., bool]
"""Takes a target and what a case is about: numbers, or a name."""
Answers = dict[tuple[Question, tuple[int | str, ...]], bool]


def fits_workgroup(target: Target, items: int) -> bool:
    """Whether a workgroup may have so many work-items."""
    return items <= target.max_workgroup_size


def fits_memory(target: Target, size: int) -> bool:
    """Whether a workgroup may have so many bytes of memory."""
    return size <= target.workgroup_memory


def fits_registers(target: Target, number: int) -> bool:
    """Whether a work-item may have so many vector registers."""
    return target.max_registers is None or number <= target.max_registers


def fits_grid(target: Target, dim: int, count: int) -> bool:
    """Whether there may be so many workgroups along dimension `dim`."""
    return count <= target.max_workgroups[dim]


def whole_subgroups(target: Target, items: int) -> bool:
    """Whether so many neighbouring work-items are whole subgroups, whatever the target leaves open."""
    return target.subgroup_size is not None and items % target.subgroup_size == 0


def is_called(target: Target, name: str) -> bool:
    """Whether this is the target of that name."""
    return target.name == name


def is_stood_for_by(target: Target, name: str) -> bool:
    """Whether that is the name of its family, or of a target that stands for it."""
    return name in (target.family, targets.stand_in(target.name))
