"""Facts of integers: what they prove, and that they never prove what a search refutes."""

from __future__ import annotations

import itertools
import random

from specgen.binding.linear import Facts, Linear, tightened


def test_elimination_through_symbolic_bounds() -> None:
    facts = Facts()
    n = facts.atom(0, 1000)
    quarter = facts.atom(0, 250)
    facts.always(n - quarter.scaled(4))
    i = facts.atom(0, 249)
    facts.always(quarter.plus(-1) - i)
    assert facts.nonnegative(n - i.scaled(4).plus(4))
    assert not facts.nonnegative(n - i.scaled(4).plus(5))


def test_facts_end_with_their_place() -> None:
    facts = Facts()
    n = facts.atom(0, 64)
    facts.push((n.plus(-8),))
    assert facts.interval(n) == (8, 64)
    facts.note(n.scaled(-1).plus(10))
    assert facts.interval(n) == (8, 10)
    assert facts.wide(n) == (0, 64)
    facts.pop()
    assert facts.interval(n) == (0, 64)


def test_integers_tighten_facts() -> None:
    assert tightened(Linear(-1, ((0, 4),))) == Linear(-4, ((0, 4),))
    assert tightened(Linear(3, ((0, 2), (1, -4)))) == Linear(2, ((0, 2), (1, -4)))
    assert tightened(Linear(3, ((0, 2), (1, 3)))) == Linear(3, ((0, 2), (1, 3)))


def test_bounds_hold_for_every_assignment() -> None:
    generator = random.Random(7)
    for _ in range(150):
        facts = Facts()
        ends = [(generator.randint(-4, 2), generator.randint(2, 5)) for _ in range(3)]
        atoms = [facts.atom(*e) for e in ends]

        def form(atoms: list[Linear] = atoms) -> Linear:
            result = Linear(generator.randint(-6, 6))
            for atom in atoms:
                result = result + atom.scaled(generator.randint(-3, 3))
            return result

        known = [form() for _ in range(2)]
        facts.push(known)
        goal = form()
        lo, hi = facts.interval(goal)
        for values in itertools.product(*(range(a, b + 1) for a, b in ends)):
            if all(_at(f, values) >= 0 for f in known):
                assert lo <= _at(goal, values) <= hi


def _at(form: Linear, values: tuple[int, ...]) -> int:
    return int(form.constant + sum(c * values[a] for a, c in form.terms))


def test_what_was_found_before_gives_way_to_facts_that_came_later() -> None:
    facts = Facts()
    b, a = facts.atom(0, 100), facts.atom(0, 100)
    assert (facts.interval(a), facts.wide(a)) == ((0, 100), (0, 100))
    facts.always(b - a)
    facts.always(b.scaled(-1).plus(9))
    assert facts.interval(a) == (0, 9)
    facts.push([a.plus(-3)])
    assert (facts.interval(a), facts.wide(a)) == ((3, 9), (0, 9))
    facts.note(a.plus(-5))
    assert (facts.interval(a), facts.wide(a)) == ((5, 9), (0, 9))
    facts.always(b.scaled(-1).plus(7))
    assert (facts.interval(a), facts.wide(a)) == ((5, 7), (0, 7))
    facts.pop()
    assert facts.interval(a) == (0, 7)
