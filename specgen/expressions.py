"""The expression language: text is parsed with Python's `ast` under a whitelist and never evaluated as Python."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from specgen.diagnostics import Span


@dataclass(frozen=True)
class Expr:
    """A parsed expression: its text, its whitelisted syntax tree and where the text stands in the file.

    A scalar that the document gives as a number or a boolean has the tree of the constant.
    """

    text: str
    tree: ast.expr
    span: Span
