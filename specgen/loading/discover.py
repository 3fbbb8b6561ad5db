"""Which spec files the paths of a call mean."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specgen.diagnostics import Diagnostic, Note, Source
from specgen.diagnostics.catalogue import diagnostic
from specgen.loading.load import printable, respelt, shown_name, stem
from specgen.loading.source import start_of


@dataclass(frozen=True)
class SpecFile:
    """A file to load and the folder that its names are relative to."""

    path: Path
    root: Path


@dataclass(frozen=True)
class Discovery:
    """The files of a call in order, and what is wrong with the call's paths."""

    files: tuple[SpecFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)


def discover(paths: Sequence[Path], *, root: Path | None = None) -> Discovery:
    """The spec files that `paths` name: files as they are, of folders the spec files in their tree, sorted.

    Links in folders are not followed; a file named twice counts once; two files of one NAME are an error. `root`
    defaults to the current folder for what lies below it and to the file's own folder for the rest.
    """
    files: dict[Path, SpecFile] = {}
    owners: dict[str, SpecFile] = {}
    findings: list[Diagnostic] = []
    for path in _expanded(paths, findings, root):
        real = path.resolve()
        if real in files:
            continue
        file = SpecFile(path, _root(path, root))
        name = stem(path.name)
        if name is not None and name in owners:
            findings.append(_twice(name, file, owners[name]))
            continue
        if name is not None:
            owners[name] = file
        files[real] = file
    return Discovery(tuple(files.values()), tuple(findings))


def _expanded(paths: Sequence[Path], findings: list[Diagnostic], root: Path | None) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = _spec_files(path)
        if not inside:
            at = start_of(shown_name(path, _root(path, root)))
            message = "the folder holds no spec (`*.spec.yaml`, `*.spec.toml`)."
            findings.append(diagnostic("SG-PATH", at, message, hint=_passed_over(path)))
        yield from inside


def _passed_over(folder: Path) -> str:
    """What in a folder without specs was meant to be one, for a hint."""
    for name in sorted(os.listdir(folder)):
        if stem(name) is not None and (folder / name).is_symlink():
            return f"`{printable(name)}` is a link; links in folders are not followed. Name it in the call."
        near = respelt(name)
        if near is not None and near != name:
            return f"`{printable(name)}` is not taken: rename it to `{near}`."
    return "`specgen init NAME` writes one."


def _spec_files(folder: Path) -> list[Path]:
    """Spec files of a folder tree, sorted by path; hidden folders and links are left out."""
    found = []
    for base, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and not (Path(base) / f).is_symlink())
        found += [Path(base) / name for name in names if stem(name) is not None]
    return sorted(p for p in found if p.is_file() and not p.is_symlink())


def _root(path: Path, root: Path | None) -> Path:
    if root is not None:
        return root
    here = Path.cwd()
    return here if path.absolute().is_relative_to(here) else path.parent


def _twice(name: str, file: SpecFile, first: SpecFile) -> Diagnostic:
    at = start_of(shown_name(file.path, file.root))
    earlier = start_of(shown_name(first.path, first.root))
    message = f"the name `{name}` is already taken by another file of this call."
    notes = (Note(earlier, "the first one"),)
    return diagnostic("SG-PATH", at, message, hint="Give each spec its own name, or validate them apart.", notes=notes)
