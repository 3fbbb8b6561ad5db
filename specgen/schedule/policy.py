"""The policy attributes of a loop: reading, naming, taking off."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block

from specgen.ir import locations

PIPELINE, LEAD, THROUGH = "motif.pipeline", "motif.lead", "motif.through"
UNROLL, ORDER, TAIL = "motif.unroll", "motif.order", "motif.tail"
SPLIT = "motif.split"
"""On an `scf.if` whose loop is to be cut."""
TRIPS = "motif.trips"
"""Left on a rebuilt loop for the unroll pass: its exact trip count."""
ORDINAL = "motif.ordinal"
"""Number of a loop in its source function while passes run."""
FORM = "motif.form"
"""Which part of a scheduled loop an `scf.for` is: `steady`, `serial` (too short to pipeline) or `remainder`."""

LAST = "motif.last"
"""On the op behind a steady loop with a serial side that computes the last counter of the loop and its drain."""
TOUCHED = "motif.touched"
"""On a function that has a loop with a policy, while passes run: others stay as they are, to the letter."""
HEIGHT = "motif.height"
"""On a load while `lead` is applied: how many loads follow it in the longest chain of addresses and guards."""

STAGED = "motif.staged"
"""On workgroup stores and barriers that the compiler placed for a staged view."""

LINEAR, INTERLEAVED, RECURRENCE = "linear", "interleaved", "recurrence"
ORDERS = (LINEAR, INTERLEAVED, RECURRENCE)
GUARD, CUT = "guard", "cut"
TAILS = (GUARD, CUT)

PIPELINE_KEYS = (PIPELINE, LEAD, THROUGH)
UNROLL_KEYS = (UNROLL, ORDER, TAIL)
INTERNAL_KEYS = (TRIPS, ORDINAL, LAST)

FULL, AUTO = "full", "auto"
"""Words in the place of a factor and of a lead."""


@dataclass(frozen=True)
class LoopName:
    """How rows and messages call a loop."""

    function: str
    ordinal: int
    loop: str
    location: str
    instance: str | None = None


def kernels(module: ModuleOp) -> list[func.FuncOp]:
    """The functions of the module that are kernels."""
    found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    return [op for op in found if "motif.kernel" in op.attributes]


def loops(block: Block) -> list[scf.ForOp]:
    """The loops of a block at any nesting, inner ones first."""
    result: list[scf.ForOp] = []
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                result.extend(loops(inner))
        if isinstance(op, scf.ForOp):
            result.append(op)
    return result


def number(function: func.FuncOp) -> None:
    """Give each loop its ordinal, and mark a function that has a policy."""
    for ordinal, loop in enumerate(loops(function.body.block)):
        loop.attributes[ORDINAL] = IntegerAttr(ordinal, 64)
        if any(key in loop.attributes for key in (*PIPELINE_KEYS, *UNROLL_KEYS)):
            function.attributes[TOUCHED] = UnitAttr()


def forget(function: func.FuncOp) -> None:
    """Take off the notes of passes."""
    function.attributes.pop(TOUCHED, None)
    for op in function.walk():
        for key in INTERNAL_KEYS:
            op.attributes.pop(key, None)


def name_of(loop: scf.ForOp) -> LoopName:
    """The loop's name for rows."""
    parent = loop.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    function = parent.sym_name.data if parent is not None else ""
    ordinal = integer(loop.attributes.get(ORDINAL))
    instance = word(loop.attributes.get("motif.instance"))
    return LoopName(function, -1 if ordinal is None else ordinal, label(loop), locations.text(loop), instance)


def label(loop: scf.ForOp) -> str:
    """The counter's name as the spec has it; "" when the IR does not tell."""
    return word(loop.attributes.get("motif.loop")) or ""


def integer(attribute: Attribute | None) -> int | None:
    """The value of an integer attribute, None for anything else."""
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def word(attribute: Attribute | None) -> str | None:
    """The text of a string attribute, None for anything else."""
    return attribute.data if isinstance(attribute, StringAttr) else None


def without(loop: scf.ForOp, *keys: str) -> dict[str, Attribute]:
    """The loop's attributes but for some."""
    return {k: v for k, v in loop.attributes.items() if k not in keys}


def take_off(loop: scf.ForOp, *keys: str) -> None:
    """Remove attributes from the loop."""
    for key in keys:
        loop.attributes.pop(key, None)
