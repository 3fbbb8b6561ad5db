"""Rules over a whole spec that need no types: variants, literal values, cases, what is never used, access."""

from __future__ import annotations

from collections.abc import Container, Sequence

from specgen.diagnostics import Diagnostic, Note, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.diagnostics.merge import within
from specgen.expressions import Expr
from specgen.loading.access import check_access
from specgen.loading.case_rules import check_cases
from specgen.loading.literals import PICK, choice_problem, literal, number
from specgen.loading.scopes import check_scopes
from specgen.loading.sections import TAKEN_VARIANTS
from specgen.loading.walk import applications, called_in, covered, expressions, names_in, root_of, statements
from specgen.manifest import symbol_of
from specgen.model import Atomic, BufferArg, Name, Range, ScalarArg, Spec, Store
from specgen.schema.messages import nearest


def check_rules(spec: Spec, broken: Sequence[Span] = (), mentioned: Container[str] = ()) -> list[Diagnostic]:
    """Findings about a spec as far as it could be read. `broken` is where it could not, `mentioned` are the names that
    stand there: nothing is told unused, or absent from a check, that may be there."""
    findings = [*check_scopes(spec), *_ranges(spec), *_values(spec), *_choices(spec), *_variants(spec)]
    findings += check_cases(spec, broken)
    if spec.kind == "motif" and spec.lost is None and not (spec.body or spec.implementations):
        hint = "Add `body:` with a list of statements."
        findings.append(diagnostic("SG-KEY", spec.span, "`body` is missing in a motif.", hint=hint))
    hidden = _broken_entries(spec, broken)
    for finding in (*_unused(spec), *check_access(spec)):
        if finding.unused is None or not (finding.unused in mentioned or finding.unused in hidden):
            findings.append(finding)
    if spec.kind == "kernel" and not spec.checks and not (spec.lost and "checks" in mentioned):
        message = "this kernel has no checks: nothing is known about its results."
        hint = "Add `checks:` with contents that are `given` and `expect`ed."
        findings.append(diagnostic("SG-CHECK", spec.name.span, message, severity="warning", hint=hint))
    return findings


def _broken_entries(spec: Spec, broken: Sequence[Span]) -> set[str]:
    """Names of declarations in which something is wrong already."""
    if not broken:
        return set()
    entries = (*spec.params, *spec.policies, *spec.args, *spec.memory, *spec.defines)
    places = [(e.name.text, covered(e)) for e in entries] + list(spec.use_spans.items())
    return {text for text, whole in places if any(within(span, whole) for span in broken)}


def _ranges(spec: Spec) -> list[Diagnostic]:
    """Ranges whose literal ends are in the wrong order."""
    ranges: list[tuple[str, Range | None]] = [
        *(("SG-PARAM", k.range) for k in spec.params),
        *(("SG-POLICY", k.range) for k in spec.policies),
        *(("SG-RANGE", a.range) for a in spec.args if isinstance(a, (ScalarArg, BufferArg))),
    ]
    findings = []
    for code, given in ranges:
        if given is None:
            continue
        lo, hi = number(given.lo), number(given.hi)
        if lo is not None and hi is not None and lo > hi:
            message = f"the range [{given.lo.text}, {given.hi.text}] is empty."
            hint = f"Write `[{given.hi.text}, {given.lo.text}]`."
            findings.append(diagnostic(code, given.span, message, hint=hint))
    return findings


def _values(spec: Spec) -> list[Diagnostic]:
    """Defaults that are literally outside of their choices or range."""
    findings = []
    for code, knobs in (("SG-PARAM", spec.params), ("SG-POLICY", spec.policies)):
        for knob in knobs:
            problem = choice_problem(knob, knob.default)
            if problem is not None and knob.default is not None:
                message = f"the default of `{knob.name.text}` {problem.reason}."
                findings.append(
                    diagnostic(
                        code, knob.default.span, message, found=knob.default.text, allowed=problem.allowed, hint=PICK
                    )
                )
    return findings


