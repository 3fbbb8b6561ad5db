"""Work in processes: results in order, dead workers, and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from specgen.pool import in_processes


def square_unless(number: int, bad: int) -> int:
    """The square of a number; the process dies of one of them."""
    if number == bad:
        os._exit(1)
    return number * number


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_dead_worker_costs_its_own_call(jobs: int) -> None:
    assert in_processes(square_unless, [(n, 3) for n in range(6)], jobs) == [0, 1, 4, None, 16, 25]


PROGRAM = """
import sys, time
from pathlib import Path
from specgen.pool import in_processes

def work(folder, number):
    (folder / f"begun{number}").touch()
    try:
        time.sleep(30)
    finally:
        time.sleep(0.2)
        (folder / f"tidied{number}").touch()

if __name__ == "__main__":
    in_processes(work, [(Path(sys.argv[1]), n) for n in range(12)], 2)
"""


@pytest.mark.parametrize("everyone", [True, False], ids=["as a terminal", "the parent alone"])
def test_an_interrupt_ends_what_runs_and_starts_no_more(everyone: bool, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "marks"
    folder.mkdir()
    command = [sys.executable, str(program), str(folder)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while len(list(folder.iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert sorted(p.name for p in folder.iterdir()) == ["begun0", "begun1", "tidied0", "tidied1"]
    assert "Process" not in told  # no worker has more to say than the parent
