"""Entries that are the same kernel: one symbol in the artifact, and every way to name an entry finds it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import specgen
from specgen import manifest
from specgen.build import BuildOptions, build_paths
from specgen.devices.base import DeviceError
from specgen.lowering.amdgpu.elf import Elf

SAXPY = Path(__file__).resolve().parents[2] / "specs" / "elementwise" / "saxpy.spec.yaml"
WAYS = ("default", "serial", "narrow", "saxpy", "saxpy__serial", "saxpy__narrow")


@pytest.fixture(scope="module")
def artifact() -> specgen.api.Artifact:
    """saxpy for one target, in memory."""
    return specgen.load(SAXPY).build("gfx1151")


def test_one_kernel_is_compiled_once(tmp_path: Path) -> None:
    (result,) = build_paths([SAXPY], BuildOptions(tmp_path, ("gfx1151",)))
    assert result.folder is not None
    report = json.loads((result.folder / "gfx1151" / "report.json").read_text())
    rows = {entry.pop("name"): entry for entry in report["entries"]}
    assert {name: row["symbol"] for name, row in rows.items()} == {
        "default": "saxpy",
        "serial": "saxpy",
        "narrow": "saxpy__narrow",
    }
    assert rows["serial"] == rows["default"]
    kernels = Elf((result.folder / "gfx1151" / "kernel.hsaco").read_bytes()).metadata["amdhsa.kernels"]
    assert [kernel[".name"] for kernel in kernels] == ["saxpy", "saxpy__narrow"]


@pytest.mark.parametrize("device", ["interpreter", "amdgpu-emulator"])
@pytest.mark.parametrize("entry", WAYS)
def test_every_way_to_name_an_entry(artifact: specgen.api.Artifact, device: str, entry: str) -> None:
    x, y = np.arange(300, dtype=np.float32), np.ones(300, np.float32)
    run = artifact.run(device, entry=entry, n=300, a=2.0, x=x, y=y)
    assert run.findings == ()
    np.testing.assert_array_equal(run.outputs["y"], 2 * x + 1)


def test_a_name_that_is_no_entrys_is_refused(artifact: specgen.api.Artifact) -> None:
    for name in ("saxpy__default", "saxpy__", "__serial", "wide"):
        with pytest.raises(DeviceError, match=f"no entry {name}; entries: default, serial, narrow"):
            manifest.find_entry(artifact.manifest, name)


def test_without_a_manifest_a_name_is_a_symbol() -> None:
    assert manifest.symbol({}, "any") == "any"


def test_a_name_comes_before_a_symbol_and_a_symbol_before_a_spelling() -> None:
    """Manifests that others wrote may have entries whose names are symbols of others."""
    rows = [("default", "k"), ("z", "k__z"), ("k__z", "k__k__z"), ("k", "k__k"), ("same", "k")]
    made = {"spec": {"name": "k"}, "entries": [{"name": name, "symbol": symbol} for name, symbol in rows]}
    found = {name: manifest.find_entry(made, name)["name"] for name in ("z", "k__z", "k", "k__k__z", "k__k", "k__same")}
    assert found == {"z": "z", "k__z": "k__z", "k": "k", "k__k__z": "k__z", "k__k": "k", "k__same": "same"}
    assert manifest.symbol(made, "same") == "k"
