"""`apply`: a motif's body is bound in place, with its own names, params, policies and math."""

from __future__ import annotations

import ast
import dataclasses
import difflib

from specgen.binding import convert, knobs, memories, selection, windows
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import evaluate, expression, static
from specgen.binding.instance import PolicyValue
from specgen.binding.names import declare
from specgen.binding.operators import compare_values
from specgen.binding.types import INDEX, Vector
from specgen.binding.values import Buffer, Name, Results, Unknown, Value, Word, static_value
from specgen.diagnostics import Note, Span
from specgen.expressions import Expr
from specgen.loading.walk import bodies, expressions, names_in
from specgen.model import Apply, Arg, BufferArg, For, Result, ScalarArg, Spec, Statement, VectorArg

Given = Value | Buffer | Unknown


def apply(ctx: Context, statement: Apply) -> None:
    """Bind one application; its results are read as `as.result`."""
    results: Results | Unknown = UNKNOWN
    motif = ctx.spec.used.get(statement.motif.text)
    unread = statement.motif.text in ("", *ctx.spec.use_spans, *(ctx.spec.lost or ()))
    if motif is None and not unread:
        near = difflib.get_close_matches(statement.motif.text, ctx.spec.used, n=1)
        hint = f"Nearest: `{near[0]}`." if near else "Add its file to `uses`."
        ctx.report("SG-NAME", f"no motif `{statement.motif.text}` here.", at=statement.motif.span, hint=hint)
    elif motif is not None:
        results = _expand(ctx, statement, motif)
    declare(ctx, Name(statement.instance.text, "instance", statement.instance.span, results))


def _expand(ctx: Context, statement: Apply, motif: Spec) -> Results | Unknown:
    given = {b.name.text: _argument(ctx, b.value) for b in statement.arguments}
    at = {b.name.text: b.value.span for b in statement.arguments}
    if not _complete(motif, given) or any(isinstance(v, Unknown) for v in given.values()):
        return UNKNOWN
    inner = ctx.child(motif, statement.instance.text)
    _params(ctx, inner, statement, motif, given)
    _policies(ctx, inner, statement, motif)
    knobs.defines(inner)
    if not knobs.requirements(inner):
        return UNKNOWN
    for arg in motif.args:
        _bind_argument(ctx, inner, arg, given[arg.name.text], at[arg.name.text])
    chosen = selection.choose(ctx, inner, statement)
    return UNKNOWN if chosen is None else body(inner, chosen)


def body(ctx: Context, statements: tuple[Statement, ...]) -> Results:
    """Bind one of a motif's bodies in its own context and collect its results."""
    from specgen.binding.statements import block

    windows.windows(ctx)
    made = memories.memories(ctx, _named(statements) if ctx.spec.implementations else None)
    block(ctx, statements, scoped=False)
    memories.check_memory_read(ctx, made)
    return Results({r.name.text: _result(ctx, r) for r in ctx.spec.results})


def _named(statements: tuple[Statement, ...]) -> frozenset[str]:
    """Every name of these statements: memory that only another body uses is not allocated."""
    return frozenset(name.id for expr in expressions(statements) for name in names_in(expr.tree))


def _argument(ctx: Context, expr: Expr) -> Given:
    with ctx.within(expr):
        found = evaluate(ctx, expr.tree)
        if isinstance(found, Word):
            return ctx.report("SG-TYPE", f"`{expr.text}` is a word, no argument.")
        return found


def _complete(motif: Spec, given: dict[str, Given]) -> bool:
    """Whether exactly the motif's arguments are given (what is not was told when the spec was loaded)."""
    return given.keys() == {a.name.text for a in motif.args}


# --- params and policies -------------------------------------------------------------------------------------------


def _inferred(motif: Spec, given: dict[str, Given]) -> dict[str, Value]:
    """Params without default that stand alone as an extent or size of an argument."""
    free = {p.name.text for p in motif.params if p.default is None}
    found: dict[str, Value] = {}
    for arg in motif.args:
        value = given[arg.name.text]
        if isinstance(arg, BufferArg) and isinstance(value, Buffer):
            for axis, extent in zip(arg.shape, value.extents, strict=False):
                if isinstance(axis.extent.tree, ast.Name) and axis.extent.tree.id in free:
                    known = Value(INDEX, extent.name, lin=extent.lin)
                    found.setdefault(
                        axis.extent.tree.id, static_value(extent.static) if extent.static is not None else known
                    )
        if isinstance(arg, VectorArg) and isinstance(value, Value) and isinstance(value.type, Vector):
            size = arg.size.tree
            if isinstance(size, ast.Name) and size.id in free:
                found.setdefault(size.id, static_value(value.type.size))
    return found


