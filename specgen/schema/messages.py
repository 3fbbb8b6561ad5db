"""Violations of the schemas as diagnostics: code, place, found, allowed, nearest name, hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from specgen.diagnostics import Diagnostic, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.schema import tables
from specgen.schema.tree import Mapping, at, plain
from specgen.schema.validator import Violation, violations

MOST = 200
"""Violations of one file that are worked on; more are no help, and finding nearest names costs time."""

KINDS = ("kernel", "motif", "suite")

_STATEMENTS = ("let", "var", "set", "view", "store", "atomic", "for", "while", "if", "apply", "barrier", "assume")

_LISTS = ("body", "do", "then", "else", "overlap")
"""Keys that hold lists of statements."""

_MODIFIER_OF = {
    "in": "for",
    "do": "for",
    "then": "if",
    "else": "if",
    "as": "apply",
    "with": "apply",
    "overlap": "barrier",
}


def check_shape(root: Mapping, kind: str) -> list[Diagnostic]:
    """Every violation (at most `MOST`) of a document of one of `KINDS`, in the order of the file."""
    return told_of(violations(plain(root), kind)[:MOST], root, kind)


def told_of(found: list[Violation], root: Mapping, kind: str) -> list[Diagnostic]:
    """Violations as diagnostics, in the order of the file."""
    misspelt = {
        (*v.path[:-1], near) for v in found if v.kind == "unknown" and (near := nearest(str(v.path[-1]), v.allowed))
    }
    told = [v for v in found if v.kind != "missing" or v.path not in misspelt]
    return sorted((_diagnostic(v, root, kind) for v in told), key=lambda d: (d.span, d.message))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is spelt most like `word`, if any is close."""
    match = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return match[0] if match else None


def shown(value: Any) -> str:
    """A document's value in a few words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an empty mapping" if not value else "a mapping"
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def first_line(span: Span) -> Span:
    """The span if it lies on one line, else its first character."""
    if span.line == span.end_line:
        return span
    return Span(span.file, span.line, span.column, span.line, span.column + 1)


def _diagnostic(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    return _MAKERS[violation.kind](violation, root, kind)


def _name(path: tuple[str | int, ...]) -> str:
    """What messages call the thing at `path`."""
    last = path[-1]
    if isinstance(last, str):
        return f"`{last}`"
    owner = next((p for p in reversed(path) if isinstance(p, str)), "")
    if owner in _LISTS:
        return f"statement {last + 1} of `{owner}`"
    return f"entry {last + 1} of `{owner}`"


def _owner(path: tuple[str | int, ...], root: Mapping, kind: str) -> str:
    """What messages call the mapping that holds the key at the end of `path`."""
    outer = path[:-1]
    if not outer:
        return f"a {kind}"
    _, node = at(root, outer)
    if isinstance(outer[-1], int) and isinstance(node, Mapping):
        statement = next((word for word in _STATEMENTS if node.get(word) is not None), None)
        if statement and len(outer) > 1 and outer[-2] in _LISTS:
            return f"`{statement}`"
    return _name(outer)


def _key_span(path: tuple[str | int, ...], root: Mapping) -> Span:
    key, value = at(root, path)
    if key is not None:
        return key.span
    return first_line((value or root).span)


def _holder_span(path: tuple[str | int, ...], root: Mapping) -> Span:
    """Where a missing key is reported: the key of the mapping that lacks it, else that mapping's first key."""
    key, value = at(root, path)
    if key is not None:
        return key.span
    if isinstance(value, Mapping) and value.entries:
        return value.entries[0].key.span
    return first_line((value or root).span)


def _value_span(path: tuple[str | int, ...], root: Mapping) -> Span:
    key, value = at(root, path)
    if value is None:
        return first_line(root.span)
    if value.span.line != value.span.end_line and key is not None:
        return key.span
    return first_line(value.span)


