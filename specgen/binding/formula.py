"""Closed formulas for the manifest: static parts are numbers, what is left are scalar arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from specgen.expressions import Expr, evaluate_tree, nodes

PolicyValue = int | float | bool | str


def substitute(expr: Expr, env: Mapping[str, PolicyValue]) -> str:
    """The text of `expr` with the names of `env` (also `target.x`) replaced and static parts computed.

    Words are compared away; names that `env` lacks stay: they are the scalar arguments of the launch.
    """
    return ast.unparse(_closed(expr.tree, env))


def decided(expr: Expr, env: Mapping[str, PolicyValue]) -> bool | None:
    """The value of a condition whose names are all in `env`; None for others."""
    value = _number(_closed(expr.tree, env))
    return value if isinstance(value, bool) else None


def _closed(node: ast.expr, env: Mapping[str, PolicyValue]) -> ast.expr:
    match node:
        case ast.Constant(value=bool() as flag):
            return _constant(flag)
        case ast.Name(id=name) if name in env:
            return _constant(env[name])
        case ast.Attribute(value=ast.Name(id=owner), attr=attr) if f"{owner}.{attr}" in env:
            return _constant(env[f"{owner}.{attr}"])
        case ast.Compare(left=left, ops=[op], comparators=[right]) if _is_word(left, env) or _is_word(right, env):
            same = _word(left, env) == _word(right, env)
            return ast.Name("true" if same == isinstance(op, ast.Eq) else "false")
        case ast.IfExp():
            test = _closed(node.test, env)
            if _number(test) is not None:
                return _closed(node.body if _number(test) else node.orelse, env)
            return ast.IfExp(test, _closed(node.body, env), _closed(node.orelse, env))
        case ast.Call(func=func, args=args):
            return _folded(ast.Call(func, [_closed(a, env) for a in args], []))
        case ast.BinOp():
            return _folded(ast.BinOp(_closed(node.left, env), node.op, _closed(node.right, env)))
        case ast.UnaryOp():
            return _folded(ast.UnaryOp(node.op, _closed(node.operand, env)))
        case ast.BoolOp():
            return _folded(ast.BoolOp(node.op, [_closed(v, env) for v in node.values]))
        case ast.Compare():
            parts = [_closed(c, env) for c in node.comparators]
            return _folded(ast.Compare(_closed(node.left, env), node.ops, parts))
        case _:
            return node


def _constant(value: PolicyValue) -> ast.expr:
    if isinstance(value, str):
        return ast.Name(value)
    if isinstance(value, bool):
        return ast.Name("true" if value else "false")
    return ast.Constant(value)


def _number(node: ast.expr) -> int | float | bool | None:
    """The value of a part without free names, None for others."""
    if any(isinstance(n, ast.Name) and n.id not in ("true", "false", "inf", "nan") for n in _operands(node)):
        return None
    try:
        return evaluate_tree(node, {})
    except (KeyError, TypeError, ZeroDivisionError, ValueError, OverflowError):
        return None


def _operands(node: ast.expr) -> list[ast.AST]:
    parts = nodes(node)
    called = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    return [n for n in parts if id(n) not in called]


def _folded(node: ast.expr) -> ast.expr:
    value = _number(node)
    return node if value is None else _constant(value)


def _is_word(node: ast.expr, env: Mapping[str, PolicyValue]) -> bool:
    return isinstance(node, ast.Name) and isinstance(env.get(node.id), str)


def _word(node: ast.expr, env: Mapping[str, PolicyValue]) -> str:
    return str(env.get(node.id, node.id)) if isinstance(node, ast.Name) else ast.unparse(node)
