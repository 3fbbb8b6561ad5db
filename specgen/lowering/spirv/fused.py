"""Multiply-add with one rounding.

GLSL's Fma may round twice (Vulkan: "inherited from OpFMul followed by OpFAdd"). In f16 the product is exact in f32, and
in bf16 too unless it leaves the exponents of f32, so the sum is made there and rounded to odd before the last rounding.
In f32 and f64 the module asks: specialization constant 0 says whether Fma has one rounding (the default); a host that
knows better clears it, and the driver keeps one of the two forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.constants import FMA_IS_FUSED
from specgen.lowering.spirv.convert import narrow, odd_bits
from specgen.lowering.spirv.emitter import Emitter


@dataclass(frozen=True)
class Form:
    """A float format: its kind, the integers of its width, stored places of its significand, exponent bias.

    An addend more than `farthest` binary places above the product is the result: the product is below a quarter of its
    unit. One far below the last place of the product counts by its sign alone: it is moved up to 2^`nearest`.
    """

    kind: str
    word: str
    places: int
    bias: int
    farthest: int
    nearest: int


FORMS = {"f32": Form("f32", "u32", 23, 127, 40, -60), "f64": Form("f64", "u64", 52, 1023, 70, -120)}


def fused(e: Emitter, element: str, a: Id, b: Id, c: Id) -> Id:
    """`a * b + c` of one element type, rounded once."""
    if element in FORMS:
        form = FORMS[element]
        function = e.helper(f"fma_{element}", (element,) * 3, lambda parameters: _either(e, form, *parameters))
        return e.op("OpFunctionCall", element, function, a, b, c)
    if element == "bf16":
        function = e.helper("fma_bf16", ("f32",) * 3, lambda parameters: _bf16(e, *parameters))
        return e.op("OpFunctionCall", "f32", function, a, b, c)
    return narrow(e, _odd_sum_in_f32(e, *(e.widened(x) for x in (a, b, c))), "f32", element)


def _odd_sum_in_f32(e: Emitter, a: Id, b: Id, c: Id) -> Id:
    """`a * b + c` rounded to odd, for a product that f32 holds."""
    product = e.exact("OpFMul", "f32", a, b)
    return _to_odd(e, FORMS["f32"], *two_sum(e, "f32", product, c))


MODERATE = 100
"""The product of bf16 numbers whose exponents add up to at most this, up or down, is exact in f32."""


def _bf16(e: Emitter, a: Id, b: Id, c: Id) -> Id:
    """On f32 that hold bf16: the product in f32 where it is moderate or zero."""
    form, zero = FORMS["f32"], e.const("f32", 0.0)
    total = e.op("OpIAdd", "u32", _exponent(e, form, a), _exponent(e, form, b))
    above = e.op("OpISub", "u32", total, e.const("u32", 2 * form.bias - MODERATE))
    moderate = e.op("OpULessThanEqual", "bool", above, e.const("u32", 2 * MODERATE))
    for x in (a, b):
        moderate = e.op("OpLogicalOr", "bool", moderate, e.op("OpFOrdEqual", "bool", x, zero))
    return _choice(
        e,
        "f32",
        moderate,
        lambda: narrow(e, _odd_sum_in_f32(e, a, b, c), "f32", "bf16"),
        lambda: _made(e, form, a, b, c, bf16=True),
    )


def _choice(e: Emitter, kind: str, condition: Id, yes: Callable[[], Id], no: Callable[[], Id]) -> Id:
    """The value of one of two ways."""
    one, other, merge = (e.builder.new_id() for _ in range(3))
    e.split(("OpSelectionMerge", merge, "SelectionControl.None"), condition, one, other)
    edges = []
    for label, way in ((one, yes), (other, no)):
        e.label(label)
        edges.append((way(), e.block))
        e.branch(merge)
    e.label(merge)
    phi, result = e.phi(kind)
    for value, block in edges:
        phi.append(value, block)
    return result


def two_sum(e: Emitter, kind: str, a: Id, b: Id) -> tuple[Id, Id]:
    """Knuth's addition: the rounded sum and its error, exactly `a + b` together."""
    total = e.exact("OpFAdd", kind, a, b)
    part = e.exact("OpFSub", kind, total, a)
    left = e.exact("OpFSub", kind, a, e.exact("OpFSub", kind, total, part))
    right = e.exact("OpFSub", kind, b, part)
    return total, e.exact("OpFAdd", kind, left, right)


def _to_odd(e: Emitter, form: Form, total: Id, error: Id) -> Id:
    bits = e.op("OpBitcast", form.word, total)
    return e.op("OpBitcast", form.kind, odd_bits(e, form.word, total, bits, form.kind, error))


def _either(e: Emitter, form: Form, a: Id, b: Id, c: Id) -> Id:
    """Fma, or its making from sums and products, as the specialization constant says."""
    return _choice(
        e,
        form.kind,
        _specialization_constant(e),
        lambda: e.glsl("Fma", form.kind, a, b, c),
        lambda: _made(e, form, a, b, c),
    )


