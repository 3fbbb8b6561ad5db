"""What is in scope where a statement is drawn, and the expressions drawn over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from random_schedules import meaning as m
from random_schedules.meaning import Buffer, E, Env, Index, View


@dataclass
class Scope:
    """Names of the open blocks, and what the loops and conditions around ask for."""

    counters: list[Index]
    settable: list[str]
    views: list[View] = field(default_factory=list)
    uniform: bool = True
    counted: bool = False
    depth: int = 1
    exact: bool = True
    loops: int = 0

    def inside(self, **changes: Any) -> Scope:
        """A block in this one."""
        held = {"counters": list(self.counters), "views": list(self.views)}
        return replace(self, **{**held, "settable": list(self.settable), **changes})


class Expressions:
    """Draws indices, conditions and values of the kernel's element type."""

    def __init__(self, random: Random, element: str, items: int, buffers: list[Buffer]) -> None:
        self.random = random
        self.element = element
        self.items = items
        self.buffers = buffers
        self.readable = [b for b in buffers if b.access == "read" and b.promised is None]
        self.features: set[str] = set()
        self.lane = Index("lane", lambda env: env["lane"], 0, items - 1, uniform=False)

    def chance(self, odds: float) -> bool:
        """True that often."""
        return self.random.random() < odds

    def constant(self, number: int) -> Index:
        """A literal."""
        return Index(str(number), lambda env: np.full_like(env["lane"], number), number, number)

    def affine(self, scope: Scope) -> Index:
        """A counter (or another uniform number) times a constant plus a constant, or a sum of two."""
        r = self.random
        chosen = r.choice(scope.counters[-2:] if self.chance(0.7) else scope.counters)
        factor, offset = r.choice([1, 1, 1, 2, 3, -1]), r.choice([0, 0, 0, 1, 2, 5, -2])
        made = self._combined(chosen, factor, offset)
        if len(scope.counters) > 1 and self.chance(0.3):
            made = self._sum(made, r.choice(scope.counters))
        return made

    def _combined(self, i: Index, factor: int, offset: int) -> Index:
        ends = sorted((factor * i.low + offset, factor * i.high + offset))
        whole = f"({i.text})" if " " in i.text else i.text
        text = i.text if factor == 1 else f"{factor} * {whole}" if factor > 0 else f"{offset} - {whole}"
        if factor > 0 and offset:
            text += f" + {offset}" if offset > 0 else f" - {-offset}"
        return Index(text, lambda env: factor * i.value(env) + offset, ends[0], ends[1], i.uniform)

    def _sum(self, a: Index, b: Index) -> Index:
        return Index(
            f"{a.text} + {b.text}",
            lambda env: a.value(env) + b.value(env),
            a.low + b.low,
            a.high + b.high,
            a.uniform and b.uniform,
        )

    def wrapped(self, i: Index, extent: int) -> Index:
        """The remainder."""
        return Index(f"({i.text}) % {extent}", lambda env: i.value(env) % extent, 0, extent - 1, i.uniform)

    def within(self, scope: Scope, extent: int, size: int = 1) -> Index:
        """A uniform start from which `size` elements stay inside; by its range, so that it can be proven."""
        for _ in range(6):
            made = self.affine(scope)
            if made.low >= 0 and made.high + size <= extent:
                return made
        if self.chance(0.5):
            return self.wrapped(self.affine(scope), extent - size + 1)
        return self.constant(self.random.randint(0, extent - size))

    def across(self, extent: int) -> Index:
        """An index that differs from lane to lane."""
        lane, r = self.lane, self.random
        if extent >= self.items:
            shifted = r.randint(0, extent - self.items)
            made = self._combined(lane, 1, shifted)
            turned = self._combined(lane, -1, self.items - 1 + shifted)
            return r.choice([made, turned, turned])
        factor, offset = r.choice([1, 1, 3, 5]), r.choice([0, 1, 7])
        return self.wrapped(self._combined(lane, factor, offset), extent)

    def subscript(self, scope: Scope, extent: int) -> Index:
        """Any index inside of an axis."""
        return self.across(extent) if self.chance(0.6) else self.within(scope, extent)

    # --- values ------------------------------------------------------------------------------------------------------

    def converted(self, text: str, value: m.Value, kind: str) -> E:
        """A value of another element type in that of the kernel, which holds it exactly."""
        if kind == self.element:
            return E(text, value)
        wide = m.NUMPY[self.element]
        return E(f"{self.element}({text})", lambda env: value(env).astype(wide))

    def literal(self) -> E:
        """A small number."""
        number = self.random.choice([0.5, -1.25, 3.0] if self.element == "f32" else [1, -2, 7])
        kind = m.NUMPY[self.element]
        return E(f"{self.element}({number})", lambda env: np.full(len(env["lane"]), number, kind))

    def place(self, scope: Scope, buffer: Buffer, *, row: Index | None = None) -> E:
        """One element of a buffer."""
        row = row or self.within(scope, buffer.shape[0])
        column = self.across(buffer.shape[1]) if self.chance(0.85) else self.within(scope, buffer.shape[1])
        return self.converted(
            f"{buffer.name}[{row.text}, {column.text}]",
            lambda env: m.element(env, buffer, (row.value(env), column.value(env))),
            buffer.element,
        )

    def slice_of(self, scope: Scope, buffer: Buffer) -> E:
        """The sum of some elements side by side."""
        size = self.random.choice([2, 3, 4])
        row, first = self.within(scope, buffer.shape[0]), self.within(scope, buffer.shape[1], size)

        def value(env: Env) -> Any:
            parts = [m.element(env, buffer, (row.value(env), first.value(env) + k)) for k in range(size)]
            return m.summed(parts, buffer.element)

        return self.converted(f"sum({buffer.name}[{row.text}, {first.text}:+{size}])", value, buffer.element)

    def read(self, scope: Scope) -> E:
        """What is read from a buffer that is only read."""
        buffer = self.random.choice(self.readable)
        wide = buffer.element == self.element and self.chance(0.25)
        return self.slice_of(scope, buffer) if wide else self.place(scope, buffer)

    def seen(self, scope: Scope, view: View) -> E:
        """An element of a view, or the sum of a few along its last axis."""
        if view.buffer.access != "read":
            # In place, a work-item may look at its own element alone.
            text = f"{view.name}[{self.lane.text}]"
            return self.converted(text, lambda env: m.through(env, view, (env["lane"],)), view.buffer.element)
        extents = view.extents
        if view.buffer.element == self.element and extents[-1] >= 4 and self.chance(0.3):
            return self._part(scope, view)
        places = [self.subscript(scope, extent) for extent in extents]
        text = f"{view.name}[{', '.join(p.text for p in places)}]"
        return self.converted(
            text, lambda env: m.through(env, view, [p.value(env) for p in places]), view.buffer.element
        )

    def _part(self, scope: Scope, view: View) -> E:
        size = self.random.choice([2, 4])
        *extents, last = view.extents
        places = [self.subscript(scope, extent) for extent in extents]
        first = self.across(last - size + 1) if self.chance(0.6) else self.within(scope, last, size)
        text = ", ".join([*(p.text for p in places), f"{first.text}:+{size}"])

        def value(env: Env) -> Any:
            around = [p.value(env) for p in places]
            return m.summed(
                [m.through(env, view, [*around, first.value(env) + k]) for k in range(size)], view.buffer.element
            )

        return E(f"sum({view.name}[{text}])", value)

    def value(self, scope: Scope, *, reads: bool = True) -> E:
        """A value: of a view, a buffer or a literal."""
        makers: list[Callable[[], E]] = [self.literal]
        if scope.views:
            makers += [lambda: self.seen(scope, self.random.choice(scope.views))] * 3
        if reads:
            makers += [lambda: self.read(scope)] * 2
        return self.random.choice(makers)()

    def update(self, name: str, value: E) -> E:
        """The next value of a variable, bounded for floats."""
        kind = m.NUMPY[self.element]
        half, tripled = kind(0.5 if self.element == "f32" else 1), kind(3)
        forms: list[tuple[str, Callable[[Any, Any], Any]]] = [
            (f"{name} + {value.text}", lambda a, b: a + b),
            (f"{value.text} - {name}", lambda a, b: b - a),
        ]
        if self.element == "f32":
            forms.append((f"{name} * 0.5 + {value.text}", lambda a, b: a * half + b))
        else:
            forms.append((f"3 * {name} + {value.text}", lambda a, b: tripled * a + b))
        text, function = self.random.choice(forms)
        return E(text, lambda env: function(env[name], value.value(env)))

    # --- conditions --------------------------------------------------------------------------------------------------

    def compared(self, left: Index, right: Index, sign: str) -> E:
        """`left sign right`."""
        test = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal}[sign]
        return E(f"{left.text} {sign} {right.text}", lambda env: test(left.value(env), right.value(env)))

    def joined(self, word: str, left: E, right: E) -> E:
        """`and` or `or`."""
        join = np.logical_and if word == "and" else np.logical_or
        return E(f"{left.text} {word} {right.text}", lambda env: join(left.value(env), right.value(env)))

    def uniform_condition(self, scope: Scope) -> E:
        """A guard on which the workgroup agrees, and which is not known when the kernel is built."""
        left = self.affine(scope)
        right = self.random.choice([self.constant(self.random.randint(1, 4)), scope.counters[0], scope.counters[1]])
        return self.compared(left, right, self.random.choice(["<", "<=", ">", ">=", "=="]))

    def lane_condition(self, scope: Scope) -> E:
        """A guard on which lanes disagree."""
        factor, offset = self.random.choice([(1, 0), (5, 3), (7, 2)]), self.random.randint(2, 6)
        left = self.wrapped(self._combined(self.lane, *factor), 8)
        right = self.constant(offset) if self.chance(0.5) else self.random.choice(scope.counters)
        return self.compared(left, right, self.random.choice(["<", ">=", "=="]))

    def monotone(self, counter: Index, bounds: list[Index]) -> E:
        """A condition of `split`: it changes once while the counter grows."""
        r = self.random
        up = self.chance(0.5)
        first = self._threshold(counter, r.choice(bounds), up=up)
        if self.chance(0.7):
            made = first
        else:
            made = self.joined(r.choice(["and", "or"]), first, self._threshold(counter, r.choice(bounds), up=up))
        if self.chance(0.15):
            return E(f"not ({made.text})", lambda env: np.logical_not(made.value(env)))
        return made

    def _threshold(self, counter: Index, bound: Index, *, up: bool) -> E:
        r = self.random
        factor = r.choice([1, 1, 1, 2, 3, -1])
        left, rising = self._combined(counter, factor, r.choice([0, 0, 1, 3, -2])), factor > 0
        if self.chance(0.3):
            return self.compared(bound, left, r.choice([">", ">="]) if up is rising else r.choice(["<", "<="]))
        return self.compared(left, bound, r.choice(["<", "<="]) if up is rising else r.choice([">", ">="]))