def _choices(spec: Spec) -> list[Diagnostic]:
    """Choices that are literally there twice."""
    findings = []
    for code, knobs in (("SG-PARAM", spec.params), ("SG-POLICY", spec.policies)):
        for knob in knobs:
            seen: dict[object, Span] = {}
            for choice in knob.choices or ():
                value = literal(choice)
                if value is None:
                    continue
                if value in seen:
                    message = f"`{choice.text}` is among the choices of `{knob.name.text}` already."
                    notes = (Note(seen[value], "the first one"),)
                    findings.append(diagnostic(code, choice.span, message, hint="Remove one of them.", notes=notes))
                seen.setdefault(value, choice.span)
    return findings


def _variants(spec: Spec) -> list[Diagnostic]:
    policies = {k.name.text: k for k in spec.policies}
    params = {k.name.text for k in spec.params}
    findings = []
    for variant in spec.variants:
        if variant.name.text in TAKEN_VARIANTS:
            message = f"every kernel has an entry `{variant.name.text}`; no variant can be called so."
            findings.append(diagnostic("SG-POLICY", variant.name.span, message, hint="Choose another name."))
        elif variant.name.text == spec.name.text or variant.name.text.startswith(symbol_of(spec.name.text, "")):
            kernel = f"an entry point of `{spec.name.text}`"
            message = f"`{variant.name.text}` is spelt like {kernel}; no variant can be called so."
            findings.append(diagnostic("SG-POLICY", variant.name.span, message, hint="Choose another name."))
        for name, value in variant.values:
            if name.text not in policies:
                near = nearest(name.text, policies)
                message = f"there is no policy `{name.text}`."
                hint = f"Nearest: `{near}`." if near else "Declare it under `policies`."
                if name.text in params:
                    message = f"`{name.text}` is a param; a variant sets policies only."
                    hint = "Each value of a param is a kernel of its own."
                findings.append(
                    diagnostic("SG-POLICY", name.span, message, found=name.text, allowed=tuple(policies), hint=hint)
                )
                continue
            problem = choice_problem(policies[name.text], value)
            if problem is not None:
                message = f"`{name.text}` {problem.reason}."
                findings.append(
                    diagnostic("SG-POLICY", value.span, message, found=value.text, allowed=problem.allowed, hint=PICK)
                )
    return findings


def _unused(spec: Spec) -> list[Diagnostic]:
    """Params, policies and defines that no expression names, memory that nobody reads, motifs that nobody applies."""
    trees = [expr.tree for expr in expressions(spec)]
    names = [name for tree in trees for name in names_in(tree)]
    used = {name.id for name in names} | {name for tree in trees for name in called_in(tree)}
    findings = []
    for define in spec.defines:
        if define.name.text not in used:
            message = f"`{define.name.text}` is defined and never used."
            findings.append(_never("SG-NAME", define.name, message, "Use it or remove it."))
    for param in spec.params:
        if param.name.text not in used:
            message = f"the param `{param.name.text}` is declared and never used."
            findings.append(_never("SG-PARAM", param.name, message, "Use it or remove it."))
    for policy in spec.policies:
        if policy.name.text not in used:
            message = f"the policy `{policy.name.text}` is declared and never used."
            findings.append(_never("SG-POLICY", policy.name, message, "Use it or remove it."))
    written = {id(tree) for target in _targets(spec) if (tree := root_of(target.tree)) is not None}
    read = {name.id for name in names if id(name) not in written}
    for memory in spec.memory:
        if memory.name.text not in read:
            message = f"the memory `{memory.name.text}` is never read."
            findings.append(_never("SG-MEM", memory.name, message, "Read it or remove it."))
    applied = {apply.motif.text for apply in applications(spec)}
    for name, span in spec.use_spans.items():
        if name not in applied:
            message = f"the motif `{name}` is used by no `apply`."
            findings.append(_never("SG-USE", Name(name, span), message, "Apply it or remove it from `uses`."))
    return findings


def _never(code: str, name: Name, message: str, hint: str) -> Diagnostic:
    return diagnostic(code, name.span, message, hint=hint, unused=name.text)


def _targets(spec: Spec) -> list[Expr]:
    """Targets of stores and atomics."""
    targets: list[Expr] = []
    for body in (spec.body, *(i.body for i in spec.implementations)):
        for statement in statements(body):
            if isinstance(statement, Store):
                targets += [target for target, _ in statement.entries]
            elif isinstance(statement, Atomic):
                targets.append(statement.target)
    return targets
