"""Generated documentation: `python -m specgen.docs` writes it, `--check` fails when a page is out of date.

Each page is a function of the tables that the code itself uses.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

PAGES: dict[str, str] = {
    "bench.md": "specgen.bench.page:page",
    "diagnostics.md": "specgen.diagnostics.catalogue:page",
    "emulator.md": "specgen.devices.amdgpu_emulator.optable_doc:markdown",
    "numerics.md": "specgen.numerics:page",
    "performance.md": "specgen.report.measured:page",
    "report.md": "specgen.report.schema:page",
    "resources.md": "specgen.report.peer:page",
    "spec-reference.md": "specgen.reference:page",
}
"""File under `docs/` -> `module:function` that returns its text."""


def _function(reference: str) -> Callable[[], str]:
    module, name = reference.split(":")
    return getattr(importlib.import_module(module), name)


def stale_pages(folder: Path) -> list[str]:
    """Names of the pages under `folder` whose text differs from what the tables say."""
    result = []
    for name, reference in PAGES.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != _function(reference)():
            result.append(name)
    return result


def main(arguments: list[str]) -> int:
    """Write or check the pages; 1 when a checked page is out of date."""
    folder = Path(__file__).resolve().parent.parent / "docs"
    if arguments == ["--check"]:
        stale = stale_pages(folder)
        for name in stale:
            print(f"docs/{name} is out of date: run python -m specgen.docs")
        return 1 if stale else 0
    for name, reference in PAGES.items():
        (folder / name).write_text(_function(reference)(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
