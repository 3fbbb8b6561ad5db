"""The declaring sections of a document as model records: params, args, memory, launch and so on."""

from __future__ import annotations

from specgen import targets
from specgen.expressions import Expr
from specgen.loading.context import Context, child, entries, items, word
from specgen.loading.statements import block
from specgen.model import (
    Arg,
    Axis,
    BufferArg,
    Define,
    Implementation,
    Knob,
    Launch,
    Memory,
    MemorySchedule,
    Name,
    Result,
    ScalarArg,
    TileArg,
    Variant,
    VectorArg,
    View,
)
from specgen.schema.messages import nearest
from specgen.schema.tree import Entry, Mapping, Node, Scalar


def knobs(context: Context, node: Node | None) -> tuple[Knob, ...]:
    """`params` or `policies`."""
    return tuple(_knob(context, entry) for entry in entries(node))


def _knob(context: Context, entry: Entry) -> Knob:
    value = entry.value
    choices = child(value, "choices")
    return Knob(
        context.name(entry.key),
        context.optional(child(value, "default")),
        None if choices is None else context.exprs(choices),
        context.range(child(value, "range")),
        value.span,
    )


def defines(context: Context, node: Node | None) -> tuple[Define, ...]:
    """`define`."""
    return tuple(Define(context.name(entry.key), context.expr(entry.value)) for entry in entries(node))


def arguments(context: Context, node: Node | None) -> tuple[Arg, ...]:
    """`args`; an argument whose kind cannot be told is left out (the schema has reported it)."""
    made = (_argument(context, entry) for entry in entries(node))
    return tuple(argument for argument in made if argument is not None)


def _argument(context: Context, entry: Entry) -> Arg | None:
    value = entry.value
    if not isinstance(value, Mapping):
        return None
    name = context.name(entry.key)
    element = value.get("buffer")
    if element is not None:
        return _buffer(context, name, element, value)
    if (element := value.get("vector")) is not None:
        return VectorArg(name, context.expr(element), context.expr(value.get("size")), value.span)
    if (element := value.get("tile")) is not None:
        return TileArg(name, context.expr(element), context.axes(value.get("shape")), value.span)
    if (element := value.get("type")) is not None:
        multiple = context.optional(value.get("multiple_of"))
        return ScalarArg(name, context.expr(element), context.range(value.get("range")), multiple, value.span)
    return None


def _buffer(context: Context, name: Name, element: Node, value: Mapping) -> BufferArg:
    access = value.get("access")
    return BufferArg(
        name,
        context.expr(element),
        context.axes(value.get("shape")),
        word(access, "read"),
        access.span if access is not None else name.span,
        context.optional(value.get("align")),
        context.optional(value.get("contiguous")),
        context.axes(value.get("strides")),
        context.range(value.get("range")),
        context.optional(value.get("noalias")),
        value.span,
    )


def views(context: Context, node: Node | None) -> tuple[View, ...]:
    """`views`."""
    return tuple(
        View(
            context.name(entry.key),
            context.name(child(entry.value, "of")),
            context.expr(child(entry.value, "type")),
            context.optional(child(entry.value, "offset")),
            context.axes(child(entry.value, "shape")),
            context.axes(child(entry.value, "strides")),
            entry.value.span,
        )
        for entry in entries(node)
    )


def memories(context: Context, node: Node | None) -> tuple[Memory, ...]:
    """`memory`."""
    return tuple(_memory(context, entry) for entry in entries(node))


def _memory(context: Context, entry: Entry) -> Memory:
    value = entry.value
    schedule = child(value, "schedule")
    return Memory(
        context.name(entry.key),
        word(child(value, "space")),
        context.expr(child(value, "type")),
        context.axes(child(value, "shape")),
        MemorySchedule(*(context.optional(child(schedule, key)) for key in ("contiguous", "pad", "swizzle"))),
        value.span,
    )


def variants(context: Context, node: Node | None) -> tuple[Variant, ...]:
    """`variants`. That `serial` is taken is said by the check of variants, not by the one of names."""
    result = []
    for entry in entries(node):
        reserved = entry.key.text in TAKEN_VARIANTS
        name = Name(entry.key.text, entry.key.span) if reserved else context.name(entry.key)
        values = tuple((Name(e.key.text, e.key.span), context.expr(e.value)) for e in entries(entry.value))
        result.append(Variant(name, values))
    return tuple(result)


TAKEN_VARIANTS = ("serial", "default")
"""Entries that every kernel has; no variant may be called so."""


def launch(context: Context, node: Node | None) -> Launch | None:
    """`launch`."""
    if not isinstance(node, Mapping):
        return None
    return Launch(
        context.axes(node.get("workgroups")),
        context.axes(node.get("workgroup_size")),
        context.optional(child(node.get("schedule"), "band")),
        node.span,
    )


def results(context: Context, node: Node | None) -> tuple[Result, ...]:
    """`results`."""
    return tuple(_result(context, entry) for entry in entries(node))


def _result(context: Context, entry: Entry) -> Result:
    value = entry.value
    kind = next((key for key in ("vector", "tile") if child(value, key) is not None), "type")
    size: Expr | None = context.optional(child(value, "size"))
    shape: tuple[Axis, ...] = context.axes(child(value, "shape"))
    return Result(
        context.name(entry.key),
        "scalar" if kind == "type" else kind,
        context.expr(child(value, kind)),
        size,
        shape,
        value.span,
    )


def implementations(context: Context, node: Node | None) -> tuple[Implementation, ...]:
    """`implementations`."""
    return tuple(
        Implementation(
            _target(context, item.get("target")),
            _integer(item.get("priority")),
            context.exprs(item.get("requires")),
            block(context, item.get("body")),
            item.span,
        )
        for item in items(node)
    )


def _target(context: Context, node: Node | None) -> Name | None:
    """The target or family that an implementation is for."""
    if not isinstance(node, Scalar) or not node.text:
        return None
    known = (*targets.names(), *targets.FAMILIES)
    if node.text not in known:
        near = nearest(node.text, known)
        hint = f"Nearest: `{near}`." if near else "`specgen targets` lists them."
        context.report("SG-SELECT", node.span, f"no target or family is called `{node.text}`.", hint, node.text)
        return None
    return Name(node.text, node.span)


def _integer(node: Node | None) -> int:
    return node.value if isinstance(node, Scalar) and isinstance(node.value, int) else 0
