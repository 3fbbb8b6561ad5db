"""Rows of the `math` dialect on floats: GLSL.std.450 instructions, and expansions where GLSL has none.

Vulkan bounds the errors of GLSL's functions (Vulkan specification, "Precision of GLSL.std.450 Instructions"):
exp and exp2 3 + 2 |x| ulp, log and log2 3 ulp outside of [0.5, 2], inverse square root 2 ulp, sqrt as 1 / inverse
square root, sin and cos 2^-11 absolute for |x| <= pi. f16 and bf16 go through f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.convert import from_bits, to_bits
from specgen.lowering.spirv.emitter import BITS, Emitter, element_name
from specgen.lowering.spirv.floats import round_bf16
from specgen.lowering.spirv.fused import fused
from specgen.lowering.spirv.integers import Row

Function = Callable[[Emitter, str, Id], Id]

TANH_SMALL = 0.625
TANH = (
    -0.3333333432674408,
    0.13333305716514587,
    -0.05395956709980965,
    0.021771101281046867,
    -0.008350280113518238,
    0.0022991960868239403,
)
"""`(tanh(x) / x - 1) / x^2` as a polynomial in x^2 on [0, 0.625], least maximum error (fit of ours: 6e-10)."""

ERF = (
    1.1283791065216064,
    -0.3761262595653534,
    0.11283600330352783,
    -0.026854444295167923,
    0.005189535673707724,
    -0.0008020842215046287,
    7.889122935011983e-05,
)
"""`erf(x) / x` as a polynomial in x^2 on [0, 1] (fit of ours: 1.2e-9)."""

LOG_ERFC_LIMIT = 4.0
LOG_ERFC = (
    0.0002910224720835686,
    -1.1301196813583374,
    -0.6320134401321411,
    -0.10990971326828003,
    0.02632751315832138,
    -0.004727684892714024,
    0.0005902025732211769,
    -4.529802390607074e-05,
    1.5998158460206469e-06,
)
"""`log(1 - erf(x))` as a polynomial in x on [1, 4] (fit of ours: 1.2e-8); above 4 erf is 1 in f32."""


def _named(name: str) -> Function:
    return lambda e, kind, x: e.glsl(name, kind, x)


def _polynomial(e: Emitter, x: Id, coefficients: Sequence[float]) -> Id:
    total = e.const("f32", coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = e.op("OpFAdd", "f32", e.op("OpFMul", "f32", total, x), e.const("f32", c))
    return total


def _at_most(e: Emitter, x: Id, limit: float) -> Id:
    """The smaller of x and the limit; a NaN stays."""
    return e.select("f32", e.op("OpFUnordLessThan", "bool", x, e.const("f32", limit)), x, e.const("f32", limit))


def _with_sign(e: Emitter, size: Id, x: Id) -> Id:
    """`size` with the sign of x."""
    sign = e.op("OpBitwiseAnd", "u32", e.op("OpBitcast", "u32", x), e.const("u32", 0x80000000))
    return e.op("OpBitcast", "f32", e.op("OpBitwiseOr", "u32", e.op("OpBitcast", "u32", size), sign))


def _tanh(e: Emitter, kind: str, x: Id) -> Id:
    """`x + x^3 P(x^2)` near 0, else `1 - 2 / (exp(2 |x|) + 1)`, which is 1 in f32 from 9.1 on."""
    one = e.const("f32", 1.0)
    square = e.op("OpFMul", "f32", x, x)
    cube = e.op("OpFMul", "f32", square, x)
    near = e.op("OpFAdd", "f32", x, e.op("OpFMul", "f32", cube, _polynomial(e, square, TANH)))
    size = e.glsl("FAbs", "f32", x)
    limited = _at_most(e, size, 15.0)
    power = e.glsl("Exp", "f32", e.op("OpFAdd", "f32", limited, limited))
    quotient = e.op("OpFDiv", "f32", e.const("f32", 2.0), e.op("OpFAdd", "f32", power, one))
    far = e.op("OpFSub", "f32", one, quotient)
    small = e.op("OpFOrdLessThan", "bool", size, e.const("f32", TANH_SMALL))
    # Near -0 the sum above is +0.
    return _with_sign(e, e.select("f32", small, near, far), x)


def _erf(e: Emitter, kind: str, x: Id) -> Id:
    """`x P(x^2)` below 1, else `1 - exp(Q(|x|))`."""
    near = e.op("OpFMul", "f32", x, _polynomial(e, e.op("OpFMul", "f32", x, x), ERF))
    size = e.glsl("FAbs", "f32", x)
    rest = e.glsl("Exp", "f32", _polynomial(e, _at_most(e, size, LOG_ERFC_LIMIT), LOG_ERFC))
    far = _with_sign(e, e.op("OpFSub", "f32", e.const("f32", 1.0), rest), x)
    small = e.op("OpFOrdLessThan", "bool", size, e.const("f32", 1.0))
    return e.select("f32", small, near, far)


def _magnitude(e: Emitter, op: Operation) -> None:
    """By bits: Mesa 22.3 drops FAbs from what it takes to be no negative number, and -0.0 is none to it."""
    element = element_name(op.results[0].type)
    bits = BITS[element]
    kind = "u64" if bits == 64 else "u32"
    mask = e.const(kind, (1 << (bits - 1)) - 1)
    ids = (e.op("OpBitwiseAnd", kind, to_bits(e, x, element), mask) for x in e.get(op.operands[0]))
    e.define(op.results[0], tuple(from_bits(e, x, element) for x in ids))


def _exact(function: Function) -> Row:
    """A function whose values are representable: no rounding in any type."""

    def row(e: Emitter, op: Operation) -> None:
        kind = e.kind_of(op.results[0])
        e.define(op.results[0], tuple(function(e, kind, x) for x in e.get(op.operands[0])))

    return row


def _rounded(function: Function, *, has_f64: bool = False) -> Row:
    """A function computed in f32 for f16, bf16 and f32; f64 only where GLSL has it."""

    def row(e: Emitter, op: Operation) -> None:
        element, kind = element_name(op.results[0].type), e.kind_of(op.results[0])
        if kind == "f64" and not has_f64:
            raise e.refuse(op, "Vulkan has no f64 form of this function")
        ids = []
        for x in e.get(op.operands[0]):
            if kind == "f16":
                wide = function(e, "f32", e.widened(x))
                ids.append(e.op("OpFConvert", "f16", wide))
            else:
                made = function(e, kind, x)
                ids.append(round_bf16(e, made) if element == "bf16" else made)
        e.define(op.results[0], tuple(ids))

    return row


def _fma(e: Emitter, op: Operation) -> None:
    element = element_name(op.results[0].type)
    triples = zip(*(e.get(v) for v in op.operands), strict=True)
    e.define(op.results[0], tuple(fused(e, element, a, b, c) for a, b, c in triples))


ROWS: dict[str, Row] = {
    "math.absf": _magnitude,
    "math.ceil": _exact(_named("Ceil")),
    "math.floor": _exact(_named("Floor")),
    "math.trunc": _exact(_named("Trunc")),
    "math.roundeven": _exact(_named("RoundEven")),
    "math.fma": _fma,
    "math.sqrt": _rounded(_named("Sqrt"), has_f64=True),
    "math.rsqrt": _rounded(_named("InverseSqrt"), has_f64=True),
    "math.exp": _rounded(_named("Exp")),
    "math.exp2": _rounded(_named("Exp2")),
    "math.log": _rounded(_named("Log")),
    "math.log2": _rounded(_named("Log2")),
    "math.sin": _rounded(_named("Sin")),
    "math.cos": _rounded(_named("Cos")),
    "math.tanh": _rounded(_tanh),
    "math.erf": _rounded(_erf),
}
