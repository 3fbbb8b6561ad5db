"""Closed formulas of the manifest: integers and booleans over the scalar arguments of a launch."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from specgen.diagnostics import Span
from specgen.expressions.parse import parse_expression

Number = int | float | bool

_BINARY: dict[type, Callable[[Any, Any], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type, Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type, Callable[[Any], Number]] = {
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_CALLS: dict[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "clamp": lambda x, lo, hi: max(min(x, hi), lo),
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
    "index": int,
}
_WORDS: dict[str, Number] = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def evaluate_formula(text: str, env: Mapping[str, Number]) -> Number:
    """The value of a closed formula under `env` (scalar argument -> value).

    Raises `DiagnosticError` for text that is no expression, `KeyError` for a name that `env` lacks,
    `ZeroDivisionError` for a division by zero, `TypeError` for a construct that formulas do not have.
    """
    return evaluate_tree(parse_expression(text, Span("<formula>", 1, 1, 1, len(text) + 1)).tree, env)


def evaluate_tree(node: ast.AST, env: Mapping[str, Number]) -> Number:
    """The value of a formula's tree; raises as `evaluate_formula` does."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return _WORDS[name] if name in _WORDS else env[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](evaluate_tree(left, env), evaluate_tree(right, env))
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](evaluate_tree(operand, env))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(evaluate_tree(v, env) for v in values)
        case ast.BoolOp(values=values):
            return any(evaluate_tree(v, env) for v in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            chain = [evaluate_tree(v, env) for v in (left, *comparators)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, chain, chain[1:], strict=False))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return evaluate_tree(body if evaluate_tree(test, env) else orelse, env)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _CALLS:
            return _CALLS[name](*(evaluate_tree(a, env) for a in args))
        case _:
            raise TypeError(f"{type(node).__name__} is not part of a launch formula")
