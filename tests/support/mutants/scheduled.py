"""Sites of scheduled IR. Rules by which a site is not drawn stand with the kind that they concern."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mutants.site import IR, Mutant
from specgen import ir

Edit = Callable[[Operation], None]
Site = tuple[str, bool, str, Operation, Edit]
"""Kind, whether in a steady loop, text, the operation, and what is done to it (in a fresh copy of the module)."""

FORM, LOOP = "motif.form", "motif.loop"


def ir_mutants(text: str, spec: str, target: str, entries: dict[str, str]) -> Iterator[Mutant]:
    """Every site of the entries; `entries` is entry -> symbol."""
    names = {symbol: entry for entry, symbol in entries.items()}
    module = ir.parse(text)
    order = {op: number for number, op in enumerate(module.walk())}
    for function in module.walk():
        if not isinstance(function, FuncOp) or function.sym_name.data not in names:
            continue
        for op in function.walk():
            for finder in (barriers, guards, bounds, swaps, tails, drains, addresses):
                for kind, steady, what, place, edit in finder(op):
                    shown = f"{_shown(place)} {what}"
                    entry = names[function.sym_name.data]
                    yield Mutant(kind, IR, spec, target, entry, steady, shown, _editor(order[place], edit))


def _editor(number: int, edit: Edit) -> Callable[[bytes], bytes]:
    def apply(data: bytes) -> bytes:
        module = ir.parse(data.decode())
        edit(next(itertools.islice(module.walk(), number, None)))
        module.verify()
        return ir.print_module(module).encode()

    return apply


def _shown(op: Operation) -> str:
    results = ", ".join(f"%{r.name_hint}" for r in op.results if r.name_hint)
    operands = ", ".join(f"%{o.name_hint}" for o in op.operands if o.name_hint)
    form = f" {_form(op)}" if _form(op) else ""
    return f"`{f'{results} = ' if results else ''}{op.name} {operands}`{form} {op.location}".strip()


def _form(op: Operation) -> str:
    attribute = op.attributes.get(FORM)
    return getattr(attribute, "data", "")


def _steady(op: Operation) -> bool:
    """Whether an operation is, or lies in, a steady loop."""
    above: Operation | None = op
    while above is not None:
        if _form(above) == "steady":
            return True
        above = above.parent_op()
    return False


def barriers(op: Operation) -> Iterator[Site]:
    """Barriers dropped."""
    if op.name == "gpu.barrier":
        yield "barrier", _steady(op), "dropped", op, lambda barrier: Rewriter.erase_op(barrier)


_SHIFTED = {2: 3, 3: 2, 4: 5, 5: 4, 6: 7, 7: 6, 8: 9, 9: 8}
"""`arith.cmpi` predicates: slt, sle, sgt, sge, ult, ule, ugt, uge; each to the one that differs at equality."""


def guards(op: Operation) -> Iterator[Site]:
    """Ordered comparisons of integers shifted by one.

    Not drawn: the condition that chooses between a pipelined loop and its serial copy. Both are right for the trip
    count that the shift moves from one to the other: the pipelined form runs its prologue and drain only.
    """
    if isinstance(op, CmpiOp) and op.predicate.value.data in _SHIFTED and not _chooses_form(op):
        yield "guard", _steady(op), "shifted", op, _shift


def _shift(op: Operation) -> None:
    assert isinstance(op, CmpiOp)
    op.properties["predicate"] = IntegerAttr(_SHIFTED[op.predicate.value.data], 64)


def _chooses_form(op: Operation) -> bool:
    users = [use.operation for use in op.results[0].uses]
    return bool(users) and all(
        isinstance(user, IfOp) and any(_form(inner) == "steady" for inner in user.true_region.block.ops)
        for user in users
    )


def bounds(op: Operation) -> Iterator[Site]:
    """Upper bounds of loops raised by one, and lowered by one.

    Not drawn: a bound lowered by less than a step, unless the step is 1. The distance is a multiple of the step, so
    the number of rounds stays.
    """
    if isinstance(op, ForOp):
        yield "guard", _steady(op), "upper bound + 1", op, lambda loop: _add(loop, 1, 1)
        if _constant(op.step) == 1:
            yield "guard", _steady(op), "upper bound - 1", op, lambda loop: _add(loop, 1, -1)


def _constant(value: SSAValue) -> int | None:
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) and isinstance(value.op.value, IntegerAttr):
        return int(value.op.value.value.data)
    return None


def _add(op: Operation, operand: int, amount: int) -> None:
    """Add a number to an index operand of an operation."""
    one = ConstantOp(IntegerAttr(amount, IndexType()))
    total = AddiOp(op.operands[operand], one.result)
    for new in (one, total):
        new.location = op.location
    Rewriter.insert_op([one, total], InsertPoint.before(op))
    op.operands[operand] = total.result


def swaps(op: Operation) -> Iterator[Site]:
    """Two neighbouring values of one type exchanged as a loop goes round.

    Not drawn: a value with itself; loops that only take maxima, which are the same in any order; two values that
    meet in one commutative operation and nowhere else, in the loop and behind it (a + b is b + a, bit for bit).
    """
    if not isinstance(op, ForOp) or _takes_maxima(op):
        return
    ending = op.body.block.last_op
    assert isinstance(ending, YieldOp)
    kinds = [value.type for value in ending.operands]
    for first, second in itertools.combinations(range(len(kinds)), 2):
        between = kinds[first + 1 : second]
        if kinds[first] != kinds[second] or kinds[first] in between:
            continue
        steady = _steady(op)
        if _meet(op.body.block.args[first + 1], op.body.block.args[second + 1]) and _meet(
            op.results[first], op.results[second]
        ):
            continue
        if ending.operands[first] != ending.operands[second]:
            yield "swap", steady, f"{first} and {second} exchanged", ending, _exchange(first, second)


_COMMUTATIVE = ("arith.addf", "arith.mulf", "arith.maxnumf", "arith.minnumf", "arith.addi", "arith.muli")
_ORDERED = ("arith.addf", "arith.subf", "arith.mulf", "math.fma", "memref.store", "vector.store", "memref.atomic_rmw")
"""Operations for which it matters in which order values come."""


def _takes_maxima(loop: ForOp) -> bool:
    names = {op.name for op in loop.walk()}
    return "arith.maxnumf" in names and not names.intersection(_ORDERED)


def _meet(first: SSAValue, second: SSAValue) -> bool:
    users = [use.operation for value in (first, second) for use in value.uses]
    return len(users) == 2 and users[0] is users[1] and users[0].name in _COMMUTATIVE


def _exchange(first: int, second: int) -> Edit:
    def edit(op: Operation) -> None:
        a, b = op.operands[first], op.operands[second]
        op.operands[first], op.operands[second] = b, a

    return edit


def tails(op: Operation) -> Iterator[Site]:
    """Serial copies and remainders of a pipelined or unrolled loop run no round."""
    if isinstance(op, ForOp) and _form(op) in ("serial", "remainder"):
        yield "tail", _steady(op), "no round", op, _no_round


def _no_round(op: Operation) -> None:
    op.operands[1] = op.operands[0]


def drains(op: Operation) -> Iterator[Site]:
    """What follows a steady loop in its block and ends in a yielded value gives way to the loop's own result."""
    if not isinstance(op, ForOp) or _form(op) != "steady":
        return
    block = op.parent
    assert block is not None
    ending = block.last_op
    if not isinstance(ending, YieldOp):
        return
    for number, value in enumerate(ending.operands):
        source = _carried(op, value, block)
        if source is not None:
            text = f"{number}: the drain of the steady loop left out"
            yield "tail", True, text, ending, _replace(number, source)


def _carried(loop: ForOp, value: SSAValue, block: Block) -> int | None:
    """The first result of the loop, of the value's type, that the value comes from by operations of the block."""
    seen: set[SSAValue] = set()
    todo = [value]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            if isinstance(one, OpResult) and one.op.parent is block and one.op is not loop:
                todo += one.op.operands
    if value in loop.results:
        return None
    return next((n for n, r in enumerate(loop.results) if r in seen and r.type == value.type), None)


def _replace(number: int, source: int) -> Edit:
    def edit(ending: Operation) -> None:
        assert ending.parent is not None
        loop = next(op for op in ending.parent.ops if _form(op) == "steady")
        ending.operands[number] = loop.results[source]

    return edit


MEMORY = ("memref.load", "memref.store", "vector.load", "vector.store", "vector.maskedload", "vector.maskedstore")


def addresses(op: Operation) -> Iterator[Site]:
    """The last subscript of an access raised by one."""
    if op.name in MEMORY:
        indices = [n for n, operand in enumerate(op.operands) if isinstance(operand.type, IndexType)]
        if indices:
            last = indices[-1]
            yield "address", _steady(op), "last subscript + 1", op, lambda access: _add(access, last, 1)
