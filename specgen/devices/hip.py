"""Device `hip`: the HSACO on an AMD GPU through hip-python.

Written to the documented API (each call returns a tuple that starts with the error); not run on hardware here, tested
against a fake of that API. `module` is the seam: anything with the functions of `hip.hip` will do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from specgen.devices.base import Arguments, Artifact, DeviceError, DeviceFacts, Finding, Grid, Run, Timing, TimingPlan
from specgen.devices.launching import launch_one, require_promises, workgroups

GUARD_BYTES = 4096
GUARD = 0xA5
SCALARS: dict[str, type[Any]] = {
    "index": ctypes.c_int64,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "bool": ctypes.c_uint8,
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
}
HALVES = ("f16", "bf16")
GENERIC_PREFIXES = {
    "gfx9-4-generic": ("gfx94", "gfx950"),
    "gfx11-generic": ("gfx110", "gfx115"),
    "gfx12-generic": ("gfx120",),
}
"""Generic target -> how the names of the processors that it covers start (LLVM's AMDGPUUsage, "Generic Processors")."""


def _import() -> Any:
    from hip import hip

    return hip


class HipDevice:
    """The first AMD GPU that the HIP runtime offers."""

    name = "hip"

    def __init__(self, module: Callable[[], Any] = _import) -> None:
        self._module = module
        self._loaded: list[Any] = []

    def available(self) -> str | None:
        try:
            hip = self._module()
        except ImportError:
            return "the hip-python package is not installed (pip install hip-python)"
        try:
            error, count = hip.hipGetDeviceCount()
        except RuntimeError:
            return "no HIP runtime: libamdhip64.so was not found (install ROCm)"
        if error != hip.hipError_t.hipSuccess or count == 0:
            return "the HIP runtime finds no AMD GPU"
        return None

    def architecture(self) -> str:
        """The GPU's target name without feature suffixes, for example `gfx942`."""
        hip = self._module()
        properties = _checked(hip, hip.hipGetDeviceProperties(0))
        name = properties.gcnArchName
        return (name.decode() if isinstance(name, bytes) else str(name)).split(":")[0]

    def facts(self) -> DeviceFacts:
        hip = self._module()
        properties = _checked(hip, hip.hipGetDeviceProperties(0))
        return DeviceFacts(
            self.architecture(),
            (int(properties.warpSize),),
            int(properties.sharedMemPerBlock),
            int(properties.maxThreadsPerBlock),
        )

    def load(self, artifact: Artifact, entry: str) -> HipKernel:
        from specgen.manifest import find_entry

        if "kernel.hsaco" not in artifact.files:
            raise DeviceError(f"{artifact.target} has no code object for HIP")
        self._check_architecture(artifact.target)
        hip = self._module()
        module = _checked(hip, hip.hipModuleLoadData(artifact.files["kernel.hsaco"]))
        self._loaded.append(module)
        symbol = find_entry(artifact.manifest, entry)["symbol"]
        function = _checked(hip, hip.hipModuleGetFunction(module, symbol.encode()))
        return HipKernel(hip, function, artifact, entry)

    def _check_architecture(self, target: str) -> None:
        """A generic target runs on its family; an exact one only on itself."""
        found = self.architecture()
        fits = found == target or found.startswith(GENERIC_PREFIXES.get(target, ()))
        if not fits:
            raise DeviceError(f"the code object is for {target}, the device is {found}")

    def close(self) -> None:
        for module in self._loaded:
            self._module().hipModuleUnload(module)
        self._loaded.clear()


def _checked(hip: Any, result: tuple[Any, ...]) -> Any:
    """The value of a call, or None; raises `DeviceError` with the runtime's name of the error."""
    error, *values = result
    if error != hip.hipError_t.hipSuccess:
        raise DeviceError(f"HIP: {error}")
    return values[0] if values else None


class HipKernel:
    """A loaded entry point."""

    def __init__(self, hip: Any, function: Any, artifact: Artifact, entry: str) -> None:
        self._hip = hip
        self._function = function
        self._artifact = artifact
        self._entry = entry

    def launch(self, args: Arguments, grid: Grid | None = None) -> Run:
        return launch_one(self._artifact, self._entry, args, grid, lambda counts: self._launch(args, counts))

    def _launch(self, args: Arguments, grid: Grid) -> Run:
        import numpy as np

        hip = self._hip
        buffers = self._upload(args)
        try:
            self._enqueue(args, buffers, grid)
            _checked(hip, hip.hipDeviceSynchronize())
            outputs: dict[str, Any] = {}
            findings: list[Finding] = []
            for row in self._artifact.manifest["args"]:
                if row["kind"] != "buffer":
                    continue
                given = args[row["name"]]
                raw = np.empty(given.nbytes + 2 * GUARD_BYTES, np.uint8)
                kind = hip.hipMemcpyKind.hipMemcpyDeviceToHost
                _checked(hip, hip.hipMemcpy(raw, buffers[row["name"]], raw.nbytes, kind))
                if (raw[:GUARD_BYTES] != GUARD).any() or (raw[GUARD_BYTES + given.nbytes :] != GUARD).any():
                    findings.append(Finding("out-of-bounds", f"a store beside {row['name']} changed its guard bytes"))
                if row["access"] != "read":
                    outputs[row["name"]] = raw[GUARD_BYTES : GUARD_BYTES + given.nbytes].view(given.dtype).copy()
            return Run(outputs, tuple(findings))
        finally:
            self._free(buffers)

    def time(self, args: Arguments, plan: TimingPlan) -> Timing:
        import time as clock

        require_promises(self._artifact.manifest, args)
        hip = self._hip
        buffers = self._upload(args)
        start, stop = _checked(hip, hip.hipEventCreate()), _checked(hip, hip.hipEventCreate())
        try:
            until = clock.perf_counter() + plan.warmup_seconds
            while clock.perf_counter() < until:
                self._enqueue(args, buffers, None)
                _checked(hip, hip.hipDeviceSynchronize())
            samples = []
            for _ in range(plan.iterations):
                _checked(hip, hip.hipEventRecord(start, None))
                for _ in range(plan.batch):
                    self._enqueue(args, buffers, None)
                _checked(hip, hip.hipEventRecord(stop, None))
                _checked(hip, hip.hipEventSynchronize(stop))
                samples.append(_checked(hip, hip.hipEventElapsedTime(start, stop)) * 1e-3 / plan.batch)
            return Timing(tuple(samples), "hipEvent")
        finally:
            _checked(hip, hip.hipEventDestroy(start))
            _checked(hip, hip.hipEventDestroy(stop))
            self._free(buffers)

    def _upload(self, args: Arguments) -> dict[str, Any]:
        import numpy as np

        hip = self._hip
        buffers: dict[str, Any] = {}
        for row in self._artifact.manifest["args"]:
            if row["kind"] != "buffer":
                continue
            data = np.full(args[row["name"]].nbytes + 2 * GUARD_BYTES, GUARD, np.uint8)
            data[GUARD_BYTES : GUARD_BYTES + args[row["name"]].nbytes] = args[row["name"]].view(np.uint8)
            buffers[row["name"]] = _checked(hip, hip.hipMalloc(data.nbytes))
            kind = hip.hipMemcpyKind.hipMemcpyHostToDevice
            _checked(hip, hip.hipMemcpy(buffers[row["name"]], data, data.nbytes, kind))
        return buffers

    def _free(self, buffers: dict[str, Any]) -> None:
        for pointer in buffers.values():
            _checked(self._hip, self._hip.hipFree(pointer))

    def _enqueue(self, args: Arguments, buffers: dict[str, Any], grid: Grid | None) -> None:
        from specgen import manifest

        artifact = self._artifact
        grid = workgroups(artifact, self._entry, args, grid)
        size = manifest.find_entry(artifact.manifest, self._entry)["targets"][artifact.target]["workgroup_size"]
        if 0 in grid:
            return
        block = tuple(self._argument(row, args, buffers) for row in artifact.manifest["args"])
        _checked(
            self._hip,
            self._hip.hipModuleLaunchKernel(
                self._function, *grid, *size, sharedMemBytes=0, stream=None, kernelParams=None, extra=block
            ),
        )

    @staticmethod
    def _argument(row: dict[str, Any], args: Arguments, buffers: dict[str, Any]) -> Any:
        """A ctypes value of the argument's size; buffers as the address behind their leading guard bytes."""
        if row["kind"] == "buffer":
            return ctypes.c_void_p(int(buffers[row["name"]]) + GUARD_BYTES)
        value = args[row["name"]]
        if row["type"] in HALVES:
            import ml_dtypes
            import numpy as np

            dtype = np.float16 if row["type"] == "f16" else ml_dtypes.bfloat16
            return ctypes.c_uint16(int(np.asarray(value, dtype).view(np.uint16)))
        kind = SCALARS[row["type"]]
        return kind(float(value) if kind in (ctypes.c_float, ctypes.c_double) else int(value))
