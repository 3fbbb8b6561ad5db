"""Functions that a reference may name, read off the text of its file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from loading_helpers import KERNEL, write

from specgen.loading import load_spec
from specgen.loading.functions import defined
from specgen.loading.paths import PathProblem

TEXT = """\
import os.path
from math import sqrt as root, floor
raise SystemExit("nothing of this runs")
if True:
    def inside(case): ...
else:
    inside_too = other = lambda case: case
try:
    async def waited(case): ...
except ImportError:
    class Called: ...
def outer(case):
    def hidden(case): ...
"""


def test_names_of_the_top_level_and_of_its_branches(tmp_path: Path) -> None:
    path = tmp_path / "o.py"
    path.write_text(TEXT)
    found = defined(path, "o.py")
    assert found is not None
    assert {"os", "root", "floor", "inside", "inside_too", "other", "waited", "Called", "outer"} <= found
    assert "hidden" not in found
    assert "sqrt" not in found


def test_a_star_import_may_define_anything(tmp_path: Path) -> None:
    path = tmp_path / "o.py"
    path.write_text("from math import *\n")
    assert defined(path, "o.py") is None


def test_a_rewritten_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "o.py"
    path.write_text("def a(): ...\n")
    assert defined(path, "o.py") == {"a"}
    path.write_text("def b(): ...\n")
    os.utime(path, ns=(1, 1))
    assert defined(path, "o.py") == {"b"}


@pytest.mark.parametrize("data", [b"def f(:\n", b"\xff\xfe\x00", b"x = 1\x00\n", b"(" * 100_000])
def test_what_is_no_python_is_told(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "o.py").write_bytes(data)
    with pytest.raises(PathProblem):
        defined(tmp_path / "o.py", "o.py")
    text = KERNEL.replace("{output: count * (1 + lane)}", "{reference: o.py:f}")
    (finding,) = load_spec(write(tmp_path, "kernel", text)).diagnostics
    assert finding.code == "SG-PATH"
    assert "`o.py`" in finding.message
