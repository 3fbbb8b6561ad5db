"""Text to syntax tree: Python's grammar through `ast`, then a whitelist with a message for everything else."""

from __future__ import annotations

import ast
import keyword
import math
import re
import warnings
from collections.abc import Iterator

from specgen.diagnostics import Diagnostic, DiagnosticError, Source, Span
from specgen.expressions.tree import Expr, Piece, locate, piece_span

MAX_DEPTH = 64
"""Nesting of an expression's tree, and of its brackets."""
MAX_LENGTH = 4000
"""Characters of an expression."""

_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_UNARY = (ast.USub, ast.Invert, ast.Not)
_COMPARE = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

_SPELLINGS = (
    (re.compile(r"&&"), "there is no `&&`", "Write `and`."),
    (re.compile(r"\|\|"), "there is no `||`", "Write `or`."),
    (re.compile(r"!(?!=)"), "there is no `!`", "Write `not`."),
    (re.compile(r"\?"), "there is no `? :`", "Write `a if c else b`."),
    (re.compile(r"(?<![=!<>])=(?!=)"), "`=` assigns nothing here", "Compare with `==`."),
    (re.compile(r"#"), "an expression has no comments", "Move the comment out of the text."),
    (re.compile(r"\\"), "an expression has no backslash", "Remove it; an expression may span lines as it is."),
    (re.compile(r"[{}]"), "there are no braces in expressions", "Remove them."),
)
"""Looked for only in text that Python refuses (the last three: always), in this order."""
_ALWAYS = _SPELLINGS[5:]

