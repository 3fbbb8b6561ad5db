"""The printer that remembers against xDSL's own: the same text, whatever was printed before."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.dialects.scf import WhileOp
from xdsl.ir import BlockArgument, Operation
from xdsl.printer import Printer

from specgen import stages
from specgen.ir import parse, print_module, printer
from specgen.loading import load_spec

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.spec.yaml"))


class Plain(Printer):
    """xDSL's printer with the repairs that a text needs to be read again, and without a memory."""

    def print_op(self, op: Operation) -> None:
        self.print_generic_format = isinstance(op, WhileOp)
        super().print_op(op)
        self.print_generic_format = False

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        told, self.print_debuginfo = self.print_debuginfo, not isinstance(arg.location, UnknownLoc)
        super().print_block_argument(arg, print_type)
        self.print_debuginfo = told


def plain(module: ModuleOp) -> str:
    """What xDSL prints."""
    out = StringIO()
    Plain(stream=out, print_debuginfo=True).print_op(module)
    return out.getvalue() + "\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory of the test's own."""
    monkeypatch.setattr(printer, "_kinds", {})
    monkeypatch.setattr(printer, "_places", {})


@pytest.mark.parametrize("path", SPECS[1::5], ids=lambda p: p.name.split(".")[0])
def test_modules_of_specs(path: Path) -> None:
    spec = load_spec(path, path.parent).spec
    planned = stages.plan(spec, "gfx1151").planned if spec is not None and spec.kind == "kernel" else None
    if planned is None:
        pytest.skip("a motif, or refused by this target")
    for module in (planned.source, planned.scheduled.module):
        expected = plain(module)
        for _ in range(2):
            assert print_module(module) == expected


TEXT = """
func.func @f(%a: f32, %b: f32, %x: memref<?xf32>, %i: index, %p: i1) {
  %c = arith.subf %a, %b : f32 loc("k.spec.yaml":1:2)
  %d = arith.subf %b, %a : f32 loc("k.spec.yaml":3:4)
  %0 = arith.subf %d, %d : f32
  %e = arith.subf %0, %c fastmath<contract> : f32 loc("k.spec.yaml":3:4)
  %g = arith.subf %e, %c {motif.note = "with %c, and \\22"} : f32 loc("a \\22 b":5:6)
  memref.store %e, %x[%i] : memref<?xf32> loc("k.spec.yaml":7:8)
  memref.store %g, %x[%i] {motif.align = 4 : i64} : memref<?xf32> loc("k.spec.yaml":7:9)
  memref.store %g, %x[%i] {motif.align = 8 : i64} : memref<?xf32> loc("k.spec.yaml":7:9)
  %s = scf.if %p -> (f32) { scf.yield %a : f32 } else { scf.yield %b : f32 }
  %w = scf.while (%v = %s) : (f32) -> f32 {
    %more = arith.cmpf olt, %v, %b : f32
    scf.condition(%more) %v : f32
  } do {
  ^bb0(%v: f32):
    %next = arith.addf %v, %v : f32
    scf.yield %next : f32
  }
  func.return
}
"""


def test_like_operations_with_other_names_and_places() -> None:
    module = parse(TEXT)
    expected = plain(module)
    for _ in range(2):
        assert print_module(module) == expected
        assert " loc(" not in print_module(module, locations=False)
    assert parse(expected).is_structurally_equivalent(module)


def test_what_is_printed_follows_a_change() -> None:
    """An attribute, a place or a name that changes after an operation was printed."""
    module = parse(TEXT)
    print_module(module)
    (store, *_) = [op for op in module.walk() if op.name == "memref.store"]
    store.attributes["motif.note"] = StringAttr("new")
    store.operands[0].name_hint = "renamed"
    store.location = UnknownLoc()
    assert print_module(module) == plain(module)


def test_names_in_another_order_are_not_remembered() -> None:
    """An operation that repeats a name, or has its operands in another order, is xDSL's to print every time."""
    module = parse(TEXT)
    add = next(op for op in module.walk() if op.name == "arith.addf")
    kept = type(add).print

    def swapped(self: Operation, out: Printer) -> None:
        out.print_string(" ")
        out.print_operand(self.operands[1])
        out.print_string(" after ")
        out.print_operand(self.operands[0])
        out.print_operand(self.operands[0])

    type(add).print = swapped  # type: ignore[method-assign]
    try:
        expected = plain(module)
        for _ in range(2):
            assert print_module(module) == expected
    finally:
        type(add).print = kept  # type: ignore[method-assign]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printer, "_MOST", 3)
    module = parse(TEXT)
    assert print_module(module) == plain(module)
    assert len(printer._kinds) <= 3
    assert len(printer._places) <= 3
