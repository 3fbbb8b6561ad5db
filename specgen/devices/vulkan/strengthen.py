"""Asks for what a device offers and a portable module cannot take for granted: subnormal numbers kept.

The module on disk runs everywhere; this one is made from it at load, for one device.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from specgen.devices.vulkan.physical import Limits
from specgen.lowering.spirv.builder import Instruction, enumerant
from specgen.lowering.spirv.reader import HEADER_WORDS, read, words_of

INDEPENDENT_32_BITS_ONLY, INDEPENDENT, NOT_INDEPENDENT = 0, 1, 2
"""VkShaderFloatControlsIndependence."""


def denormal_widths(used: Sequence[int], limits: Limits) -> tuple[int, ...]:
    """The float widths among those used for which subnormals can be kept, as the device lets widths differ."""
    offered = [w for w in used if f"shaderDenormPreserveFloat{w}" in limits.float_controls]
    if limits.denormal_independence == NOT_INDEPENDENT:
        return tuple(offered) if len(offered) == len(used) else ()
    if limits.denormal_independence == INDEPENDENT_32_BITS_ONLY:
        others = [w for w in used if w != 32]
        together = all(w in offered for w in others)
        return tuple(w for w in offered if w == 32 or together)
    return tuple(offered)


def keep_denormals(module: bytes, limits: Limits) -> bytes:
    """The module with DenormPreserve on every entry point, in every width that the device offers it for."""
    rows = list(read(module))
    widths = denormal_widths([int(r.operands[0].value) for r in rows if r.name == "OpTypeFloat"], limits)
    if not widths or any(r.first("ExecutionMode") == "DenormPreserve" for r in rows):
        return module
    words = words_of(module)
    out = list(words[:HEADER_WORDS])
    place = HEADER_WORDS
    entries = [r.ids()[0] for r in rows if r.name == "OpEntryPoint"]
    for number, row in enumerate(rows):
        end = place + len(row.words) + 1
        out += words[place:end]
        place = end
        following = rows[number + 1].name if number + 1 < len(rows) else ""
        if row.name == "OpCapability" and following != "OpCapability":
            out += Instruction("OpCapability", [enumerant("Capability.DenormPreserve")]).encoded()
        if row.name == "OpEntryPoint" and following != "OpEntryPoint":
            mode = enumerant("ExecutionMode.DenormPreserve")
            for entry in entries:
                for width in widths:
                    out += Instruction("OpExecutionMode", [entry, mode, width]).encoded()
    return struct.pack(f"<{len(out)}I", *out)
