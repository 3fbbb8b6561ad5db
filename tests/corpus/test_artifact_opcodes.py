"""Every machine opcode of the built specs has a semantic test, and the recorded list of them is up to date."""

from __future__ import annotations

import json

import pytest
from artifact_opcodes import DATA, of_folders
from corpus_build import HEAVY, NAMES
from opcode_semantics import registry

ONE_OF_EACH = ("gfx950", "gfx1151", "gfx1201")
"""A target of each instruction family; the slow test looks at all of them."""


@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)])
def test_every_opcode_has_a_semantic_test(name, corpus):
    found = of_folders([corpus(name)], ONE_OF_EACH)
    missing = {arch: sorted(set(names) - registry.covered(arch).keys()) for arch, names in found.items()}
    assert not any(missing.values()), f"tables of tests/support/opcode_semantics lack rows for {missing}"


@pytest.mark.slow
def test_the_recorded_list_is_up_to_date(corpus):
    """Otherwise: `python tests/support/artifact_opcodes.py`, then `python -m specgen.docs`."""
    recorded = json.loads(DATA.read_text())["artifacts"]
    assert of_folders(corpus(name) for name in (*NAMES, *HEAVY)) == recorded
