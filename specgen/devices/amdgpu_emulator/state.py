"""The state of all waves of a launch (or of a chunk of it), and the functions that block code calls on it.

Selections `ix` are None (every wave), a slice, or an array of wave numbers. Shapes are [waves, lanes] for
vectors and [waves, 1] for scalars.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.atomics import COMBINE, IN_PLACE, TYPES
from specgen.devices.amdgpu_emulator.emitter import PRIVATE_APERTURE, SCALAR_COUNT, SHARED_APERTURE
from specgen.devices.amdgpu_emulator.memory import ADDRESS_BASE, Arena, Banked, Mask, Site
from specgen.devices.amdgpu_emulator.sanitize import LdsRaces, Reporter, conflicting_lanes

Array = NDArray[Any]

_EXEC: Final = 126


class Machine:
    """Registers and memories. `full` says that every lane of every wave is active."""

    def __init__(self, waves: int, lanes: int, reporter: Reporter, sanitize: bool) -> None:
        self.waves = waves
        self.lanes = lanes
        self.reporter = reporter
        self.sanitize = sanitize
        self.v: list[Array | None] = [None] * 512
        self.vf: list[Array | None] = [None] * 512
        self.scalars: Array = np.zeros((waves, SCALAR_COUNT), np.uint32)
        wide = self.scalars.view(np.uint64)
        self.s = [self.scalars[:, at : at + 1] for at in range(SCALAR_COUNT)]
        self.q = {2 * at: wide[:, at : at + 1] for at in range(SCALAR_COUNT // 2)}
        self.scc: Array = np.zeros((waves, 1), bool)
        self.x: Array = np.ones((waves, lanes), bool)
        self.full = True
        self.arena: Arena
        self.lds: Banked
        self.scratch: Banked
        self.races: LdsRaces | None = None
        self.workgroup: Array = np.zeros((waves, 1), np.int64)
        """Local number of each wave's workgroup."""
        self.bank: Array = np.arange(waves * lanes, dtype=np.int64).reshape(waves, lanes)
        self.code_address = 0
        self.signals: Array = np.zeros((waves, 1), np.int64)
        """Barriers that each wave has signalled."""
        self.written = _Written(waves, lanes)

    def ensure(self, registers: tuple[int, ...]) -> None:
        """Make room for vector registers; they start as zero, and as unwritten for the sanitizer."""
        for at in registers:
            if self.v[at] is None:
                array = np.zeros((self.waves, self.lanes), np.uint32)
                self.v[at], self.vf[at] = array, array.view(np.float32)

    def barrier_signal(self, ix: Any) -> None:
        """Waves arrive at a barrier."""
        rows = slice(None) if ix is None else ix
        self.signals[rows] += 1
        if self.races is not None:
            self.races.signalled[rows] += 1

    def barrier_wait(self, waves: Array) -> None:
        """Waves have passed a barrier."""
        if self.races is not None:
            self.races.waited[waves] = self.races.signalled[waves]

    def vector(self, at: int) -> Array:
        """A vector register, made when absent."""
        self.ensure((at,))
        array = self.v[at]
        assert array is not None
        return array

    def set_exec_all(self, active: Array) -> None:
        """Set the mask that every wave starts with."""
        self.x[...] = active
        self.written.possible = active.copy()
        self.full = bool(active.all())
        bits = np.packbits(active, axis=1, bitorder="little")
        words = np.ascontiguousarray(bits).view(np.uint32)
        self.scalars[:, _EXEC : _EXEC + words.shape[1]] = words


