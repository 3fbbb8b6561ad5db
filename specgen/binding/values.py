"""What an expression is while the spec is bound: a static number, an SSA value, a place in memory, or a word."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from specgen.binding.linear import Linear
from specgen.binding.types import BOOL, INT, REAL, Scalar, Type, Vector
from specgen.diagnostics import Span

Number = int | float | bool


@dataclass(frozen=True)
class Level:
    """How far a value is the same: `base` 0 in the workgroup, 1 in the subgroup, 2 nowhere.

    `carried` names variables of loops whose own levels are known only when the whole body was seen.
    """

    base: int = 0
    carried: frozenset[int] = frozenset()

    def __or__(self, other: Level) -> Level:
        if other is UNIFORM:
            return self
        if self is UNIFORM:
            return other
        return Level(max(self.base, other.base), self.carried | other.carried)


UNIFORM, SUBGROUP, VARYING = Level(0), Level(1), Level(2)


@dataclass(frozen=True)
class Unknown:
    """The value of an expression that already has its diagnostic; it silences what follows."""


@dataclass(frozen=True)
class Word:
    """A bare word: a choice of a word-valued param or policy, or a type's name."""

    text: str
    choices: tuple[str, ...] = ()
    type: Scalar | None = None


@dataclass(frozen=True)
class Value:
    """A scalar or a vector. `static` holds its number (a tuple for a vector) when that is known while binding.

    `lin` is an integer scalar as a linear form; `interval` bounds the elements of an integer vector. A condition
    carries what holds where it is true and where it is false; `partial` says that one of them is not everything.
    """

    type: Type
    name: str = ""
    static: Number | tuple[Number, ...] | None = None
    level: Level = UNIFORM
    lin: Linear | None = None
    interval: tuple[int, int] | None = None
    when_true: tuple[Linear, ...] = ()
    when_false: tuple[Linear, ...] = ()
    partial: tuple[bool, bool] = (True, True)

    @property
    def is_static(self) -> bool:
        return self.static is not None

    @property
    def size(self) -> int | None:
        """Elements of a vector, None for a scalar."""
        return self.type.size if isinstance(self.type, Vector) else None


@dataclass(frozen=True)
class Results:
    """What an `apply` gives: its results by name."""

    values: dict[str, Value | Unknown]


@dataclass(frozen=True)
class Extent:
    """An extent of a buffer: a form over arguments, its number when static, how the author or a formula spells it."""

    lin: Linear
    static: int | None
    text: str
    name: str = ""
    """The SSA value of an extent that is not static."""


@dataclass(frozen=True)
class Part:
    """A subscript of one axis: `start` an index, with `count` a range; `each` a vector of indices."""

    node: ast.AST
    start: Value | None
    count: int | None = None
    each: Value | None = None
    inside: Value | None = None
    """Which elements of a range lie in the view that it was written for; None when all do."""


@dataclass(frozen=True)
class Layout:
    """How the elements lie where memory has more to it than the axes in their order.

    `slot` is a subscript before all others (which copy of a rotating view). `granule` elements along the fastest axis
    stay together while granules change places with the row, alike again after `period` rows (0: no swizzle). `pad`
    elements that nothing uses end each row. `strides` (elements a step, one an axis) and `offset` (elements) place the
    axes of a typed window in a flat memory.
    """

    slot: Value | None = None
    granule: int = 0
    period: int = 1
    pad: int = 0
    strides: tuple[Value, ...] = ()
    offset: Value | None = None

    @property
    def loose(self) -> bool:
        """Whether a subscript beyond its axis may still name an element of the memory."""
        return bool(self.granule or self.pad or self.strides)


@dataclass(frozen=True)
class Buffer:
    """Memory with named axes: an argument or author-written memory. `order[d]` is the axis of memory dimension d."""

    name: str
    ssa: str
    element: Scalar
    axes: tuple[str, ...]
    extents: tuple[Extent, ...]
    order: tuple[int, ...]
    ir: str
    space: str
    access: str
    declared: tuple[int, int] | None
    align: int
    promises: tuple[Callable[[Linear], Linear], ...] = ()
    """Facts (`form >= 0`) about every element that is read, where the declared range depends on arguments."""
    touched: set[str] = field(default_factory=set, compare=False)
    """Filled while binding: `load` and `store`, what the body does with it."""
    base: Buffer | None = None
    """What a view is a window on."""
    window: tuple[Part, ...] = ()
    """The subscripts of a view in its base; the view's axes are the ranges among them."""
    outside: Value | None = None
    """What elements of a view beyond the base count as."""
    layout: Layout = Layout()
    root: str = ""
    """The SSA value of the buffer that a typed window shows, or a staged view has a copy of; else empty."""

    @property
    def storage(self) -> str:
        """The SSA value of the memory that the author named first."""
        return self.root or self.ssa


Entity = Value | Buffer | Word | Results | Unknown


@dataclass(frozen=True)
class Name:
    """An entry of a scope: what a name stands for and where it was declared."""

    text: str
    kind: str
    """param, policy, define, arg, memory, id, let, var, counter, instance: how messages call it."""
    span: Span
    value: Entity


def static_value(number: Number) -> Value:
    """An untyped static number, or a static bool."""
    if isinstance(number, bool):
        return Value(BOOL, static=number)
    if isinstance(number, int):
        return Value(INT, static=number, lin=Linear(number))
    return Value(REAL, static=number)
