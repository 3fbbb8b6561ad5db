"""MLIR text that can be parsed back, with locations.

xDSL puts the location of a custom-format `scf.while` before its regions, where its own parser refuses it, so that
op is printed in generic form; unknown locations of block arguments are left out.

Operations that differ only in names and places are printed by xDSL once: what stands between the names is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.scf import WhileOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.printer import Printer

from specgen.ir.kinds import kind_of
from specgen.remembered import keep

_MOST = 4096
"""How many kinds and places are remembered; a full memory starts afresh."""

Key = tuple[object, ...]


@dataclass(frozen=True)
class Kind:
    """What stands between the names of an operation's results and operands, in this order; None where names stand
    otherwise or over several lines. `alive` keeps alive what the key knows by identity.
    """

    pieces: tuple[str, ...] | None
    alive: tuple[Attribute, ...]


_kinds: dict[Key, Kind] = {}
_places: dict[int, tuple[Attribute, str]] = {}


class LocationPrinter(Printer):
    """xDSL's printer with the two repairs and the memory that the module docstring names."""

    _caught: list[tuple[int, SSAValue, int]] | None = None
    """While the text of an operation is caught: each name's start, value and end in it."""

    def print_op(self, op: Operation) -> None:
        """Print an operation, with its location where the printer prints those."""
        if op.regions or op.successors:
            self._print_whole(op)
            return
        form, seen = kind_of(op)
        key = (*form, *map(id, seen))
        kind = _kinds.get(key)
        if kind is None:
            kind = keep(_kinds, key, Kind(self._learnt(op), seen), _MOST)
        if kind.pieces is None:
            self._print_whole(op)
            return
        parts = list(kind.pieces)
        for number, value in enumerate((*op.results, *op.operands)):
            parts[number] += self._name(value)
        self.print_string("".join(parts) + self._place(op))

    def _print_whole(self, op: Operation) -> None:
        generic = self.print_generic_format
        self.print_generic_format = isinstance(op, WhileOp)
        try:
            super().print_op(op)
        finally:
            self.print_generic_format = generic

    def _learnt(self, op: Operation) -> tuple[str, ...] | None:
        """What xDSL prints between the names of an operation."""
        held = self.stream, self._current_column, self._current_line
        self.stream, self._caught = StringIO(), []
        try:
            self._print_whole(op)
            text, names = self.stream.getvalue(), self._caught
        finally:
            (self.stream, self._current_column, self._current_line), self._caught = held, None
        place = self._place(op)
        in_order = [value for _, value, _ in names] == [*op.results, *op.operands]
        if not in_order or not text.endswith(place) or "\n" in text:
            return None
        ends = [0, *(end for _, _, end in names)]
        starts = [*(start for start, _, _ in names), len(text) - len(place)]
        return tuple(text[end:start] for end, start in zip(ends, starts, strict=True))

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print a value's name, which it gets the first time."""
        if self._caught is None:
            return super().print_ssa_value(value)
        start = self.stream.tell()
        name = super().print_ssa_value(value)
        self._caught.append((start, value, self.stream.tell()))
        return name

    def _name(self, value: SSAValue) -> str:
        name = self._ssa_values.get(value)
        if name is None:
            stream, self.stream = self.stream, StringIO()
            name = super().print_ssa_value(value)
            self.stream = stream
        return f"%{name}"

    def _place(self, op: Operation) -> str:
        """The location behind an operation."""
        if not self.print_debuginfo:
            return ""
        known = _places.get(id(op.location))
        if known is None:
            out = StringIO()
            Printer(stream=out).print_attribute(op.location)
            known = keep(_places, id(op.location), (op.location, f" {out.getvalue()}"), _MOST)
        return known[1]

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        """Print a block argument; an unknown location is left out."""
        if isinstance(arg.location, UnknownLoc):
            debuginfo, self.print_debuginfo = self.print_debuginfo, False
            super().print_block_argument(arg, print_type)
            self.print_debuginfo = debuginfo
        else:
            super().print_block_argument(arg, print_type)


def print_module(module: ModuleOp, *, locations: bool = True) -> str:
    """The text of `module`, ending in a line break."""
    out = StringIO()
    LocationPrinter(stream=out, print_debuginfo=locations).print_op(module)
    return out.getvalue() + "\n"
