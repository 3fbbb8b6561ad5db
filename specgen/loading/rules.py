"""Rules."""

from __future__ import annotations

from specgen.diagnostics import Diagnostic
from specgen.model import Spec


def check_rules(spec: Spec, *, sound: bool) -> list[Diagnostic]:
    return []
