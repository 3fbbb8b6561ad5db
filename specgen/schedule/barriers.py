"""Split barriers: every arrival is waited for once, on every path, with nothing shared in between.

Between `motif.arrive` and its `motif.wait` the workgroup is in a phase: some work-items have arrived, others have
not. Private work is all that may happen there, nested in any `if` or `for`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import Operation

from specgen.diagnostics import Diagnostic, Note
from specgen.ir.dialect import ArriveOp, WaitOp
from specgen.schedule.effects import Kind, body_of, effects_of
from specgen.schedule.rules import describe, span_of

CODE = "SG-COLL"
_PRIVATE = frozenset({Kind.PRIVATE_READ, Kind.PRIVATE_WRITE, Kind.WHILE})


def check_split_barriers(function: func.FuncOp) -> list[Diagnostic]:
    """What is wrong with the split barriers of a function."""
    faults: list[Diagnostic] = []
    for op in function.walk():
        if isinstance(op, ArriveOp):
            waits = [wait for wait in function.walk() if isinstance(wait, WaitOp) and wait.token is op.token]
            faults.extend(_phase(op, waits))
        elif isinstance(op, WaitOp) and not isinstance(op.token.owner, ArriveOp):
            hint = "Arrive and wait in one block, once an iteration."
            faults.append(_fault(op, "the phase that is waited for was carried round a loop or out of a branch", hint))
    return faults


def _phase(arrive: ArriveOp, waits: list[WaitOp]) -> Iterator[Diagnostic]:
    hint = "Put one `motif.wait` behind the arrival, in the same block."
    if len(list(arrive.token.uses)) != len(waits):
        yield _fault(arrive, "the phase leaves its block while it is live", hint)
    elif not waits:
        yield _fault(arrive, "the arrival is never waited for", hint)
    elif len(waits) > 1:
        yield _fault(waits[1], "a phase is waited for twice", hint, arrive)
    elif waits[0].parent_block() is not arrive.parent_block():
        yield _fault(waits[0], "the wait does not stand on every path from its arrival", hint, arrive)
    else:
        yield from _interval(arrive, waits[0])


def _interval(arrive: ArriveOp, wait: WaitOp) -> Iterator[Diagnostic]:
    block = arrive.parent_block()
    assert block is not None
    ops = body_of(block)
    for op in ops[ops.index(arrive) + 1 : ops.index(wait)]:
        for kind, inner in effects_of(op).ops:
            if kind not in _PRIVATE:
                yield _fault(inner, f"{_what(inner)} stands between an arrival and its wait", _HINT, arrive)


_HINT = "Leave only private work between the arrival and the wait."


def _what(op: Operation) -> str:
    return "a second arrival" if isinstance(op, ArriveOp) else describe(op)


def _fault(op: Operation, message: str, hint: str, arrive: Operation | None = None) -> Diagnostic:
    notes = () if arrive is None else (Note(span_of(arrive), "the arrival"),)
    return Diagnostic(CODE, span_of(op), message, hint=hint, notes=notes)
