"""A device of the test's own making under every name."""

import pytest


@pytest.fixture
def use_device(monkeypatch):
    """Make `devices.open` return a device, and ask generated suites for that device only."""

    def use(device, name="fake", cases="all"):
        from specgen import devices

        monkeypatch.setattr(devices, "open", lambda asked: device)
        monkeypatch.setenv("SPECGEN_DEVICES", name)
        monkeypatch.setenv("SPECGEN_CASES", cases)
        for key in ("SPECGEN_TARGETS", "SPECGEN_SANITIZE", "SPECGEN_ALLOW_ORACLES"):
            monkeypatch.delenv(key, raising=False)

    return use
