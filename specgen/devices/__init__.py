"""Execution devices by name; a device's module is imported when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from specgen.devices.base import Device

_CLASSES: dict[str, tuple[str, str]] = {
    "interpreter": ("specgen.devices.interpreter.device", "InterpreterDevice"),
    "amdgpu-emulator": ("specgen.devices.amdgpu_emulator.device", "EmulatorDevice"),
    "vulkan": ("specgen.devices.vulkan.device", "VulkanDevice"),
    "hip": ("specgen.devices.hip", "HipDevice"),
}
"""Device name -> module and class, in the order in which they are listed."""


def names() -> tuple[str, ...]:
    """The names that `open` accepts."""
    return tuple(_CLASSES)


def open(name: str) -> Device:
    """A device; ask `available()` before use. Raises `DeviceError` for a name that is not in `names()`."""
    import importlib

    from specgen.devices.base import DeviceError

    if name not in _CLASSES:
        raise DeviceError(f"no device {name}; there are {', '.join(_CLASSES)}")
    module, cls = _CLASSES[name]
    return cast("Device", getattr(importlib.import_module(module), cls)())
