"""Faults in built artifacts: the generated suites and the sanitizers have to notice them.

No mutant is compared with the original. Mutants that turn out to change nothing count as survivors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus_build import build_once, shared_root
from mutants.code import Kernel
from mutants.judging import Verdict, judge, passes
from mutants.machine import machine_mutants
from mutants.outstanding import most_outstanding
from mutants.scheduled import ir_mutants
from mutants.site import KINDS, MACHINE, Mutant, draw

from specgen.devices.amdgpu_emulator.decoder import decode
from specgen.devices.amdgpu_emulator.hazards import waits_of
from specgen.devices.amdgpu_emulator.loader import load

TARGETS = ("gfx1151", "gfx1201", "gfx942")
IR_TARGET = "gfx1151"
SEED = 20260101
FAST, FULL = "fast", "full"
SPECS = {
    FAST: ("rms_norm", "sum_rows", "transpose"),
    FULL: (
        "bias_gelu",
        "rms_norm",
        "row_softmax",
        "saxpy",
        "stencil5",
        "streaming_packed_dot",
        "sum_guarded_rows",
        "sum_rows",
        "sum_vector_rows_pair",
        "transpose",
    ),
}
"""Specs that are mutated: each way to move data once. A mutant costs a run of its spec's suite; the sample keeps to
those whose suites take less than a second a target, and has every kind nevertheless."""
PER_KIND = {FAST: 3, FULL: 32}
LEAST = {FAST: 0.85, FULL: 0.90}
"""The least part that is noticed: of the sample, and of each kind of the whole (29 of 32). `conftest.py` asks for more
of the whole."""

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function from a spec's name to its folder, built for `TARGETS` by the first test process that asks."""
    root = shared_root(tmp_path_factory.getbasetemp(), "mutated")

    def folder(name: str) -> Path:
        return build_once(root, name, TARGETS).folder

    return folder


