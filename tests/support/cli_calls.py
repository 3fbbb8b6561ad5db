"""Calls of the command line as a user makes them: a fresh process each, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SPECS = Path(__file__).resolve().parents[2] / "specs"
SAXPY = SPECS / "elementwise" / "saxpy.spec.yaml"
SUM_ROWS = SPECS / "streaming" / "sum_rows.spec.yaml"


@dataclass(frozen=True)
class Call:
    """What a call left."""

    status: int
    out: str
    err: str


def specgen(*arguments: object, cwd: Path, **environment: str) -> Call:
    """Run `specgen` in `cwd`. No call may end with a traceback or an internal error."""
    command = [sys.executable, "-m", "specgen", *(str(a) for a in arguments)]
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "SPECGEN_TRACEBACK")} | environment
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=240)
    for text in (done.stdout, done.stderr):
        assert "Traceback" not in text, text
        assert "internal error" not in text, text
    return Call(done.returncode, done.stdout, done.stderr)


def specgen_here(*arguments: object) -> Call:
    """The same in this process and folder, for calls that end before any work is done."""
    from click.testing import CliRunner

    from specgen.cli.main import cli

    result = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Call(result.exit_code, result.stdout, result.stderr)
