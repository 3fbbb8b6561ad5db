"""The device protocol, what it refuses, traces, evidence, and speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from emulator_compile import ATTRIBUTES, assemble, compile_ir, named
from emulator_programs import HEADER, PROGRAMS

from specgen import devices
from specgen.devices.amdgpu_emulator import EmulatedKernel, EmulatorDevice, loader
from specgen.devices.amdgpu_emulator.launch import scalar_bytes
from specgen.devices.amdgpu_emulator.loader import Argument
from specgen.devices.base import Artifact, Device, DeviceError, Kernel, RunawayError, TimingPlan


def code(target: str = "gfx1151") -> bytes:
    text = HEADER + PROGRAMS["saxpy"] + PROGRAMS["sum_rows"] + PROGRAMS["reverse"]
    return compile_ir(text + f"attributes #0 = {{ {ATTRIBUTES.format(size=64)} }}", target)


def artifact(target: str = "gfx1151") -> Artifact:
    manifest = {
        "args": [
            {"name": "in", "kind": "buffer", "access": "read"},
            {"name": "out", "kind": "buffer", "access": "write"},
            {"name": "rows", "kind": "scalar", "type": "i32"},
        ],
        "entries": [
            {
                "symbol": "sum_rows",
                "targets": {target: {"workgroup_size": [64, 1, 1], "workgroups": ["max(rows, 1) // 64 + 1"]}},
            }
        ],
    }
    return Artifact("sum_rows", target, manifest, {"kernel.hsaco": code(target)})


def test_protocol() -> None:
    device = devices.open("amdgpu-emulator")
    assert isinstance(device, Device)
    assert isinstance(device, EmulatorDevice)
    assert device.available() is None
    assert device.facts().subgroup_sizes == (32, 64)
    kernel = device.load(artifact(), "sum_rows")
    assert isinstance(kernel, Kernel)
    values = np.arange(3 * 64, dtype=np.float32)
    args = {"in": values, "out": np.full(64, -1, np.float32), "rows": 3}
    run = kernel.launch(args)
    assert list(run.outputs) == ["out"]
    assert np.array_equal(run.outputs["out"], values.reshape(3, 64).sum(0))
    assert (args["out"] == -1).all()
    with pytest.raises(DeviceError, match="does not time"):
        kernel.time(args, TimingPlan())
    device.close()


def test_refusals() -> None:
    kernel = named(code(), "saxpy", 64)
    good: dict[str, Any] = {"x": np.zeros(64, "f4"), "y": np.zeros(64, "f4"), "a": 1.0, "n": 64}
    for args, grid, text in (
        ({**good, "b": 1}, (1, 1, 1), "unknown argument b"),
        ({k: v for k, v in good.items() if k != "n"}, (1, 1, 1), "missing argument n"),
        ({**good, "x": 3}, (1, 1, 1), "argument x must be an array"),
        ({**good, "n": 1 << 40}, (1, 1, 1), "does not fit 4 bytes"),
        (good, (1, 1), "three numbers"),
        (good, None, "is not built for"),
    ):
        with pytest.raises(DeviceError, match=text):
            kernel.launch(args, grid)  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="has no kernel 'other'"):
        EmulatedKernel(code(), "other")
    with pytest.raises(DeviceError, match="not an ELF file"):
        EmulatedKernel(b"nothing", "k")
    with pytest.raises(DeviceError, match=r"has no kernel\.hsaco"):
        EmulatorDevice().load(Artifact("a", "gfx1151", {}, {}), "k")


def test_gfx1250_is_compiled_not_executed() -> None:
    patched = code("gfx12-generic").replace(
        b"amdgcn-amd-amdhsa--gfx12-generic", b"amdgcn-amd-amdhsa--gfx1250\0\0\0\0\0\0"
    )
    with pytest.raises(DeviceError, match=r"gfx1250.* is compiled but not executed"):
        EmulatedKernel(patched, "saxpy")


def test_an_endless_loop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from specgen.devices.amdgpu_emulator import executor

    monkeypatch.setattr(executor, "STEP_LIMIT", 1000)
    hsaco = assemble(".Lagain:\n  s_nop 0\n  s_branch .Lagain", "gfx1151", 32, (), 0, 32)
    with pytest.raises(RunawayError, match="no end after 1000 blocks"):
        EmulatedKernel(hsaco, "k").launch({}, (1, 1, 1))


@pytest.mark.parametrize(
    ("value", "size", "expected"),
    [(-1, 4, b"\xff" * 4), (1, 8, b"\1" + bytes(7)), (1.5, 4, b"\0\0\xc0\x3f"), (1.5, 2, b"\0\x3e"), (True, 1, b"\1"),
     (np.float64(1.5), 8, bytes(6) + b"\xf8\x3f"), (np.int64(-2), 2, b"\xfe\xff"), (2**32 - 1, 4, b"\xff" * 4)],
)  # fmt: skip
def test_scalar_arguments(value: Any, size: int, expected: bytes) -> None:
    assert scalar_bytes(Argument("a", 0, size, "by_value"), value) == expected


def test_scalar_of_the_wrong_width() -> None:
    with pytest.raises(DeviceError, match="needs 4 bytes, the value has 8"):
        scalar_bytes(Argument("a", 0, 4, "by_value"), np.float64(1))


def test_one_array_given_twice_is_one_buffer() -> None:
    both = np.arange(64, dtype="f4")
    run = named(code(), "saxpy", 64).launch({"x": both, "y": both, "a": 2.0, "n": 64}, (1, 1, 1))
    assert np.array_equal(run.outputs["y"], 3 * both)
    assert run.findings == ()


def test_trace_shows_instructions_and_values() -> None:
    values = np.arange(2 * 64, dtype=np.float32)
    args = {"in": values, "out": np.zeros(64, np.float32), "rows": 2}
    rows = list(named(code(), "sum_rows", 64).trace(args, (1, 1, 1), wave=1))
    texts = [text for text, _ in rows]
    assert texts[-1].endswith("s_endpgm")
    loads = [written for text, written in rows if "global_load_b32" in text]
    loaded = [np.array(next(iter(written.values())), np.uint32).view(np.float32) for written in loads]
    assert [row.tolist() for row in loaded] == [values[32:64].tolist(), values[96:128].tolist()]
    sums = [np.array(written["v3"], np.uint32).view(np.float32) for text, written in rows if "v_add_f32" in text]
    assert np.array_equal(sums[-1], values[32:64] + values[96:128])
    with pytest.raises(DeviceError, match="has 2 waves"):
        list(named(code(), "sum_rows", 64).trace(args, (1, 1, 1), wave=2))


def test_evidence_counts_executed_instructions() -> None:
    """Each row of the loop adds the same instructions; the counts are waves times static counts."""
    values = np.zeros(9 * 64, np.float32)

    def counted(rows: int, groups: int) -> dict[str, int]:
        args = {"in": values[: 64 * rows], "out": np.zeros(64, np.float32), "rows": rows}
        evidence = named(code(), "sum_rows", 64).launch(args, (groups, 1, 1)).evidence
        assert sum(evidence["instructions"].values()) == evidence["instructions_total"]
        return evidence["instructions"]

    one, two, three = (counted(rows, 1) for rows in (1, 2, 3))
    step = {name: two[name] - one[name] for name in two}
    assert step["vmem_load"] == 2  # one load a wave, two waves
    assert {name: three[name] - two[name] for name in three} == step
    assert {name: count * 3 for name, count in two.items()} == counted(2, 3)


def test_chunks_give_what_one_run_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    from specgen.devices.amdgpu_emulator import launch

    x, y = np.arange(1000, dtype="f4"), np.ones(1000, "f4")
    args = {"x": x, "y": y, "a": 3.0, "n": 1000}
    whole = named(code(), "saxpy", 64).launch(args, (16, 1, 1))
    monkeypatch.setattr(launch, "_CHUNK_LANES", 128)
    parts = named(code(), "saxpy", 64).launch(args, (16, 1, 1))
    assert np.array_equal(whole.outputs["y"], parts.outputs["y"])
    assert whole.evidence == parts.evidence


def best_rate(kernel: EmulatedKernel, args: dict[str, Any], groups: int) -> float:
    """Executed wave-instructions a second of processor time (other processes do not count), the best of five runs."""
    best = 0.0
    for _ in range(5):
        start = time.process_time()
        total = kernel.launch(args, (groups, 1, 1)).evidence["instructions_total"]
        best = max(best, total / (time.process_time() - start))
    return best


@pytest.mark.slow
def test_speed() -> None:
    """8 M wave-instructions a second at 512 waves, 0.15 M for one; sanitizers cost at most three times."""
    values = np.zeros(1024 * 64, np.float32)
    args = {"in": values, "out": np.zeros(64, np.float32), "rows": 1024}
    plain, checked = named(code(), "sum_rows", 32, False), named(code(), "sum_rows", 32, True)
    for groups, goal in ((1, 0.15e6), (512, 8e6)):
        rate = best_rate(plain, args, groups)
        assert rate > goal
        assert best_rate(checked, args, groups) > rate / 3


@pytest.mark.slow
def test_first_use_is_quick() -> None:
    """Decoding and translating a new kernel takes less than 0.2 s once the tables are imported."""
    named(code(), "sum_rows", 64).launch({"in": np.zeros(64, "f4"), "out": np.zeros(64, "f4"), "rows": 1}, (1, 1, 1))
    fresh = compile_ir(
        HEADER + PROGRAMS["sum_rows"].replace("fadd", "fsub") + f"attributes #0 = {{ {ATTRIBUTES.format(size=64)} }}",
        "gfx1151",
    )
    start = time.process_time()
    run = named(fresh, "sum_rows", 64).launch(
        {"in": np.ones(64, "f4"), "out": np.zeros(64, "f4"), "rows": 1}, (1, 1, 1)
    )
    assert time.process_time() - start < 0.2
    assert (run.outputs["out"] == -1).all()


def test_symbols() -> None:
    assert loader.symbols_of(code()) == ("saxpy", "sum_rows", "reverse")
