"""Verification that remembers: an operation that is like one found in order is not looked at again, and neither is a
function that a pass left as it was.

xDSL's verifiers take most of the time of a large kernel, and its operations are of few kinds. What a verifier can see
of an operation without regions, successors or an end of a block to make are its operands' and results' types, its
properties and attributes and the operation around it, so two that agree in these verify alike. What has regions, and
what ends a block, is verified by xDSL every time.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, ErasedSSAValue, Operation

from specgen.ir.kinds import kind_of

_MOST = 1 << 16
"""How many kinds are remembered; a full memory starts afresh."""

Key = tuple[object, ...]

_in_order: set[Key] = set()
"""Kinds by all that is seen."""
_at_hand: dict[Key, Key] = {}
"""The same by identity of what is seen, which spares comparing attributes; the values keep them alive."""


def verify(root: Operation) -> None:
    """Verify an operation and all that is in it. Raises what `Operation.verify` raises."""
    root.verify(verify_nested_ops=False)
    for region in root.regions:
        for block in region.blocks:
            if block.parent is not region:
                raise ValueError("a block's parent is not the region that holds it")
            _verify_block(block)


def _verify_block(block: Block) -> None:
    last = block.last_op
    if last is None:
        block.verify()
        return
    around = type(block.parent_op())
    for op in block.ops:
        if op.parent is not block:
            raise ValueError("an operation's parent is not the block that holds it")
        if op is last or op.regions or op.successors:
            verify(op)
        else:
            _verify_leaf(op, around)


def _verify_leaf(op: Operation, around: type) -> None:
    form, seen = kind_of(op)
    near = (around, *form, *map(id, seen))
    erased = any(isinstance(value, ErasedSSAValue) for value in op.operands)
    if near in _at_hand and not erased:
        return
    key = (around, *form, *seen)
    if key not in _in_order or erased:
        op.verify()
    for memory in (_in_order, _at_hand):
        if len(memory) >= _MOST:
            memory.clear()
    _in_order.add(key)
    _at_hand[near] = key


Shape = list[object]


class Verifier:
    """Verifies the parts of a module that are not as they were when they were last found to be in order.

    The parts are the operations at the top of the module: its functions. Whether one changed is seen by comparing
    everything that verifiers look at (operations and their order, operands, types, attributes, blocks), so nobody
    has to tell what they changed. `verified` says that the whole module is known to be in order now.
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
                verify(part)
                self.known[part] = now


def shape(part: Operation) -> Shape:
    """Everything below `part` that its verification depends on; equal shapes verify alike.

    One flat list, for this is done after each pass: an operation begins what is said of it, numbers and kinds of
    objects part the rest.
    """
    result: Shape = []
    pending = [part]
    while pending:
        op = pending.pop()
        result += (op, op.parent, *op.operands, len(op.properties), *op.properties, *op.properties.values())
        result += op.attributes
        result += op.attributes.values()
        result += [value.type for value in op.results]
        result += op.successors
        for region in op.regions:
            for block in region.blocks:
                result += (block, block.parent, *[value.type for value in block.args])
                pending += block.ops
    return result
