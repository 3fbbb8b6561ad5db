"""Trip counts and touched rows as functions of one scalar argument, read off the serial entry point's IR."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from specgen.ir import locations

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

Numbers = Mapping[str, int]
"""Scalar arguments by name."""

_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "motif.floorremsi": operator.mod,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.shli": lambda a, b: a << min(max(b, 0), 64),
    "arith.shrui": lambda a, b: a >> min(max(b, 0), 64),
    "arith.shrsi": lambda a, b: a >> min(max(b, 0), 64),
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
}
_COMPARE = (operator.eq, operator.ne, *2 * (operator.lt, operator.le, operator.gt, operator.ge))
"""By the number of an `arith.cmpi` predicate; unsigned ones on index values, which bounds keep from being negative."""
_THROUGH = ("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci")
_TOUCHES = ("memref.load", "memref.store", "memref.atomic_rmw")
_VECTOR_TOUCHES = ("vector.load", "vector.store", "vector.maskedload", "vector.maskedstore")
_HARMLESS = ("motif.extents",)


class _Unknown(Exception):
    """A value that scalar arguments alone do not determine."""


@dataclass(frozen=True)
class Loop:
    """A loop with a pipeline or unroll policy whose trip count follows one scalar argument."""

    label: str
    location: str
    scalar: str
    op: Any

    def trips(self, numbers: Numbers) -> int | None:
        """Iterations for these scalars; None when they do not determine it."""
        span = _span(self.op, numbers)
        return None if span is None else max(0, -((span.start - span.stop) // span.step))


def scheduled_loops(function: FuncOp, places: Sequence[str]) -> tuple[list[Loop], list[tuple[str, str]]]:
    """The loops at `places` (`file:line:column`) that follow one scalar, and label and place of the others."""
    found: dict[str, Loop] = {}
    others: dict[str, str] = {}
    for op in _loops(function):
        place = locations.text(op)
        if place not in places:
            continue
        label = getattr(op.attributes.get("motif.loop"), "data", "")
        scalars = _leaves(op.operands[:3], function)
        if scalars is not None and len(scalars) == 1:
            found[place] = Loop(label, place, next(iter(scalars)), op)
        else:
            others[place] = label
    return list(found.values()), [(label, place) for place, label in others.items() if place not in found]


def touched_rows(function: FuncOp, buffer: str, numbers: Numbers) -> int | None:
    """Rows (of the slowest axis in memory) from 0 up to the last that an access of `buffer` may touch.

    None when subscripts depend on more than loop counters and scalars. Guards are not looked at, so the number may be
    too large, never too small.
    """
    argument = next((v for n, v in _arguments(function).items() if n == buffer), None)
    if argument is None:
        return None
    rows = 0
    for use in argument.uses:
        op = use.operation
        if op.name in _HARMLESS:
            continue
        row = _last_row(op, argument, numbers)
        if row is None:
            return None
        rows = max(rows, row + 1)
    return rows


def _last_row(op: Operation, argument: SSAValue, numbers: Numbers) -> int | None:
    """The largest first subscript of an access; -1 when its loop does not run."""
    if op.name not in (*_TOUCHES, *_VECTOR_TOUCHES):
        return None
    at = list(op.operands).index(argument) + 1
    rank = len(argument.type.get_shape())  # type: ignore[attr-defined]
    if op.name in _VECTOR_TOUCHES and rank == 1:
        return None
    index = op.operands[at]
    span = _counter_span(index, numbers)
    if span is not None:
        return span[-1] if len(span) else -1
    try:
        return _value(index, numbers)
    except _Unknown:
        return None


def _counter_span(value: SSAValue, numbers: Numbers) -> range | None:
    from xdsl.ir import BlockArgument

    if not isinstance(value, BlockArgument) or value.index != 0:
        return None
    parent = value.block.parent_op()
    return _span(parent, numbers) if parent is not None and parent.name == "scf.for" else None


def _span(loop: Operation, numbers: Numbers) -> range | None:
    try:
        start, stop, step = (_value(v, numbers) for v in loop.operands[:3])
    except _Unknown:
        return None
    return range(start, stop, step) if step > 0 else None


def _loops(function: FuncOp) -> Iterator[Operation]:
    for op in function.walk():
        if op.name == "scf.for":
            yield op


def _arguments(function: FuncOp) -> dict[str, SSAValue]:
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    names = [getattr(given.data.get("motif.name"), "data", "") for given in attributes]
    return dict(zip(names, function.body.block.args, strict=False))


def _name_of(value: SSAValue) -> str | None:
    """The name of a scalar argument of the function; None for any other value."""
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import BlockArgument

    if not isinstance(value, BlockArgument):
        return None
    function = value.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    return getattr(function.arg_attrs.data[value.index].data.get("motif.name"), "data", None)


def _value(value: SSAValue, numbers: Numbers) -> int:
    name = _name_of(value)
    if name is not None:
        if not isinstance(numbers.get(name), int):
            raise _Unknown
        return numbers[name]
    op: Any = value.owner
    if not hasattr(op, "operands"):
        raise _Unknown
    if op.name == "arith.constant":
        return _constant(op)
    if op.name in _THROUGH:
        return _value(op.operands[0], numbers)
    if op.name == "arith.select":
        return _value(op.operands[1 if _value(op.operands[0], numbers) else 2], numbers)
    if op.name not in _BINARY and op.name != "arith.cmpi":
        raise _Unknown
    a, b = (_value(v, numbers) for v in op.operands)
    if op.name == "arith.cmpi":
        return int(_COMPARE[op.predicate.value.data](a, b))
    try:
        return _BINARY[op.name](a, b)
    except ZeroDivisionError:
        raise _Unknown from None


def _constant(op: Any) -> int:
    data = getattr(getattr(op.value, "value", None), "data", None)
    if not isinstance(data, int):
        raise _Unknown
    return data


def _leaves(roots: Sequence[SSAValue], function: FuncOp) -> set[str] | None:
    """The scalar arguments that values are computed from; None when something else takes part."""
    names: set[str] = set()
    stack, seen = list(roots), set()
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        name = _name_of(value)
        if name is not None:
            names.add(name)
            continue
        op: Any = value.owner
        known = getattr(op, "name", "") in (*_BINARY, *_THROUGH, "arith.constant", "arith.select", "arith.cmpi")
        if not known:
            return None
        stack.extend(op.operands)
    return names
