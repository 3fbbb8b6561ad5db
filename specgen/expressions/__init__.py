"""The expression language: text is parsed with Python's `ast` under a whitelist and never evaluated as Python.

`parse_expression` and `constant` make an `Expr`; `Expr.span_of` says where a part of it stands in the file.
"""

from __future__ import annotations

from specgen.expressions.formula import evaluate_formula, evaluate_tree
from specgen.expressions.parse import MAX_DEPTH, MAX_LENGTH, constant, parse_expression, range_count, unreadable
from specgen.expressions.tree import Expr, nodes

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "Expr",
    "constant",
    "evaluate_formula",
    "evaluate_tree",
    "nodes",
    "parse_expression",
    "range_count",
    "unreadable",
]