def _unknown(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    word = str(violation.path[-1])
    near = nearest(word, violation.allowed)
    owner = _owner(violation.path, root, kind)
    span = _key_span(violation.path, root)
    hint = f"Nearest: `{near}`." if near else "Remove it."
    if not near and word in _STATEMENTS and owner.strip("`") in _STATEMENTS:
        hint = f"Start a statement of its own: `- {word}:`."
    if not near and len(violation.path) == 1:
        others = [other for other in KINDS if word in tables.schema(other)]
        hint = f"Only a {others[0]} has `{word}`." if others else hint
    message = f"`{word}` is no key of {owner}."
    return diagnostic("SG-KEY", span, message, found=word, allowed=violation.allowed, hint=hint)


def _missing(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    word = str(violation.path[-1])
    code = violation.meta.get("missing", "SG-KEY")
    span = _holder_span(violation.path[:-1], root)
    wants = violation.meta.get("wants")
    hint = f"Add `{word}:` with {wants}." if wants else f"Add `{word}:`."
    return diagnostic(code, span, f"`{word}` is missing in {_owner(violation.path, root, kind)}.", hint=hint)


def _type(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    value = violation.value
    code = violation.meta.get("code", "SG-KEY")
    wants = violation.meta.get("wants") or _WANTS[violation.detail]
    hint = f"Write {wants}."
    if violation.allowed and violation.detail == "text":
        wants = " or ".join(f"`{word}`" for word in violation.allowed)
        hint = f"Write {wants}."
    elif isinstance(value, (bool, int, float)) and "text" in wants:
        hint = "Quote it if it is text."
    elif violation.kind == "length" and not value:
        wants, hint = (
            f"{wants} with at least one entry",
            "Add one." if violation.required else "Add one, or remove the key.",
        )
    elif violation.detail == "sequence" and isinstance(value, (str, bool, int, float)):
        hint = f"Write `[{shown(value)}]`."
    elif isinstance(value, str) and wants.startswith("`{type: ...}`") and value.isidentifier():
        hint = f"Write `{{type: {value}}}`."
    found = f"the text `{shown(value)}`" if isinstance(value, str) else shown(value)
    message = f"{_name(violation.path)} wants {wants}."
    return diagnostic(code, _value_span(violation.path, root), message, found=found, hint=hint)


_WANTS = {"sequence": "a list", "mapping": "a mapping", "text": "text"}


def _value(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    code = violation.meta.get("code", "SG-KEY")
    found = shown(violation.value)
    near = nearest(found, violation.allowed)
    span = _value_span(violation.path, root)
    if code == "SG-VERSION":
        message = f"format version {found} is unknown; this tool knows {', '.join(violation.allowed)}."
        return diagnostic(code, span, message, found=found, allowed=violation.allowed)
    hint = f"Nearest: `{near}`." if near else f"Write {' or '.join(f'`{w}`' for w in violation.allowed)}."
    message = f"{_name(violation.path)} cannot be `{found}`."
    return diagnostic(code, span, message, found=found, allowed=violation.allowed, hint=hint)


def _excludes(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    code = violation.meta.get("code", "SG-KEY")
    word, other = violation.path[-1], violation.allowed[0]
    message = f"`{word}` and `{other}` exclude each other in {_owner(violation.path, root, kind)}."
    return diagnostic(code, _key_span(violation.path, root), message, hint="Keep one of them.")


def _custom(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    code = violation.meta.get("code", "SG-KEY")
    message = f"{_name(violation.path)}: {violation.detail}."
    wants = violation.meta.get("wants", "another value")
    found = shown(violation.value)
    return diagnostic(code, _value_span(violation.path, root), message, found=found, hint=f"Write {wants}.")


def _branch(violation: Violation, root: Mapping, kind: str) -> Diagnostic:
    """No key, or more than one, says which alternative is meant."""
    _, node = at(root, violation.path)
    keys = [entry.key for entry in node] if isinstance(node, Mapping) else []
    code = violation.meta.get("code", "SG-KEY")
    wants = violation.meta.get("wants", "one of these keys")
    place = keys[0].span if keys else _value_span(violation.path, root)
    statement = violation.meta.get("wants") == "a statement"
    if violation.detail == "several":
        tags = [key for key in keys if key.text in violation.allowed]
        names = " and ".join(f"`{key.text}`" for key in tags)
        hint = f"Start the second with `- {tags[1].text}:`." if statement else "Keep one of them."
        message = f"{names} stand in one {'statement' if statement else 'mapping'}."
        return diagnostic(code, tags[1].span, message, hint=hint)
    for key in keys:
        near = nearest(key.text, violation.allowed)
        if near:
            what = "statement" if statement else f"key of {_name(violation.path)}"
            message = f"`{key.text}` is no {what}."
            hint = f"Nearest: `{near}`."
            return diagnostic(code, key.span, message, found=key.text, allowed=violation.allowed, hint=hint)
    message = f"{_name(violation.path)} is no statement." if statement else f"{_name(violation.path)} wants {wants}."
    hint = f"Write {wants}."
    owner = next((_MODIFIER_OF[key.text] for key in keys if key.text in _MODIFIER_OF), None)
    if statement:
        hint = f"`{owner}:` is missing." if owner else "One key names the statement."
    found = ", ".join(key.text for key in keys) or "an empty mapping"
    return diagnostic(code, place, message, found=found, allowed=violation.allowed, hint=hint)


_MAKERS = {
    "unknown": _unknown,
    "missing": _missing,
    "type": _type,
    "length": _type,
    "value": _value,
    "excludes": _excludes,
    "custom": _custom,
    "branch": _branch,
}
