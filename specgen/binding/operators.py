"""Operators on values: typing, folding of static operands, emission, and what is learned of integers."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

from specgen.binding import forms, static
from specgen.binding.asked import whole_subgroups
from specgen.binding.context import Context
from specgen.binding.convert import Maybe, per_element, static_typed, unify
from specgen.binding.linear import Linear
from specgen.binding.static import StaticError
from specgen.binding.types import BOOL, REAL, Scalar, Type, Vector, same_shape
from specgen.binding.values import SUBGROUP, Level, Unknown, Value, Word

SYMBOLS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLOAT_OPS = {"+": "arith.addf", "-": "arith.subf", "*": "arith.mulf", "/": "arith.divf"}
_INTEGER_OPS = {
    "+": "arith.addi",
    "-": "arith.subi",
    "*": "arith.muli",
    "&": "arith.andi",
    "|": "arith.ori",
    "^": "arith.xori",
}
_PREDICATES = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_BITWISE = {"&": "and", "|": "or", "^": "!="}


def warn_of_precedence(ctx: Context, node: ast.Compare) -> None:
    """`a < b & c > d` is `a < (b & c) > d` to Python and hardly ever what was meant."""
    for part in node.comparators[:-1]:
        bitwise = isinstance(part, ast.BinOp) and isinstance(part.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        if bitwise and ctx.expr.text[part.col_offset - 1 : part.col_offset] != "(":
            text = ctx.expr.text_of(part)
            symbol = SYMBOLS[type(part.op)]  # type: ignore[attr-defined]
            whole = ctx.expr.text_of(node).replace(text, f"({text})")
            message = f"`{symbol}` binds tighter than comparisons: this reads `{whole}`."
            ctx.report("SG-TYPE", message, at=part, severity="warning", hint="Use `and`, or write the brackets.")


def fold(ctx: Context, node: ast.AST, type_: Type, function: Callable[..., object], *values: Value) -> Maybe:
    """The static result of a scalar function over static operands, element by element."""
    try:
        if isinstance(type_, Vector):
            columns = [v.static if isinstance(v.static, tuple) else (v.static,) * type_.size for v in values]
            return static_typed(type_, tuple(function(*row) for row in zip(*columns, strict=True)))
        return static_typed(type_, function(*(v.static for v in values)))
    except StaticError as error:
        return ctx.report("SG-RANGE", f"{error}: `{ctx.expr.text_of(node)}`.", at=node)


def binary(ctx: Context, node: ast.BinOp, left: Value, right: Value) -> Maybe:
    """`left operator right`."""
    symbol = SYMBOLS[type(node.op)]
    if BOOL in (left.type.element, right.type.element):
        return _bool_operand(ctx, node, symbol, left)
    both = unify(ctx, (node.left, node.right), [left, right])
    if both is None:
        return Unknown()
    a, b = both
    element = a.type.element
    if symbol == "/" and not element.is_float and not element.is_untyped:
        x, y = ctx.expr.text_of(node.left), ctx.expr.text_of(node.right)
        return ctx.report(
            "SG-TYPE", f"`/` divides floats; these are `{element}`.", at=node, hint=f"Write `{x} // {y}` for integers."
        )
    if element.is_float and symbol not in _FLOAT_OPS:
        return ctx.report("SG-TYPE", f"`{symbol}` works on integers; these are `{_told(element)}`.", at=node)
    ctx.node = node
    if a.is_static and b.is_static:
        return _fold_binary(ctx, node, symbol, a, b)
    if element.is_float:
        flags = ctx.fastmath("afn", "nnan") if symbol == "/" else ctx.fastmath("contract", "nnan")
        return ctx.op(_FLOAT_OPS[symbol], a.type, a, b, attributes=flags)
    if symbol in ("//", "%"):
        return floor_division(ctx, symbol, a, b)
    if symbol in ("<<", ">>"):
        return shift(ctx, node, symbol, a, b)
    lin = _integer_form(ctx, symbol, a, b) if isinstance(a.type, Scalar) else None
    return ctx.op(_INTEGER_OPS[symbol], a.type, a, b, lin=lin, interval=_vector_interval(ctx, symbol, a, b))


def _told(element: Scalar) -> str:
    return "floats" if element.is_untyped else element.name


def _fold_binary(ctx: Context, node: ast.BinOp, symbol: str, a: Value, b: Value) -> Maybe:
    element = a.type.element
    if symbol == "/" and element.kind == "int":
        element = REAL
    if symbol in ("<<", ">>") and not element.is_untyped:
        amounts = b.static if isinstance(b.static, tuple) else (b.static,)
        for amount in amounts:
            if not 0 <= amount < element.bits:  # type: ignore[operator]
                return _bad_amount(ctx, node, amount, element)
    return fold(ctx, node, same_shape(a.type, element), lambda x, y: static.binary(symbol, element, x, y), a, b)


def _bool_operand(ctx: Context, node: ast.BinOp, symbol: str, left: Value) -> Unknown:
    text = ctx.expr.text_of(node)
    if symbol in _BITWISE:
        compared = ctx.compared
        word = _BITWISE[symbol]
        if compared is not None and node in (compared.left, *compared.comparators):
            whole = ctx.expr.text_of(compared).replace(text, f"({text})")
            other = SYMBOLS[type(compared.ops[0])]
            message = f"`{symbol}` binds tighter than `{other}` and works on integers: this reads `{whole}`."
            return ctx.report("SG-TYPE", message, at=node, hint=f"Use `{word}`.")
        return ctx.report("SG-TYPE", f"`{symbol}` works on integers, not on bool.", at=node, hint=f"Use `{word}`.")
    flag = node.left if left.type.element is BOOL else node.right
    flag_text = ctx.expr.text_of(flag)
    message = f"`{symbol}` works on numbers; `{flag_text}` is `bool`."
    return ctx.report("SG-TYPE", message, at=flag, hint=f"Write `1 if {flag_text} else 0`.")


def _integer_form(ctx: Context, symbol: str, a: Value, b: Value) -> Linear | None:
    """The result as a form where that is exact: `index` does not overflow, sized integers must be proven to fit."""
    x, y = a.lin, b.lin
    if x is None or y is None:
        return None
    if symbol == "+":
        form: Linear | None = x + y
    elif symbol == "-":
        form = x - y
    elif symbol == "*":
        form = y.scaled(x.number) if x.number is not None else x.scaled(y.number) if y.number is not None else None
    else:
        form = None
    if form is None:
        return forms.bounded(ctx.facts, symbol, x, y, forms.product_rule(symbol, a.type.element))
    if a.type.element.kind == "index":
        return form
    return form if forms.fits(a.type.element, ctx.facts.interval(form)) else None


def _vector_interval(ctx: Context, symbol: str, a: Value, b: Value) -> tuple[int, int] | None:
    if not isinstance(a.type, Vector) or not a.type.element.is_integer:
        return None
    (alo, ahi), (blo, bhi) = ctx.interval(a), ctx.interval(b)
    if symbol == "+":
        lo, hi = alo + blo, ahi + bhi
    elif symbol == "-":
        lo, hi = alo - bhi, ahi - blo
    else:
        bounds = forms.product_rule(symbol, a.type.element)((alo, ahi), (blo, bhi))
        if bounds is None:
            return None
        lo, hi = bounds
    limits = a.type.element.limits
    return (lo, hi) if limits[0] <= lo and hi <= limits[1] else None


# --- division ------------------------------------------------------------------------------------------------------


def check(ctx: Context, condition: Value, kind: str, message: str) -> None:
    """A finding when the condition is false at run time; nothing under a mask, whose elements may not count."""
    if ctx.mask is None:
        attributes = (("kind", kind), ("message", message))
        ctx.emit("motif.check", (ctx.operand(condition),), (), attributes=attributes)


def floor_division(ctx: Context, symbol: str, a: Value, b: Value) -> Value:
    """`//` or `%` with a safe divisor: a division by zero is a finding and gives 0."""
    if b.lin is not None:
        forms.notice_positive(ctx.facts, b.lin)
    lo, hi = ctx.interval(b)
    overflows = a.type.element.kind == "signed" and lo <= -1 <= hi and ctx.interval(a)[0] == a.type.element.limits[0]
    if (lo > 0 or hi < 0) and not overflows:
        return _divide(ctx, symbol, a, b)
    return per_element(ctx, a.type, lambda x, y: _checked_division(ctx, symbol, x, y, overflows), a, b)


def _checked_division(ctx: Context, symbol: str, a: Value, b: Value, overflows: bool) -> Value:
    type_ = a.type
    zero, one = static_typed(type_, 0), static_typed(type_, 1)
    nonzero = compare_values(ctx, "!=", b, zero)
    check(ctx, nonzero, "division-by-zero", f"the divisor of `{ctx.expr.text_of(ctx.node)}` is 0" if ctx.node else "")
    safe = ctx.op("arith.select", type_, nonzero, b, one)
    if not overflows:
        result = _divide(ctx, symbol, a, safe)
        return ctx.op("arith.select", type_, nonzero, result, zero)
    other = compare_values(ctx, "!=", b, static_typed(type_, -1))
    safe = ctx.op("arith.select", type_, other, safe, one)
    result = _divide(ctx, symbol, a, safe)
    negated = ctx.op("arith.subi", type_, zero, a) if symbol == "//" else zero
    result = ctx.op("arith.select", type_, other, result, negated)
    return ctx.op("arith.select", type_, nonzero, result, zero)


def _divide(ctx: Context, symbol: str, a: Value, b: Value) -> Value:
    """The division itself; unsigned where the signs are known, which is cheaper everywhere."""
    (alo, ahi), (blo, bhi) = ctx.interval(a), ctx.interval(b)
    unsigned = a.type.element.kind == "unsigned" or (alo >= 0 and blo > 0)
    if symbol == "//":
        name = "arith.divui" if unsigned else "arith.floordivsi"
        lin = forms.quotient(ctx.facts, a.lin, b.lin) if a.lin is not None and b.lin is not None else None
        interval = None
        if blo > 0:
            corners = [x // y for x in (alo, ahi) for y in (blo, bhi)]
            interval = min(corners), max(corners)
        return ctx.op(name, a.type, a, b, lin=lin, interval=interval, level=_quotient_level(ctx, a, b))
    name = "arith.remui" if unsigned else "motif.floorremsi"
    lin = forms.remainder(ctx.facts, a.lin, b.lin) if a.lin is not None and b.lin is not None else None
    interval = None
    if blo > 0:
        interval = 0, bhi - 1
    return ctx.op(name, a.type, a, b, lin=lin, interval=interval)


def _quotient_level(ctx: Context, a: Value, b: Value) -> Level:
    """The linear id divided by whole subgroups is the same in a subgroup."""
    divisor = b.lin.number if b.lin is not None else None
    if divisor and a.lin in ctx.linear_ids and ctx.shared.ask(whole_subgroups, divisor):
        return SUBGROUP
    return a.level | b.level


# --- shifts --------------------------------------------------------------------------------------------------------


def _bad_amount(ctx: Context, node: ast.AST, amount: object, element: Scalar) -> Unknown:
    return ctx.report("SG-RANGE", f"the amount {amount} is outside of [0, {element.bits}) of `{element}`.", at=node)


def shift(ctx: Context, node: ast.BinOp, symbol: str, a: Value, b: Value) -> Maybe:
    """`<<` or `>>`; an amount that is out of range is an error when known, else a finding."""
    element = a.type.element
    lo, hi = ctx.interval(b)
    if lo >= element.bits or hi < 0:
        return _bad_amount(ctx, node.right, lo if lo == hi else f"in [{lo}, {hi}]", element)
    name = "arith.shli" if symbol == "<<" else "arith.shrui" if element.kind == "unsigned" else "arith.shrsi"
    if lo < 0 or hi >= element.bits:
        b = per_element(ctx, a.type, lambda y: _checked_amount(ctx, node, y), b)
    lin, interval = None, None
    (alo, ahi) = ctx.interval(a)
    if symbol == ">>" and lo >= 0:
        interval = min(alo, alo >> lo, alo >> min(hi, 63)), max(ahi, ahi >> lo, ahi >> min(hi, 63))
        if ahi >= 0 and alo >= 0:
            interval = alo >> min(hi, 63), ahi >> lo
    elif symbol == "<<" and a.lin is not None and b.lin is not None and b.lin.number is not None:
        form = a.lin.scaled(1 << b.lin.number)
        flo, fhi = ctx.facts.interval(form)
        lin = form if element.limits[0] <= flo and fhi <= element.limits[1] else None
    if interval is not None and isinstance(a.type, Scalar):
        lin = ctx.facts.atom(*interval)
    return ctx.op(name, a.type, a, b, lin=lin, interval=interval)


def _checked_amount(ctx: Context, node: ast.BinOp, amount: Value) -> Value:
    bits = amount.type.element.bits
    (condition,) = ctx.emit(
        "arith.cmpi",
        (ctx.operand(amount), ctx.operand(static_typed(amount.type, bits))),
        ("i1",),
        attributes=(("predicate", "ult"),),
    )
    inside = Value(BOOL, condition.name, level=amount.level)
    check(ctx, inside, "shift-amount", f"the amount of `{ctx.expr.text_of(node)}` is outside of [0, {bits})")
    return ctx.op("arith.andi", amount.type, amount, static_typed(amount.type, bits - 1))


# --- unary and comparisons -----------------------------------------------------------------------------------------


def unary(ctx: Context, node: ast.UnaryOp, value: Value) -> Maybe:
    """`-x`, `~x`, `not x`."""
    element = value.type.element
    text = ctx.expr.text_of(node.operand)
    ctx.node = node
    if isinstance(node.op, ast.Not):
        if element is not BOOL:
            message = f"`not` works on bool; `{text}` is `{element}`."
            return ctx.report("SG-TYPE", message, at=node.operand, hint=f"Write `{text} == 0`.")
        return negate(ctx, value)
    if element is BOOL:
        hint = f"Write `not {text}`." if isinstance(node.op, ast.Invert) else f"Write `1 if {text} else 0`."
        return ctx.report("SG-TYPE", f"`{text}` is `bool`, no number.", at=node.operand, hint=hint)
    if isinstance(node.op, ast.Invert):
        if element.is_float:
            return ctx.report("SG-TYPE", f"`~` works on integers; `{text}` is `{element}`.", at=node.operand)
        if value.is_static:
            return fold(ctx, node, value.type, lambda x: static.settle(element, ~x), value)
        return ctx.op("arith.xori", value.type, value, _all_ones(value.type))
    if value.is_static:
        return fold(ctx, node, value.type, lambda x: static.settle(element, -x), value)
    if element.is_float:
        return ctx.op("arith.negf", value.type, value, attributes=ctx.fastmath("nnan"))
    zero = static_typed(value.type, (0,) * value.type.size if isinstance(value.type, Vector) else 0)
    lin = _integer_form(ctx, "-", zero, value) if isinstance(value.type, Scalar) else None
    return ctx.op("arith.subi", value.type, zero, value, lin=lin, interval=_vector_interval(ctx, "-", zero, value))


def _all_ones(type_: Type) -> Value:
    number: int | bool = True if type_.element is BOOL else static.wrap(type_.element, -1)
    return static_typed(type_, (number,) * type_.size if isinstance(type_, Vector) else number)


def negate(ctx: Context, value: Value) -> Value:
    """`not` of a bool, or of each element."""
    if value.is_static:
        flags = value.static
        return Value(value.type, static=tuple(not f for f in flags) if isinstance(flags, tuple) else not flags)
    made = ctx.op("arith.xori", value.type, value, _all_ones(value.type))
    return _learned(made, value.when_false, value.when_true, (value.partial[1], value.partial[0]))


def _learned(
    value: Value, when_true: tuple[Linear, ...], when_false: tuple[Linear, ...], partial: tuple[bool, bool]
) -> Value:
    return dataclasses.replace(value, when_true=when_true, when_false=when_false, partial=partial)


def _of_truths(ctx: Context, symbol: str, sides: tuple[ast.expr, ast.expr], values: tuple[Value, Value]) -> str:
    """How to write a comparison of two bools."""
    if symbol not in ("==", "!=") or any(v.type.element is not BOOL for v in values):
        return "Use `and`, `or`, `not`."
    texts = [f"({t})" if isinstance(n, (ast.BoolOp, ast.Compare)) else t for n in sides for t in [ctx.expr.text_of(n)]]
    for at, value in enumerate(values):
        if isinstance(value.static, bool):
            other = texts[1 - at]
            return f"Write `{other}`." if value.static == (symbol == "==") else f"Write `not {other}`."
    a, b = texts
    same = f"({a} and {b}) or not ({a} or {b})"
    return f"Write `{same}`." if symbol == "==" else f"Write `not ({same})`."


def compare(ctx: Context, node: ast.Compare, number: int, left: Value, right: Value) -> Maybe:
    """Link `number` of a chain of comparisons."""
    symbol = SYMBOLS[type(node.ops[number])]
    sides = ((node.left, *node.comparators)[number], node.comparators[number])
    if BOOL in (left.type.element, right.type.element):
        side = sides[0] if left.type.element is BOOL else sides[1]
        text = ctx.expr.text_of(side)
        message = f"`{symbol}` compares numbers; `{text}` is `bool`."
        return ctx.report("SG-TYPE", message, at=side, hint=_of_truths(ctx, symbol, sides, (left, right)))
    both = unify(ctx, sides, [left, right])
    if both is None:
        return Unknown()
    a, b = both
    ctx.node = node
    if a.is_static and b.is_static:
        return fold(ctx, node, same_shape(a.type, BOOL), static.COMPARE[symbol], a, b)
    return compare_values(ctx, symbol, a, b)


def compare_values(ctx: Context, symbol: str, a: Value, b: Value) -> Value:
    """Emit a comparison of two values of one type and keep what it says of integers."""
    element, predicate = a.type.element, _PREDICATES[symbol]
    if element.is_float:
        full = ("u" if symbol == "!=" else "o") + predicate
        attributes = (("predicate", full), *ctx.fastmath("nnan"))
        return ctx.op("arith.cmpf", same_shape(a.type, BOOL), a, b, attributes=attributes)
    sign = "" if symbol in ("==", "!=") else "u" if element.kind == "unsigned" else "s"
    made = ctx.op("arith.cmpi", same_shape(a.type, BOOL), a, b, attributes=(("predicate", sign + predicate),))
    if a.lin is None or b.lin is None:
        return made
    less, more = b.lin - a.lin, a.lin - b.lin
    rows: dict[str, tuple[tuple[Linear, ...], tuple[Linear, ...], tuple[bool, bool]]] = {
        "<": ((less.plus(-1),), (more,), (False, False)),
        "<=": ((less,), (more.plus(-1),), (False, False)),
        ">": ((more.plus(-1),), (less,), (False, False)),
        ">=": ((more,), (less.plus(-1),), (False, False)),
        "==": ((less, more), (), (False, True)),
        "!=": ((), (less, more), (True, False)),
    }
    return _learned(made, *rows[symbol])


def compare_words(ctx: Context, node: ast.Compare, left: Word, right: Word) -> Maybe:
    """`==` or `!=` of two words."""
    symbol = SYMBOLS[type(node.ops[0])]
    if len(node.ops) != 1 or symbol not in ("==", "!="):
        return ctx.report("SG-TYPE", f"words are compared with `==` and `!=`, not with `{symbol}`.", at=node)
    return Value(BOOL, static=(left.text == right.text) == (symbol == "=="))


def conjunction(ctx: Context, symbol: str, a: Value, b: Value) -> Value:
    """`and` or `or` of two bools that are both evaluated."""
    name = "arith.andi" if symbol == "and" else "arith.ori"
    return joined(symbol, ctx.op(name, a.type, a, b), a, b)


def joined(symbol: str, made: Value, a: Value, b: Value) -> Value:
    """`made`, the `and` or `or` of two conditions, with what is known where it is true and where it is false."""
    if symbol == "and":
        return _learned(made, a.when_true + b.when_true, (), (a.partial[0] or b.partial[0], True))
    return _learned(made, (), a.when_false + b.when_false, (True, a.partial[1] or b.partial[1]))
