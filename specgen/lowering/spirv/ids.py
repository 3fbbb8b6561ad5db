"""Rows of constants and of the ids of work-items.

Without subgroup operations the ids are Vulkan's. With them, Vulkan does not tie lanes to local ids, so a work-item's
linear number is *defined* as subgroup id times subgroup size plus lane, and the local ids follow from it: then the
lane is the linear number modulo the subgroup size, as the IR says.
"""

from __future__ import annotations

import math

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.dialects.gpu import BlockIdOp, ThreadIdOp
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.emitter import INT32, Emitter, element_name, lane_count
from specgen.lowering.spirv.integers import Row


def _constant(e: Emitter, op: Operation) -> None:
    assert isinstance(op, ConstantOp)
    result, attribute = op.result, op.value
    count = lane_count(result.type)
    if isinstance(attribute, IntegerAttr):
        values: list[int | float] = [attribute.value.data]
    elif isa(attribute, FloatAttr):
        values = [attribute.value.data]
    else:
        assert isinstance(attribute, DenseIntOrFPElementsAttr)
        values = list(attribute.get_values())
    values = values * count if len(values) == 1 else values
    name = element_name(result.type)
    ids = tuple(_constant_scalar(e, e.kind_of(result), name, v) for v in values)
    e.define(result, ids)


def _constant_scalar(e: Emitter, kind: str, name: str, value: int | float) -> Id:
    if name == "i1":
        return e.const("bool", bool(int(value) & 1))
    if name in ("i8", "i16"):
        bits = int(name[1:])
        low = int(value) & ((1 << bits) - 1)
        return e.const(kind, low - (low >> (bits - 1) << bits))
    return e.const(kind, nearest_bf16(float(value)) if name == "bf16" else value)


def nearest_bf16(value: float) -> float:
    """The bf16 nearest to a number, ties to even."""
    if value == 0 or not math.isfinite(value):
        return value
    # The last of 8 significant bits; the exponent of subnormals stays at -126.
    unit = max(math.frexp(value)[1] - 8, -126 - 7)
    near = math.ldexp(round(math.ldexp(value, -unit)), unit)
    return near if abs(near) < 2.0**128 else math.copysign(math.inf, value)


def lane(e: Emitter) -> Id:
    """The number of this work-item in its subgroup, u32."""
    return e.builtin("SubgroupLocalInvocationId")


def subgroup(e: Emitter) -> Id:
    """The number of the subgroup, u32."""
    return e.builtin("SubgroupId")


def subgroup_size(e: Emitter) -> Id:
    """The number of lanes, u32: a constant where the function or the target fixes it."""
    return e.builtin("SubgroupSize") if e.subgroup_size is None else e.const("u32", e.subgroup_size)


def linear_id(e: Emitter) -> Id:
    """The linear number of the work-item in its workgroup, u32."""
    return e.add("u32", e.op("OpIMul", "u32", subgroup(e), subgroup_size(e)), lane(e))


def _thread_id(e: Emitter, op: Operation) -> None:
    assert isinstance(op, ThreadIdOp)
    axis = "xyz".index(op.dimension.data.value)
    x, y, _ = e.workgroup_size
    if e.workgroup_size[axis] == 1:
        found = e.const("u32", 0)
    elif not e.flat:
        whole = e.builtin("LocalInvocationId", 3)
        found = e.op("OpCompositeExtract", "u32", whole, axis)
    else:
        found = linear_id(e)
        before = (1, x, x * y)[axis]
        if before > 1:
            found = e.op("OpUDiv", "u32", found, e.const("u32", before))
        if math.prod(e.workgroup_size[axis + 1 :]) > 1:
            found = e.op("OpUMod", "u32", found, e.const("u32", e.workgroup_size[axis]))
    e.define(op.result, (found,), "u32")


def _block_id(e: Emitter, op: Operation) -> None:
    assert isinstance(op, BlockIdOp)
    whole = e.builtin("WorkgroupId", 3)
    found = e.op("OpCompositeExtract", "u32", whole, "xyz".index(op.dimension.data.value))
    if e.facts.range(op.result).high > INT32[1]:
        # A count of workgroups is below 2^32 and never negative.
        e.define(op.result, (e.op("OpUConvert", "u64", found),), "u64")
    else:
        e.define(op.result, (found,), "u32")


def _lane_id(e: Emitter, op: Operation) -> None:
    e.define(op.results[0], (lane(e),), "u32")


def _subgroup_id(e: Emitter, op: Operation) -> None:
    e.define(op.results[0], (subgroup(e),), "u32")


ROWS: dict[str, Row] = {
    "arith.constant": _constant,
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _block_id,
    "gpu.lane_id": _lane_id,
    "gpu.subgroup_id": _subgroup_id,
}
