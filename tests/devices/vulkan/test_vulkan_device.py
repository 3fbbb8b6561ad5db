"""The device itself: layouts of its tables, choice, limits, guards, errors, timing."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import vulkan_support as support

from specgen import devices, targets
from specgen.devices.base import Artifact, Device, DeviceError, Kernel, TimingPlan
from specgen.devices.vulkan import requirements as needs
from specgen.devices.vulkan._gen import api
from specgen.devices.vulkan.arguments import GUARD_BYTES, GUARD_PATTERN, Layout, places, push_block, scalar_bytes
from specgen.devices.vulkan.device import VulkanDevice
from specgen.devices.vulkan.strengthen import denormal_widths, keep_denormals
from specgen.devices.vulkan.timing import Prepared

LAYOUTS = json.loads((Path(__file__).parent / "layouts.json").read_text())
COPY = """
    %v = memref.load %p[%x] : memref<32xf32>
    memref.store %v, %q[%x] : memref<32xf32>"""


def copy_kernel(body: str = COPY) -> str:
    arguments = [support.buffer("p", "memref<32xf32>", "read"), support.buffer("q", "memref<32xf32>", "write")]
    return support.kernel(", ".join(arguments), body)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_structures_lie_as_the_c_compiler_lays_them(name: str) -> None:
    cls = getattr(api, name)
    assert ctypes.sizeof(cls) == LAYOUTS[name]["sizeof"]
    offsets = {member: getattr(cls, member).offset for member, _ in cls._fields_}
    assert offsets == {k: v for k, v in LAYOUTS[name].items() if k != "sizeof"}


def test_every_structure_was_recorded() -> None:
    assert sorted(LAYOUTS) == sorted(n for n in vars(api) if n.startswith("Vk"))


@pytest.mark.required_in_ci
def test_the_device_follows_the_protocol() -> None:
    device = devices.open("vulkan")
    assert isinstance(device, Device)
    assert device.available() is None
    facts = device.facts()
    assert facts.subgroup_sizes
    assert min(facts.subgroup_sizes) >= 1
    assert facts.workgroup_memory_bytes is not None
    assert facts.workgroup_memory_bytes >= 16384
    kernel = device.load(support.build(copy_kernel()), "kernel")
    assert isinstance(kernel, Kernel)
    device.close()
    device.close()


def test_the_reason_of_absence_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from specgen.devices.vulkan import loader

    monkeypatch.setattr(loader, "LIBRARIES", ("libvulkan-that-nobody-has.so",))
    assert VulkanDevice().available() == "no Vulkan loader: libvulkan.so.1 was not found"


@pytest.mark.required_in_ci
def test_a_device_is_chosen_by_a_part_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    name = support.device().session().limits.name
    monkeypatch.setenv("SPECGEN_VULKAN_DEVICE", name[1:5].upper())
    chosen = VulkanDevice()
    assert chosen.facts().name == name
    chosen.close()
    monkeypatch.setenv("SPECGEN_VULKAN_DEVICE", "no such device")
    reason = VulkanDevice().available()
    assert reason is not None
    assert "no such device" in reason
    assert name in reason


# Refusals before a run


def loaded(text: str, target: str = "vulkan1.3") -> None:
    artifact = support.build(text, target)
    support.device().load(artifact, "kernel")


@pytest.mark.required_in_ci
def test_workgroup_memory_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target of a module may promise more than the device at hand has."""
    roomy = dataclasses.replace(targets.load("vulkan1.3"), workgroup_memory=1 << 24)
    monkeypatch.setattr(support.targets, "load", lambda _: roomy)
    limit = support.device().session().limits.workgroup_memory
    count = limit // 4 + 1
    body = f"""
    %t = memref.alloc() {{motif.name = "tile"}} : memref<{count}xf32, 3 : i32>
    %v = memref.load %p[%x] : memref<32xf32>
    memref.store %v, %t[%x] : memref<{count}xf32, 3 : i32>"""
    with pytest.raises(DeviceError, match=f"{4 * count} bytes of workgroup memory, the device has {limit}"):
        loaded(copy_kernel(body))


@pytest.mark.required_in_ci
def test_too_many_work_items_are_refused() -> None:
    limits = support.device().session().limits
    many = limits.workgroup_items * 2
    text = copy_kernel().replace("array<i64: 32, 1, 1>", f"array<i64: {many}, 1, 1>")
    with pytest.raises(DeviceError, match=f"{many} work-items a workgroup, the device has {limits.workgroup_items}"):
        loaded(text)


