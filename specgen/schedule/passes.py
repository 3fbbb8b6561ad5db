"""The pass pipeline: its order, the log that passes write to, verification between passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from specgen.diagnostics import Diagnostic, has_errors
from specgen.ir.dialect import EARLY, AheadOp, ArriveOp, WaitOp
from specgen.ir.verified import Verifier
from specgen.schedule import Dump, Scheduled, policy
from specgen.schedule.barriers import check_split_barriers
from specgen.schedule.early import EarlyReads, check_early
from specgen.schedule.rows import PipelineRow, SplitRow, StageRow, UnrollRow


@dataclass
class Log:
    """What passes have to tell: report rows and refusals, in the order in which they came up."""

    rows: list[PipelineRow] = field(default_factory=list)
    stages: list[StageRow] = field(default_factory=list)
    unrolls: list[UnrollRow] = field(default_factory=list)
    splits: list[SplitRow] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def refuse(self, *diagnostics: Diagnostic) -> None:
        """Note refusals, each once."""
        self.diagnostics.extend(d for d in dict.fromkeys(diagnostics) if d not in self.diagnostics)


class Pass(Protocol):
    """A frozen dataclass that changes a module in place.

    Before: the module verifies. After: it verifies and computes the same. Refusals go to the log; a module with
    refusals is thrown away by `run`.
    """

    name: ClassVar[str]

    def run(self, module: ModuleOp, log: Log) -> None:
        """Rewrite `module`."""


def pipeline() -> tuple[Pass, ...]:
    """The passes in order."""
    from specgen.schedule.cleanup import CleanUp
    from specgen.schedule.read_ahead import ReadAhead
    from specgen.schedule.split import SplitLoops
    from specgen.schedule.unroll import Unroll

    return (SplitLoops(), ReadAhead(), Unroll(), EarlyReads(), CleanUp())


PASSES = ("split", "pipeline", "unroll", "early", "clean-up")
"""Names of the passes in order, for `--dump-ir after:NAME`."""


def run(source: ModuleOp, *, dump: Dump | None, only_plan: bool, verified: bool) -> Scheduled:
    """Schedule a clone of `source`; without anything to do and to show, `source` itself is the result.

    Raises `AssertionError` when a pass leaves a policy behind: an internal error.

    The module is in order before and after each pass: what follows one pass precedes the next, so it is verified
    once between them, and `verified` says that the source already was.
    """
    if dump is None and verified and not any(_concerns_a_pass(op) for op in source.walk()):
        return Scheduled(source, (), (), (), ())
    module = source.clone()
    log = Log()
    for function in policy.kernels(module):
        log.refuse(*check_split_barriers(function), *check_early(function))
    verifier = Verifier(module, verified=verified)
    if not verified:
        verifier.verify()
    for step in pipeline():
        if step.name != PASSES[0] and (has_errors(log.diagnostics) or (only_plan and step.name == PASSES[-1])):
            break  # what the first pass refuses is told beside what was refused before it
        step.run(module, log)
        if has_errors(log.diagnostics):
            break
        verifier.verify()
        if dump is not None:
            dump(step.name, _shown(module))
    refused = has_errors(log.diagnostics)
    if not refused:
        _check_consumed(module, log)
    result = source if refused or only_plan else module
    return Scheduled(
        result,
        tuple(log.rows),
        tuple(dict.fromkeys(log.stages)),
        _unique(log.unrolls),
        tuple(log.diagnostics),
        tuple(log.splits),
    )


def _concerns_a_pass(op: Operation) -> bool:
    """Whether a pass or check looks at such operations: without any, a module is its own schedule."""
    if isinstance(op, (scf.ForOp, AheadOp, ArriveOp, WaitOp)):
        return True
    return EARLY in op.attributes or policy.SPLIT in op.attributes


def _unique(rows: list[UnrollRow]) -> tuple[UnrollRow, ...]:
    """A loop that a pass copied is unrolled in each copy: one row for what became of it alike."""
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: (row.function, row.ordinal)))


def _shown(module: ModuleOp) -> ModuleOp:
    """A clone without what passes note for each other."""
    clone = module.clone()
    for function in policy.kernels(clone):
        policy.forget(function)
    return clone


def _check_consumed(module: ModuleOp, log: Log) -> None:
    for function in policy.kernels(module):
        for loop in policy.loops(function.body.block):
            left = [key for key in (*policy.PIPELINE_KEYS, *policy.UNROLL_KEYS) if key in loop.attributes]
            assert not left, f"{policy.name_of(loop)}: {left} left behind by the scheduler"
        policy.forget(function)
