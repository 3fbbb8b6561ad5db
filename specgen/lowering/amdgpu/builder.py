"""Writes the text of one LLVM function: blocks, instructions, phis; nothing here knows the IR's ops."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.debug import FunctionDebug, Metadata, Place
from specgen.lowering.amdgpu.types import Value


@dataclass
class Phi:
    """A phi node whose incoming values are added as blocks branch to it."""

    result: Value
    line: int
    incoming: list[tuple[str, str]] = field(default_factory=list)
    debug: str = ""


class Builder:
    """Appends to the current block. `module` collects what instructions need outside of the function."""

    def __init__(self, module: ModuleParts, debug: FunctionDebug) -> None:
        self.module = module
        self.debug = debug
        self.lines: list[str] = []
        self.block = "entry"
        self.location = debug.at(None)
        self._numbers = 0
        self._blocks = 0
        self._phis: list[Phi] = []
        self.lines.append("entry:")

    def place(self, place: Place | None, discriminator: int = 0) -> None:
        """Where the next instructions come from."""
        self.location = self.debug.at(place, discriminator)

    # Instructions

    def emit(self, type_: str, text: str) -> Value:
        """An instruction with a result of a type."""
        self._numbers += 1
        result = Value(type_, f"%t.{self._numbers}")
        self.lines.append(f"  {result.ref} = {text}, !dbg {self.location}")
        return result

    def reserve(self) -> int:
        """A place in the current block that `emit_at` may fill later."""
        self.lines.append("")
        return len(self.lines) - 1

    def emit_at(self, place: int, type_: str, text: str) -> Value:
        """An instruction with a result of a type at a reserved place, behind those that are there already."""
        self._numbers += 1
        result = Value(type_, f"%t.{self._numbers}")
        line = f"  {result.ref} = {text}, !dbg {self.location}"
        self.lines[place] = f"{self.lines[place]}\n{line}" if self.lines[place] else line
        return result

    def effect(self, text: str, metadata: str = "") -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}, !dbg {self.location}{metadata}")

    def binary(self, opcode: str, left: Value, right: Value) -> Value:
        """`opcode` (with flags) on two values of one type."""
        return self.emit(left.type, f"{opcode} {left}, {right.ref}")

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        """`icmp` or `fcmp`, by the predicate `icmp slt`, `fcmp olt`, ..."""
        return self.emit(types.with_element(left.type, "i1"), f"{predicate} {left}, {right.ref}")

    def cast(self, opcode: str, value: Value, type_: str) -> Value:
        """A conversion; nothing when the types agree."""
        return value if value.type == type_ else self.emit(type_, f"{opcode} {value} to {type_}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds."""
        return self.emit(yes.type, f"select {condition}, {yes}, {no}")

    def extract(self, vector: Value, position: Value | int) -> Value:
        """One element of a vector."""
        index = f"i32 {position}" if isinstance(position, int) else str(position)
        return self.emit(types.element_text(vector.type), f"extractelement {vector}, {index}")

    def insert(self, vector: Value, item: Value, position: Value | int) -> Value:
        """The vector with one element replaced."""
        index = f"i32 {position}" if isinstance(position, int) else str(position)
        return self.emit(vector.type, f"insertelement {vector}, {item}, {index}")

    def gather(self, items: list[Value]) -> Value:
        """A vector from its elements."""
        result = Value(f"<{len(items)} x {items[0].type}>", "poison")
        for position, item in enumerate(items):
            result = self.insert(result, item, position)
        return result

    def splat(self, item: Value, type_: str) -> Value:
        """A value in every element of a vector type; the value itself for a scalar type."""
        count = types.count_text(type_)
        if count is None:
            return item
        first = self.insert(Value(type_, "poison"), item, 0)
        return self.emit(type_, f"shufflevector {first}, {type_} poison, <{count} x i32> zeroinitializer")

    def intrinsic(self, name: str, result: str, *operands: Value, attributes: str = "") -> Value:
        """A call of `llvm.NAME`; `attributes` stand before the result type (fast-math flags)."""
        return self.emit(result, self._call(name, result, operands, attributes))

    def intrinsic_effect(self, name: str, *operands: Value) -> None:
        """A call of an intrinsic without a result."""
        self.effect(self._call(name, "void", operands, ""))

    def _call(self, name: str, result: str, operands: tuple[Value, ...], attributes: str) -> str:
        self.module.declare(f"declare {result} @llvm.{name}({', '.join(o.type for o in operands)})")
        prefix = f"call {attributes} " if attributes else "call "
        return f"{prefix}{result} @llvm.{name}({', '.join(map(str, operands))})"

    # Control flow

    def new_block(self) -> str:
        """A label for a block that is to come."""
        self._blocks += 1
        return f"b.{self._blocks}"

    def start(self, label: str) -> None:
        """Go on in a new block."""
        self.lines.append(f"{label}:")
        self.block = label

    def phi(self, type_: str) -> Phi:
        """A phi in the block that has just started."""
        self._numbers += 1
        phi = Phi(Value(type_, f"%t.{self._numbers}"), len(self.lines), debug=self.location)
        self.lines.append("")
        self._phis.append(phi)
        return phi

    def jump(self, label: str) -> None:
        """An unconditional branch."""
        self.effect(f"br label %{label}")

    def branch(self, condition: Value, yes: str, no: str, metadata: str = "") -> None:
        """A conditional branch."""
        self.effect(f"br {condition}, label %{yes}, label %{no}", metadata)

    def incoming(self, phis: list[Phi], values: list[Value]) -> None:
        """The values that phis have when control comes from the current block."""
        for phi, value in zip(phis, values, strict=True):
            phi.incoming.append((value.ref, self.block))

    def text(self) -> str:
        """The function's blocks."""
        for phi in self._phis:
            pairs = ", ".join(f"[ {ref}, %{label} ]" for ref, label in phi.incoming)
            self.lines[phi.line] = f"  {phi.result.ref} = phi {phi.result.type} {pairs}, !dbg {phi.debug}"
        return "\n".join(self.lines) + "\n"


