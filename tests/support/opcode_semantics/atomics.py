"""Atomic operations on global, flat, buffer-described and workgroup memory, with and without the old value."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from opcode_semantics.patterns import LANES
from opcode_semantics.reals import least, least_number, most, most_number
from opcode_semantics.rows import CDNA, RDNA
from opcode_semantics.snippets import Snippet, State, Words

Combine = Callable[..., Any]


@dataclass(frozen=True)
class Atomic:
    """Names after `atomic_` (CDNA; RDNA) and between `ds_` and the type; element type; new value from the old one and
    the operand (and the comparand)."""

    cdna: str
    rdna: str
    shared: str
    kind: str
    combine: Combine
    compare: bool = False


def increment(old: Words, limit: Words) -> Words:
    """Counts up and wraps to 0 at the limit."""
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def decrement(old: Words, limit: Words) -> Words:
    """Counts down and wraps to the limit, also from above it."""
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def packed(kind: Any) -> Combine:
    def add(old: Words, new: Words) -> Words:
        if kind == "bf16":
            up = lambda w: (w.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
            total = (up(old) + up(new)).astype(np.float32)
            import ml_dtypes

            return total.astype(ml_dtypes.bfloat16).view(np.uint32)
        a, b = (np.ascontiguousarray(w).view(np.float16).astype(np.float64) for w in (old, new))
        return (a + b).astype(np.float16).view(np.uint32)

    return add


_WHOLE: Final[tuple[tuple[str, str, str, Combine], ...]] = (
    ("add", "add", "u", lambda o, n: o + n), ("sub", "sub", "u", lambda o, n: o - n), ("smin", "min", "i", np.minimum),
    ("umin", "min", "u", np.minimum), ("smax", "max", "i", np.maximum), ("umax", "max", "u", np.maximum),
    ("and", "and", "b", lambda o, n: o & n), ("or", "or", "b", lambda o, n: o | n), ("xor", "xor", "b", lambda o, n: o ^ n),
    ("inc", "inc", "u", increment), ("dec", "dec", "u", decrement), ("swap", "swap", "b", lambda o, n: n),
)  # fmt: skip


def atomics() -> list[Atomic]:
    made = []
    for bits, tail in ((32, ""), (64, "_x2")):
        for cdna, rdna, letter, combine in _WHOLE:
            kind = f"{'u' if letter == 'b' else letter}{bits}"
            shared = {"swap": f"wrxchg_rtn_b{bits} storexchg_rtn_b{bits}"}.get(cdna, f"{rdna}_{letter}{bits}")
            made.append(Atomic(f"{cdna}{tail}", f"{rdna}_{letter}{bits}", shared, kind, combine))
        made.append(Atomic("-", "-", f"rsub_u{bits}", f"u{bits}", lambda o, n: n - o))
        made.append(Atomic(f"cmpswap{tail}", f"cmpswap_b{bits}", f"cmpst_b{bits} cmpstore_b{bits}", f"u{bits}",
                           lambda o, n, c: np.where(o == c, n, o), True))  # fmt: skip
    made += [
        Atomic("add_f32", "add_f32", "add_f32", "f32", lambda o, n: o + n),
        Atomic("-", "min_f32", "min_f32", "f32", lambda o, n: least(o, n)),
        Atomic("-", "max_f32", "max_f32", "f32", lambda o, n: most(o, n)),
        Atomic("-", "min_num_f32", "min_num_f32", "f32", least_number), Atomic("-", "max_num_f32", "max_num_f32", "f32", most_number),
        Atomic("add_f64", "-", "add_f64", "f64", lambda o, n: o + n),
        Atomic("min_f64", "-", "min_f64", "f64", lambda o, n: least(o, n)), Atomic("max_f64", "-", "max_f64", "f64", lambda o, n: most(o, n)),
        Atomic("pk_add_f16", "pk_add_f16", "pk_add_f16", "pk", packed("f16")),
        Atomic("pk_add_bf16", "pk_add_bf16", "pk_add_bf16", "pk", packed("bf16")),
    ]  # fmt: skip
    return made


DTYPES: Final[dict[str, Any]] = {
    "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f32": np.float32, "f64": np.float64, "pk": np.uint32,
}  # fmt: skip


def operands(s: State, atomic: Atomic) -> tuple[Words, Words, Words]:
    """Old value, operand and comparand: small finite floats, or the random words; a comparand that fits half of the time."""
    if atomic.kind == "pk":
        return halves(s.a), halves(s.b), s.b
    if atomic.kind[0] == "f":
        # v2, v4 and v6, v8 hold them: words of small numbers made below.
        low = (calm(s.a), calm(s.b))
        if atomic.kind == "f32":
            return low[0], low[1], low[1]
        return tuple(pair(np.zeros(LANES, np.uint32), w) for w in (*low, low[1]))  # type: ignore[return-value]
    if atomic.kind.endswith("32"):
        return s.a, s.b, comparand(s, s.a)
    old = pair(s.a, s.x)
    return old, pair(s.b, s.y), np.where(s.lane % 2 == 0, old, pair(s.b, s.x))


def comparand(s: State, old: Words) -> Words:
    return np.where(s.lane % 2 == 0, old, s.b)


def pair(low: Words, high: Words) -> Words:
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def calm(words: Words) -> Words:
    """Floats between 1 and 4, of either sign."""
    return words & np.uint32(0x80FFFFFF) | np.uint32(0x3F800000)


def halves(words: Words) -> Words:
    """Two 16-bit floats of moderate size in both formats."""
    return words & np.uint32(0x83FF83FF) | np.uint32(0x3C003C00)


CALM: Final = "s_mov_b32 s30, 0x80ffffff\ns_mov_b32 s31, 0x3f800000\n"
HALVES: Final = "s_mov_b32 s30, 0x83ff83ff\ns_mov_b32 s31, 0x3c003c00\n"


def prepare(atomic: Atomic) -> str:
    """Old value in v[20:21], operand in v[22:23], comparand in v[24:25]'s stand-in v[28:29] (v25 is the address)."""
    if atomic.kind in ("f32", "pk"):
        mask = CALM if atomic.kind == "f32" else HALVES
        return mask + "v_mov_b32 v20, s31\nv_and_or_b32 v22, v4, s30, v20\nv_and_or_b32 v20, v2, s30, v20\n"
    if atomic.kind == "f64":
        return CALM + (
            "v_mov_b32 v20, 0\nv_mov_b32 v22, 0\nv_mov_b32 v21, s31\nv_and_or_b32 v23, v4, s30, v21\nv_and_or_b32 v21, v2, s30, v21\n"
        )
    upper = "v_mov_b32 v21, v6\nv_mov_b32 v23, v8\n" if atomic.kind.endswith("64") else ""
    text = f"v_mov_b32 v20, v2\nv_mov_b32 v22, v4\n{upper}"
    if atomic.compare:
        text += "v_and_b32 v24, 1, v0\nv_cmp_eq_u32 {vcc}, 1, v24\nv_cndmask_b32 v24, v2, v4, {vcc}\n"
        if atomic.kind.endswith("64"):
            text += "v_mov_b32 v28, v24\nv_mov_b32 v29, v6\n"
        else:
            text += "v_mov_b32 v28, v24\n"
    return text


