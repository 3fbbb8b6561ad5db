"""Kinds B36-B40: lanes, targets and the interface to the host."""

from __future__ import annotations

import dataclasses
import struct
from types import SimpleNamespace
from typing import Any

import msgpack
import numpy as np
import pytest
from fault_kinds_machines import EXECUTABLE, artifact, code, device, launch, same_as_interpreter
from fault_kinds_product import diagnostics_of, line_of, loaded, plan, refused, run, sweep, zeros

from specgen import targets
from specgen.devices.amdgpu_emulator.loader import load
from specgen.devices.base import DeviceError
from specgen.devices.hip import HipDevice

REDUCE = """\
spec: 1
kind: kernel
name: reduce
summary: Lane-weighted sums, votes and exchanges over a whole subgroup of whatever size.
args:
  x: {buffer: f32, shape: {at: 128}}
  out: {buffer: f32, shape: {way: 4, at: 128}, access: write}
launch:
  workgroup_size: {item: 128}
body:
- let:
    weight: f32(subgroup.lane + 1)
    last: subgroup.broadcast(x[item], SIZE - 1)
    odd: "f32(1) if subgroup.any(subgroup.lane == SIZE - 1) else f32(0)"
- store:
    "out[0, item]": "subgroup.sum(x[item] * weight)"
    "out[1, item]": last
    "out[2, item]": odd
    "out[3, item]": f32(subgroup.id)
"""


def reduced(x: Any, size: int) -> Any:
    """What each lane of subgroups of `size` gets."""
    rows = x.reshape(-1, size)
    weighted = (rows * (1 + np.arange(size))).sum(1)
    last, count = rows[:, -1], len(rows)
    ways = (weighted, last, np.ones(count), np.arange(count))
    return np.stack([np.repeat(way, size) for way in ways]).reshape(-1)


@pytest.mark.parametrize("target", targets.AMDGPU)
def test_b36_the_width_comes_from_the_target(target: str) -> None:
    """One spec covers all lanes on subgroups of 32 and of 64; nothing is cut at 32."""
    size = 64 if target.startswith("gfx9") else 32
    assert targets.load(target).subgroup_size == size
    x = (1 + np.arange(128) % 13).astype(np.float32)
    args = {"x": x, "out": zeros(512)}
    text = REDUCE.replace("SIZE", "target.subgroup_size")
    assert run(text, args, target=target)["out"].tolist() == reduced(x, size).tolist()
    if target in EXECUTABLE:
        same_as_interpreter(text, [args], target)


def notes(elf: bytes) -> dict[str, Any]:
    """The metadata of a code object, read here without the product's reader."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count = struct.unpack_from("<HH", elf, 0x3A)
    for number in range(count):
        kind, at, size = struct.unpack_from("<4xI16xQQ", elf, table + number * entry)
        if kind == 7:  # SHT_NOTE
            name, length = struct.unpack_from("<II", elf, at)
            start = at + 12 + (name + 3) // 4 * 4
            assert start + length <= at + size
            return dict(msgpack.unpackb(elf[start : start + length]))
    raise AssertionError("no note")


@pytest.mark.parametrize("target", targets.AMDGPU)
def test_b37_table_equals_code_object(target: str) -> None:
    """What the target table says of a processor is what the code object's note says: name and subgroup size."""
    found = notes(code(REDUCE.replace("SIZE", "target.subgroup_size"), target).hsaco)
    facts = targets.load(target)
    assert found["amdhsa.target"].split("--")[1].split(":")[0] == facts.cpu == target
    assert found["amdhsa.kernels"]
    for kernel in found["amdhsa.kernels"]:
        assert kernel[".wavefront_size"] == facts.subgroup_size
        assert kernel[".vgpr_count"] <= (facts.max_registers or 0)
        assert kernel[".max_flat_workgroup_size"] == 128
    assert {t for t in targets.AMDGPU if targets.load(t).subgroup_size == 64} == {"gfx942", "gfx950", "gfx9-4-generic"}


