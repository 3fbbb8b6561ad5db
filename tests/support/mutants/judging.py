"""Whether the product notices a mutant: its generated suite, run on the mutated artifact, and nothing else."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from mutants.site import Mutant
from specgen.checks.suite import SERIAL, Check, Suite, Where
from specgen.devices.amdgpu_emulator import executor

BLOCKS_AT_MOST = 10_000
"""Blocks before a mutant that loops for ever is given up (the emulator's own limit takes minutes); the unchanged
kernels of the corpus end after 1000 at most."""


@dataclass(frozen=True)
class Verdict:
    """`notice` is what the suite said; empty when it passed, or `excuse` tells why it did not run."""

    mutant: Mutant
    notice: str
    excuse: str = ""

    @property
    def killed(self) -> bool:
        return bool(self.notice)


def judge(mutant: Mutant, built: Path, scratch: Path) -> Verdict:
    """Run the suite of the mutant's spec on a copy of the `built` folder with the mutated file."""
    folder = scratch / mutant.spec
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built, folder)
    file = folder / mutant.target / mutant.file
    original = file.read_bytes()
    changed = mutant.apply(original)
    assert changed != original, mutant
    file.write_bytes(changed)
    return Verdict(mutant, *_run(mutant, folder))


def passes(mutant: Mutant, built: Path) -> Verdict:
    """The same suite on the unchanged folder."""
    return Verdict(mutant, *_run(mutant, built))


def _run(mutant: Mutant, folder: Path) -> tuple[str, str]:
    settings = {"SPECGEN_DEVICES": mutant.device, "SPECGEN_TARGETS": mutant.target}
    excuse = ""
    with mock.patch.dict(os.environ, settings), mock.patch.object(executor, "STEP_LIMIT", BLOCKS_AT_MOST):
        module = _generated(folder)
        suite: Suite = module.SUITE
        try:
            for check, where in _tests(module, mutant):
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        suite.check(check, where)
                except pytest.fail.Exception as failure:
                    return f"{failure.msg}", ""
                except pytest.skip.Exception as skipped:
                    excuse = excuse or f"{skipped.msg}"
                except Exception as crash:
                    # pytest counts a test that ends so as failed.
                    return f"{type(crash).__name__}: {crash}", ""
        finally:
            suite.close()
    return "", excuse


def _tests(module: ModuleType, mutant: Mutant) -> Iterator[tuple[Check, Where]]:
    """The tests of the suite that the mutant can touch: those of its entry; all when `serial` is mutated, which the
    others are compared with."""
    checks = [value for name, value in vars(module).items() if name.startswith("check_")]
    for check in checks:
        for where in module.EVERYWHERE:
            if where.entry in (mutant.entry, "") or mutant.entry == SERIAL:
                yield check, where


def _generated(folder: Path) -> ModuleType:
    """The generated suite, imported from its folder under a name of its own."""
    name = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["spec"]["name"]
    spec = importlib.util.spec_from_file_location(f"mutated_{name}", folder / f"test_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
