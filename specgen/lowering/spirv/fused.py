"""Multiply-add with one rounding.

GLSL's Fma may round twice (Vulkan: "inherited from OpFMul followed by OpFAdd"). In f16 and bf16 the product is exact
in f32, so the sum is made there and rounded to odd before the last rounding. In f32 the module asks: specialization
constant 0 says whether Fma has one rounding (the default); a host that knows better clears it, and the driver keeps
one of the two forms.
"""

from __future__ import annotations

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.constants import FMA_IS_FUSED
from specgen.lowering.spirv.convert import narrow, odd_bits
from specgen.lowering.spirv.emitter import Emitter

BIAS = 127
FARTHEST_ADDEND = 40
"""An addend more than 40 binary places above the product is the result: the product is below a quarter of its unit."""

NEAREST_TAIL = -60
"""An addend far below the 48 bits of the product counts by its sign alone: it is moved up to 2^-60."""


def fused(e: Emitter, element: str, a: Id, b: Id, c: Id) -> Id:
    """`a * b + c` of one element type, rounded once."""
    if element == "f64":
        return e.glsl("Fma", element, a, b, c)
    if element == "f32":
        function = e.helper("fma_f32", ("f32", "f32", "f32"), lambda parameters: _either(e, *parameters))
        return e.op("OpFunctionCall", "f32", function, a, b, c)
    if element == "f16":
        a, b, c = (e.widened(x) for x in (a, b, c))
    product = e.exact("OpFMul", "f32", a, b)
    total, error = two_sum(e, product, c)
    return narrow(e, _to_odd(e, total, error), "f32", element)


def two_sum(e: Emitter, a: Id, b: Id) -> tuple[Id, Id]:
    """Knuth's addition in f32: the rounded sum and its error, exactly `a + b` together."""
    total = e.exact("OpFAdd", "f32", a, b)
    part = e.exact("OpFSub", "f32", total, a)
    left = e.exact("OpFSub", "f32", a, e.exact("OpFSub", "f32", total, part))
    right = e.exact("OpFSub", "f32", b, part)
    return total, e.exact("OpFAdd", "f32", left, right)


def _to_odd(e: Emitter, total: Id, error: Id) -> Id:
    bits = e.op("OpBitcast", "u32", total)
    return e.op("OpBitcast", "f32", odd_bits(e, "u32", total, bits, "f32", error))


def _either(e: Emitter, a: Id, b: Id, c: Id) -> Id:
    """Fma, or its making from sums and products, as the specialization constant says."""
    is_fused = _specialization_constant(e)
    one, other, merge = (e.builder.new_id() for _ in range(3))
    e.split(("OpSelectionMerge", merge, "SelectionControl.None"), is_fused, one, other)
    e.label(one)
    single = e.glsl("Fma", "f32", a, b, c)
    e.branch(merge)
    e.label(other)
    made = _made(e, a, b, c)
    last = e.block
    e.branch(merge)
    e.label(merge)
    phi, result = e.phi("f32")
    phi.append(single, one)
    phi.append(made, last)
    return result


def _specialization_constant(e: Emitter) -> Id:
    key = ("constant", "fma_is_fused")
    builder = e.builder
    if key not in builder.named:
        made = builder.emit("global", "OpSpecConstantTrue", type=builder.type("bool"))
        builder.emit("annotation", "OpDecorate", made, "Decoration.SpecId", FMA_IS_FUSED)
        builder.named[key] = made
    return builder.named[key]


def _exponent(e: Emitter, x: Id) -> Id:
    """The exponent field of an f32."""
    bits = e.op("OpBitcast", "u32", x)
    return e.op("OpBitFieldUExtract", "u32", bits, e.const("u32", 23), e.const("u32", 8))


def _significand(e: Emitter, x: Id) -> Id:
    """The f32 with its exponent replaced by that of 1."""
    bits = e.op("OpBitwiseAnd", "u32", e.op("OpBitcast", "u32", x), e.const("u32", 0x807FFFFF))
    return e.op("OpBitcast", "f32", e.op("OpBitwiseOr", "u32", bits, e.const("u32", BIAS << 23)))


