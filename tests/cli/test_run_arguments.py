"""`specgen run --arg`: nothing is converted in silence; a wrong file or number ends with status 2 and one line."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from cli_calls import specgen_here

COPY = """spec: 1
kind: kernel
name: copy
summary: Copies elements.
args:
  n: {type: u8, range: [0, 200]}
  scale: {type: f32}
  x: {buffer: TYPE, shape: {row: 2, column: 3}}
  y: {buffer: TYPE, shape: {row: 2, column: 3}, access: write}
launch: {workgroup_size: {lane: 32}}
body:
- if: lane < 6 and n < 201 and scale == scale
  then:
  - store:
      y[lane // 3, lane % 3]: x[lane // 3, lane % 3]
checks:
  all: {each: {n: [3], scale: [1]}, given: {x: TYPE(row + 2 * column)}, expect: {y: "x[row, column]"}, compare: exact}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(type_: str, array: np.ndarray, *more: str, n: str = "3", scale: str = "1") -> object:
    """Copy an array that comes from a file."""
    Path("copy.spec.yaml").write_text(COPY.replace("TYPE", type_), encoding="utf-8")
    np.save("x.npy", array)
    return specgen_here(
        "run", "copy.spec.yaml", "--arg", f"n={n}", "--arg", f"scale={scale}", "--arg", "x=x.npy", *more
    )


@pytest.mark.parametrize(
    ("type_", "array", "message"),
    [
        ("f32", np.zeros((2, 3)), "argument x is an array of float64, declared is f32 (float32)"),
        ("i32", np.zeros((2, 3), np.uint32), "argument x is an array of uint32, declared is i32 (int32)"),
        ("f16", np.zeros((2, 3), np.uint16), "argument x is an array of uint16, declared is f16 (float16)"),
        (
            "f32",
            np.zeros((3, 2), np.float32),
            "argument x has the shape (3, 2), declared is (2, 3) (row: 2, column: 3)",
        ),
        ("f32", np.zeros(7, np.float32), "argument x has the shape (7,), declared is (2, 3)"),
    ],
)
def test_files_of_another_type_or_shape(here: Path, type_: str, array: np.ndarray, message: str) -> None:
    call = run(type_, array)
    assert call.status == 2
    assert message in call.err
    assert len(call.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("n", "scale", "message"),
    [
        ("256", "1", "--arg n=256: not a number that u8 holds"),
        ("-1", "1", "--arg n=-1: not a number that u8 holds"),
        ("3", "16777217", "--arg scale=16777217: not a number that f32 holds"),
        ("3", "1" + "0" * 400, "not a number that f32 holds"),
    ],
)
def test_numbers_that_do_not_fit(here: Path, n: str, scale: str, message: str) -> None:
    call = run("f32", np.zeros((2, 3), np.float32), n=n, scale=scale)
    assert call.status == 2
    assert message in call.err


def test_a_broken_promise_is_a_finding(here: Path) -> None:
    """Status 1, with the argument and the line that promises."""
    call = run("f32", np.zeros((2, 3), np.float32), n="201")
    assert call.status == 1
    assert "copy.spec.yaml:6:" in call.out
    assert "broken-assumption: argument n is 201, its range is [0, 200]" in call.out


STORED = {"u8": "u1", "u32": "u4", "i64": "i8", "f16": "f2", "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("type_", STORED)
def test_files_that_come_out_go_in_again(here: Path, type_: str) -> None:
    """Outputs have the declared type; `bf16` is stored as its bits, in uint16, and read from them."""
    array = np.array([[0, 1, 2], [3, 130, 250]], STORED[type_])
    if type_ == "u32":
        array[0, 0] = 4_000_000_000
    assert run(type_, array, "--out", "y=y.npy").status == 0
    out = np.load("y.npy")
    assert out.dtype == (np.uint16 if type_ == "bf16" else array.dtype)
    assert out.shape == (2, 3)
    assert out.tobytes() == array.tobytes()
    assert run(type_, out).status == 0
