"""TOML text to the plain tree: values from tomllib, places from tree-sitter."""

from __future__ import annotations

from specgen.diagnostics import Diagnostic, Source
from specgen.loading.tree import Node


def read_toml(source: Source) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    return None, ()
