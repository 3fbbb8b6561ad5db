"""What a build of every spec leaves: files for every target, code objects as lld links them, valid SPIR-V."""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess

import pytest
from corpus_build import AMD, FILES, MOTIFS, NAMES, SPECS
from elftools.elf.elffile import ELFFile
from vulkan_support import spirv_val, validate

from specgen import targets
from specgen.build import BuildOptions, build_paths

EVERY_TARGET = tuple(targets.DEFAULT)
REFUSED: dict[str, tuple[str, ...]] = {}
"""Targets that a spec excludes. None of the corpus does: all are written for any subgroup size or ask for none."""

LLD = shutil.which("ld.lld-19")


def _validator_missing() -> bool:
    try:
        spirv_val()
    except FileNotFoundError:
        return True
    return False


def test_the_corpus_holds_what_the_design_lists():
    assert set(NAMES) >= {
        "saxpy",
        "bias_gelu",
        "sum_rows",
        "sum_vector_rows_pair",
        "sum_guarded_rows",
        "streaming_packed_dot",
        "row_softmax",
        "rms_norm",
        "transpose",
        "stencil5",
    }
    assert sum(path.suffix == ".toml" for path in FILES.values()) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_every_target_is_built(name, corpus):
    folder = corpus(name).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    wanted = [t for t in EVERY_TARGET if t not in REFUSED.get(name, ())]
    assert manifest["targets"] == wanted
    files = {"source.mlir", f"test_{name}.py", f"bench_{name}.py"}
    for target in wanted:
        kernel = "kernel.hsaco" if target in AMD else "kernel.spv"
        files |= {f"{target}/{file}" for file in ("scheduled.mlir", kernel, "kernel.s", "report.json")}
        if (folder / target / "source.mlir").exists():
            files.add(f"{target}/source.mlir")
    assert set(manifest["files"]) == files
    on_disk = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert on_disk == files | {"manifest.json"}


@pytest.mark.parametrize("name", MOTIFS)
def test_motifs_are_checked_and_write_nothing(name, tmp_path):
    (result,) = build_paths([FILES[name]], BuildOptions(tmp_path / "out"))
    assert (result.status, result.folder, result.diagnostics) == ("motif", None, ())
    assert not (tmp_path / "out").exists()


def linked(data: bytes, folder) -> bytes:
    """The object linked by LLVM's own linker."""
    source, target = folder / "a.o", folder / "a.hsaco"
    source.write_bytes(data)
    subprocess.run([LLD, "-shared", str(source), "-o", str(target)], check=True)
    return target.read_bytes()


def loaded_facts(data: bytes) -> dict[str, object]:
    """What is executed, read with pyelftools: code, descriptors, metadata, and where each descriptor's entry is.

    lld writes one more hash table in front, so addresses may differ: entries are told as offsets into the code. A
    descriptor holds its distance to the entry at byte 16, which therefore is followed, not compared.
    """
    elf = ELFFile(io.BytesIO(data))
    facts: dict[str, object] = {"type": elf["e_type"], "machine": elf["e_machine"], "flags": elf["e_flags"]}
    text, constants = elf.get_section_by_name(".text"), elf.get_section_by_name(".rodata")
    facts["code"] = text.data()
    base = text["sh_addr"]
    facts["metadata"] = elf.get_section_by_name(".note").data()
    for symbol in elf.get_section_by_name(".dynsym").iter_symbols():
        address, size = symbol["st_value"], symbol["st_size"]
        if symbol.name.endswith(".kd"):
            descriptor = constants.data()[address - constants["sh_addr"] :][:size]
            (distance,) = struct.unpack_from("<q", descriptor, 16)
            facts[symbol.name] = (address + distance - base, descriptor[:16] + descriptor[24:])
        elif symbol.name:
            facts[symbol.name] = (address - base, size, symbol["st_info"]["type"])
    return facts


@pytest.mark.required_in_ci
@pytest.mark.skipif(LLD is None, reason="ld.lld-19 is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_code_objects_equal_what_lld_links(name, corpus, tmp_path):
    built = corpus(name)
    for target in AMD:
        ours = loaded_facts((built.folder / target / "kernel.hsaco").read_bytes())
        theirs = loaded_facts(linked(built.object(target), tmp_path))
        assert ours == theirs, target
        entries = json.loads((built.folder / "manifest.json").read_text())["entries"]
        for symbol in (e["symbol"] for e in entries):
            assert ours[symbol][0] == ours[f"{symbol}.kd"][0], "the descriptor leads to its code"


@pytest.mark.required_in_ci
@pytest.mark.skipif(_validator_missing(), reason="spirv-val is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_spirv_is_valid(name, corpus):
    validate((corpus(name).folder / "vulkan1.3" / "kernel.spv").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_same_inputs_same_bytes_from_anywhere(name, corpus, tmp_path, monkeypatch):
    """A copy of the specs elsewhere, built from another folder, gives the same bytes in every file."""
    copy = tmp_path / "a place" / "of its own"
    shutil.copytree(SPECS, copy)
    monkeypatch.chdir(copy.parent)
    relative = FILES[name].relative_to(SPECS)
    results = build_paths([copy.relative_to(copy.parent) / relative], BuildOptions(tmp_path / "out"))
    assert {result.status for result in results} == {"built"}
    first, second = corpus(name).folder, tmp_path / "out" / name
    names = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert names == sorted(p.relative_to(second) for p in second.rglob("*") if p.is_file())
    assert [n for n in names if (first / n).read_bytes() != (second / n).read_bytes()] == []
