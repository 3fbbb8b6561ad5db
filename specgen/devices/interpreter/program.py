"""A function as closures: compiled once, run for any number of launches.

Each op becomes a step `(env, frame) -> None` that reads and writes numbered slots of `env`. Ops that need no step
(constants, terminators) leave a slot filled or a tuple of slots for the region that holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from specgen.devices.base import Arguments, DeviceError, Grid, Run
from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Frame, at
from specgen.ir import locations
from specgen.ir.optable import OPS

Env = list[Any]
Step = Callable[[Env, Frame], None]

ITEMS_AT_ONCE = 65_536
"""Work-items executed side by side by default: their values stay in the cache."""


@dataclass
class Body:
    """A compiled block: argument slots, steps, the slots that its terminator passes on."""

    number: int
    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    passes: tuple[int, ...]

    def run(self, env: Env, frame: Frame) -> None:
        """Execute the steps under the frame's mask."""
        frame.executed[self.number] += 1
        for step in self.steps:
            step(env, frame)


@dataclass(frozen=True)
class ScalarArg:
    """A scalar argument: its promises are checked at launch."""

    name: str
    slot: int
    dtype: np.dtype[Any]
    bounds: tuple[int, int] | None
    multiple_of: int


@dataclass(frozen=True)
class BufferArg:
    """A buffer argument. `extents` has -1 for an axis that `motif.extents` fills in."""

    name: str
    slot: int
    dtype: np.dtype[Any]
    extents: tuple[int, ...]
    axes: tuple[str, ...]
    access: str
    bounds: tuple[int, int] | None
    stored: bool
    loaded: bool


@dataclass(frozen=True)
class LocalMemory:
    """A `memref.alloc`: `private` memory belongs to a work-item, other memory to a workgroup."""

    name: str
    slot: int
    dtype: np.dtype[Any]
    extents: tuple[int, ...]
    private: bool


@dataclass(frozen=True)
class Program:
    """A compiled function."""

    entry: str
    body: Body
    slots: int
    constants: dict[int, Any]
    scalars: tuple[ScalarArg, ...]
    buffers: tuple[BufferArg, ...]
    locals: tuple[LocalMemory, ...]
    workgroup_size: tuple[int, int, int]
    subgroup_size: int | None
    classes: tuple[Counter[str], ...]

    def run(
        self,
        launches: Sequence[Arguments],
        grid: Grid | Sequence[Grid] = (1, 1, 1),
        batch: int | None = None,
        *,
        promises: bool = True,
    ) -> list[Run]:
        """One `Run` a launch; `promises` False where the caller tests those about scalars itself.

        Raises `DeviceError` for arguments that do not fit the signature.
        """
        from specgen.devices.interpreter.launch import run_program

        return run_program(self, launches, grid, batch or ITEMS_AT_ONCE, promises)


