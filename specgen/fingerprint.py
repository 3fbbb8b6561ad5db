"""What a build depends on: the tool, its back ends, the inputs and the request. One digest decides "up to date"."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import specgen

BACK_ENDS = ("llvmlite", "xdsl", "numpy", "jinja2")
SUFFIXES = (".py", ".j2", ".yaml", ".json")


@functools.cache
def tool() -> str:
    """Digest over specgen's own files and the versions of the packages that shape its output."""
    package = Path(__file__).resolve().parent
    folders = [package] if (package / "_targets").is_dir() else [package, package.parent / "targets"]
    total = hashlib.sha256(specgen.__version__.encode())
    for name in BACK_ENDS:
        total.update(f"{name}={metadata.version(name)}\n".encode())
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
            total.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def inputs(root: Path, names: Sequence[str]) -> dict[str, str] | None:
    """SHA-256 of each input file below `root`; None when one cannot be read."""
    result = {}
    for name in names:
        try:
            result[name] = hashlib.sha256((root / name).read_bytes()).hexdigest()
        except OSError:
            return None
    return result


def key(input_digests: Mapping[str, str], targets: Sequence[str], policies: Mapping[str, object]) -> str:
    """The digest of a request: every field that can change what is written takes part."""
    request = {
        "tool": tool(),
        "inputs": dict(sorted(input_digests.items())),
        "targets": list(targets),
        "policies": {k: repr(v) for k, v in sorted(policies.items())},
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
