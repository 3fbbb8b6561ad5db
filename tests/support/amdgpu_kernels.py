"""Kernels in contract IR for the tests of the AMDGPU lowering, and how to run them on the two CPU devices."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from specgen import ir, targets
from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.devices.base import Artifact, Run
from specgen.devices.interpreter.device import InterpreterDevice
from specgen.lowering import amdgpu
from specgen.targets import Target

DTYPES = {
    "i1": np.dtype(np.int8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}

GROUP = 64
"""Work-items of a workgroup: one subgroup on gfx9, two elsewhere."""


def memory_type(type_: str) -> str:
    """The element type that a buffer of these values has."""
    return {"i1": "i8", "index": "i64"}.get(type_, type_)


def kernel(
    name: str, arguments: Sequence[str], body: str, *, group: Sequence[int] = (GROUP, 1, 1), subgroup: int = 0
) -> str:
    """One entry point. `subgroup` 0 leaves the size to `for_target`."""
    size = ", ".join(map(str, group))
    attributes = (
        f"motif.kernel, motif.workgroup_size = array<i64: {size}>, motif.subgroup_size = {subgroup or 'SUBGROUP'} : i64"
    )
    return f"func.func @{name}({', '.join(arguments)}) attributes {{{attributes}}} {{\n{body}\nfunc.return\n}}\n"


def buffer(name: str, type_: str, access: str = "read", *, align: int = 0, noalias: bool = True) -> str:
    """A buffer argument; `type_` is what stands in `memref<...>`."""
    words = [f'motif.name = "{name}"', f'motif.access = "{access}"']
    if align:
        words.append(f"motif.align = {align} : i64")
    if noalias:
        words.append("motif.noalias")
    return f"%{name}: memref<{type_}> {{{', '.join(words)}}}"


def scalar(name: str, type_: str, limits: tuple[int, int] | None = None) -> str:
    """A scalar argument."""
    extra = f", motif.range = array<i64: {limits[0]}, {limits[1]}>" if limits else ""
    return f'%{name}: {type_} {{motif.name = "{name}"{extra}}}'


def module(*functions: str) -> str:
    """A module of entry points."""
    return "builtin.module {\n" + "".join(functions) + "}\n"


THREAD = '%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index\n'
POSITION = (
    THREAD
    + f"""%b = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
%group = arith.constant {GROUP} : index
%first = arith.muli %b, %group : index
%i = arith.addi %first, %t : index
"""
)


@dataclass(frozen=True)
class Case:
    """One op on types: `text` computes `%r` from `%a`, `%b`, `%c`."""

    name: str
    inputs: tuple[str, ...]
    output: str
    text: str


LOAD = {"i1": "arith.trunci {0} : i8 to i1", "index": "arith.index_cast {0} : i64 to index"}
STORE = {"i1": "arith.extui {0} : i1 to i8", "index": "arith.index_cast {0} : index to i64"}


def case_kernel(symbol: str, cases: Sequence[Case], count: int) -> str:
    """An entry point that applies ops on the same inputs to `count` elements, one element a work-item.

    Inputs are `in_a`, ..., results `out_0`, ...
    """
    inputs = cases[0].inputs
    letters = "abc"[: len(inputs)]
    arguments = [buffer(f"in_{n}", f"{count}x{memory_type(t)}") for n, t in zip(letters, inputs, strict=True)]
    body = POSITION.replace("%b ", "%block ").replace("%b,", "%block,")
    for letter, type_ in zip(letters, inputs, strict=True):
        held = memory_type(type_)
        loaded = f"%m_{letter}" if type_ in LOAD else f"%{letter}"
        body += f"{loaded} = memref.load %in_{letter}[%i] : memref<{count}x{held}>\n"
        if type_ in LOAD:
            body += f"%{letter} = {LOAD[type_].format(loaded)}\n"
    for number, case in enumerate(cases):
        held = memory_type(case.output)
        arguments.append(buffer(f"out_{number}", f"{count}x{held}", "write"))
        text = case.text + "\n"
        if case.output in STORE:
            text += f"%s = {STORE[case.output].format('%r')}\n"
        stored = "%s" if case.output in STORE else "%r"
        text += f"memref.store {stored}, %out_{number}[%i] : memref<{count}x{held}>\n"
        body += re.sub(r"%(?!a\b|b\b|c\b|i\b|out_)(\w+)", rf"%\1_{number}", text)
    return kernel(symbol, arguments, body)


def for_target(text: str, target: Target) -> str:
    """The text with the target's subgroup size."""
    return text.replace("SUBGROUP", str(target.subgroup_size))


@functools.lru_cache(maxsize=64)
def compiled(text: str, target_name: str) -> amdgpu.AmdgpuBinary:
    """A module lowered for a target; remembered, for several tests look at one binary."""
    target = targets.load(target_name)
    return amdgpu.lower(ir.parse(for_target(text, target), "test.mlir"), target)


def emulate(
    text: str, target_name: str, entry: str, args: dict[str, Any], grid: tuple[int, int, int] = (1, 1, 1)
) -> Run:
    """Run an entry point's machine code on the emulator."""
    return EmulatedKernel(compiled(text, target_name).hsaco, entry).launch(args, grid)


def interpret(
    text: str, target_name: str, entry: str, args: dict[str, Any], grid: tuple[int, int, int] = (1, 1, 1)
) -> Run:
    """Run an entry point's IR on the interpreter."""
    target = targets.load(target_name)
    rows = [
        {"name": n, "kind": "buffer", "type": ""}
        if isinstance(v, np.ndarray)
        else {"name": n, "kind": "scalar", "type": "f32" if isinstance(v, float) else "index"}
        for n, v in args.items()
    ]
    manifest = {"args": rows, "entries": [{"name": entry, "symbol": entry, "targets": {}}]}
    files = {"scheduled.mlir": for_target(text, target).encode()}
    return InterpreterDevice().load(Artifact(entry, target_name, manifest, files), entry).launch(args, grid)


def bits(array: np.ndarray) -> np.ndarray:
    """The bit patterns of an array, with every NaN as one pattern."""
    if array.dtype.kind in "iu":
        return array
    word = array.view(f"u{array.dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(array), np.iinfo(word.dtype).max, word)
