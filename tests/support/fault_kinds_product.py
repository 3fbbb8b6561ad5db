"""Small specs through the whole product, for the tests of fault kinds.

A spec is text; `run` takes it through load, bind, expand, schedule and the interpreter, for the default entry and the
serial one, and wants the same bits from both and no finding. `refused` gives codes and lines of what is refused.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specgen import stages
from specgen.devices.base import Finding, Grid, Run
from specgen.devices.interpreter import interpret_batch
from specgen.diagnostics import Diagnostic
from specgen.loading import load_spec
from specgen.model import Spec

TARGET = "gfx1151"
HERE = "# here"
"""Marks the line of a spec where a diagnostic is expected."""
ORDERS = ("linear", "interleaved", "recurrence")


def name_of(text: str) -> str:
    """The spec's `name`."""
    found = re.search(r'^name\s*[:=]\s*"?(\w+)', text, re.MULTILINE)
    assert found, text
    return found.group(1)


def line_of(text: str, marker: str = HERE) -> int:
    """The number of the one line that holds the marker."""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if marker in line]
    assert len(lines) == 1, (marker, lines)
    return lines[0]


@functools.lru_cache(maxsize=512)
def loaded(text: str, form: str = "yaml", name: str | None = None) -> tuple[Spec | None, tuple[Diagnostic, ...]]:
    """The spec of a text, and what loading says about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name or name_of(text)}.spec.{form}"
        path.write_bytes(text.encode())
        result = load_spec(path, Path(folder))
    return result.spec, tuple(result.diagnostics)


def spec_of(text: str, form: str = "yaml") -> Spec:
    """The spec of a text that loads."""
    spec, diagnostics = loaded(text, form)
    assert spec is not None, [f"{d.span.point()}: {d.code}: {d.message}" for d in diagnostics]
    return spec


@functools.lru_cache(maxsize=1024)
def _plan(text: str, target: str, policies: tuple[tuple[str, Any], ...], form: str = "yaml") -> stages.Plan:
    return stages.plan(spec_of(text, form), target, dict(policies))


def plan(text: str, target: str = TARGET, **policies: Any) -> stages.Planned:
    """The spec as scheduled for a target; it must be accepted."""
    result = _plan(text, target, tuple(sorted(policies.items())))
    assert result.planned is not None, [f"{d.span.point()}: {d.code}: {d.message}" for d in result.diagnostics]
    return result.planned


def diagnostics_of(text: str, target: str = TARGET, form: str = "yaml", **policies: Any) -> tuple[Diagnostic, ...]:
    """The errors of loading, else those of planning."""
    spec, found = loaded(text, form)
    if spec is not None:
        found = _plan(text, target, tuple(sorted(policies.items())), form).diagnostics
    return tuple(d for d in found if d.is_error)


def refused(text: str, target: str = TARGET, form: str = "yaml", **policies: Any) -> list[tuple[str, int]]:
    """`(code, line)` of every error, in order of place; empty when the spec is accepted."""
    errors = diagnostics_of(text, target, form, **policies)
    return [(d.code, d.span.line) for d in sorted(errors, key=lambda d: (d.span, d.code))]


def runs(
    text: str,
    launches: Sequence[Mapping[str, Any]],
    *,
    entry: str = "",
    grid: Grid | Sequence[Grid] = (1, 1, 1),
    target: str = TARGET,
    lanes: int | None = None,
    **policies: Any,
) -> list[Run]:
    """One `Run` a launch on the interpreter, side by side."""
    planned = plan(text, target, **policies)
    symbol = planned.instance.entry(entry or "default").symbol
    return interpret_batch(planned.scheduled.module, symbol, list(launches), grid, lanes)


def sweep(text: str, launches: Sequence[Mapping[str, Any]], **how: Any) -> list[dict[str, Any]]:
    """What each launch leaves; default and serial entries give the same bits and no finding."""
    scheduled = runs(text, launches, **how)
    serial = runs(text, launches, entry="serial", **how)
    for given, a, b in zip(launches, scheduled, serial, strict=True):
        assert a.findings == (), (scalars(given), how, [str(f) for f in a.findings])
        assert b.findings == (), (scalars(given), how, [str(f) for f in b.findings])
        for name in a.outputs:
            assert a.outputs[name].tobytes() == b.outputs[name].tobytes(), (scalars(given), how, name)
    return [run.outputs for run in scheduled]


def run(text: str, args: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    """`sweep` of one launch."""
    return sweep(text, [args], **how)[0]


def findings(text: str, args: Mapping[str, Any], **how: Any) -> tuple[Finding, ...]:
    """What the interpreter has to say about a launch of the default entry."""
    return runs(text, [args], **how)[0].findings


def places(found: Sequence[Finding]) -> set[tuple[str, int]]:
    """`(kind, line)` of findings."""
    return {(f.kind, int(f.where.split(":")[1])) for f in found}


def scalars(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are numbers, for messages."""
    return {k: v for k, v in args.items() if not isinstance(v, np.ndarray)}


def zeros(count: int, dtype: Any = np.float32) -> Any:
    """Room for an output."""
    return np.zeros(count, dtype)
