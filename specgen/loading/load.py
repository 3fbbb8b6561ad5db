"""Loading a spec: its file, the motifs that it uses, the model, and everything that can be said without binding."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from specgen.diagnostics import Diagnostic, DiagnosticError, Source, Span, has_errors
from specgen.diagnostics.catalogue import diagnostic
from specgen.diagnostics.merge import merged
from specgen.loading.build_model import build_model
from specgen.loading.context import name_problem
from specgen.loading.paths import PathProblem, inside
from specgen.loading.rules import check_rules
from specgen.loading.source import Findings, read_source, start_of
from specgen.loading.toml_reader import read_toml
from specgen.loading.unsupported import check_supported
from specgen.loading.yaml_reader import read_yaml
from specgen.model import Spec
from specgen.schema import Damage, read_shape
from specgen.schema.messages import KINDS, nearest, shown
from specgen.schema.tree import Mapping, Node, Scalar, Sequence

SUFFIXES = {".spec.yaml": read_yaml, ".spec.toml": read_toml}
"""Ends of the names of spec files and how they are read."""


_WHOLE = ("SG-PATH", "SG-CHECK")
"""Codes of findings about a part that was read all the same (a reference that leads nowhere)."""


@dataclass(frozen=True)
class Document:
    """A file as a plain tree; `tree` is None when it could not be read to its end."""

    source: Source
    data: bytes
    tree: Node | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Loaded:
    """A loaded spec: `spec` is None when `diagnostics` hold an error. `kind` is the document's word, if it has one.

    `partial` is the spec as far as it could be read, with or without errors: later stages look through it for further
    findings (`specgen.validate`); it is None for what is no kernel or motif.

    `sha256` is over the bytes of the spec and of all files that it uses; `sources` are their texts by name.
    """

    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]
    sha256: str
    kind: str | None
    sources: MappingOf[str, Source] = field(default_factory=dict)
    partial: Spec | None = None


def stem(name: str) -> str | None:
    """NAME of `NAME.spec.yaml` or `NAME.spec.toml`; None for another file name."""
    return next((name[: -len(end)] for end in SUFFIXES if name.endswith(end) and len(name) > len(end)), None)


def shown_name(path: Path, root: Path) -> str:
    """How messages call a file: relative to `root`, or its bare name when it lies elsewhere."""
    try:
        return printable(path.absolute().relative_to(root.absolute()).as_posix())
    except ValueError:
        return printable(path.name)


def printable(name: str) -> str:
    """A file name on one line: characters that no message can hold are escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def respelt(name: str) -> str | None:
    """The name that a file which is no spec was to have: `.yml`, capitals."""
    lower = name.lower()
    lower = lower[: -len(".yml")] + ".yaml" if lower.endswith(".yml") else lower
    end = next((end for end in SUFFIXES if lower.endswith(end) and len(lower) > len(end)), None)
    return None if end is None else name[: len(lower) - len(end)] + end


def load_document(path: Path, root: Path | None = None) -> Document:
    """The plain tree of a spec file, not checked against any schema."""
    return _read(path, shown_name(path, root or path.parent))


def _read(path: Path, name: str) -> Document:
    try:
        read = SUFFIXES[next(end for end in SUFFIXES if path.name.endswith(end))]
        text = read_source(path, name)
    except StopIteration:
        ends = " or ".join(f"`{end}`" for end in SUFFIXES)
        message = f"`{printable(path.name)}` is no spec: the name of one ends in {ends}."
        near = respelt(path.name)
        hint = f"Rename it to `{near}`." if near else "Rename the file."
        finding = diagnostic("SG-PATH", start_of(name), message, hint=hint)
        return Document(Source(name, ""), b"", None, (finding,))
    except DiagnosticError as error:
        return Document(_raw_source(path, name), b"", None, error.diagnostics)
    tree, findings = read(text.source)
    return Document(text.source, text.data, tree, findings)


def _raw_source(path: Path, name: str) -> Source:
    """The text of a refused file for quoting; nothing of one that is unreadable or huge."""
    try:
        with path.open("rb") as stream:
            data = stream.read(1 << 16)
    except OSError:
        return Source(name, "")
    return Source(name, data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace"))


def load_spec(path: Path | str, root: Path | None = None) -> Loaded:
    """Load a spec file and what it uses. `root` is what names in messages and locations are relative to.

    The default of `root` is the folder of the file. Never raises for what the file says.
    """
    path = Path(path)
    loader = _Loader()
    top = loader.load(path, shown_name(path, root or path.parent), ())
    found = tuple(d for file in loader.files.values() for d in file.diagnostics)
    spec = None if has_errors(found) else top.spec
    digest = hashlib.sha256()
    for name, file in sorted(
        (_relative(f.document.source.name, top.document.source.name), f) for f in loader.files.values()
    ):
        digest.update(f"{name}\0{len(file.document.data)}\0".encode())
        digest.update(file.document.data)
    sources = {file.document.source.name: file.document.source for file in loader.files.values()}
    return Loaded(spec, found, digest.hexdigest(), top.kind, sources, top.spec)


def _relative(name: str, top: str) -> str:
    """A used file's name relative to the folder of the spec, so that the digest does not depend on `root`."""
    folder = PurePosixPath(top).parent
    path = PurePosixPath(name)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name


@dataclass(frozen=True)
class _File:
    """A file that was read; `spec` is what could be made of it, errors or not."""

    document: Document
    kind: str | None
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]


