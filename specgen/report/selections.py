"""Which implementation of a motif each application got, and why every other candidate did not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specgen.binding.instance import Candidate, Entry


def rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The rows of `selections[]`: one for each application of a motif that has implementations."""
    return [
        {
            "function": entry.symbol,
            "instance": made.instance,
            "motif": made.motif,
            "location": made.span.point(),
            "selected": next(c.span.point() for c in made.candidates if c.outcome == "selected"),
            "candidates": [_candidate(c) for c in made.candidates],
        }
        for entry in entries
        for made in entry.selections
    ]


def _candidate(candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {"location": candidate.span.point(), "outcome": candidate.outcome}
    if candidate.target is not None:
        row["target"] = candidate.target
    if candidate.priority is not None:
        row["priority"] = candidate.priority
    if candidate.reason:
        row["reason"] = candidate.reason
    return row
