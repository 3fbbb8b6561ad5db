"""Conversions: the implicit ones of literals and spreading, and the calls of a type."""

from __future__ import annotations

import ast
from collections.abc import Callable

from specgen.binding import static
from specgen.binding.context import Context
from specgen.binding.types import BOOL, F32, I64, INDEX, REAL, Scalar, Type, Vector, same_shape
from specgen.binding.values import Unknown, Value

Maybe = Value | Unknown


def typed(ctx: Context, node: ast.AST | None, value: Value) -> Maybe:
    """`value` with a type of its own: an integer literal is `index`, a float literal has none (SG-TYPE)."""
    if not value.type.is_untyped:
        return value
    if value.type.element is REAL:
        text = ctx.expr.text_of(node) if node is not None else str(value.static)
        return ctx.report("SG-TYPE", "a float literal alone has no type.", at=node, hint=f"Write `f32({text})`.")
    return literal(ctx, node, value, INDEX)


def literal(ctx: Context, node: ast.AST | None, value: Value, type_: Scalar) -> Maybe:
    """A static number as a value of `type_`: exact for integers, rounded once for floats."""
    numbers = value.static if isinstance(value.static, tuple) else (value.static,)
    if not type_.is_float and (value.type.element is REAL or type_.kind == "bool"):
        text = ctx.expr.text_of(node) if node is not None else str(value.static)
        kind = "float" if value.type.element is REAL else "integer"
        return ctx.report("SG-TYPE", f"{_article(type_)} is needed here; `{text}` is {_article(kind)}.", at=node)
    if type_.is_integer:
        lo, hi = type_.limits
        for number in numbers:
            if not lo <= number <= hi:  # type: ignore[operator]
                return ctx.report("SG-RANGE", f"{number} does not fit `{type_}` ([{lo}, {hi}]).", at=node)
        result: tuple[float, ...] = tuple(int(n) for n in numbers)  # type: ignore[arg-type]
    else:
        result = tuple(static.round_float(type_, n) for n in numbers)  # type: ignore[arg-type]
    return static_typed(same_shape(value.type, type_), result if isinstance(value.static, tuple) else result[0])


def _article(name: object) -> str:
    text = f"`{name}`" if isinstance(name, Scalar) else str(name)
    return f"{'an' if text.strip('`')[0] in 'aeiou' and not text.startswith('`u') else 'a'} {text}"


def static_typed(type_: Type, number: object) -> Value:
    """A static value of a type; integer scalars get their form."""
    from specgen.binding.linear import Linear

    lin = Linear(int(number)) if isinstance(type_, Scalar) and type_.is_integer else None  # type: ignore[call-overload]
    return Value(type_, static=number, lin=lin)  # type: ignore[arg-type]


def spread(ctx: Context, value: Value, size: int) -> Value:
    """A scalar as a vector of `size` equal elements."""
    type_ = Vector(value.type.element, size)
    interval = ctx.interval(value) if value.type.element.is_integer else None
    if value.static is not None:
        return Value(type_, static=(value.static,) * size, interval=interval)  # type: ignore[arg-type]
    return ctx.op("vector.broadcast", type_, value, interval=interval)


def unify(ctx: Context, nodes: tuple[ast.AST, ...], values: list[Value]) -> list[Value] | None:
    """Operands of one operation as values of one type: literals follow their partner, scalars spread.

    None (after a diagnostic) when they do not agree. Untyped static operands stay untyped.
    """
    owner = next((v.type.element for v in values if not v.type.is_untyped), None)
    if owner is None:
        owner = REAL if any(v.type.element is REAL for v in values) else values[0].type.element
        values = [Value(same_shape(v.type, owner), static=v.static, lin=v.lin, interval=v.interval) for v in values]
    result: list[Value] = []
    for node, value in zip(nodes, values, strict=True):
        if value.type.element == owner:
            result.append(value)
        elif value.type.is_untyped:
            made = literal(ctx, node, value, owner)
            if isinstance(made, Unknown):
                return None
            result.append(made)
        else:
            _mismatch(ctx, nodes, values, node, value.type.element, owner)
            return None
    return _same_size(ctx, nodes, result)


