"""Constructs that the language defines and this version does not do: one finding a file, at the first of them."""

from __future__ import annotations

from collections.abc import Iterator

from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading.walk import bodies, statements
from specgen.model import BufferArg, Let, Spec, Statement, TileArg
from specgen.schema.tree import Mapping


def check_supported(tree: Mapping, spec: Spec | None) -> list[Diagnostic]:
    """At most one SG-UNSUPPORTED; notes name further constructs, each at its first place."""
    found: dict[str, Span] = {}
    kind = tree.get("kind")
    if spec is None and kind is not None:
        found["`kind: suite`"] = kind.span
    for what, span in _constructs(spec) if spec is not None else ():
        if what not in found or span < found[what]:
            found[what] = span
    if not found:
        return []
    (what, span), *others = sorted(found.items(), key=lambda item: item[1])
    notes = tuple(Note(at, f"{other}: not supported yet either") for other, at in others)
    hint = "It is checked for its form only; remove it to build this spec."
    return [diagnostic("SG-UNSUPPORTED", span, f"not supported yet: {what}.", hint=hint, notes=notes)]


def _constructs(spec: Spec) -> Iterator[tuple[str, Span]]:
    for argument in spec.args:
        if isinstance(argument, TileArg):
            yield "tile arguments", argument.name.span
        elif isinstance(argument, BufferArg) and argument.strides:
            yield "`strides` of an argument", argument.strides[0].name.span
    for result in spec.results:
        if result.kind == "tile":
            yield "tile results", result.name.span
    if spec.launch is not None and spec.launch.band is not None:
        yield "`schedule: {band}` of the launch", spec.launch.band.span
    for body in bodies(spec):
        for statement in statements(body):
            yield from _in_statement(statement)


def _in_statement(statement: Statement) -> Iterator[tuple[str, Span]]:
    match statement:
        case Let(schedule=schedule) if schedule is not None:
            for key in ("lanes", "fragments"):
                value = getattr(schedule, key)
                if value is not None:
                    yield f"`schedule: {{{key}}}`", value.span
