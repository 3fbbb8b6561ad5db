"""Steps in which work-items meet: collectives of subgroup and workgroup, barriers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from specgen.devices.base import DeviceError
from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Frame, at
from specgen.devices.interpreter.program import Compiler, Env, Step, dtype_of, where
from specgen.ir.dialect import SubgroupReduceOp, SubgroupShuffleXorOp, integer

Combine = Callable[[Any, Any], Any]


def combiner(kind: str, dtype: np.dtype[Any], unsigned: bool) -> tuple[Combine, Any]:
    """The operation of a reduction and its neutral element."""
    if kind in ("and", "or"):
        neutral = np.True_ if dtype == numerics.BOOL else dtype.type(-1)
        return (operator.and_, neutral) if kind == "and" else (operator.or_, np.zeros((), dtype)[()])
    if numerics.is_float(dtype):
        add = numerics.via_f32(operator.add) if dtype in numerics.NARROW_FLOATS else operator.add
        table = {"add": (add, -0.0), "min": (numerics.minnum, np.nan), "max": (numerics.maxnum, np.nan)}
        combine, value = table[kind]
        return combine, np.float64(value).astype(dtype)
    if kind == "add":
        return operator.add, dtype.type(0)
    info = np.iinfo(dtype)
    low, high = (0, -1) if unsigned else (info.min, info.max)
    function = np.minimum if kind == "min" else np.maximum
    if unsigned:
        return _unsigned(function), dtype.type(high if kind == "min" else low)
    return function, dtype.type(high if kind == "min" else low)


def _unsigned(function: Callable[[Any, Any], Any]) -> Combine:
    return lambda a, b: function(numerics.unsigned(a), numerics.unsigned(b)).view(a.dtype)


def lanes(value: Any, frame: Frame, size: int) -> Any:
    """A value as `[..., rows, subgroups, size]`."""
    array = np.asarray(value)
    full = np.broadcast_to(array, (*array.shape[:-2], *frame.shape))
    return full.reshape(*full.shape[:-1], frame.items // size, size)


def items(grouped: Any, frame: Frame) -> Any:
    """The inverse of `lanes`."""
    return grouped.reshape(*grouped.shape[:-2], frame.items)


def participants(frame: Frame, size: int, place: str, what: str) -> Any:
    """Active lanes as `[rows, groups, size]`, None when all are; a group that is partly active is a finding."""
    if frame.mask is None or np.count_nonzero(frame.mask) == frame.mask.size:
        return None
    active = lanes(frame.mask, frame, size)
    missing = active.any(-1, keepdims=True) & ~active
    if missing.any():
        mask, frame.mask = frame.mask, None
        frame.report("divergent-collective", place, items(missing, frame), lambda p: f"{what} without all of its lanes")
        frame.mask = mask
    return active


def butterfly(value: Any, combine: Combine, cluster: int) -> Any:
    """Reduces the last axis over clusters: pairs at distance 1, 2, 4, ...; the last axis shrinks by `cluster`.

    The combination is commutative bit for bit, so one lane's result stands for the cluster's.
    """
    while cluster > 1:
        value = combine(value[..., 0::2], value[..., 1::2])
        cluster //= 2
    return value


def _reduction(op: Operation, compiler: Compiler) -> tuple[Combine, Any]:
    dtype = dtype_of(op.results[0].type)
    kind = op.properties["kind"]
    assert isinstance(kind, StringAttr)
    return combiner(kind.data, dtype, "unsigned" in op.properties)


def _subgroup_reduce(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, SubgroupReduceOp)
    size = compiler.need_subgroups(op)
    cluster = size if op.cluster is None else integer(op.cluster)
    x, y, z = compiler.workgroup_size
    if cluster < 1 or cluster & (cluster - 1) or x * y * z % cluster:
        raise DeviceError(f"{where(op)}: a cluster of {cluster} lanes in a workgroup of {x * y * z}")
    # Devices with narrow subgroups form wide clusters of neighbouring work-items, through workgroup memory.
    together = max(size, cluster)
    combine, neutral = _reduction(op, compiler)
    result, source, place = compiler.slot(op.result), compiler.slot(op.value), where(op)

    def step(env: Env, frame: Frame) -> None:
        active = participants(frame, together, place, "subgroup reduction")
        value = lanes(env[source], frame, together)
        if active is not None:
            value = np.where(active, value, neutral)
        reduced = butterfly(value, combine, cluster)
        if reduced.shape[-1] * reduced.shape[-2] > 1:
            reduced = np.repeat(reduced, cluster, axis=-1)
        env[result] = reduced.reshape(*reduced.shape[:-2], -1)

    return step


def _workgroup_reduce(op: Operation, compiler: Compiler) -> Step:
    size = compiler.need_subgroups(op)
    combine, neutral = _reduction(op, compiler)
    result, source, place = compiler.slot(op.results[0]), compiler.slot(op.operands[0]), where(op)

    def step(env: Env, frame: Frame) -> None:
        active = participants(frame, frame.items, place, "workgroup reduction")
        value = lanes(env[source], frame, size)
        if active is not None:
            value = np.where(active.reshape(frame.rows, -1, size), value, neutral)
        partial = butterfly(value, combine, size)[..., 0]
        total = partial[..., 0]
        for number in range(1, partial.shape[-1]):
            total = combine(total, partial[..., number])
        env[result] = total[..., None]

    return step


def _scan(op: Operation, compiler: Compiler) -> Step:
    size = compiler.need_subgroups(op)
    combine, neutral = _reduction(op, compiler)
    result, source, place = compiler.slot(op.results[0]), compiler.slot(op.operands[0]), where(op)

    def step(env: Env, frame: Frame) -> None:
        active = participants(frame, size, place, "subgroup scan")
        value = lanes(env[source], frame, size)
        if active is not None:
            value = np.where(active, value, neutral)
        columns = [value[..., 0]]
        for lane in range(1, size):
            columns.append(combine(columns[-1], value[..., lane]))
        env[result] = items(np.stack(columns, -1), frame)

    return step


def _from_lane(value: Any, lane: Any, frame: Frame, size: int, place: str, what: str) -> Any:
    """For each lane the value of lane `lane` of its subgroup; an absent or inactive source is a finding."""
    grouped, source = lanes(value, frame, size), lanes(lane, frame, size)
    absent = (source < 0) | (source >= size)
    source = np.where(absent, 0, source)
    if np.count_nonzero(absent):
        frame.report(
            "out-of-bounds", place, items(absent, frame), lambda p: f"{what} from lane {at(lane, p)} of {size}"
        )
    if frame.mask is not None:
        silent = ~np.take_along_axis(lanes(frame.mask, frame, size), source, -1)
        frame.report(
            "divergent-collective", place, items(silent, frame), lambda p: f"{what} from a lane that is not active"
        )
        absent = absent | silent
    wide = np.broadcast_to(source, grouped.shape)
    chosen = np.take_along_axis(grouped, wide, -1)
    if np.count_nonzero(absent):
        chosen = np.where(absent, numerics.poison(chosen.dtype), chosen)
    return items(chosen, frame)


def _shuffle(op: Operation, compiler: Compiler) -> Step:
    size = compiler.need_subgroups(op)
    result, (source, lane), place = compiler.slot(op.results[0]), compiler.slots(op.operands), where(op)
    what = op.name.removeprefix("motif.subgroup_")

    def step(env: Env, frame: Frame) -> None:
        env[result] = _from_lane(env[source], env[lane], frame, size, place, what)

    return step


def _broadcast(op: Operation, compiler: Compiler) -> Step:
    size = compiler.need_subgroups(op)
    result, (source, lane), place = compiler.slot(op.results[0]), compiler.slots(op.operands), where(op)

    def step(env: Env, frame: Frame) -> None:
        names = lanes(env[lane], frame, size)
        differs = items(names != names[..., :1], frame)
        if np.count_nonzero(differs):
            frame.report("divergent-collective", place, differs, lambda p: "broadcast from lanes that differ")
        env[result] = _from_lane(env[source], env[lane], frame, size, place, "broadcast")

    return step


def _shuffle_xor(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, SubgroupShuffleXorOp)
    size, mask = compiler.need_subgroups(op), integer(op.mask)
    result, source, place = compiler.slot(op.result), compiler.slot(op.value), where(op)
    x, y, z = compiler.workgroup_size
    partner = (np.arange(x * y * z, dtype=np.int64)[None, :] % size) ^ mask

    def step(env: Env, frame: Frame) -> None:
        env[result] = _from_lane(env[source], partner, frame, size, place, "shuffle_xor")

    return step


def _meet(frame: Frame, place: str, what: str) -> Any:
    """Rows that have an active work-item, `[rows, 1]`; a workgroup that is partly active is a finding."""
    if frame.mask is None:
        return np.True_
    active = frame.active()
    arrived = active.any(1, keepdims=True)
    missing = arrived & ~active
    if missing.any():
        mask, frame.mask = frame.mask, None
        frame.report("divergent-barrier", place, missing, lambda p: f"{what} that this work-item does not reach")
        frame.mask = mask
    return arrived


def _passing(what: str) -> Callable[[Operation, Compiler], Step]:
    """The handler of an op behind which everything before it has happened for all."""

    def handler(op: Operation, compiler: Compiler) -> Step:
        scope = op.attributes.get("motif.scope")
        everywhere = isinstance(scope, StringAttr) and scope.data == "global"
        place = where(op)

        def step(env: Env, frame: Frame) -> None:
            arrived = _meet(frame, place, what)
            frame.epoch = frame.epoch + arrived
            if everywhere:
                frame.global_epoch = frame.global_epoch + arrived

        return step

    return handler


def _arrive(op: Operation, compiler: Compiler) -> Step:
    place, token = where(op), compiler.slot(op.results[0])

    def step(env: Env, frame: Frame) -> None:
        _meet(frame, place, "the arrival at a barrier")
        env[token] = np.int64(0)

    return step


def _no_step(op: Operation, compiler: Compiler) -> None:
    return None


HANDLERS: dict[str, Callable[[Operation, Compiler], Step | None]] = {
    "motif.subgroup_reduce": _subgroup_reduce,
    "motif.workgroup_reduce": _workgroup_reduce,
    "motif.subgroup_scan": _scan,
    "motif.subgroup_shuffle": _shuffle,
    "motif.subgroup_broadcast": _broadcast,
    "motif.subgroup_shuffle_xor": _shuffle_xor,
    "gpu.barrier": _passing("a barrier"),
    "motif.arrive": _arrive,
    "motif.wait": _passing("the wait of a barrier"),
    "motif.fence": _no_step,
}
