"""Linear forms over SSA values: a constant plus integer multiples of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Linear:
    """`constant + sum(coefficient * symbol)`; no coefficient is 0."""

    constant: int = 0
    terms: Mapping[SSAValue, int] = field(default_factory=dict)

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for symbol, factor in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + factor
        return Linear(self.constant + other.constant, {s: f for s, f in terms.items() if f})

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scaled(-1)

    def scaled(self, factor: int) -> Linear:
        """The form times an integer."""
        if not factor:
            return Linear()
        return Linear(self.constant * factor, {s: f * factor for s, f in self.terms.items()})

    def shifted(self, amount: int) -> Linear:
        """The form plus an integer."""
        return Linear(self.constant + amount, self.terms)

    def renamed(self, names: Mapping[SSAValue, Linear]) -> Linear:
        """The form with symbols replaced by forms."""
        result = Linear(self.constant)
        for symbol, factor in self.terms.items():
            result = result + names.get(symbol, symbol_of(symbol)).scaled(factor)
        return result

    @property
    def key(self) -> tuple[int, frozenset[tuple[int, int]]]:
        """Equal for equal forms (symbols by identity)."""
        return self.constant, frozenset((id(s), f) for s, f in self.terms.items())


def symbol_of(value: SSAValue) -> Linear:
    """The form that is one symbol."""
    return Linear(0, {value: 1})


@dataclass(frozen=True)
class Constraint:
    """`form <= 0`, or `form != 0` where `differs`; `origin` is the op that states it."""

    form: Linear
    origin: Operation
    differs: bool = False


def cancelling_factor(form: Linear, other: Linear, symbol: SSAValue) -> int | None:
    """The positive `q` for which `form - q * other` lacks `symbol`; None when there is none."""
    mine, theirs = form.terms.get(symbol, 0), other.terms.get(symbol, 0)
    if not mine or not theirs or mine % theirs or mine // theirs < 0:
        return None
    return mine // theirs
