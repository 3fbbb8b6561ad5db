"""What the scheduler asks of facts analysis, and questions about whole loops answered from it."""

from __future__ import annotations

import math

from xdsl.dialects import func, scf
from xdsl.ir import SSAValue

from specgen.ir.facts import Facts
from specgen.schedule import policy
from specgen.schedule.emit import INDEX_MAX, Counter


class Knowledge:
    """Facts of one function as it stands; made anew after each rewrite. Every answer is about the point of a loop."""

    def __init__(self, function: func.FuncOp) -> None:
        self.facts = Facts(function)

    def exact(self, loop: scf.ForOp, value: SSAValue) -> int | None:
        """The value where the loop stands if it is known."""
        return self.facts.exact(value, loop)

    def largest(self, loop: scf.ForOp, value: SSAValue) -> int:
        """The largest `index` that the value may be where the loop stands."""
        high = self.facts.range(value, loop).high
        return INDEX_MAX if math.isinf(high) else int(high)

    def counter(self, loop: scf.ForOp) -> Counter:
        """What is known of the loop's counter."""
        argument = loop.body.block.args[0]
        found = self.facts.range(argument)
        known = found.low > -INDEX_MAX - 1 and found.high < INDEX_MAX - 1
        return Counter(argument.name_hint, (int(found.low), int(found.high)) if known else None)

    def trips(self, loop: scf.ForOp) -> tuple[int, int | None]:
        """The least and the largest number of iterations; None for no limit."""
        noted = policy.integer(loop.attributes.get(policy.TRIPS))
        if noted is not None:
            return noted, noted
        found = self.facts.trip_range(loop)
        return int(found.low), None if math.isinf(found.high) else int(found.high)

    def trip_count(self, loop: scf.ForOp) -> int | None:
        """How often the body runs if that is known."""
        low, high = self.trips(loop)
        return low if low == high else None

    def uniform(self, value: SSAValue) -> str:
        """The widest group of work-items that agree on the value: workgroup, subgroup or none."""
        return self.facts.uniform(value)

    def divisible(self, loop: scf.ForOp, factor: int) -> bool:
        """Whether the number of iterations is a multiple of `factor` for certain (0 is)."""
        count = self.trip_count(loop)
        if count is not None:
            return count % factor == 0
        step = self.exact(loop, loop.step)
        if step is None or step <= 0:
            return False
        distance = self.facts.linear(loop.ub) - self.facts.linear(loop.lb)
        return self.facts.divides(factor * step, distance, self.facts.contexts.at(loop))
