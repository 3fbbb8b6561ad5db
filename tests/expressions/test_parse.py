"""Parsing: the whitelist, the limits, and errors that point inside the expression."""

from __future__ import annotations

import ast

import pytest

from specgen.diagnostics import DiagnosticError, Source, Span
from specgen.expressions import Expr, constant, parse_expression, range_count


def span_for(text: str, line: int = 7, column: int = 12) -> Span:
    return Span("a.spec.yaml", line, column, line, column + len(text))


def parse(text: str, **options: bool) -> Expr:
    return parse_expression(text, span_for(text), **options)


@pytest.mark.parametrize(
    "text",
    [
        "total + x[i, j]",
        "x[i, c:+n]",
        "x[i, :]",
        "0 <= id < bound and not seen",
        "a if c else -b",
        "subgroup.sum(x, cluster=16)",
        "step.top",
        "~a & b | c ^ d << 2 >> 1",
        "f32(1 / sqrt(128))",
        "unpack(codes[b], u4)[3]",
    ],
)
def test_accepted(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("text", "column", "end", "message"),
    [
        ("a && b", 14, 16, "there is no `&&`"),
        ("x ** 2", 12, 18, "there is no operator `**`"),
        ("1 + lambda", 16, 22, "`lambda` is a keyword of the expression language and cannot be a name"),
        ("x + 'abc'", 16, 17, "an expression has no strings"),
        ("[1, 2]", 12, 18, "a list is not part of the expression language"),
        ("y + x[1:4]", 18, 21, "a range of elements is written `first:+count`, a whole axis `:`"),
        ("a, b", 12, 16, "a comma outside of a subscript or a call is not part of the expression language"),
        ("+a", 12, 14, "there is no operator a sign `+`"),
        ("a.b.c", 12, 17, "a dot follows a name only, as in `target.matrix`"),
        ("True", 12, 16, "`True` is not part of the expression language"),
        ("1e999", 12, 17, "this number is too large for 64-bit floats"),
        ("1j", 12, 14, "a literal of this kind is not part of the expression language"),
        (
            "sum(i for i in range(3))",
            15,
            36,
            "a generator outside of a check's formula is not part of the expression language",
        ),
        ("a + é", 16, 17, "the character '\\xe9' has no meaning in an expression"),
        ("   ", 12, 15, "an expression is expected here"),
        ("f(*a)", 14, 16, "`*` is not part of the expression language"),
        ("a = 1", 14, 15, "`=` assigns nothing here"),
        ("a + (b", 16, 17, "this is no expression: '(' was never closed"),
        ("__import__", 12, 22, None),
    ],
)
def test_refused_at_its_place(text: str, column: int, end: int, message: str | None) -> None:
    if message is None:
        assert isinstance(parse(text).tree, ast.Name)
        return
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("SG-SYNTAX", message)
    assert (found.span.line, found.span.column, found.span.end_column) == (7, column, end)


def test_limits() -> None:
    for text in ("(" * 65 + "1" + ")" * 65, "-" * 3000 + "1", "a" * 4001, "1" + "+1" * 1999):
        with pytest.raises(DiagnosticError) as caught:
            parse(text)
        assert caught.value.diagnostics[0].code == "SG-SYNTAX"
    assert parse("(" * 60 + "1" + ")" * 60)


def test_quoted_scalar_points_behind_the_quote() -> None:
    expression = parse_expression("a + b", Span("f", 3, 5, 3, 12))
    right = expression.tree.right  # type: ignore[attr-defined]
    assert expression.span_of(right) == Span("f", 3, 10, 3, 11)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a +\n  b\n", "x: |\n  a +\n    b\n"),
        ("a + b", "x:\n  a +\n    b\n"),
    ],
)
def test_folded_scalars_map_to_their_lines(text: str, source: str) -> None:
    first = 1 if "|" in source else 2
    span = Span("f", first, 4 if first == 1 else 3, 3, 6)
    expression = parse_expression(text, span, source=Source("f", source))
    assert expression.span_of(expression.tree.right) == Span("f", 3, 5, 3, 6)  # type: ignore[attr-defined]
    assert expression.span_of(expression.tree.left) == Span("f", 2, 3, 2, 4)  # type: ignore[attr-defined]


def test_range_count_and_constants() -> None:
    tree = parse("x[a:+n, :]").tree
    counted, whole = tree.slice.elts  # type: ignore[attr-defined]
    assert range_count(counted).id == "n"  # type: ignore[union-attr]
    assert range_count(whole) is None
    assert constant(True, span_for("true")).text == "true"
    assert constant(0.5, span_for("0.5")).tree.value == 0.5  # type: ignore[attr-defined]


def test_generators_only_in_formulas() -> None:
    assert parse("sum(a[i] for i in range(3) if i > 0)", formula=True)
    with pytest.raises(DiagnosticError, match="a generator runs over `range`"):
        parse("sum(i for i in a)", formula=True)
