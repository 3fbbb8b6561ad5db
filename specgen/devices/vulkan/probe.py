"""Facts that no Vulkan property tells, found by running a small kernel once a device."""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path

from specgen.devices.vulkan.session import Session
from specgen.lowering.spirv.constants import FMA_IS_FUSED

PROBE = """builtin.module {
  func.func @probe(%data: memref<4xf32> {motif.name = "data", motif.access = "readwrite"})
      attributes {motif.kernel, motif.workgroup_size = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %a = memref.load %data[%c0] : memref<4xf32>
    %b = memref.load %data[%c1] : memref<4xf32>
    %c = memref.load %data[%c2] : memref<4xf32>
    %r = math.fma %a, %b, %c : f32
    memref.store %r, %data[%c3] : memref<4xf32>
    func.return
  }
}
"""
"""(1 + 2^-13)(1 - 2^-13) - 1 is -2^-26 with one rounding and 0 with two."""


MODULE = "fma_probe.spv"


def lowered() -> bytes:
    """`PROBE` as a module. A host that only runs artifacts has no IR library, so the bytes are kept beside the code:
    `python -m specgen.devices.vulkan.probe` writes them, a test compares them."""
    from specgen import ir, targets
    from specgen.lowering import spirv

    return spirv.lower(ir.parse(PROBE), targets.load("vulkan1.3")).spv


@functools.cache
def module() -> bytes:
    """The kept bytes of the probe."""
    return resources.files("specgen.devices.vulkan._gen").joinpath(MODULE).read_bytes()


def fma_is_fused(session: Session) -> bool:
    """Whether the device's Fma rounds once."""
    import numpy as np

    pipeline = session.pipeline(module(), "probe", 8, subgroup_size=None, full=False)
    buffer = session.buffer(16, host=True)
    data = buffer.view.view(np.float32)
    data[:] = [1 + 2.0**-13, 1 - 2.0**-13, -1, 1]

    def body() -> None:
        session.barrier()
        session.dispatch(pipeline, buffer.address.to_bytes(8, "little"), (1, 1, 1))
        session.barrier()

    session.record(body)
    session.submit()
    found = float(data[3])
    session.free(buffer)
    session.drop(pipeline)
    return found == -(2.0**-26)


def constants(session: Session) -> dict[int, int]:
    """The specialization constants for this device."""
    return {FMA_IS_FUSED: int(fma_is_fused(session))}


if __name__ == "__main__":
    (Path(__file__).parent / "_gen" / MODULE).write_bytes(lowered())
