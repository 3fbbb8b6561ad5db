"""Device `hip` against a fake of hip-python's documented API: tuples that start with the error, extra as a tuple."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np
import pytest

from specgen.devices.base import Artifact, DeviceError, TimingPlan
from specgen.devices.hip import GUARD_BYTES, HipDevice

MANIFEST = {
    "specgen": "0",
    "spec": {"name": "scale"},
    "args": [
        {"name": "n", "kind": "scalar", "type": "index"},
        {"name": "x", "kind": "buffer", "type": "f32", "access": "read", "shape": ["n"]},
        {"name": "a", "kind": "scalar", "type": "f32"},
        {"name": "y", "kind": "buffer", "type": "f32", "access": "write", "shape": ["n"]},
    ],
    "entries": [
        {
            "name": "default",
            "symbol": "scale",
            "targets": {"gfx942": {"workgroup_size": [64, 1, 1], "workgroups": ["ceil_div(n, 64)", "1", "1"]}},
        }
    ],
}


class Error(enum.Enum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorNoDevice = 100


class Kind(enum.Enum):
    hipMemcpyHostToDevice = 1
    hipMemcpyDeviceToHost = 2


class Properties:
    gcnArchName = b"gfx942:sramecc+:xnack-"
    warpSize = 64
    sharedMemPerBlock = 65536
    maxThreadsPerBlock = 1024


class FakeHip:
    """Device memory is a dict of byte arrays by address; the one kernel is y = a * x."""

    hipError_t = Error
    hipMemcpyKind = Kind

    def __init__(self, count: int = 1, stray: bool = False) -> None:
        self.count, self.stray = count, stray
        self.memory: dict[int, np.ndarray] = {}
        self.launches: list[tuple[Any, ...]] = []
        self.events = 0

    def hipGetDeviceCount(self) -> tuple[Any, ...]:
        return (Error.hipSuccess, self.count) if self.count else (Error.hipErrorNoDevice, 0)

    def hipGetDeviceProperties(self, device: int) -> tuple[Any, ...]:
        return Error.hipSuccess, Properties()

    def hipModuleLoadData(self, image: bytes) -> tuple[Any, ...]:
        return Error.hipSuccess, image

    def hipModuleUnload(self, module: Any) -> tuple[Any, ...]:
        return (Error.hipSuccess,)

    def hipModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, ...]:
        return Error.hipSuccess, name

    def hipMalloc(self, size: int) -> tuple[Any, ...]:
        address = 0x10000 * (len(self.memory) + 1)
        self.memory[address] = np.zeros(size, np.uint8)
        return Error.hipSuccess, address

    def hipFree(self, pointer: int) -> tuple[Any, ...]:
        del self.memory[pointer]
        return (Error.hipSuccess,)

    def hipMemcpy(self, to: Any, source: Any, size: int, kind: Kind) -> tuple[Any, ...]:
        if kind is Kind.hipMemcpyHostToDevice:
            self.memory[to][:] = source
        else:
            to[:] = self.memory[source]
        return (Error.hipSuccess,)

    def hipDeviceSynchronize(self) -> tuple[Any, ...]:
        return (Error.hipSuccess,)

    def hipModuleLaunchKernel(
        self, function: bytes, *sizes: int, extra: tuple[Any, ...], **rest: Any
    ) -> tuple[Any, ...]:
        n, x, a, y = extra
        assert [type(v) for v in extra] == [ctypes.c_int64, ctypes.c_void_p, ctypes.c_float, ctypes.c_void_p]
        self.launches.append((function, sizes))
        source = self.memory[x.value - GUARD_BYTES][GUARD_BYTES : GUARD_BYTES + 4 * n.value].view(np.float32)
        target = self.memory[y.value - GUARD_BYTES]
        target[GUARD_BYTES : GUARD_BYTES + 4 * n.value].view(np.float32)[:] = np.float32(a.value) * source
        if self.stray:
            target[GUARD_BYTES + 4 * n.value] = 0
        return (Error.hipSuccess,)

    def hipEventCreate(self) -> tuple[Any, ...]:
        return Error.hipSuccess, object()

    def hipEventRecord(self, event: Any, stream: Any) -> tuple[Any, ...]:
        return (Error.hipSuccess,)

    def hipEventSynchronize(self, event: Any) -> tuple[Any, ...]:
        return (Error.hipSuccess,)

    def hipEventDestroy(self, event: Any) -> tuple[Any, ...]:
        return (Error.hipSuccess,)

    def hipEventElapsedTime(self, start: Any, stop: Any) -> tuple[Any, ...]:
        return Error.hipSuccess, 4.0


def _artifact(target: str = "gfx942") -> Artifact:
    return Artifact("scale", target, MANIFEST, {"kernel.hsaco": b"\x7fELF"})


ARGS = {"n": 100, "x": np.arange(100, dtype=np.float32), "a": 2.5, "y": np.full(100, -1, np.float32)}


def test_launch_passes_arguments_in_abi_order() -> None:
    fake = FakeHip()
    run = HipDevice(lambda: fake).load(_artifact(), "default").launch(ARGS)
    np.testing.assert_array_equal(run.outputs["y"], 2.5 * np.arange(100))
    assert run.findings == ()
    assert fake.launches == [(b"scale", (2, 1, 1, 64, 1, 1))]
    assert fake.memory == {}
    assert ARGS["y"][0] == -1


def test_store_beside_a_buffer_is_a_finding() -> None:
    run = HipDevice(lambda: FakeHip(stray=True)).load(_artifact(), "default").launch(ARGS)
    assert [f.kind for f in run.findings] == ["out-of-bounds"]


def test_time_is_seconds_of_one_dispatch() -> None:
    kernel = HipDevice(lambda: FakeHip()).load(_artifact(), "default")
    assert kernel.time(ARGS, TimingPlan(iterations=3, batch=8, warmup_seconds=0)).samples == (0.0005,) * 3


@pytest.mark.parametrize(
    ("target", "fits"), [("gfx942", True), ("gfx9-4-generic", True), ("gfx950", False), ("gfx11-generic", False)]
)
def test_architecture_must_fit(target: str, fits: bool) -> None:
    device = HipDevice(lambda: FakeHip())
    manifest = {**MANIFEST, "entries": [{**MANIFEST["entries"][0], "targets": {target: {}}}]}  # type: ignore[index,dict-item]
    artifact = Artifact("scale", target, manifest, {"kernel.hsaco": b""})
    if fits:
        device.load(artifact, "default")
    else:
        with pytest.raises(DeviceError, match=f"for {target}, the device is gfx942"):
            device.load(artifact, "default")


def test_reasons_of_absence() -> None:
    def missing() -> Any:
        raise ImportError

    class NoRuntime:
        def hipGetDeviceCount(self) -> Any:
            raise RuntimeError("dlopen")

    assert "not installed" in str(HipDevice(missing).available())
    assert "libamdhip64" in str(HipDevice(NoRuntime).available())
    assert "no AMD GPU" in str(HipDevice(lambda: FakeHip(count=0)).available())
    assert HipDevice(lambda: FakeHip()).available() is None


def test_promises_are_tested_before_the_device_is_touched() -> None:
    """A runtime that has no memory to give: a launch would fail on it, and timing too."""

    class WithoutMemory(FakeHip):
        def hipMalloc(self, size: int) -> tuple[Any, ...]:
            raise AssertionError("the kernel's memory was asked for")

    promises = {"range": [0, 64], "multiple_of": 4, "place": "scale.spec.yaml:6:6"}
    rows = [{**row, **promises} if row["name"] == "n" else row for row in MANIFEST["args"]]
    artifact = Artifact("scale", "gfx942", {**MANIFEST, "args": rows}, {"kernel.hsaco": b"\x7fELF"})
    kernel = HipDevice(WithoutMemory).load(artifact, "default")
    run = kernel.launch(ARGS | {"n": 70})
    assert [str(finding) for finding in run.findings] == [
        "scale.spec.yaml:6:6: broken-assumption: argument n is 70, its range is [0, 64]",
        "scale.spec.yaml:6:6: broken-assumption: argument n is 70, no multiple of 4",
    ]
    np.testing.assert_array_equal(run.outputs["y"], ARGS["y"])
    with pytest.raises(DeviceError, match="argument n is 70"):
        kernel.time(ARGS | {"n": 70}, TimingPlan(1, 1, 0.0))


def test_negative_counts_are_no_launch() -> None:
    fake = FakeHip()
    kernel = HipDevice(lambda: fake).load(_artifact(), "default")
    with pytest.raises(DeviceError, match=r"scale: the workgroup count along x, ceil_div\(n, 64\), is -1 for n = -100"):
        kernel.launch(ARGS | {"n": -100})
    assert fake.launches == []
