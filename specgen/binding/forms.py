"""Forms of integers that no linear form gives exactly: products, quotients, remainders, minima.

Each is an atom that the same operation on the same operands gives again, with bounds that hold everywhere and, noted
for the place at hand, those that hold there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from specgen.binding.linear import Facts, Linear
from specgen.binding.types import Scalar

Interval = tuple[int, int]
Rule = Callable[[Interval, Interval], Interval | None]
"""Bounds of a result from the bounds of its operands; None when nothing is known."""


def bounded(
    facts: Facts,
    key: str,
    a: Linear,
    b: Linear,
    rule: Rule,
    known: Callable[[Linear], tuple[Linear, ...]] | None = None,
) -> Linear | None:
    """The form of `key(a, b)`; `known` gives facts about it that hold wherever `rule` does."""
    here = rule(facts.interval(a), facts.interval(b))
    if here is None:
        return None
    wide = rule(facts.wide(a), facts.wide(b))
    if wide is None:
        made = facts.atom(*here)
        if known is not None:
            facts.always(*known(made))
        return made

    def make() -> Linear:
        atom = facts.atom(*wide, declared=key == "//" and facts.declared(a) and b.number is not None)
        if known is not None:
            facts.always(*known(atom))
        return atom

    made = facts.named((key, a, b), make)
    facts.narrow(made, here)
    return made


def fits(type_: Scalar, bounds: Interval) -> bool:
    """Whether all of the interval is in the type; `index` does not overflow."""
    return type_.kind == "index" or (type_.limits[0] <= bounds[0] and bounds[1] <= type_.limits[1])


def product_rule(symbol: str, type_: Scalar) -> Rule:
    """Bounds of `*`, and of `& | ^` where the signs allow; None where the type would wrap."""

    def multiplied(a: Interval, b: Interval) -> Interval | None:
        corners = [x * y for x in a for y in b]
        bounds = min(corners), max(corners)
        if not fits(type_, bounds):
            return None
        return max(bounds[0], type_.limits[0]), min(bounds[1], type_.limits[1])

    def masked(a: Interval, b: Interval) -> Interval | None:
        tops = [hi for lo, hi in (a, b) if lo >= 0]
        return (0, min(tops)) if tops else None

    def joined(a: Interval, b: Interval) -> Interval | None:
        if a[0] < 0 or b[0] < 0:
            return None
        return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1

    return multiplied if symbol == "*" else masked if symbol == "&" else joined


def _divided(divide: Callable[[int, int], int]) -> Rule:
    def rule(a: Interval, b: Interval) -> Interval | None:
        if b[0] <= 0:
            return None
        corners = [divide(x, y) for x in a for y in b]
        return min(corners), max(corners)

    return rule


floor_rule = _divided(lambda x, y: x // y)
ceil_rule = _divided(lambda x, y: -(-x // y))


def _exactly(a: Linear, divisor: int | None) -> Linear | None:
    """`a / divisor` where every coefficient divides."""
    if divisor is None or any(c % divisor for c in (a.constant, *(c for _, c in a.terms))):
        return None
    return Linear(a.constant // divisor, tuple((t, c // divisor) for t, c in a.terms))


def quotient(facts: Facts, a: Linear, b: Linear) -> Linear | None:
    """`a // b` for a positive divisor."""
    divisor = b.number
    if divisor is not None and divisor > 0 and (exact := _exactly(a, divisor)) is not None:
        return exact

    def known(made: Linear) -> tuple[Linear, ...]:
        if divisor is None:
            return ()
        rest = a - made.scaled(divisor)
        return rest, Linear(divisor - 1) - rest

    made = bounded(facts, "//", a, b, floor_rule, known)
    if made is not None and divisor is None:
        for rows in _multiples_above(facts, a, b):
            facts.note(rows.plus(-1) - made)
    return made


def _multiples_above(facts: Facts, a: Linear, b: Linear) -> Iterator[Linear]:
    """Forms `n` with `a < n * b` here, so that `a // b < n` for a positive `b`: products that were computed, and
    numbers of enclosing conditions."""
    for other, product in _products(facts, b):
        if facts.nonnegative(product.plus(-1) - a):
            yield other
    for fact in facts.passing.get(a.terms[-1][0], ()) if a.terms and b.terms else ():
        whole = fact + a.plus(1)
        count = Fraction(dict(whole.terms).get(b.terms[0][0], 0)) / b.terms[0][1]
        if count.denominator == 1 and count > 0 and whole == b.scaled(int(count)):
            yield Linear(int(count))


def _products(facts: Facts, b: Linear) -> Iterator[tuple[Linear, Linear]]:
    """Factors that were multiplied with `b`, and the products."""
    for key, product in list(facts.known.items()):
        if isinstance(key, tuple) and key[0] == "*" and b in key[1:]:
            yield key[2] if key[1] == b else key[1], product


def notice_positive(facts: Facts, b: Linear) -> None:
    """Note that `b` is positive where a product of it is: `0 <= i < rows * cols` leaves no room for `cols == 0`."""
    if b.number is not None or facts.interval(b)[0] != 0:
        return
    for other, product in _products(facts, b):
        if facts.interval(other)[0] >= 0 and facts.nonnegative(product.plus(-1)):
            facts.note(b.plus(-1))
            return


def remainder(facts: Facts, a: Linear, b: Linear) -> Linear | None:
    """`a % b` for a positive divisor."""
    (alo, ahi), (blo, bhi) = facts.interval(a), facts.interval(b)
    if blo <= 0:
        return None
    if alo >= 0 and ahi < blo:
        return a
    divisor = b.number
    if _exactly(a, divisor) is not None:
        return Linear(0)
    low = facts.wide(a)[0] >= 0

    def make() -> Linear:
        reached = divisor is not None and facts.declared(a) and len(a.terms) == 1 and abs(a.terms[0][1]) == 1
        reached = reached and ahi - alo >= bhi
        made = facts.atom(0, facts.wide(b)[1] - 1, declared=reached)
        if low:
            facts.always(a - made)
        return made

    made = facts.named(("%", a, b), make)
    if divisor is None:
        facts.note(b.plus(-1) - made)
    facts.narrow(made, (0, bhi - 1 if alo < 0 else min(bhi - 1, max(ahi, 0))))
    return made


def ceil_quotient(facts: Facts, a: Linear, b: Linear) -> Linear | None:
    """`ceil_div(a, b)` for a positive divisor."""

    def known(made: Linear) -> tuple[Linear, ...]:
        if b.number is None:
            return ()
        rest = made.scaled(b.number) - a
        return rest, Linear(b.number - 1) - rest

    return bounded(facts, "ceil_div", a, b, ceil_rule, known)


def extreme(facts: Facts, symbol: str, a: Linear, b: Linear) -> Linear | None:
    """`min(a, b)` or `max(a, b)`: one of the two where that is proven."""
    sign = 1 if symbol == "min" else -1
    if facts.nonnegative((b - a).scaled(sign)):
        return a
    if facts.nonnegative((a - b).scaled(sign)):
        return b
    pick = min if symbol == "min" else max
    return bounded(
        facts,
        symbol,
        a,
        b,
        lambda x, y: (pick(x[0], y[0]), pick(x[1], y[1])),
        lambda made: ((a - made).scaled(sign), (b - made).scaled(sign)),
    )
