"""Workgroup counts of a launch, as the manifest states them."""

from __future__ import annotations

from specgen.devices.base import Arguments, Artifact, DeviceError, Grid


def default_grid(artifact: Artifact, entry: str, args: Arguments) -> Grid:
    """The grid of `entry` for these scalar arguments: the manifest's formulas, 1 for an axis that is not named.

    Raises `DeviceError` when the manifest does not know the entry or a formula cannot be evaluated.
    """
    from specgen.expressions import evaluate_formula

    formulas = _formulas(artifact, entry)
    scalars = {a["name"]: int(args[a["name"]]) for a in _scalars(artifact, args)}
    counts = []
    for formula in formulas:
        try:
            counts.append(int(evaluate_formula(str(formula), scalars)))
        except (ValueError, ArithmeticError, LookupError) as error:
            raise DeviceError(f"{entry}: workgroups {formula}: {error}") from error
    x, y, z = (*counts, 1, 1, 1)[:3]
    return x, y, z


def _scalars(artifact: Artifact, args: Arguments) -> list[dict[str, str]]:
    named = [a for a in artifact.manifest.get("args", ()) if a["kind"] == "scalar"]
    for argument in named:
        if argument["name"] not in args:
            raise DeviceError(f"argument {argument['name']} is missing")
    return [a for a in named if a["type"] not in ("f16", "bf16", "f32", "f64")]


def _formulas(artifact: Artifact, entry: str) -> list[object]:
    for row in artifact.manifest.get("entries", ()):
        if row["symbol"] == entry:
            target = row["targets"].get(artifact.target)
            if target is None:
                raise DeviceError(f"{entry} is not built for {artifact.target}")
            return list(target["workgroups"])
    raise DeviceError(f"the manifest of {artifact.name} has no entry {entry}")
