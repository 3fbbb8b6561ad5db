"""Syntax errors of the YAML parser in the words of this tool."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from specgen.diagnostics import Diagnostic, Note, Source
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading.source import point
from specgen.schema.tree import MAX_DEPTH


@dataclass(frozen=True)
class _Rule:
    """Texts for a problem that contains `problem` (and, if given, stands before one of `characters`).

    `at_start`: the finding stands where the broken construct starts, not where the parser gave up.
    """

    problem: str
    message: str
    hint: str
    characters: str = ""
    at_start: bool = False


_BEGINNINGS = {
    "while parsing a flow mapping": "the `{` is here",
    "while parsing a flow sequence": "the `[` is here",
    "while parsing a block mapping": "the mapping starts here",
    "while parsing a block collection": "the list starts here",
    "while scanning a simple key": "the key is here",
}
"""The parser's contexts, and what a note at their beginning says."""

_INDENTED = _Rule(
    "",
    "this key is indented unlike the keys beside it, so it goes on with the value above.",
    "Align it with the other keys.",
)


_RULES = (
    _Rule(
        "mapping values are not allowed",
        "a second `: ` in this value would start a mapping.",
        "Quote the value, or put the mapping on lines of its own.",
    ),
    _Rule(
        "did not find expected ',' or '}'",
        "inside `{ }` a bracket ends a value.",
        "Quote the expression or put it on its own line.",
        "[{",
    ),
    _Rule(
        "did not find expected ',' or ']'",
        "inside `[ ]` a bracket ends a value.",
        "Quote the expression or put it on its own line.",
        "[{",
    ),
    _Rule("did not find expected ',' or '}'", "a `{` is not closed before this.", "Add the `}` or the comma."),
    _Rule("did not find expected ',' or ']'", "a `[` is not closed before this.", "Add the `]` or the comma."),
    _Rule(
        "did not find expected '-' indicator", "this line is no entry of the list.", "Start it with `- `, or align it."
    ),
    _Rule(
        "did not find expected key",
        "this is no key of the mapping above: indentation or a missing quote.",
        "Align it with the other keys; quote values that start with a bracket, `*`, `&`, `!` or `%`.",
    ),
    _Rule(
        "could not find expected ':'",
        "a key without `: ` is here.",
        "Write `key: value`; a value that goes on in the next line is indented more than its key.",
    ),
    _Rule("found unexpected end of stream", "this quote is not closed.", "Close the quote.", at_start=True),
    _Rule("found unexpected document indicator", "this quote is not closed.", "Close the quote.", at_start=True),
    _Rule("exceeded maximum nesting depth", f"nesting is deeper than {MAX_DEPTH} levels.", "Flatten the document."),
    _Rule("unknown escape character", "no such escape in double quotes.", "Use single quotes, or `\\\\`."),
    _Rule(
        "cannot start any token",
        "a value cannot start with this character.",
        "Quote the value.",
    ),
    _Rule(
        "block sequence entries are not allowed",
        "a list cannot start on the line of its key.",
        "Put `- ` on a line of its own.",
    ),
    _Rule("found undefined tag handle", "the tag is refused: a value is what it looks like.", "Remove the tag."),
    _Rule("did not find expected node content", "a value is missing here.", "Give it, or remove the comma."),
    _Rule(
        "did not find expected <document start>", "the document has ended before this.", "Align it with the first key."
    ),
    _Rule("alphabetic or numeric character", "`*` and `&` start an alias or anchor.", "Quote the value."),
)


def explained(error: yaml.MarkedYAMLError, source: Source) -> Diagnostic:
    """One diagnostic for a syntax error; a note names the place where the broken construct starts."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = error.problem or "this is no YAML"
    following = source.line(line)[column - 1 : column]
    rule = next(
        (r for r in _RULES if r.problem in problem and (not r.characters or (following and following in r.characters))),
        _Rule("", f"this is no YAML: {problem}.", "Check brackets, quotes and indentation up to here."),
    )
    if "mapping values" in problem and ": " not in source.line(line)[: column - 1]:
        rule = _INDENTED
        column = len(source.line(line)) - len(source.line(line).lstrip()) + 1
    begin = error.context_mark
    if begin is None or (begin.line, begin.column) == (line - 1, column - 1):
        return diagnostic("SG-LOAD", point(source.name, line, column), rule.message, hint=rule.hint)
    place = point(source.name, begin.line + 1, begin.column + 1)
    if rule.at_start:
        return diagnostic("SG-LOAD", place, rule.message, hint=rule.hint)
    words = _BEGINNINGS.get(error.context or "")
    notes = (Note(place, words),) if words else ()
    return diagnostic("SG-LOAD", point(source.name, line, column), rule.message, hint=rule.hint, notes=notes)
