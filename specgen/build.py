"""Building: spec files in, output folders out; each spec whole or not at all."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from specgen import fingerprint, output
from specgen.diagnostics import Diagnostic, Source, has_errors
from specgen.loading.discover import SpecFile
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


def build_paths(paths: Sequence[Path], options: BuildOptions, *, jobs: int = 1) -> list[BuildResult]:
    """Build every spec of the paths, good ones even when others fail; results in the order of the files."""
    from specgen.loading.discover import discover

    found = discover(paths)
    results = []
    if found.diagnostics:
        results.append(BuildResult("", "", FAILED, diagnostics=tuple(found.diagnostics), sources=dict(found.sources)))
    files = list(found.files)
    if jobs == 1 or len(files) < 2:
        return results + [build_file(file, options) for file in files]
    return results + _build_parallel(files, options, jobs)


def _build_parallel(files: list[SpecFile], options: BuildOptions, jobs: int) -> list[BuildResult]:
    """A worker that dies takes its pool along, so what was unfinished is tried again one by one: only the spec
    that kills its own worker is lost."""
    context = multiprocessing.get_context("fork")
    results: dict[int, BuildResult] = {}
    with ProcessPoolExecutor(max_workers=min(jobs, len(files)), mp_context=context) as pool:
        futures = [pool.submit(build_file, file, options) for file in files]
        for index, future in enumerate(futures):
            try:
                results[index] = future.result()
            except BrokenProcessPool:
                continue
    for index, file in enumerate(files):
        if index not in results:
            results[index] = _build_alone(file, options)
    return [results[index] for index in range(len(files))]


def _build_alone(file: SpecFile, options: BuildOptions) -> BuildResult:
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("fork")) as pool:
        try:
            return pool.submit(build_file, file, options).result()
        except BrokenProcessPool:
            return BuildResult(
                file.name, file.shown, BROKEN, problem="the worker process died while building this spec"
            )


def build_file(file: SpecFile, options: BuildOptions) -> BuildResult:
    """Build one spec file."""
    folder = options.output / file.name
    try:
        if not options.force and not options.dump_after and _up_to_date(file, folder, options):
            manifest = output.read_manifest(folder)
            built = tuple(manifest["targets"]) if manifest else ()
            return BuildResult(file.name, file.shown, UP_TO_DATE, folder, built)
        output.check_replaceable(folder)
        result = _build(file, folder, options)
    except output.OutputError as error:
        return BuildResult(file.name, file.shown, BROKEN, problem=str(error))
    except OSError as error:
        return BuildResult(file.name, file.shown, BROKEN, problem=f"cannot write {folder}: {error.strerror}")
    if result.status in (FAILED, REFUSED, BROKEN):
        output.mark_stale(folder, "the last build of this spec failed")
    return result


def _up_to_date(file: SpecFile, folder: Path, options: BuildOptions) -> bool:
    manifest = output.read_manifest(folder)
    if manifest is None or "key" not in manifest:
        return False
    digests = fingerprint.inputs(file.root, list(manifest["inputs"]))
    if digests is None:
        return False
    key = fingerprint.key(digests, options.targets, options.policies_of(file.name))
    return key == manifest["key"] and output.intact(folder, manifest)


def _build(file: SpecFile, folder: Path, options: BuildOptions) -> BuildResult:
    from specgen.emit import NotAdmitted, emit
    from specgen.loading import load_spec
    from specgen.lowering import LoweringError

    loaded = load_spec(file.path, file.root)
    spec = loaded.spec
    if spec is None or has_errors(loaded.diagnostics):
        return BuildResult(
            file.name, file.shown, FAILED, diagnostics=tuple(loaded.diagnostics), sources=dict(loaded.sources)
        )
    if spec.kind != "kernel":
        from specgen.validate import validate_spec

        found, status = validate_spec(spec)
        return BuildResult(
            file.name,
            file.shown,
            MOTIF if status == "ok" else FAILED,
            diagnostics=deduplicated([*loaded.diagnostics, *found]),
            sources=dict(loaded.sources),
        )
    try:
        emitted = emit(spec, file.root, options)
    except NotAdmitted as refusal:
        return BuildResult(
            file.name,
            file.shown,
            FAILED if any(d.code != "SG-REQUIRES" for d in refusal.diagnostics if d.is_error) else REFUSED,
            diagnostics=deduplicated([*loaded.diagnostics, *refusal.diagnostics]),
            sources=dict(loaded.sources),
        )
    except LoweringError as error:
        return BuildResult(file.name, file.shown, BROKEN, problem=str(error))
    with output.staged(options.output, file.name) as temporary:
        digests = output.write_files(temporary, emitted.files)
        manifest = {**emitted.manifest, "files": digests}
        (temporary / output.MANIFEST).write_text(output.manifest_text(manifest), encoding="utf-8")
        output.publish(temporary, folder)
    return BuildResult(
        file.name,
        file.shown,
        BUILT,
        folder,
        emitted.targets,
        emitted.refused,
        deduplicated([*loaded.diagnostics, *emitted.diagnostics]),
        dict(loaded.sources),
        dumps=emitted.dumps,
    )
