"""What the machine tells about clocks and caches: evidence beside the times, never part of a verdict."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

SYSFS = Path("/sys")
CPUINFO = Path("/proc/cpuinfo")
QUERY = ("nvidia-smi", "--query-gpu=uuid,name,clocks.sm,clocks.mem", "--format=csv,noheader,nounits")
QUERY_SECONDS = 10

GPU_RING_BYTES = 512 << 20
"""Twice the largest last-level cache of a GPU that is known to us (AMD MI300X: 256 MiB of Infinity Cache)."""
CPU_RING_BYTES = 256 << 20
"""At most, where the device is a CPU: shared servers have caches that no one process fills."""


@dataclass(frozen=True)
class Clocks:
    """Clocks in MHz by name; None where none is readable. `note` says where they come from, or why not."""

    mhz: dict[str, int] | None
    note: str


def read(name: str, kind: str, uuid: str = "") -> Clocks:
    """The clocks of the device with this name, kind (`discrete`, `cpu`, ...) and UUID."""
    if kind == "cpu":
        return _cpu()
    if "nvidia" in name.lower():
        return _nvidia(name, uuid)
    return _amd()


def _nvidia(name: str, uuid: str) -> Clocks:
    try:
        done = subprocess.run(QUERY, capture_output=True, text=True, timeout=QUERY_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Clocks(None, f"not readable: nvidia-smi: {type(error).__name__}")
    rows = [[part.strip() for part in line.split(",")] for line in done.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 4 and row[2].isdecimal() and row[3].isdecimal()]
    own = [row for row in rows if uuid and uuid in row[0]] or [row for row in rows if row[1] == name]
    if len(own) != 1:
        return Clocks(None, f"not readable: nvidia-smi lists {len(own)} devices that could be this one")
    return Clocks({"sm": int(own[0][2]), "memory": int(own[0][3])}, "nvidia-smi")


def _amd() -> Clocks:
    """The lines with a star of the driver's tables (amdgpu: pp_dpm_sclk, pp_dpm_mclk)."""
    cards = sorted(SYSFS.glob("class/drm/card[0-9]*/device/pp_dpm_sclk"))
    if len(cards) != 1:
        return Clocks(None, f"not readable: {len(cards)} cards have pp_dpm_sclk")
    found = {}
    for clock, file in (("shader", "pp_dpm_sclk"), ("memory", "pp_dpm_mclk")):
        line = next((t for t in _text(cards[0].with_name(file)).splitlines() if t.rstrip().endswith("*")), "")
        digits = "".join(c for c in line.partition(":")[2] if c.isdecimal())
        if digits:
            found[clock] = int(digits)
    return Clocks(found or None, "amdgpu's pp_dpm tables" if found else "not readable: pp_dpm_sclk marks no clock")


def _cpu() -> Clocks:
    text = _text(SYSFS / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").strip()
    if text.isdecimal():
        return Clocks({"cpu": int(text) // 1000}, "cpufreq of cpu0")
    for line in _text(CPUINFO).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "cpu MHz":
            return Clocks({"cpu": int(float(value))}, "/proc/cpuinfo")
    return Clocks(None, "not readable: neither cpufreq nor /proc/cpuinfo tells")


def ring_bytes(kind: str, asked_mib: int | None) -> tuple[int, str]:
    """Bytes that input sets exceed together, and where the number comes from."""
    if asked_mib is not None:
        return asked_mib << 20, "--ring"
    if kind != "cpu":
        return GPU_RING_BYTES, "default: twice the largest last-level cache of a GPU known to us"
    size = _text(SYSFS / "devices/system/cpu/cpu0/cache/index3/size").strip()
    if size.endswith("K") and size[:-1].isdecimal():
        return min(2 * int(size[:-1]) << 10, CPU_RING_BYTES), "twice the last-level cache, at most 256 MiB"
    return CPU_RING_BYTES, "default: the cache is not readable"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
