"""Builds of the conformance specs whose params differ from the defaults: loops shorter than the depth."""

from __future__ import annotations

import pytest

from specgen import devices
from specgen.testing import SuiteOptions, run_suite

PLACES = [("interpreter", ()), ("amdgpu-emulator", ("gfx942", "gfx1151")), ("vulkan", ("vulkan1.3",))]


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize(("device", "targets"), PLACES, ids=[device for device, _ in PLACES])
def test_collectives_in_loops_shorter_than_the_depth(device, targets, rows, corpus):
    """No row and one row, for every policy of the spec."""
    reason = devices.open(device).available()
    if reason is not None:
        pytest.skip(reason)
    default = corpus("collective_state").folder
    folder = default.with_name(f"{default.name}@rows={rows}")
    result = run_suite(folder, SuiteOptions(devices=(device,), targets=targets))
    assert result.broken == ()
    assert result.failed == 0, "\n".join(result.output)[-4000:]
    assert (result.passed >= 3, result.skipped) == (True, 0)
