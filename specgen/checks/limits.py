"""How many cases a check may have, and what its tolerances may be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from specgen import model
from specgen.checks.cases import Check
from specgen.diagnostics import Diagnostic
from specgen.diagnostics.catalogue import diagnostic

MOST_CASES = 10_000
"""Cases of one check or benchmark; each is run for every entry on every device, so more would take hours."""


def check_size(case: model.Case) -> Iterator[Diagnostic]:
    """SG-CHECK when rows times the product of `each` are more than `MOST_CASES`."""
    count = max(len(case.cases), 1) * math.prod(len(values) for _, values in case.each)
    if count > MOST_CASES:
        factors = [f"{len(values)} of `{name.text}`" for name, values in case.each]
        factors += [f"{len(case.cases)} rows"] if case.cases else []
        message = f"`{case.name.text}` has {count} cases ({' times '.join(factors)}); {MOST_CASES} is the most."
        at = case.each[0][0].span if case.each else case.name.span
        yield diagnostic("SG-CHECK", at, message, found=str(count), hint="Give fewer values, or write rows: `cases`.")


def check_tolerance(case: model.Case, check: Check) -> Iterator[Diagnostic]:
    """SG-CHECK for a tolerance that is negative, infinite or NaN: it would refuse or pass everything."""
    if case.compare is None or not isinstance(check.compare, Mapping):
        return
    for key, expr in (("atol", case.compare.atol), ("rtol", case.compare.rtol)):
        value = check.compare[key]
        if expr is not None and not 0 <= value < math.inf:
            message = f"`{key}` is {value}; a tolerance is a number, at least 0 and finite."
            yield diagnostic("SG-CHECK", expr.span, message, found=expr.text, hint="Write how far results may be off.")
