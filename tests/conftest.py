"""Shared by all tests: what CI requires must not be skipped there."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, a skipped test that is marked `required_in_ci` is a failure."""
    report = yield
    if report.skipped and os.environ.get("CI") and item.get_closest_marker("required_in_ci"):
        report.outcome = "failed"
        report.longrepr = f"required in CI, but skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT
