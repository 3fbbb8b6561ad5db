"""Validation of spec files: everything that can be said without generating code and without running foreign code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specgen.diagnostics import Diagnostic, Source, has_errors
from specgen.model import Spec
from specgen.stages import PolicyValue, deduplicated

STAGES = ("typed", "scheduled")


@dataclass(frozen=True)
class SpecStatus:
    """One row of the result: `status` is ok, error, or refused (by every target)."""

    name: str
    file: str
    kind: str
    status: str


@dataclass(frozen=True)
class Validation:
    """Findings of a call, the specs that were looked at, and the texts that the findings point into."""

    diagnostics: tuple[Diagnostic, ...]
    specs: tuple[SpecStatus, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether any finding refuses a spec."""
        return has_errors(self.diagnostics)


def validate_paths(paths: Sequence[Path], *, until: str = "scheduled", root: Path | None = None) -> Validation:
    """Validate files and folders (folders: `*.spec.yaml` and `*.spec.toml` in them, links not followed).

    `root` is what file names in findings are relative to; by default the current folder for files below it.
    """
    from specgen.loading.discover import discover

    found = discover(paths, root=root)
    diagnostics = list(found.diagnostics)
    statuses: list[SpecStatus] = []
    sources: dict[str, Source] = dict(found.sources)
    for file in found.files:
        result = validate_file(file.path, until=until, root=file.root)
        diagnostics += result.diagnostics
        statuses += result.specs
        sources.update(result.sources)
    return Validation(deduplicated(diagnostics), tuple(statuses), sources)


def validate_file(path: Path, *, until: str = "scheduled", root: Path | None = None) -> Validation:
    """Validate one file."""
    from specgen.loading import load_spec
    from specgen.loading.load import shown_name

    loaded = load_spec(path, root)
    diagnostics = tuple(loaded.diagnostics)
    if loaded.spec is None or has_errors(diagnostics):
        name = path.name.split(".spec.")[0]
        kind = loaded.kind or "unknown"
        return Validation(
            diagnostics, (SpecStatus(name, shown_name(path, root or path.parent), kind, "error"),), loaded.sources
        )
    more, status = validate_spec(loaded.spec, until=until)
    spec = loaded.spec
    row = SpecStatus(spec.name.text, spec.source.name, spec.kind, status)
    return Validation(deduplicated([*diagnostics, *more]), (row,), loaded.sources)


def validate_spec(
    spec: Spec, *, until: str = "scheduled", policies: Mapping[str, PolicyValue] | None = None
) -> tuple[tuple[Diagnostic, ...], str]:
    """Findings of a loaded spec and its status, over every target that it admits."""
    from specgen import targets
    from specgen.binding import check_motif
    from specgen.checks.strength import check_strength
    from specgen.stages import bind_targets, schedule_instance

    if spec.kind != "kernel":
        found = tuple(check_motif(spec))
        return found, "error" if has_errors(found) else "ok"
    diagnostics: list[Diagnostic] = []
    refusals: list[Diagnostic] = []
    seen: set[object] = set()
    admitted = 0
    instance = None
    for name, bound in bind_targets(spec, targets.DEFAULT, policies).items():
        if bound.refused:
            refusals += bound.diagnostics
            continue
        diagnostics += bound.diagnostics
        admitted += 1
        if bound.instance is None:
            continue
        instance = bound.instance
        key = bound.fingerprint
        if until == "typed" or key in seen:
            continue
        seen.add(key)
        diagnostics += schedule_instance(spec, bound.instance, name).diagnostics
    if instance is not None and until != "typed":
        diagnostics += check_strength(spec)
    if not admitted:
        return deduplicated(refusals), "refused"
    found = deduplicated(diagnostics)
    return found, "error" if has_errors(found) else "ok"