class _Written:
    """Which registers have been written, a lane (vectors) or a wave (scalars) at a time.

    `v[at]` is True once every lane of every wave was written, else a boolean array (None: nothing yet).
    """

    def __init__(self, waves: int, lanes: int) -> None:
        self.v: list[Any] = [None] * 512
        self.s: list[Any] = [None] * SCALAR_COUNT
        self._shape = (waves, lanes)
        self.possible: Array = np.ones(self._shape, bool)
        """Lanes that belong to a work-item: the others never matter."""

    def mark_v(self, at: int, ix: Any, mask: Mask) -> None:
        if mask is True and ix is None:
            self.v[at] = True
            return
        if self.v[at] is None:
            self.v[at] = np.zeros(self._shape, bool)
        known = self.v[at]
        if ix is None:
            known |= mask
        else:
            known[ix] |= mask
        if (known >= self.possible).all():
            self.v[at] = True

    def follow_v(self, at: int, source: int, ix: Any, mask: Mask) -> None:
        """Where `mask` holds, `at` is written exactly where `source` is: what a copy leaves."""
        self._follow(at, True if at == source else self.v[source], ix, mask)

    def spread(self, at: int, source: int, ix: Any, mask: Mask) -> None:
        """The same for the scalar register `source`: written in all lanes of a wave or in none."""
        self._follow(at, self.s[source], ix, mask)

    def _follow(self, at: int, known: Any, ix: Any, mask: Mask) -> None:
        own = self.v[at]
        if known is True:
            if own is not True:
                self.mark_v(at, ix, mask)
            return
        whole = self.possible.copy() if own is True else np.zeros(self._shape, bool) if own is None else own
        rows = slice(None) if ix is None else ix
        have = False if known is None else known[rows]
        whole[rows] = np.where(np.asarray(mask), have, whole[rows])
        self.v[at] = whole

    def write_lane(self, at: int, lane: Array, source: int | None, ix: Any) -> None:
        """One lane of a register is written exactly where the scalar register `source` (None: a constant) is."""
        rows = slice(None) if ix is None else ix
        known: Any = True if source is None else self.s[source]
        own = self.v[at]
        whole = np.ones(self._shape, bool) if own is True else np.zeros(self._shape, bool) if own is None else own
        part = whole[rows]
        have = known if known is True else np.zeros(len(part), bool) if known is None else known[rows][:, 0]
        part[np.arange(len(part)), _lane_numbers(lane, part)] = have
        whole[rows] = part
        self.v[at] = True if (whole >= self.possible).all() else whole

    def read_lane(self, at: int, lane: Array, target: int, ix: Any) -> None:
        """A scalar register is written exactly where one lane of a vector register is."""
        known = self.v[at]
        if known is None or known is True:
            self.follow_s(target, bool(known), ix)
            return
        part = known[slice(None) if ix is None else ix]
        self.follow_s(target, part[np.arange(len(part)), _lane_numbers(lane, part)][:, None], ix)

    def copy_s(self, target: int, source: int, ix: Any) -> None:
        """A scalar register is written exactly where another one is."""
        known = self.s[source]
        if known is None or known is True:
            self.follow_s(target, bool(known), ix)
            return
        self.follow_s(target, known[slice(None) if ix is None else ix], ix)

    def follow_s(self, at: int, have: Any, ix: Any) -> None:
        if have is True:
            if self.s[at] is not True:
                self.mark_s(at, ix)
            return
        own = self.s[at]
        shape = (self._shape[0], 1)
        whole = np.ones(shape, bool) if own is True else np.zeros(shape, bool) if own is None else own
        whole[slice(None) if ix is None else ix] = have
        self.s[at] = True if whole.all() else whole

    def mark_s(self, at: int, ix: Any) -> None:
        if ix is None:
            self.s[at] = True
            return
        if self.s[at] is None:
            self.s[at] = np.zeros((self._shape[0], 1), bool)
        self.s[at][ix] = True
        if self.s[at].all():
            self.s[at] = True


def _lane_numbers(lane: Array, waves: Array) -> Array:
    """[waves] lane that a scalar operand names, as `v_readlane` takes it."""
    return np.broadcast_to(lane, (waves.shape[0], 1))[:, 0] & np.uint32(waves.shape[1] - 1)


def set_exec(st: Machine, ix: Any, active: Array) -> Mask:
    """Store a new EXEC mask; returns `True` when all of its lanes are active, else the mask."""
    st.x[slice(None) if ix is None else ix] = active
    full = bool(active.all())
    if not full:
        st.full = False
        return active
    if ix is None:
        st.full = True
    return True


def check_vector(st: Machine, at: int, ix: Any, mask: Mask, index: int) -> None:
    """Report lanes that read a vector register before any write of it."""
    known = st.written.v[at]
    if known is True:
        return
    shape = st.x[slice(None) if ix is None else ix].shape
    have = np.zeros(shape, bool) if known is None else known if ix is None else known[ix]
    missing = np.broadcast_to(np.asarray(mask), shape) & ~have
    if missing.any():
        st.reporter.report(
            "unwritten-read", (index, ix), missing, f"vector register {_vector_name(at)} was never written"
        )
        st.written.mark_v(at, ix, True)


def check_scalar(st: Machine, at: int, ix: Any, index: int) -> None:
    """Report waves that read a scalar register before any write of it."""
    known = st.written.s[at]
    if known is True:
        return
    rows = slice(None) if ix is None else ix
    missing = np.ones((*st.x[rows].shape[:1], 1), bool) if known is None else ~known[rows]
    if missing.any():
        st.reporter.report("unwritten-read", (index, ix), missing, f"scalar register s{at} was never written")
        st.written.mark_s(at, ix)


def _vector_name(at: int) -> str:
    return f"v{at}" if at < 256 else f"a{at - 256}"


def st_shape(st: Machine, ix: Any) -> tuple[int, int]:
    """Shape of a scalar value of the selection."""
    return (st.scc if ix is None else st.scc[ix]).shape


