"""Running a compiled function: arguments into memories, workgroups in groups, results out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from specgen.devices.base import Arguments, DeviceError, Grid, Run
from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Findings, Frame
from specgen.devices.interpreter.memory import Memory, RaceTracker
from specgen.devices.interpreter.program import BufferArg, LocalMemory, Program, ScalarArg


def run_program(
    program: Program, launches: Sequence[Arguments], grid: Grid | Sequence[Grid], items_at_once: int, promises: bool
) -> list[Run]:
    """One `Run` a launch; see `Program.run`."""
    if not launches:
        return []
    grids = _grids(grid, len(launches))
    findings = [Findings() for _ in launches]
    scalars = [_scalar_values(arg, launches) for arg in program.scalars]
    if promises:
        _test_promises(program, scalars, findings)
    stores = [_Buffer(arg, launches, _item_count(program)) for arg in program.buffers]
    launch_of, block_of = _rows(grids)
    executed = [0] * len(program.classes)
    rows_at_once = max(1, items_at_once // _item_count(program))
    with np.errstate(all="ignore"):
        for start in range(0, len(launch_of), rows_at_once):
            part = slice(start, start + rows_at_once)
            frame = Frame(
                program.workgroup_size,
                program.subgroup_size,
                launch_of[part],
                block_of[part],
                start * _item_count(program),
                findings,
                executed,
            )
            env: list[Any] = [None] * program.slots
            for slot, value in program.constants.items():
                env[slot] = value
            for scalar, column in zip(program.scalars, scalars, strict=True):
                env[scalar.slot] = _pick(column, frame.launch_of)
            for buffer in stores:
                env[buffer.arg.slot] = buffer.memory(frame)
            for memory in program.locals:
                env[memory.slot] = _local(memory, frame)
            program.body.run(env, frame)
    evidence = {"ops": _count(program, executed), "work_items": len(launch_of) * _item_count(program)}
    return [
        Run({b.arg.name: b.output(n) for b in stores if b.arg.stored}, findings[n].result(), dict(evidence))
        for n in range(len(launches))
    ]


def _grids(grid: Grid | Sequence[Grid], count: int) -> list[Grid]:
    many = bool(grid) and not isinstance(grid[0], int | np.integer)
    grids = [tuple(int(n) for n in g) for g in grid] if many else [tuple(int(n) for n in grid)] * count  # type: ignore[union-attr, arg-type]
    if len(grids) != count or any(len(g) != 3 or min(g) < 0 for g in grids):
        raise DeviceError("a grid is three workgroup counts, one grid for all launches or one a launch")
    return grids  # type: ignore[return-value]


def _item_count(program: Program) -> int:
    x, y, z = program.workgroup_size
    return x * y * z


def _rows(grids: Sequence[Grid]) -> tuple[Any, Any]:
    """For each row its launch and its workgroup ids."""
    launches, blocks = [], []
    for number, (x, y, z) in enumerate(grids):
        linear = np.arange(x * y * z, dtype=np.int64)
        launches.append(np.full(len(linear), number))
        blocks.append(np.stack([linear % max(x, 1), linear // max(x, 1) % max(y, 1), linear // max(x * y, 1)], 1))
    return np.concatenate(launches), np.concatenate(blocks)


def _count(program: Program, executed: Sequence[int]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for times, counts in zip(executed, program.classes, strict=True):
        for name, number in counts.items():
            total[name] += times * number
    return dict(sorted(total.items()))


def _argument(launch: Arguments, name: str) -> Any:
    try:
        return launch[name]
    except KeyError:
        raise DeviceError(f"argument {name} is missing") from None


def _scalar_values(arg: ScalarArg, launches: Sequence[Arguments]) -> Any:
    """The values of one scalar, one a launch."""
    return np.array([_scalar(arg, _argument(launch, arg.name)) for launch in launches], dtype=arg.dtype)


def _test_promises(program: Program, columns: Sequence[Any], findings: list[Findings]) -> None:
    """What the IR alone knows of promises about scalars; a broken one is a finding of its launch."""
    for arg, column in zip(program.scalars, columns, strict=True):
        for value, found in zip(column, findings, strict=True):
            if arg.bounds is not None and not arg.bounds[0] <= value <= arg.bounds[1]:
                found.add("broken-assumption", "", f"argument {arg.name} is {value}, promised {list(arg.bounds)}")
            if arg.multiple_of > 1 and int(value) % arg.multiple_of:
                found.add("broken-assumption", "", f"argument {arg.name} is {value}, no multiple of {arg.multiple_of}")


def _scalar(arg: ScalarArg, given: Any) -> Any:
    if numerics.is_float(arg.dtype):
        return numerics.narrow(np.float64(given), arg.dtype)
    if arg.dtype == numerics.BOOL:
        return np.bool_(given)
    whole, bits = int(given), 8 * arg.dtype.itemsize
    if not -(2 ** (bits - 1)) <= whole < 2**bits:
        raise DeviceError(f"argument {arg.name}: {whole} does not fit in {bits} bits")
    return np.array(whole % 2**bits, f"u{arg.dtype.itemsize}").view(arg.dtype)[()]


def _pick(column: Any, launch_of: Any) -> Any:
    """A launch's value for each row: a scalar when all rows agree, else `[rows, 1]`."""
    if len(column) == 1 or not np.any(_raw(column) != _raw(column)[0]):
        return column[0]
    mine = column[launch_of]
    return mine[0] if not np.any(_raw(mine) != _raw(mine)[0]) else mine[:, None]


