"""Subgroup and workgroup operations, and whether everything around them is uniform enough."""

from __future__ import annotations

import ast
import difflib
from math import prod

from specgen.binding import convert
from specgen.binding.context import UNKNOWN, Context, Control, Demand
from specgen.binding.convert import per_element
from specgen.binding.linear import Linear
from specgen.binding.types import BOOL, Type
from specgen.binding.values import SUBGROUP, UNIFORM, Level, Unknown, Value
from specgen.diagnostics import Note, Span

Result = Value | Unknown

REDUCTIONS = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}
_LANES = {
    "broadcast": "motif.subgroup_broadcast",
    "shuffle": "motif.subgroup_shuffle",
    "shuffle_xor": "motif.subgroup_shuffle_xor",
    "scan_sum": "motif.subgroup_scan",
}
_NAMES = {"subgroup": (*REDUCTIONS, *_LANES), "workgroup": tuple(REDUCTIONS)}


def subgroup_size(ctx: Context) -> int | None:
    """The target's subgroup size, recorded as read; None when the target leaves it open."""
    size: int | None = ctx.shared.fact("subgroup_size")
    return size


def workgroup_total(ctx: Context) -> int:
    """Work-items of a workgroup."""
    return prod(n for _, n in ctx.sizes)


def require_subgroups(ctx: Context) -> bool:
    """SG-COLL when the workgroup is not made of whole subgroups: what a workgroup computes together starts in them."""
    size, total = subgroup_size(ctx), workgroup_total(ctx)
    if not ctx.sizes or size is None or total % size == 0:
        return True
    message = f"a workgroup of {total} is no multiple of the subgroup size {size}, so lanes would be missing."
    ctx.report("SG-COLL", message, hint=f"Choose a size that {size} divides, or `requires` another subgroup size.")
    return False


def call(ctx: Context, node: ast.Call) -> Result:
    """`subgroup.f(...)` or `workgroup.f(...)`."""
    function = node.func
    assert isinstance(function, ast.Attribute)
    assert isinstance(function.value, ast.Name)
    scope, name = function.value.id, function.attr
    values = [_value(ctx, a) for a in node.args]
    if scope not in _NAMES or name not in _NAMES[scope]:
        return _unknown(ctx, function, scope)
    if ctx.only_static is not None:
        return ctx.report("SG-STATIC", f"`{scope}.{name}` runs with the kernel; {ctx.only_static}.", at=node)
    if any(isinstance(v, Unknown) for v in values):
        return UNKNOWN
    known = [v for v in values if isinstance(v, Value)]
    ctx.node = node
    if not require_subgroups(ctx):
        return UNKNOWN
    if name in REDUCTIONS:
        return _reduce(ctx, node, scope, name, known)
    return _from_lane(ctx, node, name, known)


def _value(ctx: Context, node: ast.AST) -> Result:
    from specgen.binding.evaluate import value

    return value(ctx, node)


def _unknown(ctx: Context, function: ast.Attribute, scope: str) -> Unknown:
    text = ctx.expr.text_of(function)
    near = difflib.get_close_matches(text, [f"{s}.{n}" for s, names in _NAMES.items() for n in names], n=1)
    hint = f"Nearest: `{near[0]}`." if near else None
    return ctx.report("SG-NAME", f"no function `{text}`.", at=function, hint=hint)


def _operand(ctx: Context, node: ast.Call, value: Value, bools: bool) -> Value | None:
    name, text = ctx.expr.text_of(node.func), ctx.expr.text_of(node.args[0])
    made = convert.typed(ctx, node.args[0], value)
    if isinstance(made, Unknown):
        return None
    if (made.type.element is BOOL) != bools:
        kind = "bool" if bools else "numbers"
        ctx.report("SG-TYPE", f"`{name}` works on {kind}; `{text}` is `{made.type}`.", at=node.args[0])
        return None
    return made


def _reduce(ctx: Context, node: ast.Call, scope: str, name: str, values: list[Value]) -> Result:
    if len(values) != 1:
        return ctx.report("SG-TYPE", f"`{scope}.{name}` takes one value.", at=node)
    cluster = _cluster(ctx, node, scope)
    value = _operand(ctx, node, values[0], name in ("any", "all"))
    if value is None or cluster is None:
        return UNKNOWN
    ctx.node = node
    ctx.demand(1 if scope == "subgroup" else 0, name)
    attributes: list[tuple[str, bool | int | str]] = [("kind", REDUCTIONS[name])]
    if cluster:
        attributes.append(("cluster", cluster))
    if value.type.element.kind == "unsigned" and name in ("min", "max"):
        attributes.append(("unsigned", True))
    level = UNIFORM if scope == "workgroup" else _reduced(ctx, value.level, cluster)

    def one(x: Value) -> Value:
        bounds = ctx.interval(x) if name in ("min", "max") and x.type.element.is_integer else None
        lin = ctx.facts.atom(*bounds) if bounds is not None else None
        return ctx.op(f"motif.{scope}_reduce", x.type, x, attributes=tuple(attributes), level=level, lin=lin, hint=name)

    return per_element(ctx, value.type, one, value)


def _reduced(ctx: Context, level: Level, cluster: int) -> Level:
    """A whole subgroup agrees on its reduction; a part of it agrees among itself only."""
    if level.base == 0 and not level.carried:
        return UNIFORM
    return level if cluster and cluster != subgroup_size(ctx) else SUBGROUP


