"""Arguments: the ABI of a kernel, and what their promises say."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from specgen.binding import convert
from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import expression, integer, static
from specgen.binding.formula import substitute
from specgen.binding.instance import BufferParam, Operand, Param, ScalarParam
from specgen.binding.knobs import static_environment, type_of
from specgen.binding.linear import Linear
from specgen.binding.names import declare
from specgen.binding.types import INDEX, SCALARS, Scalar, Vector
from specgen.binding.values import (
    UNIFORM,
    VARYING,
    Buffer,
    Extent,
    Name,
    Unknown,
    Value,
    Word,
)
from specgen.diagnostics import Span
from specgen.expressions import Expr
from specgen.model import Axis, BufferArg, Range, ScalarArg, VectorArg


def arguments(ctx: Context) -> tuple[Param, ...]:
    """Declare the arguments of a kernel (or of a motif that is checked alone) and give its ABI."""
    made: dict[str, Param] = {}
    # Before any extent or range is computed: what is made on the way must not take an argument's name.
    ctx.builder.reserve(arg.name.text for arg in ctx.spec.args)
    for arg in ctx.spec.args:
        if isinstance(arg, ScalarArg):
            made |= _scalar(ctx, arg)
        elif isinstance(arg, VectorArg):
            _vector(ctx, arg)
        elif not isinstance(arg, BufferArg):
            ctx.report("SG-UNSUPPORTED", "not supported yet: tile arguments.", at=arg.span)
            declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
    for arg in ctx.spec.args:
        if isinstance(arg, BufferArg):
            made |= _buffer(ctx, arg)
    return tuple(made[a.name.text] for a in ctx.spec.args if a.name.text in made)


PUSH_CONSTANT_BYTES = 128
"""What every Vulkan device takes (Vulkan 1.3, "Required Limits": the least `maxPushConstantsSize`)."""
_ADDRESS_BYTES = 8
_MOST_BYTES = 1 << 63
"""A buffer is smaller: offsets are signed 64-bit numbers."""


def check_passed(ctx: Context, args: tuple[Param, ...]) -> None:
    """SG-LAUNCH, as a refusal of the target, at the argument that a Vulkan device need not take any more.

    Arguments have natural alignment and the order of their declaration (docs/design-notes.md, ABI).
    """
    end = 0
    for arg in args:
        size = SCALARS[arg.type].size if isinstance(arg, ScalarParam) else _ADDRESS_BYTES
        end = -(-end // size) * size + size
        if end <= PUSH_CONSTANT_BYTES:
            continue
        if ctx.shared.fact("kind") == "spirv":
            ctx.shared.refused = True
            name = ctx.shared.target.name
            message = f"the arguments up to here take {end} bytes; `{name}` is sure to pass {PUSH_CONSTANT_BYTES}."
            ctx.report("SG-LAUNCH", message, at=arg.span, hint="Take fewer arguments, or read parts of one buffer.")
        return


def _vector(ctx: Context, arg: VectorArg) -> None:
    element, size = type_of(ctx, arg.element), integer(ctx, arg.size, "the size of a vector is static")
    value: Value | Unknown = UNKNOWN
    if element is not None and size is not None:
        value = Value(Vector(element, size), arg.name.text, level=VARYING)
    declare(ctx, Name(arg.name.text, "arg", arg.name.span, value))


def _scalar(ctx: Context, arg: ScalarArg) -> dict[str, Param]:
    type_ = type_of(ctx, arg.type)
    if type_ is None:
        declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
        return {}
    name = arg.name.text
    ends = _range(ctx, arg.range, type_) if arg.range is not None else None
    multiple = integer(ctx, arg.multiple_of, "`multiple_of` is static") if arg.multiple_of is not None else None
    if arg.multiple_of is not None and multiple is not None and not _divides(ctx, arg.multiple_of, multiple, type_):
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


def _divides(ctx: Context, expr: Expr, multiple: int, type_: Scalar) -> bool:
    """Whether `multiple_of` has a meaning: a positive number of an integer argument."""
    if not type_.is_integer:
        ctx.report("SG-TYPE", f"only integers have a `multiple_of`; this is a `{type_}`.", at=expr.span)
    elif multiple < 1:
        ctx.report("SG-RANGE", f"`multiple_of` is at least 1, not {multiple}.", at=expr.span, found=expr.text)
    return type_.is_integer and multiple >= 1


class Ends:
    """Both ends of a declared range: forms for integers, and the widest numbers that they can be."""

    def __init__(self, lo_hi: tuple[int | float, int | float], forms: tuple[Linear, Linear] | None) -> None:
        self.lo_hi, self.forms = lo_hi, forms

    @property
    def constant(self) -> bool:
        return self.forms is None or not (self.forms[0].terms or self.forms[1].terms)


def _range(ctx: Context, given: Range, type_: Scalar) -> Ends | None:
    """The ends of `range: [lo, hi]`; they may depend on arguments before it."""
    low, high = given.lo, given.hi
    ctx.builder.open()
    found = [expression(ctx, e) for e in (low, high)]
    ctx.builder.close()
    values = []
    for expr, value in zip((low, high), found, strict=True):
        if isinstance(value, Unknown):
            return None
        with ctx.within(expr):
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
        ctx.report("SG-RANGE", f"the range [{low.text}, {high.text}] is empty.", at=given.span)
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
    extents = [extent(ctx, axis) for axis in arg.shape]
    if arg.strides:
        ctx.report("SG-UNSUPPORTED", "not supported yet: `strides` of an argument.", at=arg.span)
    align = _align(ctx, arg, element)
    noalias = _flag(ctx, arg.noalias)
    ends = None
    if arg.range is not None and element is not None:
        ends = _range(ctx, arg.range, element)
    axes = tuple(a.name.text for a in arg.shape)
    fast = fastest(ctx, arg.contiguous, axes)
    known = [e for e in extents if e is not None]
    if element is None or len(known) != len(extents) or not extents:
        declare(ctx, Name(arg.name.text, "arg", arg.name.span, UNKNOWN))
        return {}
    order = (*(i for i in range(len(axes)) if i != fast), fast)
    shape = tuple(known[i].static for i in order)
    bytes_ = prod(n for n in shape if n is not None) * element.size
    if bytes_ >= _MOST_BYTES and 0 not in shape:
        message = f"`{arg.name.text}` has at least {bytes_} bytes; offsets have 63 bits."
        ctx.report("SG-SHAPE", message, at=arg.span, found=str(bytes_), hint="Make it smaller, or cut it in parts.")
    ir = memref(shape, element)
    declared, promises = _declared(element, ends)
    ssa = arg.name.text
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
    from specgen.binding.edges import extent_value

    with ctx.builder.at_entry(), ctx.at_place(span):
        sizes = tuple(ctx.operand(extent_value(ctx, buffer, a)) for a in buffer.order)
        ctx.emit("motif.extents", (Operand(buffer.ssa, buffer.ir), *sizes), ())


def extent(ctx: Context, axis: Axis, *, view: bool = False) -> Extent | None:
    """An extent over scalar arguments, params and defines; an argument's may name no policy, that of a `view` may."""
    held, ctx.forbid_policies = ctx.forbid_policies, not view
    with ctx.early():
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
            ctx.report("SG-SHAPE", f"an extent is not negative; `{axis.extent.text}` is {number}.", at=axis.extent.span)
            return None
        return Extent(Linear(number), number, str(number))
    with ctx.within(axis.extent), ctx.early():
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


def fastest(ctx: Context, expr: Expr | None, axes: tuple[str, ...]) -> int:
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
