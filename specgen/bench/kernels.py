"""The kernels that benchmarks bring along: `copy`, which other traffic is set against, and `tick`, a tiny one.

Both are specs beside this module, built by our own pipeline. A host that only runs artifacts has no compiler, so what
was built is kept in `_gen`: `python -m specgen.bench.kernels` writes it, a test compares it.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path
from typing import Any

from specgen.devices.base import Artifact

TARGET = "vulkan1.3"
NAMES = ("copy", "tick")
COPY_GRAIN = 4096
"""Elements of a workgroup of `copy`: its length is a multiple of that."""


def built(name: str) -> dict[str, bytes]:
    """The files to keep of a kernel, built now."""
    import specgen

    artifact = specgen.load(Path(__file__).parent / "kernels" / f"{name}.spec.yaml").build(TARGET)
    entry = next(e for e in artifact.manifest["entries"] if e["name"] == "default")
    kept = {"args": artifact.manifest["args"], "entries": [entry]}
    text = json.dumps(kept, indent=1) + "\n"
    return {f"{name}.json": text.encode(), f"{name}.spv": artifact.files["kernel.spv"]}


@functools.cache
def artifact(name: str) -> Artifact:
    """A kept kernel, as a device takes it."""
    folder = resources.files("specgen.bench._gen")
    manifest = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Artifact(name, TARGET, manifest, {"kernel.spv": (folder / f"{name}.spv").read_bytes()})


def copy_arguments(total_bytes: int) -> dict[str, Any]:
    """Arguments of `copy` that read and write `total_bytes` together, rounded up to whole workgroups."""
    import numpy as np

    n = max(1, -(-total_bytes // (8 * COPY_GRAIN))) * COPY_GRAIN
    return {
        "n": np.int64(n),
        "input": np.arange(n, dtype=np.float32),
        "output": np.full(n, np.nan, np.float32),
    }


def copy_bytes(arguments: dict[str, Any]) -> int:
    """Bytes that a dispatch of `copy` moves."""
    return 8 * int(arguments["n"])


def tick_arguments() -> dict[str, Any]:
    """Arguments of `tick` before the first dispatch."""
    import numpy as np

    return {"count": np.zeros(32, np.int32)}


if __name__ == "__main__":
    for _name in NAMES:
        for _file, _data in built(_name).items():
            (Path(__file__).parent / "_gen" / _file).write_bytes(_data)
