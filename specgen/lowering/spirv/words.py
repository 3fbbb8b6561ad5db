"""Elements of narrow types packed into 32-bit words and back, low bits first."""

from __future__ import annotations

from collections.abc import Sequence

from specgen.lowering.spirv.builder import Id
from specgen.lowering.spirv.convert import from_bits, to_bits
from specgen.lowering.spirv.emitter import BITS, Emitter
from specgen.lowering.spirv.integers import zero_extended


def to_words(e: Emitter, ids: Sequence[Id], element: str) -> list[Id]:
    """Elements as words: the last word is filled up with zeros. 64-bit elements must be `u64` or `f64` scalars."""
    bits = BITS[element]
    if bits == 64:
        pair = e.builder.vector("u32", 2)
        words = []
        for scalar in ids:
            both = e.emit("OpBitcast", scalar, type=pair)
            words += [e.op("OpCompositeExtract", "u32", both, n) for n in (0, 1)]
        return words
    if bits == 32:
        return [to_bits(e, scalar, element) for scalar in ids]
    if element == "f16":
        return _halves_to_words(e, ids)
    per_word = 32 // bits
    words = []
    for start in range(0, len(ids), per_word):
        group = ids[start : start + per_word]
        word = zero_extended(e, to_bits(e, group[0], element), bits)
        for number, scalar in enumerate(group[1:], 1):
            place, width = e.const("u32", number * bits), e.const("u32", bits)
            word = e.op("OpBitFieldInsert", "u32", word, to_bits(e, scalar, element), place, width)
        words.append(word)
    return words


def _halves_to_words(e: Emitter, ids: Sequence[Id]) -> list[Id]:
    pair = e.builder.vector("f16", 2)
    padded = [*ids, e.const("f16", 0.0)] if len(ids) % 2 else list(ids)
    return [
        e.op("OpBitcast", "u32", e.emit("OpCompositeConstruct", *padded[n : n + 2], type=pair))
        for n in range(0, len(padded), 2)
    ]


def from_words(e: Emitter, words: Sequence[Id], element: str, count: int) -> tuple[Id, ...]:
    """The first `count` elements that the words hold; integers sign-extended."""
    bits = BITS[element]
    if bits == 64:
        pair = e.builder.vector("u32", 2)
        kind = "f64" if element == "f64" else "u64"
        pairs = zip(words[::2], words[1::2], strict=True)
        return tuple(e.op("OpBitcast", kind, e.emit("OpCompositeConstruct", *p, type=pair)) for p in pairs)
    if bits == 32:
        return tuple(from_bits(e, w, element) for w in words[:count])
    if element == "f16":
        pair = e.builder.vector("f16", 2)
        both = [e.emit("OpBitcast", w, type=pair) for w in words]
        return tuple(e.op("OpCompositeExtract", "f16", both[n // 2], n % 2) for n in range(count))
    return tuple(_field(e, words[n * bits // 32], n * bits % 32, element) for n in range(count))


def _field(e: Emitter, word: Id, place: int, element: str) -> Id:
    if element == "bf16":
        # A bf16 lives in the upper half of an f32.
        if place:
            high = e.op("OpBitwiseAnd", "u32", word, e.const("u32", 0xFFFF0000))
            return e.op("OpBitcast", "f32", high)
        return from_bits(e, word, element)
    if element == "i1":
        return from_bits(e, e.op("OpShiftRightLogical", "u32", word, e.const("u32", place)), element)
    return e.op("OpBitFieldSExtract", "u32", word, e.const("u32", place), e.const("u32", BITS[element]))
