"""Loops: `for` with its schedule keys, `while` with the variables that it forwards."""

from __future__ import annotations

import ast
import dataclasses
import difflib
from collections.abc import Sequence

from specgen.binding import staging, through
from specgen.binding.context import Context, Rotation
from specgen.binding.convert import static_typed
from specgen.binding.evaluate import condition, static, worth
from specgen.binding.instance import Attribute, Operand, Region
from specgen.binding.names import declare
from specgen.binding.subscripts import index_value
from specgen.binding.types import INDEX, Scalar
from specgen.binding.values import UNIFORM, Level, Name, Unknown, Value, Word
from specgen.expressions import Expr
from specgen.model import For, LoopSchedule, Statement, While

ORDERS = ("linear", "interleaved", "recurrence")
TAILS = ("guard", "cut")
MAX_DEPTH = 65535
MAX_FACTOR = 65535


def counted(ctx: Context, statement: For) -> None:
    """`for: i, in: range(...)`."""
    from specgen.binding.statements import block, carried

    bounds = _bounds(ctx, statement.bounds)
    schedule = _schedule(ctx, statement)
    depth = dict(schedule).get("motif.pipeline", 1)
    ahead = through.wanted(ctx, statement, depth if isinstance(depth, int) else 1)
    variables = carried(ctx, statement.body)
    if bounds is None:
        ctx.scope.enter()
        declare(ctx, Name(statement.counter.text, "counter", statement.counter.span, Unknown()))
        block(ctx, statement.body)
        ctx.scope.leave()
        return
    low, high, step = bounds
    with ctx.within(statement.bounds):
        limits = tuple(ctx.operand(v) for v in (low, high, static_typed(INDEX, step)))
    level = low.level | high.level
    counter = _counter(ctx, statement, low, high, step, level)
    initial, arguments, keys = _enter(ctx, statement, variables)
    inside = [Operand(counter.name, "index"), *arguments]
    ctx.builder.open()
    ctx.scope.enter()
    declare(ctx, Name(statement.counter.text, "counter", statement.counter.span, counter))
    around, ctx.loops = ctx.rotation, ctx.loops + 1
    outer, ctx.scope.ahead = ctx.scope.ahead, ahead
    ctx.rotation = rotation = Rotation(counter, low, step, len(ctx.controls) + 1)
    with ctx.under(level, statement.bounds.text, statement.bounds.span):
        block(ctx, statement.body)
    ctx.rotation, ctx.loops, ctx.scope.ahead = around, ctx.loops - 1, outer
    _yield(ctx, statement.body, variables, keys, level)
    ctx.scope.leave()
    body = ctx.builder.close()
    with ctx.at_place(statement.span):
        made = ctx.emit(
            "scf.for",
            (*limits, *initial),
            tuple(o.type for o in initial),
            hints=tuple(n.text for n in variables),
            extra=schedule,
            regions=(Region(tuple(inside), tuple(body.ops)),),
        )
        if rotation.used and ctx.loops:
            staging.barrier(ctx)
    _leave(ctx, statement, variables, made, keys)


def _bounds(ctx: Context, expr: Expr) -> tuple[Value, Value, int] | None:
    """First, end and step of `range(...)`; None after a diagnostic."""
    call = expr.tree
    ranged = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    if not ranged or call.keywords or not 1 <= len(call.args) <= 3:  # type: ignore[attr-defined]
        return None  # told when the spec was loaded
    with ctx.within(expr):
        assert isinstance(call, ast.Call)
        parts = [index_value(ctx, a) for a in call.args]
        values = [p for p in parts if p is not None]
        if len(values) != len(parts):
            return None
        for node, value in zip(call.args, values, strict=True):
            if value.size is not None:
                ctx.report("SG-TYPE", f"a bound is one integer; `{ctx.expr.text_of(node)}` is a vector.", at=node)
                return None
        step = values[2].static if len(values) == 3 else 1
        if not isinstance(step, int) or step <= 0:
            text = ctx.expr.text_of(call.args[2])
            message = "the step of a loop is static and positive"
            told = f"`{text}` is {step}" if step is not None else f"`{text}` is known only when the kernel runs"
            ctx.report("SG-LOOP P3", f"{message}; {told}.", at=call.args[2])
            return None
        if len(values) == 1:
            return static_typed(INDEX, 0), values[0], step
        return values[0], values[1], step