def _raw(column: Any) -> Any:
    """Bits, so that NaN equals itself and zeros keep their signs."""
    return column if column.dtype == np.bool_ else column.view(f"u{column.dtype.itemsize}")


class _Buffer:
    """The storage of one buffer argument for all launches.

    A buffer that the function stores to has one copy a launch; arrays that launches share are held once.
    """

    def __init__(self, arg: BufferArg, launches: Sequence[Arguments], items: int) -> None:
        self.arg = arg
        arrays = [_array(arg, _argument(launch, arg.name)) for launch in launches]
        if not arg.stored and all(_same(a, arrays[0]) for a in arrays):
            arrays = arrays[:1]
        self.lengths = np.array([len(a) for a in arrays], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        # numpy.concatenate copies: the caller's arrays stay as they are.
        self.data = np.concatenate(arrays) if arg.stored or len(arrays) > 1 else arrays[0]
        size = max(1, len(self.data))
        self.written = np.zeros(size, bool) if arg.access == "write" else None
        self.tracker = RaceTracker(size, items, between_groups=True) if arg.stored else None

    def memory(self, frame: Frame) -> Memory:
        """The view of a group of rows."""
        single = len(self.lengths) == 1
        base = 0 if single else self.starts[frame.launch_of][:, None]
        same = single or not np.any(self.lengths != self.lengths[0])
        backed = int(self.lengths[0]) if same else self.lengths[frame.launch_of][:, None]
        memory = Memory(
            self.arg.name,
            self.arg.axes,
            self.data,
            [int(e) for e in self.arg.extents],
            base,
            backed,
            self.written,
            self.tracker,
            self.arg.bounds,
        )
        self.data = memory.data
        return memory

    def output(self, launch: int) -> Any:
        """What a launch left, in a fresh array."""
        return self.data[self.starts[launch] : self.starts[launch + 1]].copy()


def _same(a: Any, b: Any) -> bool:
    """Whether two flat arrays are the same memory."""
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


def _array(arg: BufferArg, given: Any) -> Any:
    """The argument as a flat array of the storage type (same bits)."""
    array = np.asarray(given)
    if array.ndim != 1:
        raise DeviceError(f"argument {arg.name}: arrays are flat, this one has {array.ndim} axes")
    if array.dtype == arg.dtype:
        return array
    if array.dtype.itemsize == arg.dtype.itemsize and not numerics.is_float(array.dtype):
        return array.view(arg.dtype)
    raise DeviceError(f"argument {arg.name}: an array of {array.dtype}, the buffer holds {arg.dtype}")


def _local(memory: LocalMemory, frame: Frame) -> Memory:
    size = int(np.prod(memory.extents, dtype=np.int64)) if memory.extents else 1
    instances = frame.rows * frame.items if memory.private else frame.rows
    if memory.private:
        base: Any = np.arange(instances, dtype=np.int64).reshape(frame.shape) * size
    else:
        base = np.arange(instances, dtype=np.int64)[:, None] * size
    data = np.full(instances * size, numerics.poison(memory.dtype))
    tracker = None if memory.private else RaceTracker(instances * size, frame.items, between_groups=False)
    extents = [int(e) for e in memory.extents]
    return Memory(memory.name, (), data, extents, base, size, np.zeros(len(data), bool), tracker)
