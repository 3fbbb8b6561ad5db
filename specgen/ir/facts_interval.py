"""Integer intervals with unbounded ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Bound = int | float
"""An integer, or an infinity."""

INF = math.inf


@dataclass(frozen=True)
class Interval:
    """The integers from `lo` to `hi`, both included; None is unbounded."""

    lo: int | None
    hi: int | None

    @property
    def low(self) -> Bound:
        """`lo` with -inf for None."""
        return -INF if self.lo is None else self.lo

    @property
    def high(self) -> Bound:
        """`hi` with inf for None."""
        return INF if self.hi is None else self.hi

    @property
    def exact(self) -> int | None:
        """The only member, None when there are others."""
        return self.lo if self.lo == self.hi else None

    def within(self, other: Interval) -> bool:
        """Whether every member is a member of `other`."""
        return other.low <= self.low and self.high <= other.high

    def meet(self, other: Interval) -> Interval:
        """The members of both; `self` when there are none (the code is then unreachable)."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return make(low, high) if low <= high else self

    def join(self, other: Interval) -> Interval:
        """The hull of both."""
        return make(min(self.low, other.low), max(self.high, other.high))

    def __add__(self, other: Interval) -> Interval:
        return make(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return make(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        return corners(self, other, _times)

    def __str__(self) -> str:
        low = "-inf" if self.lo is None else str(self.lo)
        return f"[{low}, {'inf' if self.hi is None else self.hi}]"


def make(low: Bound, high: Bound) -> Interval:
    """An interval from bounds that may be infinite."""
    return Interval(None if low == -INF else int(low), None if high == INF else int(high))


TOP = Interval(None, None)


def point(value: int) -> Interval:
    """The interval of one integer."""
    return Interval(value, value)


def hull(parts: Iterable[Interval]) -> Interval:
    """The hull of several intervals."""
    first, *rest = parts
    for part in rest:
        first = first.join(part)
    return first


def corners(a: Interval, b: Interval, function: Callable[[Bound, Bound], Bound]) -> Interval:
    """The hull of a function that is monotone in each argument over the box `a` x `b`."""
    values = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return make(min(values), max(values))


def _times(x: Bound, y: Bound) -> Bound:
    return 0 if x == 0 or y == 0 else x * y


def _floor(x: Bound, y: Bound) -> Bound:
    if abs(y) == INF:
        # x // inf: 0, or -1 for signs that differ; an infinite dividend can be anything between.
        return x if abs(x) == INF and y > 0 else (0 if (x >= 0) == (y > 0) or x == 0 else -1)
    return x if abs(x) == INF and y > 0 else (-x if abs(x) == INF else int(x) // int(y))


def _ceil(x: Bound, y: Bound) -> Bound:
    return -_floor(-x, y)


def floor_div(a: Interval, b: Interval) -> Interval:
    """`a // b`; TOP when the divisor may be 0 or change its sign."""
    return corners(a, b, _floor) if b.low > 0 or b.high < 0 else TOP


def ceil_div(a: Interval, b: Interval) -> Interval:
    """`a / b` rounded up; TOP when the divisor may be 0 or change its sign."""
    return corners(a, b, _ceil) if b.low > 0 or b.high < 0 else TOP


def floor_rem(a: Interval, b: Interval) -> Interval:
    """`a % b` with the sign of the divisor."""
    if b.low <= 0:
        return TOP
    if a.low >= 0 and a.high < b.low:
        return a
    return make(0, min(b.high - 1, a.high) if a.low >= 0 else b.high - 1)


def trunc_rem(a: Interval, b: Interval) -> Interval:
    """The remainder with the sign of the dividend, divisor positive."""
    if b.low <= 0:
        return TOP
    if a.low >= 0:
        return floor_rem(a, b)
    top = b.high - 1
    return make(-min(top, -a.low), min(top, a.high) if a.high > 0 else 0)


def lower(a: Interval, b: Interval) -> Interval:
    """`min(a, b)`."""
    return make(min(a.low, b.low), min(a.high, b.high))


def upper(a: Interval, b: Interval) -> Interval:
    """`max(a, b)`."""
    return make(max(a.low, b.low), max(a.high, b.high))


def bits_above(value: Bound) -> Bound:
    """The largest integer of as many bits as `value` has; infinite for an infinite one."""
    return value if value == INF else (1 << int(value).bit_length()) - 1
