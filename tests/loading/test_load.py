"""Loading whole specs: what is used, names, digests, and the limits of what a spec may read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from loading_helpers import DATA, KERNEL, MOTIF, write

from specgen.loading import load_spec
from specgen.loading.load import Loaded
from specgen.model import BufferArg, For, ScalarArg

USER = KERNEL.replace("args:", "uses: [USED]\nargs:", 1).replace(
    "      total: total + input[row, lane]",
    "      total: total + input[row, lane]\n  - apply: MOTIF\n    as: a\n    with: {x: total}",
)


def user(folder: Path, used: str, motif: str = "twice", name: str = "user") -> Path:
    return write(folder, name, USER.replace("USED", used).replace("MOTIF", motif))


def only(loaded: Loaded) -> str:
    """The message of the single finding."""
    assert len(loaded.diagnostics) == 1, loaded.diagnostics
    return loaded.diagnostics[0].message


def test_sum_rows() -> None:
    loaded = load_spec(DATA / "sum_rows.spec.yaml")
    assert loaded.diagnostics == ()
    spec = loaded.spec
    assert spec is not None
    assert (spec.kind, spec.name.text, spec.version) == ("kernel", "sum_rows", 1)
    count, values, output = spec.args
    assert isinstance(count, ScalarArg)
    assert count.range is not None
    assert (count.range.lo.text, count.range.hi.text) == ("0", "64")
    assert isinstance(values, BufferArg)
    assert [(axis.name.text, axis.extent.text) for axis in values.shape] == [("row", "64"), ("lane", "32")]
    assert isinstance(output, BufferArg)
    assert (values.access, output.access) == ("read", "write")
    loop = spec.body[1]
    assert isinstance(loop, For)
    assert loop.bounds.text == "range(row_count)"
    assert loop.schedule.order is not None
    assert loop.schedule.order.text == "recurrence"
    assert loop.schedule.lead is None
    assert (loop.span.file, loop.span.line) == ("sum_rows.spec.yaml", 24)
    assert [variant.name.text for variant in spec.variants] == ["copies", "ahead"]
    check = spec.checks[0]
    assert [value.text for value in check.each[0][1]] == ["0", "1", "2", "3", "4", "5", "63", "64"]
    assert check.compare is not None
    assert check.compare.kind == "exact"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.spec.yaml")), ids=lambda p: p.name)
def test_examples_have_no_findings_but_unsupported_ones(path: Path) -> None:
    loaded = load_spec(path)
    assert {d.code for d in loaded.diagnostics} <= {"SG-UNSUPPORTED"}
    assert len(loaded.diagnostics) <= 1
    assert (loaded.spec is None) == bool(loaded.diagnostics)


def test_a_used_motif_is_loaded_with_its_place(tmp_path: Path) -> None:
    write(tmp_path / "parts", "twice", MOTIF)
    loaded = load_spec(user(tmp_path, "parts/twice.spec.yaml"), tmp_path)
    assert loaded.spec is not None
    motif = loaded.spec.used["twice"]
    assert motif.source.name == "parts/twice.spec.yaml"
    assert loaded.spec.use_spans["twice"].line == 6
    assert set(loaded.sources) == {"user.spec.yaml", "parts/twice.spec.yaml"}


def test_a_motif_used_by_two_motifs_is_loaded_once(tmp_path: Path) -> None:
    write(tmp_path, "leaf", MOTIF)
    middle = MOTIF.replace("args:", "uses: [leaf.spec.yaml]\nargs:").replace(
        "- let: {out: 2 * x}", "- apply: leaf\n  as: inner\n  with: {x: x}\n- let: {out: inner.out}"
    )
    write(tmp_path, "one", middle)
    write(tmp_path, "two", middle)
    text = KERNEL.replace("args:", "uses: [one.spec.yaml, two.spec.yaml]\nargs:", 1).replace(
        "- store:", "- apply: one\n  as: a\n  with: {x: total}\n- apply: two\n  as: b\n  with: {x: total}\n- store:"
    )
    loaded = load_spec(write(tmp_path, "top", text))
    assert loaded.spec is not None
    assert loaded.spec.used["one"].used["leaf"] is loaded.spec.used["two"].used["leaf"]


def test_a_finding_in_a_used_file_refuses_the_user_and_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, "twice", MOTIF.replace("summary", "sumary"))
    loaded = load_spec(user(tmp_path, "twice.spec.yaml"))
    assert loaded.spec is None
    assert only(loaded) == "`sumary` is no key of a motif."
    assert loaded.diagnostics[0].span.file == "twice.spec.yaml"


@pytest.mark.parametrize(
    ("used", "words"),
    [
        ("absent.spec.yaml", "does not exist"),
        ("../outside.spec.yaml", "leaves the folder"),
        ("parts/../../outside.spec.yaml", "leaves the folder"),
        ("link.spec.yaml", "is a link out of the folder"),
        ("folder/outside.spec.yaml", "is a link out of the folder"),
        ("loop.spec.yaml", ""),
        ("twice.txt", "is no spec file"),
        ("user.spec.yaml", "a cycle"),
        ("kernel.spec.yaml", "is a kernel, not a motif"),
        ("C:/twice.spec.yaml", "is not relative"),
        ("parts\\\\twice.spec.yaml", "a character that paths do not"),
        (".spec.yaml", "is no spec file"),
        ("fifo.spec.yaml", "does not exist"),
    ],
)
def test_uses_stay_inside(tmp_path: Path, used: str, words: str) -> None:
    inner = tmp_path / "inner"
    write(tmp_path / "outer", "outside", MOTIF)
    write(tmp_path, "outside", MOTIF)
    path = user(inner, f'"{used}"', motif="outside" if "outside" in used else "link")
    write(inner, "kernel")
    (inner / "twice.txt").write_text("", encoding="utf-8")
    (inner / "link.spec.yaml").symlink_to(tmp_path / "outside.spec.yaml")
    (inner / "folder").symlink_to(tmp_path / "outer")
    (inner / "loop.spec.yaml").symlink_to(inner / "loop.spec.yaml")
    os.mkfifo(inner / "fifo.spec.yaml")
    loaded = load_spec(path)
    found = [d for d in loaded.diagnostics if d.code == "SG-USE"]
    assert loaded.spec is None
    assert len(found) == 1
    assert words in found[0].message
    assert found[0].span.line == 6


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    write(tmp_path / "store", "twice", MOTIF)
    (tmp_path / "twice.spec.yaml").symlink_to(tmp_path / "store" / "twice.spec.yaml")
    assert load_spec(user(tmp_path, "twice.spec.yaml")).diagnostics == ()


def test_names_in_findings_are_relative_to_the_root(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "b", "wrong", KERNEL.replace("body:", "bodi:"))
    names = {root: load_spec(path, root).diagnostics[0].span.file for root in (None, tmp_path, tmp_path / "a")}
    assert list(names.values()) == ["wrong.spec.yaml", "a/b/wrong.spec.yaml", "b/wrong.spec.yaml"]
    assert load_spec(path, tmp_path / "elsewhere").diagnostics[0].span.file == "wrong.spec.yaml"


def test_the_digest_covers_used_files_and_not_the_place(tmp_path: Path) -> None:
    def digest(folder: str, motif: str, root: Path | None = None) -> str:
        write(tmp_path / folder, "twice", motif)
        loaded = load_spec(user(tmp_path / folder, "twice.spec.yaml"), root)
        assert loaded.spec is not None
        return loaded.sha256

    first = digest("one", MOTIF)
    assert len(first) == 64
    assert first == digest("two", MOTIF)
    assert first == digest("two", MOTIF, tmp_path)
    assert first != digest("two", MOTIF.replace("2 * x", "3 * x"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.spec.yaml", "cannot be read"), ("kernel.yaml", "is no spec"), ("folder.spec.yaml", "cannot be read")],
)
def test_paths_that_are_no_spec(tmp_path: Path, name: str, words: str) -> None:
    write(tmp_path, "kernel").rename(tmp_path / "kernel.yaml")
    (tmp_path / "folder.spec.yaml").mkdir()
    loaded = load_spec(tmp_path / name)
    assert words in only(loaded)
    assert loaded.diagnostics[0].code == "SG-PATH"


def test_ten_megabytes_are_refused_quickly(tmp_path: Path) -> None:
    path = write(tmp_path, "big", KERNEL + "# " + "x" * 10_000_000)
    begin = time.perf_counter()
    assert "larger than" in only(load_spec(path))
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize("end", ["yaml", "toml"])
def test_both_forms_take_a_byte_order_mark_and_crlf(tmp_path: Path, end: str) -> None:
    data = (DATA / "sum_rows.spec.yaml") if end == "yaml" else (DATA / "toml" / "sum_rows.spec.toml")
    path = tmp_path / data.name
    path.write_bytes(b"\xef\xbb\xbf" + data.read_bytes().replace(b"\n", b"\r\n"))
    loaded = load_spec(path)
    assert loaded.diagnostics == ()
    assert loaded.spec is not None
    assert loaded.sha256 != load_spec(data).sha256


HEAD = "spec: 1\nkind: kernel\nname: NAME\nsummary: x\n"
LAUNCH = "launch: {workgroup_size: {lane: 32}}\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "".join(f"kex{i}: 1\n" for i in range(9000)),
        HEAD + LAUNCH + "body:\n" + "".join(f"- set: {{b{i}: {i}}}\n" for i in range(2000)),
        HEAD + "requires:\n" + "".join("- >-\n" + "  a\n" * 1900 for _ in range(50)),
        HEAD + "requires:\n- >-\n" + "  a\n" * 200_000,
        HEAD + "define:\n" + "".join(f"  a{i}: {i}\n" for i in range(9000)),
    ],
    ids=["unknown keys", "unknown variables", "long blocks", "a longer block", "unused defines"],
)
def test_hostile_files_cost_bounded_time_and_output(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "hostile", text)
    begin = time.perf_counter()
    loaded = load_spec(path)
    assert time.perf_counter() - begin < 15
    assert loaded.spec is None
    assert 1 <= len(loaded.diagnostics) <= 51


def test_a_kernel_without_checks_is_a_warning(tmp_path: Path) -> None:
    loaded = load_spec(write(tmp_path, "bare", KERNEL.split("checks:")[0]))
    assert loaded.spec is not None
    assert (loaded.diagnostics[0].code, loaded.diagnostics[0].severity) == ("SG-CHECK", "warning")
    assert "no checks" in only(loaded)


def test_numbers_and_booleans_stand_where_expressions_do(tmp_path: Path) -> None:
    text = KERNEL.replace("args:", "params:\n  flag: {default: true}\n  small: {default: 1e-3}\nargs:", 1)
    text = text.replace("total + input", "total * small * (1 if flag else 2) + input")
    loaded = load_spec(write(tmp_path, "numbers", text))
    assert loaded.spec is not None
    assert [knob.default.text for knob in loaded.spec.params if knob.default] == ["true", "0.001"]


def test_two_hundred_lines_load_in_time() -> None:
    """A bound with room for a loaded machine; typically 10 to 15 ms."""
    path = DATA / "gemm.spec.yaml"
    load_spec(path)
    times = []
    for _ in range(7):
        begin = time.process_time()
        load_spec(path)
        times.append(time.process_time() - begin)
    assert min(times) < 0.1


@pytest.mark.parametrize("name", ["with space", "a.b", "-dash", "größe", "for", "1st", "new\nline"])
def test_a_file_name_that_is_no_name_is_to_be_changed(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.spec.yaml"
    path.write_text(KERNEL.replace("NAME", "sums"), encoding="utf-8")
    (finding,) = load_spec(path).diagnostics
    assert finding.hint == "Rename the file to `sums.spec.yaml`."
    assert finding.span.file.isprintable()
    assert finding.message.isprintable()


def test_a_file_that_is_no_spec_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "sums.spec.yml"
    path.write_text(KERNEL.replace("NAME", "sums"), encoding="utf-8")
    (finding,) = load_spec(path).diagnostics
    assert (finding.code, finding.hint) == ("SG-PATH", "Rename it to `sums.spec.yaml`.")
