"""From arguments to waves: the argument segment, buffers, and the registers that the hardware sets up.

Order of the initial registers: LLVM "User Guide for AMDGPU Backend", "Initial Kernel Execution State".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.loader import Argument, CodeObject
from specgen.devices.amdgpu_emulator.memory import ADDRESS_BASE, Arena, Banked
from specgen.devices.amdgpu_emulator.sanitize import LdsRaces, Reporter
from specgen.devices.amdgpu_emulator.state import Machine
from specgen.devices.base import DeviceError, Grid

Array = NDArray[Any]

ARGUMENT_SEGMENT: Final = "kernel arguments"
CODE_IMAGE: Final = "code object"

_CHUNK_LANES: Final = 1 << 17
"""Lanes that run at once: enough to hide the interpreter's overhead, few enough for the caches."""

_USER_REGISTERS: Final = ((0, 4), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 1))
"""Property bit of the descriptor -> scalar registers that it adds, in order."""
_KERNARG_BIT: Final = 3

_TTMP: Final = 108


@dataclass(frozen=True)
class Launch:
    """A launch before it is cut into chunks of workgroups."""

    code: CodeObject
    grid: Grid
    workgroup: tuple[int, int, int]
    arena: Arena
    segment: bytes
    owner: Mapping[str, str]
    """Argument -> name of the buffer that it points at (one array given twice is one buffer)."""

    @property
    def waves_per_group(self) -> int:
        return -(-math.prod(self.workgroup) // self.code.wave_size)

    @property
    def groups(self) -> int:
        return math.prod(self.grid)

    def chunks(self) -> list[range]:
        """Linear workgroup numbers that run together."""
        size = max(1, _CHUNK_LANES // (self.waves_per_group * self.code.wave_size))
        return [range(first, min(first + size, self.groups)) for first in range(0, self.groups, size)]


def prepare(
    code: CodeObject, args: Mapping[str, Any], grid: Grid, workgroup: tuple[int, int, int], unwritten: frozenset[str],
    reporter: Reporter,
) -> Launch:  # fmt: skip
    """Place the buffers and build the argument segment; raises `DeviceError` for arguments that do not fit."""
    _check(code, args)
    buffers: dict[str, Array] = {}
    placed: dict[int, str] = {}
    owner: dict[str, str] = {}
    for argument in code.arguments:
        if argument.kind == "global_buffer":
            array = np.ascontiguousarray(args[argument.name])
            owner[argument.name] = placed.setdefault(id(args[argument.name]), argument.name)
            buffers.setdefault(owner[argument.name], array)
    items: list[tuple[str, Any, int, bool, bool]] = [
        (name, array, array.dtype.itemsize, True, name not in unwritten) for name, array in buffers.items()
    ]
    size = (max(code.kernarg_size, 1) + 63) & ~63
    items.append((ARGUMENT_SEGMENT, bytes(size), 4, False, True))
    items.append((CODE_IMAGE, code.image, 4, False, True))
    arena = Arena(items, reporter.report, tracked=reporter.active)
    addresses = {name: arena.address(owner[name]) for name in owner}
    segment = _segment(code, args, addresses, grid, workgroup).ljust(size, b"\0")
    start = arena.address(ARGUMENT_SEGMENT) - ADDRESS_BASE
    arena.bytes[start : start + size] = np.frombuffer(segment, np.uint8)
    return Launch(code, grid, workgroup, arena, segment, owner)


def _check(code: CodeObject, args: Mapping[str, Any]) -> None:
    wanted = {argument.name for argument in code.arguments if not argument.kind.startswith("hidden")}
    if missing := sorted(wanted - set(args)):
        raise DeviceError(f"missing argument {', '.join(missing)}")
    if extra := sorted(set(args) - wanted):
        raise DeviceError(f"unknown argument {', '.join(extra)}")
    for argument in code.arguments:
        if argument.kind == "global_buffer" and not isinstance(args[argument.name], np.ndarray):
            raise DeviceError(f"argument {argument.name} must be an array")
    if not code.descriptor.denormals_kept:
        raise DeviceError("kernels that flush denormals or round otherwise than to nearest are not executed")
    if code.descriptor.has(11):
        raise DeviceError("kernels with a dynamic stack are not executed")


def _segment(
    code: CodeObject, args: Mapping[str, Any], addresses: Mapping[str, int], grid: Grid, workgroup: tuple[int, int, int]
) -> bytes:
    raw = bytearray(code.kernarg_size)
    hidden = _hidden_values(grid, workgroup)
    for argument in code.arguments:
        if argument.kind == "global_buffer":
            data = addresses[argument.name].to_bytes(8, "little")
        elif argument.kind == "by_value":
            data = scalar_bytes(argument, args[argument.name])
        else:
            data = hidden.get(argument.kind, 0).to_bytes(argument.size, "little")
        raw[argument.offset : argument.offset + argument.size] = data
    return bytes(raw)


def _hidden_values(grid: Grid, workgroup: tuple[int, int, int]) -> dict[str, int]:
    values = {"hidden_grid_dims": 3}
    for axis, name in enumerate("xyz"):
        values[f"hidden_block_count_{name}"] = grid[axis]
        values[f"hidden_group_size_{name}"] = workgroup[axis]
    return values


def scalar_bytes(argument: Argument, value: Any) -> bytes:
    """Little-endian bytes of a scalar argument; raises `DeviceError` when it does not fit its size."""
    if isinstance(value, np.generic) and not isinstance(value, (np.integer, np.bool_)):
        data = value.tobytes()
    elif isinstance(value, float):
        data = np.asarray(value, f"f{argument.size}").tobytes() if argument.size in (2, 4, 8) else b""
    else:
        number = int(value)
        bits = 8 * argument.size
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            raise DeviceError(f"argument {argument.name}: {number} does not fit {argument.size} bytes")
        data = (number & ((1 << bits) - 1)).to_bytes(argument.size, "little")
    if len(data) != argument.size:
        raise DeviceError(f"argument {argument.name} needs {argument.size} bytes, the value has {len(data)}")
    return data


def build_machine(launch: Launch, groups: range, reporter: Reporter, granule: int, sanitize: bool) -> Machine:
    """Registers and memories of a chunk of workgroups in their entry state."""
    code, per_group = launch.code, launch.waves_per_group
    waves = len(groups) * per_group
    machine = Machine(waves, code.wave_size, reporter, sanitize)
    machine.arena = launch.arena
    machine.code_address = launch.arena.address(CODE_IMAGE) + code.address
    machine.lds = Banked("workgroup memory", len(groups), code.descriptor.lds_bytes, reporter.report, sanitize)
    scratch = code.descriptor.scratch_bytes
    machine.scratch = Banked("private memory", waves * code.wave_size, scratch, reporter.report, sanitize)
    in_group = np.tile(np.arange(per_group), len(groups))
    machine.workgroup = np.repeat(np.arange(len(groups), dtype=np.int64), per_group)[:, None]
    if sanitize and code.descriptor.lds_bytes and per_group > 1:
        machine.races = LdsRaces(machine.lds.size, granule, waves, in_group, reporter.report)
    reporter.first_wave = groups.start * per_group
    _set_lanes(machine, launch, in_group)
    _set_scalars(machine, launch, np.repeat(np.array(groups), per_group), in_group)
    return machine


def _set_lanes(machine: Machine, launch: Launch, in_group: Array) -> None:
    """EXEC and the packed work-item ids (v0: ten bits an axis, as GFX90a+ and GFX11+ deliver them)."""
    x, y, _ = launch.workgroup
    lane = in_group[:, None] * machine.lanes + np.arange(machine.lanes)
    machine.set_exec_all(lane < math.prod(launch.workgroup))
    ids = launch.code.descriptor.workitem_ids
    packed = lane % x
    if ids >= 1:
        packed = packed | (lane // x % y) << 10
    if ids >= 2:
        packed = packed | (lane // (x * y)) << 20
    machine.vector(0)[...] = packed
    machine.written.v[0] = True


def _set_scalars(machine: Machine, launch: Launch, group: Array, in_group: Array) -> None:
    code, scalars = launch.code, machine.scalars
    descriptor = code.descriptor
    written: list[int] = [126, 127, *range(_TTMP, _TTMP + 16)]
    at = 0
    for bit, count in _USER_REGISTERS:
        if not descriptor.has(bit):
            continue
        if bit == _KERNARG_BIT:
            address = launch.arena.address(ARGUMENT_SEGMENT)
            scalars[:, at], scalars[:, at + 1] = address & 0xFFFFFFFF, address >> 32
        written.extend(range(at, at + count))
        at += count
    if descriptor.preload_length:
        words = np.frombuffer(launch.segment, np.uint32)
        first = descriptor.preload_offset
        for position in range(descriptor.preload_length):
            if first + position < len(words):
                scalars[:, at + position] = words[first + position]
            written.append(at + position)
        at += descriptor.preload_length
    x, y, _ = launch.grid
    ids = (group % x, group // x % y, group // (x * y))
    if code.arch == "rdna4":
        scalars[:, _TTMP + 9] = ids[0]
        scalars[:, _TTMP + 7] = ids[1] | ids[2] << 16
        scalars[:, _TTMP + 8] = in_group << 25
    else:
        at = descriptor.user_sgprs
        for axis in range(3):
            if descriptor.workgroup_id(axis):
                scalars[:, at] = ids[axis]
                written.append(at)
                at += 1
    for register in written:
        machine.written.s[register] = True


def entry_offset(code: CodeObject) -> int:
    """Where execution starts: behind the 256-byte compatibility prologue when arguments are preloaded."""
    return code.entry + (256 if code.arch == "cdna" and code.descriptor.preload_length else 0)