def _mismatch(
    ctx: Context, nodes: tuple[ast.AST, ...], values: list[Value], node: ast.AST, found: Scalar, owner: Scalar
) -> None:
    text = ctx.expr.text_of(node)
    first = next(n for n, v in zip(nodes, values, strict=True) if v.type.element == owner)
    message = f"`{ctx.expr.text_of(first)}` is `{owner}` and `{text}` is `{found}`; there is no implicit conversion."
    if found.kind == "bool" or owner.kind == "bool":
        flag = text if found.kind == "bool" else ctx.expr.text_of(first)
        ctx.report("SG-TYPE", message, at=node, hint=f"Write `1 if {flag} else 0` for a number.")
    else:
        ctx.report(
            "SG-TYPE", message, at=node, hint=f"Write `{owner}({text})` or `{found}({ctx.expr.text_of(first)})`."
        )


def _same_size(ctx: Context, nodes: tuple[ast.AST, ...], values: list[Value]) -> list[Value] | None:
    sizes = {v.size for v in values if v.size is not None}
    if not sizes:
        return values
    if len(sizes) > 1:
        named = [(n, v) for n, v in zip(nodes, values, strict=True) if v.size is not None]
        told = " and ".join(f"`{ctx.expr.text_of(n)}` has {v.size}" for n, v in named)
        ctx.report("SG-SHAPE", f"vectors of different sizes do not mix: {told} elements.", at=named[1][0])
        return None
    size = next(iter(sizes))
    return [v if v.size is not None else spread(ctx, v, size) for v in values]


def per_element(ctx: Context, type_: Type, function: Callable[..., Value], *values: Value) -> Value:
    """Apply a function of scalars to each element of vectors and put the results together again."""
    if not isinstance(type_, Vector):
        return function(*values)
    made = [function(*(element(ctx, v, i) if v.size is not None else v for v in values)) for i in range(type_.size)]
    return from_elements(ctx, type_, made)


def element(ctx: Context, vector: Value, index: int) -> Value:
    """Element `index` (static) of a vector."""
    type_ = vector.type.element
    if isinstance(vector.static, tuple):
        return static_typed(type_, vector.static[index])
    lin = ctx.facts.atom(*ctx.interval(vector)) if type_.is_integer else None
    return ctx.op("vector.extract", type_, vector, attributes=(("position", (index,)),), lin=lin)


def from_elements(ctx: Context, type_: Vector, elements: list[Value]) -> Value:
    """A vector out of scalars."""
    interval = None
    if type_.element.is_integer:
        bounds = [ctx.interval(v) for v in elements]
        interval = min(b[0] for b in bounds), max(b[1] for b in bounds)
    if all(v.static is not None for v in elements):
        return Value(type_, static=tuple(v.static for v in elements), interval=interval)  # type: ignore[misc]
    return ctx.op("vector.from_elements", type_, *elements, interval=interval)


def select(ctx: Context, condition: Value, a: Value, b: Value) -> Value:
    """`a` where the condition holds, else `b`; both of one type, chosen element by element for a vector condition."""
    interval = _hull(ctx, a, b) if a.type.element.is_integer else None
    lin = ctx.facts.atom(*interval) if interval is not None and isinstance(a.type, Scalar) else None
    return ctx.op("arith.select", a.type, condition, a, b, lin=lin, interval=interval)


def _hull(ctx: Context, a: Value, b: Value) -> tuple[int, int]:
    (alo, ahi), (blo, bhi) = ctx.interval(a), ctx.interval(b)
    return min(alo, blo), max(ahi, bhi)


def _carrier(type_: Type, bits: int) -> Type:
    """A signless integer of `bits` in the shape of `type_`."""
    return same_shape(type_, Scalar(f"i{bits}", "signed", bits, f"i{bits}", f"i{bits}"))


