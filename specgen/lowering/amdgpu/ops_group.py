"""Rows in which work-items meet: ids, collectives of subgroup and workgroup, barriers, fences."""

from __future__ import annotations

from xdsl.dialects.gpu import BlockIdOp, ThreadIdOp
from xdsl.ir import Attribute, Operation

from specgen.ir.dialect import EARLY, SubgroupReduceOp, SubgroupShuffleXorOp
from specgen.ir.dialect import integer as attribute_value
from specgen.lowering.amdgpu import lanes, types
from specgen.lowering.amdgpu.builder import floating, integer
from specgen.lowering.amdgpu.context import Lowering, Row, word
from specgen.lowering.amdgpu.floats import bf16_constant, through_f32
from specgen.lowering.amdgpu.ops_alu import extreme
from specgen.lowering.amdgpu.types import Value

# Ids


def _id(low: Lowering, name: str, limit: int) -> Value:
    """A hardware id in [0, limit)."""
    low.used_ids.add(name)
    low.b.module.declare(f"declare i32 @llvm.amdgcn.{name}()")
    value = low.b.emit("i32", f"call range(i32 0, {limit}) i32 @llvm.amdgcn.{name}()")
    low.id_places[value.ref] = low.b.reserve()
    return value


def _thread(low: Lowering, axis: str) -> Value:
    extent = low.workgroup_size["xyz".index(axis)]
    return integer("i32", 0) if extent == 1 else _id(low, f"workitem.id.{axis}", extent)


def _thread_id(low: Lowering, op: Operation) -> None:
    assert isinstance(op, ThreadIdOp)
    low.define(op.result, _thread(low, op.dimension.data.value))


def _block_id(low: Lowering, op: Operation) -> None:
    assert isinstance(op, BlockIdOp)
    low.define(op.result, _id(low, f"workgroup.id.{op.dimension.data.value}", 2**31 - 1))


def _linear(low: Lowering) -> Value:
    """The work-item's number in its workgroup, x fastest."""
    x, y, _ = low.workgroup_size
    result = _thread(low, "x")
    for axis, stride in (("y", x), ("z", x * y)):
        part = _thread(low, axis)
        if part.ref != "0":
            scaled = low.b.binary("mul nuw nsw", part, integer("i32", stride))
            result = low.b.binary("add nuw nsw", result, scaled)
    return result


def _lane_id(low: Lowering, op: Operation) -> None:
    linear = _linear(low)
    inside = low.workgroup_items <= low.wave
    low.define(op.results[0], linear if inside else low.b.binary("and", linear, integer("i32", low.wave - 1)))


def subgroup_number(low: Lowering) -> Value:
    """The subgroup's number in its workgroup, in a scalar register."""
    if low.workgroup_items <= low.wave:
        return integer("i32", 0)
    shift = integer("i32", low.wave.bit_length() - 1)
    return lanes.first_lane(low)(low.b.binary("lshr", _linear(low), shift))


def _subgroup_id(low: Lowering, op: Operation) -> None:
    low.define(op.results[0], subgroup_number(low))


# Reductions


def combine(low: Lowering, op: Operation, left: Value, right: Value) -> Value:
    """One step of a reduction."""
    kind, type_ = word(op.properties["kind"]), op.results[0].type
    name = types.name(type_)
    if kind in ("and", "or"):
        return low.b.binary(kind, left, right)
    if types.is_float(type_):
        if kind != "add":
            return extreme(low, kind, name, left, right)
        if name == "bf16":
            return through_f32(low.b, name, [left, right], low.target.cpu, lambda x, y: low.b.binary("fadd", x, y))
        return low.b.binary("fadd", left, right)
    if kind == "add":
        return low.b.binary("add", left, right)
    sign = "u" if "unsigned" in op.properties else "s"
    return low.b.intrinsic(f"{sign}{kind}.{types.mangled(left.type)}", left.type, left, right)


def neutral(low: Lowering, op: Operation, type_text: str) -> Value:
    """The value that a reduction ignores."""
    kind, type_ = word(op.properties["kind"]), op.results[0].type
    if types.is_float(type_):
        value = -0.0 if kind == "add" else float("nan")
        return bf16_constant(type_text, [value]) if types.name(type_) == "bf16" else floating(type_text, value)
    bits = types.bits_text(type_text)
    unsigned = "unsigned" in op.properties
    table = {
        "add": 0,
        "or": 0,
        "and": -1,
        "min": -1 if unsigned else 2 ** (bits - 1) - 1,
        "max": 0 if unsigned else -(2 ** (bits - 1)),
    }
    return integer(type_text, table[kind])


