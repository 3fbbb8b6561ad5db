"""What the builders of the model share: expressions, names, and the list of findings of one file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from specgen.diagnostics import Diagnostic, DiagnosticError, Source, Span
from specgen.diagnostics.catalogue import diagnostic
from specgen.expressions import MAX_LENGTH, Expr, constant, parse_expression, unreadable
from specgen.model import Axis, Binding, Name, Range
from specgen.schema.tree import Entry, Mapping, Node, Scalar, Sequence

RESERVED = frozenset(("target", "subgroup", "workgroup", "flat", "inf", "nan", "kept", "true", "false", "serial"))
"""Words with a meaning of their own: no name may be one."""

LONGEST_NAME = 64
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name_problem(text: str) -> tuple[str, str] | None:
    """Why `text` cannot be a name, and the way out; None when it can."""
    if not _IDENTIFIER.fullmatch(text):
        return "is no name", "Use letters, digits and `_`, not starting with a digit."
    if len(text) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters", "Shorten it."
    if keyword.iskeyword(text):
        return "is a keyword of the expression language", "Choose another name."
    if text in RESERVED:
        return "is a reserved word", "Choose another name."
    return None


class Context:
    """Builds the leaves of the model out of nodes; what is wrong with one is kept, and the leaf says that it cannot
    be read (`expressions.unreadable`, a name without characters).

    `unread` collects the texts of expressions that could not be parsed.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.unread: list[str] = []

    def report(self, code: str, span: Span, message: str, hint: str | None = None, found: str | None = None) -> None:
        """Keep an error."""
        self.findings.append(diagnostic(code, span, message, hint=hint, found=found))

    def expr(self, node: Node | None, *, formula: bool = False) -> Expr:
        """The expression of a scalar: text is parsed, numbers and booleans are constants."""
        if not isinstance(node, Scalar):
            return unreadable("", Span(self.source.name, 1, 1, 1, 1) if node is None else node.span)
        value = node.value
        if isinstance(value, (bool, int, float)):
            return constant(value, node.span)
        if not isinstance(value, str):
            return unreadable("", node.span)
        try:
            source = self.source if len(value) <= MAX_LENGTH else None
            return parse_expression(value, node.span, source=source, formula=formula)
        except DiagnosticError as error:
            self.findings += error.diagnostics
            self.unread.append(value)
            return unreadable(value, node.span)

    def optional(self, node: Node | None, *, formula: bool = False) -> Expr | None:
        """The expression of a scalar, None without a node."""
        return None if node is None else self.expr(node, formula=formula)

    def name(self, node: Node | None, what: str = "name") -> Name:
        """A checked name."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            span = node.span if node is not None else Span(self.source.name, 1, 1, 1, 1)
            return Name("", span)
        problem = name_problem(node.value)
        if problem:
            reason, hint = problem
            short = node.value if len(node.value) <= LONGEST_NAME else node.value[:20] + "..."
            self.report("SG-NAME", node.span, f"`{short}` {reason}.", hint)
        return Name(node.value, node.span)

    def range(self, node: Node | None) -> Range | None:
        """A closed range; None without a node."""
        if not isinstance(node, Sequence) or len(node.items) != 2:
            return None
        lo, hi = (self.expr(item) for item in node)
        return Range(lo, hi, node.span)

    def exprs(self, node: Node | None, *, formula: bool = False) -> tuple[Expr, ...]:
        """The expressions of a list."""
        return tuple(self.expr(item, formula=formula) for item in node) if isinstance(node, Sequence) else ()

    def axes(self, node: Node | None) -> tuple[Axis, ...]:
        """Named extents."""
        return tuple(Axis(self.name(entry.key), self.expr(entry.value)) for entry in entries(node))

    def bindings(self, node: Node | None) -> tuple[Binding, ...]:
        """Names with expressions."""
        return tuple(Binding(self.name(entry.key), self.expr(entry.value)) for entry in entries(node))


def entries(node: Node | None) -> Iterator[Entry]:
    """The entries of a mapping; nothing for what is none."""
    if isinstance(node, Mapping):
        yield from node.entries


def items(node: Node | None) -> Iterator[Mapping]:
    """The mappings of a list; what is none was reported by the schema."""
    if isinstance(node, Sequence):
        yield from (item for item in node if isinstance(item, Mapping))


def child(node: Node | None, key: str) -> Node | None:
    """The value under a key of a mapping; None for what is not there."""
    return node.get(key) if isinstance(node, Mapping) else None


def word(node: Node | None, default: str = "") -> str:
    """The text of a scalar, `default` without one."""
    return node.text if isinstance(node, Scalar) else default