def _params(ctx: Context, inner: Context, statement: Apply, motif: Spec, given: dict[str, Given]) -> None:
    values: dict[str, PolicyValue | Value | Word] = dict(_inferred(motif, given))
    at: dict[str, Span] = {p.name.text: statement.span for p in motif.params}
    known = {p.name.text: p for p in motif.params}
    for binding in statement.params:
        text = binding.name.text
        if text not in known:
            near = difflib.get_close_matches(text, known, n=1)
            hint = f"Nearest: `{near[0]}`." if near else None
            ctx.report("SG-PARAM", f"`{motif.name.text}` has no param `{text}`.", at=binding.name.span, hint=hint)
            continue
        if text in values:
            message = f"`{text}` is taken from the arguments and is not given."
            ctx.report("SG-PARAM", message, at=binding.name.span, hint="Remove it.")
            continue
        found = static(ctx, binding.value, "a param is static", knobs.choices_of(known[text]))
        if not isinstance(found, Unknown):
            values[text] = found
        at[text] = binding.value.span
    knobs.knobs(inner, motif.params, "param", values, at)


def _policies(ctx: Context, inner: Context, statement: Apply, motif: Spec) -> None:
    values: dict[str, PolicyValue | Value | Word] = {}
    at: dict[str, Span] = {}
    known = {p.name.text: p for p in motif.policies}
    for binding in statement.policies:
        text = binding.name.text
        if text not in known:
            near = difflib.get_close_matches(text, known, n=1)
            hint = f"Nearest: `{near[0]}`." if near else None
            ctx.report("SG-POLICY", f"`{motif.name.text}` has no policy `{text}`.", at=binding.name.span, hint=hint)
            continue
        if isinstance(binding.value.tree, ast.Name) and not ctx.path and _is_loop_policy(motif, text):
            ctx.shared.loop_policies.add(binding.value.tree.id)
        held, ctx.in_schedule = ctx.in_schedule, ctx.in_schedule or _is_loop_policy(motif, text)
        found = static(ctx, binding.value, "a policy is static", knobs.choices_of(known[text]))
        ctx.in_schedule = held
        if not isinstance(found, Unknown):
            values[text] = found
        at[text] = binding.value.span
    prefix = ".".join(inner.path)
    for text in known:
        key = f"{prefix}.{text}"
        if key in ctx.shared.policies:
            values[text] = ctx.shared.policies[key]
            ctx.shared.settings_used.add(key)
    knobs.knobs(inner, motif.policies, "policy", values, at)


def _is_loop_policy(motif: Spec, text: str) -> bool:
    """Whether a motif's policy stands alone as a depth or factor of one of its loops."""
    from specgen.binding.statements import all_statements

    loops = [s for inner in bodies(motif) for s in all_statements(inner) if isinstance(s, For)]
    keys = [e for f in loops for e in (f.schedule.pipeline, f.schedule.unroll) if e is not None]
    return any(isinstance(e.tree, ast.Name) and e.tree.id == text for e in keys)


# --- arguments -----------------------------------------------------------------------------------------------------


def _bind_argument(ctx: Context, inner: Context, arg: Arg, given: Given, at: Span) -> None:
    """Declare a motif's argument with the caller's value, after comparing types."""
    value: Given = UNKNOWN
    if isinstance(arg, BufferArg):
        value = _buffer(ctx, inner, arg, given, at)
    elif isinstance(arg, ScalarArg):
        value = _scalar(ctx, inner, arg, given, at)
    elif isinstance(arg, VectorArg):
        value = _vector(ctx, inner, arg, given, at)
    else:
        ctx.report("SG-UNSUPPORTED", "not supported yet: tile arguments.", at=arg.span)
    declare(inner, Name(arg.name.text, "arg", arg.name.span, value))


def _wrong(ctx: Context, arg: Arg, wanted: str, found: str, at: Span) -> Unknown:
    note = Note(arg.name.span, f"`{arg.name.text}` is declared here")
    return ctx.report("SG-TYPE", f"`{arg.name.text}` is {wanted}; this is {found}.", at=at, notes=(note,))


def _scalar(ctx: Context, inner: Context, arg: ScalarArg, given: Given, at: Span) -> Given:
    type_ = knobs.type_of(inner, arg.type)
    if type_ is None or isinstance(given, Unknown):
        return UNKNOWN
    if isinstance(given, Buffer) or given.size is not None:
        found = "a buffer" if isinstance(given, Buffer) else f"`{given.type}`"
        return _wrong(ctx, arg, f"a scalar `{type_}`", found, at)
    with ctx.at_place(at):
        if given.type.is_untyped:
            made = convert.literal(ctx, None, given, type_)
            if isinstance(made, Unknown):
                return made
            given = made
        if given.type != type_:
            return _wrong(ctx, arg, f"`{type_}`", f"`{given.type}`", at)
        if arg.range is not None and type_.is_integer:
            _promise(ctx, inner, arg, given)
    return given


