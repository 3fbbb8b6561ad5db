"""The typed spec: what a document says after its shape was checked, before any value is bound.

Frozen records without behaviour. Every record has the `Span` of the text that it came from. Expressions are
parsed (`expressions.Expr`) but neither typed nor evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specgen.diagnostics import Source, Span
from specgen.expressions import Expr


@dataclass(frozen=True)
class Name:
    """An identifier and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True)
class Range:
    """A closed range `[lo, hi]`."""

    lo: Expr
    hi: Expr
    span: Span


@dataclass(frozen=True)
class Knob:
    """A `params` or `policies` entry; a param of a motif may have no default (it is taken from an argument)."""

    name: Name
    default: Expr | None
    choices: tuple[Expr, ...] | None
    range: Range | None
    span: Span


@dataclass(frozen=True)
class Define:
    """A named static expression."""

    name: Name
    value: Expr


@dataclass(frozen=True)
class ScalarArg:
    """A scalar argument with its promises."""

    name: Name
    type: Expr
    range: Range | None
    multiple_of: Expr | None
    span: Span


@dataclass(frozen=True)
class Axis:
    """A named axis and its extent."""

    name: Name
    extent: Expr


@dataclass(frozen=True)
class BufferArg:
    """A buffer argument; `shape` is in declared order (last axis fastest unless `contiguous` names another)."""

    name: Name
    element: Expr
    shape: tuple[Axis, ...]
    access: str
    access_span: Span
    align: Expr | None
    contiguous: Expr | None
    strides: tuple[Axis, ...]
    range: Range | None
    noalias: Expr | None
    span: Span


@dataclass(frozen=True)
class VectorArg:
    """A vector argument of a motif."""

    name: Name
    element: Expr
    size: Expr
    span: Span


@dataclass(frozen=True)
class TileArg:
    """A tile argument of a motif."""

    name: Name
    element: Expr
    shape: tuple[Axis, ...]
    span: Span


Arg = ScalarArg | BufferArg | VectorArg | TileArg


@dataclass(frozen=True)
class View:
    """A typed window on a buffer (the `views` section)."""

    name: Name
    of: Name
    type: Expr
    offset: Expr | None
    shape: tuple[Axis, ...]
    strides: tuple[Axis, ...]
    span: Span


@dataclass(frozen=True)
class MemorySchedule:
    """How author-written memory is laid out."""

    contiguous: Expr | None = None
    pad: Expr | None = None
    swizzle: Expr | None = None


@dataclass(frozen=True)
class Memory:
    """Workgroup or private memory declared by the author."""

    name: Name
    space: str
    type: Expr
    shape: tuple[Axis, ...]
    schedule: MemorySchedule
    span: Span


@dataclass(frozen=True)
class Launch:
    """Workgroup counts and sizes, x first; names are the ids in the body."""

    workgroups: tuple[Axis, ...]
    workgroup_size: tuple[Axis, ...]
    band: Expr | None
    span: Span


@dataclass(frozen=True)
class Variant:
    """A named set of policy values."""

    name: Name
    values: tuple[tuple[Name, Expr], ...]


@dataclass(frozen=True)
class Binding:
    """`name: expression` of `let`, `var`, `set`, `with`, `params` or `policies`."""

    name: Name
    value: Expr


@dataclass(frozen=True)
class ReadSchedule:
    """Schedule keys of `let`, `var`, `set` and `view`."""

    early: Expr | None = None
    lanes: Expr | None = None
    fragments: Expr | None = None
    place: Expr | None = None
    buffers: Expr | None = None
    pad: Expr | None = None
    swizzle: Expr | None = None


@dataclass(frozen=True)
class Let:
    """`let`, `var` or `set` (`kind`), entries in order."""

    kind: str
    entries: tuple[Binding, ...]
    outside: Expr | None
    schedule: ReadSchedule | None
    span: Span


@dataclass(frozen=True)
class ViewStatement:
    """`view: {n: region}`."""

    entries: tuple[Binding, ...]
    outside: Expr | None
    schedule: ReadSchedule | None
    span: Span


@dataclass(frozen=True)
class Store:
    """`store: {"x[i]": e}`; each target is a subscript expression."""

    entries: tuple[tuple[Expr, Expr], ...]
    skip_outside: bool
    span: Span


