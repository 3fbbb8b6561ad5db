"""Elementwise operations as LLVM IR, each with its meaning in numpy: `out[i] = op(a[i], b[i], c[i])`.

The meaning is written independently of the emulator: numpy's own operations, with float64 in between where a
fused or rounded-once result is due.
"""

# ruff: noqa: E501 (rows of tables of LLVM IR)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, Any] = {
    "float": np.float32,
    "half": np.float16,
    "double": np.float64,
    "bfloat": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}

WORKGROUP = 64
COUNT = 192


@dataclass(frozen=True)
class Operation:
    """`body` computes %r from %a, %b, %c (types of `inputs`); `expected` does it in numpy. `ulp` 0: bitwise."""

    name: str
    inputs: tuple[str, ...]
    output: str
    body: str
    expected: Callable[..., Any]
    declare: str = ""
    ulp: int = 0
    where: Callable[..., Any] | None = None
    """Elements for which the operation is defined."""


def ir(operation: Operation) -> str:
    """The kernel of an operation (attributes #0 are added by the compiler helper)."""
    names = "abc"[: len(operation.inputs)]
    params = ", ".join(f"ptr addrspace(1) noalias %p{n}" for n in names)
    loads = "\n".join(
        f"  %q{n} = getelementptr {t}, ptr addrspace(1) %p{n}, i64 %z\n  %{n} = load {t}, ptr addrspace(1) %q{n}"
        for n, t in zip(names, operation.inputs, strict=True)
    )
    return f"""
define amdgpu_kernel void @{operation.name}({params}, ptr addrspace(1) noalias %pout) #0 {{
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %m = mul i32 %g, {WORKGROUP}
  %i = add i32 %m, %l
  %z = zext i32 %i to i64
{loads}
{operation.body}
  %qout = getelementptr {operation.output}, ptr addrspace(1) %pout, i64 %z
  store {operation.output} %r, ptr addrspace(1) %qout
  ret void
}}
"""


def module(operations: list[Operation]) -> str:
    """One module with the kernels of all these operations."""
    declares = {
        "declare i32 @llvm.amdgcn.workitem.id.x()",
        "declare i32 @llvm.amdgcn.workgroup.id.x()",
        *(line for op in operations for line in op.declare.splitlines() if line),
    }
    return "\n".join(sorted(declares)) + "\n" + "\n".join(ir(op) for op in operations)