def wide(atomic: Atomic) -> bool:
    return DTYPES[atomic.kind]().itemsize == 8


def results(s: State, atomic: Atomic) -> tuple[Words, Words]:
    """Memory afterwards and the old value, as words [lanes, size]."""
    dtype = DTYPES[atomic.kind]
    old, new, compared = (np.ascontiguousarray(w) for w in operands(s, atomic))
    given = [w.view(dtype) for w in (old, new, compared)[: 3 if atomic.compare else 2]]
    after = np.ascontiguousarray(atomic.combine(*given)).view(old.dtype)
    return after.view(np.uint32).reshape(LANES, -1), old.view(np.uint32).reshape(LANES, -1)


def register(first: int, is_wide: bool) -> str:
    return f"v[{first}:{first + 1}]" if is_wide else f"v{first}"


def _in_memory(atomic: Atomic) -> list[Snippet]:
    """Global, flat and buffer atomics on 16-byte slots of an output plane."""
    is_wide = wide(atomic)
    names = " ".join(f"{{}}_atomic_{n}" for n in dict.fromkeys((atomic.cdna, atomic.rdna)) if n != "-")
    if not names:
        return []
    store = "global_store_dwordx2 global_store_b64" if is_wide else "global_store_dword global_store_b32"
    carry = "v_addc_co_u32 v_add_co_ci_u32"
    data = register(22, is_wide)
    moved = ""
    if atomic.compare:
        # Vector memory takes the new value and the comparand in one run of registers.
        moved = "v_mov_b32 v30, v22\nv_mov_b32 v31, v28\n" if not is_wide else (
            "v_mov_b32 v30, v22\nv_mov_b32 v31, v23\nv_mov_b32 v32, v28\nv_mov_b32 v33, v29\n")  # fmt: skip
        data = "v[30:33]" if is_wide else "v[30:31]"
    head = prepare(atomic) + moved + f"{{1}} v25, {register(20, is_wide)}, s[38:39]\n{{ws}}\n"
    pointer = "v_mov_b32 v13, s39\nv_add_co_u32 v12, {vcc}, s38, v25\n{2} v13, {vcc}, 0, v13, {vcc}\n"
    describe = "s_mov_b32 s44, s38\ns_mov_b32 s45, s39\ns_movk_i32 s46, 0x1000\ns_mov_b32 s47, s43\n"
    back = register(10, is_wide)
    made = []
    for space, line, before in (
        ("global", "{{0}} {r}v25, {d}, s[38:39]{f}", ""), ("global", "{{0}} {r}v[12:13], {d}, off{f}", pointer),
        ("flat", "{{0}} {r}v[12:13], {d}{f}", pointer), ("buffer", "{{0}} {d}, v25, s[44:47], {{zero}} offen{f}", describe),
    ):  # fmt: skip
        for returns in (False, True):
            if space == "buffer" and returns:
                # The result comes back in the data registers.
                text = (
                    line.format(r="", d=data, f=" {back}")
                    + "\n{wf}\n"
                    + f"v_mov_b32 v10, v{30 if atomic.compare else 22}\n"
                )
                text += f"v_mov_b32 v11, v{31 if atomic.compare else 23}\n" if is_wide else ""
            elif returns:
                text = line.format(r=f"{back}, ", d=data, f=" {back}") + "\n{wf}"
            else:
                text = line.format(r="", d=data, f="") + "\n{ws}\n{wl}"
            ops = f"{names.replace('{}', space)};{store}" + (f";{carry}" if before == pointer else "")
            meaning = lambda s, r=returns: _outcome(s, atomic, r)
            # LLVM 19 does not know the newest of the buffer forms.
            archs = RDNA if (space, atomic.cdna) == ("buffer", "pk_add_bf16") else (CDNA, *RDNA)
            made.append(Snippet(ops, head + before + text, meaning, 4, archs))
    return made