def _specialization_constant(e: Emitter) -> Id:
    key = ("constant", "fma_is_fused")
    builder = e.builder
    if key not in builder.named:
        made = builder.emit("global", "OpSpecConstantTrue", type=builder.type("bool"))
        builder.emit("annotation", "OpDecorate", made, "Decoration.SpecId", FMA_IS_FUSED)
        builder.named[key] = made
    return builder.named[key]


def _exponent(e: Emitter, form: Form, x: Id) -> Id:
    """The exponent field of a float, u32."""
    bits, ones = e.op("OpBitcast", form.word, x), 2 * form.bias + 1
    high = e.op("OpShiftRightLogical", form.word, bits, e.const("u32", form.places))
    field = high if form.word == "u32" else e.op("OpUConvert", "u32", high)
    return e.op("OpBitwiseAnd", "u32", field, e.const("u32", ones))


def _significand(e: Emitter, form: Form, x: Id) -> Id:
    """The float with its exponent replaced by that of 1."""
    bits, word = e.op("OpBitcast", form.word, x), form.word
    kept = e.op("OpBitwiseAnd", word, bits, e.const(word, ~((2 * form.bias + 1) << form.places)))
    return e.op("OpBitcast", form.kind, e.op("OpBitwiseOr", word, kept, e.const(word, form.bias << form.places)))


def _power(e: Emitter, form: Form, exponent: Id) -> Id:
    """2 to an exponent (u32) of a normal number."""
    field = e.op("OpIAdd", "u32", exponent, e.const("u32", form.bias))
    wide = field if form.word == "u32" else e.op("OpUConvert", form.word, field)
    return e.op("OpBitcast", form.kind, e.op("OpShiftLeftLogical", form.word, wide, e.const("u32", form.places)))


def _two_product(e: Emitter, form: Form, a: Id, b: Id) -> tuple[Id, Id]:
    """Dekker's product of numbers near 1: the rounded product and its error."""
    kind = form.kind
    product = e.exact("OpFMul", kind, a, b)
    (ah, al), (bh, bl) = _halves(e, form, a), _halves(e, form, b)
    rest = e.exact("OpFSub", kind, e.exact("OpFMul", kind, ah, bh), product)
    for x, y in ((ah, bl), (al, bh), (al, bl)):
        rest = e.exact("OpFAdd", kind, rest, e.exact("OpFMul", kind, x, y))
    return product, rest


