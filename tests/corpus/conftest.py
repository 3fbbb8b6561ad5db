"""Specs are built by the first test that asks, once for all test processes."""

from __future__ import annotations

import pytest
from corpus_build import Built, build_once, shared_root


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory):
    """A function from a spec's name to its built folder."""
    root = shared_root(tmp_path_factory.getbasetemp())

    def built(name: str) -> Built:
        return build_once(root, name)

    return built


BOUNDED: list[tuple[str, int, int, tuple[str, ...]]] = []
"""Spec, cases that ran, cases that its checks state, and checks of which no case ran: of the bounded form."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts arrive as properties of reports, so that the tests may run in other processes."""
    for name, value in report.user_properties if report.when == "call" else ():
        if name == "bounded":
            BOUNDED.append(value)  # type: ignore[arg-type]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the bounded form of the corpus left out."""
    if BOUNDED:
        terminalreporter.section("bounded corpus: cases on eight targets, default and serial")
        for name, ran, stated, without in sorted(BOUNDED):
            others = f"; of {', '.join(without)} none: they are for other builds" if without else ""
            terminalreporter.line(f"{name}: {ran} of {stated}, {stated - ran} left to the slow form{others}")
