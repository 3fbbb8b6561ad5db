"""Runs the cases of a check for one entry point on one device and says what is wrong, readably."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specgen.checks import compare
from specgen.checks.buffers import Contents, element_place
from specgen.checks.cases import Check, Expectation, Inputs, Signature, depends_on_run, expectations, prepare
from specgen.checks.dtypes import exact
from specgen.checks.values import FormulaError
from specgen.devices.base import Finding, Kernel, Run

BYTES_AT_ONCE = 4 << 20
"""Arguments of launches that are handed to a device together. Side by side pays where a launch is small; large ones
of different lengths would all take as long as the longest."""
FINDINGS_SHOWN = 3


@dataclass(frozen=True)
class Outcome:
    """One run of one case: what each buffer held before and after, and the device's findings."""

    inputs: Inputs
    before: Mapping[str, Contents]
    after: Mapping[str, Any]
    findings: tuple[Finding, ...]


class Memo:
    """Inputs and expectations of cases, kept for the next entry or device while they fit into `limit` bytes.

    An expectation that depends on the run (it reads `kept` or a written buffer) is computed each time.
    """

    def __init__(self, limit: int = 256 << 20) -> None:
        self._limit, self._used = limit, 0
        self._inputs: dict[tuple[str, str], Inputs] = {}
        self._expected: dict[tuple[str, str], dict[str, Expectation]] = {}

    def inputs(self, signature: Signature, check: Check, case: Mapping[str, Any]) -> Inputs:
        """As `prepare`."""
        key = (check.name, repr(case))
        if key not in self._inputs:
            made = prepare(signature, check, case)
            if not self._room(sum(c.flat.nbytes for c in made.given.values())):
                return made
            self._inputs[key] = made
        return self._inputs[key]

    def expectations(self, signature: Signature, check: Check, outcome: Outcome) -> dict[str, Expectation]:
        """As `cases.expectations`."""
        key = (check.name, repr(outcome.inputs.case))
        if key in self._expected:
            return self._expected[key]
        made = expectations(signature, check, outcome.inputs, outcome.before, outcome.after)
        if not depends_on_run(signature, check) and self._room(sum(e.contents.nbytes * 3 for e in made.values())):
            self._expected[key] = made
        return made

    def _room(self, size: int) -> bool:
        if self._used + size > self._limit:
            return False
        self._used += size
        return True


@dataclass(frozen=True)
class Result:
    """The verdict on one case: empty `problems` is a pass; `tolerances` say what was allowed, a buffer each."""

    case: Mapping[str, Any]
    problems: tuple[str, ...]
    tolerances: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.case.items()) or "the only case"
        return "\n".join([f"case {shown}:", *(f"  {line}" for p in self.problems for line in p.splitlines())])


def execute(
    signature: Signature,
    check: Check,
    cases: Sequence[Mapping[str, Any]],
    kernel: Kernel,
    ordinal: int,
    memo: Memo | None = None,
) -> Iterator[Outcome]:
    """Run cases; `ordinal` numbers the variant and so chooses the poison of its outputs. Arguments are kept as they
    were. Raises `FormulaError` for a case whose arguments have no value."""
    for group in _groups(signature, check, cases, ordinal, memo):
        runs = _launch(kernel, [inputs.arguments(signature, before) for inputs, before in group])
        for (inputs, before), run in zip(group, runs, strict=True):
            after = {n: run.outputs[n] for n, b in signature.buffers.items() if b.written and n in run.outputs}
            yield Outcome(inputs, before, after, tuple(run.findings))


def _groups(
    signature: Signature, check: Check, cases: Sequence[Mapping[str, Any]], ordinal: int, memo: Memo | None
) -> Iterator[list[tuple[Inputs, dict[str, Contents]]]]:
    group: list[tuple[Inputs, dict[str, Contents]]] = []
    size = 0
    for case in cases:
        inputs = prepare(signature, check, case) if memo is None else memo.inputs(signature, check, case)
        before = inputs.before(signature, ordinal)
        group.append((inputs, before))
        size += sum(contents.flat.nbytes for contents in before.values())
        if size > BYTES_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _launch(kernel: Kernel, arguments: list[dict[str, Any]]) -> list[Run]:
    """Side by side where the device can."""
    batch = getattr(kernel, "launch_batch", None)
    return list(batch(arguments)) if batch is not None else [kernel.launch(a) for a in arguments]


