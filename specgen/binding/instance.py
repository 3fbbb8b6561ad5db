"""The bound spec: what is left when every param, policy and target fact has its value.

Frozen records. An `Entry` holds its body as named three-address operations, which `specgen.expand` prints.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import copysign

from specgen.diagnostics import Span
from specgen.manifest import symbol_of

PolicyValue = int | float | bool | str
"""A param's or policy's value; words and types are text."""


@dataclass(frozen=True)
class TypeText:
    """An attribute that is an IR type."""

    text: str


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of a constant: `values` has one entry for a splat or a scalar, else one an element.

    Equal are the same numbers of the same kinds: 0.0 is not -0.0, and NaN is a NaN of the same sign.
    """

    values: tuple[int | float | bool, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elements) and self._spelt() == other._spelt()

    def __hash__(self) -> int:
        return hash(self._spelt())

    def _spelt(self) -> str:
        return repr([(v, copysign(1, v)) if v != v else v for v in self.values])


Attribute = bool | int | str | tuple[int, ...] | tuple[str, ...] | TypeText | Elements
"""`True` is a unit attribute, an `int` is 64-bit, text is quoted, tuples are `array<i64: ...>` or lists of text."""


@dataclass(frozen=True)
class Operand:
    """An SSA value: its name without `%` and its IR type."""

    name: str
    type: str


@dataclass(frozen=True)
class Region:
    """A block: its arguments and its operations, the terminator last."""

    arguments: tuple[Operand, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Op:
    """One operation. `attributes` are the op's own keys, `extra` the discardable ones."""

    name: str
    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    extra: tuple[tuple[str, Attribute], ...]
    regions: tuple[Region, ...]
    span: Span

    def attribute(self, key: str) -> Attribute | None:
        """The own attribute `key`; None when the op has none."""
        return dict(self.attributes).get(key)


@dataclass(frozen=True)
class ScalarParam:
    """A scalar of the ABI. `range` is closed; `range_formulas` are its ends where they depend on other arguments."""

    name: str
    type: str
    ir_type: str
    range: tuple[int | float, int | float] | None
    range_formulas: tuple[str, str] | None
    multiple_of: int | None
    span: Span


@dataclass(frozen=True)
class BufferParam:
    """A buffer of the ABI.

    `axes` and `shape` (formulas over scalar arguments, one an axis) are in declared order; `order[d]` is the declared
    number of memory dimension `d`, slow to fast. `extents[d]` is the static extent of memory dimension `d` or None.
    """

    name: str
    element: str
    ir_type: str
    axes: tuple[str, ...]
    shape: tuple[str, ...]
    order: tuple[int, ...]
    extents: tuple[int | None, ...]
    access: str
    align: int
    noalias: bool
    unsigned: bool
    range: tuple[int | float, int | float] | None
    span: Span


Param = ScalarParam | BufferParam


@dataclass(frozen=True)
class Candidate:
    """An implementation of a motif (or, without priority, its fall-back body) and what became of it at a site.

    `outcome` is selected, refused or outranked; `reason` says why for the last two.
    """

    span: Span
    target: str | None
    priority: int | None
    outcome: str
    reason: str


@dataclass(frozen=True)
class Selection:
    """What competed at one application: `instance` is its name with those around it, `span` its place."""

    instance: str
    motif: str
    span: Span
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Entry:
    """A set of policy values and the kernel bound for it.

    `workgroups` and `workgroup_size` are x, y, z; counts are formulas over scalar arguments. `symbol` is the entry
    point in the artifact: entries that are the same kernel share one.
    """

    name: str
    symbol: str
    policies: tuple[tuple[str, PolicyValue], ...]
    workgroup_size: tuple[int, int, int]
    workgroups: tuple[str, str, str]
    body: Region
    carried: tuple[tuple[Span, tuple[str, ...]], ...] = ()
    """The variables that each loop carries, by the loop's place."""
    selections: tuple[Selection, ...] = field(default=(), compare=False)
    """What competed at each application of a motif that has implementations."""

    def same_kernel(self, other: Entry) -> bool:
        """Whether the two differ in nothing but their names and in policies that make no difference here."""
        launch = (self.workgroup_size, self.workgroups)
        return launch == (other.workgroup_size, other.workgroups) and self.body == other.body


@dataclass(frozen=True)
class Instance:
    """A kernel bound for one target: its ABI and its entries (default, serial, then the variants in file order)."""

    name: str
    file: str
    target: str
    subgroup_size: int | None
    math: tuple[str, ...]
    registers: int | None
    params: tuple[tuple[str, PolicyValue], ...]
    args: tuple[Param, ...]
    entries: tuple[Entry, ...]
    span: Span

    def entry(self, name: str) -> Entry:
        """The entry `name`; raises `KeyError` when there is none."""
        return {e.name: e for e in self.entries}[name]

    @property
    def functions(self) -> tuple[Entry, ...]:
        """The entries that have code of their own: of those that share a symbol, the first."""
        first: dict[str, Entry] = {}
        for entry in self.entries:
            first.setdefault(entry.symbol, entry)
        return tuple(first.values())

    def sharing(self, names: Collection[str]) -> Instance:
        """The same entries; those of `names` take the symbol of the first entry that is the same kernel."""
        entries: list[Entry] = []
        for entry in self.entries:
            same = (e.symbol for e in entries if entry.name in names and e.same_kernel(entry))
            entries.append(replace(entry, symbol=next(same, symbol_of(self.name, entry.name))))
        return replace(self, entries=tuple(entries))
