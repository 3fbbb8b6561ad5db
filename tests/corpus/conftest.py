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
