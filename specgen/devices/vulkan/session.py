"""A logical device: memory, pipelines, one command buffer, timestamps."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from specgen.devices.base import DeviceError, Grid
from specgen.devices.vulkan._gen import api
from specgen.devices.vulkan.loader import address, device_commands, make
from specgen.devices.vulkan.physical import Instance, Physical, feature_chain, switches

WANTED_FEATURES = (
    "bufferDeviceAddress",
    "computeFullSubgroups",
    "shaderBufferInt64Atomics",
    "shaderFloat16",
    "shaderFloat64",
    "shaderInt16",
    "shaderInt64",
    "shaderInt8",
    "shaderSharedInt64Atomics",
    "storageBuffer16BitAccess",
    "storageBuffer8BitAccess",
    "subgroupSizeControl",
    "vulkanMemoryModel",
)
"""Switched on where the device has them; everything else stays off."""

DEVICE_LOCAL, HOST_VISIBLE, HOST_COHERENT, HOST_CACHED = 0x1, 0x2, 0x4, 0x8
USAGE = 0x1 | 0x2 | 0x10 | 0x20 | 0x20000
"""Copies in both directions, uniform, storage, device address."""
STAGE_COMPUTE, STAGE_TRANSFER, STAGE_HOST = 0x800, 0x1000, 0x4000
BOTTOM_OF_PIPE = 0x2000
SHADER_READ, SHADER_WRITE, TRANSFER_READ, TRANSFER_WRITE, HOST_READ, HOST_WRITE = (
    0x20,
    0x40,
    0x800,
    0x1000,
    0x2000,
    0x4000,
)
COMPUTE_BIT = 0x20
UNIFORM_DYNAMIC = 8
"""A uniform buffer at an offset that is told with the dispatch."""
FULL_SUBGROUPS = 0x2
TIMESTAMP = 2
STAMPS = 64
"""Timestamps that one submission may hold."""
TIMEOUT_NANOSECONDS = 60_000_000_000
WAIT_FOR_64_BITS = 0x1 | 0x2

BETWEEN = make(api.VkMemoryBarrier, srcAccessMask=SHADER_WRITE, dstAccessMask=SHADER_READ | SHADER_WRITE)
"""The barrier between dependent dispatches, made once because it is recorded often."""


@dataclass
class Buffer:
    """Memory with a device address; `view` is its mapped memory where the host can see it."""

    handle: int
    memory: int
    address: int
    size: int
    view: Any


@dataclass(frozen=True)
class Pipeline:
    """A compute pipeline, its layout and the shader module."""

    handle: int
    layout: int
    module: int


@dataclass(frozen=True)
class ArgumentSet:
    """A descriptor set with the buffer of argument blocks, alone in its pool."""

    handle: int
    pool: int


class Session:
    """A logical device with one compute queue."""

    def __init__(self) -> None:
        self.instance = Instance()
        self.physical: Physical = self.instance.choose()
        self.limits = self.physical.limits
        self.device = self._create_device()
        self.vk = device_commands(self.instance.commands, self.device)
        self.queue = ctypes.c_void_p()
        self.vk.GetDeviceQueue(self.device, self.physical.queue_family, 0, ctypes.byref(self.queue))
        self.pool = self._created(
            "CreateCommandPool", api.VkCommandPoolCreateInfo, flags=2, queueFamilyIndex=self.physical.queue_family
        )
        self.commands = ctypes.c_void_p()
        info = make(api.VkCommandBufferAllocateInfo, commandPool=self.pool, commandBufferCount=1)
        self.vk.AllocateCommandBuffers(self.device, ctypes.byref(info), ctypes.byref(self.commands))
        self.fence = self._created("CreateFence", api.VkFenceCreateInfo)
        self.queries = self._created(
            "CreateQueryPool", api.VkQueryPoolCreateInfo, queryType=TIMESTAMP, queryCount=STAMPS
        )
        self.argument_layout = self._argument_layout()
        self.lost = False

    def _create_device(self) -> ctypes.c_void_p:
        first, structures = feature_chain()
        for structure in structures:
            for owner, name in switches(structure):
                setattr(owner, name, int(name in WANTED_FEATURES and name in self.limits.features))
        priority = (ctypes.c_float * 1)(1.0)
        queue = make(
            api.VkDeviceQueueCreateInfo,
            queueFamilyIndex=self.physical.queue_family,
            queueCount=1,
            pQueuePriorities=priority,
        )
        info = make(api.VkDeviceCreateInfo, pNext=first, queueCreateInfoCount=1, pQueueCreateInfos=queue)
        device = ctypes.c_void_p()
        self.instance.commands.CreateDevice(self.physical.handle, ctypes.byref(info), None, ctypes.byref(device))
        return device

    def _created(self, command: str, cls: Any, **fields: Any) -> int:
        """The handle that a create command makes."""
        info, handle = make(cls, **fields), ctypes.c_uint64()
        getattr(self.vk, command)(self.device, ctypes.byref(info), None, ctypes.byref(handle))
        return handle.value

    # Memory

    def _memory_type(self, allowed: int, wishes: Sequence[int]) -> int:
        for wish in wishes:
            for number, flags in enumerate(self.physical.memory_types):
                if allowed >> number & 1 and flags & wish == wish:
                    return number
        raise DeviceError("the device has no memory of the kind wanted")

    def buffer(self, size: int, *, host: bool) -> Buffer:
        """Memory of `size` bytes: the host's (cached and coherent if possible) or the device's own."""
        import numpy as np

        handle = self._created("CreateBuffer", api.VkBufferCreateInfo, size=size, usage=USAGE)
        needs = api.VkMemoryRequirements()
        self.vk.GetBufferMemoryRequirements(self.device, handle, ctypes.byref(needs))
        visible = HOST_VISIBLE | HOST_COHERENT
        wishes = (visible | HOST_CACHED, visible) if host else (DEVICE_LOCAL,)
        flags = make(api.VkMemoryAllocateFlagsInfo, flags=2)
        try:
            memory = self._created(
                "AllocateMemory",
                api.VkMemoryAllocateInfo,
                pNext=flags,
                allocationSize=needs.size,
                memoryTypeIndex=self._memory_type(needs.memoryTypeBits, wishes),
            )
        except DeviceError:
            self.vk.DestroyBuffer(self.device, handle, None)
            raise
        self.vk.BindBufferMemory(self.device, handle, memory, 0)
        info = make(api.VkBufferDeviceAddressInfo, buffer=handle)
        place = self.vk.GetBufferDeviceAddress(self.device, ctypes.byref(info))
        view = None
        if host:
            mapped = ctypes.c_void_p()
            self.vk.MapMemory(self.device, memory, 0, size, 0, ctypes.byref(mapped))
            view = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(mapped.value or 0))
        return Buffer(handle, memory, place, size, view)

    def free(self, buffer: Buffer) -> None:
        """Give memory back."""
        self.vk.DestroyBuffer(self.device, buffer.handle, None)
        self.vk.FreeMemory(self.device, buffer.memory, None)

    # Arguments in a uniform buffer

    def _argument_layout(self) -> int:
        binding = make(
            api.VkDescriptorSetLayoutBinding,
            descriptorType=UNIFORM_DYNAMIC,
            descriptorCount=1,
            stageFlags=COMPUTE_BIT,
        )
        return self._created(
            "CreateDescriptorSetLayout", api.VkDescriptorSetLayoutCreateInfo, bindingCount=1, pBindings=binding
        )

    def argument_set(self, buffer: Buffer, block_bytes: int) -> ArgumentSet:
        """A set for blocks of so many bytes anywhere in a buffer; given back by `drop_arguments`."""
        size = make(api.VkDescriptorPoolSize, type=UNIFORM_DYNAMIC, descriptorCount=1)
        pool = self._created(
            "CreateDescriptorPool", api.VkDescriptorPoolCreateInfo, maxSets=1, poolSizeCount=1, pPoolSizes=size
        )
        layouts, handle = (ctypes.c_uint64 * 1)(self.argument_layout), ctypes.c_uint64()
        wanted = make(api.VkDescriptorSetAllocateInfo, descriptorPool=pool, descriptorSetCount=1, pSetLayouts=layouts)
        self.vk.AllocateDescriptorSets(self.device, ctypes.byref(wanted), ctypes.byref(handle))
        place = make(api.VkDescriptorBufferInfo, buffer=buffer.handle, range=block_bytes)
        write = make(
            api.VkWriteDescriptorSet,
            dstSet=handle.value,
            descriptorCount=1,
            descriptorType=UNIFORM_DYNAMIC,
            pBufferInfo=place,
        )
        self.vk.UpdateDescriptorSets(self.device, 1, ctypes.byref(write), 0, None)
        return ArgumentSet(handle.value, pool)

    def drop_arguments(self, arguments: ArgumentSet) -> None:
        """Destroy a set."""
        self.vk.DestroyDescriptorPool(self.device, arguments.pool, None)

    # Pipelines

    def pipeline(
        self,
        module: bytes,
        symbol: str,
        push_bytes: int,
        *,
        subgroup_size: int | None,
        full: bool,
        constants: dict[int, int] | None = None,
        uniform: bool = False,
    ) -> Pipeline:
        """Compile an entry point. `constants` are 32-bit specialization constants by id; `uniform`: the arguments come
        from an `ArgumentSet`, not from `push_bytes` of push constants."""
        code = ctypes.create_string_buffer(module, len(module))
        shader = self._created("CreateShaderModule", api.VkShaderModuleCreateInfo, codeSize=len(module), pCode=code)
        push = make(api.VkPushConstantRange, stageFlags=COMPUTE_BIT, size=push_bytes)
        sets = (ctypes.c_uint64 * 1)(self.argument_layout)
        layout = self._created(
            "CreatePipelineLayout",
            api.VkPipelineLayoutCreateInfo,
            setLayoutCount=1 if uniform else 0,
            pSetLayouts=sets,
            pushConstantRangeCount=0 if uniform or not push_bytes else 1,
            pPushConstantRanges=push,
        )
        stage = make(api.VkPipelineShaderStageCreateInfo, stage=COMPUTE_BIT, module=shader, pName=symbol.encode())
        if subgroup_size is not None:
            size = make(api.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo, requiredSubgroupSize=subgroup_size)
            stage.pNext = address(size)
        if full and "computeFullSubgroups" in self.limits.features:
            stage.flags = FULL_SUBGROUPS
        special = _specialization(constants or {})
        if special is not None:
            stage.pSpecializationInfo = address(special[0])
        info = make(api.VkComputePipelineCreateInfo, layout=layout)
        info.stage = stage
        handle = ctypes.c_uint64()
        self.vk.CreateComputePipelines(self.device, 0, 1, ctypes.byref(info), None, ctypes.byref(handle))
        return Pipeline(handle.value, layout, shader)

    def drop(self, pipeline: Pipeline) -> None:
        """Destroy a pipeline."""
        self.vk.DestroyPipeline(self.device, pipeline.handle, None)
        self.vk.DestroyPipelineLayout(self.device, pipeline.layout, None)
        self.vk.DestroyShaderModule(self.device, pipeline.module, None)

    # Commands

    def record(self, body: Callable[[], None]) -> None:
        """Fill the command buffer: `body` calls `dispatch`, `copy`, `barrier`, `stamp` and their like."""
        info = make(api.VkCommandBufferBeginInfo)
        self.vk.BeginCommandBuffer(self.commands, ctypes.byref(info))
        body()
        self.vk.EndCommandBuffer(self.commands)

    def submit(self) -> None:
        """Run the command buffer to its end. Raises `DeviceError` when the device is lost or does not end."""
        buffers = (ctypes.c_void_p * 1)(self.commands.value)
        info = make(api.VkSubmitInfo, commandBufferCount=1, pCommandBuffers=buffers)
        fence = (ctypes.c_uint64 * 1)(self.fence)
        try:
            self.vk.QueueSubmit(self.queue, 1, ctypes.byref(info), self.fence)
            if self.vk.WaitForFences(self.device, 1, fence, 1, TIMEOUT_NANOSECONDS):
                raise DeviceError("Vulkan: the kernel did not end within 60 s")
        except DeviceError:
            self.lost = True
            raise
        self.vk.ResetFences(self.device, 1, fence)

    def dispatch(self, pipeline: Pipeline, push: bytes, grid: Grid) -> None:
        """Record a dispatch with these push constants."""
        self.vk.CmdBindPipeline(self.commands, 1, pipeline.handle)
        if push:
            self.vk.CmdPushConstants(self.commands, pipeline.layout, COMPUTE_BIT, 0, len(push), push)
        self.vk.CmdDispatch(self.commands, *grid)

    def bind(self, pipeline: Pipeline) -> None:
        """Record that the dispatches of `dispatch_each` run this pipeline."""
        self.vk.CmdBindPipeline(self.commands, 1, pipeline.handle)

    def dispatch_each(self, pipeline: Pipeline, grid: Grid, arguments: ArgumentSet, starts: Iterable[int]) -> None:
        """Record a dispatch of the bound pipeline (made with `uniform`) for each of these bytes at which its arguments
        start, each behind a barrier after which it sees what the last one wrote."""
        dispatch, barrier, bind = self.vk.CmdDispatch, self.vk.CmdPipelineBarrier, self.vk.CmdBindDescriptorSets
        commands, layout, between, stage = self.commands, pipeline.layout, ctypes.byref(BETWEEN), STAGE_COMPUTE
        handle, offset = ctypes.c_uint64(arguments.handle), ctypes.c_uint32()
        sets, offsets = ctypes.byref(handle), ctypes.byref(offset)
        bound = None
        for start in starts:
            barrier(commands, stage, stage, 0, 1, between, 0, None, 0, None)
            if start != bound:
                offset.value = bound = start
                bind(commands, 1, layout, 0, 1, sets, 1, offsets)
            dispatch(commands, *grid)

    def copy(self, source: Buffer, target: Buffer, size: int, place: int = 0) -> None:
        """Record a copy of the first `size` bytes to byte `place`."""
        region = api.VkBufferCopy(0, place, size)
        self.vk.CmdCopyBuffer(self.commands, source.handle, target.handle, 1, ctypes.byref(region))

    def copy_from(self, source: Buffer, start: int, target: Buffer, size: int) -> None:
        """Record a copy of `size` bytes from byte `start` on to the first of `target`."""
        region = api.VkBufferCopy(start, 0, size)
        self.vk.CmdCopyBuffer(self.commands, source.handle, target.handle, 1, ctypes.byref(region))

    def barrier(self) -> None:
        """Record that what follows sees what came before, on device and host."""
        memory = make(
            api.VkMemoryBarrier,
            srcAccessMask=SHADER_WRITE | TRANSFER_WRITE | HOST_WRITE,
            dstAccessMask=SHADER_READ | SHADER_WRITE | TRANSFER_READ | TRANSFER_WRITE | HOST_READ,
        )
        stages = STAGE_COMPUTE | STAGE_TRANSFER | STAGE_HOST
        self.vk.CmdPipelineBarrier(self.commands, stages, stages, 0, 1, ctypes.byref(memory), 0, None, 0, None)

    def reset_stamps(self) -> None:
        """Record that all timestamps are free; before `stamp`."""
        self.vk.CmdResetQueryPool(self.commands, self.queries, 0, STAMPS)

    def stamp(self, number: int) -> None:
        """Record a timestamp (below `STAMPS`) behind all that came before."""
        self.vk.CmdWriteTimestamp(self.commands, BOTTOM_OF_PIPE, self.queries, number)

    def intervals(self, count: int) -> list[float]:
        """Seconds between timestamps 0 and 1, 1 and 2, ... of the last submission: `count` intervals."""
        values = (ctypes.c_uint64 * (count + 1))()
        size = ctypes.sizeof(values)
        self.vk.GetQueryPoolResults(
            self.device, self.queries, 0, count + 1, size, ctypes.byref(values), 8, WAIT_FOR_64_BITS
        )
        return [(end - start) * self.limits.timestamp_seconds for start, end in itertools.pairwise(values)]

    def close(self) -> None:
        """Destroy everything but buffers and pipelines, which their owners drop first."""
        if not self.lost:
            self.vk.DeviceWaitIdle(self.device)
        self.vk.DestroyDescriptorSetLayout(self.device, self.argument_layout, None)
        self.vk.DestroyQueryPool(self.device, self.queries, None)
        self.vk.DestroyFence(self.device, self.fence, None)
        self.vk.DestroyCommandPool(self.device, self.pool, None)
        self.vk.DestroyDevice(self.device, None)
        self.instance.close()


def _specialization(constants: dict[int, int]) -> tuple[Any, ...] | None:
    """VkSpecializationInfo and what it points to."""
    if not constants:
        return None
    entries = (api.VkSpecializationMapEntry * len(constants))()
    data = (ctypes.c_uint32 * len(constants))(*constants.values())
    for number, (entry, key) in enumerate(zip(entries, constants, strict=True)):
        entry.constantID, entry.offset, entry.size = key, 4 * number, 4
    info = make(
        api.VkSpecializationInfo,
        mapEntryCount=len(constants),
        pMapEntries=entries,
        dataSize=4 * len(constants),
        pData=data,
    )
    return info, entries, data
