"""Faults planted in the scheduler, one at a time: the suite has to notice each.

Goldens do not take part, for any change would fail them; what kills a fault is a wrong result, a wrong address, a
wrong refusal or a wrong row.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from scheduling import planted

HERE = Path(__file__).resolve().parent
FILES = "rows through tails orders full_tiles passes rules wide_counters equal_to_serial random_nests".split()


@dataclass(frozen=True)
class Fault:
    """Where `old` becomes `new`."""

    module: str
    old: str
    new: str


FAULTS = (
    # The guard and the shape of the pipelined loop.
    Fault("pipeline", "begin, emit.less(begin, loop.ub)\n    limit", "begin, emit.less(loop.lb, loop.ub)\n    limit"),
    Fault("pipeline", 'CmpiOp(loop.lb, limit, "sle")', 'CmpiOp(limit, loop.lb, "sle")'),
    Fault("pipeline", "number * shape.step, shape.counter))", "number, shape.counter))"),
    Fault("pipeline", "return self.ahead * self.step", "return self.ahead"),
    Fault("pipeline", "return self.depth - 1", "return self.depth"),
    Fault("pipeline", "old = state[carried : carried + width]", "old = newest"),
    Fault("pipeline", "*state[carried + width :], *newest]", "*newest, *state[carried + width :]]"),
    Fault(
        "pipeline",
        "halves.consumer(emit, counter, record, values)",
        "halves.consumer(emit, counter, record, steady.results[:carried])",
    ),
    Fault("pipeline", "-(shape.ahead - 1 - number) * shape.step", "-(shape.ahead - number) * shape.step"),
    Fault("pipeline", "return emit.offset(loop.ub, -1)", "return loop.ub"),
    Fault("pipeline", "emit.sub_index(loop.ub, begin), -1)", "emit.sub_index(loop.ub, begin), 0)"),
    Fault("pipeline", "IntegerAttr(shape.trips - shape.ahead, 64)", "IntegerAttr(shape.trips, 64)"),
    Fault("pipeline", "policy.take_off(copy, *policy.PIPELINE_KEYS)", "pass"),
    Fault("pipeline", "inner.counter(counter, -shape.lead, shape.counter)", "counter"),
    # Legality.
    Fault("legality", "if not 1 <= depth <= DEPTH_MAX", "if not 0 <= depth <= DEPTH_MAX"),
    Fault("legality", "if (depth - 1) * step > INDEX_MAX:", "if False:"),
    Fault("legality", "if kind is Kind.WRITE:", "if False:"),
    Fault("legality", "elif kind is Kind.GLOBAL_SYNC:", "elif False:"),
    Fault("legality", "elif kind is Kind.WHILE:", "elif False:"),
    Fault("legality", "if total > OPERANDS_MAX:", "if False:"),
    Fault("legality", "if written and which:", "if False:"),
    Fault("legality", "long = True if low >= depth", "long = True if low >= depth - 1"),
    Fault("legality", "high < depth else None", "high <= depth else None"),
    # Expansion of inner loops.
    Fault("expand", "carried.update(op.results)", "pass"),
    Fault("expand", "carried.update(inside.args)", "pass"),
    Fault("expand", "if inner not in ordered and not", "if not"),
    # The partition.
    Fault("partition", "self.carried.update(op.results)", "pass"),
    Fault("partition", "if len(reading) != 1:", "if not reading:"),
    Fault("partition", "self._require_value(op.cond, op, op)", "pass"),
    Fault("partition", "elif held:\n            key", "elif False:\n            key"),
    Fault("partition", "needs.counter or any(", "any("),
    Fault("partition", "if value in self.loop.body.block.args[1:]:", "if False:"),
    Fault("partition", "elif op in self.splits:\n            why", "elif False:\n            why"),
    Fault("partition", "if not any(value in derived for value in chosen):", "if False:"),
    Fault("partition", "if isinstance(value.type, MemRefType):", "if False:"),
    Fault("record", "if number == splits[op]:", "if number != splits[op]:"),
    Fault("record", "if value in queued or value is self.counter", "if value is self.counter"),
    Fault("record", "elif op not in producer:", "elif op not in producer and op.results:"),
    Fault("record", "return self._cheap(owner) and all(", "return all("),
    Fault(
        "stages", "condition = values.get(op.cond, op.cond)\n        guarded", "condition = op.cond\n        guarded"
    ),
    Fault(
        "stages",
        "if op in self.plan.splits:\n                self._guarded_producer",
        "if False:\n                self._guarded_producer",
    ),
    Fault("stages", "or op in self.plan.repeated", ""),
    Fault("chains", "tall[other] + 1 for other in fed", "tall[other] for other in fed"),
    # Lets that run ahead.
    Fault("partition", "if not reads and self._let_of(op) is None:", "if not reads:"),
    Fault("partition", "if op in self.lets:\n            self._refuse_result(op)\n        elif", "if"),
    Fault("partition", "if held and let is not None:", "if False:"),
    Fault("partition", "let.carried(self.loop, user))\n            return", "let.carried(self.loop, user))"),
    Fault("record", "return sum_of_indices and op not in self.queued_ops", "return sum_of_indices"),
    Fault("legality", "if policy.THROUGH in loop.attributes and", "if False and"),
    Fault("through", "if let.value in body.args[1:]:", "if False:"),
    Fault("through", "elif not _inside(let.value, loop):", "elif False:"),
    Fault("through", "if any(parent in producer for parent in _parents(op)):", "if False:"),
    Fault("through", "arith.AddfOp | arith.SubfOp) and _contracts(op):", "arith.AddfOp | arith.SubfOp):"),
    Fault(
        "through",
        "if op.name.startswith(_MOVES):\n            pending.extend(op.operands)",
        "if False:\n            pass",
    ),
    # Copies and their order.
    Fault("copies", "value = body.yielded[number]\n            copy -= 1", "value = body.yielded[number]"),
    Fault("copies", "return self.carried[number]", "return self.carried[0]"),
    Fault("copies", "if hazards.ordered(earlier, instance)", "if False"),
    Fault("hazards", "(first.kinds | second.kinds) & _WALLS", "False"),
    Fault("hazards", "if Kind.COLLECTIVE in first.kinds", "if False"),
    Fault("hazards", "left[1] != right[1] + distance * self.step", "True"),
    Fault("hazards", "if kind in _WRITES or other_kind in _WRITES", "if kind in _WRITES and other_kind in _WRITES"),
    Fault("hazards", "if space_of(left) != space_of(right):\n        return True", "return True"),
    Fault("orders", "max(0, self.count - queue)", "self.count"),
    Fault("orders", "if previous is not None and group != previous:", "if False:"),
    Fault("orders", "if known & cyclic}", "if False}"),
    # Unrolling.
    Fault(
        "unroll",
        "if request.factor is not None and request.factor <= 1:",
        "if request.factor is not None and request.factor <= 2:",
    ),
    Fault("unroll", "known - known % self.factor", "known"),
    Fault(
        "unroll", "emit.remainder(emit.sub_index(upper, loop.lb), self.factor)", "emit.remainder(upper, self.factor)"
    ),
    Fault("unroll", "self.loop.ub if low > 0 else", "self.loop.ub if low >= 0 else"),
    Fault("unroll", "emit.sub_index(trips, emit.remainder(trips, self.factor))", "trips"),
    Fault("unroll", 'CmpiOp(emit.index(ahead), left, "ult")', 'CmpiOp(emit.index(ahead), left, "ule")'),
    Fault("unroll", "ahead = number * self.step", "ahead = number"),
    Fault("unroll", "range(1, self.factor - 1)", "range(1, self.factor - 2)"),
    Fault(
        "unroll",
        "condition = self.emit.less(begin, self.loop.ub)",
        "condition = self.emit.less(self.loop.lb, self.loop.ub)",
    ),
    Fault(
        "unroll",
        "(begin, loop.ub, loop.step), carried, attributes",
        "(begin, loop.ub, loop.step), list(loop.iter_args), attributes",
    ),
    Fault("unroll", "self.step * self.factor <= INDEX_MAX", "0 <= INDEX_MAX"),
    Fault("unroll", "number * step, like) for number in range(trips)", "number, like) for number in range(trips)"),
    Fault("tails", "offset(end, -step)", "offset(end, 0)"),
    Fault("tails", "(*serial.iter_args, serial.lb)", "(*serial.iter_args, serial.ub)"),
    Fault("tails", "if policy.LAST in op.attributes:", "if False:"),
    Fault("pipeline", "if shape.long is None and last is not None", "if last is not None"),
    Fault("knowledge", "return count % factor == 0", "return True"),
    Fault("knowledge", "self.facts.divides(factor * step, distance", "self.facts.divides(step, distance"),
    Fault("cleanup", "elif trips == 1:", "elif trips == 2:"),
    Fault("cleanup", "if trips == 0:", "if trips == 2:"),
)


def source(fault: Fault) -> str:
    """The text of the module that a fault is planted in."""
    found = importlib.util.find_spec(f"specgen.schedule.{fault.module}")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


def test_each_fault_has_its_place() -> None:
    """The text to replace stands in its module once."""
    assert len(FAULTS) >= 60
    for fault in FAULTS:
        assert source(fault).count(fault.old) == 1, fault
        assert fault.old != fault.new


def survives(fault: Fault) -> bool:
    """Whether the suite passes with the fault."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent / "support"),
        planted.MODULE: f"specgen.schedule.{fault.module}",
        planted.OLD: fault.old,
        planted.NEW: fault.new,
    }
    files = [str(HERE / f"test_{name}.py") for name in FILES]
    options = ["-q", "-x", "-m", "not slow", "-p", "scheduling.planted", "-p", "no:cacheprovider", "--no-header"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        env=environment,
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.module}-{FAULTS.index(fault)}")
def test_planted_fault_is_noticed(fault: Fault) -> None:
    """Every one."""
    assert not survives(fault), f"{fault.module}: {fault.old!r} -> {fault.new!r} goes unnoticed"
