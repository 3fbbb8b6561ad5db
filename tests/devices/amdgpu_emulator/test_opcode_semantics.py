"""Every operation of the tables under `opcode_semantics`, executed and compared with its meaning in the manuals."""

from __future__ import annotations

import json

import pytest
from artifact_opcodes import DATA, text
from emulator_compile import ASSEMBLER
from opcode_semantics import registry

from specgen.devices.amdgpu_emulator.semantics import recorded


@pytest.mark.skipif(ASSEMBLER is None, reason="llvm-mc-19 is not installed")
@pytest.mark.required_in_ci
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("arch", registry.ARCHS)
@pytest.mark.parametrize("table", registry.TABLES)
def test_operations(table: str, arch: str) -> None:
    wrong = registry.run(table, arch)
    assert not wrong, "\n".join(wrong)


def test_every_row_is_an_operation_somewhere() -> None:
    assert registry.unused_rows() == []


def test_recorded_coverage_is_that_of_the_tables() -> None:
    """Otherwise: `python tests/support/artifact_opcodes.py --tests`, then `python -m specgen.docs`."""
    assert DATA.read_text() == text(json.loads(DATA.read_text())["artifacts"])


@pytest.mark.parametrize("arch", registry.ARCHS)
def test_every_recorded_opcode_has_a_test(arch: str) -> None:
    assert recorded().artifacts[arch]
    assert recorded().untested(arch) == []
