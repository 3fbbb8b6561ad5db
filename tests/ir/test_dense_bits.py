"""Hexadecimal elements of dense attributes are the bits of a float."""

from __future__ import annotations

import math

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from specgen.ir import parse, print_module

BITS = {
    ("f16", "0xFC00"): -math.inf,
    ("bf16", "0xFF80"): -math.inf,
    ("f32", "0xFF800000"): -math.inf,
    ("f32", "0x7F800000"): math.inf,
    ("f32", "0x7FC00000"): math.nan,
    ("f32", "0x3FC00000"): 1.5,
    ("f64", "0xFFF0000000000000"): -math.inf,
}


@pytest.mark.parametrize(("kind", "bits"), BITS)
@pytest.mark.parametrize("several", [False, True])
def test_bits_are_read_and_printed(kind: str, bits: str, several: bool) -> None:
    """As MLIR reads them, and what is printed is read again."""
    elements = f"[2.5, {bits}]" if several else bits
    module = parse(f"func.func @k() {{ %a = arith.constant dense<{elements}> : vector<2x{kind}>\n func.return }}")
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    value = constant.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    wanted = BITS[kind, bits]
    got = list(value.get_values())
    assert len(got) == 2
    assert got[0] == (2.5 if several else wanted) or math.isnan(wanted)
    assert got[1] == wanted or (math.isnan(got[1]) and math.isnan(wanted))
    assert print_module(parse(print_module(module))) == print_module(module)
