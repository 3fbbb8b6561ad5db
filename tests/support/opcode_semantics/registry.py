"""All tables of operations by name, what each covers, and how each is run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opcode_semantics import (
    atomics,
    compares,
    control,
    duals,
    halves,
    lanes,
    matrices,
    memory,
    newer,
    packed,
    reals,
    scalars,
    shared,
    specials,
    words,
)
from opcode_semantics.harness import Program, has_long_dpp, has_sdwa
from opcode_semantics.rows import ARCHS, CDNA, Row
from opcode_semantics.snippets import Snippet, SnippetProgram
from specgen.devices.amdgpu_emulator.decoder import opcode_names

ROWS: Final[Mapping[str, Callable[[], list[Row]]]] = {
    "words": words.rows, "reals": reals.rows, "halves": halves.rows, "packed": packed.rows, "compares": compares.rows,
}  # fmt: skip
"""Tables of vector operations."""
SNIPPETS: Final[Mapping[str, Callable[[], list[Snippet]]]] = {
    "lanes": lanes.snippets, "memory": memory.snippets, "shared": shared.snippets, "atomics": atomics.snippets,
    "duals": duals.snippets, "newer": newer.snippets, "specials": specials.snippets, "matrices": matrices.snippets,
    "control": control.snippets,
}  # fmt: skip
"""Tables of pieces of code."""
TABLES: Final = (*ROWS, *SNIPPETS, "scalars")


@functools.cache
def known(arch: str) -> frozenset[str]:
    """The operations that the vendor's tables name, and halves of dual issues (which have no table of names)."""
    pairs = {f"v_dual_{name}" for name, (_, _, archs) in duals.MEANINGS.items() if arch in archs}
    return frozenset(opcode_names(arch)) | pairs


def run(table: str, arch: str) -> list[str]:
    """Execute a table's operations on an architecture; a line for each that went wrong."""
    if table in ROWS:
        program = Program(arch, known(arch))
        program.rows(ROWS[table]())
        return program.run()
    if table in SNIPPETS:
        pieces = SnippetProgram(arch, known(arch))
        pieces.snippets(SNIPPETS[table]())
        return pieces.compare()
    return scalars.run(arch, known(arch))


@functools.cache
def covered(arch: str) -> dict[str, str]:
    """Operation (and variant encoding) -> the table that tests it; the first one where several do."""
    found: dict[str, str] = {}
    for table, names in _names(arch):
        for name in names:
            found.setdefault(name, table)
    return found


def _names(arch: str) -> Iterable[tuple[str, Iterable[str]]]:
    for table, rows in ROWS.items():
        yield table, [name for row in rows() for name in _of_row(row, arch)]
    for table, snippets in SNIPPETS.items():
        yield table, [name for snippet in snippets() for name in _of_snippet(snippet, arch)]
    yield "scalars", [name for row in scalars.table() if (name := row.name(arch, known(arch)))]


def _of_row(row: Row, arch: str) -> list[str]:
    name = row.name(arch, known(arch))
    if name is None:
        return []
    if row.variant:
        return [f"{name} {row.variant}"]
    made = [name]
    if "dpp" in row.forms or (arch != CDNA and has_long_dpp(row)):
        made.append(f"{name} dpp16")
    if arch == CDNA and has_sdwa(row):
        made.append(f"{name} sdwa")
    return made


def _of_snippet(snippet: Snippet, arch: str) -> list[str]:
    names = snippet.resolved(arch, known(arch)) or []
    return [f"{names[0]} {snippet.variant}", *names[1:]] if names and snippet.variant else names


def unused_rows() -> list[str]:
    """Names of rows that no architecture has: misspelt ones."""
    found: dict[str, bool] = {}
    for table in ROWS.values():
        for row in table():
            found[row.names] = found.get(row.names, False) or any(row.name(arch, known(arch)) for arch in ARCHS)
    for pieces in SNIPPETS.values():
        for piece in pieces():
            found[piece.names] = found.get(piece.names, False) or any(piece.resolved(a, known(a)) for a in ARCHS)
    for scalar in scalars.table():
        found[scalar.names] = found.get(scalar.names, False) or any(scalar.name(a, known(a)) for a in ARCHS)
    return sorted(names for names, used in found.items() if not used)
