"""Random IR text under construction: values in scope, constants, and what to take as an operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
ELEMENTS = (*INTEGERS, *FLOATS)
WIDTH = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 0.1, 100.0, 1e-3)


@dataclass(frozen=True)
class Value:
    """An SSA value: a scalar (`lanes` 0) or vector. `low` and `high` bound an `index`."""

    ref: str
    element: str
    lanes: int = 0
    low: int = 0
    high: int = 0
    uniform: bool = False

    @property
    def type(self) -> str:
        """The type as the IR spells it."""
        return typed(self.element, self.lanes)


def typed(element: str, lanes: int = 0) -> str:
    """A scalar or vector type."""
    return f"vector<{lanes}x{element}>" if lanes else element


@dataclass(frozen=True)
class Options:
    """What a device takes: `sizes` of vectors, lanes of a subgroup, few arguments, which operations are exact."""

    subgroup: int
    sizes: tuple[int, ...] = (2, 3, 4, 8)
    small: bool = False
    division: bool = True
    statements: int = 45


class Builder:
    """Lines, scopes and draws."""

    def __init__(self, random: Random, options: Options) -> None:
        self.random = random
        self.options = options
        self.lines: list[str] = []
        self.scopes: list[list[Value]] = [[]]
        self.used: set[str] = set()
        self.count = 0

    # Text

    def fresh(self) -> str:
        """A name not used yet."""
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        """A line of the function."""
        self.lines.append("  " * len(self.scopes) + text)

    def see(self, value: Value) -> Value:
        """Put a value into the scope."""
        self.scopes[-1].append(value)
        return value

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        element: str,
        lanes: int = 0,
        *,
        properties: str = "",
        attributes: str = "",
        bounds: tuple[int, int] = (0, 0),
        uniform: bool | None = None,
    ) -> Value:
        """An op with one result, in generic syntax."""
        ref, names = self.fresh(), ", ".join(o.ref for o in operands)
        self.used.add(name)
        text = f'{ref} = "{name}"({names})'
        text += f" <{{{properties}}}>" if properties else ""
        text += f" {{{attributes}}}" if attributes else ""
        self.line(f"{text} : ({', '.join(o.type for o in operands)}) -> {typed(element, lanes)}")
        shared = all(o.uniform for o in operands) if uniform is None else uniform
        return self.see(Value(ref, element, lanes, *bounds, shared))

    # Constants

    def constant(self, element: str, value: Any, lanes: int = 0) -> Value:
        """A constant; a list gives each element of a vector."""
        items = value if isinstance(value, list) else [value]
        texts = [_literal(element, v) for v in items]
        body = (
            f"dense<[{', '.join(texts)}]>" if isinstance(value, list) else f"dense<{texts[0]}>" if lanes else texts[0]
        )
        typeless = element == "i1" and not lanes
        ref = self.fresh()
        self.line(f"{ref} = arith.constant {body}" + ("" if typeless else f" : {typed(element, lanes)}"))
        bound = int(value) if element == "index" else 0
        return Value(ref, element, lanes, bound, bound, True)

    def index(self, value: int) -> Value:
        """A constant `index`."""
        return self.constant("index", value)

    def any_constant(self, element: str, lanes: int = 0) -> Value:
        """A constant with a preference for the ends of the type."""
        if lanes and self.random.random() < 0.5:
            return self.constant(element, [self._number(element) for _ in range(lanes)], lanes)
        return self.constant(element, self._number(element), lanes)

    def _number(self, element: str) -> Any:
        r = self.random
        if element in FLOATS:
            return r.choice(NUMBERS)
        if element == "i1":
            return r.random() < 0.5
        width = WIDTH[element]
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        near = r.randrange(-(2 ** min(width - 1, 31)), 2 ** min(width - 1, 31))
        return r.choice(
            [0, 1, -1, 2, 3, 5, 7, 10, 16, -2, -7, 127, low, high, (high + 1) // 2, r.randrange(low, high), near]
        )

    # Operands

    def visible(self, element: str, lanes: int = 0, fits: Callable[[Value], bool] = lambda v: True) -> list[Value]:
        """Values of a type in the open blocks."""
        return [v for scope in self.scopes for v in scope if v.element == element and v.lanes == lanes and fits(v)]

    def pick_index(self) -> Value:
        """An `index` in scope; there is always one."""
        found = self.visible("index")
        return self.random.choice(found[-10:] if self.random.random() < 0.6 else found)

    def pick_element(self) -> str:
        """An element type; 32-bit ones are drawn more often."""
        return self.random.choice([*ELEMENTS, "i32", "f32"])

    def pick_lanes(self) -> int:
        """0 for a scalar, or the size of a vector."""
        return 0 if self.random.random() < 0.55 else self.random.choice(self.options.sizes)


def _literal(element: str, value: Any) -> str:
    if element == "i1":
        return "true" if value else "false"
    return repr(float(value)) if element in FLOATS else str(value)
