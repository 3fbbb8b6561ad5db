"""Output folders: replaced whole, only where they are ours, and nothing of anybody else's is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from specgen import output
from specgen.testing import suite_folders


def _ours(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    digests = output.write_files(folder, files)
    (folder / output.MANIFEST).write_text(output.manifest_text({"specgen": "0", "files": digests}))


def test_digest_is_sha256() -> None:
    assert output.digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_publish_replaces_our_folder_and_removes_listed_files(tmp_path: Path) -> None:
    final = tmp_path / "k"
    _ours(final, {"old.txt": b"1"})
    with output.staged(tmp_path, "k") as temporary:
        output.write_files(temporary, {"a/new.txt": b"2"})
        output.publish(temporary, final)
    assert sorted(p.name for p in final.rglob("*")) == ["a", "new.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_foreign_file_stops_the_replacement(tmp_path: Path) -> None:
    final = tmp_path / "k"
    _ours(final, {"old.txt": b"1"})
    (final / "notes.md").write_text("mine")
    with pytest.raises(output.OutputError, match=r"notes\.md"):
        output.check_replaceable(final)


def test_folder_without_manifest_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    output.check_replaceable(tmp_path / "k")
    (tmp_path / "k" / "x").write_text("")
    with pytest.raises(output.OutputError, match="no manifest"):
        output.check_replaceable(tmp_path / "k")


def test_link_is_refused(tmp_path: Path) -> None:
    _ours(tmp_path / "real", {})
    (tmp_path / "k").symlink_to(tmp_path / "real")
    with pytest.raises(output.OutputError, match="link"):
        output.check_replaceable(tmp_path / "k")


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with output.staged(tmp_path, "k") as temporary:
            (temporary / "half").write_text("")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_intact_sees_changed_missing_and_stale(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    _ours(folder, {"a": b"1", "b": b"2"})
    manifest = output.read_manifest(folder)
    assert manifest is not None
    assert output.intact(folder, manifest)
    (folder / "a").write_bytes(b"x")
    assert not output.intact(folder, manifest)
    (folder / "a").unlink()
    assert not output.intact(folder, manifest)
    (folder / "a").write_bytes(b"1")
    output.mark_stale(folder, "spec changed")
    stale = output.read_manifest(folder)
    assert stale is not None
    assert stale["stale"] == "spec changed"
    assert not output.intact(folder, stale)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"specgen": 1, "files": []}', "\xff"])
def test_manifest_of_others_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / output.MANIFEST).write_bytes(text.encode("latin-1"))
    assert output.read_manifest(tmp_path) is None


def test_what_a_test_run_leaves_is_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    _ours(folder, {"a": b"1"})
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"")
    output.check_replaceable(folder)


def test_manifest_text_is_json() -> None:
    assert json.loads(output.manifest_text({"specgen": "1", "files": {"ä": "x"}})) == {
        "specgen": "1",
        "files": {"ä": "x"},
    }


def _next(parent: Path, number: int) -> Path:
    folder = parent / f".k.{number}"
    _ours(folder, {"number": str(number).encode()})
    return folder


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(tmp_path: Path) -> None:
    _ours(tmp_path / "k", {"number": b"old"})
    with pytest.raises(OSError, match="missing"):
        output.publish(tmp_path / "missing", tmp_path / "k")
    assert (tmp_path / "k" / "number").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def _slowly(monkeypatch: pytest.MonkeyPatch, after: Callable[[], None]) -> None:
    """Something happens behind every rename."""
    rename = os.rename

    def slow(old: Path, new: Path) -> None:
        rename(old, new)
        after()

    monkeypatch.setattr(os, "rename", slow)


def test_builds_into_one_folder_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _slowly(monkeypatch, lambda: time.sleep(0.02))
    _ours(tmp_path / "k", {"number": b"old"})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: output.publish(_next(tmp_path, n), tmp_path / "k"), range(4)))
    assert [p.name for p in tmp_path.iterdir()] == ["k"]
    assert (tmp_path / "k" / "number").read_bytes() in (b"0", b"1", b"2", b"3")


def test_an_interrupt_waits_until_the_folder_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _slowly(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    _ours(tmp_path / "k", {"number": b"old"})
    with pytest.raises(KeyboardInterrupt):
        output.publish(_next(tmp_path, 1), tmp_path / "k")
    assert (tmp_path / "k" / "number").read_bytes() == b"1"
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_what_a_killed_build_left_is_no_suite(tmp_path: Path) -> None:
    _ours(tmp_path / "k", {})
    _next(tmp_path, 1)
    assert suite_folders(tmp_path) == [tmp_path / "k"]