def _ballot(low: Lowering, condition: Value) -> Value:
    text = f"i{low.wave}"
    return low.b.intrinsic(f"amdgcn.ballot.{text}", text, condition)


def _vote(low: Lowering, kind: str, condition: Value) -> Value:
    """`any` and `all` of a whole subgroup: a scalar. Lanes that do not exist count for neither."""
    b, zero = low.b, integer(f"i{low.wave}", 0)
    if kind == "or":
        return b.compare("icmp ne", _ballot(low, condition), zero)
    return b.compare("icmp eq", _ballot(low, b.binary("xor", condition, integer("i1", 1))), zero)


def butterfly(low: Lowering, op: Operation, value: Value, cluster: int) -> Value:
    """Pairs at lane distance 1, 2, 4, ... below `cluster`."""
    if value.type == "i1" and cluster == low.wave and word(op.properties["kind"]) in ("and", "or"):
        return _vote(low, word(op.properties["kind"]), value)
    distance = 1
    while distance < cluster:
        other = lanes.moved(low.b, value, lanes.partner(low, distance))
        value = combine(low, op, value, other)
        distance *= 2
    return value


def _subgroup_reduce(low: Lowering, op: Operation) -> None:
    assert isinstance(op, SubgroupReduceOp)
    cluster = low.wave if op.cluster is None else attribute_value(op.cluster)
    low.define(op.result, butterfly(low, op, _plain(low, op), cluster))


def _plain(low: Lowering, op: Operation) -> Value:
    """The operand; `index` in 64 bits, for a sum of them may leave 32."""
    value = op.operands[0]
    return low.sized(value, low.index_bits(op.results[0])) if types.is_index(value.type) else low.value(value)