PLAIN = """\
spec: 1
kind: kernel
name: plain
summary: Doubles.
args:
  x: {buffer: f32, shape: {at: 64}}
  out: {buffer: f32, shape: {at: 64}, access: write}
launch:
  workgroup_size: {at: 64}
body:
- store: {"out[at]": "2 * x[at]"}
"""


@pytest.mark.parametrize("target", targets.AMDGPU)
def test_b38_generic_targets_need_code_object_six(target: str) -> None:
    """Code for a generic target is of code object version 6 (ABI version 4) and carries a generic version."""
    elf = code(PLAIN, target).hsaco
    (flags,) = struct.unpack_from("<I", elf, 0x30)
    generic = target.endswith("-generic")
    assert elf[7] == 64  # ELFOSABI_AMDGPU_HSA
    assert elf[8] >= (4 if generic else 3)
    assert (flags >> 24 > 0) == generic


@pytest.mark.parametrize("label", ["gfx950", "gfx9-4-generic", "gfx1151"])
def test_b38_artifact_of_another_target(label: str) -> None:
    """An artifact whose label and code disagree is refused before it runs, with both names."""
    wrong = dataclasses.replace(artifact(PLAIN, "gfx942"), target=label)
    with pytest.raises(DeviceError, match=rf"(?s)(?=.*{label})(?=.*gfx942)"):
        device("amdgpu-emulator").load(wrong, "plain")


class FakeHip(SimpleNamespace):
    """As much of the HIP runtime as the test of the architecture asks."""

    hipError_t = SimpleNamespace(hipSuccess=0)

    def hipGetDeviceProperties(self, _: int) -> tuple[int, Any]:
        return 0, SimpleNamespace(gcnArchName=self.arch.encode() + b":sramecc+:xnack-")


@pytest.mark.parametrize(
    ("target", "arch", "fits"),
    [
        ("gfx942", "gfx942", True),
        ("gfx950", "gfx942", False),
        ("gfx9-4-generic", "gfx942", True),
        ("gfx9-4-generic", "gfx950", True),
        ("gfx9-4-generic", "gfx90a", False),
        ("gfx11-generic", "gfx1151", True),
        ("gfx12-generic", "gfx1201", True),
        ("gfx12-generic", "gfx1250", False),
        ("gfx12-generic", "gfx1151", False),
        ("gfx1100", "gfx1151", False),
    ],
)
def test_b38_device_of_another_target(target: str, arch: str, fits: bool) -> None:
    """Code for another processor than the device's is refused early, with both names."""
    hip = HipDevice(lambda: FakeHip(arch=arch))
    if fits:
        hip._check_architecture(target)
        return
    with pytest.raises(DeviceError, match=rf"(?s)(?=.*{target})(?=.*{arch})"):
        hip._check_architecture(target)


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_b39_size_that_the_spec_was_built_for(size: int) -> None:
    """A Vulkan target of fixed subgroup size is right at that size, and a device of another size refuses it."""
    target = f"vulkan1.3-sg{size}"
    text = REDUCE.replace("SIZE", "target.subgroup_size")
    x = (1 + np.arange(128) % 13).astype(np.float32)
    args = {"x": x, "out": zeros(512)}
    assert run(text, args, target=target)["out"].tolist() == reduced(x, size).tolist()
    sizes = device("vulkan").facts().subgroup_sizes
    if size in sizes:
        assert launch(text, args, target).outputs["out"].tolist() == reduced(x, size).tolist()
    else:
        with pytest.raises(DeviceError, match=str(size)):
            launch(text, args, target)


