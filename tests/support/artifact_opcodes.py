"""The machine opcodes of code objects, and the recorded list of those that the repository's specs are built to."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from corpus_build import EXECUTABLE, HEAVY, NAMES, Built, build_once
from opcode_semantics import registry

from specgen.devices.amdgpu_emulator import semantics
from specgen.devices.amdgpu_emulator.blocks import Program
from specgen.devices.amdgpu_emulator.launch import entry_offset
from specgen.devices.amdgpu_emulator.loader import EXECUTABLE_TARGETS, load, symbols_of


def opcodes_of(hsaco: bytes) -> set[str]:
    """Every operation that control flow can reach in any kernel of a code object; both halves of dual issues. A
    variant encoding follows the name (`v_add_f32 dpp16`)."""
    found = set()
    for symbol in symbols_of(hsaco):
        code = load(hsaco, symbol)
        program = Program(code.code, entry_offset(code), code.arch, code.wave_size, sanitize=False)
        for inst in program.instructions:
            for part in inst.parts or (inst,):
                found.add(f"{part.name} {part.variant}".rstrip())
    return found


def of_folders(folders: Iterable[Built], targets: tuple[str, ...] = EXECUTABLE) -> dict[str, list[str]]:
    """Instruction family -> sorted opcodes of these built specs and their instances, on these targets (every one that
    the emulator executes)."""
    found: dict[str, set[str]] = {arch: set() for arch in sorted(set(EXECUTABLE_TARGETS.values()))}
    for built in folders:
        instances = (built.folder, *built.folder.parent.glob(f"{built.name}@*"))
        for folder, target in itertools.product(instances, targets):
            kernel = folder / target / "kernel.hsaco"
            if kernel.exists():
                found[EXECUTABLE_TARGETS[target]] |= opcodes_of(kernel.read_bytes())
    return {arch: sorted(names) for arch, names in found.items()}


DATA = Path(semantics.__file__).with_name("semantics.json")


def text(artifacts: dict[str, list[str]]) -> str:
    """The data file that the documentation reads: these opcodes, and those that each table of tests covers."""
    tests = {}
    for arch in sorted(registry.ARCHS):
        by_table: dict[str, list[str]] = {}
        for name, table in sorted(registry.covered(arch).items()):
            by_table.setdefault(table, []).append(name)
        tests[arch] = {table: ";".join(names) for table, names in sorted(by_table.items())}
    return json.dumps({"artifacts": artifacts, "tests": tests}, indent=1) + "\n"


def main(arguments: list[str]) -> None:
    """`python tests/support/artifact_opcodes.py [FOLDER]` builds every spec below FOLDER (a temporary one otherwise)
    and records their opcodes; with `--tests` only the coverage is written anew."""
    if arguments == ["--tests"]:
        DATA.write_text(text(json.loads(DATA.read_text())["artifacts"]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments[0]) if arguments else Path(temporary)
        DATA.write_text(text(of_folders(build_once(root, name) for name in (*NAMES, *HEAVY))))


if __name__ == "__main__":
    main(sys.argv[1:])