def _power(e: Emitter, exponent: Id) -> Id:
    """2 to an exponent within [-126, 127], f32."""
    field = e.op("OpIAdd", "u32", exponent, e.const("u32", BIAS))
    return e.op("OpBitcast", "f32", e.op("OpShiftLeftLogical", "u32", field, e.const("u32", 23)))


def _two_product(e: Emitter, a: Id, b: Id) -> tuple[Id, Id]:
    """Dekker's product of numbers near 1: the rounded product and its error."""
    product = e.exact("OpFMul", "f32", a, b)
    (ah, al), (bh, bl) = _halves(e, a), _halves(e, b)
    rest = e.exact("OpFSub", "f32", e.exact("OpFMul", "f32", ah, bh), product)
    for x, y in ((ah, bl), (al, bh), (al, bl)):
        rest = e.exact("OpFAdd", "f32", rest, e.exact("OpFMul", "f32", x, y))
    return product, rest


def _halves(e: Emitter, x: Id) -> tuple[Id, Id]:
    """Veltkamp's splitting into two numbers of at most 12 bits."""
    scaled = e.exact("OpFMul", "f32", x, e.const("f32", 4097.0))
    high = e.exact("OpFSub", "f32", scaled, e.exact("OpFSub", "f32", scaled, x))
    return high, e.exact("OpFSub", "f32", x, high)


def _made(e: Emitter, a: Id, b: Id, c: Id) -> Id:
    """Fused multiply-add from f32 sums and products (Boldo and Melquiond, 2008), exponents taken apart.

    Exact for results that are normal; infinities, NaN, zeros and subnormal operands take two roundings, which then
    are the right ones or those of a device that flushes subnormals.
    """
    fields = [_exponent(e, x) for x in (a, b, c)]
    bias = e.const("u32", 2 * BIAS)
    scale = e.op("OpISub", "u32", e.op("OpIAdd", "u32", fields[0], fields[1]), bias)
    distance = e.op("OpISub", "u32", e.op("OpISub", "u32", fields[2], e.const("u32", BIAS)), scale)
    limited = e.glsl("SClamp", "u32", distance, e.const("u32", NEAREST_TAIL), e.const("u32", FARTHEST_ADDEND))
    addend = e.exact("OpFMul", "f32", _significand(e, c), _power(e, limited))
    product, low = _two_product(e, _significand(e, a), _significand(e, b))
    top, tail = two_sum(e, addend, low)
    total, rest = two_sum(e, product, top)
    near, error = two_sum(e, tail, rest)
    result = e.exact("OpFAdd", "f32", total, _to_odd(e, near, error))
    # In two steps: the scale itself may be beyond the exponents of f32.
    half = e.op("OpShiftRightArithmetic", "u32", scale, e.const("u32", 1))
    for step in (half, e.op("OpISub", "u32", scale, half)):
        result = e.exact("OpFMul", "f32", result, _power(e, step))
    far = e.op("OpSGreaterThan", "bool", distance, e.const("u32", FARTHEST_ADDEND))
    result = e.select("f32", far, c, result)
    plain = e.exact("OpFAdd", "f32", e.exact("OpFMul", "f32", a, b), c)
    return e.select("f32", _all_normal(e, fields), result, plain)


def _all_normal(e: Emitter, fields: list[Id]) -> Id:
    """Whether no exponent field is that of zeros and subnormals or that of infinities and NaN."""
    tests = []
    for field in fields:
        less = e.op("OpISub", "u32", field, e.const("u32", 1))
        tests.append(e.op("OpULessThan", "bool", less, e.const("u32", 254)))
    both = e.op("OpLogicalAnd", "bool", tests[0], tests[1])
    return e.op("OpLogicalAnd", "bool", both, tests[2])
