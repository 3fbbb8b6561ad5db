"""Functions that look at their arguments themselves: reductions in ascending order, `dot`, `full`, `unpack`, `bits`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from specgen.binding import convert, functions, operators, static
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.convert import element, from_elements, static_typed, unify
from specgen.binding.subscripts import static_count
from specgen.binding.types import BOOL, I32, INDEX, Scalar, Vector, same_shape
from specgen.binding.values import Unknown, Value, static_value

Result = Value | Unknown

_PACKED = {"i4": (4, True), "u4": (4, False), "i8": (8, True), "u8": (8, False)}
"""Formats of `unpack` and `pack`: bits of an element, signed."""


def _value(ctx: Context, node: ast.AST) -> Result:
    from specgen.binding.evaluate import value

    return value(ctx, node)


def _arguments(ctx: Context, node: ast.Call, least: int, most: int, keywords: tuple[str, ...] = ()) -> bool:
    """Whether number and names of the arguments are right; says what is wrong."""
    name = ctx.expr.text_of(node.func)
    for keyword in node.keywords:
        if _means_tiles(name, keyword.arg) and keyword.arg not in keywords:
            _tiles(ctx, node)
            return False
        if keyword.arg not in keywords:
            ctx.report("SG-TYPE", f"`{name}` takes no `{keyword.arg}=`.", at=keyword, allowed=keywords)
            return False
    if not least <= len(node.args) <= most:
        told = str(least) if least == most else f"{least} or {most}"
        ctx.report("SG-TYPE", f"`{name}` takes {told} values; {len(node.args)} given.", at=node)
        return False
    return True


def _means_tiles(name: str, keyword: str | None) -> bool:
    """Whether a keyword makes sense for tiles only: an axis of `full` and `iota`, `over` of a reduction."""
    return name in ("full", "iota") or (name in ("sum", "max", "min") and keyword == "over")


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == name), None)


def _vector(ctx: Context, node: ast.AST, name: str) -> Value | None:
    found = _value(ctx, node)
    if isinstance(found, Unknown):
        return None
    if found.size is None:
        text = ctx.expr.text_of(node)
        ctx.report("SG-TYPE", f"`{name}` works on a vector; `{text}` is `{found.type}`.", at=node)
        return None
    return found


def _start(ctx: Context, node: ast.Call, position: int, type_: Scalar, default: Value) -> Value | None:
    """The `start` argument as a scalar of `type_`."""
    part = _keyword(node, "start") or (node.args[position] if len(node.args) > position else None)
    if part is None:
        return default
    found = _value(ctx, part)
    if isinstance(found, Unknown):
        return None
    if found.size is not None:
        ctx.report("SG-TYPE", f"`start` is a scalar `{type_}`; `{ctx.expr.text_of(part)}` is `{found.type}`.", at=part)
        return None
    if found.type.is_untyped:
        made = convert.literal(ctx, part, found, type_)
        return None if isinstance(made, Unknown) else made
    if found.type != type_:
        text = ctx.expr.text_of(part)
        message = f"`start` is `{type_}` here; `{text}` is `{found.type}`."
        ctx.report("SG-TYPE", message, at=part, hint=f"Write `{type_}({text})`.")
        return None
    return found


def _add(ctx: Context, a: Value, b: Value) -> Value:
    if a.type.element.is_float:
        return ctx.op("arith.addf", a.type, a, b, attributes=ctx.fastmath("contract", "nnan"))
    return ctx.op("arith.addi", a.type, a, b)


def _sum(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 1, 2, ("start",)):
        return UNKNOWN
    vector = _vector(ctx, node.args[0], "sum")
    if vector is None:
        return UNKNOWN
    type_ = vector.type.element
    if type_ is BOOL:
        return ctx.report("SG-TYPE", "`sum` works on numbers; these are `bool`.", at=node, hint="Use `any` or `all`.")
    zero = static_typed(type_, 0.0 if type_.is_float else 0)
    result = _start(ctx, node, 1, type_, zero)
    if result is None:
        return UNKNOWN
    ctx.node = node
    for number in range(vector.size or 0):
        result = _folded_add(ctx, node, result, element(ctx, vector, number))
    return result


def _folded_add(ctx: Context, node: ast.AST, a: Value, b: Value) -> Value:
    if a.is_static and b.is_static:
        made = operators.fold(ctx, node, a.type, lambda x, y: static.binary("+", a.type.element, x, y), a, b)
        assert isinstance(made, Value)
        return made
    return _add(ctx, a, b)


def _extreme(symbol: str) -> Callable[[Context, ast.Call], Result]:
    def handler(ctx: Context, node: ast.Call) -> Result:
        if len(node.args) != 1:
            return _of_scalars(ctx, node, symbol)
        if not _arguments(ctx, node, 1, 1):
            return UNKNOWN
        vector = _vector(ctx, node.args[0], symbol)
        if vector is None:
            return UNKNOWN
        ctx.node = node
        result: Result = element(ctx, vector, 0)
        for number in range(1, vector.size or 1):
            assert isinstance(result, Value)
            result = functions.extreme(ctx, node, symbol, result, element(ctx, vector, number))
        return result

    return handler


def _of_scalars(ctx: Context, node: ast.Call, symbol: str) -> Result:
    if not _arguments(ctx, node, 2, 64):
        return UNKNOWN
    values = [_value(ctx, a) for a in node.args]
    known = [v for v in values if isinstance(v, Value)]
    if len(known) != len(values):
        return UNKNOWN
    ctx.node = node
    return functions.EXTREMES[symbol](ctx, node, known)


def _quantifier(symbol: str) -> Callable[[Context, ast.Call], Result]:
    def handler(ctx: Context, node: ast.Call) -> Result:
        if not _arguments(ctx, node, 1, 1):
            return UNKNOWN
        name = "any" if symbol == "or" else "all"
        vector = _vector(ctx, node.args[0], name)
        if vector is None:
            return UNKNOWN
        if vector.type.element is not BOOL:
            return ctx.report("SG-TYPE", f"`{name}` works on bool; these are `{vector.type.element}`.", at=node)
        ctx.node = node
        if isinstance(vector.static, tuple):
            return static_value(any(vector.static) if symbol == "or" else all(vector.static))
        result = element(ctx, vector, 0)
        for number in range(1, vector.size or 1):
            result = operators.conjunction(ctx, symbol, result, element(ctx, vector, number))
        return result

    return handler


def _dot(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 3, ("start",)):
        return UNKNOWN
    a, b = _vector(ctx, node.args[0], "dot"), _vector(ctx, node.args[1], "dot")
    if a is None or b is None:
        return UNKNOWN
    both = unify(ctx, (node.args[0], node.args[1]), [a, b])
    if both is None:
        return UNKNOWN
    a, b = both
    type_ = a.type.element
    if type_ is BOOL or type_ is INDEX or type_.is_untyped:
        return ctx.report("SG-TYPE", f"`dot` works on floats and sized integers; these are `{type_}`.", at=node)
    accumulator = type_ if type_.is_float else I32
    result = _start(ctx, node, 2, accumulator, static_typed(accumulator, 0.0 if type_.is_float else 0))
    if result is None:
        return UNKNOWN
    ctx.node = node
    for number in range(a.size or 0):
        x, y = element(ctx, a, number), element(ctx, b, number)
        if type_.is_float:
            made = functions.fused(ctx, node, x, y, result)
            assert isinstance(made, Value)
            result = made
        else:
            product = ctx.op("arith.muli", I32, _to_i32(ctx, x), _to_i32(ctx, y))
            result = ctx.op("arith.addi", I32, result, product)
    return result


def _to_i32(ctx: Context, value: Value) -> Value:
    made = convert.cast(ctx, None, value, I32)
    assert isinstance(made, Value)
    return made


def _full(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 2):
        return UNKNOWN
    found, count = _value(ctx, node.args[0]), static_count(ctx, node.args[1])
    if isinstance(found, Unknown) or count is None:
        return UNKNOWN
    made = convert.typed(ctx, node.args[0], found)
    if isinstance(made, Unknown):
        return made
    if made.size is not None:
        return ctx.report("SG-TYPE", f"`full` spreads a scalar; this is `{made.type}`.", at=node.args[0])
    ctx.node = node
    return convert.spread(ctx, made, count)


def _iota(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 1, 1):
        return UNKNOWN
    count = static_count(ctx, node.args[0])
    if count is None:
        return UNKNOWN
    return Value(Vector(INDEX, count), static=tuple(range(count)), interval=(0, count - 1))


def _concat(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 64):
        return UNKNOWN
    values = [_vector(ctx, a, "concat") for a in node.args]
    known = [v for v in values if v is not None]
    if len(known) != len(values):
        return UNKNOWN
    types = {str(v.type.element) for v in known}
    if len(types) > 1:
        return ctx.report(
            "SG-TYPE", f"`concat` joins vectors of one type; these are {', '.join(sorted(types))}.", at=node
        )
    ctx.node = node
    parts = [element(ctx, v, i) for v in known for i in range(v.size or 0)]
    return from_elements(ctx, Vector(known[0].type.element, len(parts)), parts)


def _format(ctx: Context, node: ast.AST) -> tuple[int, bool] | None:
    from specgen.binding.evaluate import evaluate
    from specgen.binding.values import Word

    text = node.id if isinstance(node, ast.Name) else ""
    if text not in _PACKED and isinstance(node, ast.Name) and ctx.scope.find(text) is not None:
        found = evaluate(ctx, node)
        text = found.text if isinstance(found, Word) else text
    if text in _PACKED:
        return _PACKED[text]
    names = ", ".join(f"`{n}`" for n in _PACKED)
    ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node)}` is no packed format; there are {names}.", at=node)
    return None


def _unpack(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 2):
        return UNKNOWN
    found, format_ = _value(ctx, node.args[0]), _format(ctx, node.args[1])
    if isinstance(found, Unknown) or format_ is None:
        return UNKNOWN
    type_ = found.type.element
    if type_.kind not in ("signed", "unsigned"):
        text = ctx.expr.text_of(node.args[0])
        return ctx.report("SG-TYPE", f"`unpack` reads sized integers; `{text}` is `{type_}`.", at=node.args[0])
    bits, signed = format_
    if bits > type_.bits:
        return ctx.report("SG-TYPE", f"`{type_}` has fewer bits than the format.", at=node)
    ctx.node = node
    sources = [found] if found.size is None else [element(ctx, found, i) for i in range(found.size)]
    parts = [_field(ctx, s, i * bits, bits, signed) for s in sources for i in range(type_.bits // bits)]
    return from_elements(ctx, Vector(I32, len(parts)), parts)


def _field(ctx: Context, source: Value, shift: int, bits: int, signed: bool) -> Value:
    """Bits `[shift, shift + bits)` of an integer as i32: to the left end, then back with or without the sign."""
    type_ = source.type.element
    if source.static is not None:
        raw = (int(source.static) >> shift) & ((1 << bits) - 1)  # type: ignore[arg-type]
        return static_typed(I32, raw - (1 << bits) if signed and raw >> (bits - 1) else raw)
    work = source
    if type_.bits != 32:
        whole = shift + bits <= 32
        if type_.bits == 64 and not whole:
            amount = static_typed(type_, 32)
            work, shift = ctx.op("arith.shrui", type_, source, amount), shift - 32
        work = convert.resize(
            ctx, work, Scalar("u32", "unsigned", 32, "i32", "i32") if type_.kind == "unsigned" else I32
        )
    plain = Value(I32, work.name, level=work.level)
    left, right = 32 - shift - bits, 32 - bits
    lin = ctx.facts.atom(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else ctx.facts.atom(0, (1 << bits) - 1)
    if not signed:
        moved = plain if shift == 0 else ctx.op("arith.shrui", I32, plain, static_typed(I32, shift))
        if left == 0:
            return Value(I32, moved.name, level=moved.level, lin=lin)
        return ctx.op("arith.andi", I32, moved, static_typed(I32, (1 << bits) - 1), lin=lin)
    moved = plain if left == 0 else ctx.op("arith.shli", I32, plain, static_typed(I32, left))
    return moved if right == 0 else ctx.op("arith.shrsi", I32, moved, static_typed(I32, right), lin=lin)


def _pack(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 2):
        return UNKNOWN
    vector, format_ = _vector(ctx, node.args[0], "pack"), _format(ctx, node.args[1])
    if vector is None or format_ is None:
        return UNKNOWN
    bits, size = format_[0], vector.size or 0
    type_ = vector.type.element
    if type_.kind not in ("signed", "unsigned"):
        return ctx.report("SG-TYPE", f"`pack` takes sized integers; these are `{type_}`.", at=node.args[0])
    if size * bits not in (8, 16, 32) and (size * bits) % 32:
        return ctx.report("SG-TYPE", f"{size} elements of {bits} bits do not fill whole 32-bit words.", at=node)
    ctx.node = node
    group = min(32 // bits, size)
    words = [_word(ctx, vector, first, group, bits) for first in range(0, size, group)]
    return words[0] if len(words) == 1 else from_elements(ctx, Vector(I32, len(words)), words)


def _word(ctx: Context, vector: Value, first: int, group: int, bits: int) -> Value:
    result: Value | None = None
    for number in range(group):
        part = _to_i32(ctx, element(ctx, vector, first + number))
        low = _bitwise(ctx, "arith.andi", part, (1 << bits) - 1 if bits < 32 else -1)
        moved = low if number == 0 else _shifted(ctx, low, number * bits)
        result = moved if result is None else _or(ctx, result, moved)
    assert result is not None
    return result


def _bitwise(ctx: Context, name: str, value: Value, number: int) -> Value:
    if value.static is not None:
        return static_typed(I32, static.wrap(I32, int(value.static) & number))  # type: ignore[arg-type]
    return ctx.op(name, I32, value, static_typed(I32, number))


def _shifted(ctx: Context, value: Value, amount: int) -> Value:
    if value.static is not None:
        return static_typed(I32, static.wrap(I32, int(value.static) << amount))  # type: ignore[arg-type]
    return ctx.op("arith.shli", I32, value, static_typed(I32, amount))


def _or(ctx: Context, a: Value, b: Value) -> Value:
    if a.static is not None and b.static is not None:
        return static_typed(I32, static.wrap(I32, int(a.static) | int(b.static)))  # type: ignore[arg-type]
    return ctx.op("arith.ori", I32, a, b)


def _bits(ctx: Context, node: ast.Call) -> Result:
    if not _arguments(ctx, node, 2, 2):
        return UNKNOWN
    found, to = _value(ctx, node.args[0]), functions.type_argument(ctx, node.args[1])
    if isinstance(found, Unknown) or to is None:
        return UNKNOWN
    source = found.type.element
    if source.is_untyped:
        return ctx.report("SG-TYPE", "`bits` takes a value with a type.", at=node.args[0])
    if BOOL in (source, to) or source.bits != to.bits:
        return ctx.report(
            "SG-TYPE", f"`bits` keeps the size; `{source}` has {source.bits} bits, `{to}` {to.bits}.", at=node
        )
    ctx.node = node
    if source == to:
        return found
    if not source.is_float and not to.is_float:
        return convert.cast(ctx, node.args[0], found, to)
    if INDEX in (source, to):
        return ctx.report("SG-TYPE", "`bits` does not take `index`.", at=node, hint="Use `i64`.")
    return ctx.op("arith.bitcast", same_shape(found.type, to), found)


def _size(ctx: Context, node: ast.Call) -> Result:
    """`size(type)`: bytes."""
    if len(node.args) != 1 or node.keywords:
        return ctx.report("SG-TYPE", "`size` takes one type.", at=node)
    type_ = functions.type_argument(ctx, node.args[0])
    return UNKNOWN if type_ is None else static_value(type_.size)


def _tiles(ctx: Context, node: ast.Call) -> Result:
    name = ctx.expr.text_of(node.func)
    return ctx.report("SG-UNSUPPORTED", f"not supported yet: tiles (`{name}`).", at=node)


SPECIAL: dict[str, Callable[[Context, ast.Call], Result]] = {
    "sum": _sum,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "any": _quantifier("or"),
    "all": _quantifier("and"),
    "dot": _dot,
    "full": _full,
    "iota": _iota,
    "concat": _concat,
    "unpack": _unpack,
    "pack": _pack,
    "bits": _bits,
    "size": _size,
    "tile": _tiles,
    "mma": _tiles,
    "rename": _tiles,
}
"""Functions that look at their arguments themselves."""
