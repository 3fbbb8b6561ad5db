"""What a check or benchmark must say about the arguments of its kernel."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Sequence

from specgen.diagnostics import Diagnostic, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.diagnostics.merge import within
from specgen.expressions import Expr, nodes
from specgen.loading.context import name_problem
from specgen.loading.literals import PICK, bounds, choice_problem, number, outside
from specgen.loading.walk import covered, is_readable
from specgen.model import BufferArg, Case, Knob, Name, Reference, ScalarArg, Spec
from specgen.schema.messages import nearest


def check_cases(spec: Spec, broken: Sequence[Span] = ()) -> list[Diagnostic]:
    """Findings about the names and literal values of checks and benchmarks.

    A case with a part that could not be read (`broken`) may say more than can be seen: what it lacks is not told.
    """
    findings: list[Diagnostic] = []
    for section, cases in (("check", spec.checks), ("benchmark", spec.benchmarks)):
        for case in cases:
            whole = is_readable(case) and not any(within(span, covered(case)) for span in broken)
            unread = {a.name.text for a in spec.args if any(within(span, covered(a)) for span in broken)}
            findings += _Case(spec, section, case, whole, unread).findings()
    return findings


class _Case:
    def __init__(self, spec: Spec, section: str, case: Case, whole: bool, unread: Container[str]) -> None:
        self.section, self.case, self.whole, self.unread = section, case, whole, unread
        self.lost = spec.lost or frozenset()
        self.scalars = {a.name.text: a for a in spec.args if isinstance(a, ScalarArg)}
        self.buffers = {a.name.text: a for a in spec.args if isinstance(a, BufferArg)}
        self.knobs: dict[str, Knob] = {k.name.text: k for k in (*spec.params, *spec.policies)}

    def findings(self) -> Iterator[Diagnostic]:
        yield from self._given()
        if self.whole:
            yield from self._missing()
            yield from self._unread_names()
        yield from self._twice()
        yield from self._known(
            (name for name, _ in self.case.backing), self.buffers, "`backing` names no buffer", "Only buffers have one."
        )
        if not isinstance(self.case.expect, Reference):
            yield from self._expect()
        for name, value in self._values():
            yield from self._outside(name, value)

    def _known(self, names: Iterable[Name], known: Iterable[str], message: str, hint: str) -> Iterator[Diagnostic]:
        words = tuple(known)
        for name in names:
            if name.text not in words and name.text not in self.lost and name_problem(name.text) is None:
                near = nearest(name.text, words)
                tip = f"Nearest: `{near}`." if near else hint
                yield diagnostic("SG-CHECK", name.span, f"{message} `{name.text}`.", found=name.text, hint=tip)

    def _given(self) -> Iterator[Diagnostic]:
        known = (*self.scalars, *self.buffers, *self.knobs)
        hint = "Free names belong into `each` or `cases`."
        elsewhere = {name.text for name, _ in self.case.each} | self._in_rows().keys()
        names = (name for name, _ in self.case.given if name.text not in elsewhere)
        yield from self._known(names, known, "`given` names no argument, param or policy", hint)
        for name, _ in self.case.given:
            if name.text in self.buffers and self.buffers[name.text].access == "write":
                message = f"`{name.text}` is declared `write`: it starts with poison, not with what is given."
                yield diagnostic("SG-CHECK", name.span, message, hint="Remove it, or declare it `readwrite`.")

    def _expect(self) -> Iterator[Diagnostic]:
        assert not isinstance(self.case.expect, Reference)
        names = [name for name, _ in self.case.expect]
        yield from self._known(names, self.buffers, "`expect` names no buffer", "Only buffers are compared.")
        for name in names:
            buffer = self.buffers.get(name.text)
            if buffer is not None and buffer.access == "read":
                message = f"`{name.text}` is declared `read`: it keeps what is given."
                yield diagnostic("SG-CHECK", name.span, message, hint="Expect a buffer that is stored.")

    def _set_by_rows(self) -> set[str]:
        rows = [{name.text for name, _ in row} for row in self.case.cases]
        return set.intersection(*rows) if rows else set()

    def _in_rows(self) -> dict[str, Name]:
        return {name.text: name for row in self.case.cases for name, _ in row}

    def _missing(self) -> Iterator[Diagnostic]:
        told = {name.text for name, _ in (*self.case.given, *self.case.each)} | self._set_by_rows()
        wanted = [*self.scalars, *(b for b, a in self.buffers.items() if a.access != "write")]
        for name in wanted:
            if name not in told and name not in self.unread and name_problem(name) is None:
                message = f"the {self.section} `{self.case.name.text}` says nothing about `{name}`."
                hint = f"Add `{name}:` to `given`."
                yield diagnostic("SG-CHECK", self.case.name.span, message, hint=hint)

    def _unread_names(self) -> Iterator[Diagnostic]:
        """Free names that no formula reads: the case repeats itself for each of their values."""
        formulas: list[Expr | Reference | None] = [e for _, e in (*self.case.given, *self.case.backing)]
        expected = self.case.expect
        formulas += [expected] if isinstance(expected, Reference) else [e for _, e in expected]
        formulas += [self.case.bytes, self.case.flops]
        if any(isinstance(f, Reference) for f in formulas):
            return  # Python gets all names
        trees = [f.tree for f in formulas if isinstance(f, Expr)]
        read = {n.id for tree in trees for n in nodes(tree) if isinstance(n, ast.Name)}
        own = (*self.scalars, *self.knobs)
        free = {n.text: n for n in (*self._in_rows().values(), *(n for n, _ in self.case.each))}
        for text, name in free.items():
            if text in read or text in own or text in self.lost or name_problem(text) is not None:
                continue
            if text in self.buffers:
                message = f"`{text}` is a buffer; `each` and `cases` hold single values."
                yield diagnostic("SG-CHECK", name.span, message, hint="Move it to `given`, with a formula.")
                continue
            near = nearest(text, (*own, *read))
            message = f"`{text}` is no argument, param or policy, and no formula of `{self.case.name.text}` reads it."
            hint = f"Nearest: `{near}`." if near else "Use it in a formula, or remove it."
            yield diagnostic("SG-CHECK", name.span, message, severity="warning", hint=hint)

    def _twice(self) -> Iterator[Diagnostic]:
        """A name that gets its value in two places."""
        seen: dict[str, tuple[str, Span]] = {}
        for where, names in (
            ("each", [name for name, _ in self.case.each]),
            ("cases", list(self._in_rows().values())),
            ("given", [name for name, _ in self.case.given]),
        ):
            for name in names:
                if name.text in seen:
                    message = f"`{name.text}` already has its values from `{seen[name.text][0]}`."
                    yield diagnostic("SG-CHECK", name.span, message, hint="Keep one of them.")
                seen.setdefault(name.text, (where, name.span))

    def _values(self) -> Iterator[tuple[str, Expr]]:
        for name, values in self.case.each:
            yield from ((name.text, value) for value in values)
        for row in self.case.cases:
            yield from ((name.text, value) for name, value in row)
        for name, content in self.case.given:
            if isinstance(content, Expr):
                yield name.text, content

    def _outside(self, name: str, value: Expr) -> Iterator[Diagnostic]:
        """Literal values outside of what is declared for a scalar, param or policy."""
        if name in self.knobs:
            problem = choice_problem(self.knobs[name], value)
            if problem is not None:
                message = f"`{name}` {problem.reason}."
                yield diagnostic("SG-CHECK", value.span, message, found=value.text, allowed=problem.allowed, hint=PICK)
        scalar = self.scalars.get(name)
        given = number(value)
        if scalar is None or scalar.range is None or given is None:
            return
        if outside(scalar.range, given):
            message = f"`{name}` is {value.text}, which is outside of its declared range."
            allowed = (bounds(scalar.range),)
            yield diagnostic("SG-CHECK", value.span, message, found=value.text, allowed=allowed, hint=PICK)
