"""The Vulkan loader library, its commands as checked Python calls, and structures with their types filled in."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from specgen.devices.base import DeviceError
from specgen.devices.vulkan._gen.api import DEVICE_COMMANDS, INSTANCE_COMMANDS

LIBRARIES = ("libvulkan.so.1", "libvulkan.1.dylib", "vulkan-1.dll")
RESULTS = {
    1: "not ready",
    2: "time-out",
    5: "incomplete",
    -1: "out of host memory",
    -2: "out of device memory",
    -3: "initialization failed",
    -4: "device lost",
    -5: "memory map failed",
    -7: "extension not present",
    -8: "feature not present",
    -9: "incompatible driver",
    -1000012000: "invalid shader",
}
"""VkResult (Vulkan specification, "Return Codes")."""

INCOMPLETE = 5

Structure = TypeVar("Structure", bound=ctypes.Structure)


def make(cls: type[Structure], **fields: Any) -> Structure:
    """A structure with its sType; addresses may be given as ctypes objects, which must be kept alive."""
    values = {k: address(v) if isinstance(v, ctypes.Structure | ctypes.Array) else v for k, v in fields.items()}
    made = cls(**values)
    kind = cls.STRUCTURE_TYPE
    if kind is not None:
        made.sType = kind
    return made


def address(value: Any) -> int:
    """The address of a ctypes object."""
    return ctypes.addressof(value)


def chain(structures: Iterable[Any]) -> Any:
    """Link structures through pNext; the first."""
    linked = list(structures)
    for one, following in itertools.pairwise(linked):
        one.pNext = address(following)
    return linked[0]


def _checked(name: str, function: Any) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        if result < 0:
            raise DeviceError(f"Vulkan: {name}: {RESULTS.get(result, f'error {result}')}")
        return result

    return call


class Commands:
    """Commands as attributes without their prefix: `commands.CreateBuffer(...)`; errors raise `DeviceError`."""

    def __init__(self, lookup: Callable[[str], int | None], table: dict[str, tuple[Any, ...]]) -> None:
        for name, (result, *parameters) in table.items():
            place = lookup(name)
            if not place:
                continue
            function = ctypes.CFUNCTYPE(result, *parameters)(place)
            checked = _checked(name, function) if result is ctypes.c_int32 else function
            setattr(self, name.removeprefix("vk"), checked)

    def __getattr__(self, name: str) -> Any:
        raise DeviceError(f"Vulkan: the driver has no vk{name}")


def load_library() -> Any:
    """The loader. Raises `DeviceError` when the machine has none."""
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.vkGetInstanceProcAddr.restype = ctypes.c_void_p
        library.vkGetInstanceProcAddr.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        return library
    raise DeviceError("no Vulkan loader: libvulkan.so.1 was not found")


def instance_commands(library: Any, instance: ctypes.c_void_p | None) -> Commands:
    """Commands of an instance (or those that need none)."""
    return Commands(lambda name: library.vkGetInstanceProcAddr(instance, name.encode()), INSTANCE_COMMANDS)


def device_commands(commands: Commands, device: ctypes.c_void_p) -> Commands:
    """Commands of a logical device."""
    return Commands(lambda name: commands.GetDeviceProcAddr(device, name.encode()), DEVICE_COMMANDS)


def enumerate_into(call: Callable[[Any, Any], int], element: Any) -> list[Any]:
    """The elements of a Vulkan enumeration: ask for the count, then for the contents."""
    while True:
        count = ctypes.c_uint32()
        call(ctypes.byref(count), None)
        if count.value == 0:
            return []
        found = (element * count.value)()
        if call(ctypes.byref(count), ctypes.byref(found)) != INCOMPLETE:
            return list(found[: count.value])
