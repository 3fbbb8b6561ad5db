"""What a module needs of a device, read from the module itself, and whether a device has it.

Everything is checked before a run: drivers accept workgroup memory above their limit and subgroup sizes that they do
not have, and then lose the device or compute something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from specgen.devices.base import DeviceError
from specgen.devices.vulkan.physical import Limits
from specgen.lowering.spirv.reader import Decoded, read

CAPABILITY_FEATURES = {
    "Shader": (),
    "PhysicalStorageBufferAddresses": ("bufferDeviceAddress",),
    "VulkanMemoryModel": ("vulkanMemoryModel",),
    "Int8": ("shaderInt8",),
    "Int16": ("shaderInt16",),
    "Int64": ("shaderInt64",),
    "Float16": ("shaderFloat16",),
    "Float64": ("shaderFloat64",),
    "Int64Atomics": ("shaderBufferInt64Atomics", "shaderSharedInt64Atomics"),
    "StorageBuffer8BitAccess": ("storageBuffer8BitAccess",),
    "StorageBuffer16BitAccess": ("storageBuffer16BitAccess",),
}
"""Features (VkPhysicalDevice*Features) behind capabilities."""

CAPABILITY_SUBGROUPS = {
    "GroupNonUniform": 0x1,
    "GroupNonUniformVote": 0x2,
    "GroupNonUniformArithmetic": 0x4,
    "GroupNonUniformBallot": 0x8,
    "GroupNonUniformShuffle": 0x10,
    "GroupNonUniformShuffleRelative": 0x20,
}
"""VkSubgroupFeatureFlagBits behind capabilities."""

MODES = {
    "SignedZeroInfNanPreserve": "shaderSignedZeroInfNanPreserve",
    "DenormPreserve": "shaderDenormPreserve",
    "RoundingModeRTE": "shaderRoundingModeRTE",
}
"""Float control properties behind execution modes; the width follows."""


@dataclass(frozen=True)
class Requirements:
    """What one entry point needs. `subgroup_size` None: any of at least `minimum_subgroup_size`."""

    capabilities: tuple[str, ...]
    float_modes: tuple[str, ...]
    local_size: tuple[int, int, int]
    workgroup_memory: int
    push_constants: int
    subgroup_size: int | None
    minimum_subgroup_size: int
    specialized: bool

    @property
    def uses_subgroups(self) -> bool:
        """Whether the entry point depends on how work-items are grouped."""
        return "GroupNonUniform" in self.capabilities or self.subgroup_size is not None


def requirements(module: bytes, symbol: str) -> Requirements:
    """The needs of entry point `symbol`. Raises `DeviceError` for a broken module or an unknown entry point."""
    try:
        rows = list(read(module))
    except ValueError as error:
        raise DeviceError(str(error)) from error
    entry = next((r for r in rows if r.name == "OpEntryPoint" and r.first("LiteralString") == symbol), None)
    if entry is None:
        raise DeviceError(f"the module has no entry point {symbol}")
    function, *interface = entry.ids()
    local, modes = (1, 1, 1), []
    for row in rows:
        if row.name == "OpExecutionMode" and row.ids()[0] == function:
            mode = str(row.first("ExecutionMode"))
            numbers = [int(o.value) for o in row.operands[2:]]
            if mode == "LocalSize":
                local = (numbers[0], numbers[1], numbers[2])
            else:
                modes.append(f"{MODES.get(mode, mode)}Float{numbers[0]}" if numbers else mode)
    memory, push = _sizes(rows, set(interface))
    size, minimum = _note(rows, symbol)
    capabilities = tuple(str(r.operands[0].value) for r in rows if r.name == "OpCapability")
    specialized = any(r.name == "OpDecorate" and r.first("Decoration") == "SpecId" for r in rows)
    return Requirements(capabilities, tuple(modes), local, memory, push, size, minimum, specialized)


def _note(rows: list[Decoded], symbol: str) -> tuple[int | None, int]:
    """Subgroup needs from the module's own note (`specgen.lowering.spirv.module.SpirvEntry.note`)."""
    for row in rows:
        if row.name == "OpModuleProcessed":
            words = str(row.operands[0].value).split()
            if words[:3] == ["specgen", "entry", symbol]:
                values = dict(w.split("=", 1) for w in words[3:])
                return int(values["subgroup_size"]) or None, int(values["minimum"])
    return None, 1


