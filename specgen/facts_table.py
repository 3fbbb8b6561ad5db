"""What is known of the values of an entry point, and what each fact rests on: the rows of `specgen facts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Block, SSAValue

    from specgen.binding.instance import Instance
    from specgen.ir.facts_context import Context
    from specgen.ir.facts_record import Reason, RecordedFacts


@dataclass(frozen=True)
class Because:
    """One source of a fact; `place` is `file:line:column`, empty where the IR names no place."""

    fact: str
    kind: str
    text: str
    place: str


@dataclass(frozen=True)
class Row:
    """What is known of one value.

    `within` is empty for what always holds, else the place of the statement inside of which it holds. `low` and `high`
    are the ends of a closed range, None where there is none; `multiple_of` 1 says nothing.
    """

    name: str
    type: str
    place: str
    within: str
    side: str
    low: int | None
    high: int | None
    multiple_of: int
    uniform: str
    because: tuple[Because, ...]

    @property
    def exact(self) -> int | None:
        """The only value, if there is only one."""
        return self.low if self.low == self.high else None

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON keys; what does not apply is left out."""
        row: dict[str, Any] = {"name": self.name, "type": self.type, "location": self.place}
        if self.within:
            row |= {"within": self.within, "side": self.side}
        if self.low is not None or self.high is not None:
            row["range"] = [self.low, self.high]
        if self.exact is not None:
            row["exact"] = self.exact
        if self.multiple_of != 1:
            row["multiple_of"] = self.multiple_of
        row["uniform"] = self.uniform
        row["because"] = [{"fact": b.fact, "source": b.kind, "text": b.text, "location": b.place} for b in self.because]
        return row


def table(function: FuncOp, instance: Instance, *, unnamed: bool = False) -> list[Row]:
    """The rows of a function, in the order of its operations.

    Constants and memory are left out, and unless `unnamed` what has no name in the spec. A value has a row where it
    is defined, and one more inside of each statement whose condition, bounds or promise narrow what is known of it.
    """
    from specgen.ir.facts_record import RecordedFacts

    facts = RecordedFacts(function)
    declared = {arg.name: arg.span.point() for arg in instance.args}
    maker = _Maker(facts, declared)
    seen: list[SSAValue] = []
    return list(_rows(maker, function.body.block, seen, unnamed))


def _rows(maker: _Maker, block: Block, seen: list[SSAValue], unnamed: bool) -> Iterator[Row]:
    from xdsl.dialects import arith

    from specgen.ir.dialect import AssumeOp

    context = maker.facts.contexts.at(block)
    own = [*block.args]
    if context.parent is not None and context.own:
        yield from maker.narrowed(seen, context, context.parent, context.own[0].origin, block)
    yield from (row for value in own if _listed(value, unnamed) for row in maker.row(value, context))
    visible = [*seen, *own]
    for op in block.ops:
        at = maker.facts.contexts.at(op)
        for region in op.regions:
            for inner in region.blocks:
                yield from _rows(maker, inner, visible, unnamed)
        if isinstance(op, AssumeOp):
            after = maker.facts.assuming(at, op.condition, True, op)
            if after is not at:
                yield from maker.narrowed(visible, after, at, op, block)
        for value in op.results:
            visible.append(value)
            if not isinstance(op, arith.ConstantOp) and _listed(value, unnamed):
                yield from maker.row(value, at)


def _listed(value: SSAValue, unnamed: bool) -> bool:
    from specgen.ir.facts_record import is_named

    return value.type.name != "memref" and (unnamed or is_named(value))


class _Maker:
    def __init__(self, facts: RecordedFacts, declared: Mapping[str, str]) -> None:
        self.facts = facts
        self.declared = declared

    def row(self, value: SSAValue, context: Context) -> Iterator[Row]:
        """The row of a value where it is defined."""
        yield self._made(value, context, "", "")

    def narrowed(
        self, values: list[SSAValue], context: Context, outer: Context, origin: Any, block: Block
    ) -> Iterator[Row]:
        """Rows of named values of which more is known in `context` than in `outer`."""
        from specgen.ir import locations
        from specgen.ir.facts_transfer import is_integer

        side = _side(origin, block)
        for value in values:
            if not is_integer(value.type) or not _listed(value, False):
                continue
            inside, before = self.facts.interval(value, context), self.facts.interval(value, outer)
            if inside != before or self._multiple(value, context) != self._multiple(value, outer):
                yield self._made(value, context, locations.text(origin), side)

    def _multiple(self, value: SSAValue, context: Context) -> int:
        from specgen.ir.facts_multiple import multiple_of

        return multiple_of(self.facts, value, context)

    def _made(self, value: SSAValue, context: Context, within: str, side: str) -> Row:
        from specgen.ir.facts_transfer import is_integer, type_range

        low = high = None
        multiple = 1
        because: list[Because] = []
        if is_integer(value.type):
            known = self.facts.interval(value, context)
            if known != type_range(value.type):
                low, high = known.lo, known.hi
                because += self._because("range", self.facts.reasons(value, context))
            multiple = self._multiple(value, context)
            if multiple != 1 and known.exact is None:
                because += self._because("multiple", self.facts.multiple_reasons(value, context))
            multiple = 1 if known.exact is not None else multiple
        because += self._because("uniform", self.facts.uniform_reasons(value))
        return Row(
            self._name(value),
            str(value.type),
            self._place(value),
            within,
            side,
            low,
            high,
            multiple,
            self.facts.uniform(value),
            tuple(because),
        )

    def _because(self, fact: str, reasons: tuple[Reason, ...]) -> Iterator[Because]:
        for reason in reasons:
            place = reason.place
            if not place and reason.kind in ("declared", "launch"):
                names = [self._name(v) for v in reason.values]
                place = next((self.declared[n] for n in names if n in self.declared), "")
            yield Because(fact, reason.kind, reason.text, place)

    def _name(self, value: SSAValue) -> str:
        from specgen.ir.facts_record import name_of

        return name_of(self.facts, value)

    def _place(self, value: SSAValue) -> str:
        from xdsl.ir import Block

        from specgen.ir import locations

        if not isinstance(value.owner, Block):
            return locations.text(value.owner)
        parent = value.owner.parent_op()
        if parent is self.facts.function:
            return self.declared.get(self._name(value), "")
        return "" if parent is None else locations.text(parent)


def _side(origin: Any, block: Block) -> str:
    from xdsl.dialects import scf

    if isinstance(origin, scf.IfOp):
        return "then" if block.parent_region() is origin.true_region else "else"
    return {"scf.for": "body", "scf.while": "body"}.get(origin.name, "behind")
