"""The schema of `report.json`, declared once; the checker and `docs/report.md` come from this table.

Absent evidence is left out of a report: a missing key says "not known", a zero says "measured zero".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One key: its dotted path (`[]` for an entry of a list, `*` for any name), its type, its unit and its meaning."""

    path: str
    type: str
    meaning: str
    unit: str = ""
    required: bool = True


TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "flag": (bool,),
    "list": (list,),
    "mapping": (dict,),
    "value": (int, float, str, bool, type(None)),
}


def is_of(value: Any, name: str, types: Mapping[str, tuple[type, ...]] = TYPES) -> bool:
    """Whether a value has a type of the table; true and false are numbers in Python, but not here."""
    if isinstance(value, bool) and name not in ("flag", "value"):
        return False
    return isinstance(value, types[name])


SCHEMA: tuple[Row, ...] = (
    Row("identity", "mapping", "What this report is about: reports are comparable when these agree."),
    Row("identity.spec_sha256", "text", "SHA-256 over the spec and the files that it uses."),
    Row("identity.policies", "mapping", "Policy values of the default entry."),
    Row("identity.target", "text", "Target name."),
    Row("identity.specgen", "text", "Version of specgen."),
    Row("identity.llvm", "text", "Version of LLVM that generated the machine code.", required=False),
    Row("entries", "list", "One entry point each: default, serial, then the other variants by name."),
    Row("entries[].name", "text", "Name of the variant."),
    Row("entries[].policies", "mapping", "Its policy values."),
    Row("entries[].symbol", "text", "Its entry point in the artifact; entries that are the same kernel share one."),
    Row("entries[].workgroup_size", "list", "Work-items along x, y, z.", "work-items"),
    Row(
        "entries[].code_byte_count", "integer", "Size of the entry point's machine code or instruction words.", "bytes"
    ),
    Row("entries[].target_resources", "mapping", "Registers by file: scalar, vector, accumulator.", required=False),
    Row(
        "entries[].target_resources.*.final.register_count",
        "integer",
        "Registers that the code object reserves.",
        "registers",
    ),
    Row(
        "entries[].allocation_spill_count",
        "integer",
        "Registers spilled by the allocator.",
        "registers",
        required=False,
    ),
    Row("entries[].private_memory_bytes", "integer", "Scratch memory of one work-item.", "bytes", required=False),
    Row("entries[].workgroup_memory_bytes", "integer", "Static workgroup memory.", "bytes"),
    Row(
        "entries[].occupancy_percent",
        "number",
        "Resident waves of a SIMD against its maximum, from the target table.",
        "%",
        required=False,
    ),
    Row("entries[].static_instruction_mix", "mapping", "Instructions of the entry point by class.", "instructions"),
    Row("source_low", "mapping", "What the schedule did with the spec's loops."),
    Row("source_low.loop_pipelines", "mapping", "Read-ahead."),
    Row("source_low.loop_pipelines.rows", "list", "One row a loop that has a pipeline policy."),
    Row("source_low.loop_pipelines.rows[].function", "text", "Entry point."),
    Row("source_low.loop_pipelines.rows[].loop", "text", "Name of the loop's counter."),
    Row("source_low.loop_pipelines.rows[].location", "text", "file:line:column of the `for`."),
    Row("source_low.loop_pipelines.rows[].outcome", "text", "pipelined or serial."),
    Row(
        "source_low.loop_pipelines.rows[].depth",
        "integer",
        "Iterations of input in flight, the current one included.",
        "iterations",
    ),
    Row(
        "source_low.loop_pipelines.rows[].queue_records",
        "integer",
        "Records carried between iterations: depth - 1.",
        "records",
    ),
    Row("source_low.loop_pipelines.rows[].values_per_record", "integer", "Values in a record.", "values"),
    Row("source_low.loop_pipelines.rows[].read_count", "integer", "Static loads of the producer.", "loads"),
    Row("source_low.loop_pipelines.rows[].ordinal", "integer", "Number of the loop in the function, inner ones first."),
    Row("source_low.loop_pipelines.rows[].reason", "text", "Why a loop stayed serial.", required=False),
    Row("source_low.loop_pipelines.rows[].lead", "integer", "Extra distance of address reads.", "iterations", False),
    Row("source_low.loop_pipelines.rows[].instance", "text", "The `apply` that the loop came from.", required=False),
    Row("source_low.loop_pipelines.stages", "list", "Where each operation of a pipelined body went."),
    Row("source_low.loop_pipelines.stages[].op", "text", "Operation name."),
    Row("source_low.loop_pipelines.stages[].stage", "text", "producer or consumer."),
    Row("source_low.loop_pipelines.stages[].iteration_lookahead", "integer", "How far ahead it runs.", "iterations"),
    Row("source_low.loop_pipelines.stages[].function", "text", "Entry point."),
    Row("source_low.loop_pipelines.stages[].ordinal", "integer", "Number of the loop in the function."),
    Row("source_low.loop_pipelines.stages[].loop", "text", "Name of the loop's counter."),
    Row("source_low.loop_pipelines.stages[].position", "integer", "Place of the operation in the serial body."),
    Row("source_low.loop_pipelines.stages[].location", "text", "file:line:column of the expression."),
    Row("source_low.loop_pipelines.stages[].partition", "text", "guarded: one half of a conditional.", required=False),
    Row("source_low.loop_splits", "mapping", "Loops cut where a condition changes.", required=False),
    Row("source_low.loop_splits.rows", "list", "One row an `if` that has `split`."),
    Row("source_low.loop_splits.rows[].function", "text", "Entry point."),
    Row("source_low.loop_splits.rows[].loop", "text", "Name of the loop's counter."),
    Row("source_low.loop_splits.rows[].location", "text", "file:line:column of the `for`."),
    Row("source_low.loop_splits.rows[].condition", "text", "file:line:column of the `if`."),
    Row("source_low.loop_splits.rows[].first", "text", "The side that the first half runs: then or else."),
    Row("source_low.loop_splits.rows[].cut", "integer", "Where the second half starts, if known.", required=False),
    Row("source_low.loop_unrolls", "mapping", "Unrolling.", required=False),
    Row("source_low.loop_unrolls.rows", "list", "One row a loop that has an unroll policy."),
    Row("machine_loops", "list", "Loops of the machine code (AMDGPU).", required=False),
    Row("machine_loops[].function", "text", "Entry point."),
    Row("machine_loops[].loop", "text", 'file:line:column of the `for`, or "not found".'),
    Row("machine_loops[].steady", "flag", "Whether this is the steady loop of that `for`."),
    Row("machine_loops[].backedge_copies", "integer", "Register copies at the backedge.", "instructions"),
    Row("machine_loops[].waits", "list", "Wait instructions in program order."),
    Row("machine_loops[].waits[].counter", "text", "Counter name of the ISA."),
    Row("machine_loops[].waits[].target_count", "integer", "Operations that may stay outstanding.", "operations"),
    Row("machine_loops[].waits[].full_drain", "flag", "Whether nothing may stay outstanding."),
    Row("machine_loops[].loads_pending", "integer", "Loads outstanding over the backedge.", "loads", required=False),
    Row("folded_loops", "list", "Loops of the schedule of which the machine code keeps none (AMDGPU).", required=False),
    Row("folded_loops[].function", "text", "Entry point."),
    Row("folded_loops[].loop", "text", "file:line:column of the `for`."),
    Row("folded_loops[].form", "text", 'Which part of the schedule: "steady", "serial", "remainder", or "".'),
    Row("folded_loops[].reason", "text", "What shows that none is left."),
    Row("barriers", "list", "Barriers: one row for each phase that an entry point has.", required=False),
    Row("barriers[].function", "text", "Entry point."),
    Row("barriers[].phase", "text", "complete, or arrive and wait of a split barrier."),
    Row("barriers[].selection", "text", "The instructions that the target has for it."),
    Row("barriers[].locations", "list", "file:line:column of the `barrier` statements."),
    Row("barriers[].static_source_count", "integer", "Operations of the scheduled IR.", "operations"),
    Row("barriers[].static_low_count", "integer", "Instructions of the artifact.", "instructions", False),
    Row("barriers[].dynamic_source_count", "integer", "Executions by one subgroup.", "operations", False),
    Row("barriers[].dynamic_low_count", "integer", "Instructions that one subgroup executes.", "instructions", False),
    Row("selections", "list", "One row an application of a motif that has implementations.", required=False),
    Row("selections[].function", "text", "Entry point."),
    Row("selections[].instance", "text", "Name of the application, behind those of the applications around it."),
    Row("selections[].motif", "text", "Name of the motif."),
    Row("selections[].location", "text", "file:line:column of the `apply`."),
    Row("selections[].selected", "text", "file:line:column of the implementation, or of the first line of the body."),
    Row("selections[].candidates", "list", "The implementations in the order of the file, then the body."),
    Row("selections[].candidates[].location", "text", "file:line:column."),
    Row("selections[].candidates[].outcome", "text", "selected, refused or outranked."),
    Row("selections[].candidates[].target", "text", "Its target or family.", required=False),
    Row("selections[].candidates[].priority", "integer", "Its priority; the body has none.", required=False),
    Row("selections[].candidates[].reason", "text", "Why it was not selected.", required=False),
    Row("findings", "list", "What the report could not establish, one sentence each.", required=False),
)


