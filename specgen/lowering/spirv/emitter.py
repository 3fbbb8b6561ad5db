"""Emission inside one function: values, conversions between kinds, blocks, source lines.

How IR types live in SPIR-V values ("kinds", see `builder.REGISTER_BITS`): i1 is `bool`; i8, i16 and i32 are `u32`
holding the sign-extended value; i64 is `u64`; `index` is `u32` where facts prove that the value fits in 32 signed
bits, else `u64`; bf16 is `f32` holding a value that bf16 has; the other floats are themselves. A vector is a tuple
of scalars: SPIR-V vectors end at four components and drivers take them apart anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from specgen.ir import locations
from specgen.ir.facts import Facts
from specgen.ir.optable import OPS
from specgen.lowering import LoweringError
from specgen.lowering.spirv.builder import Builder, Id, Instruction, Operand, Text, glsl_number

if TYPE_CHECKING:
    from specgen.lowering.spirv.memory import Memory
    from specgen.targets import Target

KINDS = {
    "i1": "bool",
    "i8": "u32",
    "i16": "u32",
    "i32": "u32",
    "i64": "u64",
    "f16": "f16",
    "bf16": "f32",
    "f32": "f32",
    "f64": "f64",
}
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
USES_SUBGROUPS = ("gpu.lane_id", "gpu.subgroup_id", *(n for n, row in OPS.items() if row.cls == "collective"))
NOT_CONVERTED = ("OpLoad", "OpCompositeExtract", "OpFAdd", "OpFSub", "OpFMul")
"""Instructions whose f16 results are no conversions from f32."""

INT32 = (-(2**31), 2**31 - 1)


@dataclass(frozen=True)
class Value:
    """Scalars of one kind: one for a scalar value, as many as elements for a vector."""

    kind: str
    ids: tuple[Id, ...]

    @property
    def scalar(self) -> Id:
        """The only scalar."""
        (only,) = self.ids
        return only


def element_name(type_: Attribute) -> str:
    """The element type of a scalar, vector or memref type as text: `f32`, `index`, ..."""
    if isinstance(type_, VectorType | MemRefType):
        type_ = type_.element_type
    return "index" if isinstance(type_, IndexType) else str(type_)


def lane_count(type_: Attribute) -> int:
    """Elements of a vector type, 1 for a scalar."""
    return type_.get_shape()[0] if isinstance(type_, VectorType) else 1


def _workgroup_size(function: FuncOp) -> tuple[int, int, int]:
    attribute = function.attributes.get("motif.workgroup_size")
    if not isinstance(attribute, DenseArrayBase):
        raise LoweringError(f"{function.sym_name.data} has no motif.workgroup_size")
    x, y, z = (int(n) for n in attribute.get_values())
    return x, y, z


def _live_ops(function: FuncOp) -> set[Operation]:
    """Ops that something observable depends on. Checks and promises are dropped, so what only they use is not live.

    Addresses depend on the extents of the buffer that they are in.
    """
    live: set[Operation] = set()
    for op in reversed(list(function.walk())):
        values = op.operands[:1] if op.name == "motif.extents" else op.results
        used = any(use.operation in live for value in values for use in value.uses)
        if used or not _is_droppable(op):
            live.add(op)
    return live


def _is_droppable(op: Operation) -> bool:
    row = OPS.get(op.name)
    return row is not None and (row.pure or row.cls == "meta" or (row.reads and not row.writes))


class Emitter:
    """The state of lowering one function."""

    def __init__(self, builder: Builder, function: FuncOp, target: Target) -> None:
        self.builder = builder
        self.function = function
        self.target = target
        self.facts = Facts(function)
        self.values: dict[SSAValue, Value] = {}
        self.memories: dict[SSAValue, Memory] = {}
        self.interface: list[Id] = []
        self.workgroup_bytes = 0
        """Workgroup memory of the function so far, that of collectives included."""
        self.butterflies: dict[str, Memory] = {}
        """Memory of reductions over clusters that are wider than a subgroup, by kind of value."""
        self.block = Id(0)
        self.section = "function"
        self.workgroup_size = _workgroup_size(function)
        declared = function.attributes.get("motif.subgroup_size")
        self.subgroup_size = declared.value.data if isinstance(declared, IntegerAttr) else target.subgroup_size
        self.flat = any(op.name in USES_SUBGROUPS for op in function.walk())
        self.minimum_subgroup_size = 1
        self._first = 0
        self._plain_halves: set[Id] = set()
        self._live = _live_ops(function)
        self._line: tuple[str, int, int] | None = None
        self._place: tuple[str, int, int] | None = None

    def is_live(self, op: Operation) -> bool:
        """Whether anything observable depends on the op."""
        return op in self._live

    # Instructions

    def at(self, op: Operation) -> None:
        """Instructions from now on come from `op`."""
        self._place = locations.of(op)

    def where(self, op: Operation) -> str:
        """A prefix for messages about `op`."""
        return locations.text(op) or self.function.sym_name.data

    def refuse(self, op: Operation, reason: str) -> LoweringError:
        """The error that says why `op` has no form in SPIR-V."""
        return LoweringError(f"{self.where(op)}: {op.name}: {reason}")

    def emit(self, name: str, *operands: Operand, type: Id | None = None, result: Id | None = None) -> Id:
        """An instruction in the current block."""
        self._put_line()
        return self.builder.emit(self.section, name, *operands, type=type, result=result)

    def op(self, name: str, kind: str, *operands: Operand) -> Id:
        """An instruction with a scalar result of `kind`."""
        made = self.emit(name, *operands, type=self.builder.type(kind))
        if kind == "f16" and name in NOT_CONVERTED:
            self._plain_halves.add(made)
        return made

    def widened(self, scalar: Id, kind: str = "f32") -> Id:
        """An f16 as a wider float.

        A driver was seen to take the f32 before a conversion to f16 for what the conversion back gives, as if f16
        did not round. It does not see through the bits; loaded and computed halves need no such care.
        """
        if scalar not in self._plain_halves:
            pair = self.builder.vector("f16", 2)
            both = self.emit("OpCompositeConstruct", scalar, self.const("f16", 0.0), type=pair)
            word = self.op("OpBitcast", "u32", both)
            low = self.op("OpBitFieldSExtract", "u32", word, self.const("u32", 0), self.const("u32", 16))
            scalar = self.op("OpCompositeExtract", "f16", self.emit("OpBitcast", low, type=pair), 0)
        return self.op("OpFConvert", kind, scalar)

    def exact(self, name: str, kind: str, *operands: Operand) -> Id:
        """A float instruction that must not be contracted with another."""
        made = self.op(name, kind, *operands)
        self.builder.emit("annotation", "OpDecorate", made, "Decoration.NoContraction")
        return made

    def glsl(self, name: str, kind: str, *operands: Operand) -> Id:
        """An instruction of GLSL.std.450 with a scalar result of `kind`."""
        return self.op("OpExtInst", kind, self.builder.glsl, glsl_number(name), *operands)

    def phi(self, kind: str) -> tuple[Instruction, Id]:
        """An `OpPhi` without edges: append value and block of each."""
        self._put_line()
        return self.builder.instruction(self.section, "OpPhi", (), self.builder.type(kind))

    def label(self, block: Id) -> None:
        """Start a block."""
        self.builder.emit(self.section, "OpLabel", result=block)
        self.block = block
        self._line = None

    def branch(self, block: Id) -> None:
        """End the block with a jump."""
        self.emit("OpBranch", block)

    def split(self, merge: tuple[Operand, ...], condition: Id, true: Id, false: Id) -> None:
        """End the block with a merge instruction (name and operands) and a conditional branch."""
        name, *operands = merge
        self._put_line()
        self.builder.emit(self.section, str(name), *operands)
        self.builder.emit(self.section, "OpBranchConditional", condition, true, false)

    def jump_into(self, merge: tuple[Operand, ...], block: Id) -> None:
        """End the block with a merge instruction (name and operands) and a jump."""
        name, *operands = merge
        self._put_line()
        self.builder.emit(self.section, str(name), *operands)
        self.builder.emit(self.section, "OpBranch", block)

    def _put_line(self) -> None:
        if self._place is not None and self._place != self._line:
            file, line, column = self._place
            name = self.file_name(file)
            self.builder.emit(self.section, "OpLine", name, line, column)
            self._line = self._place

    def file_name(self, file: str) -> Id:
        """The OpString of a file name."""
        key = ("OpString", file)
        strings = self.builder.named
        if key not in strings:
            strings[key] = self.builder.emit("debug_string", "OpString", Text(file))
            self.builder.emit("debug_string", "OpSource", "SourceLanguage.Unknown", 1, strings[key])
        return strings[key]

    # Constants and small arithmetic

    def const(self, kind: str, value: int | float | bool) -> Id:
        """A constant."""
        return self.builder.constant(kind, value)

    def known(self, scalar: Id) -> int | None:
        """The value of an integer constant, None for anything else."""
        return self.builder.integers.get(scalar)

    def add(self, kind: str, a: Id, b: Id) -> Id:
        """Integer sum; folds constants."""
        x, y = self.known(a), self.known(b)
        if x is not None and y is not None:
            return self.const(kind, x + y)
        if x == 0:
            return b
        return a if y == 0 else self.op("OpIAdd", kind, a, b)

    def mul(self, kind: str, a: Id, b: Id) -> Id:
        """Integer product; folds constants."""
        x, y = self.known(a), self.known(b)
        if x is not None and y is not None:
            return self.const(kind, x * y)
        if x == 1:
            return b
        return a if y == 1 else self.op("OpIMul", kind, a, b)

    def select(self, kind: str, condition: Id, a: Id, b: Id) -> Id:
        """`a` where the condition holds, else `b`.

        Mesa 22.3 takes the choice between a one and a zero for the truth value as a float, its sign in front, whatever
        sign the zero has. Where that is another zero, the choice is made between integers and converted.
        """
        values = [self.builder.floats.get(x) for x in (a, b)]
        for x, y in (values, values[::-1]):
            if x is None or y != 0 or abs(x) != 1 or math.copysign(1, y) == x:
                continue
            sides = [self.const("u32", -int(abs(v or 0.0))) for v in values]
            made = self.op("OpConvertSToF", kind, self.op("OpSelect", "u32", condition, *sides))
            return made if x == -1 else self.op("OpFNegate", kind, made)
        return self.op("OpSelect", kind, condition, a, b)

    # Values

    def kind_of(self, value: SSAValue) -> str:
        """The kind in which a value lives."""
        name = element_name(value.type)
        if name == "index":
            return "u32" if self.fits_32_bits(value) else "u64"
        try:
            return KINDS[name]
        except KeyError:
            raise LoweringError(f"{self.function.sym_name.data}: SPIR-V has no values of type {name}") from None

    def fits_32_bits(self, value: SSAValue) -> bool:
        """Whether an integer is proven to lie in 32 signed bits where it is defined."""
        found = self.facts.range(value)
        return found.low >= INT32[0] and found.high <= INT32[1]

    def define(self, value: SSAValue, ids: tuple[Id, ...], kind: str | None = None) -> None:
        """Give a value its scalars, converted from `kind` where it lives in another."""
        wanted = self.kind_of(value)
        if kind is not None and kind != wanted:
            ids = tuple(self.resize(i, kind, wanted) for i in ids)
        self.values[value] = Value(wanted, ids)

    def get(self, value: SSAValue, kind: str | None = None) -> tuple[Id, ...]:
        """The scalars of a value, as `kind` when given (`u32` or `u64`)."""
        held = self.values[value]
        if kind is None or kind == held.kind:
            return held.ids
        return tuple(self.resize(i, held.kind, kind) for i in held.ids)

    def scalar(self, value: SSAValue, kind: str | None = None) -> Id:
        """The scalar of a value that is no vector."""
        (only,) = self.get(value, kind)
        return only

    def resize(self, scalar: Id, source: str, target: str) -> Id:
        """An integer in another width: sign-extended or cut."""
        if source == target:
            return scalar
        known = self.known(scalar)
        if known is not None:
            return self.const(target, known)
        if {source, target} != {"u32", "u64"}:
            raise LoweringError(f"{self.function.sym_name.data}: no width change from {source} to {target}")
        return self.op("OpUConvert", "u32", scalar) if target == "u32" else self._sign_extended(scalar)

    def _sign_extended(self, scalar: Id) -> Id:
        """A u32 as u64, put together from halves.

        Mesa 22.3 folds a signed comparison of OpSConvert with a constant to the wrong truth; it does not see through
        this form.
        """
        sign = self.op("OpShiftRightArithmetic", "u32", scalar, self.const("u32", 31))
        pair = self.emit("OpCompositeConstruct", scalar, sign, type=self.builder.vector("u32", 2))
        return self.op("OpBitcast", "u64", pair)

    def helper(self, name: str, kinds: tuple[str, ...], body: Callable[[list[Id]], Id]) -> Id:
        """A function of the module that all entry points share: scalars of `kinds` to one of the first kind.

        `body` is called once, for the first use of `name`.
        """
        key = ("helper", name)
        builder = self.builder
        if key not in builder.named:
            builder.named[key] = builder.new_id()
            state = self.block, self.section, self._place
            self.section, self._place = "helper", None
            types = [builder.type(kind) for kind in kinds]
            signature = builder.unique("OpTypeFunction", types[0], *types)
            builder.emit(
                self.section, "OpFunction", "FunctionControl.None", signature, type=types[0], result=builder.named[key]
            )
            parameters = [builder.emit(self.section, "OpFunctionParameter", type=t) for t in types]
            self.label(builder.new_id())
            builder.emit(self.section, "OpReturnValue", body(parameters))
            builder.emit(self.section, "OpFunctionEnd")
            builder.emit("debug_name", "OpName", builder.named[key], Text(name))
            self.block, self.section, self._place = state
            self._line = None
        return builder.named[key]

    # Interface

    def begin(self) -> None:
        """Start the first block; private variables will stand at its head."""
        self.label(self.builder.new_id())
        self._first = len(self.builder.sections[self.section])

    def private_variable(self, pointer: Id) -> Id:
        """A variable of this work-item; `pointer` is its type."""
        section = self.builder.sections[self.section]
        _, result = self.builder.instruction(self.section, "OpVariable", ("StorageClass.Function",), pointer)
        section.insert(self._first, section.pop())
        self._first += 1
        return result

    def builtin(self, name: str, count: int = 1) -> Id:
        """The value of an input built-in (u32 scalar, or vector of `count`), loaded where it is asked for."""
        builder = self.builder
        type_ = builder.vector("u32", count)
        key = ("builtin", name)
        if key not in builder.named:
            variable = builder.emit("global", "OpVariable", "StorageClass.Input", type=builder.pointer("Input", type_))
            builder.emit("annotation", "OpDecorate", variable, "Decoration.BuiltIn", f"BuiltIn.{name}")
            builder.named[key] = variable
        variable = builder.named[key]
        self.use(variable)
        return self.emit("OpLoad", variable, type=type_)

    def need_subgroup_size(self, op: Operation, size: int) -> None:
        """The device's subgroups must have at least `size` lanes. Raises `LoweringError` when the target's have not."""
        if self.subgroup_size is not None and self.subgroup_size < size:
            raise self.refuse(op, f"it needs {size} lanes, the subgroup has {self.subgroup_size}")
        self.minimum_subgroup_size = max(self.minimum_subgroup_size, size)

    def workgroup_variable(self, stored: str, count: int) -> Id:
        """Workgroup memory for `count` values of a stored kind (`u32`, `f16`, ...), counted in `workgroup_bytes`."""
        builder = self.builder
        pointer = builder.pointer("Workgroup", builder.array(builder.type(stored), count))
        variable = builder.emit("global", "OpVariable", "StorageClass.Workgroup", type=pointer)
        self.use(variable)
        self.workgroup_bytes += count * int(stored[1:]) // 8
        return variable

    def use(self, variable: Id) -> None:
        """List a global variable in the interface of the entry point."""
        if variable not in self.interface:
            self.interface.append(variable)
