"""Statements: blocks are walked with a map from names to values; regions carry exactly the variables they set."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from specgen.binding import barriers, convert, early, loops, motifs, staging, stores, through, views
from specgen.binding.branches import branch, if_op
from specgen.binding.builder import Attributes
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import condition, expression, value
from specgen.binding.formula import decided
from specgen.binding.knobs import static_names
from specgen.binding.names import declare, lookup, names_only, spoken
from specgen.binding.types import Type, Vector
from specgen.binding.values import Name, Unknown, Value
from specgen.diagnostics import Span
from specgen.expressions import Expr
from specgen.model import (
    Apply,
    Assume,
    Atomic,
    Barrier,
    Binding,
    For,
    If,
    Let,
    Statement,
    Store,
    ViewStatement,
    While,
)


def block(ctx: Context, statements: Sequence[Statement], *, scoped: bool = True) -> None:
    """Bind the statements of a block; names and facts of it end with it (its names stay when not `scoped`)."""
    if scoped:
        ctx.scope.enter()
    ctx.facts.push(())
    living = len(ctx.live)
    for statement in statements:
        HANDLERS[type(statement)](ctx, statement)
    staging.release(ctx, living)
    ctx.facts.pop()
    if scoped:
        ctx.scope.leave()


def all_statements(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements with those inside of them."""
    for statement in statements:
        yield statement
        match statement:
            case For() | While():
                yield from all_statements(statement.body)
            case If():
                yield from all_statements((*statement.then, *statement.orelse))
            case Barrier(overlap=tuple() as inner):
                yield from all_statements(inner)


