"""Debug metadata: LLVM locations for spec locations, so that machine code maps to lines of the spec.

Each source loop gets a discriminator, which ends up in the `.loc` of the branch that closes it: that tells the
loops that a schedule made of one `for` apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation

Place = tuple[str, int, int]
"""File (relative to the spec's root), line, column."""


class Metadata:
    """Numbered metadata nodes of one LLVM module; equal nodes are one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.named: list[str] = []
        self._known: dict[str, int] = {}

    def node(self, text: str, *, distinct: bool = False) -> str:
        """`!n` for a node; distinct nodes are never merged."""
        if not distinct and text in self._known:
            return f"!{self._known[text]}"
        number = len(self.lines)
        self.lines.append(f"!{number} = {'distinct ' if distinct else ''}{text}")
        if not distinct:
            self._known[text] = number
        return f"!{number}"

    def text(self) -> str:
        """All nodes, and the named ones last."""
        return "\n".join([*self.lines, *self.named]) + "\n"


class DebugInfo:
    """The compile unit of one module. `file` is the file that the unit is named after."""

    def __init__(self, metadata: Metadata, file: str) -> None:
        self.metadata = metadata
        self.unit = metadata.node(
            f"!DICompileUnit(language: DW_LANG_C99, file: {self.file(file)}, isOptimized: true, runtimeVersion: 0, "
            "emissionKind: LineTablesOnly, nameTableKind: None)",
            distinct=True,
        )
        flags = [
            metadata.node('!{i32 7, !"Dwarf Version", i32 5}'),
            metadata.node('!{i32 2, !"Debug Info Version", i32 3}'),
        ]
        metadata.named += [f"!llvm.dbg.cu = !{{{self.unit}}}", f"!llvm.module.flags = !{{{', '.join(flags)}}}"]

    def file(self, name: str) -> str:
        """A `DIFile`; names are relative, so that output does not depend on where it is made."""
        return self.metadata.node(f'!DIFile(filename: "{_escaped(name)}", directory: "")')

    def function(self, name: str, place: Place) -> FunctionDebug:
        """The debug information of one function."""
        return FunctionDebug(self, name, place)


class FunctionDebug:
    """Locations inside one function."""

    def __init__(self, info: DebugInfo, name: str, place: Place) -> None:
        self.info = info
        self.home = place
        node = info.metadata.node
        file, line = info.file(place[0]), place[1]
        types = node(f"!DISubroutineType(types: {node('!{null}')})")
        self.program = node(
            f'!DISubprogram(name: "{name}", scope: {file}, file: {file}, line: {line}, type: {types}, '
            f"scopeLine: {line}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {info.unit})",
            distinct=True,
        )

    def at(self, place: Place | None, discriminator: int = 0) -> str:
        """`!n` of a location; code without one is put at line 0, which debuggers read as "no line"."""
        file, line, column = place or (self.home[0], 0, 0)
        node = self.info.metadata.node
        scope = self.program
        if file != self.home[0] or discriminator:
            extra = f", discriminator: {discriminator}"
            scope = node(f"!DILexicalBlockFile(scope: {self.program}, file: {self.info.file(file)}{extra})")
        return node(f"!DILocation(line: {line}, column: {column}, scope: {scope})")


def place_of_call(text: str, function: str) -> str:
    """The `file:line:column` of the first call of a function in LLVM IR text, "" when it has none."""
    call = re.search(rf"call [^\n]*@{re.escape(function)}\([^\n]*!dbg !(\d+)", text)
    node = call and re.search(rf"^!{call[1]} = !DILocation\(line: (\d+), column: (\d+), scope: !(\d+)", text, re.M)
    scope = node and re.search(rf"^!{node[3]} = [^\n]*file: !(\d+)", text, re.M)
    file = scope and re.search(rf'^!{scope[1]} = !DIFile\(filename: "([^"]*)"', text, re.M)
    return f"{file[1]}:{node[1]}:{node[2]}" if node and file else ""


def place_of(op: Operation) -> Place | None:
    """The spec location of an op."""
    from specgen.ir import locations

    return locations.of(op)


def _escaped(text: str) -> str:
    return "".join(
        c if 32 <= ord(c) < 127 and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode()) for c in text
    )
