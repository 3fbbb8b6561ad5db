"""Runs generated suites with pytest, isolated from whatever else lies in their folders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specgen.output import altered, read_manifest

TIMEOUT_SECONDS = 3600
ISOLATION = ("--import-mode=importlib", "-p", "no:cacheprovider")


QUICK_CASES = "12,slow:2"
"""`SPECGEN_CASES` of a quick look: twelve cases of a check, two on slow devices."""


@dataclass(frozen=True)
class SuiteResult:
    """Counts of suites; `skip_reasons` counts each reason, `output` holds pytest's text where tests failed."""

    passed: int
    failed: int
    skipped: int
    skip_reasons: Counter[str]
    output: tuple[str, ...]
    broken: tuple[str, ...] = ()

    def summary(self) -> str:
        """The closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class SuiteOptions:
    """What to run: empty `devices` and `targets` mean all that the folder and this machine offer."""

    devices: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sanitize: bool = True
    allow_oracles: bool = False
    jobs: int = 1
    quick: bool = False
    """Few cases of a check, `QUICK_CASES`; each target and entry point takes others."""


def suite_folders(path: Path) -> list[Path]:
    """The built folders at `path`: itself or its children, whichever hold a manifest of ours.

    Hidden children are what a build that was killed had not finished.
    """
    if read_manifest(path) is not None:
        return [path]
    if not path.is_dir():
        return []
    children = [c for c in sorted(path.iterdir()) if not c.name.startswith(".") and not c.is_symlink()]
    return [child for child in children if read_manifest(child) is not None]


def run_suites(folders: Sequence[Path], options: SuiteOptions) -> SuiteResult:
    """Run the suites of the folders, `options.jobs` at a time; results in the order of the folders."""
    with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        return merged(list(pool.map(lambda folder: run_suite(folder, options), folders)))


def merged(results: Iterable[SuiteResult]) -> SuiteResult:
    """The sum of results."""
    total = SuiteResult(0, 0, 0, Counter(), ())
    for r in results:
        total = SuiteResult(
            total.passed + r.passed,
            total.failed + r.failed,
            total.skipped + r.skipped,
            total.skip_reasons + r.skip_reasons,
            total.output + r.output,
            total.broken + r.broken,
        )
    return total


def run_suite(folder: Path, options: SuiteOptions) -> SuiteResult:
    """Run the suite of one built folder in a fresh interpreter that imports nothing from the folder but the suite."""
    manifest = read_manifest(folder)
    if manifest is None:
        return SuiteResult(0, 0, 0, Counter(), (), (f"{folder}: no manifest of specgen",))
    folder = folder.absolute()  # pytest runs in another folder
    suite = folder / f"test_{manifest['spec']['name']}.py"
    with tempfile.TemporaryDirectory(prefix="specgen-test-") as scratch:
        results = Path(scratch) / "results.xml"
        command = [sys.executable, "-P", "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder)]
        command += ["--confcutdir", str(folder), *ISOLATION, "-q", "--no-header", "--noconftest", "-p", "no:xdist"]
        command += [f"--junitxml={results}", str(suite)]
        try:
            done = subprocess.run(
                command, env=_environment(options), cwd=scratch, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            return SuiteResult(0, 0, 0, Counter(), (), (f"{suite}: no result after {TIMEOUT_SECONDS} s",))
        if done.returncode not in (0, 1, 5) or not results.exists():
            problem = _damage(folder, manifest) or (
                f"{suite}: pytest ended with status {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}"
            )
            return SuiteResult(0, 0, 0, Counter(), (), (problem,))
        return _counts(results, done.stdout)


def _damage(folder: Path, manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with the files of a folder whose suite could not run."""
    names = list(altered(folder, manifest))
    if not names:
        return None
    return (
        f"{folder}: not as it was built: {', '.join(names[:4])}{', ...' if names[4:] else ''}\n  hint: build it again"
    )


def _environment(options: SuiteOptions) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SPECGEN_SUITE_"))}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["SPECGEN_DEVICES"] = ",".join(options.devices)
    environment["SPECGEN_TARGETS"] = ",".join(options.targets)
    environment["SPECGEN_SANITIZE"] = "1" if options.sanitize else "0"
    if options.quick:
        environment.setdefault("SPECGEN_CASES", QUICK_CASES)
    environment["SPECGEN_ALLOW_ORACLES"] = "1" if options.allow_oracles else "0"
    return environment


def _counts(results: Path, output: str) -> SuiteResult:
    passed = failed = skipped = 0
    reasons: Counter[str] = Counter()
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        skip = case.find("skipped")
        if skip is not None:
            skipped += 1
            reasons[skip.get("message") or "no reason given"] += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        else:
            passed += 1
    return SuiteResult(passed, failed, skipped, reasons, (output,) if failed else ())
