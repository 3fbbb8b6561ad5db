"""Which implementation of a motif an application takes: those that fit compete, the order of the file never decides.

An implementation fits when its target is the one at hand (or stands for it) and every line of its `requires` is proven
where the motif is applied. The exact target comes before a target or family that stands for others, that before any
target, then the higher priority; the motif's own body is the fall-back. Refusals teach nothing: what an
implementation requires is not known in its body unless the site knows it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from specgen import targets
from specgen.binding.asked import is_called, is_stood_for_by
from specgen.binding.context import Context
from specgen.binding.evaluate import condition, value
from specgen.binding.instance import Candidate, Selection
from specgen.binding.values import Unknown, Value
from specgen.diagnostics import Note, Span
from specgen.expressions import Expr
from specgen.model import Apply, Implementation, Statement
from specgen.schema.messages import first_line

ANY, STANDS_FOR, EXACT = 0, 1, 2
"""Ranks of a target that fits."""


def choose(ctx: Context, inner: Context, statement: Apply) -> tuple[Statement, ...] | None:
    """The statements to bind for an application whose arguments are bound in `inner`; None after SG-SELECT."""
    motif = inner.spec
    if not motif.implementations:
        return motif.body
    judged = [_judged(inner, i) for i in motif.implementations]
    fitting = [(rank, i) for (rank, _, _), i in zip(judged, motif.implementations, strict=True) if rank is not None]
    best = max(((rank, i.priority) for rank, i in fitting), default=None)
    chosen = [i for rank, i in fitting if (rank, i.priority) == best]
    if len(chosen) > 1:
        message = f"{len(chosen)} implementations of `{motif.name.text}` fit here equally well."
        notes = tuple(Note(first_line(i.span), _rank_text(i)) for i in chosen)
        hint = "Give one a higher `priority`, or conditions that exclude each other."
        ctx.report("SG-SELECT", message, at=statement.motif.span, hint=hint, notes=notes)
        return None
    if not chosen and not motif.body:
        notes = tuple(Note(span, reason) for _, span, reason in judged)
        message = f"no implementation of `{motif.name.text}` fits here, and it has no `body` to fall back on."
        hint = "Guard the application so that a condition is proven, or add a `body`."
        ctx.report("SG-SELECT", message, at=statement.motif.span, hint=hint, notes=notes)
        return None
    taken = chosen[0] if chosen else None
    _record(inner, statement, judged, taken)
    return motif.body if taken is None else taken.body


def _rank_text(candidate: Implementation) -> str:
    target = "any target" if candidate.target is None else f"`{candidate.target.text}`"
    return f"for {target}, priority {candidate.priority}"


def _judged(ctx: Context, candidate: Implementation) -> tuple[int | None, Span, str]:
    """The rank of the target, or None with the place of what refuses the implementation and why."""
    rank = _rank(ctx, candidate)
    if rank is None:
        assert candidate.target is not None
        return None, candidate.target.span, f"it is for `{candidate.target.text}`"
    for expr in candidate.requires:
        reason = _refusal(ctx, expr)
        if reason is not None:
            return None, expr.span, reason
    return rank, candidate.span, ""


def _rank(ctx: Context, candidate: Implementation) -> int | None:
    if candidate.target is None:
        return ANY
    text = candidate.target.text
    if ctx.shared.ask(is_called, text):
        return EXACT
    return STANDS_FOR if ctx.shared.ask(is_stood_for_by, text) else None


def _refusal(ctx: Context, expr: Expr) -> str | None:
    """Why a condition refuses; None when it is proven. What is evaluated on the way is not emitted."""
    held = len(ctx.notes)
    ctx.builder.open()
    with ctx.within(expr):
        proven, known = _proof(ctx, expr.tree)
    ctx.builder.close()
    del ctx.notes[held:]
    if proven:
        return None
    return f"`{expr.text}` does not hold" if known else f"`{expr.text}` is not proven here"


def _proof(ctx: Context, node: ast.AST) -> tuple[bool, bool]:
    """Whether a condition is proven; whether it is known to be false."""
    if isinstance(node, ast.BoolOp):
        parts = [_proof(ctx, part) for part in node.values]
        if isinstance(node.op, ast.And):
            return all(proven for proven, _ in parts), any(false for _, false in parts)
        return any(proven for proven, _ in parts), all(false for _, false in parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        proven, false = _proof(ctx, node.operand)
        return false, proven
    test = condition(ctx, node, "a line of `requires`")
    if isinstance(test, Unknown):
        return False, False
    if test.size is not None:
        ctx.report("SG-TYPE", "a line of `requires` is one bool.", at=node, hint="Write `all(...)`.")
        return False, False
    if test.is_static:
        return bool(test.static), not test.static
    return _entailed(ctx, test, 0) or _unequal(ctx, node), _entailed(ctx, test, 1)


def _entailed(ctx: Context, test: Value, side: int) -> bool:
    """Whether all that holds on one side of a condition (0: where it is true) is known at the site."""
    forms = (test.when_true, test.when_false)[side]
    return bool(forms) and not test.partial[side] and all(ctx.facts.nonnegative(form) for form in forms)


def _unequal(ctx: Context, node: ast.AST) -> bool:
    """Whether `a != b` follows from `a < b` or `a > b`."""
    if not isinstance(node, ast.Compare) or [type(op) for op in node.ops] != [ast.NotEq]:
        return False
    sides = [value(ctx, side) for side in (node.left, node.comparators[0])]
    forms = [side.lin for side in sides if isinstance(side, Value) and side.lin is not None]
    if len(forms) != len(sides):
        return False
    distance = forms[0] - forms[1]
    return any(ctx.facts.nonnegative(way.plus(-1)) for way in (distance, distance.scaled(-1)))


def _record(
    ctx: Context, statement: Apply, judged: Sequence[tuple[int | None, Span, str]], taken: Implementation | None
) -> None:
    """Note a selection for the report."""
    candidates = []
    for (rank, span, reason), candidate in zip(judged, ctx.spec.implementations, strict=True):
        if candidate is taken:
            outcome, reason = "selected", ""
        elif rank is None:
            outcome, reason = "refused", f"{reason} (line {span.line})"
        else:
            assert taken is not None
            outcome, reason = "outranked", f"line {taken.span.line} comes first"
        text = None if candidate.target is None else candidate.target.text
        candidates.append(Candidate(candidate.span, text, candidate.priority, outcome, reason))
    if ctx.spec.body:
        reason = "" if taken is None else "an implementation fits"
        span = ctx.spec.body[0].span
        candidates.append(Candidate(span, None, None, "selected" if taken is None else "outranked", reason))
    made = Selection(".".join(ctx.path), ctx.spec.name.text, statement.span, tuple(candidates))
    if made not in ctx.selections:
        ctx.selections.append(made)


def assumed(ctx: Context, candidate: Implementation) -> bool:
    """Take what an implementation requires as given, for a motif that is checked by itself; whether it can hold."""
    possible = True
    for expr in candidate.requires:
        ctx.builder.open()
        with ctx.within(expr):
            test = condition(ctx, expr.tree, "a line of `requires`")
        ctx.builder.close()
        if isinstance(test, Value):
            possible &= test.static is not False
            for form in test.when_true:
                ctx.facts.note(form)
    return possible


def sample_targets(candidate: Implementation) -> tuple[str, ...]:
    """The targets that an implementation may be chosen for."""
    names = targets.names()
    if candidate.target is None:
        return "gfx1151", *(name for name in names if name != "gfx1151")
    text = candidate.target.text
    return tuple(n for n in names if text in (n, targets.stand_in(n), targets.load(n).family))
