"""Atomic operations: which instruction does what, and how memory combines with an operand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.instruction import Instruction
from specgen.devices.amdgpu_emulator.numeric import max_num, min_num

Array = NDArray[Any]


@dataclass(frozen=True)
class AtomicKind:
    """`operation` is a key of `COMBINE`, `type` the element type that it works on."""

    operation: str
    type: str
    returns: bool

    @property
    def compare(self) -> bool:
        return self.operation == "cmpswap"

    @property
    def bytes(self) -> int:
        return TYPES[self.type].itemsize


TYPES: Final[Mapping[str, np.dtype[Any]]] = {
    name: np.dtype(kind)
    for name, kind in {
        "u32": np.uint32, "i32": np.int32, "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64,
        "pk_f16": np.uint32, "pk_bf16": np.uint32,
    }.items()
}  # fmt: skip


def _packed_f16(old: Array, new: Array) -> Array:
    a, b = (np.ascontiguousarray(x).view(np.float16) for x in (old, new))
    return (a + b).view(np.uint32)


def _packed_bf16(old: Array, new: Array) -> Array:
    from specgen.devices.amdgpu_emulator.numeric import bf16_to_f32, f32_to_bf16

    a, b = (bf16_to_f32(np.ascontiguousarray(x).view(np.uint16)) for x in (old, new))
    return np.ascontiguousarray(f32_to_bf16(a + b)).view(np.uint32)


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _compare_swap(old: Array, new: Array, expected: Array) -> Array:
    return np.where(old == expected, new, old)


COMBINE: Final[Mapping[str, Callable[..., Array]]] = {
    "add": np.add,
    "sub": np.subtract,
    "rsub": lambda old, new: new - old,
    "min": np.minimum,
    "max": np.maximum,
    "fmin": min_num,
    "fmax": max_num,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "swap": lambda old, new: new,
    "inc": _increment,
    "dec": _decrement,
    "cmpswap": _compare_swap,
    "pk_add_f16": _packed_f16,
    "pk_add_bf16": _packed_bf16,
}
"""Operation -> new value from the old one and the operands."""

IN_PLACE: Final[Mapping[str, np.ufunc]] = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
"""Operations that numpy applies in place with repeated indices, in order."""

_VECTOR: Final = re.compile(r"(?:global|flat|buffer|scratch)_atomic_(\w+)$")
_SHARED: Final = re.compile(r"ds_(\w+)$")
_OPERATIONS: Final = {
    "cmpst": "cmpswap", "cmpstore": "cmpswap", "wrxchg": "swap", "storexchg": "swap", "smin": "min", "smax": "max",
    "umin": "min", "umax": "max", "min_num": "min", "max_num": "max", "mskor": "",
}  # fmt: skip


def atomic_kind(inst: Instruction) -> AtomicKind | None:
    """What an atomic instruction does; None for anything else (and for atomics that are not executed)."""
    match = (_SHARED if inst.form == "DS" else _VECTOR).match(inst.name)
    if match is None:
        return None
    parts = match[1].split("_")
    if inst.form == "DS":
        returns = "rtn" in parts
        parts = [part for part in parts if part != "rtn"]
    else:
        returns = bool(inst.get("glc", "sc0") or inst.get("th") & 1)
    if parts[0] == "pk":
        name = "_".join(parts)
        return AtomicKind(name, name.replace("pk_add_", "pk_"), returns) if name in COMBINE else None
    kind, operation = _type(inst, parts)
    if operation.removeprefix("f") not in ("min", "max") and operation not in COMBINE:
        return None
    if kind in ("f32", "f64") and operation in ("min", "max"):
        operation = "f" + operation
    return AtomicKind(operation, kind, returns) if kind in TYPES and operation in COMBINE else None


def _type(inst: Instruction, parts: list[str]) -> tuple[str, str]:
    """Element type and operation of a name such as `smin_x2`, `add_u32`, `cmpswap_b64`, `min_num_f32`."""
    wide = parts[-1] in ("x2", "b64", "u64", "i64", "f64")
    suffix = parts[-1]
    stem = parts[:-1] if suffix in ("x2", "b32", "b64", "u32", "u64", "i32", "i64", "f32", "f64") else parts
    operation = "_".join(stem)
    signed = operation.startswith(("smin", "smax")) or suffix in ("i32", "i64")
    operation = _OPERATIONS.get(operation, operation)
    if suffix in ("f32", "f64"):
        return suffix, operation
    return ("i" if signed else "u") + ("64" if wide else "32"), operation
