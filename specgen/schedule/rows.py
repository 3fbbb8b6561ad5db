"""Report rows of the scheduler: what became of each requested policy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


class _Row:
    def as_dict(self) -> dict[str, Any]:
        """The row as report keys; fields that hold no evidence are left out."""
        return {k: v for k, v in asdict(self).items() if v is not None}  # type: ignore[call-overload]


@dataclass(frozen=True)
class PipelineRow(_Row):
    """A loop with a `pipeline` policy.

    `ordinal` counts the loops of the source function, inner ones before the loop around them. `queue_records` is
    the number of iterations in the queue, `values_per_record` what each of them holds, `read_count` the static
    loads that run ahead, those in nested regions and in both branches of a conditional included.
    `outcome` is `pipelined`, or `serial` for depth 1 and for a loop that is never long enough (`reason` says so).
    `instance` names the application of the motif that the loop came from.
    """

    function: str
    ordinal: int
    loop: str
    location: str
    outcome: str
    depth: int
    queue_records: int
    values_per_record: int
    read_count: int
    lead: int | None = None
    reason: str | None = None
    instance: str | None = None


@dataclass(frozen=True)
class StageRow(_Row):
    """Where an op of a pipelined body went. `position` is its place there; an op of both stages has two rows."""

    function: str
    ordinal: int
    loop: str
    position: int
    op: str
    location: str
    stage: str
    iteration_lookahead: int
    partition: str | None = None


@dataclass(frozen=True)
class SplitRow(_Row):
    """A loop that was cut where a condition changes.

    `first` says which side of the conditional the first half runs, `cut` where the second one starts when that is
    known.
    """

    function: str
    loop: str
    location: str
    condition: str
    first: str
    cut: int | None = None


@dataclass(frozen=True)
class UnrollRow(_Row):
    """A loop with an `unroll` policy.

    `outcome`: `unrolled` (replaced by its copies), `stripmined` (copies in a loop), `cleared` (left as it was).
    `trip_count` is `exact` or `unresolved`; `trips` its value when exact. `tail`: none, guard or cut.
    """

    function: str
    ordinal: int
    loop: str
    location: str
    outcome: str
    policy: str
    factor: int
    order: str
    trip_count: str
    tail: str
    step: int | None = None
    trips: int | None = None
    reason: str | None = None
    instance: str | None = None