def arguments(operation: Operation, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs with the corner cases of their type in front."""
    rng = np.random.default_rng(seed)
    made = {}
    for n, t in zip("abc", operation.inputs, strict=False):
        made[f"p{n}"] = _values(rng, t)
        rng = np.random.default_rng(seed + ord(n))
    made["pout"] = np.zeros(COUNT, DTYPES[operation.output])
    return made


def _values(rng: np.random.Generator, kind: str) -> np.ndarray:
    dtype = DTYPES[kind]
    if kind[0] == "i":
        info = np.iinfo(dtype)
        special = [0, 1, -1, info.min, info.max, 2, 7, -7]
        values = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        values[64:96] = rng.integers(-8, 9, 32)
    else:
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 1e-40, 65504.0, 1.5, -2.5]
        values = (rng.standard_normal(COUNT) * 10.0 ** rng.integers(-3, 4, COUNT)).astype(dtype)
    picks = rng.permutation(len(special) * 2) % len(special)
    values[: len(picks)] = np.array(special)[picks].astype(dtype)
    return values


def _f64(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: function(*(x.astype(np.float64) for x in xs)).astype(xs[0].dtype)


def _binary(name: str, kind: str, op: str, expected: Callable[..., Any], **rest: Any) -> Operation:
    return Operation(f"{name}_{kind}", (kind, kind), kind, f"  %r = {op} {kind} %a, %b", expected, **rest)


def _call(name: str, kind: str, function: str, count: int, expected: Callable[..., Any], **rest: Any) -> Operation:
    short = {"float": "f32", "half": "f16", "double": "f64", "bfloat": "bf16"}.get(kind, kind)
    operands = ", ".join(f"{kind} %{n}" for n in "abc"[:count])
    types = ", ".join([kind] * count)
    symbol = function.replace("$", short)
    return Operation(
        f"{name}_{kind}",
        (kind,) * count,
        kind,
        f"  %r = call {kind} @{symbol}({operands})",
        expected,
        f"declare {kind} @{symbol}({types})",
        **rest,
    )


def _unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.dtype.itemsize}")


def _rotate_left(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    u, k = _unsigned(x).astype(object), _unsigned(n).astype(object) % bits
    turned = [((a << s) | (a >> (bits - s))) & ((1 << bits) - 1) for a, s in zip(u, k, strict=True)]
    return np.array(turned, x.dtype.str.replace("i", "u")).view(x.dtype)


def _saturated(a: np.ndarray, kind: Any) -> np.ndarray:
    """Truncation one element at a time, with Python's integers."""
    limits = np.iinfo(kind)
    ends = {np.inf: int(limits.max), -np.inf: int(limits.min)}
    whole = [0 if x != x else ends[x] if x in ends else int(x) for x in a.astype(np.float64).tolist()]
    return np.array([max(min(x, int(limits.max)), int(limits.min)) for x in whole], kind)


def _not_both_zero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """numpy does not order -0 and +0; the hardware does (tested on its own)."""
    return (a != 0) | (b != 0)


def _float_operations() -> list[Operation]:
    made = []
    for t in ("float", "half", "double"):
        made += [
            _binary("fadd", t, "fadd", np.add),
            _binary("fsub", t, "fsub", np.subtract),
            _binary("fmul", t, "fmul", np.multiply),
            _binary("fdiv", t, "fdiv", np.divide, ulp=1),
            Operation(f"fneg_{t}", (t,), t, f"  %r = fneg {t} %a", np.negative),
            _call("fabs", t, "llvm.fabs.$", 1, np.abs),
            _call("floor", t, "llvm.floor.$", 1, np.floor),
            _call("ceil", t, "llvm.ceil.$", 1, np.ceil),
            _call("trunc", t, "llvm.trunc.$", 1, np.trunc),
            _call("rint", t, "llvm.roundeven.$", 1, np.rint),
            _call("sqrt", t, "llvm.sqrt.$", 1, np.sqrt, ulp=1),
            _call("minnum", t, "llvm.minnum.$", 2, np.fmin, where=_not_both_zero),
            _call("maxnum", t, "llvm.maxnum.$", 2, np.fmax, where=_not_both_zero),
            _call("copysign", t, "llvm.copysign.$", 2, np.copysign),
        ]
        for predicate, function in (
            ("olt", np.less),
            ("oge", np.greater_equal),
            ("oeq", np.equal),
            ("une", np.not_equal),
        ):
            made.append(
                Operation(
                    f"fcmp_{predicate}_{t}",
                    (t, t),
                    "i32",
                    f"  %k = fcmp {predicate} {t} %a, %b\n  %r = select i1 %k, i32 7, i32 -3",
                    lambda a, b, f=function: np.where(f(a, b), 7, -3).astype(np.int32),
                )
            )
    made += [
        _call("fma", "half", "llvm.fma.$", 3, _f64(lambda a, b, c: a * b + c)),
        _call("exp2", "float", "llvm.exp2.$", 1, _f64(np.exp2), ulp=2),
        _call("log2", "float", "llvm.log2.$", 1, _f64(np.log2), ulp=4),
        _call("exp", "float", "llvm.exp.$", 1, _f64(np.exp), ulp=4),
        _call("sin", "half", "llvm.sin.$", 1, _f64(np.sin), ulp=40, where=lambda a: np.abs(a.astype("f4")) < 30),
        _call("canonicalize", "float", "llvm.canonicalize.$", 1, lambda a: a),
        Operation(
            "fptosi",
            ("float",),
            "i32",
            "  %r = call i32 @llvm.fptosi.sat.i32.f32(float %a)",
            lambda a: _saturated(a, np.int32),
            "declare i32 @llvm.fptosi.sat.i32.f32(float)",
        ),
        Operation(
            "fptoui",
            ("float",),
            "i32",
            "  %r = call i32 @llvm.fptoui.sat.i32.f32(float %a)",
            lambda a: _saturated(a, np.uint32).view(np.int32),
            "declare i32 @llvm.fptoui.sat.i32.f32(float)",
        ),
        Operation("sitofp", ("i32",), "float", "  %r = sitofp i32 %a to float", lambda a: a.astype(np.float32)),
        Operation(
            "uitofp", ("i32",), "float", "  %r = uitofp i32 %a to float", lambda a: a.view(np.uint32).astype(np.float32)
        ),
        Operation("sitofp64", ("i64",), "double", "  %r = sitofp i64 %a to double", lambda a: a.astype(np.float64)),
        Operation("sitofp64_float", ("i64",), "float", "  %r = sitofp i64 %a to float", lambda a: a.astype(np.float32)),
        Operation("fpext", ("half",), "float", "  %r = fpext half %a to float", lambda a: a.astype(np.float32)),
        Operation("fptrunc", ("float",), "half", "  %r = fptrunc float %a to half", lambda a: a.astype(np.float16)),
        Operation("fpext64", ("float",), "double", "  %r = fpext float %a to double", lambda a: a.astype(np.float64)),
        Operation(
            "fptrunc64", ("double",), "float", "  %r = fptrunc double %a to float", lambda a: a.astype(np.float32)
        ),
        Operation("bf16_ext", ("bfloat",), "float", "  %r = fpext bfloat %a to float", lambda a: a.astype(np.float32)),
        Operation(
            "bf16_trunc",
            ("float",),
            "bfloat",
            "  %r = fptrunc float %a to bfloat",
            lambda a: a.astype(ml_dtypes.bfloat16),
        ),
        Operation(
            "bf16_add",
            ("bfloat", "bfloat"),
            "bfloat",
            "  %r = fadd bfloat %a, %b",
            lambda a, b: (a.astype("f4") + b.astype("f4")).astype(ml_dtypes.bfloat16),
        ),
        Operation(
            "half_to_int",
            ("half",),
            "i16",
            "  %f = fpext half %a to float\n  %w = call i32 @llvm.fptosi.sat.i32.f32(float %f)\n  %r = trunc i32 %w to i16",
            lambda a: _saturated(a, np.int32).astype(np.int16),
            "declare i32 @llvm.fptosi.sat.i32.f32(float)",
        ),
        Operation(
            "uitofp8", ("i8",), "float", "  %r = uitofp i8 %a to float", lambda a: a.view(np.uint8).astype(np.float32)
        ),
        Operation("sitofp16", ("i16",), "half", "  %r = sitofp i16 %a to half", lambda a: a.astype(np.float16)),
    ]
    return made


def _nonzero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (b != 0) & ~((a == np.iinfo(a.dtype).min) & (b == -1))


def _truncated(a: np.ndarray, b: np.ndarray, remainder: bool) -> np.ndarray:
    result = [
        int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    if remainder:
        result = [x - q * y if y else 0 for x, y, q in zip(a.tolist(), b.tolist(), result, strict=True)]
    bits = a.dtype.itemsize * 8
    return np.array([(r + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)) for r in result], a.dtype)


def _integer_operations() -> list[Operation]:
    made = []
    for t in ("i8", "i16", "i32", "i64"):
        bits = int(t[1:])
        made += [
            _binary("add", t, "add", np.add),
            _binary("sub", t, "sub", np.subtract),
            _binary("mul", t, "mul", np.multiply),
            _binary("and", t, "and", np.bitwise_and),
            _binary("or", t, "or", np.bitwise_or),
            _binary("xor", t, "xor", np.bitwise_xor),
            _call("smin", t, "llvm.smin.$", 2, np.minimum),
            _call("smax", t, "llvm.smax.$", 2, np.maximum),
            _call("umin", t, "llvm.umin.$", 2, lambda a, b: np.minimum(_unsigned(a), _unsigned(b)).view(a.dtype)),
            _call("umax", t, "llvm.umax.$", 2, lambda a, b: np.maximum(_unsigned(a), _unsigned(b)).view(a.dtype)),
            _call("ctpop", t, "llvm.ctpop.$", 1, lambda a: np.bitwise_count(_unsigned(a)).astype(a.dtype)),
            _call(
                "bitreverse",
                t,
                "llvm.bitreverse.$",
                1,
                lambda a, n=bits: np.array([int(f"{int(x):0{n}b}"[::-1], 2) for x in _unsigned(a)], f"u{n // 8}").view(
                    a.dtype
                ),
            ),
            Operation(
                f"ctlz_{t}",
                (t,),
                t,
                f"  %r = call {t} @llvm.ctlz.{t}({t} %a, i1 false)",
                lambda a, n=bits: np.array([n - int(x).bit_length() for x in _unsigned(a)], a.dtype),
                f"declare {t} @llvm.ctlz.{t}({t}, i1)",
            ),
            Operation(
                f"cttz_{t}",
                (t,),
                t,
                f"  %r = call {t} @llvm.cttz.{t}({t} %a, i1 false)",
                lambda a, n=bits: np.array(
                    [(int(x) & -int(x)).bit_length() - 1 if x else n for x in _unsigned(a)], a.dtype
                ),
                f"declare {t} @llvm.cttz.{t}({t}, i1)",
            ),
            Operation(
                f"icmp_slt_{t}",
                (t, t),
                "i32",
                f"  %k = icmp slt {t} %a, %b\n  %r = zext i1 %k to i32",
                lambda a, b: (a < b).astype(np.int32),
            ),
            Operation(
                f"icmp_ugt_{t}",
                (t, t),
                "i32",
                f"  %k = icmp ugt {t} %a, %b\n  %r = sext i1 %k to i32",
                lambda a, b: -(_unsigned(a) > _unsigned(b)).astype(np.int32),
            ),
            Operation(
                f"shl_{t}",
                (t, t),
                t,
                f"  %n = and {t} %b, {bits - 1}\n  %r = shl {t} %a, %n",
                lambda a, b, n=bits: a << (b & a.dtype.type(n - 1)),
            ),
            Operation(
                f"lshr_{t}",
                (t, t),
                t,
                f"  %n = and {t} %b, {bits - 1}\n  %r = lshr {t} %a, %n",
                lambda a, b, n=bits: (_unsigned(a) >> _unsigned(b & a.dtype.type(n - 1))).view(a.dtype),
            ),
            Operation(
                f"ashr_{t}",
                (t, t),
                t,
                f"  %n = and {t} %b, {bits - 1}\n  %r = ashr {t} %a, %n",
                lambda a, b, n=bits: a >> (b & a.dtype.type(n - 1)),
            ),
            Operation(
                f"rotl_{t}",
                (t, t),
                t,
                f"  %r = call {t} @llvm.fshl.{t}({t} %a, {t} %a, {t} %b)",
                _rotate_left,
                f"declare {t} @llvm.fshl.{t}({t}, {t}, {t})",
            ),
            _call(
                "uadd_sat",
                t,
                "llvm.uadd.sat.$",
                2,
                lambda a, b, n=bits: np.array(
                    [min(int(x) + int(y), (1 << n) - 1) for x, y in zip(_unsigned(a), _unsigned(b), strict=True)],
                    f"u{n // 8}",
                ).view(a.dtype),
            ),
            _call(
                "usub_sat",
                t,
                "llvm.usub.sat.$",
                2,
                lambda a, b, n=bits: np.array(
                    [max(int(x) - int(y), 0) for x, y in zip(_unsigned(a), _unsigned(b), strict=True)], f"u{n // 8}"
                ).view(a.dtype),
            ),
        ]
    for t in ("i32", "i64"):
        made += [
            _binary(
                "udiv",
                t,
                "udiv",
                lambda a, b: (_unsigned(a) // np.where(b == 0, 1, _unsigned(b)).astype(f"u{a.dtype.itemsize}")).view(
                    a.dtype
                ),
                where=lambda a, b: b != 0,
            ),
            _binary(
                "urem",
                t,
                "urem",
                lambda a, b: (_unsigned(a) % np.where(b == 0, 1, _unsigned(b)).astype(f"u{a.dtype.itemsize}")).view(
                    a.dtype
                ),
                where=lambda a, b: b != 0,
            ),
            _binary("sdiv", t, "sdiv", lambda a, b: _truncated(a, b, False), where=_nonzero),
            _binary("srem", t, "srem", lambda a, b: _truncated(a, b, True), where=_nonzero),
            _call(
                "sadd_sat",
                t,
                "llvm.sadd.sat.$",
                2,
                lambda a, b: np.array(
                    [
                        max(min(x + y, np.iinfo(a.dtype).max), np.iinfo(a.dtype).min)
                        for x, y in zip(a.tolist(), b.tolist(), strict=True)
                    ],
                    a.dtype,
                ),
            ),
        ]
    made += [
        Operation(
            "mulhi_u",
            ("i32", "i32"),
            "i32",
            "  %x = zext i32 %a to i64\n  %y = zext i32 %b to i64\n  %p = mul i64 %x, %y\n  %s = lshr i64 %p, 32\n  %r = trunc i64 %s to i32",
            lambda a, b: (
                ((a.view(np.uint32).astype(np.uint64) * b.view(np.uint32)) >> np.uint64(32))
                .astype(np.uint32)
                .view(np.int32)
            ),
        ),
        Operation(
            "mulhi_s",
            ("i32", "i32"),
            "i32",
            "  %x = sext i32 %a to i64\n  %y = sext i32 %b to i64\n  %p = mul i64 %x, %y\n  %s = lshr i64 %p, 32\n  %r = trunc i64 %s to i32",
            lambda a, b: ((a.astype(np.int64) * b) >> np.int64(32)).astype(np.int32),
        ),
        Operation(
            "mad64",
            ("i32", "i32", "i64"),
            "i64",
            "  %x = zext i32 %a to i64\n  %y = zext i32 %b to i64\n  %p = mul i64 %x, %y\n  %r = add i64 %p, %c",
            lambda a, b, c: (a.view(np.uint32).astype(np.uint64) * b.view(np.uint32)).view(np.int64) + c,
        ),
        Operation(
            "mad64s",
            ("i32", "i32", "i64"),
            "i64",
            "  %x = sext i32 %a to i64\n  %y = sext i32 %b to i64\n  %p = mul i64 %x, %y\n  %r = add i64 %p, %c",
            lambda a, b, c: a.astype(np.int64) * b + c,
        ),
        Operation("sext8", ("i8",), "i32", "  %r = sext i8 %a to i32", lambda a: a.astype(np.int32)),
        Operation("trunc8", ("i32",), "i8", "  %r = trunc i32 %a to i8", lambda a: a.astype(np.int8)),
        Operation(
            "bswap",
            ("i32",),
            "i32",
            "  %r = call i32 @llvm.bswap.i32(i32 %a)",
            lambda a: a.byteswap(),
            "declare i32 @llvm.bswap.i32(i32)",
        ),
        Operation(
            "select3",
            ("i32", "i32", "i32"),
            "i32",
            "  %k = icmp slt i32 %a, %b\n  %r = select i1 %k, i32 %b, i32 %c",
            lambda a, b, c: np.where(a < b, b, c),
        ),
        Operation(
            "bfe",
            ("i32",),
            "i32",
            "  %s = lshr i32 %a, 5\n  %r = and i32 %s, 2047",
            lambda a: ((a.view(np.uint32) >> np.uint32(5)) & np.uint32(2047)).view(np.int32),
        ),
        Operation(
            "bfi",
            ("i32", "i32", "i32"),
            "i32",
            "  %x = and i32 %a, %b\n  %n = xor i32 %a, -1\n  %y = and i32 %n, %c\n  %r = or i32 %x, %y",
            lambda a, b, c: (a & b) | (~a & c),
        ),
        Operation(
            "abs",
            ("i32",),
            "i32",
            "  %r = call i32 @llvm.abs.i32(i32 %a, i1 false)",
            np.abs,
            "declare i32 @llvm.abs.i32(i32, i1)",
        ),
    ]
    return made


def _packed_operations() -> list[Operation]:
    """Operations on <2 x half> and <2 x i16>, written through 32-bit words."""
    made = []
    for name, op, function in (("pk_fadd", "fadd", np.add), ("pk_fmul", "fmul", np.multiply)):
        body = (
            "  %x = bitcast i32 %a to <2 x half>\n  %y = bitcast i32 %b to <2 x half>\n"
            f"  %v = {op} <2 x half> %x, %y\n  %r = bitcast <2 x half> %v to i32"
        )
        made.append(
            Operation(
                name,
                ("i32", "i32"),
                "i32",
                body,
                lambda a, b, f=function: f(a.view(np.float16), b.view(np.float16)).view(np.int32),
            )
        )
    body = (
        "  %x = bitcast i32 %a to <2 x half>\n  %y = bitcast i32 %b to <2 x half>\n  %w = bitcast i32 %c to <2 x half>\n"
        "  %v = call <2 x half> @llvm.fma.v2f16(<2 x half> %x, <2 x half> %y, <2 x half> %w)\n  %r = bitcast <2 x half> %v to i32"
    )

    def fused(a: Any, b: Any, c: Any) -> Any:
        x, y, z = (v.view(np.float16).astype(np.float64) for v in (a, b, c))
        return (x * y + z).astype(np.float16).view(np.int32)

    made.append(
        Operation(
            "pk_fma",
            ("i32",) * 3,
            "i32",
            body,
            fused,
            "declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)",
        )
    )
    for name, op, function in (
        ("pk_add", "add", np.add),
        ("pk_sub", "sub", np.subtract),
        ("pk_mul", "mul", np.multiply),
    ):
        body = (
            "  %x = bitcast i32 %a to <2 x i16>\n  %y = bitcast i32 %b to <2 x i16>\n"
            f"  %v = {op} <2 x i16> %x, %y\n  %r = bitcast <2 x i16> %v to i32"
        )
        made.append(
            Operation(
                name,
                ("i32", "i32"),
                "i32",
                body,
                lambda a, b, f=function: f(a.view(np.int16), b.view(np.int16)).view(np.int32),
            )
        )
    made.append(
        Operation(
            "mix",
            ("half", "half", "float"),
            "float",
            "  %x = fpext half %a to float\n  %y = fpext half %b to float\n  %r = call float @llvm.fmuladd.f32(float %x, float %y, float %c)",
            lambda a, b, c: (a.astype(np.float64) * b.astype(np.float64) + c).astype(np.float32),
            "declare float @llvm.fmuladd.f32(float, float, float)",
        )
    )
    return made


OPERATIONS = [*_float_operations(), *_integer_operations(), *_packed_operations()]