@pytest.mark.required_in_ci
def test_a_subgroup_size_that_the_device_lacks_is_refused() -> None:
    limits = support.device().session().limits
    other = next(s for s in (64, 32, 16, 8) if not limits.subgroup_sizes[0] <= s <= limits.subgroup_sizes[1])
    body = """
    %v = memref.load %p[%x] : memref<32xf32>
    %s = "motif.subgroup_reduce"(%v) <{kind = "add"}> : (f32) -> f32
    memref.store %s, %q[%x] : memref<32xf32>"""
    text = copy_kernel(body).replace("array<i64: 32, 1, 1>", "array<i64: 64, 1, 1>")
    with pytest.raises(DeviceError, match=f"built for subgroups of {other}, the device has"):
        loaded(text, f"vulkan1.3-sg{other}")


@pytest.mark.required_in_ci
def test_too_many_arguments_are_refused() -> None:
    limit = support.device().session().limits.push_constants
    count = limit // 8 + 1
    arguments = ", ".join(support.buffer(f"p{n}", "memref<32xf32>") for n in range(count))
    body = f"""
    %v = memref.load %p0[%x] : memref<32xf32>
    memref.store %v, %p{count - 1}[%x] : memref<32xf32>"""
    with pytest.raises(DeviceError, match=f"{8 * count} bytes of arguments, the device takes {limit}"):
        loaded(support.kernel(arguments, body))


@pytest.mark.required_in_ci
def test_missing_features_are_named() -> None:
    session = support.device().session()
    text = support.kernel(support.buffer("p", "memref<32xf64>"), COPY.replace("f32", "f64").replace("%q", "%p"))
    wanted = needs.requirements(support.build(text).files["kernel.spv"], "kernel")
    weaker = dataclasses.replace(session.limits, features=session.limits.features - {"shaderFloat64"})
    assert list(needs.problems(wanted, session.limits)) == []
    assert list(needs.problems(wanted, weaker)) == ["the device lacks shaderFloat64"]
    controls = dataclasses.replace(session.limits, float_controls=frozenset())
    assert "shaderSignedZeroInfNanPreserveFloat64" in next(needs.problems(wanted, controls))


def test_broken_modules_and_unknown_entries_are_refused() -> None:
    module = support.build(copy_kernel()).files["kernel.spv"]
    with pytest.raises(DeviceError, match="no entry point other"):
        needs.requirements(module, "other")
    for bad in (b"", b"\0" * 64, module[:-2], module[:20] + b"\xff" * 8):
        with pytest.raises(DeviceError, match="not a SPIR-V module"):
            needs.requirements(bad, "kernel")


@pytest.mark.required_in_ci
def test_an_artifact_without_module_and_launches_with_wrong_arguments() -> None:
    artifact = support.build(copy_kernel())
    with pytest.raises(DeviceError, match=r"has no kernel\.spv"):
        support.device().load(Artifact("test", "gfx1151", artifact.manifest, {}), "kernel")
    kernel = support.device().load(artifact, "kernel")
    with pytest.raises(DeviceError, match="argument q is missing"):
        kernel.launch({"p": np.zeros(32, np.float32)})
    limit = support.device().session().limits.workgroup_count[0]
    both = {"p": np.zeros(32, np.float32), "q": np.zeros(32, np.float32)}
    with pytest.raises(DeviceError, match=f"{limit + 1} workgroups along x"):
        kernel.launch(both, (limit + 1, 1, 1))


# Runs


@pytest.mark.required_in_ci
def test_arrays_of_the_caller_are_not_changed_and_empty_grids_do_nothing() -> None:
    kernel = support.device().load(support.build(copy_kernel()), "kernel")
    p, q = np.arange(32, dtype=np.float32), np.full(32, -1, np.float32)
    assert list(kernel.launch({"p": p, "q": q}).outputs["q"]) == list(range(32))
    assert (q == -1).all()
    assert list(kernel.launch({"p": p, "q": q}, (0, 1, 1)).outputs["q"]) == [-1] * 32


@pytest.mark.required_in_ci
@pytest.mark.parametrize(("offset", "side", "distance"), [(1, "behind the end of", 1), (-1, "before the start of", 4)])
def test_a_store_beside_a_buffer_is_a_finding(offset: int, side: str, distance: int) -> None:
    if offset < 0 and support.device().facts().features[-1] != "cpu":
        pytest.skip("a GPU's driver may take a negative element number for a large one")
    body = f"""
    %o = arith.constant {offset} : index
    %v = memref.load %p[%x] : memref<32xf32>
    %i = arith.addi %x, %o : index
    memref.store %v, %q[%i] : memref<32xf32>"""
    args = {"p": np.arange(1, 33, dtype=np.float32), "q": np.zeros(32, np.float32)}
    done = support.run(copy_kernel(body), args)
    assert [f.kind for f in done.findings] == ["out-of-bounds"]
    assert done.findings[0].detail == f"a store {distance} bytes {side} q changed its guard"


