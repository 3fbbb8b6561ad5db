"""The kernels that benchmarks bring along: what is kept is what our pipeline makes, and it does what it says."""

from __future__ import annotations

import numpy as np
import pytest
import vulkan_support as support

from specgen.bench import kernels
from specgen.devices.vulkan.timing import LARGEST_RING, Prepared, Ring, packed


@pytest.mark.parametrize("name", kernels.NAMES)
def test_kept_kernels_are_current(name: str) -> None:
    """`python -m specgen.bench.kernels` writes them."""
    kept = kernels.artifact(name)
    made = kernels.built(name)
    assert made[f"{name}.spv"] == kept.files["kernel.spv"]
    support.validate(kept.files["kernel.spv"])


@pytest.mark.required_in_ci
@pytest.mark.parametrize("total", [0, 1, 8 * 4096, 8 * 4096 + 1, 1 << 20])
def test_copy_copies(total: int) -> None:
    args = kernels.copy_arguments(total)
    assert total <= kernels.copy_bytes(args) < total + 8 * kernels.COPY_GRAIN + (total == 0)
    run = support.device().load(kernels.artifact("copy"), "copy").launch(args)
    assert run.findings == ()
    np.testing.assert_array_equal(run.outputs["output"], np.arange(args["n"], dtype=np.float32))


@pytest.mark.required_in_ci
def test_kernels_that_share_a_ring_visit_its_sets_in_turn() -> None:
    """17 dispatches over 5 sets: the first two sets are visited once more than the others."""
    device = support.device()
    kernel, args = device.load(kernels.artifact("tick"), "tick"), kernels.tick_arguments()
    ring = Ring(device, kernel.artifact.manifest["args"], args, 5)
    first, second = (Prepared(kernel, args, ring=ring) for _ in range(2))
    first.samples(3, 2)
    second.samples(5, 2)
    first.sample(1)
    counts = [int(ring.contents(n, "count", np.int32)[31]) for n in range(5)]
    ring.close()
    assert counts == [4, 4, 3, 3, 3]


@pytest.mark.required_in_ci
def test_a_ring_stays_within_what_every_device_can_allocate(monkeypatch: pytest.MonkeyPatch) -> None:
    from specgen.devices.vulkan import timing

    monkeypatch.setattr(timing, "LARGEST_RING", 1000)
    rows, args = kernels.artifact("tick").manifest["args"], kernels.tick_arguments()
    ring = Ring(support.device(), rows, args, 64)
    assert ring.sets == 1000 // 256
    ring.close()
    assert LARGEST_RING == 2**30


def test_buffers_of_a_set_lie_apart() -> None:
    args = kernels.copy_arguments(1 << 20)
    layout = packed(kernels.artifact("copy").manifest["args"], args)
    size = args["input"].nbytes
    assert [(s.name, s.start) for s in layout.slots] == [("input", 0), ("output", size + 4096)]
    assert layout.end == 2 * (size + 4096)


@pytest.mark.required_in_ci
def test_batches_of_a_submission_are_few() -> None:
    kernel = support.device().load(kernels.artifact("tick"), "tick")
    prepared = Prepared(kernel, kernels.tick_arguments())
    for count in (0, 64):
        with pytest.raises(ValueError, match="1 to 63 batches"):
            prepared.samples(1, count)
    prepared.close()


@pytest.mark.required_in_ci
def test_arguments_are_written_as_sets_are_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring of tiny sets has millions of them: blocks of arguments are made some at a time, here three."""
    from specgen.devices.vulkan import timing
    from specgen.devices.vulkan.uniform import Blocks

    monkeypatch.setattr(timing, "BLOCKS_AT_ONCE", 3)
    made: list[int] = []
    write = Blocks.write
    monkeypatch.setattr(Blocks, "write", lambda self, first, rows: (made.append(first), write(self, first, rows))[1])
    device = support.device()
    kernel, args = device.load(kernels.artifact("tick"), "tick"), kernels.tick_arguments()
    ring = Ring(device, kernel.artifact.manifest["args"], args, 8)
    prepared = Prepared(kernel, args, ring=ring)
    prepared.sample(4)
    assert made == [0, 3]
    prepared.sample(7)
    counts = [int(ring.contents(n, "count", np.int32)[31]) for n in range(8)]
    ring.close()
    assert made == [0, 3, 6]
    assert counts == [2, 2, 2, 1, 1, 1, 1, 1]


@pytest.mark.required_in_ci
def test_a_ring_in_the_devices_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a discrete GPU: filled from one set by copies on the device, and read back by one."""
    device = support.device()
    monkeypatch.setattr(type(device), "memory_is_shared", property(lambda self: False))
    artifact, args = kernels.artifact("tick"), {"count": np.arange(100, 132, dtype=np.int32)}
    kernel = device.load(artifact, "tick")
    ring = Ring(device, artifact.manifest["args"], args, 11)
    Prepared(kernel, args, ring=ring).samples(3, 2)
    left = [ring.contents(n, "count", np.int32) for n in range(11)]
    ring.close()
    for number, found in enumerate(left):
        np.testing.assert_array_equal(found, args["count"] + (number < 6))
