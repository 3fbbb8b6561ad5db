"""Verification of what changed: a pass that left a function as it was does not cost another verification of it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

Shape = list[tuple[object, ...]]


class Verifier:
    """Verifies the parts of a module that are not as they were when they were last found to be in order.

    The parts are the operations at the top of the module: its functions. Whether one changed is seen by comparing
    everything that verifiers look at (operations and their order, operands, types, attributes, blocks), so nobody
    has to tell what he changed. `verified` says that the whole module is known to be in order now.
    """

    def __init__(self, module: ModuleOp, *, verified: bool = False) -> None:
        self.module = module
        self.known: dict[Operation, Shape] = {}
        if verified:
            self.known = {part: shape(part) for part in module.body.block.ops}

    def verify(self) -> None:
        """Verify the parts that changed. Raises xDSL's `VerifyException` (or `ValueError` for broken links)."""
        self.module.verify(verify_nested_ops=False)
        for part in self.module.body.block.ops:
            now = shape(part)
            if self.known.get(part) != now:
                part.verify()
                self.known[part] = now


def shape(part: Operation) -> Shape:
    """Everything below `part` that its verification depends on; equal shapes verify alike."""
    result: Shape = []
    for op in part.walk():
        result.append(
            (
                op,
                op.parent,
                *op.operands,
                *(r.type for r in op.results),
                *op.successors,
                *op.properties.items(),
                *op.attributes.items(),
            )
        )
        for region in op.regions:
            result += [(block, block.parent, *(a.type for a in block.args)) for block in region.blocks]
    return result