# -- global memory ----------------------------------------------------------------------------------------


def global_load(st: Machine, offsets: Array, mask: Mask, size: int, site: Site) -> Array:
    return st.arena.load(offsets, mask, size, site)


def global_store(st: Machine, offsets: Array, mask: Mask, size: int, words: list[Array], site: Site) -> None:
    st.arena.store(offsets, mask, size, words, site)


DROPPED_FROM, DROPPED_UNTIL = 0x80000000, 0xC0000000
"""Lane offsets of accesses through a descriptor that are to touch nothing (`lowering.amdgpu.addresses`)."""


def buffer_address(
    st: Machine, words: tuple[Array, ...], scalar: Array, index: Array | None, offset: Array | None, immediate: int,
    size: int, mask: Mask, shape: tuple[int, int], site: Site,
) -> tuple[Array, Mask]:  # fmt: skip
    """Arena offsets behind a buffer descriptor, and the lanes that its range check lets through.

    A lane beyond the descriptor's range is reported: the hardware would silently read zero or drop the store. Lane
    offsets from 2 GiB to 3 GiB are how our code drops an access on purpose, and are dropped without a word; a small
    negative offset, as a wrong index gives it, is above them.
    """
    low, high, records, flags = words
    base = low.astype(np.int64) | ((high & np.uint32(0xFFFF)).astype(np.int64) << 32)
    stride = ((high >> np.uint32(16)) & np.uint32(0x3FFF)).astype(np.int64)
    if ((high >> np.uint32(31)) & np.uint32(1)).any() or ((flags >> np.uint32(23)) & np.uint32(1)).any():
        st.reporter.unsupported(site, "swizzled buffer descriptor")
    constant = scalar.astype(np.int64) + immediate
    position = offset + constant if offset is not None else np.zeros(shape, np.int64) + constant
    limit = records.astype(np.int64)
    if index is not None:
        limit = np.where(stride > 0, limit * stride, limit)
        position = position + index.astype(np.int64) * stride
    elif stride.any():
        st.reporter.unsupported(site, "structured buffer descriptor without an index")
    if int(position.max()) + size > int(limit.min()) and (beyond := (position + size > limit) & mask).any():
        mask = np.broadcast_to(np.asarray(mask), shape) & ~beyond
        if offset is not None:
            # The hardware subtracts the scalar offset from the range, which must not wrap.
            beyond &= (offset < DROPPED_FROM) | (offset >= DROPPED_UNTIL) | (scalar > records)
    else:
        beyond = None
    if beyond is not None and beyond.any():
        at = int(position[beyond][0])
        detail = (
            f"{size} bytes at byte {at} of a buffer descriptor of {int(np.max(limit))} bytes (the hardware hides it)"
        )
        st.reporter.report("out-of-bounds", site, beyond, detail)
    return base + position - ADDRESS_BASE, mask


def scalar_load(st: Machine, address: Array, size: int, site: Site) -> Array:
    """Words [waves, 1, count] at byte addresses; the hardware ignores the two lowest address bits."""
    offsets = address - ADDRESS_BASE
    if size >= 4:
        odd = offsets & 3 != 0
        if odd.any():
            st.reporter.report("misaligned", site, odd, f"scalar load: {st.arena.describe(offsets, odd, size)}")
            offsets = offsets & ~3
    return st.arena.load(offsets, True, size, site)


def scalar_buffer_load(st: Machine, words: tuple[Array, ...], offset: Any, size: int, site: Site) -> Array:
    low, high, records, _ = words
    base = low.astype(np.int64) | ((high & np.uint32(0xFFFF)).astype(np.int64) << 32)
    position = np.zeros(base.shape, np.int64) + offset
    beyond = position + size > records.astype(np.int64)
    if beyond.any():
        detail = (
            f"{size} bytes at byte {int(position[beyond][0])} of a scalar buffer descriptor (the hardware hides it)"
        )
        st.reporter.report("out-of-bounds", site, beyond, detail)
    return st.arena.load(base + position - ADDRESS_BASE, ~beyond if beyond.any() else True, size, site)


# -- workgroup memory and scratch -------------------------------------------------------------------------


def _lds_place(st: Machine, offsets: Array, mask: Mask, size: int, site: Site) -> tuple[Array, Mask]:
    group = st.workgroup if site[1] is None else st.workgroup[site[1]]
    return st.lds.place(group, offsets, mask, size, site)


def lds_load(st: Machine, offsets: Array, mask: Mask, size: int, site: Site) -> Array:
    flat, mask = _lds_place(st, offsets, mask, size, site)
    if st.races is not None:
        st.races.read(flat, mask, size, site)
    return st.lds.load(flat, mask, size, site)


