"""Types, params, policies and defines: the static names of a spec."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping

from specgen.binding.context import UNKNOWN, Context
from specgen.binding.evaluate import static
from specgen.binding.instance import PolicyValue
from specgen.binding.names import declare
from specgen.binding.types import SCALARS, Scalar
from specgen.binding.values import (
    Name,
    Unknown,
    Value,
    Word,
    static_value,
)
from specgen.diagnostics import Span
from specgen.expressions import Expr, nodes
from specgen.model import Knob

FOREIGN_TYPES = {
    "bfloat16": "bf16", "half": "f16", "float16": "f16", "fp16": "f16", "float": "f32", "float32": "f32", "fp32": "f32",
    "double": "f64", "float64": "f64", "fp64": "f64", "char": "i8", "short": "i16", "int": "i32", "long": "i64",
    "byte": "u8", "uchar": "u8", "ushort": "u16", "uint": "u32", "unsigned": "u32", "ulong": "u64", "size_t": "index",
    "i1": "bool",
    **{f"int{bits}{end}": f"i{bits}" for bits in (8, 16, 32, 64) for end in ("", "_t")},
    **{f"uint{bits}{end}": f"u{bits}" for bits in (8, 16, 32, 64) for end in ("", "_t")},
}  # fmt: skip
"""What other languages call the scalar types."""

Static = Value | Word | Unknown
REFUSED = "SG-REQUIRES"
"""The code of a line of `requires` that does not hold."""


def type_of(ctx: Context, expr: Expr) -> Scalar | None:
    """The scalar type that an expression names; None after a diagnostic."""
    name = expr.tree.id if isinstance(expr.tree, ast.Name) else None
    if name is None or name in SCALARS or ctx.scope.peek(name) is not None or name in (ctx.spec.lost or ()):
        found = static(ctx, expr, "a type is static")
        if isinstance(found, Word) and found.type is not None:
            return found.type
        if isinstance(found, Unknown):
            return None
    near = FOREIGN_TYPES.get(expr.text.lower()) or next(iter(difflib.get_close_matches(expr.text, SCALARS, n=1)), None)
    hint = f"Write `{near}`." if near else "Write one of the types."
    message = f"a type is expected here, not `{expr.text}`."
    ctx.report("SG-TYPE", message, at=expr.span, found=expr.text, allowed=tuple(SCALARS), hint=hint)
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
    elif ctx.spec.lost is not None:
        return UNKNOWN
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
        if numbers and lo > hi:  # type: ignore[operator]
            return True  # told when the spec was loaded
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


def requirements(ctx: Context) -> bool:
    """Whether every line of `requires` holds; SG-REQUIRES for each that does not."""
    holds = True
    for expr in ctx.spec.requires:
        found = static(ctx, expr, "`requires` lists static conditions")
        if isinstance(found, Unknown):
            continue
        if not isinstance(found, Value) or not isinstance(found.static, bool):
            ctx.report("SG-TYPE", f"a condition is a bool, not `{expr.text}`.", at=expr.span)
        elif not found.static:
            name = ctx.shared.target.name
            ctx.report(REFUSED, f"`{name}` is refused: `{expr.text}` does not hold.", at=expr.span)
            holds = False
    return holds


def static_names(ctx: Context, tree: ast.AST) -> dict[str, PolicyValue] | None:
    """The values of the names and target facts of an expression; None when some is known only at run time.

    Nothing counts as used by this; names that stand for themselves (words, functions) are left out.
    """
    result: dict[str, PolicyValue] = {}
    for part in nodes(tree):
        if isinstance(part, ast.Name):
            entry = ctx.scope.peek(part.id)
            if entry is None:
                continue
            value = entry.value
            if entry.kind == "var":
                # Its first value may be static; what a loop makes of it is not.
                return None
            if not isinstance(value, Word) and not (
                isinstance(value, Value) and value.is_static and value.size is None
            ):
                return None
            result[part.id] = plain(value)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "target":
            known = getattr(ctx.shared.target, part.attr, None)
            if known is not None:
                result[f"target.{part.attr}"] = known
    return result


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