def _cluster(ctx: Context, node: ast.Call, scope: str) -> int | None:
    """Lanes of a cluster, 0 for the whole subgroup; None after a diagnostic."""
    from specgen.binding.subscripts import static_count

    result = 0
    for keyword in node.keywords:
        if keyword.arg != "cluster" or scope != "subgroup":
            ctx.report("SG-TYPE", f"`{ctx.expr.text_of(node.func)}` takes no `{keyword.arg}=`.", at=keyword)
            return None
        count = static_count(ctx, keyword.value)
        if count is None:
            return None
        size = subgroup_size(ctx)
        if count & (count - 1) or (size is not None and count > size):
            limit = f"at most the subgroup size {size}" if size is not None else "a power of two"
            ctx.report("SG-COLL", f"a cluster is a power of two, {limit}; this is {count}.", at=keyword.value)
            return None
        if size is None and ctx.sizes and workgroup_total(ctx) % count:
            message = f"a workgroup of {workgroup_total(ctx)} is no multiple of the cluster {count}, so lanes would be"
            ctx.report("SG-COLL", f"{message} missing.", at=keyword.value, hint=f"Choose a size that {count} divides.")
            return None
        result = count
    return result


def _from_lane(ctx: Context, node: ast.Call, name: str, values: list[Value]) -> Result:
    from specgen.binding.subscripts import as_index

    takes = 1 if name == "scan_sum" else 2
    if len(values) != takes or node.keywords:
        told = "one value" if takes == 1 else "a value and a lane" if name != "shuffle_xor" else "a value and a mask"
        return ctx.report("SG-TYPE", f"`subgroup.{name}` takes {told}.", at=node)
    bools = values[0].type.element is BOOL and name != "scan_sum"
    value = _operand(ctx, node, values[0], bools)
    if value is None:
        return UNKNOWN
    attributes: tuple[tuple[str, bool | int | str], ...] = ()
    lane: tuple[Value, ...] = ()
    level = value.level
    if name == "scan_sum":
        attributes = (("kind", "add"),)
    elif name == "shuffle_xor":
        mask = values[1].static
        if isinstance(mask, bool) or not isinstance(mask, int) or mask < 0:
            moved, mask_text = (ctx.expr.text_of(arg) for arg in node.args)
            hint = f"A number, or `subgroup.shuffle({moved}, subgroup.lane ^ ({mask_text}))`, takes any lane."
            message = "the mask of `subgroup.shuffle_xor` is a static integer, at least 0."
            return ctx.report("SG-STATIC", message, at=node.args[1], hint=hint)
        attributes = (("mask", mask),)
    else:
        found = as_index(ctx, node.args[1], values[1])
        if found is None or found.size is not None:
            return UNKNOWN if found is None else ctx.report("SG-TYPE", "a lane is one index.", at=node.args[1])
        if name == "broadcast":
            _uniform_lane(ctx, node.args[1], found)
            level = _reduced(ctx, value.level, 0)
        lane = (found,)
    ctx.node = node
    ctx.demand(1, name.replace("_sum", ""))

    def one(x: Value) -> Value:
        return ctx.op(_LANES[name], x.type, x, *lane, attributes=attributes, level=level, lin=_kept(ctx, x, name))

    type_: Type = value.type
    return per_element(ctx, type_, one, value)


def _kept(ctx: Context, value: Value, name: str) -> Linear | None:
    if value.type.element.is_integer and name != "scan_sum":
        return ctx.facts.atom(*ctx.interval(value))
    return None


def _uniform_lane(ctx: Context, node: ast.AST, lane: Value) -> None:
    text = ctx.expr.text_of(node)
    control = Control(lane.level, text, ctx.expr.span_of(node))
    ctx.demands.append(Demand(1, "broadcast's lane", ctx.expr.span_of(node), (control,)))


def solve(ctx: Context) -> None:
    """Settle the levels of carried variables and report every collective whose surroundings may disagree."""
    levels = dict.fromkeys(ctx.equations, 0)

    def resolved(level: Level) -> int:
        return max([level.base, *(levels.get(k, 2) for k in level.carried)])

    changed = True
    while changed:
        changed = False
        for key, level in ctx.equations.items():
            found = resolved(level)
            if found > levels[key]:
                levels[key], changed = found, True
    for demand in ctx.demands:
        bad = next((c for c in demand.controls if resolved(c.level) > demand.base), None)
        if bad is not None:
            _refuse(ctx, demand.what, demand.base, bad, demand.span)


def _refuse(ctx: Context, what: str, base: int, control: Control, span: Span) -> None:
    group = "lanes of one subgroup" if base == 1 else "work-items of one workgroup"
    message = f"{group} may disagree on `{control.text}` (line {control.span.line}), so some would miss the {what}."
    if what == "broadcast's lane":
        message = f"lanes of one subgroup may disagree on `{control.text}`; `broadcast` reads one lane."
        ctx.report("SG-COLL", message, at=span, hint="Use `subgroup.shuffle`.")
        return
    if what == "staged region":
        message = f"work-items of one workgroup may disagree on `{control.text}`; a staged view is one region for all."
        ctx.report("SG-COLL", message, at=span, hint="Read it in place: `place: direct`.")
        return
    idle = {"sum": "0", "any": "false", "all": "true"}.get(what)
    if control.text.startswith("range("):
        hint = f"Move the {what} out of the loop, or give the loop a bound that is the same for all."
        ctx.report("SG-COLL", message, at=span, hint=hint, notes=(Note(control.span, "the bound"),))
        return
    hint = f"Move the {what} out"
    hint += f", give idle lanes {idle}: `x if {control.text} else {idle}`." if idle else "."
    ctx.report("SG-COLL", message, at=span, hint=hint, notes=(Note(control.span, "the condition"),))
