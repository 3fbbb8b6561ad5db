"""Comparisons, selects and integer conversions on vectors, which xDSL's `arith` has on scalars only.

Each op is a plain subclass of xDSL's, with its operands, properties and syntax, whose verifier takes vectors too;
`isinstance` tests of passes hold for both.
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


def like(shape: Attribute, element: Attribute) -> Attribute:
    """`element`, or a vector of it when `shape` is a vector type."""
    return VectorType(element, shape.get_shape()) if isinstance(shape, VectorType) else element


def _element(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, VectorType) else type_


def _require(op: Operation, holds: bool) -> None:
    if not holds:
        types = ", ".join(str(v.type) for v in (*op.operands, *op.results))
        raise VerifyException(f"{op.name}: the types {types} do not fit")


def _check_arity(op: Operation, operands: int) -> None:
    if len(op.operands) != operands or len(op.results) != 1:
        raise VerifyException(f"{op.name}: {operands} operands and one result wanted")


def _number(predicate: int | str, names: list[str]) -> IntegerAttr[IntegerType]:
    return IntegerAttr(names.index(predicate) if isinstance(predicate, str) else predicate, 64)


def _check_comparison(op: arith.CmpiOp | arith.CmpfOp, names: list[str], kinds: tuple[type, ...] | type) -> None:
    _check_arity(op, 2)
    _require(op, op.lhs.type == op.rhs.type and isinstance(_element(op.lhs.type), kinds))
    _require(op, op.result.type == like(op.lhs.type, i1))
    if not 0 <= op.predicate.value.data < len(names):
        raise VerifyException(f"{op.name}: no predicate {op.predicate.value.data}")


_FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)
_STRICT = FastMathFlagsAttr("none")


class CmpiOp(arith.CmpiOp):
    """Integer comparison; the result has the operands' shape."""

    def __init__(self, operand1: Operation | SSAValue, operand2: Operation | SSAValue, arg: int | str) -> None:
        left, right = SSAValue.get(operand1), SSAValue.get(operand2)
        properties = {"predicate": _number(arg, arith.CMPI_COMPARISON_OPERATIONS)}
        IRDLOperation.__init__(self, operands=[left, right], result_types=[like(left.type, i1)], properties=properties)

    def verify_(self) -> None:
        _check_comparison(self, arith.CMPI_COMPARISON_OPERATIONS, (IntegerType, IndexType))


class CmpfOp(arith.CmpfOp):
    """Float comparison; the result has the operands' shape."""

    def __init__(
        self,
        operand1: Operation | SSAValue,
        operand2: Operation | SSAValue,
        arg: int | str,
        fastmath: FastMathFlagsAttr = _STRICT,
    ) -> None:
        left, right = SSAValue.get(operand1), SSAValue.get(operand2)
        properties = {"predicate": _number(arg, arith.CMPF_COMPARISON_OPERATIONS), "fastmath": fastmath}
        IRDLOperation.__init__(self, operands=[left, right], result_types=[like(left.type, i1)], properties=properties)

    def verify_(self) -> None:
        _check_comparison(self, arith.CMPF_COMPARISON_OPERATIONS, _FLOATS)


class SelectOp(arith.SelectOp):
    """A choice by one condition, or element by element by a vector of them."""

    def verify_(self) -> None:
        _check_arity(self, 3)
        _require(self, self.lhs.type == self.rhs.type == self.result.type)
        _require(self, self.cond.type in (i1, like(self.result.type, i1)))

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        """`%c, %a, %b : T`, or `: vector<nxi1>, T` for a vector condition."""
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition: Attribute = i1
        type_ = parser.parse_type()
        if parser.parse_optional_punctuation(","):
            condition, type_ = type_, parser.parse_type()
        op = cls(*parser.resolve_operands(operands, [condition, type_, type_], parser.pos))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        """The form that `parse` reads."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


def _check_conversion(op: Operation, source: type | tuple[type, ...], target: type | tuple[type, ...]) -> None:
    _check_arity(op, 1)
    given, made = op.operands[0].type, op.results[0].type
    _require(op, like(given, i1) == like(made, i1))
    _require(op, isinstance(_element(given), source) and isinstance(_element(made), target))


def _check_widths(op: Operation, narrows: bool) -> None:
    _check_conversion(op, IntegerType, IntegerType)
    source, target = _element(op.operands[0].type), _element(op.results[0].type)
    assert isinstance(source, IntegerType)
    assert isinstance(target, IntegerType)
    _require(op, source.width.data > target.width.data if narrows else source.width.data < target.width.data)


class _Conversion(IRDLOperation):
    """The syntax of conversions: `%x : T to U`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the form; types are checked by the verifier."""
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        target = parser.parse_type()
        operands = parser.resolve_operands([operand], [source], parser.pos)
        return cls.create(operands=operands, result_types=[target], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """The form that `parse` reads."""
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" to ")
        printer.print_attribute(self.results[0].type)


class TruncIOp(_Conversion, arith.TruncIOp):
    """Keeps the low bits."""

    def verify_(self) -> None:
        _check_widths(self, narrows=True)


class ExtSIOp(_Conversion, arith.ExtSIOp):
    """Copies the sign."""

    def verify_(self) -> None:
        _check_widths(self, narrows=False)


class ExtUIOp(_Conversion, arith.ExtUIOp):
    """Adds zeros."""

    def verify_(self) -> None:
        _check_widths(self, narrows=False)


class SIToFPOp(_Conversion, arith.SIToFPOp):
    """A signed integer to a float."""

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, _FLOATS)


class UIToFPOp(_Conversion, arith.UIToFPOp):
    """An unsigned integer to a float."""

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, _FLOATS)


class IndexCastOp(_Conversion, arith.IndexCastOp):
    """Between `index` and an integer type, sign-extending."""

    def verify_(self) -> None:
        _check_conversion(self, (IntegerType, IndexType), (IntegerType, IndexType))
        sides = [isinstance(_element(v.type), IndexType) for v in (*self.operands, *self.results)]
        _require(self, sides[0] != sides[1])


REPLACED: tuple[type[Operation], ...] = (
    CmpiOp,
    CmpfOp,
    SelectOp,
    TruncIOp,
    ExtSIOp,
    ExtUIOp,
    SIToFPOp,
    UIToFPOp,
    IndexCastOp,
)


def dialect() -> Dialect:
    """`arith` with the ops of this module in place of xDSL's."""
    replaced = {op.name: op for op in REPLACED}
    operations = [replaced.get(op.name, op) for op in arith.Arith.operations]
    return Dialect("arith", operations, list(arith.Arith.attributes), list(arith.Arith._interfaces))
