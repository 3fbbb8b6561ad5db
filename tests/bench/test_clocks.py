"""Clocks and cache sizes are read where they are readable, and the reason is told where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from specgen.bench import clocks

H200 = "NVIDIA H200"


def smi(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(clocks, "QUERY", ("printf", "%s", text))


def test_nvidia_is_found_by_uuid_or_name(monkeypatch: pytest.MonkeyPatch) -> None:
    smi(monkeypatch, f"GPU-aa, {H200}, 1980, 3201\nGPU-bb, {H200}, 345, 3201\nGPU-cc, NVIDIA L4, 210, 405\n")
    assert clocks.read(H200, "discrete", "bb") == clocks.Clocks({"sm": 345, "memory": 3201}, "nvidia-smi")
    assert clocks.read("NVIDIA L4", "discrete", "zz").mhz == {"sm": 210, "memory": 405}
    assert clocks.read(H200, "discrete").note == "not readable: nvidia-smi lists 2 devices that could be this one"


def test_nvidia_without_a_tool_or_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "QUERY", ("no-such-program",))
    assert clocks.read(H200, "discrete").note == "not readable: nvidia-smi: FileNotFoundError"
    monkeypatch.setattr(clocks, "QUERY", ("false",))
    assert clocks.read(H200, "discrete").note == "not readable: nvidia-smi: CalledProcessError"
    smi(monkeypatch, f"GPU-aa, {H200}, [N/A], [N/A]\n")
    assert clocks.read(H200, "discrete").mhz is None


def test_amd_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clocks, "SYSFS", tmp_path)
    assert clocks.read("AMD Radeon", "discrete") == clocks.Clocks(None, "not readable: 0 cards have pp_dpm_sclk")
    card = tmp_path / "class/drm/card1/device"
    card.mkdir(parents=True)
    (card / "pp_dpm_sclk").write_text("0: 500Mhz \n1: 2100Mhz *\n")
    (card / "pp_dpm_mclk").write_text("0: 96Mhz *\n1: 1300Mhz \n")
    assert clocks.read("AMD Radeon", "discrete").mhz == {"shader": 2100, "memory": 96}


def test_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clocks, "SYSFS", tmp_path)
    monkeypatch.setattr(clocks, "CPUINFO", tmp_path / "cpuinfo")
    assert clocks.read("llvmpipe", "cpu").note == "not readable: neither cpufreq nor /proc/cpuinfo tells"
    (tmp_path / "cpuinfo").write_text("model name\t: a CPU\ncpu MHz\t\t: 2100.028\n")
    assert clocks.read("llvmpipe", "cpu") == clocks.Clocks({"cpu": 2100}, "/proc/cpuinfo")
    rate = tmp_path / "devices/system/cpu/cpu0/cpufreq"
    rate.mkdir(parents=True)
    (rate / "scaling_cur_freq").write_text("3400000\n")
    assert clocks.read("llvmpipe", "cpu") == clocks.Clocks({"cpu": 3400}, "cpufreq of cpu0")


@pytest.mark.parametrize(
    ("kind", "cache", "asked", "mib"),
    [
        ("discrete", "", None, 512),
        ("cpu", "32768K", None, 64),
        ("cpu", "307200K", None, 256),
        ("cpu", "", None, 256),
        ("cpu", "32768K", 7, 7),
    ],
)
def test_ring_exceeds_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, cache: str, asked: int | None, mib: int
) -> None:
    monkeypatch.setattr(clocks, "SYSFS", tmp_path)
    place = tmp_path / "devices/system/cpu/cpu0/cache/index3"
    place.mkdir(parents=True)
    if cache:
        (place / "size").write_text(cache + "\n")
    size, source = clocks.ring_bytes(kind, asked)
    assert size == mib << 20
    assert source
