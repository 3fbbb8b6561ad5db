"""Verification that remembers: every kind of fault is found, and like operations are looked at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr, i32
from xdsl.ir import Block, ErasedSSAValue, Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from specgen.ir import parse, verified
from specgen.ir.verified import Verifier, verify

TEXT = """
func.func @k(%n: index, %a: memref<?xf32>) attributes {motif.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %a[%i] : memref<?xf32>
    %t = arith.addf %acc, %x : f32
    scf.yield %t : f32
  }
  memref.store %sum, %a[%c0] : memref<?xf32>
  func.return
}
func.func @other() attributes {motif.kernel} {
  func.return
}
"""


def find(module: ModuleOp, kind: type[Operation]) -> Operation:
    """The first operation of a kind."""
    return next(op for op in module.walk() if isinstance(op, kind))


def swap_operand(module: ModuleOp) -> None:
    """An operand of the wrong type."""
    add, constant = find(module, arith.AddfOp), find(module, arith.ConstantOp)
    add.operands[1] = constant.results[0]


def retype(module: ModuleOp) -> None:
    """A result of another type than the operands'."""
    Rewriter.replace_value_with_new_type(find(module, arith.AddfOp).results[0], i32)


def retype_counter(module: ModuleOp) -> None:
    """A carried variable of another type than its initial value."""
    loop = find(module, scf.ForOp)
    Rewriter.replace_value_with_new_type(loop.regions[0].block.args[1], i32)


def retype_in_place(module: ModuleOp) -> None:
    """The same result with another type."""
    find(module, arith.AddfOp).results[0]._type = i32


def retype_counter_in_place(module: ModuleOp) -> None:
    """The same carried variable with another type."""
    find(module, scf.ForOp).regions[0].block.args[1]._type = i32


def drop_terminator(module: ModuleOp) -> None:
    """A block without its end."""
    op = find(module, scf.YieldOp)
    op.detach()
    op.erase()


def wrong_property(module: ModuleOp) -> None:
    """A property of the wrong kind."""
    find(module, arith.ConstantOp).properties["value"] = StringAttr("no number")


def erased_operand(module: ModuleOp) -> None:
    """An operand whose operation is gone."""
    load = find(module, memref.LoadOp)
    load.results[0].replace_all_uses_with(ErasedSSAValue(load.results[0].type, load.results[0]))


def wrong_parent(module: ModuleOp) -> None:
    """An operation that does not know the block that holds it."""
    find(module, arith.AddfOp).parent = module.body.block


def missing_operand(module: ModuleOp) -> None:
    """One operand too few, of the right type."""
    add = find(module, arith.AddfOp)
    add.operands = [add.operands[0]]


FAULTS = [
    erased_operand,
    wrong_parent,
    missing_operand,
    swap_operand,
    retype,
    retype_counter,
    retype_in_place,
    retype_counter_in_place,
    drop_terminator,
    wrong_property,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_each_kind_of_fault_is_found(fault: Callable[[ModuleOp], None]) -> None:
    """As `ModuleOp.verify` finds it, each time, though everything was in order before."""
    module = parse(TEXT)
    verify(module)
    fault(module)
    with pytest.raises((VerifyException, ValueError)):
        module.verify()
    for _ in range(2):
        with pytest.raises((VerifyException, ValueError)):
            verify(module)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("known", [False, True])
def test_a_verifier_sees_each_kind_of_fault(fault: Callable[[ModuleOp], None], known: bool) -> None:
    """It compares functions with what they were, and says it again as long as they are not in order."""
    module = parse(TEXT)
    verifier = Verifier(module, verified=known)
    verifier.verify()
    fault(module)
    for _ in range(2):
        with pytest.raises((VerifyException, ValueError)):
            verifier.verify()


def test_only_what_changed_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """One function is verified again after a change in it, none after no change, an unverified module whole."""
    seen: list[str] = []
    original = func.FuncOp.verify

    def noted(self: func.FuncOp, verify_nested_ops: bool = True) -> None:
        seen.append(self.sym_name.data)
        original(self, verify_nested_ops)

    monkeypatch.setattr(func.FuncOp, "verify", noted)
    module = parse(TEXT)
    assert seen == ["k", "other"]
    verifier = Verifier(module, verified=True)
    verifier.verify()
    assert seen == ["k", "other"]
    find(module, arith.AddfOp).attributes["motif.note"] = UnitAttr()
    verifier.verify()
    verifier.verify()
    assert seen == ["k", "other", "k"]
    find(module, arith.AddfOp).attributes["motif.note"] = StringAttr("another value")
    verifier.verify()
    assert seen == ["k", "other", "k", "k"]
    Verifier(module).verify()
    assert seen == ["k", "other", "k", "k", "k", "other"]


def test_where_a_branch_goes_is_part_of_the_shape() -> None:
    one, other = Block([cf.BranchOp(target := Block())]), Block()
    function = func.FuncOp("f", ((), ()), Region([one, target, other]))
    before = verified.shape(function)
    assert before == verified.shape(function)
    one.ops.first.successors[0] = other
    assert before != verified.shape(function)


def test_functions_that_come_and_go() -> None:
    """A new function is verified; one that was taken out is not looked at."""
    module = parse(TEXT)
    verifier = Verifier(module, verified=True)
    module.body.block.add_op(broken := find(module, func.FuncOp).clone())
    add = next(op for op in broken.walk() if isinstance(op, arith.AddfOp))
    add.operands[1] = broken.regions[0].block.args[0]
    with pytest.raises(VerifyException):
        verifier.verify()
    broken.detach()
    verifier.verify()


def test_like_operations_are_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One addition stands for all of its types; another type, property or place is looked at."""
    seen: list[str] = []
    original = arith.AddfOp.verify_

    def noted(self: arith.AddfOp) -> None:
        seen.append(str(self.results[0].type))
        original(self)

    monkeypatch.setattr(verified, "_in_order", set())
    monkeypatch.setattr(verified, "_at_hand", {})
    monkeypatch.setattr(arith.AddfOp, "verify_", noted)
    module = parse(TEXT)
    assert seen == ["f32"]
    verify(module)
    verify(module.clone())
    assert seen == ["f32"]
    find(module, arith.AddfOp).attributes["motif.note"] = UnitAttr()
    verify(module)
    assert seen == ["f32", "f32"]
    verify(parse(TEXT.replace("f32", "f16")))
    assert seen == ["f32", "f32", "f16"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "_in_order", set())
    monkeypatch.setattr(verified, "_at_hand", {})
    monkeypatch.setattr(verified, "_MOST", 3)
    verify(parse(TEXT))
    assert 0 < len(verified._in_order) <= 3
    assert 0 < len(verified._at_hand) <= 3
