"""A second, independent implementation of the IR: one work-item, translated to Python text and run.

It shares no code with the product's interpreter and knows nothing of schedules. A run records what it read (as a
multiset of addresses), what it wrote, and the order of everything that has to stay in order (writes, barriers,
collectives). A subgroup has one lane here, so a reduction is its operand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

FLOATS = {Float16Type: "f16", Float32Type: "f32", Float64Type: "f64"}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


class OutOfBounds(Exception):
    """An access outside of a buffer, or a read of an element that must not be read."""


@dataclass
class Memory:
    """A buffer: the elements that exist, by subscript."""

    name: str
    shape: tuple[int, ...]
    data: dict[tuple[int, ...], Any]


@dataclass
class Run:
    """What a run did."""

    memories: dict[str, Memory]
    reads: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    ordered: list[tuple[Any, ...]] = field(default_factory=list)

    def load(self, memory: Memory, index: tuple[int, ...]) -> Any:
        if index not in memory.data:
            raise OutOfBounds(f"read of {memory.name}{list(index)}")
        if memory.name.startswith("%"):
            self.ordered.append(("read", memory.name, index))
        else:
            self.reads[memory.name, index] += 1
        return memory.data[index]

    def store(self, memory: Memory, index: tuple[int, ...], value: Any) -> None:
        if any(not 0 <= i < n for i, n in zip(index, memory.shape, strict=True)):
            raise OutOfBounds(f"write of {memory.name}{list(index)}")
        self.ordered.append(("write", memory.name, index, _bits(value)))
        memory.data[index] = value

    def atomic(self, kind: str, memory: Memory, index: tuple[int, ...], value: Any) -> Any:
        old = memory.data[index]
        self.ordered.append(("atomic", kind, memory.name, index, _bits(value)))
        memory.data[index] = old + value
        return old

    def event(self, *what: Any) -> None:
        self.ordered.append(what)

    def collective(self, kind: str, value: Any) -> Any:
        self.ordered.append(("collective", kind, _bits(value)))
        return value

    def contents(self, name: str) -> dict[tuple[int, ...], bytes]:
        """The bits of a buffer."""
        return {index: _bits(value) for index, value in self.memories[name].data.items()}


def _bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_bits(v) for v in value)
    return value.tobytes() if isinstance(value, np.generic) else value


def wrap(value: int, width: int) -> int:
    """A signed integer of `width` bits; one bit is 0 or 1."""
    if width == 1:
        return value & 1
    return (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def _lanes(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` on scalars, or element by element on vectors (tuples)."""

    def apply(*values: Any) -> Any:
        if any(isinstance(v, tuple) for v in values):
            size = next(len(v) for v in values if isinstance(v, tuple))
            wide = [v if isinstance(v, tuple) else (v,) * size for v in values]
            return tuple(function(*lane) for lane in zip(*wide, strict=True))
        return function(*values)

    return apply


_INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.floordivsi": lambda a, b, w: a // b,
    "arith.ceildivsi": lambda a, b, w: -(-a // b),
    "motif.floorremsi": lambda a, b, w: a % b,
    "arith.ceildivui": lambda a, b, w: -(-(a % (1 << w)) // (b % (1 << w))),
    "arith.divui": lambda a, b, w: (a % (1 << w)) // (b % (1 << w)),
    "arith.remui": lambda a, b, w: (a % (1 << w)) % (b % (1 << w)),
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
}
_COMPARE: list[Callable[[Any, Any], bool]] = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
]
_FLOAT: dict[str, Callable[..., Any]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.maxnumf": lambda a, b: np.fmax(a, b),
    "arith.minnumf": lambda a, b: np.fmin(a, b),
    "arith.negf": lambda a: -a,
}
_SINGLE_LANE = ("motif.subgroup_reduce", "motif.workgroup_reduce", "motif.subgroup_scan", "motif.subgroup_shuffle_xor")


def width_of(type_: Attribute) -> int:
    """Bits of an integer type or of the elements of a vector."""
    if isinstance(type_, VectorType):
        return width_of(type_.get_element_type())
    if isinstance(type_, IntegerType):
        return type_.width.data
    return 64


