"""What every device does around a launch: workgroup counts, promises of the spec about scalars, types of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from specgen.devices.base import Arguments, Artifact, DeviceError, Finding, Grid, Run

FLOATS = ("f16", "bf16", "f32", "f64")

Row = Mapping[str, Any]
"""A row of the manifest's `args`."""


def workgroups(artifact: Artifact, entry: str, args: Arguments, given: Grid | None = None) -> Grid:
    """The workgroup counts of a launch: those given, else the manifest's formulas for these scalar arguments.

    Raises `DeviceError` when the manifest does not know the entry, a formula has no value, or a count is negative.
    """
    from specgen import manifest

    if given is None:
        return manifest.grid(artifact.manifest, artifact.target, entry, args)
    return checked_counts(given)


def checked_counts(given: Sequence[int]) -> Grid:
    """Counts that a caller gave; raises `DeviceError` unless they are three numbers from 0 on."""
    counts = tuple(int(count) for count in given)
    if len(counts) != 3 or min(counts) < 0:
        raise DeviceError(f"workgroup counts are three numbers from 0 on, not {', '.join(map(str, counts))}")
    x, y, z = counts
    return x, y, z


def broken_promises(manifest: Mapping[str, Any], args: Arguments) -> tuple[Finding, ...]:
    """Findings for scalar arguments that break the spec's `range` or `multiple_of`.

    A range of floats is rounded to the argument's type, as the argument is; both ends belong to it, a NaN to none.
    Missing arguments are the device's to tell.
    """
    findings = []
    for row in manifest.get("args", ()):
        if row["kind"] == "scalar" and row["name"] in args:
            for problem in _problems(manifest, row, args):
                findings.append(Finding("broken-assumption", problem, row.get("place", "")))
    return tuple(findings)


def require_promises(manifest: Mapping[str, Any], args: Arguments) -> None:
    """Raise `DeviceError` for the first broken promise, where there is no run to hold a finding."""
    for finding in broken_promises(manifest, args):
        raise DeviceError(str(finding))


def _problems(manifest: Mapping[str, Any], row: Row, args: Arguments) -> list[str]:
    name, value = row["name"], _number(row["type"], args[row["name"]])
    problems = []
    ends = _ends(manifest, row, args)
    if ends is not None and not ends[0] <= value <= ends[1]:
        formulas = row.get("range_formulas")
        shown = f"[{ends[0]}, {ends[1]}]" + (f", which is [{', '.join(formulas)}]" if formulas else "")
        problems.append(f"argument {name} is {value}, its range is {shown}")
    multiple = row.get("multiple_of")
    if multiple and value % multiple:
        problems.append(f"argument {name} is {value}, no multiple of {multiple}")
    return problems


def _ends(manifest: Mapping[str, Any], row: Row, args: Arguments) -> tuple[Any, Any] | None:
    """The ends of the range; None where it has none, or where one depends on an argument that is missing."""
    from specgen.expressions import evaluate_formula

    ends = row.get("range")
    if row.get("range_formulas"):
        others = {
            other["name"]: _number(other["type"], args[other["name"]])
            for other in manifest["args"]
            if other["kind"] == "scalar" and other["name"] in args
        }
        try:
            ends = [evaluate_formula(str(formula), others) for formula in row["range_formulas"]]
        except (ValueError, ArithmeticError, LookupError):
            return None
    if ends is None:
        return None
    low, high = (_number(row["type"], end) for end in ends)
    return low, high


def _number(type_: str, value: Any) -> Any:
    """A Python number; floats are rounded to the type that the kernel gets them in."""
    if type_ not in FLOATS:
        return int(value)
    if type_ == "f64" or not math.isfinite(float(value)):
        return float(value)
    import numpy as np

    from specgen.checks.dtypes import dtype

    with np.errstate(over="ignore"):
        return float(np.asarray(value, dtype(type_)))


def launch_each(
    artifact: Artifact,
    entry: str,
    launches: Sequence[Arguments],
    grids: Sequence[Grid | None] | None,
    run: Callable[[list[Arguments], list[Grid]], list[Run]],
) -> list[Run]:
    """A run for each launch, outputs in the declared types: `run` gets those that keep every promise about scalars.

    The others are not started, for the kernel was compiled with these promises and hardware has no net: their
    findings tell what is broken, and their written buffers hold what they held.
    """
    manifest = artifact.manifest
    chosen: Sequence[Grid | None] = [None] * len(launches) if grids is None else grids
    broken = [broken_promises(manifest, args) for args in launches]
    sound = [number for number, told in enumerate(broken) if not told]
    for number in sound:
        _require_fitting(manifest, launches[number])
    counts = [workgroups(artifact, entry, launches[n], chosen[n]) for n in sound]
    runs = iter(run([launches[n] for n in sound], counts) if sound else [])
    return [
        _not_started(manifest, args, told) if told else _typed_run(manifest, next(runs))
        for args, told in zip(launches, broken, strict=True)
    ]


def launch_one(artifact: Artifact, entry: str, args: Arguments, grid: Grid | None, run: Callable[[Grid], Run]) -> Run:
    """`launch_each` for a device that runs one launch at a time."""
    (result,) = launch_each(artifact, entry, [args], [grid], lambda _, counts: [run(counts[0])])
    return result


def _require_fitting(manifest: Mapping[str, Any], args: Arguments) -> None:
    """Raise `DeviceError` for a whole number that its type does not hold: it would wrap."""
    for row in manifest.get("args", ()):
        if row["kind"] != "scalar" or row["type"] in ("bool", *FLOATS) or row["name"] not in args:
            continue
        kind = row["type"]
        bits = 64 if kind == "index" else int(kind[1:])
        low, high = (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        value = int(args[row["name"]])
        if not low <= value <= high:
            raise DeviceError(f"argument {row['name']} is {value}, which {kind} does not hold")


def _typed_run(manifest: Mapping[str, Any], run: Run) -> Run:
    return Run(typed(manifest, run.outputs), run.findings, run.evidence)


def _not_started(manifest: Mapping[str, Any], args: Arguments, broken: tuple[Finding, ...]) -> Run:
    import numpy as np

    written = [r["name"] for r in manifest["args"] if r["kind"] == "buffer" and r["access"] != "read"]
    for name in written:
        if name not in args:
            raise DeviceError(f"argument {name} is missing")
    held = {name: np.array(args[name]).reshape(-1) for name in written}
    return Run(typed(manifest, held), broken)


def typed(manifest: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs as arrays of the declared element types, the same bits.

    `bf16` is `ml_dtypes.bfloat16`; where that package is missing its bits stay as they are (uint16). `bool` is uint8,
    `index` is int64.
    """
    from specgen.checks.dtypes import TYPES

    declared = {row["name"]: row.get("type", "") for row in manifest.get("args", ()) if row["kind"] == "buffer"}
    result = {}
    for name, array in outputs.items():
        type_ = TYPES.get(declared.get(name, ""))
        same_size = type_ is not None and type_.dtype.itemsize == array.dtype.itemsize
        result[name] = array.view(type_.dtype) if type_ is not None and same_size else array
    return result
