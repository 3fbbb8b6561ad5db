"""The examples of the language definition, bound, printed, parsed and executed against their closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from loading_helpers import DATA

from specgen import ir, targets
from specgen.binding import bind, check_motif
from specgen.binding.instance import BufferParam, Instance
from specgen.devices.interpreter import interpret
from specgen.expand import expand
from specgen.expressions import evaluate_formula
from specgen.loading import load_spec

KERNELS = (
    "cooperative_paged_attention",
    "grouped_paged_attention",
    "routed_row_combine",
    "streaming_packed_dot",
    "sum_full_tiles",
    "sum_guarded_rows",
    "sum_rows",
    "sum_vector_rows_pair",
)
MOTIFS = ("sum_vector_rows", "online_update")


def instance(name: str, target: str = "gfx1151", **options: Any) -> Instance:
    loaded = load_spec(DATA / f"{name}.spec.yaml")
    assert loaded.spec is not None
    bound = bind(loaded.spec, targets.load(target), **options)
    assert bound.diagnostics == ()
    assert bound.instance is not None
    return bound.instance


def run(made: Instance, scalars: dict[str, int], buffers: dict[str, Any], entry: str = "default") -> dict[str, Any]:
    """Run one entry with buffers of the declared sizes; outputs start as NaN or -77."""
    args: dict[str, Any] = dict(scalars)
    for arg in made.args:
        if isinstance(arg, BufferParam):
            count = int(np.prod([int(evaluate_formula(s, scalars)) for s in arg.shape]))
            dtype = {"f32": np.float32, "i32": np.int32, "f16": np.float16}[arg.element]
            fill = np.full(count, np.nan if dtype != np.int32 else -77, dtype)
            args[arg.name] = np.asarray(buffers[arg.name], dtype) if arg.name in buffers else fill
    found = made.entry(entry)
    grid = tuple(int(evaluate_formula(f, scalars)) for f in found.workgroups)
    result = interpret(expand(made), found.symbol, args, grid)
    assert result.findings == ()
    return dict(result.outputs)


@pytest.mark.parametrize("name", KERNELS)
def test_every_entry_parses(name: str) -> None:
    made = instance(name)
    module = ir.parse(expand(made))
    symbols = [op.sym_name.data for op in module.body.block.ops]  # type: ignore[attr-defined]
    assert symbols == [e.symbol for e in made.entries]
    assert [e.name for e in made.entries][:2] == ["default", "serial"]


@pytest.mark.parametrize("name", MOTIFS)
def test_motifs_are_checked_alone(name: str) -> None:
    loaded = load_spec(DATA / f"{name}.spec.yaml")
    assert loaded.spec is not None
    assert check_motif(loaded.spec) == ()


@pytest.mark.parametrize("entry", ["default", "serial", "copies", "ahead"])
@pytest.mark.parametrize("count", [0, 1, 5, 64])
def test_sum_rows(count: int, entry: str) -> None:
    lane = np.arange(32)
    data = np.full((64, 32), np.nan)
    data[:count] = 1 + 32 * np.arange(count)[:, None] + lane
    found = run(instance("sum_rows"), {"row_count": count}, {"input": data.ravel()}, entry)
    assert np.array_equal(found["output"], count * (lane + 1) + 16 * count * (count - 1))


@pytest.mark.parametrize("count", [0, 3, 63])
def test_sum_vector_rows_pair(count: int) -> None:
    lane = np.arange(32)
    found = run(instance("sum_vector_rows_pair"), {"row_count": count}, {"input": 1 + np.arange(64 * 32 * 4)})
    expected = count * (10 + 16 * lane + 256 * (count - 1))
    assert np.array_equal(found["fast"], expected)
    assert np.array_equal(found["plain"], expected)


def test_sum_guarded_rows_reads_nothing_behind_its_guards() -> None:
    made = instance("sum_guarded_rows")
    data = np.full((63, 32, 4), np.nan)
    data[:5, :17, :3] = 1
    found = run(made, {"count": 5, "columns": 3, "active": 17}, {"values": data.ravel()})
    assert np.array_equal(found["output"], np.where(np.arange(32) < 17, 15, 0))


@pytest.mark.parametrize("count", [0, 7, 8, 63])
def test_sum_full_tiles(count: int) -> None:
    data = np.full(63 * 32, np.nan)
    data[: count * 32] = 1 + np.arange(count * 32)
    found = run(instance("sum_full_tiles"), {"count": count}, {"values": data})
    assert np.array_equal(found["output"], np.full(32, 528 * count + 512 * count * (count - 1)))
    assert found["position"].tolist() == [count // 8 * 8, count % 8]


@pytest.mark.parametrize("count", [0, 1, 3, 128])
def test_streaming_packed_dot(count: int) -> None:
    buffers = {
        "fields": np.full(128 * 2048, 0x0702FFFD),
        "scales": np.full(128 * 2048, 0.5),
        "rhs": 1 + np.arange(128 * 256),
    }
    found = run(instance("streaming_packed_dot"), {"count": count}, buffers)
    expected = 14.5 * count + 10 * count * (np.arange(2048) % 64) + 320 * count * (count - 1)
    assert np.array_equal(found["output"], expected)


def test_routed_row_combine_with_holes() -> None:
    routes = 5
    ids = np.full((1, 32), -1)
    ids[0, :routes] = [3, 2, 1, 0, -1]
    flat = np.arange(4096 * 1024)
    buffers = {"ids": ids.ravel(), "weights": -0.25 + 0.125 * (np.arange(32) % 7), "rows": -8 + (flat % 257) / 16}
    found = run(instance("routed_row_combine"), {"tokens": 1, "routes": routes}, buffers)
    rows = buffers["rows"].reshape(4096, 1024)
    expected = sum(buffers["weights"][r] * rows[ids[0, r]] for r in range(4))
    assert np.array_equal(found["output"], expected)


def test_cooperative_paged_attention() -> None:
    query, row = np.ones(128), np.arange(4096)[:, None]
    key = (128 * row + np.arange(128)) / 32768
    value = 4 * row - 37 / 32 + np.arange(128) / 32
    pages = np.tile([2, 1, 0, -1], 16)
    buffers = {"lengths": [15], "query": query, "pages": pages, "key": key.ravel(), "value": value.ravel()}
    found = run(instance("cooperative_paged_attention"), {"queries": 1}, buffers)
    assert np.allclose(found["state"], [2.0548564142, 11.2105305663], 2e-5, 2e-5)
    assert np.allclose(found["output"], 158.1195567351 + np.arange(128) / 32, 2e-5, 2e-5)


def test_grouped_paged_attention() -> None:
    row = np.arange(65536)[:, None]
    buffers = {
        "lengths": [15, 33],
        "query": -1 + np.arange(256) / 128,
        "pages": np.tile([0, 1, 2, -1], 16),
        "key": ((128 * row + np.arange(128)) / 32768).ravel(),
        "value": (4 * row - 37 / 32 + np.arange(128) / 32).ravel(),
    }
    found = run(instance("grouped_paged_attention"), {"pairs": 1}, buffers)
    assert np.allclose(found["state"], [-0.0073652459, 12.8943163668, 0.7161417046, 23.7459705118], 2e-5, 2e-5)


def test_policies_params_and_facts() -> None:
    made = instance("sum_rows", policies={"depth": 2})
    assert dict(made.entry("default").policies) == {"depth": 2, "factor": 4}
    assert dict(made.entry("serial").policies) == {"depth": 1, "factor": 1}
    assert dict(made.entry("copies").policies) == {"depth": 1, "factor": 2}
    loaded = load_spec(DATA / "sum_full_tiles.spec.yaml")
    assert loaded.spec is not None
    refused = bind(loaded.spec, targets.load("gfx942"))
    assert (refused.instance, refused.refused) == (None, True)
    assert refused.read_target_facts == {"subgroup_size"}
    assert [d.message for d in refused.diagnostics] == [
        "`gfx942` is refused: `target.subgroup_size == 32` does not hold."
    ]
    opened = bind(loaded.spec, targets.load("vulkan1.3"))
    assert opened.refused
    assert [(d.code, d.message) for d in opened.diagnostics] == [
        ("SG-STATIC", "`vulkan1.3` leaves `target.subgroup_size` open.")
    ]


def test_abi_of_a_kernel_with_dynamic_shapes() -> None:
    made = instance("routed_row_combine")
    tokens, _, ids, weights, *_ = made.args
    assert (tokens.name, tokens.range, tokens.span.line) == ("tokens", (1, 256), 8)
    assert isinstance(ids, BufferParam)
    assert (ids.shape, ids.axes, ids.extents, ids.range) == (
        ("tokens", "32"),
        ("token", "route"),
        (None, 32),
        (-1, 4095),
    )
    assert isinstance(weights, BufferParam)
    assert (weights.align, weights.access, weights.order) == (4, "read", (0, 1))
    entry = made.entry("default")
    assert (entry.workgroup_size, entry.workgroups) == ((128, 1, 1), ("8", "tokens", "1"))
    assert [names for _, names in entry.carried] == [("total",)]