_NODES = {
    ast.Constant: "a literal of this kind",
    ast.Lambda: "`lambda`",
    ast.Dict: "a mapping",
    ast.Set: "a set",
    ast.List: "a list",
    ast.ListComp: "a list",
    ast.SetComp: "a set",
    ast.DictComp: "a mapping",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield`",
    ast.JoinedStr: "a string",
    ast.NamedExpr: "`:=`",
    ast.Starred: "`*`",
    ast.Tuple: "a comma outside of a subscript or a call",
    ast.Slice: "a slice outside of a subscript",
    ast.GeneratorExp: "a generator outside of a check's formula",
}
_OPERATORS = {
    ast.Pow: ("`**`", "Multiply, or use `exp2`."),
    ast.MatMult: ("`@`", "Write `mma(a, b)`."),
    ast.Is: ("`is`", "Write `==`."),
    ast.IsNot: ("`is not`", "Write `!=`."),
    ast.In: ("`in`", "Write comparisons."),
    ast.NotIn: ("`not in`", "Write comparisons."),
    ast.UAdd: ("a sign `+`", "Leave it out; `base:+count` belongs into a subscript."),
}


def range_count(node: ast.Slice) -> ast.expr | None:
    """The count of a slice `base:+count`; None for a whole axis `:`."""
    return node.upper.operand if isinstance(node.upper, ast.UnaryOp) else None


def constant(value: int | float | bool, span: Span) -> Expr:
    """The expression of a number or a boolean of the document."""
    if isinstance(value, bool):
        return Expr("true" if value else "false", ast.Constant(value), span)
    return Expr(repr(value), ast.Constant(value), span)


def unreadable(text: str, span: Span) -> Expr:
    """What stands in for an expression that could not be read: a constant without a value, which no one judges."""
    return Expr(text, ast.Constant(None), span)


def parse_expression(text: str, span: Span, *, source: Source | None = None, formula: bool = False) -> Expr:
    """Parse `text`, the value of the document's scalar at `span`; `formula` admits generators (checks).

    `source` lets errors point into scalars that are folded over lines. Raises `DiagnosticError` with SG-SYNTAX and
    a span inside the expression.
    """
    return _Parser(text, span, locate(text, span, source), formula).parse()


class _Parser:
    def __init__(self, text: str, span: Span, pieces: tuple[Piece, ...], formula: bool) -> None:
        self.text, self.span, self.pieces, self.formula = text, span, pieces, formula

    def fail(self, start: int, end: int, message: str, hint: str | None = None) -> DiagnosticError:
        place = piece_span(self.pieces, self.span, start, end)
        return DiagnosticError([Diagnostic("SG-SYNTAX", place, message, found=self.text[start:end] or None, hint=hint)])

    def fail_at(self, node: ast.AST, message: str, hint: str | None = None) -> DiagnosticError:
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", len(self.text))
        return self.fail(start, end, message, hint)

    def parse(self) -> Expr:
        self.check_text()
        indent = len(self.text) - len(self.text.lstrip())
        body = re.sub(r"\s", " ", self.text[indent:])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(body, mode="eval").body
        except SyntaxError as error:
            raise self.refused(indent, error) from None
        except (RecursionError, MemoryError, ValueError):
            raise self.fail(0, len(self.text), f"nested deeper than {MAX_DEPTH}", "Name parts with `let`.") from None
        if indent:
            for node in ast.walk(tree):
                if hasattr(node, "col_offset"):
                    node.col_offset += indent
                    node.end_col_offset += indent  # type: ignore[attr-defined]
        self.check_tree(tree)
        return Expr(self.text, tree, self.span, self.pieces)

    def check_text(self) -> None:
        if len(self.text) > MAX_LENGTH:
            raise self.fail(MAX_LENGTH, len(self.text), f"an expression has at most {MAX_LENGTH} characters")
        if not self.text.strip():
            raise self.fail(0, len(self.text), "an expression is expected here")
        depth = 0
        for offset, character in enumerate(self.text):
            if not character.isspace() and not 32 <= ord(character) < 127:
                raise self.fail(offset, offset + 1, f"the character {character!a} has no meaning in an expression")
            if character in "\"'`":
                raise self.fail(
                    offset, offset + 1, "an expression has no strings", "Write the word bare, without quotes."
                )
            depth += (character in "([") - (character in ")]")
            if depth > MAX_DEPTH:
                raise self.fail(offset, offset + 1, f"nested deeper than {MAX_DEPTH}", "Name parts with `let`.")
        self.look_for(_ALWAYS)

    def look_for(self, spellings: tuple[tuple[re.Pattern[str], str, str], ...]) -> None:
        for pattern, message, hint in spellings:
            if found := pattern.search(self.text):
                raise self.fail(found.start(), found.end(), message, hint)

    def refused(self, indent: int, error: SyntaxError) -> DiagnosticError:
        """A better message than Python's for what people write out of habit."""
        try:
            self.look_for(_SPELLINGS[:5] if "(" not in self.text else _SPELLINGS[:4])
        except DiagnosticError as better:
            return better
        words = set(keyword.kwlist) - {"and", "or", "not", "if", "else", "for", "in", "True", "False", "None"}
        for found in re.finditer(r"[A-Za-z_]\w*", self.text):
            if found.group() in words:
                message = f"`{found.group()}` is a keyword of the expression language and cannot be a name"
                return self.fail(found.start(), found.end(), message, "Choose another name.")
        start = indent + max((error.offset or 1) - 1, 0)
        end = indent + (error.end_offset or 0) - 1
        start = min(start, len(self.text) - 1)
        end = min(max(end, start + 1), len(self.text))
        reason = (error.msg or "invalid syntax").split(". Perhaps")[0].split(" (")[0]
        return self.fail(start, end, f"this is no expression: {reason}")

    def check_tree(self, tree: ast.expr) -> None:
        stack: list[tuple[ast.AST, int]] = [(tree, 1)]
        while stack:
            node, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise self.fail_at(node, f"nested deeper than {MAX_DEPTH}", "Name parts with `let`.")
            stack.extend((child, depth + 1) for child in self.children(node))

    def children(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parts of a node to look at; raises for what is not whitelisted."""
        match node:
            case ast.Constant():
                self.check_constant(node)
            case ast.Name():
                pass
            case ast.Attribute(value=ast.Name()):
                pass
            case ast.Attribute():
                raise self.fail_at(node, "a dot follows a name only, as in `target.matrix`")
            case ast.BinOp(op=op) if isinstance(op, (*_BINARY, *_BITWISE)):
                yield from (node.left, node.right)
            case ast.UnaryOp(op=op) if isinstance(op, _UNARY):
                yield node.operand
            case ast.BinOp() | ast.UnaryOp():
                self.refuse_operator(node, node.op)
            case ast.BoolOp():
                yield from node.values
            case ast.Compare():
                for operator in node.ops:
                    if not isinstance(operator, _COMPARE):
                        self.refuse_operator(node, operator)
                yield from (node.left, *node.comparators)
            case ast.IfExp():
                yield from (node.test, node.body, node.orelse)
            case ast.Subscript():
                yield node.value
                yield from self.subscripts(node)
            case ast.Call():
                yield from self.arguments(node)
            case ast.GeneratorExp() if self.formula:
                yield from self.generator(node)
            case _:
                raise self.fail_at(node, f"{_NODES.get(type(node), 'this')} is not part of the expression language")

    def refuse_operator(self, node: ast.AST, operator: ast.AST) -> None:
        name, hint = _OPERATORS[type(operator)]
        raise self.fail_at(node, f"there is no operator {name}", hint)

    def check_constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or value is None:
            hint = {True: "Write `true`.", False: "Write `false`."}.get(value)  # type: ignore[arg-type]
            raise self.fail_at(node, f"`{value}` is not part of the expression language", hint)
        if isinstance(value, float) and math.isinf(value):
            raise self.fail_at(node, "this number is too large for 64-bit floats", "Write `inf`.")
        if not isinstance(value, (int, float)):
            raise self.fail_at(node, "a literal of this kind is not part of the expression language")

    def subscripts(self, node: ast.Subscript) -> Iterator[ast.AST]:
        if not isinstance(node.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            raise self.fail_at(node.value, "only a name or a call can have subscripts", "Name the value with `let`.")
        index = node.slice
        for part in index.elts if isinstance(index, ast.Tuple) else (index,):
            if not isinstance(part, ast.Slice):
                yield part
                continue
            whole = part.lower is None and part.upper is None
            counted = isinstance(part.upper, ast.UnaryOp) and isinstance(part.upper.op, ast.UAdd)
            if part.step is not None or not (whole or (counted and part.lower is not None)):
                message = "a range of elements is written `first:+count`, a whole axis `:`"
                raise self.fail_at(part, message)
            if not whole:
                yield from (part.lower, part.upper.operand)  # type: ignore[misc, union-attr]

    def arguments(self, node: ast.Call) -> Iterator[ast.AST]:
        if not isinstance(node.func, (ast.Name, ast.Attribute)):
            raise self.fail_at(node.func, "only a function's name can be called")
        yield node.func
        yield from node.args
        for named in node.keywords:
            if named.arg is None:
                raise self.fail_at(named, "`**` is not part of the expression language")
            yield named.value

    def generator(self, node: ast.GeneratorExp) -> Iterator[ast.AST]:
        yield node.elt
        for part in node.generators:
            call = part.iter
            named = isinstance(part.target, ast.Name)
            ranged = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
            if not named or not ranged or part.is_async:
                raise self.fail_at(part.target, "a generator runs over `range`: `for i in range(n)`")
            yield from call.args  # type: ignore[attr-defined]
            yield from part.ifs
