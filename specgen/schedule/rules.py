"""The rules that a loop policy may break: one row a rule, and the diagnostic made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from specgen.diagnostics import Diagnostic, Note, Span
from specgen.ir import locations

FAMILY = "SG-LOOP"


@dataclass(frozen=True)
class Rule:
    """`key` is the row of the loop contract, `title` what it asks for, `hint` the way out.

    Rules that are no rows of the contract (`numbered` false) share the code of the family.
    """

    key: str
    title: str
    hint: str
    numbered: bool = True

    @property
    def code(self) -> str:
        """The code of its diagnostics."""
        return f"{FAMILY} {self.key}" if self.numbered else FAMILY


_SERIAL = "Set `pipeline: 1`"

_ROWS = [
    Rule("P1", "the depth is exact when the kernel is built", "Make `pipeline` a static integer."),
    Rule("P2", "the depth lies in 1..65535", "Choose a depth in 1..65535; 1 leaves the loop serial."),
    Rule("P3", "the step is a positive constant", f"{_SERIAL}, or use a constant positive step in `range`."),
    Rule("P4", "the first index of the steady loop fits `index`", "Use a smaller depth or step."),
    Rule("P5", "the loop does not carry storage", f"{_SERIAL}, or carry a value instead of a buffer."),
    Rule("P6", "the body reads a buffer", f"{_SERIAL}: there is nothing to read ahead."),
    Rule("P7", "a value that was read reaches the ordered part", f"{_SERIAL}, or use the value that is read."),
    Rule("P8", "the body writes no buffer", f"{_SERIAL}, or move the store after the loop."),
    Rule("P9", "no barrier of the body orders buffers", f"{_SERIAL}, or use a workgroup barrier."),
    Rule(
        "P10",
        "workgroup memory and barriers need exact loop bounds",
        f"{_SERIAL}, or make both bounds constants and guard the ragged end inside the loop.",
    ),
    Rule(
        "P11",
        "collectives need exact loop bounds",
        f"{_SERIAL}, or make both bounds constants and guard the ragged end inside the loop.",
    ),
    Rule(
        "P12",
        "what is read does not depend on what the loop carries",
        f"{_SERIAL}, or compute address and guard from the counter and values of outside; an inner loop that reads"
        " begins with a `var` of its own, and what it leaves is added behind it (or has `unroll: full`).",
    ),
    Rule(
        "P13",
        "addresses and guards come neither from a collective nor from workgroup or private memory",
        f"{_SERIAL}, or compute address and guard from the counter and values of outside.",
    ),
    Rule(
        "P14",
        "reads and collectives of one nested statement can be separated",
        f"{_SERIAL}, or move the collective out of the statement that reads.",
    ),
    Rule("P15", "the body nests only `for` and `if`", f"{_SERIAL}, or write the inner loop as a `for`."),
    Rule("P16", "the body holds ordinary reads and memory-pure operations only", f"{_SERIAL}."),
    Rule("P17", "queued values have a type that does not change", f"{_SERIAL}, or select values instead of buffers."),
    Rule("P18", "the carried values and the queue fit an operand list", "Use a smaller depth."),
    Rule(
        "P19",
        "an inner loop that reads buffers and writes workgroup memory is expanded first",
        "Give the inner loop `unroll: full` in linear order and constant bounds.",
    ),
    Rule("U1", "a full unroll needs an exact trip count", "Use a factor, or bounds whose distance is constant."),
    Rule("U2", "the copies of an unrolled loop are at most 8192 operations", "Use a smaller factor."),
    Rule("U3", "the step is a positive constant", "Use a constant positive step in `range`."),
    Rule("U4", "a full unroll's trip count does not depend on its lower bound", "Make the bounds' distance exact."),
    Rule("U5", "the factor is exact and not negative", "Use a factor of 0 or more, or `full`."),
    Rule("U6", "`order` and `tail` need `unroll`, and `tail` a factor", "Add `unroll`, or remove the key."),
    Rule(
        "words",
        "`order` and `tail` are known words",
        "Use linear, interleaved or recurrence; guard or cut.",
        numbered=False,
    ),
    Rule(
        "storage",
        "a loop that carries storage is not unrolled",
        "Carry a value instead of a buffer, or remove `unroll`.",
        numbered=False,
    ),
    Rule("lead-alone", "`lead` needs `pipeline`", "Give the loop a `pipeline`, or remove `lead`.", numbered=False),
    Rule(
        "lead-chain",
        "`lead` needs a read that feeds the address or guard of another",
        "Remove `lead`.",
        numbered=False,
    ),
    Rule(
        "split-loop",
        "`split` stands in a counted loop, with only `if` in between",
        "Remove `split`, or write the loop as a `for`.",
        numbered=False,
    ),
    Rule(
        "split-condition",
        "the condition of `split` is monotone in the counter",
        "Compare the counter (times a number, plus what the loop does not change) by `<`, `<=`, `>` or `>=`, or remove "
        "`split`.",
        numbered=False,
    ),
    Rule(
        "split-participants",
        "work-items that meet in the loop agree on the condition of `split`",
        "Remove `split`, or compare with a value that is the same for all of them.",
        numbered=False,
    ),
    Rule(
        "early",
        "nothing that an `early` read passes may write what it reads",
        "Move the `let` behind it, or remove `early`.",
        numbered=False,
    ),
    Rule(
        "through-alone",
        "`through` needs `pipeline`",
        "Give the loop a `pipeline`, or remove `through`.",
        numbered=False,
    ),
    Rule(
        "through-carried",
        "the let that `through` names does not depend on what the loop carries",
        f"{_SERIAL}, remove `through`, or name a let that is computed before a carried value comes in.",
        numbered=False,
    ),
    Rule(
        "through-ordered",
        "the let that `through` names needs no collective and neither workgroup nor private memory",
        f"{_SERIAL}, remove `through`, or name a let that is computed before.",
        numbered=False,
    ),
    Rule(
        "through-idle",
        "the body computes the let that `through` names, in each iteration anew",
        "Remove `through`, or name another let.",
        numbered=False,
    ),
    Rule(
        "through-branch",
        "of a conditional that also updates carried state one branch runs ahead",
        f"{_SERIAL}, remove `through`, or compute the let before the conditional.",
        numbered=False,
    ),
    Rule(
        "through-rounding",
        "a product and a sum that `contract` may round together stay together",
        "Remove `through`, or `contract` from `math`.",
        numbered=False,
    ),
    Rule("lead-value", "`lead` is 0 or more, or `auto`", "Use 0 or more, or `auto`.", numbered=False),
]

RULES: dict[str, Rule] = {rule.key: rule for rule in _ROWS}
"""Rules by key."""


class Rejected(Exception):
    """One or more broken rules; the pass that planned the loop turns it into diagnostics."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(d.message for d in diagnostics))


