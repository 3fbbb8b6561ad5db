"""Types of the language and how the IR spells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A scalar type. `kind`: float, signed, unsigned, bool, index; `int` and `real` are numbers without a type yet."""

    name: str
    kind: str
    bits: int
    ir: str
    """The IR's type of a value."""
    memory: str
    """The IR's type of an element in memory."""

    @property
    def element(self) -> Scalar:
        """The type itself: scalars and vectors answer alike."""
        return self

    @property
    def is_float(self) -> bool:
        return self.kind in ("float", "real")

    @property
    def is_integer(self) -> bool:
        """Whether it counts: sized integers, `index` and integer literals."""
        return self.kind in ("signed", "unsigned", "index", "int")

    @property
    def is_untyped(self) -> bool:
        """Whether it is a static number that takes the type of its partner."""
        return self.kind in ("int", "real")

    @property
    def size(self) -> int:
        """Bytes of an element in memory."""
        return max(self.bits, 8) // 8

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type or `bool`."""
        if self.kind == "bool":
            return 0, 1
        if self.kind == "unsigned":
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    def __str__(self) -> str:
        return self.name


def _rows() -> list[Scalar]:
    floats = [Scalar(n, "float", b, n, n) for n, b in (("f64", 64), ("f32", 32), ("f16", 16), ("bf16", 16))]
    signed = [Scalar(f"i{b}", "signed", b, f"i{b}", f"i{b}") for b in (64, 32, 16, 8)]
    unsigned = [Scalar(f"u{b}", "unsigned", b, f"i{b}", f"i{b}") for b in (64, 32, 16, 8)]
    return [
        *floats,
        *signed,
        *unsigned,
        Scalar("bool", "bool", 1, "i1", "i8"),
        Scalar("index", "index", 64, "index", "i64"),
    ]


SCALARS: dict[str, Scalar] = {s.name: s for s in _rows()}
"""The scalar types by name."""
F64, F32, F16, BF16 = (SCALARS[n] for n in ("f64", "f32", "f16", "bf16"))
I64, I32, I16, I8 = (SCALARS[n] for n in ("i64", "i32", "i16", "i8"))
U64, U32, U16, U8 = (SCALARS[n] for n in ("u64", "u32", "u16", "u8"))
BOOL, INDEX = SCALARS["bool"], SCALARS["index"]
INT = Scalar("integer literal", "int", 0, "?", "?")
REAL = Scalar("float literal", "real", 0, "?", "?")


@dataclass(frozen=True)
class Vector:
    """`size` elements of one scalar type, private to a work-item."""

    element: Scalar
    size: int

    @property
    def ir(self) -> str:
        return f"vector<{self.size}x{self.element.ir}>"

    @property
    def is_untyped(self) -> bool:
        return self.element.is_untyped

    def __str__(self) -> str:
        return f"{{vector: {self.element}, size: {self.size}}}"


Type = Scalar | Vector


def same_shape(type_: Type, element: Scalar) -> Type:
    """`type_` with other elements."""
    return Vector(element, type_.size) if isinstance(type_, Vector) else element
