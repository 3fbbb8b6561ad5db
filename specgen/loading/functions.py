"""The functions that a Python file defines, read off its text: nothing of it is run."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from specgen.loading.paths import PathProblem

MAX_BYTES = 1 << 20
"""Largest Python file that is looked at."""

_HOLDERS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""What a block of the top level may be part of."""


def defined(path: Path, name: str) -> frozenset[str] | None:
    """What the top level of a file defines or imports by name; None when it may define more than can be seen.

    Raises `PathProblem` for a file that is no Python text.
    """
    try:
        status = path.stat()
        return _defined(path, status.st_mtime_ns, status.st_size)
    except SyntaxError as error:
        raise PathProblem(f"is no Python (line {error.lineno})", "Correct it.") from error
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise PathProblem("cannot be read as Python", "Save it as UTF-8 text.") from error


@lru_cache(maxsize=64)
def _defined(path: Path, changed: int, size: int) -> frozenset[str] | None:
    """As `defined`; `changed` and `size` tell a rewritten file apart."""
    if size > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    names: set[str] = set()
    pending: list[ast.AST] = list(ast.parse(path.read_bytes()).body)
    while pending:
        statement = pending.pop()
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(statement.name)
            case ast.ImportFrom() | ast.Import():
                if any(alias.name == "*" for alias in statement.names):
                    return None
                names.update((alias.asname or alias.name).split(".")[0] for alias in statement.names)
            case ast.Assign() | ast.AnnAssign():
                names.update(n.id for n in ast.walk(statement) if isinstance(n, ast.Name))
            case _:
                pending += [part for part in ast.iter_child_nodes(statement) if isinstance(part, _HOLDERS)]
    return frozenset(names)
