"""Comparisons into lane masks (VOPC), and those that write EXEC."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opcode_semantics.patterns import VIEW
from opcode_semantics.reals import signalling
from opcode_semantics.rows import CDNA, RDNA, Row, floats

Array = np.ndarray[Any, Any]


def _nan(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "lg": lambda a, b: (a != b) & ~_nan(a, b), "ge": lambda a, b: a >= b, "o": lambda a, b: ~_nan(a, b), "u": _nan,
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: (a == b) | _nan(a, b), "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b), "neq": lambda a, b: (a != b) | _nan(a, b), "nlt": lambda a, b: ~(a < b),
    "f": lambda a, b: np.zeros(a.shape, bool), "tru t": lambda a, b: np.ones(a.shape, bool),
}  # fmt: skip
"""Condition -> meaning; `n...` is the negation, true for NaN."""
WHOLE = {
    "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater, "ne": np.not_equal, "ge": np.greater_equal,
    "f": FLOATS["f"], "t": FLOATS["tru t"],
}  # fmt: skip

_STORE = "{full}\n  v_cndmask_b32 {d}, 0, 1, "


def classes(x: Array, wanted: Array) -> Array:
    """V_CMP_CLASS: bit 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal,
    8 +normal, 9 +inf."""
    tiny = float(np.finfo(x.dtype).tiny)
    made = []
    for value, quiet, mask in zip(x.tolist(), (~signalling(x)).tolist(), wanted.tolist(), strict=True):
        negative = str(value)[0] == "-"
        if value != value:
            bit = int(quiet)
        elif abs(value) == float("inf"):
            bit = 2 if negative else 9
        elif value == 0:
            bit = 5 if negative else 6
        elif abs(value) < tiny:
            bit = 4 if negative else 7
        else:
            bit = 3 if negative else 8
        made.append(mask >> bit & 1)
    return np.array(made, bool)


def _row(name: str, sources: str, meaning: Callable[..., Array]) -> list[Row]:
    """The comparison into a scalar register, into VCC, and into EXEC."""
    kind = sources.split()[0]
    forms = (
        ("const float noclamp nosuffix" if kind[0] == "f" else "const") if "lt" in name or "class" in name else "once"
    )
    flag = lambda a, b, f=meaning: f(a, b).astype(np.uint32)
    kept = lambda a, b, old, f=meaning: np.where(f(a, b), np.uint32(1), old)
    cmp, cmpx = (" ".join(f"{stem}_{one}" for one in name.split()) for stem in ("v_cmp", "v_cmpx"))
    made = [
        floats(cmp, sources, "u32", flag, forms, text="{op} {m}, {a}, {b}\n  " + _STORE + "{m}", idle_zero=True),
        floats(cmpx, sources, "u32", kept, "once", text="{op} {a}, {b}\n  v_mov_b32 {d}, 1\n  {full}", old=True, archs=RDNA),
        floats(cmpx, sources, "u32", kept, "once", text="{op} {m}, {a}, {b}\n  v_mov_b32 {d}, 1\n  {full}", old=True, archs=(CDNA,)),
    ]  # fmt: skip
    if forms != "once":
        made += [
            floats(cmp, sources, "u32", flag, text="{op} {vcc}, {a}, {b}\n  " + _STORE + "{vcc}", idle_zero=True),
            floats(cmpx, sources, "u32", flag, "once", text="{op} {m}, {a}, {b}\n  " + _STORE + "{m}", idle_zero=True, archs=(CDNA,)),
        ]  # fmt: skip
    if kind[1:] in ("16", "32") and kind[0] in "fiu":
        made += _variants(cmp, sources, meaning)
    return made


def _variants(names: str, sources: str, meaning: Callable[..., Array]) -> list[Row]:
    """Parts of registers on GFX9 (SDWA); the neighbour's operand on RDNA (DPP)."""
    kinds = sources.split()
    views = [VIEW[kind] for kind in kinds]

    def parts(a: Array, b: Array) -> Array:
        low = [x.view(np.uint32) if x.itemsize == 4 else x.view(np.uint16).astype(np.uint32) for x in (a, b)]
        first, second = low[0] >> np.uint32(8) & np.uint32(0xFF), low[1] & np.uint32(0xFFFF)
        seen = [x.astype(f"u{np.dtype(v).itemsize}").view(v) for x, v in zip((first, second), views, strict=True)]
        return meaning(*seen).astype(np.uint32)

    def neighbour(a: Array, b: Array) -> Array:
        return meaning(a[np.arange(len(a)) ^ 1], b).astype(np.uint32)

    store = "\n  " + _STORE
    made = [
        floats(names, sources, "u32", neighbour, "steady", variant="dpp16", archs=RDNA, idle_zero=True,
               text="{op}_e64_dpp {m}, {a}, {b} quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf" + store + "{m}"),
    ]  # fmt: skip
    if kinds[1] != "class":
        made.append(floats(names, sources, "u32", parts, "steady", variant="sdwa", archs=(CDNA,), idle_zero=True,
                           text="{op}_sdwa {vcc}, {a}, {b} src0_sel:BYTE_1 src1_sel:WORD_0" + store + "{vcc}"))  # fmt: skip
    return made


def rows() -> list[Row]:
    made: list[Row] = []
    for kind in ("f16", "f32", "f64"):
        for condition, real in FLOATS.items():
            made += _row(" ".join(f"{c}_{kind}" for c in condition.split()), f"{kind} {kind}", real)
        made += _row(f"class_{kind}", f"{kind} class", classes)
    for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        for condition, whole in WHOLE.items():
            made += _row(f"{condition}_{kind}", f"{kind} {kind}", whole)
    return made
