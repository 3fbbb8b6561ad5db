"""Output folders: written whole or not at all, replaced only where they are ours.

A folder is ours when it holds a `manifest.json` of this tool. Only the files that the manifest lists are ever
removed; anything else in the folder makes the replacement an error, so that nobody's work is lost.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

MANIFEST = "manifest.json"
IGNORED = ("__pycache__", ".pytest_cache", "bench.json")
"""What running the suite may leave beside our files: not ours to list, not worth an error."""


class OutputError(Exception):
    """The output folder cannot be used; the message is one line for the user."""


def digest(data: bytes) -> str:
    """SHA-256 as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder of ours; None when there is none or it is not ours."""
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and "specgen" in value and isinstance(value.get("files"), dict) else None


def intact(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether every file that the manifest lists is there with the listed contents, and the folder is not stale."""
    return not manifest.get("stale") and next(altered(folder, manifest), None) is None


def altered(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Files that the manifest lists and that are not there, or not with the listed contents."""
    for name, expected in manifest["files"].items():
        try:
            same = digest((folder / name).read_bytes()) == expected
        except OSError:
            same = False
        if not same:
            yield name


def foreign_files(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files in the folder that the manifest does not list, relative and sorted."""
    listed = {MANIFEST, *manifest["files"]}
    found = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if any(part in IGNORED for part in relative.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        if relative.as_posix() not in listed:
            found.append(relative.as_posix())
    return sorted(found)


def check_replaceable(folder: Path) -> None:
    """Raise `OutputError` unless `folder` is absent, empty, or ours with nothing foreign in it."""
    if folder.is_symlink():
        raise OutputError(f"{folder} is a link; output folders are real folders")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} exists and is no folder")
    manifest = read_manifest(folder)
    if manifest is None:
        if any(folder.iterdir()):
            raise OutputError(f"{folder} holds files but no manifest of specgen: not replaced")
        return
    foreign = foreign_files(folder, manifest)
    if foreign:
        raise OutputError(f"{folder} holds files that specgen did not write ({', '.join(foreign[:3])}): not replaced")


@contextmanager
def staged(parent: Path, name: str) -> Iterator[Path]:
    """A temporary folder beside the final one, removed on failure; `publish` renames it."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=parent))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(temporary: Path, final: Path) -> None:
    """Put the finished folder in place of the old one (which `check_replaceable` accepted).

    One of the two is there whatever happens: interrupts and other builds into the same folder wait.
    """
    with _alone(final.parent):
        check_replaceable(final)
        if not final.exists():
            os.rename(temporary, final)
            return
        retired = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
        os.rename(final, retired / "old")
        try:
            os.rename(temporary, final)
        except OSError:
            os.rename(retired / "old", final)
            raise
        finally:
            shutil.rmtree(retired, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, and interrupts back."""
    with _undisturbed():
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Interrupts that come meanwhile take effect at the end. (They are raised in the main thread only.)"""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught and callable(handler):
            handler(*caught[0])


def write_files(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write files below `folder`; the digests by name, sorted."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return {name: digest(files[name]) for name in sorted(files)}


def mark_stale(folder: Path, reason: str) -> None:
    """Note in the manifest of an old output that its spec no longer builds."""
    manifest = read_manifest(folder)
    if manifest is None:
        return
    manifest["stale"] = reason
    handle, name = tempfile.mkstemp(dir=folder, prefix=".manifest.")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(manifest_text(manifest))
    os.replace(name, folder / MANIFEST)


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as it is written."""
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
