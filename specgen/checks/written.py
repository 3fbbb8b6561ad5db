"""The checks of a spec as its text states them: values of `each` and `cases` computed, formulas as text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specgen import model
from specgen.checks import formula
from specgen.checks.cases import Check, Reference
from specgen.checks.values import FormulaError
from specgen.expressions import Expr


@dataclass(frozen=True)
class PlannedCheck:
    """A check with the lines that say where it comes from."""

    check: Check
    reasons: tuple[str, ...]


def words_of(spec: model.Spec) -> frozenset[str]:
    """Choices of params and policies that are no numbers."""
    knobs = (*spec.params, *spec.policies)
    choices = [c.tree for knob in knobs for c in knob.choices or ()]
    return frozenset(c.id for c in choices if isinstance(c, ast.Name))


def constants_of(spec: model.Spec, params: Mapping[str, Any], words: frozenset[str]) -> dict[str, Any]:
    """Params, and the defines that have a value without a target."""
    names = dict(params)
    for define in spec.defines:
        try:
            names[define.name.text] = formula.scalar(define.value.tree, formula.Scope(names, words))
        except FormulaError:
            continue
    return names


def planned(case: model.Case, constants: Mapping[str, Any], words: frozenset[str]) -> PlannedCheck:
    """A check of the spec. Raises `FormulaError` for a value of `each` or `cases` that has none."""
    expect = case.expect
    check = Check(
        case.name.text,
        {name.text: _content(content) for name, content in case.given},
        _reference(expect) if isinstance(expect, model.Reference) else {n.text: text_of(e) for n, e in expect},
        {name.text: tuple(_number(v, constants, words) for v in values) for name, values in case.each},
        tuple({n.text: _number(v, constants, words) for n, v in row} for row in case.cases) or ({},),
        {name.text: text_of(count) for name, count in case.backing},
        _compare(case.compare, constants, words),
    )
    return PlannedCheck(check, (place_of(case),))


def place_of(case: model.Case) -> str:
    """`file:line` of a check."""
    return f"{case.name.span.file}:{case.name.span.line}"


def _number(value: Expr, constants: Mapping[str, Any], words: frozenset[str]) -> Any:
    return formula.scalar(value.tree, formula.Scope(constants, words))


def text_of(value: Expr) -> str:
    """The text of a formula, line breaks folded."""
    return " ".join(value.text.split())


def _content(content: Expr | model.Reference) -> str | Reference:
    return _reference(content) if isinstance(content, model.Reference) else text_of(content)


def _reference(reference: model.Reference) -> Reference:
    return Reference(reference.file, reference.function)


def _compare(
    compare: model.Compare | None, constants: Mapping[str, Any], words: frozenset[str]
) -> str | dict[str, float] | None:
    if compare is None:
        return None
    if compare.kind != "close":
        return compare.kind
    ends = {"atol": compare.atol, "rtol": compare.rtol}
    return {key: float(_number(e, constants, words)) if e is not None else 0.0 for key, e in ends.items()}
