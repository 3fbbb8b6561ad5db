"""What the binder carries while it walks one entry: the place in the spec, the scope, the facts, the operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from specgen.binding.asked import Answers, Question
from specgen.binding.builder import Attributes, Builder
from specgen.binding.instance import Operand, PolicyValue, Region, Selection
from specgen.binding.linear import Facts, Linear
from specgen.binding.scope import Scope
from specgen.binding.types import Scalar, Type
from specgen.binding.values import UNIFORM, Level, Unknown, Value
from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.expressions import Expr
from specgen.model import Spec

if TYPE_CHECKING:
    from specgen.targets import Target

UNKNOWN = Unknown()


@dataclass(frozen=True)
class Control:
    """An enclosing condition or loop bound: who executes what is inside depends on it."""

    level: Level
    text: str
    span: Span


@dataclass(frozen=True)
class Demand:
    """A collective or a barrier, and the level that its enclosing controls must have."""

    base: int
    what: str
    span: Span
    controls: tuple[Control, ...]


@dataclass(frozen=True)
class Live:
    """A staged view that may be read: what it copied, and whether its memory is given free by a barrier.

    `shared`: the buffer may be stored to elsewhere, so its barriers order buffers too.
    """

    name: str
    storage: str
    released: bool
    shared: bool
    span: Span


@dataclass
class Rotation:
    """A counted loop around staged views: its counter, first value and step, and how many controls surround its body.

    `used`: a view of its body rotates, so that a barrier has to stand behind the loop when it may run again.
    """

    counter: Value
    first: Value
    step: int
    controls: int
    used: bool = False


@dataclass
class Shared:
    """What all parts of one `bind` call write to."""

    target: Target
    diagnostics: dict[Diagnostic, None] = field(default_factory=dict)
    facts_read: set[str] = field(default_factory=set)
    answers: Answers = field(default_factory=dict)
    used: set[tuple[int, str]] = field(default_factory=set)
    """`(id of the spec, name)` of every param, policy and define that was looked up anywhere."""
    policies: Mapping[str, PolicyValue] = field(default_factory=dict)
    settings_used: set[str] = field(default_factory=set)
    loop_policies: set[str] = field(default_factory=set)
    """Policies of the kernel that stand alone as a depth, factor or lead."""
    leads: set[str] = field(default_factory=set)
    """Those of them that stand as nothing but a lead."""
    used_elsewhere: set[str] = field(default_factory=set)
    """Policies of the kernel that are looked up outside of `schedule:`."""
    told: set[tuple[str, Span, str]] = field(default_factory=set)
    variant: Note | None = None
    """Says for which variant a finding holds that the default does not have."""
    unsupported: bool = False
    """Whether a part of the language that is not supported yet was met; it is told once."""
    refused: bool = False
    """Whether the target (not the spec) is at fault for an error."""

    def fact(self, name: str) -> Any:
        """A fact of the target, recorded as read."""
        self.facts_read.add(name)
        return getattr(self.target, name)

    def ask(self, question: Question, *case: int | str) -> bool:
        """The target's answer, recorded as something that the binding depends on."""
        answer = question(self.target, *case)
        self.answers[question, case] = answer
        return answer

    def failed(self, spec: Spec) -> bool:
        """Whether there are errors (or `spec` was not read whole), so that nothing that is absent can be told."""
        return spec.lost is not None or any(d.is_error for d in self.diagnostics)


