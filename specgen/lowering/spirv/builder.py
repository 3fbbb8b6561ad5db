"""A SPIR-V module under construction: ids, sections, types, constants, encoding.

Operands are ids (`Id`), literal words (`int`), literal text (`Text`) or enumerants written `"Kind.A|B"`.
Layout of the binary: SPIR-V specification 1.6, section 2.4 (logical layout) and 2.3 (physical layout).
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from specgen.lowering.spirv._gen.tables import ENUMS, GLSL, OPS

MAGIC = 0x07230203
VERSION_1_6 = 0x00010600
GENERATOR = 0
"""Generator's magic number of an unregistered tool."""

SECTIONS = (
    "extension",
    "import",
    "memory_model",
    "entry_point",
    "execution_mode",
    "debug_string",
    "debug_name",
    "debug_processed",
    "annotation",
    "global",
    "function",
    "helper",
)
"""Order of the logical layout behind the capabilities."""


class Id(int):
    """A result id; refuses truth so that a forgotten comparison cannot pass for one."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise TypeError("the truth of a SPIR-V id is not known at build time")


@dataclass(frozen=True)
class Text:
    """A literal string operand."""

    text: str


Operand = Id | int | str | Text


@functools.lru_cache(maxsize=4096)
def enumerant(text: str) -> int:
    """The value of `"Kind.Name"` or of a mask `"Kind.A|B"`. Raises `KeyError` for an unknown one."""
    kind, _, names = text.partition(".")
    value = 0
    for name in names.split("|"):
        value |= ENUMS[kind][name].value
    return value


def text_words(text: str) -> list[int]:
    """A literal string as words: UTF-8, ended by a zero byte, padded with zeros."""
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def _words(operands: Iterable[Operand]) -> list[int]:
    words: list[int] = []
    for operand in operands:
        if isinstance(operand, Text):
            words += text_words(operand.text)
        elif isinstance(operand, str):
            words.append(enumerant(operand))
        else:
            words.append(int(operand) & 0xFFFFFFFF)
    return words


class Instruction:
    """One encoded instruction; operands may be appended until the module is assembled."""

    __slots__ = ("code", "words")

    def __init__(self, name: str, words: list[int]) -> None:
        self.code = OPS[name].code
        self.words = words

    def append(self, *operands: Operand) -> None:
        """Add operands at the end: incoming edges of an `OpPhi`."""
        self.words += _words(operands)

    def encoded(self) -> list[int]:
        """The words, the first with length and opcode."""
        return [(len(self.words) + 1) << 16 | self.code, *self.words]


def float_words(kind: str, value: float) -> tuple[int, ...]:
    """The bits of a float constant of `kind`, low word first."""
    formats = {"f16": "<e2x", "f32": "<f", "f64": "<d"}
    try:
        data = struct.pack(formats[kind], value)
    except OverflowError:
        infinite = float("inf") if value > 0 else float("-inf")
        data = struct.pack(formats[kind], infinite)
    return struct.unpack(f"<{len(data) // 4}I", data)


REGISTER_BITS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "f16": 16, "f32": 32, "f64": 64}
"""Widths of the numeric kinds. The kinds are types of SPIR-V values: integers have no sign, `bool` has no width."""


@dataclass
class Builder:
    """Sections of instructions, with types and constants made once."""

    sections: dict[str, list[Instruction]] = field(default_factory=lambda: {name: [] for name in SECTIONS})
    bound: int = 1
    integers: dict[int, int] = field(default_factory=dict)
    """Values of integer constants by id, in signed form."""
    floats: dict[int, float] = field(default_factory=dict)
    """Values of float constants by id."""
    named: dict[tuple[str, str], Id] = field(default_factory=dict)
    """Strings and built-in variables that functions share."""
    _unique: dict[tuple[str, tuple[Operand, ...], Id | None], Id] = field(default_factory=dict)

    def new_id(self) -> Id:
        """A fresh id."""
        result = Id(self.bound)
        self.bound += 1
        return result

    def emit(self, section: str, name: str, *operands: Operand, type: Id | None = None, result: Id | None = None) -> Id:
        """Append an instruction; the id of its result (0 without one)."""
        return self.instruction(section, name, operands, type, result)[1]

    def instruction(
        self, section: str, name: str, operands: Sequence[Operand], type: Id | None = None, result: Id | None = None
    ) -> tuple[Instruction, Id]:
        """As `emit`, and the instruction itself."""
        words: list[int] = []
        kinds = OPS[name].operands
        if type is not None:
            words.append(int(type))
        if "IdResult" in kinds.split():
            result = self.new_id() if result is None else result
            words.append(int(result))
        made = Instruction(name, words + _words(operands))
        self.sections[section].append(made)
        return made, Id(0) if result is None else result

    def unique(self, name: str, *operands: Operand, type: Id | None = None) -> Id:
        """A global instruction that exists once for equal operands."""
        key = (name, operands, type)
        if key not in self._unique:
            self._unique[key] = self.emit("global", name, *operands, type=type)
        return self._unique[key]

    # Types

    @property
    def void(self) -> Id:
        """OpTypeVoid."""
        return self.unique("OpTypeVoid")

    def type(self, kind: str) -> Id:
        """The type of a scalar kind."""
        if kind == "bool":
            return self.unique("OpTypeBool")
        bits = REGISTER_BITS[kind]
        return self.unique("OpTypeFloat", bits) if kind[0] == "f" else self.unique("OpTypeInt", bits, 0)

    def float_widths(self) -> list[int]:
        """The widths of the float types made so far."""
        return sorted(int(operands[0]) for name, operands, _ in self._unique if name == "OpTypeFloat")  # type: ignore[arg-type]

    def vector(self, kind: str, count: int) -> Id:
        """A vector type of 2 to 4 components; for 1 the scalar."""
        return self.type(kind) if count == 1 else self.unique("OpTypeVector", self.type(kind), count)

    def pointer(self, storage: str, pointee: Id) -> Id:
        """A pointer type; `storage` is a word of StorageClass."""
        return self.unique("OpTypePointer", f"StorageClass.{storage}", pointee)

    def array(self, element: Id, count: int) -> Id:
        """An array type without layout."""
        return self.unique("OpTypeArray", element, self.constant("u32", count))

    # Constants

    def constant(self, kind: str, value: int | float | bool) -> Id:
        """A constant; integers are taken modulo their width, floats are rounded to nearest even."""
        if kind == "bool":
            return self.unique("OpConstantTrue" if value else "OpConstantFalse", type=self.type(kind))
        if kind[0] == "f":
            made = self.unique("OpConstant", *float_words(kind, float(value)), type=self.type(kind))
            self.floats[made] = float(value)
            return made
        whole = int(value) % (1 << REGISTER_BITS[kind])
        words = (whole & 0xFFFFFFFF, whole >> 32) if kind == "u64" else (whole,)
        made = self.unique("OpConstant", *words, type=self.type(kind))
        self.integers[made] = whole - (whole >> (REGISTER_BITS[kind] - 1) << REGISTER_BITS[kind])
        return made

    @functools.cached_property
    def glsl(self) -> Id:
        """The GLSL.std.450 import."""
        return self.emit("import", "OpExtInstImport", Text("GLSL.std.450"))

    def assemble(self, capabilities: Sequence[str], extensions: Sequence[str]) -> bytes:
        """The binary module."""
        words = [MAGIC, VERSION_1_6, GENERATOR, self.bound, 0]
        for name in capabilities:
            words += Instruction("OpCapability", [enumerant(f"Capability.{name}")]).encoded()
        for name in extensions:
            words += Instruction("OpExtension", text_words(name)).encoded()
        for section in SECTIONS:
            for made in self.sections[section]:
                words += made.encoded()
        return struct.pack(f"<{len(words)}I", *words)


def glsl_number(name: str) -> int:
    """The number of a GLSL.std.450 instruction."""
    return GLSL[name]
