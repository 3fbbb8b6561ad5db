"""Multiply-add with one rounding.

GLSL's Fma may round twice (Vulkan: "inherited from OpFMul followed by OpFAdd"). In f16 and bf16 the product is exact
in f32, so the sum is made there and rounded to odd before the last rounding.
"""

from __future__ import annotations

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.convert import narrow, odd_bits
from specgen.lowering.spirv.emitter import Emitter


def fused(e: Emitter, element: str, a: Id, b: Id, c: Id) -> Id:
    """`a * b + c` of one element type, rounded once."""
    if element in ("f32", "f64"):
        return e.glsl("Fma", element, a, b, c)
    if element == "f16":
        a, b, c = (e.op("OpFConvert", "f32", x) for x in (a, b, c))
    product = e.exact("OpFMul", "f32", a, b)
    total, error = two_sum(e, product, c)
    bits = e.op("OpBitcast", "u32", total)
    odd = e.op("OpBitcast", "f32", odd_bits(e, "u32", total, bits, "f32", error))
    return narrow(e, odd, "f32", element)


def two_sum(e: Emitter, a: Id, b: Id) -> tuple[Id, Id]:
    """Knuth's addition in f32: the rounded sum and its error, exactly `a + b` together."""
    total = e.exact("OpFAdd", "f32", a, b)
    part = e.exact("OpFSub", "f32", total, a)
    left = e.exact("OpFSub", "f32", a, e.exact("OpFSub", "f32", total, part))
    right = e.exact("OpFSub", "f32", b, part)
    return total, e.exact("OpFAdd", "f32", left, right)
