"""Arguments in a uniform buffer: the same block as the push constants, chosen by number."""

from __future__ import annotations

import numpy as np
import pytest
import vulkan_support as support

from specgen.bench import kernels
from specgen.devices.vulkan.timing import Prepared, Ring
from specgen.devices.vulkan.uniform import BLOCK_BYTES, Blocks, arguments_in_uniform
from specgen.lowering.spirv.reader import read


@pytest.mark.parametrize("name", kernels.NAMES)
def test_the_module_stays_valid_and_has_no_push_constants(name: str) -> None:
    before = kernels.artifact(name).files["kernel.spv"]
    after = arguments_in_uniform(before)
    support.validate(after)
    classes = [r.first("StorageClass") for r in read(after)]
    assert "PushConstant" not in classes
    assert classes.count("Uniform") == [r.first("StorageClass") for r in read(before)].count("PushConstant") > 1
    placed = {r.first("Decoration") for r in read(after)} - {r.first("Decoration") for r in read(before)}
    assert placed == {"DescriptorSet", "Binding"}


@pytest.mark.required_in_ci
@pytest.mark.parametrize("shared", [True, False])
def test_each_dispatch_reads_the_block_of_its_number(shared: bool) -> None:
    """Blocks of the host's memory and of the device's own; `tick` counts the dispatches of each buffer."""
    device = support.device()
    session, kernel = device.session(), device.load(kernels.artifact("tick"), "tick")
    buffers = [session.buffer(128, host=True) for _ in range(3)]
    for buffer in buffers:
        buffer.view[:] = 0
    first, second, third = (b.address.to_bytes(8, "little") for b in buffers)
    blocks = Blocks.of(session, [first, first, third], shared=shared)
    blocks.write(1, np.frombuffer(second.ljust(BLOCK_BYTES, b"\0"), np.uint8)[None])

    def body() -> None:
        session.barrier()
        session.bind(kernel.repeated)
        session.dispatch_each(kernel.repeated, (1, 1, 1), blocks.set, [n * BLOCK_BYTES for n in (2, 1, 1, 2, 2)])
        session.barrier()

    session.record(body)
    session.submit()
    counts = [int(b.view.view(np.int32)[31]) for b in buffers]
    blocks.close()
    for buffer in buffers:
        session.free(buffer)
    assert counts == [0, 2, 3]


@pytest.mark.required_in_ci
def test_scalars_of_every_width_are_read_as_from_push_constants() -> None:
    kinds = {
        "i8": ("a", -3),
        "i16": ("b", -300),
        "i32": ("c", 70_000),
        "index": ("d", 5),
        "f16": ("e", 0.5),
        "f32": ("f", 1.25),
    }
    arguments = [support.scalar(name, kind) for kind, (name, _) in kinds.items()]
    body = """
    %wa = arith.extsi %a : i8 to i32
    %wb = arith.extsi %b : i16 to i32
    %wd = arith.index_cast %d : index to i32
    %we = arith.extf %e : f16 to f32
    %s = arith.addi %wa, %wb : i32
    %t = arith.addi %s, %c : i32
    %u = arith.addi %t, %wd : i32
    %v = arith.sitofp %u : i32 to f32
    %w = arith.addf %we, %f : f32
    %z = arith.addf %v, %w : f32
    memref.store %z, %p[%x] : memref<32xf32>"""
    arguments.insert(3, support.buffer("p", "memref<32xf32>"))
    artifact = support.build(support.kernel(", ".join(arguments), body))
    kernel = support.device().load(artifact, "kernel")
    args = dict(kinds.values()) | {"p": np.zeros(32, np.float32)}
    right = -3 - 300 + 70_000 + 5 + 0.5 + 1.25
    np.testing.assert_array_equal(kernel.launch(args).outputs["p"], np.full(32, right, np.float32))
    ring = Ring(support.device(), artifact.manifest["args"], args, 2)
    Prepared(kernel, args, ring=ring).samples(2, 1)
    for number in range(2):
        np.testing.assert_array_equal(ring.contents(number, "p", np.float32), np.full(32, right, np.float32))
    ring.close()
