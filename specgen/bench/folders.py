"""Built folders as benchmarks see them: manifest, artifacts, and the benchmarks of the generated script."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specgen.bench.options import UsageError
from specgen.checks.cases import Check, Signature
from specgen.checks.dtypes import TYPES
from specgen.checks.places import FILE_OF
from specgen.devices.base import Artifact
from specgen.output import MANIFEST, digest, read_manifest

_FUNCTION = re.compile(r"^  func\.func @(\w+)\(", re.MULTILINE)
_NAMES = re.compile(r'motif\.(entry = "\w*"|policies = \{[^}]*\})')


@dataclass(frozen=True)
class Benchmark:
    """Inputs, and formulas over arguments and case names of the bytes moved and the operations done."""

    inputs: Check
    bytes: str | None = None
    flops: str | None = None


@dataclass
class Built:
    """One output folder."""

    folder: Path
    manifest: Mapping[str, Any]
    signature: Signature
    benchmarks: Sequence[Benchmark]
    _artifacts: dict[str, Artifact] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The spec's name."""
        return str(self.manifest["spec"]["name"])

    @property
    def label(self) -> str:
        """The name, with the set of params where the folder holds that of one: `NAME@columns=512`."""
        return self.folder.name if self.folder.name.startswith(f"{self.name}@") else self.name

    @property
    def entries(self) -> list[str]:
        """Names of the entry points: default, serial, others."""
        return [entry["name"] for entry in self.manifest["entries"]]

    def entry(self, name: str) -> Mapping[str, Any]:
        """The manifest's row of an entry point."""
        return next(e for e in self.manifest["entries"] if e["name"] == name)

    def policies(self, entry: str, target: str) -> dict[str, Any]:
        """Policy values of an entry point for a target."""
        row = self.entry(entry)
        return dict(row["targets"].get(target, {}).get("policies", row["policies"]))

    def targets(self, device: str) -> list[str]:
        """Targets whose artifact the device runs."""
        return [t for t in self.manifest["targets"] if FILE_OF[device] in self.artifact(t).files]

    def artifact(self, target: str) -> Artifact:
        """The files of a target's folder."""
        if target not in self._artifacts:
            self._artifacts[target] = Artifact.read(self.folder, self.manifest, target)
        return self._artifacts[target]

    def code(self, entry: str, target: str) -> str:
        """A digest of what an entry point runs: its scheduled IR without its name and policies, and its launch.

        Entries with equal digests run the same machine code, because lowering sees nothing else of them.
        """
        launch = self.entry(entry)["targets"][target]
        text = self.artifact(target).files.get("scheduled.mlir", b"").decode()
        symbol = str(self.entry(entry)["symbol"])
        starts = list(_FUNCTION.finditer(text))
        own = next((n for n, m in enumerate(starts) if m[1] == symbol), None)
        body = symbol  # Without IR nothing can be said: the entry stands for itself.
        if own is not None:
            end = starts[own + 1].start() if own + 1 < len(starts) else len(text)
            body = _NAMES.sub("", text[starts[own].end() : end])
        return hashlib.sha256(repr((body, launch["workgroups"], launch["workgroup_size"])).encode()).hexdigest()


def _unusable(message: str, hint: str = "build it again") -> UsageError:
    return UsageError(message, hint, status=1)


def opened(folder: Path) -> Built:
    """The folder's manifest and benchmarks. Raises `UsageError` for one that is not as this version built it.

    Files may be missing, so that a folder can travel without what timing does not need; changed ones are refused.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise _unusable(f"{folder} holds no manifest of specgen", "build it first: specgen build SPEC -o OUT")
    if manifest.get("stale"):
        raise _unusable(f"{folder} is stale: its last build failed")
    for name, expected in manifest["files"].items():
        path = folder / name
        if path.is_file() and digest(path.read_bytes()) != expected:
            raise _unusable(f"{path} is not what was built")
    missing = [key for key in ("spec", "args", "entries", "targets") if key not in manifest]
    if missing:
        raise _unusable(f"{folder / MANIFEST} lacks `{missing[0]}`")
    script = folder / f"bench_{manifest['spec']['name']}.py"
    if not script.is_file():
        raise _unusable(f"{folder} has no {script.name}")
    module_spec = importlib.util.spec_from_file_location(f"specgen_built_{script.stem}", script)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    try:
        module_spec.loader.exec_module(module)
        constants, words, benchmarks = module.CONSTANTS, module.WORDS, module.BENCHMARKS
    except Exception as error:
        # The script may be of any version, or edited: whatever it raises says that it is not ours.
        hint = "it was built by another version of specgen: build it again"
        raise _unusable(f"{script} cannot be used: {type(error).__name__}: {error}", hint) from error
    unknown = sorted({row["type"] for row in manifest["args"]} - set(TYPES))
    if unknown:
        raise UsageError(f"{folder}: no numpy type for {unknown[0]}", "install the package ml_dtypes")
    signature = Signature.of(manifest["args"], constants, words, folder / "references")
    return Built(folder, manifest, signature, benchmarks)
