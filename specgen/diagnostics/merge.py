"""The findings of several stages about one file as one list: each mistake once, without what only follows from it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from specgen.diagnostics import Diagnostic, Source, Span

_CLOSE = 0.6
"""How alike two names are (0 to 1) when one is taken for a misspelling of the other; as for `Nearest` hints."""


def merged(
    earlier: Iterable[Diagnostic], later: Iterable[Diagnostic], sources: Mapping[str, Source]
) -> tuple[Diagnostic, ...]:
    """Both lists in order of place. Of two errors of one code at one place the earlier stage's is kept, and nothing is
    said of lines that could not be read (SG-LOAD).

    A finding that says that something is never used falls away when an error stands at a name that is spelt like it.
    """
    first = tuple(dict.fromkeys(earlier))
    told = {_place(d) for d in first if d.is_error}
    unread = {(d.span.file, d.span.line) for d in first if d.code == "SG-LOAD"}
    found = list(first)
    for d in dict.fromkeys(later):
        if d not in first and _place(d) not in told and (d.span.file, d.span.line) not in unread:
            found.append(d)
    misspelt = _names_at(found, sources)
    kept = [d for d in found if d.unused is None or not _explained(d.unused, misspelt)]
    return tuple(sorted(kept, key=lambda d: (d.span, d.code, d.message)))


def within(span: Span, whole: Span) -> bool:
    """Whether a span starts inside of another one."""
    start = span.line, span.column
    return span.file == whole.file and (whole.line, whole.column) <= start <= (whole.end_line, whole.end_column)


def _place(finding: Diagnostic) -> tuple[str, str, int, int]:
    return finding.code, finding.span.file, finding.span.line, finding.span.column


def _names_at(findings: Iterable[Diagnostic], sources: Mapping[str, Source]) -> set[str]:
    """Names that errors point at (other than those that nobody uses)."""
    names = set()
    for finding in findings:
        span, source = finding.span, sources.get(finding.span.file)
        if finding.unused is None and finding.is_error and source is not None and span.line == span.end_line:
            text = source.line(span.line)[span.column - 1 : span.end_column - 1].strip("'\"")
            if text.isidentifier():
                names.add(text)
    return names


def _explained(unused: str, misspelt: set[str]) -> bool:
    return unused not in misspelt and bool(difflib.get_close_matches(unused, misspelt, n=1, cutoff=_CLOSE))