def _counter(ctx: Context, statement: For, low: Value, high: Value, step: int, level: Level) -> Value:
    """The counter with what its bounds say of it."""
    facts = ctx.facts
    (first, _), (_, end) = ctx.interval(low), ctx.interval(high)
    top = max(end - 1, first)
    exact = low.lin is not None and high.lin is not None and facts.declared(low.lin) and facts.declared(high.lin)
    if step == 1 or low.lin is None:
        lin = facts.atom(first, top, declared=exact)
        if low.lin is not None:
            facts.always(lin - low.lin)
    else:
        rounds = facts.atom(0, max((top - first) // step, 0), declared=exact)
        lin = low.lin + rounds.scaled(step)
    if high.lin is not None:
        facts.always(high.lin.plus(-1) - lin)
    return Value(INDEX, ctx.builder.fresh(statement.counter.text), level=level, lin=lin)


def _enter(
    ctx: Context, statement: For | While, variables: Sequence[Name]
) -> tuple[tuple[Operand, ...], list[Operand], list[int]]:
    """Initial operands, block arguments and level keys of the carried variables, which become the arguments."""
    initial, arguments, keys = [], [], []
    for name in variables:
        assert isinstance(name.value, Value)
        with ctx.at_place(name.span):
            initial.append(ctx.operand(name.value, name.text))
            key = len(ctx.equations)
            ctx.equations[key] = name.value.level
            argument = Operand(ctx.builder.fresh(name.text), name.value.type.ir)
            ctx.scope.assign(name.text, _carried(ctx, name.value, argument.name, key))
            arguments.append(argument)
            keys.append(key)
    ctx.carried.append((statement.span, tuple(n.text for n in variables)))
    return tuple(initial), arguments, keys


def _carried(ctx: Context, value: Value, name: str, key: int) -> Value:
    lin = None
    if isinstance(value.type, Scalar) and value.type.is_integer:
        lin = ctx.facts.atom(*value.type.limits)
    return Value(value.type, name, level=Level(0, frozenset((key,))), lin=lin)


def _yield(
    ctx: Context, body: Sequence[Statement], variables: Sequence[Name], keys: Sequence[int], level: Level
) -> None:
    """The terminator of a loop body: the variables as they are now."""
    operands = []
    with ctx.at_place(body[-1].span if body else ctx.span):
        for name, key in zip(variables, keys, strict=True):
            found = ctx.scope.find(name.text)
            assert found is not None
            assert isinstance(found.value, Value)
            operands.append(ctx.operand(found.value))
            ctx.equations[key] |= found.value.level | level
        ctx.emit("scf.yield", tuple(operands), ())


def _leave(
    ctx: Context, statement: For | While, variables: Sequence[Name], made: Sequence[Operand], keys: Sequence[int]
) -> None:
    for name, operand, key in zip(variables, made, keys, strict=True):
        assert isinstance(name.value, Value)
        ctx.scope.assign(name.text, _carried(ctx, name.value, operand.name, key))


def conditional(ctx: Context, statement: While) -> None:
    """`while: c`: tested before each round; what the condition says of the forwarded variables holds in the body."""
    from specgen.binding.statements import block, carried

    variables = carried(ctx, statement.body)
    initial, arguments, keys = _enter(ctx, statement, variables)
    ctx.builder.open()
    with ctx.within(statement.condition):
        test = condition(ctx, statement.condition.tree, "the condition of `while`")
        if isinstance(test, Value) and test.size is not None:
            test = ctx.report(
                "SG-TYPE", "the condition of `while` is one bool.", hint="Write `any(...)` or `all(...)`."
            )
        if isinstance(test, Value):
            if test.is_static and test.static:
                ctx.report("SG-STATIC", f"`{statement.condition.text}` is always true; the loop never ends.")
            ctx.emit("scf.condition", (ctx.operand(test), *arguments), ())
    before = ctx.builder.close()
    level = test.level if isinstance(test, Value) else UNIFORM
    inner = _forwarded(ctx, variables)
    ctx.facts.push(test.when_true if isinstance(test, Value) else ())
    hidden = test.partial[0] if isinstance(test, Value) else False
    ctx.facts.unlearned += hidden
    ctx.builder.open()
    ctx.loops += 1
    with ctx.under(level, statement.condition.text, statement.condition.span):
        block(ctx, statement.body)
    ctx.loops -= 1
    _yield(ctx, statement.body, variables, keys, level)
    after = ctx.builder.close()
    ctx.facts.unlearned -= hidden
    ctx.facts.pop()
    regions = (Region(tuple(arguments), tuple(before.ops)), Region(tuple(inner), tuple(after.ops)))
    with ctx.at_place(statement.span):
        hints = tuple(n.text for n in variables)
        extra: tuple[tuple[str, Attribute], ...] = ()
        if ctx.path:
            extra = (("motif.instance", ".".join(ctx.path)),)
        made = ctx.emit("scf.while", initial, tuple(o.type for o in initial), hints=hints, extra=extra, regions=regions)
    _leave(ctx, statement, variables, made, keys)


def _forwarded(ctx: Context, variables: Sequence[Name]) -> list[Operand]:
    """The variables under new names, with the forms that the condition spoke of."""
    result = []
    for name in variables:
        found = ctx.scope.find(name.text)
        assert found is not None
        assert isinstance(found.value, Value)
        operand = Operand(ctx.builder.fresh(name.text), found.value.type.ir)
        ctx.scope.assign(name.text, dataclasses.replace(found.value, name=operand.name))
        result.append(operand)
    return result


# --- schedule ------------------------------------------------------------------------------------------------------


def _schedule(ctx: Context, statement: For) -> tuple[tuple[str, Attribute], ...]:
    """The attributes of a loop; in the serial variant every depth and factor is 1."""
    keys = statement.schedule
    held, ctx.in_schedule = ctx.in_schedule, True
    result: list[tuple[str, Attribute]] = [("motif.loop", statement.counter.text)]
    if keys.pipeline is not None:
        depth = _number(ctx, keys.pipeline, "a depth", 1, MAX_DEPTH, "P2")
        if depth is not None:
            result.append(("motif.pipeline", depth))
    if keys.lead is not None:
        lead = _number(ctx, keys.lead, "a lead", 0, MAX_DEPTH, "", ("auto",))
        if lead is not None:
            result.append(("motif.lead", lead))
    if keys.unroll is not None:
        factor = _number(ctx, keys.unroll, "a factor", 0, MAX_FACTOR, "U5", ("full",))
        if factor is not None:
            result.append(("motif.unroll", factor))
    for key, allowed, expr in (("order", ORDERS, keys.order), ("tail", TAILS, keys.tail)):
        if expr is not None:
            chosen = word(ctx, expr, key, allowed)
            if chosen is not None:
                result.append((f"motif.{key}", chosen))
    _needs_unroll(ctx, keys)
    if keys.through is not None:
        result.append(("motif.through", keys.through.text))
    if ctx.path:
        result.append(("motif.instance", ".".join(ctx.path)))
    ctx.in_schedule = held
    return serial_schedule(tuple(result)) if ctx.serial else tuple(result)


SCHEDULED = ("motif.split", "motif.early")
"""Attributes of other operations than loops that the serial variant does without."""


def serial_schedule(extra: tuple[tuple[str, Attribute], ...]) -> tuple[tuple[str, Attribute], ...]:
    """The attributes of a loop in the serial variant: depth and factor 1, no lead, nothing else that runs ahead."""
    ones, gone = ("motif.pipeline", "motif.unroll"), ("motif.lead", "motif.through")
    return tuple((k, 1 if k in ones else v) for k, v in extra if k not in gone)


def _needs_unroll(ctx: Context, keys: LoopSchedule) -> None:
    for key, expr in (("order", keys.order), ("tail", keys.tail)):
        if expr is not None and keys.unroll is None:
            message = f"`{key}` says how the copies of an unrolled loop run; this loop has no `unroll`."
            ctx.report("SG-LOOP U6", message, at=expr.span, hint=f"Add `unroll`, or remove `{key}`.")


def _number(
    ctx: Context, expr: Expr, what: str, lo: int, hi: int, rule: str, words: tuple[str, ...] = ()
) -> int | str | None:
    if isinstance(expr.tree, ast.Name) and not ctx.path:
        if what == "a lead" and expr.tree.id not in ctx.shared.loop_policies:
            ctx.shared.leads.add(expr.tree.id)
        elif what != "a lead":
            ctx.shared.leads.discard(expr.tree.id)
        ctx.shared.loop_policies.add(expr.tree.id)
    held, ctx.static_code = ctx.static_code, f"SG-LOOP {'P1' if rule == 'P2' else rule}".strip()
    found = static(ctx, expr, f"{what} is static", words)
    ctx.static_code = held
    if isinstance(found, Unknown):
        return None
    if isinstance(found, Word) and found.text in words:
        return found.text
    number = found.static if isinstance(found, Value) else None
    if isinstance(number, bool) or not isinstance(number, int):
        told = " or ".join(["an integer", *(f"`{w}`" for w in words)])
        ctx.report("SG-TYPE", f"{what} is {told}, not `{expr.text}`{worth(expr, found)}.", at=expr.span)
        return None
    if not lo <= number <= hi:
        ctx.report(f"SG-LOOP {rule}".strip(), f"{what} is in [{lo}, {hi}]; `{expr.text}` is {number}.", at=expr.span)
        return None
    return number


def flag(ctx: Context, expr: Expr | None, key: str) -> bool:
    """The truth of a schedule key, false without it and in the serial variant."""
    if expr is None:
        return False
    held, ctx.in_schedule = ctx.in_schedule, True
    found = static(ctx, expr, f"`{key}` is static")
    ctx.in_schedule = held
    if isinstance(found, Value) and isinstance(found.static, bool):
        return found.static and not ctx.serial
    if not isinstance(found, Unknown):
        ctx.report("SG-TYPE", f"`{key}` is true or false, not `{expr.text}`.", at=expr.span)
    return False


def word(ctx: Context, expr: Expr, key: str, allowed: tuple[str, ...]) -> str | None:
    """The word of a schedule key: one of `allowed`, bare or static; None after a diagnostic."""
    bare = expr.tree.id if isinstance(expr.tree, ast.Name) else None
    if bare is not None and bare not in allowed and ctx.scope.find(bare) is None:
        found: Value | Word | Unknown = Word(bare)
    else:
        found = static(ctx, expr, f"`{key}` is static", allowed)
    if isinstance(found, Word) and found.text in allowed:
        return found.text
    if not isinstance(found, Unknown):
        names = ", ".join(f"`{w}`" for w in allowed)
        near = difflib.get_close_matches(expr.text, allowed, n=1)
        hint = f"Nearest: `{near[0]}`." if near else f"Write {' or '.join(f'`{w}`' for w in allowed)}."
        message = f"`{key}` is one of {names}, not `{expr.text}`."
        ctx.report("SG-POLICY", message, at=expr.span, found=expr.text, allowed=allowed, hint=hint)
    return None
