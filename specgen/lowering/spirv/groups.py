"""Rows in which work-items meet: barriers, and collectives of subgroups and workgroups in the order of the IR.

Where the target leaves the subgroup size open, the number of steps is read from `SubgroupSize` at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from specgen.ir.dialect import SubgroupReduceOp, SubgroupShuffleXorOp, integer
from specgen.lowering.spirv import floats, ids, integers
from specgen.lowering.spirv.builder import Id, enumerant
from specgen.lowering.spirv.control import repeat, selection
from specgen.lowering.spirv.convert import from_bits, to_bits
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name
from specgen.lowering.spirv.integers import Row
from specgen.lowering.spirv.memory import Memory, Place, load_element, store_element

SUBGROUP, WORKGROUP = 3, 2
"""Values of SPIR-V's Scope."""

SMALLEST_SUBGROUP = 4
"""Room for partial results is made for subgroups down to this size where the size is open."""

Combine = Callable[[Id, Id], Id]


def barrier(e: Emitter, *, buffers: bool) -> None:
    """All work-items of the workgroup meet; workgroup memory is ordered, buffers too when asked."""
    words = ["AcquireRelease", "WorkgroupMemory", "MakeAvailable", "MakeVisible"]
    if buffers:
        words.append("UniformMemory")
    semantics = enumerant(f"MemorySemantics.{'|'.join(words)}")
    scope = e.const("u32", WORKGROUP)
    e.emit("OpControlBarrier", scope, scope, e.const("u32", semantics))


def _barrier(e: Emitter, op: Operation) -> None:
    barrier(e, buffers=is_global(op))


def is_global(op: Operation) -> bool:
    """Whether a barrier orders buffers too."""
    scope = op.attributes.get("motif.scope")
    return isinstance(scope, StringAttr) and scope.data == "global"


def _arrive(e: Emitter, op: Operation) -> None:
    """Vulkan has no split barriers: the work-items meet at the wait, which is never earlier."""
    e.define(op.results[0], (e.const("u32", 0),), "u32")


# What is reduced, and how


class _Type:
    """The type of a collective's value: how two values combine and how one travels between lanes."""

    def __init__(self, e: Emitter, op: Operation) -> None:
        self.e = e
        self.op = op
        self.element = element_name(op.results[0].type)
        self.kind = e.kind_of(op.results[0])
        if self.element == "index":
            # Sums of values of 32 bits need not fit: the widest kind among operand and result.
            self.kind = "u64" if "u64" in (self.kind, e.kind_of(op.operands[0])) else "u32"
        kind = op.properties.get("kind")
        self.reduction = kind.data if isinstance(kind, StringAttr) else ""
        self.unsigned = "unsigned" in op.properties

    @property
    def is_float(self) -> bool:
        """Whether the elements are floats."""
        return self.element in ("f16", "bf16", "f32", "f64")

    def operand(self) -> tuple[Id, ...]:
        """The scalars of the value."""
        value = self.op.operands[0]
        return self.e.get(value, self.kind) if self.element == "index" else self.e.get(value)

    def define(self, scalars: Sequence[Id]) -> None:
        """Let the op's result be these scalars."""
        self.e.define(self.op.results[0], tuple(scalars), self.kind if self.element == "index" else None)

    def combine(self, a: Id, b: Id) -> Id:
        """One step of the reduction."""
        e, kind = self.e, self.kind
        if self.reduction in ("and", "or"):
            word = self.reduction.capitalize()
            return e.op(f"OpLogical{word}" if kind == "bool" else f"OpBitwise{word}", kind, a, b)
        if self.reduction == "add":
            if self.is_float:
                total = e.exact("OpFAdd", kind, a, b)
                return floats.round_bf16(e, total) if self.element == "bf16" else total
            if kind == "bool":
                return e.op("OpLogicalNotEqual", kind, a, b)
            total = e.op("OpIAdd", kind, a, b)
            return integers.sign_extended(e, total, BITS[self.element]) if kind == "u32" else total
        least = self.reduction == "min"
        if self.is_float:
            return floats.extreme(e, kind, a, b, least=least)
        if kind == "bool":
            # A signed true is -1.
            return e.op("OpLogicalAnd" if least == self.unsigned else "OpLogicalOr", kind, a, b)
        return integers.extreme(e, kind, a, b, least=least, unsigned=self.unsigned)

    def exchange(self, scalar: Id, name: str, *operands: Id) -> Id:
        """A lane exchange of one scalar. Only 32-bit words travel: other types would need an optional feature."""
        e = self.e
        scope = e.const("u32", SUBGROUP)
        if self.kind in ("u32", "f32"):
            return e.op(name, self.kind, scope, scalar, *operands)
        if self.kind in ("u64", "f64"):
            pair = e.builder.vector("u32", 2)
            both = e.emit("OpBitcast", scalar, type=pair)
            parts = [e.op("OpCompositeExtract", "u32", both, n) for n in (0, 1)]
            moved = [e.op(name, "u32", scope, p, *operands) for p in parts]
            return e.op("OpBitcast", self.kind, e.emit("OpCompositeConstruct", *moved, type=pair))
        element = "i1" if self.kind == "bool" else self.element
        word = to_bits(e, scalar, element)
        return from_bits(e, e.op(name, "u32", scope, word, *operands), element)


