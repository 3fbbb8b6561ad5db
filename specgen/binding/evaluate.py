"""Expressions: from the syntax tree to values, operations emitted on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any as Anything

from specgen.binding import convert, functions, memory, operators, slices
from specgen.binding.branches import branch, empty, if_op, masked, reopened
from specgen.binding.builder import Block
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.names import lookup, names_only, target_fact
from specgen.binding.types import BOOL
from specgen.binding.values import Buffer, Results, Unknown, Value, Word, static_value
from specgen.diagnostics import Span
from specgen.expressions import Expr, nodes

Any = Value | Buffer | Word | Unknown


def evaluate(ctx: Context, node: ast.AST) -> Any:
    """Whatever `node` is: a value, a place in memory, a word."""
    return _HANDLERS[type(node)](ctx, node)


def expression(ctx: Context, expr: Expr) -> Value | Unknown:
    """The value of a whole expression; regions are read."""
    with ctx.within(expr):
        return value(ctx, expr.tree)


def value(ctx: Context, node: ast.AST) -> Value | Unknown:
    """The value of `node`, regions read; words and whole buffers are no values (SG-TYPE)."""
    found = evaluate(ctx, node)
    if isinstance(found, (Value, Unknown)):
        return found
    text = ctx.expr.text_of(node)
    if isinstance(found, Word):
        kind = "a type" if found.type is not None else "a word"
        return ctx.report("SG-TYPE", f"`{text}` is {kind}, no value.", at=node)
    example = ", ".join(found.axes)
    return ctx.report("SG-TYPE", f"`{text}` is a buffer, no value.", at=node, hint=f"Read it: `{text}[{example}]`.")


def static(ctx: Context, expr: Expr, purpose: str, words: tuple[str, ...] = ()) -> Value | Word | Unknown:
    """The value of an expression that must be static; `purpose` ends the message when it is not."""
    held = ctx.only_static, ctx.words
    ctx.only_static, ctx.words = purpose, words
    try:
        with ctx.within(expr):
            found = evaluate(ctx, expr.tree)
            if isinstance(found, Buffer) or (isinstance(found, Value) and not found.is_static):
                return ctx.report(ctx.static_code, f"`{expr.text}` is known only when the kernel runs; {purpose}.")
            return found
    finally:
        ctx.only_static, ctx.words = held


def integer(ctx: Context, expr: Expr, purpose: str, words: tuple[str, ...] = ()) -> int | None:
    """A static integer; None after a diagnostic."""
    found = static(ctx, expr, purpose, words)
    if isinstance(found, Unknown):
        return None
    if isinstance(found, Value) and isinstance(found.static, int) and not isinstance(found.static, bool):
        return found.static
    ctx.report("SG-TYPE", f"an integer is expected here, not `{expr.text}`{worth(expr, found)}.", at=expr.span)
    return None


def worth(expr: Expr, found: object) -> str:
    """`, which is 2.5`, for a static expression that does not say its value itself."""
    if not isinstance(found, Value) or not found.is_static or isinstance(expr.tree, ast.Constant):
        return ""
    return f", which is {found.static}"


def condition(ctx: Context, node: ast.AST, what: str) -> Value | Unknown:
    """A bool, scalar or vector."""
    found = value(ctx, node)
    if isinstance(found, Value) and found.type.element is not BOOL:
        text = ctx.expr.text_of(node)
        return ctx.report(
            "SG-TYPE", f"{what} is a bool; `{text}` is `{found.type}`.", at=node, hint=f"Write `{text} != 0`."
        )
    return found


# --- leaves --------------------------------------------------------------------------------------------------------


def _constant(ctx: Context, node: ast.Constant) -> Any:
    number = node.value
    if number is None:
        return UNKNOWN  # could not be read, and was told
    assert isinstance(number, (bool, int, float))
    return static_value(number)


def _name(ctx: Context, node: ast.Name) -> Any:
    found = lookup(ctx, node)
    if isinstance(found, Results):
        return ctx.report(
            "SG-NAME",
            f"`{node.id}` is an instance; read its results as `{node.id}.{next(iter(found.values), 'result')}`.",
            at=node,
        )
    return found


def _attribute(ctx: Context, node: ast.Attribute) -> Any:
    assert isinstance(node.value, ast.Name)
    owner = node.value.id
    if owner == "target":
        fact = target_fact(ctx, node)
        assert not isinstance(fact, Results)
        return fact
    if owner == "subgroup" and node.attr in ("lane", "id"):
        ctx.node = node
        return functions.subgroup_id(ctx, node.attr)
    found = lookup(ctx, node.value)
    if isinstance(found, Results):
        if node.attr in found.values:
            return found.values[node.attr]
        names = ", ".join(f"`{n}`" for n in found.values)
        return ctx.report("SG-NAME", f"`{owner}` has no result `{node.attr}`; it has {names}.", at=node)
    if isinstance(found, Unknown):
        return found
    return ctx.report("SG-NAME", f"`{owner}` is no instance of a motif; nothing follows its dot.", at=node)


# --- operators -----------------------------------------------------------------------------------------------------


def _binop(ctx: Context, node: ast.BinOp) -> Any:
    compared, ctx.compared = ctx.compared, None
    left, right = value(ctx, node.left), value(ctx, node.right)
    ctx.compared = compared
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    return operators.binary(ctx, node, left, right)


def _unary(ctx: Context, node: ast.UnaryOp) -> Any:
    found = value(ctx, node.operand)
    return found if isinstance(found, Unknown) else operators.unary(ctx, node, found)


def _compare(ctx: Context, node: ast.Compare) -> Any:
    sides = (node.left, *node.comparators)
    held, ctx.compared = ctx.compared, node
    try:
        words = _word_comparison(ctx, node)
        if words is not None:
            return words
        operators.warn_of_precedence(ctx, node)
        left = value(ctx, sides[0])
        right = value(ctx, sides[1])
        result: Value | Unknown = UNKNOWN
        if isinstance(left, Value) and isinstance(right, Value):
            result = operators.compare(ctx, node, 0, left, right)
        for number in range(1, len(node.ops)):
            result, right = _chained(ctx, node, number, result, right)
        return result
    finally:
        ctx.compared = held


def _chained(
    ctx: Context, node: ast.Compare, number: int, result: Value | Unknown, middle: Value | Unknown
) -> tuple[Value | Unknown, Value | Unknown]:
    """`result and middle op next`; `next` is evaluated only where `result` holds."""
    following: list[Value | Unknown] = [UNKNOWN]

    def link() -> Value | Unknown:
        following[0] = value(ctx, node.comparators[number])
        if isinstance(middle, Unknown) or isinstance(following[0], Unknown):
            return UNKNOWN
        return operators.compare(ctx, node, number, middle, following[0])

    if isinstance(result, Unknown):
        link()
        return UNKNOWN, following[0]
    at = ctx.expr.span_between(node.left, node.comparators[number - 1])
    return _lazy(ctx, node, "and", ctx.expr.text_of(node), result, link, at), following[0]


def _word_comparison(ctx: Context, node: ast.Compare) -> Any | None:
    """The result when a side is a word; None for numbers."""
    if len(node.ops) != 1 or not all(
        isinstance(s, (ast.Name, ast.Attribute)) for s in (node.left, node.comparators[0])
    ):
        return None
    sides = [node.left, node.comparators[0]]
    if any(_is_unknown(ctx, side) for side in sides):
        return UNKNOWN
    known = [_peek_word(ctx, side) for side in sides]
    if not any(known):
        return None
    for i in (0, 1):
        if known[i] is None:
            known[i] = _expected_word(ctx, sides[i], known[1 - i])
    if known[0] is None or known[1] is None:
        return UNKNOWN
    return operators.compare_words(ctx, node, known[0], known[1])


def _is_unknown(ctx: Context, node: ast.AST) -> bool:
    found = ctx.scope.find(node.id) if isinstance(node, ast.Name) else None
    return found is not None and isinstance(found.value, Unknown) and isinstance(evaluate(ctx, node), Unknown)


def _peek_word(ctx: Context, node: ast.AST) -> Word | None:
    if not isinstance(node, ast.Name):
        return None
    found = ctx.scope.find(node.id)
    if found is not None:
        known = evaluate(ctx, node) if isinstance(found.value, Word) else None
        return known if isinstance(known, Word) else None
    word = lookup(ctx, node, quiet=True)
    return word if isinstance(word, Word) and word.type is not None else None


def _expected_word(ctx: Context, node: ast.AST, partner: Word | None) -> Word | None:
    assert partner is not None
    text = ctx.expr.text_of(node)
    if isinstance(node, ast.Name) and text in partner.choices:
        return Word(text, partner.choices)
    names = ", ".join(f"`{c}`" for c in partner.choices)
    message = f"`{text}` is none of the words that it is compared with" + (f" ({names})." if names else ".")
    ctx.report("SG-NAME", message, at=node, allowed=partner.choices)
    return None


def _boolop(ctx: Context, node: ast.BoolOp) -> Any:
    symbol = "and" if isinstance(node.op, ast.And) else "or"
    result = condition(ctx, node.values[0], f"an operand of `{symbol}`")
    for number, operand in enumerate(node.values[1:]):
        if isinstance(result, Unknown):
            condition(ctx, operand, f"an operand of `{symbol}`")
            continue
        if result.static is (symbol == "or"):
            names_only(ctx, operand)
            continue
        first, last = node.values[0], node.values[number]
        text = ctx.expr.text[first.col_offset : last.end_col_offset]
        at = ctx.expr.span_between(first, last)
        ctx.node = first

        def right(operand: ast.expr = operand) -> Value | Unknown:
            return condition(ctx, operand, f"an operand of `{symbol}`")

        result = _lazy(ctx, node, symbol, text, result, right, at)
    return result


def _lazy(
    ctx: Context, node: ast.AST, symbol: str, text: str, left: Value, right: Callable[[], Value | Unknown], at: Span
) -> Value | Unknown:
    """`left and right` or `left or right`: the right side runs only where the left (`text`, `at`) does not decide."""
    if left.is_static and left.size is None:
        return left if left.static is (symbol == "or") else right()
    chosen = left if symbol == "and" else None
    if left.size is not None:
        with masked(ctx, chosen or operators.negate(ctx, left)):
            other = right()
        if isinstance(other, Unknown):
            return other
        both = convert.unify(ctx, (node, node), [left, other])
        return UNKNOWN if both is None else operators.conjunction(ctx, symbol, *both)
    block, other = branch(ctx, left, symbol == "and", text, right, at)
    if isinstance(other, Unknown):
        return other
    if other.size is not None:
        ctx.builder.splice(block)
        both = convert.unify(ctx, (node, node), [left, other])
        return UNKNOWN if both is None else operators.conjunction(ctx, symbol, *both)
    ctx.node = node
    if block.pure:
        ctx.builder.splice(block)
        if other.is_static:
            return left if other.static is (symbol == "and") else other
        return operators.conjunction(ctx, symbol, left, other)
    decided = Value(BOOL, static=symbol == "or")
    blocks = (block, empty(ctx)) if symbol == "and" else (empty(ctx), block)
    values = (other, decided) if symbol == "and" else (decided, other)
    made = if_op(ctx, left, blocks, [values], hints=("",))[0]
    return operators.joined(symbol, made, left, other)


def _ifexp(ctx: Context, node: ast.IfExp) -> Any:
    test = condition(ctx, node.test, "the condition of `if`")
    if isinstance(test, Unknown):
        value(ctx, node.body)
        value(ctx, node.orelse)
        return UNKNOWN
    if test.is_static and test.size is None:
        chosen, other = (node.body, node.orelse) if test.static else (node.orelse, node.body)
        names_only(ctx, other)
        return evaluate(ctx, chosen)
    if test.size is not None:
        return _vector_choice(ctx, node, test)
    text = ctx.expr.text_of(node.test)
    at = ctx.expr.span_of(node.test)
    then_block, a = branch(ctx, test, True, text, lambda: value(ctx, node.body), at)
    else_block, b = branch(ctx, test, False, text, lambda: value(ctx, node.orelse), at)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    sides = _one_type(ctx, node, a, b, then_block, else_block)
    if sides is None:
        return UNKNOWN
    a, b = sides
    ctx.node = node
    if then_block.pure and else_block.pure:
        ctx.builder.splice(then_block)
        ctx.builder.splice(else_block)
        if a.is_static and b.is_static and a.static == b.static and repr(a.static) == repr(b.static):
            return a
        return convert.select(ctx, test, a, b)
    return if_op(ctx, test, (then_block, else_block), [(a, b)], hints=("",))[0]


def _one_type(
    ctx: Context, node: ast.IfExp, a: Value, b: Value, then_block: Block, else_block: Block
) -> tuple[Value, Value] | None:
    """Both branches with one type; what spreads a scalar is emitted in its own branch."""
    if a.type.is_untyped and b.type.is_untyped:
        first, second = convert.typed(ctx, node.body, a), convert.typed(ctx, node.orelse, b)
        if isinstance(first, Unknown) or isinstance(second, Unknown):
            return None
        a, b = first, second
    size = a.size if a.size is not None else b.size
    if size is not None:
        if a.size is None:
            a = reopened(ctx, then_block, lambda: convert.spread(ctx, a, size))
        if b.size is None:
            b = reopened(ctx, else_block, lambda: convert.spread(ctx, b, size))
    both = convert.unify(ctx, (node.body, node.orelse), [a, b])
    return None if both is None else (both[0], both[1])


def _vector_choice(ctx: Context, node: ast.IfExp, test: Value) -> Any:
    with masked(ctx, test):
        a = value(ctx, node.body)
    ctx.node = node.test
    reads = any(isinstance(part, (ast.Subscript, ast.Call)) for part in nodes(node.orelse))
    with masked(ctx, operators.negate(ctx, test) if reads else test):
        b = value(ctx, node.orelse)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    if a.type.is_untyped and b.type.is_untyped:
        first, second = convert.typed(ctx, node.body, a), convert.typed(ctx, node.orelse, b)
        if isinstance(first, Unknown) or isinstance(second, Unknown):
            return UNKNOWN
        a, b = first, second
    sides = convert.unify(ctx, (node.body, node.orelse), [a, b])
    if sides is None:
        return UNKNOWN
    a, b = sides
    size = test.size or 1
    if a.size is None:
        a, b = convert.spread(ctx, a, size), convert.spread(ctx, b, size)
    if a.size != size:
        text = ctx.expr.text_of(node.test)
        return ctx.report("SG-SHAPE", f"`{text}` has {size} elements, the values have {a.size}.", at=node)
    ctx.node = node
    return convert.select(ctx, test, a, b)


def _subscript(ctx: Context, node: ast.Subscript) -> Any:
    base = evaluate(ctx, node.value)
    if isinstance(base, Unknown):
        _evaluate_subscripts(ctx, node)
        return base
    if isinstance(base, Buffer):
        return memory.read(ctx, node, base)
    if isinstance(base, Word):
        return ctx.report("SG-TYPE", f"`{base.text}` is a word and has no elements.", at=node)
    return slices.vector_subscript(ctx, node, base)


def _evaluate_subscripts(ctx: Context, node: ast.Subscript) -> None:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            if part.lower is not None:
                value(ctx, part.lower)
        else:
            value(ctx, part)


def _call(ctx: Context, node: ast.Call) -> Any:
    return functions.call(ctx, node)


_HANDLERS: dict[type, Callable[[Context, Anything], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