def _sizes(rows: list[Decoded], interface: set[int]) -> tuple[int, int]:
    """Bytes of workgroup memory and of push constants in an interface."""
    size: dict[int, int] = {}
    constant: dict[int, int] = {}
    pointee: dict[int, int] = {}
    offsets: dict[int, dict[int, int]] = {}
    memory = push = 0
    for row in rows:
        numbers = [int(o.value) for o in row.operands if isinstance(o.value, int)]
        if row.name in ("OpTypeInt", "OpTypeFloat"):
            size[row.result] = numbers[0] // 8
        elif row.name == "OpTypeVector":
            size[row.result] = size[numbers[0]] * numbers[1]
        elif row.name == "OpConstant":
            constant[row.result] = numbers[0]
        elif row.name == "OpTypeArray":
            size[row.result] = size[numbers[0]] * constant[numbers[1]]
        elif row.name == "OpMemberDecorate" and row.first("Decoration") == "Offset":
            offsets.setdefault(numbers[0], {})[numbers[1]] = numbers[2]
        elif row.name == "OpTypeStruct":
            at = offsets.get(row.result, {})
            size[row.result] = max((at.get(n, 0) + size.get(m, 0) for n, m in enumerate(numbers)), default=0)
        elif row.name == "OpTypePointer":
            pointee[row.result] = numbers[0]
            size[row.result] = 8
        elif row.name == "OpVariable" and row.result in interface:
            held = size.get(pointee[row.type], 0)
            memory += held if row.first("StorageClass") == "Workgroup" else 0
            push = held if row.first("StorageClass") == "PushConstant" else push
    return memory, push


def problems(needs: Requirements, limits: Limits) -> Iterator[str]:
    """Why a device cannot run an entry point, each in one line."""
    missing = [f for c in needs.capabilities for f in CAPABILITY_FEATURES.get(c, ()) if f not in limits.features]
    missing += [
        c
        for c in needs.capabilities
        if c not in CAPABILITY_FEATURES and c not in CAPABILITY_SUBGROUPS and c not in MODES
    ]
    wanted = sum(bit for c, bit in CAPABILITY_SUBGROUPS.items() if c in needs.capabilities)
    missing += [c for c, bit in CAPABILITY_SUBGROUPS.items() if bit & wanted & ~limits.subgroup_operations]
    missing += [m for m in needs.float_modes if m not in limits.float_controls]
    if missing:
        yield f"the device lacks {', '.join(dict.fromkeys(missing))}"
    if needs.workgroup_memory > limits.workgroup_memory:
        yield f"{needs.workgroup_memory} bytes of workgroup memory, the device has {limits.workgroup_memory}"
    items = math.prod(needs.local_size)
    if items > limits.workgroup_items:
        yield f"{items} work-items a workgroup, the device has {limits.workgroup_items}"
    for axis, size, limit in zip("xyz", needs.local_size, limits.workgroup_size, strict=True):
        if size > limit:
            yield f"workgroup size {size} along {axis}, the device has {limit}"
    if needs.push_constants > limits.push_constants:
        yield f"{needs.push_constants} bytes of arguments, the device takes {limits.push_constants}"
    yield from _subgroup_problems(needs, limits, items)


def _subgroup_problems(needs: Requirements, limits: Limits, items: int) -> Iterator[str]:
    size = needs.subgroup_size
    if size is not None:
        low, high = limits.subgroup_sizes
        can_require = limits.requires_size and low <= size <= high
        if size != limits.subgroup_size and not can_require:
            sizes = str(low) if low == high else f"{low} to {high}"
            yield f"built for subgroups of {size}, the device has {sizes}"
    elif limits.subgroup_size < needs.minimum_subgroup_size:
        yield f"subgroups of at least {needs.minimum_subgroup_size} lanes, the device has {limits.subgroup_size}"
    used = size or limits.subgroup_size
    if needs.uses_subgroups and items % used:
        yield f"{items} work-items a workgroup are no multiple of the subgroup size {used}"
