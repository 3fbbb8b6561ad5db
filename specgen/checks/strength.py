"""Whether the checks of a spec could fail: SG-CHECK."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from specgen import model
from specgen.checks import compare, formula
from specgen.checks.cases import Buffer, Check, Inputs, Scalar, Signature, expectations, parsed, prepare
from specgen.checks.dtypes import TYPES, limits
from specgen.checks.formula import Scope
from specgen.checks.limits import check_size, check_tolerance
from specgen.checks.names import HINT, check_names
from specgen.checks.values import FormulaError
from specgen.checks.written import constants_of, planned, words_of
from specgen.diagnostics import Diagnostic, Span
from specgen.diagnostics.merge import within
from specgen.expressions import Expr, nodes
from specgen.loading.walk import covered, is_readable
from specgen.param_sets import of_case

CODE = "SG-CHECK"
MOST_ELEMENTS = 1 << 20
"""Elements of a case's buffers; larger cases are not computed during validation."""


def check_strength(
    spec: model.Spec, params: Mapping[str, Any] | None = None, known: Sequence[Diagnostic] = ()
) -> list[Diagnostic]:
    """Findings about what the checks of a kernel can prove; `params` default to the spec's own defaults.

    Names that formulas do not have, values outside of declared ranges, formulas without a value, written buffers that
    no check looks at, and checks that all-zero, constant or shifted contents of the written buffers would pass. What
    depends on the target, or on a Python reference, is left to the run. Needs no kernel and evaluates as few cases as
    decide. `known` are findings of other stages: cases in which an error stands are not judged, and none is when one
    stands in the declarations that all of them build on.
    """
    errors = [d.span for d in known if d.is_error and d.unused is None]
    cases = (*spec.checks, *spec.benchmarks)
    excluded = {id(c) for c in cases if not is_readable(c) or any(within(s, covered(c)) for s in errors)}
    heads = (*spec.args, *spec.params, *spec.defines)
    unfounded = (
        bool(spec.lost)
        or not is_readable(heads)
        or any(within(span, covered(head)) for span in errors for head in heads)
    )
    words = words_of(spec)
    builds = _Builds(spec, {**_defaults(spec, words), **(params or {})}, words)
    if builds.signature is None or unfounded:
        return [d for case in cases for d in _named(spec, case)]
    return _Strength(spec, builds, builds.signature, excluded).findings()