def _outcome(s: State, atomic: Atomic, returns: bool) -> tuple[Words, ...]:
    after, old = results(s, atomic)
    plane = np.full((LANES, 4), 0xDEADBEEF, np.uint32)
    plane[:, : after.shape[1]] = after
    back = [np.ascontiguousarray(old[:, k]) for k in range(old.shape[1])] if returns else []
    return (*plane.ravel().reshape(4, LANES), *back)


def _in_workgroup(atomic: Atomic) -> list[Snippet]:
    """DS atomics on slots of 16 bytes."""
    is_wide = wide(atomic)
    store, load = (
        f"ds_write_b{64 if is_wide else 32} ds_store_b{64 if is_wide else 32}",
        f"ds_read_b{64 if is_wide else 32} ds_load_b{64 if is_wide else 32}",
    )
    head = prepare(atomic) + f"{{1}} v25, {register(20, is_wide)}\n{{wl}}\n"
    tail = f"{{2}} {register(10, is_wide)}, v25\n{{wl}}"
    made = []
    for returns in (False, True):
        names = atomic.shared
        if "_rtn_" in names and not returns:
            continue
        if returns and "_rtn_" not in names:
            names = " ".join(_returning(n) for n in names.split())
        result = f"{register(12, is_wide)}, " if returns else ""
        for archs in ((CDNA,), RDNA):
            first, second = register(22, is_wide), register(28, is_wide)
            if archs == (CDNA,):
                first, second = second, first  # GFX9 names the comparand first
            data = f"{first}, {second}" if atomic.compare else register(22, is_wide)
            move = (
                ""
                if not returns
                else ("v_mov_b32 v11, v12" if not is_wide else "v_mov_b32 v12, v12\nv_mov_b32 v13, v13")
            )
            text = f"{head}{{0}} {result}v25, {data}\n{{wl}}\n{tail}\n{move}"
            ops = ";".join((" ".join(f"ds_{n}" for n in names.split()), store, load))
            made.append(Snippet(ops, text, lambda s, r=returns: _shared_outcome(s, atomic, r), archs=archs))
    return made


def _returning(name: str) -> str:
    stem, kind = name.rsplit("_", 1)
    return f"{stem}_rtn_{kind}"


def _shared_outcome(s: State, atomic: Atomic, returns: bool) -> tuple[Words, ...]:
    after, old = results(s, atomic)
    columns = [np.ascontiguousarray(after[:, k]) for k in range(after.shape[1])]
    return (*columns, *(np.ascontiguousarray(old[:, k]) for k in range(old.shape[1]) if returns))


def snippets() -> list[Snippet]:
    return [piece for atomic in atomics() for piece in (*_in_memory(atomic), *_in_workgroup(atomic))]
