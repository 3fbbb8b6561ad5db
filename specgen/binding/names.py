"""Looking names up: variables, words, types, target facts; the nearest spelling when there is none."""

from __future__ import annotations

import ast
import math

from specgen.binding.context import UNKNOWN, Context
from specgen.binding.types import SCALARS
from specgen.binding.values import Buffer, Name, Results, Unknown, Value, Word, static_value
from specgen.expressions import nodes

Found = Value | Buffer | Word | Results | Unknown

TARGET_FACTS = (
    "subgroup_size",
    "workgroup_memory",
    "max_registers",
    "matrix",
    "transpose_read",
    "split_barrier",
    "async_copy",
)
"""What `target.` offers (language definition, section 4)."""
FUNCTIONS = (
    "min max clamp abs floor ceil trunc round fma exp exp2 log log2 sqrt rsqrt sin cos tanh erf ceil_div round_up "
    "popcount clz ctz dot sum any all full concat iota unpack pack bits size tile mma rename range"
).split()
_WORDS: dict[str, bool | float] = {"true": True, "false": False, "inf": math.inf, "nan": math.nan}
_TRUTHS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
"""What other languages call the truth values."""
_RESERVED = frozenset((*_WORDS, "target", "subgroup", "workgroup", "flat", "kept", "serial"))
_SPOKEN = {
    "param": "param",
    "policy": "policy",
    "define": "define",
    "arg": "argument",
    "memory": "memory",
    "view": "view",
    "id": "launch id",
    "let": "let",
    "var": "var",
    "counter": "loop counter",
    "instance": "instance",
}


def spoken(name: Name) -> str:
    """`kind, line n` of an entry, for messages."""
    return f"{_SPOKEN[name.kind]}, line {name.span.line}"


def lookup(ctx: Context, node: ast.Name, *, quiet: bool = False) -> Found:
    """What the name stands for; an unknown one is SG-NAME with the nearest (silent when `quiet`)."""
    text = node.id
    if text in _WORDS:
        return static_value(_WORDS[text])
    if text in ctx.words:
        return Word(text, ctx.words, SCALARS.get(text))
    name = ctx.scope.find(text)
    if name is None:
        if text in SCALARS:
            return Word(text, type=SCALARS[text])
        return UNKNOWN if quiet else unknown_name(ctx, node, "no name")
    if name.kind in ("param", "policy", "define"):
        ctx.shared.used.add((id(ctx.spec), text))
        if name.kind == "policy" and not ctx.in_schedule and not ctx.path:
            ctx.shared.used_elsewhere.add(text)
    return _allowed(ctx, node, name)


def _allowed(ctx: Context, node: ast.Name, name: Name) -> Found:
    value = name.value
    if ctx.forbid_policies and name.kind == "policy":
        message = f"`{node.id}` is a policy; an argument's shape is part of the interface."
        return ctx.report("SG-STATIC", message, at=node, hint="Use a param, or memory.")
    runtime = isinstance(value, Buffer) or (isinstance(value, Value) and not value.is_static)
    if ctx.only_static is not None and runtime:
        message = f"`{node.id}` ({spoken(name)}) is known only when the kernel runs; {ctx.only_static}."
        return ctx.report(ctx.static_code, message, at=node)
    return value


def unknown_name(ctx: Context, node: ast.Name, what: str) -> Unknown:
    """SG-NAME with the nearest visible name and its line."""
    near = ctx.scope.nearest(node.id)
    if _is_lost(ctx, node.id, near):
        return UNKNOWN
    if ctx.only_static is not None and (later := _declared_later(ctx, node.id)) is not None:
        return ctx.report(ctx.static_code, f"`{node.id}` {later}; {ctx.only_static}.", at=node)
    if node.id in FUNCTIONS:
        return ctx.report("SG-NAME", f"`{node.id}` is a function and is called: `{node.id}(...)`.", at=node)
    hint = None if near is None else f"Nearest: `{near.text}` ({spoken(near)})."
    if near is None and node.id.lower() in _TRUTHS:
        hint = f"Write `{_TRUTHS[node.id.lower()]}`."
    return ctx.report("SG-NAME", f"{what} `{node.id}` here.", at=node, hint=hint)


def _declared_later(ctx: Context, text: str) -> str | None:
    """Why a name of the spec has no value yet where static ones are computed; None for other names."""
    spec = ctx.spec
    ids = () if spec.launch is None else (*spec.launch.workgroups, *spec.launch.workgroup_size)
    for what, entries in (
        ("a runtime value (argument", spec.args),
        ("a runtime value (memory", spec.memory),
        ("a runtime value (view", spec.views),
        ("a runtime value (launch id", ids),
        ("declared later (param", spec.params),
        ("declared later (policy", spec.policies),
        ("declared later (define", spec.defines),
    ):
        for entry in entries:
            if entry.name.text == text:
                return f"is {what}, line {entry.name.span.line})"
    return None


def _is_lost(ctx: Context, text: str, near: Name | None) -> bool:
    """Whether a part of the spec that could not be read may declare the name."""
    lost = ctx.spec.lost
    return lost is not None and (text in lost or (ctx.nameless and near is None))


def target_fact(ctx: Context, node: ast.Attribute) -> Found:
    """`target.x`; a fact that the target leaves open is SG-STATIC with the target names that fix it."""
    if node.attr not in TARGET_FACTS:
        import difflib

        near = difflib.get_close_matches(node.attr, TARGET_FACTS, n=1)
        hint = f"Nearest: `target.{near[0]}`." if near else None
        return ctx.report("SG-NAME", f"a target has no fact `{node.attr}`.", at=node, hint=hint, allowed=TARGET_FACTS)
    fact = ctx.shared.fact(node.attr)
    if fact is None:
        name = ctx.shared.target.name
        hint = "Name a target that fixes it: " + ", ".join(f"`{name}-sg{n}`" for n in (8, 16, 32, 64)) + "."
        ctx.shared.refused = True
        return ctx.report("SG-STATIC", f"`{name}` leaves `target.{node.attr}` open.", at=node, hint=hint)
    return static_value(fact)


def names_only(ctx: Context, node: ast.AST) -> None:
    """Check the names of an expression that is not chosen; nothing else is said about it."""
    parts = nodes(node)
    called = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    for part in parts:
        if not isinstance(part, ast.Name) or id(part) in called or part.id in ("target", "subgroup", "workgroup"):
            continue
        held = ctx.only_static
        ctx.only_static = None
        if part.id not in ctx.all_words:
            lookup(ctx, part)
        ctx.only_static = held


def redeclared(ctx: Context, name: Name, before: Name) -> None:
    """SG-NAME: nothing is shadowed."""
    message = f"`{name.text}` is taken ({spoken(before)}); nothing is shadowed."
    ctx.report("SG-NAME", message, at=name.span, hint="Choose another name.")


def declare(ctx: Context, name: Name) -> None:
    """Add a name to the innermost block, or say what it would shadow; one that could not be read is left out."""
    if not name.text:
        ctx.nameless = True
        return
    before = ctx.scope.declare(name)
    if before is not None:
        redeclared(ctx, name, before)
    elif name.text in _RESERVED:
        ctx.report("SG-NAME", f"`{name.text}` has a meaning of its own and cannot be a name.", at=name.span)
