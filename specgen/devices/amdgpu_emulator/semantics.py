"""Which operations have a semantic test of their own, and which ones our kernels contain (`semantics.json`).

The file is written from the tests' tables and from built specs by `tests/support/artifact_opcodes.py`; tests check
that it is up to date, and this module gives the documentation its figures without importing any test.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Semantics:
    """`tests`: family -> operation -> name of the table of `tests/support/opcode_semantics` that tests it.
    `artifacts`: family -> operations (and variant encodings, `v_add_f32 dpp16`) of the code objects of our specs."""

    tests: Mapping[str, Mapping[str, str]]
    artifacts: Mapping[str, frozenset[str]]

    def untested(self, arch: str) -> list[str]:
        """Operations of our artifacts that no semantic test covers."""
        return sorted(name for name in self.artifacts[arch] if name not in self.tests[arch])


@functools.cache
def recorded() -> Semantics:
    """The contents of the data file."""
    data = json.loads(resources.files(__package__).joinpath("semantics.json").read_text(encoding="utf-8"))
    tests = {
        arch: {name: table for table, names in tables.items() for name in names.split(";")}
        for arch, tables in data["tests"].items()
    }
    return Semantics(tests, {arch: frozenset(names) for arch, names in data["artifacts"].items()})
