"""How long the front end takes: each figure with its target and the command that made it.

    python benchmarks/frontend.py            medians of a few runs, one line each
    python benchmarks/frontend.py --json     the same as one JSON document
    python benchmarks/frontend.py --no-bytecode

Processes are timed as a user of an installed package starts them: with bytecode of every module at hand, which pip
makes when it installs; here a first run that is not timed makes it, in a folder of its own. `--no-bytecode` times what
a source tree costs whose bytecode may not be kept. In-process figures exclude imports and the first call.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAXPY = ROOT / "specs" / "elementwise" / "saxpy.spec.yaml"
SUM_ROWS = ROOT / "specs" / "streaming" / "sum_rows.spec.yaml"
LINES = 200


@dataclass(frozen=True)
class Figure:
    """A median and what the design asks for, in seconds."""

    name: str
    command: str
    seconds: float
    target: float

    def __str__(self) -> str:
        verdict = "met" if self.seconds <= self.target else "missed"
        head = f"{self.seconds * 1e3:8.1f} ms  (target {self.target * 1e3:6.0f} ms, {verdict:6})"
        return f"{head}  {self.name}\n    {self.command}"


def long_spec(lines: int = LINES) -> str:
    """A kernel of exactly `lines` lines: a chain of lets, stores and loops over one buffer."""
    head = [
        "spec: 1",
        "kind: kernel",
        "name: long",
        "summary: A kernel of many statements.",
        "args:",
        "  n: {type: index, range: [0, 64]}",
        "  x: {buffer: f32, shape: {row: 64, lane: 32}}",
        "  y: {buffer: f32, shape: {lane: 32}, access: write}",
        "launch: {workgroup_size: {lane: 32}}",
        "body:",
        "- var: {total: f32(0)}",
    ]
    tail = [
        "- store:",
        "    y[lane]: total",
        "checks:",
        "  twos: {each: {n: [0, 1, 64]}, given: {x: 2 * lane}, expect: {y: n * lane * LOOPS}, compare: exact}",
    ]
    body = []
    while len(head) + len(body) + 5 + len(tail) <= lines:
        body += [
            "- for: row",
            "  in: range(n)",
            "  do:",
            "  - let: {v: 'x[row, lane] * 0.5'}",
            "  - set: {total: total + v}",
        ]
    tail[-1] = tail[-1].replace("LOOPS", str(len(body) // 5))
    fill = lines - len(head) - len(body) - len(tail)
    return "\n".join([*head, *body, *["# more statements would follow"] * fill, *tail]) + "\n"


def median(action: Callable[[], object], repeat: int) -> float:
    """The median wall time of `repeat` calls."""
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


@dataclass(frozen=True)
class Processes:
    """How cold processes are started: `repeat` times each, with bytecode from a folder or with none."""

    repeat: int
    bytecode: Path | None

    def median(self, arguments: list[str], before: Callable[[], object] = lambda: None) -> float:
        """The median wall time; `before` prepares each run. The first run, which makes bytecode, does not count."""
        samples = []
        for _ in range(self.repeat + 1):
            before()
            start = time.perf_counter()
            command = [sys.executable, "-m", "specgen", *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=self._environment())
            samples.append(time.perf_counter() - start)
        return statistics.median(samples[1:])

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
        if self.bytecode is None:
            return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
        return {**kept, "PYTHONPYCACHEPREFIX": str(self.bytecode)}


def figures(repeat: int, *, bytecode: bool = True) -> list[Figure]:
    """All figures, in the order in which the design lists them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = Processes(repeat, folder / "bytecode" if bytecode else None)
        return [*_in_processes(folder, processes), *_in_process(folder, repeat)]


def _in_processes(folder: Path, processes: Processes) -> list[Figure]:
    out = folder / "out"

    def emptied() -> None:
        import shutil

        shutil.rmtree(out, ignore_errors=True)

    build = ["build", str(SAXPY), "--target", "gfx1151", "-o", str(out)]
    shown = "specgen build specs/elementwise/saxpy.spec.yaml --target gfx1151 -o OUT"
    return [
        Figure("version start-up", "specgen --version", processes.median(["--version"]), 0.3),
        Figure("saxpy, cold process, empty OUT", shown, processes.median(build, emptied), 1.0),
        Figure("unchanged rebuild", f"{shown}  (again)", processes.median(build), 0.3),
    ]


def _in_process(folder: Path, repeat: int) -> list[Figure]:
    import specgen
    from specgen.build import BuildOptions, build_paths
    from specgen.validate import validate_file

    path = folder / "long.spec.yaml"
    path.write_text(long_spec(), encoding="utf-8")
    small = folder / "small.spec.yaml"
    small.write_text(SAXPY.read_text(encoding="utf-8").replace("name: saxpy", "name: small"), encoding="utf-8")

    def typed() -> None:
        result = validate_file(path, until="typed")
        assert result.specs[0].status == "ok", result.diagnostics

    def validated() -> None:
        assert not specgen.load(SUM_ROWS).validate()

    def built() -> None:
        (result,) = build_paths([small], BuildOptions(folder / "more", ("gfx1151",), force=True))
        assert result.status == "built"

    build_paths([SAXPY], BuildOptions(folder / "more", ("gfx1151",)))
    typed()
    validated()
    return [
        Figure(
            "200-line spec to typed, in process",
            'validate_file("long.spec.yaml", until="typed")',
            median(typed, repeat),
            0.05,
        ),
        Figure(
            "sum_rows validated whole, in process",
            'specgen.load("specs/streaming/sum_rows.spec.yaml").validate()',
            median(validated, repeat),
            0.15,
        ),
        Figure(
            "second small spec, same process",
            'build_paths(["small.spec.yaml"], BuildOptions(OUT, ("gfx1151",)))',
            median(built, repeat),
            0.06,
        ),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Front-end timings.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--no-bytecode", action="store_true")
    options = parser.parse_args()
    found = figures(options.repeat, bytecode=not options.no_bytecode)
    if options.json:
        print(json.dumps([asdict(f) for f in found], indent=1))
    else:
        print("\n".join(str(f) for f in found))


if __name__ == "__main__":
    main()
