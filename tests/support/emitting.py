"""Output folders as a build writes them, without machine code: enough for the interpreter and for fake devices."""

import importlib.util
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from specgen import ir, manifest
from specgen.checks.plan import plan_suite
from specgen.devices.base import DeviceError, DeviceFacts, Timing
from specgen.devices.interpreter.device import InterpreterDevice
from specgen.emit_suite import render_benchmark, render_suite
from specgen.loading import load_spec
from specgen.stages import plan

SPECS = Path(__file__).resolve().parents[2] / "specs"


def emit_folder(path, folder, targets=("gfx1151",), policies=None):
    """Write manifest, scheduled IR, suite and benchmark of a spec; returns the plan of the suite."""
    spec = load_spec(path).spec
    planned = {}
    for target in targets:
        made = plan(spec, target, policies)
        assert made.planned is not None, [d.message for d in made.diagnostics]
        planned[target] = made.planned
    first = next(iter(planned.values()))
    instances = {target: p.instance for target, p in planned.items()}
    suite = plan_suite(spec, first.instance, first.scheduled)
    name = spec.name.text
    content = {
        "specgen": "0.1.0",
        "spec": {"name": name, "file": spec.source.name},
        "params": dict(first.instance.params),
        "args": manifest.arguments(first.instance),
        "entries": manifest.entries(instances),
        "targets": list(targets),
        "files": {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for reference in suite.references:
        (folder / "references" / reference).parent.mkdir(parents=True, exist_ok=True)
        (folder / "references" / reference).write_bytes((path.parent / reference).read_bytes())
    (folder / "manifest.json").write_text(json.dumps(content))
    for target, p in planned.items():
        (folder / target).mkdir(exist_ok=True)
        (folder / target / "scheduled.mlir").write_text(ir.print_module(p.scheduled.module))
    (folder / f"test_{name}.py").write_text(render_suite(suite, content))
    (folder / f"bench_{name}.py").write_text(render_benchmark(suite, content))
    return suite


def import_file(path):
    """A generated file as a module."""
    module_spec = importlib.util.spec_from_file_location(f"generated_{path.stem}", path)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module


FAULTS = {
    "zero": np.zeros_like,
    "constant": lambda a: np.full_like(a, a[0]) if a.size else a,
    "shifted": lambda a: np.roll(a, 1),
}
"""What a wrong kernel leaves, from what the right one leaves."""


@dataclass
class FaultyKernel:
    """A right kernel whose outputs, arguments or findings are tampered with."""

    kernel: object
    fault: str
    scalar: str | None

    def launch_batch(self, launches):
        runs = self.kernel.launch_batch([self._arguments(a) for a in launches])
        return [self._tampered(run, args) for run, args in zip(runs, launches, strict=True)]

    def launch(self, args, grid=None):
        return self.launch_batch([args])[0]

    def _arguments(self, args):
        given = dict(args)
        if self.fault == "dropped tail" and given[self.scalar] > 0:
            given[self.scalar] = given[self.scalar] - 1
        return given

    def _tampered(self, run, args):
        if self.fault in FAULTS:
            return replace(run, outputs={n: FAULTS[self.fault](a) for n, a in run.outputs.items()})
        if self.fault == "not stored":
            return replace(run, outputs={n: args[n].copy() for n in run.outputs})
        return run

    def time(self, args, timing_plan):
        if self.fault == "clock":
            return Timing((0.5, 0.25, 1.0), "fake")
        raise DeviceError("no clock")


@dataclass
class FaultyDevice:
    """The interpreter with a fault, in every entry or in the named ones."""

    fault: str = ""
    scalar: str | None = None
    entries: tuple = ()
    name: str = "fake"
    reason: str | None = None

    def available(self):
        return self.reason

    def facts(self):
        return DeviceFacts("a fake", (32,))

    def load(self, artifact, entry):
        kernel = InterpreterDevice().load(artifact, entry)
        if not self.entries or any(entry.endswith(e) for e in self.entries):
            return FaultyKernel(kernel, self.fault, self.scalar)
        return kernel

    def close(self):
        pass


def outcomes(module, until_failure=False):
    """Run the tests of a generated suite here: how many passed, and the texts of failures and skips by test."""
    failed, skipped, passed = {}, {}, 0
    for name in [n for n in vars(module) if n.startswith("test_")]:
        for where in module.EVERYWHERE:
            if failed and until_failure:
                break
            try:
                vars(module)[name](where)
                passed += 1
            except pytest.fail.Exception as failure:
                failed.setdefault(name, []).append(str(failure))
            except pytest.skip.Exception as skip:
                skipped.setdefault(name, []).append(str(skip))
    module.SUITE.close()
    return passed, failed, skipped