def lds_store(st: Machine, offsets: Array, mask: Mask, size: int, words: list[Array], site: Site) -> None:
    flat, mask = _lds_place(st, offsets, mask, size, site)
    if st.races is not None:
        st.races.write(flat, mask, size, site)
    st.lds.store(flat, mask, size, words, site)
    if st.sanitize:
        conflicting_lanes(st.lds, flat, mask, size, words, site, st.reporter.report)


def _scratch_place(st: Machine, offsets: Array, mask: Mask, size: int, site: Site) -> tuple[Array, Mask]:
    bank = st.bank if site[1] is None else st.bank[site[1]]
    return st.scratch.place(bank, offsets, mask, size, site)


def scratch_load(st: Machine, offsets: Array, mask: Mask, size: int, site: Site) -> Array:
    flat, mask = _scratch_place(st, offsets, mask, size, site)
    return st.scratch.load(flat, mask, size, site)


def scratch_store(st: Machine, offsets: Array, mask: Mask, size: int, words: list[Array], site: Site) -> None:
    flat, mask = _scratch_place(st, offsets, mask, size, site)
    st.scratch.store(flat, mask, size, words, site)


# -- atomics ----------------------------------------------------------------------------------------------


def _apply_atomic(
    space: Any, flat: Array, mask: Mask, operation: str, kind: str, values: list[Array], returns: bool, site: Site
) -> Any:
    dtype = TYPES[kind]
    values = [np.ascontiguousarray(value).view(dtype) for value in values]
    if not returns and operation in IN_PLACE and not kind.startswith("pk"):
        space.accumulate(flat, mask, IN_PLACE[operation], values[0], dtype, site)
        return None
    combine = COMBINE[operation]

    def update(old: Array, *operands: Array) -> Array:
        return np.ascontiguousarray(combine(old.view(dtype), *operands)).view(old.dtype)

    return space.atomic(flat, mask, dtype.itemsize, update, values, site)


def global_atomic(
    st: Machine, offsets: Array, mask: Mask, op: str, kind: str, values: list[Array], returns: bool, site: Site
) -> Any:
    return _apply_atomic(st.arena, offsets, mask, op, kind, values, returns, site)


def lds_atomic(
    st: Machine, offsets: Array, mask: Mask, op: str, kind: str, values: list[Array], returns: bool, site: Site
) -> Any:
    size = TYPES[kind].itemsize
    flat, mask = _lds_place(st, offsets, mask, size, site)
    if st.races is not None:
        st.races.atomic(flat, mask, size, site)
    return _apply_atomic(st.lds, flat, mask, op, kind, values, returns, site)


# -- flat addresses ---------------------------------------------------------------------------------------


def _route(st: Machine, address: Array, mask: Mask) -> list[tuple[Any, Array, Mask]]:
    """The parts of a flat access by address space: (kind, offsets in that space, lanes)."""
    high = address & ~np.int64(0xFFFFFFFF)
    parts: list[tuple[Any, Array, Mask]] = []
    shared, private = high == SHARED_APERTURE, high == PRIVATE_APERTURE
    low = address & np.int64(0xFFFFFFFF)
    if (shared & mask).any():
        parts.append(("lds", low, shared & mask))
    if (private & mask).any():
        parts.append(("scratch", low, private & mask))
    rest = mask if not parts else ~shared & ~private & mask
    if rest is True or rest.any():
        parts.append(("global", address - ADDRESS_BASE, rest))
    return parts


def flat_load(st: Machine, address: Array, mask: Mask, size: int, site: Site) -> Array:
    loads = {"lds": lds_load, "scratch": scratch_load, "global": global_load}
    result = np.zeros((*address.shape, max(1, size // 4)), np.uint32)
    for name, offsets, lanes in _route(st, address, mask):
        result |= loads[name](st, offsets, lanes, size, site)
    return result


def flat_store(st: Machine, address: Array, mask: Mask, size: int, words: list[Array], site: Site) -> None:
    stores = {"lds": lds_store, "scratch": scratch_store, "global": global_store}
    for name, offsets, lanes in _route(st, address, mask):
        stores[name](st, offsets, lanes, size, words, site)


def flat_atomic(
    st: Machine, address: Array, mask: Mask, op: str, kind: str, values: list[Array], returns: bool, site: Site
) -> Any:
    result = np.zeros(address.shape, {4: np.uint32, 8: np.uint64}[TYPES[kind].itemsize])
    for name, offsets, lanes in _route(st, address, mask):
        if name == "scratch":
            st.reporter.unsupported(site, "atomic on private memory")
            continue
        function = lds_atomic if name == "lds" else global_atomic
        part = function(st, offsets, lanes, op, kind, values, returns, site)
        if part is not None:
            result |= part
    return result