@pytest.mark.required_in_ci
def test_a_load_beside_a_buffer_gives_nan() -> None:
    body = COPY.replace(
        "%v = memref.load %p[%x]",
        "%one = arith.constant 1 : index\n%i = arith.addi %x, %one : index\n%v = memref.load %p[%i]",
    )
    done = support.run(copy_kernel(body), {"p": np.arange(32, dtype=np.float32), "q": np.zeros(32, np.float32)})
    assert list(done.outputs["q"][:31]) == list(range(1, 32))
    assert math.isnan(done.outputs["q"][31])


@pytest.mark.required_in_ci
def test_a_changed_input_is_a_finding() -> None:
    text = copy_kernel(COPY.replace("%q", "%p").replace("load %p", "load %q"))
    # Declared the other way round for the device only: the module may write.
    artifact = support.build(text.replace('motif.access = "read"', 'motif.access = "readwrite"'))
    artifact.manifest["args"][0]["access"] = "read"
    args = {"p": np.zeros(32, np.float32), "q": np.ones(32, np.float32)}
    done = support.device().load(artifact, "kernel").launch(args)
    assert [f.detail for f in done.findings] == ["the read-only buffer p was changed"]


@pytest.mark.required_in_ci
def test_many_launches_in_one_submission_keep_apart() -> None:
    kernel = support.device().load(support.build(copy_kernel()), "kernel")
    launches = [{"p": np.full(32, n, np.float32), "q": np.zeros(32, np.float32)} for n in range(40)]
    runs = kernel.launch_batch(launches)
    assert [set(r.outputs["q"]) for r in runs] == [{float(n)} for n in range(40)]
    assert kernel.launch_batch([]) == []


def test_layouts_start_at_exactly_their_alignment() -> None:
    rows = [
        {"name": "a", "kind": "buffer", "align": 4},
        {"name": "n", "kind": "scalar", "type": "index"},
        {"name": "b", "kind": "buffer", "align": 16},
        {"name": "c", "kind": "buffer", "align": 256},
    ]
    args = {"a": np.zeros(3, np.int8), "b": np.zeros(5, np.int32), "c": np.zeros(0, np.float32), "n": 1}
    layout = Layout.of(rows, args, 0, exact=True)
    starts = {s.name: s.start for s in layout.slots}
    assert starts["a"] % 8 == 4
    assert starts["b"] % 32 == 16
    assert starts["c"] % 256 == 0
    edges = [0, *(e for s in layout.slots for e in (s.start, s.start + s.size)), layout.end]
    assert all(edges[n + 1] - edges[n] >= GUARD_BYTES for n in range(0, len(edges), 2))
    host = np.zeros(layout.end, np.uint8)
    layout.fill(host, args)
    assert list(layout.broken_guards(host)) == []
    assert bytes(host[:2]) == GUARD_PATTERN


def test_guards_are_not_a_number_in_every_float_type() -> None:
    raw = np.frombuffer(GUARD_PATTERN * 4, np.uint8)
    for dtype in (np.float16, np.float32, np.float64, support.DTYPES["bf16"]):
        assert np.isnan(raw.view(dtype).astype(np.float64)).all()


def test_push_constants_follow_the_abi() -> None:
    rows = [
        {"name": "p", "kind": "buffer"},
        {"name": "a", "kind": "scalar", "type": "i8"},
        {"name": "b", "kind": "scalar", "type": "f16"},
        {"name": "c", "kind": "scalar", "type": "index"},
        {"name": "d", "kind": "scalar", "type": "bool"},
        {"name": "e", "kind": "scalar", "type": "f32"},
        {"name": "f", "kind": "scalar", "type": "bf16"},
    ]
    block = push_block(rows, {"a": -1, "b": 1.0, "c": -2, "d": True, "e": 1.0, "f": 1.0}, {"p": 0x1122334455667788})
    expected = "8877665544332211 ff00 003c 00000000 feffffffffffffff 01000000 0000803f 803f 0000"
    assert block.hex() == expected.replace(" ", "")
    assert places(rows) == {"p": 0, "a": 8, "b": 10, "c": 16, "d": 24, "e": 28, "f": 32}


def test_scalars_out_of_range_are_refused() -> None:
    with pytest.raises(DeviceError, match="argument n: 300 is no i8"):
        scalar_bytes("n", "i8", 300)
    with pytest.raises(DeviceError, match=r"argument h: 1000000\.0 is no f16"):
        scalar_bytes("h", "f16", 1e6)


# Time


