"""What a line of MLIR text is like: operations that differ only in names of values and in places are read once.

A kernel says the same few operations with the same types again and again. The first line of a kind is parsed by xDSL
and remembered without its names; where another line of that kind has operands of the same types, its operation is
made from what is remembered. Whatever does not fit is xDSL's to read, and its errors are xDSL's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from specgen.ir import locations
from specgen.remembered import keep

_LINE = re.compile(
    r"(?P<results>(?:%[a-zA-Z0-9_$.-]+(?:, %[a-zA-Z0-9_$.-]+)* = )?)"
    r'(?P<text>"?[a-z_]+\.[^\n]*?) loc\("(?P<file>[^"\\\n]*)":(?P<line>[0-9]+):(?P<column>[0-9]+)\) *\n',
    re.ASCII,
)
_NAME = re.compile(r"%([a-zA-Z0-9_$.-]+)", re.ASCII)

_MOST = 4096
"""How many kinds are remembered; a full memory starts afresh."""

Key = tuple[int, str]


@dataclass(frozen=True)
class Line:
    """A line with one operation: its key (the number of results and the text without names), names, place and end.

    The place is file, line and column as they are written.
    """

    key: Key
    results: tuple[str, ...]
    operands: tuple[str, ...]
    place: tuple[str, str, str]
    end: int


@dataclass(frozen=True)
class Kind:
    """What operations of a kind have in common."""

    operation: type[Operation]
    operands: tuple[Attribute, ...]
    results: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]

    def make(self, operands: list[SSAValue], location: LocationAttr) -> Operation | None:
        """An operation of this kind; None if its operands are of other types."""
        if len(operands) != len(self.operands):
            return None
        for value, wanted in zip(operands, self.operands, strict=True):
            if value.type is not wanted and value.type != wanted:
                return None
        return self.operation.create(
            operands=operands,
            result_types=self.results,
            properties=self.properties,
            attributes=self.attributes,
            location=location,
        )


_kinds: dict[Key, Kind | None] = {}
"""None: lines that look like this are not alike in all but names."""


def at(text: str, start: int) -> Line | None:
    """The line that begins at `start`, if it has the form of one operation with its place."""
    match = _LINE.match(text, start)
    if match is None or "loc(" in match["text"] or "//" in match["text"]:
        return None  # no place, or one of another operation, or of a comment
    body = match["text"]
    results = tuple(_NAME.findall(match["results"]))
    place = match["file"], match["line"], match["column"]
    return Line((len(results), _NAME.sub("%", body)), results, tuple(_NAME.findall(body)), place, match.end())


def kind(line: Line) -> Kind | None:
    """What is remembered of lines like this one."""
    return _kinds.get(line.key)


def remember(line: Line, op: Operation, operands: Mapping[str, tuple[SSAValue, ...]]) -> None:
    """Remember a line by what xDSL made of it; `operands` are the values by name.

    Only where the names in the text are the operands in order, each another one, so that a second line of this kind
    can mean nothing else.
    """
    if line.key in _kinds:
        return
    values = [operands[name][0] for name in line.operands if name in operands]
    in_order = len(values) == len(line.operands) and list(op.operands) == values
    if in_order and len(set(line.operands)) < len(line.operands):
        return  # the same value twice: another line will tell the order
    plain = not op.regions and not op.successors and len(op.results) == len(line.results)
    place = locations.of(op)
    told = place is not None and line.place == tuple(map(str, place))
    made = None
    if in_order and plain and told:
        types = tuple(v.type for v in values), tuple(r.type for r in op.results)
        made = Kind(type(op), *types, dict(op.properties), dict(op.attributes))
    keep(_kinds, line.key, made, _MOST)
