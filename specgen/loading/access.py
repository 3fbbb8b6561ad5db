"""Declared access against what the body does: what is stored must be writable, what is read readable."""

from __future__ import annotations

from collections.abc import Iterator

from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.expressions import Expr
from specgen.loading.walk import bodies, names_in, root_of, statements, values
from specgen.model import Apply, Atomic, BufferArg, Spec, Statement, Store, ViewStatement


def check_access(spec: Spec) -> list[Diagnostic]:
    """SG-ACCESS findings of a spec whose names are right."""
    buffers = {a.name.text: a for a in spec.args if isinstance(a, BufferArg)}
    behind = _behind(spec)
    findings: list[Diagnostic] = []
    stored: set[str] = set()
    for body in bodies(spec):
        for statement in statements(body):
            for name, span in _stores(spec, statement):
                root = _root(name, behind)
                stored.add(root)
                buffer = buffers.get(root)
                if buffer is not None and buffer.access == "read":
                    findings.append(_refused(buffer, span, "stored here", "readwrite"))
            for name, span in _loads(spec, statement):
                buffer = buffers.get(_root(name, behind))
                if buffer is not None and buffer.access == "write":
                    findings.append(_refused(buffer, span, "read here", "readwrite"))
    for buffer in buffers.values():
        if buffer.access in ("write", "readwrite") and buffer.name.text not in stored:
            message = f"`{buffer.name.text}` is declared `{buffer.access}` and never stored."
            hint = "Add `store:` or remove the argument."
            at = buffer.name.span
            findings.append(diagnostic("SG-ACCESS", at, message, hint=hint, unused=buffer.name.text))
    return findings


def _refused(buffer: BufferArg, span: Span, done: str, other: str) -> Diagnostic:
    message = f"`{buffer.name.text}` is declared `{buffer.access}` and {done}."
    notes = (Note(buffer.name.span, "declared here"),)
    return diagnostic("SG-ACCESS", span, message, hint=f"Declare it `access: {other}`.", notes=notes)


def _behind(spec: Spec) -> dict[str, str]:
    """View -> what it is a window on. Names of views are unique enough: a clash was refused before."""
    behind = {view.name.text: view.of.text for view in spec.views}
    for body in bodies(spec):
        for statement in statements(body):
            if isinstance(statement, ViewStatement):
                for entry in statement.entries:
                    root = root_of(entry.value.tree)
                    if root is not None:
                        behind[entry.name.text] = root.id
    return behind


def _root(name: str, behind: dict[str, str]) -> str:
    seen: set[str] = set()
    while name in behind and name not in seen:
        seen.add(name)
        name = behind[name]
    return name


def _passed(spec: Spec, statement: Apply, accesses: tuple[str, ...]) -> Iterator[tuple[str, Span]]:
    """Buffers given to a motif that declares one of `accesses` for them."""
    motif = spec.used.get(statement.motif.text)
    declared = {a.name.text: a.access for a in motif.args if isinstance(a, BufferArg)} if motif is not None else {}
    for entry in statement.arguments:
        root = root_of(entry.value.tree)
        if root is not None and declared.get(entry.name.text) in accesses:
            yield root.id, entry.value.span


def _stores(spec: Spec, statement: Statement) -> Iterator[tuple[str, Span]]:
    targets: tuple[Expr, ...] = ()
    if isinstance(statement, Store):
        targets = tuple(target for target, _ in statement.entries)
    elif isinstance(statement, Atomic):
        targets = (statement.target,)
    elif isinstance(statement, Apply):
        yield from _passed(spec, statement, ("write", "readwrite"))
    for target in targets:
        root = root_of(target.tree)
        if root is not None:
            yield root.id, target.span_of(root)


def _loads(spec: Spec, statement: Statement) -> Iterator[tuple[str, Span]]:
    if isinstance(statement, Apply):
        yield from _passed(spec, statement, ("read", "readwrite"))
    for expr, tree in values(statement):
        for node in names_in(tree):
            yield node.id, expr.span_of(node)
