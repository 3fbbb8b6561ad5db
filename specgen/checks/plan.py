"""From a typed spec and its schedule to what a generated suite holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from specgen import manifest, model
from specgen.checks.cases import Check, Reference, Signature
from specgen.checks.derive import Derived, LoopPlan, derive
from specgen.checks.strength import check_strength
from specgen.checks.written import PlannedCheck, constants_of, place_of, planned, text_of, words_of

if TYPE_CHECKING:
    from specgen.binding.instance import Instance
    from specgen.schedule import Scheduled

__all__ = ["Benchmark", "PlannedCheck", "SuitePlan", "check_strength", "plan_suite"]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: inputs as a check without expectation, and formulas of the bytes moved and operations done."""

    inputs: Check
    bytes: str | None
    flops: str | None
    reason: str


@dataclass(frozen=True)
class SuitePlan:
    """What `emit_suite` renders. `constants` are params and defines that formulas may name; `references` the files
    (relative to the spec's folder) whose Python the suite needs in its `references` folder."""

    name: str
    file: str
    summary: str
    constants: Mapping[str, Any]
    words: tuple[str, ...]
    checks: tuple[PlannedCheck, ...]
    derived: tuple[PlannedCheck, ...]
    benchmarks: tuple[Benchmark, ...]
    loops: tuple[LoopPlan, ...]
    notes: tuple[str, ...]
    references: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON values: for the manifest."""
        return asdict(self)


def plan_suite(spec: model.Spec, instance: Instance, scheduled: Scheduled) -> SuitePlan:
    """Plan the suite of a kernel: its checks as written, and those derived from `scheduled`.

    Raises `FormulaError` for values of `each` and `cases` that have none (`check_strength` reports them before).
    """
    words = words_of(spec)
    constants = constants_of(spec, dict(instance.params), words)
    rows = manifest.arguments(instance)
    signature = Signature.of(rows, constants, sorted(words))
    checks = [planned(case, constants, words) for case in spec.checks]
    policies = [p.name.text for p in spec.policies]
    written, serial = [c.check for c in checks], instance.entry("serial").symbol
    derivation = derive(written, signature, rows, scheduled, serial, dict(instance.params), policies)
    benchmarks = [_benchmark(case, constants, words) for case in spec.benchmarks]
    return SuitePlan(
        spec.name.text,
        spec.source.name,
        spec.summary,
        constants,
        tuple(sorted(words)),
        tuple(checks),
        tuple(_named_apart(derivation.checks, [c.check.name for c in checks])),
        tuple(benchmarks),
        derivation.loops,
        derivation.notes,
        tuple(_references([c.check for c in checks] + [b.inputs for b in benchmarks])),
    )


def _named_apart(derived: Sequence[Derived], taken: Iterable[str]) -> Iterable[PlannedCheck]:
    names = set(taken)
    for d in derived:
        name = d.check.name
        while name in names:
            name += "_derived"
        names.add(name)
        yield PlannedCheck(Check(**{**vars(d.check), "name": name}), d.reasons)


def _benchmark(case: model.Case, constants: Mapping[str, Any], words: frozenset[str]) -> Benchmark:
    bare = planned(case, constants, words).check
    inputs = Check(**{**vars(bare), "expect": None})
    return Benchmark(
        inputs,
        None if case.bytes is None else text_of(case.bytes),
        None if case.flops is None else text_of(case.flops),
        place_of(case),
    )


def _references(checks: Iterable[Check]) -> list[str]:
    found = {g.file for c in checks for g in c.given.values() if isinstance(g, Reference)}
    found |= {c.expect.file for c in checks if isinstance(c.expect, Reference)}
    return sorted(found)
