"""Every spec of the repository, built once a test run: folders, and the objects that LLVM made on the way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from specgen import targets
from specgen.build import BuildOptions, build_paths

SPECS = Path(__file__).resolve().parents[2] / "specs"
FILES = {p.name.split(".spec.")[0]: p for p in sorted(SPECS.rglob("*.spec.*"))}
MOTIFS = tuple(n for n, p in FILES.items() if re.search(r'^kind *[:=] *"?motif\b', p.read_text(), re.MULTILINE))
LARGE = tuple(
    name
    for name, path in FILES.items()
    if name not in MOTIFS and (path.parent.name == "attention" or name.startswith(("routed_row", "sum_paired")))
)
"""Kernels whose suites take minutes on the emulator: `test_large.py` runs a part of them, slow tests all."""
HEAVY = tuple(
    name
    for name, path in FILES.items()
    if name in LARGE
    or path.parent.name == "conformance"
    or (path.parent.name == "decode" and name not in MOTIFS)
    or name in ("transpose_wide", "triangular_matvec", "packed_nearest")
)
"""Kernels that only slow tests run on every target: the large ones, and those with many entry points or much code."""
NAMES = tuple(name for name in FILES if name not in (*MOTIFS, *HEAVY))
AMD = tuple(t for t in targets.DEFAULT if targets.load(t).kind == "amdgpu")
EXECUTABLE = tuple(t for t in AMD if t != "gfx1250")


@dataclass(frozen=True)
class Built:
    """The output folder of a spec, and the folder of its objects (`TARGET.o`)."""

    name: str
    folder: Path
    objects: Path

    def object(self, target: str) -> bytes:
        """The relocatable object that the target's `kernel.hsaco` was linked from."""
        return (self.objects / f"{target}.o").read_bytes()


def build_once(root: Path, name: str, wanted: tuple[str, ...] = ()) -> Built:
    """Build a spec below `root` unless another test process did so already; a lock file keeps them apart."""
    built = Built(name, root / "out" / name, root / "objects" / name)
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f"{name}.lock"):
        if not built.folder.exists():
            built.objects.mkdir(parents=True, exist_ok=True)
            with recorded_objects(built.objects):
                results = build_paths([FILES[name]], BuildOptions(built.folder.parent, wanted))
            told = [(r.status, r.problem, [d.message for d in r.diagnostics]) for r in results]
            assert {r.status for r in results} == {"built"}, told
    return built


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def recorded_objects(folder: Path) -> Iterator[None]:
    """Keep what the code generator returns for each processor."""
    from specgen.lowering.amdgpu import codegen

    names = {targets.load(t).cpu: t for t in AMD}
    original = codegen.compile_modules

    def recording(requests: list[tuple[str, str]], *rest: float) -> list[codegen.Compiled]:
        compiled = original(requests, *rest)
        for (_, cpu), answer in zip(requests, compiled, strict=True):
            path = folder / f"{names[cpu]}.o"
            if not path.exists():  # builds of other params follow the default one
                path.write_bytes(answer.object)
        return compiled

    with mock.patch.object(codegen, "compile_modules", recording):
        yield


def shared_root(base: Path, name: str = "corpus") -> Path:
    """A folder that all test processes of a run share."""
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