def cast(ctx: Context, node: ast.AST | None, value: Value, to: Scalar, *, to_zero: bool = False) -> Maybe:
    """The call of a type. Refuses conversions to and from `bool` that hide a comparison."""
    source = value.type.element
    if source == to:
        return value
    if to.kind == "bool":
        text = ctx.expr.text_of(node) if node is not None else "x"
        return ctx.report("SG-TYPE", f"`{text}` is no condition.", at=node, hint=f"Write `{text} != 0`.")
    if value.static is not None:
        return _static_cast(value, to, to_zero)
    return _dynamic_cast(ctx, value, to, to_zero)


def _static_cast(value: Value, to: Scalar, to_zero: bool) -> Value:
    def one(number: float | int | bool) -> float | int | bool:
        if to.is_float:
            exact = int(number) if isinstance(number, bool) else number
            return static.round_float(to, exact, to_zero=to_zero)
        if isinstance(number, float):
            return static.to_integer(to, number)
        return static.wrap(to, int(number))

    if isinstance(value.static, tuple):
        return static_typed(Vector(to, len(value.static)), tuple(one(n) for n in value.static))
    return static_typed(to, one(value.static))  # type: ignore[arg-type]


def _dynamic_cast(ctx: Context, value: Value, to: Scalar, to_zero: bool) -> Value:
    source = value.type.element
    if source.is_float:
        return _from_float(ctx, value, to, to_zero)
    if to.is_float:
        if source is INDEX:
            value = ctx.op("arith.index_cast", same_shape(value.type, I64), value)
        name = "arith.sitofp" if value.type.element.kind == "signed" else "arith.uitofp"
        return ctx.op(name, same_shape(value.type, to), value)
    return resize(ctx, value, to)


def _from_float(ctx: Context, value: Value, to: Scalar, to_zero: bool) -> Value:
    source = value.type.element
    if not to.is_float:
        target = I64 if to is INDEX else to
        attributes = (("signed", True),) if target.kind == "signed" else ()
        made = ctx.op("motif.fptoi", same_shape(value.type, target), value, attributes=attributes)
        if to is not INDEX:
            return made
        return ctx.op("arith.index_cast", same_shape(value.type, INDEX), made, lin=made.lin)
    if source.bits == to.bits:
        value, source = ctx.op("arith.extf", same_shape(value.type, F32), value), F32
    if source.bits < to.bits:
        return ctx.op("arith.extf", same_shape(value.type, to), value)
    extra = (("motif.rounding", "zero"),) if to_zero else ()
    return ctx.op("arith.truncf", same_shape(value.type, to), value, extra=extra)


def resize(ctx: Context, value: Value, to: Scalar) -> Value:
    """Wraps modulo the width; the form (or the interval) is kept where everything fits."""
    source = value.type.element
    lo, hi = (0, 1) if source is BOOL else ctx.interval(value)
    fits = to.limits[0] <= lo and hi <= to.limits[1]
    lin = value.lin if fits else None
    if lin is None and isinstance(value.type, Scalar):
        lin = ctx.facts.atom(*((lo, hi) if fits else to.limits))
    interval = (lo, hi) if fits else None

    def step(name: str, type_: Scalar, operand: Value) -> Value:
        return ctx.op(name, same_shape(operand.type, type_), operand, lin=lin, interval=interval)

    if source is INDEX:
        return step("arith.index_cast", to, value)
    widen = "arith.extsi" if source.kind == "signed" else "arith.extui"
    if to is INDEX:
        if source.kind != "signed" and source.bits < 64:
            value = step(widen, I64, value)
        return step("arith.index_cast", INDEX, value)
    if source.bits == to.bits:
        return Value(same_shape(value.type, to), value.name, level=value.level, lin=lin, interval=interval)
    return step(widen if source.bits < to.bits else "arith.trunci", to, value)
