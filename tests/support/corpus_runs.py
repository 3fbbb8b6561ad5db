"""Runs the cases of a generated suite directly on two devices, for comparisons between them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from specgen.checks.cases import Check
from specgen.checks.harness import Outcome, execute
from specgen.checks.places import Place, Places, Settings


def suite_module(folder: Path) -> ModuleType:
    """The generated suite of a folder as a module."""
    (path,) = folder.glob("test_*.py")
    spec = importlib.util.spec_from_file_location(f"corpus_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checks_of(module: ModuleType) -> list[Check]:
    """The suite's checks that need no Python of the spec's folder."""
    return [v for v in vars(module).values() if isinstance(v, Check) and not v.needs_oracle()]


def thinned(cases: list[Any], limit: int) -> list[Any]:
    """At most `limit` cases, the last one included."""
    stride = max(1, -(-len(cases) // limit))
    return cases[::-1][::stride][::-1]


def outcomes(folder: Path, module: ModuleType, device: str, target: str, entry: str, limit: int) -> list[Outcome]:
    """What a device leaves for cases of every check; the poison of outputs is the same on every device."""
    places = Places(folder, module.SUITE.manifest, Settings())
    found: list[Outcome] = []
    fixed = module.SUITE.manifest["params"]
    try:
        kernel = places.kernel(Place(device, target), entry)
        for check in checks_of(module):
            cases = [c for c in check.cases() if all(fixed[n] == v for n, v in c.items() if n in fixed)]
            if not set(check.given) & set(fixed):
                found += execute(module.SUITE.signature, check, thinned(cases, limit), kernel, 0)
    finally:
        places.close()
    return found


def same_bits(first: Any, second: Any) -> bool:
    """Equal arrays, NaN payloads aside: a NaN equals a NaN in the same place."""
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    equal = first.view(f"u{first.itemsize}") == second.view(f"u{second.itemsize}")
    if first.dtype.kind == "f" or first.dtype.name == "bfloat16":
        equal |= np.isnan(first) & np.isnan(second)
    return bool(np.all(equal))