def check(report: dict[str, Any]) -> list[str]:
    """What is wrong with a report against the schema: unknown keys, missing keys, wrong types. Empty when clean."""
    problems: list[str] = []
    known = {row.path: row for row in SCHEMA}
    opened = tuple(row.path for row in SCHEMA if row.type == "mapping" and not _has_children(row.path))
    for row in SCHEMA:
        for place, parent in _places(report, row.path.split(".")[:-1]):
            leaf = row.path.split(".")[-1]
            if leaf.startswith("*") or not isinstance(parent, dict):
                continue
            key = leaf.removesuffix("[]")
            if key not in parent:
                if row.required:
                    problems.append(f"{place}{key}: missing")
                continue
            if not is_of(parent[key], row.type):
                problems.append(f"{place}{key}: not a {row.type}")
    _unknown(report, "", known, opened, problems)
    return problems


def _has_children(path: str) -> bool:
    return any(row.path.startswith(path + ".") for row in SCHEMA)


def _places(value: Any, parts: list[str], place: str = "") -> list[tuple[str, Any]]:
    if not parts:
        return [(place, value)]
    head, rest = parts[0], parts[1:]
    key = head.removesuffix("[]")
    if not isinstance(value, dict):
        return []
    keys = list(value) if key == "*" else [key] if key in value else []
    found: list[tuple[str, Any]] = []
    for name in keys:
        inner = value[name]
        if head.endswith("[]"):
            for index, item in enumerate(inner if isinstance(inner, list) else []):
                found += _places(item, rest, f"{place}{name}[{index}].")
        else:
            found += _places(inner, rest, f"{place}{name}.")
    return found