def _promise(ctx: Context, inner: Context, arg: ScalarArg, given: Value) -> None:
    """The range of a motif's argument: proven where it is applied, or assumed (and checked when run)."""
    assert arg.range is not None
    for end, low in ((arg.range.lo, True), (arg.range.hi, False)):
        found = expression(inner, end)
        if isinstance(found, Unknown) or given.lin is None:
            continue
        made = convert.literal(inner, end.tree, found, given.type.element) if found.type.is_untyped else found
        if isinstance(made, Unknown) or made.lin is None:
            continue
        form = given.lin - made.lin if low else made.lin - given.lin
        if ctx.facts.nonnegative(form) or made.type != given.type:
            continue
        bounds, limit = ctx.interval(given), ctx.facts.interval(made.lin)[0 if low else 1]
        outside = bounds[0] < limit if low else bounds[1] > limit
        if outside and ctx.facts.declared(given.lin) and (made.is_static or ctx.facts.declared(made.lin)):
            side = "from" if low else "to"
            message = f"`{arg.name.text}` may be {bounds[0 if low else 1]}; the motif takes values {side} {limit}."
            note = Note(arg.range.span, "its range is declared here")
            ctx.report("SG-BOUNDS", message, hint="Guard the application, or narrow the range.", notes=(note,))
            ctx.facts.note(form)
            continue
        test = compare_values(ctx, ">=" if low else "<=", given, made)
        ctx.emit("motif.assume", (ctx.operand(test),), ())
        ctx.facts.note(form)


def _vector(ctx: Context, inner: Context, arg: VectorArg, given: Given, at: Span) -> Given:
    element = knobs.type_of(inner, arg.element)
    from specgen.binding.evaluate import integer

    size = integer(inner, arg.size, "the size of a vector is static")
    if element is None or size is None or isinstance(given, Unknown):
        return UNKNOWN
    wanted = Vector(element, size)
    if isinstance(given, Buffer) or given.type != wanted:
        return _wrong(ctx, arg, f"`{wanted}`", "a buffer" if isinstance(given, Buffer) else f"`{given.type}`", at)
    return given


def _buffer(ctx: Context, inner: Context, arg: BufferArg, given: Given, at: Span) -> Given:
    element = knobs.type_of(inner, arg.element)
    if element is None or isinstance(given, Unknown):
        return UNKNOWN
    if not isinstance(given, Buffer):
        return _wrong(ctx, arg, "a buffer", f"`{given.type}`", at)
    if given.element != element:
        return _wrong(ctx, arg, f"a buffer of `{element}`", f"a buffer of `{given.element}`", at)
    if len(arg.shape) != len(given.axes):
        return _wrong(ctx, arg, f"a buffer of {len(arg.shape)} axes", f"one of {len(given.axes)}", at)
    for axis, extent in zip(arg.shape, given.extents, strict=True):
        found = expression(inner, axis.extent)
        if isinstance(found, Unknown) or found.lin is None:
            return UNKNOWN
        same = found.lin - extent.lin
        if same.terms or same.constant:
            wanted = f"{axis.extent.text} elements along `{axis.name.text}`"
            return _wrong(ctx, arg, wanted, f"one of {extent.text}", at)
    _access(ctx, arg, given, at)
    access = given.access if arg.access == "readwrite" else arg.access
    axes = tuple(a.name.text for a in arg.shape)
    return dataclasses.replace(given, name=arg.name.text, axes=axes, access=access)


def _access(ctx: Context, arg: BufferArg, given: Buffer, at: Span) -> None:
    if arg.access != "read" and given.access == "read":
        message = f"`{arg.name.text}` is stored by the motif; `{given.name}` is declared `read`."
        ctx.report("SG-ACCESS", message, at=at, hint="Declare it `write` or `readwrite`.")
    if arg.access != "write" and given.access == "write":
        message = f"`{arg.name.text}` is read by the motif; `{given.name}` is declared `write`."
        ctx.report("SG-ACCESS", message, at=at, hint="Declare it `readwrite`.")


# --- results -------------------------------------------------------------------------------------------------------


def _result(ctx: Context, result: Result) -> Value | Unknown:
    """A result: a value of that name at the top level of the body, with the declared type."""
    text = result.name.text
    found = ctx.scope.find(text)
    if found is None or found.kind not in ("let", "var", "arg"):
        near = ctx.scope.nearest(text, ("let", "var"))
        hint = f"Nearest: `{near.text}` (line {near.span.line})." if near else "Name it with `let` or `var`."
        return ctx.report(
            "SG-RESULT", f"no value `{text}` at the top level of the body.", at=result.name.span, hint=hint
        )
    if isinstance(found.value, Unknown):
        return UNKNOWN
    element = knobs.type_of(ctx, result.element)
    if element is None:
        return UNKNOWN
    if result.kind == "tile":
        return ctx.report("SG-UNSUPPORTED", "not supported yet: tile results.", at=result.span)
    wanted: object = element
    if result.size is not None:
        from specgen.binding.evaluate import integer

        size = integer(ctx, result.size, "the size of a vector is static")
        if size is None:
            return UNKNOWN
        wanted = Vector(element, size)
    value = found.value
    if not isinstance(value, Value):
        return ctx.report("SG-RESULT", f"`{text}` is no value.", at=result.name.span)
    if value.type.is_untyped:
        return convert.literal(ctx, None, value, element)
    if value.type != wanted:
        message = f"`{text}` is `{value.type}` (line {found.span.line}); the result is declared `{wanted}`."
        return ctx.report("SG-RESULT", message, at=result.span)
    return value
