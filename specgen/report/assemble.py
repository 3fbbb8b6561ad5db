"""`report.json` from a plan and its binary: identity, entries, schedule rows, machine loops, barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import specgen
from specgen import targets
from specgen.report import barriers, selections

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from specgen.lowering.amdgpu import AmdgpuBinary
    from specgen.lowering.spirv.module import SpirvBinary
    from specgen.stages import Planned


def assemble(plan: Planned, binary: AmdgpuBinary | SpirvBinary, spec_sha256: str) -> dict[str, Any]:
    """The report of one target (schema: `report/schema.py`)."""
    default = plan.instance.entry("default")
    identity: dict[str, Any] = {
        "spec_sha256": spec_sha256,
        "policies": dict(default.policies),
        "target": plan.target,
        "specgen": specgen.__version__,
    }
    report: dict[str, Any] = {"identity": identity}
    facts = _back_end(plan, binary)
    if "llvm" in facts:
        identity["llvm"] = facts.pop("llvm")
    places = facts.pop("barrier_places")
    report["entries"] = _entries(plan, facts.pop("entries"))
    report["source_low"] = _schedule(plan)
    report.update(facts)
    report["selections"] = selections.rows(plan.instance.functions)
    report["barriers"] = barriers.rows(_functions(plan), places, targets.load(plan.target))
    return report


def _entries(plan: Planned, facts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Default, serial, then the other variants by name."""
    by_name = {e.name: e for e in plan.instance.entries}
    order = ["default", "serial", *sorted(n for n in by_name if n not in ("default", "serial"))]
    return [
        {
            "name": name,
            "policies": dict(by_name[name].policies),
            "symbol": by_name[name].symbol,
            "workgroup_size": list(by_name[name].workgroup_size),
            **facts[by_name[name].symbol],
        }
        for name in order
    ]


def _back_end(plan: Planned, binary: AmdgpuBinary | SpirvBinary) -> dict[str, Any]:
    """What the back end knows: `entries` by symbol, and for AMDGPU LLVM's version, machine loops and findings."""
    from specgen.lowering.amdgpu import AmdgpuBinary

    if isinstance(binary, AmdgpuBinary):
        return {
            "llvm": binary.llvm,
            "entries": {entry.name: entry.report for entry in binary.entries},
            "machine_loops": [row for entry in binary.entries for row in entry.machine_loops],
            "folded_loops": [*(row for entry in binary.entries for row in entry.folded_loops), *_straight(plan)],
            "findings": list(dict.fromkeys(text for entry in binary.entries for text in entry.findings)),
            "barrier_places": {entry.name: entry.barriers for entry in binary.entries},
        }
    from specgen.report.spirv_words import entry_words

    memory = {entry.symbol: entry.workgroup_memory_bytes for entry in binary.entries}
    counted = entry_words(binary.spv)
    return {
        "barrier_places": {name: words.barriers for name, words in counted.items()},
        "entries": {
            name: {
                "code_byte_count": words.code_byte_count,
                "workgroup_memory_bytes": memory[name],
                "static_instruction_mix": words.mix,
            }
            for name, words in counted.items()
        },
    }


def _functions(plan: Planned) -> list[FuncOp]:
    from xdsl.dialects.func import FuncOp

    return [op for op in plan.scheduled.module.walk() if isinstance(op, FuncOp)]


def _schedule(plan: Planned) -> dict[str, Any]:
    scheduled = plan.scheduled
    return {
        "loop_pipelines": {
            "rows": [row.as_dict() for row in scheduled.rows],
            "stages": [row.as_dict() for row in scheduled.stages],
        },
        "loop_splits": {"rows": [row.as_dict() for row in scheduled.split_rows]},
        "loop_unrolls": {"rows": [row.as_dict() for row in scheduled.unroll_rows]},
    }


def _straight(plan: Planned) -> list[dict[str, str]]:
    """Rows of `folded_loops` for scheduled loops that are no loops any more."""
    from specgen.ir import locations

    left = {(f.sym_name.data, locations.text(op)) for f in _functions(plan) for op in f.walk() if op.name == "scf.for"}
    low = plan.scheduled
    changed = [r.as_dict() for r in low.rows if r.depth > 1] + [r.as_dict() for r in low.unroll_rows if r.factor > 1]
    gone = dict.fromkeys((r["function"], r["location"]) for r in changed if (r["function"], r["location"]) not in left)
    reason = "the trip count is known and its rounds became straight code"
    return [{"function": function, "loop": place, "form": "steady", "reason": reason} for function, place in gone]
