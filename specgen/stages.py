"""From a typed spec to scheduled IR for one target: bind, expand, parse, schedule. Pure; writes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specgen.diagnostics import Diagnostic, Note, Source, Span, has_errors
from specgen.model import Spec

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from specgen.binding import Bound
    from specgen.binding.instance import Instance
    from specgen.schedule import Scheduled
    from specgen.targets import Target

PolicyValue = int | float | bool | str


@dataclass(frozen=True)
class Planned:
    """A spec bound for one target, and its IR before and after scheduling."""

    target: str
    instance: Instance
    source_text: str
    source: ModuleOp
    scheduled: Scheduled


@dataclass(frozen=True)
class Plan:
    """The result of planning for one target: `planned` is None when an error (or a refusal) stopped it."""

    target: str
    planned: Planned | None
    diagnostics: tuple[Diagnostic, ...]

    refused: bool = False
    """Whether the spec excludes this target (its `requires`, or a fact that the target leaves open)."""


def bind_targets(
    spec: Spec,
    names: Sequence[str],
    policies: Mapping[str, PolicyValue] | None = None,
    params: Mapping[str, PolicyValue] | None = None,
) -> dict[str, Bound]:
    """The binding of each target. Targets that agree in all that a binding depends on share it."""
    from specgen import targets
    from specgen.binding import bind

    done: list[tuple[Target, Bound]] = []
    result = {}
    for name in names:
        target = targets.load(name)
        bound = next((b for t, b in done if b.holds(t, target)), None)
        if bound is None:
            bound = bind(spec, target, dict(policies or {}), dict(params or {}))
            done.append((target, bound))
        elif bound.instance is not None:
            size = target.subgroup_size
            instance = dataclasses.replace(bound.instance, target=name, subgroup_size=size)
            bound = dataclasses.replace(bound, instance=instance)
        result[name] = bound
    return _same_symbols(result)


def _same_symbols(bounds: Mapping[str, Bound]) -> dict[str, Bound]:
    """Bindings whose entries have the same symbols on each target: those that share one on all of them."""
    made = [b.instance for b in bounds.values() if b.instance is not None]
    symbols = [tuple(e.symbol for e in instance.entries) for instance in made]
    if len(set(symbols)) < 2:
        return dict(bounds)
    agreed = {e.name for e, *found in zip(made[0].entries, *symbols, strict=True) if len(set(found)) == 1}
    return {
        name: bound if bound.instance is None else dataclasses.replace(bound, instance=bound.instance.sharing(agreed))
        for name, bound in bounds.items()
    }


def plan(
    spec: Spec,
    target_name: str,
    policies: Mapping[str, PolicyValue] | None = None,
    *,
    dump: Callable[[str, ModuleOp], None] | None = None,
) -> Plan:
    """Bind, expand, parse and schedule `spec` for one target."""
    from specgen import targets
    from specgen.binding import bind

    bound = bind(spec, targets.load(target_name), dict(policies or {}))
    diagnostics = tuple(bound.diagnostics)
    if bound.instance is None or has_errors(diagnostics):
        return Plan(target_name, None, diagnostics, bound.refused)
    return schedule_instance(spec, bound.instance, target_name, diagnostics, dump=dump)


def schedule_instance(
    spec: Spec,
    instance: Instance,
    target_name: str,
    diagnostics: tuple[Diagnostic, ...] = (),
    *,
    dump: Callable[[str, ModuleOp], None] | None = None,
) -> Plan:
    """Expand, parse and schedule a bound instance."""
    from specgen import ir
    from specgen.expand import expand
    from specgen.schedule import schedule

    text = expand(instance)
    module = ir.parse(text, f"{spec.name.text}.mlir")
    if dump is not None:
        dump("expand", module)
    scheduled = schedule(module, dump=dump, verified=True)
    sources = {s.source.name: s.source for s in _with_used(spec)}
    told = scheduled.diagnostics
    if has_errors(told):
        told = _with_variants(spec, instance, module, told)
    found = (*diagnostics, *(_widened(d, sources) for d in told))
    if has_errors(found):
        return Plan(target_name, None, found)
    return Plan(target_name, Planned(target_name, instance, text, module, scheduled), found)


def _with_variants(
    spec: Spec, instance: Instance, module: ModuleOp, found: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """The findings of a module; those that the default entry does not have say for which variant they hold.

    Entries are scheduled once more, each alone: only where something was refused.
    """
    places = {variant.name.text: variant.name.span for variant in spec.variants}
    alone = {entry.name: _alone(module, entry.symbol) for entry in instance.entries}
    result = []
    for finding in found:
        owners = [name for name, own in alone.items() if finding in own]
        if "default" not in owners and owners and owners[0] in places:
            note = Note(places[owners[0]], f"for the variant `{owners[0]}`")
            finding = dataclasses.replace(finding, notes=(*finding.notes, note))
        result.append(finding)
    return tuple(result)


def _alone(module: ModuleOp, symbol: str) -> tuple[Diagnostic, ...]:
    """What is said of one entry point."""
    from specgen.schedule import schedule

    copy = module.clone()
    for function in list(copy.body.block.ops):
        if function.sym_name.data != symbol:  # type: ignore[attr-defined]
            function.detach()
            function.erase()
    return schedule(copy).diagnostics


def _with_used(spec: Spec) -> list[Spec]:
    return [spec, *(inner for used in spec.used.values() for inner in _with_used(used))]


def _widened(diagnostic: Diagnostic, sources: Mapping[str, Source]) -> Diagnostic:
    """IR locations are points; a diagnostic underlines what stands there up to the end of the line."""
    span = _widened_span(diagnostic.span, sources)
    notes = tuple(dataclasses.replace(n, span=_widened_span(n.span, sources)) for n in diagnostic.notes)
    return dataclasses.replace(diagnostic, span=span, notes=notes)


def _widened_span(span: Span, sources: Mapping[str, Source]) -> Span:
    source = sources.get(span.file)
    if source is None or span.end_line != span.line or span.end_column > span.column + 1:
        return span
    line = source.line(span.line)
    end = len(line.split(" #", 1)[0].rstrip()) + 1
    return dataclasses.replace(span, end_column=max(end, span.column + 1))


def deduplicated(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics without repetitions (targets tell the same things), in order of place."""
    unique = dict.fromkeys(diagnostics)
    return tuple(sorted(unique, key=lambda d: (d.span, d.code, d.message)))