# Subgroups


def _butterfly(t: _Type, scalar: Id, size: int | None) -> Id:
    """Pairs at lane distance 1, 2, 4, ... below `size` (None: below the subgroup size at run time)."""
    e = t.e
    if size is not None:
        distance = 1
        while distance < size:
            other = t.exchange(scalar, "OpGroupNonUniformShuffleXor", e.const("u32", distance))
            scalar = t.combine(scalar, other)
            distance *= 2
        return scalar
    limit = ids.subgroup_size(e)

    def step(state: list[Id]) -> list[Id]:
        distance, value = state
        other = t.exchange(value, "OpGroupNonUniformShuffleXor", distance)
        doubled = e.op("OpShiftLeftLogical", "u32", distance, e.const("u32", 1))
        return [doubled, t.combine(value, other)]

    first = (("u32", e.const("u32", 1)), (t.kind, scalar))
    return repeat(e, first, lambda state: e.op("OpULessThan", "bool", state[0], limit), step)[1]


_WHOLE = {"add": "IAdd", "and": "BitwiseAnd", "or": "BitwiseOr"}


def _group_name(t: _Type) -> str | None:
    """The group instruction for an integer or boolean reduction: there the order does not show."""
    if t.kind == "bool":
        return {"and": "All", "or": "Any"}.get(t.reduction)
    if t.kind != "u32":
        return None
    if t.reduction in _WHOLE:
        return _WHOLE[t.reduction]
    return f"{'U' if t.unsigned else 'S'}{t.reduction.capitalize()}"


def _reduce_subgroup(t: _Type, scalar: Id) -> Id:
    """The reduction of one scalar over the whole subgroup."""
    e = t.e
    name = _group_name(t)
    scope = e.const("u32", SUBGROUP)
    if name in ("All", "Any"):
        return e.op(f"OpGroupNonUniform{name}", "bool", scope, scalar)
    if name is not None:
        total = e.op(f"OpGroupNonUniform{name}", "u32", scope, "GroupOperation.Reduce", scalar)
        return integers.sign_extended(e, total, BITS[t.element])
    return _butterfly(t, scalar, e.subgroup_size)


def _subgroup_reduce(e: Emitter, op: Operation) -> None:
    assert isinstance(op, SubgroupReduceOp)
    t = _Type(e, op)
    cluster = None if op.cluster is None else integer(op.cluster)
    if cluster is None or cluster == e.subgroup_size:
        t.define([_reduce_subgroup(t, x) for x in t.operand()])
    elif e.subgroup_size is not None and cluster < e.subgroup_size:
        t.define([_butterfly(t, x, cluster) for x in t.operand()])
    elif not _workgroup_uniform(e, op):
        # Some work-items may not come this way, so barriers are out: the device must have subgroups this wide.
        e.need_subgroup_size(op, cluster)
        t.define([_butterfly(t, x, cluster) for x in t.operand()])
    else:
        t.define([_wide_cluster(t, x, cluster) for x in t.operand()])