@dataclass(frozen=True)
class Atomic:
    """`atomic: {"x[i]": {add: e}}`; `operation` is add, min, max, and, or, xor or exchange."""

    target: Expr
    operation: str
    value: Expr
    result: Name | None
    span: Span


@dataclass(frozen=True)
class LoopSchedule:
    """Schedule keys of `for`, each absent or an expression."""

    pipeline: Expr | None = None
    lead: Expr | None = None
    through: Expr | None = None
    unroll: Expr | None = None
    order: Expr | None = None
    tail: Expr | None = None


@dataclass(frozen=True)
class For:
    """`for: i, in: range(...), do`; `bounds` is the `range(...)` call."""

    counter: Name
    bounds: Expr
    body: tuple[Statement, ...]
    schedule: LoopSchedule
    span: Span


@dataclass(frozen=True)
class While:
    """`while: c, do`."""

    condition: Expr
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class If:
    """`if: c, then, else`; `split` is its schedule key."""

    condition: Expr
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    split: Expr | None
    span: Span


@dataclass(frozen=True)
class Apply:
    """`apply: motif, as, with, params, policies`."""

    motif: Name
    instance: Name
    arguments: tuple[Binding, ...]
    params: tuple[Binding, ...]
    policies: tuple[Binding, ...]
    span: Span


@dataclass(frozen=True)
class Barrier:
    """`barrier: workgroup | global` with its private overlap and form."""

    scope: str
    overlap: tuple[Statement, ...] | None
    form: Expr | None
    span: Span


@dataclass(frozen=True)
class Assume:
    """`assume: c`."""

    condition: Expr
    span: Span


Statement = Let | ViewStatement | Store | Atomic | For | While | If | Apply | Barrier | Assume


@dataclass(frozen=True)
class Result:
    """A result of a motif: a scalar `type`, or `vector`/`tile` element with `size`/`shape`."""

    name: Name
    kind: str
    element: Expr
    size: Expr | None
    shape: tuple[Axis, ...]
    span: Span


@dataclass(frozen=True)
class Implementation:
    """One competing body of a motif."""

    target: Name | None
    priority: int
    requires: tuple[Expr, ...]
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class Reference:
    """`{reference: file.py:function}`."""

    file: str
    function: str
    span: Span


@dataclass(frozen=True)
class Compare:
    """`exact`, `bitwise`, `derived`, or `close` with its tolerances."""

    kind: str
    atol: Expr | None
    rtol: Expr | None
    span: Span


@dataclass(frozen=True)
class Case:
    """A check or benchmark. `each` and `cases` keep the order of the file; `compare` None means the default."""

    name: Name
    each: tuple[tuple[Name, tuple[Expr, ...]], ...]
    cases: tuple[tuple[tuple[Name, Expr], ...], ...]
    given: tuple[tuple[Name, Expr | Reference], ...]
    backing: tuple[tuple[Name, Expr], ...]
    expect: tuple[tuple[Name, Expr], ...] | Reference
    compare: Compare | None
    bytes: Expr | None
    flops: Expr | None
    span: Span


@dataclass(frozen=True)
class Spec:
    """A whole document. `used` holds the loaded specs of `uses`, by name."""

    version: int
    kind: str
    name: Name
    summary: str
    params: tuple[Knob, ...]
    defines: tuple[Define, ...]
    args: tuple[Arg, ...]
    views: tuple[View, ...]
    memory: tuple[Memory, ...]
    policies: tuple[Knob, ...]
    variants: tuple[Variant, ...]
    requires: tuple[Expr, ...]
    math: tuple[str, ...]
    launch: Launch | None
    registers: Expr | None
    results: tuple[Result, ...]
    body: tuple[Statement, ...]
    implementations: tuple[Implementation, ...]
    checks: tuple[Case, ...]
    benchmarks: tuple[Case, ...]
    source: Source
    span: Span
    used: Mapping[str, Spec] = field(default_factory=dict)
    use_spans: Mapping[str, Span] = field(default_factory=dict)
    lost: frozenset[str] | None = None
    """None: all of the document was read. Else the names that its unreadable parts may declare; such a spec is looked
    through for further findings and never built."""