def _shortened(findings: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The first `Findings.LIMIT` findings of a file, and how many there are beside them."""
    more = len(findings) - Findings.LIMIT
    if more <= 0:
        return tuple(findings)
    kept = findings[: Findings.LIMIT]
    message = f"there are at least {more} more findings in this file."
    return (*kept, diagnostic("SG-LOAD", kept[-1].span, message, hint="Correct these first."))


class _Loader:
    """Loads files once each; `files` is in order of first mention."""

    def __init__(self) -> None:
        self.files: dict[Path, _File] = {}

    def load(self, path: Path, name: str, users: tuple[Path, ...]) -> _File:
        real = path.resolve()
        document = _read(path, name)
        self.files[real] = _File(document, None, None, document.diagnostics)
        file = self._checked(document, path, (*users, real))
        self.files[real] = file
        return file

    def _checked(self, document: Document, path: Path, users: tuple[Path, ...]) -> _File:
        findings = list(document.diagnostics)
        tree = document.tree
        if not isinstance(tree, Mapping):
            if tree is not None:
                message = "a spec is a mapping of keys to values."
                findings.append(
                    diagnostic("SG-LOAD", start_of(document.source.name), message, hint="Start with `spec: 1`.")
                )
            return _File(document, None, None, tuple(findings))
        kind = _kind(tree, findings)
        if kind is None:
            return _File(document, None, None, tuple(findings))
        shape = read_shape(tree, kind)
        findings += shape.findings
        if kind == "suite":
            findings += check_supported(tree, None)
            return _File(document, kind, None, tuple(findings))
        damage = shape.damage or Damage()
        spec, leaves = build_model(shape.tree, kind, document.source, path.parent, damage)
        findings += leaves
        if any(d.is_error and d.code not in _WHOLE for d in findings):
            spec = replace(spec, lost=frozenset(damage.names))
        findings += _check_file_name(spec, path)
        used, use_spans, trouble = self._used(shape.tree, spec, path.parent, users)
        spec = replace(spec, used=used, use_spans=use_spans)
        findings += trouble
        broken = [d.span for d in findings if d.is_error]
        findings += check_supported(tree, spec)
        told = check_rules(spec, broken, damage.mentions)
        ordered = _shortened(list(merged(findings, told, {document.source.name: document.source})))
        return _File(document, kind, spec, ordered)

    def _used(
        self, tree: Mapping, spec: Spec, folder: Path, users: tuple[Path, ...]
    ) -> tuple[dict[str, Spec], dict[str, Span], list[Diagnostic]]:
        """The motifs under `uses` by name, where they are named, and what is wrong with the list."""
        used: dict[str, Spec] = {}
        spans: dict[str, Span] = {}
        findings: list[Diagnostic] = []
        listed = tree.get("uses")
        for item in listed if isinstance(listed, Sequence) else ():
            if not isinstance(item, Scalar) or not item.text:
                continue
            name = stem(PurePosixPath(item.text).name) or item.text
            if name in spans:
                message = f"a motif `{name}` is already used."
                findings.append(diagnostic("SG-USE", item.span, message, hint="Name each motif once."))
                continue
            spans[name] = item.span
            try:
                motif = self._use(item.text, spec, folder, users)
            except PathProblem as problem:
                message = f"`{item.text}` {problem.reason}."
                findings.append(diagnostic("SG-USE", item.span, message, found=item.text, hint=problem.hint))
                continue
            if motif is not None:
                used[name] = motif
        return used, spans, findings

    def _use(self, text: str, spec: Spec, folder: Path, users: tuple[Path, ...]) -> Spec | None:
        """Load one used file; None when it has errors of its own, which were reported there."""
        path = PurePosixPath(text)
        if stem(path.name) is None:
            raise PathProblem("is no spec file", "Name a `NAME.spec.yaml` or `NAME.spec.toml`.")
        real = inside(folder, text)
        if real in users:
            raise PathProblem("uses this spec itself: a cycle", "Motifs cannot be recursive.")
        file = self.files.get(real)
        if file is None:
            name = (PurePosixPath(spec.source.name).parent / path).as_posix()
            file = self.load(folder / path, name, users)
        if file.kind in KINDS and file.kind != "motif":
            raise PathProblem(f"is a {file.kind}, not a motif", "Only motifs can be used.")
        return file.spec


def _kind(tree: Mapping, findings: list[Diagnostic]) -> str | None:
    """The document's kind; reports a missing or unknown one."""
    node = tree.get("kind")
    if node is None:
        at = tree.entries[0].key.span if tree.entries else tree.span
        message = "`kind` is missing: it says what this document is."
        findings.append(diagnostic("SG-KEY", at, message, allowed=KINDS, hint="Add `kind: kernel`."))
        return None
    if isinstance(node, Scalar) and node.value in KINDS:
        return node.text
    found = shown(node.value) if isinstance(node, Scalar) else "a mapping or list"
    near = nearest(found, KINDS)
    hint = f"Nearest: `{near}`." if near else "Write `kernel` or `motif`."
    findings.append(
        diagnostic("SG-KEY", node.span, f"`kind` cannot be `{found}`.", found=found, allowed=KINDS, hint=hint)
    )
    return None


def _check_file_name(spec: Spec, path: Path) -> list[Diagnostic]:
    """`name` must equal the file's NAME."""
    wanted = stem(path.name)
    if spec.name.text in (wanted, ""):
        return []
    message = f"`name` is `{spec.name.text}`, but the file is `{printable(path.name)}`."
    end = path.name[len(wanted or "") :]
    hint = f"Write `name: {wanted}`, or rename the file."
    if wanted is None or name_problem(wanted) is not None:
        hint = f"Rename the file to `{spec.name.text}{end}`."
    return [diagnostic("SG-NAME", spec.name.span, message, found=spec.name.text, hint=hint)]
