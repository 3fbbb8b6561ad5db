"""What a mutant is, and how a seeded draw chooses some from all sites."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

KINDS = ("barrier", "wait", "guard", "swap", "tail", "lane", "address")
"""Drop a barrier; raise a wait by one; shift a guard or a loop's bound by one; swap two values that go round a loop;
drop the tail or the drain of a pipelined loop; read the wrong lane; an address off by one element."""

MACHINE, IR = "machine", "ir"


@dataclass(frozen=True)
class Mutant:
    """One fault. `apply` turns the bytes of the artifact's file into faulty ones."""

    kind: str
    level: str
    spec: str
    target: str
    entry: str
    steady: bool
    """Whether the site lies in a steady loop, or is that loop's own drain."""
    text: str
    apply: Callable[[bytes], bytes]

    @property
    def file(self) -> str:
        """The file that it changes."""
        return "kernel.hsaco" if self.level == MACHINE else "scheduled.mlir"

    @property
    def device(self) -> str:
        """The device that runs that file."""
        return "amdgpu-emulator" if self.level == MACHINE else "interpreter"

    def __str__(self) -> str:
        where = "steady" if self.steady else "elsewhere"
        return f"{self.kind}, {self.spec}, {self.target}, entry {self.entry} ({self.level}, {where}): {self.text}"


def draw(sites: Iterable[Mutant], per_kind: int, seed: int) -> list[Mutant]:
    """`per_kind` mutants of each kind (all, if there are fewer), half of the whole in steady loops.

    Kinds without enough sites in steady loops are made up for by the others. Within a kind specs and levels take
    turns, so that the largest kernel does not crowd out the rest.
    """
    by_kind: dict[str, list[Mutant]] = defaultdict(list)
    for site in sites:
        by_kind[site.kind].append(site)
    steady = {kind: sum(s.steady for s in by_kind[kind]) for kind in KINDS}
    able = [kind for kind in KINDS if steady[kind] * 2 >= per_kind]
    share = min(per_kind, -(-per_kind * len(KINDS) // (2 * max(1, len(able)))))
    chosen = []
    for kind in KINDS:
        order = _turns(by_kind[kind], random.Random(f"{seed} {kind}"))
        inside, outside = [s for s in order if s.steady], [s for s in order if not s.steady]
        first = inside[: share if kind in able else per_kind]
        rest = outside[: per_kind - len(first)]
        more = inside[len(first) : per_kind - len(rest)]
        chosen += [*first, *rest, *more]
    return chosen


def _turns(sites: list[Mutant], source: random.Random) -> list[Mutant]:
    """The sites in an order in which groups of one spec and level take turns."""
    groups: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for site in sites:
        groups[site.spec, site.level].append(site)
    for group in groups.values():
        source.shuffle(group)
    queues = [groups[key] for key in sorted(groups)]
    source.shuffle(queues)
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
