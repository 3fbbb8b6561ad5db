"""The head of a spec: params, policies, defines, arguments, memory, launch."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping
from math import prod

from specgen.binding import convert
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import expression, integer, static
from specgen.binding.formula import substitute
from specgen.binding.instance import BufferParam, Operand, Param, PolicyValue, ScalarParam
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.types import INDEX, SCALARS, Scalar, Vector
from specgen.binding.values import (
    SUBGROUP,
    UNIFORM,
    VARYING,
    Buffer,
    Extent,
    Level,
    Name,
    Unknown,
    Value,
    Word,
    static_value,
)
from specgen.diagnostics import Span
from specgen.expressions import Expr
from specgen.model import Axis, BufferArg, Knob, Memory, ScalarArg, VectorArg

Static = Value | Word | Unknown


def type_of(ctx: Context, expr: Expr) -> Scalar | None:
    """The scalar type that an expression names; None after a diagnostic."""
    found = static(ctx, expr, "a type is static")
    if isinstance(found, Word) and found.type is not None:
        return found.type
    if not isinstance(found, Unknown):
        near = difflib.get_close_matches(expr.text, SCALARS, n=1)
        hint = f"Nearest: `{near[0]}`." if near else None
        ctx.report("SG-TYPE", f"a type is expected here, not `{expr.text}`.", at=expr.span, hint=hint)
    return None


# --- params and policies -------------------------------------------------------------------------------------------


def choices_of(knob: Knob) -> tuple[str, ...]:
    """The words among the choices of a knob; empty when its values are numbers."""
    if knob.choices is None:
        return ()
    return tuple(c.tree.id for c in knob.choices if isinstance(c.tree, ast.Name) and c.tree.id not in ("true", "false"))


def as_static(value: PolicyValue, words: tuple[str, ...] = ()) -> Value | Word:
    """A value from a command line or a caller as a static value; text is a word."""
    if isinstance(value, str):
        return Word(value, words, SCALARS.get(value))
    return static_value(value)


def plain(value: Value | Word) -> PolicyValue:
    """The number or text of a static value."""
    if isinstance(value, Word):
        return value.text
    assert value.static is not None
    assert not isinstance(value.static, tuple)
    return value.static


def knob(
    ctx: Context, entry: Knob, code: str, given: PolicyValue | Value | Word | None, at: Span | None = None
) -> Static:
    """The value of a param (`SG-PARAM`) or policy (`SG-POLICY`): what is given, else the default; checked."""
    words = choices_of(entry)
    what = "param" if code == "SG-PARAM" else "policy"
    if given is not None:
        found: Static = given if isinstance(given, (Value, Word)) else as_static(given, words)
    elif entry.default is not None:
        found = static(ctx, entry.default, f"a default of a {what} is static", words)
        at = entry.default.span
    else:
        return ctx.report(code, f"the {what} `{entry.name.text}` has no value.", at=at or entry.name.span)
    if isinstance(found, Word):
        found = Word(found.text, words or found.choices, found.type)
    if isinstance(found, (Value, Word)) and not _admitted(ctx, entry, code, found, words, at or entry.name.span):
        return UNKNOWN
    return found


def _admitted(ctx: Context, entry: Knob, code: str, found: Value | Word, words: tuple[str, ...], at: Span) -> bool:
    if isinstance(found, Value) and not found.is_static:
        return True
    value, name = plain(found), entry.name.text
    if entry.choices is not None:
        allowed = [
            c.tree.id if isinstance(c.tree, ast.Name) and c.tree.id in words else _plain_static(ctx, c)
            for c in entry.choices
        ]
        if any(_same(value, a) for a in allowed):
            return True
        told = ", ".join(_told(a) for a in allowed if a is not None)
        near = difflib.get_close_matches(str(value), [str(a) for a in allowed], n=1) if isinstance(value, str) else []
        hint = f"Nearest: `{near[0]}`." if near else None
        message = f"`{name}` is {_told(value)}; it takes {told}."
        ctx.report(
            code,
            message,
            at=at,
            found=_told(value),
            allowed=tuple(_told(a) for a in allowed if a is not None),
            hint=hint,
        )
        return False
    if isinstance(value, str):
        if entry.range is None:
            return True
        ctx.report(code, f"`{name}` is a number, not `{value}`.", at=at, found=value)
        return False
    if entry.range is not None:
        lo, hi = _plain_static(ctx, entry.range.lo), _plain_static(ctx, entry.range.hi)
        numbers = isinstance(lo, (int, float)) and isinstance(hi, (int, float))
        if numbers and (isinstance(value, bool) or not lo <= value <= hi):  # type: ignore[operator]
            message = f"`{name}` is {_told(value)}; its range is [{_told(lo)}, {_told(hi)}]."
            ctx.report(code, message, at=at, found=_told(value), allowed=(f"[{_told(lo)}, {_told(hi)}]",))
            return False
    return True


def _plain_static(ctx: Context, expr: Expr) -> PolicyValue | None:
    found = static(ctx, expr, "choices and ranges are static")
    return plain(found) if isinstance(found, (Value, Word)) else None


def _same(a: PolicyValue, b: PolicyValue | None) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool) and isinstance(a, str) == isinstance(b, str)


def _told(value: PolicyValue | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def knobs(
    ctx: Context,
    entries: Iterable[Knob],
    kind: str,
    given: Mapping[str, PolicyValue | Value | Word],
    at: Mapping[str, Span],
) -> dict[str, PolicyValue]:
    """Declare params or policies in order; the values that are static."""
    code = "SG-PARAM" if kind == "param" else "SG-POLICY"
    result: dict[str, PolicyValue] = {}
    for entry in entries:
        text = entry.name.text
        found = knob(ctx, entry, code, given.get(text), at.get(text))
        declare(ctx, Name(text, kind, entry.name.span, found))
        if isinstance(found, Word) or (isinstance(found, Value) and found.is_static):
            result[text] = plain(found)
    return result


def defines(ctx: Context) -> None:
    """Declare the named static expressions, in order."""
    for entry in ctx.spec.defines:
        found = static(ctx, entry.value, "`define` names static values")
        declare(ctx, Name(entry.name.text, "define", entry.name.span, found))


def static_environment(ctx: Context) -> dict[str, PolicyValue]:
    """Static names of the spec (and `target.x`) for formulas."""
    result: dict[str, PolicyValue] = {}
    for name in ctx.scope.visible():
        value = name.value
        if isinstance(value, Word) or (isinstance(value, Value) and value.is_static and value.size is None):
            result[name.text] = plain(value)
    for fact in ctx.shared.facts_read:
        known = getattr(ctx.shared.target, fact)
        if known is not None:
            result[f"target.{fact}"] = known
    return result


# --- arguments -----------------------------------------------------------------------------------------------------


def arguments(ctx: Context) -> tuple[Param, ...]:
    """Declare the arguments of a kernel (or of a motif that is checked alone) and give its ABI."""
    made: dict[str, Param] = {}
    for arg in ctx.spec.args:
        if isinstance(arg, ScalarArg):
            made |= _scalar(ctx, arg)
        elif isinstance(arg, VectorArg):
            _vector(ctx, arg)
        elif not isinstance(arg, BufferArg):
            ctx.report("SG-UNSUPPORTED", "tile arguments are not supported yet.", at=arg.span)
            declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
    for arg in ctx.spec.args:
        if isinstance(arg, BufferArg):
            made |= _buffer(ctx, arg)
    return tuple(made[a.name.text] for a in ctx.spec.args if a.name.text in made)


def _vector(ctx: Context, arg: VectorArg) -> None:
    element, size = type_of(ctx, arg.element), integer(ctx, arg.size, "the size of a vector is static")
    value: Value | Unknown = UNKNOWN
    if element is not None and size is not None:
        value = Value(Vector(element, size), ctx.builder.fresh(arg.name.text), level=VARYING)
    declare(ctx, Name(arg.name.text, "arg", arg.name.span, value))


def _scalar(ctx: Context, arg: ScalarArg) -> dict[str, Param]:
    type_ = type_of(ctx, arg.type)
    if type_ is None:
        declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
        return {}
    name = ctx.builder.fresh(arg.name.text)
    ends = _range(ctx, arg.range.lo, arg.range.hi, type_) if arg.range is not None else None
    multiple = integer(ctx, arg.multiple_of, "`multiple_of` is static") if arg.multiple_of is not None else None
    if multiple is not None and (multiple < 1 or not type_.is_integer):
        ctx.report(
            "SG-TYPE", f"`multiple_of` is a positive number of an integer; `{arg.name.text}` is `{type_}`.", at=arg.span
        )
        multiple = None
    lin = scalar_form(ctx, type_, ends, multiple)
    level = UNIFORM if ctx.spec.kind == "kernel" else VARYING
    declare(ctx, Name(arg.name.text, "arg", arg.name.span, Value(type_, name, level=level, lin=lin)))
    bounds, formulas = None, None
    if ends is not None and arg.range is not None:
        bounds = ends.lo_hi
        if not ends.constant:
            env = static_environment(ctx)
            formulas = substitute(arg.range.lo, env), substitute(arg.range.hi, env)
    param = ScalarParam(arg.name.text, type_.name, type_.ir, bounds, formulas, multiple, arg.span)
    return {arg.name.text: param}


class Ends:
    """Both ends of a declared range: forms for integers, and the widest numbers that they can be."""

    def __init__(self, lo_hi: tuple[int | float, int | float], forms: tuple[Linear, Linear] | None) -> None:
        self.lo_hi, self.forms = lo_hi, forms

    @property
    def constant(self) -> bool:
        return self.forms is None or not (self.forms[0].terms or self.forms[1].terms)


def _range(ctx: Context, low: Expr, high: Expr, type_: Scalar) -> Ends | None:
    """The ends of `range: [lo, hi]`; they may depend on arguments before it."""
    ctx.builder.open()
    found = [expression(ctx, e) for e in (low, high)]
    ctx.builder.close()
    values = []
    for expr, value in zip((low, high), found, strict=True):
        if isinstance(value, Unknown):
            return None
        made = convert.literal(ctx, expr.tree, value, type_) if value.type.is_untyped else value
        if isinstance(made, Unknown):
            return None
        if made.size is not None or made.type.element.is_float != type_.is_float:
            ctx.report(
                "SG-TYPE", f"an end of the range of a `{type_}` is a `{type_}`, not `{expr.text}`.", at=expr.span
            )
            return None
        values.append(made)
    lo, hi = values
    if type_.is_float:
        if lo.static is None or hi.static is None:
            ctx.report("SG-STATIC", "a range of floats is static.", at=low.span)
            return None
        return Ends((float(lo.static), float(hi.static)), None)  # type: ignore[arg-type]
    assert lo.lin is not None
    assert hi.lin is not None
    bounds = ctx.facts.interval(lo.lin)[0], ctx.facts.interval(hi.lin)[1]
    if bounds[0] > bounds[1]:
        ctx.report("SG-TYPE", f"the range [{bounds[0]}, {bounds[1]}] is empty.", at=low.span)
        return None
    return Ends(bounds, (lo.lin, hi.lin))


def scalar_form(ctx: Context, type_: Scalar, ends: Ends | None, multiple: int | None) -> Linear | None:
    """An integer argument as a form, with its promises."""
    if not type_.is_integer:
        return None
    lo, hi = type_.limits if ends is None else (int(ends.lo_hi[0]), int(ends.lo_hi[1]))
    factor = multiple or 1
    lin = ctx.facts.atom(-(-lo // factor), hi // factor, declared=ends is not None).scaled(factor)
    if ends is not None and ends.forms is not None:
        ctx.facts.always(lin - ends.forms[0], ends.forms[1] - lin)
    return lin


def _buffer(ctx: Context, arg: BufferArg) -> dict[str, Param]:
    element = type_of(ctx, arg.element)
    extents = [_extent(ctx, axis) for axis in arg.shape]
    if arg.strides:
        ctx.report("SG-UNSUPPORTED", "`strides` of an argument are not supported yet.", at=arg.span)
    align = _align(ctx, arg, element)
    noalias = _flag(ctx, arg.noalias)
    ends = None
    if arg.range is not None and element is not None:
        ends = _range(ctx, arg.range.lo, arg.range.hi, element)
    axes = tuple(a.name.text for a in arg.shape)
    fast = _contiguous(ctx, arg.contiguous, axes)
    known = [e for e in extents if e is not None]
    if element is None or len(known) != len(extents) or not extents:
        declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
        return {}
    order = (*(i for i in range(len(axes)) if i != fast), fast)
    shape = tuple(known[i].static for i in order)
    ir = memref(shape, element)
    declared, promises = _declared(element, ends)
    ssa = ctx.builder.fresh(arg.name.text)
    buffer = Buffer(
        arg.name.text, ssa, element, axes, tuple(known), order, ir, "global", arg.access, declared, align, promises
    )
    declare(ctx, Name(arg.name.text, "arg", arg.name.span, buffer))
    if None in shape:
        _emit_extents(ctx, buffer, arg.span)
    bounds = None if ends is None else ends.lo_hi
    formulas = tuple(e.text for e in known)
    param = BufferParam(
        arg.name.text, element.name, ir, axes, formulas, order, shape, arg.access, align, noalias,
        element.kind == "unsigned", bounds, arg.span,
    )  # fmt: skip
    return {arg.name.text: param}


def memref(shape: tuple[int | None, ...], element: Scalar, space: str = "") -> str:
    """The IR type of memory with these dimensions, slow to fast; None is known when the kernel runs."""
    sizes = "".join("?x" if n is None else f"{n}x" for n in shape)
    return f"memref<{sizes}{element.memory}{space}>"


def _declared(
    element: Scalar, ends: Ends | None
) -> tuple[tuple[int, int] | None, tuple[Callable[[Linear], Linear], ...]]:
    if ends is None or not element.is_integer or ends.forms is None:
        return None, ()
    bounds = int(ends.lo_hi[0]), int(ends.lo_hi[1])
    if ends.constant:
        return bounds, ()
    low, high = ends.forms
    return bounds, (lambda form: form - low, lambda form: high - form)


def _emit_extents(ctx: Context, buffer: Buffer, span: Span) -> None:
    from specgen.binding.memory import extent_value

    with ctx.builder.at_entry(), ctx.at_place(span):
        sizes = tuple(ctx.operand(extent_value(ctx, buffer, a)) for a in buffer.order)
        ctx.emit("motif.extents", (Operand(buffer.ssa, buffer.ir), *sizes), ())


def _extent(ctx: Context, axis: Axis) -> Extent | None:
    """An extent of an argument: over scalar arguments, params and defines, but no policy."""
    held, ctx.forbid_policies = ctx.forbid_policies, True
    with ctx.builder.at_entry():
        found = expression(ctx, axis.extent)
    ctx.forbid_policies = held
    if isinstance(found, Unknown):
        return None
    if found.size is not None or not found.type.element.is_integer:
        ctx.report("SG-TYPE", f"an extent is an integer; `{axis.extent.text}` is `{found.type}`.", at=axis.extent.span)
        return None
    if found.is_static:
        number = int(found.static)  # type: ignore[arg-type]
        if number < 0:
            ctx.report("SG-TYPE", f"an extent is not negative; `{axis.extent.text}` is {number}.", at=axis.extent.span)
            return None
        return Extent(Linear(number), number, str(number))
    with ctx.within(axis.extent), ctx.builder.at_entry():
        made = convert.cast(ctx, axis.extent.tree, found, INDEX)
    assert isinstance(made, Value)
    lin = made.lin if made.lin is not None else ctx.facts.atom(*INDEX.limits)
    return Extent(lin, None, substitute(axis.extent, static_environment(ctx)), made.name)


def _align(ctx: Context, arg: BufferArg, element: Scalar | None) -> int:
    size = element.size if element is not None else 1
    if arg.align is None:
        return size
    align = integer(ctx, arg.align, "`align` is static")
    if align is None:
        return size
    if align < size or align & (align - 1):
        message = f"`align` is a power of two, at least the element's {size} bytes; `{arg.align.text}` is {align}."
        ctx.report("SG-TYPE", message, at=arg.align.span)
        return size
    return align


def _flag(ctx: Context, expr: Expr | None) -> bool:
    if expr is None:
        return True
    found = static(ctx, expr, "`noalias` is static")
    if isinstance(found, Value) and isinstance(found.static, bool):
        return found.static
    if not isinstance(found, Unknown):
        ctx.report("SG-TYPE", f"`noalias` is true or false, not `{expr.text}`.", at=expr.span)
    return True


def _contiguous(ctx: Context, expr: Expr | None, axes: tuple[str, ...]) -> int:
    """The number of the fastest axis."""
    if expr is None:
        return len(axes) - 1
    found = static(ctx, expr, "`contiguous` is static", axes)
    if isinstance(found, Word) and found.text in axes:
        return axes.index(found.text)
    if not isinstance(found, Unknown):
        names = ", ".join(f"`{a}`" for a in axes)
        ctx.report("SG-NAME", f"`contiguous` names an axis ({names}), not `{expr.text}`.", at=expr.span)
    return len(axes) - 1


# --- memory --------------------------------------------------------------------------------------------------------

_SPACES = {"workgroup": 3, "private": 5}


def memories(ctx: Context) -> dict[str, Buffer]:
    """Declare author-written memory and allocate it in the entry block."""
    made: dict[str, Buffer] = {}
    total = 0
    for entry in ctx.spec.memory:
        buffer = _memory(ctx, entry)
        declare(ctx, Name(entry.name.text, "memory", entry.name.span, buffer or UNKNOWN))
        if buffer is None:
            continue
        made[entry.name.text] = buffer
        if entry.space == "workgroup":
            total += buffer.element.size * prod(e.static or 0 for e in buffer.extents)
            limit = ctx.shared.target.workgroup_memory
            if total > limit:
                message = f"workgroup memory up to here takes {total} bytes; the target has {limit}."
                ctx.report("SG-MEM", message, at=entry.span, hint="Make it smaller, or use a narrower type.")
    return made


def _memory(ctx: Context, entry: Memory) -> Buffer | None:
    element = type_of(ctx, entry.type)
    extents = []
    for axis in entry.shape:
        number = integer(ctx, axis.extent, "the shape of memory is static")
        if number is not None and number < 1:
            ctx.report(
                "SG-TYPE", f"an extent of memory is at least 1; `{axis.extent.text}` is {number}.", at=axis.extent.span
            )
            number = None
        extents.append(None if number is None else Extent(Linear(number), number, str(number)))
    for key in ("pad", "swizzle"):
        expr = getattr(entry.schedule, key)
        if expr is not None:
            ctx.report("SG-UNSUPPORTED", f"`{key}` of memory is not supported yet.", at=expr.span)
    axes = tuple(a.name.text for a in entry.shape)
    fast = _contiguous(ctx, entry.schedule.contiguous, axes)
    if ctx.serial:
        fast = len(axes) - 1
    known = [e for e in extents if e is not None]
    if element is None or len(known) != len(axes) or not axes:
        return None
    order = (*(i for i in range(len(axes)) if i != fast), fast)
    ir = memref(tuple(known[i].static for i in order), element, f", {_SPACES[entry.space]} : i32")
    with ctx.builder.at_entry(), ctx.at_place(entry.span):
        name = ".".join((*ctx.path, entry.name.text))
        (ssa,) = ctx.emit("memref.alloc", (), (ir,), hints=(entry.name.text,), extra=(("motif.name", name),))
    return Buffer(
        entry.name.text, ssa.name, element, axes, tuple(known), order, ir, entry.space, "readwrite", None, element.size
    )


def check_memory_read(ctx: Context, made: Mapping[str, Buffer]) -> None:
    """SG-MEM for memory that is never read."""
    for entry in ctx.spec.memory:
        buffer = made.get(entry.name.text)
        if buffer is not None and "load" not in buffer.touched:
            message = f"`{entry.name.text}` is never read."
            ctx.report("SG-MEM", message, at=entry.name.span, hint="Remove it and the stores to it.")


# --- launch --------------------------------------------------------------------------------------------------------


def launch(ctx: Context) -> tuple[tuple[int, int, int], tuple[str, str, str]] | None:
    """Declare the launch ids; sizes and count formulas, x first."""
    found = ctx.spec.launch
    if found is None:
        ctx.report(
            "SG-LAUNCH",
            "a kernel says its `launch`.",
            at=ctx.spec.name.span,
            hint="Add `launch: {workgroup_size: {lane: 32}}`.",
        )
        return None
    if found.band is not None:
        ctx.report("SG-UNSUPPORTED", "the schedule key `band` is not supported yet.", at=found.band.span)
    sizes = [_size(ctx, axis) for axis in found.workgroup_size]
    known = [s for s in sizes if s is not None]
    if len(known) != len(sizes):
        for axis in (*found.workgroup_size, *found.workgroups):
            declare(ctx, Name(axis.name.text, "id", axis.name.span, UNKNOWN))
        return None
    ctx.sizes = tuple((a.name.text, n) for a, n in zip(found.workgroup_size, known, strict=True))
    _check_size(ctx, known, found.span)
    for dim, (axis, size) in enumerate(zip(found.workgroup_size, known, strict=True)):
        _declare_id(ctx, axis, "gpu.thread_id", dim, size - 1, None, _item_level(ctx, dim, known))
    ctx.linear_ids = _linear_ids(ctx, known)
    formulas = [_count(ctx, axis, dim) for dim, axis in enumerate(found.workgroups)]
    if any(f is None for f in formulas):
        return None
    x, y, z = (*known, 1, 1, 1)[:3]
    a, b, c = (*(f or "1" for f in formulas), "1", "1", "1")[:3]
    return (x, y, z), (a, b, c)


def _size(ctx: Context, axis: Axis) -> int | None:
    held, ctx.static_code = ctx.static_code, "SG-LAUNCH"
    number = integer(ctx, axis.extent, "a workgroup size is static")
    ctx.static_code = held
    if number is None:
        return None
    if number < 1:
        ctx.report("SG-LAUNCH", f"the size of `{axis.name.text}` is at least 1, not {number}.", at=axis.extent.span)
        return None
    return number


def _check_size(ctx: Context, sizes: list[int], span: Span) -> None:
    total, limit = prod(sizes), ctx.shared.target.max_workgroup_size
    if total > limit:
        name = ctx.shared.target.name
        ctx.report("SG-LAUNCH", f"a workgroup of {total} work-items is over the limit of `{name}` ({limit}).", at=span)


def _item_level(ctx: Context, dim: int, sizes: list[int]) -> Level:
    """The first size moves fastest: when whole subgroups fill it, the others are the same in a subgroup."""
    if sizes[dim] == 1:
        return UNIFORM
    size = ctx.shared.target.subgroup_size
    inner = prod(sizes[:dim])
    return SUBGROUP if dim > 0 and size is not None and inner % size == 0 else VARYING


def _linear_ids(ctx: Context, sizes: list[int]) -> tuple[Linear, ...]:
    """The number of a work-item, and its first id where rows are made of whole subgroups."""
    forms, stride = Linear(0), 1
    found: list[Linear] = []
    for (name, _), size in zip(ctx.sizes, sizes, strict=True):
        entry = ctx.scope.find(name)
        ctx.scope.used.discard(name)
        if entry is None or not isinstance(entry.value, Value) or entry.value.lin is None:
            return ()
        forms, stride = forms + entry.value.lin.scaled(stride), stride * size
        found.append(forms)
    subgroup = ctx.shared.target.subgroup_size
    rows = [f for f in found[:1] if subgroup is not None and sizes[0] % subgroup == 0]
    return (*rows, *found[-1:])


def _declare_id(
    ctx: Context, axis: Axis, op: str, dim: int, top: int, count: Linear | None, level: Level, *, declared: bool = True
) -> None:
    top = max(top, 0)
    lin = ctx.facts.atom(0, top, declared=declared)
    if count is not None:
        ctx.facts.always(count.plus(-1) - lin)
    with ctx.builder.at_entry(), ctx.at_place(axis.name.span):
        attributes = (("dimension", "xyz"[dim]),)
        extra = (("motif.range", (0, top)),)
        value = ctx.op(op, INDEX, hint=axis.name.text, attributes=attributes, extra=extra, level=level, lin=lin)
    declare(ctx, Name(axis.name.text, "id", axis.name.span, value))


def _count(ctx: Context, axis: Axis, dim: int) -> str | None:
    """The formula of a workgroup count; its operations are thrown away, its bounds become facts of the id."""
    ctx.builder.open()
    found = expression(ctx, axis.extent)
    ctx.builder.close()
    made = convert.typed(ctx, axis.extent.tree, found) if isinstance(found, Value) else found
    if isinstance(made, Unknown) or made.lin is None:
        if isinstance(made, Value):
            ctx.report(
                "SG-LAUNCH",
                f"a workgroup count is an integer; `{axis.extent.text}` is `{made.type}`.",
                at=axis.extent.span,
            )
        declare(ctx, Name(axis.name.text, "id", axis.name.span, UNKNOWN))
        return None
    limit = ctx.shared.target.max_workgroups[dim]
    lo, hi = ctx.facts.interval(made.lin)
    if hi < 1 and made.is_static:
        ctx.report("SG-LAUNCH", f"the count of `{axis.name.text}` is at least 1, not {hi}.", at=axis.extent.span)
    elif lo > limit:
        ctx.report(
            "SG-LAUNCH", f"{lo} workgroups along `{axis.name.text}` are over the limit {limit}.", at=axis.extent.span
        )
    declared = ctx.facts.declared(made.lin) or made.is_static
    _declare_id(ctx, axis, "gpu.block_id", dim, min(hi, limit) - 1, made.lin, UNIFORM, declared=declared)
    return substitute(axis.extent, static_environment(ctx))
