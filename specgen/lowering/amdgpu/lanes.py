"""Moving values between the lanes of a subgroup, 32 bits at a time.

DPP stays within rows of 16 lanes and costs nothing beside the operation it feeds; what it cannot do goes through
`permlanex16` (RDNA), the swizzle unit, or `ds_bpermute`. All lanes are active wherever these are used: that is what
a collective demands. Control words: "RDNA3 Instruction Set Architecture", section on DPP, and LLVM's SIDefines.h.
"""

from __future__ import annotations

from collections.abc import Callable

from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.builder import Builder, integer
from specgen.lowering.amdgpu.context import Lowering
from specgen.lowering.amdgpu.types import Value

Move = Callable[[Value], Value]
"""Moves one `i32`."""

QUAD_XOR = {1: 0xB1, 2: 0x4E, 3: 0x1B}
"""DPP quad_perm controls: [1,0,3,2], [2,3,0,1], [3,2,1,0]."""

ROW_XMASK = 0x160
ROW_SHIFT_RIGHT = 0x110
ROW_HALF_MIRROR, ROW_MIRROR = 0x141, 0x140
"""Lane i takes 7 - i within 8, and 15 - i within 16."""

SWIZZLE_XOR = 10
"""Bit position of the XOR mask in ds_swizzle's bit-mask mode."""


def dpp(b: Builder, control: int) -> Move:
    """A DPP move in all rows."""

    def move(word: Value) -> Value:
        return b.intrinsic(
            "amdgcn.update.dpp.i32",
            "i32",
            Value("i32", "poison"),
            word,
            integer("i32", control),
            integer("i32", 15),
            integer("i32", 15),
            Value("i1", "true"),
        )

    return move


def from_lane(b: Builder, lane: Value) -> Move:
    """Each lane takes the value of the lane it names (`i32`)."""
    place = b.binary("shl", lane, integer("i32", 2))
    return lambda word: b.intrinsic("amdgcn.ds.bpermute", "i32", place, word)


def lane_number(low: Lowering) -> Value:
    """The lane's number in its subgroup, `i32`."""
    b, all_ones = low.b, integer("i32", -1)
    low_half = b.intrinsic("amdgcn.mbcnt.lo", "i32", all_ones, integer("i32", 0))
    return low_half if low.wave == 32 else b.intrinsic("amdgcn.mbcnt.hi", "i32", all_ones, low_half)


def exchange(low: Lowering, distance: int) -> Move:
    """Each lane takes the value of lane `self ^ distance`."""
    b = low.b
    if distance in QUAD_XOR:
        return dpp(b, QUAD_XOR[distance])
    if distance < 16 and low.target.family != "gfx9":
        return dpp(b, ROW_XMASK | distance)
    if distance == 16 and low.target.family != "gfx9":
        return _other_row(b)
    if distance < 32:
        pattern = integer("i32", distance << SWIZZLE_XOR | 0x1F)
        return lambda word: b.intrinsic("amdgcn.ds.swizzle", "i32", word, pattern)
    return from_lane(b, b.binary("xor", lane_number(low), integer("i32", distance)))


def _other_row(b: Builder) -> Move:
    """v_permlanex16 with the identity: the same lane of the other row of 16."""
    flags = (Value("i1", "false"), Value("i1", "false"))

    def move(word: Value) -> Value:
        selectors = (Value("i32", str(0x76543210)), Value("i32", str(0xFEDCBA98 - 2**32)))
        return b.intrinsic("amdgcn.permlanex16.i32", "i32", Value("i32", "poison"), word, *selectors, *flags)

    return move


def partner(low: Lowering, distance: int) -> Move:
    """For a butterfly: `exchange`, or a mirror where that is cheaper.

    After the steps below `distance` all lanes of a cluster hold the same bits, so any lane of the other half of the
    pair serves: 7 - i for i ^ 4, and 15 - i for i ^ 8.
    """
    if low.target.family == "gfx9" and distance in (4, 8):
        return dpp(low.b, ROW_HALF_MIRROR if distance == 4 else ROW_MIRROR)
    return exchange(low, distance)


def first_lane(low: Lowering) -> Move:
    """The value of the first active lane, in a scalar register."""
    return lambda word: low.b.intrinsic("amdgcn.readfirstlane.i32", "i32", word)


def one_lane(low: Lowering, lane: Value) -> Move:
    """The value of a lane that all agree on, in a scalar register."""
    if not lane.ref.isdigit():
        lane = first_lane(low)(lane)
    return lambda word: low.b.intrinsic("amdgcn.readlane.i32", "i32", word, lane)


def moved(b: Builder, value: Value, move: Move) -> Value:
    """A value of any scalar type or vector moved as `i32` words."""
    total = types.bits_text(value.type) * (types.count_text(value.type) or 1)
    if total < 32:
        whole = b.cast("bitcast", value, f"i{total}")
        back = b.cast("trunc", move(b.cast("zext", whole, "i32")), whole.type)
        return b.cast("bitcast", back, value.type)
    if total == 32:
        return b.cast("bitcast", move(b.cast("bitcast", value, "i32")), value.type)
    if total % 32:
        items = [moved(b, b.extract(value, n), move) for n in range(types.count_text(value.type) or 0)]
        return b.gather(items)
    words = b.cast("bitcast", value, f"<{total // 32} x i32>")
    parts = [move(b.extract(words, n)) for n in range(total // 32)]
    return b.cast("bitcast", b.gather(parts), value.type)
