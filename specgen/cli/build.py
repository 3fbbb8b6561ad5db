"""`specgen build PATH…`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from specgen.build import BROKEN, BUILT, FAILED, MOTIF, REFUSED, BuildOptions, BuildResult, build_paths
from specgen.cli.common import CLEAN, FINDINGS, USAGE, colour, existing, fail, jobs_option, output_options, print_json
from specgen.stages import PolicyValue

SETTING = re.compile(r"(?:(?P<spec>[A-Za-z_]\w*):)?(?P<policy>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)=(?P<value>.+)")


@click.command("build")
@click.argument("paths", nargs=-1)
@click.option("--target", "targets", multiple=True, metavar="T", help="Build for this target (default: all).")
@click.option("-o", "--output", type=click.Path(file_okay=False), default="specgen-out", show_default=True)
@click.option("--set", "settings", multiple=True, metavar="[SPEC:][INSTANCE.]POLICY=VALUE", help="Override a policy.")
@click.option("--dump-ir", "dumps", multiple=True, metavar="after:PASS", help="Print the IR after a pass.")
@click.option("--force", is_flag=True, help="Rebuild what is up to date.")
@click.option("--test", "run_tests", is_flag=True, help="Run the suites of what was built.")
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
    options = BuildOptions(
        Path(output), _targets(targets), tuple(_setting(s) for s in settings), force, tuple(_dump(d) for d in dumps)
    )
    workers = jobs or os.cpu_count() or 1
    results = build_paths(found, options, jobs=workers)
    _check_settings(options, results)
    if form == "json":
        _print_json(results)
        failed = _failed(results)
    else:
        failed = print_results(results, quiet=quiet, verbose=verbose)
    if any(r.status == BROKEN for r in results):
        sys.exit(USAGE)
    if not run_tests:
        sys.exit(FINDINGS if failed else CLEAN)
    _test(results, failed, workers, form, quiet)


def _test(results: Sequence[BuildResult], failed: bool, jobs: int, form: str, quiet: bool) -> None:
    from specgen import devices
    from specgen.cli.test import report_and_exit
    from specgen.testing import SuiteOptions, run_suites

    names = tuple(n for n in ("interpreter", "amdgpu-emulator") if devices.open(n).available() is None)
    folders = [r.folder for r in results if r.folder is not None]
    report_and_exit(run_suites(folders, SuiteOptions(devices=names, jobs=jobs)), failed, form, quiet)


def _targets(names: tuple[str, ...]) -> tuple[str, ...]:
    from specgen import targets

    if not names or "all" in names:
        return ()
    for name in names:
        if name not in targets.names():
            import difflib

            near = difflib.get_close_matches(name, targets.names(), n=1)
            fail(f"unknown target: {name}", f"nearest: {near[0]}" if near else f"targets: {', '.join(targets.names())}")
    return tuple(dict.fromkeys(names))


def _setting(text: str) -> tuple[str | None, str, PolicyValue]:
    match = SETTING.fullmatch(text)
    if match is None:
        fail(f"--set {text}: not of the form [SPEC:][INSTANCE.]POLICY=VALUE", "for example --set depth=2")
    return match["spec"], match["policy"], parse_value(match["value"])


def parse_value(text: str) -> PolicyValue:
    """A policy value of the command line: a boolean, a number or a word."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _dump(text: str) -> str:
    from specgen.schedule.passes import PASSES

    names = ("expand", *PASSES)
    stage, _, name = text.partition(":")
    if stage != "after" or name not in names:
        fail(f"--dump-ir {text}: unknown", f"write after:PASS with one of {', '.join(names)}")
    return name


def _check_settings(options: BuildOptions, results: Sequence[BuildResult]) -> None:
    names = {r.name for r in results}
    for owner, policy, _ in options.policies:
        if owner is not None and owner not in names:
            fail(f"--set {owner}:{policy}: no spec of this call is named {owner}")


def _failed(results: Sequence[BuildResult]) -> bool:
    return any(r.status in (FAILED, REFUSED, BROKEN) for r in results)


def print_results(results: Sequence[BuildResult], *, quiet: bool, verbose: bool = False) -> bool:
    """Print findings and a line a spec; whether any spec failed."""
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
    return _failed(results)


def _line(result: BuildResult, verbose: bool) -> str:
    if result.status == MOTIF:
        return f"{result.file}: motif {result.name}: checked; a motif has no output of its own"
    if result.folder is None:
        return f"{result.file}: {result.name}: {result.status}"
    text = f"{result.file}: {result.name}: {result.status}: {result.folder} ({len(result.targets)} targets)"
    if result.refused and (verbose or result.status == BUILT):
        text += f"; not for {', '.join(result.refused)} (its `requires`)"
    return text


def _print_json(results: Sequence[BuildResult]) -> None:
    from specgen.diagnostics import render

    print_json(
        {
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
    )
