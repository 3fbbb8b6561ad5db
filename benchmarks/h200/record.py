"""What results say of the call that made them."""

from __future__ import annotations

import sys
from pathlib import Path


def command() -> str:
    """This process's command as others can repeat it: of absolute paths, which are one machine's, the last part."""
    script, *arguments = sys.argv
    shown = [Path(a).name if Path(a).is_absolute() else a for a in arguments]
    return " ".join(["python", f"benchmarks/h200/{Path(script).name}", *shown])