class _Builds:
    """The signatures of the builds that cases run on: one for each set of params that they name.

    Shapes, types and defines may all depend on params, so no case can be judged by the signature of another set.
    """

    def __init__(self, spec: model.Spec, params: Mapping[str, Any], words: frozenset[str]) -> None:
        self.spec, self.params, self.words = spec, params, words
        self._made: dict[tuple[tuple[str, Any], ...], Signature | None] = {}
        self.signature = self._of({})

    def of(self, check: Check, values: Mapping[str, Any]) -> Signature:
        """The signature that a case of a check runs on. Raises `FormulaError` when types or orders are not known."""
        signature = self._of(of_case(check, values, self.params.keys()))
        if signature is None:
            raise FormulaError("the arguments of this build are not known")
        return signature

    def _of(self, special: Mapping[str, Any]) -> Signature | None:
        key = tuple(sorted(special.items()))
        if key not in self._made:
            constants = constants_of(self.spec, self._values(special), self.words)
            self._made[key] = _signature(self.spec, constants, self.words)
        return self._made[key]

    def _values(self, special: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all params where some are given; defaults that follow from those are computed again."""
        names = {**self.params, **special}
        changed = {name for name, value in special.items() if value != self.params.get(name)}
        for knob in self.spec.params:
            name = knob.name.text
            if name in special or knob.default is None or not changed & formula_names(knob.default.text):
                continue
            changed.add(name)
            try:
                names[name] = formula.scalar(knob.default.tree, Scope(names, self.words | TYPES.keys()))
            except FormulaError:
                continue
        return names


def _named(spec: model.Spec, case: model.Case) -> list[Diagnostic]:
    """What can be said of a case by its text alone."""
    return [*check_names(spec, case), *check_size(case)]


def _defaults(spec: model.Spec, words: frozenset[str]) -> dict[str, Any]:
    """The params' defaults; words and types stand for themselves."""
    names: dict[str, Any] = {}
    for knob in spec.params:
        if knob.default is None:
            continue
        try:
            names[knob.name.text] = formula.scalar(knob.default.tree, Scope(names, words | TYPES.keys()))
        except FormulaError:
            continue
    return names


def _signature(spec: model.Spec, constants: Mapping[str, Any], words: frozenset[str]) -> Signature | None:
    """The arguments as the model has them; None when a type or an order depends on more than params."""
    scalars: dict[str, Scalar] = {}
    buffers: dict[str, Buffer] = {}
    try:
        for arg in spec.args:
            if isinstance(arg, model.ScalarArg):
                scalars[arg.name.text] = Scalar(arg.name.text, TYPES[_type_name(arg.type, constants)])
            elif isinstance(arg, model.BufferArg):
                axes = tuple(axis.name.text for axis in arg.shape)
                buffers[arg.name.text] = Buffer(
                    arg.name.text,
                    TYPES[_type_name(arg.element, constants)],
                    arg.access,
                    axes,
                    tuple(axis.extent.text for axis in arg.shape),
                    _order(axes, arg.contiguous),
                )
    except (KeyError, ValueError):
        return None
    return Signature(scalars, buffers, constants, words)


def _type_name(type_: Expr, constants: Mapping[str, Any]) -> str:
    return str(constants.get(type_.text, type_.text))


def _order(axes: Sequence[str], contiguous: Expr | None) -> tuple[int, ...]:
    order = list(range(len(axes)))
    if contiguous is not None:
        order.append(order.pop(axes.index(contiguous.text)))
    return tuple(order)


@dataclass(frozen=True)
class _Case:
    """One computed case: what the kernel must leave in the buffers that have a formula of their own."""

    signature: Signature
    check: Check
    inputs: Inputs
    right: Mapping[str, Any]


def _zeros(right: Any, type_: Any) -> Any:
    return np.zeros(right.shape, type_)


def _constant(right: Any, type_: Any) -> Any:
    return np.full(right.shape, right[0] if right.size else 0, type_)


def _shifted(right: Any, type_: Any) -> Any:
    return np.roll(right, 1).astype(type_)


Fault = Callable[[Any, Any], Any]
_FAULTS: dict[str, tuple[Fault, str]] = {
    "all-zero": (_zeros, "whose contents are not zero"),
    "constant": (_constant, "that varies along an axis"),
    "shifted": (_shifted, "that varies along the fastest axis"),
}
"""Faults in the order in which they are told (a later one is not told when an earlier one is)."""


class _Strength:
    def __init__(self, spec: model.Spec, builds: _Builds, signature: Signature, excluded: Container[int] = ()) -> None:
        self.spec, self.builds, self.excluded = spec, builds, excluded
        self.signature = signature
        """That of the default build: what no case changes (names, kinds and access of arguments)."""
        self.found: list[Diagnostic] = []
        self.written = {n: b for n, b in signature.buffers.items() if b.written}

    def findings(self) -> list[Diagnostic]:
        checks = [self.planned(case) for case in self.spec.checks]
        for case in self.spec.benchmarks:
            check = self.planned(case)
            if check is not None:
                self.benchmark(case, check)
        known = [(case, check) for case, check in zip(self.spec.checks, checks, strict=True) if check is not None]
        if self.found or not known or len(known) < len(checks):
            return self.found
        self.unseen(known)
        if not self.found:
            self.faults(known)
        return self.found

    def report(
        self, span: Span, message: str, hint: str, found: str | None = None, allowed: Sequence[str] = ()
    ) -> None:
        self.found.append(Diagnostic(CODE, span, message, found=found, hint=hint, allowed=tuple(allowed)))

    def planned(self, case: model.Case) -> Check | None:
        """The check with its values computed; reports names and values that are none or break a promise."""
        unknown = _named(self.spec, case)
        self.found += unknown
        if unknown or id(case) in self.excluded:
            return None
        try:
            check = planned(case, self.signature.constants, self.signature.words).check
        except FormulaError as error:
            self.report(case.name.span, f"`{case.name.text}`: {error.message}.", "Give numbers, params or defines.")
            return None
        self.found += check_tolerance(case, check)
        self.promised(case, check)
        self.backed(case, check)
        return check

    def backed(self, case: model.Case, check: Check) -> None:
        """Whether every case backs its buffers with a part of them that a machine can hold."""
        given = {n: g for n, g in check.given.items() if n in self.signature.scalars}
        for values in check.cases() if check.backing else [max(check.cases(), key=_demand)]:
            try:
                prepare(self.builds.of(check, values), dataclasses.replace(check, given=given), values)
            except FormulaError as error:
                if error.message.startswith("backing of"):
                    self.blame(case, error)
                    return

    def benchmark(self, case: model.Case, check: Check) -> None:
        """Whether the formulas of a benchmark have values: contents for its least demanding case, amounts for it too.

        Contents of more than `MOST_ELEMENTS` and those of a Python reference are left to the run.
        """
        values = min(check.cases(), key=_demand)
        small = self.prepared(check, values)
        if small is None:
            return
        try:
            if sum(prod(s) for s in small.shapes.values()) <= MOST_ELEMENTS and not check.needs_oracle():
                prepare(self.builds.of(check, values), check, values)
        except FormulaError as error:
            self.blame(case, error)
            return
        names = {**self.builds.of(check, values).constants, **values, **small.scalars}
        for amount in (case.bytes, case.flops):
            if amount is None:
                continue
            try:
                found = formula.scalar(amount.tree, Scope(names, self.signature.words))
            except FormulaError as error:
                self.formula_error(amount, error)
                continue
            if isinstance(found, str) or not 0 <= found < float("inf"):
                self.report(
                    amount.span, f"`{amount.text}` is {found}, no amount.", "Give a number that is not negative."
                )

    def promised(self, case: model.Case, check: Check) -> None:
        """Whether scalars that `each`, `cases` and `given` set are inside of what their arguments declare."""
        args = {a.name.text: a for a in self.spec.args if isinstance(a, model.ScalarArg)}
        told: set[tuple[str, Any]] = set()
        for values in check.cases():
            try:
                names = {**self.builds.of(check, values).constants, **values}
            except FormulaError:
                continue
            for name, content in case.given:
                if name.text in args and isinstance(content, Expr):
                    try:
                        names[name.text] = formula.scalar(content.tree, Scope(names, self.signature.words))
                    except FormulaError as error:
                        self.formula_error(content, error)
                        return
            for name_, arg in args.items():
                value = names.get(name_)
                problem = None if value is None else self.broken(arg, value, names)
                if problem is not None and (name_, value) not in told:
                    told.add((name_, value))
                    span = _span_of(case, name_, value, self.signature)
                    self.report(
                        span, f"`{name_}` is {value}, {problem}.", "Give a value that the kernel admits.", str(value)
                    )

    def broken(self, arg: model.ScalarArg, value: Any, names: Mapping[str, Any]) -> str | None:
        """Why a scalar cannot have this value."""
        type_ = self.signature.scalars[arg.name.text].type
        if isinstance(value, str):
            return "a word, but the argument is a number"
        if not type_.is_float:
            if isinstance(value, float) and not value.is_integer():
                return f"but the argument is of type {type_.name}"
            lo, hi = limits(type_)
            if not lo <= value <= hi:
                return f"which {type_.name} cannot hold"
        scope = Scope(names, self.signature.words)
        try:
            if arg.range is not None:
                lo_, hi_ = (formula.scalar(end.tree, scope) for end in (arg.range.lo, arg.range.hi))
                if not lo_ <= value <= hi_:
                    return f"outside of its declared range [{arg.range.lo.text}, {arg.range.hi.text}]"
            if arg.multiple_of is not None and value % formula.scalar(arg.multiple_of.tree, scope):
                return f"which is no multiple of {arg.multiple_of.text}"
        except FormulaError:
            return None
        return None

    def formula_error(self, expr: Expr, error: FormulaError) -> None:
        self.report(expr.span_of(error.node), f"{error.message}.", HINT)

    def unseen(self, known: Sequence[tuple[model.Case, Check]]) -> None:
        """Written buffers that no check looks at."""
        seen: set[str] = set()
        for _, check in known:
            seen |= set(self.written) if not isinstance(check.expect, Mapping) else set(check.expect)
        for name in self.written:
            if name not in seen:
                span = next(a.name.span for a in self.spec.args if a.name.text == name)
                self.report(span, f"no check says what `{name}` holds after the run.", f"Add `{name}:` to an `expect`.")

    def faults(self, known: Sequence[tuple[model.Case, Check]]) -> None:
        """Faulty contents that would pass all that can be computed here."""
        if any(check.needs_oracle() for _, check in known):
            return
        open_ = {kind: set(self.written) if kind == "all-zero" else {""} for kind in _FAULTS}
        count = 0
        for case in self.computed(known):
            if case is None:
                return
            count += 1
            for kind, names in open_.items():
                names -= {name for name in names if self.caught(case, kind, name)}
            if not any(open_.values()):
                return
        for kind, names in open_.items():
            if not names or (kind != "all-zero" and not self.can_vary(known)):
                continue
            what = " and ".join(f"`{n}`" for n in (sorted(names) if kind == "all-zero" else self.written))
            cases = f"each of the {count} cases" if count > 1 else "the only case"
            article = "an all-zero" if kind == "all-zero" else f"a {kind}"
            hint = f"Add a check with an expectation {_FAULTS[kind][1]}."
            self.report(known[0][0].name.span, f"{article} {what} would pass {cases}.", hint)
            return

    def can_vary(self, known: Sequence[tuple[model.Case, Check]]) -> bool:
        """Whether any written buffer has more than one element in some case: one element cannot vary."""
        for _, check in known:
            for values in check.cases():
                inputs = self.prepared(check, values)
                if inputs is not None and any(prod(inputs.shapes[name]) > 1 for name in self.written):
                    return True
        return False

    def prepared(self, check: Check, values: Mapping[str, Any]) -> Inputs | None:
        """Scalars and shapes of a case; None when they have no value."""
        given = {n: g for n, g in check.given.items() if n in self.signature.scalars}
        try:
            return prepare(self.builds.of(check, values), dataclasses.replace(check, given=given, backing={}), values)
        except FormulaError:
            return None

    def computed(self, known: Sequence[tuple[model.Case, Check]]) -> Iterator[_Case | None]:
        """Cases that can be computed, the most demanding of each check first; None when a formula fails, and at the end
        when a case was left out, so that nothing holds for all of them."""
        skipped = False
        for source, check in known:
            for values in sorted(check.cases(), key=_demand, reverse=True):
                small = self.prepared(check, values)
                if small is None or sum(prod(s) for s in small.shapes.values()) > MOST_ELEMENTS:
                    skipped = True
                    continue
                try:
                    yield self.compute(check, values)
                except FormulaError as error:
                    self.blame(source, error)
                    yield None
        if skipped:
            yield None

    def compute(self, check: Check, values: Mapping[str, Any]) -> _Case:
        signature = self.builds.of(check, values)
        inputs = prepare(signature, check, values)
        before = inputs.before(signature, 0)
        assert isinstance(check.expect, Mapping)
        # Formulas that read written buffers say nothing about the right contents by themselves.
        own = {n: t for n, t in check.expect.items() if not (formula_names(t) & set(self.written))}
        alone = dataclasses.replace(check, expect=own)
        right = expectations(signature, alone, inputs, before, {}) if own else {}
        return _Case(signature, check, inputs, {name: e.contents for name, e in right.items()})

    def caught(self, case: _Case, kind: str, name: str) -> bool:
        """Whether a case fails for a kernel with this fault in one buffer (all of them for "").

        Other buffers hold what is right where a formula says it, the same kind of fault elsewhere.
        """
        fault = _FAULTS[kind][0]
        before = case.inputs.before(case.signature, 0)
        after = {}
        for buffer in (b for b in case.signature.buffers.values() if b.written):
            right = case.right.get(buffer.name)
            if right is None:
                after[buffer.name] = _zeros(before[buffer.name].flat, buffer.type.dtype)
            else:
                faulty = not name or buffer.name == name
                after[buffer.name] = fault(right, buffer.type.dtype) if faulty else right
        try:
            wanted = expectations(case.signature, case.check, case.inputs, before, after)
        except FormulaError:
            return True  # faulty contents that a formula reads may have no value there: nothing that would pass
        return any(compare.differences(e.contents, after[n], e.tolerance) is not None for n, e in wanted.items())

    def blame(self, source: model.Case, error: FormulaError) -> None:
        """Report a formula without a value at the part that has none."""
        where, _, rest = error.message.partition(": ")
        section, _, name = where.replace("`", "").replace("backing of", "backing").partition(" ")
        entries = {
            "given": source.given,
            "backing": source.backing,
            "expect": () if isinstance(source.expect, model.Reference) else source.expect,
        }.get(section, ())
        expr = next((e for n, e in entries if n.text == name and isinstance(e, Expr)), None)
        span = source.name.span if expr is None else expr.span_of(error.node)
        hint = "A formula may name axes, case names, arguments, params and buffers with subscripts inside their shapes."
        if section == "backing":
            hint = "Say under `backing` how many elements exist, from 0 to what the shape has."
        self.report(span, f"{rest or error.message}.", hint)


def formula_names(text: str) -> set[str]:
    """Every name in a formula."""
    return {n.id for n in nodes(parsed(text)) if isinstance(n, ast.Name)}


def _demand(values: Mapping[str, Any]) -> float:
    return sum(float(min(max(v, -(2**60)), 2**60)) for v in values.values() if isinstance(v, (int, float)))


def _span_of(case: model.Case, name: str, value: Any, signature: Signature) -> Span:
    """Where a check sets a scalar to a value."""
    scope = Scope(signature.constants, signature.words)
    exprs = [e for n, values in case.each if n.text == name for e in values]
    exprs += [e for row in case.cases for n, e in row if n.text == name]
    for expr in exprs:
        if formula.scalar(expr.tree, scope) == value:
            return expr.span
    return next((e.span for n, e in case.given if n.text == name and isinstance(e, Expr)), case.name.span)