def test_b39_open_size() -> None:
    """Where the target leaves the size open the spec may not name it; what needs no size is right at every size."""
    text = REDUCE.replace("SIZE", "target.subgroup_size").replace("summary", "summary")
    assert {code for code, _ in refused(text, "vulkan1.3")} == {"SG-STATIC"}
    assert "vulkan1.3-sg32" in str(diagnostics_of(text, "vulkan1.3")[0].hint)
    pairs = text[: text.index("- let:")] + (
        "- store:\n"
        '    "out[0, item]": "subgroup.sum(x[item], cluster=8)"\n'
        '    "out[1, item]": "subgroup.shuffle_xor(x[item], 5)"\n'
        '    "out[2, item]": "workgroup.sum(x[item])"\n'
        '    "out[3, item]": "workgroup.max(x[item])"\n'
    )
    x = (1 + np.arange(128) % 13).astype(np.float32)
    groups = np.repeat(x.reshape(-1, 8).sum(1), 8)
    exchanged = x[np.arange(128) ^ 5]
    wanted = np.concatenate([groups, exchanged, np.full(128, x.sum()), np.full(128, x.max())]).tolist()
    args = {"x": x, "out": zeros(512)}
    for lanes in (8, 16, 32, 64):
        assert sweep(pairs, [args], target="vulkan1.3", lanes=lanes)[0]["out"].tolist() == wanted
    assert launch(pairs, args, "vulkan1.3").outputs["out"].tolist() == wanted


SIGNATURE = """\
spec: 1
kind: kernel
name: signature
summary: Arguments of every size in an order that needs padding.
args:
  a: {type: i8}
  b: {type: f64}
  c: {type: i16}
  out: {buffer: f64, shape: {at: 6}, access: write}
  d: {type: i32}
  e: {type: u8}
  f: {type: bool}
launch:
  workgroup_size: {one: 1}
body:
- store:
    "out[0]": f64(a)
    "out[1]": b
    "out[2]": f64(c)
    "out[3]": f64(d)
    "out[4]": f64(e)
    "out[5]": "f64(1) if f else f64(0)"
"""
LAYOUT = {"a": (0, 1), "b": (8, 8), "c": (16, 2), "out": (24, 8), "d": (32, 4), "e": (36, 1), "f": (37, 1)}
"""Name -> offset and size by natural alignment."""


@pytest.mark.parametrize("target", [*targets.AMDGPU, "vulkan1.3"])
def test_b40_arguments_arrive(target: str) -> None:
    """Arguments of mixed sizes keep their bytes: the layout is natural alignment, as the metadata states it."""
    if target != "vulkan1.3":
        (kernel, *_) = [k for k in notes(code(SIGNATURE, target).hsaco)["amdhsa.kernels"] if k[".name"] == "signature"]
        assert {a[".name"]: (a[".offset"], a[".size"]) for a in kernel[".args"] if ".name" in a} == LAYOUT
        assert kernel[".kernarg_segment_size"] >= 38
    for a, b, c, d, e, f in (
        (-128, 3.141592653589793, -32768, -(2**31), 255, True),
        (127, -1e308, 32767, 2**31 - 1, 0, False),
        (1, 5e-324, -1, -1, 128, True),
    ):
        args = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "out": zeros(6, np.float64)}
        wanted = [a, b, c, d, e, int(f)]
        assert run(SIGNATURE, args, target=target)["out"].tolist() == wanted
        if target in (*EXECUTABLE, "vulkan1.3"):
            result = launch(SIGNATURE, args, target)
            assert result.findings == ()
            assert result.outputs["out"].tolist() == wanted


def test_b40_missing_argument() -> None:
    """A launch without one of the arguments is refused by name, not run on what lay there."""
    args = {"a": 1, "b": 1.0, "c": 1, "e": 1, "f": True, "out": zeros(6, np.float64)}
    with pytest.raises(DeviceError, match=r"\bd\b"):
        launch(SIGNATURE, args, "gfx1151")
    assert load(code(SIGNATURE, "gfx1151").hsaco, "signature").kernarg_size >= 38
    assert line_of(SIGNATURE, "  d: {type") == 10
    assert loaded(SIGNATURE)[0] is not None
    assert plan(SIGNATURE).instance.args[4].name == "d"
