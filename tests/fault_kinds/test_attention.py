"""Kinds that the attention kernels show directly: loaded guards, waits in the tail, repeatability, subgroup sizes."""

from __future__ import annotations

import io
import re
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import specgen
from specgen.api import Artifact
from specgen.devices.amdgpu_emulator.device import EmulatedKernel

ATTENTION = Path(__file__).resolve().parents[2] / "specs" / "attention"
ROWS = 16
"""Rows of the cache that exist here, one page of the paged kernels."""


@cache
def built(name: str, target: str = "gfx1151") -> Artifact:
    return specgen.load(ATTENTION / f"{name}.spec.yaml").build(target)


def cache_rows() -> dict[str, np.ndarray]:
    """Keys and values that no formula of the specs has; flat, as far as they are allocated."""
    draw = np.random.default_rng(7)
    return {name: draw.uniform(-1, 1, ROWS * 128).astype(np.float32) for name in ("key", "value")}


def softmax_mean(query: np.ndarray, rows: list[int], held: dict[str, np.ndarray]) -> np.ndarray:
    """The result for one query in float64."""
    keys, values = (held[n].reshape(-1, 128)[rows].astype(np.float64) for n in ("key", "value"))
    scores = keys @ query.astype(np.float64) / np.sqrt(128)
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()


def sparse_args(ids: list[int]) -> dict[str, Any]:
    """One query over listed rows; the list is allocated no further than its length."""
    query = np.linspace(-1, 1, 128, dtype=np.float32)
    lengths = np.array([len(ids)], np.int32)
    return {"queries": 1, "bound": ROWS, "lengths": lengths, "query": query, "indices": np.array(ids, np.int32)}


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 15, 16, 17])
def test_b06_guards_that_are_loaded(length: int) -> None:
    """A list tells which rows are read: its numbers guard and address reads that run two slots ahead."""
    ids = [(5 * n) % 19 - 2 for n in range(length)]
    held = cache_rows()
    args = sparse_args(ids)
    run = built("sparse_token_attention").run("amdgpu-emulator", **args, **held)
    assert run.findings == ()
    rows = [n for n in ids if 0 <= n < ROWS]
    wanted = softmax_mean(args["query"], rows, held) if rows else np.zeros(128)
    assert np.allclose(run.outputs["output"].ravel(), wanted, rtol=2e-5, atol=2e-5)


def paged_args(length: int) -> dict[str, Any]:
    """One query over one page."""
    query = np.linspace(-1, 1, 128, dtype=np.float32)
    pages = np.full(64, -1, np.int32)
    pages[: -(-length // 16)] = 0
    return {"queries": 1, "lengths": np.array([length], np.int32), "query": query, "pages": pages}


PARTIAL_WAIT = re.compile(r"s_waitcnt vmcnt\(([1-9]\d*)\)")


def laxer(elf: bytes, symbol: str) -> list[bytes]:
    """The code object with one partial wait for loads of a function asking for one load less, for each such wait.

    s_waitcnt of gfx11 is 0xBF89 above 16 bits: expcnt 2:0, lgkmcnt 9:4, vmcnt 15:10 (RDNA3 ISA guide, SOPP).
    """
    file = ELFFile(io.BytesIO(elf))
    (entry,) = file.get_section_by_name(".dynsym").get_symbol_by_name(symbol)
    text = file.get_section_by_name(".text")
    first = entry["st_value"] - text["sh_addr"] + text["sh_offset"]
    found = []
    for at in range(first, first + entry["st_size"] - 3, 4):
        (word,) = struct.unpack_from("<I", elf, at)
        count = word >> 10 & 63
        if word >> 16 == 0xBF89 and 0 < count < 8:
            broken = bytearray(elf)
            struct.pack_into("<I", broken, at, word + (1 << 10))
            found.append(bytes(broken))
    return found


def test_b24_each_wait_of_the_attention_loop_is_needed() -> None:
    """Start-up, steady loop and drain: with any partial wait one load laxer, a register is read too early."""
    artifact = built("cooperative_paged_attention")
    symbol = artifact.symbol("default")
    variants = laxer(artifact.files["kernel.hsaco"], symbol)
    text = artifact.files["kernel.s"].decode()
    body = text[text.index(f"\n{symbol}:") : text.index(".Lfunc_end0")]
    assert len(variants) == len(PARTIAL_WAIT.findall(body)) >= 5
    args = artifact.arrays({**paged_args(16), **cache_rows()})
    assert EmulatedKernel(artifact.files["kernel.hsaco"], symbol).launch(args, (1, 1, 1)).findings == ()
    for broken in variants:
        kinds = {f.kind for f in EmulatedKernel(broken, symbol).launch(args, (1, 1, 1)).findings}
        assert "wait-count" in kinds


def test_b26_attention_leaves_the_same_bits_every_time() -> None:
    """Five runs of one code object on the same arguments agree bit for bit."""
    artifact = built("cooperative_paged_attention")
    runs = [artifact.run("amdgpu-emulator", **paged_args(15), **cache_rows()).outputs for _ in range(5)]
    for name in ("output", "state"):
        assert len({run[name].tobytes() for run in runs}) == 1


@pytest.mark.parametrize("target", ["vulkan1.3-sg8", "gfx1151", "gfx942"])
@pytest.mark.parametrize("length", [3, 16])
def test_b39_any_subgroup_size_attends_alike(length: int, target: str) -> None:
    """8, 32 and 64 lanes hold 16, 4 and 2 channels each; the mean is the same within rounding."""
    held = cache_rows()
    args = paged_args(length)
    run = built("cooperative_paged_attention", target).run("interpreter", **args, **held)
    assert run.findings == ()
    wanted = softmax_mean(args["query"], list(range(length)), held)
    assert np.allclose(run.outputs["output"].ravel(), wanted, rtol=2e-5, atol=2e-5)
