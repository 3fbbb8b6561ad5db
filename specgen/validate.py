"""Validation of spec files: everything that can be said without generating code and without running foreign code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from specgen.diagnostics import Diagnostic, Source, has_errors
from specgen.diagnostics.merge import merged
from specgen.model import Spec
from specgen.stages import PolicyValue, deduplicated

if TYPE_CHECKING:
    from specgen.binding.instance import Instance
    from specgen.loading import Loaded
    from specgen.loading.discover import SpecFile

STAGES = ("typed", "scheduled")
MOST = 50
"""Findings of loading beyond which a file is not looked through further."""


@dataclass(frozen=True)
class SpecStatus:
    """One row of the result: `status` is ok, error, or refused (by every target)."""

    name: str
    file: str
    kind: str
    status: str


@dataclass(frozen=True)
class Validation:
    """Findings of a call, the specs that were looked at, and the texts that the findings point into.

    `problems` are faults of the tool (exit status 2), each with the file that it met.
    """

    diagnostics: tuple[Diagnostic, ...]
    specs: tuple[SpecStatus, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether any finding refuses a spec."""
        return has_errors(self.diagnostics)


def validate_paths(
    paths: Sequence[Path], *, until: str = "scheduled", root: Path | None = None, jobs: int = 1
) -> Validation:
    """Validate files and folders (folders: `*.spec.yaml` and `*.spec.toml` in them, links not followed).

    `root` is what file names in findings are relative to; by default the current folder for files below it. With more
    than one of `jobs` files are shared out to as many processes; the result is the same.
    """
    from specgen.loading.discover import discover

    found = discover(paths, root=root)
    diagnostics = list(found.diagnostics)
    statuses: list[SpecStatus] = []
    sources: dict[str, Source] = dict(found.sources)
    problems: list[str] = []
    for result in _each(found.files, until, jobs):
        diagnostics += result.diagnostics
        statuses += result.specs
        sources.update(result.sources)
        problems += result.problems
    return Validation(deduplicated(diagnostics), tuple(statuses), sources, tuple(problems))


def _each(files: Sequence[SpecFile], until: str, jobs: int) -> Iterator[Validation]:
    """The validation of each file, in order."""
    if jobs == 1 or len(files) < 2:
        yield from (_kept(file, until) for file in files)
        return
    from specgen.pool import in_processes

    died = "the worker process died while validating this spec"
    for file, result in zip(files, in_processes(_kept, [(file, until) for file in files], jobs), strict=True):
        yield result if result is not None else _problem(file, died)


def _kept(file: SpecFile, until: str) -> Validation:
    """Validate one file; a fault of the tool costs this file, not the others of the call."""
    try:
        return validate_file(file.path, until=until, root=file.root)
    except Exception as error:
        if os.environ.get("SPECGEN_TRACEBACK"):
            raise
        return _problem(file, f"internal error: {type(error).__name__}: {error}")


def _problem(file: SpecFile, what: str) -> Validation:
    from specgen.loading.load import shown_name

    return Validation((), (), problems=(f"{shown_name(file.path, file.root)}: {what}",))


def validate_file(path: Path, *, until: str = "scheduled", root: Path | None = None) -> Validation:
    """Validate one file: the findings of every stage, as far as the file can be read."""
    from specgen.loading import load_spec
    from specgen.loading.load import shown_name

    loaded = load_spec(path, root)
    diagnostics, status = validate_loaded(loaded, until=until)
    spec = loaded.spec
    if spec is None:
        name, kind = path.name.split(".spec.")[0], loaded.kind or "unknown"
        row = SpecStatus(name, shown_name(path, root or path.parent), kind, "error")
    else:
        row = SpecStatus(spec.name.text, spec.source.name, spec.kind, status)
    return Validation(diagnostics, (row,), loaded.sources)


def validate_loaded(loaded: Loaded, *, until: str = "scheduled") -> tuple[tuple[Diagnostic, ...], str]:
    """Findings of a loaded file, those of loading among them, and its status.

    What has errors is looked through as far as it could be read, so that one call tells all mistakes; a construct that
    is not supported leaves nothing to judge beyond the form.
    """
    unsupported = any(d.code == "SG-UNSUPPORTED" for d in loaded.diagnostics)
    if loaded.partial is None or unsupported or len(loaded.diagnostics) > MOST:
        return tuple(loaded.diagnostics), "error" if loaded.spec is None else "ok"
    more, status = validate_spec(loaded.partial, until=until, known=loaded.diagnostics)
    if loaded.spec is not None:
        return merged(loaded.diagnostics, more, loaded.sources), status
    return merged(loaded.diagnostics, more, loaded.sources), "error"


def validate_spec(
    spec: Spec,
    *,
    until: str = "scheduled",
    policies: Mapping[str, PolicyValue] | None = None,
    known: Sequence[Diagnostic] = (),
) -> tuple[tuple[Diagnostic, ...], str]:
    """Findings of a loaded spec and its status, over every target that it admits.

    `known` are the findings of loading: checks in which one stands are not judged any further.
    """
    from specgen import param_sets
    from specgen.binding import check_motif
    from specgen.checks.strength import check_strength

    if spec.kind != "kernel":
        found = tuple(check_motif(spec))
        return found, "error" if has_errors(found) else "ok"
    diagnostics, refusals, instance = _planned(spec, until, policies, {})
    if instance is None and not diagnostics:
        return deduplicated(refusals), "refused"
    if until != "typed":
        diagnostics += check_strength(spec, known=known)
    if instance is not None and not has_errors((*known, *diagnostics)):
        for params in param_sets.of_cases(spec, dict(instance.params)):
            more, refused, admitted = _planned(spec, until, policies, params)
            diagnostics += more if admitted is not None else [*more, *refused]
    found = deduplicated(diagnostics)
    return found, "error" if has_errors(found) else "ok"


def _planned(
    spec: Spec, until: str, policies: Mapping[str, PolicyValue] | None, params: Mapping[str, PolicyValue]
) -> tuple[list[Diagnostic], list[Diagnostic], Instance | None]:
    """Findings and refusals over all targets for one set of params, and the first instance."""
    from specgen import targets
    from specgen.stages import bind_targets, schedule_instance

    diagnostics: list[Diagnostic] = []
    refusals: list[Diagnostic] = []
    seen: set[object] = set()
    first = None
    for name, bound in bind_targets(spec, targets.DEFAULT, policies, params).items():
        if bound.refused:
            refusals += bound.diagnostics
            continue
        diagnostics += bound.diagnostics
        if bound.instance is None:
            continue
        first = first or bound.instance
        key = bound.fingerprint
        if until == "typed" or key in seen or spec.lost is not None:
            continue
        seen.add(key)
        diagnostics += schedule_instance(spec, bound.instance, name).diagnostics
    return diagnostics, refusals, first
