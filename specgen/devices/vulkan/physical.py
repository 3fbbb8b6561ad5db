"""Physical devices: which there are, which one to take, and what it can do."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from specgen.devices.base import DeviceError
from specgen.devices.vulkan._gen import api
from specgen.devices.vulkan.loader import Commands, chain, enumerate_into, instance_commands, load_library, make

VERSION_1_3 = 1 << 22 | 3 << 12
CHOICE = "SPECGEN_VULKAN_DEVICE"
"""Environment variable: part of the name of the device to take."""

TYPES = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
PREFERENCE = ("discrete", "integrated", "virtual", "other", "cpu")
COMPUTE_QUEUE = 0x2

FEATURE_STRUCTURES = (
    api.VkPhysicalDeviceVulkan11Features,
    api.VkPhysicalDeviceVulkan12Features,
    api.VkPhysicalDeviceVulkan13Features,
)
PROPERTY_STRUCTURES = (
    api.VkPhysicalDeviceVulkan11Properties,
    api.VkPhysicalDeviceVulkan12Properties,
    api.VkPhysicalDeviceVulkan13Properties,
)

NEEDED = ("bufferDeviceAddress", "vulkanMemoryModel")
"""Features without which no module of ours runs."""


@dataclass(frozen=True)
class Limits:
    """What a physical device can do. Sizes in bytes; `timestamp_seconds` is 0 where the queue has no clock;
    `uuid` is the device's own, as other tools write it."""

    name: str
    type: str
    driver: str
    subgroup_size: int
    subgroup_sizes: tuple[int, int]
    requires_size: bool
    subgroup_operations: int
    workgroup_memory: int
    workgroup_items: int
    workgroup_size: tuple[int, int, int]
    workgroup_count: tuple[int, int, int]
    push_constants: int
    timestamp_seconds: float
    features: frozenset[str]
    float_controls: frozenset[str]
    denormal_independence: int
    uuid: str


@dataclass(frozen=True)
class Physical:
    """A physical device; `queue_family` is the compute family taken."""

    handle: ctypes.c_void_p
    limits: Limits
    queue_family: int
    memory_types: tuple[int, ...]


class Instance:
    """A Vulkan instance; raises `DeviceError` where there is no loader or no driver."""

    def __init__(self) -> None:
        self.library = load_library()
        application = make(api.VkApplicationInfo, pApplicationName=b"specgen", apiVersion=VERSION_1_3)
        info = make(api.VkInstanceCreateInfo, pApplicationInfo=application)
        self.handle = ctypes.c_void_p()
        first = instance_commands(self.library, None)
        first.CreateInstance(ctypes.byref(info), None, ctypes.byref(self.handle))
        self.commands = instance_commands(self.library, self.handle)

    def choose(self) -> Physical:
        """The device to run on. Raises `DeviceError` when none will do."""
        handles = enumerate_into(
            lambda count, out: self.commands.EnumeratePhysicalDevices(self.handle, count, out), ctypes.c_void_p
        )
        found = [_describe(self.commands, ctypes.c_void_p(h)) for h in handles if _is_1_3(self.commands, h)]
        if not found:
            raise DeviceError("no Vulkan 1.3 device: install a driver, or mesa-vulkan-drivers for the CPU")
        wanted = os.environ.get(CHOICE, "")
        named = [p for p in found if wanted.lower() in p.limits.name.lower()]
        if not named:
            names = ", ".join(p.limits.name for p in found)
            raise DeviceError(f"no Vulkan device with {wanted!r} ({CHOICE}) in its name; there are: {names}")
        able = [p for p in named if all(f in p.limits.features for f in NEEDED)]
        if not able:
            raise DeviceError(f"{named[0].limits.name} lacks buffer device addresses or the Vulkan memory model")
        return min(able, key=lambda p: PREFERENCE.index(p.limits.type))

    def close(self) -> None:
        """Destroy the instance."""
        self.commands.DestroyInstance(self.handle, None)


def _is_1_3(commands: Commands, handle: int) -> bool:
    properties = api.VkPhysicalDeviceProperties()
    commands.GetPhysicalDeviceProperties(ctypes.c_void_p(handle), ctypes.byref(properties))
    return bool(properties.apiVersion >= VERSION_1_3)


def _describe(commands: Commands, handle: ctypes.c_void_p) -> Physical:
    properties = make(api.VkPhysicalDeviceProperties2)
    versions = [make(cls) for cls in PROPERTY_STRUCTURES]
    commands.GetPhysicalDeviceProperties2(handle, ctypes.byref(chain([properties, *versions])))
    families = enumerate_into(
        lambda count, out: commands.GetPhysicalDeviceQueueFamilyProperties(handle, count, out) or 0,
        api.VkQueueFamilyProperties,
    )
    family = next((n for n, f in enumerate(families) if f.queueFlags & COMPUTE_QUEUE), None)
    if family is None:
        raise DeviceError("a Vulkan device without compute queue")
    memory = api.VkPhysicalDeviceMemoryProperties()
    commands.GetPhysicalDeviceMemoryProperties(handle, ctypes.byref(memory))
    types = tuple(t.propertyFlags for t in memory.memoryTypes[: memory.memoryTypeCount])
    has_clock = families[family].timestampValidBits > 0
    limits = _limits(properties.properties, versions, _features(commands, handle), has_clock)
    return Physical(handle, limits, family, types)


def feature_chain() -> tuple[Any, list[Any]]:
    """The structures of all features, linked, and the list of them."""
    structures = [make(api.VkPhysicalDeviceFeatures2), *(make(cls) for cls in FEATURE_STRUCTURES)]
    return chain(structures), structures


def switches(structure: Any) -> list[tuple[Any, str]]:
    """Where the feature switches of a structure lie: object and field name."""
    if isinstance(structure, api.VkPhysicalDeviceFeatures2):
        return [(structure.features, name) for name, _ in structure.features._fields_]
    return [(structure, name) for name, _ in structure._fields_ if name not in ("sType", "pNext")]


def _features(commands: Commands, handle: ctypes.c_void_p) -> frozenset[str]:
    first, structures = feature_chain()
    commands.GetPhysicalDeviceFeatures2(handle, ctypes.byref(first))
    return frozenset(name for s in structures for owner, name in switches(s) if getattr(owner, name))


def _limits(properties: Any, versions: list[Any], features: frozenset[str], has_clock: bool) -> Limits:
    v11, v12, v13 = versions
    limits = properties.limits
    controls = frozenset(
        name
        for name, kind in v12._fields_
        if name.startswith("shader") and kind is ctypes.c_uint32 and getattr(v12, name)
    )
    compute = 0x20
    return Limits(
        properties.deviceName.decode(),
        TYPES.get(properties.deviceType, "other"),
        f"{v12.driverName.decode()} {v12.driverInfo.decode()}".strip(),
        v11.subgroupSize,
        (v13.minSubgroupSize, v13.maxSubgroupSize),
        bool(v13.requiredSubgroupSizeStages & compute) and "subgroupSizeControl" in features,
        v11.subgroupSupportedOperations if v11.subgroupSupportedStages & compute else 0,
        limits.maxComputeSharedMemorySize,
        limits.maxComputeWorkGroupInvocations,
        tuple(limits.maxComputeWorkGroupSize),
        tuple(limits.maxComputeWorkGroupCount),
        limits.maxPushConstantsSize,
        limits.timestampPeriod * 1e-9 if has_clock else 0.0,
        features,
        controls,
        v12.denormBehaviorIndependence,
        str(UUID(bytes=bytes(v11.deviceUUID))),
    )
