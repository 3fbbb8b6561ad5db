"""The plan of a run: logical rows, and the physical work items that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from specgen.bench.folders import Benchmark, Built
from specgen.bench.options import Request, UsageError
from specgen.checks.cases import parsed
from specgen.checks.formula import Scope, scalar

SERIAL = "serial"


@dataclass(frozen=True)
class WorkItem:
    """What is timed: the code of an entry point on the inputs of a case. `entry` is the first that has that code."""

    number: int
    entry: str


@dataclass(frozen=True)
class LogicalRow:
    """An entry point in a group, and the work item that stands for it."""

    name: str
    entry: str
    item: WorkItem


@dataclass(frozen=True)
class Group:
    """Rows that take turns: the entry points of one artifact on one case of a benchmark."""

    built: Built
    benchmark: Benchmark
    case: Mapping[str, Any]
    target: str
    rows: tuple[LogicalRow, ...]

    @property
    def name(self) -> str:
        """What the names of its rows have in common."""
        return group_name(self.built, self.benchmark, self.case, self.target)

    @property
    def items(self) -> tuple[WorkItem, ...]:
        """The work items, each once."""
        return tuple(dict.fromkeys(row.item for row in self.rows))

    def row(self, entry: str) -> LogicalRow | None:
        """The row of an entry point."""
        return next((row for row in self.rows if row.entry == entry), None)

    def fields(self, row: LogicalRow) -> dict[str, Any]:
        """The keys that every row of output about a logical row starts with."""
        return {
            "row": row.name,
            "spec": self.built.name,
            "benchmark": self.benchmark.inputs.name,
            "case": dict(self.case),
            "target": self.target,
            "entry": row.entry,
            "work_item": row.item.number,
        }


@dataclass(frozen=True)
class Plan:
    """Every group; `notes` say what has no row and why."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    @property
    def logical_rows(self) -> int:
        """How many logical rows there are."""
        return sum(len(group.rows) for group in self.groups)

    @property
    def work_items(self) -> int:
        """How many work items there are."""
        return sum(len(group.items) for group in self.groups)


def case_name(case: Mapping[str, Any]) -> str:
    """`n=1024,seed=1`; a dash for the only case of a benchmark."""
    return ",".join(f"{name}={value}" for name, value in case.items()) or "-"


def group_name(built: Built, benchmark: Benchmark, case: Mapping[str, Any], target: str) -> str:
    """`SPEC/BENCHMARK/CASE/TARGET`; the spec with its set of params, where that is not the default one."""
    return f"{built.label}/{benchmark.inputs.name}/{case_name(case)}/{target}"


def make(folders: Sequence[Built], request: Request) -> Plan:
    """The plan of a call. Raises `UsageError` for names that fit nothing."""
    groups: list[Group] = []
    notes: list[str] = []
    seen: list[str] = []
    used: set[str] = set()
    known = {entry for built in folders for entry in built.entries}
    for entry in request.compare or ():
        if entry not in known:
            raise UsageError(f"no entry {entry}", f"entries: {', '.join(sorted(known))}")
    offered = {target for built in folders for target in built.targets(request.device)}
    for target in request.target:
        if folders and target not in offered:
            hint = f"targets: {', '.join(sorted(offered)) or 'none'}"
            raise UsageError(f"nothing was built for {target} that {request.device} runs", hint)
    for built in folders:
        targets = [t for t in built.targets(request.device) if not request.target or t in request.target]
        if not targets:
            notes.append(f"{built.label}: built for no target that {request.device} runs")
        elif not built.benchmarks:
            notes.append(f"{built.label}: the spec has no `benchmarks:`")
        for target in targets:
            for benchmark in built.benchmarks:
                for case in benchmark.inputs.cases():
                    names = _entries(built, benchmark, case, target, request, seen, used)
                    if names:
                        first = sum(len(g.items) for g in groups)
                        groups.append(_group(built, benchmark, case, target, names, first))
    unused = [pattern for pattern in request.only if pattern not in used]
    if unused:
        shown = ", ".join(seen[:8]) + (", ..." if len(seen) > 8 else "")
        raise UsageError(f"--only {unused[0]}: no such row", f"rows: {shown}" if seen else "there are none")
    return Plan(tuple(groups), tuple(notes))


def _entries(
    built: Built,
    benchmark: Benchmark,
    case: Mapping[str, Any],
    target: str,
    request: Request,
    seen: list[str],
    used: set[str],
) -> list[str]:
    """The entries of a group that the call asks for; notes the names there are and the patterns that were of use."""
    result = []
    for entry in built.entries:
        if not _concerns(built, benchmark, case, target, entry):
            continue
        name = f"{group_name(built, benchmark, case, target)}/{entry}"
        seen.append(name)
        fitting = [pattern for pattern in request.only if _fits(pattern, name)]
        used.update(fitting)
        if (fitting or not request.only) and (request.compare is None or entry in request.compare):
            result.append(entry)
    return result


def _fits(pattern: str, name: str) -> bool:
    """Whether the parts of a pattern fit the first parts of a name, the spec's name left out or not."""
    wanted, parts = pattern.strip("/").split("/"), name.split("/")
    return any(
        len(wanted) <= len(rest) and all(fnmatchcase(part, w) for part, w in zip(rest, wanted, strict=False))
        for rest in (parts, parts[1:])
    )


def _concerns(built: Built, benchmark: Benchmark, case: Mapping[str, Any], target: str, entry: str) -> bool:
    """Whether a case is of this build and entry: a param or policy that it names has the value that it names."""
    fixed = {**built.manifest.get("params", {}), **built.policies(entry, target)}
    named = {**case, **{n: _value(v) for n, v in benchmark.inputs.given.items() if n in fixed}}
    return all(fixed[name] == value for name, value in named.items() if name in fixed)


def _value(text: Any) -> Any:
    return scalar(parsed(text), Scope({}, frozenset({text}))) if isinstance(text, str) else text


def _group(
    built: Built, benchmark: Benchmark, case: Mapping[str, Any], target: str, entries: Iterable[str], first: int
) -> Group:
    """Entries with equal code share a work item; numbers count from `first` on."""
    items: dict[str, WorkItem] = {}
    rows = []
    head = group_name(built, benchmark, case, target)
    for entry in entries:
        code = built.code(entry, target)
        if code not in items:
            items[code] = WorkItem(first + len(items), entry)
        rows.append(LogicalRow(f"{head}/{entry}", entry, items[code]))
    return Group(built, benchmark, case, target, tuple(rows))