class Compiler:
    """Numbers SSA values and builds steps through the handler table."""

    def __init__(self, function: FuncOp, subgroup_size: int | None) -> None:
        self.function = function
        self.subgroup_size = subgroup_size
        self.workgroup_size = workgroup_size(function)
        self.numbers: dict[SSAValue, int] = {}
        self.constants: dict[int, Any] = {}
        self.locals: list[LocalMemory] = []
        self.classes: list[Counter[str]] = []

    def slot(self, value: SSAValue) -> int:
        """The slot of a value, given out at first sight."""
        return self.numbers.setdefault(value, len(self.numbers))

    def slots(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        """The slots of several values."""
        return tuple(self.slot(v) for v in values)

    def block(self, block: Block) -> Body:
        """A compiled block."""
        from specgen.devices.interpreter.handlers import HANDLERS

        number = len(self.classes)
        counts: Counter[str] = Counter()
        self.classes.append(counts)
        arguments = self.slots(block.args)
        steps: list[Step] = []
        passes: tuple[int, ...] = ()
        for op in block.ops:
            if op.name in TERMINATORS:
                passes = self.slots(op.operands)
                continue
            build = HANDLERS.get(op.name)
            if build is None:
                raise DeviceError(f"{where(op) or self.function.sym_name.data}: the IR has no op {op.name}")
            step = build(op, self)
            if step is not None:
                counts[OPS[op.name].cls] += 1
                steps.append(step)
            promise = _pair(op.attributes.get("motif.range"))
            if promise is not None:
                steps.append(_promise_step(self.slot(op.results[0]), promise, where(op)))
        return Body(number, arguments, tuple(steps), passes)

    def need_subgroups(self, op: Operation) -> int:
        """The subgroup size for `op`. Raises `DeviceError` when it is open or does not divide the workgroup."""
        size = self.subgroup_size
        x, y, z = self.workgroup_size
        if size is None:
            raise DeviceError(f"{where(op)}: {op.name} needs a subgroup size and the function names none")
        if x * y * z % size:
            raise DeviceError(f"{where(op)}: {x * y * z} work-items are no multiple of the subgroup size {size}")
        return size


def _promise_step(slot: int, promise: tuple[int, int], place: str) -> Step:
    """Checks the range that an op claims for its result."""
    low, high = promise

    def step(env: Env, frame: Frame) -> None:
        value = env[slot]
        bad = (value < low) | (value > high)
        if np.count_nonzero(bad):
            frame.report(
                "broken-assumption", place, bad, lambda p: f"the value is {at(value, p)}, promised [{low}, {high}]"
            )

    return step


TERMINATORS = ("scf.yield", "scf.condition", "func.return")


def where(op: Operation) -> str:
    """`file:line:column` of an op."""
    return locations.text(op)


def find_function(module: ModuleOp | str, entry: str) -> FuncOp:
    """The function `entry` of a module or of its text. Raises `DeviceError` when there is none."""
    from specgen.ir import function_named, parse

    if isinstance(module, str):
        module = parse(module)
    found = function_named(module, entry)
    if found is not None:
        return found
    names = ", ".join(op.sym_name.data for op in module.walk() if isinstance(op, FuncOp))
    raise DeviceError(f"no entry {entry}; the module has {names or 'none'}")


def compile_function(function: FuncOp, subgroup_size: int | None = None) -> Program:
    """The compiled form; `subgroup_size` overrides `motif.subgroup_size`. Later changes of the IR are not seen."""
    declared = function.attributes.get("motif.subgroup_size")
    if subgroup_size is None and isinstance(declared, IntegerAttr):
        subgroup_size = declared.value.data
    compiler = Compiler(function, subgroup_size)
    scalars, buffers = _signature(function, compiler)
    body = compiler.block(function.body.block)
    return Program(
        function.sym_name.data,
        body,
        len(compiler.numbers),
        compiler.constants,
        tuple(scalars),
        tuple(buffers),
        tuple(compiler.locals),
        compiler.workgroup_size,
        subgroup_size,
        tuple(compiler.classes),
    )


def workgroup_size(function: FuncOp) -> tuple[int, int, int]:
    """The three workgroup extents of the function."""
    attribute = function.attributes.get("motif.workgroup_size")
    if not isinstance(attribute, DenseArrayBase):
        raise DeviceError(f"{function.sym_name.data} has no motif.workgroup_size")
    x, y, z = (int(v) for v in attribute.get_values())
    return x, y, z


def dtype_of(type_: Attribute) -> np.dtype[Any]:
    """The storage type of a scalar, vector or memref type."""
    if isinstance(type_, VectorType | MemRefType):
        type_ = type_.element_type
    try:
        return numerics.DTYPES[str(type_)]
    except KeyError:
        raise DeviceError(f"no values of type {type_}") from None


def lanes_of(type_: Attribute) -> int | None:
    """The length of a vector type, None for a scalar."""
    return type_.get_shape()[0] if isinstance(type_, VectorType) else None


def _signature(function: FuncOp, compiler: Compiler) -> tuple[list[ScalarArg], list[BufferArg]]:
    scalars, buffers = [], []
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    for position, value in enumerate(function.body.block.args):
        given = attributes[position].data if position < len(attributes) else {}
        name_attr = given.get("motif.name")
        name = name_attr.data if isinstance(name_attr, StringAttr) else f"arg{position}"
        bounds = _pair(given.get("motif.range"))
        slot, type_ = compiler.slot(value), value.type
        if not isinstance(type_, MemRefType):
            multiple = given.get("motif.multiple_of")
            factor = multiple.value.data if isinstance(multiple, IntegerAttr) else 1
            scalars.append(ScalarArg(name, slot, dtype_of(type_), bounds, factor))
            continue
        access = given.get("motif.access")
        stored, loaded = _uses(value)
        extents, axes = type_.get_shape(), _axes(given.get("motif.axes"))
        kind = access.data if isinstance(access, StringAttr) else "readwrite"
        buffers.append(BufferArg(name, slot, dtype_of(type_), extents, axes, kind, bounds, stored, loaded))
    return scalars, buffers


def _axes(attribute: Attribute | None) -> tuple[str, ...]:
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(a.data for a in attribute.data if isinstance(a, StringAttr))


def _pair(attribute: Attribute | None) -> tuple[int, int] | None:
    if not isinstance(attribute, DenseArrayBase):
        return None
    low, high = attribute.get_values()
    return int(low), int(high)


_STORES = ("memref.store", "vector.store", "vector.maskedstore", "memref.atomic_rmw")
_LOADS = ("memref.load", "vector.load", "vector.maskedload", "memref.atomic_rmw", "motif.window")


def _uses(value: SSAValue) -> tuple[bool, bool]:
    names = {use.operation.name for use in value.uses}
    return any(n in names for n in _STORES), any(n in names for n in _LOADS)
