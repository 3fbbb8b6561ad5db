"""The `motif` dialect and the xDSL context of specgen.

Files hold these ops in generic syntax. `vector.from_elements` is upstream's op of that name, which xDSL lacks.
"""

from __future__ import annotations

import functools
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import builtin, func, gpu, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from specgen.ir import vector_arith

REDUCTION_KINDS = ("add", "min", "max", "and", "or")


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector from its elements, in order (upstream `vector.from_elements`)."""

    name = "vector.from_elements"
    elements = var_operand_def()
    result = result_def(base(VectorType))
    traits = traits_def(Pure())

    def verify_(self) -> None:
        shape = self.result.type.get_shape()
        if len(shape) != 1 or shape[0] != len(self.elements):
            raise VerifyException("vector.from_elements: one operand an element of a 1-D vector")
        if any(e.type != self.result.type.element_type for e in self.elements):
            raise VerifyException("vector.from_elements: operand type differs from the element type")


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """A promise of the author: the condition holds whenever control passes here."""

    name = "motif.assume"
    condition = operand_def(eq(i1))


@irdl_op_definition
class CheckOp(IRDLOperation):
    """A finding of kind `kind` when the condition is false; no effect on values, dropped by lowering."""

    name = "motif.check"
    condition = operand_def()
    kind = prop_def(StringAttr)
    message = prop_def(StringAttr)


@irdl_op_definition
class AheadOp(IRDLOperation):
    """Names the value that `motif.through` of the nearest `scf.for` around lets run ahead; no effect, and gone once
    the loop is pipelined."""

    name = "motif.ahead"
    value = operand_def()


@irdl_op_definition
class ExtentsOp(IRDLOperation):
    """The extents of a buffer argument, one `index` an axis."""

    name = "motif.extents"
    buffer = operand_def(base(MemRefType))
    sizes = var_operand_def(base(IndexType))

    def verify_(self) -> None:
        buffer = self.buffer.type
        if not isinstance(buffer, MemRefType) or len(self.sizes) != buffer.get_num_dims():
            raise VerifyException("motif.extents: one size an axis")


@irdl_op_definition
class WindowOp(IRDLOperation):
    """The bytes of a buffer as elements of another type, flat; `size` elements where the type does not tell."""

    name = "motif.window"
    buffer = operand_def(base(MemRefType))
    size = opt_operand_def(base(IndexType))
    result = result_def(base(MemRefType))

    def verify_(self) -> None:
        shape = self.result.type.get_shape()
        if len(shape) != 1:
            raise VerifyException("motif.window: the result has one axis")
        if (shape[0] < 0) != (self.size is not None):
            raise VerifyException("motif.window: a size exactly where the type has none")


@irdl_op_definition
class FloorRemOp(IRDLOperation):
    """The remainder of signed floor division; it has the sign of the divisor."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    name = "motif.floorremsi"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class FloatToIntOp(IRDLOperation):
    """Truncates towards zero, saturates; NaN gives 0. `signed` present: signed target."""

    name = "motif.fptoi"
    source = operand_def()
    result = result_def()
    signed = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())


class _Reduce(IRDLOperation):
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    kind = prop_def(StringAttr)
    unsigned = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if self.kind.data not in REDUCTION_KINDS:
            raise VerifyException(f"{self.name}: unknown kind {self.kind.data}")


@irdl_op_definition
class SubgroupReduceOp(_Reduce):
    """A butterfly reduction over clusters of `cluster` lanes (absent: the whole subgroup), distances 1, 2, 4, ..."""

    name = "motif.subgroup_reduce"
    cluster = opt_prop_def(IntegerAttr)


@irdl_op_definition
class WorkgroupReduceOp(_Reduce):
    """Subgroup reductions, then their results in ascending order of subgroups."""

    name = "motif.workgroup_reduce"


@irdl_op_definition
class SubgroupScanOp(_Reduce):
    """An inclusive scan over ascending lanes of the subgroup."""

    name = "motif.subgroup_scan"


class _FromLane(IRDLOperation):
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    lane = operand_def(base(IndexType))
    result = result_def(T)


@irdl_op_definition
class SubgroupBroadcastOp(_FromLane):
    """The value of one lane, the same lane for the whole subgroup."""

    name = "motif.subgroup_broadcast"


@irdl_op_definition
class SubgroupShuffleOp(_FromLane):
    """The value of the lane that each lane names."""

    name = "motif.subgroup_shuffle"


@irdl_op_definition
class SubgroupShuffleXorOp(IRDLOperation):
    """The value of lane `self ^ mask`."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    name = "motif.subgroup_shuffle_xor"
    value = operand_def(T)
    result = result_def(T)
    mask = prop_def(IntegerAttr)


EARLY = "motif.early"
"""On a read (or a conditional around reads) to be issued as soon as its address is known; on the fence behind it."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """A source-order fence: nothing moves across it in the schedule of a back end; no run-time cost."""

    name = "motif.fence"


@irdl_op_definition
class ArriveOp(IRDLOperation):
    """First half of a split barrier; the token goes to exactly one `motif.wait`."""

    name = "motif.arrive"
    token = result_def(base(IndexType))


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Second half of a split barrier."""

    name = "motif.wait"
    token = operand_def(base(IndexType))


COLLECTIVES = (
    SubgroupReduceOp,
    WorkgroupReduceOp,
    SubgroupScanOp,
    SubgroupBroadcastOp,
    SubgroupShuffleOp,
    SubgroupShuffleXorOp,
)

Motif = Dialect(
    "motif",
    [
        AssumeOp,
        CheckOp,
        AheadOp,
        ExtentsOp,
        WindowOp,
        FloorRemOp,
        FloatToIntOp,
        *COLLECTIVES,
        FenceOp,
        ArriveOp,
        WaitOp,
    ],
    [],
)


@functools.cache
def context() -> Context:
    """The context that knows every dialect of the IR; ops outside of it do not parse."""
    result = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        memref.MemRef,
        scf.Scf,
        vector_arith.dialect(),
        math.Math,
        gpu.GPU,
        vector.Vector,
        Motif,
    ):
        result.load_dialect(dialect)
    result.load_op(FromElementsOp)
    return result


def integer(attribute: Attribute) -> int:
    """The value of an integer attribute; raises `TypeError` for anything else."""
    if not isinstance(attribute, IntegerAttr):
        raise TypeError(f"not an integer attribute: {attribute}")
    return attribute.value.data


def policies(attribute: Attribute) -> dict[str, int | str]:
    """A `motif.policies` dictionary as Python values."""
    if not isinstance(attribute, DictionaryAttr):
        raise TypeError(f"not a dictionary attribute: {attribute}")
    return {k: v.data if isinstance(v, StringAttr) else integer(v) for k, v in attribute.data.items()}
