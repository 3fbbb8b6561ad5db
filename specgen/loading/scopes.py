"""Names of values: declared once, visible where used as targets, `set` only of variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.expressions import Expr
from specgen.loading.walk import blocks, root_of
from specgen.model import Apply, Atomic, Binding, BufferArg, For, Let, Name, Spec, Statement, Store, ViewStatement
from specgen.schema.messages import nearest


@dataclass(frozen=True)
class Declared:
    """A visible value: what it is (in words) and where it was declared."""

    what: str
    span: Span

    @property
    def place(self) -> str:
        return f"{self.what}, line {self.span.line}"


_PLACES = frozenset(("buffer", "view", "memory"))
"""What may be stored to."""


def check_scopes(spec: Spec) -> list[Diagnostic]:
    """Duplicates, unknown targets of `set`, `store`, `apply` and `results`."""
    scope = _Scope(spec)
    for what, names in _sections(spec):
        for name in names:
            scope.declare(name, what)
    tops = [(f"the implementation at line {i.span.line}", scope.block(i.body)) for i in spec.implementations]
    top = scope.block(spec.body)
    if spec.body or not tops:
        tops.append(("the body", top))
    for result in spec.results:
        for what, top in tops:
            if result.name.text in top or result.name.text in (spec.lost or ()):
                continue
            near = nearest(result.name.text, top)
            message = f"{what} declares no `{result.name.text}` at its top level."
            hint = f"Nearest: `{near}`." if near else "Declare it with `let` or `var` outside of loops and conditions."
            scope.findings.append(diagnostic("SG-RESULT", result.name.span, message, found=result.name.text, hint=hint))
    return scope.findings


def _sections(spec: Spec) -> Iterable[tuple[str, list[Name]]]:
    yield "param", [k.name for k in spec.params]
    yield "policy", [k.name for k in spec.policies]
    yield "define", [d.name for d in spec.defines]
    yield "buffer", [a.name for a in spec.args if isinstance(a, BufferArg)]
    yield "argument", [a.name for a in spec.args if not isinstance(a, BufferArg)]
    yield "view", [v.name for v in spec.views]
    yield "memory", [m.name for m in spec.memory]
    if spec.launch is not None:
        yield "id of the launch", [a.name for a in (*spec.launch.workgroups, *spec.launch.workgroup_size)]


class _Scope:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.levels: list[dict[str, Declared]] = [{}]
        self.findings: list[Diagnostic] = []

    def find(self, text: str) -> Declared | None:
        return next((level[text] for level in reversed(self.levels) if text in level), None)

    def visible(self, whats: Iterable[str]) -> dict[str, Declared]:
        wanted = frozenset(whats)
        return {text: d for level in self.levels for text, d in level.items() if d.what in wanted}

    def declare(self, name: Name, what: str) -> None:
        first = self.find(name.text) if name.text else None
        if first is None:
            self.levels[-1][name.text] = Declared(what, name.span)
            return
        message = f"`{name.text}` is already the name of a value ({first.place}); nothing is shadowed."
        notes = (Note(first.span, "declared here"),)
        self.findings.append(diagnostic("SG-NAME", name.span, message, hint="Choose another name.", notes=notes))

    def block(self, body: tuple[Statement, ...], counter: Name | None = None) -> dict[str, Declared]:
        """Check a block; the names that it declares."""
        self.levels.append({})
        if counter is not None:
            self.declare(counter, "loop counter")
        for statement in body:
            self.statement(statement)
        return self.levels.pop()

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let(kind="set"):
                for entry in statement.entries:
                    self.assigned(entry.name)
            case Let():
                for entry in statement.entries:
                    self.declare(entry.name, statement.kind)
            case ViewStatement():
                for entry in statement.entries:
                    self.declare(entry.name, "view")
            case Store():
                for target, _ in statement.entries:
                    self.target(target)
            case Atomic():
                self.target(statement.target)
                if statement.result is not None:
                    self.declare(statement.result, "let")
            case Apply():
                self.apply(statement)
        counter = statement.counter if isinstance(statement, For) else None
        for inner in blocks(statement):
            self.block(inner, counter)

    def unknown(self, code: str, span: Span, message: str, text: str, known: dict[str, Declared], hint: str) -> None:
        if not text or text in (self.spec.lost or ()):
            return
        near = nearest(text, known)
        if near is not None:
            hint = f"Nearest: `{near}` ({known[near].place})."
        self.findings.append(diagnostic(code, span, message, found=text, hint=hint))

    def assigned(self, name: Name) -> None:
        declared = self.find(name.text)
        if declared is None:
            message = f"no variable `{name.text}` here."
            self.unknown("SG-NAME", name.span, message, name.text, self.visible(["var"]), "Declare it with `var`.")
        elif declared.what != "var":
            kept = "and keeps its value" if declared.what != "buffer" else "and is changed by `store`"
            article = "an" if declared.what[0] in "aeiou" else "a"
            kind = f"`{declared.what}`" if declared.what == "let" else declared.what
            message = f"`{name.text}` is {article} {kind} (line {declared.span.line}) {kept}."
            hint = "Declare it with `var` to change it."
            if declared.what in _PLACES:
                hint = f"Write `store:` with `{name.text}[...]`."
            notes = (Note(declared.span, "declared here"),)
            self.findings.append(diagnostic("SG-NAME", name.span, message, hint=hint, notes=notes))

    def target(self, target: Expr) -> None:
        root = root_of(target.tree)
        if root is None:
            return
        span = target.span_of(root)
        declared = self.find(root.id)
        if declared is None:
            message = f"there is no buffer or memory `{root.id}`."
            self.unknown(
                "SG-NAME", span, message, root.id, self.visible(_PLACES), "Declare it under `args` or `memory`."
            )
        elif declared.what not in _PLACES:
            message = f"`{root.id}` is a value ({declared.place}), not a buffer or memory."
            hint = "Change it with `set`." if declared.what == "var" else "Store to a buffer or to memory."
            self.findings.append(diagnostic("SG-TYPE", span, message, found=root.id, hint=hint))

    def apply(self, statement: Apply) -> None:
        motif = self.spec.used.get(statement.motif.text)
        if statement.motif.text not in self.spec.use_spans:
            known = {text: Declared("used", span) for text, span in self.spec.use_spans.items()}
            message = f"no motif `{statement.motif.text}` is used by this spec."
            hint = f"Add `{statement.motif.text}.spec.yaml` to `uses`."
            self.unknown("SG-NAME", statement.motif.span, message, statement.motif.text, known, hint)
        elif motif is not None:
            self.given(motif, statement)
        self.declare(statement.instance, "instance")

    def given(self, motif: Spec, statement: Apply) -> None:
        """`with` gives every argument and no other; `params` and `policies` name some of the motif's."""
        args = {a.name.text: Declared("argument", a.name.span) for a in motif.args}
        params = {k.name.text: Declared("param", k.name.span) for k in motif.params}
        policies = {k.name.text: Declared("policy", k.name.span) for k in motif.policies}
        self.named(statement.arguments, args, "SG-NAME", "argument", statement)
        self.named(statement.params, params, "SG-PARAM", "param", statement)
        self.named(statement.policies, policies, "SG-POLICY", "policy", statement)
        given = {entry.name.text for entry in statement.arguments}
        for name in args:
            if name not in given and (given or self.spec.lost is None):
                message = f"`with` lacks the argument `{name}` of `{motif.name.text}`."
                hint = f"Add `{name}:` to `with`."
                self.findings.append(diagnostic("SG-KEY", statement.motif.span, message, hint=hint))

    def named(
        self, entries: tuple[Binding, ...], known: dict[str, Declared], code: str, what: str, statement: Apply
    ) -> None:
        for entry in entries:
            if entry.name.text not in known:
                message = f"`{statement.motif.text}` has no {what} `{entry.name.text}`."
                hint = "Remove it." if not known else f"It has {', '.join(f'`{k}`' for k in known)}."
                self.unknown(code, entry.name.span, message, entry.name.text, known, hint)
