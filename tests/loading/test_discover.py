"""Which files a call means."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading_helpers import write

from specgen.loading.discover import discover


def names(paths: list[Path], root: Path | None = None) -> list[str]:
    return [file.path.name for file in discover(paths, root=root).files]


def test_a_folder_gives_its_spec_files_sorted(tmp_path: Path) -> None:
    for name in ("zebra", "apple"):
        write(tmp_path, name)
    write(tmp_path, "mango", "", "toml")
    write(tmp_path / "deeper", "below")
    write(tmp_path / ".hidden", "hidden")
    (tmp_path / "note.yaml").write_text("", encoding="utf-8")
    (tmp_path / ".spec.yaml").write_text("", encoding="utf-8")
    (tmp_path / "linked.spec.yaml").symlink_to(tmp_path / "apple.spec.yaml")
    (tmp_path / "folder.spec.yaml").mkdir()
    assert names([tmp_path]) == ["apple.spec.yaml", "below.spec.yaml", "mango.spec.toml", "zebra.spec.yaml"]


def test_a_file_is_taken_as_it_is_and_once(tmp_path: Path) -> None:
    path = write(tmp_path, "one")
    assert names([path, tmp_path, path]) == ["one.spec.yaml"]


def test_the_same_name_twice_is_an_error(tmp_path: Path) -> None:
    first = write(tmp_path / "a", "same")
    second = write(tmp_path / "b", "same", "", "toml")
    found = discover([first, second], root=tmp_path)
    assert [file.path for file in found.files] == [first]
    (finding,) = found.diagnostics
    assert finding.code == "SG-PATH"
    assert finding.span.file == "b/same.spec.toml"
    assert finding.notes[0].span.file == "a/same.spec.yaml"


def test_a_folder_without_specs_is_an_error(tmp_path: Path) -> None:
    (finding,) = discover([tmp_path]).diagnostics
    assert "holds no spec" in finding.message
    assert finding.hint == "`specgen init NAME` writes one."


def test_what_was_meant_to_be_a_spec_is_told(tmp_path: Path) -> None:
    write(tmp_path / "real", "one")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "two.spec.yaml").symlink_to(tmp_path / "real" / "one.spec.yaml")
    (finding,) = discover([tmp_path / "links"]).diagnostics
    assert finding.hint == ("`two.spec.yaml` is a link; links in folders are not followed. Name it in the call.")
    for name, meant in (("a.spec.yml", "a.spec.yaml"), ("B.SPEC.YAML", "B.spec.yaml"), ("c.Spec.Toml", "c.spec.toml")):
        folder = tmp_path / meant
        folder.mkdir()
        (folder / name).write_text("")
        (finding,) = discover([folder]).diagnostics
        assert finding.hint == f"`{name}` is not taken: rename it to `{meant}`."


def test_the_root_is_the_current_folder_for_what_lies_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = write(tmp_path / "work" / "specs", "in_work")
    outside = write(tmp_path / "other", "outside")
    monkeypatch.chdir(tmp_path / "work")
    roots = [file.root for file in discover([inside, outside]).files]
    assert roots == [tmp_path / "work", tmp_path / "other"]
