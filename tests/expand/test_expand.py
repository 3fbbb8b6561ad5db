"""Printing: what may enter a template, numbers that survive, text that cannot escape."""

from __future__ import annotations

import dataclasses
import math

import pytest
from binding_helpers import ARGS, bound, text

from specgen import expand, ir
from specgen.binding.instance import Op, Operand
from specgen.diagnostics import Span

SOURCE = """
- let:
    a: f32(inf) if lane < n else f32(nan)
    b: f16(0.1) + f16(f32(n))
    c: bf16(-inf) + bf16(f32(n))
    d: f64(1e-300) * f64(f32(n))
    e: f32(1e-8) * f32(-0.0) * f32(n)
    f: full(f32(3), 4)
    g: i64(-9223372036854775808) + i64(n)
- store:
    y[lane]: a
"""


def test_what_is_printed_parses_and_verifies() -> None:
    made = text(bound(SOURCE), locations=True)
    module = ir.parse(made)
    again = ir.print_module(module)
    assert ir.print_module(ir.parse(again)) == again


def test_numbers() -> None:
    assert expand.number_text(1e-08, "f32") == "1.0e-08"
    assert expand.number_text(math.inf, "f16") == "0x7C00"
    assert expand.number_text(-math.inf, "bf16") == "0xFF80"
    assert expand.number_text(math.nan, "f32") == "0x7FC00000"
    assert expand.number_text(-0.0, "f64") == "-0.0"
    assert expand.number_text(True, "i1") == "true"
    assert expand.number_text(-128, "i8") == "-128"


@pytest.mark.parametrize("name", ["a b", "a%b", "", "1a", "a\n", "é"])
def test_identifiers_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match="not an identifier"):
        expand.identifier(name)


@pytest.mark.parametrize("type_", ["f32 loc(x)", "memref<4xf32", "tensor<4xf32>", "vector<4x4xf32>", "i7"])
def test_types_are_checked(type_: str) -> None:
    with pytest.raises(ValueError, match="not an IR type"):
        expand.type_text(type_)


def test_quoted_text_cannot_end_its_string() -> None:
    assert expand.quoted('a"b\\c\n{{x}}é') == '"a\\22b\\5Cc\\0A{{x}}\\C3\\A9"'
    with pytest.raises(ValueError, match="not an integer"):
        expand.integer(True)
    with pytest.raises(ValueError, match="no attribute"):
        expand.attribute(1.5)  # type: ignore[arg-type]


def test_file_names_are_quoted_in_locations() -> None:
    span = Span('{{ "evil" }}").spec.yaml', 3, 4, 3, 5)
    assert expand.location(span) == 'loc("{{ \\22evil\\22 }}\\22).spec.yaml":3:4)'
    result = bound("- let: {a: n + 1}")
    assert result.instance is not None
    entry = result.instance.entries[0]
    ops = tuple(dataclasses.replace(op, span=span) for op in entry.body.ops)
    body = dataclasses.replace(entry.body, ops=ops)
    evil = dataclasses.replace(result.instance, entries=(dataclasses.replace(entry, body=body),))
    module = ir.parse(expand.expand(evil))
    assert "{{ \\22evil\\22 }}" in ir.print_module(module)


def test_the_same_instance_gives_the_same_text() -> None:
    assert text(bound(SOURCE), locations=True) == text(bound(SOURCE), locations=True)


def test_functions_and_arguments_say_what_they_are() -> None:
    head = (
        "math: [contract, no_nan]\npolicies:\n  p: {default: 2, range: [1, 4]}\n"
        "  w: {default: a, choices: [a, b]}\n  f: {default: true}\n"
    )
    args = ARGS.replace(
        "n: {type: index, range: [0, 64]}", "n: {type: index, range: [0, 64], multiple_of: 4}\n  u: {type: u32}"
    )
    args = args.replace("ids: {buffer: i32", "ids: {noalias: false, buffer: i32")
    body = "- let: {a: 1 if w == a and f else p}\n- store:\n    y[lane]: f32(u)"
    made = text(bound(body, head=head, args=args))
    line = made.split("\n")[1]
    for part in (
        '%n: index {motif.name = "n", motif.range = array<i64: 0, 64>, motif.multiple_of = 4 : i64}',
        '%u: i32 {motif.name = "u", motif.unsigned}',
        '%ids: memref<64xi32> {motif.name = "ids", motif.access = "read", motif.align = 4 : i64, '
        'motif.range = array<i64: -1, 63>, motif.axes = ["at"]}',
        'motif.policies = {p = 2 : i64, w = "a", f = 1 : i64}, motif.math = ["contract", "no_nan"]}',
    ):
        assert part in line


def op(name: str, results: str, operands: str, extra: tuple[tuple[str, object], ...] = (), **own: object) -> Op:
    """An operation on values of type i32 with these names."""
    values = [tuple(Operand(word, "i32") for word in words.split()) for words in (operands, results)]
    return Op(name, *values, tuple(own.items()), extra, (), Span("k", 1, 1, 1, 2))


def printed(operation: Op) -> str:
    """The line of an operation without its place."""
    instance = bound("- store: {'y[lane]': f32(lane)}").instance
    assert instance is not None
    (entry,) = instance.functions
    body = dataclasses.replace(entry.body, ops=(operation,))
    made = dataclasses.replace(instance, entries=(dataclasses.replace(entry, body=body),))
    return expand.expand(made).splitlines()[2].strip().removesuffix('loc("k":1:1)').strip()


def test_lines_that_differ_in_names_have_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "_lines", {})
    for left, right, result in (("a", "b", "c"), ("b", "a", "c2"), ("x", "x", "y")):
        assert printed(op("arith.addi", result, f"{left} {right}")) == f"%{result} = arith.addi %{left}, %{right} : i32"
    assert printed(op("arith.subi", "c", "a b")) == "%c = arith.subi %a, %b : i32"
    assert printed(op("motif.pair", "", "a")) == '"motif.pair"(%a) : (i32) -> ()'
    assert printed(op("motif.pair", "a", "")) == '%a = "motif.pair"() : () -> i32'


def test_values_that_are_equal_and_not_alike_are_printed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """`True` is a unit attribute and 1 a number, though they are equal; own and discardable keys are told apart."""
    monkeypatch.setattr(expand, "_lines", {})
    expected = {
        "{n}": {"extra": (("n", True),)},
        "{n = 1 : i64}": {"extra": (("n", 1),)},
        "<{n}>": {"n": True},
        "<{n = 1 : i64}>": {"n": 1},
    }
    for _ in range(2):
        for text_, given in expected.items():
            assert printed(op("motif.mark", "", "", **given)) == f'"motif.mark"() {text_} : () -> ()'


def test_text_that_looks_like_a_hole_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "_lines", {})
    for name in ("a", "b"):
        line = printed(op("motif.check", "", name, message="%hole0hole and %hole7hole"))
        assert line == f'"motif.check"(%{name}) <{{message = "%hole0hole and %hole7hole"}}> : (i32) -> ()'


def test_names_are_checked_in_lines_that_are_known() -> None:
    assert printed(op("arith.addi", "c", "a b"))
    with pytest.raises(ValueError, match="not an identifier"):
        printed(
            dataclasses.replace(op("arith.addi", "c", "a b"), operands=(Operand("a b", "i32"), Operand("b", "i32")))
        )


def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "_lines", {})
    monkeypatch.setattr(expand, "_MOST", 3)
    for number in range(10):
        assert printed(op("motif.mark", "", "", n=number)) == f'"motif.mark"() <{{n = {number} : i64}}> : () -> ()'
        assert len(expand._lines) <= 3
