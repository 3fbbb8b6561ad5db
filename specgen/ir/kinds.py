"""What an operation without regions is like, whatever its values are called and wherever it stands."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

Form = tuple[object, ...]


def kind_of(op: Operation) -> tuple[Form, tuple[Attribute, ...]]:
    """The form of an operation, and the attributes in it: types of operands and results, properties, attributes.

    Two operations are of one kind where both agree. The attributes stand apart so that they can be compared by
    identity, which is quicker, as long as somebody keeps them alive.
    """
    operands = op.operands
    seen = (
        *[value.type for value in operands],
        *[value.type for value in op.results],
        *op.properties.values(),
        *op.attributes.values(),
    )
    return (type(op), len(operands), *op.properties, len(op.properties), *op.attributes), seen
