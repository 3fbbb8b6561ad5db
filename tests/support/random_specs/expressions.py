"""Random expressions of the spec language: text and meaning side by side.

An `E` is the text to write and a closure that computes one work-item's value from its environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from random_specs import values as v

Env = dict[str, Any]
INTEGER_TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOAT_TYPES = ("f32", "f16", "bf16", "f64")


@dataclass(frozen=True)
class E:
    """An expression: `uses` are the language constructs in it."""

    text: str
    value: Callable[[Env], Any]
    uses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Buffer:
    """A readable place: its element type and, for each axis, an extent."""

    name: str
    element: str
    shape: tuple[int, ...]


class Expressions:
    """Draws expressions over what is in scope."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[dict[str, str]] = [{}]
        self.bounds: dict[str, int] = {}
        self.buffers: list[Buffer] = []

    def visible(self, kind: str) -> list[str]:
        """Names of a type in the open blocks."""
        return [name for scope in self.names for name, t in scope.items() if t == kind]

    def of(self, kind: str, depth: int) -> E:
        """An expression of scalar type `kind`."""
        if kind == "bool":
            return self._boolean(depth)
        if kind == "index":
            return self._index(depth)
        makers = [self._leaf] * (1 + 3 * (depth <= 0))
        if depth > 0:
            makers += [self._binary, self._binary, self._choice, self._unary, self._convert, self._pick]
            makers += [self._float_only] if kind in v.FLOATS else [self._integer_only, self._integer_only]
            if kind == "f32":
                makers.append(self._vector_reduction)
        return self.random.choice(makers)(kind, depth)

    def _leaf(self, kind: str, depth: int) -> E:
        names = self.visible(kind)
        readable = [b for b in self.buffers if b.element == kind]
        roll = self.random.random()
        if names and roll < 0.5:
            name = self.random.choice(names)
            return E(name, lambda env: env[name])
        if readable and roll < 0.85:
            return self.load(self.random.choice(readable))
        return self._literal(kind)

    def _literal(self, kind: str) -> E:
        if kind in v.FLOATS:
            number = self.random.choice([0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 0.1, 1e-3, 100.0])
            constant = v.to_float(kind, number)
            return E(f"{kind}({number!r})", lambda env: constant, frozenset({"literal"}))
        number = self.random.choice([0, 1, 2, 3, 5, 7, 100])
        return E(f"{kind}({number})", lambda env: number, frozenset({"literal"}))

    def load(self, buffer: Buffer) -> E:
        """An element read whose subscripts stay inside."""
        parts = [self.inside(extent) for extent in buffer.shape]
        text = f"{buffer.name}[{', '.join(p.text for p in parts)}]"

        def value(env: Env) -> Any:
            flat = 0
            for part, extent in zip(parts, buffer.shape, strict=True):
                position = part.value(env)
                assert 0 <= position < extent, f"the generator left {buffer.name}"
                flat = flat * extent + position
            return env["@memory"].read(buffer.name, flat, env)

        return E(text, value, frozenset({"load"}).union(*(p.uses for p in parts)))

    def inside(self, extent: int) -> E:
        """An index expression in [0, extent)."""
        fitting = [name for name, bound in self.bounds.items() if bound <= extent and name in self.visible("index")]
        if fitting and self.random.random() < 0.8:
            name = self.random.choice(fitting)
            return E(name, lambda env: env[name])
        names = self.visible("index")
        if names and self.random.random() < 0.6:
            name = self.random.choice(names)
            return E(f"{name} % {extent}", lambda env: env[name] % extent, frozenset({"%"}))
        constant = self.random.randrange(extent)
        return E(str(constant), lambda env: constant)

    def _index(self, depth: int) -> E:
        names = self.visible("index")
        if depth <= 0 or self.random.random() < 0.4:
            if names and self.random.random() < 0.8:
                name = self.random.choice(names)
                return E(name, lambda env: env[name])
            constant = self.random.randrange(9)
            return E(str(constant), lambda env: constant)
        a = self._index(depth - 1)
        operator = self.random.choice(["+", "-", "*", "//", "%", "ceil_div", "round_up"])
        if operator in ("+", "-"):
            b = self._index(depth - 1)
            sign = 1 if operator == "+" else -1
            return E(
                f"({a.text} {operator} {b.text})",
                lambda env: a.value(env) + sign * b.value(env),
                a.uses | b.uses | {operator},
            )
        n = self.random.choice([2, 3, 4, 7])
        meaning: dict[str, Callable[[int], int]] = {
            "*": lambda x: x * n,
            "//": lambda x: x // n,
            "%": lambda x: x % n,
            "ceil_div": lambda x: -(-x // n),
            "round_up": lambda x: -(-x // n) * n,
        }
        apply = meaning[operator]
        text = f"{operator}({a.text}, {n})" if operator[0] in "cr" else f"({a.text} {operator} {n})"
        return E(text, lambda env: apply(a.value(env)), a.uses | {operator})

    def _boolean(self, depth: int) -> E:
        names = self.visible("bool")
        if names and self.random.random() < 0.2:
            name = self.random.choice(names)
            return E(name, lambda env: env[name])
        if depth > 1 and self.random.random() < 0.4:
            a, b = self._boolean(depth - 1), self._boolean(depth - 1)
            form = self.random.choice(["and", "or", "not"])
            if form == "and":
                return E(
                    f"({a.text} and {b.text})", lambda env: a.value(env) and b.value(env), a.uses | b.uses | {"and"}
                )
            if form == "or":
                return E(f"({a.text} or {b.text})", lambda env: a.value(env) or b.value(env), a.uses | b.uses | {"or"})
            return E(f"(not {a.text})", lambda env: not a.value(env), a.uses | {"not"})
        kind = self.random.choice(["f32", "i32", "index", "index", "u8", "bf16", "u64", "f64"])
        a, b = self.of(kind, depth - 1), self.of(kind, depth - 1)
        operator = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        compare: dict[str, Callable[[Any, Any], bool]] = {
            "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y,
            ">": lambda x, y: x > y,
            ">=": lambda x, y: x >= y,
            "==": lambda x, y: x == y,
            "!=": lambda x, y: x != y,
        }
        test = compare[operator]
        return E(
            f"({a.text} {operator} {b.text})",
            lambda env: bool(test(a.value(env), b.value(env))),
            a.uses | b.uses | {operator},
        )

    def _binary(self, kind: str, depth: int) -> E:
        a, b = self.of(kind, depth - 1), self.of(kind, depth - 1)
        operator = self.random.choice(["+", "-", "*", "min", "max"])
        meaning: dict[str, Callable[[Any, Any], Any]]
        if kind in v.FLOATS:
            meaning = {
                "+": lambda x, y: v.add(kind, x, y),
                "-": lambda x, y: v.sub(kind, x, y),
                "*": lambda x, y: v.mul(kind, x, y),
            }
        else:
            meaning = {
                "+": lambda x, y: v.wrap(kind, x + y),
                "-": lambda x, y: v.wrap(kind, x - y),
                "*": lambda x, y: v.wrap(kind, x * y),
            }
        meaning |= {"min": v.lower, "max": v.upper}
        apply = meaning[operator]
        text = f"{operator}({a.text}, {b.text})" if operator[0] == "m" else f"({a.text} {operator} {b.text})"
        return E(text, lambda env: apply(a.value(env), b.value(env)), a.uses | b.uses | {operator})

    def _choice(self, kind: str, depth: int) -> E:
        c, a, b = self._boolean(depth - 1), self.of(kind, depth - 1), self.of(kind, depth - 1)
        return E(
            f"({a.text} if {c.text} else {b.text})",
            lambda env: a.value(env) if c.value(env) else b.value(env),
            a.uses | b.uses | c.uses | {"if else"},
        )

    def _unary(self, kind: str, depth: int) -> E:
        a = self.of(kind, depth - 1)
        if kind in v.FLOATS:
            name = self.random.choice(["abs", "floor", "ceil", "trunc", "round", "-"])
            keep = v.NUMPY[kind]
            whole: dict[str, Callable[[Any], Any]] = {
                "abs": lambda x: keep(abs(x)),
                "floor": lambda x: _whole(keep, x, math.floor),
                "ceil": lambda x: _whole(keep, x, math.ceil),
                "trunc": lambda x: _whole(keep, x, math.trunc),
                "round": lambda x: _whole(keep, x, round),
                "-": lambda x: keep(-x),
            }
            apply = whole[name]
            text = f"(-{a.text})" if name == "-" else f"{name}({a.text})"
            return E(text, lambda env: apply(a.value(env)), a.uses | {name})
        if self.random.random() < 0.5:
            return E(f"(~{a.text})", lambda env: v.wrap(kind, ~a.value(env)), a.uses | {"~"})
        return E(f"(-{a.text})", lambda env: v.wrap(kind, -a.value(env)), a.uses | {"-"})

    def _convert(self, kind: str, depth: int) -> E:
        other = self.random.choice([t for t in (*INTEGER_TYPES, *FLOAT_TYPES, "index") if t != kind])
        a = self.of(other, depth - 1)
        convert = v.to_float if kind in v.FLOATS else v.to_integer
        return E(f"{kind}({a.text})", lambda env: convert(kind, a.value(env)), a.uses | {"convert"})

    def _pick(self, kind: str, depth: int) -> E:
        a = self.of(kind, depth - 1)
        low, high = sorted(self.random.sample([0, 1, 2, 5, 9], 2))
        make = (lambda n: v.to_float(kind, float(n))) if kind in v.FLOATS else (lambda n: n)
        lo, hi = make(low), make(high)
        return E(
            f"clamp({a.text}, {kind}({low}), {kind}({high}))",
            lambda env: v.upper(v.lower(a.value(env), hi), lo),
            a.uses | {"clamp"},
        )

    def _float_only(self, kind: str, depth: int) -> E:
        a = self.of(kind, depth - 1)
        if kind == "f32" and self.random.random() < 0.4:
            b = self.of(kind, depth - 1)
            c = self.of(kind, depth - 1)
            return E(
                f"fma({a.text}, {b.text}, {c.text})",
                lambda env: v.fma(kind, a.value(env), b.value(env), c.value(env)),
                a.uses | b.uses | c.uses | {"fma"},
            )
        if kind == "f32" and self.random.random() < 0.5:
            return E(f"f32(bits({a.text}, i32))", lambda env: v.to_float("f32", _bits(a.value(env))), a.uses | {"bits"})
        return E(f"({a.text} * {kind}(2.0))", lambda env: v.mul(kind, a.value(env), v.NUMPY[kind](2.0)), a.uses | {"*"})

    def _integer_only(self, kind: str, depth: int) -> E:
        a = self.of(kind, depth - 1)
        bits, _ = v.INTEGERS[kind]
        form = self.random.choice(["&", "|", "^", "<<", ">>", "//", "%", "abs", "popcount", "clz", "ctz"])
        if form in ("&", "|", "^"):
            b = self.of(kind, depth - 1)
            mix: dict[str, Callable[[int, int], int]] = {
                "&": lambda x, y: x & y,
                "|": lambda x, y: x | y,
                "^": lambda x, y: x ^ y,
            }
            apply = mix[form]
            return E(
                f"({a.text} {form} {b.text})",
                lambda env: v.wrap(kind, apply(a.value(env), b.value(env))),
                a.uses | b.uses | {form},
            )
        if form in ("<<", ">>"):
            n = self.random.randrange(bits)
            shift: dict[str, Callable[[int], int]] = {"<<": lambda x: x << n, ">>": lambda x: x >> n}
            move = shift[form]
            return E(f"({a.text} {form} {n})", lambda env: v.wrap(kind, move(a.value(env))), a.uses | {form})
        if form in ("//", "%"):
            n = self.random.choice([1, 2, 3, 7, 16])
            divide: dict[str, Callable[[int], int]] = {"//": lambda x: x // n, "%": lambda x: x % n}
            part = divide[form]
            return E(f"({a.text} {form} {n})", lambda env: part(a.value(env)), a.uses | {form})
        mask = (1 << bits) - 1
        count: dict[str, Callable[[int], int]] = {
            "abs": lambda x: v.wrap(kind, abs(x)),
            "popcount": lambda x: (x & mask).bit_count(),
            "clz": lambda x: bits - (x & mask).bit_length(),
            "ctz": lambda x: bits if x & mask == 0 else (x & -x & mask).bit_length() - 1,
        }
        counted = count[form]
        return E(f"{form}({a.text})", lambda env: counted(a.value(env)), a.uses | {form})

    def vector(self, size: int, depth: int) -> E:
        """A vector of f32."""
        fitting = [b for b in self.buffers if b.element == "f32" and len(b.shape) > 1 and b.shape[-1] >= size]
        names = self.visible(f"f32x{size}")
        roll = self.random.random()
        if names and roll < 0.3:
            name = self.random.choice(names)
            return E(name, lambda env: env[name])
        if fitting and roll < 0.7:
            return self._slice(self.random.choice(fitting), size)
        if depth > 0 and roll < 0.9:
            a, b = self.vector(size, depth - 1), self.vector(size, depth - 1)
            operator = self.random.choice(["+", "*"])
            apply = v.add if operator == "+" else v.mul
            return E(
                f"({a.text} {operator} {b.text})",
                lambda env: [apply("f32", x, y) for x, y in zip(a.value(env), b.value(env), strict=True)],
                a.uses | b.uses | {"vector " + operator},
            )
        x = self.of("f32", 0)
        return E(f"full({x.text}, {size})", lambda env: [x.value(env)] * size, x.uses | {"full"})

    def _slice(self, buffer: Buffer, size: int) -> E:
        parts = [self.inside(extent) for extent in buffer.shape[:-1]]
        width = buffer.shape[-1]
        start = 0 if width == size else self.random.randrange(width - size + 1)
        last = ":" if width == size else f"{start}:+{size}"
        text = f"{buffer.name}[{', '.join([*(p.text for p in parts), last])}]"

        def value(env: Env) -> list[Any]:
            flat = 0
            for part, extent in zip(parts, buffer.shape, strict=False):
                flat = flat * extent + part.value(env)
            return [env["@memory"].read(buffer.name, flat * width + start + k, env) for k in range(size)]

        return E(text, value, frozenset({"slice"}).union(*(p.uses for p in parts)))

    def _vector_reduction(self, kind: str, depth: int) -> E:
        size = 4
        a = self.vector(size, depth - 1)
        form = self.random.choice(["sum", "max", "min", "dot", "[]"])
        if form == "[]":
            k = self.random.randrange(size)
            if a.text.isidentifier() or a.text.startswith("full("):
                return E(f"{a.text}[{k}]", lambda env: a.value(env)[k], a.uses | {"vector []"})
            return E(f"max({a.text})", lambda env: _fold(v.upper, a.value(env)), a.uses | {"vector max"})
        if form == "dot":
            b = self.vector(size, depth - 1)

            def dot(env: Env) -> Any:
                total = v.NUMPY["f32"](0.0)
                for x, y in zip(a.value(env), b.value(env), strict=True):
                    total = v.fma("f32", x, y, total)
                return total

            return E(f"dot({a.text}, {b.text})", dot, a.uses | b.uses | {"dot"})
        if form == "sum":
            start = self.of("f32", 0)

            def total(env: Env) -> Any:
                result = start.value(env)
                for x in a.value(env):
                    result = v.add("f32", result, x)
                return result

            return E(f"sum({a.text}, start={start.text})", total, a.uses | start.uses | {"vector sum"})
        apply = v.upper if form == "max" else v.lower
        return E(f"{form}({a.text})", lambda env: _fold(apply, a.value(env)), a.uses | {"vector " + form})


def _fold(apply: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    result = items[0]
    for item in items[1:]:
        result = apply(result, item)
    return result


def _whole(keep: Callable[[Any], Any], x: Any, to: Callable[[Any], Any]) -> Any:
    """A whole-number function that keeps NaN, infinities and the sign of zero."""
    if not math.isfinite(x):
        return keep(x)
    result = float(to(float(x)))
    return keep(math.copysign(result, float(x)) if result == 0 else result)


def _bits(x: Any) -> int:
    import struct

    return struct.unpack("<i", struct.pack("<f", float(x)))[0]