def _unknown(value: Any, path: str, known: dict[str, Row], opened: tuple[str, ...], problems: list[str]) -> None:
    if isinstance(value, list):
        for item in value:
            _unknown(item, path + "[]", known, opened, problems)
        return
    if not isinstance(value, dict) or path in opened:
        return
    prefix = path + "." if path else ""
    names = {row[len(prefix) :].split(".")[0].removesuffix("[]") for row in known if row.startswith(prefix)}
    for key, inner in value.items():
        if "*" in names:
            _unknown(inner, f"{prefix}*", known, opened, problems)
        elif key in names:
            _unknown(inner, f"{prefix}{key}", known, opened, problems)
        elif names and not path.endswith("[]"):
            problems.append(f"{prefix}{key}: unknown key")


def page() -> str:
    """`docs/report.md`."""
    lines = [
        "# The compile report",
        "",
        "`OUT/NAME/TARGET/report.json`. Absent evidence is left out: a missing key says *not known*, a zero says",
        "*measured zero*.",
        "",
        "| key | type | unit | meaning |",
        "|---|---|---|---|",
    ]
    for row in SCHEMA:
        optional = "" if row.required else " (optional)"
        lines.append(f"| `{row.path}` | {row.type}{optional} | {row.unit} | {row.meaning} |")
    return "\n".join(lines) + "\n"
