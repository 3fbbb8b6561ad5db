"""Vector forms of comparisons, selects and conversions parse, print and verify like upstream's."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.utils.exceptions import VerifyException

from specgen.ir import parse, print_module

HEAD = (
    "builtin.module { func.func @f(%a: vector<4xf32>, %b: vector<4xi32>, %m: vector<4xi1>, %c: i1, %f: f32, "
    "%i: i32, %x: index) {\n"
)
TAIL = "\nfunc.return\n} }"

GOOD = [
    "%r = arith.cmpf olt, %a, %a fastmath<nnan> : vector<4xf32>",
    "%r = arith.cmpf une, %f, %f : f32",
    "%r = arith.cmpi slt, %b, %b : vector<4xi32>",
    "%r = arith.cmpi ult, %x, %x : index",
    "%r = arith.select %m, %a, %a : vector<4xi1>, vector<4xf32>",
    "%r = arith.select %c, %a, %a : vector<4xf32>",
    "%r = arith.select %c, %f, %f {motif.range = 1 : i64} : f32",
    "%r = arith.sitofp %b : vector<4xi32> to vector<4xf32>",
    "%r = arith.uitofp %i : i32 to f32",
    "%r = arith.extui %b : vector<4xi32> to vector<4xi64>",
    "%r = arith.extsi %i : i32 to i64",
    "%r = arith.trunci %b : vector<4xi32> to vector<4xi8>",
    "%r = arith.index_cast %b : vector<4xi32> to vector<4xindex>",
    "%r = arith.index_cast %x : index to i32",
]


@pytest.mark.parametrize("line", GOOD)
def test_text_survives(line: str) -> None:
    module = parse(HEAD + line + TAIL)
    text = print_module(module)
    assert line in text
    assert print_module(parse(text)) == text
    op = next(iter(module.body.block.first_op.body.block.ops))  # type: ignore[union-attr, attr-defined]
    assert isinstance(op, next(o for o in arith.Arith.operations if o.name == op.name))
    op.clone().verify()


@pytest.mark.parametrize(
    "line",
    [
        '%r = "arith.cmpf"(%a, %a) <{predicate = 1 : i64}> : (vector<4xf32>, vector<4xf32>) -> i1',
        '%r = "arith.select"(%m, %f, %f) : (vector<4xi1>, f32, f32) -> f32',
        '%r = "arith.sitofp"(%b) : (vector<4xi32>) -> vector<2xf32>',
        '%r = "arith.trunci"(%b) : (vector<4xi32>) -> vector<4xi64>',
        '%r = "arith.extui"(%b) : (vector<4xi32>) -> vector<4xi16>',
        '%r = "arith.extsi"(%f) : (f32) -> i64',
        '%r = "arith.index_cast"(%b) : (vector<4xi32>) -> vector<4xi64>',
    ],
)
def test_wrong_types_are_refused(line: str) -> None:
    with pytest.raises(VerifyException):
        parse(HEAD + line + TAIL)
