"""The IR: upstream MLIR dialects through xDSL and the small `motif` dialect for what upstream lacks.

Importing this package is cheap; xDSL is imported by the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp


def parse(text: str, name: str = "<ir>") -> ModuleOp:
    """Parse and verify MLIR text. Raises xDSL's `ParseError` or `VerifyException`: IR text is ours, not the user's."""
    from specgen.ir.reader import Reader
    from specgen.ir.verified import verify

    module = Reader(text, name).parse_module()
    verify(module)
    return module


def print_module(module: ModuleOp, *, locations: bool = True) -> str:
    """The module as MLIR text that `parse` accepts, with locations unless told otherwise."""
    from specgen.ir.printer import print_module as implementation

    return implementation(module, locations=locations)


def function_named(module: ModuleOp, symbol: str) -> FuncOp | None:
    """The function of that name at the top of a module; None when there is none."""
    from xdsl.dialects.func import FuncOp

    functions = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return next((f for f in functions if f.sym_name.data == symbol), None)
