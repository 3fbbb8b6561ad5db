"""Linear forms over integer values, and what is known of them at a place: intervals and facts `form >= 0`.

An atom stands for an integer whose value is fixed while it is visible: an argument, an id, a loop counter, a loaded
element. Facts of an atom that always hold are kept with it; facts of enclosing conditions are pushed and popped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd

Terms = tuple[tuple[int, int | Fraction], ...]
_DEPTH = 4
"""Eliminations in a row that do not shorten a form; longer chains do not occur in kernels and would cost time."""
_STEPS = 120
"""Forms looked at for one bound."""


@dataclass(frozen=True)
class Linear:
    """`constant + sum(coefficient * atom)`, terms ascending by atom, no zero coefficients."""

    constant: int | Fraction
    terms: Terms = ()

    def __add__(self, other: Linear) -> Linear:
        return combine(self, other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return combine(self, other, -1)

    def scaled(self, factor: int | Fraction) -> Linear:
        if factor == 0:
            return ZERO
        return Linear(self.constant * factor, tuple((a, c * factor) for a, c in self.terms))

    def plus(self, number: int) -> Linear:
        return Linear(self.constant + number, self.terms)

    @property
    def number(self) -> int | None:
        """The value of a form without atoms."""
        return None if self.terms else int(self.constant)


ZERO = Linear(0)


def combine(a: Linear, b: Linear, factor: int | Fraction) -> Linear:
    """`a + factor * b`."""
    if not b.terms:
        return Linear(a.constant + factor * b.constant, a.terms)
    terms = dict(a.terms)
    for atom, coefficient in b.terms:
        total = terms.get(atom, 0) + factor * coefficient
        if total:
            terms[atom] = total
        else:
            terms.pop(atom, None)
    return Linear(a.constant + factor * b.constant, tuple(sorted(terms.items())))


def tightened(form: Linear) -> Linear:
    """A fact `form >= 0` as strong as integers allow: `4 a - 1 >= 0` is `4 a - 4 >= 0`."""
    divisor = gcd(*(int(c) for _, c in form.terms)) if form.terms else 0
    if divisor <= 1:
        return form
    return Linear(form.constant // divisor * divisor, form.terms)


@dataclass(frozen=True)
class Atom:
    """What is known of an atom by itself; `declared`: the ends of its interval are promised or reached."""

    lo: int
    hi: int
    declared: bool


class Facts:
    """Atoms and the facts that hold at the current place."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.lasting: dict[int, list[Linear]] = {}
        """Facts that hold wherever their newest atom is visible, by that atom."""
        self.passing: dict[int, list[Linear]] = {}
        """Facts of enclosing conditions, by each of their atoms."""
        self.scopes: list[list[Linear]] = []
        self.known: dict[object, Linear] = {}
        self._bounds: dict[Linear, int | Fraction] = {}
        """Lower bounds found since the facts changed last; `_wide_bounds` those that rest on lasting facts alone."""
        self._wide_bounds: dict[Linear, int | Fraction] = {}
        self.unlearned = 0
        """How many enclosing conditions say more than was understood."""

    def atom(self, lo: int, hi: int, *, declared: bool = False) -> Linear:
        """A form that is a new atom in `[lo, hi]`."""
        self.atoms.append(Atom(lo, hi, declared))
        return Linear(0, ((len(self.atoms) - 1, 1),))

    def named(self, key: object, make: Callable[[], Linear]) -> Linear:
        """The form of an integer that is computed alike wherever it appears; `make` may use lasting facts only."""
        form = self.known.get(key)
        if form is None:
            form = self.known[key] = make()
        return form

    def always(self, *forms: Linear) -> None:
        """Record facts (`form >= 0`) that hold wherever their newest atom is visible."""
        self._bounds.clear()
        self._wide_bounds.clear()
        for form in (tightened(f) for f in forms):
            if form.terms:
                self.lasting.setdefault(form.terms[-1][0], []).append(form)

    def push(self, forms: Iterable[Linear]) -> None:
        """Start a place where more facts hold; `pop` ends it."""
        self.scopes.append([])
        for form in forms:
            self.note(form)

    def note(self, form: Linear) -> None:
        """Record a fact until the innermost place ends."""
        if not self.scopes:
            self.always(form)
            return
        self._bounds.clear()
        form = tightened(form)
        self.scopes[-1].append(form)
        for atom, _ in form.terms:
            self.passing.setdefault(atom, []).append(form)

    def narrow(self, form: Linear, bounds: tuple[int, int]) -> None:
        """Record bounds of an atom that hold here and are better than its own."""
        own = self.atoms[form.terms[0][0]]
        if bounds[0] > own.lo:
            self.note(form.plus(-bounds[0]))
        if bounds[1] < own.hi:
            self.note(form.scaled(-1).plus(bounds[1]))

    def pop(self) -> None:
        """End the innermost place."""
        self._bounds.clear()
        for form in reversed(self.scopes.pop()):
            for atom, _ in form.terms:
                self.passing[atom].pop()

    def interval(self, form: Linear) -> tuple[int, int]:
        """Bounds of the form at this place."""
        return ceil(self.lower(form)), floor(-self.lower(form.scaled(-1)))

    def wide(self, form: Linear) -> tuple[int, int]:
        """Bounds of the form wherever its atoms are visible."""
        if not self.scopes:
            return self.interval(form)
        held, self.passing, self._bounds = (self.passing, self._bounds), {}, self._wide_bounds
        try:
            return self.interval(form)
        finally:
            self.passing, self._bounds = held

    def nonnegative(self, form: Linear) -> bool:
        """Whether `form >= 0` is proven here."""
        return self._plain(form) >= 0 or self.lower(form) >= 0

    def lower(self, form: Linear) -> int | Fraction:
        """The best lower bound that was found by eliminating atoms with facts, within a budget of steps."""
        if not form.terms:
            return form.constant
        found = self._bounds.get(form)
        if found is None:
            found = self._bounds[form] = self._lower(form, _DEPTH, {})
        return found

    def _lower(self, form: Linear, depth: int, tried: dict[Linear, int]) -> int | Fraction:
        best = self._plain(form)
        if depth == 0 or tried.get(form, -1) >= depth or len(tried) >= _STEPS:
            return best
        tried[form] = depth
        for atom, coefficient in form.terms:
            for fact in (*self.lasting.get(atom, ()), *self.passing.get(atom, ())):
                share = next(c for a, c in fact.terms if a == atom)
                if (share > 0) == (coefficient > 0):
                    ratio = Fraction(coefficient) / share if coefficient % share else coefficient // share
                    rest = combine(form, fact, -ratio)
                    if len(rest.terms) <= len(form.terms) + 1:
                        shorter = len(rest.terms) < len(form.terms)
                        best = max(best, self._lower(rest, depth if shorter else depth - 1, tried))
        return best

    def _plain(self, form: Linear) -> int | Fraction:
        total = form.constant
        for atom, coefficient in form.terms:
            known = self.atoms[atom]
            total += coefficient * (known.lo if coefficient > 0 else known.hi)
        return total

    def declared(self, form: Linear) -> bool:
        """Whether every atom has declared ends and no enclosing condition says more than was understood."""
        return not self.unlearned and all(self.atoms[a].declared for a, _ in form.terms)
