"""The page of measured ratios, made from recorded runs on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path("benchmarks", "results")

GOALS: dict[tuple[str, str], float] = {
    ("copy_f32", "torch"): 0.98,
    ("row_sum_f32", "torch"): 1.0,
    **{
        (f"{kernel}_{element}", baseline): goal
        for kernel in ("softmax", "rmsnorm", "layernorm")
        for element in ("f16", "f32")
        for baseline, goal in (("torch", 1.05), ("triton", 0.97))
    },
    ("transpose_f32", "torch"): 1.05,
    ("transpose_f32", "triton"): 0.97,
    **{("decode_mha", baseline): 0.97 for baseline in ("torch", "triton")},
    **{("decode_gqa", baseline): 0.90 for baseline in ("torch", "triton")},
}
"""The least ratio wanted, by row and the first word of its baseline; rows without one are only told."""

DISPATCH_GOAL = 1.3
"""Microseconds of a dependent dispatch."""

NOTES: dict[tuple[str, str], str] = {
    ("softmax_f16", "triton"): "half of the difference is what a dispatch costs beyond one in a CUDA graph (below)",
    ("decode_gqa", "triton"): (
        "Triton's kernel multiplies the four heads in the matrix unit, ours with vector instructions"
    ),
    (
        "packed_dot",
        "triton",
    ): "the spec fixes the order of 512 additions for each output; Triton's kernel adds as a tree",
}
"""What is known of a row's difference."""

HEAD = """# Measured on a GPU

Written by `python -m specgen.docs` from `benchmarks/results/h200_kernels.json` ({device}, driver {driver},
torch {torch}, Triton {triton}, {date}). The ratio is the baseline's time by ours: above 1 we are quicker. Each is
the median over rounds of one process in which ours and the baselines take turns; what each row does is in
`benchmarks/h200/rows.py`, how it is timed in `benchmarks/h200/measure.py`. Every output was compared with torch in
float32 or better first. The best of the listed entry points and launch arguments counts as ours, the best of torch's
back ends and of Triton's configurations as theirs.

| row | baseline | ratio | wanted | ours, us | baseline, us | ours was | note |
|---|---|---|---|---|---|---|---|
"""

AGAIN = """
Again with `specgen build specs/registers specs/decode specs/grid specs/streaming --target vulkan1.3-sg32 -o OUT` and
`python benchmarks/h200/measure.py --kernels OUT -o benchmarks/results/h200_kernels.json` (`--only ROW` for some rows)
on a machine with an NVIDIA GPU, torch and Triton.
"""


def read(name: str, root: Path | None = None) -> dict[str, Any]:
    """A recorded document of the repository at `root` (default: of this file). Raises `OSError` without it."""
    base = Path(__file__).resolve().parents[2] if root is None else root
    document: dict[str, Any] = json.loads((base / FOLDER / name).read_text(encoding="utf-8"))
    return document


def page() -> str:
    """`docs/performance.md`."""
    kernels, suites, check = read("h200_kernels.json"), read("h200_suites.json"), read("h200_self_check.json")
    head = HEAD.format(
        device=kernels["device"],
        driver=driver(check),
        torch=kernels["versions"]["torch"],
        triton=kernels["versions"]["triton"],
        date=max(row["date"] for row in kernels["rows"]),
    )
    rows = "".join(_row(row) for row in kernels["rows"])
    return head + rows + AGAIN + _dispatches(kernels) + _self_check(check) + _suites(suites)


def driver(check: dict[str, Any]) -> str:
    """The driver's version, as the device told it."""
    return str(next(row for row in check["rows"] if row["kind"] == "device")["driver"])


def goal(row: dict[str, Any]) -> float | None:
    """The least ratio wanted of a row."""
    return GOALS.get((row["name"], row["baseline"].split()[0]))


def _row(row: dict[str, Any]) -> str:
    wanted, times = goal(row), row["medians_us"]
    told = "-" if wanted is None else f"{wanted:.2f}{'' if row['ratio'] >= wanted else ' (missed)'}"
    note = NOTES.get((row["name"], row["baseline"].split()[0]), "")
    cells = (
        row["name"],
        row["baseline"],
        f"{row['ratio']:.3f}",
        told,
        f"{times['ours']:.1f}",
        f"{times['baseline']:.1f}",
        row["chosen"] or "-",
        note,
    )
    return "| " + " | ".join(cells) + " |\n"


def _dispatches(kernels: dict[str, Any]) -> str:
    listed = "".join(f"- {name}: {value:.2f} us\n" for name, value in kernels["dispatch_us"].items())
    return (
        "\n## Dependent dispatches\n\nA thousand in a recorded command buffer, a memory barrier between two, "
        "arguments in a uniform buffer "
        f"(`measure.py --only dispatch`; wanted: at most {DISPATCH_GOAL} us for one that stores):\n\n{listed}"
    )


def _self_check(check: dict[str, Any]) -> str:
    lines = []
    for planted in sorted({row["planted_percent"] for row in check["rows"] if row["kind"] == "self_check"}):
        trials = [r for r in check["rows"] if r["kind"] == "self_check" and r["planted_percent"] == planted]
        right = sum(1 for row in trials if row["right"])
        what = f"{planted} % more work planted: found" if planted else "a kernel against itself: not distinguishable"
        lines.append(f"- {what} in {right} of {len(trials)} trials\n")
    return (
        "\n## The verdicts of `specgen bench`\n\nFrom `benchmarks/results/h200_self_check.json` "
        "(`specgen bench --self-check -o FILE` on the same machine):\n\n" + "".join(lines)
    )


def _suites(suites: dict[str, Any]) -> str:
    counts = f"{suites['passed']} passed, {suites['failed']} failed, {suites['skipped']} skipped"
    command = suites["command"].split(" -j")[0]
    return (
        f"\n## Suites\n\nEvery built suite of `specs/` on the same device (`{command}`): {counts}."
        " By suite, with the reasons of skips, in `benchmarks/results/h200_suites.json`.\n"
    )
