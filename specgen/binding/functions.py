"""Calls: one row a function, with what it takes and how it is bound."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable

from specgen.binding import collectives, convert, forms, operators, static, vectors
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import Maybe, static_typed, unify
from specgen.binding.names import FUNCTIONS, lookup
from specgen.binding.types import BOOL, INDEX, REAL, SCALARS, Scalar, same_shape
from specgen.binding.values import SUBGROUP, VARYING, Unknown, Value, Word

Result = Value | Unknown
Handler = Callable[[Context, ast.Call, list[Value]], Result]

_MATH = {
    "floor": "math.floor",
    "ceil": "math.ceil",
    "trunc": "math.trunc",
    "round": "math.roundeven",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "log": "math.log",
    "log2": "math.log2",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "sin": "math.sin",
    "cos": "math.cos",
    "tanh": "math.tanh",
    "erf": "math.erf",
}
_EXACT = ("floor", "ceil", "trunc", "round")
_COUNTS = {"popcount": "math.ctpop", "clz": "math.ctlz", "ctz": "math.cttz"}


def call(ctx: Context, node: ast.Call) -> Result:
    """The value of a call."""
    if isinstance(node.func, ast.Attribute):
        return collectives.call(ctx, node)
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name in vectors.SPECIAL:
        return vectors.SPECIAL[name](ctx, node)
    if name in _TABLE:
        return _ordinary(ctx, node, name)
    type_ = _callee_type(ctx, node.func)
    if type_ is not None:
        return _conversion(ctx, node, type_)
    if name in FUNCTIONS:
        return ctx.report("SG-UNSUPPORTED", f"not supported yet: `{name}`.", at=node)
    known = [*FUNCTIONS, *SCALARS]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Nearest: `{near[0]}`." if near else None
    for argument in node.args:
        _argument(ctx, argument)
    return ctx.report("SG-NAME", f"no function `{name}`.", at=node.func, hint=hint)


def _argument(ctx: Context, node: ast.AST) -> Result:
    from specgen.binding.evaluate import value

    return value(ctx, node)


def _callee_type(ctx: Context, node: ast.Name) -> Scalar | None:
    """The type that a call names: its own name, or a param or define whose value is a type."""
    if node.id in SCALARS:
        return SCALARS[node.id]
    found = ctx.scope.find(node.id)
    if found is None or not isinstance(found.value, Word):
        return None
    word = lookup(ctx, node)
    return word.type if isinstance(word, Word) else None


def type_argument(ctx: Context, node: ast.AST) -> Scalar | None:
    """A type in an argument; None after a diagnostic."""
    from specgen.binding.evaluate import evaluate

    found = evaluate(ctx, node)
    if isinstance(found, Word) and found.type is not None:
        return found.type
    if not isinstance(found, Unknown):
        ctx.report("SG-TYPE", f"a type is expected here, not `{ctx.expr.text_of(node)}`.", at=node)
    return None


def _conversion(ctx: Context, node: ast.Call, type_: Scalar) -> Result:
    to_zero = False
    for keyword in node.keywords:
        word = keyword.value.id if isinstance(keyword.value, ast.Name) else None
        if keyword.arg != "round" or word not in ("zero", "nearest"):
            return ctx.report("SG-TYPE", f"`{type_}(x)` takes `round=zero` only.", at=keyword)
        to_zero = word == "zero"
    if len(node.args) != 1:
        return ctx.report("SG-TYPE", f"`{type_}(x)` takes one value.", at=node)
    found = _argument(ctx, node.args[0])
    if isinstance(found, Unknown):
        return found
    ctx.node = node
    if to_zero and not (type_.is_float and found.type.element.is_float):
        return ctx.report("SG-TYPE", "`round=zero` is for conversions between floats.", at=node)
    if found.type.is_untyped and type_.is_integer and found.type.element is not REAL:
        return convert.literal(ctx, node.args[0], found, type_)
    return convert.cast(ctx, node.args[0], found, type_, to_zero=to_zero)


def _ordinary(ctx: Context, node: ast.Call, name: str) -> Result:
    least, most, handler = _TABLE[name]
    for keyword in node.keywords:
        ctx.report("SG-TYPE", f"`{name}` takes no `{keyword.arg}=`.", at=keyword)
    values = [_argument(ctx, a) for a in node.args]
    if not least <= len(values) <= most:
        told = str(least) if least == most else f"{least} or more"
        ctx.report("SG-TYPE", f"`{name}` takes {told} value{'s' if told != '1' else ''}; {len(values)} given.", at=node)
        return UNKNOWN
    if node.keywords or any(isinstance(v, Unknown) for v in values):
        return UNKNOWN
    known = [v for v in values if isinstance(v, Value)]
    ctx.node = node
    return handler(ctx, node, known)


# --- rows ----------------------------------------------------------------------------------------------------------


def _operands(
    ctx: Context, node: ast.Call, values: list[Value], *, floats: bool = False, integers: bool = False
) -> list[Value] | None:
    """The arguments with one type; None after a diagnostic when they are of the wrong kind."""
    name = ctx.expr.text_of(node.func)
    for part, value in zip(node.args, values, strict=True):
        element, text = value.type.element, ctx.expr.text_of(part)
        if element is BOOL or (floats and not element.is_float and not element.is_untyped):
            hint = f"Write `f32({text})`." if floats and element is not BOOL else None
            kind = "floats" if floats else "integers" if integers else "numbers"
            ctx.report("SG-TYPE", f"`{name}` works on {kind}; `{text}` is `{element}`.", at=part, hint=hint)
            return None
        if integers and element.is_float:
            ctx.report("SG-TYPE", f"`{name}` works on integers; `{text}` is a float.", at=part)
            return None
    return unify(ctx, tuple(node.args), values)


def _extreme(symbol: str) -> Handler:
    def handler(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
        operands = _operands(ctx, node, values)
        if operands is None:
            return UNKNOWN
        ctx.node = node
        result = operands[0]
        for operand in operands[1:]:
            made = extreme(ctx, node, symbol, result, operand)
            if isinstance(made, Unknown):
                return made
            result = made
        return result

    return handler


def extreme(ctx: Context, node: ast.AST, symbol: str, a: Value, b: Value) -> Maybe:
    """`min` or `max` of two values of one type: a NaN loses, -0 < +0."""
    if a.is_static and b.is_static:
        return operators.fold(ctx, node, a.type, static.least if symbol == "min" else static.greatest, a, b)
    element = a.type.element
    if element.is_float:
        return ctx.op(f"arith.{symbol}numf", a.type, a, b, attributes=ctx.fastmath("nnan"))
    name = f"arith.{symbol}{'ui' if element.kind == 'unsigned' else 'si'}"
    (alo, ahi), (blo, bhi) = ctx.interval(a), ctx.interval(b)
    pick = min if symbol == "min" else max
    interval = pick(alo, blo), pick(ahi, bhi)
    lin = forms.extreme(ctx.facts, symbol, a.lin, b.lin) if a.lin is not None and b.lin is not None else None
    return ctx.op(name, a.type, a, b, lin=lin, interval=interval)


def _clamp(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
    operands = _operands(ctx, node, values)
    if operands is None:
        return UNKNOWN
    ctx.node = node
    x, lo, hi = operands
    below = extreme(ctx, node, "min", x, hi)
    return below if isinstance(below, Unknown) else extreme(ctx, node, "max", below, lo)


def _abs(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
    operands = _operands(ctx, node, values)
    if operands is None:
        return UNKNOWN
    (x,) = operands
    ctx.node = node
    if x.is_static:
        return operators.fold(ctx, node, x.type, lambda v: static.settle(x.type.element, abs(v)), x)
    if x.type.element.is_float:
        return ctx.op("math.absf", x.type, x)
    lo, hi = ctx.interval(x)
    if lo >= 0:
        return x
    lowest = x.type.element.limits[0]
    interval = (0 if lo <= 0 <= hi else min(abs(lo), abs(hi)), max(abs(lo), abs(hi))) if lo > lowest else None
    lin = ctx.facts.atom(*interval) if interval is not None and isinstance(x.type, Scalar) else None
    return ctx.op("math.absi", x.type, x, lin=lin, interval=interval)


def _math(name: str) -> Handler:
    def handler(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
        operands = _operands(ctx, node, values, floats=True)
        if operands is None:
            return UNKNOWN
        (x,) = operands
        ctx.node = node
        if x.is_static:
            element = REAL if x.type.is_untyped else x.type.element
            function = static.UNARY_FLOAT[name]
            return operators.fold(
                ctx, node, same_shape(x.type, element), lambda v: static.settle(element, function(float(v))), x
            )
        flags = ctx.fastmath("nnan") if name in (*_EXACT, "sqrt") else ctx.fastmath("afn", "nnan")
        return ctx.op(_MATH[name], x.type, x, attributes=flags)

    return handler


def _fma(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
    operands = _operands(ctx, node, values, floats=True)
    if operands is None:
        return UNKNOWN
    ctx.node = node
    return fused(ctx, node, *operands)


def fused(ctx: Context, node: ast.AST, a: Value, b: Value, c: Value) -> Maybe:
    """`fma(a, b, c)`: one rounding."""
    if a.is_static and b.is_static and c.is_static:
        element = a.type.element if not a.type.is_untyped else SCALARS["f64"]

        def exact(x: float, y: float, z: float) -> float:
            from fractions import Fraction
            from math import isfinite

            if not (isfinite(x) and isfinite(y) and isfinite(z)):
                return x * y + z
            total = Fraction(x) * Fraction(y) + Fraction(z)
            return static.round_float(element, total) if total else x * y + z

        return operators.fold(ctx, node, a.type, exact, a, b, c)
    return ctx.op("math.fma", a.type, a, b, c, attributes=ctx.fastmath("nnan"))


def _ceil_div(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
    operands = _operands(ctx, node, values, integers=True)
    if operands is None:
        return UNKNOWN
    a, b = operands
    ctx.node = node
    if a.is_static and b.is_static:

        def divided(x: int, y: int) -> int:
            if y == 0:
                raise static.StaticError("division by zero")
            return -(-x // y)

        return operators.fold(ctx, node, a.type, divided, a, b)
    return convert.per_element(ctx, a.type, lambda x, y: ceil_division(ctx, x, y), a, b)


def ceil_division(ctx: Context, a: Value, b: Value) -> Value:
    """`ceil_div` of scalars; by zero: a finding, result 0."""
    lo, hi = ctx.interval(b)
    nonzero = None
    if lo <= 0 <= hi:
        nonzero = operators.compare_values(ctx, "!=", b, static_typed(b.type, 0))
        text = ctx.expr.text_of(ctx.node) if ctx.node is not None else ""
        operators.check(ctx, nonzero, "division-by-zero", f"the divisor of `{text}` is 0")
        b = ctx.op("arith.select", b.type, nonzero, b, static_typed(b.type, 1))
    unsigned = a.type.element.kind == "unsigned" or (ctx.interval(a)[0] >= 0 and ctx.interval(b)[0] > 0)
    lin = forms.ceil_quotient(ctx.facts, a.lin, b.lin) if a.lin is not None and b.lin is not None else None
    made = ctx.op("arith.ceildivui" if unsigned else "arith.ceildivsi", a.type, a, b, lin=lin)
    return made if nonzero is None else ctx.op("arith.select", a.type, nonzero, made, static_typed(a.type, 0))


def _round_up(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
    operands = _operands(ctx, node, values, integers=True)
    if operands is None:
        return UNKNOWN
    count = _ceil_div(ctx, node, operands)
    if isinstance(count, Unknown):
        return count
    ctx.node = node
    a, b = operands
    if a.is_static and b.is_static:
        return operators.fold(ctx, node, a.type, lambda q, y: static.settle(a.type.element, q * y), count, b)
    lin = count.lin.scaled(b.lin.number) if count.lin and b.lin and b.lin.number is not None else None
    return ctx.op("arith.muli", a.type, count, b, lin=lin)


def _count(name: str) -> Handler:
    def handler(ctx: Context, node: ast.Call, values: list[Value]) -> Result:
        operands = _operands(ctx, node, values, integers=True)
        if operands is None:
            return UNKNOWN
        (x,) = operands
        made = convert.typed(ctx, node.args[0], x)
        if isinstance(made, Unknown):
            return made
        x, bits = made, made.type.element.bits
        ctx.node = node
        if x.is_static:
            return operators.fold(ctx, node, x.type, lambda v: _counted(name, v, bits), x)
        if x.type.element is INDEX:
            return _index_count(ctx, name, x)
        lin = ctx.facts.atom(0, bits) if isinstance(x.type, Scalar) else None
        return ctx.op(_COUNTS[name], x.type, x, lin=lin, interval=(0, bits))

    return handler


def _index_count(ctx: Context, name: str, x: Value) -> Value:
    wide = SCALARS["i64"]

    def one(part: Value) -> Value:
        raw = ctx.op("arith.index_cast", wide, part)
        counted = ctx.op(_COUNTS[name], wide, raw)
        return ctx.op("arith.index_cast", INDEX, counted, lin=ctx.facts.atom(0, 64))

    return convert.per_element(ctx, x.type, one, x)


def _counted(name: str, value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    if name == "popcount":
        return value.bit_count()
    if name == "clz":
        return bits - value.bit_length()
    return bits if value == 0 else (value & -value).bit_length() - 1


_TABLE: dict[str, tuple[int, int, Handler]] = {
    "clamp": (3, 3, _clamp),
    "abs": (1, 1, _abs),
    "fma": (3, 3, _fma),
    "ceil_div": (2, 2, _ceil_div),
    "round_up": (2, 2, _round_up),
    **{name: (1, 1, _math(name)) for name in _MATH},
    **{name: (1, 1, _count(name)) for name in _COUNTS},
}
"""Function -> least and most arguments, handler of evaluated arguments."""
EXTREMES: dict[str, Handler] = {"min": _extreme("min"), "max": _extreme("max")}


def subgroup_id(ctx: Context, which: str) -> Result:
    """`subgroup.lane` and `subgroup.id`."""
    if ctx.only_static is not None:
        return ctx.report("SG-STATIC", f"`subgroup.{which}` is known only when the kernel runs; {ctx.only_static}.")
    collectives.require_subgroups(ctx)
    size = collectives.subgroup_size(ctx)
    total = collectives.workgroup_total(ctx)
    top = (size if size is not None else 128) if which == "lane" else max(total // (size or 1), 1)
    name = f"gpu.{'lane' if which == 'lane' else 'subgroup'}_id"
    lin = ctx.facts.atom(0, top - 1, declared=True)
    extra = (("motif.range", (0, top - 1)),)
    level = VARYING if which == "lane" else SUBGROUP
    return ctx.op(name, INDEX, hint=f"subgroup_{which}", extra=extra, level=level, lin=lin)
