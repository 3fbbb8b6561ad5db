"""Transcendental functions of f32 that the processors lack, from exp and polynomials.

Polynomials are least-maximum fits of the relative error (Lawson's iteration on 4,001 Chebyshev points in double
precision, coefficients then rounded to f32). Their errors: tanh 5.0e-9, erf below 0.9273 4.4e-10, log(erfc) above
4.2e-11 of erf, sin 3.8e-9, cos 1.2e-10. The whole functions are measured in `tests/lowering/amdgpu`.
"""

from __future__ import annotations

from specgen.lowering.amdgpu import types
from specgen.lowering.amdgpu.builder import Builder, floating, integer
from specgen.lowering.amdgpu.types import Value

TANH = (-0.33333274722099304, 0.13331274688243866, -0.05372512713074684, 0.02058982476592064, -0.005648314952850342)
"""(tanh(x) / x - 1) / x^2 in x^2, for |x| < 0.632."""

ERF_SMALL = (
    0.12837916612625122,
    -0.37612631916999817,
    0.11283689737319946,
    -0.026859093457460403,
    0.005200276616960764,
    -0.0008134160889312625,
    8.334101585205644e-05,
)
"""erf(x) / x - 1 in x^2, for |x| < 0.9273."""

LOG_ERFC = (
    0.0001766237401170656,
    -1.1295242309570312,
    -0.6333280801773071,
    -0.10830075293779373,
    0.02513277344405651,
    -0.004176126793026924,
    0.000435506779467687,
    -2.1185298464843072e-05,
)
"""log(erfc(x)) in x, for 0.9273 <= x <= 4; erf is 1 in f32 above."""

SIN = (-0.16666655242443085, 0.008332154713571072, -0.000195144530152902)
"""(sin(x) / x - 1) / x^2 in x^2, for |x| <= pi / 4."""

COS = (0.04166664555668831, -0.0013887308305129409, 2.4432209102087654e-05)
"""(cos(x) - 1 + x^2 / 2) / x^4 in x^2, for |x| <= pi / 4."""

TWO_OVER_PI = 0.6366197466850281
HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""pi / 2 as a sum of three f32 (Cody and Waite, "Software Manual for the Elementary Functions", 1980)."""


class _Calculator:
    """Short names for f32 instructions on scalars or vectors of one type."""

    def __init__(self, b: Builder, type_: str) -> None:
        self.b = b
        self.type = type_
        self.suffix = types.mangled(type_)

    def number(self, value: float) -> Value:
        return floating(self.type, value)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.b.intrinsic(f"fma.{self.suffix}", self.type, x, y, z)

    def call(self, name: str, *operands: Value) -> Value:
        return self.b.intrinsic(f"{name}.{self.suffix}", self.type, *operands)

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """Horner's rule; coefficients from the constant up."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result


def reciprocal(b: Builder, value: Value) -> Value:
    """The hardware's reciprocal of each element (1 ulp)."""
    return each(b, value, lambda x: b.intrinsic("amdgcn.rcp.f32", "float", x))


def each(b: Builder, value: Value, function) -> Value:  # type: ignore[no-untyped-def]
    """A function of scalars on each element."""
    count = types.count_text(value.type)
    if count is None:
        return function(value)
    return b.gather([function(b.extract(value, n)) for n in range(count)])


def tanh(b: Builder, x: Value) -> Value:
    """A polynomial below 0.632, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x."""
    c = _Calculator(b, x.type)
    size = c.call("fabs", x)
    square = b.binary("fmul", x, x)
    small = c.fma(b.binary("fmul", square, c.polynomial(square, TANH)), x, x)
    power = c.call("exp", b.binary("fmul", size, c.number(2.0)))
    quotient = reciprocal(b, b.binary("fadd", power, c.number(1.0)))
    large = c.call("copysign", c.fma(quotient, c.number(-2.0), c.number(1.0)), x)
    # The comparison is false for a NaN, and `large` is a NaN then.
    return b.select(b.compare("fcmp olt", size, c.number(0.632)), small, large)


def erf(b: Builder, x: Value) -> Value:
    """A polynomial below 0.9273, else 1 - exp(log(erfc(min(|x|, 4)))) with the sign of x."""
    c = _Calculator(b, x.type)
    size = c.call("fabs", x)
    square = b.binary("fmul", x, x)
    small = c.fma(c.polynomial(square, ERF_SMALL), x, x)
    above = b.compare("fcmp ogt", size, c.number(4.0))
    limited = b.select(above, c.number(4.0), size)
    power = c.call("exp", c.polynomial(limited, LOG_ERFC))
    large = c.call("copysign", b.binary("fsub", c.number(1.0), power), x)
    return b.select(b.compare("fcmp olt", size, c.number(0.9273)), small, large)


def sine(b: Builder, x: Value, *, quarter_turns: int) -> Value:
    """sin(x + quarter_turns * pi / 2): absolute error below 2^-20 for |x| <= 65536."""
    c = _Calculator(b, x.type)
    turns = c.call("roundeven", b.binary("fmul", x, c.number(TWO_OVER_PI)))
    negative = b.emit(x.type, f"fneg {turns}")
    rest = x
    for part in HALF_PI:
        rest = c.fma(negative, c.number(part), rest)
    square = b.binary("fmul", rest, rest)
    odd = c.fma(b.binary("fmul", square, c.polynomial(square, SIN)), rest, rest)
    inner = c.fma(square, c.polynomial(square, COS), c.number(-0.5))
    even = c.fma(square, inner, c.number(1.0))
    word = types.with_element(x.type, "i32")
    whole = b.intrinsic(f"fptosi.sat.{types.mangled(word)}.{c.suffix}", word, turns)
    quadrant = b.binary("add", whole, integer(word, quarter_turns)) if quarter_turns else whole
    takes_even = b.compare("icmp ne", b.binary("and", quadrant, integer(word, 1)), integer(word, 0))
    chosen = b.cast("bitcast", b.select(takes_even, even, odd), word)
    sign = b.binary("shl", b.binary("and", quadrant, integer(word, 2)), integer(word, 30))
    return b.cast("bitcast", b.binary("xor", chosen, sign), x.type)


def rsqrt(b: Builder, x: Value) -> Value:
    """1 / sqrt(x) by the hardware's v_rsq (1 ulp), scaled where x is subnormal, which v_rsq flushes."""
    c = _Calculator(b, x.type)
    tiny = b.compare("fcmp olt", c.call("fabs", x), c.number(2.0**-126))
    scaled = b.binary("fmul", x, b.select(tiny, c.number(2.0**24), c.number(1.0)))
    root = each(b, scaled, lambda v: b.intrinsic("amdgcn.rsq.f32", "float", v))
    return b.binary("fmul", root, b.select(tiny, c.number(2.0**12), c.number(1.0)))
