"""Diagnostics: what is wrong with a user's file, where, and what to do about it.

A `Diagnostic` is a value; nothing here raises for a user's mistake. `catalogue.py` declares every code
once (message skeletons, explanation, example), `render.py` prints text and JSON from the same records.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a source file: 1-based lines and columns (in characters), the end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def point(self) -> str:
        """`file:line:column` of the first character."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Source:
    """A file as read: `name` is how messages show it (relative to the spec's root), `text` its decoded contents."""

    name: str
    text: str

    @functools.cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines without their line breaks; split once, for callers look at many."""
        return tuple(line.rstrip("\r") for line in self.text.split("\n"))

    def line(self, number: int) -> str:
        """The 1-based line `number` without its line break; empty when there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


@dataclass(frozen=True)
class Note:
    """A second place that explains a diagnostic."""

    span: Span
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `code` is a catalogue key such as `SG-TYPE` or, with its rule, `SG-LOOP P8`."""

    code: str
    span: Span
    message: str
    severity: str = "error"
    found: str | None = None
    allowed: tuple[str, ...] = ()
    hint: str | None = None
    notes: tuple[Note, ...] = field(default=())
    unused: str | None = None
    """The name whose lack of a use this finding tells: told no more when a misspelt one explains it (`merged`)."""

    @property
    def is_error(self) -> bool:
        """Whether this finding refuses the spec."""
        return self.severity == "error"


class DiagnosticError(Exception):
    """Carries diagnostics out of a stage that cannot go on; the caller of the stage turns it back into a list."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{d.span.point()}: {d.code}: {d.message}" for d in self.diagnostics))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any of the diagnostics is an error."""
    return any(d.is_error for d in diagnostics)