class ModuleParts:
    """Declarations, globals and metadata of one LLVM module."""

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.declarations: dict[str, None] = {}
        self.globals: list[str] = []

    def declare(self, text: str) -> None:
        """Declare an intrinsic once."""
        self.declarations[text] = None

    def workgroup_memory(self, byte_count: int, align: int = 16) -> str:
        """A global in workgroup memory; its reference."""
        name = f"@memory.{len(self.globals)}"
        self.globals.append(f"{name} = internal addrspace(3) global [{byte_count} x i8] poison, align {align}")
        return name


def integer(type_: str, value: int) -> Value:
    """An integer constant, for a vector type in every element; bits above the width are cut off."""
    bits = types.bits_text(type_)
    value &= (1 << bits) - 1
    if bits > 1 and value >> (bits - 1):
        value -= 1 << bits
    text = ("true" if value else "false") if bits == 1 else str(value)
    return constant(type_, [text])


def floating(type_: str, value: float) -> Value:
    """A float constant (`half`, `float`, `double` or a vector of them), rounded to nearest even."""
    return constant(type_, [float_text(types.element_text(type_), value)])


def float_text(scalar: str, value: float) -> str:
    """LLVM's text of a float: its bits as half, else as double."""
    if scalar == "half":
        return f"0xH{struct.unpack('<H', _half(value))[0]:04X}"
    if scalar == "float":
        value = _single(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _half(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


def _single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def constant(type_: str, elements: list[str]) -> Value:
    """A constant from the text of its elements; one element stands for all of a vector."""
    count = types.count_text(type_)
    if count is None:
        return Value(type_, elements[0])
    scalar = types.element_text(type_)
    elements = elements * count if len(elements) == 1 else elements
    return Value(type_, f"<{', '.join(f'{scalar} {e}' for e in elements)}>")