class Translator:
    """The Python text of one function."""

    def __init__(self, function: func.FuncOp) -> None:
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.space: dict[str, Any] = {}
        self.arguments = [self._name(a) for a in function.body.block.args]
        self._block(function.body.block, 1)

    def function(self) -> Callable[..., None]:
        """The compiled function: `(run, ids, memories, *arguments)`."""
        head = f"def body(run, ids, memories, {', '.join(self.arguments)}):"
        text = "\n".join([head, *self.lines, "    return None"])
        exec(compile(text, "<evaluator>", "exec"), self.space)
        return self.space["body"]

    def _name(self, value: SSAValue) -> str:
        if value not in self.names:
            self.names[value] = f"v{len(self.names)}"
        return self.names[value]

    def _helper(self, function: Any) -> str:
        name = f"h{len(self.space)}"
        self.space[name] = function
        return name

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _tuple(self, values: Any) -> str:
        return "(" + "".join(f"{self._name(v)}, " for v in values) + ")"

    def _assign(self, depth: int, targets: Any, values: Any) -> None:
        targets, values = list(targets), list(values)
        if targets:
            self._line(depth, f"{self._tuple(targets)} = {self._tuple(values)}")

    def _block(self, block: Block, depth: int) -> None:
        for op in block.ops:
            self._op(op, depth)

    def _op(self, op: Operation, depth: int) -> None:
        if isinstance(op, scf.ForOp):
            self._for(op, depth)
        elif isinstance(op, scf.IfOp):
            self._if(op, depth)
        elif isinstance(op, scf.WhileOp):
            self._while(op, depth)
        elif op.results:
            self._line(depth, f"{', '.join(self._name(r) for r in op.results)} = {self._expression(op)}")
        elif not isinstance(op, scf.YieldOp | scf.ConditionOp | func.ReturnOp):
            statement = self._statement(op)
            if statement:
                self._line(depth, statement)

    def _for(self, op: scf.ForOp, depth: int) -> None:
        counter, *state = op.body.block.args
        bounds = ", ".join(self._name(v) for v in (op.lb, op.ub, op.step))
        self._assign(depth, op.results, op.iter_args)
        self._line(depth, f"for {self._name(counter)} in range({bounds}):")
        self._line(depth + 1, "pass")
        self._assign(depth + 1, state, op.results)
        self._block(op.body.block, depth + 1)
        end = op.body.block.last_op
        assert end is not None
        self._assign(depth + 1, op.results, end.operands)

    def _if(self, op: scf.IfOp, depth: int) -> None:
        for word, region in ((f"if {self._name(op.cond)}:", op.true_region), ("else:", op.false_region)):
            self._line(depth, word)
            self._line(depth + 1, "pass")
            if region.blocks:
                self._block(region.blocks[0], depth + 1)
                end = region.blocks[0].last_op
                assert end is not None
                self._assign(depth + 1, op.results, end.operands)

    def _while(self, op: scf.WhileOp, depth: int) -> None:
        before, after = op.before_region.block, op.after_region.block
        self._assign(depth, before.args, op.arguments)
        self._line(depth, "while True:")
        self._block(before, depth + 1)
        test = before.last_op
        assert test is not None
        self._assign(depth + 1, op.results, test.operands[1:])
        self._line(depth + 1, f"if not {self._name(test.operands[0])}: break")
        self._assign(depth + 1, after.args, op.results)
        self._block(after, depth + 1)
        end = after.last_op
        assert end is not None
        self._assign(depth + 1, before.args, end.operands)

    def _statement(self, op: Operation) -> str | None:
        if isinstance(op, memref.StoreOp):
            return f"run.store({self._name(op.memref)}, {self._tuple(op.indices)}, {self._name(op.value)})"
        if op.name in ("motif.assume", "motif.check"):
            return f"assert {self._name(op.operands[0])}, {op.name!r}"
        if op.name == "gpu.barrier":
            return "run.event('barrier')"
        if op.name == "motif.wait":
            return "run.event('wait')"
        if op.name in ("motif.fence", "motif.extents", "motif.ahead"):
            return None
        raise NotImplementedError(op.name)

    def _expression(self, op: Operation) -> str:
        name, operands = op.name, [self._name(v) for v in op.operands]
        if isinstance(op, arith.ConstantOp):
            return self._helper(constant(op.value))
        if name in _INTEGER:
            function, width = _INTEGER[name], width_of(op.results[0].type)
            return self._call(lambda a, b: wrap(function(a, b, width), width), operands)
        if name in _FLOAT:
            return self._call(_FLOAT[name], operands)
        if isinstance(op, arith.CmpiOp | arith.CmpfOp):
            return self._call(comparison(op), operands)
        if name == "arith.select":
            return self._call(lambda c, a, b: a if c else b, operands)
        if name in ("arith.index_cast", "arith.extsi", "arith.trunci", "arith.extui"):
            return self._call(cast(op), operands)
        if name in ("arith.sitofp", "arith.extf", "arith.truncf"):
            return self._call(float_of(op.results[0].type), operands)
        if name == "motif.fptoi":
            return self._call(int, operands)
        if isinstance(op, memref.LoadOp):
            return f"run.load({self._name(op.memref)}, {self._tuple(op.indices)})"
        if isinstance(op, vector.LoadOp):
            return self._vector_load(op)
        if isinstance(op, memref.AllocOp):
            type_ = op.results[0].type
            assert isinstance(type_, MemRefType)
            label = f"%{op.attributes['motif.name'].data}"  # type: ignore[attr-defined]
            return f"memories.setdefault({label!r}, {self._helper(Memory)}({label!r}, {type_.get_shape()}, {{}}))"
        if isinstance(op, memref.AtomicRMWOp):
            return f"run.atomic('add', {self._name(op.memref)}, {self._tuple(op.indices)}, {self._name(op.value)})"
        return self._rest(op, operands)

    def _rest(self, op: Operation, operands: list[str]) -> str:
        name = op.name
        if name == "vector.extract":
            position = op.properties["static_position"].get_values()[0]  # type: ignore[attr-defined]
            return f"{operands[0]}[{position}]"
        if name == "vector.from_elements":
            return "(" + "".join(f"{v}, " for v in operands) + ")"
        if name == "vector.broadcast":
            type_ = op.results[0].type
            assert isinstance(type_, VectorType)
            return f"({operands[0]},) * {type_.get_shape()[0]}"
        if name in ("gpu.thread_id", "gpu.block_id", "gpu.lane_id", "gpu.subgroup_id"):
            return f"ids[{name!r}]"
        if name in _SINGLE_LANE:
            return f"run.collective({name!r}, {operands[0]})"
        if name == "motif.arrive":
            return "run.event('arrive')"
        raise NotImplementedError(name)

    def _vector_load(self, op: vector.LoadOp) -> str:
        type_ = op.results[0].type
        assert isinstance(type_, VectorType)
        *outer, last = [self._name(v) for v in op.indices]
        index = "(" + "".join(f"{v}, " for v in outer) + f"{last} + n)"
        return f"tuple(run.load({self._name(op.base)}, {index}) for n in range({type_.get_shape()[0]}))"

    def _call(self, function: Callable[..., Any], operands: list[str]) -> str:
        return f"{self._helper(_lanes(function))}({', '.join(operands)})"


