"""Building: spec files in, output folders out; each spec whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specgen import fingerprint, output, param_sets
from specgen.diagnostics import Diagnostic, Source, Span, has_errors
from specgen.loading.discover import SpecFile
from specgen.loading.load import shown_name, stem
from specgen.stages import PolicyValue, deduplicated

BUILT, UP_TO_DATE, MOTIF, FAILED, REFUSED, BROKEN = "built", "up to date", "motif", "failed", "refused", "broken"


@dataclass(frozen=True)
class BuildOptions:
    """A request. Empty `targets`: all of `targets.DEFAULT` that the spec admits; named ones must be admitted."""

    output: Path
    targets: tuple[str, ...] = ()
    policies: tuple[tuple[str | None, str, PolicyValue], ...] = ()
    force: bool = False
    dump_after: tuple[str, ...] = ()

    def policies_of(self, spec: str) -> dict[str, PolicyValue]:
        """The `--set` values that concern a spec, later ones winning."""
        return {name: value for owner, name, value in self.policies if owner in (None, spec)}


@dataclass(frozen=True)
class BuildResult:
    """What became of one spec. `problem` is a failure of the tool (exit status 2), not of the spec."""

    name: str
    file: str
    status: str
    folder: Path | None = None
    targets: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict)
    problem: str | None = None
    dumps: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Job:
    """A spec file to build: its name, the folder that names in the output are relative to (its own, so that the same
    inputs give the same bytes anywhere), and how messages show the two."""

    path: Path
    name: str
    shown: str
    shown_folder: str
    params: tuple[tuple[str, PolicyValue], ...] = ()
    """The set of params to build, where that is not the default one."""

    @classmethod
    def of(cls, file: SpecFile) -> Job:
        """The job for a discovered file."""
        shown = shown_name(file.path, file.root)
        return cls(file.path, stem(file.path.name) or file.path.name, shown, shown.rpartition("/")[0])

    @property
    def root(self) -> Path:
        """The spec's own folder."""
        return self.path.parent

    @property
    def folder(self) -> str:
        """The name of the output folder."""
        return param_sets.folder(self.name, dict(self.params))

    def relocated(self, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Diagnostics with file names as messages show them."""
        return tuple(
            replace(
                d,
                span=self._shown_span(d.span),
                notes=tuple(replace(n, span=self._shown_span(n.span)) for n in d.notes),
            )
            for d in deduplicated(diagnostics)
        )

    def _shown_span(self, span: Span) -> Span:
        return replace(span, file=f"{self.shown_folder}/{span.file}") if self.shown_folder else span

    def relocated_sources(self, sources: Mapping[str, Source]) -> dict[str, Source]:
        """The sources under the names that `relocated` gives."""
        prefix = f"{self.shown_folder}/" if self.shown_folder else ""
        return {prefix + name: replace(source, name=prefix + name) for name, source in sources.items()}

    def result(self, status: str, **fields: Any) -> BuildResult:
        """A result for this job."""
        return BuildResult(self.folder, self.shown, status, **fields)


def build_paths(paths: Sequence[Path], options: BuildOptions, *, jobs: int = 1) -> list[BuildResult]:
    """Build every spec of the paths, good ones even when others fail; results in the order of the files."""
    from specgen.loading.discover import discover

    found = discover(paths)
    results = []
    if found.diagnostics:
        results.append(BuildResult("", "", FAILED, diagnostics=tuple(found.diagnostics), sources=dict(found.sources)))
    files = [Job.of(file) for file in found.files]
    if jobs == 1 or len(files) < 2:
        return results + [result for file in files for result in build_sets(file, options)]
    from specgen.pool import in_processes

    for file, made in zip(files, in_processes(build_sets, [(file, options) for file in files], jobs), strict=True):
        results += made or [file.result(BROKEN, problem="the worker process died while building this spec")]
    return results


def build_sets(job: Job, options: BuildOptions) -> list[BuildResult]:
    """Build one spec, and beside it each set of params that its cases name."""
    first = build_file(job, options)
    if first.folder is None:
        return [first]
    manifest = output.read_manifest(first.folder) or {}
    others = [replace(job, params=tuple(params.items())) for params in manifest.get("param_sets", ())]
    return [first, *(build_file(other, options) for other in others)]


def build_file(job: Job, options: BuildOptions) -> BuildResult:
    """Build one spec with one set of params."""
    folder = options.output / job.folder
    try:
        if not options.force and not options.dump_after and _up_to_date(job, folder, options):
            manifest = output.read_manifest(folder)
            built = tuple(manifest["targets"]) if manifest else ()
            return job.result(UP_TO_DATE, folder=folder, targets=built)
        output.check_replaceable(folder)
        result = _build(job, folder, options)
    except output.OutputError as error:
        return job.result(BROKEN, problem=str(error))
    except OSError as error:
        return job.result(BROKEN, problem=f"cannot write {folder}: {error.strerror}")
    except Exception as error:
        # A fault of the tool costs the spec that met it, not the others of the call.
        if os.environ.get("SPECGEN_TRACEBACK"):
            raise
        result = job.result(BROKEN, problem=f"internal error: {type(error).__name__}: {error}")
    if result.status in (FAILED, REFUSED, BROKEN):
        output.mark_stale(folder, "the last build of this spec failed")
    return result


def _up_to_date(job: Job, folder: Path, options: BuildOptions) -> bool:
    manifest = output.read_manifest(folder)
    if manifest is None or "key" not in manifest:
        return False
    digests = fingerprint.inputs(job.root, list(manifest["inputs"]))
    if digests is None:
        return False
    key = fingerprint.key(digests, options.targets, {**options.policies_of(job.name), **dict(job.params)})
    return key == manifest["key"] and output.intact(folder, manifest)


def _warm_up(options: BuildOptions) -> None:
    """Start LLVM's process while the spec is still being read, where machine code will be wanted."""
    from specgen import targets
    from specgen.lowering.amdgpu import warm

    if any(targets.load(name).kind == "amdgpu" for name in options.targets or targets.DEFAULT):
        warm()


def _build(job: Job, folder: Path, options: BuildOptions) -> BuildResult:
    from specgen.emit import NotAdmitted, emit
    from specgen.loading import load_spec
    from specgen.lowering import LoweringError

    _warm_up(options)
    loaded = load_spec(job.path, job.root)
    sources = job.relocated_sources(loaded.sources)
    spec = loaded.spec
    if spec is None or has_errors(loaded.diagnostics):
        from specgen.validate import validate_loaded

        return job.result(FAILED, diagnostics=job.relocated(validate_loaded(loaded)[0]), sources=sources)
    if spec.kind != "kernel":
        from specgen.validate import validate_spec

        found, status = validate_spec(spec)
        diagnostics = job.relocated([*loaded.diagnostics, *found])
        return job.result(MOTIF if status == "ok" else FAILED, diagnostics=diagnostics, sources=sources)
    try:
        emitted = emit(spec, job.root, options, dict(job.params))
    except NotAdmitted as refusal:
        diagnostics = job.relocated([*loaded.diagnostics, *refusal.diagnostics])
        return job.result(REFUSED if refusal.by_target else FAILED, diagnostics=diagnostics, sources=sources)
    except LoweringError as error:
        return job.result(BROKEN, problem=str(error))
    with output.staged(options.output, job.folder) as temporary:
        digests = output.write_files(temporary, emitted.files)
        manifest = {**emitted.manifest, "files": digests}
        (temporary / output.MANIFEST).write_text(output.manifest_text(manifest), encoding="utf-8")
        output.publish(temporary, folder)
    return job.result(
        BUILT,
        folder=folder,
        targets=emitted.targets,
        refused=emitted.refused,
        diagnostics=job.relocated([*loaded.diagnostics, *emitted.diagnostics]),
        sources=sources,
        dumps=emitted.dumps,
    )
