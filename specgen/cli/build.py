"""`specgen build PATH…`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from specgen.build import BROKEN, BUILT, FAILED, MOTIF, REFUSED, BuildOptions, BuildResult, build_paths
from specgen.cli.common import (
    CLEAN,
    FINDINGS,
    USAGE,
    colour,
    existing,
    fail,
    jobs_option,
    nearest,
    output_options,
    print_json,
)
from specgen.cli.settings import parse, resolved

if TYPE_CHECKING:
    from specgen.testing import SuiteResult


@click.command("build")
@click.argument("paths", nargs=-1)
@click.option("--target", "targets", multiple=True, metavar="T", help="Build for this target (default: all).")
@click.option("-o", "--output", type=click.Path(file_okay=False), default="specgen-out", show_default=True)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[SPEC:][INSTANCE.]POLICY=VALUE",
    help="Override a policy or choose a param.",
)
@click.option("--dump-ir", "dumps", multiple=True, metavar="after:PASS", help="Print the IR after a pass.")
@click.option("--force", is_flag=True, help="Rebuild what is up to date.")
@click.option(
    "--test", "run_tests", is_flag=True, help="Run the suites of what was built, with few cases of each check."
)
@jobs_option
@output_options
def command(
    paths: tuple[str, ...],
    targets: tuple[str, ...],
    output: str,
    settings: tuple[str, ...],
    dumps: tuple[str, ...],
    force: bool,
    run_tests: bool,
    jobs: int | None,
    form: str,
    quiet: bool,
    verbose: bool,
) -> None:
    """Build artifacts, suites, benchmarks and reports."""
    found = existing(paths)
    chosen, stages = _targets(targets), tuple(_dump(d) for d in dumps)
    options = BuildOptions(Path(output), chosen, resolved([parse(s) for s in settings], found), force, stages)
    workers = jobs or os.cpu_count() or 1
    results = build_paths(found, options, jobs=workers)
    if form == "text":
        print_results(results, quiet=quiet, verbose=verbose)
    tested = _test(results, workers) if run_tests else None
    _report(results, tested, form)


def _report(results: Sequence[BuildResult], tested: SuiteResult | None, form: str) -> NoReturn:
    """Print what is left to print, and end with the exit status."""
    if tested is None:
        if form == "json":
            print_json(as_json(results))
        sys.exit(status(results))
    from specgen.cli.test import print_suites, suite_json, suite_status

    if form == "json":
        print_json(as_json(results) | {"test": suite_json(tested)})
    else:
        print_suites(tested)
    sys.exit(max(status(results), suite_status(tested)))


def _test(results: Sequence[BuildResult], jobs: int) -> SuiteResult:
    from specgen import devices
    from specgen.testing import SuiteOptions, run_suites

    names = tuple(n for n in ("interpreter", "amdgpu-emulator", "vulkan") if devices.open(n).available() is None)
    folders = [r.folder for r in results if r.folder is not None]
    return run_suites(folders, SuiteOptions(devices=names, jobs=jobs, quick=True))


def _targets(names: tuple[str, ...]) -> tuple[str, ...]:
    from specgen import targets

    if not names or "all" in names:
        return ()
    for name in names:
        if name not in targets.names():
            fail(f"unknown target: {name}", nearest(name, targets.names()) or f"targets: {', '.join(targets.names())}")
    return tuple(dict.fromkeys(names))


def _dump(text: str) -> str:
    from specgen.schedule.passes import PASSES

    names = ("expand", *PASSES)
    stage, _, name = text.partition(":")
    if stage != "after" or name not in names:
        fail(f"--dump-ir {text}: unknown", f"write after:PASS with one of {', '.join(names)}")
    return name


def status(results: Sequence[BuildResult]) -> int:
    """The exit status of a build: the gravest of its specs'."""
    graveness = {BROKEN: USAGE, FAILED: FINDINGS, REFUSED: FINDINGS}
    return max((graveness.get(r.status, CLEAN) for r in results), default=CLEAN)


def print_results(results: Sequence[BuildResult], *, quiet: bool, verbose: bool = False) -> None:
    """Print findings and a line a spec."""
    from specgen.diagnostics import render

    for result in results:
        if result.diagnostics:
            click.echo(render.text(result.diagnostics, result.sources, colour=colour()))
        for title, text in result.dumps:
            click.echo(f"// ---- {result.name}: {title} ----\n{text}")
        if result.problem:
            click.echo(f"specgen: {result.file}: {result.problem}", err=True)
        elif not quiet and result.name:
            click.echo(_line(result, verbose))


def _line(result: BuildResult, verbose: bool) -> str:
    if result.status == MOTIF:
        return f"{result.file}: motif {result.name}: checked; a motif has no output of its own"
    if result.folder is None:
        return f"{result.file}: {result.name}: {result.status}"
    text = f"{result.file}: {result.name}: {result.status}: {result.folder} ({len(result.targets)} targets)"
    if result.refused and (verbose or result.status == BUILT):
        text += f"; not for {', '.join(result.refused)} (its `requires`, or a fact that the target leaves open)"
    return text


def as_json(results: Sequence[BuildResult]) -> dict[str, Any]:
    """The same as JSON."""
    from specgen.diagnostics import render

    return {
        "diagnostics": [render.as_json(d) for r in results for d in r.diagnostics],
        "specs": [
            {
                "name": r.name,
                "file": r.file,
                "status": r.status,
                "folder": None if r.folder is None else r.folder.as_posix(),
                "targets": list(r.targets),
                "refused": list(r.refused),
                "problem": r.problem,
            }
            for r in results
            if r.name
        ],
    }