def constant(attribute: Attribute) -> Any:
    """The value of a constant's attribute."""
    if isinstance(attribute, IntegerAttr):
        return wrap(attribute.value.data, width_of(attribute.type))
    if isinstance(attribute, FloatAttr):
        return float_of(attribute.type)(attribute.value.data)
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    element, values = attribute.get_element_type(), attribute.get_values()
    size = attribute.type.get_shape()[0]
    values = list(values) * size if len(values) == 1 else list(values)
    if isinstance(element, IntegerType | IndexType):
        return tuple(wrap(int(v), width_of(element)) for v in values)
    return tuple(float_of(element)(v) for v in values)


def float_of(type_: Attribute) -> Callable[[Any], Any]:
    """The constructor of a float type."""
    if isinstance(type_, VectorType):
        type_ = type_.get_element_type()
    return NUMPY[FLOATS[type(type_)]]  # type: ignore[index]


def cast(op: Operation) -> Callable[[int], int]:
    """An integer conversion."""
    source, target = width_of(op.operands[0].type), width_of(op.results[0].type)
    if op.name == "arith.extui":
        return lambda a: a % (1 << source)
    if op.name == "arith.extsi" and source == 1:
        return lambda a: -a
    return lambda a: wrap(a, target)


def comparison(op: arith.CmpiOp | arith.CmpfOp) -> Callable[[Any, Any], int]:
    """A comparison; unsigned ones reinterpret their operands."""
    predicate = op.predicate.value.data
    if isinstance(op, arith.CmpfOp):
        table = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3, 13: 1}
        test = _COMPARE[table[predicate]]
        return lambda a, b: int(test(a, b))
    width = width_of(op.operands[0].type)
    if predicate >= 6:
        test = _COMPARE[predicate - 4]
        return lambda a, b: int(test(a % (1 << width), b % (1 << width)))
    test = _COMPARE[predicate]
    return lambda a, b: int(test(a, b))


class Program:
    """A function of a module, ready to be run for any arguments and work-item."""

    def __init__(self, module: ModuleOp, entry: str | None = None) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        self.op = next(f for f in functions if entry in (None, f.sym_name.data))
        self.names = [a.name_hint or f"arg{n}" for n, a in enumerate(self.op.body.block.args)]
        self.types = [a.type for a in self.op.body.block.args]
        self.body = Translator(self.op).function()

    def run(self, arguments: Mapping[str, Any], lane: int = 0) -> Run:
        """Run one work-item. Buffers are arrays, or dicts from subscripts to values (only those exist)."""
        run = Run({})
        values = []
        for name, type_ in zip(self.names, self.types, strict=True):
            value = arguments[name]
            if isinstance(type_, MemRefType):
                data = dict(value) if isinstance(value, dict) else dict(np.ndenumerate(value))
                shape = value.shape if isinstance(value, np.ndarray) else type_.get_shape()
                run.memories[name] = Memory(name, tuple(shape), _typed(data, type_))
                values.append(run.memories[name])
            else:
                values.append(value)
        ids = dict.fromkeys(("gpu.thread_id", "gpu.lane_id", "gpu.block_id", "gpu.subgroup_id"), 0)
        ids |= {"gpu.thread_id": lane, "gpu.lane_id": lane}
        with np.errstate(all="ignore"):
            self.body(run, ids, run.memories, *values)
        return run


def _typed(data: dict[tuple[int, ...], Any], type_: MemRefType) -> dict[tuple[int, ...], Any]:
    if isinstance(type_.element_type, IntegerType | IndexType):
        return {k: int(v) for k, v in data.items()}
    convert = float_of(type_.element_type)
    return {k: convert(v) for k, v in data.items()}


def same(one: Run, other: Run, outputs: list[str]) -> None:
    """Assert that two runs read, wrote and ordered alike, bit for bit."""
    assert one.reads == other.reads
    assert one.ordered == other.ordered
    for name in outputs:
        assert one.contents(name) == other.contents(name)
