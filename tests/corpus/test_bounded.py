"""The bounded form of the corpus: every spec on every target that the emulator executes, default and serial.

Each check runs some of its cases through the generated suite: against its expectation, the serial entry and the
sanitizers. `-m slow` runs the suites whole (`test_devices.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from corpus_build import EXECUTABLE, HEAVY, NAMES
from corpus_runs import suite_module

from specgen.checks.cases import Check
from specgen.checks.suite import SERIAL, Suite, Where

CASES = 6
"""Cases of a spec that an entry runs on a target, shared by its checks, of which each has one at least. The suite
gives every target and entry others of them, so that eight targets see up to 48."""
ENTRIES = ("default", SERIAL)


@pytest.mark.required_in_ci
@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)])
def test_every_target_runs_default_and_serial(name, corpus, record_property):
    ran, stated, without = bounded(corpus(name).folder)
    record_property("bounded", (name, ran, stated, without))
    assert ran >= len(EXECUTABLE) * len(ENTRIES)


def bounded(folder: Path) -> tuple[int, int, tuple[str, ...]]:
    """Cases that ran, cases that the checks state for these entries and targets, and checks of which none ran."""
    settings = {
        "SPECGEN_DEVICES": "amdgpu-emulator",
        "SPECGEN_TARGETS": ",".join(EXECUTABLE),
        "SPECGEN_ALLOW_ORACLES": "1",
    }
    checks = [value for name, value in vars(suite_module(folder)).items() if name.startswith("check_")]
    with mock.patch.dict(os.environ, {**settings, "SPECGEN_CASES": str(max(1, CASES // len(checks)))}):
        suite = suite_module(folder).SUITE
    ran = stated = 0
    unseen = {check.name for check in checks}
    try:
        for where in (w for w in suite.everywhere() if w.entry in (*ENTRIES, "")):
            for check in checks:
                count = one(suite, check, where)
                ran, stated = ran + count, stated + len(check.cases())
                if count:
                    unseen.discard(check.name)
    finally:
        suite.close()
    return ran, stated, tuple(sorted(unseen))


def one(suite: Suite, check: Check, where: Where) -> int:
    """How many cases of a check ran here; none when they are for other params or policies."""
    assert where.place.problem is None, where
    try:
        suite.check(check, where)
    except pytest.skip.Exception as skipped:
        if "is for builds with other params or policies" not in f"{skipped.msg}":
            raise
        return 0
    return len(suite.last_outcomes)
