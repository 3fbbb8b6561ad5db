"""A report as a page: what each entry point costs and what became of each loop."""

from __future__ import annotations

from io import StringIO
from typing import Any

WIDTH = 118


def _registers(entry: dict[str, Any]) -> tuple[str, str]:
    resources = entry.get("target_resources", {})
    return tuple(str(resources[k]["final"]["register_count"]) if k in resources else "-" for k in ("vector", "scalar"))  # type: ignore[return-value]


def _entries(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="entry points", title_justify="left")
    for name in ("entry", "policies", "bytes", "VGPR", "SGPR", "spills", "private", "workgroup", "occupancy"):
        table.add_column(name, justify="left" if name in ("entry", "policies") else "right")
    for entry in report["entries"]:
        vector, scalar = _registers(entry)
        occupancy = entry.get("occupancy_percent")
        table.add_row(
            entry["name"],
            " ".join(f"{k}={v}" for k, v in entry["policies"].items()) or "-",
            str(entry["code_byte_count"]),
            vector,
            scalar,
            str(entry.get("allocation_spill_count", "-")),
            str(entry.get("private_memory_bytes", "-")),
            str(entry["workgroup_memory_bytes"]),
            "-" if occupancy is None else f"{occupancy:g} %",
        )
    return table


def _pipelines(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="read-ahead", title_justify="left")
    for name in ("function", "loop", "where", "outcome", "depth", "records", "values", "reads"):
        table.add_column(name, justify="right" if name in ("depth", "records", "values", "reads") else "left")
    for row in report["source_low"]["loop_pipelines"]["rows"]:
        counts = (row["depth"], row["queue_records"], row["values_per_record"], row["read_count"])
        table.add_row(row["function"], row["loop"], row["location"], row["outcome"], *map(str, counts))
    return table


def _splits(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="loops cut where a condition changes", title_justify="left")
    for name in ("function", "loop", "condition", "first half", "cut at"):
        table.add_column(name)
    for row in report["source_low"].get("loop_splits", {"rows": ()})["rows"]:
        cut = str(row["cut"]) if "cut" in row else "known when run"
        table.add_row(row["function"], row["loop"], row["condition"], row["first"], cut)
    return table


def _machine(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="steady loops in the machine code", title_justify="left")
    for name in ("function", "where", "waits", "loads pending", "backedge copies"):
        table.add_column(name)
    for row in report.get("machine_loops", ()):
        if row["steady"]:
            waits = " ".join(f"{w['counter']}({w['target_count']})" for w in row["waits"]) or "-"
            table.add_row(
                row["function"], row["loop"], waits, str(row.get("loads_pending", "-")), str(row["backedge_copies"])
            )
    return table


def _barriers(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="barriers (source/instructions)", title_justify="left")
    for name in ("function", "phase", "selection", "static", "by a subgroup"):
        table.add_column(name)
    for row in report.get("barriers", ()):
        static, dynamic = (
            "/".join(str(row.get(f"{kind}_{what}_count", "unknown")) for what in ("source", "low"))
            for kind in ("static", "dynamic")
        )
        shown = "unknown" if dynamic == "unknown/unknown" else dynamic
        table.add_row(row["function"], row["phase"], row["selection"], static, shown)
    return table


def _selections(report: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="implementations of motifs", title_justify="left")
    for name in ("function", "instance", "motif", "candidate", "for", "outcome"):
        table.add_column(name)
    for row in report.get("selections", ()):
        for candidate in row["candidates"]:
            suits = candidate.get("target", "any") if "priority" in candidate else "fall-back"
            if candidate.get("priority"):
                suits += f", priority {candidate['priority']}"
            outcome = ": ".join(candidate[key] for key in ("outcome", "reason") if key in candidate)
            line = ":".join(candidate["location"].rsplit(":", 2)[1:])
            table.add_row(row["function"], row["instance"], row["motif"], line, suits, outcome)
        table.add_section()
    return table


def _console(*, record: bool, colour: bool) -> Any:
    from rich.console import Console

    return Console(
        width=WIDTH, record=record, file=StringIO(), force_terminal=colour, color_system="standard" if colour else None
    )


def _print(report: dict[str, Any], console: Any) -> None:
    identity = report["identity"]
    console.print(f"{report['entries'][0]['symbol']} for {identity['target']}, specgen {identity['specgen']}")
    for part in (
        _entries(report),
        _pipelines(report),
        _splits(report),
        _machine(report),
        _barriers(report),
        _selections(report),
    ):
        if part.row_count:
            console.print(part)
    for text in report.get("findings", ()):
        console.print(f"finding: {text}", markup=False)


def text(report: dict[str, Any], *, colour: bool = False) -> str:
    """The page as text."""
    console = _console(record=False, colour=colour)
    _print(report, console)
    return console.file.getvalue()


def svg(report: dict[str, Any]) -> str:
    """The page as a picture (SVG), the same bytes for the same report."""
    console = _console(record=True, colour=True)
    _print(report, console)
    title = f"specgen report show {report['entries'][0]['symbol']}/{report['identity']['target']}"
    return console.export_svg(title=title, unique_id="specgen", code_format=_svg_format())


def _svg_format() -> str:
    """rich's SVG frame without its web fonts: a picture that loads nothing."""
    import re

    from rich._export_format import CONSOLE_SVG_FORMAT

    return re.sub(r"@font-face \{\{.*?\}\}|<!--.*?-->", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