def _halves(e: Emitter, form: Form, x: Id) -> tuple[Id, Id]:
    """Veltkamp's splitting into two numbers of at most half the bits."""
    kind = form.kind
    scaled = e.exact("OpFMul", kind, x, e.const(kind, 2.0 ** ((form.places + 2) // 2) + 1))
    high = e.exact("OpFSub", kind, scaled, e.exact("OpFSub", kind, scaled, x))
    return high, e.exact("OpFSub", kind, x, high)


def _normalised(e: Emitter, form: Form, x: Id) -> tuple[Id, Id, Id]:
    """A subnormal number scaled up, anything else as it is; its exponent field, which may be negative, as if the format
    had more of them; and whether it is a finite number other than zero."""
    places = e.const("u32", form.places + 1)
    small = e.op("OpIEqual", "bool", _exponent(e, form, x), e.const("u32", 0))
    scaled = e.exact("OpFMul", form.kind, x, e.const(form.kind, 2.0 ** (form.places + 1)))
    value = e.select(form.kind, small, scaled, x)
    field = _exponent(e, form, value)
    less = e.op("OpISub", "u32", field, e.const("u32", 1))
    usual = e.op("OpULessThan", "bool", less, e.const("u32", 2 * form.bias))
    return value, e.select("u32", small, e.op("OpISub", "u32", field, places), field), usual


def _made(e: Emitter, form: Form, a: Id, b: Id, c: Id, *, bf16: bool = False) -> Id:
    """Fused multiply-add from sums and products (Boldo and Melquiond, 2008), exponents taken apart.

    Zeros, infinities and NaN take two roundings, which then are the right ones. `bf16`: the result is rounded to that.
    """
    kind, bias = form.kind, form.bias
    values, fields, usual = zip(*(_normalised(e, form, x) for x in (a, b, c)), strict=True)
    scale = e.op("OpISub", "u32", e.op("OpIAdd", "u32", fields[0], fields[1]), e.const("u32", 2 * bias))
    # What lies lower still is far below half of the least number.
    scale = e.glsl("SMax", "u32", scale, e.const("u32", 2 - 2 * bias))
    distance = e.op("OpISub", "u32", e.op("OpISub", "u32", fields[2], e.const("u32", bias)), scale)
    limited = e.glsl("SClamp", "u32", distance, e.const("u32", form.nearest), e.const("u32", form.farthest))
    addend = e.exact("OpFMul", kind, _significand(e, form, values[2]), _power(e, form, limited))
    product, low = _two_product(e, form, *(_significand(e, form, x) for x in values[:2]))
    top, tail = two_sum(e, kind, addend, low)
    total, rest = two_sum(e, kind, product, top)
    last = _to_odd(e, form, *two_sum(e, kind, tail, rest))
    result = (_scaled_bf16 if bf16 else _scaled)(e, form, two_sum(e, kind, total, last), scale)
    far = e.op("OpSGreaterThan", "bool", distance, e.const("u32", form.farthest))
    result = e.select(kind, far, c, result)
    both = e.op("OpLogicalAnd", "bool", usual[0], usual[1])
    plain = _plain(e, form, both, a, b, c)
    plain = narrow(e, plain, kind, "bf16") if bf16 else plain
    return e.select(kind, e.op("OpLogicalAnd", "bool", both, usual[2]), result, plain)


def _scaled(e: Emitter, form: Form, parts: tuple[Id, Id], scale: Id) -> Id:
    """A sum and its error times 2^scale, rounded once."""
    near, error = parts
    result = e.select(form.kind, _is_below(e, form, near, scale), _to_places(e, form, near, error, scale), near)
    for step in _steps(e, scale):
        result = e.exact("OpFMul", form.kind, result, _power(e, form, step))
    return result


def _to_places(e: Emitter, form: Form, near: Id, error: Id, scale: Id) -> Id:
    """A sum and its error, rounded to a multiple of the least subnormal number over 2^scale.

    A large number of the same sign takes the places below; where half a place was left over, the error decides.
    """
    kind, word = form.kind, form.word
    sign_bit = e.const(word, (2 * form.bias + 2) << form.places)
    sign = e.op("OpBitwiseAnd", word, e.op("OpBitcast", word, near), sign_bit)

    def signed(x: Id) -> Id:
        return e.op("OpBitcast", kind, e.op("OpBitwiseOr", word, e.op("OpBitcast", word, x), sign))

    place = _power(e, form, e.op("OpISub", "u32", e.const("u32", 1 - form.bias - form.places), scale))
    large = signed(e.exact("OpFMul", kind, place, e.const(kind, 2.0**form.places)))
    total, rest = two_sum(e, kind, large, near)
    moved = e.exact("OpFSub", kind, total, large)
    zero, half = e.const(kind, 0.0), e.exact("OpFMul", kind, place, e.const(kind, 0.5))
    for step, decides in (("OpFAdd", "OpFOrdGreaterThan"), ("OpFSub", "OpFOrdLessThan")):
        side = half if step == "OpFAdd" else e.op("OpFNegate", kind, half)
        wrong = e.op(
            "OpLogicalAnd", "bool", e.op("OpFOrdEqual", "bool", rest, side), e.op(decides, "bool", error, zero)
        )
        moved = e.select(kind, wrong, e.exact(step, kind, moved, place), moved)
    return signed(moved)


def _scaled_bf16(e: Emitter, form: Form, parts: tuple[Id, Id], scale: Id) -> Id:
    """The same, rounded to bf16: before the scaling, or behind one that rounds to odd where the result is subnormal."""
    near, error = parts
    odd, steps = _to_odd(e, form, near, error), _steps(e, scale)
    usual, small = narrow(e, odd, "f32", "bf16"), odd
    for step in steps:
        last = small
        usual = e.exact("OpFMul", "f32", usual, _power(e, form, step))
        small = e.exact("OpFMul", "f32", small, _power(e, form, step))
    back = e.exact("OpFMul", "f32", small, _power(e, form, e.op("OpSNegate", "u32", steps[1])))
    kept = _to_odd(e, form, small, e.exact("OpFSub", "f32", last, back))
    is_zero = e.op("OpFOrdEqual", "bool", small, e.const("f32", 0.0))
    small = narrow(e, e.select("f32", is_zero, small, kept), "f32", "bf16")
    return e.select("f32", _is_below(e, form, near, scale), small, usual)


def _is_below(e: Emitter, form: Form, near: Id, scale: Id) -> Id:
    """Whether a float other than zero is below the normal numbers when it is multiplied by 2^scale."""
    field = e.op("OpIAdd", "u32", _exponent(e, form, near), scale)
    small = e.op("OpSLessThan", "bool", field, e.const("u32", 1))
    return e.op("OpLogicalAnd", "bool", small, e.op("OpFOrdNotEqual", "bool", near, e.const(form.kind, 0.0)))


def _steps(e: Emitter, scale: Id) -> tuple[Id, Id]:
    """A scale as the sum of two: the scale itself may be beyond the exponents of the format."""
    half = e.op("OpShiftRightArithmetic", "u32", scale, e.const("u32", 1))
    return half, e.op("OpISub", "u32", scale, half)


def _plain(e: Emitter, form: Form, finite: Id, a: Id, b: Id, c: Id) -> Id:
    """Two roundings. An infinity is what it is added to a product of finite numbers, even where that overflows."""
    kind = form.kind
    infinite = e.op("OpIEqual", "bool", _exponent(e, form, c), e.const("u32", 2 * form.bias + 1))
    plain = e.exact("OpFAdd", kind, e.exact("OpFMul", kind, a, b), c)
    return e.select(kind, e.op("OpLogicalAnd", "bool", finite, infinite), c, plain)
