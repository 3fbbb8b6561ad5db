"""What a generated benchmark script calls."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from specgen.bench.folders import Benchmark
from specgen.checks.cases import Check, Reference

__all__ = ["Benchmark", "Check", "Reference", "main"]


def main(script: str, arguments: Sequence[str]) -> None:
    """Measure the folder that `script` lies in and end the process: status 0, 1 or 2 as `specgen bench`."""
    from specgen.bench.command import main as command

    path = Path(script)
    sys.exit(command(arguments, path.name, folder=path.absolute().parent))
