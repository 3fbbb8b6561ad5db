"""The Python interface: load a spec, validate it, build it for a target, run it on a device.

>>> import specgen
>>> spec = specgen.load("specs/streaming/sum_rows.spec.yaml")      # doctest: +SKIP
>>> [str(d) for d in spec.validate()]                              # doctest: +SKIP
[]
>>> artifact = spec.build("gfx1151", depth=2)                      # doctest: +SKIP
>>> run = artifact.run("interpreter", row_count=3, input=x)        # doctest: +SKIP
>>> run.outputs["output"]                                          # doctest: +SKIP
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specgen.diagnostics import Diagnostic, DiagnosticError, has_errors
from specgen.stages import PolicyValue

if TYPE_CHECKING:
    from specgen import model
    from specgen.devices.base import Artifact as DeviceArtifact
    from specgen.devices.base import Grid, Run


@dataclass(frozen=True)
class Spec:
    """A loaded spec. `model` is None when the file could not be read as one; `validate` tells why."""

    path: Path
    root: Path
    model: model.Spec | None
    loading_diagnostics: tuple[Diagnostic, ...]

    def validate(self, until: str = "scheduled") -> list[Diagnostic]:
        """Every finding of the spec, over all targets that it admits.

        >>> specgen.load("broken.spec.yaml").validate()[0].code       # doctest: +SKIP
        'SG-NAME'
        """
        from specgen.loading import load_spec
        from specgen.validate import validate_loaded, validate_spec

        if self.model is None or has_errors(self.loading_diagnostics):
            return list(validate_loaded(load_spec(self.path, self.root), until=until)[0])
        return [*self.loading_diagnostics, *validate_spec(self.model, until=until)[0]]

    def build(self, target: str, /, **policies: PolicyValue) -> Artifact:
        """Build for one target with these policy values; writes nothing.

        Raises `DiagnosticError` when the spec has errors or refuses the target, `KeyError` for an unknown target,
        `lowering.LoweringError` when a back end fails.

        >>> specgen.load("saxpy.spec.yaml").build("gfx942").files["kernel.hsaco"][:4]   # doctest: +SKIP
        b'\\x7fELF'
        """
        from specgen import targets
        from specgen.build import BuildOptions
        from specgen.emit import NotAdmitted, emit

        targets.load(target)
        if self.model is None or has_errors(self.loading_diagnostics):
            raise DiagnosticError(self.loading_diagnostics)
        settings = tuple((None, name, value) for name, value in policies.items())
        try:
            emitted = emit(self.model, self.root, BuildOptions(Path(), (target,), settings))
        except NotAdmitted as refusal:
            raise DiagnosticError(refusal.diagnostics) from refusal
        prefix = f"{target}/"
        files = {name.removeprefix(prefix): data for name, data in emitted.files.items() if name.startswith(prefix)}
        return Artifact(self.model.name.text, target, emitted.manifest, files)


@dataclass(frozen=True)
class Artifact:
    """A built kernel for one target: the manifest and the target's files by name."""

    name: str
    target: str
    manifest: Any
    files: dict[str, bytes]

    def run(self, device: str, /, grid: Grid | None = None, entry: str = "default", **args: Any) -> Run:
        """Run an entry point once on a device.

        Buffers are numpy arrays of the declared type (`bf16`: `ml_dtypes.bfloat16`, `bool`: uint8, `index`: int64) in
        their declared shape, or flat in memory order, where a shorter one backs only its part; lists of numbers will
        do that the type holds exactly. Scalars are numbers. A buffer that is only written may be left out: it is
        allocated in its declared shape. Outputs have the declared types. Raises `DeviceError` when an argument does
        not fit, and when the device is absent or cannot run the artifact.

        >>> artifact.run("interpreter", n=4, a=2.0, x=x, y=y).outputs["y"]             # doctest: +SKIP
        """
        from specgen import devices
        from specgen.devices.base import DeviceError

        opened = devices.open(device)
        reason = opened.available()
        if reason is not None:
            raise DeviceError(f"device {device} is not available: {reason}")
        try:
            return opened.load(self.for_device(), self.symbol(entry)).launch(self.arrays(args), grid)
        finally:
            opened.close()

    def symbol(self, entry: str) -> str:
        """The entry point of a variant, by its name or symbol; raises `DeviceError` when there is none."""
        from specgen import manifest

        return manifest.symbol(self.manifest, entry)

    def for_device(self) -> DeviceArtifact:
        """The artifact as devices take it."""
        from specgen.devices.base import Artifact as DeviceArtifact

        return DeviceArtifact(self.name, self.target, self.manifest, self.files)

    def arrays(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments as devices take them: every one of them, buffers flat in memory order and of the declared type.

        Raises `DeviceError` for an unknown or missing argument, and for an array of another type or shape: nothing
        is converted.
        """
        from math import prod

        import numpy as np

        from specgen import manifest
        from specgen.checks.dtypes import dtype
        from specgen.devices.arrays import flat_buffer
        from specgen.devices.base import DeviceError

        known = {row["name"] for row in self.manifest["args"]}
        for name in args:
            if name not in known:
                raise DeviceError(f"no argument {name}; arguments: {', '.join(sorted(known))}")
        result: dict[str, Any] = {}
        for row in self.manifest["args"]:
            name = row["name"]
            if row["kind"] == "buffer" and name not in args and row["access"] == "write":
                result[name] = np.zeros(prod(manifest.shape(self.manifest, name, args)), dtype(row["type"]))
            elif name not in args:
                raise DeviceError(f"argument {name} is missing")
            elif row["kind"] == "buffer":
                result[name] = flat_buffer(row, args[name], manifest.shape(self.manifest, name, args))
            else:
                result[name] = args[name]
        return result


def load(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Spec:
    """Load a spec file. Raises `FileNotFoundError` when there is none; mistakes in it are told by `Spec.validate`.

    `root` is the folder that file names in messages are relative to; by default the spec's own folder.

    >>> specgen.load("specs/saxpy.spec.yaml").model.name.text          # doctest: +SKIP
    'saxpy'
    """
    from specgen.loading import load_spec

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no such spec: {file}")
    base = Path(root) if root is not None else file.resolve().parent
    loaded = load_spec(file, base)
    return Spec(file, base, loaded.spec, tuple(loaded.diagnostics))
