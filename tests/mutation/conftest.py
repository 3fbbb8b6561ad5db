"""The score of the mutants, last of all that a run prints; the survivors before it."""

from __future__ import annotations

import pytest

VERDICTS: dict[str, list[tuple[str, str]]] = {}
"""Form of the test -> (mutant, why it survived; empty when it was noticed)."""

COMPLETE, LEAST_OF_ALL = 200, 0.95
"""Mutants of a complete run, and the least part of them that is noticed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Verdicts arrive as properties of reports, so that the tests may run in other processes."""
    for name, value in report.user_properties if report.when == "call" else ():
        if name == "mutant":
            form, mutant, why = value  # type: ignore[misc]
            VERDICTS.setdefault(form, []).append((mutant, why))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the survivors."""
    for form, verdicts in VERDICTS.items():
        survivors = [(mutant, why) for mutant, why in verdicts if why]
        terminalreporter.section(f"{len(survivors)} survivors of {len(verdicts)} mutants, {form} form")
        for mutant, why in survivors:
            terminalreporter.line(f"{mutant}: {why}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A complete run of the full form fails where the suites notice too little of it."""
    verdicts = VERDICTS.get("full", [])
    if len(verdicts) >= COMPLETE and noticed(verdicts) < LEAST_OF_ALL * len(verdicts):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def noticed(verdicts: list[tuple[str, str]]) -> int:
    """How many mutants did not survive."""
    return sum(not why for _, why in verdicts)


def pytest_unconfigure() -> None:
    """The score of the largest form that ran."""
    if VERDICTS:
        verdicts = max(VERDICTS.values(), key=len)
        print(f"mutation score: {noticed(verdicts)}/{len(verdicts)}")
