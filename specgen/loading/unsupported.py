"""Constructs that the language defines and this version does not do: one finding a file."""

from __future__ import annotations

from specgen.diagnostics import Diagnostic
from specgen.loading.tree import Mapping
from specgen.model import Spec


def check_supported(tree: Mapping, spec: Spec | None) -> list[Diagnostic]:
    return []
