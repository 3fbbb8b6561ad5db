"""`specgen test PATH…|OUT…`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from specgen.cli.common import CLEAN, FINDINGS, USAGE, existing, fail, jobs_option, output_options, print_json
from specgen.testing import SuiteOptions, SuiteResult, run_suites, suite_folders

if TYPE_CHECKING:
    from specgen.build import BuildResult


@click.command("test")
@click.argument("paths", nargs=-1)
@click.option("--device", "devices", multiple=True, metavar="D", help="Run on this device (default: all available).")
@click.option("--target", "targets", multiple=True, metavar="T", help="Only artifacts of this target.")
@click.option("--sanitize/--no-sanitize", default=True, help="Report accesses that a device could hide.")
@click.option("--allow-oracles", is_flag=True, help="Run the spec folder's Python references.")
@click.option("-o", "--output", type=click.Path(file_okay=False), default=None, help="Keep what is built here.")
@jobs_option
@output_options
def command(
    paths: tuple[str, ...],
    devices: tuple[str, ...],
    targets: tuple[str, ...],
    sanitize: bool,
    allow_oracles: bool,
    output: str | None,
    jobs: int | None,
    form: str,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run correctness suites: of built folders as they are, of specs after building them."""
    found = existing(paths)
    _check_devices(devices)
    _check_targets(targets)
    options = SuiteOptions(devices, targets, sanitize, allow_oracles, jobs or os.cpu_count() or 1)
    folders = [folder for path in found for folder in suite_folders(path)]
    specs = [path for path in found if not suite_folders(path)]
    with tempfile.TemporaryDirectory(prefix="specgen-") as scratch:
        built = _build(specs, Path(output) if output else Path(scratch), targets, options.jobs) if specs else []
        folders += [r.folder for r in built if r.folder is not None]
        result = run_suites(folders, options)
    _tell(built, result, form)


def _tell(built: list[BuildResult], result: SuiteResult, form: str) -> NoReturn:
    from specgen.cli.build import as_json, print_results, status

    if form == "json":
        print_json(suite_json(result) | {"build": as_json(built)})
    else:
        print_results(built, quiet=True)
        print_suites(result)
    # What was only skipped proves nothing.
    empty = FINDINGS if not (result.passed or result.failed) else CLEAN
    sys.exit(max(status(built), suite_status(result), empty))


def print_suites(result: SuiteResult) -> None:
    """Print failures, reasons of skips and the closing line."""
    for text in (*result.output, *result.broken):
        click.echo(text)
    for reason, count in sorted(result.skip_reasons.items()):
        click.echo(f"skipped {count}: {reason}")
    click.echo(result.summary())


def suite_json(result: SuiteResult) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "passed": result.passed,
        "failed": result.failed,
        "skipped": result.skipped,
        "skip_reasons": dict(sorted(result.skip_reasons.items())),
        "output": list(result.output),
        "broken": list(result.broken),
    }


def suite_status(result: SuiteResult) -> int:
    """The exit status of suites."""
    if result.broken:
        return USAGE
    return FINDINGS if result.failed else CLEAN


def _check_devices(names: tuple[str, ...]) -> None:
    from specgen import devices

    for name in names:
        if name not in devices.names():
            fail(f"unknown device: {name}", f"devices: {', '.join(devices.names())}")
        reason = devices.open(name).available()
        if reason:
            fail(f"device {name} is not available: {reason}")


def _check_targets(names: tuple[str, ...]) -> None:
    from specgen import targets

    for name in names:
        if name not in targets.names():
            fail(f"unknown target: {name}", f"targets: {', '.join(targets.names())}")


def _build(specs: list[Path], output: Path, targets: tuple[str, ...], jobs: int) -> list[BuildResult]:
    from specgen.build import BuildOptions, build_paths

    return build_paths(specs, BuildOptions(output=output, targets=targets), jobs=jobs)
