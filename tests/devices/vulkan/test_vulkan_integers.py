"""Integer rows of the SPIR-V table, executed: every result against Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import vulkan_support as support

pytestmark = pytest.mark.required_in_ci

TYPES = ("i8", "i16", "i32", "i64")


def bits_of(type_: str) -> int:
    return 64 if type_ == "index" else int(type_[1:])


def wrapped(value: int, bits: int) -> int:
    """The signed value of the low bits."""
    low = value % (1 << bits)
    return low - (low >> (bits - 1) << bits)


def unsigned(value: int, bits: int) -> int:
    return value % (1 << bits)


def interesting(bits: int) -> list[int]:
    """Ends of the range, small numbers and bit patterns."""
    top = 1 << (bits - 1)
    values = [0, 1, -1, 2, -2, 3, 7, -7, 10, top - 1, -top, -top + 1, top // 3, -(top // 5), 0x55, -100]
    return [wrapped(v, bits) for v in values]


def pairs(bits: int, *, nonzero: bool = False) -> tuple[list[int], list[int]]:
    values = interesting(bits)
    both = [(a, b) for a in values for b in values if b or not nonzero]
    return [a for a, _ in both], [b for _, b in both]


def floor_mod(a: int, b: int) -> int:
    return a % b


def truncated_rem(a: int, b: int) -> int:
    return abs(a) % abs(b) * (1 if a >= 0 else -1)


Reference = Callable[[int, int, int], int]

BINARY: dict[str, Reference] = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(unsigned(a, w), unsigned(b, w)),
    "arith.maxui": lambda a, b, w: max(unsigned(a, w), unsigned(b, w)),
}
DIVIDING: dict[str, Reference] = {
    "arith.floordivsi": lambda a, b, w: a // b,
    "arith.ceildivsi": lambda a, b, w: -(-a // b),
    "arith.divui": lambda a, b, w: unsigned(a, w) // unsigned(b, w),
    "arith.ceildivui": lambda a, b, w: -(-unsigned(a, w) // unsigned(b, w)),
    "arith.remsi": lambda a, b, w: truncated_rem(a, b),
    "arith.remui": lambda a, b, w: unsigned(a, w) % unsigned(b, w),
    "motif.floorremsi": lambda a, b, w: floor_mod(a, b),
}
SHIFTS: dict[str, Reference] = {
    "arith.shli": lambda a, b, w: a << b,
    "arith.shrui": lambda a, b, w: unsigned(a, w) >> b,
    "arith.shrsi": lambda a, b, w: a >> b,
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, w: abs(a),
    "math.ctpop": lambda a, w: unsigned(a, w).bit_count(),
    "math.ctlz": lambda a, w: w - unsigned(a, w).bit_length(),
    "math.cttz": lambda a, w: (unsigned(a, w) & -unsigned(a, w)).bit_length() - 1 if a else w,
}


def text_of(name: str, type_: str, operands: str) -> str:
    if name.startswith("motif"):
        return f'%r = "{name}"({operands}) : ({type_}, {type_}) -> {type_}'
    return f"%r = {name} {operands} : {type_}"


def check(name: str, type_: str, left: list[int], right: list[int], reference: Reference) -> None:
    bits = bits_of(type_)
    out = support.elementwise(
        text_of(name, type_, "%a0, %a1"), [np.array(left), np.array(right)], [type_, type_], type_
    )
    expected = [wrapped(reference(a, b, bits), bits) for a, b in zip(left, right, strict=True)]
    wrong = [(a, b, int(o), e) for a, b, o, e in zip(left, right, out, expected, strict=True) if o != e]
    assert not wrong, wrong[:8]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, type_: str) -> None:
    check(name, type_, *pairs(bits_of(type_)), BINARY[name])


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", DIVIDING)
def test_division_of_every_sign_and_of_the_least_value(name: str, type_: str) -> None:
    check(name, type_, *pairs(bits_of(type_), nonzero=True), DIVIDING[name])


@pytest.mark.parametrize("divisor", [1, 2, 8, 12, -1, -4, 64])
@pytest.mark.parametrize("name", ["arith.floordivsi", "motif.floorremsi", "arith.ceildivsi", "arith.remsi"])
def test_division_by_a_constant(name: str, divisor: int) -> None:
    values = [*interesting(32), *range(-40, 40)]
    operation = f"%c = arith.constant {divisor} : i32\n" + text_of(name, "i32", "%a0, %c")
    out = support.elementwise(operation, [np.array(values)], ["i32"], "i32")
    assert [int(o) for o in out] == [wrapped(DIVIDING[name](v, divisor, 32), 32) for v in values]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_within_the_width(name: str, type_: str) -> None:
    bits = bits_of(type_)
    both = [(a, b) for a in interesting(bits) for b in (0, 1, 2, bits // 2, bits - 1)]
    check(name, type_, [a for a, _ in both], [b for _, b in both], SHIFTS[name])


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_beyond_the_width_shift_everything_out(name: str) -> None:
    both = [(a, b) for a in interesting(32) for b in (32, 33, 100, -1)]
    gone = {"arith.shli": lambda a: 0, "arith.shrui": lambda a: 0, "arith.shrsi": lambda a: -1 if a < 0 else 0}[name]
    check(name, "i32", [a for a, _ in both], [b for _, b in both], lambda a, b, w: gone(a))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, type_: str) -> None:
    bits = bits_of(type_)
    values = interesting(bits)
    out = support.elementwise(f"%r = {name} %a0 : {type_}", [np.array(values)], [type_], type_)
    assert [int(o) for o in out] == [wrapped(UNARY[name](v, bits), bits) for v in values]


PREDICATES: dict[str, Reference] = {
    "eq": lambda a, b, w: a == b,
    "ne": lambda a, b, w: a != b,
    "slt": lambda a, b, w: a < b,
    "sle": lambda a, b, w: a <= b,
    "sgt": lambda a, b, w: a > b,
    "sge": lambda a, b, w: a >= b,
    "ult": lambda a, b, w: unsigned(a, w) < unsigned(b, w),
    "ule": lambda a, b, w: unsigned(a, w) <= unsigned(b, w),
    "ugt": lambda a, b, w: unsigned(a, w) > unsigned(b, w),
    "uge": lambda a, b, w: unsigned(a, w) >= unsigned(b, w),
}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons(predicate: str, type_: str) -> None:
    bits = bits_of(type_)
    left, right = pairs(bits)
    operation = f"%r = arith.cmpi {predicate}, %a0, %a1 : {type_}"
    out = support.elementwise(operation, [np.array(left), np.array(right)], [type_, type_], "i1")
    assert [bool(o) for o in out] == [bool(PREDICATES[predicate](a, b, bits)) for a, b in zip(left, right, strict=True)]


# i1: a signed true is -1, arithmetic is modulo 2.
BOOLEAN = [
    *((name, BINARY[name]) for name in BINARY),
    *((f"arith.cmpi {p},", PREDICATES[p]) for p in PREDICATES),
]


@pytest.mark.parametrize(("name", "reference"), BOOLEAN, ids=[n for n, _ in BOOLEAN])
def test_booleans(name: str, reference: Reference) -> None:
    left, right = [0, 0, 1, 1], [0, 1, 0, 1]
    out = support.elementwise(f"%r = {name} %a0, %a1 : i1", [np.array(left), np.array(right)], ["i1", "i1"], "i1")
    expected = [int(reference(-a, -b, 1)) & 1 for a, b in zip(left, right, strict=True)]
    assert [int(o) for o in out] == expected


# index: 64 bits where facts do not know better, 32 where they do.


@pytest.mark.parametrize("name", [*BINARY, *DIVIDING])
@pytest.mark.parametrize("bound", [None, 1000])
def test_index_arithmetic_in_both_widths(name: str, bound: int | None) -> None:
    reference = {**BINARY, **DIVIDING}[name]
    values = [0, 1, -1, 5, -6, 999, -1000] + ([] if bound else [2**40 + 3, -(2**41), 2**31, -(2**31)])
    both = [(a, b) for a in values for b in values if b]
    # Products of the largest pairs must stay within 64 bits: overflow of index is a finding.
    both = [(a, b) for a, b in both if abs(a * b) < 2**63]
    limits = f"{{motif.range = array<i64: {-bound}, {bound}>}} " if bound else ""
    operation = f"""
    %l = arith.index_cast %a0 {limits}: i64 to index
    %m = arith.index_cast %a1 {limits}: i64 to index
    {text_of(name, "index", "%l, %m").replace("%r", "%q")}
    %r = arith.index_cast %q : index to i64"""
    left, right = [a for a, _ in both], [b for _, b in both]
    out = support.elementwise(operation, [np.array(left), np.array(right)], ["i64", "i64"], "i64")
    expected = [wrapped(reference(a, b, 64), 64) for a, b in both]
    assert [int(o) for o in out] == expected


def test_narrow_index_needs_no_64_bit_integers() -> None:
    text = support.kernel(
        support.buffer("out", "memref<32xi32>", "write"),
        """
    %c3 = arith.constant 3 : index
    %y = arith.muli %x, %c3 : index
    %z = arith.index_cast %y : index to i32
    memref.store %z, %out[%x] : memref<32xi32>""",
    )
    artifact = support.build(text)
    from specgen.devices.vulkan.requirements import requirements

    assert "Int64" not in requirements(artifact.files["kernel.spv"], "kernel").capabilities
    done = support.device().load(artifact, "kernel").launch({"out": np.zeros(32, np.int32)}, (1, 1, 1))
    np.testing.assert_array_equal(done.outputs["out"], 3 * np.arange(32))