def span_of(op: Operation) -> Span:
    """Where the op (or, without a location, what is around it) came from: one column, which a renderer may widen."""
    at: Operation | None = op
    while at is not None:
        place = locations.of(at)
        if place is not None:
            file, line, column = place
            return Span(file, line, column, line, column + 1)
        at = at.parent_op()
    return Span("<ir>", 1, 1, 1, 2)


def broken(
    key: str,
    op: Operation | Span,
    why: str,
    *,
    found: str | None = None,
    allowed: tuple[str, ...] = (),
    notes: Sequence[tuple[Operation, str]] = (),
) -> Diagnostic:
    """The diagnostic for a rule that `op` (or what stands at a place) breaks."""
    rule = RULES[key]
    return Diagnostic(
        code=rule.code,
        span=op if isinstance(op, Span) else span_of(op),
        message=f"{why}. Rule: {rule.title}.",
        found=found,
        allowed=allowed,
        hint=rule.hint,
        notes=tuple(Note(span_of(place), text) for place, text in notes),
    )


_WORDS = {
    "memref.load": "the read",
    "vector.load": "the read",
    "vector.maskedload": "the read",
    "memref.store": "the store",
    "vector.store": "the store",
    "vector.maskedstore": "the store",
    "memref.atomic_rmw": "the atomic",
    "memref.alloc": "the allocation",
    "scf.if": "the conditional",
    "scf.while": "the `while`",
    "gpu.barrier": "the barrier",
    "motif.arrive": "the barrier",
    "motif.wait": "the barrier",
    "motif.fence": "the source fence",
    "motif.workgroup_reduce": "the workgroup operation",
}


def describe(op: Operation) -> str:
    """The op in words for a message: in those of the language where it has some."""
    if op.name == "scf.for":
        name = op.attributes.get("motif.loop")
        return f"the loop `{name.data}`" if isinstance(name, StringAttr) else "the inner loop"
    if op.name.startswith("motif.subgroup"):
        return "the subgroup operation"
    return _WORDS.get(op.name, f"`{op.name}`")