@pytest.mark.required_in_ci
def test_timing_gives_a_positive_time_a_sample() -> None:
    kernel = support.device().load(support.build(copy_kernel()), "kernel")
    args = {"p": np.zeros(32, np.float32), "q": np.zeros(32, np.float32)}
    timing = kernel.time(args, TimingPlan(iterations=4, batch=3, warmup_seconds=0.0))
    assert len(timing.samples) == 4
    assert all(0 < s < 1 for s in timing.samples)
    assert timing.clock == "Vulkan timestamps"


@pytest.mark.required_in_ci
def test_more_work_takes_longer() -> None:
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = memref.load %p[%x] : memref<32xf32>
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (f32) {
      %b = arith.mulf %a, %v : f32
      scf.yield %b : f32
    }
    memref.store %s, %p[%x] : memref<32xf32>"""
    arguments = [support.scalar("n", "index", (0, 10**7)), support.buffer("p", "memref<32xf32>")]
    kernel = support.device().load(support.build(support.kernel(", ".join(arguments), body)), "kernel")
    times = []
    for rounds in (1000, 100_000):
        prepared = Prepared(kernel, {"n": rounds, "p": np.ones(32, np.float32)}, (1, 1, 1), sets=3)
        times.append(min(prepared.sample(2) for _ in range(5)))
        prepared.close()
    assert times[1] > 3 * times[0]


def test_a_queue_without_clock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session = support.device().session()
    kernel = support.device().load(support.build(copy_kernel()), "kernel")
    monkeypatch.setattr(session, "limits", dataclasses.replace(session.limits, timestamp_seconds=0.0))
    with pytest.raises(DeviceError, match="has no timestamps"):
        kernel.time({"p": np.zeros(32, np.float32), "q": np.zeros(32, np.float32)}, TimingPlan())


@pytest.mark.required_in_ci
def test_fma_is_probed_and_made_where_the_device_has_none() -> None:
    """Both forms of the module give the one-rounding result, at the ends of the exponents too."""
    e = np.float32(2.0**-13)
    a = np.array([1 + e, 2.0**120, 2.0**-60, 3.0, 2.0**100, 1e-30], np.float32)
    b = np.array([1 - e, 2.0**7, 2.0**-60, 2.0**-70, 2.0**27, 1e30], np.float32)
    c = np.array([-1, -(2.0**126), 2.0**-90, 1.0, np.inf, -1], np.float32)
    out = support.elementwise("%r = math.fma %a0, %a1, %a2 : f32", [a, b, c], ["f32"] * 3, "f32")
    exact = a.astype(np.longdouble) * b + c
    np.testing.assert_array_equal(out, exact.astype(np.float32))


# Subnormal numbers


@pytest.mark.required_in_ci
@pytest.mark.parametrize(
    ("offered", "independence", "used", "expected"),
    [
        ((16, 32, 64), 1, (16, 32), (16, 32)),
        ((16, 64), 1, (16, 32), (16,)),
        ((16, 64), 2, (16, 32), ()),
        ((16, 64), 0, (16, 32, 64), (16, 64)),
        ((16,), 0, (16, 32, 64), ()),
        ((), 1, (32,), ()),
    ],
)
def test_widths_whose_subnormals_are_kept(
    offered: tuple[int, ...], independence: int, used: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    limits = dataclasses.replace(
        support.device().session().limits,
        float_controls=frozenset(f"shaderDenormPreserveFloat{w}" for w in offered),
        denormal_independence=independence,
    )
    assert denormal_widths(used, limits) == expected


@pytest.mark.required_in_ci
def test_a_strengthened_module_is_valid_and_asks_for_subnormals() -> None:
    module = support.build(copy_kernel()).files["kernel.spv"]
    limits = dataclasses.replace(
        support.device().session().limits,
        float_controls=frozenset({"shaderDenormPreserveFloat32"}),
        denormal_independence=1,
    )
    stronger = keep_denormals(module, limits)
    support.validate(stronger)
    wanted = needs.requirements(stronger, "kernel")
    assert "shaderDenormPreserveFloat32" in wanted.float_modes
    assert keep_denormals(stronger, limits) == stronger


@pytest.mark.required_in_ci
def test_subnormals_survive_where_the_device_keeps_them() -> None:
    if "shaderDenormPreserveFloat32" not in support.device().session().limits.float_controls:
        small = np.array([1e-40, -3e-42], np.float32)
        # Loads, stores and selects move bits on every device.
        assert list(support.elementwise("%r = arith.bitcast %a0 : f32 to f32", [small], ["f32"], "f32")) == list(small)
        return
    a = np.array([1e-40, 2.0**-126, -3e-42], np.float32)
    b = np.array([2e-41, -(2.0**-127), 1e-45], np.float32)
    out = support.elementwise("%r = arith.addf %a0, %a1 : f32", [a, b], ["f32", "f32"], "f32")
    np.testing.assert_array_equal(out, a + b)