def judge(
    signature: Signature,
    check: Check,
    outcome: Outcome,
    serial: Outcome | None,
    *,
    findings_count: bool = True,
    memo: Memo | None = None,
) -> Result:
    """Compare an outcome with the check's expectation and, bit for bit, with the `serial` variant's outcome."""
    problems = [f"{f}" for f in outcome.findings[:FINDINGS_SHOWN]] if findings_count else []
    if findings_count and len(outcome.findings) > FINDINGS_SHOWN:
        problems.append(f"and {len(outcome.findings) - FINDINGS_SHOWN} more findings")
    for name, buffer in signature.buffers.items():
        if buffer.written and name not in outcome.after:
            problems.append(f"{name}: the device returned no contents")
    tolerances: dict[str, str] = {}
    try:
        if memo is None:
            wanted = expectations(signature, check, outcome.inputs, outcome.before, outcome.after)
        else:
            wanted = memo.expectations(signature, check, outcome)
    except FormulaError as error:
        return Result(outcome.inputs.case, (*problems, f"no expectation: {error.message}"))
    for name, expectation in wanted.items():
        tolerances[name] = expectation.tolerance.text
        if name in outcome.after:
            problems += _mismatch(outcome, name, expectation)
    if serial is not None:
        problems += _unlike_serial(outcome, serial)
    return Result(outcome.inputs.case, tuple(problems), tolerances)


def _mismatch(outcome: Outcome, name: str, expectation: Expectation) -> list[str]:
    contents = outcome.before[name]
    actual = np.asarray(outcome.after[name])
    try:
        found = compare.differences(expectation.contents, actual, expectation.tolerance)
    except ValueError as error:
        return [f"{name}: {error}"]
    if found is None:
        return []
    unwritten = actual[found.first] == contents.flat[found.first] and found.actual == found.actual
    poison = " (what it held before the run: was it never stored?)" if unwritten else ""
    lines = [
        f"{name}: {found.count} of {found.size} elements differ; the first is [{_place(contents, found.first)}]: "
        f"expected {shown(found.expected)}, actual {shown(found.actual)}{poison}",
        f"  largest error {found.error:.6g} at [{_place(contents, found.worst)}], where {found.allowed:.3g} is allowed",
        f"  tolerance: {expectation.tolerance.text}",
    ]
    return ["\n".join(lines)]


def _place(contents: Contents, flat: int) -> str:
    return element_place(flat, contents.shape, contents.order, contents.axes)


def shown(element: Any) -> str:
    """An element as a number with all its digits."""
    value = exact(np.asarray(element).reshape(1))[0]
    return repr(value.item() if hasattr(value, "item") else value)


def _unlike_serial(outcome: Outcome, serial: Outcome) -> list[str]:
    """Elements whose bits differ from the serial variant's; elements that neither variant stored do not count."""
    problems = []
    for name, actual in outcome.after.items():
        if name not in serial.after or serial.after[name].shape != actual.shape:
            problems.append(f"{name}: the serial variant left other elements")
            continue
        other = serial.after[name]
        kind = f"u{actual.dtype.itemsize}"
        untouched = (actual.view(kind) == outcome.before[name].flat.view(kind)) & (
            other.view(kind) == serial.before[name].flat.view(kind)
        )
        found = compare.differences(np.where(untouched, actual, other), actual, compare.bitwise_tolerance())
        if found is not None:
            place = _place(outcome.before[name], found.first)
            problems.append(
                f"{name}: {found.count} of {found.size} elements have other bits than the serial variant's; the first "
                f"is [{place}]: serial {shown(found.expected)}, here {shown(found.actual)}"
            )
    return problems


def run_check(
    signature: Signature,
    check: Check,
    kernel: Kernel,
    ordinal: int,
    *,
    serial: Sequence[Outcome] | None = None,
    cases: Sequence[Mapping[str, Any]] | None = None,
    findings_count: bool = True,
    memo: Memo | None = None,
) -> tuple[list[Result], list[Outcome]]:
    """Run `cases` (all of the check's by default) and judge them; `serial` holds that variant's outcomes, in order."""
    chosen = check.cases() if cases is None else cases
    outcomes = list(execute(signature, check, chosen, kernel, ordinal, memo))
    partners: Sequence[Outcome | None] = serial if serial is not None else [None] * len(outcomes)
    results = [
        judge(signature, check, outcome, partner, findings_count=findings_count, memo=memo)
        for outcome, partner in zip(outcomes, partners, strict=True)
    ]
    return results, outcomes