def set_names(ctx: Context, statements: Iterable[Statement]) -> set[str]:
    """Names that `set` gives a new value anywhere inside, branches that a static condition drops left out."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Let(kind="set"):
                found.update(e.name.text for e in statement.entries)
            case For() | While():
                found |= set_names(ctx, statement.body)
            case If(condition=test):
                names = static_names(ctx, test.tree)
                chosen = None if names is None else decided(test, names)
                parts = (statement.then, statement.orelse)
                for part in parts if chosen is None else parts[:1] if chosen else parts[1:]:
                    found |= set_names(ctx, part)
            case Barrier(overlap=tuple() as inner):
                found |= set_names(ctx, inner)
    return found


def carried(ctx: Context, statements: Sequence[Statement]) -> list[Name]:
    """The visible variables that the statements set, in order of declaration."""
    return ctx.scope.variables(set_names(ctx, statements))


# --- values --------------------------------------------------------------------------------------------------------


def outside_value(ctx: Context, expr: Expr | None) -> Value | None:
    """The value of `outside`, a scalar."""
    if expr is None:
        return None
    found = expression(ctx, expr)
    if isinstance(found, Unknown):
        return None
    if found.size is not None:
        ctx.report("SG-TYPE", "`outside` is a scalar.", at=expr.span)
        return None
    return found


def _let(ctx: Context, statement: Let) -> None:
    soon = statement.schedule.early if statement.schedule is not None else None
    wanted, first = loops.flag(ctx, soon, "early"), len(ctx.builder.blocks[-1].ops)
    if statement.schedule is not None:
        for key in ("lanes", "fragments"):
            if getattr(statement.schedule, key) is not None:
                unsupported(ctx, statement.span, f"the schedule key `{key}`")
    held, ctx.outside = ctx.outside, outside_value(ctx, statement.outside)
    if statement.kind == "set":
        _set(ctx, statement)
    else:
        for entry in statement.entries:
            _introduce(ctx, statement.kind, entry)
    if wanted and soon is not None:
        early.mark(ctx, first, soon)
    ctx.outside = held


def _introduce(ctx: Context, kind: str, entry: Binding) -> None:
    with ctx.within(entry.value):
        found = value(ctx, entry.value.tree)
        if kind == "var" and isinstance(found, Value):
            found = convert.typed(ctx, entry.value.tree, found)
        if isinstance(found, Value) and found.name:
            found = dataclasses.replace(found, name=ctx.builder.rename(found.name, entry.name.text))
    declare(ctx, Name(entry.name.text, kind, entry.name.span, found))
    if kind == "let" and entry.name.text == ctx.scope.ahead and isinstance(found, Value):
        through.mark(ctx, entry, found)


def _set(ctx: Context, statement: Let) -> None:
    results: list[tuple[str, Value]] = []
    for entry in statement.entries:
        variable = _variable(ctx, entry)
        found = expression(ctx, entry.value)
        if variable is None or isinstance(variable.value, Unknown):
            continue
        assert isinstance(variable.value, Value)
        if isinstance(found, Value):
            what = f"`{entry.name.text}` is `{variable.value.type}`"
            found = assignable(ctx, entry.value, found, variable.value.type, what)
        if isinstance(found, Value) and found.name:
            found = dataclasses.replace(found, name=ctx.builder.rename(found.name, entry.name.text))
        if isinstance(found, Value):
            results.append((entry.name.text, found))
    for text, new in results:
        ctx.scope.assign(text, new)


def _variable(ctx: Context, entry: Binding) -> Name | None:
    text = entry.name.text
    name = ctx.scope.find(text)
    if name is None:
        near = ctx.scope.nearest(text, ("var",))
        hint = f"Nearest: `{near.text}` ({spoken(near)})." if near else None
        ctx.report("SG-NAME", f"no variable `{text}` here.", at=entry.name.span, hint=hint)
        return None
    if name.kind != "var":
        kind = spoken(name).rsplit(", line", 1)[0]
        message = f"`{text}` is a `{kind}` (line {name.span.line}) and keeps its value."
        hint = "Declare it with `var` to change it." if name.kind == "let" else None
        ctx.report("SG-NAME", message, at=entry.name.span, hint=hint)
        return None
    return name


def assignable(ctx: Context, expr: Expr, found: Value, type_: Type, what: str) -> Value | Unknown:
    """`found` as a value of `type_`: literals take it, scalars spread; anything else is SG-TYPE with the call."""
    with ctx.within(expr):
        if found.type.is_untyped:
            made = convert.literal(ctx, expr.tree, found, type_.element)
            if isinstance(made, Unknown):
                return made
            found = made
        if found.type.element != type_.element:
            hint = f"Write `{type_.element}({expr.text})`."
            if type_.element.kind == "bool":
                hint = f"Write `{expr.text} != 0`."
            return ctx.report("SG-TYPE", f"{what}; `{expr.text}` is `{found.type}`.", at=expr.tree, hint=hint)
        if isinstance(type_, Vector) and found.size is None:
            return convert.spread(ctx, found, type_.size)
        if found.type != type_:
            return ctx.report("SG-TYPE", f"{what}; `{expr.text}` is `{found.type}`.", at=expr.tree)
        return found


# --- memory --------------------------------------------------------------------------------------------------------


def _store(ctx: Context, statement: Store) -> None:
    for target, expr in statement.entries:
        found = expression(ctx, expr)
        with ctx.within(target):
            place = stores.target(ctx, target, "`store` names", skip=statement.skip_outside)
        if place is None or isinstance(found, Unknown):
            continue
        buffer = place[0]
        what = f"`{buffer.name}` holds `{buffer.element}`"
        type_: Type = buffer.element if found.size is None else Vector(buffer.element, found.size)
        made = assignable(ctx, expr, found, type_, what)
        if isinstance(made, Unknown):
            continue
        with ctx.within(target):
            stores.store(ctx, place, made, target.tree, statement.skip_outside)


def _atomic(ctx: Context, statement: Atomic) -> None:
    found = expression(ctx, statement.value)
    with ctx.within(statement.target):
        place = stores.target(ctx, statement.target, "`atomic` names")
    result: Value | Unknown = UNKNOWN
    if place is not None and isinstance(found, Value):
        buffer = place[0]
        what = f"`{buffer.name}` holds `{buffer.element}`"
        made = assignable(ctx, statement.value, found, buffer.element, what)
        if isinstance(made, Value):
            with ctx.within(statement.target):
                result = stores.atomic(ctx, statement.target, statement.operation, made, place)
    if statement.result is not None:
        declare(ctx, Name(statement.result.text, "let", statement.result.span, result))


def unsupported(ctx: Context, span: Span, what: str) -> None:
    """The one diagnostic of a part of the language whose turn has not come."""
    ctx.report("SG-UNSUPPORTED", f"not supported yet: {what}.", at=span)


# --- control -------------------------------------------------------------------------------------------------------


def _if(ctx: Context, statement: If) -> None:
    cut = loops.flag(ctx, statement.split, "split")
    with ctx.within(statement.condition):
        test = condition(ctx, statement.condition.tree, "the condition of `if`")
        if isinstance(test, Value) and test.size is not None:
            hint = "Write `any(...)` or `all(...)`, or choose element by element: `a if c else b`."
            text = statement.condition.text
            test = ctx.report("SG-TYPE", f"the condition of `if` is one bool; `{text}` has {test.size}.", hint=hint)
    if isinstance(test, Value) and test.is_static:
        chosen, other = (statement.then, statement.orelse) if test.static else (statement.orelse, statement.then)
        block(ctx, chosen)
        # What is dropped computes nothing: a policy that schedules the rest stays one that does no more than that.
        held, ctx.in_schedule = ctx.in_schedule, True
        _names_of(ctx, other)
        ctx.in_schedule = held
        return
    if isinstance(test, Unknown):
        for part in (statement.then, statement.orelse):
            before = {n.text: n.value for n in carried(ctx, part)}
            block(ctx, part)
            _restore(ctx, before)
        return
    _dynamic_if(ctx, statement, test, (("motif.split", True),) if cut else ())


def _restore(ctx: Context, values: dict[str, Any]) -> None:
    for text, old in values.items():
        ctx.scope.assign(text, old)


def _dynamic_if(ctx: Context, statement: If, test: Value, extra: Attributes) -> None:
    variables = carried(ctx, (*statement.then, *statement.orelse))
    before = {n.text: n.value for n in variables}
    text = statement.condition.text
    results: list[list[Value]] = []
    blocks = []
    for side, part in ((True, statement.then), (False, statement.orelse)):

        def inside(part: tuple[Statement, ...] = part) -> list[Value]:
            block(ctx, part)
            found = [ctx.scope.find(n.text) for n in variables]
            return [f.value for f in found if f is not None and isinstance(f.value, Value)]

        made, after = branch(ctx, test, side, text, inside, statement.condition.span)
        _restore(ctx, before)
        blocks.append(made)
        results.append(after)
    changed = [i for i, n in enumerate(variables) if results[0][i] is not results[1][i]]
    with ctx.at_place(statement.span):
        pairs = [(results[0][i], results[1][i]) for i in changed]
        hints = tuple(variables[i].text for i in changed)
        merged = if_op(ctx, test, (blocks[0], blocks[1]), pairs, hints=hints, extra=extra)
    for i, new in zip(changed, merged, strict=True):
        ctx.scope.assign(variables[i].text, new)


def _assume(ctx: Context, statement: Assume) -> None:
    with ctx.within(statement.condition):
        test = condition(ctx, statement.condition.tree, "an assumption")
    if isinstance(test, Unknown):
        return
    if test.size is not None:
        ctx.report("SG-TYPE", "an assumption is one bool.", at=statement.condition.span, hint="Write `all(...)`.")
        return
    if test.static is False:
        ctx.report("SG-STATIC", f"`{statement.condition.text}` is never true.", at=statement.condition.span)
    if test.is_static:
        return
    with ctx.at_place(statement.span):
        ctx.emit("motif.assume", (ctx.operand(test),), ())
    for form in test.when_true:
        ctx.facts.note(form)


# --- branches that are not chosen ------------------------------------------------------------------------------------


def _names_of(ctx: Context, statements: Sequence[Statement]) -> None:
    """Check the names of statements that a static condition drops."""
    ctx.scope.enter()
    for statement in statements:
        for expr, name in _entries(statement):
            with ctx.within(expr):
                names_only(ctx, expr.tree)
            if name is not None:
                declare(ctx, Name(name.text, "let", name.span, UNKNOWN))
        for name in _declared(statement):
            declare(ctx, Name(name.text, "let", name.span, UNKNOWN))
        match statement:
            case For():
                ctx.scope.enter()
                declare(ctx, Name(statement.counter.text, "counter", statement.counter.span, UNKNOWN))
                _names_of(ctx, statement.body)
                ctx.scope.leave()
            case While():
                _names_of(ctx, statement.body)
            case If():
                _names_of(ctx, statement.then)
                _names_of(ctx, statement.orelse)
            case Barrier(overlap=tuple() as inner):
                _names_of(ctx, inner)
            case Store():
                for target, _ in statement.entries:
                    _mark_stored(ctx, target)
    ctx.scope.leave()


def _mark_stored(ctx: Context, target: Expr) -> None:
    if isinstance(target.tree, ast.Subscript) and isinstance(target.tree.value, ast.Name):
        with ctx.within(target):
            lookup(ctx, target.tree.value)


def _entries(statement: Statement) -> list[tuple[Expr, Any]]:
    """The expressions of a statement in order, each with the name that it gives a value and that later ones see."""
    match statement:
        case Let(kind="set"):
            return [(e.value, None) for e in statement.entries]
        case Let() | ViewStatement():
            return [(e.value, e.name) for e in statement.entries]
        case Store():
            return [(part, None) for entry in statement.entries for part in entry]
        case Atomic():
            return [(statement.target, None), (statement.value, None)]
        case For(schedule=schedule):
            keys = (schedule.pipeline, schedule.unroll, schedule.lead)
            words = ("full", "auto")
            return [(statement.bounds, None), *((k, None) for k in keys if k is not None and k.text not in words)]
        case While() | If() | Assume():
            return [(statement.condition, None)]
        case Barrier(form=Expr() as form):
            return [] if form.text in barriers.FORMS else [(form, None)]
        case Apply():
            return [(b.value, None) for b in (*statement.arguments, *statement.params, *statement.policies)]
        case _:
            return []


def _declared(statement: Statement) -> list[Any]:
    """Names that a statement leaves for those after it."""
    match statement:
        case Atomic(result=result) if result is not None:
            return [result]
        case Apply():
            return [statement.instance]
        case _:
            return []


HANDLERS: dict[type, Callable[[Context, Any], None]] = {
    Let: _let,
    ViewStatement: views.view,
    Store: _store,
    Atomic: _atomic,
    For: loops.counted,
    While: loops.conditional,
    If: _if,
    Apply: motifs.apply,
    Barrier: barriers.barrier,
    Assume: _assume,
}