def _wide_cluster(t: _Type, scalar: Id, cluster: int) -> Id:
    """A cluster that may be wider than the subgroup: through workgroup memory where it is."""
    e = t.e
    if e.subgroup_size is not None:
        return _memory_butterfly(t, scalar, cluster)
    wide = e.op("OpUGreaterThanEqual", "bool", ids.subgroup_size(e), e.const("u32", cluster))
    inside, other, merge = (e.builder.new_id() for _ in range(3))
    e.split(("OpSelectionMerge", merge, "SelectionControl.None"), wide, inside, other)
    edges = []
    for block, form in ((inside, _butterfly), (other, _memory_butterfly)):
        e.label(block)
        edges.append((form(t, scalar, cluster), e.block))
        e.branch(merge)
    e.label(merge)
    phi, made = e.phi(t.kind)
    for edge in edges:
        phi.append(*edge)
    return made


def _memory_butterfly(t: _Type, scalar: Id, cluster: int) -> Id:
    """The butterfly over linear work-item numbers: each step writes, meets, reads, meets.

    Behind the last meeting nothing is read any more, so all butterflies of a kind share their memory.
    """
    e = t.e
    x, y, z = e.workgroup_size
    scratch = e.butterflies.get(t.kind)
    if scratch is None:
        scratch = e.butterflies[t.kind] = _scratch(t, x * y * z)
    mine = ids.linear_id(e)
    distance = 1
    while distance < cluster:
        store_element(e, Place(scratch, "u32", mine), 0, scalar)
        barrier(e, buffers=False)
        partner = e.op("OpBitwiseXor", "u32", mine, e.const("u32", distance))
        other = load_element(e, Place(scratch, "u32", partner), 0)
        barrier(e, buffers=False)
        scalar = t.combine(scalar, other)
        distance *= 2
    return scalar


def _workgroup_uniform(e: Emitter, op: Operation) -> bool:
    """Whether all work-items of the workgroup come to `op` together, as far as facts tell."""
    parent = op.parent_op()
    while parent is not None and parent is not e.function:
        if isinstance(parent, scf.IfOp):
            deciders = [parent.cond]
        elif isinstance(parent, scf.ForOp):
            deciders = [parent.lb, parent.ub, parent.step]
        else:
            return False
        if any(e.facts.uniform(v) != "workgroup" for v in deciders):
            return False
        parent = parent.parent_op()
    return True


def _scan(e: Emitter, op: Operation) -> None:
    t = _Type(e, op)
    name = _group_name(t)
    if t.kind == "u32" and name is not None:
        scope = e.const("u32", SUBGROUP)
        totals = [
            e.op(f"OpGroupNonUniform{name}", "u32", scope, "GroupOperation.InclusiveScan", x) for x in t.operand()
        ]
        t.define([integers.sign_extended(e, x, BITS[t.element]) for x in totals])
    elif t.is_float and t.reduction == "add":
        t.define([_scan_in_order(t, x) for x in t.operand()])
    else:
        t.define([_scan_by_doubling(t, x) for x in t.operand()])


def _scan_in_order(t: _Type, scalar: Id) -> Id:
    """Lane after lane: the rounding of each sum depends on the order."""
    e = t.e
    size, me = ids.subgroup_size(e), ids.lane(e)

    def step(state: list[Id]) -> list[Id]:
        turn, total = state
        before = e.op("OpISub", "u32", turn, e.const("u32", 1))
        left = t.exchange(total, "OpGroupNonUniformShuffle", before)
        mine = e.op("OpIEqual", "bool", me, turn)
        chosen = e.select(t.kind, mine, t.combine(left, total), total)
        return [e.op("OpIAdd", "u32", turn, e.const("u32", 1)), chosen]

    first = (("u32", e.const("u32", 1)), (t.kind, scalar))
    return repeat(e, first, lambda state: e.op("OpULessThan", "bool", state[0], size), step)[1]


