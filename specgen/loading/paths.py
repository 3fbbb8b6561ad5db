"""Paths that a spec names: files below its own folder, links followed before that is judged."""

from __future__ import annotations

from pathlib import Path, PurePosixPath


class PathProblem(Exception):
    """Why a path is refused (`reason` continues a sentence that names it), and the way out."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


def inside(folder: Path, text: str) -> Path:
    """The existing regular file `text` (relative, `/`-separated) below `folder`; `PathProblem` otherwise."""
    path = PurePosixPath(text)
    if "\\" in text or any(ord(c) < 32 for c in text):
        raise PathProblem("holds a character that paths do not", "Separate folders with `/`.")
    if path.is_absolute() or ":" in text:
        raise PathProblem("is not relative", "Name a file below the folder of this spec.")
    if ".." in path.parts:
        raise PathProblem("leaves the folder of this spec", "Put the file below the folder of this spec.")
    try:
        real = (folder / path).resolve()
        exists = real.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise PathProblem("cannot be followed", "Name a file below the folder of this spec.") from error
    if not real.is_relative_to(folder.resolve()):
        raise PathProblem("is a link out of the folder of this spec", "Put the file itself there.")
    if not exists:
        raise PathProblem("does not exist", "Paths are relative to the folder of this spec.")
    return real