def _workgroup_reduce(low: Lowering, op: Operation) -> None:
    """Each subgroup leaves its result in workgroup memory; after a barrier all read all, in ascending order."""
    b = low.b
    part = butterfly(low, op, _plain(low, op), low.wave)
    count = -(-low.workgroup_items // low.wave)
    if count == 1:
        low.define(op.results[0], part)
        return
    stored = b.cast("zext", part, "i8") if part.type == "i1" else part
    step = types.bits_text(stored.type) // 8
    memory = Value("ptr addrspace(3)", b.module.workgroup_memory(count * step))
    where = b.emit(memory.type, f"getelementptr {stored.type}, {memory}, {subgroup_number(low)}")
    b.effect(f"store {stored}, {where}, align {step}")
    barrier(low, "workgroup")
    total: Value | None = None
    for number in range(count):
        where = b.emit(memory.type, f"getelementptr i8, {memory}, i32 {number * step}")
        one = b.cast("trunc", b.emit(stored.type, f"load {stored.type}, {where}, align {step}"), part.type)
        total = one if total is None else combine(low, op, total, one)
    if low.loop_depth:
        # The next round writes the same memory.
        barrier(low, "workgroup")
    assert total is not None
    low.define(op.results[0], total)


def _scan(low: Lowering, op: Operation) -> None:
    """Inclusive, and strictly in ascending order: lane after lane takes the sum of the lanes before it.

    A logarithmic scan would add in another order, so each step folds one more lane into the lanes above it.
    """
    b = low.b
    value = _plain(low, op)
    lane = lanes.lane_number(low)
    if types.is_float(op.results[0].type) and word(op.properties["kind"]) == "add":
        low.define(op.results[0], _serial_scan(low, op, value, lane))
        return
    distance, empty = 1, neutral(low, op, value.type)
    while distance < low.wave:
        source = b.binary("sub", lane, integer("i32", distance))
        other = lanes.moved(b, value, lanes.from_lane(b, source))
        inside = b.compare("icmp uge", lane, integer("i32", distance))
        value = combine(low, op, b.select(inside, other, empty), value)
        distance *= 2
    low.define(op.results[0], value)


def _serial_scan(low: Lowering, op: Operation, value: Value, lane: Value) -> Value:
    """Sums of floats: the lanes' values one after the other, each lane keeping the sum up to its own."""
    b = low.b
    running = lanes.moved(b, value, lanes.one_lane(low, integer("i32", 0)))
    result = running
    for number in range(1, low.wave):
        item = lanes.moved(b, value, lanes.one_lane(low, integer("i32", number)))
        running = combine(low, op, running, item)
        reached = b.compare("icmp uge", lane, integer("i32", number))
        result = b.select(reached, running, result)
    return result


# Single lanes


def _broadcast(low: Lowering, op: Operation) -> None:
    value, lane = op.operands
    move = lanes.one_lane(low, low.sized(lane, 32))
    low.define(op.results[0], lanes.moved(low.b, low.value(value), move))


def _shuffle(low: Lowering, op: Operation) -> None:
    value, lane = op.operands
    move = lanes.from_lane(low.b, low.sized(lane, 32))
    low.define(op.results[0], lanes.moved(low.b, low.value(value), move))


def _shuffle_xor(low: Lowering, op: Operation) -> None:
    assert isinstance(op, SubgroupShuffleXorOp)
    mask, value = attribute_value(op.mask), low.value(op.value)
    low.define(op.result, value if mask == 0 else lanes.moved(low.b, value, lanes.exchange(low, mask)))


# Barriers

LIKE_A_STORE = 'call void asm sideeffect "", "~{memory}"()'

LOCAL = '!{!"amdgpu-synchronize-as", !"local"}'
"""Memory model relaxation: the fence orders workgroup memory only, so loads from buffers stay in flight."""


def fence(low: Lowering, order: str, scope: str) -> None:
    """A fence between the work-items of a workgroup.

    LLVM sinks a load past fences and barriers into the block that uses it, for neither is a store to its machine code
    passes. So behind a statement that looks like a store to anything; no instruction comes of it.
    """
    if order == "release":
        low.b.effect(LIKE_A_STORE)
    tag = f", !mmra {low.b.module.metadata.node(LOCAL)}" if scope == "workgroup" else ""
    low.b.effect(f'fence syncscope("workgroup") {order}', tag)


def barrier(low: Lowering, scope: str) -> None:
    """All work-items arrive before any goes on. `scope` is "global" when buffers are ordered too."""
    fence(low, "release", scope)
    low.b.intrinsic_effect("amdgcn.s.barrier")
    fence(low, "acquire", scope)


def _scope(attribute: Attribute | None) -> str:
    return word(attribute) or "workgroup"


def _barrier(low: Lowering, op: Operation) -> None:
    barrier(low, _scope(op.attributes.get("motif.scope")))


def _arrive(low: Lowering, op: Operation) -> None:
    """Where the target has split barriers: the arrival. Elsewhere the wait is a complete barrier.

    LLVM's scheduler would move private work out of the phase, so nothing crosses its ends.
    """
    if low.target.split_barrier:
        fence(low, "release", _scope(op.attributes.get("motif.scope")))
        low.b.intrinsic_effect("amdgcn.s.barrier.signal", integer("i32", -1))
        _fence(low, op)
    low.values[op.results[0]] = integer("i32", 0)


def _wait(low: Lowering, op: Operation) -> None:
    scope = _scope(op.attributes.get("motif.scope"))
    if not low.target.split_barrier:
        barrier(low, scope)
        return
    _fence(low, op)
    low.b.intrinsic_effect("amdgcn.s.barrier.wait", integer("i16", -1))
    fence(low, "acquire", scope)


def _fence(low: Lowering, op: Operation) -> None:
    """Nothing moves across it in LLVM's schedule.

    Behind early reads it also looks like a store to anything: LLVM would sink them to where they are used.
    """
    if EARLY in op.attributes:
        low.b.effect(LIKE_A_STORE)
    low.b.intrinsic_effect("amdgcn.sched.barrier", integer("i32", 0))


def _nothing(low: Lowering, op: Operation) -> None:
    """Facts have read it already."""


ROWS: dict[str, Row] = {
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _block_id,
    "gpu.lane_id": _lane_id,
    "gpu.subgroup_id": _subgroup_id,
    "motif.subgroup_reduce": _subgroup_reduce,
    "motif.workgroup_reduce": _workgroup_reduce,
    "motif.subgroup_scan": _scan,
    "motif.subgroup_broadcast": _broadcast,
    "motif.subgroup_shuffle": _shuffle,
    "motif.subgroup_shuffle_xor": _shuffle_xor,
    "gpu.barrier": _barrier,
    "motif.arrive": _arrive,
    "motif.wait": _wait,
    "motif.fence": _fence,
    "motif.assume": _nothing,
    "motif.check": _nothing,
    "motif.ahead": _nothing,
}
