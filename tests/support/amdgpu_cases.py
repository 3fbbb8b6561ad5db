"""Every element-wise op of the IR on the types that it takes, and the values that test it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from amdgpu_kernels import DTYPES, Case

INTEGERS = ("i8", "i16", "i32", "i64", "index")
FLOATS = ("f16", "bf16", "f32", "f64")
NARROW = ("f16", "bf16", "f32")

CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)

BITWISE_MATH = ("absf", "ceil", "floor", "trunc", "roundeven", "sqrt")
TRANSCENDENTAL = ("rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf")


def _binary(op: str, types: tuple[str, ...]) -> Iterator[Case]:
    for t in types:
        yield Case(f"{op.replace('.', '_')}_{t}", (t, t), t, f"%r = {op} %a, %b : {t}")


def _unary(op: str, types: tuple[str, ...]) -> Iterator[Case]:
    for t in types:
        yield Case(f"{op.replace('.', '_')}_{t}", (t,), t, f"%r = {op} %a : {t}")


def _guarded_divisions() -> Iterator[Case]:
    """Divisors are made odd: the binder never lets a zero through."""
    names = ("floordivsi", "ceildivsi", "ceildivui", "divui", "remui", "remsi")
    for t in INTEGERS:
        odd = f"%one = arith.constant 1 : {t}\n%d = arith.ori %b, %one : {t}\n"
        for op in names:
            yield Case(f"arith_{op}_{t}", (t, t), t, odd + f"%r = arith.{op} %a, %d : {t}")
        text = f'%r = "motif.floorremsi"(%a, %d) : ({t}, {t}) -> {t}'
        yield Case(f"motif_floorremsi_{t}", (t, t), t, odd + text)


def _conversions() -> Iterator[Case]:
    widths = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
    for a, wa in widths.items():
        for b, wb in widths.items():
            if wa < wb:
                for op in ("extsi", "extui"):
                    yield Case(f"arith_{op}_{a}_{b}", (a,), b, f"%r = arith.{op} %a : {a} to {b}")
            elif wa > wb:
                yield Case(f"arith_trunci_{a}_{b}", (a,), b, f"%r = arith.trunci %a : {a} to {b}")
    for t in ("i1", "i8", "i16", "i32"):
        yield Case(f"arith_index_cast_{t}_index", (t,), "index", f"%r = arith.index_cast %a : {t} to index")
        yield Case(f"arith_index_cast_index_{t}", ("index",), t, f"%r = arith.index_cast %a : index to {t}")
    for f in FLOATS:
        for i in ("i1", "i8", "i16", "i32", "i64"):
            for op in ("sitofp", "uitofp"):
                yield Case(f"arith_{op}_{i}_{f}", (i,), f, f"%r = arith.{op} %a : {i} to {f}")
        for i in ("i8", "i16", "i32", "i64"):
            text = f'%r = "motif.fptoi"(%a) <{{signed}}> : ({f}) -> {i}'
            yield Case(f"motif_fptoi_s_{f}_{i}", (f,), i, text)
            yield Case(f"motif_fptoi_u_{f}_{i}", (f,), i, text.replace("<{signed}> ", ""))
    for a, b in (("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")):
        yield Case(f"arith_extf_{a}_{b}", (a,), b, f"%r = arith.extf %a : {a} to {b}")
        yield Case(f"arith_truncf_{b}_{a}", (b,), a, f"%r = arith.truncf %a : {b} to {a}")
        zero = f'%r = arith.truncf %a {{motif.rounding = "zero"}} : {b} to {a}'
        yield Case(f"arith_truncf_zero_{b}_{a}", (b,), a, zero)
    for a, b in (("f32", "i32"), ("i32", "f32"), ("f16", "i16"), ("bf16", "i16"), ("i16", "bf16"), ("f64", "i64")):
        yield Case(f"arith_bitcast_{a}_{b}", (a,), b, f"%r = arith.bitcast %a : {a} to {b}")


def _integer_cases() -> Iterator[Case]:
    for op in ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"):
        yield from _binary(f"arith.{op}", INTEGERS)
    for op in ("andi", "ori", "xori"):
        yield from _binary(f"arith.{op}", ("i1",))
    yield from _guarded_divisions()
    for t in INTEGERS:
        # Amounts from -1 to width + 1, most of them inside.
        width = 8 * DTYPES[t].itemsize
        limit = f"%w = arith.constant {width + 3} : {t}\n%m = arith.remui %b, %w : {t}\n%one = arith.constant 1 : {t}\n"
        amount = limit + f"%n = arith.subi %m, %one : {t}\n"
        for op in ("shli", "shrui", "shrsi"):
            yield Case(f"arith_{op}_{t}", (t, t), t, amount + f"%r = arith.{op} %a, %n : {t}")
        for predicate in CMPI:
            yield Case(f"cmpi_{predicate}_{t}", (t, t), "i1", f"%r = arith.cmpi {predicate}, %a, %b : {t}")
        for op in ("absi", "ctpop", "ctlz", "cttz"):
            yield Case(f"math_{op}_{t}", (t,), t, f"%r = math.{op} %a : {t}")
        yield Case(f"select_{t}", ("i1", t, t), t, f"%r = arith.select %a, %b, %c : {t}")


def _float_cases() -> Iterator[Case]:
    for op in ("addf", "subf", "mulf", "divf", "minnumf", "maxnumf"):
        yield from _binary(f"arith.{op}", FLOATS)
    yield from _unary("arith.negf", FLOATS)
    for op in BITWISE_MATH:
        yield from _unary(f"math.{op}", FLOATS)
    for t in FLOATS:
        yield Case(f"math_fma_{t}", (t, t, t), t, f"%r = math.fma %a, %b, %c : {t}")
        for predicate in CMPF:
            yield Case(f"cmpf_{predicate}_{t}", (t, t), "i1", f"%r = arith.cmpf {predicate}, %a, %b : {t}")
        yield Case(f"select_{t}", ("i1", t, t), t, f"%r = arith.select %a, %b, %c : {t}")


def exact_cases() -> list[Case]:
    """Ops whose result is the same bits on every device."""
    return [*_integer_cases(), *_float_cases(), *_conversions()]


def bounded_cases() -> list[Case]:
    """Ops with an error bound."""
    cases = [c for op in TRANSCENDENTAL for c in _unary(f"math.{op}", NARROW)]
    return [*cases, *_unary("math.rsqrt", ("f64",))]


MOST = 9
"""Cases of one kernel: each has a buffer of its own, whose descriptor takes four scalar registers."""


def grouped(cases: list[Case]) -> dict[str, list[Case]]:
    """Cases that share their inputs, by the name of the kernel that holds them."""
    by_inputs: dict[str, list[Case]] = {}
    for case in cases:
        by_inputs.setdefault("ops_" + "_".join(case.inputs), []).append(case)
    return {
        f"{name}_{start // MOST}": same[start : start + MOST]
        for name, same in by_inputs.items()
        for start in range(0, len(same), MOST)
    }


FLOAT_SPECIALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, 255.5, 1e5)


def values(type_: str, count: int, seed: int) -> np.ndarray:
    """Values of a type: special ones first, then random ones of every size."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[type_]
    if type_ == "i1":
        return rng.integers(0, 2, count).astype(np.int8)
    if type_ in FLOATS:
        raw = rng.integers(0, 2**63, count, dtype=np.uint64).view(np.int64)
        random = np.frombuffer(raw.tobytes(), dtype)[:count].copy()
        near = (rng.standard_normal(count) * 8).astype(dtype)
        mixed = np.where(rng.integers(0, 2, count) == 0, random, near)
        with np.errstate(over="ignore"):
            mixed[: len(FLOAT_SPECIALS)] = rng.permutation(np.array(FLOAT_SPECIALS)).astype(dtype)
        return mixed
    info = np.iinfo(dtype)
    # `index` arithmetic must not overflow, so its values stay small.
    low, high = (-(2**30), 2**30) if type_ == "index" else (info.min, info.max)
    found = rng.integers(low, high, count, dtype=dtype, endpoint=True)
    small = rng.integers(-20, 20, count).astype(dtype)
    found = np.where(rng.integers(0, 3, count) == 0, small, found)
    specials = np.array([0, 1, -1, 2, -2, low, high], dtype)
    found[: len(specials)] = rng.permutation(specials)
    return found
