"""MLIR text that can be parsed back, with locations.

xDSL puts the location of a custom-format `scf.while` before its regions, where its own parser refuses it, so that
op is printed in generic form; unknown locations of block arguments are left out.
"""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.scf import WhileOp
from xdsl.ir import BlockArgument, Operation
from xdsl.printer import Printer


class LocationPrinter(Printer):
    """xDSL's printer with the two repairs that the module docstring names."""

    def print_op(self, op: Operation) -> None:
        generic = self.print_generic_format
        self.print_generic_format = isinstance(op, WhileOp)
        try:
            super().print_op(op)
        finally:
            self.print_generic_format = generic

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
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
