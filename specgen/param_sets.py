"""Sets of params that checks and benchmarks of a spec name: each is another kernel, built beside the default one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specgen.checks.cases import Check
    from specgen.model import Spec
    from specgen.stages import PolicyValue

ParamSet = Mapping[str, Any]


def split(spec: Spec, settings: Mapping[str, PolicyValue]) -> tuple[dict[str, PolicyValue], dict[str, PolicyValue]]:
    """Settings of a spec as its policies (what else there is, too) and its params."""
    names = {p.name.text for p in spec.params}
    params = {name: value for name, value in settings.items() if name in names}
    return {name: value for name, value in settings.items() if name not in names}, params


def label(params: ParamSet) -> str:
    """`columns=1024,element=f32`, in order of the names."""
    return ",".join(f"{name}={value}" for name, value in sorted(params.items()))


def folder(name: str, params: ParamSet) -> str:
    """The output folder of a kernel: its name, and what its params are when that is not the default."""
    return f"{name}@{label(params)}" if params else name


def of_cases(spec: Spec, defaults: ParamSet) -> tuple[dict[str, Any], ...]:
    """What cases give to params, where that is not the default; each set once, in order of the cases.

    `defaults` are the values of all params. Raises `FormulaError` for values that have none.
    """
    names = {p.name.text for p in spec.params}
    if not names:
        return ()
    from specgen.checks.written import constants_of, planned, words_of

    words = words_of(spec)
    constants = constants_of(spec, dict(defaults), words)
    found: dict[str, dict[str, Any]] = {}
    for case in (*spec.checks, *spec.benchmarks):
        check = planned(case, constants, words).check
        for given in (of_case(check, values, names) for values in check.cases()):
            special = {name: value for name, value in given.items() if value != defaults.get(name)}
            if special:
                found.setdefault(label(special), dict(sorted(special.items())))
    return tuple(found.values())


def of_case(check: Check, values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """What one case of a check gives to the params `names`."""
    from specgen.checks.cases import word

    fixed = {name: word(value) for name, value in check.given.items() if name in names}
    return {**{name: value for name, value in values.items() if name in names}, **fixed}