class Context:
    """The state of one entry, or of one motif application inside of it (`child`)."""

    def __init__(self, spec: Spec, shared: Shared, *, serial: bool = False) -> None:
        self.spec = spec
        self.shared = shared
        self.serial = serial
        self.scope = Scope()
        self.builder = Builder()
        self.facts = Facts()
        self.math = spec.math
        self.path: tuple[str, ...] = ()
        self.expr: Expr = Expr("", ast.Constant(0), spec.span)
        self.node: ast.AST | None = None
        self.place: Span | None = None
        self.compared: ast.Compare | None = None
        self.forbid_policies = False
        self.nameless = False
        """Whether something was declared whose name could not be read."""
        self.in_schedule = False
        self.all_words: frozenset[str] = frozenset()
        self.only_static: str | None = None
        self.static_code = "SG-STATIC"
        self.mask: Value | None = None
        self.outside: Value | None = None
        self.controls: list[Control] = []
        self.live: list[Live] = []
        """Staged views whose block has not ended."""
        self.loops = 0
        """Loops around what is being bound."""
        self.rotation: Rotation | None = None
        """The innermost counted loop."""
        self.demands: list[Demand] = []
        self.equations: dict[int, Level] = {}
        self.notes: list[Diagnostic] = []
        self.carried: list[tuple[Span, tuple[str, ...]]] = []
        self.selections: list[Selection] = []
        self.words: tuple[str, ...] = ()
        self.sizes: tuple[tuple[str, int], ...] = ()
        self.linear_ids: tuple[Linear, ...] = ()
        """Forms that count the work-items in the order of their subgroups."""

    def child(self, spec: Spec, instance: str) -> Context:
        """A context for the motif `spec` that emits into this one's operations."""
        inner = Context(spec, self.shared, serial=self.serial)
        for key in ("builder", "facts", "controls", "demands", "equations", "notes", "carried", "selections", "mask"):
            setattr(inner, key, getattr(self, key))
        for key in ("sizes", "linear_ids", "live", "loops", "rotation"):
            setattr(inner, key, getattr(self, key))
        inner.path = (*self.path, instance)
        return inner

    # --- diagnostics -------------------------------------------------------------------------------------------

    @property
    def span(self) -> Span:
        """Where what is being bound stands."""
        return self.place if self.place is not None else self.expr.span_of(self.node)

    def report(
        self,
        code: str,
        message: str,
        *,
        at: ast.AST | Span | None = None,
        hint: str | None = None,
        notes: tuple[Note, ...] = (),
        severity: str = "error",
        found: str | None = None,
        allowed: tuple[str, ...] = (),
    ) -> Unknown:
        """Record a finding (once) and give the value that silences its followers."""
        if code == "SG-UNSUPPORTED":
            if self.shared.unsupported:
                return UNKNOWN
            self.shared.unsupported = True
        if self.shared.variant is not None:
            notes = (*notes, self.shared.variant)
        span = at if isinstance(at, Span) else self.expr.span_of(at) if at is not None else self.span
        key = code, span, message
        if key not in self.shared.told:
            self.shared.told.add(key)
            made = diagnostic(
                code, span, message, severity=severity, found=found, allowed=allowed, hint=hint, notes=notes
            )
            self.shared.diagnostics[made] = None
        return UNKNOWN

    @contextmanager
    def within(self, expr: Expr) -> Iterator[None]:
        """Evaluate parts of `expr`: spans and texts are its own."""
        held = self.expr, self.node, self.place
        self.expr, self.node, self.place = expr, expr.tree, None
        try:
            yield
        finally:
            self.expr, self.node, self.place = held

    @contextmanager
    def at_place(self, span: Span) -> Iterator[None]:
        """Emit at `span` whatever the expression is."""
        held = self.place
        self.place = span
        try:
            yield
        finally:
            self.place = held

    def early(self) -> AbstractContextManager[None]:
        """Emit into the entry block; at the place at hand in a motif that was applied, whose arguments may be new."""
        return nullcontext() if self.path else self.builder.at_entry()

    @contextmanager
    def under(self, level: Level, text: str, span: Span) -> Iterator[None]:
        """What is bound inside runs under a condition or loop bound of this level."""
        self.controls.append(Control(level, text, span))
        try:
            yield
        finally:
            self.controls.pop()

    def demand(self, base: int, what: str) -> None:
        """Record that everything around must be uniform at level `base`; `solve` reports what is not."""
        self.demands.append(Demand(base, what, self.span, tuple(self.controls)))

    # --- operations --------------------------------------------------------------------------------------------

    def emit(
        self,
        name: str,
        operands: tuple[Operand, ...],
        results: tuple[str, ...],
        *,
        hints: tuple[str, ...] = (),
        attributes: Attributes = (),
        extra: Attributes = (),
        regions: tuple[Region, ...] = (),
    ) -> tuple[Operand, ...]:
        """Emit an op at the current place."""
        return self.builder.emit(
            name, operands, results, self.span, hints=hints, attributes=attributes, extra=extra, regions=regions
        )

    def operand(self, value: Value, hint: str = "") -> Operand:
        """The SSA value of a typed value; static ones become constants here."""
        if value.static is not None:
            return self.builder.constant(value.type, value.static, self.span, hint)
        return Operand(value.name, value.type.ir)

    def op(
        self,
        name: str,
        type_: Type,
        *values: Value,
        hint: str = "",
        attributes: Attributes = (),
        extra: Attributes = (),
        level: Level | None = None,
        lin: Linear | None = None,
        interval: tuple[int, int] | None = None,
    ) -> Value:
        """Emit an op with one result and wrap it; integers without a form get a new atom."""
        operands = tuple(self.operand(v) for v in values)
        (made,) = self.emit(name, operands, (type_.ir,), hints=(hint,), attributes=attributes, extra=extra)
        if level is None:
            level = UNIFORM
            for value in values:
                level |= value.level
        if lin is None and isinstance(type_, Scalar) and type_.is_integer:
            lin = self.facts.atom(*type_.limits)
        return Value(type_, made.name, level=level, lin=lin, interval=interval)

    def interval(self, value: Value) -> tuple[int, int]:
        """Bounds of an integer value, or of the elements of an integer vector."""
        if value.lin is not None:
            return self.facts.interval(value.lin)
        if value.interval is not None:
            return value.interval
        element = value.type.element
        if value.static is not None and isinstance(value.static, tuple):
            return int(min(value.static)), int(max(value.static))
        if value.static is not None:
            return int(value.static), int(value.static)
        return element.limits

    def fastmath(self, *allowed: str) -> Attributes:
        """The `fastmath` attribute that `math` gives to an op that understands the flags `allowed`."""
        flags = tuple(f for key, f in _FLAGS if key in self.math and f in allowed)
        return (("fastmath", flags),) if flags else ()


_FLAGS = (("contract", "contract"), ("approximate", "afn"), ("no_nan", "nnan"))
