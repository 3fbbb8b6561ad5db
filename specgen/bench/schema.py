"""The rows that a benchmark run leaves, declared once; the checker and `docs/bench.md` come from this table.

A key that is absent says "no evidence", a zero says "measured zero".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specgen.report.schema import TYPES as REPORT_TYPES
from specgen.report.schema import is_of

VERSION = 1
"""Of the rows: raised when a key changes its meaning."""


@dataclass(frozen=True)
class Key:
    """One key of a row: its type, its meaning, its unit, and whether every row of the kind has it."""

    name: str
    type: str
    meaning: str
    unit: str = ""
    required: bool = True


TYPES = {**REPORT_TYPES, "list": (list, tuple)}
"""Rows are checked before they are written, when lists may still be tuples."""

_LOGICAL = (
    Key("row", "text", "Name of the logical row: SPEC/BENCHMARK/CASE/TARGET/ENTRY."),
    Key("spec", "text", "Name of the spec."),
    Key("benchmark", "text", "Name of the benchmark in the spec."),
    Key("case", "mapping", "Values of this case by name."),
    Key("target", "text", "Target that the artifact was built for."),
    Key("entry", "text", "Entry point: default, serial or a variant."),
    Key("work_item", "integer", "Number of the physical work item that stands for this row."),
)
_RATIO = (
    Key("ratio_p50", "number", "Median over the rounds of time of A / time of B: above 1, B is faster.", "", False),
    Key("ratio_low", "number", "Lower end of the median's interval.", "", False),
    Key("ratio_high", "number", "Upper end of the median's interval.", "", False),
    Key("coverage", "number", "Least probability that the interval holds the median.", "", False),
)
_SECONDS = (
    Key("p10_seconds", "number", "10th percentile of the time of a dispatch over all samples.", "s"),
    Key("p50_seconds", "number", "Its median.", "s"),
    Key("p90_seconds", "number", "Its 90th percentile.", "s"),
    Key("minimum_seconds", "number", "Its minimum.", "s"),
    Key("spread_ppm", "integer", "p90 / p50 - 1.", "ppm"),
)

ROWS: dict[str, tuple[str, tuple[Key, ...]]] = {
    "run": (
        "The call. First.",
        (
            Key("version", "integer", "Version of these rows."),
            Key("run_id", "text", "Random name of the run."),
            Key("specgen", "text", "Version of specgen."),
            Key("python", "text", "Version of Python."),
            Key("host", "text", "Machine type of the host."),
            Key("options", "mapping", "Options by name."),
        ),
    ),
    "plan": (
        "A logical row that will be measured. Rows that run the same code on the same inputs share a work item.",
        (*_LOGICAL, Key("policies", "mapping", "Policy values of the entry.")),
    ),
    "device": (
        "The device. Times below are its own; compare ratios only.",
        (
            Key("device", "text", "Device of specgen: vulkan, hip."),
            Key("name", "text", "Name of the hardware."),
            Key("type", "text", "discrete, integrated, virtual, cpu or other.", required=False),
            Key("driver", "text", "Driver and its version.", required=False),
            Key("subgroup_sizes", "list", "Subgroup sizes.", "work-items"),
            Key("timestamp_seconds", "number", "Period of the clock.", "s", required=False),
            Key("ring_bytes", "integer", "What the input sets of a row exceed together.", "bytes"),
            Key("ring_source", "text", "Where that number comes from."),
            Key("clocks", "mapping", "Clocks by name as read, MHz.", "MHz", required=False),
            Key("clocks_note", "text", "Where clocks come from, or why they are not readable."),
        ),
    ),
    "compile": (
        "A pipeline. All are compiled before the first timing.",
        (
            Key("work_item", "integer", "Number of the work item; absent if only the gate needs it.", required=False),
            Key("symbol", "text", "Entry point in the artifact; entries that are the same kernel share one."),
            Key("target", "text", "Target."),
            Key("status", "text", "compiled or refused."),
            Key("seconds", "number", "Host time of loading and compiling.", "s", False),
            Key("reason", "text", "Why the device refused it.", required=False),
        ),
    ),
    "sample": (
        "The first result of a work item, compared with that of `serial`.",
        (
            Key("work_item", "integer", "Number of the work item."),
            Key("entry", "text", "Entry point."),
            Key("status", "text", "passed or failed; a failed one has no time."),
            Key("compared_with", "text", "What it was compared with; absent for `serial` itself.", required=False),
            Key("reason", "text", "What is wrong.", required=False),
        ),
    ),
    "repetition": (
        "One round of a work item.",
        (
            Key("row", "text", "Logical row, or copy, or the baseline's second participant."),
            Key("repetition", "integer", "Number of the round."),
            Key("position", "integer", "Place in the order of all rounds of the group."),
            Key("p50_seconds", "number", "Median of the round.", "s"),
            Key("samples", "list", "Seconds of one dispatch, a batch each.", "s"),
        ),
    ),
    "benchmark": (
        "A measured logical row.",
        (
            *_LOGICAL,
            Key("device", "text", "Name of the hardware."),
            Key("clock", "text", "The clock that was read."),
            *_SECONDS,
            Key("samples", "integer", "Batches timed."),
            Key("batch", "integer", "Dispatches a batch.", "dispatches"),
            Key("dispatches", "integer", "Dispatches timed in all.", "dispatches"),
            Key("data_cache", "text", "rotated: input sets in turn; hot: one set."),
            Key("ring_sets", "integer", "Input sets in the ring."),
            Key("set_bytes", "integer", "Bytes of the buffers of one set.", "bytes"),
            Key("ring_capped", "flag", "Whether memory allowed fewer sets than wanted."),
            Key("bytes", "number", "Bytes that a dispatch has to move, by the spec's formula.", "bytes", False),
            Key("flops", "number", "Operations of a dispatch, by the spec's formula.", "", False),
            Key("flops_per_byte", "number", "Their ratio.", "", False),
            Key("roofline_p50", "number", "Bytes a second over the copy kernel's, same run.", "", False),
            Key("roofline_low", "number", "Lower end of its interval.", "", False),
            Key("roofline_high", "number", "Upper end of its interval.", "", False),
            Key("warnings", "list", "Codes of warnings."),
            Key("clocks_before", "mapping", "Clocks after the warm-up.", "MHz", False),
            Key("clocks_after", "mapping", "Clocks after the last round.", "MHz", False),
        ),
    ),
    "comparison": (
        "B against A, from rounds that took turns.",
        (
            Key("a", "text", "Logical row A, the baseline."),
            Key("b", "text", "Logical row B."),
            Key("verdict", "text", "faster, slower (B than A) or not distinguishable."),
            Key("same_code", "flag", "Whether both run the same code; only A with itself has a ratio then."),
            *_RATIO,
            Key("ratio_p90", "number", "p90 of A / p90 of B.", "", False),
            Key("noise_floor_ppm", "integer", "How far from 1 A/A was found in the same run.", "ppm", False),
        ),
    ),
    "dispatch_cost": (
        "What a dependent dispatch costs: a tiny kernel, one barrier between dispatches.",
        (
            Key("device", "text", "Name of the hardware."),
            Key("clock", "text", "The clock that was read."),
            *_SECONDS,
            Key("samples", "integer", "Batches timed."),
            Key("batch", "integer", "Dependent dispatches between two timestamps.", "dispatches"),
            Key("barrier", "text", "The barrier between two dispatches."),
            Key("correct", "flag", "Whether the kernel counted every dispatch."),
        ),
    ),
    "self_check": (
        "One comparison whose answer is known.",
        (
            Key("subject", "text", "What was timed."),
            Key("trial", "integer", "Number of the trial."),
            Key("planted_percent", "integer", "Slowdown that was planted; 0 for A/A.", "%"),
            Key("verdict", "text", "What the comparison said of B."),
            Key("right", "flag", "Whether it is what was planted."),
            *_RATIO,
            Key("noise_floor_ppm", "integer", "How far from 1 A/A was found.", "ppm"),
        ),
    ),
    "self_check_total": (
        "The trials of one subject and one planted slowdown.",
        (
            Key("subject", "text", "What was timed."),
            Key("planted", "text", "How the slowdown was planted; nothing for A/A."),
            Key("trials", "integer", "Trials."),
            Key("right", "integer", "Trials with the right answer."),
            Key("wanted", "integer", "Right answers without which the check fails."),
            Key("passed", "flag", "Whether there were enough."),
        ),
    ),
    "skip": (
        "Something that was not measured, though it was in the plan; no failure.",
        (Key("row", "text", "Logical row."), Key("reason", "text", "Why.")),
    ),
    "failure": (
        "Something that went wrong; the call ends with status 1.",
        (
            Key("row", "text", "Logical row, or the stage's subject."),
            Key("stage", "text", "inputs, gate, time or self-check."),
            Key("reason", "text", "What."),
        ),
    ),
    "summary": (
        "Counts. Last.",
        (
            Key("run_id", "text", "Random name of the run."),
            Key("logical_rows", "integer", "Rows of the plan."),
            Key("work_items", "integer", "Physical work items that stand for them."),
            Key("timed", "integer", "Logical rows with a time."),
            Key("failed", "integer", "Failures."),
            Key("skipped", "integer", "Logical rows skipped."),
            Key("dry_run", "flag", "Whether only the plan was made."),
            Key("status", "integer", "Exit status of the call."),
            Key("seconds", "number", "Host time of the call.", "s"),
        ),
    ),
}
"""Kind of row -> what it says, and its keys behind `kind`."""


def check(row: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row against the table: unknown kind or key, missing key, wrong type. Empty when clean."""
    kind = row.get("kind")
    if kind not in ROWS:
        return [f"unknown kind of row: {kind!r}"]
    keys = {key.name: key for key in ROWS[kind][1]}
    problems = [f"{kind}.{name}: unknown key" for name in row if name != "kind" and name not in keys]
    for name, key in keys.items():
        if name not in row:
            if key.required:
                problems.append(f"{kind}.{name}: missing")
        elif not is_of(row[name], key.type, TYPES):
            problems.append(f"{kind}.{name}: not a {key.type}")
    return problems
