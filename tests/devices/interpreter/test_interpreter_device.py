"""The interpreter behind the device protocol."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kernels import THREAD, buffer, function, scalar

from specgen import devices
from specgen.devices.base import Artifact, Device, DeviceError, Kernel, TimingPlan

TEXT = function(
    scalar("n") + ", " + buffer("out", "memref<?xi64>", "write"),
    THREAD
    + """"motif.extents"(%out, %n) : (memref<?xi64>, index) -> ()
    %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
    %c4 = arith.constant 4 : index
    %base = arith.muli %b, %c4 : index
    %i = arith.addi %base, %t : index
    %in = arith.cmpi slt, %i, %n : index
    scf.if %in {
      %v = arith.index_cast %i : index to i64
      memref.store %v, %out[%i] : memref<?xi64>
    }""",
    subgroup=None,
)

MANIFEST = {
    "args": [{"name": "n", "kind": "scalar", "type": "index"}, {"name": "out", "kind": "buffer", "type": "i64"}],
    "entries": [{"name": "default", "symbol": "f", "targets": {"gfx1151": {"workgroups": ["(n + 3) // 4"]}}}],
}


def artifact(target: str = "gfx1151", text: str = TEXT) -> Artifact:
    return Artifact("f", target, MANIFEST, {"scheduled.mlir": text.encode()})


def test_grid_comes_from_the_manifest() -> None:
    device = devices.open("interpreter")
    assert isinstance(device, Device)
    assert device.available() is None
    kernel = device.load(artifact(), "f")
    assert isinstance(kernel, Kernel)
    for n in (0, 1, 4, 9):
        run = kernel.launch({"n": n, "out": np.full(n, -1, np.int64)})
        assert run.outputs["out"].tolist() == list(range(n))
        assert not run.findings
    device.close()


def test_batches_have_a_grid_for_each_launch() -> None:
    kernel = devices.open("interpreter").load(artifact(), "f")
    runs = kernel.launch_batch([{"n": n, "out": np.full(n, -1, np.int64)} for n in range(10)])  # type: ignore[attr-defined]
    assert [r.outputs["out"].tolist() for r in runs] == [list(range(n)) for n in range(10)]


def test_refusals() -> None:
    device = devices.open("interpreter")
    kernel = device.load(artifact(), "f")
    with pytest.raises(DeviceError, match="no clock"):
        kernel.time({}, TimingPlan())
    with pytest.raises(DeviceError, match="argument n is missing"):
        kernel.launch({})
    with pytest.raises(DeviceError, match="no entry g"):
        device.load(artifact(), "g")
    with pytest.raises(DeviceError, match=r"has no scheduled\.mlir"):
        device.load(Artifact("f", "gfx1151", MANIFEST, {}), "f")
    with pytest.raises(DeviceError, match="not built for gfx942"):
        device.load(artifact("gfx942"), "f").launch({"n": 1, "out": np.zeros(1, np.int64)})
    with pytest.raises(DeviceError, match="no device abacus; there are interpreter"):
        devices.open("abacus")


def test_an_open_subgroup_size_is_the_devices_choice() -> None:
    from specgen.devices.interpreter.device import InterpreterDevice

    body = """%l = "gpu.lane_id"() : () -> index
    %v = arith.index_cast %l : index to i64
    memref.store %v, %out[%t] : memref<4xi64>"""
    text = function(buffer("out", "memref<4xi64>", "write"), THREAD + body)
    run = (
        InterpreterDevice(subgroup_size=2)
        .load(artifact(text=text), "f")
        .launch({"out": np.zeros(4, np.int64)}, (1, 1, 1))
    )
    assert run.outputs["out"].tolist() == [0, 1, 0, 1]
    fixed = text.replace("motif.workgroup_size", "motif.subgroup_size = 4 : i64, motif.workgroup_size")
    run = (
        InterpreterDevice(subgroup_size=2)
        .load(artifact(text=fixed), "f")
        .launch({"out": np.zeros(4, np.int64)}, (1, 1, 1))
    )
    assert run.outputs["out"].tolist() == [0, 1, 2, 3]


def test_names_are_listed_in_order() -> None:
    assert devices.names() == ("interpreter", "amdgpu-emulator", "vulkan", "hip")
