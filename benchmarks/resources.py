"""Static resources of the corpus kernels for which a peer published figures, from our build reports, and the
instructions that one wave of the row sum executes, counted by the emulator.

    python benchmarks/resources.py            prints the rows as JSON; no device is needed
    python benchmarks/resources.py --write    writes them to benchmarks/results/resources_gfx1151.json

`python -m specgen.docs` makes `docs/resources.md` of the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "resources_gfx1151.json"
GFX, GENERIC = "gfx1151", "gfx11-generic"
STREAMING, ATTENTION = "specs/streaming", "specs/attention"

ROWS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("sum rows, depth 3, unroll 4", f"{STREAMING}/sum_rows", "default", (GFX, GENERIC)),
    ("vector rows, depth 4, unroll 6", f"{STREAMING}/vector_rows", "default", (GFX, GENERIC)),
    ("cooperative attention, unroll 2", f"{ATTENTION}/cooperative_paged_attention", "unrolled", (GFX,)),
    ("cooperative attention, depth 3, unroll 2", f"{ATTENTION}/cooperative_paged_attention", "default", (GFX,)),
    ("sparse attention, unroll 2", f"{ATTENTION}/sparse_token_attention", "unrolled", (GFX,)),
    ("sparse attention, depth 3, unroll 2", f"{ATTENTION}/sparse_token_attention", "default", (GFX,)),
    ("grouped attention, apart, depth 2, unroll 2", f"{ATTENTION}/grouped_paged_attention", "independent", (GFX,)),
    ("grouped attention, shared, unroll 2", f"{ATTENTION}/grouped_paged_attention", "shared_serial", (GFX,)),
    ("grouped attention, shared, depth 2, unroll 2", f"{ATTENTION}/grouped_paged_attention", "default", (GFX,)),
]  # fmt: skip
"""Title, spec, entry, targets. The peer told the first two for the generic target only."""


def _reports(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Report by spec and target, of fresh builds below `folder`."""
    from specgen.build import BuildOptions, build_paths

    paths = [ROOT / f"{spec}.spec.yaml" for spec in dict.fromkeys(row[1] for row in ROWS)]
    results = build_paths(paths, BuildOptions(folder, targets=(GFX, GENERIC)))
    failed = [r for r in results if r.status != "built"]
    if failed:
        raise SystemExit(f"not built: {[(r.status, r.problem, [d.message for d in r.diagnostics]) for r in failed]}")
    names = [path.name.removesuffix(".spec.yaml") for path in paths]
    return {
        (name, target): json.loads((folder / name / target / "report.json").read_text())
        for name in names
        for target in (GFX, GENERIC)
    }


def _row(title: str, name: str, entry_name: str, target: str, report: dict[str, Any]) -> dict[str, Any]:
    (entry,) = [e for e in report["entries"] if e["name"] == entry_name]
    loops = [m for m in report["machine_loops"] if m["function"] == entry["symbol"] and m["steady"]]
    # The innermost loop is told after the loops around it.
    loop = loops[-1]
    return {
        "title": title,
        "spec": name,
        "entry": entry_name,
        "target": target,
        "bytes": entry["code_byte_count"],
        "vector_registers": entry["target_resources"]["vector"]["final"]["register_count"],
        "scalar_registers": entry["target_resources"]["scalar"]["final"]["register_count"],
        "spills": entry["allocation_spill_count"],
        "private_bytes": entry["private_memory_bytes"],
        "occupancy": entry["occupancy_percent"],
        "steady_waits": [w["target_count"] for w in loop["waits"] if w["counter"] in ("vmcnt", "loadcnt")],
        "loads_pending": loop["loads_pending"],
        "backedge_copies": loop["backedge_copies"],
    }


def rows() -> list[dict[str, Any]]:
    """The figures of fresh builds."""
    with tempfile.TemporaryDirectory() as folder:
        reports = _reports(Path(folder))
    return [
        _row(title, Path(spec).name, entry, target, reports[Path(spec).name, target])
        for title, spec, entry, targets in ROWS
        for target in targets
    ]


def executed_of(folder: Path) -> list[dict[str, Any]]:
    """Instructions that one wave executes for a sum of 64 rows, by entry of a built `sum_rows`. Raises `SystemExit`
    for a wrong sum."""
    import numpy as np

    from specgen.devices.amdgpu_emulator.device import EmulatedKernel

    count, lanes = 64, 32
    values = np.arange(1, count * lanes + 1, dtype=np.float32)
    code = (folder / GFX / "kernel.hsaco").read_bytes()
    found = []
    for entry in json.loads((folder / "manifest.json").read_text())["entries"]:
        given = {"row_count": count, "input": values, "output": np.full(lanes, -1, np.float32)}
        run = EmulatedKernel(code, entry["symbol"]).launch(given, (1, 1, 1))
        if run.outputs["output"].tolist() != values.reshape(count, lanes).sum(0, dtype=np.float64).tolist():
            raise SystemExit(f"{entry['name']}: a wrong sum")
        evidence = run.evidence
        found.append(
            {
                "title": f"sum rows, {count} rows",
                "spec": folder.name,
                "entry": entry["name"],
                "target": GFX,
                "instructions": evidence["instructions_total"],
                "by_class": evidence["instructions"],
            }
        )
    return found


def executed() -> list[dict[str, Any]]:
    """The counts of a fresh build."""
    from specgen.build import BuildOptions, build_paths

    with tempfile.TemporaryDirectory() as folder:
        build_paths([ROOT / f"{STREAMING}/sum_rows.spec.yaml"], BuildOptions(Path(folder), targets=(GFX,)))
        return executed_of(Path(folder) / "sum_rows")


def main() -> int:
    """Print or write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/resources_gfx1151.json")
    arguments = parser.parse_args()
    document = {"command": "python benchmarks/resources.py --write", "rows": rows(), "executed": executed()}
    text = json.dumps(document, indent=1) + "\n"
    if arguments.write:
        RESULTS.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
