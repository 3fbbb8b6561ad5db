"""Locations of ops: where in the spec an op came from."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation


def of(op: Operation) -> tuple[str, int, int] | None:
    """`(file, line, column)` of the op, 1-based; None when it has none."""
    location = op.location
    if isinstance(location, FileLineColLoc):
        return location.filename.data, location.line.data, location.column.data
    return None


def text(op: Operation) -> str:
    """`file:line:column`, or "" when the op has no location."""
    place = of(op)
    return "" if place is None else f"{place[0]}:{place[1]}:{place[2]}"


def make(file: str, line: int, column: int) -> FileLineColLoc:
    """A location attribute."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
