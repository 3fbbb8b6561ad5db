"""Printing: what may enter a template, numbers that survive, text that cannot escape."""

from __future__ import annotations

import dataclasses
import math

import pytest
from binding_helpers import ARGS, bound, text

from specgen import expand, ir
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
