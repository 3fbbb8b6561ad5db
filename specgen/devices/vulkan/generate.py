"""Regenerates `_gen/api.py`, the ctypes form of the Vulkan structures and commands that the device uses.

`python -m specgen.devices.vulkan.generate vk.xml [--check]`; the registry is in Debian's libvulkan-dev
(`/usr/share/vulkan/registry/vk.xml`). Structures hold what they need by value, pointers are `c_void_p`.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

OUTPUT = Path(__file__).parent / "_gen" / "api.py"

STRUCTURES = (
    "VkApplicationInfo",
    "VkBufferCopy",
    "VkBufferCreateInfo",
    "VkBufferDeviceAddressInfo",
    "VkCommandBufferAllocateInfo",
    "VkCommandBufferBeginInfo",
    "VkCommandPoolCreateInfo",
    "VkComputePipelineCreateInfo",
    "VkDescriptorBufferInfo",
    "VkDescriptorPoolCreateInfo",
    "VkDescriptorPoolSize",
    "VkDescriptorSetAllocateInfo",
    "VkDescriptorSetLayoutBinding",
    "VkDescriptorSetLayoutCreateInfo",
    "VkDeviceCreateInfo",
    "VkDeviceQueueCreateInfo",
    "VkFenceCreateInfo",
    "VkInstanceCreateInfo",
    "VkMemoryAllocateFlagsInfo",
    "VkMemoryAllocateInfo",
    "VkMemoryBarrier",
    "VkMemoryRequirements",
    "VkPhysicalDeviceFeatures2",
    "VkPhysicalDeviceMemoryProperties",
    "VkPhysicalDeviceProperties2",
    "VkPhysicalDeviceVulkan11Features",
    "VkPhysicalDeviceVulkan11Properties",
    "VkPhysicalDeviceVulkan12Features",
    "VkPhysicalDeviceVulkan12Properties",
    "VkPhysicalDeviceVulkan13Features",
    "VkPhysicalDeviceVulkan13Properties",
    "VkPipelineLayoutCreateInfo",
    "VkPipelineShaderStageCreateInfo",
    "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo",
    "VkPushConstantRange",
    "VkQueryPoolCreateInfo",
    "VkQueueFamilyProperties",
    "VkShaderModuleCreateInfo",
    "VkSpecializationInfo",
    "VkSpecializationMapEntry",
    "VkSubmitInfo",
    "VkWriteDescriptorSet",
)

INSTANCE_COMMANDS = (
    "vkCreateInstance",
    "vkDestroyInstance",
    "vkEnumeratePhysicalDevices",
    "vkGetPhysicalDeviceProperties",
    "vkGetPhysicalDeviceProperties2",
    "vkGetPhysicalDeviceFeatures2",
    "vkGetPhysicalDeviceMemoryProperties",
    "vkGetPhysicalDeviceQueueFamilyProperties",
    "vkCreateDevice",
    "vkGetDeviceProcAddr",
)

DEVICE_COMMANDS = (
    "vkAllocateCommandBuffers",
    "vkAllocateDescriptorSets",
    "vkAllocateMemory",
    "vkBeginCommandBuffer",
    "vkBindBufferMemory",
    "vkCmdBindDescriptorSets",
    "vkCmdBindPipeline",
    "vkCmdCopyBuffer",
    "vkCmdDispatch",
    "vkCmdPipelineBarrier",
    "vkCmdPushConstants",
    "vkCmdResetQueryPool",
    "vkCmdWriteTimestamp",
    "vkCreateBuffer",
    "vkCreateCommandPool",
    "vkCreateComputePipelines",
    "vkCreateDescriptorPool",
    "vkCreateDescriptorSetLayout",
    "vkCreateFence",
    "vkCreatePipelineLayout",
    "vkCreateQueryPool",
    "vkCreateShaderModule",
    "vkDestroyBuffer",
    "vkDestroyCommandPool",
    "vkDestroyDescriptorPool",
    "vkDestroyDescriptorSetLayout",
    "vkDestroyDevice",
    "vkDestroyFence",
    "vkDestroyPipeline",
    "vkDestroyPipelineLayout",
    "vkDestroyQueryPool",
    "vkDestroyShaderModule",
    "vkDeviceWaitIdle",
    "vkEndCommandBuffer",
    "vkFreeMemory",
    "vkGetBufferDeviceAddress",
    "vkGetBufferMemoryRequirements",
    "vkGetDeviceQueue",
    "vkGetQueryPoolResults",
    "vkMapMemory",
    "vkQueueSubmit",
    "vkResetFences",
    "vkUpdateDescriptorSets",
    "vkWaitForFences",
)

BASIC = {
    "void": "None",
    "char": "ctypes.c_char",
    "float": "ctypes.c_float",
    "int32_t": "ctypes.c_int32",
    "uint8_t": "ctypes.c_uint8",
    "uint32_t": "ctypes.c_uint32",
    "uint64_t": "ctypes.c_uint64",
    "size_t": "ctypes.c_size_t",
    "VkBool32": "ctypes.c_uint32",
    "VkDeviceSize": "ctypes.c_uint64",
    "VkDeviceAddress": "ctypes.c_uint64",
    "VkFlags": "ctypes.c_uint32",
    "VkFlags64": "ctypes.c_uint64",
}


class Registry:
    """What vk.xml says of types."""

    def __init__(self, path: Path) -> None:
        self.root = ElementTree.parse(path).getroot()
        self.types = {self._name(t): t for t in self.root.findall("types/type") if t.get("alias") is None}
        self.numbers = {
            e.get("name"): e.get("value") for e in self.root.iter("enum") if e.get("name") and e.get("value")
        }
        self.commands = {
            c.findtext("proto/name"): c for c in self.root.findall("commands/command") if c.find("proto") is not None
        }
        self.extension_numbers = self._extension_values()

    @staticmethod
    def _name(row: ElementTree.Element) -> str:
        return row.get("name") or row.findtext("name") or ""

    def _extension_values(self) -> dict[str, int]:
        """Enumerants that extensions add: 1000000000 + (number - 1) * 1000 + offset."""
        found = {}
        for owner in [*self.root.iter("extension"), *self.root.iter("feature")]:
            for row in owner.iter("enum"):
                if row.get("offset"):
                    number = int(row.get("extnumber") or owner.get("number") or 0)
                    found[row.get("name") or ""] = 1000000000 + (number - 1) * 1000 + int(row.get("offset") or 0)
        return found

    def structure_type(self, name: str) -> int | None:
        """The sType of a structure, None for one without."""
        for member in self.types[name].iter("member"):
            if member.findtext("name") == "sType":
                word = (member.get("values") or "").split(",")[0]
                plain = self.numbers.get(word)
                return int(plain) if plain is not None else self.extension_numbers[word]
        return None

    def ctype(self, declaration: ElementTree.Element) -> str:
        """The ctypes type of a member, parameter or prototype."""
        name = declaration.findtext("type") or ""
        text = "".join(declaration.itertext())
        if "*" in text.split(declaration.findtext("name") or "")[0]:
            is_text = name == "char" and text.count("*") == 1
            return "ctypes.c_char_p" if is_text else "ctypes.c_void_p"
        plain = self.plain(name)
        for size in re.findall(r"\[(\w+)\]", re.sub(r"<[^>]*>", "", text)):
            plain = f"{plain} * {size if size.isdigit() else self.numbers[size]}"
        return plain

    def plain(self, name: str) -> str:
        """The ctypes type of a type name."""
        if name in BASIC:
            return BASIC[name]
        category = self.types[name].get("category")
        if category == "handle":
            dispatchable = self.types[name].findtext("type") == "VK_DEFINE_HANDLE"
            return "ctypes.c_void_p" if dispatchable else "ctypes.c_uint64"
        if category == "enum":
            return "ctypes.c_int32"
        if category in ("bitmask", "basetype"):
            return self.plain(self.types[name].findtext("type") or "")
        return name

    def members(self, name: str) -> list[ElementTree.Element]:
        """The members of a structure."""
        return [m for m in self.types[name].findall("member") if "vulkan" in (m.get("api") or "vulkan").split(",")]

    def ordered(self, names: tuple[str, ...]) -> list[str]:
        """Structures with those that they hold by value before them."""
        done: list[str] = []

        def visit(name: str) -> None:
            if name in done:
                return
            for member in self.members(name):
                inner = self.ctype(member).split(" ")[0]
                if inner.startswith("Vk"):
                    visit(inner)
            done.append(name)

        for name in names:
            visit(name)
        return done


def generate(registry_path: Path) -> str:
    """The text of `_gen/api.py`."""
    registry = Registry(registry_path)
    lines = [
        '"""Vulkan structures and commands, generated by `specgen.devices.vulkan.generate`: do not edit.',
        "",
        "Source: the Vulkan API registry vk.xml, copyright The Khronos Group Inc., Apache-2.0 OR MIT.",
        '"""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "from __future__ import annotations",
        "",
        "import ctypes",
        "from typing import Any",
        "",
    ]
    for name in registry.ordered(STRUCTURES):
        lines += ["", f"class {name}(ctypes.Structure):", f"    STRUCTURE_TYPE = {registry.structure_type(name)}"]
        lines += ["    _fields_ = ["]
        lines += [f'        ("{m.findtext("name")}", {registry.ctype(m)}),' for m in registry.members(name)]
        lines += ["    ]", ""]
    for table, names in (("INSTANCE_COMMANDS", INSTANCE_COMMANDS), ("DEVICE_COMMANDS", DEVICE_COMMANDS)):
        lines += ["", f"{table}: dict[str, tuple[Any, ...]] = {{"]
        for name in names:
            command = registry.commands[name]
            prototype = command.find("proto")
            assert prototype is not None
            result = registry.plain(prototype.findtext("type") or "")
            if "PFN_" in result:
                result = "ctypes.c_void_p"
            kinds = [registry.ctype(p) for p in command.findall("param")]
            lines.append(f'    "{name}": ({", ".join([result, *kinds])}),')
        lines += ["}"]
    lines += ['"""By name: result type, then parameter types."""']
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the table; the exit status."""
    paths = [a for a in arguments if not a.startswith("-")]
    if len(paths) != 1:
        print("usage: python -m specgen.devices.vulkan.generate vk.xml [--check]", file=sys.stderr)
        return 2
    text = generate(Path(paths[0]))
    if "--check" in arguments:
        return 0 if OUTPUT.is_file() and OUTPUT.read_text() == text else 1
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
