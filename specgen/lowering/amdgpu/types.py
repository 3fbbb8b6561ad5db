"""IR types as LLVM types, and the values that lowered functions pass around.

`index` is `i64`, or `i32` where facts prove that a value fits. bf16 values are `i16` bit patterns: their
arithmetic is done in f32 by explicit conversions, so that no back end's idea of bf16 enters.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute


class Value(NamedTuple):
    """An LLVM value: its type's text and how to refer to it (`%t.5`, `7`, `0x3FF0...`)."""

    type: str
    ref: str

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


_FLOATS: dict[type[Attribute], tuple[str, str, int]] = {
    Float16Type: ("f16", "half", 2),
    BFloat16Type: ("bf16", "i16", 2),
    Float32Type: ("f32", "float", 4),
    Float64Type: ("f64", "double", 8),
}
"""Name in the IR, LLVM type and bytes."""


def element(type_: Attribute) -> Attribute:
    """The element type of a vector or memref, the type itself otherwise."""
    return type_.element_type if isinstance(type_, VectorType | MemRefType) else type_


def lanes(type_: Attribute) -> int | None:
    """Elements of a vector type, None for a scalar."""
    return type_.get_shape()[0] if isinstance(type_, VectorType) else None


def name(type_: Attribute) -> str:
    """The element type's name: `index`, `i1` ... `f64`."""
    type_ = element(type_)
    if isinstance(type_, IndexType):
        return "index"
    if isinstance(type_, IntegerType):
        return f"i{type_.width.data}"
    return _FLOATS[type(type_)][0]


def is_float(type_: Attribute) -> bool:
    """Whether the elements are floats."""
    return type(element(type_)) in _FLOATS


def is_index(type_: Attribute) -> bool:
    """Whether the elements are of type `index`."""
    return isinstance(element(type_), IndexType)


def llvm_element(type_: Attribute, index_bits: int = 64) -> str:
    """The LLVM type of one element."""
    type_ = element(type_)
    if isinstance(type_, IndexType):
        return f"i{index_bits}"
    if isinstance(type_, IntegerType):
        return f"i{type_.width.data}"
    return _FLOATS[type(type_)][1]


def llvm(type_: Attribute, index_bits: int = 64) -> str:
    """The LLVM type of a value."""
    return like(type_, llvm_element(type_, index_bits))


def like(type_: Attribute, scalar: str) -> str:
    """`scalar`, or the vector of it that has as many elements as `type_`."""
    count = lanes(type_)
    return scalar if count is None else f"<{count} x {scalar}>"


def with_element(type_text: str, scalar: str) -> str:
    """An LLVM type with another element type: `("<4 x i16>", "float")` is `<4 x float>`."""
    if not type_text.startswith("<"):
        return scalar
    return f"{type_text.split(' x ')[0]} x {scalar}>"


def element_text(type_text: str) -> str:
    """The element type of an LLVM type's text."""
    return type_text.split(" x ")[1].rstrip(">") if type_text.startswith("<") else type_text


def count_text(type_text: str) -> int | None:
    """Elements of an LLVM vector type's text, None for a scalar."""
    return int(type_text[1:].split(" x ")[0]) if type_text.startswith("<") else None


def bits_text(type_text: str) -> int:
    """Bits of one element of an LLVM type's text."""
    scalar = element_text(type_text)
    return {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(scalar) or int(scalar[1:])


def size(type_: Attribute) -> int:
    """Bytes of one element in memory; i1 and `index` take 1 and 8."""
    type_ = element(type_)
    if isinstance(type_, IndexType):
        return 8
    if isinstance(type_, IntegerType):
        return max(1, type_.width.data // 8)
    return _FLOATS[type(type_)][2]


def mangled(type_text: str) -> str:
    """The suffix that intrinsic names have for a type: `f32`, `v4i16`."""
    scalar = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(element_text(type_text))
    count = count_text(type_text)
    return f"{'' if count is None else f'v{count}'}{scalar or element_text(type_text)}"