def _scan_by_doubling(t: _Type, scalar: Id) -> Id:
    """For operations whose order does not show: the lanes 1, 2, 4, ... below are added."""
    e = t.e
    size, me = ids.subgroup_size(e), ids.lane(e)

    def step(state: list[Id]) -> list[Id]:
        distance, total = state
        has = e.op("OpUGreaterThanEqual", "bool", me, distance)
        source = e.select("u32", has, e.op("OpISub", "u32", me, distance), me)
        left = t.exchange(total, "OpGroupNonUniformShuffle", source)
        chosen = e.select(t.kind, has, t.combine(left, total), total)
        return [e.op("OpShiftLeftLogical", "u32", distance, e.const("u32", 1)), chosen]

    first = (("u32", e.const("u32", 1)), (t.kind, scalar))
    return repeat(e, first, lambda state: e.op("OpULessThan", "bool", state[0], size), step)[1]


def _from_lane(e: Emitter, op: Operation) -> None:
    t = _Type(e, op)
    source = e.scalar(op.operands[1], "u32")
    t.define([t.exchange(x, "OpGroupNonUniformShuffle", source) for x in t.operand()])


def _shuffle_xor(e: Emitter, op: Operation) -> None:
    assert isinstance(op, SubgroupShuffleXorOp)
    t = _Type(e, op)
    mask = e.const("u32", integer(op.mask))
    t.define([t.exchange(x, "OpGroupNonUniformShuffleXor", mask) for x in t.operand()])


# Workgroups


def _scratch(t: _Type, count: int) -> Memory:
    """Workgroup memory for `count` values of a collective."""
    stored = "u32" if t.kind == "bool" else t.kind
    # bf16 stays in the f32 that holds it.
    element = {"bool": "i1", "u32": "i32", "u64": "i64"}.get(t.kind, t.kind)
    variable = t.e.workgroup_variable(stored, count)
    return Memory("Workgroup", element, stored, variable, (count,), 16, True)


def _workgroup_reduce(e: Emitter, op: Operation) -> None:
    t = _Type(e, op)
    t.define([_reduce_workgroup(t, x) for x in t.operand()])


def _reduce_workgroup(t: _Type, scalar: Id) -> Id:
    """Subgroups first, then their results in ascending order from that of subgroup 0."""
    e = t.e
    x, y, z = e.workgroup_size
    partial = _reduce_subgroup(t, scalar)
    size = e.subgroup_size
    if size is None:
        e.need_subgroup_size(t.op, SMALLEST_SUBGROUP)
    count = -(-x * y * z // (size or SMALLEST_SUBGROUP))
    if count == 1:
        return partial
    scratch = _scratch(t, count)
    if _in_loop(t.op):
        # The results of the round before may still be read.
        barrier(e, buffers=False)
    first = e.op("OpIEqual", "bool", ids.lane(e), e.const("u32", 0))
    _, _, merge = selection(e, first)
    store_element(e, Place(scratch, "u32", ids.subgroup(e)), 0, partial)
    e.branch(merge)
    e.label(merge)
    barrier(e, buffers=False)
    return _in_ascending_order(t, scratch, None if size is None else count)


def _in_ascending_order(t: _Type, scratch: Memory, count: int | None) -> Id:
    e = t.e

    def partial(number: Id) -> Id:
        return load_element(e, Place(scratch, "u32", number), 0)

    total = partial(e.const("u32", 0))
    if count is not None:
        for number in range(1, count):
            total = t.combine(total, partial(e.const("u32", number)))
        return total
    limit = e.builtin("NumSubgroups")

    def step(state: list[Id]) -> list[Id]:
        number, so_far = state
        return [e.op("OpIAdd", "u32", number, e.const("u32", 1)), t.combine(so_far, partial(number))]

    first = (("u32", e.const("u32", 1)), (t.kind, total))
    return repeat(e, first, lambda state: e.op("OpULessThan", "bool", state[0], limit), step)[1]


def _in_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            return True
        parent = parent.parent_op()
    return False


ROWS: dict[str, Row] = {
    "gpu.barrier": _barrier,
    "motif.arrive": _arrive,
    "motif.wait": _barrier,
    "motif.subgroup_reduce": _subgroup_reduce,
    "motif.subgroup_scan": _scan,
    "motif.subgroup_broadcast": _from_lane,
    "motif.subgroup_shuffle": _from_lane,
    "motif.subgroup_shuffle_xor": _shuffle_xor,
    "motif.workgroup_reduce": _workgroup_reduce,
}
