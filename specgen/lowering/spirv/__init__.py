"""The SPIR-V back end: scheduled IR to a binary module, by a table with one row an op.

Importing the package is cheap; xDSL is imported by the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from specgen.lowering.spirv.module import SpirvBinary
    from specgen.targets import Target


def lower(module: ModuleOp, target: Target) -> SpirvBinary:
    """Lower a scheduled module for a Vulkan target. Raises `LoweringError` for what Vulkan cannot express."""
    from specgen.lowering.spirv.module import lower as implementation

    return implementation(module, target)