def sites(folder: Path) -> list[Mutant]:
    """Every site of a built spec: the machine code of each target, and the scheduled IR of one."""
    manifest = json.loads((folder / "manifest.json").read_text())
    entries = {entry["name"]: entry["symbol"] for entry in manifest["entries"]}
    element = min(int(arg["type"].lstrip("bfiu")) // 8 for arg in manifest["args"] if arg["kind"] == "buffer")
    found = [m for t in TARGETS for m in machine_mutants(folder, folder.name, t, entries, element)]
    return found + list(
        ir_mutants((folder / IR_TARGET / "scheduled.mlir").read_text(), folder.name, IR_TARGET, entries)
    )


_DRAWN: dict[str, list[Mutant]] = {}
_PASSING: set[tuple[str, str, str, str]] = set()
"""Spec, target, level and entry of unchanged artifacts whose suites passed in this process."""


def drawn(form: str, built: Callable[[str], Path]) -> list[Mutant]:
    """The mutants of a form, drawn once a process: the same in each."""
    if form not in _DRAWN:
        found = [site for name in SPECS[form] for site in sites(built(name))]
        _DRAWN[form] = draw(found, PER_KIND[form], SEED)
    return _DRAWN[form]


def run(form: str, chosen: list[Mutant], built: Callable[[str], Path], scratch: Path, record: Record) -> list[Verdict]:
    """Check that the unchanged artifacts pass, judge."""
    for place, mutant in {(m.spec, m.target, m.level, m.entry): m for m in chosen}.items():
        if place not in _PASSING:
            assert passes(mutant, built(mutant.spec)) == Verdict(mutant, "", "")
            _PASSING.add(place)
    verdicts = [judge(mutant, built(mutant.spec), scratch) for mutant in chosen]
    for verdict in verdicts:
        why = "" if verdict.killed else verdict.excuse or "every check passed"
        record("mutant", (form, str(verdict.mutant), why))
    return verdicts


def score(verdicts: list[Verdict]) -> float:
    """The part that was noticed."""
    return sum(verdict.killed for verdict in verdicts) / len(verdicts)


def test_draws_are_the_same_each_time_and_half_in_steady_loops(built: Callable[[str], Path]) -> None:
    found = [site for name in ("sum_rows", "rms_norm", "transpose") for site in sites(built(name))]
    chosen = draw(found, 8, SEED)
    assert [str(m) for m in draw(found, 8, SEED)] == [str(m) for m in chosen]
    assert Counter(m.kind for m in chosen) == dict.fromkeys(KINDS, 8)
    assert sum(m.steady for m in chosen) * 2 >= len(chosen)


def test_waits_of_steady_loops_are_those_of_the_report(built: Callable[[str], Path]) -> None:
    """The report reads the assembly text, the sites come from decoded bytes."""
    folder = built("sum_rows")
    for target in TARGETS:
        rows = json.loads((folder / target / "report.json").read_text())["machine_loops"]
        waits = [w for row in rows if row["steady"] for w in row["waits"]]
        found = [m for m in sites(folder) if (m.kind, m.target, m.steady) == ("wait", target, True)]
        assert len(found) == len(waits) > 4
        wanted = Counter(f"{w['counter']} {w['target_count']} raised" for w in waits)
        assert Counter(m.text.split(": ")[-1] for m in found) == wanted


def test_most_outstanding_of_sum_rows(built: Callable[[str], Path]) -> None:
    """Two loads ahead and four of a round, less what each wait let go: read off the listing by hand."""
    kernel = Kernel(built("sum_rows"), "gfx1151", "sum_rows")
    most = most_outstanding(kernel)
    steady = [b for b in kernel.program.blocks if kernel.steady(b.number)]
    indices = [i for b in steady for i in range(b.first, b.last + 1)]
    counts = [(most[i]["vm"], dict(waits_of(kernel.program.instructions[i]))["vm"]) for i in indices if i in most]
    assert counts == [(4, 3), (4, 3), (4, 3), (3, 2)]


CHANGES = {
    "barrier": {("s_barrier", "s_nop"), ("s_barrier_signal", "s_nop"), ("s_barrier_wait", "s_nop")},
    "tail": {("v_fmac_f32", "s_nop")}
    | {(f"v_{op}_f32", "v_mov_b32") for op in ("add", "max", "max_num")}
    | {(f"s_cbranch_{c}", new) for c in ("scc0", "scc1", "vccz", "vccnz") for new in ("s_branch", "s_nop")},
    "lane": {("v_permlanex16_b32", "v_permlane16_b32")},
}
"""Kind -> names of the instruction before and after; where they are equal, one field differs."""


@pytest.mark.parametrize("name", ["rms_norm", "sum_rows", "transpose"])
def test_machine_code_changes_where_and_how_it_is_meant_to(name: str, built: Callable[[str], Path]) -> None:
    """Decoded again from the faulty file, by the emulator's loader: one instruction differs (two for exchanges and
    split barriers), in its operation or in one operand."""
    folder = built(name)
    symbols = {e["name"]: e["symbol"] for e in json.loads((folder / "manifest.json").read_text())["entries"]}
    for mutant in sites(folder):
        if mutant.level != MACHINE:
            continue
        data = (folder / mutant.target / "kernel.hsaco").read_bytes()
        before, after = (load(d, symbols[mutant.entry]) for d in (data, mutant.apply(data)))
        assert len(before.code) == len(after.code)
        kernel = Kernel(folder, mutant.target, symbols[mutant.entry])
        pairs = [(i, decode(after.code, i.offset, after.arch)) for i in kernel.program.instructions]
        changed = [(old, new) for old, new in pairs if str(old) != str(new)]
        assert 1 <= len(changed) <= (2 if mutant.kind in ("swap", "barrier") else 1), mutant
        for old, new in changed:
            if old.name != new.name:
                shifted = mutant.kind == "guard" and old.name.split("_")[0] == new.name.split("_")[0]
                assert shifted or (old.name, new.name) in CHANGES[mutant.kind], mutant
            else:
                differing = [k for k, v in old.fields.items() if new.fields[k] != v]
                assert len(differing) + (old.literal != new.literal) == 1, mutant
        assert load(data, symbols[mutant.entry]).descriptor == after.descriptor


def test_a_sample_is_noticed(built: Callable[[str], Path], tmp_path: Path, record_property: Record) -> None:
    verdicts = run(FAST, drawn(FAST, built), built, tmp_path, record_property)
    assert {v.mutant.kind for v in verdicts} == set(KINDS)
    assert score(verdicts) >= LEAST[FAST], [str(v.mutant) for v in verdicts if not v.killed]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_noticed(kind: str, built: Callable[[str], Path], tmp_path: Path, record_property: Record) -> None:
    chosen = drawn(FULL, built)
    assert len(chosen) >= 200
    assert sum(m.steady for m in chosen) * 2 >= len(chosen)
    verdicts = run(FULL, [m for m in chosen if m.kind == kind], built, tmp_path, record_property)
    assert len(verdicts) >= 20
    assert score(verdicts) >= LEAST[FULL], [str(v.mutant) for v in verdicts if not v.killed]
