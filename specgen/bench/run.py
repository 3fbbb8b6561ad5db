"""A run: from a request and built folders to rows of output."""

from __future__ import annotations

import platform
import secrets
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import specgen
from specgen.bench import schema
from specgen.bench.folders import Built
from specgen.bench.group import COPY, GroupRun
from specgen.bench.machine import AbsentError, Inputs, Machine
from specgen.bench.options import Request
from specgen.bench.plan import SERIAL, Group, Plan, make
from specgen.devices.base import DeviceError

Row = dict[str, Any]


def run(
    request: Request, folders: Sequence[Built], refused: Sequence[str] = (), *, broken: bool = False
) -> Iterator[Row]:
    """The rows of a call, the summary last; its `status` is 1 when anything failed or there was nothing to
    measure.

    `refused` are specs that the device's target does not admit, each `NAME: reason`; `broken` says that some could not
    even be built. Raises `UsageError` for names that fit
    nothing and for a device that is absent.
    """
    start, run_id = time.perf_counter(), secrets.token_hex(6)
    plan = make(folders, request)
    counts: Counter[str] = Counter()
    yield {
        "kind": "run",
        "version": schema.VERSION,
        "run_id": run_id,
        "specgen": specgen.__version__,
        "python": platform.python_version(),
        "host": platform.machine(),
        "options": request.shown(),
    }
    for row in _rows(request, plan, refused):
        counts[row["kind"]] += 1
        counts["wrong"] += row["kind"] == "dispatch_cost" and not row["correct"]
        yield row
    measured = counts["benchmark"] + counts["dispatch_cost"] + counts["self_check"]
    idle = not (measured or counts["skip"] or request.dry_run)
    yield {
        "kind": "summary",
        "run_id": run_id,
        "logical_rows": plan.logical_rows,
        "work_items": plan.work_items,
        "timed": counts["benchmark"],
        "failed": counts["failure"],
        "skipped": counts["skip"],
        "dry_run": request.dry_run,
        "status": int(bool(counts["failure"] or counts["wrong"] or idle or broken)),
        "seconds": time.perf_counter() - start,
    }


def _rows(request: Request, plan: Plan, refused: Sequence[str]) -> Iterator[Row]:
    for note in (*refused, *plan.notes):
        yield {"kind": "skip", "row": note.partition(":")[0], "reason": note.partition(": ")[2]}
    for group in plan.groups:
        for row in group.rows:
            policies = group.built.policies(row.entry, group.target)
            yield {"kind": "plan", **group.fields(row), "policies": policies}
    if request.dry_run:
        return
    try:
        machine = Machine(request)
    except AbsentError as absent:
        if request.explicit:
            raise
        yield from _skipped(plan, f"{absent}; {absent.hint}")
        return
    try:
        yield machine.row()
        if request.self_check or request.dispatch_cost:
            from specgen.bench import selfcheck

            yield from selfcheck.rows(request, plan, machine)
        else:
            yield from _measured(request, plan, machine)
    finally:
        machine.close()


def _measured(request: Request, plan: Plan, machine: Machine) -> Iterator[Row]:
    """Every pipeline is compiled before the first timing."""
    able: list[Group] = []
    for group in plan.groups:
        refused = yield from _compiled(group, machine)
        if refused is None:
            able.append(group)
        else:
            yield from _skipped(Plan((group,), ()), refused)
    copy: Inputs | None = None
    try:
        try:
            copy = _copy_inputs(able, machine)
        except DeviceError as error:
            yield {"kind": "skip", "row": COPY, "reason": f"no ratio to a copy: {error}"}
        for group in able:
            yield from GroupRun(group, machine, request, copy).rows()
    finally:
        if copy is not None:
            copy.close()


def _skipped(plan: Plan, reason: str) -> Iterator[Row]:
    for group in plan.groups:
        for row in group.rows:
            yield {"kind": "skip", "row": row.name, "reason": reason}


def _compiled(group: Group, machine: Machine) -> Generator[Row, None, str | None]:
    """Compile a group's work items and `serial`; returns why the device cannot run one of them, else None."""
    built = group.built
    wanted = {item.entry: item.number for item in group.items}
    first: dict[str, str] = {}
    for entry in (*wanted, SERIAL):
        first.setdefault(str(built.entry(entry)["symbol"]), entry)
    for symbol, entry in first.items():
        row: Row = {"kind": "compile", "symbol": symbol, "target": group.target}
        if entry in wanted:
            row["work_item"] = wanted[entry]
        try:
            _, seconds = machine.load(built.artifact(group.target), symbol)
        except DeviceError as error:
            yield {**row, "status": "refused", "reason": str(error)}
            return str(error)
        yield {**row, "status": "compiled", "seconds": seconds}
    return None


def _copy_inputs(groups: Sequence[Group], machine: Machine) -> Inputs | None:
    """Arguments of the copy kernel, where a benchmark says how many bytes it moves."""
    if machine.limits is None or not any(group.benchmark.bytes is not None for group in groups):
        return None
    return machine.copy_inputs()
